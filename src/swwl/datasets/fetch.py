"""Published files: where they are kept, how they are downloaded once, checksums.

Knows nothing of what the file holds; ``tu.py`` reads it.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

from swwl.errors import InputError
from swwl.storage.atomic import atomic_write

_TIMEOUT = 30.0  # seconds without an answer


class NotPublished(FileNotFoundError):
    """The site answers, but has no such file."""


def cache_folder() -> Path:
    """Return the folder for downloads: ``SWWL_CACHE``, or the place where this platform keeps caches."""
    if chosen := os.environ.get("SWWL_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "swwl" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "swwl"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swwl"


def sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, wanted: str, origin: str) -> None:
    """Refuse a file with another checksum than the one wanted; `origin` says where that one comes from."""
    found = sha256(path)
    if found != wanted.strip().lower():
        raise InputError(f"{path}: its SHA-256 is {found}, but {origin} is {wanted}; the file was changed or damaged.")


def recorded_sha256(path: Path) -> str | None:
    """Return the checksum that `download` wrote beside a file, if it did."""
    try:
        words = _record(path).read_text(encoding="ascii").split()
    except FileNotFoundError:
        return None
    return words[0] if words else ""


def download(url: str, path: Path, checksum: str | None = None) -> None:
    """Fetch a file, under another name until it is complete, and write its checksum beside it.

    Parameters
    ----------
    url : str
    path : Path
        Its folder is made where needed.
    checksum : str, optional
        SHA-256 that the file must have; a file with another one is not kept.

    Raises
    ------
    NotPublished
        The site has no such file.
    ConnectionError
        No network, no answer, or an answer that broke off.
    ValueError
        Another checksum.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer, atomic_write(path) as file:
            shutil.copyfileobj(answer, _Tee(file, digest))
            length = answer.headers.get("Content-Length")
            if length is not None and file.tell() != int(length):
                raise ConnectionError(f"{url}: the download broke off after {file.tell()} of {length} bytes.")
            found = digest.hexdigest()
            if checksum is not None and found != checksum.strip().lower():
                raise InputError(f"{url}: its SHA-256 is {found}, but {checksum} is wanted; the file was not kept.")
            # The record comes first: a file that lacks it was not put there by a download.
            with atomic_write(_record(path)) as record:
                record.write(f"{found}  {path.name}\n".encode("ascii"))
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (404, 410):
                raise NotPublished(f"{url}: there is no such file ({error}).") from None
            raise ConnectionError(f"{url}: the site refuses the download ({error}).") from None
    except urllib.error.URLError as error:
        raise ConnectionError(f"{url}: cannot be reached ({error.reason}); is there a network?") from None
    except (TimeoutError, http.client.HTTPException) as error:
        raise ConnectionError(f"{url}: the download broke off ({error or type(error).__name__}).") from None


class _Tee:
    """Write to a file and feed its digest in one go."""

    def __init__(self, file: IO[bytes], digest: hashlib._Hash) -> None:
        self._file, self._digest = file, digest

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return self._file.write(data)


def _record(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")

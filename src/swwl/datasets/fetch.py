"""Published files: where they are kept, how they are downloaded once, checksums.

Knows nothing of what the file holds; ``tu.py`` reads it. pooch downloads, platformdirs knows where caches are kept.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from swwl.errors import InputError
from swwl.storage.atomic import atomic_write

_TIMEOUT = 30.0  # seconds without an answer


class NotPublished(FileNotFoundError):
    """The site answers, but has no such file."""


def cache_folder() -> Path:
    """Return the folder for downloads: ``SWWL_CACHE``, or the place where this platform keeps caches."""
    if chosen := os.environ.get("SWWL_CACHE"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("swwl", appauthor=False)


def sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    from pooch import file_hash

    return str(file_hash(os.fspath(path), alg="sha256"))


def check_sha256(path: Path, expected: str, origin: str) -> None:
    """Refuse a file with another checksum than the expected one; `origin` says where that one comes from."""
    found = sha256(path)
    if found != expected.strip().lower():
        raise InputError(
            f"{path}: its SHA-256 is {found}, but {origin} is {expected}; the file was changed or damaged."
        )


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
    import pooch
    import requests

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".", suffix=".part", dir=path.parent) as folder:
            whole = Path(folder) / path.name
            pooch.HTTPDownloader(timeout=_TIMEOUT)(url, str(whole), None)
            found = sha256(whole)
            if checksum is not None and found != checksum.strip().lower():
                raise InputError(f"{url}: its SHA-256 is {found}, but {checksum} is expected; the file was not kept.")
            # The record comes first: a file that lacks it was not put there by a download.
            with atomic_write(_record(path)) as record:
                record.write(f"{found}  {path.name}\n".encode("ascii"))
            os.replace(whole, path)
    except requests.HTTPError as error:
        status = 0 if error.response is None else error.response.status_code
        if status in (404, 410):
            raise NotPublished(f"{url}: there is no such file ({status}).") from None
        raise ConnectionError(f"{url}: the site refuses the download ({status}).") from None
    except requests.ConnectionError as error:
        raise ConnectionError(f"{url}: cannot be reached ({_reason(error)}); check the network.") from None
    except requests.RequestException as error:
        raise ConnectionError(f"{url}: the download was interrupted ({_reason(error)}).") from None


def _reason(error: Exception) -> str:
    """Return what lies at the bottom of an error of the network, in a line."""
    while isinstance(cause := getattr(error, "reason", None) or (error.args or [None])[0], Exception):
        error = cause
    return " ".join(str(error).split())[:200] or type(error).__name__


def _record(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")

"""Whole files or none: a file appears complete, or not at all; and what is not a file at all is not opened."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from swwl.errors import InputError

_UMASK_LOCK = threading.Lock()
_SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def refuse_special(path: str | os.PathLike[str]) -> None:
    """Refuse what is neither a file nor a folder: pipes may never say anything, and devices never end.

    Examples
    --------
    >>> refuse_special(os.devnull)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: it is a device, but a file is expected; save the content to a file first.
    """
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except (OSError, ValueError):  # whoever opens it will say so
        return
    if kind in _SPECIAL:
        raise InputError(f"it is {_SPECIAL[kind]}, but a file is expected; save the content to a file first.")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary binary file beside ``path`` and rename it to ``path`` if all goes well.

    Where ``path`` is a symbolic link, the file that it leads to is written. Errors of the file system name ``path``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note.txt") as file:
    ...         _ = file.write(b"done")
    ...     (Path(folder) / "note.txt").read_text()
    'done'
    """
    target = written_file(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; what is written for the user gets the permissions any new file would have.
        with _UMASK_LOCK:  # the mask can only be read by setting it, for all threads
            mask = os.umask(0)
            os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and (temporary in (None, error.filename) or _has_no_room(error)):
            # The user knows nothing of temporary files, and a full disk names none at all.
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def written_file(path: str | os.PathLike[str]) -> Path:
    """Return the file that is written as ``path``: itself or, of a symbolic link, where it leads.

    Examples
    --------
    >>> written_file(os.devnull)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: ...: is not an ordinary file, so it cannot be written.
    """
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if target.is_symlink():  # links that lead in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if target.exists() and not (target.is_file() or target.is_dir()):  # a device or pipe would become a file
        raise InputError(f"{path}: is not an ordinary file, so it cannot be written.")
    return target


def _has_no_room(error: OSError) -> bool:
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

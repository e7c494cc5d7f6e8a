"""Files that clients send: kept under names of our own in a private folder while they are read, then removed."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from swwl.errors import InputError
from swwl.mesh.io.formats import READERS, SEVERAL_FILES, includes_others

_PIECE = 1 << 20
_HDF5 = b"\x89HDF\r\n\x1a\n"


def shown_name(name: str | None) -> str:
    r"""Return the last part of a name that a client gave, to be shown and not to be opened.

    >>> shown_name("../../etc/a\x00b.vtu"), shown_name(None)
    ('ab.vtu', 'mesh')
    """
    last = PurePosixPath((name or "").replace("\\", "/")).name
    return "".join(letter for letter in last if letter.isprintable())[:80] or "mesh"


def ending_of(name: str) -> str:
    """Return the ending of a mesh file, if it is one of those that are read from one file alone.

    >>> ending_of("rotor.7.VTU"), ending_of("a.vol.gz.vtu")
    ('.vtu', '.vtu')
    """
    endings = [suffix.lower() for suffix in PurePosixPath(name).suffixes][-2:]
    for ending in ("".join(endings), "".join(endings[-1:])):
        if ending in READERS and ending not in SEVERAL_FILES:
            return ending
    known = " ".join(sorted(set(READERS) - SEVERAL_FILES))
    raise InputError(f"{name}: files with this ending cannot be sent; those can: {known}")


@contextmanager
def private_file(private: Path, ending: str) -> Iterator[Path]:
    """Return the path of a file to write, in a new folder below a private one; it is removed at the end."""
    with tempfile.TemporaryDirectory(dir=private, ignore_cleanup_errors=True) as folder:
        yield Path(folder) / f"sent{ending}"


@contextmanager
def hidden(path: Path, name: str) -> Iterator[None]:
    """Call a private file by the name that the client knows in what goes wrong inside."""
    try:
        yield
    except InputError as error:
        text = str(error)
        if str(path.parent) not in text and path.name not in text:
            raise
        raise InputError(text.replace(str(path), name).replace(path.name, name)) from None


def copy(source: IO[bytes], target: Path) -> str:
    """Write what a file holds to another one; return the digest of it."""
    digest = hashlib.sha256()
    source.seek(0)
    with open(target, "xb") as file:
        while piece := source.read(_PIECE):
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()[:32]


def refuse_other_files(path: Path) -> None:
    """Refuse a mesh file that would make its reader open others."""
    with open(path, "rb") as file:
        start = file.read(8)
    if start == _HDF5:
        _refuse_links(path)
    elif includes_others(path):
        raise InputError("it includes other files, which were not sent; make one file of them")


def _refuse_links(path: Path) -> None:
    import h5py

    seen: set[int] = set()

    def look(group: Any) -> None:
        address = h5py.h5o.get_info(group.id).addr
        if address in seen:  # a group may hold itself
            return
        seen.add(address)
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise InputError(f"its entry {name!r} lies in another file, which was not sent")
            if isinstance(link, h5py.SoftLink):
                continue  # inside this file, where it is found by itself
            found = group.get(name)
            if isinstance(found, h5py.Group):
                look(found)
            elif isinstance(found, h5py.Dataset) and (found.external or found.is_virtual):
                raise InputError(f"its array {name!r} lies in another file, which was not sent")

    try:
        with h5py.File(path, "r") as file:
            look(file)
    except InputError:
        raise
    except Exception as error:  # whatever h5py makes of a damaged file
        raise InputError(f"it is damaged or of another format ({str(error)[:120]})") from None

"""Embeddings kept from one run to the next, in files keyed by what a mesh file holds and how it is embedded.

A table's mesh column of :class:`MeshFile` instead of paths is all it takes: ``streaming.py`` asks a file for what it
knows before reading it, and tells it what it found out. Kept is what does not depend on other meshes (quantiles about
a mesh's own centre, and that centre), so that a model made from kept pieces is bit for bit that of a run without.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import zipfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import swwl
from swwl.io.files import atomic_write

# Raise it whenever the same file and the same options come to give another embedding.
_FORMAT = 1
# Files of these formats refer to others, whose changes their own content does not show.
_SEVERAL_FILES = {".xdmf", ".xmf", ".xml", ".node", ".ele"}
# A file changed twice within the file system's clock tick has the same time stamp both times.
_CLOCK_TICK = 50_000_000
_STALE_SECONDS = 3600

Arrays = dict[str, np.ndarray]


class Cache(Protocol):
    """What keeps arrays for mesh files."""

    def get(self, path: Path, key: str) -> Arrays | None:
        """Return what is kept under a key, or None."""

    def put(self, path: Path, key: str, arrays: Arrays) -> None:
        """Keep arrays under a key."""


class MeshFile(os.PathLike):
    """The path of a mesh, where it was named, and what is known of it from earlier.

    Parameters
    ----------
    path : str or path
    label : str, optional
        How errors name it, such as "line 7".
    cache : Cache, optional

    Attributes
    ----------
    n_nodes : int or None
        Known once the file was embedded or found in the cache.
    found : bool
        Whether its embedding came from the cache.

    Examples
    --------
    >>> os.fspath(MeshFile("meshes/00001.vtu", "line 3"))
    'meshes/00001.vtu'
    """

    def __init__(self, path: str | os.PathLike, label: str | None = None, cache: Cache | None = None):
        self.path = Path(path)
        self.label = label
        self.cache = cache
        self.n_nodes: int | None = None
        self.found = False

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        return f"MeshFile({str(self.path)!r})"

    def get(self, kind: str, key: str) -> Arrays | None:
        """Return the arrays kept of this file for one kind of result, or None."""
        arrays = None if self.cache is None else self.cache.get(self.path, f"{kind}-{key}")
        if arrays is not None:
            self.n_nodes = int(arrays["n_nodes"])
            self.found = self.found or kind == "quantiles"
        return arrays

    def put(self, kind: str, key: str, n_nodes: int, **arrays: Any) -> None:
        """Keep arrays, if there is a cache to keep them."""
        self.n_nodes = n_nodes
        if self.cache is not None:
            self.cache.put(self.path, f"{kind}-{key}", {"n_nodes": np.asarray(n_nodes), **arrays})


class MemoryCache:
    """Keeps arrays for as long as it lives: for one mesh that stands in many rows."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[Path, str], Arrays] = {}

    def get(self, path: Path, key: str) -> Arrays | None:
        """Return what is kept under a key, or None."""
        return self._arrays.get((path, key))

    def put(self, path: Path, key: str, arrays: Arrays) -> None:
        """Keep arrays under a key."""
        self._arrays[path, key] = arrays


class FolderCache:
    """Keeps arrays in a folder, one file for each mesh content and key.

    Files appear whole or not at all, under names that say what they hold, so runs may be killed at any point and
    several may share the folder. A damaged file counts as missing. The folder can be deleted at any time.

    Parameters
    ----------
    folder : str or path
        Made when something is first kept.
    read_only : bool
        Find, but do not keep.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     mesh = Path(name) / "mesh.txt"
    ...     _ = mesh.write_text("a mesh")
    ...     cache = FolderCache(Path(name) / ".swwl-cache")
    ...     cache.put(mesh, "key", {"n_nodes": np.asarray(3)})
    ...     known = int(cache.get(mesh, "key")["n_nodes"])
    ...     _ = mesh.write_text("another mesh")
    ...     known, cache.get(mesh, "key")
    (3, None)
    """

    def __init__(self, folder: str | os.PathLike, *, read_only: bool = False):
        self.folder = Path(folder)
        self.read_only = read_only
        self._index = self.folder / "index.jsonl"
        self._hashes = _read_index(self._index)
        self._lock = threading.Lock()
        if not read_only:
            _remove_stale(self.folder)

    def get(self, path: Path, key: str) -> Arrays | None:
        """Return what was kept for the present content of a file, or None."""
        if path.suffix.lower() in _SEVERAL_FILES:
            return None
        digest = self._digest(path)
        if digest is None:
            return None
        try:
            with open(self._entry(digest, key), "rb") as file, np.load(file, allow_pickle=False) as archive:
                return dict(archive)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, path: Path, key: str, arrays: Arrays) -> None:
        """Keep arrays for the present content of a file."""
        if self.read_only or path.suffix.lower() in _SEVERAL_FILES:
            return
        digest = self._digest(path)
        if digest is None:
            return
        entry = self._entry(digest, key)
        entry.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(entry) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def _entry(self, digest: str, key: str) -> Path:
        return self.folder / digest[:2] / f"{digest}-{key}.npz"

    def _digest(self, path: Path) -> str | None:
        """Return the hash of a file's content, without reading it where its time stamps are those of last time."""
        try:
            stamp = _stamp(path)
            # Relative names: a folder may be moved with its cache.
            name = os.path.relpath(path, self.folder.parent)
            with self._lock:
                known = self._hashes.get(name)
            if known is not None and known[0] == stamp:
                return known[1]
            digest = _hash(path)
            settled = _stamp(path) == stamp
        except OSError:
            return None
        if not settled:  # it is being written
            return None
        # Too young a file may change again under the same stamp: it is hashed again next time.
        if time.time_ns() - stamp[1] > _CLOCK_TICK:
            with self._lock:
                self._hashes[name] = (stamp, digest)
                if not self.read_only:
                    self._remember(name, stamp, digest)
        return digest

    def _remember(self, name: str, stamp: tuple[int, int, int], digest: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps([name, list(stamp), digest]) + "\n"
        # One write at the end of the file: lines of several runs do not mix.
        handle = os.open(self._index, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)


def fingerprint(*values: Any) -> str:
    """Return a short name for options: equal for equal values, arrays by their bytes.

    Examples
    --------
    >>> fingerprint(1, "a", np.zeros(2)) == fingerprint(1, "a", np.zeros(2))
    True
    >>> fingerprint(1, "a") == fingerprint(1, "b")
    False
    """
    digest = hashlib.blake2b(f"{swwl.__version__} {_FORMAT}".encode(), digest_size=12)
    for value in values:
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
        else:
            digest.update(repr(value).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _stamp(path: Path) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _read_index(path: Path) -> dict[str, tuple[tuple[int, int, int], str]]:
    """Read what files were like when they were hashed; a line cut off by the end of its run is skipped."""
    hashes: dict[str, tuple[tuple[int, int, int], str]] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return hashes
    for line in lines:
        try:
            name, stamp, digest = json.loads(line)
            size, modified, changed = map(int, stamp)
            hashes[str(name)] = ((size, modified, changed), str(digest))
        except (ValueError, TypeError):
            continue
    return hashes


def _remove_stale(folder: Path) -> None:
    """Remove what killed runs left half written an hour ago or earlier; younger files may be another run's."""
    for path in folder.glob("*/.*.part"):
        try:
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()
        except OSError:
            continue

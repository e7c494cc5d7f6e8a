"""Arrays kept for files, by what a file holds and what was done with it."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swwl.errors import StorageWarning
from swwl.storage.atomic import atomic_write

# Raise it whenever the same file and the same options come to give another embedding.
_FORMAT = "3"
# Whether a file refers to others, whose changes its own content does not show: those who know formats add what tells.
REFERS: list[Callable[[Path], bool]] = []
# The files that a folder is read from, in order, or None for anything else.
CONTENTS: list[Callable[[Path], list[Path] | None]] = []
# A file changed twice within the file system's clock tick has the same time stamp both times.
_CLOCK_TICK = 50_000_000
_STALE_SECONDS = 3600

Arrays = dict[str, np.ndarray]


def fingerprint(*parts: Any) -> str:
    """Return a hash of texts, numbers, arrays and lists of them; what has a method ``parts`` is hashed by those.

    Examples
    --------
    >>> fingerprint("BZR", [1, 2]) == fingerprint("BZR", [1, 2]), fingerprint(1, 2) == fingerprint(12)
    (True, False)
    """
    digest = hashlib.sha256()
    _update(digest, parts)
    return digest.hexdigest()[:32]


def _update(digest: Any, part: Any) -> None:
    if hasattr(part, "parts") and callable(part.parts):
        part = part.parts()
    if isinstance(part, np.ndarray) and part.dtype != object:
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, (list, tuple)):
        digest.update(f"({len(part)}".encode())
        for item in part:
            _update(digest, item)
    else:
        digest.update(f"{part!r};".encode())


class Memory:
    """Arrays kept for files, in a folder: one entry for each content of a file and each key.

    Entries appear whole or not at all, under names that say what they hold, so runs may be killed at any point and
    several may share the folder. A damaged entry counts as missing, and a full disk only means that nothing more is
    kept. The folder can be deleted at any time.

    Parameters
    ----------
    folder : str, path or None
        Made when something is first kept; None keeps nothing, and only counts what passes by.

    Attributes
    ----------
    n_nodes : dict of path to int
        Sizes of the meshes that passed by.
    found : set of paths
        Files whose embedding was found here, made by an earlier run.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     mesh = Path(name) / "mesh.txt"
    ...     _ = mesh.write_text("a mesh")
    ...     memory = Memory(Path(name) / ".swwl-cache")
    ...     memory.put(mesh, "moments", "key", 3)
    ...     known = int(memory.get(mesh, "moments", "key")["n_nodes"])
    ...     _ = mesh.write_text("another mesh")
    ...     known, memory.get(mesh, "moments", "key")
    (3, None)
    """

    def __init__(self, folder: str | os.PathLike[str] | None):
        self.folder = None if folder is None else Path(folder)
        self.n_nodes: dict[Path, int] = {}
        self.found: set[Path] = set()
        self._made: set[Path] = set()
        self._hashes: dict[str, tuple[tuple[int, int, int], str]] = {}
        self._lock = threading.Lock()
        self._writable = self.folder is not None
        if self.folder is not None and self.folder.exists():
            _check_format(self.folder)
            self._hashes = _read_index(self.folder / "index.jsonl")
            _remove_stale(self.folder)

    def __reduce__(self) -> tuple[type[Memory], tuple[Path | None]]:
        return Memory, (self.folder,)  # a lock does not travel to other processes

    def get(self, path: Path, kind: str, key: str) -> Arrays | None:
        """Return what was kept for the present content of a file, or None.

        Parameters
        ----------
        path : path
        kind : str
            What sort of result, such as "quantiles".
        key : str
            A :func:`fingerprint` of all that the result depends on besides the file.
        """
        entry = self._entry(path, kind, key)
        if entry is None:
            return None
        try:
            with open(entry, "rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = dict(archive)
                n_nodes = int(arrays["n_nodes"])
        except Exception:  # whatever is wrong with it, it can be made again
            return None
        self.n_nodes[path] = n_nodes
        return arrays

    def put(self, path: Path, kind: str, key: str, n_nodes: int, **arrays: Any) -> None:
        """Keep arrays for the present content of a file."""
        self.n_nodes[path] = n_nodes
        entry = self._entry(path, kind, key)
        if entry is None or not self._writable:
            return
        try:
            self._make_folder()
            entry.parent.mkdir(exist_ok=True)
            with atomic_write(entry) as file:
                np.savez(file, n_nodes=np.asarray(n_nodes), **arrays)
        except OSError as error:
            self._give_up(error)

    def note_found(self, path: Path) -> None:
        """Count a file whose embedding was found here, unless this run made it."""
        if path not in self._made:
            self.found.add(path)

    def note_made(self, path: Path) -> None:
        """Do not count a file whose embedding this run makes, although another of its embeddings was found."""
        self._made.add(path)
        self.found.discard(path)

    def _entry(self, path: Path, kind: str, key: str) -> Path | None:
        if self.folder is None:
            return None
        digest = self._digest(path)
        return None if digest is None else self.folder / digest[:2] / f"{digest}-{kind}-{key}.npz"

    def _digest(self, path: Path) -> str | None:
        """Return the hash of a file's content, without reading it where its time stamps are those of last time."""
        assert self.folder is not None
        try:
            files = _files(path)
            stamp = _stamp(files)
            # Relative names: a folder may be moved with its memory.
            name = os.path.relpath(path, self.folder.parent)
            with self._lock:
                known = self._hashes.get(name)
            if known is not None and known[0] == stamp:
                return known[1]
            if any(refers(path) for refers in REFERS):
                return None
            digest = _hash(files)
            settled = _stamp(files) == stamp
        except (OSError, ValueError):  # relpath knows no way from one drive to another
            return None
        if not settled:  # it is being written
            return None
        # Too young a file may change again under the same stamp: it is hashed again next time.
        if time.time_ns() - stamp[1] > _CLOCK_TICK:
            with self._lock:
                self._hashes[name] = (stamp, digest)
                self._remember(name, stamp, digest)
        return digest

    def _remember(self, name: str, stamp: tuple[int, int, int], digest: str) -> None:
        if self.folder is None or not self._writable:
            return
        line = json.dumps([name, list(stamp), digest]) + "\n"
        try:
            self._make_folder()
            # One write at the end of the file: lines of several runs do not mix.
            handle = os.open(self.folder / "index.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(handle, line.encode())
            finally:
                os.close(handle)
        except OSError as error:
            self._give_up(error)

    def _make_folder(self) -> None:
        """Make the folder and say, before anything else is in it, what the names of its entries mean."""
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "format").exists():
            (self.folder / "format").write_text(_FORMAT, encoding="utf-8")

    def _give_up(self, error: OSError) -> None:
        if self._writable:
            self._writable = False
            reason = error.strerror or error
            warnings.warn(f"{self.folder}: embeddings are not kept ({reason}).", StorageWarning, stacklevel=4)


MemoryLike = Memory | str | os.PathLike[str] | None


def as_memory(memory: MemoryLike) -> Memory:
    """Return a memory as it is, or that of a folder; None counts, but keeps nothing."""
    return memory if isinstance(memory, Memory) else Memory(memory)


def _check_format(folder: Path) -> None:
    """Remove entries that an earlier version kept under other names; they would never be found again."""
    try:
        found = (folder / "format").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        found = "1"
    entries = list(folder.glob("??/*.npz")) if found != _FORMAT else []
    if entries:
        warnings.warn(
            f"{folder}: holds embeddings of another version of swwl; they are removed and made again.",
            StorageWarning,
            stacklevel=4,
        )
    try:
        for entry in entries:
            entry.unlink()
        if found != _FORMAT:
            (folder / "format").write_text(_FORMAT, encoding="utf-8")
    except OSError:
        return


def _files(path: Path) -> list[Path]:
    """Return the files whose content counts: itself, or those of a folder."""
    found = (files(path) for files in CONTENTS)
    return next((files for files in found if files), [path])


def _stamp(files: list[Path]) -> tuple[int, int, int]:
    """Return size and times of a file; of several, their sum, the latest, and a number that tells them apart."""
    states = [os.stat(file) for file in files]
    stamps = [(state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states]
    if len(stamps) == 1:
        return stamps[0]
    names = [file.as_posix().rsplit("/", 3)[-3:] for file in files]
    mark = int(fingerprint(names, stamps)[:15], 16)
    return sum(stamp[0] for stamp in stamps), max(stamp[1] for stamp in stamps), mark


def _hash(files: list[Path]) -> str:
    """Return the hash of a file; of several, that of their hashes."""
    digests = []
    for path in files:
        with open(path, "rb") as file:
            digests.append(hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest())
    if len(digests) == 1:
        return digests[0]
    return fingerprint([file.name for file in files], digests)


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

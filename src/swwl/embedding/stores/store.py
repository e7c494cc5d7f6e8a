"""What is kept of very many meshes, as files: shards that are whole or not there, and a manifest once all are.

A shard holds a few hundred meshes. Its name is a fingerprint of what it was made with and of the files it was made of,
so a run that is killed goes on where it was, several runs may work at once, and files that changed are embedded again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.stores.sampled import Kept, shards
from swwl.errors import InputError, MissingFileError
from swwl.mesh.arrays import AnyArray
from swwl.storage.atomic import atomic_write
from swwl.storage.checks import ZIP_ERRORS, as_array
from swwl.storage.memory import fingerprint

FORMAT, VERSION = "swwl-embeddings", 1
MANIFEST, BASIS = "manifest.json", "basis.swwl"
_STALE_SECONDS = 3600


@dataclass(frozen=True)
class Shard:
    """A few meshes of a column.

    Attributes
    ----------
    name : str
        Of its file.
    column : str
    paths : list of str
        Relative to the folder of the table.
    start : int
        Place of the first among the distinct meshes of the column.
    """

    name: str
    column: str
    paths: list[str]
    start: int


def plan_shards(key: str, column: str, paths: Sequence[str], root: Path) -> list[Shard]:
    """Share the distinct meshes of a column out among shards, whose names say what they are made of.

    Parameters
    ----------
    key : str
        Of the basis.
    column : str
    paths : sequence of str
        Relative to ``root``.
    root : path
    """
    found = []
    for part in shards(len(paths)):
        own = list(paths[part])
        name = fingerprint(key, column, [[path, *_stamp(root / path)] for path in own])
        found.append(Shard(f"{name}.npz", column, own, part.start))
    return found


def _stamp(path: Path) -> tuple[int, int]:
    """Return what tells whether a file has changed; zeros for one that is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def write_shard(folder: Path, name: str, kept: Sequence[Kept], n_nodes: Sequence[int], bad: Mapping[int, str]) -> None:
    """Write a shard under a temporary name, then rename it; the same content gives the same bytes.

    Parameters
    ----------
    folder : path
    name : str
    kept : sequence of Kept
        For each factor.
    n_nodes : sequence of int
    bad : mapping of int to str
        Places of meshes that cannot be used, whose numbers are NaN, and why.
    """
    arrays: dict[str, AnyArray] = {"n_nodes": np.asarray(n_nodes, np.int64)}
    arrays["bad"] = np.array(json.dumps({str(place): reason for place, reason in sorted(bad.items())}))
    for number, (z, left) in enumerate(kept):
        arrays |= {f"z{number}": z, f"left{number}": left}
    with atomic_write(folder / name) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for entry, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{entry}.npy", date_time=(1980, 1, 1, 0, 0, 0)), content.getvalue())


def read_shard(path: Path, checksum: str | None = None) -> tuple[list[Kept], NDArray[np.int64], dict[int, str]]:
    """Return what :func:`write_shard` wrote: what is kept for each factor, numbers of nodes, and what is bad."""
    try:
        content = path.read_bytes()
        if checksum is not None and hashlib.sha256(content).hexdigest() != checksum:
            raise ValueError("the checksum does not match")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            arrays = {name.removesuffix(".npy"): as_array(archive.read(name)) for name in archive.namelist()}
        kept = [(arrays[f"z{i}"], arrays[f"left{i}"]) for i in range((len(arrays) - 2) // 2)]
        bad = {int(place): str(reason) for place, reason in json.loads(str(arrays["bad"])).items()}
        return kept, arrays["n_nodes"], bad
    except (OSError, ValueError, KeyError, *ZIP_ERRORS) as error:
        raise InputError(f"{path}: is damaged ({error}); delete it, and swwl embed will make it again.") from error


def is_whole(path: Path) -> bool:
    """Whether a shard is there, and whole as far as its end tells: a kill leaves none that are not."""
    return path.is_file() and zipfile.is_zipfile(path)


def remove_stale(folder: Path) -> None:
    """Remove what killed runs left half written an hour ago or earlier; younger files may be another run's."""
    for path in folder.glob(".*.part"):
        try:
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()
        except OSError:
            continue


def write_manifest(folder: Path, key: str, root: Path, parts: Sequence[Shard]) -> dict[str, Any]:
    """Write what the store holds, with sizes and checksums, and return it; all shards are there."""
    entries: list[dict[str, Any]] = []
    bad: dict[str, str] = {}
    for shard in parts:
        path = folder / shard.name
        _, _, wrong = read_shard(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        entry = {"name": shard.name, "column": shard.column, "size": path.stat().st_size, "sha256": digest}
        entries.append(entry | {"meshes": shard.paths})
        bad |= {shard.paths[place]: reason for place, reason in wrong.items()}
    # Relative where that leads there, so that store and data can be moved together.
    try:
        where = Path(os.path.relpath(root.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive
        where = root.resolve().as_posix()
    manifest = {"format": FORMAT, "version": VERSION, "basis": key, "root": where, "bad": bad, "shards": entries}
    with atomic_write(folder / MANIFEST) as file:
        file.write(json.dumps(manifest, indent=1).encode())
    return manifest


class Store:
    """A finished store: what is kept of meshes, by their paths.

    Parameters
    ----------
    folder : str or path
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise MissingFileError(f"{folder}: no such folder; swwl embed creates one.")
        try:
            found = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            if found["format"] != FORMAT or found["version"] != VERSION:
                raise ValueError(f"it is of format {found['format']} {found['version']}")
            self._shards: list[dict[str, Any]] = found["shards"]
            self.bad: dict[str, str] = found["bad"]
            self.key = str(found["basis"])
            self.root = Path(os.path.normpath((self.folder / found["root"]).resolve()))
        except FileNotFoundError:
            raise InputError(f"{folder}: has no {MANIFEST}: not a store, or swwl embed has not finished it.") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder}: its {MANIFEST} cannot be used ({error}).") from None

    def gather(self, column: str, paths: Sequence[Any], which: Sequence[int]) -> list[Kept]:
        """Return what is kept of meshes, for some of the column's factors.

        Parameters
        ----------
        column : str
        paths : sequence of paths
        which : sequence of int
            Numbers of the factors.
        """
        wanted = [self._relative(path) for path in paths]
        places: dict[str, int] = {}
        found: list[list[Kept]] = [[] for _ in which]
        for entry in self._shards:
            if entry["column"] != column:
                continue
            kept, _, _ = read_shard(self.folder / entry["name"], entry["sha256"])
            places |= {path: len(places) + i for i, path in enumerate(entry["meshes"])}
            for own, number in zip(found, which, strict=True):
                own.append(kept[number])
        for item, path in enumerate(wanted):
            if path not in places or path in self.bad:
                why = self.bad.get(path, "the store does not hold it; run swwl embed again")
                raise InputError(f"{paths[item]}: {why}").of_item(item, f"Graph {item}")
        rows = np.array([places[path] for path in wanted], np.intp)
        return [
            (np.vstack([z for z, _ in own])[rows], np.concatenate([left for _, left in own])[rows]) for own in found
        ]

    def meshes(self, column: str) -> list[Path]:
        """Return the meshes of a column that could be embedded."""
        paths = [path for entry in self._shards if entry["column"] == column for path in entry["meshes"]]
        return [self.root / path for path in paths if path not in self.bad]

    def nodes(self) -> dict[Path, int]:
        """Return the number of nodes of every mesh that can be used."""
        found: dict[Path, int] = {}
        for entry in self._shards:
            _, n_nodes, _ = read_shard(self.folder / entry["name"], entry["sha256"])
            pairs = zip(entry["meshes"], n_nodes.tolist(), strict=True)
            found |= {self.root / path: count for path, count in pairs if count > 0}
        return found

    def is_bad(self, path: Any) -> bool:
        """Whether a mesh could not be embedded."""
        return self._relative(path) in self.bad

    def _relative(self, path: Any) -> str:
        return relative(path, self.root)


def relative(path: Any, root: Path) -> str:
    """Return a path as seen from a folder, with slashes.

    Examples
    --------
    >>> relative("data/meshes/a.vtu", Path("data"))
    'meshes/a.vtu'
    """
    try:
        return Path(os.path.relpath(os.path.abspath(os.fspath(path)), root.resolve())).as_posix()
    except ValueError:  # another drive
        return Path(path).resolve().as_posix()

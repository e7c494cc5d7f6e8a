"""A data set on disk: a folder with a table, the meshes, the shapes behind them, and what made it.

::

    table.csv    mesh (path relative to the folder), split (train or test), scalars, targets
    shape.csv    mesh, the parameters that drew it: the truth that a model on meshes must find out
    about.json   generator, version, seed, ranges, redraws
    meshes/      00000.vtu, 00001.vtu, ...

`SampleFolder` makes such a folder sample by sample: ``unfinished.jsonl`` holds one line per finished sample, and a run
that died goes on from there and ends with the same bytes as one that did not. ``generated.py`` fills it with
simulations, `coarsen_dataset` with the coarser meshes of another set; `load_dataset` reads what they made.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import pandas as pd

from swwl import __version__
from swwl.datasets.plaid import load_plaid
from swwl.errors import InputError, MissingFileError
from swwl.formatting import size
from swwl.mesh.io import read_mesh
from swwl.mesh.remesh.coarsen import coarsen, require_mmgpy
from swwl.parallel import Progress
from swwl.storage.atomic import atomic_write

Json = dict[str, Any]  # an object of a JSON file
Row = Json  # what is known of a finished sample beside its mesh; "index" is its number

FORMATS = ("vtu", "npz")
_BYTES_PER_NODE = 55  # both formats, compressed, with one field; measured on the three kinds of mesh
_JOURNAL = "unfinished.jsonl"


def load_dataset(folder: str | os.PathLike[str], *, shape: bool = False) -> pd.DataFrame:
    """Read the table of a data set that `write_dataset` or `coarsen_dataset` made.

    Parameters
    ----------
    folder : path
    shape : bool
        Add the parameters that drew the meshes as further columns.

    Returns
    -------
    table : pandas.DataFrame
        Columns ``mesh`` (absolute paths), ``split``, the scalars and the targets.

    Raises
    ------
    FileNotFoundError
        Without a finished data set in the folder.
    """
    folder = Path(folder).resolve()
    if (folder / _JOURNAL).exists():
        made = len(_read_journal(folder))
        raise MissingFileError(
            f"The data set in {folder} is unfinished, at {made} samples; run the same command again to finish it."
        )
    if not (folder / "table.csv").exists():
        raise MissingFileError(f"There is no data set in {folder}: table.csv is missing.")
    table = pd.DataFrame(read_csv(folder / "table.csv"))
    if shape and not (folder / "shape.csv").exists():
        raise MissingFileError(f"The data set in {folder} does not say what drew its meshes: shape.csv is missing.")
    if shape:
        table = table.merge(pd.DataFrame(read_csv(folder / "shape.csv")), on="mesh", validate="one_to_one")
    table["mesh"] = [str(folder / mesh) for mesh in table["mesh"]]
    return table


def mesh_name(index: int, file_format: str) -> str:
    """Path of a mesh relative to the folder.

    >>> mesh_name(17, "vtu")
    'meshes/00017.vtu'
    """
    return f"meshes/{index:05d}.{file_format}"


def is_dataset(folder: Path) -> bool:
    """Whether a folder holds a data set of this kind, finished or not."""
    return (folder / "table.csv").exists() or (folder / _JOURNAL).exists()


class SampleFolder:
    """A folder that is made sample by sample and survives being killed.

    Parameters
    ----------
    path : path
    about : dict
        What the folder is to hold, for ``about.json``. A folder whose own says anything else is refused. The first key
        is one that every folder of this kind has; "n_samples" and "format" are needed.
    kind : str
        A word for the error: "generated", "coarsened".
    free : sequence of str
        Keys that may differ.
    grows : bool
        Whether a folder with fewer samples may be added to.
    force : bool
        Whether to overwrite a folder that holds anything else.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        about: Json,
        *,
        kind: str,
        free: Sequence[str] = (),
        grows: bool = False,
        force: bool = False,
    ) -> None:
        self.path = Path(path)
        self._about, self._kind, self._free, self._grows = dict(about), kind, free, grows
        self.n_samples: int = about["n_samples"]
        self.names = [mesh_name(i, about["format"]) for i in range(self.n_samples)]
        self._force, self._overwrites = force, False

    def rows_left(self, finished: Callable[[Json], dict[int, Row]]) -> dict[int, Row]:
        """Rows by number that an earlier run left for the same request; none for a new or empty folder.

        Parameters
        ----------
        finished : callable
            Reads the rows of a finished folder, which has no journal any more; given what its ``about.json`` says.

        Raises
        ------
        FileExistsError
            When the folder holds something else; nothing is touched then.
        """
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"{self.path} is a file; a folder is needed.")
        try:
            return self._rows_left(finished)
        except FileExistsError as error:
            if not self._force:
                raise FileExistsError(f"{error} (--force, in Python force=True, overwrites it.)") from None
            self._overwrites = True
            return {}

    def _rows_left(self, finished: Callable[[Json], dict[int, Row]]) -> dict[int, Row]:
        # A run that died at once may have left no more than the beginning of its about.json.
        if not self.path.exists() or all(_is_partial(path) for path in self.path.iterdir()):
            return {}
        found = read_json(self.path / "about.json")
        if found is None or next(iter(self._about)) not in found:
            raise FileExistsError(f"{self.path} is not empty and holds no {self._kind} data set: choose another one.")
        for key, wanted in self._about.items():
            if key == "n_samples" and self._grows:
                if found.get(key, 0) > wanted:
                    raise FileExistsError(f"{self.path} holds {found[key]} samples, more than the {wanted} requested.")
            elif key not in self._free and found.get(key) != wanted:
                raise FileExistsError(
                    f"{self.path} holds another data set: its {key} is {found.get(key)!r}, expected {wanted!r}."
                )
        rows = _read_journal(self.path) if (self.path / _JOURNAL).exists() else finished(found)
        return {i: row for i, row in rows.items() if i < self.n_samples and (self.path / self.names[i]).exists()}

    def fill(
        self,
        rows: Mapping[int, Row],
        make: Callable[[list[int]], Iterable[Row]],
        about: Json,
        progress: Progress | None = None,
    ) -> list[Row]:
        """Make the samples that are missing; a line in the journal after each.

        Parameters
        ----------
        rows : mapping of int to dict
            Those that are there, from `rows_left`.
        make : callable
            Given the numbers of the missing samples, writes their meshes and yields their rows, in any order.
        about : mapping
            What ``about.json`` says for the time being.
        progress : callable, optional

        Returns
        -------
        list of dict
            The rows of all samples by number.
        """
        known = dict(rows)
        missing = [i for i in range(self.n_samples) if i not in known]
        if missing:
            self.path.mkdir(parents=True, exist_ok=True)
            for name in ("table.csv", "shape.csv", _JOURNAL) if self._overwrites else ():
                (self.path / name).unlink(missing_ok=True)  # or a run that died would take them for its own
            write_json(self.path / "about.json", about)
            (self.path / "meshes").mkdir(exist_ok=True)
            write_text(self.path / _JOURNAL, "".join(json.dumps(known[i]) + "\n" for i in sorted(known)))
        if progress:
            progress(len(known), self.n_samples)
        if missing:
            with open(self.path / _JOURNAL, "a", encoding="utf-8") as journal:
                for row in make(missing):
                    known[row["index"]] = row
                    journal.write(json.dumps(row) + "\n")
                    journal.flush()
                    if progress:
                        progress(len(known), self.n_samples)
        return [known[i] for i in range(self.n_samples)]

    def finish(self, tables: Mapping[str, Sequence[Mapping[str, object]]], about: Json) -> None:
        """Write the tables and ``about.json``; the journal goes last, so that dying in between does no harm."""
        for name, rows in tables.items():
            write_text(self.path / name, csv_text(rows))
        write_json(self.path / "about.json", about)
        for folder in (self.path, self.path / "meshes"):
            for path in folder.iterdir():
                if _is_partial(path):
                    path.unlink(missing_ok=True)
        (self.path / _JOURNAL).unlink(missing_ok=True)


def coarsen_dataset(
    source: str | os.PathLike[str] | pd.DataFrame,
    folder: str | os.PathLike[str],
    n_nodes: int,
    *,
    tolerance: float = 0.02,
    file_format: str = "vtu",
    n_jobs: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Coarsen all meshes of a data set into a new folder; takes the extra ``[mmg]``.

    A run that was interrupted, even killed, goes on where it stopped when it is started again and ends with the
    bytes of an unbroken run.

    Parameters
    ----------
    source : path or pandas.DataFrame
        A folder that `write_dataset` made, a PLAID folder, or a table whose column ``mesh`` holds paths, `swwl.Mesh`
        objects or anything else that `swwl.as_mesh` takes.
    folder : path
        Folder to make: ``table.csv``, ``about.json`` and ``meshes/``, and ``shape.csv`` if the source has one. One
        that holds anything else is refused.
    n_nodes, tolerance
        As for `coarsen_mesh`.
    file_format : {"vtu", "npz"}
    n_jobs : int, optional
        Processes, -1 for one per core. The meshes do not depend on it.
    force : bool
        Overwrite a folder that holds anything else: its tables and the meshes of the same names. Never the source.
    progress : callable, optional
        Called with the number done and the total, for instance `swwl.parallel.ProgressBar("coarsen")`.

    Returns
    -------
    table : pandas.DataFrame
        The source's, in the order of its rows, with the absolute paths of the new meshes.

    Raises
    ------
    ValueError
        Names the mesh that cannot be coarsened; those that were done are kept for the next run.
    """
    check_format(file_format)
    check_jobs(n_jobs)
    require_mmgpy()
    table, origin, shapes = _open(source)
    out = Path(folder)
    if _same_folder(out, source) or any(_same_folder(out / "meshes", file) for file in _folders(table)):
        raise FileExistsError(f"{out} is the data set itself: choose another folder for the coarser one.")
    rows = _records(table, file_format)
    about = {
        "coarsened_to": int(n_nodes),
        "tolerance": tolerance,
        "version": __version__,
        "format": file_format,
        "n_samples": len(table),
        "table_sha256": _digest(csv_text(rows), table["mesh"]),
        "source": origin,
    }
    target = SampleFolder(out, about, kind="coarsened", force=force)
    meshes = list(table["mesh"])

    def make(missing: list[int]) -> Iterator[Row]:
        where = out.absolute()  # processes of an earlier call may have started in another folder
        tasks = (
            joblib.delayed(_coarsen_one)(meshes[i], i, n_nodes, tolerance, where / target.names[i]) for i in missing
        )
        yield from joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)

    tables = {"table.csv": rows}
    if shapes is not None:
        tables["shape.csv"] = _records(shapes, file_format)

    def finished(found: Json) -> dict[int, Row]:
        for name, ours in tables.items():
            check_unchanged(out / name, ours)
        return {i: {"index": i} for i in range(found["n_samples"])}  # there is nothing more to know

    target.fill(target.rows_left(finished), make, about, progress)
    target.finish(tables, about)
    return table.assign(mesh=[str(out.resolve() / name) for name in target.names])


def _folders(table: pd.DataFrame) -> set[Path]:
    """Return the folders that hold the meshes of a table."""
    return {Path(mesh).parent for mesh in table["mesh"] if isinstance(mesh, (str, os.PathLike))}


def _same_folder(folder: Path, other: object) -> bool:
    if not isinstance(other, (str, os.PathLike)):
        return False
    return folder.exists() and os.path.exists(other) and os.path.samefile(folder, other)


def _records(table: pd.DataFrame, file_format: str) -> list[Row]:
    """Rows of a table with the names of the new meshes in front."""
    return [
        {"mesh": mesh_name(i, file_format)} | {str(key): value for key, value in row.items() if key != "mesh"}
        for i, row in enumerate(table.to_dict("records"))
    ]


def _digest(content: str, meshes: pd.Series) -> str:
    """Fingerprint of the table and the names of its meshes, wherever they lie."""
    names = [Path(mesh).name for mesh in meshes if isinstance(mesh, (str, os.PathLike))]
    return hashlib.sha256("\n".join([content, *names]).encode()).hexdigest()


def _open(source: str | os.PathLike[str] | pd.DataFrame) -> tuple[pd.DataFrame, Json | None, pd.DataFrame | None]:
    """Return the table, what its about.json says, and the parameters behind the shapes, if any."""
    origin, shapes = None, None
    if isinstance(source, pd.DataFrame):
        if "mesh" not in source.columns:
            raise InputError(f"The table has no column 'mesh'; its columns are: {', '.join(map(str, source.columns))}.")
        table = source
    else:
        folder = Path(source)
        if not folder.is_dir():
            raise MissingFileError(f"There is no folder {folder}.")
        if is_dataset(folder):
            table, origin = load_dataset(folder), read_json(folder / "about.json")
            if (folder / "shape.csv").exists():
                both = load_dataset(folder, shape=True)
                shapes = both[["mesh", *both.columns[len(table.columns) :]]]
        else:
            table = load_plaid(folder)
    if not len(table):
        raise InputError("The table has no rows, so there is nothing to coarsen.")
    return table.reset_index(drop=True), origin, shapes


def _coarsen_one(mesh: object, index: int, n_nodes: int, tolerance: float, path: Path) -> Row:
    place = f"Mesh {index}"
    try:
        if isinstance(mesh, (str, os.PathLike)):
            source, mesh = mesh, read_mesh(mesh)
            place += f" ({source})"  # the reader names the file by itself, the coarsener cannot
        coarse = coarsen(mesh, n_nodes, tolerance=tolerance)
    except InputError as error:
        error.of_item(index, place)
        raise
    coarse.write(path)
    return {"index": index, "nodes": coarse.n_nodes}


def check_format(file_format: str) -> None:
    """Refuse a format of meshes that is not written here."""
    if file_format not in FORMATS:
        raise InputError(f"The format must be one of {', '.join(FORMATS)}, found {file_format!r}.")


def check_jobs(n_jobs: int | None) -> None:
    """Refuse 0 processes."""
    if n_jobs == 0:
        raise InputError("The number of processes must be at least 1, or -1 for one per core, found 0.")


def check_disk(folder: Path, n_nodes: int) -> None:
    """Refuse to write meshes of so many nodes in all where there is no room for them."""
    needed = n_nodes * _BYTES_PER_NODE
    existing = next(path for path in (folder.resolve(), *folder.resolve().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise OSError(f"{folder} needs about {size(needed)}, but only {size(free)} are free.")


def check_unchanged(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Refuse a table that does not hold what we wrote: writing it again would undo what someone did to it."""
    if path.exists() and path.read_bytes() != csv_text(rows).encode():
        raise FileExistsError(f"{path} has been changed since it was made: choose another folder.")


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV; floats with the fewest digits that read back equal."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def read_csv(path: Path) -> list[Row]:
    """Rows of one of our tables, exact to the last digit (pandas' own reader is not, in older versions)."""
    with open(path, newline="", encoding="utf-8") as file:
        return [
            {name: text if name in ("mesh", "split") else float(text) for name, text in row.items()}
            for row in csv.DictReader(file)
        ]


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write a JSON file for people to read."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def write_text(path: Path, content: str) -> None:
    """Write a text file, whole or not at all."""
    with atomic_write(path) as file:
        file.write(content.encode())


def read_json(path: Path) -> Json | None:
    """Return the object in a JSON file; None if there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return content if isinstance(content, dict) else None


def _read_journal(folder: Path) -> dict[int, Row]:
    # A line without its end was being written when the run died.
    lines = (folder / _JOURNAL).read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    return {row["index"]: row for row in rows}


def _is_partial(path: Path) -> bool:
    """Whether a file is one that `atomic_write` never finished."""
    return path.name.startswith(".") and path.name.endswith(".part")

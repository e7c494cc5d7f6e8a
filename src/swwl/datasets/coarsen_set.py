"""A whole data set with coarser meshes: the same table, the same folder layout, resumable.

Uses ``mesh/remesh/coarsen.py`` on every mesh and the files of ``folder.py``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pandas as pd

from swwl import __version__
from swwl.datasets.deprecated import renamed_arguments
from swwl.datasets.folder import (
    Row,
    SampleFolder,
    check_format,
    check_jobs,
    check_unchanged,
    csv_text,
    is_dataset,
    load_dataset,
    mesh_name,
    read_json,
)
from swwl.datasets.plaid import load_plaid
from swwl.errors import InputError, MissingFileError
from swwl.mesh.io import read_mesh
from swwl.mesh.remesh.coarsen import coarsen, require_mmgpy
from swwl.parallel import Progress


@renamed_arguments(out="folder", nodes="n_nodes", jobs="n_jobs")
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
        Called with the number done and the number wanted, for instance `swwl.parallel.ProgressBar("coarsen")`.

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

    def finished(found: dict[str, Any]) -> dict[int, Row]:
        for name, ours in tables.items():
            check_unchanged(out / name, ours)
        return {i: {"index": i} for i in range(found["n_samples"])}  # there is nothing more to know

    target.fill(target.rows_left(finished), make, about, progress)
    target.finish(tables, about)
    return table.assign(mesh=[str(out.resolve() / name) for name in target.names])


def _folders(table: pd.DataFrame) -> set[Path]:
    """Return the folders that hold the meshes of a table."""
    return {Path(mesh).parent for mesh in table["mesh"] if isinstance(mesh, (str, os.PathLike))}


def _same_folder(folder: Path, other: Any) -> bool:
    is_path = isinstance(other, (str, os.PathLike))
    return is_path and folder.exists() and os.path.exists(other) and os.path.samefile(folder, other)


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


def _open(source: str | os.PathLike[str] | pd.DataFrame) -> tuple[pd.DataFrame, Any, pd.DataFrame | None]:
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


def _coarsen_one(mesh: Any, index: int, n_nodes: int, tolerance: float, path: Path) -> Row:
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

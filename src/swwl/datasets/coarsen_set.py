"""A whole data set with coarser meshes: the same table, the same folder layout, resumable.

Uses ``coarsen.py`` on every mesh and the files of ``folder.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import pandas as pd

from swwl import __version__
from swwl.datasets.folder import (
    _as_csv,
    _journal,
    _read_journal,
    _read_json,
    _write_journal,
    _write_json,
    _write_text,
    mesh_name,
)
from swwl.datasets.folder import load as load_folder
from swwl.datasets.meshfile import FORMATS, is_partial, remove_partial_files, write_mesh
from swwl.datasets.plaid import load_plaid
from swwl.datasets.sample import Simulation
from swwl.errors import InputError, MissingFileError
from swwl.mesh.coarsen import coarsen, require_mmgpy


def coarsen_dataset(
    source: str | os.PathLike[str] | pd.DataFrame,
    out: str | os.PathLike[str],
    nodes: int,
    *,
    tolerance: float = 0.02,
    file_format: str = "vtu",
    jobs: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Coarsen all meshes of a data set into a new folder; takes the extra ``[mmg]``.

    A run that was interrupted, even killed, goes on where it stopped when it is started again and ends with the
    bytes of an unbroken run.

    Parameters
    ----------
    source : path or pandas.DataFrame
        A folder that `write` made, a PLAID folder, or a table whose column ``mesh`` holds paths or meshio meshes.
    out : path
        Folder to make: ``table.csv``, ``about.json`` and ``meshes/``, and ``shape.csv`` if the source has one. One
        that holds anything else is refused.
    nodes, tolerance
        As for `coarsen`.
    file_format : {"vtu", "npz"}
    jobs : int
        Processes, -1 for one per core. The meshes do not depend on it.
    progress : callable, optional
        Called with the number done and the number wanted, for instance `Progress("coarsen")`.

    Returns
    -------
    table : pandas.DataFrame
        The source's, in the order of its rows, with the absolute paths of the new meshes.

    Raises
    ------
    ValueError
        Names the mesh that cannot be coarsened; those that were done are kept for the next run.
    """
    if file_format not in FORMATS:
        raise InputError(f"The format must be one of {', '.join(FORMATS)}, found {file_format!r}.")
    if jobs == 0:
        raise InputError("jobs must be a number of processes, or -1 for one per core, found 0.")
    require_mmgpy()
    table, origin, shapes = _open(source)
    out = Path(out)
    if not isinstance(source, pd.DataFrame) and out.resolve() == Path(source).resolve():
        raise FileExistsError(f"{out} is the data set itself: choose another folder for the coarser one.")
    names = [mesh_name(i, file_format) for i in range(len(table))]
    rows = [
        {"mesh": name} | {str(key): value for key, value in row.items() if key != "mesh"}
        for name, row in zip(names, table.to_dict("records"), strict=True)
    ]
    content = _as_csv(rows)
    about = {
        "coarsened_to": int(nodes),
        "tolerance": tolerance,
        "version": __version__,
        "format": file_format,
        "n_samples": len(table),
        "table_sha256": _digest(content, table["mesh"]),
        "source": origin,
    }
    done = _done(out, about, names)
    (out / "meshes").mkdir(parents=True, exist_ok=True)
    missing = [i for i in range(len(table)) if i not in done]
    if missing:
        _write_json(out / "about.json", about)
        _write_journal(out, done)
    if progress:
        progress(len(done), len(table))
    if missing:
        tasks = (
            joblib.delayed(_coarsen_one)(table["mesh"].iloc[i], i, nodes, tolerance, out / names[i]) for i in missing
        )
        with open(_journal(out), "a", encoding="utf-8") as journal:
            finished = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)
            for count, row in enumerate(finished, len(done) + 1):
                journal.write(json.dumps(row) + "\n")
                journal.flush()
                if progress:
                    progress(count, len(table))
    _write_text(out / "table.csv", content)
    if shapes is not None:
        shapes["mesh"] = names
        _write_text(out / "shape.csv", _as_csv(shapes.to_dict("records")))
    remove_partial_files(out)
    remove_partial_files(out / "meshes")
    _journal(out).unlink(missing_ok=True)
    return table.assign(mesh=[str(out.resolve() / name) for name in names])


def _digest(content: str, meshes: pd.Series) -> str:
    """Fingerprint of the table and the names of its meshes, wherever they lie."""
    names = [Path(mesh).name for mesh in meshes if isinstance(mesh, (str, os.PathLike))]
    return hashlib.sha256("\n".join([content, *names]).encode()).hexdigest()


def _open(source: str | os.PathLike[str] | pd.DataFrame) -> tuple[pd.DataFrame, Any, pd.DataFrame | None]:
    """Return the table, what its about.json says, and the parameters behind the shapes, if any."""
    if isinstance(source, pd.DataFrame):
        if "mesh" not in source.columns:
            raise InputError(f"The table has no column 'mesh'; its columns are: {', '.join(map(str, source.columns))}.")
        table, origin, shapes = source, None, None
    else:
        folder = Path(source)
        if not folder.is_dir():
            raise MissingFileError(f"There is no folder {folder}.")
        shapes = None
        if (folder / "table.csv").exists() or _journal(folder).exists():
            table, origin = load_folder(folder), _read_json(folder / "about.json")
            if (folder / "shape.csv").exists():
                both = load_folder(folder, shape=True)
                shapes = both[["mesh", *both.columns[len(table.columns) :]]].copy()
        else:
            table, origin = load_plaid(folder), None
    if not len(table):
        raise InputError("The table has no rows, so there is nothing to coarsen.")
    return table.reset_index(drop=True), origin, shapes


def _done(out: Path, about: dict[str, Any], names: list[str]) -> dict[int, dict[str, Any]]:
    """Journal entries of meshes that an earlier run for the same request left; refuse a folder of anything else."""
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file; a folder is needed.")
    if not out.exists() or all(is_partial(path) or path.name == "meshes" for path in out.iterdir()):
        return {}
    found = _read_json(out / "about.json")
    if found is None or "coarsened_to" not in found:
        raise FileExistsError(f"{out} is not empty and holds no coarsened data set: choose another one.")
    for key, wanted in about.items():
        if found.get(key) != wanted:
            raise FileExistsError(
                f"{out} holds another data set: its {key} is {found.get(key)!r}, wanted is {wanted!r}."
            )
    rows = _read_journal(out) if _journal(out).exists() else {i: {"index": i} for i in range(len(names))}
    return {i: row for i, row in rows.items() if (out / names[i]).exists()}


def _coarsen_one(mesh: Any, index: int, nodes: int, tolerance: float, path: Path) -> dict[str, Any]:
    try:
        coarse = coarsen(mesh, nodes, tolerance=tolerance)
    except (ValueError, TypeError) as error:
        named = f" ({mesh})" if isinstance(mesh, (str, os.PathLike)) and str(mesh) not in str(error) else ""
        raise InputError(f"Mesh {index}{named}: {error}") from None
    write_mesh(path, Simulation(coarse.points, {"triangle": coarse.cells[0].data}, dict(coarse.point_data), {}))
    return {"index": index, "nodes": len(coarse.points)}

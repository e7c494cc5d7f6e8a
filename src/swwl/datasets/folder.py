"""A data set on disk: a folder with a table, the meshes, the shapes behind them, and what made it.

::

    table.csv    mesh (path relative to the folder), split (train or test), scalars, targets
    shape.csv    mesh, the parameters that drew it: the truth that a model on meshes must find out
    about.json   generator, version, seed, ranges, redraws
    meshes/      00000.vtu, 00001.vtu, ...

While a run is under way, ``unfinished.jsonl`` holds one line per finished sample; a run that died goes on
from swwl.errors import InputError, MissingFileError
from there and ends with the same bytes as one that did not.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from swwl import __version__
from swwl.datasets.generator import Request, run
from swwl.datasets.meshfile import BYTES_PER_NODE, FORMATS, is_partial, remove_partial_files, whole_file, write_mesh
from swwl.datasets.sample import Sample
from swwl.errors import InputError, MissingFileError

Row = dict[str, Any]  # index, redraws, scalars, shape, targets: a sample without its mesh


def write_folder(
    request: Request,
    folder: str | os.PathLike[str],
    n_samples: int,
    *,
    test_fraction: float = 0.2,
    file_format: str = "vtu",
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Make a data set on disk, finish one that was interrupted, or add samples to a smaller one.

    Raises
    ------
    FileExistsError
        When the folder holds something else; nothing is touched then.
    OSError
        When the disk is too small.
    """
    if n_samples < 1:
        raise InputError(f"n_samples must be at least 1, found {n_samples}.")
    if not 0 <= test_fraction < 1:
        raise InputError(f"test_fraction must be at least 0 and below 1, found {test_fraction}.")
    if file_format not in FORMATS:
        raise InputError(f"The format must be one of {', '.join(FORMATS)}, found {file_format!r}.")
    if jobs == 0:
        raise InputError("jobs must be a number of processes, or -1 for one per core, found 0.")
    folder = Path(folder)
    about = _about(request, n_samples, test_fraction, file_format)
    rows = _rows_at_hand(folder, about)
    missing = [i for i in range(n_samples) if i not in rows]
    if missing:
        _check_disk(folder, len(missing) * request.nodes * BYTES_PER_NODE)
        folder.mkdir(parents=True, exist_ok=True)
        _write_json(folder / "about.json", about | _redraws(rows.values()))
        (folder / "meshes").mkdir(exist_ok=True)
        _write_journal(folder, rows)
    if progress:
        progress(n_samples - len(missing), n_samples)
    if missing:
        finish = partial(_write_and_describe, folder=folder, file_format=file_format)
        with open(_journal(folder), "a", encoding="utf-8") as journal:
            for done, row in enumerate(run(request, missing, finish, jobs), n_samples - len(missing) + 1):
                rows[row["index"]] = row
                journal.write(json.dumps(row) + "\n")
                journal.flush()
                if progress:
                    progress(done, n_samples)
    _write_tables(folder, about, [rows[i] for i in range(n_samples)])


def load(folder: str | os.PathLike[str], *, shape: bool = False) -> pd.DataFrame:
    """Read the table of a data set.

    Parameters
    ----------
    folder : path
    shape : bool
        Add the parameters that drew the meshes as further columns.

    Returns
    -------
    table : pandas.DataFrame
        With absolute mesh paths.
    """
    folder = Path(folder).resolve()
    if _journal(folder).exists():
        made = len(_read_journal(folder))
        raise MissingFileError(f"The data set in {folder} is unfinished, at {made} samples: make it again.")
    if not (folder / "table.csv").exists():
        raise MissingFileError(f"There is no data set in {folder}: table.csv is missing.")
    table = pd.DataFrame(_read_csv(folder / "table.csv"))
    if shape:
        table = table.merge(pd.DataFrame(_read_csv(folder / "shape.csv")), on="mesh", validate="one_to_one")
    table["mesh"] = [str(folder / mesh) for mesh in table["mesh"]]
    return table


def mesh_name(index: int, file_format: str) -> str:
    """Path of a mesh relative to the folder.

    >>> mesh_name(17, "vtu")
    'meshes/00017.vtu'
    """
    return f"meshes/{index:05d}.{file_format}"


def _about(request: Request, n_samples: int, test_fraction: float, file_format: str) -> dict[str, Any]:
    generator = request.generator
    return {
        "generator": generator.name,
        "model": generator.model,
        "version": __version__,
        "seed": request.seed,
        "nodes": request.nodes,
        "random_topology": request.random_topology,
        "format": file_format,
        "n_samples": n_samples,
        "test_fraction": test_fraction,
        "scalars": {name: list(pair) for name, pair in generator.scalars.items()},
        "shape": {name: list(pair) for name, pair in generator.shape.items()},
        "targets": list(generator.targets),
    }


def _redraws(rows: Iterable[Row]) -> dict[str, Any]:
    """Count how often samples had to be drawn anew, in all and for each sample concerned."""
    counts = {str(row["index"]): row["redraws"] for row in rows if row["redraws"]}
    return {"redrawn": sum(counts.values()), "redraws": counts}


def _rows_at_hand(folder: Path, about: dict[str, Any]) -> dict[int, Row]:
    """Rows that an earlier run left for the same request, by index; none for a new or empty folder."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; a folder is needed.")
    # A run that died at once may have left no more than the beginning of its about.json.
    if not folder.exists() or all(is_partial(path) for path in folder.iterdir()):
        return {}
    found = _read_json(folder / "about.json")
    if found is None:
        raise FileExistsError(f"{folder} is not empty and holds no generated data set: choose another one.")
    for key, wanted in about.items():
        if key == "n_samples":
            if found.get(key, 0) > wanted:
                raise FileExistsError(f"{folder} holds {found[key]} samples, more than the {wanted} wanted.")
        elif key not in ("test_fraction", "model") and found.get(key) != wanted:
            raise FileExistsError(
                f"{folder} holds another data set: its {key} is {found.get(key)!r}, wanted is {wanted!r}."
            )
    rows = _read_journal(folder) if _journal(folder).exists() else _read_tables(folder, found)
    return {i: row for i, row in rows.items() if (folder / mesh_name(i, about["format"])).exists()}


def _check_disk(folder: Path, needed: int) -> None:
    existing = next(path for path in (folder.resolve(), *folder.resolve().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise OSError(f"{folder} needs about {needed / 1e9:.1f} GB, but only {free / 1e9:.1f} GB are free.")


def _write_and_describe(sample: Sample, folder: Path, file_format: str) -> Row:
    write_mesh(folder / mesh_name(sample.index, file_format), sample)
    return {
        "index": sample.index,
        "redraws": sample.redraws,
        "scalars": sample.scalars,
        "shape": sample.shape,
        "targets": sample.targets,
    }


def _journal(folder: Path) -> Path:
    return folder / "unfinished.jsonl"


def _write_journal(folder: Path, rows: dict[int, Row]) -> None:
    lines = [json.dumps(rows[i]) + "\n" for i in sorted(rows)]
    _write_text(_journal(folder), "".join(lines))


def _read_journal(folder: Path) -> dict[int, Row]:
    # A line without its end was being written when the run died.
    lines = _journal(folder).read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    return {row["index"]: row for row in rows}


def _write_tables(folder: Path, about: dict[str, Any], rows: list[Row]) -> None:
    """Write the three files of a finished data set; the journal goes last: dying in between does no harm."""
    n_test = round(about["test_fraction"] * len(rows))
    table, shapes = [], []
    for i, row in enumerate(rows):
        mesh = mesh_name(i, about["format"])
        split = "test" if i >= len(rows) - n_test else "train"
        table.append({"mesh": mesh, "split": split} | row["scalars"] | row["targets"])
        shapes.append({"mesh": mesh} | row["shape"])
    _write_text(folder / "table.csv", _as_csv(table))
    _write_text(folder / "shape.csv", _as_csv(shapes))
    _write_json(folder / "about.json", about | _redraws(rows))
    remove_partial_files(folder)
    remove_partial_files(folder / "meshes")
    _journal(folder).unlink(missing_ok=True)


def _read_tables(folder: Path, about: dict[str, Any]) -> dict[int, Row]:
    """Rows of a finished data set: the reverse of `_write_tables`, exact to the last digit."""
    if not (folder / "table.csv").exists() or not (folder / "shape.csv").exists():
        return {}
    table, shapes, redraws = (
        _read_csv(folder / "table.csv"),
        _read_csv(folder / "shape.csv"),
        about["redraws"],
    )
    return {
        i: {
            "index": i,
            "redraws": redraws.get(str(i), 0),
            "scalars": {name: entry[name] for name in about["scalars"]},
            "shape": {name: drawn[name] for name in about["shape"]},
            "targets": {name: entry[name] for name in about["targets"]},
        }
        for i, (entry, drawn) in enumerate(zip(table, shapes, strict=True))
    }


def _as_csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)  # floats are written with the fewest digits that read back equal
    return buffer.getvalue()


def _read_csv(path: Path) -> list[dict[str, Any]]:
    """Rows of one of our tables, exact to the last digit (pandas' own reader is not, in older versions)."""
    with open(path, newline="", encoding="utf-8") as file:
        return [
            {name: text if name in ("mesh", "split") else float(text) for name, text in row.items()}
            for row in csv.DictReader(file)
        ]


def _write_json(path: Path, content: dict[str, Any]) -> None:
    _write_text(path, json.dumps(content, indent=2) + "\n")


def _write_text(path: Path, content: str) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(content.encode())


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None

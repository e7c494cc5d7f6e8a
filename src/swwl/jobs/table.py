"""Tables of commands: files and PLAID folders, what swwl itself wrote beside them or into them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from swwl.errors import InputError, MeshWarning
from swwl.mesh.io.foam.case import is_set_up, why_no_case
from swwl.mesh.io.formats import READERS, is_mesh
from swwl.storage.memory import Memory
from swwl.tables.read import read_table_file

CACHE_FOLDER = ".swwl-cache"
# Columns that swwl select and swwl suggest add to those of a table.
CHOSEN = ("rank", "score", "why")
_MOST_NAMED = 3


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV, Excel or Parquet file, a PLAID data folder, or a folder of cases; it must have rows.

    ``attrs["lines"]`` says on which line each row stands, where that is not its number plus two, and ``attrs["marks"]``
    how a text file separates columns and writes numbers; ``attrs["folder"]`` is where paths of meshes begin.
    """
    if path.is_dir() and not (path / "table.csv").exists():
        from swwl.datasets.plaid import is_plaid

        if is_plaid(path):
            return _read_plaid(path)
    if path.is_dir() and not (path / "table.csv").exists() and (cases := case_files(path)):
        return pd.DataFrame({"mesh": [str(case.absolute()) for case in cases]})
    frame, lines, marks = read_table_file(path)
    frame.attrs["marks"] = marks
    frame.attrs["folder"] = str(path.parent)
    if lines is not None:
        frame.attrs["lines"] = lines
    return frame


def case_files(folder: Path) -> list[Path]:
    """Return the meshes of a folder: files, case folders of OpenFOAM, or the one mesh that a folder in it holds.

    Of files with one name but for their endings, results are taken before what a solver was given: ``part.frd``, not
    ``part.inp``.
    """
    found, bare = [], []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not is_mesh(entry) and is_set_up(entry):
            bare.append(f"{entry.name} ({why_no_case(entry)})")
            continue
        if entry.is_dir() and not is_mesh(entry):
            inside = _meshes(sorted(entry.iterdir()))
            found += inside if len(inside) == 1 else []
        else:
            found.append(entry)
    if bare:
        some = "; ".join(bare[:_MOST_NAMED]) + ("; …" if len(bare) > _MOST_NAMED else "")
        text = f"{folder}: {len(bare)} case folder{'s are' if len(bare) > 1 else ' is'} left out: {some}."
        warnings.warn(text, MeshWarning, stacklevel=2)
    return _meshes(found)


def _meshes(entries: list[Path]) -> list[Path]:
    known = [entry for entry in entries if is_mesh(entry) and (entry.is_dir() or READERS.serves(entry))]
    results = {entry.with_suffix("") for entry in known if entry.suffix.lower() == ".frd"}
    return [entry for entry in known if entry.suffix.lower() == ".frd" or entry.with_suffix("") not in results]


def _read_plaid(folder: Path) -> pd.DataFrame:
    """Read a PLAID folder; of its splits, those whose name begins with "train" are to train on."""
    from swwl.datasets.plaid import load_plaid

    frame = load_plaid(folder)
    require_mesh_files(frame, folder)
    if not any(frame["split"]):
        return frame.drop(columns="split")
    names = [str(split).split(";") for split in frame["split"]]
    train = [any(name.startswith("train") for name in among) for among in names]
    frame["split"] = ["train" if fitted else "test" for fitted in train]
    return frame


def require_mesh_files(frame: pd.DataFrame, folder: Path) -> None:
    """Refuse a PLAID folder whose meshes are not files."""
    if not all(isinstance(mesh, str) for mesh in frame["mesh"]):
        raise InputError(f"{folder}: its meshes are not CGNS files, which commands read; use load_plaid in Python.")


def memory_beside(path: Path, keep: bool = True) -> Memory:
    """Return where embeddings of meshes are kept: beside a table, in a PLAID folder; without ``keep`` none are."""
    return Memory((path if path.is_dir() else path.parent) / CACHE_FOLDER if keep else None)


def known_outputs(path: Path) -> list[str]:
    """Return the columns that the ``about.json`` of a generated data set calls targets."""
    try:
        about = json.loads((path.parent / "about.json").read_text(encoding="utf-8"))
        return [str(name) for name in about["targets"]] if "generator" in about else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def summary(values: ArrayLike) -> dict[str, float]:
    """Return least, median and largest value."""
    known = np.asarray(values, dtype=np.float64)
    return {"least": float(known.min()), "median": float(np.median(known)), "largest": float(known.max())}

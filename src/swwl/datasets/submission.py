"""Predictions for the test split of a PLAID data set, in the form that PLAID's benchmarks take."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.datasets.plaid import load_plaid
from swwl.errors import InputError
from swwl.storage import atomic_write


def load_split(folder: str | os.PathLike[str], split: str = "test") -> pd.DataFrame:
    """Read one split of a PLAID folder in the order in which a submission lists its samples.

    That is the order in which ``problem_definition/split.json`` lists them, where there is one, and otherwise that of
    their numbers.

    Parameters
    ----------
    folder : path
    split : str
    """
    table = load_plaid(folder, split)
    for base in (Path(folder), Path(folder).resolve().parent):
        try:
            listed = json.loads((base / "problem_definition" / "split.json").read_text(encoding="utf-8"))[split]
            order = {int(number): place for place, number in enumerate(listed)}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        numbers = [sample_number(mesh) for mesh in table["mesh"]]
        if None not in numbers and set(numbers) == set(order):
            return table.iloc[np.argsort([order[number] for number in numbers if number is not None])].reset_index(
                drop=True
            )
        break
    return table


def sample_number(mesh: Any) -> int | None:
    """Return the number of the sample that a mesh file belongs to, or None.

    Examples
    --------
    >>> sample_number("set/data/test/sample_000000012/meshes/mesh_000000000.cgns")
    12
    """
    found = re.search(r"sample_(\d+)", str(Path(mesh).parent)) if isinstance(mesh, (str, os.PathLike)) else None
    return int(found[1]) if found else None


def write_submission(path: str | os.PathLike[str], predictions: Sequence[Mapping[str, Any]]) -> None:
    """Write predictions as PLAID's benchmarks take them: a pickled list with one dict per sample.

    Parameters
    ----------
    path : str or path
        Written under a temporary name until it is complete.
    predictions : sequence of mappings
        Of every sample its fields by name, arrays of shape (n,), and its scalars.

    Notes
    -----
    The format is theirs. It is a pickle of a list, dicts, texts, floats and NumPy arrays and nothing else; swwl itself
    reads no pickle.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_submission(f"{folder}/s.pkl", [{"U1": np.zeros(3), "max_von_mises": 2.5}])
    """
    rows = [{str(name): _plain(name, value) for name, value in row.items()} for row in predictions]
    with atomic_write(path) as file:
        pickle.dump(rows, file, protocol=4)


def _plain(name: str, value: Any) -> Any:
    array = np.asarray(value, dtype=np.float64)
    if not np.isfinite(array).all() or array.ndim > 1:
        raise InputError(f"The prediction of {name!r} must be a finite number or a vector of them.")
    return np.ascontiguousarray(array) if array.ndim else float(array)

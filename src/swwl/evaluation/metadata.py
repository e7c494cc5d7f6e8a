"""What ``swwl fit`` wrote into a model about its data, checked: pages and commands show it as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.gp.prediction import Prediction
from swwl.models.regression import RobustGPRegressor
from swwl.restore import check_count, check_number, shown


def data_of(model: RobustGPRegressor) -> dict[str, Any]:
    """Return the metadata of a model that ``swwl fit`` wrote, or an empty dict where it is the user's own.

    Examples
    --------
    >>> model = RobustGPRegressor()
    >>> model.metadata_ = {"note": "mine"}
    >>> data_of(model)
    {}
    """
    data = model.metadata_
    if "train" not in data:
        return {}
    with located("The metadata of the model"):
        check_table(data)
        n, k = model.train_targets_.shape
        check_cases("train", data["train"], n)
        held_out = data.get("held_out")
        if held_out is not None:
            numbers = _numbers(held_out, k)
            check_cases("held_out", held_out, len(numbers[0]))
            check_number("df", held_out.get("df"), above=0.0)
    return data


def held_out_of(model: RobustGPRegressor) -> tuple[NDArray[np.float64], Prediction] | None:
    """Return held-out targets (M, k) and their predictions from a model's metadata, or None."""
    data = data_of(model).get("held_out")
    if data is None:
        return None
    targets, mean, std = _numbers(data, len(model.target_names_))
    return targets, Prediction.from_std(mean, std, float(data["df"]))


def check_table(data: dict[str, Any]) -> None:
    """Refuse what does not describe a table and its columns."""
    for name in ("table", "split"):
        check_that(name, data.get(name), isinstance(data.get(name), str), "a text")
    check_count("n_rows", data.get("n_rows"))
    ignored = data.get("ignored")
    good = isinstance(ignored, dict) and all(isinstance(reason, str) for reason in ignored.values())
    check_that("ignored", ignored, good, "names with reasons")


def _numbers(held_out: Any, k: int) -> list[NDArray[np.float64]]:
    """Return targets, means and standard deviations of held-out rows, (M, k) each."""
    check_that("held_out", held_out, isinstance(held_out, dict), "a dict")
    try:
        found = [np.array(held_out[name], dtype=float) for name in ("targets", "mean", "std")]
    except (KeyError, TypeError, ValueError):
        found = []
    good = found and found[0].ndim and all(array.shape == (len(found[0]), k) for array in found)
    check_that("held_out", held_out, bool(good), f"targets, means and standard deviations of {k} columns")
    return found


def check_cases(name: str, known: Any, n: int) -> None:
    """Refuse rows, meshes and numbers of nodes that are not those of n cases."""
    check_that(name, known, isinstance(known, dict), "a dict")
    rows, meshes, nodes = (known.get(key) for key in ("rows", "meshes", "nodes"))
    check_that(f"{name} rows", rows, isinstance(rows, list) and len(rows) == n, f"{n} numbers")
    check_that(f"{name} meshes", meshes, isinstance(meshes, dict), "paths by column")
    check_that(f"{name} nodes", nodes, isinstance(nodes, list) and len(nodes) in (0, n), f"{n} numbers")
    for paths in meshes.values():
        good = isinstance(paths, list) and len(paths) == n and all(isinstance(path, str) for path in paths)
        check_that(f"{name} meshes", paths, good, f"{n} paths")
    for row in rows:
        check_count(f"{name} row", row)
    for count in nodes:
        if count is not None:
            check_count(f"{name} nodes", count)


def check_that(name: str, value: Any, good: bool, wanted: str) -> None:
    """Refuse a value that is not what is wanted."""
    if not good:
        raise InputError(f"{name} is {shown(value)}, but {wanted} is wanted")

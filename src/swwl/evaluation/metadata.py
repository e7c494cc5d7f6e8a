"""What ``swwl fit`` wrote into a model of fields about its data and its scores, checked: it is shown as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.fields.estimator import FieldRegressor
from swwl.fields.scores import MeshScore, pooled
from swwl.gp.prediction import Prediction
from swwl.regression.estimator import RobustGPRegressor
from swwl.storage.checks import check_count, check_number, shown


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


HELD_OUT = "held out"
FOLDS = "folds"


def field_data_of(model: FieldRegressor) -> dict[str, Any]:
    """Return the metadata of a model of fields that ``swwl fit`` wrote, or an empty dict where it is the user's own.

    Examples
    --------
    >>> model = FieldRegressor()
    >>> model.metadata_ = {"note": "mine"}
    >>> field_data_of(model)
    {}
    """
    data: dict[str, Any] = model.metadata_
    if "train" not in data or "ranges" not in data:
        return {}
    with located("The metadata of the model"):
        check_table(data)
        _check_known("train", data["train"])
        if data.get("held_out") is not None:
            _check_known("held_out", data["held_out"])
        ranges = data["ranges"]
        check_that("ranges", ranges, isinstance(ranges, dict), "least and largest values by column")
        for bounds in ranges.values():
            check_that("ranges", bounds, isinstance(bounds, list) and len(bounds) == 2, "two numbers")
            for bound in bounds:
                check_number("a bound", bound)
        held_out = data.get("held_out_scores")
        check_that("held_out_scores", held_out, isinstance(held_out, dict), "scores by field")
        for rows in data["held_out_scores"].values():
            check_that("held_out_scores", rows, isinstance(rows, list), "a list")
            for row in rows:
                _check_row(row)
    return data


def _check_known(name: str, known: Any) -> None:
    """Refuse cases whose rows, meshes or inputs are not equally many."""
    check_that(name, known, isinstance(known, dict) and isinstance(known.get("rows"), list), "cases with their rows")
    n = len(known["rows"])
    check_cases(name, known, n)
    inputs = known.get("inputs", {})
    good = isinstance(inputs, dict) and all(isinstance(v, list) and len(v) == n for v in inputs.values())
    check_that(f"{name} inputs", inputs, good, f"{n} values by column")


# What a stored score has, apart from the name, the number of nodes and the mean; those that may be missing come last.
_NUMBERS = ("rmse", "largest", "largest_predicted", "spread")
_PERHAPS = ("rrmse", "coverage", "width", "interval_score")


def plain_score(score: MeshScore, case: int) -> dict[str, Any]:
    """Return a score as JSON holds it: NaN is None; ``case`` is the number of the held-out case."""
    row = score._asdict()
    numbers = {name: None if row[name] != row[name] else row[name] for name in _PERHAPS}
    return row | numbers | {"mean": list(score.mean), "case": case}


def _check_row(row: Any) -> None:
    check_that("a score", row, isinstance(row, dict), "a dict")
    check_that("the name of a score", row.get("name"), isinstance(row.get("name"), str), "a text")
    check_count("nodes", row.get("n"), 1)
    check_count("a case", row.get("case"))
    for name in _NUMBERS:
        check_number(name, row.get(name))
    for name in _PERHAPS:
        if row.get(name) is not None:
            check_number(name, row[name])
    check_that("mean", row.get("mean"), isinstance(row.get("mean"), list) and len(row["mean"]) > 0, "numbers")
    for value in row["mean"]:
        check_number("mean", value)


def held_out_scores(model: FieldRegressor) -> dict[str, list[tuple[int, MeshScore]]]:
    """Return the scores of held-out meshes by field: (number of the held-out case, score)."""
    found: dict[str, list[tuple[int, MeshScore]]] = {}
    for name, rows in field_data_of(model).get("held_out_scores", {}).items():
        numbers = [{key: float("nan") if row[key] is None else float(row[key]) for key in _PERHAPS} for row in rows]
        scores = [
            MeshScore(**{key: row[key] for key in MeshScore._fields} | known | {"mean": tuple(map(float, row["mean"]))})
            for row, known in zip(rows, numbers, strict=True)
        ]
        found[name] = [(int(row["case"]), score) for row, score in zip(rows, scores, strict=True)]
    return found


def field_score_rows(model: FieldRegressor) -> list[dict[str, Any]]:
    """Return one row per field and kind of test: by cross-validation and, where there are any, on held-out meshes."""
    names = _training_names(model)
    held_out = held_out_scores(model)
    known = {row["field"]: row for row in model.cross_validated().to_dict("records")}
    rows = []
    for field in model.field_names_:
        if field in known:
            rows.append(_of_folds(known[field], names))
        if held_out.get(field):
            rows.append({"field": field, "test": HELD_OUT} | pooled([s for _, s in held_out[field]])._asdict())
    return rows


def _of_folds(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the scores of folds in the words of those of held-out meshes, as far as they go."""
    number = int(row["worst"])
    kept = {name: float(row[name]) for name in ("rrmse", "q2", "max_error", "coverage", "worst_rrmse")}
    return {
        "field": row["field"],
        "test": FOLDS,
        "n": len(names) or None,
        **kept,
        "worst_coverage": float(row["least_coverage"]),
        "worst": names[number] if number < len(names) else f"mesh {number}",
    }


def _training_names(model: FieldRegressor) -> list[str]:
    """Return the names of the training meshes, where they are known."""
    meshes = field_data_of(model).get("train", {}).get("meshes", {})
    return [Path(path).name for path in next(iter(meshes.values()), [])]

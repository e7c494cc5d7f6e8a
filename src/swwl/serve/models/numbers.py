"""A model of numbers, served: predictions, domain, map and importance of a RobustGPRegressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.evaluation import scores
from swwl.evaluation.metadata import NumberData, data_of
from swwl.fields.numbers import LinearNumber
from swwl.gp.prediction import Prediction
from swwl.jobs.predict import check_names, graph_columns, prediction_table
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.one_mesh import OneMesh
from swwl.regression.sensitivity import Sensitivity
from swwl.serve.models.meshes import Known
from swwl.serve.models.served import Apart, Judged, Place, Served, Told, spread
from swwl.serve.models.single_flight import Once

_PREPARED = 64  # meshes whose embedding is kept, of every model


class ServedNumbers(Served):
    """A RobustGPRegressor to answer questions."""

    model: RobustGPRegressor
    data: NumberData | None

    def __init__(self, name: str, model: RobustGPRegressor, path: Path, folder: Path):
        super().__init__(name, model, path, folder)
        with located(str(path)):
            self.data = data_of(model)
        self.mesh_columns = graph_columns(model)
        self.targets, self.fields = list(model.target_names_), []
        self._prepared: Once[tuple[OneMesh, Place | None]] = Once(_PREPARED)

    def _prepare(self, meshes: Mapping[str, Known]) -> tuple[OneMesh, Place | None]:
        """Return the model with meshes embedded, and where they lie on the map; that is done once for each."""
        self.check_meshes(meshes)
        key = tuple((name, meshes[name].key) for name in self.mesh_columns)

        def make() -> tuple[OneMesh, Place | None]:
            one = OneMesh.of(self.model, {name: meshes[name].item for name in self.mesh_columns})
            return one, self.design.place(one.vectors()) if meshes and self.design else None

        return self._prepared.get(key, make)

    def judge(
        self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float, asked: Sequence[LinearNumber] = ()
    ) -> Judged:
        """Predict one case, and say whether it is like the training cases."""
        if asked:
            raise InputError(f"Model {self.name!r} predicts numbers, but probe and force_on are for fields.")
        one, place = self._prepare(meshes)
        prediction, domain = one.predict_with_domain(self.model, table)
        found, unsure = _told(prediction.columns(), level), str(domain["widened"][0]).split(", ")
        targets = {
            name: {key: float(values[0, k]) for key, values in found.items()} | {"unsure": name in unsure}
            for k, name in enumerate(self.targets)
        }
        inside = None if domain["inside"][0] is pd.NA else bool(domain["inside"][0])
        return Judged(targets, inside, float(domain["score"][0]), str(domain["why"][0]), place)

    def along(self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float) -> Told:
        """Predict many rows of one mesh."""
        cases = self._prepare(meshes)[0].represent(table)
        return _told(self.model.predict_represented(cases).columns(), level)

    def rows(self, table: pd.DataFrame) -> Told:
        """Predict rows with meshes of their own."""
        return _told(self.model.predict_with_domain(table)[0].columns(), 0.95)

    def sensitivities(self, meshes: Mapping[str, Known], table: pd.DataFrame) -> list[Sensitivity]:
        """Return how the predictions of one case change when nodes move and inputs change, one for each target."""
        self.check_meshes(meshes)
        items = {name: pd.Series([known.item], dtype=object) for name, known in meshes.items()}
        return self.model.sensitivity(table.assign(**items), std=False)

    def check_names(self, frame: pd.DataFrame, path: Path) -> None:
        """Refuse a table that has columns where predictions go."""
        check_names(self.model, frame, path)

    def with_predictions(self, frame: pd.DataFrame, inputs: pd.DataFrame, apart: Apart) -> pd.DataFrame:
        """Return a table with predictions beside its columns."""
        prediction, domain = self.model.predict_with_domain(inputs)
        return prediction_table(self.model, frame, prediction.columns(), apart, domain)

    @cached_property
    def inputs(self) -> list[dict[str, Any]]:
        """The inputs beside meshes: their names, what they hold, and the range of the training cases."""
        return inputs_of(self.model)

    def training(self) -> tuple[list[Any], list[Any]]:
        """Return the factors of the kernel, and what they made of the training cases."""
        return self.model.kernel_.factors, self.model.train_rows_

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that can be told before anything is asked."""
        model, y = self.model, self.model.train_targets_
        self.model.domain_reference()  # learned once, before the first question
        tested: dict[str, list[dict[str, Any]]] = {name: [] for name in self.targets}
        for row in scores.score_rows(model):
            tested[row["target"]].append({key: value for key, value in row.items() if key != "target"})
        importance = scores.importance_table(model)
        held_out = None if self.data is None else self.data.held_out
        tested_on = held_out.targets if held_out else []
        return {
            "name": self.name,
            "kind": "numbers",
            "kernel": repr(model.kernel_),
            "n_train": len(y),
            "table": self.data and self.data.table,
            "mesh_columns": self.mesh_columns,
            "inputs": self.inputs,
            "targets": [
                {"name": name, "scores": tested[name]} | spread(y[:, k]) for k, name in enumerate(self.targets)
            ],
            "fields": self.fields,
            "importance": {str(name): importance[name].to_dict() for name in importance.columns},
            "variance_shares": self._variance_shares(),
            "train": {name: _known(y[:, k]) for k, name in enumerate(self.targets)},
            "map": self.design and self.design.facts(),
            "cases": self.cases("train", model.train_inputs_, map(_known, y))
            + self.cases("test", self.given(held_out), tested_on),
            "sensitivity": len(self.mesh_columns) == 1,
        }

    def _variance_shares(self) -> dict[str, dict[str, float]]:
        """Return the share of the variance that goes with every input of every target, as far as it is known."""
        found: dict[str, dict[str, float]] = {}
        for row in [] if self.data is None else self.data.variance_shares:
            found.setdefault(row.target, {})[row.input] = row.share
        return found


def inputs_of(model: RobustGPRegressor) -> list[dict[str, Any]]:
    """Return the inputs of a model beside meshes: their names, what they hold, and the range of the training cases."""
    found: dict[str, dict[str, Any]] = {}
    train = model.train_inputs_
    for factor in model.kernel_.factors:
        if factor.takes == "categories":
            known = [str(text) for text in factor.categories_]
            found[factor.column] = {"name": factor.column, "holds": "categories", "categories": known}
        elif factor.takes == "rows":
            found[factor.column] = {"name": factor.column, "holds": "rows"}
        elif factor.takes == "numbers":
            found[factor.column] = {"name": factor.column, "holds": "numbers"} | spread(train[factor.column])
    meshes = {factor.column for factor in model.kernel_.factors if factor.takes == "graphs"}
    for name in model.feature_names_in_:
        if name not in found and name not in meshes:
            told = spread(train[name]) if name in train else {}  # not in files of 0.3.0
            found[name] = {"name": name, "holds": "numbers"} | told
    return list(found.values())


def _known(values: NDArray[np.float64]) -> list[float | None]:
    """Return values as JSON has them: None where one is missing."""
    return [None if np.isnan(value) else value for value in values.tolist()]


def _told(prediction: Prediction, level: float) -> Told:
    """Return what a prediction says, arrays of shape (M, k)."""
    lower, upper = prediction.interval(level)
    told = {"mean": prediction.mean, "std": prediction.std, "lower": lower, "upper": upper}
    start, stop = prediction.gap(level)
    return told | ({"gap_from": start, "gap_to": stop} if np.isfinite(start).any() else {})

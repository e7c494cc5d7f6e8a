"""A model of numbers, served: predictions, domain, map and importance of a RobustGPRegressor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.design.domain import WIDER, far_from_others
from swwl.embedding.components import principal_components, project
from swwl.errors import located
from swwl.evaluation import scores
from swwl.evaluation.curves import trend_columns
from swwl.evaluation.metadata import data_of
from swwl.gp.prediction import Prediction
from swwl.jobs.predict import graph_columns
from swwl.models.prepared import Prepared
from swwl.models.regression import RobustGPRegressor
from swwl.plots.inputs import design_vectors
from swwl.serve.meshes import Known
from swwl.serve.once import Once
from swwl.serve.served import Array, Judged, Served, spread, told

_PREPARED = 64  # meshes whose embedding is kept, of every model


class ServedNumbers(Served):
    """A RobustGPRegressor to answer questions."""

    model: RobustGPRegressor

    def __init__(self, name: str, model: RobustGPRegressor, path: Path, folder: Path):
        super().__init__(name, model, path, folder)
        with located(str(path)):
            self.data = data_of(model)
        self.mesh_columns = graph_columns(model)
        self.targets, self.fields = list(model.target_names_), []
        self._prepared: Once[Prepared] = Once(_PREPARED)
        # Beside the place the one it belongs to: as long as it is kept, nobody else has its id.
        self._places: Once[tuple[Prepared, dict[str, Any] | None]] = Once(_PREPARED)

    def prepared(self, meshes: Mapping[str, Known]) -> Prepared:
        """Return the model with meshes embedded; that is done once for each."""
        self.check_meshes(meshes)
        key = tuple((name, meshes[name].key) for name in self.mesh_columns)
        items = {name: meshes[name].item for name in self.mesh_columns}
        return self._prepared.get(key, lambda: Prepared(self.model, items))

    def judge(self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float) -> Judged:
        """Predict one case, and say whether it is like the training cases."""
        prepared = self.prepared(meshes)
        prediction, domain = prepared.predict_with_domain(table)
        prediction = prediction.columns()
        unsure = self.unsure(prediction)[0]
        lower, upper = self.interval(prediction, level)
        found = {"mean": prediction.mean[0], "std": prediction.std[0], "lower": lower[0], "upper": upper[0]}
        targets = {
            name: told({key: values[k] for key, values in found.items()}, bool(unsure[k]))
            for k, name in enumerate(self.targets)
        }
        row = {key: values[0] for key, values in domain.items()}
        inside = None if row["inside"] is pd.NA else bool(row["inside"])
        place = self._places.get(id(prepared), lambda: (prepared, self._place(prepared)))[1] if meshes else None
        return Judged(targets, inside, float(row["score"]), str(row["why"]), place)

    def unsure(self, prediction: Prediction) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return where the model is less sure than of 95 of 100 left-out training cases, (M, k)."""
        return np.asarray(self.model.domain_reference().widened(prediction)).reshape(prediction.mean.shape)

    def interval(self, prediction: Prediction, level: float) -> tuple[Array, Array]:
        """Return the bounds of intervals (M, k), doubled where the model is unsure, as ``swwl predict`` does."""
        lower, upper = prediction.interval(level)
        if not (unsure := self.unsure(prediction)).any():
            return lower, upper
        wide = prediction.widened(np.where(unsure, WIDER, 1.0)).interval(level)
        return np.where(unsure, wide[0], lower), np.where(unsure, wide[1], upper)

    def along(self, meshes: Mapping[str, Known], table: pd.DataFrame) -> Prediction:
        """Predict many rows of one mesh, arrays of shape (M, k)."""
        return self.prepared(meshes).predict_distribution(table).columns()

    @cached_property
    def inputs(self) -> list[dict[str, Any]]:
        """The inputs beside meshes: their names, what they hold, and the range of the training cases."""
        found: dict[str, dict[str, Any]] = {}
        train = self.model.train_inputs_
        for factor in self.model.kernel_.factors:
            if factor.takes == "categories":
                known = [str(text) for text in factor.categories_]
                found[factor.column] = {"name": factor.column, "holds": "categories", "categories": known}
            elif factor.takes == "rows":
                found[factor.column] = {"name": factor.column, "holds": "rows"}
            elif factor.takes == "numbers":
                found[factor.column] = {"name": factor.column, "holds": "numbers"} | spread(train[factor.column])
        for name in trend_columns(self.model):
            found[name] = {"name": name, "holds": "numbers"}
        return list(found.values())

    @cached_property
    def _design(self) -> tuple[Array, Array, Array, Array] | None:
        """A map of the training cases: their vectors (N, K), coordinates (N, 2), center and components; or None."""
        rows = design_vectors(self.model)
        if rows is None or len(rows) < 3:
            return None
        mean, components, _ = principal_components(rows, 2)
        places = np.zeros((len(rows), 2))
        places[:, : components.shape[1]] = project(rows, mean, components)
        return rows.astype(np.float64), places, mean, components

    def _place(self, prepared: Prepared) -> dict[str, Any] | None:
        """Return where a mesh lies on the map, and the training cases that are nearest to it."""
        vector = prepared.vectors()
        if self._design is None or vector is None or vector.shape != self._design[0].shape[1:]:
            return None
        rows, _, mean, components = self._design
        place = np.zeros(2)
        place[: components.shape[1]] = project(vector[None], mean, components)[0]
        distances = np.sqrt(((rows - vector) ** 2).sum(axis=1))
        order = np.argsort(distances, kind="stable")[:5]
        near = [{"case": int(i), "label": self.labels[i], "distance": float(distances[i])} for i in order]
        return {"place": place.tolist(), "nearest": near}

    @cached_property
    def labels(self) -> list[str]:
        """Names of the training cases: their first mesh, or their number."""
        meshes = next(iter(((self.data.get("train") or {}).get("meshes") or {}).values()), None)
        n = len(self.model.train_targets_)
        return [Path(name).name for name in meshes] if meshes else [f"case {i}" for i in range(n)]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that can be told before anything is asked."""
        model, y = self.model, self.model.train_targets_
        self.model.domain_reference()  # learned once, before the first question
        tested: dict[str, list[dict[str, Any]]] = {name: [] for name in self.targets}
        for row in scores.score_rows(model):
            tested[row["target"]].append({key: value for key, value in row.items() if key != "target"})
        importance = scores.importance_table(model)
        held_out = self.data.get("held_out") or {}
        tested_on = held_out.get("targets") or []
        return {
            "name": self.name,
            "kind": "numbers",
            "kernel": repr(model.kernel_),
            "n_train": len(y),
            "table": self.data.get("table"),
            "mesh_columns": self.mesh_columns,
            "inputs": self.inputs,
            "targets": [
                {"name": name, "scores": tested[name]} | spread(y[:, k]) for k, name in enumerate(self.targets)
            ],
            "fields": self.fields,
            "curves": True,
            "importance": {str(name): importance[name].to_dict() for name in importance.columns},
            "train": {name: y[:, k] for k, name in enumerate(self.targets)},
            "map": self._map(),
            "cases": self.cases("train", model.train_inputs_, y) + self.cases("test", self.given(held_out), tested_on),
            "sensitivity": bool(self.mesh_columns),
        }

    def _map(self) -> dict[str, Any] | None:
        if self._design is None:
            return None
        rows, places, _, _ = self._design
        return {"places": places, "labels": self.labels, "far": far_from_others(rows)}

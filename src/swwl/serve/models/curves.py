"""A model of curves, served: its curves, and numbers derived from them as targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.errors import InputError, located
from swwl.evaluation.metadata import curve_data_of, curve_score_rows
from swwl.fields.numbers import LinearNumber
from swwl.jobs.predict import graph_columns
from swwl.jobs.series import AskedOfCurves, check_curve_names, predict_curve_table
from swwl.regression.curves.cases import CurveCases
from swwl.regression.curves.estimator import CurveRegressor
from swwl.regression.curves.numbers import number_of
from swwl.regression.one_mesh import OneMesh
from swwl.serve.models.meshes import Known
from swwl.serve.models.numbers import inputs_of
from swwl.serve.models.served import Apart, Judged, Place, Served, Told, spread
from swwl.serve.models.single_flight import Once

# Numbers of curves that stand among the targets.
_NUMBERS = ("peak", "lowest", "integral")
_ASKED = AskedOfCurves(_NUMBERS)
_PLACES = 64  # on the map, which are kept
_MOST_DRAWN = 50_000  # values of training curves that are handed to the page


class ServedCurves(Served):
    """A CurveRegressor to answer questions."""

    model: CurveRegressor

    def __init__(self, name: str, model: CurveRegressor, path: Path, folder: Path):
        super().__init__(name, model, path, folder)
        with located(str(path)):
            self.data = curve_data_of(model)
        self.mesh_columns = graph_columns(model)
        self.targets, self.fields = [f"{model.curve_}_{what}" for what in _NUMBERS], []
        self._places: Once[Place | None] = Once(_PLACES)

    def _cases(self, meshes: Mapping[str, Known], table: pd.DataFrame) -> CurveCases:
        """Return rows of one mesh as the model sees them."""
        self.check_meshes(meshes)
        items = {name: pd.Series([known.item] * len(table), table.index, object) for name, known in meshes.items()}
        return self.model.cases(table.assign(**items))

    def _place(self, meshes: Mapping[str, Known]) -> Place | None:
        """Return where meshes lie on the map, computed once for each."""
        design = self.design if meshes else None
        if design is None:
            return None
        items = {name: known.item for name, known in meshes.items()}
        key = tuple((name, meshes[name].key) for name in self.mesh_columns)
        return self._places.get(key, lambda: design.place(OneMesh.of(self.model.regressor_, items).vectors()))

    def judge(
        self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float, asked: Sequence[LinearNumber] = ()
    ) -> Judged:
        """Predict one case: numbers of its curve, the curve itself, and whether it is like the training cases."""
        if asked:
            raise InputError(f"Model {self.name!r} predicts curves, but probe and force_on are for fields.")
        cases = self._cases(meshes, table)
        told, domain = self._told(cases, level), cases.domain.iloc[0]
        unsure = bool(domain["widened"])
        targets = {
            name: {key: float(values[0, k]) for key, values in told.items()} | {"unsure": unsure}
            for k, name in enumerate(self.targets)
        }
        parts = [cases.predict(), *cases.predict_interval(level), *cases.predict_interval(level, simultaneous=True)]
        keys = ("mean", "lower", "upper", "lower_whole", "upper_whole")
        curve = {"abscissa": self.model.grid_} | {key: part[0] for key, part in zip(keys, parts, strict=True)}
        inside = None if pd.isna(domain["inside"]) else bool(domain["inside"])
        curves = {self.model.curve_: {key: values.tolist() for key, values in curve.items()}}
        return Judged(targets, inside, float(domain["score"]), str(domain["why"]), self._place(meshes), curves)

    def along(self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float) -> Told:
        """Predict the numbers of many rows of one mesh."""
        return self._told(self._cases(meshes, table), level)

    def rows(self, table: pd.DataFrame) -> Told:
        """Predict the numbers of rows with meshes of their own."""
        return self._told(self.model.cases(table), 0.95)

    def _told(self, cases: CurveCases, level: float) -> Told:
        found = cases.derived(list(_NUMBERS), level)
        keys = ("mean", "std", "lower", "upper")
        return {key: found[[f"{what}_{key}" for what in _NUMBERS]].to_numpy() for key in keys}

    def check_names(self, frame: pd.DataFrame, path: Path) -> None:
        """Refuse a table that has columns where predictions go."""
        check_curve_names(self.model, frame, path, _ASKED)

    def with_predictions(self, frame: pd.DataFrame, inputs: pd.DataFrame, apart: Apart) -> pd.DataFrame:
        """Return a table with numbers of curves, and curves that came as wide columns, beside its columns."""
        cases = self.model.cases(inputs)
        return predict_curve_table(self.model, frame, self.path, cases, asked=_ASKED, apart=apart).table

    @cached_property
    def inputs(self) -> list[dict[str, Any]]:
        """The inputs beside meshes: their names, what they hold, and the range of the training cases."""
        return inputs_of(self.model.regressor_)

    def training(self) -> tuple[list[Any], list[Any]]:
        """Return the factors of the kernel, and what they made of the training cases."""
        return self.model.kernel_.factors, self.model.regressor_.train_rows_

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that can be told before anything is asked."""
        model, regressor = self.model, self.model.regressor_
        regressor.domain_reference()  # learned once, before the first question
        curves = model.basis_.decode(regressor.train_targets_)
        y = np.column_stack([number_of(what, model.grid_, curves) for what in _NUMBERS])
        return {
            "name": self.name,
            "kind": "numbers",
            "kernel": repr(model.kernel_),
            "n_train": model.n_train_,
            "table": self.data and self.data.table,
            "mesh_columns": self.mesh_columns,
            "inputs": self.inputs,
            "targets": [{"name": name, "scores": []} | spread(y[:, k]) for k, name in enumerate(self.targets)],
            "fields": self.fields,
            "curves": [
                {
                    "name": model.curve_,
                    "abscissa": model.grid_,
                    "scores": curve_score_rows(model),
                    "train": curves if curves.size <= _MOST_DRAWN else None,
                }
            ],
            "importance": {},
            "variance_shares": {},
            "train": {name: y[:, k] for k, name in enumerate(self.targets)},
            "map": self.design and self.design.facts(),
            "cases": self.cases("train", regressor.train_inputs_, y),
            "sensitivity": False,
        }

"""A model of fields, served: whole fields, and their largest values and means, of a FieldRegressor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from swwl.errors import located
from swwl.evaluation.fieldmetadata import field_data_of, field_score_rows
from swwl.jobs.fieldpredict import DERIVED, derived_numbers
from swwl.jobs.predict import PREDICTED
from swwl.models.fields import FieldRegressor
from swwl.serve.meshes import Known
from swwl.serve.once import Once
from swwl.serve.served import Judged, Served, spread, told

_KEPT = 8  # cases whose fields are kept: cards, colors and downloads ask for the same one


class ServedFields(Served):
    """A FieldRegressor to answer questions."""

    model: FieldRegressor

    def __init__(self, name: str, model: FieldRegressor, path: Path, folder: Path):
        super().__init__(name, model, path, folder)
        with located(str(path)):
            self.data = field_data_of(model)
        self.mesh_columns = [model.mesh_column_]
        self.fields = list(model.field_names_)
        nodal = [one.kind.name for one in model.models_.values() if not one.kind.on_cells]
        self.targets = [f"{field}_{what}" for field in nodal for what in DERIVED]
        self._fields: Once[tuple[dict[str, Any], dict[str, Any]]] = Once(_KEPT)

    def judge(self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float) -> Judged:
        """Predict the largest value and the mean of every field."""
        self.check_meshes(meshes)
        numbers = derived_numbers(self.model, self.with_meshes(table, meshes), level=level)
        keys = dict(zip(("mean", "std", "lower", "upper"), PREDICTED, strict=True))
        found = {name: {key: numbers[f"{name}_{own}"][0] for key, own in keys.items()} for name in self.targets}
        return Judged({name: told(values, unsure=False) for name, values in found.items()})

    def fields_of(self, meshes: Mapping[str, Known], table: pd.DataFrame) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return fields of one case and their standard deviations, by name."""
        self.check_meshes(meshes)
        key = (meshes[self.mesh_columns[0]].key, repr(table.iloc[0].to_dict()))

        def make() -> tuple[dict[str, Any], dict[str, Any]]:
            means, stds = self.model.predict(self.with_meshes(table, meshes), return_std=True)
            return means[0], stds[0]

        return self._fields.get(key, make)

    def with_meshes(self, table: pd.DataFrame, meshes: Mapping[str, Known]) -> pd.DataFrame:
        """Return a table of one case with its mesh."""
        return table.assign(**{name: pd.Series([known.item], dtype=object) for name, known in meshes.items()})

    @cached_property
    def inputs(self) -> list[dict[str, Any]]:
        """The inputs beside the mesh: their names, what they hold, and the range of the training cases."""
        found: dict[str, dict[str, Any]] = {}
        for one in self.model.models_.values():
            for factor in one.member.kernel.factors:
                name = factor.column
                if factor.takes == "categories":
                    found[name] = {"name": name, "holds": "categories", "categories": list(factor.categories_)}
                elif factor.takes == "numbers":
                    found[name] = {"name": name, "holds": "numbers"} | spread(self._train[name])
        return [found[name] for name in self.model.feature_names_in_ if name in found]

    @cached_property
    def _train(self) -> pd.DataFrame:
        """The numbers of the training cases, as the kernels keep them."""
        members = [one.member for one in self.model.models_.values()]
        pairs = [pair for member in members for pair in zip(member.kernel.factors, member.rows, strict=True)]
        return pd.DataFrame({f.column: f.numbers(rows) for f, rows in pairs if f.takes == "numbers"})

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that can be told before anything is asked."""
        train = self.data.get("train") or {}
        held_out = self.data.get("held_out") or {}
        tested: dict[str, list[dict[str, Any]]] = {name: [] for name in self.fields}
        for row in field_score_rows(self.model):
            tested[row["field"]].append({key: value for key, value in row.items() if key != "field"})
        n, m = len(train.get("rows") or ()), len(held_out.get("rows") or ())
        return {
            "name": self.name,
            "kind": "fields",
            "kernel": repr(next(iter(self.model.models_.values())).member.kernel),
            "n_train": n or None,
            "table": self.data.get("table"),
            "mesh_columns": self.mesh_columns,
            "inputs": self.inputs,
            "targets": [{"name": name, "scores": []} for name in self.targets],
            "fields": self.fields,
            "field_scores": tested,
            "curves": False,
            "importance": {},
            "train": {},
            "map": None,
            "cases": self._known("train", train, n) + self._known("test", held_out, m),
            "sensitivity": False,
        }

    def _known(self, kind: str, known: dict[str, Any], n: int) -> list[dict[str, Any]]:
        inputs = self._train if kind == "train" else self.given(known) if known else None
        unknown = [[None] * len(self.targets)] * n
        cases = self.cases(kind, inputs if inputs is not None and len(inputs) == n else None, unknown)
        return [case | {"targets": {}} for case in cases]

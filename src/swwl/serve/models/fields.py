"""A model of fields, served: whole fields, and numbers derived from them, of a FieldRegressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from swwl.errors import InputError, located
from swwl.evaluation.metadata import Cases, field_data_of, field_score_rows
from swwl.fields.estimator import FieldRegressor
from swwl.fields.model import FieldCases
from swwl.fields.numbers import LinearNumber, missing_notes
from swwl.fields.one_mesh import PreparedFields
from swwl.jobs.predict import (
    DERIVED,
    OUTSIDE,
    PREDICTED,
    asked_numbers,
    check_field_names,
    derived_numbers,
    domain_columns,
    with_meshes_apart,
)
from swwl.mesh.mesh import Mesh
from swwl.serve.models.meshes import Known
from swwl.serve.models.served import Apart, Fields, Judged, Place, Served, Told, spread
from swwl.serve.models.single_flight import Once

_KEPT = 8  # cases whose fields are kept: cards, colors and downloads ask for the same one
_NODES = 400_000  # of meshes with descriptors and embeddings, which are kept, too
_MOST_VALUES = 10_000_000  # of fields along curves


class PlacedFields(NamedTuple):
    """A model on one mesh, and where that lies on the map."""

    fields: PreparedFields
    place: Place | None


def _asked(
    cases: FieldCases, asked: Sequence[LinearNumber], level: float, wide: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return values at places and forces on groups of one case by name; refuse those that its mesh does not have."""
    rows, lacks = asked_numbers(cases, asked, level)
    missing_notes({words: {str(row): why for row, why in own.items()} for words, own in lacks.items()}, len(cases))
    keys = ("mean", "std", "lower", "upper")
    return {
        row["number"]: {key: row[own] for key, own in zip(keys, PREDICTED, strict=True)}
        | {"unsure": row["field"] in wide}
        for row in rows
    }


class ServedFields(Served):
    """A FieldRegressor to answer questions: numbers are those that are derived from its fields."""

    model: FieldRegressor

    def __init__(self, name: str, model: FieldRegressor, path: Path, folder: Path):
        super().__init__(name, model, path, folder)
        with located(str(path)):
            self.data = field_data_of(model)
        self.mesh_columns = [model.mesh_column_]
        self.fields = list(model.field_names_)
        self.targets = [f"{field}_{what}" for field in model.models_ for what in DERIVED]
        self._fields: Once[tuple[Fields, Fields]] = Once(_KEPT)
        self._prepared: Once[PlacedFields] = Once(_NODES, weight=lambda one: float(one.fields.mesh.n_nodes))

    def _prepare(self, meshes: Mapping[str, Known]) -> PlacedFields:
        """Return the model on a mesh; what does not depend on inputs is computed once for each."""
        self.check_meshes(meshes)
        known = meshes[self.mesh_columns[0]]

        def make() -> PlacedFields:
            found = PreparedFields(self.model, known.mesh)
            return PlacedFields(found, self.design.place(found.members.vectors()) if self.design else None)

        return self._prepared.get(known.key, make)

    def judge(
        self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float, asked: Sequence[LinearNumber] = ()
    ) -> Judged:
        """Predict numbers derived from the fields of one case, and say whether it is like the training cases."""
        prepared, place = self._prepare(meshes)
        cases = prepared.cases(table)
        found, domain = self._told(cases, level), cases.domain.iloc[0]
        wide = domain["widened"].split(", ")
        unsure = [name in wide for name in self.model.models_ for _ in DERIVED]
        targets = {
            name: {key: float(values[0, k]) for key, values in found.items()} | {"unsure": unsure[k]}
            for k, name in enumerate(self.targets)
        }
        targets |= _asked(cases, asked, level, wide) if asked else {}
        inside = None if pd.isna(domain["inside"]) else bool(domain["inside"])
        score = None if np.isnan(domain["score"]) else float(domain["score"])
        return Judged(targets, inside, score, str(domain["why"]), place)

    def _told(self, cases: FieldCases, level: float) -> Told:
        numbers = derived_numbers(cases, level)
        return {
            key: np.column_stack([numbers[f"{name}_{own}"] for name in self.targets])
            if self.targets
            else np.empty((len(cases), 0))
            for key, own in zip(("mean", "std", "lower", "upper"), PREDICTED, strict=True)
        }

    def along(self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float) -> Told:
        """Predict numbers derived from the fields of many rows of one mesh."""
        prepared = self._prepare(meshes).fields
        components = sum(one.kind.components for one in self.model.models_.values())
        size = len(table) * prepared.mesh.n_nodes * components
        if size > _MOST_VALUES:
            raise InputError(
                f"{len(table)} fields of {size // len(table)} values each are too many at once; ask for fewer points."
            )
        return self._told(prepared.cases(table), level)

    def rows(self, table: pd.DataFrame) -> Told:
        """Predict numbers derived from the fields of rows with meshes of their own."""
        return self._told(self.model.cases(table), 0.95)

    def check_names(self, frame: pd.DataFrame, path: Path) -> None:
        """Refuse a table that has columns where predictions go."""
        check_field_names(self.model, frame, path)

    def with_predictions(self, frame: pd.DataFrame, inputs: pd.DataFrame, apart: Apart) -> pd.DataFrame:
        """Return a table with numbers derived from fields beside its columns."""
        cases = self.model.cases(inputs)
        told = self._told(cases, 0.95)
        columns: dict[str, Any] = {
            f"{name}_{own}": part[:, k]
            for k, name in enumerate(self.targets)
            for own, part in zip(PREDICTED, told.values(), strict=True)
        }
        columns[OUTSIDE] = with_meshes_apart(cases.domain["outside"], apart)
        columns |= domain_columns(cases.domain)
        return pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)

    def fields_of(
        self, meshes: Mapping[str, Known], table: pd.DataFrame, time: float | None = None
    ) -> tuple[Fields, Fields]:
        """Return fields of one case and their standard deviations, by name."""
        self.check_time(time)
        prepared = self._prepare(meshes).fields
        key = (meshes[self.mesh_columns[0]].key, repr(table.iloc[0].to_dict()))

        def make() -> tuple[Fields, Fields]:
            means, stds = prepared.cases(table).predict()
            return means[0], stds[0]

        return self._fields.get(key, make)

    def mesh_of(self, meshes: Mapping[str, Known], table: pd.DataFrame, time: float | None = None) -> Mesh:
        """Return the mesh of one case with its predicted fields, their standard deviations and bounds."""
        self.check_time(time)
        return self._prepare(meshes).fields.cases(table).predict_meshes()[0]

    def training(self) -> tuple[list[Any], list[Any]]:
        """Return the factors of the first field's kernel, and what they made of the training cases."""
        member = next(iter(self.model.models_.values())).member
        return member.kernel.factors, member.rows

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
        tested: dict[str, list[dict[str, Any]]] = {name: [] for name in self.fields}
        for row in field_score_rows(self.model):
            tested[row["field"]].append({key: value for key, value in row.items() if key != "field"})
        train, held_out = (self.data.train, self.data.held_out) if self.data else (None, None)
        n, m = len(train.rows) if train else 0, len(held_out.rows) if held_out else 0
        return {
            "name": self.name,
            "kind": "fields",
            "kernel": repr(next(iter(self.model.models_.values())).member.kernel),
            "n_train": n or None,
            "table": self.data and self.data.table,
            "mesh_columns": self.mesh_columns,
            "inputs": self.inputs,
            "targets": [{"name": name, "scores": []} for name in self.targets],
            "fields": self.fields,
            "field_scores": tested,
            "importance": {},
            "variance_shares": {},
            "train": {},
            "map": self.design and self.design.facts(),
            "cases": self._known("train", train, n) + self._known("test", held_out, m),
            "sensitivity": False,
        }

    def _known(self, kind: str, known: Cases | None, n: int) -> list[dict[str, Any]]:
        inputs = self._train if kind == "train" else self.given(known)
        unknown = [[None] * len(self.targets)] * n
        cases = self.cases(kind, inputs if inputs is not None and len(inputs) == n else None, unknown)
        return [case | {"targets": {}} for case in cases]

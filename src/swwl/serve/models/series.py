"""A model of fields over time, served: fields at a time, and how they change at a node, of a TransientRegressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.fields.model import FieldCases
from swwl.fields.numbers import LinearNumber
from swwl.fields.transient import TransientRegressor
from swwl.jobs.predict import DERIVED
from swwl.mesh.io.formats import timed
from swwl.mesh.mesh import Mesh
from swwl.serve.models.fields import ServedFields
from swwl.serve.models.meshes import CaseFile, Known
from swwl.serve.models.served import Fields, Judged, Told
from swwl.serve.models.single_flight import Once

_KEPT = 10_000_000  # values of histories that are kept
_PARTS = ("mean", "std", "lower", "upper")


class ServedSeries(ServedFields):
    """A TransientRegressor to answer questions: numbers are the largest value and the mean over all nodes and times."""

    def __init__(self, name: str, model: TransientRegressor, path: Path, folder: Path):
        super().__init__(name, model.fields_, path, folder)
        self.series = model
        self.times = model.times_.tolist()
        self._histories: Once[dict[str, Fields]] = Once(_KEPT, weight=_n_values)

    def judge(
        self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float, asked: Sequence[LinearNumber] = ()
    ) -> Judged:
        """Predict the largest value and the mean of one case, and say whether it is like the training cases."""
        if asked:
            raise InputError(f"Model {self.name!r} predicts fields over time: ask /api/history for values at a place.")
        return super().judge(meshes, table, level)

    def _told(self, cases: FieldCases, level: float) -> Told:
        if all(one.kind.times > 1 for one in cases.models):
            return super()._told(cases, level)
        # models of older versions take the values at all times for a vector
        found: dict[str, list[NDArray[np.float64]]] = {key: [] for key in _PARTS}
        for one in cases.models:
            name, parts = one.kind.name, self.series.components_[one.kind.name]

            def both(mesh: Mesh, name: str = name, parts: int | None = parts) -> list[float]:
                values = np.clip({**mesh.cell_fields, **mesh.fields}[name], *self.series.limits_[name])
                sizes = values if parts is None else np.linalg.norm(values.reshape(-1, parts), axis=1)
                return [float(sizes.max()), float(sizes.mean())]

            numbers = cases.derived(both, level, field=name)
            for key in _PARTS:
                found[key] += [numbers[f"{key}_{k}"].to_numpy() for k in range(len(DERIVED))]
        return {key: np.column_stack(own) if own else np.empty((len(cases), 0)) for key, own in found.items()}

    def _history(self, meshes: Mapping[str, Known], table: pd.DataFrame) -> dict[str, Fields]:
        """Return mean, std and bounds of one case at the times of the grid, each fields (J, n) or (J, n, c) by name."""
        key = (meshes[self.mesh_columns[0]].key, repr(table.iloc[0].to_dict()))

        def make() -> dict[str, Fields]:
            parts = self.series.histories(self._prepare(meshes).fields.cases(table))
            return {key: rows[0] for key, rows in zip(_PARTS, parts, strict=True)}

        return self._histories.get(key, make)

    def fields_of(
        self, meshes: Mapping[str, Known], table: pd.DataFrame, time: float | None = None
    ) -> tuple[Fields, Fields]:
        """Return fields of one case at a time, by default the last, and their standard deviations, by name."""
        self.check_meshes(meshes)
        at = self.times[-1] if time is None else time
        if at in self.times:
            found, step = self._history(meshes, table), self.times.index(at)
            mean, std = ({name: values[step] for name, values in found[key].items()} for key in ("mean", "std"))
            return mean, std
        means, stds, *_ = self.series.histories(self._prepare(meshes).fields.cases(table), [at])
        return {name: own[0] for name, own in means[0].items()}, {name: own[0] for name, own in stds[0].items()}

    def mesh_of(self, meshes: Mapping[str, Known], table: pd.DataFrame, time: float | None = None) -> Mesh:
        """Return the mesh of one case with its predicted fields at a time, by default the last."""
        cases = self._prepare(meshes).fields.cases(table)
        return self.series.series_of(cases, [self.times[-1] if time is None else time])[0].at(0)

    def at_node(self, meshes: Mapping[str, Known], table: pd.DataFrame, node: int | None) -> dict[str, Any]:
        """Return how fields of nodes change at a node, by default that where the first of them changes most.

        Returns
        -------
        dict
            ``node``; ``curves`` by field or component, each with ``abscissa``, the times, and ``mean``, ``std``,
            ``lower`` and ``upper``; ``ranges`` by field, the least and the largest ``mean`` and ``std`` of all nodes
            and times, of vectors of their lengths.
        """
        self.check_meshes(meshes)
        found = self._history(meshes, table)
        names = [name for name in self.series.field_names_ if not self.series.on_cells(name)]
        if not names:
            raise InputError(f"Model {self.name!r} predicts fields of cells, which have no values at nodes.")
        first = found["mean"][names[0]]
        if node is None:
            spans = np.ptp(first, axis=0)
            node = int(np.argmax(spans if spans.ndim == 1 else np.linalg.norm(spans, axis=1)))
        if not 0 <= node < first.shape[1]:
            raise InputError(f"node is {node}, but the mesh has nodes 0 to {first.shape[1] - 1}.")
        curves = {}
        for name in names:
            parts = {key: found[key][name][:, node].reshape(len(self.times), -1) for key in _PARTS}
            for k in range(parts["mean"].shape[1]):
                label = name if self.series.components_[name] is None else f"{name}_{'xyz'[k] if k < 3 else k}"
                curves[label] = {"abscissa": self.times} | {key: part[:, k] for key, part in parts.items()}
        ranges = {name: {key: self._range(name, found[key][name]) for key in ("mean", "std")} for name in names}
        return {"node": node, "curves": curves, "ranges": ranges}

    def _range(self, name: str, values: NDArray[np.float64]) -> list[float]:
        sizes = values if self.series.components_[name] is None else np.linalg.norm(values, axis=2)
        return [float(sizes.min()), float(sizes.max())]

    @cached_property
    def files(self) -> dict[str, CaseFile]:
        """Meshes of known cases as they are at their first times; see :attr:`Served.files`."""
        return {key: CaseFile(timed(file, "first"), called) for key, (file, called) in super().files.items()}

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that can be told before anything is asked."""
        return super().facts | {"times": self.times}


def _n_values(parts: dict[str, Fields]) -> float:
    return float(sum(values.size for own in parts.values() for values in own.values()))

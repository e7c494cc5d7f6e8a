"""Served: what every model can be asked, whatever it predicts, and what is known of it before anybody asks.

`DesignMap` puts its training cases into a plane, `Judged` is what it says of one case.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from swwl.domain.verdict import far_from_others
from swwl.embedding.components import principal_components, project
from swwl.errors import InputError
from swwl.evaluation.metadata import Cases, TableData
from swwl.fields.numbers import LinearNumber
from swwl.formatting import number
from swwl.mesh.io.formats import is_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.screening import Typical, apart
from swwl.plots.inputs import design_vectors
from swwl.regression.sensitivity import Sensitivity
from swwl.serve.models.meshes import CaseFile, Known
from swwl.storage.checks import shown
from swwl.tables.places import case_names

_NEAREST = 5
# Farther out than so many training ranges, squares of distances are beyond what numbers can hold.
_FAR = 1e9
_MOST_VALUES = 10_000  # of an input that is a list
# mean, std, lower and upper of every target, arrays of shape (M, k).
Told = dict[str, NDArray[np.float64]]
Apart = Mapping[int, list[str]]
Fields = dict[str, NDArray[np.float64]]
Place = dict[str, object]


class DesignMap:
    """The training cases as points in the plane.

    Parameters
    ----------
    vectors : ndarray of shape (N, K)
    labels : sequence of N str
        Names of the cases.
    """

    def __init__(self, vectors: NDArray[np.floating], labels: Sequence[str]):
        self._vectors, self._labels = vectors.astype(np.float64), labels
        self._mean, self._components, _ = principal_components(vectors, 2)
        self._places = self._projected(vectors)

    def _projected(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        places = np.zeros((len(vectors), 2))
        places[:, : self._components.shape[1]] = project(vectors, self._mean, self._components)
        return places

    def place(self, vector: NDArray[np.floating] | None) -> Place | None:
        """Return where a mesh lies, and the training cases that are nearest to it."""
        if vector is None or vector.shape != self._vectors.shape[1:]:
            return None
        distances = np.sqrt(((self._vectors - vector) ** 2).sum(axis=1))
        order = np.argsort(distances, kind="stable")[:_NEAREST]
        near = [{"case": int(i), "label": self._labels[i], "distance": float(distances[i])} for i in order]
        return {"place": self._projected(vector[None])[0].tolist(), "nearest": near}

    def facts(self) -> dict[str, object]:
        """Return the places of the training cases, their names, and which lie far from all others."""
        return {"places": self._places, "labels": self._labels, "far": far_from_others(self._vectors)}


class Judged(NamedTuple):
    """What a model says of one case.

    Attributes
    ----------
    targets : dict of str to dict
        For every number ``mean``, ``std``, ``lower``, ``upper``, and ``unsure``: whether the model is less sure than
        usual.
    inside : bool or None
        Whether the case is like the training cases, where the model can tell by more than ranges.
    score : float or None
    why : str
    place : dict or None
        Where the mesh lies among the training meshes.
    curves : dict of str to dict
        Of a model of curves: ``abscissa``, ``mean``, ``lower``, ``upper``, ``lower_whole`` and ``upper_whole``.
    """

    targets: dict[str, dict[str, Any]]
    inside: bool | None = None
    score: float | None = None
    why: str = ""
    place: Place | None = None
    curves: Mapping[str, dict[str, list[float]]] = MappingProxyType({})


class Served(ABC):
    """A fitted model to answer questions.

    Parameters
    ----------
    name : str
        By which clients ask for it.
    model : RobustGPRegressor or FieldRegressor
    path : path
        Of its file: training meshes are found from there.
    folder : path
        Below which training meshes may be read.

    Attributes
    ----------
    data : TableData or None
        What ``swwl fit`` wrote about the data.
    mesh_columns, targets, fields : list of str
        Inputs that are meshes; numbers and fields that are predicted.
    """

    data: TableData | None
    mesh_columns: list[str]
    targets: list[str]
    fields: list[str]

    def __init__(self, name: str, model: Any, path: Path, folder: Path):
        self.name, self.model, self.path, self.folder = name, model, path.resolve(), folder.resolve()

    @cached_property
    @abstractmethod
    def inputs(self) -> list[dict[str, Any]]:
        """The inputs beside meshes: their names, what they hold, and the range of the training cases."""

    @cached_property
    def names(self) -> pd.Index:
        """The names of the inputs beside meshes."""
        return pd.Index([one["name"] for one in self.inputs])

    @cached_property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """All that can be told before anything is asked."""

    @abstractmethod
    def training(self) -> tuple[list[Any], list[Any]]:
        """Return the factors of a kernel, and what they made of the training cases."""

    @abstractmethod
    def judge(
        self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float, asked: Sequence[LinearNumber] = ()
    ) -> Judged:
        """Predict one case: a table of one row of checked inputs, and meshes by column; of fields, also what is asked.

        Values at places and forces on groups stand among the targets.
        """

    @abstractmethod
    def along(self, meshes: Mapping[str, Known], table: pd.DataFrame, level: float) -> Told:
        """Predict many rows of one mesh: M rows of checked inputs."""

    @abstractmethod
    def rows(self, table: pd.DataFrame) -> Told:
        """Predict M rows with meshes of their own, with 95 % intervals."""

    @abstractmethod
    def check_names(self, frame: pd.DataFrame, path: Path) -> None:
        """Refuse a table that has columns where predictions go."""

    @abstractmethod
    def with_predictions(self, frame: pd.DataFrame, inputs: pd.DataFrame, apart: Apart) -> pd.DataFrame:
        """Return a table with predictions beside its columns.

        Parameters
        ----------
        frame : DataFrame of M rows
        inputs : DataFrame of M rows
            Checked: meshes, numbers, texts.
        apart : mapping of int to list of str
            By the places of rows: columns whose mesh is unlike the training meshes in plain sight.
        """

    def fields_of(
        self, meshes: Mapping[str, Known], table: pd.DataFrame, time: float | None = None
    ) -> tuple[Fields, Fields]:
        """Return fields of one case and their standard deviations, by name; of fields over time, at a time."""
        raise InputError(f"The model {self.name!r} predicts numbers, not fields.")

    def mesh_of(self, meshes: Mapping[str, Known], table: pd.DataFrame, time: float | None = None) -> Mesh:
        """Return the mesh of one case with its predicted fields; of fields over time, at a time."""
        raise InputError(f"The model {self.name!r} predicts numbers, not fields.")

    def at_node(self, meshes: Mapping[str, Known], table: pd.DataFrame, node: int | None) -> dict[str, Any]:
        """Return how fields change at a node."""
        raise InputError(f"The model {self.name!r} does not predict fields over time.")

    def check_time(self, time: float | None) -> None:
        """Refuse a time for what does not change."""
        if time is not None:
            raise InputError(f"The model {self.name!r} predicts fields that do not change with time.")

    def sensitivities(self, meshes: Mapping[str, Known], table: pd.DataFrame) -> list[Sensitivity]:
        """Return how the predictions of one case change when nodes move and inputs change, one for each target."""
        raise InputError(f"The model {self.name!r} predicts fields; sensitivities are of numbers.")

    def value(self, name: str, value: object) -> float | int | str | NDArray[np.float64]:
        """Return the value of an input as the model takes it, or say what is wrong with it."""
        known = next((one for one in self.inputs if one["name"] == name), None)
        if known is None:
            names = ", ".join(one["name"] for one in self.inputs) or "none"
            raise InputError(f"The model has no input {name[:80]!r}; it has: {names}.")
        if known["holds"] == "categories":
            if not isinstance(value, str) or value not in known["categories"]:
                among = ", ".join(known["categories"][:10])
                raise InputError(f"Input {name!r} must be one of {among}, not {shown(value)}.")
            return value
        if known["holds"] == "rows":
            if isinstance(value, int) and not isinstance(value, bool):
                return value
            if not isinstance(value, list) or not 0 < len(value) <= _MOST_VALUES:
                raise InputError(f"Input {name!r} must be an integer or a list of numbers, not {shown(value)}.")
            return np.array([_finite(name, one) for one in value])
        found = _finite(name, value)
        if "least" in known:
            width = (known["largest"] - known["least"]) or abs(known["median"]) or 1.0
            if abs(found - known["median"]) > _FAR * width:
                raise InputError(
                    f"Input {name!r} is {number(found)}, but the training cases lie between {number(known['least'])} "
                    f"and {number(known['largest'])}: that is too far outside for a prediction."
                )
        elif abs(found) > 1e100:
            raise InputError(f"Input {name!r} is {number(found)}, which is too large for a prediction.")
        return found

    def case(self, inputs: Mapping[str, object] | None) -> pd.DataFrame:
        """Return a table of one row of checked inputs; all must be there."""
        values = {name: self.value(name, value) for name, value in (inputs or {}).items()}
        missing = [one["name"] for one in self.inputs if one["name"] not in values]
        if missing:
            raise InputError(f"The model also needs {', '.join(missing)}: give them as inputs.")
        if all(isinstance(value, float) for value in values.values()):  # pandas is quickest with one array
            return pd.DataFrame(np.array([[values[name] for name in self.names]]), columns=self.names)
        cells = {
            name: pd.Series([value], dtype=object) if isinstance(value, np.ndarray) else [value]
            for name, value in values.items()
        }
        return pd.DataFrame(cells, index=[0])

    def check_meshes(self, meshes: Mapping[str, Known]) -> None:
        """Refuse meshes for other columns than the model has, and too few."""
        for name in meshes:
            if name not in self.mesh_columns:
                known = ", ".join(self.mesh_columns) or "none"
                raise InputError(f"The model has no mesh column {name!r}; it has: {known}.")
        missing = [name for name in self.mesh_columns if name not in meshes]
        if missing:
            raise InputError(f"The model also needs a mesh for {', '.join(missing)}: send a file, or name one.")

    def strange(self, column: str, known: Known) -> list[str]:
        """Say in what a mesh stands apart from the training meshes in plain sight: size, place, orientation."""
        typical = self._typical.get(column)
        found = [] if typical is None or known.facts is None else apart(known.facts, typical, "the training meshes")
        return [f"{known.name} {one.found}" for one in found]

    @cached_property
    def _typical(self) -> dict[str, Typical | None]:
        """What most training meshes of a column have in common, where the model knows it."""
        kept = self.model.metadata_.get("typical")
        return (
            {name: Typical.from_plain(kept.get(name)) for name in self.mesh_columns} if isinstance(kept, dict) else {}
        )

    @cached_property
    def files(self) -> dict[str, CaseFile]:
        """Training and held-out meshes that are still where the table says, with the names of cases, by reference."""
        found: dict[str, CaseFile] = {}
        if self.data is None:
            return found
        folder = (self.path.parent / self.data.table).parent
        known = {"train": self.data.train.meshes, "test": self.data.held_out.meshes if self.data.held_out else {}}
        for column in self.mesh_columns:
            every = [(kind, i, name) for kind, own in known.items() for i, name in enumerate(own.get(column, []))]
            for (kind, i, name), called in zip(every, case_names([name for *_, name in every]), strict=True):
                file = (folder / name).resolve()
                if file.is_relative_to(self.folder) and is_mesh(file):
                    found[f"{kind}:{column}:{i}"] = CaseFile(file, called)
        return found

    @cached_property
    def design(self) -> DesignMap | None:
        """Where the training cases lie, called after their first mesh or by number; None where there is no map."""
        vectors = design_vectors(*self.training())
        if vectors is None or len(vectors) < 3:
            return None
        named = self.data.names()[0] if self.data else []
        return DesignMap(vectors, named if len(named) == len(vectors) else [f"case {i}" for i in range(len(vectors))])

    def given(self, known: Cases | None) -> pd.DataFrame | None:
        """Return the inputs of held-out cases, where all are known."""
        names = [one["name"] for one in self.inputs]
        if known is None or not known.inputs.keys() >= {*names}:
            return None
        return pd.DataFrame({name: known.inputs[name] for name in names})

    def cases(
        self, kind: str, inputs: pd.DataFrame | None, targets: Iterable[Iterable[float | None]]
    ) -> list[dict[str, object]]:
        """Return cases whose meshes can be shown, with what is known of them.

        Parameters
        ----------
        kind : {"train", "test"}
        inputs : DataFrame of N rows, or None
        targets : array-like of shape (N, k)
        """
        found = []
        names = self.data.names()[kind == "test"] if self.data else []
        for i, known in enumerate(targets):
            references = {name: f"{kind}:{name}:{i}" for name in self.mesh_columns}
            files = [self.files.get(reference) for reference in references.values()]
            if not files or None in files:
                continue
            case: dict[str, object] = {"label": names[i], "meshes": references}
            case |= {"learned": kind == "train", "targets": dict(zip(self.targets, known, strict=True))}
            if inputs is not None and len(inputs.columns):
                case["inputs"] = inputs.iloc[i].to_dict()
            found.append(case)
        return found


def _finite(name: str, value: object) -> float:
    """Return a finite number, or say what stands in its place."""
    try:
        found = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise InputError(f"Input {name!r} must be a finite number, not {shown(value)}.")
    return found


def spread(values: ArrayLike) -> dict[str, float]:
    """Return least, median and largest value."""
    array = np.asarray(values, dtype=float)
    array = array[~np.isnan(array)]
    return {"least": float(array.min()), "median": float(np.median(array)), "largest": float(array.max())}

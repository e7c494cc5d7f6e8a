"""Served: a model under a name, with what the page and scripts want to know of it, found once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.design.domain import far_from_others
from swwl.embedding.components import principal_components, project
from swwl.errors import InputError, located
from swwl.evaluation import scores
from swwl.evaluation.curves import trend_columns
from swwl.evaluation.metadata import data_of
from swwl.jobs.predict import graph_columns
from swwl.mesh.facts import Typical
from swwl.models.modelfile import load_model
from swwl.models.prepared import Prepared
from swwl.models.regression import RobustGPRegressor
from swwl.plots.inputs import design_vectors
from swwl.serve.meshes import Known
from swwl.serve.once import Once

Array = NDArray[np.float64]

_PREPARED = 64  # meshes whose embedding is kept, of every model


class Served:
    """A fitted model to answer questions.

    Parameters
    ----------
    name : str
        By which clients ask for it.
    model : RobustGPRegressor
    path : path
        Of its file: training meshes are found from there.
    folder : path
        Below which training meshes may be read.
    """

    def __init__(self, name: str, model: Any, path: Path, folder: Path):
        self.name, self.model, self.path, self.folder = name, model, path.resolve(), folder.resolve()
        if not isinstance(model, RobustGPRegressor):
            raise InputError(f"{path}: holds a {type(model).__name__}, but a model that predicts numbers is wanted.")
        with located(str(path)):
            self.data = data_of(model)
        self.mesh_columns = graph_columns(model)
        self.targets: list[str] = list(model.target_names_)
        self.fields: list[str] = []
        self._prepared: Once[Prepared] = Once(_PREPARED)

    def prepared(self, meshes: Mapping[str, Known]) -> Prepared:
        """Return the model with meshes embedded; that is done once for each."""
        missing = [name for name in self.mesh_columns if name not in meshes]
        if missing:
            raise InputError(f"The model also needs a mesh for {', '.join(missing)}: send a file, or name one.")
        for name in meshes:
            if name not in self.mesh_columns:
                known = ", ".join(self.mesh_columns) or "none"
                raise InputError(f"The model has no mesh column {name!r}; it has: {known}.")
        key = tuple((name, meshes[name].key) for name in self.mesh_columns)
        items = {name: meshes[name].item for name in self.mesh_columns}
        return self._prepared.get(key, lambda: Prepared(self.model, items))

    @cached_property
    def files(self) -> dict[str, Path]:
        """Training and held-out meshes that are still where the table says, by reference."""
        found: dict[str, Path] = {}
        if not self.data:
            return found
        folder = (self.path.parent / self.data["table"]).parent
        for kind, key in (("train", "train"), ("test", "held_out")):
            for column, names in ((self.data.get(key) or {}).get("meshes") or {}).items():
                for number, name in enumerate(names):
                    file = (folder / name).resolve()
                    if column in self.mesh_columns and file.is_relative_to(self.folder) and file.is_file():
                        found[f"{kind}:{column}:{number}"] = file
        return found

    def typical(self, column: str) -> Typical | None:
        """Return what most training meshes of a column have in common, where the model knows it."""
        kept = self.model.metadata_.get("typical")
        return Typical.from_plain(kept.get(column)) if isinstance(kept, dict) else None

    @cached_property
    def usual_std(self) -> Array:
        """For every target, the standard deviation that 95 of 100 left-out training cases do not exceed, (k,)."""
        std = self.model.leave_one_out().columns().std
        return np.quantile(std, 0.95, axis=0)

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
                found[factor.column] = {"name": factor.column, "holds": "numbers"} | _spread(train[factor.column])
        for name in trend_columns(self.model):
            found[name] = {"name": name, "holds": "numbers"}
        return list(found.values())

    @cached_property
    def design(self) -> tuple[Array, Array, Array, Array] | None:
        """A map of the training cases: their vectors (N, K), coordinates (N, 2), center and components; or None."""
        rows = design_vectors(self.model)
        if rows is None or len(rows) < 3:
            return None
        mean, components, _ = principal_components(rows, 2)
        places = np.zeros((len(rows), 2))
        places[:, : components.shape[1]] = project(rows, mean, components)
        return rows.astype(np.float64), places, mean, components

    def place(self, prepared: Prepared) -> dict[str, Any] | None:
        """Return where a mesh lies on the map, and the training cases that are nearest to it."""
        vector = prepared.vectors()
        if self.design is None or vector is None or vector.shape != self.design[0].shape[1:]:
            return None
        rows, _, mean, components = self.design
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
        tested: dict[str, list[dict[str, Any]]] = {name: [] for name in self.targets}
        for row in scores.score_rows(model):
            tested[row["target"]].append({key: value for key, value in row.items() if key != "target"})
        importance = scores.importance_table(model)
        return {
            "name": self.name,
            "kind": "numbers",
            "kernel": repr(model.kernel_),
            "n_train": len(y),
            "table": self.data.get("table"),
            "mesh_columns": self.mesh_columns,
            "inputs": self.inputs,
            "targets": [
                {"name": name, "scores": tested[name], "usual_std": float(self.usual_std[k])} | _spread(y[:, k])
                for k, name in enumerate(self.targets)
            ],
            "fields": self.fields,
            "importance": {str(name): importance[name].to_dict() for name in importance.columns},
            "train": {name: y[:, k] for k, name in enumerate(self.targets)},
            "map": self._map(),
            "cases": self._cases(),
            "sensitivity": hasattr(model, "sensitivity"),
        }

    def _map(self) -> dict[str, Any] | None:
        if self.design is None:
            return None
        rows, places, _, _ = self.design
        return {"places": places, "labels": self.labels, "far": far_from_others(rows)}

    def _cases(self) -> list[dict[str, Any]]:
        """Return training and held-out cases whose meshes can be shown, with what is known of them."""
        train, y, cases = self.model.train_inputs_, self.model.train_targets_, []
        held_out = self.data.get("held_out") or {}
        for kind, n in (("train", len(y)), ("test", len(held_out.get("targets") or ()))):
            for i in range(n):
                references = {name: f"{kind}:{name}:{i}" for name in self.mesh_columns}
                files = [self.files.get(reference) for reference in references.values()]
                if not files or None in files:
                    continue
                known = y[i] if kind == "train" else held_out["targets"][i]
                case: dict[str, Any] = {
                    "label": Path(str(files[0])).name,
                    "meshes": references,
                    "learned": kind == "train",
                }
                case["targets"] = dict(zip(self.targets, known, strict=True))
                if kind == "train":
                    case["inputs"] = train.iloc[i].to_dict()
                cases.append(case)
        return cases


def _spread(values: Any) -> dict[str, float]:
    array = np.asarray(values, dtype=float)
    return {"least": float(array.min()), "median": float(np.median(array)), "largest": float(array.max())}


def load_served(paths: list[Path], folder: Path | None) -> dict[str, Served]:
    """Read model files; each is called by the name of its file without the ending, which must differ.

    Parameters
    ----------
    paths : list of paths
    folder : path or None
        Below which training meshes may be read; by default each model's own folder.
    """
    found: dict[str, Served] = {}
    for path in paths:
        name = path.stem
        if name in found:
            raise InputError(f"{path}: a model named {name!r} is served already, from {found[name].path}; rename one.")
        found[name] = Served(name, load_model(path), path, path.parent if folder is None else folder)
    return found

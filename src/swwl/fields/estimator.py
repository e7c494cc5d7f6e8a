"""FieldRegressor: whole fields on meshes never seen, with an interval at every node."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from swwl.errors import InputError
from swwl.fields.fit import count_fits, fit_field
from swwl.fields.kernels import field_kernels, mesh_column
from swwl.fields.model import FieldModel
from swwl.fields.numbers import derived_number
from swwl.fields.processes import Inputs
from swwl.fields.state import FieldRegressorState, field_state, fields_from_state
from swwl.fields.training import check_options, check_samples, load_training, make_settings, mesh_of, on_meshes
from swwl.kernels.shared import fit_kernels, represent_columns
from swwl.mesh.mesh import Mesh
from swwl.parallel import Progress, one_blas_thread
from swwl.regression.stack import FitCounter, Member, columns_of
from swwl.storage.memory import MemoryLike, as_memory, fingerprint
from swwl.storage.modelfile import save_model, storable
from swwl.tables.inputs import as_rows, as_table, column

Array = NDArray[np.float64]
Fields = list[dict[str, Array]]


@storable
class FieldRegressor(BaseEstimator):
    r"""Predict whole fields on new meshes, of any topology, with an interval at every node.

    A node is told by descriptors (box coordinates, normals, lags); fields are smooth functions of these, shrunk to the
    pooled field, and a few principal fields (modes) span them. Gaussian processes on meshes and numbers predict the
    sizes of the modes. Meshes that all share their cells are noticed: then modes are principal components of the nodal
    values themselves. All choices are made by folds of the training meshes. See ``docs/fields.md``.

    Parameters
    ----------
    kernel : Factor, Product, or a list or dict of them, optional
        On the columns of the table; of several the best is taken. By default a short list, see ``choices_``.
    n_modes : int, optional
        At most so many modes; by default 30.
    basis_size : int
        Number of smooth functions that fields are made of.
    descriptors : dict, {"smooth", "nodes"} or None
        Weights of the descriptors, such as ``{"box": 1.0, "lag0.1": 0.5}``; "smooth" takes descriptors even where all
        meshes share their cells; "nodes" insists that they do. By default chosen.
    warp : {"auto", "none", "asinh", "speed"}
        The scale on which fields are learned; "speed" is :math:`\sqrt{1 - u}`, for pressure coefficients.
    weights : {"uniform", "area"}
        What nodes weigh when a field is fitted.
    calibrate : bool
        Whether folds say how wide intervals have to be.
    random_state : int
    n_jobs : int or None
        Threads that describe meshes.

    Attributes
    ----------
    field_names_, target_names_ : list of str
    models_ : dict of str to FieldModel
    choices_ : DataFrame
        ``field``, ``kernel``, ``descriptors``, ``range``, ``shrinkage``, ``warp``, ``rrmse`` of folds, ``chosen``.
    modes_ : DataFrame
        One row per field: ``field``, ``number``, ``explained`` (the part of the variance of training fields).
    common_topology_ : bool
        Whether all training meshes share their cells, and new ones must too.
    mesh_column_ : str
    feature_names_in_ : ndarray of str
        Columns that predictions need.
    metadata_ : dict
        Anything JSON can hold.

    Examples
    --------
    >>> x = np.linspace(0, 1, 12)
    >>> lines = np.column_stack([np.arange(11), np.arange(1, 12)])
    >>> def rod(length, load):
    ...     return Mesh(length * x[:, None], {"line": lines}, {"u": load * np.sin(2 * length * x)})
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"length": rng.uniform(1, 2, 40), "load": rng.uniform(1, 3, 40)})
    >>> table["mesh"] = [rod(a, b) for a, b in zip(table["length"], table["load"])]
    >>> model = FieldRegressor().fit(table[:32][["mesh", "load"]], "u")
    >>> found = model.predict(table[32:])
    >>> error = max(np.abs(f["u"] - m.fields["u"]).max() for f, m in zip(found, table["mesh"][32:]))
    >>> bool(error < 0.05), model.common_topology_
    (True, True)
    """

    predicts: ClassVar[Literal["fields"]] = "fields"

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_modes: int | None = None,
        basis_size: int = 300,
        descriptors: Any = None,
        warp: str = "auto",
        weights: str = "uniform",
        calibrate: bool = True,
        random_state: int = 0,
        n_jobs: int | None = None,
    ):
        self.kernel = kernel
        self.n_modes = n_modes
        self.basis_size = basis_size
        self.descriptors = descriptors
        self.warp = warp
        self.weights = weights
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: str | Sequence[str],
        *,
        progress: Progress | None = None,
        gp_progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> FieldRegressor:
        """Learn fields from meshes that carry them.

        Parameters
        ----------
        X : DataFrame or list of meshes
            A column of meshes, or of paths of mesh files, and columns of numbers.
        y : str or list of str
            Names of node or cell fields. Fields of cells are carried to nodes by areas, and predictions back.
        progress : callable, optional
            Called as ``progress(done, total)`` while meshes are read and described.
        gp_progress : callable, optional
            Called in the same way while Gaussian processes are fitted.
        memory : Memory or path, optional
            Where descriptors and embeddings of mesh files are kept from one run to the next.
        """
        check_options(self)
        table = as_table(X)
        names = [y] if isinstance(y, str) else list(y)
        self.mesh_column_ = mesh_column(table, self.kernel)
        memory = as_memory(memory)
        training = load_training(list(column(table, self.mesh_column_)), names, self, progress, memory)
        geometry = training.geometry
        kernels = field_kernels(table, self.mesh_column_, self, geometry)
        for name in columns_of(kernels):
            column(table, name)
        rows = fit_kernels(list(kernels.values()), partial(column, table), progress, memory)
        inputs = [Inputs.of(Member(name, kernel, own), self.random_state)
                  for (name, kernel), own in zip(kernels.items(), rows, strict=True)]  # fmt: skip
        settings = make_settings(self, training)
        total = count_fits(len(names), len(kernels), settings.n_modes, 3 * len(settings.recipes) + 2, self.calibrate)
        counter = FitCounter(gp_progress, total)
        settings.on_fit = counter.one_more
        with one_blas_thread():  # thousands of small products, which threads only slow down
            fitted = [fit_field(data, inputs, settings, self.calibrate) for data in training.fields]
        for one in inputs:
            for factor in one.member.kernel.factors:
                factor.forget()
        self._geometry = geometry
        self.models_: dict[str, FieldModel] = {part.model.kind.name: part.model for part in fitted}
        self._choices = [row for part in fitted for row in part.choices]
        self._scores = {part.model.kind.name: part.scores for part in fitted if part.scores}
        self.metadata_: dict[str, Any] = {}
        self._describe(n_features=table.shape[1])
        return self

    def _describe(self, n_features: int) -> None:
        self.field_names_ = list(self.models_)
        self.target_names_ = list(self.models_)
        self.common_topology_ = self._geometry.common
        self.choices_ = pd.DataFrame(
            self._choices,
            columns=["field", "kernel", "descriptors", "range", "shrinkage", "warp", "rrmse", "chosen"],
        )
        modes = {name: model.modes for name, model in self.models_.items()}
        self.modes_ = pd.DataFrame(
            [{"field": name, "number": found.number,
              "explained": float(found.variances.sum() / found.total) if found.total > 0 else 1.0}
             for name, found in modes.items()]
        )  # fmt: skip
        used = columns_of({name: model.member.kernel for name, model in self.models_.items()})
        self.feature_names_in_ = np.array(list(dict.fromkeys([self.mesh_column_, *used])), dtype=object)
        self.n_features_in_ = n_features

    def _answers(
        self,
        X: Any,
        answer: Callable[[FieldModel, Mesh, Array | None, Array, Array], Any],
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> list[dict[str, Any]]:
        """Ask every field model about every row, given mesh, descriptors, and mean and deviation of modes."""
        check_is_fitted(self, "models_")
        table = as_rows(X, self.feature_names_in_)
        if not len(table):
            return []
        items = list(column(table, self.mesh_column_))
        models = list(self.models_.values())
        if self._geometry.common:
            on_meshes(lambda k, item: self._geometry.check(k, mesh_of(k, item)), items, self.n_jobs, None)
        rows = represent_columns([m.member.kernel for m in models], partial(column, table), None, memory)
        sizes = [m.sizes(m.member.new_blocks(own)[0], len(table)) for m, own in zip(models, rows, strict=True)]

        def one(number: int, item: Any) -> dict[str, Any]:
            mesh = mesh_of(number, item)
            blocks = self._geometry.described(number, mesh, as_memory(memory), item)
            found = {}
            for model, (mean, std) in zip(models, sizes, strict=True):
                descriptors = None if model.basis is None else self._geometry.describer.stack(blocks, model.recipe)
                found[model.kind.name] = answer(model, mesh, descriptors, mean[number], std[number])
            return found

        return on_meshes(one, items, self.n_jobs, progress)

    def predict(
        self, X: Any, return_std: bool = False, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> Any:
        """Predict the fields of new rows.

        Parameters
        ----------
        X : DataFrame or list of meshes
        return_std : bool
            Also return standard deviations.
        progress, memory
            As in :meth:`fit`.

        Returns
        -------
        list of dict of str to ndarray of shape (n,) or (n, c)
            One dict per row; with ``return_std`` two such lists.
        """

        def answer(model: FieldModel, mesh: Mesh, descriptors: Array | None, mean: Array, std: Array) -> Any:
            y, sd = model.at_nodes(descriptors, mesh.n_nodes, mean, std)
            both = model.warp.inverse(y), model.deviation(y, sd)
            return tuple(model.kind.shaped(mesh, part) for part in both)

        found = self._answers(X, answer, progress, memory)
        parts = tuple([{name: pair[k] for name, pair in row.items()} for row in found] for k in (0, 1))
        return parts if return_std else parts[0]

    def predict_interval(
        self, X: Any, level: float = 0.95, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> tuple[Fields, Fields]:
        """Return the bounds (lower, upper) of intervals at every node, as :meth:`predict` returns fields.

        They hold a part ``level`` of the nodes on average over meshes like the training ones, not on every mesh.
        """

        def answer(model: FieldModel, mesh: Mesh, descriptors: Array | None, mean: Array, std: Array) -> Any:
            y, sd = model.at_nodes(descriptors, mesh.n_nodes, mean, std)
            return tuple(model.kind.shaped(mesh, part) for part in model.bounds(y, sd, level))

        found = self._answers(X, answer, progress, memory)
        lower, upper = ([{name: pair[k] for name, pair in row.items()} for row in found] for k in (0, 1))
        return lower, upper

    def predict_meshes(
        self, X: Any, level: float = 0.95, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> list[Mesh]:
        """Return the meshes of new rows with ``name``, ``name_std``, ``name_lower95`` and ``name_upper95``.

        A field of that name that a mesh has already is replaced; the ending follows the level.
        """
        ending = f"{100 * level:g}"

        def answer(model: FieldModel, mesh: Mesh, descriptors: Array | None, mean: Array, std: Array) -> Any:
            y, sd = model.at_nodes(descriptors, mesh.n_nodes, mean, std)
            parts = (model.warp.inverse(y), model.deviation(y, sd), *model.bounds(y, sd, level))
            names = ("", "_std", f"_lower{ending}", f"_upper{ending}")
            fields = {model.kind.name + name: model.kind.shaped(mesh, part)
                      for name, part in zip(names, parts, strict=True)}  # fmt: skip
            return mesh, model.kind.on_cells, fields

        meshes = []
        for row in self._answers(X, answer, progress, memory):
            mesh = next(iter(row.values()))[0]
            of_nodes = {name: field for _, cells, own in row.values() if not cells for name, field in own.items()}
            of_cells = {name: field for _, cells, own in row.values() if cells for name, field in own.items()}
            mesh = mesh.with_fields(of_nodes)
            if of_cells:
                mesh = Mesh(mesh.points, dict(mesh.cells), dict(mesh.fields), mesh.name,
                            cell_fields={**mesh.cell_fields, **of_cells})  # fmt: skip
            meshes.append(mesh)
        return meshes

    def sample(
        self, X: Any, n_samples: int = 1, random_state: int | None = None, *, memory: MemoryLike = None
    ) -> list[dict[str, Array]]:
        """Draw whole fields: smooth ones, as uncertain as predictions are.

        Parameters
        ----------
        X : DataFrame or list of meshes
        n_samples : int
        random_state : int, optional
            The same number draws the same fields.

        Returns
        -------
        list of dict of str to ndarray of shape (n_samples, n) or (n_samples, n, c)
            One dict per row. Rows are drawn independently of one another.
        """
        seeds = np.random.SeedSequence(random_state)
        return self._answers(X, self._drawer(check_samples(n_samples), seeds), None, memory)

    def _drawer(self, n_samples: int, seeds: np.random.SeedSequence) -> Callable[..., Any]:
        entropy = int(np.random.default_rng(seeds).integers(2**62))

        def answer(model: FieldModel, mesh: Mesh, descriptors: Array | None, mean: Array, std: Array) -> Any:
            # Seeded by the mesh and not by its place: a row draws the same in any table, in any number of threads.
            rng = np.random.default_rng([entropy, int(fingerprint(model.kind.name, mesh.points), 16)])
            drawn = model.draw(descriptors, mesh.n_nodes, mean, std, n_samples, rng)
            return model.kind.shaped(mesh, model.warp.inverse(drawn))

        return answer

    def derived(
        self,
        X: Any,
        function: str | Sequence[str] | Callable[[Mesh], Any],
        level: float = 0.95,
        n_samples: int = 200,
        *,
        field: str | None = None,
        random_state: int = 0,
        memory: MemoryLike = None,
    ) -> pd.DataFrame:
        """Predict a number derived from a field, with its uncertainty, from samples of the field.

        Parameters
        ----------
        X : DataFrame or list of meshes
        function : {"max", "min", "mean", "integral", "force", "largest", "mean_size"}, a list of them, or callable
            See :func:`swwl.fields.numbers.derived_number`; a callable takes a mesh with the field. Numbers that have
            a name are calibrated on meshes that folds left out; those of a callable are as samples have them.
        level : float
        n_samples : int
        field : str, optional
            Which field, where there are several.
        random_state : int

        Returns
        -------
        DataFrame
            One row per row: ``mean``, ``std``, ``lower``, ``upper``; of several numbers, ``mean_0``, ``mean_1``, …
            With a list, the names stand before: ``max_mean``, ``max_std``, …
        """
        check_is_fitted(self, "models_")
        if not 0 < level < 1:
            raise InputError(f"level is {level!r}, but a number between 0 and 1 is wanted.")
        name, listed = self._field(field), not (isinstance(function, str) or callable(function))
        numbers: list[Any] = list(function) if listed else [function]  # type: ignore[arg-type]
        draw = self._drawer(check_samples(n_samples), np.random.SeedSequence(random_state))

        def answer(model: FieldModel, mesh: Mesh, *rest: Any) -> Any:
            if model.kind.name != name:
                return None
            if model.kind.on_cells:
                raise InputError(f"Field {name!r} is one of cells; numbers are derived from fields of nodes.")
            drawn = draw(model, mesh, *rest)
            return [derived_number(one, mesh, name, drawn) for one in numbers]

        rows = [row[name] for row in self._answers(X, answer, None, memory)]
        columns: dict[str, Array] = {}
        for k, one in enumerate(numbers):
            found = np.array([row[k] for row in rows])
            for key, part in self.models_[name].number(one, found, level).items():
                key = f"{one}_{key}" if listed else key
                columns |= {key: part} if part.ndim == 1 else {f"{key}_{j}": own for j, own in enumerate(part.T)}
        return pd.DataFrame(columns)

    def _field(self, name: str | None) -> str:
        if name is None and len(self.models_) == 1:
            return self.field_names_[0]
        if name not in self.models_:
            raise InputError(f"field is {name!r}, but one of {', '.join(self.field_names_)} is wanted.")
        return str(name)

    def cross_validated(self) -> pd.DataFrame:
        """Return how well folds predicted training meshes that were not in them, one row per field.

        Columns: ``field``, ``rrmse``, ``q2``, ``max_error``, ``coverage`` and ``least_coverage`` of 95 % intervals,
        ``worst`` (the number of the worst mesh) and ``worst_rrmse``; see :class:`swwl.fields.scores.FieldScore`. Empty
        without calibration, for few meshes and for constant fields.
        """
        check_is_fitted(self, "models_")
        names = ["field", "rrmse", "q2", "max_error", "coverage", "least_coverage", "worst", "worst_rrmse"]
        return pd.DataFrame([{"field": name, **own} for name, own in self._scores.items()], columns=names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self)

    def get_state(self) -> FieldRegressorState:
        """Return what the fitted model is made of, for a model file."""
        check_is_fitted(self, "models_")
        return field_state(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> FieldRegressor:
        """Make a fitted model again of what :meth:`get_state` returned."""
        return fields_from_state(cls, state)

"""FieldRegressor: whole fields on meshes never seen, with an interval at every node."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.notes import typical_in, warn_about_cases
from swwl.domain.verdict import unlike_groups
from swwl.errors import GPWarning
from swwl.estimators import BaseEstimator, check_is_fitted
from swwl.fields.candidates import ModeKernel
from swwl.fields.fit import count_fits, fit_field
from swwl.fields.kernels import field_kernels, mesh_column, missing_groups
from swwl.fields.model import FieldCases, Fields, Found, MeshNodes, Number
from swwl.fields.numbers import Line
from swwl.fields.sizes import CaseSizes, SizeModel, SizeTask, fit_sizes_over, left_out_sizes, worth_a_model
from swwl.fields.state import FieldRegressorState, FittedFields, field_state, fields_from_state
from swwl.fields.training import TableMeshes, Training, check_options, learned_mesh, load_training, make_settings
from swwl.formatting import NotebookTable, html_table, number, percent
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, Product
from swwl.kernels.bodies import GroupMeasures
from swwl.kernels.shared import fit_kernels, represent_columns
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.plane import thin_layer
from swwl.parallel import Progress, one_blas_thread
from swwl.regression.stack import FitCounter, Member, columns_of
from swwl.regression.target_scale import JudgedLaw
from swwl.storage.memory import Memory, MemoryLike, as_memory
from swwl.storage.modelfile import save_model, storable
from swwl.tables.inputs import as_rows, as_table, column
from swwl.tables.laws import read_laws
from swwl.tables.results import warn_about_columns

Array = NDArray[np.float64]
Kernel = Factor | Product
Table: TypeAlias = Any  # a DataFrame or other table, or a list of meshes
State: TypeAlias = dict[str, Any]  # of a model file


@storable
class FieldRegressor(NotebookTable, BaseEstimator):
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
    warp : {"auto", "none", "asinh", "speed", "root"}
        The scale on which fields are learned; "speed" is :math:`\sqrt{1 - u}`, for pressure coefficients, "root"
        :math:`\sqrt{u}`, for what is never negative.
    weights : {"uniform", "area"}
        What nodes weigh when a field is fitted.
    calibrate : bool
        Whether folds say how wide intervals have to be.
    random_state : int
    n_jobs : int or None
        Threads that describe meshes.
    scaled : str, list of str or dict of str to str, optional
        Laws that are known of how large fields are, such as ``"displacement ~ force / young"``: amplitudes are learned
        over them, where left-out cases are predicted no worse; see ``laws_``.

    Attributes
    ----------
    field_names_, target_names_ : list of str
    models_ : dict of str to FieldModel
    choices_ : DataFrame
        ``field``, ``kernel``, ``descriptors``, ``range``, ``shrinkage``, ``warp``, ``amplitude`` (whether fields are
        amplitudes times shapes), ``rrmse`` of folds, ``chosen``.
    modes_ : DataFrame
        One row per field: ``field``, ``number``, ``explained`` (the part of the variance of training fields).
    limits_ : dict of str to tuple of float
        What all training fields keep, and predictions with them: (least, most); infinite where there is no limit.
    held_ : dict of str to dict of str to ndarray of shape (c,)
        Values on named groups that all training fields have, and predictions with them; NaN where they vary.
    sizes_ : RobustGPRegressor or None
        What predicts how large fields are as a whole (:mod:`swwl.fields.sizes`), where folds prefer that.
    laws_ : list of JudgedLaw
        What became of the laws in ``scaled``, as of :class:`swwl.RobustGPRegressor`; errors are those of logarithms of
        amplitudes.
    common_topology_ : bool
        Whether all training meshes share their cells, and new ones must too.
    plane_ : bool
        Whether the training meshes are plane, or all one cell thick, and as thick: then they are learned as plane
        meshes, see :mod:`swwl.mesh.remesh.plane`, and new ones may be either. Predictions are on meshes as they are
        given, alike on both sides.
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
    >>> model = FieldRegressor().fit(table[8:][["mesh", "load"]], "u")
    >>> found = model.predict(table[:8])
    >>> error = max(np.abs(f["u"] - m.fields["u"]).max() for f, m in zip(found, table["mesh"][:8]))
    >>> bool(error < 0.05), model.common_topology_
    (True, True)
    """

    predicts: ClassVar[Literal["fields"]] = "fields"

    def __init__(
        self,
        kernel: Kernel | Sequence[Kernel] | dict[str, Kernel] | None = None,
        *,
        n_modes: int | None = None,
        basis_size: int = 300,
        descriptors: dict[str, float] | str | None = None,
        warp: str = "auto",
        weights: str = "uniform",
        calibrate: bool = True,
        random_state: int = 0,
        n_jobs: int | None = None,
        scaled: str | list[str] | dict[str, str] | None = None,
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
        self.scaled = scaled

    n_times = 1  # at how many times fields are given, side by side; see TransientRegressor

    def fit(
        self,
        X: Table,
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
        self.mesh_column_ = mesh_column(table)
        memory = as_memory(memory)
        meshes = TableMeshes(column(table, self.mesh_column_).tolist(), self.n_jobs)
        training = load_training(meshes, names, self, progress, memory)
        geometry = training.geometry
        table = self._sharing(table, meshes)
        kernels = field_kernels(table, self.mesh_column_, self, geometry)
        for name in columns_of(kernels):
            column(table, name)
        if self.kernel is None:
            warn_about_columns(table, pd.DataFrame(index=table.index))
        rows = fit_kernels(list(kernels.values()), partial(column, table), progress, memory)
        inputs = [ModeKernel.of(Member(name, kernel, own), self.random_state)
                  for (name, kernel), own in zip(kernels.items(), rows, strict=True)]  # fmt: skip
        sizes, judged = self._fit_sizes(table, names, training, kernels, progress, memory)
        fields = training.fields
        if sizes is not None:
            said = left_out_sizes(sizes, table, names)
            fields = [
                replace(data, sizes=said[name], true_amplitudes=own[:, 0]) if worth_a_model(own) else data
                for name, data, own in zip(names, fields, training.sizes, strict=True)
            ]
        settings = make_settings(self, training)
        total = count_fits(len(names), len(kernels), settings.n_modes, 3 * len(settings.recipes) + 2, self.calibrate)
        counter = FitCounter(gp_progress, total)
        settings.on_fit = counter.one_more
        with one_blas_thread():  # thousands of small products, which threads only slow down
            fitted = [fit_field(data, inputs, settings, self.calibrate) for data in fields]
        counter.finish()
        for one in inputs:
            for factor in one.member.kernel.factors:
                factor.forget()
        models = {part.model.kind.name: part.model for part in fitted}
        choices = [row for part in fitted for row in part.choices]
        scores = {part.model.kind.name: part.scores for part in fitted if part.scores}
        used = {name for model in models.values() for name in model.recipe}
        geometry = replace(geometry, describer=geometry.describer.restricted(used))
        if not any(model.amplitude or model.power for model in models.values()):
            sizes = None
        told = [*geometry.describer.groups, *(geometry.describer.pair or ())]
        seeing = [*(one.member.kernel for one in models.values()), *([] if sizes is None else sizes.kernels())]
        groups = missing_groups(told, seeing, self.mesh_column_, self.n_jobs)
        fit_kernels(groups, partial(column, table), None, memory)
        self._adopt(
            FittedFields(
                self.mesh_column_, table.shape[1], geometry, models, choices, scores, {}, sizes, judged, groups
            )
        )
        return self

    def _fit_sizes(
        self,
        table: pd.DataFrame,
        names: Sequence[str],
        training: Training,
        kernels: dict[str, Product],
        progress: Progress | None,
        memory: MemoryLike,
    ) -> tuple[SizeModel | None, list[JudgedLaw]]:
        """Fit a model of numbers to the sizes of fields; None where they hardly vary. Say what became of laws."""
        numeric = [str(name) for name in table.columns if pd.api.types.is_numeric_dtype(table[name])]
        laws = {law.target: law for law in read_laws(self.scaled, names, numeric) if law is not None}
        sizes = {name: own for name, own in zip(names, training.sizes, strict=True) if worth_a_model(own)}
        for name in laws.keys() - sizes.keys() if self.calibrate else laws:
            why = f"{name} is about as large in all cases" if self.calibrate else "there is no calibration"
            warnings.warn(f"The law {laws[name].words} is not used: {why}.", GPWarning, stacklevel=3)
        if not sizes or not self.calibrate:
            return None, []
        geometry = training.geometry
        own = self.kernel is not None or geometry.common or geometry.describer.bodies is not None
        task = SizeTask(table, sizes, kernels if own else None, self.random_state, self.n_jobs, progress, memory)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of cases that fields are fitted to all the same
            return fit_sizes_over(task, laws)

    def _adopt(self, fitted: FittedFields) -> None:
        """Take over what was fitted, and say what it is."""
        self.mesh_column_, self.n_features_in_, self._geometry = fitted[:3]
        self.models_, self._choices, self._scores, self.metadata_, self._sizes, self.laws_ = fitted[3:9]
        self._groups = fitted.groups
        self.sizes_ = None if self._sizes is None else self._sizes.numbers
        self.field_names_ = list(self.models_)
        self.target_names_ = list(self.models_)
        self.limits_ = {name: (model.warp.least, model.warp.most) for name, model in self.models_.items()}
        self.held_ = {name: model.held for name, model in self.models_.items()}
        self.common_topology_ = self._geometry.common
        self.plane_ = self._geometry.plane
        self.choices_ = pd.DataFrame(
            self._choices,
            columns=["field", "kernel", "descriptors", "range", "shrinkage", "warp", "amplitude", "rrmse", "chosen"],
        )
        modes = {name: model.modes for name, model in self.models_.items()}
        self.modes_ = pd.DataFrame(
            [{"field": name, "number": found.number,
              "explained": float(found.variances.sum() / found.total) if found.total > 0 else 1.0}
             for name, found in modes.items()]
        )  # fmt: skip
        used = columns_of({name: model.member.kernel for name, model in self.models_.items()})
        if self._sizes is not None:
            of_laws = [name for law in self._sizes.laws.values() for name in law.columns.values()]
            used = np.array([*used, *self._sizes.numbers.feature_names_in_, *of_laws], dtype=object)
        self.feature_names_in_ = np.array(list(dict.fromkeys([self.mesh_column_, *used])), dtype=object)

    @property
    def n_train_(self) -> int:
        """Number of training cases that new ones are compared with; 0 where all fields are constant."""
        return max((one.reference.n_cases for one in self.models_.values() if one.reference is not None), default=0)

    def cases(self, X: Table, *, progress: Progress | None = None, memory: MemoryLike = None) -> FieldCases:
        """Read, describe and represent new rows once, to ask several things of them.

        Parameters
        ----------
        X : DataFrame or list of meshes
        progress : callable, optional
            Called as ``progress(done, total)`` each time that all meshes are gone through.
        memory : Memory or path, optional

        Returns
        -------
        FieldCases
            With ``predict``, ``predict_interval``, ``predict_meshes``, ``sample``, ``derived`` and ``domain``, as here.
        """
        check_is_fitted(self, "models_")
        table, models = as_rows(X, self.feature_names_in_), list(self.models_.values())
        given = column(table, self.mesh_column_).tolist() if len(table) else []
        meshes = TableMeshes(given, self.n_jobs, self._geometry.plane)
        found = _DescribedMeshes(self, meshes, progress, as_memory(memory))
        if not len(table):
            none = [(np.empty((0, one.modes.number)),) * 2 for one in models]
            return FieldCases(models, [[] for _ in models], none, table, found)
        meshes.each_learned(self._geometry.check)
        seen = self._sharing(table, meshes)
        kernels = [one.member.kernel for one in models]
        others = [] if self._sizes is None else self._sizes.kernels()  # they share embeddings
        groups = self.seeing_groups()
        rows = represent_columns([*kernels, *others, *groups], partial(column, seen), None, memory)
        rows, of_others, of_groups = (
            rows[start:stop] for start, stop in pairwise(np.cumsum([0, *map(len, (kernels, others, groups))]))
        )
        sizes = [one.sizes(one.member.new_blocks(own)[0], len(table)) for one, own in zip(models, rows, strict=True)]
        given = self._sharing(table, meshes, as_given=True)
        own_sizes = {}
        if self.sizes_ is not None:
            stack = self.sizes_.stack_
            own_sizes = self.sizes_of(stack.predict(stack.represented(of_others, seen)), table)
        said = unlike_groups([one for kernel in groups for one in kernel.factors], sum(of_groups, []), len(table))
        return FieldCases(models, rows, sizes, given, found, typical_in(self.metadata_), own_sizes, said)

    def seeing_groups(self) -> list[Product]:
        """Return what compares named groups of meshes beside the kernels of the fields."""
        every = [*([] if self._sizes is None else self._sizes.kernels()), *self._groups]
        factors = [[factor for factor in kernel.factors if isinstance(factor, GroupMeasures)] for kernel in every]
        return [Product(*own) for own in factors if own]

    def sizes_of(self, found: Prediction, table: pd.DataFrame) -> dict[str, CaseSizes]:
        """Return how large the fields of the rows of a table are, by name, as :attr:`sizes_` predicts them."""
        assert self._sizes is not None
        return self._sizes.sizes(found, table, self.field_names_)

    def _sharing(self, table: pd.DataFrame, meshes: TableMeshes, as_given: bool = False) -> pd.DataFrame:
        """Return a table in which kernels and others find meshes that were read already."""
        return table.assign(**{self.mesh_column_: pd.Series(meshes.shared(as_given), table.index, object)})

    def nodes_of(
        self, mesh: Mesh, number: int = 0, memory: MemoryLike = None, path: Path | None = None, *, keep: bool = False
    ) -> list[MeshNodes]:
        """Return the nodes of a mesh as the basis of every field sees them.

        Parameters
        ----------
        mesh : Mesh
        number : int
            Of the mesh in its column, for errors.
        memory : Memory or path, optional
            Where descriptors of files are kept.
        path : path, optional
            The file of the mesh.
        keep : bool
            Whether the same nodes will be asked about again and again.
        """
        learned = learned_mesh(number, mesh, self._geometry.plane)
        self._geometry.check(number, learned)
        blocks = self._geometry.described(number, learned, as_memory(memory), path)
        stack = self._geometry.describer.stack
        layer = thin_layer(mesh) if self._geometry.plane else None
        copies = None if layer is None else layer.number
        return [
            MeshNodes(
                learned.n_nodes, one.basis, None if one.basis is None else stack(blocks, one.recipe), keep, copies
            )
            for one in self.models_.values()
        ]

    def predict(
        self,
        X: Table,
        return_std: bool = False,
        *,
        widen: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> Any:
        """Predict the fields of new rows.

        Parameters
        ----------
        X : DataFrame or list of meshes
        return_std : bool
            Also return standard deviations.
        widen : bool
            Whether rows are compared with the training cases (default): standard deviations and intervals are widened
            where the model is less sure than of 95 % of left-out training cases, and a
            :class:`~swwl.errors.CaseWarning` tells of rows that are unlike the training cases, as ``swwl predict``
            does. Without it, this is the plain process, and nothing is said.
        progress, memory
            As in :meth:`fit`.

        Returns
        -------
        list of dict of str to ndarray of shape (n,) or (n, c)
            One dict per row; with ``return_std`` two such lists.
        """
        found = self._asked(X, widen, progress, memory).predict(widen)
        return found if return_std else found[0]

    def predict_interval(
        self,
        X: Table,
        level: float = 0.95,
        *,
        simultaneous: bool = False,
        widen: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> tuple[Fields, Fields]:
        """Return the bounds (lower, upper) of intervals at every node, as :meth:`predict` returns fields.

        They hold a part ``level`` of the nodes on average over meshes like the training ones, not on every mesh. With
        ``simultaneous``, they are wider: bands that hold *whole* fields, at all nodes at once, of a part ``level`` of
        such meshes, by the largest errors of training fields that folds left out.
        """
        return self._asked(X, widen, progress, memory).predict_interval(level, widen, simultaneous=simultaneous)

    def predict_meshes(
        self,
        X: Table,
        level: float = 0.95,
        *,
        simultaneous: bool = False,
        widen: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> list[Mesh]:
        """Return the meshes of new rows with ``name``, ``name_std``, ``name_lower95`` and ``name_upper95``.

        The ending follows the level; with ``simultaneous``, there are bounds of whole fields beside these
        (``name_lower95_whole``, ``name_upper95_whole``), see :meth:`predict_interval`. Fields that a mesh has already
        are left out, of nodes and of cells: they are of a simulation, perhaps of another case. Those of integers
        (numbers of parts, tags) and groups are kept. For ``widen`` see :meth:`predict`.
        """
        return self._asked(X, widen, progress, memory).predict_meshes(level, widen, simultaneous=simultaneous)

    def domain(self, X: Table, *, progress: Progress | None = None, memory: MemoryLike = None) -> pd.DataFrame:
        """Say of new rows whether they are like the training cases, so that predictions may be trusted.

        Compared are the mesh itself (how far along the variations of the training meshes, how far off them, how far
        from the nearest) and how unsure the sizes of modes are, each with training cases that were left out. Of several
        fields the one with the lowest score counts.

        Parameters
        ----------
        X, progress, memory
            As in :meth:`predict`.

        Returns
        -------
        DataFrame
            One row per case, with the index of ``X`` where it has one, as :meth:`swwl.RobustGPRegressor.domain` has it:
            ``score``, ``inside`` (missing where fewer than 100 training cases cannot tell), ``kind`` and ``why`` in
            words, the p-values, ``outside``, the numbers that leave the training range, and ``widened``, the fields
            whose intervals are widened.
        """
        return self.cases(X, progress=progress, memory=memory).domain

    def sample(
        self, X: Table, n_samples: int = 1, random_state: int | None = None, *, memory: MemoryLike = None
    ) -> list[dict[str, Array]]:
        """Draw whole fields: smooth ones, as uncertain as the Gaussian processes are.

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
        return self.cases(X, memory=memory).sample(n_samples, random_state)

    def derived(
        self,
        X: Table,
        function: Number | Sequence[Number],
        level: float = 0.95,
        n_samples: int = 200,
        *,
        field: str | None = None,
        random_state: int = 0,
        widen: bool = True,
        memory: MemoryLike = None,
    ) -> pd.DataFrame:
        """Predict a number derived from a field, with its uncertainty.

        Parameters
        ----------
        X : DataFrame or list of meshes
        function : str, LinearNumber or callable, or a list of them
            "max", "min", "mean", "integral", "force", "largest" or "mean_size", see
            :func:`swwl.fields.numbers.derived_number`; the value at a place, :class:`swwl.fields.numbers.Probe`, or the
            force on a named group, :class:`swwl.fields.numbers.ForceOn`; or a function of a mesh with the field.
            Numbers that have a name are calibrated on meshes that folds left out; values at places have the intervals
            of the field there; forces on groups, and numbers of a function, are as samples of the field have them. Of
            meshes one cell thick, numbers that have a name and forces are those of the plane mesh, with integrals over
            areas and lengths.
        level : float
        n_samples : int
        field : str, optional
            Which field, where there are several.
        random_state : int
        widen : bool
            See :meth:`predict`.

        Returns
        -------
        DataFrame
            One row per row: ``mean``, ``std``, ``lower``, ``upper``; of several numbers, ``mean_0``, ``mean_1``, …
            With a list, the names stand before: ``max_mean``, ``max_std``, …, ``at_0.5_1_mean``, …,
            ``force_on_body_mean_0``, …. NaN where a mesh does not have the place or the group, with a warning.

        Raises
        ------
        InputError
            Where no mesh has the place or the group.
        """
        cases = self._asked(X, widen, None, memory)
        return cases.derived(function, level, n_samples, field=field, random_state=random_state, widen=widen)

    def along_line(
        self,
        X: Table,
        start: Sequence[float],
        end: Sequence[float],
        n: int = 101,
        level: float = 0.95,
        *,
        field: str | None = None,
        widen: bool = True,
        memory: MemoryLike = None,
    ) -> pd.DataFrame:
        """Predict a field along a straight line through the meshes, linear inside cells.

        Parameters
        ----------
        X : DataFrame or list of meshes
        start, end : sequence of float
            As many coordinates as the meshes have; two for meshes one cell thick.
        n : int
            Number of places, both ends among them.
        level : float
        field : str, optional
            Which field, where there are several.
        widen : bool
            See :meth:`predict`.

        Returns
        -------
        DataFrame
            n rows for every row, which ``row`` counts from 0: ``distance`` from the start, ``x``, ``y`` and ``z``,
            ``mean``, ``std``, ``lower`` and ``upper``; of vectors ``mean_0``, ``mean_1``, …. NaN where the line leaves
            the mesh.
        """
        line = Line(tuple(start), tuple(end), n)
        return self._asked(X, widen, None, memory).along_line(line, level, field=field, widen=widen)

    def _asked(self, X: Table, widen: bool, progress: Progress | None, memory: MemoryLike) -> FieldCases:
        """Return new rows; warn of those that are unlike the training cases, unless the plain process is asked for."""
        cases = self.cases(X, progress=progress, memory=memory)
        if widen and len(cases):
            warn_about_cases(cases.notes(), stacklevel=3)
        return cases

    def cross_validated(self) -> pd.DataFrame:
        """Return how well folds predicted training meshes that were not in them, one row per field.

        Columns: ``field``, ``rrmse``, ``q2``, ``max_error``, ``coverage`` and ``least_coverage`` of 95 % intervals,
        ``worst`` (the number of the worst mesh) and ``worst_rrmse``; see :class:`swwl.fields.scores.FieldScore`. Empty
        without calibration, for few meshes and for constant fields.
        """
        check_is_fitted(self, "models_")
        names = ["field", "rrmse", "q2", "max_error", "coverage", "least_coverage", "worst", "worst_rrmse"]
        return pd.DataFrame([{"field": name, **own} for name, own in self._scores.items()], columns=names)

    def _html_summary(self) -> str:
        """Return a table of fields: left-out errors, modes and kernels; nothing before the fit."""
        if not hasattr(self, "models_"):
            return ""
        scores = self.cross_validated().set_index("field")
        modes = {row["field"]: row["number"] for row in self.modes_.to_dict("records")}
        chosen = {row["field"]: row["kernel"] for row in self.choices_.to_dict("records") if row["chosen"]}
        rows = []
        for name in self.field_names_:
            found = ["", "", ""]
            if name in scores.index:
                own = scores.loc[name]
                found = [f"{own['rrmse']:.4f}", f"{own['q2']:.4f}", percent(own["coverage"])]
            rows.append([name, *found, modes.get(name, ""), chosen.get(name, "")])
        return html_table(
            f"FieldRegressor, fitted to {self.n_train_} meshes",
            ["field", "RRMSE, left out", "Q²", "inside 95 %", "modes", "kernel"],
            rows,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self)

    def get_state(self) -> FieldRegressorState:
        """Return what the fitted model is made of, for a model file."""
        check_is_fitted(self, "models_")
        known = (self.models_, self._choices, self._scores, self.metadata_, self._sizes, self.laws_, self._groups)
        fitted = FittedFields(self.mesh_column_, self.n_features_in_, self._geometry, *known)
        return field_state(self.get_params(deep=False), fitted)

    @classmethod
    def from_state(cls, state: State) -> FieldRegressor:
        """Make a fitted model again of what :meth:`get_state` returned."""
        params, fitted = fields_from_state(cls, state)
        model = cls(**params)
        check_options(model)
        model._adopt(fitted)
        return model


class _DescribedMeshes:
    """The meshes of new rows, described once for as long as they stay in memory."""

    def __init__(self, model: FieldRegressor, meshes: TableMeshes, progress: Progress | None, memory: Memory):
        self._model, self._meshes, self._progress, self._memory = model, meshes, progress, memory
        self._known: dict[int, list[MeshNodes]] = {}

    def each(self, function: Callable[[int, Mesh], Found]) -> list[Found]:
        """Call a function of number and mesh for every row; return the results in order."""
        return self._meshes.each(function, self._progress)

    def nodes(self, number: int, mesh: Mesh) -> list[MeshNodes]:
        """Return the nodes of a row's mesh, as each of the models sees them."""
        found = self._known.get(number)
        if found is None:
            found = self._model.nodes_of(mesh, number, self._memory, self._meshes.path(number))
            if self._meshes.keeps(number):
                self._known[number] = found
        return found


def kept_words(model: FieldRegressor) -> list[str]:
    """Say in a line each what all training fields keep, and predictions with them, and how large ones are told."""
    lines = []
    for name, one in model.models_.items():
        least, most = model.limits_[name]
        ends = [f"at least {number(least)}"] if least > -np.inf else []
        ends += [f"at most {number(most)}"] if most < np.inf else []
        if ends:
            lines.append(f"{name} stays {' and '.join(ends)}, as in all training fields")
        for group, values in one.held.items():
            lines.append(f"{name} is {held_words(values, one.kind.times)} on {group!r}, as in all training fields")
        if one.amplitude:
            lines.append(f"{name} is an amplitude, predicted as a number, times a shape")
        if one.power:
            lines.append(f"the largest {name} is predicted as a number, and the field is stretched to it")
    return lines


def held_words(values: NDArray[np.float64], times: int = 1) -> str:
    """Say what a field is held at, by component; of one at several times, at how many of them.

    >>> held_words(np.array([0.0, np.nan, 2.0])), held_words(np.array([20.0, 20.0, np.nan, np.nan]), times=4)
    ('0, free, 2', '20 at 2 of 4 times, free at the others')
    """
    told = ["free" if np.isnan(value) else number(float(value)) for value in values]
    if len(set(told)) == 1:
        return told[0]
    if 1 < times == len(told):
        most = Counter(one for one in told if one != "free").most_common()
        free = ", free at the others" if "free" in told else ""
        return ", ".join(f"{one} at {count} of {times} times" for one, count in most) + free
    return ", ".join(told)

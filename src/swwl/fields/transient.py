r"""TransientRegressor: fields that change with time, on meshes never seen.

A field at J times of a grid is a field of J components: :class:`~swwl.FieldRegressor` finds modes of space and time
together, whose sizes it predicts, so that a whole history costs as much as one field, its variance as much as its mean,
and intervals are calibrated at all times. Between the times of the grid modes are cubic splines. Every case may have
times of its own; topology may differ from case to case.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
import pandas as pd
import scipy
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from swwl.domain.notes import warn_about_cases
from swwl.errors import InputError
from swwl.estimators import BaseEstimator, check_is_fitted
from swwl.fields.estimator import FieldRegressor
from swwl.fields.kernels import mesh_column
from swwl.fields.model import FieldCases
from swwl.fields.values import kept_limits
from swwl.formatting import Record
from swwl.kernels.base import Factor, Product
from swwl.mesh.io.formats import timed
from swwl.mesh.mesh import Mesh
from swwl.mesh.series import MeshSeries, checked_times
from swwl.parallel import Progress
from swwl.storage.checks import AnyNumber, Shape, arguments, restored, shown
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import save_model, storable
from swwl.tables.inputs import as_rows, as_table, column

Array = NDArray[np.float64]
Kernel = Factor | Product
Histories = list[dict[str, Array]]  # fields (T, n) or (T, n, c) of every row, by name

MOST_TIMES = 24
# Ends of cases may differ by this part of the time that all have.
_ROOM = 0.5
_NEAR = 1e-9


@storable
class TransientRegressor(BaseEstimator):
    """Predict how fields change with time on new meshes, of any topology, with an interval at every node and time.

    Parameters
    ----------
    kernel, n_modes, basis_size, descriptors, warp, random_state, n_jobs
        As of :class:`swwl.FieldRegressor`.
    n_times : int
        At most so many times make the grid; fields of more are learned at some of them.

    Attributes
    ----------
    fields_ : FieldRegressor
        Of fields at all times of the grid, as components.
    times_ : ndarray of shape (J,)
        The grid.
    components_ : dict of str to int or None
        Of every field; None for fields without an axis for them.
    limits_ : dict of str to (float, float)
        What all training fields keep at all times, and predictions with them.
    metadata_ : dict
        Anything JSON can hold; that of ``fields_``.

    Examples
    --------
    >>> x = np.linspace(0, 1, 12)
    >>> lines = np.column_stack([np.arange(11), np.arange(1, 12)])
    >>> times = np.linspace(0, 1, 8)
    >>> def rod(length, rate):
    ...     values = np.exp(-rate * times)[:, None] * np.sin(2 * length * x)
    ...     return MeshSeries(Mesh(length * x[:, None], {"line": lines}), times, {"u": values})
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"length": rng.uniform(1, 2, 40), "rate": rng.uniform(1, 3, 40)})
    >>> table["mesh"] = [rod(a, b) for a, b in zip(table["length"], table["rate"])]
    >>> model = TransientRegressor().fit(table[8:][["mesh", "rate"]], "u")
    >>> found = model.predict(table[:8], times=[0.1, 0.5])
    >>> at = np.array([[0.1], [0.5]])
    >>> truth = [np.exp(-b * at) * np.sin(2 * a * x) for a, b in table[["length", "rate"]].to_numpy()[:8]]
    >>> bool(max(np.abs(one["u"] - true).max() for one, true in zip(found, truth)) < 0.05)
    True
    """

    predicts: ClassVar[Literal["series"]] = "series"

    def __init__(
        self,
        kernel: Kernel | Sequence[Kernel] | dict[str, Kernel] | None = None,
        *,
        n_times: int = MOST_TIMES,
        n_modes: int | None = None,
        basis_size: int = 300,
        descriptors: dict[str, float] | str | None = None,
        warp: str = "auto",
        random_state: int = 0,
        n_jobs: int | None = None,
    ):
        self.kernel = kernel
        self.n_times = n_times
        self.n_modes = n_modes
        self.basis_size = basis_size
        self.descriptors = descriptors
        self.warp = warp
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
    ) -> TransientRegressor:
        """Learn fields from series of meshes.

        Parameters
        ----------
        X : DataFrame or list of MeshSeries
            A column of series, or of paths of files that hold several times (PVD, XDMF, Exodus, CalculiX, OpenFOAM
            cases, …), and columns of numbers.
        y : str or list of str
            Names of node or cell fields; "motion" is the movement of nodes.
        progress, gp_progress, memory
            As of :meth:`swwl.FieldRegressor.fit`.
        """
        if not isinstance(self.n_times, int | np.integer) or self.n_times < 2:
            raise InputError(f"n_times is {self.n_times!r}, but a whole number from 2 on is expected.")
        table = _as_table(X)
        names = [y] if isinstance(y, str) else list(y)
        where = _series_column(table)
        series = [_read(value, names, row) for row, value in enumerate(column(table, where))]
        self.times_ = common_times([one.times for one in series], self.n_times)
        self.components_ = {name: _components(series[0], name) for name in names}
        meshes = [self.at_grid(one, row) for row, one in enumerate(series)]
        self.limits_ = {name: self._limits(meshes, name) for name in names}
        self.fields_ = FieldRegressor(
            self.kernel,
            n_modes=self.n_modes,
            basis_size=self.basis_size,
            descriptors=self.descriptors,
            warp=self.warp,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.fields_.n_times = len(self.times_)  # components are times, and no vector
        told = table.assign(**{where: pd.Series(meshes, table.index, object)})
        self.fields_.fit(told, names, progress=progress, gp_progress=gp_progress, memory=memory)
        return self

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Columns that predictions need."""
        check_is_fitted(self, "fields_")
        return self.fields_.feature_names_in_

    @property
    def metadata_(self) -> Record:
        """Anything JSON can hold."""
        return self.fields_.metadata_

    @metadata_.setter
    def metadata_(self, value: Record) -> None:
        self.fields_.metadata_ = value

    @property
    def field_names_(self) -> list[str]:
        """Names of the fields."""
        return list(self.components_)

    def on_cells(self, name: str) -> bool:
        """Whether a field has a value per cell, and not per node."""
        return self.fields_.models_[name].kind.on_cells

    @property
    def mesh_column_(self) -> str:
        """The column of meshes."""
        return self.fields_.mesh_column_

    def predict(
        self, X: Any, return_std: bool = False, *, times: ArrayLike | None = None, widen: bool = True
    ) -> Histories | tuple[Histories, Histories]:
        """Predict fields at some times.

        Parameters
        ----------
        X : DataFrame, list of meshes or of MeshSeries
            Only the mesh at the first time counts; its fields are not looked at.
        return_std : bool
            Whether to return standard deviations, too.
        times : array-like of shape (T,), optional
            Between the first and the last of ``times_``, which are those by default.
        widen : bool
            See :meth:`swwl.FieldRegressor.predict`.

        Returns
        -------
        list of dict of str to ndarray of shape (T, n) or (T, n, c)
            One dict per row; with ``return_std`` a second list.
        """
        cases, at = self._cases(X, widen), self._at(times)
        found = self._in_time(cases.predict(widen), at)
        return found if return_std else found[0]

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        times: ArrayLike | None = None,
        simultaneous: bool = False,
        widen: bool = True,
    ) -> tuple[Histories, Histories]:
        """Return lower and upper bounds at every node and time; with ``simultaneous``, of whole histories at once.

        Parameters and results are those of :meth:`predict`, and of :meth:`swwl.FieldRegressor.predict_interval`.
        """
        cases, at = self._cases(X, widen), self._at(times)
        return self._bounds(cases, cases.predict(widen)[0], at, level, simultaneous, widen)

    def predict_series(
        self, X: Any, level: float = 0.95, *, times: ArrayLike | None = None, widen: bool = True
    ) -> list[MeshSeries]:
        """Return the meshes of new rows with ``name``, ``name_std`` and bounds at some times, to write to files."""
        return self.series_of(self._cases(X, widen), times, level, widen)

    def histories(
        self, cases: FieldCases, times: ArrayLike | None = None, level: float = 0.95, widen: bool = True
    ) -> tuple[Histories, Histories, Histories, Histories]:
        """Return means, standard deviations, lower and upper bounds of cases of ``fields_`` at some times."""
        at, found = self._at(times), cases.predict(widen)
        return *self._in_time(found, at), *self._bounds(cases, found[0], at, level, False, widen)

    def series_of(
        self, cases: FieldCases, times: ArrayLike | None = None, level: float = 0.95, widen: bool = True
    ) -> list[MeshSeries]:
        """Return what :meth:`predict_series` does, of cases of ``fields_``."""
        at, ending = self._at(times), f"{100 * level:g}"
        means, stds, lower, upper = self.histories(cases, times, level, widen)

        def one(row: int, mesh: Mesh) -> MeshSeries:
            parts: tuple[dict[str, Array], dict[str, Array]] = {}, {}
            for name, model in self.fields_.models_.items():
                parts[model.kind.on_cells].update({
                    name: means[row][name],
                    f"{name}_std": stds[row][name],
                    f"{name}_lower{ending}": lower[row][name],
                    f"{name}_upper{ending}": upper[row][name],
                })  # fmt: skip
            still = Mesh.trusted(mesh.points, mesh.cells, {}, mesh.name, {}, mesh.groups)
            return MeshSeries(still, at, *parts)

        return cases.meshes.each(one)

    def sample(
        self, X: Any, n_samples: int = 1, random_state: int | None = None, *, times: ArrayLike | None = None
    ) -> Histories:
        """Draw whole histories, (n_samples, T, n) or (n_samples, T, n, c), one dict per row."""
        at = self._at(times)
        drawn = self._cases(X, False).sample(n_samples, random_state)
        split = [[{name: values[s] for name, values in row.items()} for row in drawn] for s in range(n_samples)]
        each = [self._over_time(rows, at, limited=True) for rows in split]
        return [{name: np.stack([one[row][name] for one in each]) for name in self.components_}
                for row in range(len(drawn))]  # fmt: skip

    def domain(self, X: Any) -> pd.DataFrame:
        """Say of new rows whether they are like the training cases; see :meth:`swwl.FieldRegressor.domain`."""
        return self._cases(X, False).domain

    def cross_validated(self) -> pd.DataFrame:
        """Return how well folds predicted training cases; see :meth:`swwl.FieldRegressor.cross_validated`."""
        return self.fields_.cross_validated()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self)

    def get_state(self) -> TransientState:
        """Return what the fitted model is made of, for a model file."""
        check_is_fitted(self, "fields_")
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "kernel"}
        return TransientState(
            params,
            msgspec.structs.asdict(self.fields_.get_state()),
            self.times_,
            [_Limits(name, own, *self.limits_[name]) for name, own in self.components_.items()],
        )

    @classmethod
    def from_state(cls, state: Record) -> TransientRegressor:
        """Make a fitted model again of what :meth:`get_state` returned."""
        held = restored(TransientState, state)
        fields = FieldRegressor.from_state(held.fields)
        model = cls(**arguments(cls, held.params), kernel=fields.kernel)
        model.fields_ = fields
        model.times_ = checked_times(held.times)
        model.components_ = {one.name: one.components for one in held.histories}
        model.limits_ = {one.name: (one.least, one.most) for one in held.histories}
        known = {name: own.kind.components for name, own in fields.models_.items()}
        made = {name: len(model.times_) * (own or 1) for name, own in model.components_.items()}
        if known != made or len(model.times_) < 2:
            raise InputError(f"fields have {shown(known)} components, but times and parts make {shown(made)}")
        return model

    def _cases(self, X: Any, widen: bool) -> FieldCases:
        """Return new rows with meshes as they are at their first times; warn of those unlike the training cases."""
        check_is_fitted(self, "fields_")
        table = as_rows(_as_table(X), self.feature_names_in_)
        meshes = [_first_mesh(value) for value in column(table, self.mesh_column_)]
        cases = self.fields_.cases(table.assign(**{self.mesh_column_: pd.Series(meshes, table.index, object)}))
        if widen and len(cases):
            warn_about_cases(cases.notes(), stacklevel=3)
        return cases

    def _in_time(self, found: tuple[Histories, Histories], times: Array) -> tuple[Histories, Histories]:
        means, stds = found
        return self._over_time(means, times, limited=True), self._over_time(stds, times, smooth=False)

    def _bounds(
        self, cases: FieldCases, means: Histories, times: Array, level: float, whole: bool, widen: bool
    ) -> tuple[Histories, Histories]:
        middle = self._over_time(means, times)
        found = []
        for ends in cases.predict_interval(level, widen, simultaneous=whole):
            # Splines might take a bound to the other side of the mean: what lies between goes along straight lines.
            away = [{name: end[name] - mean[name] for name in end} for end, mean in zip(ends, means, strict=True)]
            half = self._over_time(away, times, smooth=False)
            pairs = zip(half, middle, strict=True)
            found.append([{name: self._kept(name, one[name] + mid[name]) for name in one} for one, mid in pairs])
        return found[0], found[1]

    def _at(self, times: ArrayLike | None) -> Array:
        """Return the times that are asked for; refuse those beyond the grid."""
        check_is_fitted(self, "fields_")
        if times is None:
            return self.times_
        found = checked_times(np.atleast_1d(np.asarray(times, dtype=float)))
        room = _NEAR * (self.times_[-1] - self.times_[0])
        for time in (found[0], found[-1]):
            if not self.times_[0] - room <= time <= self.times_[-1] + room:
                raise InputError(
                    f"Time {time:g} is requested, but training cases have times from {self.times_[0]:g} to "
                    f"{self.times_[-1]:g}."
                )
        return np.clip(found, self.times_[0], self.times_[-1])

    def _over_time(
        self, rows: Sequence[Mapping[str, Array]], times: Array, *, smooth: bool = True, limited: bool = False
    ) -> Histories:
        """Return fields (n, J c) of the grid at other times, (T, n) or (T, n, c)."""
        weights = time_weights(self.times_, times, smooth)
        found = []
        for row in rows:
            own = {}
            for name, values in row.items():
                whole = values.reshape(len(values), len(self.times_), -1)
                at = np.einsum("tj,njc->tnc", weights, whole)
                at = at[..., 0] if self.components_[name] is None else at
                own[name] = self._kept(name, at) if limited else at
            found.append(own)
        return found

    def _kept(self, name: str, values: Array) -> Array:
        return np.clip(values, *self.limits_[name])

    def at_grid(self, series: MeshSeries, row: int = 0) -> Mesh:
        """Return a mesh with the fields of a series at the times of the grid, as components, (n, J) or (n, J c)."""
        weights = time_weights(series.times, self.times_)
        parts: list[dict[str, Array]] = [{}, {}]
        for name, expected in self.components_.items():
            own = _components(series, name)
            if own != expected:
                told = "one number" if own is None else f"{own} components"
                raise InputError(f"Case {row} has {told} in field {name!r}, but the first case has another shape.")
            on_cells = name not in series.fields
            values = (series.cell_fields if on_cells else series.fields)[name]
            grid = np.einsum("jt,tnc->njc", weights, values.reshape(*values.shape[:2], -1))
            parts[on_cells][name] = grid.reshape(len(grid), -1)
        mesh = series.mesh
        return Mesh.trusted(mesh.points, mesh.cells, parts[0], mesh.name, parts[1], mesh.groups)

    def _limits(self, meshes: Sequence[Mesh], name: str) -> tuple[float, float]:
        if self.components_[name] is not None:
            return -np.inf, np.inf
        return kept_limits([{**mesh.cell_fields, **mesh.fields}[name].reshape(-1, 1) for mesh in meshes])


class _Limits(msgspec.Struct):
    name: str
    components: Annotated[int, Meta(ge=1)] | None
    least: AnyNumber
    most: AnyNumber


class TransientState(msgspec.Struct):
    """A fitted :class:`TransientRegressor`."""

    params: Record
    fields: Record  # a FieldRegressorState
    times: Annotated[Array, Shape("j", rises=True)]
    histories: Annotated[list[_Limits], Meta(min_length=1)]


def common_times(times: Sequence[Array], most: int) -> Array:
    """Return the grid of times at which cases are learned: their own where all share them, else even ones.

    Examples
    --------
    >>> common_times([np.arange(3.0), np.arange(3.0)], 24).tolist()
    [0.0, 1.0, 2.0]
    >>> common_times([np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.5, 2.0])], 24).tolist()
    [0.0, 1.0, 2.0]
    """
    for row, own in enumerate(times):
        if len(own) < 2:
            raise InputError(f"Case {row} has {len(own)} time, but at least 2 are expected.")
    first, last = max(own[0] for own in times), min(own[-1] for own in times)
    longest = max(own[-1] for own in times) - min(own[0] for own in times)
    if last - first < _ROOM * longest:
        late, early = int(np.argmax([own[0] for own in times])), int(np.argmin([own[-1] for own in times]))
        raise InputError(
            f"Case {late} begins at time {first:g} and case {early} ends at {last:g}, so that all share less than "
            f"half of the time that they cover, {longest:g}; leave such cases out, or give times over the same range."
        )
    same = all(len(own) == len(times[0]) and np.allclose(own, times[0], rtol=1e-9, atol=0) for own in times)
    if same and len(times[0]) <= most:
        return np.array(times[0])
    number = min(most, *(len(own) for own in times))
    if same:
        return np.array(times[0][np.linspace(0, len(times[0]) - 1, number).round().astype(int)])
    pool = np.sort(np.concatenate([own[(own >= first) & (own <= last)] for own in times]))
    return np.unique(np.concatenate([[first], np.quantile(pool, np.linspace(0, 1, number)[1:-1]), [last]]))


def time_weights(known: Array, wanted: Array, smooth: bool = True) -> Array:
    """Return how values at known times (K,) are weighed at others, (W, K): by cubic splines, or along straight lines.

    Examples
    --------
    >>> time_weights(np.array([0.0, 1.0]), np.array([0.25]))
    array([[0.75, 0.25]])
    """
    if len(known) == len(wanted) and np.array_equal(known, wanted):
        return np.eye(len(known))
    order = min(3, len(known) - 1) if smooth else 1
    spline = scipy.interpolate.make_interp_spline(known, np.eye(len(known)), k=order)
    return np.asarray(spline(np.clip(wanted, known[0], known[-1])))


def _components(series: MeshSeries, name: str) -> int | None:
    for own in (series.fields, series.cell_fields):
        if name in own:
            return None if own[name].ndim == 2 else own[name].shape[2]
    known = ", ".join([*series.fields, *series.cell_fields]) or "none"
    raise InputError(f"Field {name!r} is not among those of {series.mesh.name or 'the first case'}: {known}.")


def _as_table(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X
    if isinstance(X, Sequence) and X and all(isinstance(one, MeshSeries | Mesh) for one in X):
        return pd.DataFrame({"mesh": pd.Series(list(X), dtype=object)})
    return as_table(X)


def _series_column(table: pd.DataFrame) -> str:
    for name in table.columns:
        if len(table) and isinstance(table[name].iloc[0], MeshSeries):
            return str(name)
    return mesh_column(table)


def _read(value: object, names: Sequence[str], row: int) -> MeshSeries:
    if isinstance(value, MeshSeries):
        return value
    if isinstance(value, str | os.PathLike):
        return MeshSeries.read(value, names)
    raise InputError(f"Row {row} holds a {type(value).__name__}, but a series of meshes or its path is expected.")


def _first_mesh(value: object) -> object:
    """Return the mesh of a case at its first time; what is neither a series nor the path of one stays as it is."""
    if isinstance(value, MeshSeries):
        return value.mesh
    return timed(Path(value), "first") if isinstance(value, str | os.PathLike) else value

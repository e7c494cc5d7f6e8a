r"""Move a shape to where a model predicts better, inside what the training meshes have shown.

The shape moves by the numbers c of a :class:`~swwl.design.deformation.Deformation`. A surrogate that is optimized
without limits soon leaves what it knows. Along displacement modes, c stays inside a ball around the mean of the
training meshes and inside their range along every mode. Of other deformations, those combinations are taken that look
to the model like what its training meshes differ in (:mod:`swwl.design.trust`), inside the same kind of region, and
what is found is judged inside the domain of the model.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import erfcx

from swwl.design.acquire import target_bounds
from swwl.design.deformation import Deformation, ModeMotions, as_deformation
from swwl.design.limits import CellRatios, Volume, Walls
from swwl.design.pool import check_conditions, outside_notes
from swwl.design.trust import INSIDE, FamiliarMotions, familiar_motions
from swwl.embedding.components import Modes
from swwl.errors import CaseWarning, InputError, InputTypeError
from swwl.formatting import number
from swwl.kernels.base import Factor
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.regression.estimator import RobustGPRegressor, check_predicts_numbers

Array = NDArray[np.float64]
Bounds = Mapping[str, tuple[float | None, float | None]]

CRITERIA = ("mean", "ei")
# Steps that gain less, in standard deviations of a target or in the logarithm of an expected improvement, are the last.
_MOST_STEPS, _TOLERANCE = 60, 1e-5
# What must be left of every cell.
_LEAST_CELL = 0.2
# How closely what was found must keep volumes and walls (relative), and other targets (of their deviation in training).
_VOLUME, _WALL, _TARGET = 1e-3, 1e-2, 1e-3
# What was found is taken back toward the start by these shares, until it keeps everything.
_SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)


@dataclass(frozen=True)
class Improvement:
    """A shape that a model predicts to be better.

    Attributes
    ----------
    mesh : Mesh
    mean, std : float
        Predicted for it by the plain process; the standard deviation also counts what the model does not see of the
        motion, see :func:`improve`.
    interval : tuple of two floats
        Central, of 95 %, as ``model.predict_interval`` states it: widened where the model is unsure. Wider by as much
        as the standard deviation is.
    start_mean, start_std, start_interval
        Predicted for the mesh that was given.
    coordinates : ndarray of shape (k,)
        Along modes, or along the axes of :func:`~swwl.design.trust.familiar_motions`, in standard deviations of the
        training meshes.
    radius : float
        Of the ball that the coordinates stay in.
    n_evaluations : int
        Predictions with their derivatives that it took.
    others : dict of str to float
        Predicted means of the targets that are bounded.
    volume : float
        Over that of the start; nan where nothing is asked of it.
    least_cell : float
        What is left of the cell that shrank most; negative would be inverted.
    largest_move : float
        Of a node.
    inside : bool or None
        Whether the model calls the shape like its training cases; None where fewer than 100 cannot tell.
    why : str
        What it says about that.
    """

    mesh: Mesh
    mean: float
    std: float
    interval: tuple[float, float]
    start_mean: float
    start_std: float
    start_interval: tuple[float, float]
    coordinates: Array
    radius: float
    n_evaluations: int
    others: dict[str, float]
    volume: float
    least_cell: float
    largest_move: float
    inside: bool | None
    why: str


def improve(
    model: Any,
    mesh: Any,
    deformation: Deformation | Modes,
    inputs: Mapping[str, Any] | None = None,
    *,
    target: str | None = None,
    goal: str = "maximize",
    criterion: str = "mean",
    caution: float = 0.0,
    best: float | None = None,
    constraints: Bounds | None = None,
    volume: str | tuple[float | None, float | None] | None = None,
    thickness: float | None = None,
    radius: float | None = None,
) -> Improvement:
    r"""Maximize (or minimize) a prediction over deformations of a shape, inside what the training meshes have shown.

    Maximizes :math:`m(c) - \kappa s(c)`, or the logarithm of the expected improvement, over the numbers c of the
    deformation, by its exact gradient (SLSQP), subject to their bounds and to all that has to be kept. No cell shrinks
    to less than a fifth.

    Of lattices and motions of groups, only such combinations are used as look to the model like what its training
    meshes differ in. Where one reproduces a share :math:`s_j` of what these do along axis j, the rest of the motion is
    not seen: the variance grows by :math:`\sum_j (1 / s_j - 1) (\Delta c_j\, \partial m / \partial c_j)^2`. What is
    found is taken back toward the start as far as is needed to keep everything, and to be called inside by
    ``model.domain``.

    Parameters
    ----------
    model : RobustGPRegressor
        Fitted, with one column of meshes.
    mesh : Mesh, or anything :func:`swwl.as_mesh` takes
        Where to begin; along modes, with the cells of the training meshes. What has to be kept is relative to it.
    deformation : Lattice, GroupMotions, or Modes
        Of this mesh; modes are those of the training meshes, from :func:`displacement_modes`. Along these, a mesh
        that lies outside the region begins from the nearest shape inside; what the modes do not hold of it is kept.
    inputs : mapping of str to number, optional
        Values of the model's other columns: the conditions to design for. A :class:`~swwl.errors.CaseWarning` tells of
        those outside the training range.
    target : str, optional
        Needed where the model has several, and ``goal`` names none.
    goal : {"maximize", "minimize"}
        Or "maximize:efficiency".
    criterion : {"mean", "ei"}
        The predicted mean, or the expected improvement over the best answer, which counts what the model is unsure of
        as a chance.
    caution : float
        :math:`\kappa \ge 0`: how many standard deviations the mean, and bounded targets, stay on the safe side.
    best : float, optional
        The answer to improve on with "ei"; by default the best of the training cases, as it is predicted at ``inputs``.
    constraints : mapping of str to (low, high), optional
        Targets of the model whose prediction has to lie between bounds; None where there is none.
    volume : "keep" or (low, high), optional
        What the skin that moves encloses, relative to the start: kept, or between bounds; see
        :class:`~swwl.design.limits.Volume`.
    thickness : float, optional
        What must be left of every wall, relative to the start, up to a hundredth; see
        :class:`~swwl.design.limits.Walls`.
    radius : float, optional
        Along modes: of the ball; by default that which holds 90 % of the training meshes. More than holds all of them
        is refused.

    Returns
    -------
    Improvement

    Examples
    --------
    >>> from swwl import RobustGPRegressor, SWWL
    >>> from swwl.design import Lattice, displacement_modes
    >>> rods = [Mesh([[0.0], [length]], [[0, 1]]) for length in np.linspace(1, 2, 12)]
    >>> model = RobustGPRegressor(SWWL("rod", n_iterations=0, n_projections=2, n_quantiles=3), calibrate=False)
    >>> model = model.fit({"rod": rods, "y": [-(rod.points[1, 0] - 1.6) ** 2 for rod in rods]}, "y")
    >>> found = improve(model, rods[4], displacement_modes(rods))
    >>> bool(abs(found.mesh.points[1, 0] - 1.6) < 0.01)
    True
    >>> found = improve(model, rods[4], Lattice(rods[4], [2], reach=0.5))
    >>> bool(abs(np.ptp(found.mesh.points) - 1.6) < 0.02)
    True
    """
    if not isinstance(model, RobustGPRegressor):
        raise InputTypeError(f"improve needs a fitted RobustGPRegressor, not {type(model).__name__}.")
    check_predicts_numbers(model)
    goal, _, named = str(goal).partition(":")
    if named and target is not None and named != target:
        raise InputError(f"The goal names {named!r}, and the target {target!r} is given too; one is enough.")
    inputs = _conditions(model, inputs or {})
    column, target = _checked(model, inputs, target or named or None, goal)
    bounds = _limits(model, constraints or {}, target)
    for note in outside_notes(model, inputs):
        warnings.warn(f"{note}.", CaseWarning, stacklevel=2)
    surrogate = _Surrogate(model, column, inputs, [target, *bounds])
    aim = _Wish.read(surrogate, goal, criterion, caution, best, bounds)
    start = as_mesh(mesh)
    motion, span = as_deformation(deformation), _volume_range(volume)
    if thickness is not None and not (_is_number(thickness) and 0 < thickness <= 1):
        raise InputError(f"thickness is {thickness!r}, but a share above 0 and up to 1 is expected.")
    if not isinstance(motion, ModeMotions):
        if radius is not None:
            raise InputError("radius is that of a ball of displacement modes, but the shape moves in another way.")
        motion = familiar_motions(model, column, start, motion)
    search = _Search(surrogate, aim, start, motion, _radius(motion, radius), span, thickness)
    return search.result(search.run())


class _Surrogate(NamedTuple):
    """A model at fixed conditions, as a function of a mesh."""

    model: RobustGPRegressor
    column: str
    inputs: Mapping[str, Any]
    targets: list[str]  # the one to improve first, then those that are bounded

    def row(self, mesh: Mesh) -> pd.DataFrame:
        return pd.DataFrame({self.column: [mesh]} | {name: [value] for name, value in self.inputs.items()})

    def slopes(self, mesh: Mesh) -> list[Any]:
        """Return the sensitivities of the targets."""
        only = self.targets[0] if len(self.targets) == 1 else None
        found = {own.target: own for own in self.model.sensitivity(self.row(mesh), only)}
        return [found[name] for name in self.targets]

    def judged(self, mesh: Mesh) -> tuple[tuple[float, float], pd.Series]:
        """Return the 95 % interval of the first target, and what the model says of the mesh."""
        prediction, table = self.model.predict_with_domain(self.row(mesh))
        lower, upper = (np.ravel(bound) for bound in prediction.interval(0.95))
        place = self.place(self.targets[0])
        return (float(lower[place]), float(upper[place])), table.iloc[0]

    def place(self, target: str) -> int:
        return list(self.model.target_names_).index(target)

    def spread(self, target: str) -> float:
        """Return the standard deviation of a target in training; 1 where it does not vary."""
        return float(np.nanstd(self.model.train_targets_[:, self.place(target)])) or 1.0

    def answers(self) -> Array:
        """Return the targets (N, t) of the training cases, predicted at the conditions where there are some."""
        stack, answers = self.model.stack_, self.model.train_targets_
        if self.inputs:
            answers = stack.predict(stack.training_cases_at(self.inputs), include_nugget=False).columns().mean
        return answers[:, [self.place(name) for name in self.targets]]


class _Wish(NamedTuple):
    """What is to become better, and what other targets must not exceed."""

    sign: float
    criterion: str
    caution: float
    best: float  # times the sign
    bounds: list[tuple[float, float]]
    spreads: list[float]  # of the targets, the bounded ones after the first

    @classmethod
    def read(
        cls,
        surrogate: _Surrogate,
        goal: str,
        criterion: str,
        caution: float,
        best: float | None,
        bounds: Mapping[str, tuple[float, float]],
    ) -> _Wish:
        if criterion not in CRITERIA:
            raise InputError(f"criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}.")
        if not (_is_number(caution) and caution >= 0):
            raise InputError(f"caution is {caution!r}, but a number of at least 0 is expected.")
        sign = 1.0 if goal == "maximize" else -1.0
        limits = list(bounds.values())
        if best is None and criterion == "ei":
            answers = surrogate.answers()
            fits = np.isfinite(answers[:, 0])
            for (low, high), own in zip(limits, answers.T[1:], strict=True):
                fits &= (own >= low) & (own <= high)
            best = sign * float((sign * answers[fits if fits.any() else slice(None), 0]).max())
        elif best is not None and not _is_number(best):
            raise InputError(f"best is {best!r}, but a number is expected.")
        spreads = [surrogate.spread(name) for name in surrogate.targets]
        return cls(sign, criterion, float(caution), sign * (best or 0.0), limits, spreads)

    def score(self, mean: float, std: float) -> tuple[float, float, float]:
        """Return the criterion, the more the better, and its derivatives in the mean and in the standard deviation."""
        if self.criterion == "ei":
            value, of_mean, of_std = log_improvement(self.sign * mean - self.best, std)
            return value, self.sign * of_mean, of_std
        spread = self.spreads[0]
        return (self.sign * mean - self.caution * std) / spread, self.sign / spread, -self.caution / spread

    def room(self, means: Sequence[float], stds: Sequence[float]) -> list[tuple[float, int, float, float]]:
        """Return how far bounded targets are inside, in their deviations; which; derivatives in mean and std."""
        found = []
        for k, (low, high) in enumerate(self.bounds, start=1):
            spread = self.spreads[k]
            for side, bound in ((1.0, low), (-1.0, high)):
                if np.isfinite(bound):
                    value = side * (means[k] - bound) - self.caution * stds[k]
                    found.append((value / spread, k, side / spread, -self.caution / spread))
        return found


class _Kept(NamedTuple):
    """What a moved mesh must keep of the one at rest."""

    cells: CellRatios
    volume: Volume | None
    start_volume: float
    volume_range: tuple[float, float]
    walls: Walls | None
    thickness: float

    @classmethod
    def of(cls, mesh: Mesh, motion: Deformation, span: tuple[float, float] | None, thickness: float | None) -> _Kept:
        ends = [motion.move(mesh.points, c) - mesh.points for c in (motion.low, motion.high)]
        moving = np.any([end.any(axis=1) for end in ends], axis=0)
        body, size = None, 1.0
        if span is not None:
            body = Volume(mesh, moving)
            size = body.value(mesh.points)[0]
        walls = None if thickness is None else Walls(mesh, moving)
        return cls(CellRatios(mesh), body, size, span or (0.0, np.inf), walls, thickness or 0.0)

    @property
    def exact(self) -> bool:
        """Whether the volume must stay as it is."""
        return self.volume is not None and self.volume_range[0] == self.volume_range[1]

    def ratio(self, points: Array) -> tuple[float, Array]:
        """Return the volume over that of the start, and its gradient in the points."""
        if self.volume is None:
            return float("nan"), np.zeros_like(points)
        value, gradient = self.volume.value(points)
        return value / self.start_volume, gradient / self.start_volume

    def holds(self, points: Array) -> bool:
        """Whether a mesh keeps everything, as closely as is promised."""
        low, high = self.volume_range
        ratio = self.ratio(points)[0]
        if not (np.isnan(ratio) or low - _VOLUME <= ratio <= high + _VOLUME):
            return False
        if self.walls is not None and self.walls.ratios(points).min() < self.thickness - _WALL:
            return False
        return bool(self.cells.ratios(points).min(initial=1.0) >= _LEAST_CELL)


class _Foreseen(NamedTuple):
    """What is predicted of one target, and how it changes with c."""

    mean: float
    std: float
    mean_slope: Array  # (k,)
    std_slope: Array  # (k,)

    @classmethod
    def of(cls, found: Any, pulled: Callable[[Array], Array]) -> _Foreseen:
        return cls(found.value, found.std.value, pulled(found.gradient), pulled(found.std.gradient))

    def with_more(self, weights: Array, away: Array) -> _Foreseen:
        """Return the same with the variance that grows with what is not seen of a motion."""
        std = float(np.sqrt(self.std**2 + weights @ away**2)) or np.finfo(float).tiny
        return self._replace(std=std, std_slope=(self.std * self.std_slope + weights * away) / std)


class _State(NamedTuple):
    """All that is known at c."""

    mesh: Mesh
    score: float
    slope: Array  # (k,)
    room: Array  # (m,), of what must not be negative
    room_slopes: Array  # (m, k)
    volume: float
    volume_slope: Array  # (k,)
    told: list[_Foreseen]  # by target


class _Search:
    """The way from the start to a better shape."""

    def __init__(
        self,
        surrogate: _Surrogate,
        wish: _Wish,
        start: Mesh,
        motion: ModeMotions | FamiliarMotions,
        radius: float,
        span: tuple[float, float] | None,
        thickness: float | None,
    ):
        self._surrogate, self._wish, self._start, self._motion, self._radius = surrogate, wish, start, motion, radius
        self._rest = motion.rest(start.points)
        self._first = self._pulled_in(self._rest)
        self._kept = _Kept.of(self._moved(self._first), motion, span, thickness)
        self._half = (motion.high - motion.low) / 2
        self.count = 0
        self._known = lru_cache(maxsize=8)(self._look)
        self._interval, self._verdict = surrogate.judged(start)
        self._unseen: list[Array] | None = None
        if isinstance(motion, FamiliarMotions):
            slopes = [own.mean_slope for own in self._look(self._rest.tobytes()).told]
            self._unseen = [(1 / motion.shares - 1) * own**2 for own in slopes]

    def run(self) -> Array:
        """Return the numbers of the best shape that keeps everything."""
        kept, motion, half = self._kept, self._motion, self._half
        limits: list[dict[str, Any]] = [
            {"type": "ineq", "fun": lambda x: self._at(x).room, "jac": lambda x: self._at(x).room_slopes * half}
        ]
        if kept.exact:
            limits.append(
                {
                    "type": "eq",
                    "fun": lambda x: self._at(x).volume - kept.volume_range[0],
                    "jac": lambda x: self._at(x).volume_slope * half,
                }
            )
        if isinstance(motion, FamiliarMotions):
            limits.append(
                {
                    "type": "ineq",
                    "fun": lambda x: np.ravel(motion.room(self._start.points, x * half)[0]),
                    "jac": lambda x: motion.room(self._start.points, x * half)[1] * half,
                }
            )
        found = minimize(
            lambda x: (-self._at(x).score, -self._at(x).slope * half),
            self._first / half,
            jac=True,
            method="SLSQP",
            bounds=list(zip(motion.low / half, motion.high / half, strict=True)),
            constraints=limits,
            options={"maxiter": _MOST_STEPS, "ftol": _TOLERANCE},
        )
        return self._taken_back(np.clip(found.x * half, motion.low, motion.high))

    def result(self, c: Array) -> Improvement:
        """Return what is known of the shape with numbers c."""
        state, before = self._known(c.tobytes()), self._known(self._rest.tobytes())
        (lower, upper), verdict = self._surrogate.judged(state.mesh)
        told, names = state.told[0], self._surrogate.targets
        if self._unseen is not None:
            more = self._unseen[0] @ (c - self._rest) ** 2
            plain = float(np.sqrt(np.maximum(told.std**2 - more, np.finfo(float).tiny)))
            wider = told.std / plain
            lower, upper = (told.mean + wider * (bound - told.mean) for bound in (lower, upper))
        return Improvement(
            mesh=state.mesh,
            mean=told.mean,
            std=told.std,
            interval=(lower, upper),
            start_mean=before.told[0].mean,
            start_std=before.told[0].std,
            start_interval=self._interval,
            coordinates=c,
            radius=self._radius,
            n_evaluations=self.count,
            others={name: own.mean for name, own in zip(names[1:], state.told[1:], strict=True)},
            volume=self._kept.ratio(state.mesh.points)[0],
            least_cell=float(self._kept.cells.ratios(state.mesh.points).min(initial=1.0)),
            largest_move=float(np.linalg.norm(state.mesh.points - self._start.points, axis=1).max()),
            inside=None if pd.isna(verdict["inside"]) else bool(verdict["inside"]),
            why=str(verdict["why"]),
        )

    def _taken_back(self, c: Array) -> Array:
        """Return the best of what was found and the first shape; take the former back until it keeps everything."""
        first = self._known(self._first.tobytes())
        begins_well = self._keeps(self._first, first)
        for share in _SHARES:
            own = self._on_volume(self._first + share * (c - self._first))
            state = self._known(own.tobytes())
            if self._keeps(own, state) and (not begins_well or state.score > first.score):
                return own
        if begins_well:
            return self._first
        raise InputError(f"No shape satisfies all constraints: {self._lacks(first)}.")

    def _keeps(self, c: Array, state: _State) -> bool:
        wish = self._wish
        told = state.told
        if any(room < -_TARGET for room, *_ in wish.room([own.mean for own in told], [own.std for own in told])):
            return False
        if np.linalg.norm(c) > self._radius * (1 + 1e-9) or not self._kept.holds(state.mesh.points):
            return False
        if isinstance(self._motion, ModeMotions):
            return True
        verdict = self._surrogate.judged(state.mesh)[1]
        inside = pd.isna(verdict["inside"]) or bool(verdict["inside"])
        return inside or bool(verdict["score"] >= self._verdict["score"])

    def _lacks(self, state: _State) -> str:
        """Say what the first shape does not keep."""
        said = []
        for name, (low, high), own in zip(self._surrogate.targets[1:], self._wish.bounds, state.told[1:], strict=True):
            if not low <= own.mean <= high:
                said.append(f"{name} begins at {number(own.mean)}, and {number(low)} to {number(high)} is expected")
        return "; ".join(said) or "the bounds that the start violates cannot be reached"

    def _on_volume(self, c: Array) -> Array:
        """Return numbers near c with which the volume is as it must be, by Newton's method along its gradient."""
        if self._kept.volume is None:
            return self._pulled_in(c)
        low, high = self._kept.volume_range
        for _ in range(8):
            points = self._motion.move(self._start.points, c)
            ratio, gradient = self._kept.ratio(points)
            off = ratio - np.clip(ratio, low, high)
            slope = self._motion.pull(self._start.points, c, gradient) * self._half
            free = (np.abs(c - self._motion.low) > 0) & (np.abs(c - self._motion.high) > 0)
            slope = np.where(free, slope, 0.0)
            if abs(off) < 1e-9 or not slope.any():
                break
            c = np.clip(c - off * slope / (slope @ slope) * self._half, self._motion.low, self._motion.high)
        return self._pulled_in(c)

    def _pulled_in(self, c: Array) -> Array:
        return _inside(c, self._motion.low, self._motion.high, self._radius)

    def _at(self, x: Array) -> _State:
        return self._known((x * self._half).tobytes())

    def _look(self, key: bytes) -> _State:
        c = np.frombuffer(key)
        self.count += 1
        start, mesh = self._start, self._moved(c)
        points = mesh.points

        def pulled(gradient: Array) -> Array:
            return self._motion.pull(start.points, c, gradient)

        told = [_Foreseen.of(own, pulled) for own in self._surrogate.slopes(mesh)]
        if self._unseen is not None:
            away = c - self._rest
            told = [own.with_more(weights, away) for own, weights in zip(told, self._unseen, strict=True)]
        score, of_mean, of_std = self._wish.score(told[0].mean, told[0].std)
        slope = of_mean * told[0].mean_slope + of_std * told[0].std_slope
        room = [self._cells(points, pulled)]
        for value, k, by_mean, by_std in self._wish.room([own.mean for own in told], [own.std for own in told]):
            room.append((value, by_mean * told[k].mean_slope + by_std * told[k].std_slope))
        room.append((1 - float(c @ c) / self._radius**2, -2 * c / self._radius**2))
        if self._kept.walls is not None:
            value, gradient = self._kept.walls.lowest(points)
            room.append((value - self._kept.thickness + _WALL, pulled(gradient)))
        ratio, gradient = self._kept.ratio(points)
        of_volume = pulled(gradient)
        if self._kept.volume is not None and not self._kept.exact:
            low, high = self._kept.volume_range
            room += [(ratio - low, of_volume)] if low > 0 else []
            room += [(high - ratio, -of_volume)] if np.isfinite(high) else []
        values, rows = zip(*room, strict=True)
        return _State(mesh, score, slope, np.array(values), np.array(rows), ratio, of_volume, told)

    def _moved(self, c: Array) -> Mesh:
        start = self._start
        points = self._motion.move(start.points, c)
        return trusted_mesh(points, start.cells, {}, start.name, groups=start.groups)

    def _cells(self, points: Array, pulled: Any) -> tuple[float, Array]:
        value, gradient = self._kept.cells.lowest(points)
        return value - _LEAST_CELL, pulled(gradient)


def log_improvement(gain: float, std: float) -> tuple[float, float, float]:
    r"""Return the logarithm of the expected improvement, and its derivatives in the mean gain and in the deviation.

    .. math:: \log s + \log h(z), \qquad h(z) = \varphi(z) + z \Phi(z), \qquad z = g / s,

    in a form that does not underflow where there is next to no chance (Ament et al. 2023).

    Parameters
    ----------
    gain : float
        Predicted mean above the best answer.
    std : float

    Examples
    --------
    >>> round(float(np.exp(log_improvement(0.0, 1.0)[0])), 4)  # one over the root of 2 pi
    0.3989
    >>> round(log_improvement(-100.0, 1.0)[0], 1)
    -5010.1
    """
    std = max(std, np.finfo(float).tiny)
    z = gain / std
    if z > -1:
        density = float(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
        below = 1 - density * np.sqrt(np.pi / 2) * float(erfcx(z / np.sqrt(2))) if z > 0 else density * _mills(-z)
        h = density + z * below
        return float(np.log(std) + np.log(h)), below / (std * h), density / (std * h)
    q = _mills(-z)
    share = 1 + z * q if z > -1e4 else 1 / z**2
    value = np.log(std) - z**2 / 2 - 0.5 * np.log(2 * np.pi) + np.log(share)
    return float(value), q / (std * share), 1 / (std * share)


def _mills(z: float) -> float:
    """Return the probability beyond z over the density there."""
    return float(np.sqrt(np.pi / 2) * erfcx(z / np.sqrt(2)))


def _radius(motion: ModeMotions | FamiliarMotions, radius: float | None) -> float:
    """Return the radius of the ball that coordinates stay in."""
    if isinstance(motion, FamiliarMotions):
        return motion.radius
    norms = np.linalg.norm(motion.modes.coordinates, axis=1)
    if radius is None:
        radius = float(np.quantile(norms, INSIDE))
    if not (_is_number(radius) and 0 < radius <= norms.max()):
        raise InputError(
            f"radius is {radius!r}, but it must be positive and at most {norms.max():.4g}, within which all training "
            f"meshes lie: beyond them nothing has been tested."
        )
    return radius


def _inside(c: Array, low: Array, high: Array, radius: float) -> Array:
    """Return coordinates inside the box, drawn in to the ball, which is around the mean, where they lie outside it."""
    kept = np.clip(c, low, high)
    return np.asarray(kept * min(1.0, radius / max(float(np.linalg.norm(kept)), np.finfo(float).tiny)))


def _volume_range(given: Any) -> tuple[float, float] | None:
    """Return the least and the largest volume relative to the start; None where nothing is asked of it."""
    if given is None:
        return None
    if isinstance(given, str) and given == "keep":
        return 1.0, 1.0
    try:
        low, high = given
        low, high = 0.0 if low is None else float(low), np.inf if high is None else float(high)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 <= low <= high:
        raise InputError(f'volume is {given!r}, but "keep" or (low, high) relative to the start is expected.')
    return low, high


def _limits(model: RobustGPRegressor, given: Bounds, target: str) -> dict[str, tuple[float, float]]:
    """Return bounds of targets by name, infinite where there are none."""
    found = {model.target_names_[k]: pair for k, pair in target_bounds(model, given).items()}
    if target in found:
        raise InputError(f"{target!r} is the target to optimize and cannot be bounded.")
    return found


def _is_number(given: Any) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool) and math.isfinite(given)


def _conditions(model: RobustGPRegressor, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of inputs by column; those that are not numbers or texts pass as they are."""
    rows = {factor.column for factor in model.kernel_.factors if factor.takes == "rows"}
    plain = {name: value for name, value in given.items() if name not in rows} if isinstance(given, Mapping) else given
    return check_conditions(model, plain) | {name: given[name] for name in rows & set(given)}


def _checked(model: Any, inputs: Mapping[str, Any], target: str | None, goal: str) -> tuple[str, str]:
    """Return the column of meshes and the target; refuse what does not fit the model."""
    factors: list[Factor] = model.kernel_.factors
    columns = {factor.column for factor in factors if factor.takes == "graphs"}
    if len(columns) != 1:
        raise InputError(f"A model with one column of meshes is expected, but this one has {len(columns)}.")
    (column,) = columns
    missing = [name for name in model.feature_names_in_ if name != column and name not in inputs]
    if missing:
        raise InputError(f"The model needs {', '.join(map(repr, missing))}, too: give inputs={{{missing[0]!r}: …}}.")
    names = list(model.target_names_)
    if target is None and len(names) > 1:
        raise InputError(f"The model has several targets; name one of {', '.join(map(repr, names))}.")
    if target is not None and target not in names:
        raise InputError(f"target is {target!r}, but the model predicts {', '.join(map(repr, names))}.")
    if goal not in ("maximize", "minimize"):
        raise InputError(f'goal must be "maximize" or "minimize", not {goal!r}.')
    return column, names[0] if target is None else target

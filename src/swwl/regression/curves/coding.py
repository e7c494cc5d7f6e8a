"""Curves -> a few coefficients, and back: principal curves on a common grid.

Curves on grids of their own are brought to one first, by monotone cubic pieces through their points or by least-squares
B-splines, whichever says best what points that are left out are. What a basis leaves over is noise at every place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from swwl.errors import GPWarning, InputError
from swwl.gp.folds import shuffled_folds
from swwl.storage.checks import Shape
from swwl.tables.series import Curves

Array = NDArray[np.float64]

# Principal curves are taken until they explain so much of the variance, and at most so many.
EXPLAINED, MOST_SHAPES = 0.9999, 12
# With fewer curves singular values do not tell noise from what varies.
_FEWEST_TO_TELL = 30
_FOLDS = 5
# Degree of splines; numbers of pieces to choose from, and how much worse a smaller number may be.
_DEGREE, _PIECES, _NEARLY = 3, (4, 8, 16, 32, 64, 128, 256), 1.05
# Of so many curves the number of pieces is chosen; second differences of coefficients weigh so little.
_MOST_TRIED, _RIDGE = 100, 1e-6
_FOURTH = 4
# A common grid has at least and at most so many places.
_GRID = (100, 400)
# Of the usual length of a curve, below which what all share is told.
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class CurveBasis:
    """Principal curves: a curve is the mean, plus coefficients times shapes, plus noise.

    Attributes
    ----------
    grid : ndarray of shape (m,)
        Abscissas, increasing.
    mean : ndarray of shape (m,)
    shapes : ndarray of shape (k, m)
        Orthonormal rows, by size.
    noise : ndarray of shape (m,)
        Variance of what shapes leave over, of curves that folds left out.
    smooth : bool
        Whether curves are splines between the places of the grid, and not polylines.
    """

    grid: Annotated[Array, Shape("m", rises=True)]
    mean: Annotated[Array, Shape("m")]
    shapes: Annotated[Array, Shape("km")]
    noise: Annotated[Array, Shape("m", least=0)]
    smooth: bool

    def encode(self, values: Array) -> Array:
        """Return the coefficients (N, k) of curves (N, m)."""
        return np.asarray((values - self.mean) @ self.shapes.T)

    def decode(self, coefficients: Array) -> Array:
        """Return the curves (N, m) of coefficients (N, k).

        Examples
        --------
        >>> basis = CurveBasis(np.arange(3.0), np.ones(3), np.eye(3)[:1], np.zeros(3), False)
        >>> basis.decode(np.array([[2.0]])).tolist()
        [[3.0, 1.0, 1.0]]
        """
        return np.asarray(self.mean + coefficients @ self.shapes)

    def at(self, places: Array) -> CurveBasis:
        """Return the same basis at other places (p,); outside the grid nothing is known."""
        low, high = self.grid[0], self.grid[-1]
        slack = 1e-9 * (high - low)
        beyond = places[(places < low - slack) | (places > high + slack)]
        if len(beyond):
            raise InputError(f"The grid goes to {beyond[0]:g}, but the training curves from {low:g} to {high:g} only.")
        noise = np.interp(places, self.grid, self.noise)
        within = np.clip(places, low, high)
        return CurveBasis(
            places, self.carried(self.mean, within), self.carried(self.shapes, within), noise, self.smooth
        )

    def carried(self, values: Array, places: Array) -> Array:
        """Return curves on the grid, (m,) or (n, m), at other places in its range, (p,) or (n, p)."""
        if self.smooth and len(self.grid) > _DEGREE:
            return np.asarray(scipy.interpolate.make_interp_spline(self.grid, values.T, _DEGREE)(places).T)
        return _polylines(self.grid, values, places)

    @cached_property
    def spans(self) -> Array:
        """How much of the abscissa every place stands for, (m,): weights of the trapezoidal rule."""
        steps = np.diff(self.grid)
        return (np.append(steps, 0.0) + np.append(0.0, steps)) / 2


class CodedCurves(NamedTuple):
    """Curves on one grid.

    Attributes
    ----------
    values : ndarray of shape (N, m)
        As they are, with their noise.
    basis : CurveBasis
    coefficients : ndarray of shape (N, k)
    rest : ndarray of shape (N, m)
        What a basis without a curve leaves of it over, at its point nearest to each place.
    """

    values: Array
    basis: CurveBasis
    coefficients: Array
    rest: Array


def code_curves(curves: Curves, most: int | None = None, seed: int = 0) -> CodedCurves:
    """Learn a basis of curves.

    Parameters
    ----------
    curves : Curves
    most : int, optional
        At most so many principal curves; 12 by default.
    seed : int
        Of folds.
    """
    grid, values, noise, known, smooth = common_values(curves)
    if float(np.ptp(values, axis=0).max()) == 0:
        raise InputError(f"Curve {curves.name!r} is the same in all {len(values)} rows: there is nothing to learn.")
    mean, shapes = principal_curves(values, MOST_SHAPES if most is None else most)
    rest = left_over(values, len(shapes), seed)
    # What lies between the points of a curve is a guess, and how far it is off no error of the basis.
    rest = np.array([np.interp(at, grid, own) for at, own in zip(known, rest, strict=True)]) + noise
    basis = CurveBasis(grid, mean, shapes, (rest**2).mean(axis=0), smooth)
    return CodedCurves(values + noise, basis, basis.encode(values), rest)


def principal_curves(values: Array, most: int) -> tuple[Array, Array]:
    r"""Return the mean (m,) and the principal curves (k, m) of curves (N, m).

    As many as explain 99.99 % of the variance, but none that is not told from noise: singular values of white noise
    stay below :math:`\omega(\beta)` times their median.

    References
    ----------
    Gavish and Donoho (2014), IEEE Transactions on Information Theory 60, 5040-5053, Eq. 5.

    Examples
    --------
    >>> t, a = np.linspace(0, 1, 50), np.linspace(-1, 1, 40)[:, None]
    >>> rng = np.random.default_rng(0)
    >>> [len(principal_curves(a * t + a**2 * t**2 + noise * rng.normal(size=(40, 50)), 12)[1]) for noise in (0, 0.01)]
    [2, 2]
    """
    mean = values.mean(axis=0)
    _, sizes, shapes = np.linalg.svd(values - mean, full_matrices=False)
    explained = np.cumsum(sizes**2) / (sizes**2).sum()
    number = 1 + int(np.searchsorted(explained, EXPLAINED))
    if len(values) >= _FEWEST_TO_TELL:
        share = min(values.shape) / max(values.shape)
        threshold = (0.56 * share**3 - 0.95 * share**2 + 1.82 * share + 1.43) * np.median(sizes)
        number = min(number, int((sizes > threshold).sum()))
    return mean, shapes[: max(1, min(number, most, len(values) - 2))]


def left_over(values: Array, number: int, seed: int) -> Array:
    """Return what so many principal curves of folds leave over of the curves (N, m) that are not in them."""
    rest = np.zeros_like(values)
    for train, out in shuffled_folds(len(values), _FOLDS, seed):
        mean = values[train].mean(axis=0)
        _, _, shapes = np.linalg.svd(values[train] - mean, full_matrices=False)
        off = values[out] - mean
        rest[out] = off - off @ shapes[:number].T @ shapes[:number]
    return rest


def common_values(curves: Curves) -> tuple[Array, Array, Array, Array, bool]:
    """Return one grid (m,), the values of all curves on it, (N, m), and what splines leave over of these.

    Curves that share their abscissas are taken as they are.

    Returns
    -------
    grid : ndarray of shape (m,)
    values, noise : ndarray of shape (N, m)
    known : ndarray of shape (N, m)
        The abscissas of the points of each curve that are nearest to the places.
    smooth : bool
        Whether values are those of splines.
    """
    grid = curves.common
    if grid is not None:
        shape = len(curves), len(grid)
        return grid, np.array(curves.values), np.zeros(shape), np.broadcast_to(grid, shape), False
    start, end = shared_range(curves)
    points = [_within(at, own, start, end) for at, own in zip(curves.places, curves.values, strict=True)]
    pooled = np.sort(np.concatenate([at for at, _ in points]))
    pieces = _choose_pieces(points, pooled)
    fewest, largest = _GRID
    many = 4 * float(np.median([len(at) for at, _ in points])) if not pieces else 2.0 * pieces
    grid = _spread(pooled, int(np.clip(many, fewest, largest)))
    knots = _knots(pooled, pieces)
    found = [_curve_through(at, own, knots) for at, own in points]
    values = np.array([curve(grid) for curve in found])
    noise, known = np.zeros_like(values), np.zeros_like(values)
    for row, ((at, own), curve) in enumerate(zip(points, found, strict=True)):
        near = _nearest(at, grid)
        noise[row], known[row] = (own - curve(at))[near], at[near]
    return grid, values, noise, known, pieces > 0


def shared_range(curves: Curves) -> tuple[float, float]:
    """Return where the abscissas of all curves overlap; refuse curves that hardly do."""
    start, end = max(float(at[0]) for at in curves.places), min(float(at[-1]) for at in curves.places)
    usual = float(np.median([at[-1] - at[0] for at in curves.places]))
    if end - start < usual / 2:
        first, last = (
            int(np.argmax([at[0] for at in curves.places])),
            int(np.argmin([at[-1] for at in curves.places])),
        )
        others = _short_rows(curves, usual / 2)
        raise InputError(
            f"Curve {curves.name!r}: row {first} begins at {start:g} and row {last} ends at {end:g}, so that all "
            f"curves share less than half of their length; {others}give curves over the same range."
        )
    if end - start < _NEARLY_ALL * usual:
        others = _short_rows(curves, _NEARLY_ALL * usual).removesuffix(", or ")
        text = f"Curve {curves.name!r} is learned from {start:g} to {end:g}, which all curves share"
        warnings.warn(f"{text}; {others} to learn more of it.", GPWarning, stacklevel=2)
    return start, end


def _short_rows(curves: Curves, length: float) -> str:
    """Say without which rows the others share so much, if these are no more than a fifth: words for a message."""
    starts, ends = (np.array([at[side] for at in curves.places]) for side in (0, -1))
    rows, out = list(range(len(starts))), []
    while len(rows) > 2 and ends[rows].min() - starts[rows].max() < length:
        first, last = max(rows, key=starts.__getitem__), min(rows, key=ends.__getitem__)
        # whichever holds the others back by more
        gains = [np.ptp(np.sort(starts[rows])[-2:]), np.ptp(np.sort(ends[rows])[:2])]
        out.append(first if gains[0] > gains[1] else last)
        rows.remove(out[-1])
    if len(out) > len(starts) / 5:
        return "leave short ones out, or "
    named = ", ".join(map(str, sorted(out)))
    many, them = ("s", "them") if len(out) > 1 else ("", "it")
    return f"without row{many} {named} they share {starts[rows].max():g} to {ends[rows].min():g}: leave {them} out, or "


def fit_spline(places: Array, values: Array, knots: Array) -> scipy.interpolate.BSpline:
    """Fit a cubic spline to points (n,), least squares; where points are too few, it is as straight as can be.

    Examples
    --------
    >>> x = np.linspace(0, 1, 9)
    >>> bool(np.abs(fit_spline(x, x**3, np.repeat([0.0, 1.0], 4))(x) - x**3).max() < 1e-4)
    True
    """
    basis = scipy.interpolate.BSpline.design_matrix(places, knots, _DEGREE).toarray()
    bends = np.diff(np.eye(basis.shape[1]), 2, axis=0)
    left = np.vstack([basis, np.sqrt(_RIDGE * len(places) / basis.shape[1]) * bends])
    found, *_ = np.linalg.lstsq(left, np.append(values, np.zeros(len(bends))), rcond=None)
    return scipy.interpolate.BSpline(knots, found, _DEGREE)


def _within(at: Array, values: Array, start: float, end: float) -> tuple[Array, Array]:
    """Return the points of a curve in a range, its ends among them."""
    inner = (at > start) & (at < end)
    places = np.concatenate([[start], at[inner], [end]])
    return places, np.concatenate([[np.interp(start, at, values)], values[inner], [np.interp(end, at, values)]])


def _spread(pooled: Array, n: int) -> Array:
    """Return n places as dense as the points (n,) of all curves are, both ends among them."""
    return np.unique(np.quantile(pooled, np.linspace(0, 1, n)))


def _knots(pooled: Array, pieces: int) -> Array | None:
    """Return the knots of splines of so many pieces; None without pieces."""
    if not pieces:
        return None
    inner = _spread(pooled, pieces + 1)
    return np.concatenate([np.repeat(inner[0], _DEGREE), inner, np.repeat(inner[-1], _DEGREE)])


def _curve_through(at: Array, values: Array, knots: Array | None) -> Callable[[Array], Array]:
    """Return a spline near points (n,), or without knots, monotone cubic pieces through them."""
    return scipy.interpolate.PchipInterpolator(at, values) if knots is None else fit_spline(at, values, knots)


def _nearest(at: Array, grid: Array) -> NDArray[np.intp]:
    """Return which of the points (n,) is nearest to each place of a grid, (m,)."""
    after = np.clip(np.searchsorted(at, grid), 1, len(at) - 1)
    return np.where(grid - at[after - 1] <= at[after] - grid, after - 1, after)


def _choose_pieces(points: Sequence[tuple[Array, Array]], pooled: Array) -> int:
    """Return how many pieces splines have, 0 for curves through the points: what says best what points left out are."""
    some = [points[i] for i in np.linspace(0, len(points) - 1, min(len(points), _MOST_TRIED)).astype(int)]
    usual = float(np.median([len(at) for at, _ in points]))
    errors = {}
    for pieces in (0, *(n for n in _PIECES if n <= usual)):
        knots = _knots(pooled, pieces)
        squares = [_left_out_error(at, own, knots) for at, own in some]
        errors[pieces] = float(np.sqrt(np.mean(squares)))
    best = min(errors.values())
    return next(pieces for pieces, error in errors.items() if error <= _NEARLY * best)


def _left_out_error(at: Array, values: Array, knots: Array | None) -> float:
    """Return the mean squared error of points (n,) but the ends, each left out once with every fourth."""
    squares = []
    for first in range(1, min(1 + _FOURTH, len(at) - 1)):
        out = np.zeros(len(at), bool)
        out[first:-1:_FOURTH] = True
        squares.append((_curve_through(at[~out], values[~out], knots)(at[out]) - values[out]) ** 2)
    return float(np.concatenate(squares).mean()) if squares else 0.0


def _polylines(grid: Array, values: Array, places: Array) -> Array:
    """Return polylines on a grid, (m,) or (n, m), at other places (p,)."""
    if values.ndim == 1:
        return np.interp(places, grid, values)
    return np.array([np.interp(places, grid, own) for own in values]).reshape(len(values), len(places))

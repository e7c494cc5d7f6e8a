"""Curves -> a few coefficients, and back: principal curves on a common grid.

Curves on grids of their own are least-squares B-splines first, with as many knots as points that are left out ask for;
their values on one grid are what principal curves are made of. What a basis leaves over is noise at every place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline

from swwl.errors import InputError
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
_MOST_TRIED, _RIDGE = 200, 1e-6
# A common grid has at least and at most so many places.
_GRID = (50, 400)
# A place counts as having seen so many errors of the average size before any of its own.
_PSEUDO = 5.0


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
            return np.asarray(make_interp_spline(self.grid, values.T, _DEGREE)(places).T)
        return _polylines(self.grid, values, places)

    @cached_property
    def spans(self) -> Array:
        """How much of the abscissa every place stands for, (m,): weights of the trapezoidal rule."""
        steps = np.diff(self.grid)
        return (np.append(steps, 0.0) + np.append(0.0, steps)) / 2


class Coded(NamedTuple):
    """Curves on one grid: their values (N, m), the basis, and what folds without a curve leave of it over, (N, m)."""

    values: Array
    basis: CurveBasis
    rest: Array


def code_curves(curves: Curves, most: int | None = None, seed: int = 0) -> Coded:
    """Learn a basis of curves.

    Parameters
    ----------
    curves : Curves
    most : int, optional
        At most so many principal curves; 12 by default.
    seed : int
        Of folds.
    """
    grid, values, noise, smooth = common_values(curves)
    if float(np.ptp(values, axis=0).max()) == 0:
        raise InputError(f"Curve {curves.name!r} is the same in all {len(values)} rows: there is nothing to learn.")
    mean, shapes = principal_curves(values, MOST_SHAPES if most is None else most)
    rest = left_over(values, len(shapes), seed)
    return Coded(values, CurveBasis(grid, mean, shapes, (rest**2).mean(axis=0) + noise, smooth), rest)


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


def common_values(curves: Curves) -> tuple[Array, Array, Array, bool]:
    """Return one grid (m,), the values of all curves on it, (N, m), the variance that splines leave over, and whether.

    Curves that share their abscissas are taken as they are.
    """
    grid = curves.common
    if grid is not None:
        return grid, np.array(curves.values), np.zeros(len(grid)), False
    start, end = shared_range(curves)
    points = [_within(at, own, start, end) for at, own in zip(curves.places, curves.values, strict=True)]
    pooled = np.sort(np.concatenate([at for at, _ in points]))
    pieces = _choose_pieces(points, pooled)
    fewest, largest = _GRID
    m = int(np.clip(max(np.median([len(at) for at, _ in points]), 2 * pieces), fewest, largest))
    grid = _spread(pooled, m)
    knots = _knots(pooled, pieces)
    values, squares, counts = np.empty((len(points), len(grid))), np.zeros(len(grid)), np.zeros(len(grid))
    for row, (at, own) in enumerate(points):
        spline = fit_spline(at, own, knots)
        values[row] = spline(grid)
        nearest = np.abs(np.subtract.outer(at, grid)).argmin(axis=1)
        squares += np.bincount(nearest, (own - spline(at)) ** 2, len(grid))
        counts += np.bincount(nearest, minlength=len(grid))
    noise = (squares + _PSEUDO * squares.sum() / max(counts.sum(), 1.0)) / (counts + _PSEUDO)
    return grid, values, noise, True


def shared_range(curves: Curves) -> tuple[float, float]:
    """Return where the abscissas of all curves overlap; refuse curves that hardly do."""
    start, end = max(float(at[0]) for at in curves.places), min(float(at[-1]) for at in curves.places)
    usual = float(np.median([at[-1] - at[0] for at in curves.places]))
    if end - start < usual / 2:
        first, last = (
            int(np.argmax([at[0] for at in curves.places])),
            int(np.argmin([at[-1] for at in curves.places])),
        )
        raise InputError(
            f"Curve {curves.name!r}: row {first} begins at {start:g} and row {last} ends at {end:g}, so that all "
            f"curves share less than half of their length; leave such rows out, or give curves over the same range."
        )
    return start, end


def fit_spline(places: Array, values: Array, knots: Array) -> BSpline:
    """Fit a cubic spline to points (n,), least squares; where points are too few, it is as straight as can be.

    Examples
    --------
    >>> x = np.linspace(0, 1, 9)
    >>> bool(np.abs(fit_spline(x, x**3, np.repeat([0.0, 1.0], 4))(x) - x**3).max() < 1e-4)
    True
    """
    basis = BSpline.design_matrix(places, knots, _DEGREE).toarray()
    bends = np.diff(np.eye(basis.shape[1]), 2, axis=0)
    left = np.vstack([basis, np.sqrt(_RIDGE * len(places) / basis.shape[1]) * bends])
    found, *_ = np.linalg.lstsq(left, np.append(values, np.zeros(len(bends))), rcond=None)
    return BSpline(knots, found, _DEGREE)


def _within(at: Array, values: Array, start: float, end: float) -> tuple[Array, Array]:
    """Return the points of a curve in a range, its ends among them."""
    inner = (at > start) & (at < end)
    places = np.concatenate([[start], at[inner], [end]])
    return places, np.concatenate([[np.interp(start, at, values)], values[inner], [np.interp(end, at, values)]])


def _spread(pooled: Array, n: int) -> Array:
    """Return n places as dense as the points (n,) of all curves are, both ends among them."""
    return np.unique(np.quantile(pooled, np.linspace(0, 1, n)))


def _knots(pooled: Array, pieces: int) -> Array:
    inner = _spread(pooled, pieces + 1)
    return np.concatenate([np.repeat(inner[0], _DEGREE), inner, np.repeat(inner[-1], _DEGREE)])


def _choose_pieces(points: Sequence[tuple[Array, Array]], pooled: Array) -> int:
    """Return how many pieces splines have: the fewest that say nearly best what every other point is without it."""
    some = [points[i] for i in np.linspace(0, len(points) - 1, min(len(points), _MOST_TRIED)).astype(int)]
    usual = float(np.median([len(at) for at, _ in points]))
    errors = {}
    for pieces in [n for n in _PIECES if n <= usual] or _PIECES[:1]:
        knots = _knots(pooled, pieces)
        squares = 0.0
        for at, own in some:
            out = np.zeros(len(at), bool)
            out[1:-1:2] = True
            squares += float(((fit_spline(at[~out], own[~out], knots)(at[out]) - own[out]) ** 2).mean())
        errors[pieces] = np.sqrt(squares)
    best = min(errors.values())
    return next(pieces for pieces, error in errors.items() if error <= _NEARLY * best)


def _polylines(grid: Array, values: Array, places: Array) -> Array:
    """Return polylines on a grid, (m,) or (n, m), at other places (p,)."""
    if values.ndim == 1:
        return np.interp(places, grid, values)
    return np.array([np.interp(places, grid, own) for own in values]).reshape(len(values), len(places))

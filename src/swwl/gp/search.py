r"""Where to start, how far to look, and the optimization runs to the posterior mode.

The start decides. With p factors the ranges must start long enough for the *product* correlation to be near
one half at a typical pair of points; starts that make it near zero end in a flat optimum that calls
everything noise. A function of many periods calls itself noise from long ranges: where a tenth of the variance or more
comes out as noise, one more run begins with short ranges, and counts if it explains the targets clearly better.

The last steps are taken in log(β + s), not in log β, with s a small part of what the range that matters most has. Of an
input that hardly matters the value is nearly a quadratic function of β, down whose exponential slope in log β a search
takes one step after the other; in log(β + s) such a range is at its bound in one or two. On the way there, while it is
not known which ranges matter, the logarithm is safer: those of smooth functions matter, however long they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.gp.correlations import Array
from swwl.gp.factors import Term, fill_correlation, range_slices
from swwl.gp.inputs import check_positive
from swwl.gp.solvers.base import Curvature, NotPositiveDefinite, Solver
from swwl.gp.solvers.cholesky import factorize

# (product correlation at a typical pair, nugget) of the first starts; later ones are drawn at random
_START_LEVELS = ((0.5, 1e-2), (0.9, 1e-4), (0.9, 1e-1))
# The same of the run that begins where all seems noise, from which nugget on, and the nats that it has to gain.
_SHORT, _SEEMS_NOISE, _CLEARLY = (0.01, 1e-2), 0.1, 3.0
SMALLEST_NUGGET = 1e-20  # stands for zero in log ν: far below rounding
LARGEST_NUGGET = 1e6
# s over the largest β times the largest distance. On 23 searches with 11 to 84 ranges and 130 with 3 to 25, 0.01 to 0.1
# take a half and three quarters of the evaluations of 0, to the same maxima.
_SHIFT = 0.03
_WIDEST = 1e5  # the upper bound of β times the largest distance
# Beyond so many points the value is rounded by more than a step of the finest tolerance gains.
_MANY = 100


@dataclass(frozen=True)
class Optimum:
    """Where an optimization run ended.

    Attributes
    ----------
    log_beta : ndarray of shape (p,)
    log_nugget : float
    value : float
    gradient : ndarray of shape (p + 1,)
        Zero where nothing is free.
    converged : bool
    began : ndarray of shape (p + 1,)
        Where the first run began, or the one from short ranges if that was the best.
    """

    log_beta: Array
    log_nugget: float
    value: float
    gradient: Array
    converged: bool
    began: Array


def sample_pairs(terms: Sequence[Term], n: int, rng: np.random.Generator, most: int = 2048) -> Array:
    """Return the distances of (a sample of) all training pairs, shape (pairs, p)."""
    if n * (n - 1) // 2 <= most:
        rows, columns = np.tril_indices(n, -1)
    else:
        rows = rng.integers(n, size=most)
        columns = (rows + rng.integers(1, n, size=most)) % n  # any other point, each as likely
    return np.hstack([term.block.pairs(rows, columns) for term in terms])


def starting_ranges(terms: Sequence[Term], pairs: Array, level: float, weights: Array | None = None) -> Array:
    r"""Return log β, shape (p,), that gives a median product correlation of ``level`` over the pairs.

    Parameters
    ----------
    terms : sequence of Term
    pairs : ndarray of shape (pairs, p)
        Distances of some training pairs.
    level : float
        In (0, 1).
    weights : ndarray of shape (p,), optional
        Relative scaled size of each range; equal by default.
    """
    size = np.sqrt(np.mean(pairs**2, axis=0))
    scaled = pairs / np.where(size > 0.0, size, 1.0) * (1.0 if weights is None else weights)

    owners = list(zip(terms, range_slices(terms), strict=True))

    def typical(log_scale: float) -> float:
        total = np.zeros(len(pairs))
        for term, own in owners:
            s = np.exp(log_scale) * scaled[:, own]
            if term.radial:  # one function of all of them
                s = np.sqrt(np.einsum("ij,ij->i", s, s))[:, None]
            exponent, multiplier = term.correlation.parts(s)
            total += exponent.sum(axis=1)
            if multiplier is not None:
                total -= np.log(multiplier).sum(axis=1)
        return float(np.median(total))

    low, high = -20.0, 20.0
    for _ in range(32):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if typical(middle) < -np.log(level) else (low, middle)
    return middle - np.log(np.where(size > 0.0, size, 1.0)) + (0.0 if weights is None else np.log(weights))


def starting_points(
    terms: Sequence[Term], n: int, n_starts: int, rng: np.random.Generator, nugget_floor: float
) -> Array:
    """Return the starts, shape (n_starts, p + 1): log ranges, then the log nugget."""
    pairs = sample_pairs(terms, n, rng)
    starts = np.empty((n_starts, pairs.shape[1] + 1))
    for i in range(n_starts):
        if i < len(_START_LEVELS):
            (level, nugget), weights = _START_LEVELS[i], None
        else:
            level, nugget = rng.uniform(0.1, 0.95), 10.0 ** rng.uniform(-5.0, -0.5)
            weights = np.exp(rng.normal(size=pairs.shape[1]))
        starts[i, :-1] = starting_ranges(terms, pairs, level, weights)
        starts[i, -1] = np.log(max(nugget, 10.0 * nugget_floor))
    return starts


def default_bounds(terms: Sequence[Term], n: int, nugget_floor: float) -> tuple[Array, Array]:
    r"""Return bounds of log β, each of shape (p,).

    The lower bound is where the matrix becomes ill-conditioned with the smallest nugget allowed, all ranges
    together as fractions of their largest distance, or where a factor moves by less than a hundredth of that
    nugget. Conditioning is tried on at most 200 points: a subset of points is never worse conditioned.
    """
    largest = np.concatenate([term.block.largest() for term in terms])
    largest = np.where(largest > 0.0, largest, 1.0)
    chosen = np.unique(np.linspace(0, n - 1, min(n, 200)).astype(int))
    subset = [term.take(chosen).held() for term in terms]
    matrix = np.empty((len(chosen), len(chosen)))
    flat = max(1e-8, 0.1 * np.sqrt(nugget_floor))
    scale = 1.0
    while scale > flat:
        fill_correlation(subset, 0.5 * scale / largest, out=matrix)
        matrix.flat[:: len(matrix) + 1] += nugget_floor
        try:
            factorize(matrix)
        except NotPositiveDefinite:
            break
        pivots = np.diag(matrix) ** 2
        if pivots.min() < 1e-15 * pivots.max():
            break
        scale *= 0.5
    return np.log(scale / largest), np.log(_WIDEST / largest)


@dataclass(frozen=True)
class Search:
    """The box of the search: bounds and free flags of shape (p + 1,), starts of shape (n_starts, p + 1).

    ``short`` is one more start, (p + 1,), for where all seems noise; None where there is none.
    ``box`` holds the default bounds of the log inverse ranges, each of shape (p,). ``fine`` says
    whether to search to a fine tolerance at last, and ``tolerance`` to which (relative to the value).
    """

    lower: Array
    upper: Array
    free: NDArray[np.bool_]
    starts: Array
    box: tuple[Array, Array]
    fine: bool = True
    tolerance: float = 1e-12
    short: Array | None = None


class Start(NamedTuple):
    """Where to start: log inverse ranges (p,), the log nugget, which may be -inf, and default bounds if known."""

    log_beta: Array
    log_nugget: float
    box: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class Given:
    """What the user fixes of the parameters, and how far the others are looked for.

    Attributes
    ----------
    nugget : float or None
        None estimates it, from ``floor`` up.
    floor : float
    beta : array-like of shape (p,) or None
        None estimates it, within ``bounds`` where they are given.
    bounds : tuple (lower, upper) or None
        Each None, a number or an array of shape (p,).
    """

    nugget: float | None
    floor: float
    beta: ArrayLike | None
    bounds: tuple[ArrayLike | None, ArrayLike | None] | None


def make_search(
    terms: Sequence[Term],
    n: int,
    given: Given,
    *,
    n_starts: int,
    seed: int,
    start: Start | None = None,
    fine: bool | None = None,
) -> Search:
    """Set up starts, bounds and free parameters for n training points.

    Parameters
    ----------
    terms : sequence of Term
    n : int
    given : Given
    n_starts, seed : int
    start : Start, optional
        The only one; what is fixed is taken from ``given``.
    fine : bool, optional
        By default so without ``start``.
    """
    nugget, beta = given.nugget, given.beta
    if n_starts < 1:
        raise InputError(f"n_starts is {n_starts}, but at least 1 is expected.")
    p = sum(term.block.n_ranges for term in terms)
    smallest = given.floor if nugget is None else nugget
    free = np.append(np.full(p, beta is None), nugget is None)
    lower, upper = np.empty(p + 1), np.empty(p + 1)
    if start is not None and start.log_beta.shape != (p,):
        raise InputError(f"start has {start.log_beta.size} inverse ranges, but there are {p}.")
    box = start.box if start is not None and start.box is not None else default_bounds(terms, n, smallest)
    lower[:-1], upper[:-1] = box
    for side, out, name in zip(given.bounds or (None, None), (lower, upper), ("lower", "upper"), strict=True):
        if side is not None:
            out[:-1] = np.log(check_positive(side, p, f"The {name} bound"))
    if (lower[:-1] > upper[:-1]).any():
        raise InputError("A lower bound of the inverse ranges exceeds its upper bound.")
    lower[-1], upper[-1] = np.log(max(smallest, SMALLEST_NUGGET)), np.log(LARGEST_NUGGET)

    rng = np.random.default_rng(seed)
    if start is None:
        starts = starting_points(terms, n, n_starts if free.any() else 1, rng, smallest)
    else:
        starts = np.append(start.log_beta, start.log_nugget)[None]
    if beta is not None:
        starts[:, :-1] = np.log(check_positive(beta, p, "beta"))
    if nugget is not None:
        starts[:, -1] = np.log(nugget) if nugget > 0.0 else -np.inf
    tolerance = 1e-12 if n <= _MANY else 1e-10
    short = None
    if start is None and free.all():
        short = np.append(starting_ranges(terms, sample_pairs(terms, n, rng), _SHORT[0]), np.log(_SHORT[1]))
    return Search(lower, upper, free, starts, box, start is None if fine is None else fine, tolerance, short)


class _Descent:
    """The objective with its sign turned for a minimizer, in the free z = log(exp(w) + s); failures become walls.

    Parameters
    ----------
    solver : Solver
    search : Search
    fixed : ndarray of shape (p + 1,)
        Logarithms w of all parameters; those that are not free stay.
    shift : ndarray of shape (p + 1,)
        The s of each.
    """

    def __init__(self, solver: Solver, search: Search, fixed: Array, shift: Array):
        self.solver, self.free, self.full = solver, search.free, fixed.copy()
        self.shift, self.least = shift[search.free], np.exp(search.lower[search.free])
        self.worst = -np.inf

    def shifted(self, w: Array) -> Array:
        """Return z of the free ones of w, (p + 1,)."""
        own = w[self.free]
        return np.where(self.shift > 0.0, np.log(np.exp(own) + self.shift), own)

    def logs(self, z: Array) -> Array:
        """Return all w, (p + 1,), given z of the free ones."""
        full, plain = self.full.copy(), self.shift == 0.0
        full[self.free] = np.where(plain, z, np.log(np.maximum(np.exp(z) - self.shift, self.least)))
        return full

    def __call__(self, z: Array) -> tuple[float, Array]:
        w = self.logs(z)
        try:
            value, gradient = self.solver.with_gradient(w[:-1], float(w[-1]))
        except NotPositiveDefinite:
            value = -np.inf
        if not np.isfinite(value):
            # a wall of moderate height: the line search interpolates back instead of collapsing to no step
            wall = self.worst + abs(self.worst) if np.isfinite(self.worst) else 0.0
            return wall + 100.0, np.zeros(len(z))
        self.worst = max(self.worst, -value)
        return -value, -gradient[self.free] * (1.0 + self.shift * np.exp(-w[self.free]))


def maximize(solver: Solver, search: Search, max_iter: int) -> Optimum:
    """Maximize from every start to a coarse tolerance, then, where ``fine``, from the best of these to a fine one.

    Raises
    ------
    NotPositiveDefinite
        When the matrix cannot be factorized at any start.
    """
    free, lower, upper = search.free, search.lower, search.upper
    starts = np.where(free, np.clip(search.starts, lower, upper), search.starts)
    if not free.any():
        solver.settle(starts[0, :-1], float(starts[0, -1]))
        value = solver(starts[0, :-1], float(starts[0, -1]))
        return Optimum(starts[0, :-1], float(starts[0, -1]), value, np.zeros(len(free)), True, starts[0])
    largest = _WIDEST * np.exp(-search.box[1])  # distances

    def run(x: Array, ftol: float, gtol: float, part: float = 0.0) -> tuple[float, Array, int]:
        solver.settle(x[:-1], float(x[-1]))
        shift = part * np.max(np.exp(x[:-1]) * largest, initial=0.0) / largest
        descent = _Descent(solver, search, x, np.append(shift, 0.0))
        bounds = list(zip(descent.shifted(lower), descent.shifted(upper), strict=True))
        # as many corrections as ranges: next to an evaluation they cost nothing, and spare a third of the last steps
        options = {"maxiter": max_iter, "ftol": ftol, "gtol": gtol, "maxcor": max(20, int(free.sum()))}
        found = scipy.optimize.minimize(
            descent, descent.shifted(x), jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return found.fun if np.isfinite(descent.worst) else np.inf, descent.logs(found.x), found.status

    coarse = [run(x, ftol=1e-6, gtol=1e-3) for x in starts]
    (best_value, best, status), began = min(coarse, key=lambda c: c[0]), starts[0]
    if search.short is not None and (not np.isfinite(best_value) or best[-1] > np.log(_SEEMS_NOISE)):
        short = np.clip(search.short, lower, upper)
        other = run(short, ftol=1e-6, gtol=1e-3)
        if other[0] < best_value - _CLEARLY:
            (best_value, best, status), began = other, short
    if not np.isfinite(best_value):
        raise NotPositiveDefinite("The correlation matrix could not be factorized at any start.")
    if search.fine:
        _, best, status = run(best, ftol=search.tolerance, gtol=1e-6, part=_SHIFT)
    value, gradient = solver.with_gradient(best[:-1], float(best[-1]))
    # status 1 is the limit of iterations; 2 is a line search stopped by rounding, which is as good as it gets
    return Optimum(best[:-1], float(best[-1]), value, gradient, status != 1, began)


def find_optimum(solver: Solver, search: Search, max_iter: int) -> Optimum:
    """Maximize; a matrix that cannot be factorized anywhere becomes advice."""
    try:
        return maximize(solver, search, max_iter)
    except NotPositiveDefinite as error:
        raise NotPositiveDefinite(
            f"{error} Raise nugget_floor, or the nugget where it is fixed, and check that the distances are "
            "Euclidean: others can make the matrix indefinite."
        ) from None


def curvature(solver: Solver, optimum: Optimum, search: Search, step: float = 1e-3) -> Curvature | None:
    """Return how the maximum bends in the parameters that no bound holds, by central differences; None for none."""
    at = np.append(optimum.log_beta, optimum.log_nugget)
    index = np.flatnonzero(search.free & (at > search.lower + 1e-6) & (at < search.upper - 1e-6))
    if not len(index):
        return None
    hessian = np.empty((len(index), len(index)))
    for row, i in enumerate(index):
        sides = []
        for sign in (1.0, -1.0):
            moved = at.copy()
            moved[i] += sign * step
            sides.append(solver.with_gradient(moved[:-1], float(moved[-1]))[1][index])
        hessian[row] = (sides[1] - sides[0]) / (2.0 * step)
    return Curvature(0.5 * (hessian + hessian.T), index)

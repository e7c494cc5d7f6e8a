"""From checked arrays to a fitted `Posterior`: the pipeline of one fit.

Called by ``model.py`` alone; the steps are those of ``optimise.py`` and ``posterior.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from swwl.errors import InputError
from swwl.gp import diagnose, inputs
from swwl.gp.correlations import Array
from swwl.gp.objective import NotPositiveDefinite, Objective, invert, least_squares
from swwl.gp.posterior import Posterior, range_uncertainty
from swwl.gp.prior import JointlyRobustPrior
from swwl.gp.search import (
    LARGEST_NUGGET,
    SMALLEST_NUGGET,
    Optimum,
    climb,
    curvature,
    default_bounds,
    starting_points,
)


@dataclass(frozen=True)
class Standardised:
    """Targets of zero mean (where the trend absorbs a shift) and unit spread, with what undoes it.

    Attributes
    ----------
    raw, values : ndarray of shape (N, k)
        As given, and standardised.
    shift, scale : ndarray of shape (k,)
    """

    raw: Array
    values: Array
    shift: Array
    scale: Array


def standardise(targets: Array, shift: bool) -> Standardised:
    """Standardise targets of shape (N, k); ``shift`` says whether the trend holds a constant."""
    centre = targets.mean(axis=0) if shift else np.zeros(targets.shape[1])
    spread = (targets - centre).std(axis=0)
    return Standardised(targets.copy(), (targets - centre) / spread, centre, spread)


def make_objective(factors, trend: Array, y: Standardised, method: str, prior: JointlyRobustPrior) -> Objective:
    """Return the objective whose values are those of the targets in their own units."""
    objective = Objective(factors, trend, y.values, method, prior)
    objective.offset = -objective.dof * float(np.log(y.scale).sum())
    return objective


@dataclass(frozen=True)
class Search:
    """The box of the climb: bounds and free flags of shape (p + 1,), starts of shape (n_starts, p + 1)."""

    lower: Array
    upper: Array
    free: Array
    starts: Array


def make_search(objective: Objective, p: int, *, nugget, floor, beta, bounds, n_starts, seed) -> Search:
    """Set up starts, bounds and free parameters.

    Parameters
    ----------
    nugget : float or None
        None estimates it, from ``floor`` up.
    beta : array-like of shape (p,) or None
        None estimates it, within ``bounds`` where they are given.
    """
    if n_starts < 1:
        raise InputError(f"n_starts is {n_starts}, but at least 1 is wanted.")
    smallest = floor if nugget is None else nugget
    free = np.append(np.full(p, beta is None), nugget is None)
    lower, upper = np.empty(p + 1), np.empty(p + 1)
    lower[:-1], upper[:-1] = default_bounds(objective.factors, len(objective.y), smallest)
    for side, out, name in zip(bounds or (None, None), (lower, upper), ("lower", "upper"), strict=True):
        if side is not None:
            out[:-1] = np.log(inputs.check_positive(side, p, f"The {name} bound"))
    if (lower[:-1] > upper[:-1]).any():
        raise InputError("A lower bound of the inverse ranges exceeds its upper bound.")
    lower[-1], upper[-1] = np.log(max(smallest, SMALLEST_NUGGET)), np.log(LARGEST_NUGGET)

    rng = np.random.default_rng(seed)
    starts = starting_points(objective.factors, len(objective.y), n_starts if free.any() else 1, rng, smallest)
    if beta is not None:
        starts[:, :-1] = np.log(inputs.check_positive(beta, p, "beta"))
    if nugget is not None:
        starts[:, -1] = np.log(nugget) if nugget > 0.0 else -np.inf
    return Search(lower, upper, free, starts)


def find_optimum(objective: Objective, search: Search, max_iter: int) -> Optimum:
    """Climb; a matrix that cannot be factorised anywhere becomes advice."""
    try:
        return climb(objective, search.starts, search.free, search.lower, search.upper, max_iter)
    except NotPositiveDefinite as error:
        raise NotPositiveDefinite(
            f"{error} Raise nugget_floor, or the nugget where it is fixed, and check that the distances are "
            "Euclidean: others can make the matrix indefinite."
        ) from None


def conclude(objective: Objective, optimum: Optimum, y: Standardised, constant: bool) -> tuple[Posterior, float]:
    """Factorise at the optimum and keep what predictions need; also return 1 / condition number.

    ``constant`` says that the first trend column is a constant, which takes the shift of the targets back.
    """
    beta, nugget = np.exp(optimum.log_beta), float(np.exp(optimum.log_nugget))
    correlation, matrix = objective.factor(beta, nugget)
    solution = least_squares(matrix, objective.trend, objective.y)
    cholesky = np.tril(matrix)
    rcond = diagnose.reciprocal_condition(correlation, nugget, cholesky)
    invert(matrix)
    theta = solution.theta * y.scale
    if constant:
        theta[0] += y.shift
    posterior = Posterior(
        beta=beta,
        nugget=nugget,
        theta=theta,
        sigma2=solution.s2 * y.scale**2 / objective.dof,
        df=np.inf if objective.method == "likelihood" else float(objective.dof),
        alpha=np.ascontiguousarray(solution.alpha * y.scale),
        cholesky=cholesky,
        inverse_diagonal=np.diag(matrix).copy(),
        trend_solve=np.ascontiguousarray(solution.trend_solve),
        trend_factor=np.ascontiguousarray(solution.trend_factor),
        y=y.raw,
    )
    return posterior, rcond


def add_range_uncertainty(objective: Objective, optimum: Optimum, search: Search, posterior: Posterior) -> Posterior:
    """Return the posterior with the Laplace approximation of the parameters that no bound holds."""
    at = np.append(optimum.log_beta, optimum.log_nugget)
    inside = search.free & (at > search.lower + 1e-6) & (at < search.upper - 1e-6)
    if not inside.any():
        return posterior
    bends = curvature(objective, optimum, inside)
    correlation, _ = objective.factor(posterior.beta, posterior.nugget)
    extra = range_uncertainty(objective.factors, posterior, correlation, bends, inside)
    return replace(posterior, uncertainty=extra)

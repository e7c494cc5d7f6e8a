"""Warnings after a fit: each says what was seen and what to do about it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from swwl.errors import GPWarning
from swwl.gp.inputs import range_labels
from swwl.gp.search import Optimum, Search
from swwl.gp.solvers.base import Problem

# A log posterior that rises by less per e-fold of a range leaves predictions as they are.
_STEEP = 0.05
# Three nats, a likelihood ratio of twenty, is the usual mark of strong evidence (Kass and Raftery, 1995).
_EVIDENCE = 3.0
# Below this the predictive variances lose more than four digits to rounding.
_SINGULAR = 1e-12


# How the warning begins that a model explains hardly more than noise; whoever mixes several models judges the mixture.
NOISE = "The targets cannot be told from noise"


def _warn(message: str) -> None:
    warnings.warn(message, GPWarning, stacklevel=5)  # where fit was called


def warn_about_fit(
    problem: Problem,
    search: Search,
    optimum: Optimum,
    rcond: float,
    max_iter: int,
    names: Sequence[str] | None,
    bounds: tuple[ArrayLike | None, ArrayLike | None] | None,
) -> None:
    """Say what a user should know about a fit; to be called by ``fit`` itself.

    ``rcond`` is 1 / condition number of the correlation matrix, ``names`` those of the factors, ``bounds`` those of
    inverse ranges that the user gave, lower and upper.
    """
    labels = range_labels(problem.terms, names)
    warn_about_constant_factors(problem, labels)
    warn_about_bounds(optimum, search, labels, bounds)
    if search.free.any():
        warn_about_noise(problem, optimum)
    warn_about_conditioning(rcond, estimated=bool(search.free[-1]))
    warn_about_convergence(optimum, max_iter)


def warn_about_bounds(
    optimum: Optimum, search: Search, labels: list[str], bounds: tuple[ArrayLike | None, ArrayLike | None] | None
) -> None:
    """Warn where a range sits on a bound that the user gave although the posterior still rises beyond it.

    The ends of the default box are no news: inputs that do not matter have their ranges there.
    """
    given = [side is not None for side in bounds or (None, None)]
    for i, label in enumerate(labels):
        if not search.free[i]:
            continue
        for side, own, bound, outward in (
            ("lower", given[0], search.lower[i], -1.0),
            ("upper", given[1], search.upper[i], 1.0),
        ):
            if own and abs(optimum.log_beta[i] - bound) < 1e-6 and outward * optimum.gradient[i] > _STEEP:
                _warn(
                    f"The inverse range of {label} sits on its {side} bound {np.exp(bound):.3g} and the "
                    "posterior still rises beyond it: check the scale of its distances, or pass wider bounds."
                )


def white_noise_likelihood(problem: Problem) -> float:
    """Return the log likelihood of white noise around the trend: R is the identity, at any nugget."""
    counted = slice(None) if problem.noise is None else problem.noise == 0.0
    y = problem.y[counted]
    basis, upper = np.linalg.qr(problem.trend[counted])
    residual = y - basis @ (basis.T @ y)
    value = problem.offset - 0.5 * problem.dof * float(np.log(np.sum(residual**2, axis=0)).sum())
    if problem.method != "likelihood":
        value -= problem.y.shape[1] * float(np.log(np.abs(np.diag(upper))).sum())
    return value


def warn_about_noise(problem: Problem, optimum: Optimum) -> None:
    """Warn when the model explains the targets hardly better than white noise around the trend."""
    likelihood = optimum.value
    if problem.method == "posterior":
        likelihood -= problem.prior(np.exp(optimum.log_beta), float(np.exp(optimum.log_nugget)))[0]
    if problem.noise is not None:  # what the determinant has of rows that do not count
        likelihood += 0.5 * problem.y.shape[1] * float(np.log(problem.noise[problem.noise > 0.0]).sum())
    gain = likelihood - white_noise_likelihood(problem)
    if gain < _EVIDENCE:
        _warn(
            f"{NOISE} (the log likelihood gains only {gain:.2g} over that of noise "
            "alone), so predictions stay near the mean or trend. Check that inputs and targets match, or "
            "add training points."
        )


def warn_about_conditioning(rcond: float, estimated: bool) -> None:
    """Warn when R is near singular."""
    if rcond < _SINGULAR:
        advice = "raise nugget_floor to 1e-6" if estimated else "raise nugget to 1e-6, or estimate it"
        _warn(
            f"The correlation matrix is near singular (reciprocal condition number {rcond:.1e}): predictive "
            f"variances are lost in rounding. Duplicated or very close inputs do this: {advice}."
        )


def warn_about_convergence(optimum: Optimum, max_iter: int) -> None:
    """Warn when the optimization run was cut short."""
    if not optimum.converged:
        _warn(f"The optimization run stopped after max_iter={max_iter} iterations without converging: raise max_iter.")


def warn_about_constant_factors(problem: Problem, labels: list[str]) -> None:
    """Warn about ranges whose training distances are all zero."""
    largest = np.concatenate([term.block.largest() for term in problem.terms])
    for label, size in zip(labels, largest, strict=True):
        if size == 0.0:
            _warn(f"All training distances of {label} are zero, so it explains nothing: drop it.")

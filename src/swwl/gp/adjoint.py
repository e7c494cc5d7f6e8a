r"""How a prediction changes with its new point: mean and standard deviation, and the transpose of their derivative.

Posteriors say how a prediction changes with the correlations of the new point (``slopes`` in ``solvers/``). A
correlation is a function of squared distances, :math:`\partial\log c/\partial(\tfrac12\Delta_l^2) = \beta_l^2\,e(s)`
with e its steepness, so gradients go on to half the squared distances, and to coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from swwl.errors import InputError
from swwl.gp.blocks import Block, Coordinates
from swwl.gp.correlations import Array
from swwl.gp.factors import Term, range_slices
from swwl.gp.joint import parts_of
from swwl.gp.prediction import to_std
from swwl.gp.solvers.base import Posterior


@dataclass(frozen=True)
class LinearPrediction:
    """The prediction of one new point, a new observation of k targets, and what pulls gradients in it back.

    Attributes
    ----------
    mean, std : ndarray of shape (k,)
    in_correlations : pair of ndarrays of shape (N, k)
        How mean and std change with the correlations to the training points.
    in_trend : pair of ndarrays of shape (q, k)
        And with the trend's columns.
    """

    mean: Array
    std: Array
    in_correlations: tuple[Array, Array]
    in_trend: tuple[Array, Array]
    terms: Sequence[Term]
    beta: Array
    correlations: Array

    def pull_back(self, in_mean: Array, in_std: Array) -> tuple[list[Array], Array]:
        """Return the gradients of m functions of mean and std, given theirs in these, (k, m) each.

        Returns
        -------
        in_parts : list of ndarray
            For every part of every term, in order: (p, m) in the p coordinates of the new point, or (N, m) in half
            the squared distances to the training points.
        in_trend : ndarray of shape (q, m)
        """
        weights = self.in_correlations[0] @ in_mean + self.in_correlations[1] @ in_std
        weights *= self.correlations[:, None]
        parts: list[Array] = []
        for term, own in zip(self.terms, range_slices(self.terms), strict=True):
            parts += _term_back(term, self.beta[own], weights)
        return parts, self.in_trend[0] @ in_mean + self.in_trend[1] @ in_std


def linear_prediction(posterior: Posterior, cross: Sequence[Term], trend: Array, std: bool = True) -> LinearPrediction:
    """Predict one new point, ready to pull gradients back to its coordinates and distances.

    Parameters
    ----------
    posterior : Posterior
        Of either solver; that for many rows holds the neighbors of the new point fixed.
    cross : sequence of Term
        From the new point to the training points.
    trend : ndarray of shape (1, q)
    std : bool
        Whether the derivative of the standard deviation is requested. That of ranges which are themselves uncertain
        (``range_uncertainty``) is not known.
    """
    differentiable(posterior, std)
    found = posterior.slopes(cross, trend)
    scale = to_std(np.sqrt(max(found.unit, 0.0) * posterior.sigma2), posterior.df)
    share = scale / (2 * found.unit) if found.unit > 0 else np.zeros_like(scale)
    return LinearPrediction(
        found.mean,
        scale,
        (found.of_mean, found.of_unit * share),
        (posterior.theta, found.in_trend * share),
        found.terms,
        posterior.beta,
        found.correlations,
    )


def differentiable(posterior: Posterior, std: bool = True) -> None:
    """Say why a posterior has no derivatives, where it has none."""
    if std and getattr(posterior, "uncertainty", None) is not None:
        raise InputError("The std of a model with range_uncertainty=True has no derivative here: pass std=False.")
    if std and posterior.df <= 2:
        raise InputError("With so few training rows the std is infinite and has no derivative: pass std=False.")


def _term_back(term: Term, beta: Array, weights: Array) -> list[Array]:
    """Return the gradients in the parts of a term, of weights times correlations (N, m)."""
    parts = parts_of(term.block)
    gaussian = term.correlation.name == "gaussian"
    places = np.cumsum([0, *(part.n_ranges for part in parts)])
    pairs = [(part, beta[a:b]) for part, a, b in zip(parts, places[:-1], places[1:], strict=True)]
    if not gaussian:
        scaled = np.sqrt(np.sum([_scaled_squares(*pair) for pair in pairs], axis=0))
        weights = weights * term.correlation.steepness(scaled)[:, None]
    else:
        weights = -2.0 * weights
    found = []
    for part, own in pairs:
        if isinstance(part, Coordinates):
            along = np.outer(part.values[0], weights.sum(axis=0)) - part.columns.T @ weights
            found.append(own[:, None] ** 2 * along)
        else:
            found.append(own[0] ** 2 * weights)
    return found


def _scaled_squares(part: Block, beta: Array) -> Array:
    if isinstance(part, Coordinates):
        return (((part.values[0] - part.columns) * beta) ** 2).sum(axis=1)
    return (beta[0] * part.dense()[0]) ** 2

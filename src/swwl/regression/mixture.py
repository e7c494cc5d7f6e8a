"""Mixtures of predictions: how much every member of a stack weighs, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swwl.gp.prediction import Prediction

Array = NDArray[np.float64]

_STEPS = 400
# Members that weigh less are left out: they are not worth their time, and those that are far off widen all intervals.
_LEAST_WEIGHT = 0.02


def log_densities(y: Array, predictions: Sequence[Prediction]) -> Array:
    """Return the log density that each of K predictions, arrays of shape (N,), gives to y: shape (N, K).

    Examples
    --------
    >>> flat = Prediction(np.zeros(1), np.ones(1), np.inf)
    >>> log_densities(np.zeros(1), [flat]).round(4).tolist()
    [[-0.9189]]
    """
    return np.column_stack([found.log_density(y) for found in predictions])


def stacking_weights(densities: Array) -> Array:
    r"""Return the weights, shape (K,), that maximize :math:`\sum_i \log \sum_k w_k p_{ik}`.

    By expectation maximization, with one row's worth of a prior that all candidates are alike:

    .. math:: r_{ik} = \frac{w_k p_{ik}}{\sum_j w_j p_{ij}}, \qquad w_k = \frac{\sum_i r_{ik} + 1/K}{n + 1} .

    Parameters
    ----------
    densities : ndarray of shape (N, K)
        Logarithms of :math:`p_{ik}`, as candidate k left row i out.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman (2018), "Using stacking to average Bayesian predictive distributions".

    Examples
    --------
    >>> stacking_weights(np.array([[0.0, -9.0]] * 50)).round(2).tolist()
    [0.99, 0.01]
    """
    n, k = densities.shape
    p = np.exp(densities - densities.max(axis=1, keepdims=True))
    weights = np.full(k, 1.0 / k)
    for _ in range(_STEPS if k > 1 else 0):
        shares = p * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = (shares.sum(axis=0) + 1.0 / k) / (n + 1.0)
    return weights


def pruned(weights: Array) -> Array:
    """Return weights (K,) without those that hardly count.

    Examples
    --------
    >>> pruned(np.array([0.5, 0.49, 0.01])).round(3).tolist()
    [0.505, 0.495, 0.0]
    """
    kept = np.where(weights >= min(_LEAST_WEIGHT, weights.max()), weights, 0.0)  # the heaviest count, however many
    return np.asarray(kept / kept.sum())


def mixture(predictions: Sequence[Prediction], weights: Array) -> Prediction:
    r"""Return the Student-t prediction with the mean and the variance of a mixture.

    .. math:: \bar m = \sum_k w_k m_k, \qquad s^2 = \sum_k w_k (s_k^2 + m_k^2) - \bar m^2

    Parameters
    ----------
    predictions : sequence of K Prediction
        Arrays of shape (M,) or (M, t), with the same degrees of freedom.
    weights : ndarray of shape (K,) or (K, t)
        Of each target, with sum one.

    Examples
    --------
    >>> low, high = (Prediction(np.array([m]), np.array([1.0]), np.inf) for m in (-1.0, 1.0))
    >>> found = mixture([low, high], np.array([0.5, 0.5]))
    >>> found.mean.tolist(), (found.std**2).round(6).tolist()
    ([0.0], [2.0])
    """
    if len(predictions) == 1:
        return predictions[0]
    w = weights[:, None]  # a row for every case
    means = np.stack([found.mean for found in predictions])
    mean = (w * means).sum(axis=0)
    df = predictions[0].df
    if df <= 2:  # no variance: scales are mixed in its place
        scales = np.stack([found.scale for found in predictions])
        return Prediction(mean, np.sqrt((w * (scales**2 + (means - mean) ** 2)).sum(axis=0)), df)
    variances = np.stack([found.std**2 for found in predictions])
    return Prediction.from_std(mean, np.sqrt((w * (variances + (means - mean) ** 2)).sum(axis=0)), df)


def mixture_covariance(means: Array, covariances: Array, weights: Array) -> tuple[Array, Array]:
    """Return mean (M, t) and covariances (t, M, M) of a mixture of K joint predictions of t targets.

    Parameters
    ----------
    means : ndarray of shape (K, M, t)
    covariances : ndarray of shape (K, t, M, M)
    weights : ndarray of shape (K, t)
    """
    mean = np.einsum("kt,kmt->mt", weights, means)
    apart = means - mean
    spread = np.einsum("kt,kat,kbt->tab", weights, apart, apart)
    return mean, np.einsum("kt,ktab->tab", weights, covariances) + spread


def choose_members(draws: Array, weights: Array, rng: np.random.Generator) -> Array:
    """Return samples of a mixture: for every one, the draw of a member that is chosen by weight.

    Parameters
    ----------
    draws : ndarray of shape (K, n_samples, M) or (K, n_samples, M, t)
    weights : ndarray of shape (K,) or (K, t)
    rng : Generator
    """
    count = draws.shape[1]
    if weights.ndim == 1:
        return draws[rng.choice(len(weights), size=count, p=weights), np.arange(count)]
    return np.stack([choose_members(draws[..., j], w, rng) for j, w in enumerate(weights.T)], axis=-1)


def cross_fitted(
    y: Array,
    predictions: Sequence[Prediction],
    folds: Sequence[NDArray[np.intp]],
    counted: NDArray[np.bool_] | None = None,
) -> tuple[Array, Prediction]:
    """Return the weights, and what the mixture says of every row with weights that never saw its fold.

    Weights that hardly count are zero, here and there.

    Parameters
    ----------
    y : ndarray of shape (N,)
    predictions : sequence of K Prediction
        Of every row from the folds without it, arrays of shape (N,).
    folds : sequence of ndarray of int
        The rows of every fold; together all of them, once.
    counted : ndarray of bool, shape (N,), optional
        Which rows weights are made by; by default all.
    """
    densities = log_densities(y, predictions)
    known = np.arange(len(y)) if counted is None else np.flatnonzero(counted)
    weights = pruned(stacking_weights(densities[known]))
    if len(predictions) == 1:
        return weights, predictions[0]
    mean, scale = np.empty(len(y)), np.empty(len(y))
    for fold in folds:
        others = np.setdiff1d(known, fold)
        found = mixture([part.take(fold) for part in predictions], pruned(stacking_weights(densities[others])))
        mean[fold], scale[fold] = found.mean, found.scale
    return weights, Prediction(mean, scale, predictions[0].df)

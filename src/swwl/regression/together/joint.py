"""How the errors of several targets go together: joint covariances, samples and probabilities.

The targets of a case are told apart by processes of their own; what these do not know, they mostly do not know
together. Errors of rows left out say how much: their correlations, in standard deviations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from swwl.gp.prediction import Prediction

Array = NDArray[np.float64]

# Correlations of n rows are shrunk by n / (n + 5), and those of fewer than ten are not believed.
_SHRINK, _FEWEST = 5.0, 10
_LEAST = 1e-6
_DRAWS = 2048


def error_correlation(z: Array) -> Array:
    """Return the correlations (k, k) of errors z (N, k) in standard deviations, NaN where a target is not known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> own = rng.normal(size=(4000, 3))
    >>> z = np.column_stack([own[:, 0], 0.8 * own[:, 0] + 0.6 * own[:, 1], own[:, 2]])
    >>> error_correlation(z).round(1)[0].tolist()
    [1.0, 0.8, 0.0]
    """
    k = z.shape[1]
    found = np.eye(k)
    for i in range(k):
        for j in range(i):
            both = np.isfinite(z[:, i]) & np.isfinite(z[:, j])
            n = int(both.sum())
            if n >= _FEWEST and z[both][:, [i, j]].std(axis=0).min() > 0:
                own = np.corrcoef(z[both, i], z[both, j])[0, 1]
                found[i, j] = found[j, i] = own * n / (n + _SHRINK)
    # correlations from different rows may contradict each other
    values, vectors = np.linalg.eigh(found)
    fixed = (vectors * np.maximum(values, _LEAST)) @ vectors.T
    scale = np.sqrt(np.diag(fixed))
    return np.asarray(fixed / scale / scale[:, None])


def target_covariances(std: Array, correlation: Array) -> Array:
    """Return the covariances (M, k, k) of the targets of every case, given their deviations (M, k).

    Examples
    --------
    >>> target_covariances(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5], [0.5, 1.0]])).tolist()
    [[[1.0, 1.0], [1.0, 4.0]]]
    """
    return np.asarray(std[:, :, None] * correlation * std[:, None, :])


def correlated(draws: Array, mean: Array, std: Array, correlation: Array) -> Array:
    """Return samples (S, M, k) of independent targets as samples of targets that go together.

    Deviations from the means (M, k), in standard deviations (M, k), are mixed in every case.
    """
    spread = np.maximum(std, np.finfo(float).tiny)
    mixed = (draws - mean) / spread @ np.linalg.cholesky(correlation).T
    return np.asarray(mean + spread * mixed)


def probability_inside(
    predictions: Sequence[Prediction], bounds: Sequence[tuple[float, float]], correlation: Array
) -> Array:
    """Return the probability (M,) that b targets of M cases all lie between their bounds.

    Parameters
    ----------
    predictions : sequence of b Prediction
        Arrays of shape (M,).
    bounds : sequence of b pairs
    correlation : ndarray of shape (b, b)
        Of what is not known of them: 2048 fixed draws of a normal copula.

    Examples
    --------
    Two targets that are above zero with one half each, and always together or never:

    >>> flat = Prediction(np.zeros(1), np.ones(1), np.inf)
    >>> both = [(0.0, np.inf)] * 2
    >>> [round(float(probability_inside([flat] * 2, both, np.array([[1, r], [r, 1]]))[0]), 2) for r in (0.999, -0.999)]
    [0.49, 0.0]
    """
    b = len(predictions)
    normal = np.random.default_rng(0).standard_normal((_DRAWS // 2, b))
    shares = ndtr(np.concatenate([normal, -normal]) @ np.linalg.cholesky(correlation).T)
    inside = np.ones((len(predictions[0]), _DRAWS), dtype=bool)
    for k, (prediction, (low, high)) in enumerate(zip(predictions, bounds, strict=True)):
        below, above = (prediction.cdf(np.full(len(prediction), bound))[:, None] for bound in (low, high))
        inside &= (below <= shares[:, k]) & (shares[:, k] <= above)
    return np.asarray(inside.mean(axis=1))

"""Joint draws: of a prediction (multivariate t), and of the process before it has seen data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swwl.gp.correlations import Array
from swwl.gp.factors import Term, cross_correlation
from swwl.gp.solvers.cholesky import square_root


def draw(mean: Array, joint: Array, df: float, n_samples: int, rng: np.random.Generator) -> Array:
    """Draw from a multivariate t (normal when df is inf), shape (n_samples, M, k).

    Parameters
    ----------
    mean : ndarray of shape (M, k)
    joint : ndarray of shape (k, M, M)
        Squared scale matrices; positive semi-definite up to rounding.
    """
    m, k = mean.shape
    out = np.empty((n_samples, m, k))
    for j in range(k):
        normal = rng.standard_normal((n_samples, m)) @ square_root(joint[j]).T
        if not np.isinf(df):
            normal /= np.sqrt(rng.chisquare(df, size=(n_samples, 1)) / df)
        out[:, :, j] = mean[:, j] + normal
    return out


def sample_prior(
    terms: Sequence[Term],
    beta: Array,
    nugget: float,
    sigma2: Array,
    mean: Array,
    n_samples: int,
    rng: np.random.Generator,
) -> Array:
    """Draw functions (nugget 0) or observations from the process itself, shape (n_samples, M, k).

    ``terms`` are among M points, ``mean`` is (M, k) and ``sigma2`` (k,).
    """
    m = len(mean)
    among = cross_correlation([term.held() for term in terms], beta, (m, m))
    among.flat[:: m + 1] = 1.0 + nugget
    return draw(mean, sigma2[:, None, None] * among, np.inf, n_samples, rng)

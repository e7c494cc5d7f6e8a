r"""Leave-one-out in closed form: ranges and nugget fixed, trend and variance estimated again.

With :math:`Q` of ``solvers/base.py`` and :math:`\alpha = Qy`, leaving point i out predicts its observation with

.. math:: y_i - \alpha_i / Q_{ii}, \qquad \text{squared scale}\quad
          \frac{1}{Q_{ii}}\,\frac{S^2 - \alpha_i^2/Q_{ii}}{n - 1 - q},

Student-t with n - 1 - q degrees of freedom. Only the diagonals of :math:`R^{-1}` and :math:`Q` are needed, so all n
predictions cost O(n) once the model is fitted, by whatever solver.

References
----------
Dubrule (1983), Cross validation of kriging in a unique neighborhood, Mathematical Geology 15.
"""

from __future__ import annotations

import numpy as np

from swwl.gp.correlations import Array
from swwl.gp.prediction import Prediction


def leave_one_out(
    y: Array, alpha: Array, inverse_diagonal: Array, projected_diagonal: Array, sigma2: Array, df: float
) -> Prediction:
    r"""Predict every training observation from all others, arrays of shape (N, k).

    Parameters
    ----------
    y, alpha : ndarray of shape (N, k)
    inverse_diagonal, projected_diagonal : ndarray of shape (N,)
        Diagonals of :math:`R^{-1}` and of :math:`Q`.
    sigma2 : ndarray of shape (k,)
    df : float
        n - q, or inf for maximum likelihood, which has no term for the trend's uncertainty.

    Examples
    --------
    Without correlation and trend, what is left says nothing but the variance of the others:

    >>> y = np.array([[1.0], [2.0], [2.0]])
    >>> prediction = leave_one_out(y, y, np.ones(3), np.ones(3), np.array([9.0 / 3.0]), 3.0)
    >>> prediction.mean.ravel().tolist(), (prediction.scale**2).round(9).ravel().tolist(), prediction.df
    ([0.0, 0.0, 0.0], [4.0, 2.5, 2.5], 2.0)
    """
    projected = projected_diagonal[:, None]
    residual = alpha / projected
    normal = np.isinf(df)
    dof = len(y) if normal else df
    s2 = sigma2 * dof
    variance = np.maximum(s2 - alpha * residual, 0.0) / (dof - 1)
    unit = 1.0 / (inverse_diagonal[:, None] if normal else projected)
    return Prediction(y - residual, np.sqrt(variance * unit), df if normal else df - 1)

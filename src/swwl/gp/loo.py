r"""Leave-one-out in closed form: ranges and nugget fixed, trend and variance estimated anew.

With :math:`Q` of ``objective.py`` and :math:`\alpha = Qy`, leaving point i out predicts its observation with

.. math:: y_i - \alpha_i / Q_{ii}, \qquad \text{squared scale}\quad
          \frac{1}{Q_{ii}}\,\frac{S^2 - \alpha_i^2/Q_{ii}}{n - 1 - q},

Student-t with n - 1 - q degrees of freedom. Only the diagonal of :math:`R^{-1}` is needed, so all n
predictions cost O(n) once the model is fitted.

References
----------
Dubrule (1983), Cross validation of kriging in a unique neighborhood, Mathematical Geology 15.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swwl.gp.correlations import Array
from swwl.gp.posterior import Posterior
from swwl.gp.prediction import Prediction, quantile


class LeaveOneOut(NamedTuple):
    """Leave-one-out predictions of the training observations.

    Attributes
    ----------
    mean : ndarray of shape (N,) or (N, k)
    std : ndarray of the same shape
        Standard deviation of a new observation, with the Student-t factor.
    scale : ndarray of the same shape
        The same without that factor.
    df : float
        Degrees of freedom; inf for maximum likelihood.
    """

    mean: Array
    std: Array
    scale: Array
    df: float

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the bounds (lower, upper) of the central interval, each of the shape of ``mean``."""
        half = quantile(self.df, level) * self.scale
        return self.mean - half, self.mean + half


def leave_one_out(posterior: Posterior) -> Prediction:
    """Predict every training observation from all others, arrays of shape (N, k)."""
    n = len(posterior.y)
    g = posterior.trend_solve
    projected = posterior.inverse_diagonal - np.einsum("ij,ij->i", g, g)  # the diagonal of Q
    projected = projected[:, None]
    residual = posterior.alpha / projected
    normal = np.isinf(posterior.df)
    dof = n if normal else posterior.df
    s2 = posterior.sigma2 * dof
    sigma2 = np.maximum(s2 - posterior.alpha * residual, 0.0) / (dof - 1)
    # Maximum likelihood has no term for the trend's uncertainty
    unit = 1.0 / (posterior.inverse_diagonal[:, None] if normal else projected)
    df = posterior.df if normal else posterior.df - 1
    return Prediction(posterior.y - residual, np.sqrt(sigma2 * unit), df)

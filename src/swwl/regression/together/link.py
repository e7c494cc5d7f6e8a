r"""Link: what one process hands to another, so that many cheap answers help a few expensive ones.

Recursive co-kriging: with the helper h, of which more is known, a target is

.. math:: y(x) = \beta_0 + \rho\, h(x) + \delta(x),

where :math:`\delta` is a process of its own and :math:`\rho` the coefficient of a trend, estimated with it (generalized
least squares). Of a new case h is not known but predicted, with mean :math:`m_h` and variance :math:`v_h`, which is
independent of what is left to learn of :math:`\delta`:

.. math:: m = \beta_0 + \rho\, m_h + m_\delta, \qquad v = v_\delta + \rho^2 v_h .

All of that is on the scales on which both are fitted.

References
----------
Kennedy and O'Hagan (2000); Le Gratiet and Garnier (2014).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.gp.prediction import Prediction

if TYPE_CHECKING:
    from swwl.regression.stack import Represented, Stack

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HelperSlopes:
    """What a helper says of one case, and how that changes.

    Attributes
    ----------
    mean, std : float
        On its own scale.
    gradients : dict of str to ndarray
        Derivatives of both, (n, d, 2) in nodes and (2,) in numbers, by column.
    """

    mean: float
    std: float
    gradients: dict[str, Array]

    def pull_back(self, in_mean: Array, in_std: Array) -> dict[str, Array]:
        """Return gradients in every column of m answers, (n, d, m) and (m,), given those in mean and std, (m,)."""
        return {name: own[..., :1] * in_mean + own[..., 1:] * in_std for name, own in self.gradients.items()}


@dataclass(frozen=True)
class Link:
    r"""A helper, and how much of it a target takes.

    Attributes
    ----------
    column : str
        What the helper's answer is called in the trend of the target.
    helper : Stack
        Of a single target.
    slope : float
        :math:`\rho`.
    given : ndarray of shape (n,), optional
        What the target's training rows were told of the helper, on its own scale; not kept in a file.
    """

    column: str
    helper: Stack
    slope: float
    given: Array | None = None

    def told(self, cases: Represented, include_nugget: bool = True) -> Prediction:
        """Return what the helper says of cases as it sees them, on its own scale, arrays of shape (M,)."""
        return self.helper.predict(cases, include_nugget).process.column(0)

    def linear(self, values: Mapping[str, object], row: pd.DataFrame) -> HelperSlopes:
        """Differentiate what the helper says of one case; see :meth:`swwl.regression.stack.Stack.linearize`."""
        moments, gradients = self.helper.linearize(values, row, [0], True, of_process=True)
        mean, std = moments[:, 0].tolist()
        return HelperSlopes(mean, std, gradients)

    def completed(self, table: pd.DataFrame, cases: Represented) -> pd.DataFrame:
        """Return a table with a column of what the helper says."""
        return table.assign(**{self.column: self.told(cases).mean})

    def widening(self, plain: Prediction, cases: Represented, include_nugget: bool = True) -> Array:
        """Return by how much scales of the target are multiplied, in their shape, since the helper is unsure too."""
        added = self.slope * self.told(cases, include_nugget).std
        return widening(plain, added.reshape(plain.mean.shape))


def widening(plain: Prediction, added: Array) -> Array:
    r"""Return :math:`\sqrt{1 + a^2 / s^2}` for predictions of standard deviations s and what adds to them, a.

    Examples
    --------
    >>> widening(Prediction(np.zeros(2), np.array([3.0, 1.0]), np.inf), np.array([4.0, 0.0])).round(3).tolist()
    [1.667, 1.0]
    """
    own = plain.std
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = np.hypot(1.0, added / own)
    return np.where(np.isfinite(found), found, 1.0)


def slope_of(stack: Stack) -> float:
    """Return the coefficient of the last column of a stack's trend, in its units: the mean over members by weight."""
    unit = float(stack.trend[-1].units()[0])
    slopes = [float(np.ravel(member.gps[0].theta_)[-1]) for member in stack.members]
    return float(stack.weights.to_numpy()[:, 0] @ slopes) / unit

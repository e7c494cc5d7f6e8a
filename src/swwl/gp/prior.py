r"""The jointly robust prior of the ranges and the nugget.

.. math:: \log\pi = a\log t - b\,t, \qquad t = \sum_l C_l \beta_l + \nu .

It vanishes both where the correlation matrix becomes singular (all :math:`\beta\to0` without a nugget) and
where it becomes the identity (:math:`\beta\to\infty`), which is what makes the posterior mode robust.

References
----------
Gu (2019), Jointly robust prior for Gaussian stochastic process in emulation, calibration and variable
selection, Bayesian Analysis 14(3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from swwl.errors import InputError
from swwl.gp.correlations import Array

PRIORS = ("robust", "gentle")


@dataclass(frozen=True)
class JointlyRobustPrior:
    """The constants of the prior: ``a``, ``b`` and ``c`` of shape (p,)."""

    a: float
    b: float
    c: Array

    def __call__(self, beta: Array, nugget: float) -> tuple[float, Array, float]:
        r"""Return the log density with its derivatives in :math:`\log\beta` (p,) and :math:`\log\nu`."""
        t = float(self.c @ beta) + nugget
        if t <= 0.0:
            return -np.inf, np.zeros_like(beta), 0.0
        slope = self.a / t - self.b
        return self.a * np.log(t) - self.b * t, slope * self.c * beta, slope * nugget


def default_prior(
    largest: Array,
    n: int,
    a: float = 0.2,
    b: float | None = None,
    c: ArrayLike | None = None,
    kind: str = "robust",
) -> JointlyRobustPrior:
    r"""Set the constants from the data.

    Parameters
    ----------
    largest : ndarray of shape (p,)
        Largest training distance of each range.
    n : int
        Number of training points.
    a, b, c : float, float or None, array-like of shape (p,) or None
        None means the b of ``kind`` and :math:`C_l = n^{-1/p}\max D_l`.
    kind : {"robust", "gentle"}
        "robust" is Gu's :math:`b = n^{-1/p}(a + p)`, as in R's RobustGaSP. Its pull towards long ranges, b nats for
        each unit of t, grows with their number p: with twenty ranges it can outweigh the data. "gentle" has
        :math:`b = n^{-1/p}(a + 1)`, which does not grow; for p = 1 both are the same.

    Examples
    --------
    >>> prior = default_prior(np.array([2.0]), n=4)
    >>> float(prior.b), prior.c.tolist()
    (0.3, [0.5])
    >>> [float(default_prior(np.ones(4), n=16, kind=kind).b) for kind in ("robust", "gentle")]
    [2.1, 0.6]
    """
    if kind not in PRIORS:
        raise InputError(f"prior is {kind!r}, but {' or '.join(map(repr, PRIORS))} is expected.")
    p = len(largest)
    shrink = n ** (-1.0 / p)
    return JointlyRobustPrior(
        a=float(a),
        b=shrink * (a + (p if kind == "robust" else 1)) if b is None else float(b),
        c=shrink * largest if c is None else np.broadcast_to(np.asarray(c, dtype=float), (p,)),
    )


def relative_importance(beta: Array, c: Array) -> Array:
    r"""Return :math:`p\,C_l\beta_l / \sum_m C_m\beta_m`: far below one marks an inert input.

    Parameters
    ----------
    beta, c : ndarray of shape (p,)

    Examples
    --------
    >>> relative_importance(np.array([1.0, 3.0]), np.array([1.0, 1.0])).tolist()
    [0.5, 1.5]
    """
    share = beta * c
    total = share.sum()
    return len(beta) * share / total if total > 0.0 else np.zeros(len(beta))

r"""What a solver is given (`Problem`), what it answers (`Solver`, `Posterior`), and leave-one-out in closed form.

The model (``estimator.py``) maximizes a function of ranges and nugget and then asks a posterior for predictions. Who
factorizes for it, and what, is known to one file per solver.

With :math:`R = \prod_l c_l(\beta_l D_l) + \nu I`, trend columns :math:`H` (q of them),
:math:`Q = R^{-1} - R^{-1}H(H^\top R^{-1}H)^{-1}H^\top R^{-1}` and :math:`S_j^2 = y_j^\top Q y_j`, constants
dropped, every solver computes, or approximates, the sum over the outputs j of

* marginal likelihood: :math:`-\tfrac12\log|R| - \tfrac12\log|H^\top R^{-1}H| - \tfrac{n-q}2\log S_j^2`,
* posterior: the same, and once the jointly robust prior of ``prior.py``,
* profile likelihood: :math:`-\tfrac12\log|R| - \tfrac n2\log S_j^2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.gp.correlations import Array
from swwl.gp.factors import Term
from swwl.gp.prediction import Prediction
from swwl.gp.prior import JointlyRobustPrior

_LEAST_LEFT = 1e-12  # of the variance without the only row that differs from the others
_LEAST_PROJECTED = 1e-9  # of a row's precision, over that without a trend


class NotPositiveDefinite(InputError, np.linalg.LinAlgError):
    """A correlation matrix that cannot be factorized: the nugget is too small, or the distances are not Euclidean."""


@dataclass(frozen=True)
class Standardized:
    """Targets of zero mean (where the trend absorbs a shift) and unit spread, with what undoes it.

    Attributes
    ----------
    raw, values : ndarray of shape (N, k)
        As given, and standardized.
    shift, scale : ndarray of shape (k,)
    """

    raw: Array
    values: Array
    shift: Array
    scale: Array


def standardize(targets: Array, shift: bool, counted: NDArray[np.bool_] | None = None) -> Standardized:
    """Standardize targets of shape (N, k); ``shift`` says whether the trend holds a constant.

    Rows that are not ``counted``, (N,), have no say in center and spread.

    Examples
    --------
    >>> y = standardize(np.array([[1.0], [3.0]]), shift=True)
    >>> y.values.tolist(), y.shift.tolist(), y.scale.tolist()
    ([[-1.0], [1.0]], [2.0], [1.0])
    """
    known = targets if counted is None else targets[counted]
    center = known.mean(axis=0) if shift else np.zeros(targets.shape[1])
    spread = (known - center).std(axis=0)
    return Standardized(targets.copy(), (targets - center) / spread, center, spread)


@dataclass(frozen=True)
class Problem:
    r"""Training data and what is to be maximized.

    Attributes
    ----------
    terms : sequence of Term
        Among the training points, as `Solver.prepare` returned them.
    trend : ndarray of shape (N, q)
    targets : Standardized
        Several columns share ranges and nugget.
    method : {"posterior", "marginal", "likelihood"}
    prior : JointlyRobustPrior
        Used by "posterior" alone.
    constant : bool
        Whether the first trend column is a constant, which takes the shift of the targets back.
    noise : ndarray of shape (N,) or None
        Variance that rows have in addition to the nugget, over :math:`\sigma^2`. Rows that have any are not counted
        as observations: with much of it, all is as if they were not there.
    """

    terms: Sequence[Term]
    trend: Array
    targets: Standardized
    method: str
    prior: JointlyRobustPrior
    constant: bool = True
    noise: Array | None = None

    @property
    def y(self) -> Array:
        """Standardized targets, shape (N, k)."""
        return self.targets.values

    @property
    def dof(self) -> int:
        """Return n - q, or n for the profile likelihood."""
        n, q = self.trend.shape
        n -= 0 if self.noise is None else np.count_nonzero(self.noise)
        return int(n if self.method == "likelihood" else n - q)

    @property
    def df(self) -> float:
        """Degrees of freedom of predictions; inf for the profile likelihood."""
        return np.inf if self.method == "likelihood" else float(self.dof)

    @property
    def offset(self) -> float:
        """What undoes the standardization, so that values compare with other software's."""
        return -self.dof * float(np.log(self.targets.scale).sum())

    def value(self, log_det: float, trend_diagonal: Array, s2: Array, beta: Array, nugget: float) -> float:
        r"""Return what is maximized, from what a solver found.

        Parameters
        ----------
        log_det : float
            :math:`\log|R|`.
        trend_diagonal : ndarray of shape (q,)
            Diagonal of the Cholesky factor of :math:`H^\top R^{-1}H`.
        s2 : ndarray of shape (k,)
            :math:`S_j^2` of the standardized targets.
        beta, nugget : ndarray of shape (p,), float
        """
        k = self.y.shape[1]
        with np.errstate(divide="ignore"):
            value: float = self.offset - 0.5 * k * log_det - 0.5 * self.dof * float(np.log(s2).sum())
        if self.method != "likelihood":
            value -= k * float(np.log(trend_diagonal).sum())
        if self.method == "posterior":
            value += self.prior(beta, nugget)[0]
        return value


@dataclass(frozen=True)
class Curvature:
    """How sharply the maximum bends: what the Laplace approximation needs.

    Attributes
    ----------
    matrix : ndarray of shape (f, f)
        Minus the Hessian in the free log parameters.
    free : ndarray of int, shape (f,)
        Their positions; p is the nugget's.
    """

    matrix: Array
    free: NDArray[np.intp]


class Slopes(NamedTuple):
    """Mean (k,) and squared scale over sigma2 of one new observation, and their derivatives.

    ``of_mean`` (N, k) and ``of_unit`` (N, 1) are those in the ``correlations`` (N,) with the training points,
    ``in_trend`` (q, 1) that of the squared scale in the trend's columns; of the mean that is ``theta``. ``terms`` are
    those from the new point, held.
    """

    mean: Array
    unit: float
    of_mean: Array
    of_unit: Array
    in_trend: Array
    terms: Sequence[Term]
    correlations: Array


class Posterior(Protocol):
    """A fitted process, targets in their own units: all that predictions need."""

    @property
    def beta(self) -> Array:
        """Inverse ranges, shape (p,)."""

    @property
    def nugget(self) -> float:
        """Noise variance over sigma2."""

    @property
    def theta(self) -> Array:
        """Trend coefficients, shape (q, k)."""

    @property
    def sigma2(self) -> Array:
        """Variances, shape (k,)."""

    @property
    def df(self) -> float:
        """Degrees of freedom; inf for maximum likelihood."""

    @property
    def y(self) -> Array:
        """Training targets as given, shape (N, k)."""

    def mean(self, cross: Sequence[Term], trend: Array) -> Array:
        """Return the predictive location of M new points, shape (M, k).

        Parameters
        ----------
        cross : sequence of Term
            From M new points to the N training points.
        trend : ndarray of shape (M, q)
        """

    def predict(self, cross: Sequence[Term], trend: Array, include_nugget: bool) -> Prediction:
        """Predict M new points, each by itself, arrays of shape (M, k)."""

    def predict_joint(
        self, cross: Sequence[Term], trend: Array, among: Sequence[Term], include_nugget: bool
    ) -> tuple[Array, Array]:
        """Return the location (M, k) and the joint squared scales (k, M, M); ``among`` is of the new points."""

    def slopes(self, cross: Sequence[Term], trend: Array) -> Slopes:
        """Predict one new observation, with derivatives."""

    def leave_one_out(self) -> Prediction:
        """Predict every training observation from all others, arrays of shape (N, k)."""

    def state(self) -> dict[str, Any]:
        """Return arrays and numbers for a model file; `Solver.restore` undoes it."""


class Solver(Protocol):
    r"""What is maximized as a function of :math:`(\log\beta_1, \dots, \log\beta_p, \log\nu)`, for one `Problem`.

    Attributes
    ----------
    problem : Problem
    n_evaluations : int
        Factorizations so far.
    options : dict
        What it takes beside the problem, whole numbers, with their defaults.
    takes_curvature : bool
        Whether its predictions can carry the uncertainty of the ranges.
    """

    options: ClassVar[dict[str, int]]
    takes_curvature: ClassVar[bool]
    problem: Problem
    n_evaluations: int

    def __init__(self, problem: Problem, **options: int): ...

    @staticmethod
    def prepare(terms: Sequence[Term]) -> list[Term]:
        """Bring training terms into the form that this solver works on, before the problem is made of them."""

    def settle(self, log_beta: Array, log_nugget: float) -> None:
        """Choose what depends on the ranges but must not change during an optimization run; called before each."""

    def __call__(self, log_beta: Array, log_nugget: float) -> float:
        """Return the value alone; ``log_nugget`` may be -inf. Raises `NotPositiveDefinite`."""

    def with_gradient(self, log_beta: Array, log_nugget: float) -> tuple[float, Array]:
        """Return the value and its gradient of shape (p + 1,), the nugget's derivative last; raises as well."""

    def conclude(self, log_beta: Array, log_nugget: float, curvature: Curvature | None) -> tuple[Posterior, float]:
        """Keep what predictions need; also return 1 / condition number of what was factorized.

        With ``curvature`` predictions carry the uncertainty of the ranges.
        """

    def release(self) -> None:
        """Give large buffers back; the next evaluation makes them again."""

    @staticmethod
    def restore(state: dict[str, Any]) -> Posterior:
        """Return the posterior whose `Posterior.state` is part of ``state``; other entries are ignored."""


def leave_one_out(
    y: Array,
    alpha: Array,
    inverse_diagonal: Array,
    projected_diagonal: Array,
    sigma2: Array,
    df: float,
    units: Array | None = None,
) -> Prediction:
    r"""Predict every training observation from all others, ranges and nugget fixed: arrays of shape (N, k).

    With :math:`\alpha = Qy`, leaving point i out predicts its observation with

    .. math:: y_i - \alpha_i / Q_{ii}, \qquad \text{squared scale}\quad
              \frac{1}{Q_{ii}}\,\frac{S^2 - \alpha_i^2/Q_{ii}}{n - 1 - q},

    Student-t with n - 1 - q degrees of freedom. Only the diagonals of :math:`R^{-1}` and :math:`Q` are needed, so all
    n predictions cost O(n) once the model is fitted, by whatever solver.

    Parameters
    ----------
    y, alpha : ndarray of shape (N, k)
    inverse_diagonal, projected_diagonal : ndarray of shape (N,)
        Diagonals of :math:`R^{-1}` and of :math:`Q`.
    sigma2 : ndarray of shape (k,)
    df : float
        n - q, or inf for maximum likelihood, which has no term for the trend's uncertainty.
    units : ndarray of shape (N,), optional
        Where rows have noise of their own (see `Problem`), the variance over sigma2 of an observation without it; nan
        where they have none.

    References
    ----------
    Dubrule (1983), Cross validation of kriging in a unique neighborhood, Mathematical Geology 15.

    Examples
    --------
    Without correlation and trend, what is left says nothing but the variance of the others:

    >>> y = np.array([[1.0], [2.0], [2.0]])
    >>> prediction = leave_one_out(y, y, np.ones(3), np.ones(3), np.array([9.0 / 3.0]), 3.0)
    >>> prediction.mean.ravel().tolist(), (prediction.scale**2).round(9).ravel().tolist(), prediction.df
    ([0.0, 0.0, 0.0], [4.0, 2.5, 2.5], 2.0)
    """
    # A row that a column of the trend is for, such as one that alone has a flag: the others say nothing of it.
    alone = (projected_diagonal <= _LEAST_PROJECTED * inverse_diagonal)[:, None]
    projected = np.where(alone, inverse_diagonal[:, None], projected_diagonal[:, None])
    residual = np.where(alone, y - y.mean(axis=0), alpha / projected)
    normal = np.isinf(df)
    dof = len(y) - (0 if units is None else np.count_nonzero(~np.isnan(units))) if normal else df
    s2 = sigma2 * dof
    variance = np.maximum(s2 - alpha * residual, _LEAST_LEFT * s2) / (dof - 1)
    unit = 1.0 / (inverse_diagonal[:, None] if normal else projected)
    if units is not None:
        unit = np.where(np.isnan(units), unit[:, 0], units)[:, None]
    scale = np.where(alone, y.std(axis=0), np.sqrt(variance * unit))
    return Prediction(y - residual, scale, df if normal else df - 1)

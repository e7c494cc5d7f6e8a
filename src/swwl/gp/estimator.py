r"""`RobustGP`: the estimator around the pure functions of this room, its state, and draws from what it predicts.

Distances in, Student-t predictions out. It checks its input (``inputs.py``), maximizes the log posterior of a solver
(``solvers/``, ``search.py``), warns (``diagnostics.py``) and adopts the solver's posterior, which answers all that is
asked later. Which solver factorizes is nothing that it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError, located
from swwl.estimators import BaseEstimator
from swwl.formatting import Record
from swwl.gp import diagnostics, inputs
from swwl.gp.adjoint import LinearPrediction, differentiable, linear_prediction
from swwl.gp.correlations import Array, CorrelationName
from swwl.gp.factors import Term, cross_correlation
from swwl.gp.inputs import BlockLike, Centered, TrainingInputs, check_correlations
from swwl.gp.joint import layout_of
from swwl.gp.prediction import Prediction, to_std
from swwl.gp.prior import default_prior, relative_importance
from swwl.gp.search import Given, Start, curvature, find_optimum, make_search
from swwl.gp.solvers import check_options, get_solver
from swwl.gp.solvers.base import Posterior, Problem, Solver, standardize
from swwl.gp.solvers.cholesky import square_root
from swwl.gp.solvers.dense import DensePosterior
from swwl.parallel import blas_threads
from swwl.storage.checks import Count, Shape, contiguous, restored


class ProcessState(msgspec.Struct):
    """What a state holds besides the posterior and what is told of every factor; ``params`` are the constructor's."""

    params: Record
    single: bool
    log_posterior: float
    importance: Annotated[Array, Shape("p")]
    n_evaluations: Count


class _Factor(msgspec.Struct):
    """What a state holds of one factor, under these names and its number; a layout where it has several parts."""

    coordinates: Annotated[Array, Shape("nd")] | None = None
    center: Annotated[Array, Shape("d")] | None = None
    layout: Annotated[NDArray[np.intp], Shape("l", "iu", least=0)] | None = None


def model_to_state(posterior: Posterior, inputs: TrainingInputs, process: ProcessState) -> Record:
    """Collect the state of a fitted `RobustGP`."""
    state = posterior.state()
    for i, group in inputs.coordinates.items():
        state[f"coordinates_{i}"], state[f"center_{i}"] = group.values, group.center
    for i, layout in enumerate(inputs.layouts):
        if len(layout) > 1:  # a single part is known by its coordinates, or by their absence
            state[f"layout_{i}"] = np.array(layout)
    return state | msgspec.structs.asdict(process) | {"params": _plain(process.params)}


def _plain(value: Any) -> Any:
    """Turn arrays, tuples and NumPy numbers into what JSON takes."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def model_from_state(state: Record) -> tuple[Posterior, TrainingInputs, ProcessState]:
    """Undo `model_to_state`."""
    process = restored(ProcessState, state)
    params = process.params
    # JSON has no tuples: a power correlation becomes one again
    params["correlations"] = [c if isinstance(c, str) else tuple(c) for c in params["correlations"]]
    posterior = get_solver(params["solver"]).restore(state)
    n, k = posterior.y.shape
    correlations = check_correlations(params["correlations"])
    coordinates, layouts = _factors_from_state(contiguous(state), len(correlations), n)
    inputs = TrainingInputs(correlations, coordinates, layouts, n, params["trend"], params["names"])
    p = inputs.range_slices[-1].stop if inputs.range_slices else len(posterior.beta)
    if not len(posterior.beta) == len(process.importance) == p:
        sizes = f"{len(posterior.beta)} and {len(process.importance)}"
        raise InputError(f"beta and importance have {sizes} entries, but {p} are expected")
    if process.single and k != 1:
        raise InputError(f"single is true, but there are {k} targets")
    return posterior, inputs, process


def _factors_from_state(state: Record, number: int, n: int) -> tuple[dict[int, Centered], list[tuple[int, ...]]]:
    """Return the centered training coordinates of every factor that has any, and what every factor is made of.

    See `swwl.gp.joint.layout_of` for the latter.
    """
    coordinates: dict[int, Centered] = {}
    layouts: list[tuple[int, ...]] = []
    for i in range(number):
        own = {name: state.get(f"{name}_{i}") for name in ("coordinates", "center", "layout")}
        with located(f"factor {i}"):
            found = restored(_Factor, own, n=n)
        d = 0
        if found.coordinates is not None and found.center is not None:
            coordinates[i] = Centered(found.coordinates, found.center)
            d = found.coordinates.shape[1]
        layouts.append((d,) if found.layout is None else tuple(found.layout.tolist()))
        if sum(layouts[-1]) != d:
            raise InputError(f"layout_{i} is {layouts[-1]}, but there are {d} coordinates")
    return coordinates, layouts


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


Items = Sequence[BlockLike]
JointItems = Sequence[BlockLike | None] | None
Columns = ArrayLike | None
Seed = int | np.random.Generator | None


class RobustGP(BaseEstimator):
    r"""Gaussian process on given distances, the array core: a product correlation, robustly estimated ranges.

    For tables with columns of meshes and numbers, use :class:`swwl.RobustGPRegressor`, which is built on it.

    The covariance is :math:`\sigma^2(\prod_l c_l(\beta_l D_l) + \nu I)`. The inverse ranges :math:`\beta` and
    the nugget :math:`\nu` maximize the marginal posterior under the jointly robust prior; the trend and
    :math:`\sigma^2` are integrated out, so predictions are Student-t.

    Parameters
    ----------
    correlations : list, default=("gaussian",)
        One per factor: "gaussian" :math:`e^{-(\beta d)^2}`, ("power", alpha) :math:`e^{-(\beta d)^\alpha}`,
        "matern52" or "matern32". Of coordinates and joined blocks it is one function of :math:`\sqrt{\sum_l
        (\beta_l d_l)^2}`, an elliptic kernel.
    nugget : "estimate" or float, default="estimate"
        Noise variance over :math:`\sigma^2`; a number, 0 included, fixes it.
    trend : {"constant", "zero", "linear", "columns"}, default="constant"
        "linear" is a constant and the ``trend_columns`` of `fit` and `predict`; "columns" is those alone.
    solver : {"exact", "vecchia"}, default="exact"
        Who factorizes: "exact" takes one Cholesky factor of the whole matrix; "vecchia" is for many rows and
        approximates it by inducing rows and neighbors, without any N x N array.
    solver_options : dict, optional
        Of "vecchia": "n_inducing" (default 1000), "n_neighbors" (30), "n_predict_neighbors" (60), "seed" (0),
        "n_threads" (1) and "keep_features" (1). The more rows and neighbors, the closer to "exact".
    method : {"posterior", "marginal", "likelihood"}, default="posterior"
        What is maximized: the marginal posterior, the marginal likelihood, or the profile likelihood (maximum
        likelihood, with normal predictions that ignore the trend's uncertainty).
    nugget_floor : float, default=1e-6
        Smallest nugget that is estimated. Without a floor near-deterministic data drive it to zero and
        predictive variances are lost in rounding.
    beta : array-like of shape (p,) or float, optional
        Fixes the inverse ranges.
    bounds : tuple (lower, upper), optional
        Bounds of the inverse ranges, each None, a number or an array of shape (p,). By default the lower one
        is where the matrix gets ill-conditioned.
    n_starts : int, default=3
        Optimization runs; the first three start at a typical product correlation of 0.5, 0.9 and 0.9, more at random.
    max_iter : int, default=200
        Iterations of one optimization run.
    prior : {"robust", "gentle"}, default="robust"
        The jointly robust prior as in R's RobustGaSP, or one whose pull towards long ranges does not grow with their
        number: better for ten ranges and more. See `swwl.gp.prior.default_prior`.
    prior_a, prior_b, prior_c : float, float or None, array-like of shape (p,) or None
        Constants of the prior.
    range_uncertainty : bool, default=False
        Add the uncertainty of the ranges to predictions (Laplace): :math:`J\mathcal H^{-1}J^\top`, with J the
        gradient of the mean in the log parameters and :math:`\mathcal H` the curvature at the optimum. It
        costs 2(p + 1) more evaluations in `fit`.
    names : list of str, optional
        One per factor, for messages.
    random_state : int, default=0
        Seeds the choice of pairs and the random starts.

    Attributes
    ----------
    beta_ : ndarray of shape (p,)
        Inverse ranges: one per matrix of distances and per column of coordinates.
    nugget_ : float
    theta_ : ndarray of shape (q,) or (q, k)
        Trend coefficients.
    sigma2_ : float or ndarray of shape (k,)
    log_posterior_ : float
        The maximum, constants dropped as in R's RobustGaSP.
    importance_ : ndarray of shape (p,)
        Relative importance of each range, one on average; far below one marks an inert input.
    df_ : float
        Degrees of freedom of predictions.
    range_slices_ : list of slice
        Which entries of ``beta_`` belong to each factor.
    n_evaluations_ : int
        Factorizations that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> y = np.sin(6.0 * x)
    >>> gp = RobustGP(["matern52"]).fit([np.abs(x[:, None] - x)], y)
    >>> mean, std = gp.predict([np.abs([[0.5 - v for v in x]])], return_std=True)
    >>> bool(abs(mean[0] - np.sin(3.0)) < 0.01), bool(std[0] < 0.05)
    (True, True)
    >>> lower, upper = gp.predict_interval([np.abs([[0.5 - v for v in x]])], level=0.9)
    >>> bool(lower[0] < np.sin(3.0) < upper[0])
    True
    """

    _posterior: Posterior
    _inputs: TrainingInputs
    _single: bool
    _solver: Solver | None

    def __init__(
        self,
        correlations: Sequence[CorrelationName] = ("gaussian",),
        nugget: float | str = "estimate",
        trend: str = "constant",
        *,
        solver: str = "exact",
        solver_options: dict[str, int] | None = None,
        method: str = "posterior",
        nugget_floor: float = 1e-6,
        beta: ArrayLike | None = None,
        bounds: tuple[ArrayLike | None, ArrayLike | None] | None = None,
        n_starts: int = 3,
        max_iter: int = 200,
        prior: str = "robust",
        prior_a: float = 0.2,
        prior_b: float | None = None,
        prior_c: ArrayLike | None = None,
        range_uncertainty: bool = False,
        names: Sequence[str] | None = None,
        random_state: int = 0,
    ):
        self.correlations = correlations
        self.nugget = nugget
        self.trend = trend
        self.solver = solver
        self.solver_options = solver_options
        self.method = method
        self.nugget_floor = nugget_floor
        self.beta = beta
        self.bounds = bounds
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.prior = prior
        self.prior_a = prior_a
        self.prior_b = prior_b
        self.prior_c = prior_c
        self.range_uncertainty = range_uncertainty
        self.names = names
        self.random_state = random_state

    def fit(
        self,
        distances: Items,
        y: ArrayLike,
        trend_columns: Columns = None,
        *,
        start: RobustGP | Start | tuple[ArrayLike, float] | None = None,
        max_iter: int | None = None,
        noise: ArrayLike | None = None,
        fine: bool | None = None,
        drop_dependent: bool = False,
    ) -> RobustGP:
        r"""Estimate the ranges and the nugget; return the process itself.

        Parameters
        ----------
        distances : list
            One item per correlation: an (N, N) matrix of distances, `Coordinates` of N rows, or another
            `swwl.gp.blocks.Block` of N rows and columns, such as `Joint` ones. Matrices are kept by reference, not
            copied: do not change them afterwards.
        y : array-like of shape (N,) or (N, k)
            Several targets share the ranges and the nugget; trend and variance are their own.
        trend_columns : array-like of shape (N, m), optional
            For ``trend="linear"`` and ``trend="columns"``.
        start : RobustGP or tuple (log_beta, log_nugget), optional
            Where to start one run: such as a process fitted to almost the same rows, near whose maximum that of a
            fold lies.
        max_iter : int, optional
            In place of the constructor's.
        noise : array-like of shape (N,), optional
            Variance that rows have in addition to the nugget, over :math:`\sigma^2`, for rows that are not to be
            trusted; zero for all others. Rows that have any are not counted as observations. For the exact solver.
        fine : bool, optional
            Whether to search to a fine tolerance; by default so without ``start``.
        drop_dependent : bool, default=False
            Whether columns of the trend that depend linearly on those before are left out, as a column that is constant
            in the rows of a fold, instead of refused. A process that lacks some cannot be stored.
        """
        inputs.check_method(self.method)
        make_solver, options = get_solver(self.solver), check_options(self.solver, self.solver_options)
        if self.range_uncertainty and not make_solver.takes_curvature:
            raise InputError(f"range_uncertainty is set, but solver={self.solver!r} cannot do it: use solver='exact'.")
        correlations = inputs.check_correlations(self.correlations)
        inputs.check_names(self.names, len(correlations))
        nugget = inputs.check_nugget(self.nugget, self.nugget_floor)
        y = inputs.check_targets(y)
        n, targets = len(y), y.reshape(len(y), -1)
        terms, coordinates = inputs.training_terms(distances, correlations, n, self.names)
        trend = inputs.trend_matrix(self.trend, trend_columns, n)
        kept = inputs.independent_columns(trend) if drop_dependent else None
        kept = None if kept is not None and len(kept) == trend.shape[1] else kept
        trend = trend if kept is None else trend[:, kept]
        inputs.check_trend_fits(trend, targets)
        own_noise = inputs.check_noise(noise, trend, self.solver)
        counted = None if own_noise is None else own_noise == 0.0

        terms = make_solver.prepare(terms)
        largest = np.concatenate([term.block.largest() for term in terms])
        n_counted = n if counted is None else int(counted.sum())
        prior = default_prior(largest, n_counted, self.prior_a, self.prior_b, self.prior_c, self.prior)
        constant = self.trend in ("constant", "linear")
        standardized = standardize(targets, constant, counted)
        problem = Problem(terms, trend, standardized, self.method, prior, constant, own_noise)
        solver = make_solver(problem, **options)
        max_iter = self.max_iter if max_iter is None else max_iter
        with blas_threads(n):
            given = Given(nugget, self.nugget_floor, self.beta, self.bounds)
            search = make_search(
                terms, n, given, n_starts=self.n_starts, seed=self.random_state, start=_as_start(start), fine=fine
            )
            optimum = find_optimum(solver, search, max_iter)
            bends = curvature(solver, optimum, search) if self.range_uncertainty else None
            posterior, rcond = solver.conclude(optimum.log_beta, optimum.log_nugget, bends)
        solver.release()

        self.log_posterior_ = optimum.value
        self.importance_ = relative_importance(posterior.beta, prior.c)
        self.n_evaluations_ = solver.n_evaluations
        self._box = search.box
        self._began = Start(optimum.began[:-1], float(optimum.began[-1]), search.box)
        layouts = [layout_of(term.block) for term in terms]
        known = TrainingInputs(correlations, coordinates, layouts, n, self.trend, self.names, kept)
        self._adopt(posterior, known, y.ndim == 1, solver)
        diagnostics.warn_about_fit(problem, search, optimum, rcond, max_iter, self.names, self.bounds)
        return self

    def predict(
        self,
        distances: Items,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_nugget: bool = True,
        trend_columns: Columns = None,
        test_distances: JointItems = None,
    ) -> Array | tuple[Array, Array]:
        """Predict at new points.

        Parameters
        ----------
        distances : list
            One item per factor: distances of shape (M, N) to the training points, `Coordinates` of M rows, or
            another `swwl.gp.blocks.Block` of M rows and N columns.
        return_std, return_cov : bool, default=False
            At most one of them.
        include_nugget : bool, default=True
            Predict a new observation; False predicts the function without noise.
        trend_columns : array-like of shape (M, m), optional
        test_distances : list, optional
            For ``return_cov``: distances of shape (M, M) among the new points; None for blocks that know them, as
            `Coordinates` do.

        Returns
        -------
        mean : ndarray of shape (M,) or (M, k)
        std : ndarray of the same shape
            With the Student-t factor sqrt(df / (df - 2)); inf where df <= 2, where no variance exists.
        cov : ndarray of shape (M, M) or (k, M, M)
            With the factor df / (df - 2).
        """
        if return_std and return_cov:
            raise InputError("return_std and return_cov are both set, but at most one of them may be.")
        if return_std:
            prediction = self.predict_distribution(
                distances, include_nugget=include_nugget, trend_columns=trend_columns
            )
            return prediction.mean, prediction.std
        if return_cov:
            mean, joint = self._joint(distances, trend_columns, test_distances, include_nugget)
            cov = to_std(np.ones(1), self.df_)[0] ** 2 * joint
            return self._shaped(mean), cov[0] if self._single else cov
        posterior, cross, trend = self._prepare(distances, trend_columns)
        return self._shaped(posterior.mean(cross, trend))

    def predict_distribution(
        self, distances: Items, *, include_nugget: bool = True, trend_columns: Columns = None
    ) -> Prediction:
        """Return mean, scale and degrees of freedom at new points, arrays of shape (M,) or (M, k).

        Parameters
        ----------
        distances, include_nugget, trend_columns
            As in `predict`.
        """
        posterior, cross, trend = self._prepare(distances, trend_columns)
        prediction = posterior.predict(cross, trend, include_nugget)
        return prediction.column(0) if self._single else prediction

    def predict_interval(
        self, distances: Items, level: float = 0.95, *, include_nugget: bool = True, trend_columns: Columns = None
    ) -> tuple[Array, Array]:
        """Return the bounds (lower, upper) of central Student-t intervals, each of shape (M,) or (M, k).

        Parameters
        ----------
        distances, include_nugget, trend_columns
            As in `predict`.
        level : float, default=0.95
            Probability inside, in (0, 1).
        """
        prediction = self.predict_distribution(distances, include_nugget=include_nugget, trend_columns=trend_columns)
        return prediction.interval(level)

    def linearize(self, distances: Items, *, std: bool = True, trend_columns: Columns = None) -> LinearPrediction:
        """Predict one new point, ready to pull gradients back to its distances and coordinates.

        Parameters
        ----------
        distances, trend_columns
            As in `predict`, of one row.
        std : bool, default=True
            Whether the derivative of the standard deviation is requested, too.
        """
        posterior, cross, trend = self._prepare(distances, trend_columns)
        return linear_prediction(posterior, cross, trend, std)

    def check_differentiable(self, std: bool = True) -> None:
        """Refuse, before any work, what :meth:`linearize` would refuse."""
        differentiable(self._fitted(), std)

    @property
    def has_std_slope(self) -> bool:
        """Whether :meth:`linearize` can differentiate standard deviations."""
        try:
            differentiable(self._fitted())
        except InputError:
            return False
        return True

    def leave_one_out(self) -> Prediction:
        """Predict every training observation from all others, ranges and nugget fixed: shape (N,) or (N, k)."""
        prediction = self._fitted().leave_one_out()
        return prediction.column(0) if self._single else prediction

    def precision(self) -> tuple[Array, Array, Array]:
        r"""Return :math:`Q` (N, N), :math:`\alpha = Qy` (N, k) and :math:`\sigma^2` (k,): rows left out together.

        Rows S are predicted from all others with errors :math:`Q_{SS}^{-1}\alpha_S` of covariance
        :math:`\sigma^2 Q_{SS}^{-1}`, ranges and nugget fixed. For the exact solver.
        """
        posterior = self._fitted()
        if not isinstance(posterior, DensePosterior):
            raise InputError(f"precision needs solver='exact', but solver is {self.solver!r}.")
        return posterior.precision(), posterior.alpha, posterior.sigma2

    def sample(
        self,
        distances: Items,
        test_distances: JointItems = None,
        n_samples: int = 1,
        random_state: Seed = None,
        *,
        include_nugget: bool = False,
        trend_columns: Columns = None,
    ) -> Array:
        """Draw joint samples from the posterior (multivariate t).

        Parameters
        ----------
        distances, test_distances, trend_columns
            As in `predict` with ``return_cov``.
        n_samples : int, default=1
        random_state : int, Generator or None
        include_nugget : bool, default=False
            Draw functions; True draws noisy observations.

        Returns
        -------
        ndarray of shape (n_samples, M) or (n_samples, M, k)
        """
        mean, joint = self._joint(distances, trend_columns, test_distances, include_nugget)
        return self._shaped(draw(mean, joint, self.df_, n_samples, np.random.default_rng(random_state)))

    def sample_prior(
        self,
        test_distances: Items,
        n_samples: int = 1,
        random_state: Seed = None,
        *,
        include_nugget: bool = False,
        trend_columns: Columns = None,
    ) -> Array:
        """Draw from the fitted process without conditioning on the data.

        Parameters
        ----------
        test_distances : list
            One item per factor: distances of shape (M, M), or `Coordinates` of M rows.
        n_samples, random_state, include_nugget, trend_columns
            As in `sample`.

        Returns
        -------
        ndarray of shape (n_samples, M) or (n_samples, M, k)
        """
        posterior = self._fitted()
        correlations = self._inputs.correlations
        inputs.check_count(test_distances, len(correlations), "test_distances")
        m = np.shape(test_distances[0])[0]
        terms, _ = inputs.training_terms(test_distances, correlations, m, self.names)
        mean = self._inputs.new_trend(trend_columns, m, len(posterior.theta)) @ posterior.theta
        nugget, rng = posterior.nugget if include_nugget else 0.0, np.random.default_rng(random_state)
        return self._shaped(sample_prior(terms, posterior.beta, nugget, posterior.sigma2, mean, n_samples, rng))

    def optimum(self) -> Start:
        """Return the ranges and the nugget that `fit` found, as where another process may start."""
        posterior = self._fitted()
        log_nugget = float(np.log(posterior.nugget)) if posterior.nugget > 0.0 else -np.inf
        return Start(np.log(posterior.beta), log_nugget, getattr(self, "_box", None))

    def beginning(self) -> Start:
        """Return where the first run of `fit` began, or the one from short ranges if that was better.

        It knows the inputs, but nothing of the targets.

        Processes that are fitted to some of the rows begin there, and not at the maximum for all rows, if they are to
        tell what all rows cannot: from there they would hardly move away from what the rows left out have taught.
        """
        self._fitted()
        return self._began

    def log_posterior(
        self, log_beta: ArrayLike, log_nugget: float | None = None, return_gradient: bool = False
    ) -> float | tuple[float, Array]:
        """Evaluate the objective that `fit` maximized.

        Parameters
        ----------
        log_beta : array-like of shape (p,)
        log_nugget : float, optional
            May be -inf; by default the fixed or estimated nugget.
        return_gradient : bool, default=False

        Returns
        -------
        value : float
        gradient : ndarray of shape (p + 1,)
            In the log parameters, the nugget's last. Only with ``return_gradient``.
        """
        own_nugget = self.optimum().log_nugget
        if self._solver is None:
            raise InputError("log_posterior needs the training distances, which a restored model lacks: fit again.")
        at = np.asarray(log_beta, dtype=float).reshape(-1)
        if at.shape != self.beta_.shape:
            raise InputError(f"log_beta has {at.size} entries, but there are {self.beta_.size} ranges.")
        log_nugget = own_nugget if log_nugget is None else float(log_nugget)
        try:
            if return_gradient:
                return self._solver.with_gradient(at, log_nugget)
            return self._solver(at, log_nugget)
        finally:
            self._solver.release()

    def forget_solver(self) -> None:
        """Let go of what only `log_posterior` needs: as if the model had been read from a file."""
        self._fitted()
        self._solver = None

    def get_state(self) -> dict[str, Any]:
        """Return the fitted model as a flat dict for a model file.

        Values are arrays and numbers, and under "params" the constructor's arguments as a dict for JSON.
        Training distance matrices are not part of it: predictions need only training coordinates.
        """
        posterior = self._fitted()
        if self._inputs.kept is not None:
            raise InputError("Columns of the trend were dropped, so it cannot be stored: fit without drop_dependent.")
        numbers = (self._single, float(self.log_posterior_), self.importance_, self.n_evaluations_)
        return model_to_state(posterior, self._inputs, ProcessState(self.get_params(deep=False), *numbers))

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RobustGP:
        """Restore a fitted model from `get_state`; it predicts bit for bit the same."""
        posterior, inputs, process = model_from_state(state)
        gp = cls(**process.params)
        gp.log_posterior_, gp.n_evaluations_ = process.log_posterior, process.n_evaluations
        gp.importance_ = process.importance
        gp._adopt(posterior, inputs, process.single, solver=None)
        return gp

    @property
    def train_targets_(self) -> Array:
        """The targets that the process was fitted to, (N, k)."""
        return self._fitted().y

    @property
    def single_(self) -> bool:
        """Whether ``fit`` saw one target, as a one-dimensional array."""
        self._fitted()
        return self._single

    def _adopt(self, posterior: Posterior, known: TrainingInputs, single: bool, solver: Solver | None) -> None:
        """Take over a fitted posterior; ``solver`` is None where training distances are not at hand."""
        self._posterior = posterior
        self._inputs = known
        self._single = single
        self._solver = solver
        self.beta_ = posterior.beta
        self.nugget_ = posterior.nugget
        self.theta_ = self._shaped(posterior.theta)
        self.sigma2_ = float(posterior.sigma2[0]) if single else posterior.sigma2
        self.df_ = posterior.df
        self.range_slices_ = known.range_slices

    def _shaped(self, array: Array) -> Array:
        """Drop the axis of outputs where fit saw a one-dimensional y."""
        return array[..., 0] if self._single else array

    def _fitted(self) -> Posterior:
        if not hasattr(self, "_posterior"):
            from sklearn.exceptions import NotFittedError  # only now: see swwl.estimators

            raise NotFittedError("This RobustGP is not fitted yet: call fit first.")
        return self._posterior

    def _prepare(self, distances: Items, trend_columns: Columns) -> tuple[Posterior, list[Term], Array]:
        """Check what is known of M new points: terms from them to the training points, trend of shape (M, q)."""
        posterior = self._fitted()
        cross, m = self._inputs.cross(distances)
        return posterior, cross, self._inputs.new_trend(trend_columns, m, len(posterior.theta))

    def _joint(
        self, distances: Items, trend_columns: Columns, test_distances: JointItems, include_nugget: bool
    ) -> tuple[Array, Array]:
        """Return the location (M, k) and the joint squared scales (k, M, M) of new points."""
        posterior, cross, trend = self._prepare(distances, trend_columns)
        among = self._inputs.among(test_distances, cross, len(trend))
        return posterior.predict_joint(cross, trend, among, include_nugget)


def _as_start(start: RobustGP | Start | tuple[ArrayLike, float] | None) -> Start | None:
    """Return what `RobustGP.fit` is told to start from."""
    if start is None or isinstance(start, Start):
        return start
    if isinstance(start, RobustGP):
        return start.optimum()
    if not (isinstance(start, (tuple, list)) and len(start) == 2):
        raise InputError(f"start is {start!r}, but a fitted RobustGP or (log_beta, log_nugget) is expected.")
    log_beta, log_nugget = np.asarray(start[0], dtype=float).reshape(-1), float(start[1])
    if not np.isfinite(log_beta).all() or np.isnan(log_nugget) or log_nugget == np.inf:
        raise InputError(f"start is {start!r}, but finite numbers are expected.")
    return Start(log_beta, log_nugget)

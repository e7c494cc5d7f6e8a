"""One kernel with its processes: what a regressor has one of, or several that are stacked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.base import clone

from swwl.errors import InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, Product, as_product
from swwl.kernels.numeric import Gaussian
from swwl.kernels.shared import distinct_factors
from swwl.parallel import Progress
from swwl.tables.inputs import column

_TRENDS = ("constant", "zero", "linear")


def check_trend(trend: str | Sequence[str]) -> None:
    """Refuse a word that names no trend."""
    if isinstance(trend, str) and trend not in _TRENDS:
        raise InputError(f'trend must be "constant", "zero", "linear" or a list of columns, not {trend!r}.')


def trend_factors(
    trend: str | Sequence[str], factors: Sequence[Factor], table: pd.DataFrame | None = None
) -> list[Factor]:
    """Return what standardizes the columns of the trend: the kernel's own factors, or such for the columns named.

    Parameters
    ----------
    trend : {"constant", "zero", "linear"} or sequence of str
    factors : sequence of Factor
        Of the kernel, fitted.
    table : DataFrame
        Where the named columns are.
    """
    if isinstance(trend, str):
        return [factor for factor in factors if factor.takes == "numbers"] if trend == "linear" else []
    standardizers: list[Factor] = [Gaussian(name) for name in trend]
    for factor in standardizers:
        assert table is not None
        factor.fit(column(table, factor.column, "The trend"))
    return standardizers


def trend_matrix(factors: Sequence[Factor], table: pd.DataFrame) -> NDArray[np.float64] | None:
    """Return the standardized columns of the trend, (N, m), or None where there are none."""
    if not factors:
        return None
    return np.column_stack([factor.represent(column(table, factor.column, "The trend")) for factor in factors])


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """How targets are shared out among processes.

    Attributes
    ----------
    names : list of str
        Of the targets.
    single : bool
        Whether there is one target, given without a list around it: then results have no axis for targets.
    shared : bool
        Whether all targets share one process.
    """

    names: list[str]
    single: bool
    shared: bool

    def groups(self, targets: Array) -> list[Array]:
        """Split the targets (N, k) into those that are fitted together, (N, k) or (N,) each."""
        return [targets] if self.shared and not self.single else list(targets.T)

    def join(self, parts: Sequence[Array]) -> Array:
        """Put the results of all processes side by side in the last axis; drop it for a single target."""
        return parts[0] if self.single or self.shared else np.stack(parts, axis=-1)

    def join_predictions(self, parts: Sequence[Prediction]) -> Prediction:
        """Put the predictions of all processes side by side."""
        mean, scale = self.join([part.mean for part in parts]), self.join([part.scale for part in parts])
        return Prediction(mean, scale, parts[0].df)

    def nothing(self, df: float) -> Prediction:
        """Return the prediction of no rows."""
        empty = np.empty((0,) if self.single else (0, len(self.names)))
        return Prediction(empty, empty, df)

    def widths(self, calibration: pd.Series) -> Any:
        """Return the calibration of all targets, in the shape that multiplies their standard deviations."""
        factors = calibration.to_numpy()
        return factors[0] if self.single else factors

    def by_name(self, index: Sequence[str], columns: Sequence[Array]) -> Any:
        """Return a number for every name and process as a Series, or a table with a column per target."""
        names = self.names if len(columns) == len(self.names) else ["all targets"]
        table = pd.DataFrame(np.column_stack(columns), index=list(index), columns=names)
        return table.iloc[:, 0] if len(columns) == 1 else table


class FitCounter:
    """Counts fitted processes and tells the caller."""

    def __init__(self, progress: Progress | None, total: int):
        self._progress, self._done, self._total = progress, 0, total

    def one_more(self) -> None:
        """Count one more."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def fit_processes(
    make_gp: Callable[[list[str]], RobustGP],
    kernel: Product,
    blocks: Sequence[Sequence[Block]],
    targets: list[Array],
    trend_columns: Array | None,
    counter: FitCounter,
) -> list[RobustGP]:
    """Fit a process to every group of targets.

    Parameters
    ----------
    make_gp : callable
        Takes a name per block and returns an unfitted process.
    kernel : Product
    blocks : sequence of sequences of Block
        Those of every factor.
    targets : list of ndarray of shape (N,) or (N, k)
    trend_columns : ndarray of shape (N, m) or None
    counter : FitCounter
    """
    joined, names = kernel.join(blocks), kernel.block_names(blocks)
    gps = []
    for group in targets:
        gps.append(make_gp(names).fit(joined, group, trend_columns))
        counter.one_more()
    return gps


_STEPS = 400


def log_densities(y: Array, predictions: Sequence[Prediction]) -> Array:
    """Return the log density that each of K predictions, arrays of shape (N,), gives to y: shape (N, K).

    Examples
    --------
    >>> flat = Prediction(np.zeros(1), np.ones(1), np.inf)
    >>> log_densities(np.zeros(1), [flat]).round(4).tolist()
    [[-0.9189]]
    """
    columns = []
    for found in predictions:
        scale = np.maximum(found.scale, np.finfo(float).tiny)
        z = (y - found.mean) / scale
        density = norm.logpdf(z) if np.isinf(found.df) else student.logpdf(z, found.df)
        columns.append(density - np.log(scale))
    return np.column_stack(columns)


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
    y: Array, predictions: Sequence[Prediction], folds: Sequence[NDArray[np.intp]]
) -> tuple[Array, Prediction]:
    """Return the weights, and what the mixture says of every row with weights that never saw its fold.

    Parameters
    ----------
    y : ndarray of shape (N,)
    predictions : sequence of K Prediction
        Of every row from the folds without it, arrays of shape (N,).
    folds : sequence of ndarray of int
        The rows of every fold; together all of them, once.
    """
    densities = log_densities(y, predictions)
    weights = stacking_weights(densities)
    if len(predictions) == 1:
        return weights, predictions[0]
    mean, scale = np.empty(len(y)), np.empty(len(y))
    for fold in folds:
        others = np.setdiff1d(np.arange(len(y)), fold)
        found = mixture([part.take(fold) for part in predictions], stacking_weights(densities[others]))
        mean[fold], scale[fold] = found.mean, found.scale
    return weights, Prediction(mean, scale, predictions[0].df)


_MOST_PAIRS = 2048


@dataclass
class Member:
    """A fitted kernel, what its factors made of the training columns, and its processes.

    Attributes
    ----------
    name : str
    kernel : Product
    rows : list
        Training representations, one per factor.
    gps : list of RobustGP
        One per target, or one for all.
    shares : ndarray of shape (inputs, processes)
        How much of what sets cases apart, to each process, comes from each of the kernel's columns; sums of one.
    notes : list of warnings
        What the fits have to say, while they run.
    """

    name: str
    kernel: Product
    rows: list[Any]
    gps: list[RobustGP] = field(default_factory=list)
    shares: Array = field(default_factory=lambda: np.empty((0, 0)))
    notes: list[warnings.WarningMessage] = field(default_factory=list)

    def training_blocks(self) -> list[list[Block]]:
        """Return the blocks of every factor among the training rows."""
        return [factor.training_blocks(rows) for factor, rows in zip(self.kernel.factors, self.rows, strict=True)]

    def new_blocks(
        self, rows: Sequence[Any], joint: bool = False, known: Mapping[int, list[Block]] | None = None
    ) -> tuple[list[Block], list[Block]]:
        """Return joined blocks from new representations to the training rows and, if ``joint``, among themselves.

        ``known`` holds those of some factors, by their places, which are not computed again.
        """
        triples = list(zip(self.kernel.factors, rows, self.rows, strict=True))
        groups = [
            known[place] if known and place in known else factor.new_blocks(new, train)
            for place, (factor, new, train) in enumerate(triples)
        ]
        cross = self.kernel.join(groups)
        among = self.kernel.join([factor.new_blocks(new) for factor, new, _ in triples]) if joint else []
        if self.large:  # only some columns are ever asked for
            return cross, among
        return [block.held() for block in cross], [block.held() for block in among]

    @property
    def large(self) -> bool:
        """Whether its processes are fitted by the solver for many rows."""
        return any(gp.solver != "exact" for gp in self.gps)

    def left_out_blocks(
        self, blocks: Sequence[Sequence[Block]], out: NDArray[np.intp], train: NDArray[np.intp]
    ) -> list[Block]:
        """Return joined blocks from training rows that are left out of a fold to those that are not."""
        triples = zip(self.kernel.factors, self.rows, blocks, strict=True)
        return self.kernel.join([factor.left_out_blocks(rows, own, out, train) for factor, rows, own in triples])

    def predict_joint(self, cross: list[Block], among: list[Block], **options: Any) -> tuple[Array, Array]:
        """Return mean (M, k) and covariances (k, M, M) at new rows, of all targets."""
        found = [gp.predict(cross, return_cov=True, test_distances=among, **options) for gp in self.gps]
        mean = np.column_stack([mean for mean, _ in found])
        return mean, np.concatenate([cov.reshape(-1, len(mean), len(mean)) for _, cov in found])

    def draw(
        self,
        cross: list[Block],
        among: list[Block],
        layout: Layout,
        n_samples: int,
        rng: np.random.Generator,
        **options: Any,
    ) -> tuple[Array, Array]:
        """Return joint samples, (n_samples, M) or (n_samples, M, k), and the mean, (M,) or (M, k)."""
        seeds = rng.integers(2**32, size=len(self.gps)).tolist()
        pairs = zip(self.gps, seeds, strict=True)
        draws = [gp.sample(cross, among, n_samples, seed, **options) for gp, seed in pairs]
        means = [np.asarray(gp.predict(cross, trend_columns=options["trend_columns"])) for gp in self.gps]
        return layout.join(draws), layout.join(means)


class Stack(Product):
    """Several kernels whose predictions are mixed, as one: the factors that differ, each once.

    Parameters
    ----------
    kernels : dict of str to Product
    """

    def __init__(self, kernels: dict[str, Product]):
        self.kernels = kernels
        self.factors, places = distinct_factors(list(kernels.values()))
        found = {one: (i, j) for i, own in enumerate(places) for j, one in enumerate(own)}
        self._homes = [found[one] for one in range(len(self.factors))]  # kernel and place in it, of every factor

    def __repr__(self) -> str:
        return "Stack(" + ", ".join(f"{name!r}: {kernel!r}" for name, kernel in self.kernels.items()) + ")"

    def rows(self, of_kernels: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the representations of the factors, given those of all kernels."""
        return [of_kernels[i][j] for i, j in self._homes]

    def range_names(self) -> list[str]:
        """Return one name per range, behind that of its kernel."""
        return [f"{name}: {own}" for name, kernel in self.kernels.items() for own in kernel.range_names()]

    def units(self) -> Array:
        """Return what one unit of distance is in the units of its column, per range."""
        return np.concatenate([kernel.units() for kernel in self.kernels.values()])


def input_shares(kernel: Product, blocks: Sequence[Block], gps: Sequence[RobustGP], seed: int) -> Array:
    r"""Return how much of what sets two cases apart comes from each column, shape (columns, processes).

    The mean over pairs of :math:`(\beta_l d_l)^2`, summed over the ranges of a column, divided by the sum over all.

    Parameters
    ----------
    kernel : Product
    blocks : sequence of Block
        Joined, among the training rows.
    gps : sequence of RobustGP
        Fitted to them.
    seed : int
        Draws the pairs.
    """
    n = blocks[0].shape[0]
    rng = np.random.default_rng(seed)
    rows = rng.integers(n, size=_MOST_PAIRS)
    others = (rows + rng.integers(1, n, size=_MOST_PAIRS)) % n
    squares = (np.hstack([block.pairs(rows, others) for block in blocks]) ** 2).mean(axis=0)
    owners = np.repeat([factor.column for factor in kernel.factors], [len(f.range_names()) for f in kernel.factors])
    parts = np.column_stack([gp.beta_**2 * squares for gp in gps])
    table = pd.DataFrame(parts).groupby(owners, sort=False).sum().reindex(kernel.columns).to_numpy()
    return table / np.maximum(table.sum(axis=0), np.finfo(float).tiny)


def mean_shares(members: Sequence[Member], weights: Array, columns: Sequence[str]) -> list[Array]:
    """Return the importance of every column for every process: weighted means of shares, one on average.

    Parameters
    ----------
    members : sequence of K Member
    weights : ndarray of shape (K, k)
        For k targets; a process that they share has the mean of its targets'.
    columns : sequence of str
    """
    if weights.shape[1] != len(members[0].gps):
        weights = weights.mean(axis=1, keepdims=True)
    total = np.zeros((len(columns), weights.shape[1]))
    for member, own in zip(members, weights, strict=True):
        places = [columns.index(name) for name in member.kernel.columns]
        total[places] += own * member.shares
    return list(len(columns) * total.T)


def named_kernels(kernel: Any) -> dict[str, Product]:
    """Return copies of one kernel, or of several in a list or a dict, by name; refuse what is not a kernel.

    Examples
    --------
    >>> from swwl.kernels import Matern52
    >>> named_kernels([Matern52("load")])
    {"Matern52('load')": Matern52('load')}
    """
    if isinstance(kernel, (list, tuple)):
        named = {repr(one): one for one in kernel}
    else:
        named = kernel if isinstance(kernel, dict) else {"kernel": kernel}
    if not named:
        raise InputError("The list of kernels is empty; give one, or none at all for the default.")
    return {str(name): clone(as_product(one)) for name, one in named.items()}


def columns_of(kernels: dict[str, Product]) -> NDArray[Any]:
    """Return the columns that any of the kernels needs, each once."""
    return np.array(list(dict.fromkeys(name for kernel in kernels.values() for name in kernel.columns)), dtype=object)


def candidate_table(
    members: Sequence[Member], targets: Array, names: Sequence[str], weights: Array, left_out: Sequence[Prediction]
) -> pd.DataFrame:
    """Say of every candidate and target what it weighs and how well it predicts rows left out.

    Parameters
    ----------
    members : sequence of K Member
    targets : ndarray of shape (N, k)
    names : sequence of str
        Of the targets.
    weights : ndarray of shape (K, k)
    left_out : sequence of K Prediction
        From folds, arrays of shape (N, k); empty where there were none.

    Returns
    -------
    DataFrame
        ``target``, ``candidate``, ``weight`` and ``rmse``.
    """
    rows = []
    for j, target in enumerate(names):
        for i, member in enumerate(members):
            error = targets[:, j] - left_out[i].mean[:, j] if left_out else np.array([np.nan])
            rmse = float(np.sqrt(np.mean(error**2)))
            rows.append({"target": target, "candidate": member.name, "weight": float(weights[i, j]), "rmse": rmse})
    return pd.DataFrame(rows, columns=["target", "candidate", "weight", "rmse"])

"""Stack: all that a fitted regressor predicts with, one kernel with its processes or several that are mixed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.verdict import Reference, Representation, make_reference, number_columns, shapes_alone
from swwl.errors import InputError
from swwl.estimators import clone
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.carried import CarriedMoments, carried, carried_covariance
from swwl.gp.inputs import independent_columns
from swwl.gp.mixed import mixed
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, Product, as_product, differentiable
from swwl.kernels.numeric import Gaussian
from swwl.kernels.shared import distinct_factors, represent_apart
from swwl.parallel import Progress
from swwl.regression.mixture import choose_members, mixture, mixture_covariance
from swwl.regression.regimes import MixedSlopes, Regimes, branches_together, mixed_slopes
from swwl.regression.target_scale import TargetScale
from swwl.regression.together.joint import correlated
from swwl.storage.memory import MemoryLike
from swwl.tables.inputs import column
from swwl.tables.laws import Law

if TYPE_CHECKING:
    from swwl.regression.influence import MeshInfluence
    from swwl.regression.together.link import Link

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

_TRENDS = ("constant", "zero", "linear")


def check_trend(trend: str | Sequence[str]) -> None:
    """Refuse what names no trend, and no columns."""
    known = trend in _TRENDS if isinstance(trend, str) else isinstance(trend, Iterable)
    if not known:
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


def training_trend(factors: Sequence[Factor], table: pd.DataFrame) -> Array | None:
    """Return :func:`trend_matrix` of training rows; refuse a column that is constant or depends on those before it."""
    columns = trend_matrix(factors, table)
    if columns is None or len(columns) < columns.shape[1] + 3:  # too few rows are refused by the fit
        return columns
    kept = independent_columns(np.column_stack([np.ones(len(columns)), columns]))
    for place, factor in enumerate(factors):
        if place + 1 not in kept:
            constant = np.ptp(columns[:, place]) == 0
            what = f"the same in all {len(columns)} rows" if constant else "a linear combination of those before it"
            raise InputError(f"Column {factor.column!r} of the trend is {what}: leave it out of the trend.")
    return columns


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

    def widths(self, calibration: pd.Series) -> float | Array:
        """Return the calibration of all targets, in the shape that multiplies their standard deviations."""
        factors: Array = calibration.to_numpy()
        return float(factors[0]) if self.single else factors

    def by_name(self, index: Sequence[str], columns: Sequence[Array]) -> pd.Series | pd.DataFrame:
        """Return a number for every name and process as a Series, or a table with a column per target."""
        names = self.names if len(columns) == len(self.names) else ["all targets"]
        table = pd.DataFrame(np.column_stack(columns), index=list(index), columns=names)
        return table.iloc[:, 0] if len(columns) == 1 else table


class FitCounter:
    """Counts fitted processes and tells the caller."""

    def __init__(self, progress: Progress | None, total: int):
        self._progress, self._done, self._total = progress, 0, total

    def expect(self, number: int) -> None:
        """Say that so many more will come."""
        self._total += number

    def one_more(self) -> None:
        """Count one more."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)

    def finish(self) -> None:
        """Say that no more will come, also where more were expected."""
        if self._progress is not None and self._done < self._total:
            self._progress(self._done, self._done)


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
    rows: list[Representation]
    gps: list[RobustGP] = field(default_factory=list)
    shares: Array = field(default_factory=lambda: np.empty((0, 0)))
    notes: list[warnings.WarningMessage] = field(default_factory=list)

    def training_blocks(self) -> list[list[Block]]:
        """Return the blocks of every factor among the training rows."""
        return [factor.training_blocks(rows) for factor, rows in zip(self.kernel.factors, self.rows, strict=True)]

    def new_blocks(
        self, rows: Sequence[Representation], joint: bool = False, known: Mapping[int, list[Block]] | None = None
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

    def pull_back(self, new: Sequence[Representation], parts: list[Array], totals: Sequence[Array | None]) -> None:
        """Share the gradients in parts of the blocks out among the factors; add theirs, in their rows, to totals."""
        left = list(parts)
        for factor, own, train, total in zip(self.kernel.factors, new, self.rows, totals, strict=True):
            count = len(factor.correlations())
            mine, left = left[:count], left[count:]
            if total is not None:
                total += differentiable(factor).pull_back(own, train, mine)


class KernelStack(Product):
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
        return "KernelStack(" + ", ".join(f"{name!r}: {kernel!r}" for name, kernel in self.kernels.items()) + ")"

    def rows(self, of_kernels: Sequence[Sequence[Representation]]) -> list[Representation]:
        """Return the representations of the factors, given those of all kernels."""
        return [of_kernels[i][j] for i, j in self._homes]

    def range_names(self) -> list[str]:
        """Return one name per range, behind that of its kernel."""
        return [f"{name}: {own}" for name, kernel in self.kernels.items() for own in kernel.range_names()]

    def units(self) -> Array:
        """Return what one unit of distance is in the units of its column, per range."""
        return np.concatenate([kernel.units() for kernel in self.kernels.values()])


@dataclass
class Represented:
    """M cases as the members of a stack see them; they are embedded once, whatever is asked of them.

    Attributes
    ----------
    rows : list of lists
        What the factors of every member make of the cases.
    trend : ndarray of shape (M, m) or None
        Standardized columns of the trend.
    n : int
        M.
    known : sequence of dicts, optional
        For every member, blocks from the cases to the training rows that are known already, by the places of factors.
    blocks : list of list of Block, optional
        For every member, joined blocks from the cases to the training rows, once they have been asked for.
    sizes : ndarray of shape (M, c), optional
        How coarse the meshes of c columns are, where that matters; see :mod:`swwl.regression.influence`.
    times : ndarray of shape (M, k), optional
        The laws' values, by which targets are multiplied that are learned over a law.
    others : list of Represented
        The same cases as other stacks see them: a helper, or those of single targets.
    """

    rows: list[list[Representation]]
    trend: Array | None
    n: int
    known: Sequence[Mapping[int, list[Block]]] | None = None
    blocks: list[list[Block]] | None = None
    sizes: Array | None = None
    times: Array | None = None
    others: list[Represented] = field(default_factory=list)

    def __len__(self) -> int:
        return self.n

    def take(self, cases: Positions) -> Represented:
        """Return some of the cases."""
        rows = [[some_rows(own, cases) for own in member] for member in self.rows]
        sizes = None if self.sizes is None else self.sizes[cases]
        times = None if self.times is None else self.times[cases]
        trend = None if self.trend is None else self.trend[cases]
        others = [other.take(cases) for other in self.others]
        return Represented(rows, trend, len(cases), sizes=sizes, times=times, others=others)


def some_rows(rows: Representation, cases: Positions) -> Representation:
    """Return a representation of some of the cases."""
    if isinstance(rows, tuple):
        return tuple(some_rows(part, cases) for part in rows)
    return [rows[case] for case in cases] if isinstance(rows, list) else rows[cases]


@dataclass
class Stack:
    """All that a fitted regressor predicts with: one kernel with its processes, or several whose predictions are mixed.

    What it says is the plain process: Student-t predictions, as wide as folds ask for, in the units of the targets;
    members are fitted and mixed on the scales of the targets, and what they say is carried back. Whether a case is so
    unlike the training cases that its interval has to be wider still is for :class:`swwl.RobustGPRegressor` to say.

    Attributes
    ----------
    members : list of K Member
    weights : DataFrame of shape (K, k)
        What every member (rows) weighs for every one of k targets (columns).
    widths : Series of length k
        By how much standard deviations of each target are multiplied.
    trend : list of Factor
        What standardizes the columns of the trend.
    layout : Layout
    stacked : bool
        Whether members were chosen from several candidates; one may be left.
    left_out : Prediction or None
        What the mixture says of every training row from folds without it, arrays of shape (N, k), before ``widths``;
        None where leave-one-out predictions of the processes say it.
    scales : list of k TargetScale
        On which the targets are fitted; none where each is on its own.
    judged : tuple of ndarray of int (J,) and Prediction (J, k), or None
        Which training rows were predicted while they were left out, by fits of their own, and how, before ``widths``;
        None where none were.
    regimes : Regimes or None
        Two experts and a gate beside the members, where training rows follow two branches.
    influence : MeshInfluence or None
        By how far predictions move with how coarse meshes are, as far as that has been measured.
    laws : list of k Law or None
        What the targets are learned over; none where none is.
    other_inputs : dict of str to ndarray of shape (N,)
        The columns of the laws, and those of the trend that no kernel has, of the training rows.
    link : Link or None
        A helper of which more is known, where there is one; its answer is the last column of the trend.
    """

    members: list[Member]
    weights: pd.DataFrame
    widths: pd.Series
    trend: list[Factor]
    layout: Layout
    stacked: bool
    left_out: Prediction | None = None
    scales: list[TargetScale] = field(default_factory=list)
    judged: tuple[Positions, Prediction] | None = None
    regimes: Regimes | None = None
    influence: MeshInfluence | None = None
    laws: list[Law | None] = field(default_factory=list)
    other_inputs: dict[str, Array] = field(default_factory=dict)
    link: Link | None = None

    @cached_property
    def train_times(self) -> Array | None:
        """The laws' values of the training rows, (N, k); None where there is no law."""
        return law_values(self.laws, pd.DataFrame(self.other_inputs))

    @cached_property
    def kernel(self) -> Product:
        """The kernel of the only member, or all kernels as one."""
        if self.stacked:
            return KernelStack({member.name: member.kernel for member in self.members})
        return self.members[0].kernel

    @cached_property
    def train_rows(self) -> list[Representation]:
        """What the factors of :attr:`kernel` made of the training columns."""
        return self.kernel_rows([member.rows for member in self.members])

    @cached_property
    def reference(self) -> Reference:
        """What cases are compared with, learned from the training rows when it is first asked for."""
        std = self.shape_std(self.parts_left_out())
        inputs = pd.DataFrame(number_columns(self.kernel.factors, self.train_rows))
        return make_reference(self.kernel.factors, self.train_rows, self.leave_one_out(), std, inputs)

    @property
    def heaviest(self) -> Member:
        """The member that weighs most."""
        return self.members[int(self.weights.sum(axis=1).argmax())]

    def kernel_rows(self, rows: Sequence[Sequence[Representation]]) -> list[Representation]:
        """Return the representations of the factors of :attr:`kernel`, given those of all members."""
        return list(self.kernel.rows(rows) if isinstance(self.kernel, KernelStack) else rows[0])

    def ranges(self) -> pd.Series | pd.DataFrame:
        """Return the range of every part of the kernels, in the units of its column."""
        units, n_processes = self.kernel.units(), len(self.members[0].gps)
        betas = [np.concatenate([member.gps[j].beta_ for member in self.members]) for j in range(n_processes)]
        with np.errstate(over="ignore"):  # units of a crafted file
            found = [units / beta for beta in betas]
        return self.layout.by_name(self.kernel.range_names(), found)

    def importance(self) -> pd.Series | pd.DataFrame:
        """Return how much every range of one kernel, or every column of several, matters; one on average."""
        if not self.stacked:
            names = self.kernel.range_names()
            return self.layout.by_name(names, [gp.importance_ for gp in self.members[0].gps])
        columns = [str(name) for name in columns_of({member.name: member.kernel for member in self.members})]
        return self.layout.by_name(columns, mean_shares(self.members, self.weights.to_numpy(), columns))

    def represent(
        self, table: pd.DataFrame, progress: Progress | None = None, memory: MemoryLike = None
    ) -> Represented:
        """Return what the factors of every member make of a table."""
        rows, *others = represent_apart(self.kernel_groups(), partial(column, table), progress, memory)
        return self.represented(rows, table, others)

    def columns(self) -> list[str]:
        """Return the columns that predictions need: those of the kernels, the trend, the laws, and of a helper."""
        found = [*columns_of({member.name: member.kernel for member in self.members})]
        found += [factor.column for factor in self.trend] + list(self.other_inputs)
        if self.link is not None:
            found = [name for name in found if name != self.link.column] + self.link.helper.columns()
        return list(dict.fromkeys(found))

    def kernels(self) -> list[Product]:
        """Return all kernels that have to see new cases: those of the members, and what measures meshes."""
        found = [member.kernel for member in self.members]
        return found if self.influence is None else [*found, self.influence.kernel]

    def kernel_groups(self) -> list[list[Product]]:
        """Return :meth:`kernels`, and those of a helper, and of its helper, each fitted to rows of its own."""
        return [self.kernels(), *([] if self.link is None else self.link.helper.kernel_groups())]

    def represented(
        self,
        rows: Sequence[list[Representation]],
        table: pd.DataFrame,
        others: Sequence[Sequence[list[Representation]]] = (),
    ) -> Represented:
        """Return a table as the members see it, given what :meth:`kernel_groups` make of it."""
        rows = list(rows)
        sizes = None if self.influence is None else np.hstack(rows.pop())
        helper = [] if self.link is None else [self.link.helper.represented(others[0], table, others[1:])]
        return self.assembled(rows, table, sizes, helper)

    def assembled(
        self, rows: list[list[Representation]], table: pd.DataFrame, sizes: Array | None, helper: list[Represented]
    ) -> Represented:
        """Put together what is known of cases: representations, sizes of meshes, and how the helper sees them."""
        times = law_values(self.laws, table)
        if self.link is not None:
            table = self.link.completed(table, helper[0])
        trend = trend_matrix(self.trend, table)
        return Represented(rows, trend, len(table), sizes=sizes, times=times, others=helper)

    def predict(self, cases: Represented, include_nugget: bool = True) -> Prediction:
        """Predict cases, arrays of shape (M,) or (M, k)."""
        return self.mixed(self.parts(cases, include_nugget), cases, include_nugget)

    def training_cases_at(self, given: Mapping[str, float | str]) -> Represented:
        """Return the training cases with some inputs at given values, the same for all: nothing is embedded again."""
        if self.link is not None:
            raise InputError("Conditions cannot be fixed for a model that is helped by another.")

        def at(factor: Factor, own: Representation) -> Representation:
            known = factor.column in given
            return factor.represent(pd.Series([given[factor.column]] * n)) if known else own

        n = len(self.members[0].gps[0].train_targets_)
        rows = [[at(*pair) for pair in zip(m.kernel.factors, m.rows, strict=True)] for m in self.members]
        numbers = number_columns(self.kernel.factors, self.train_rows) | self.other_inputs
        table = pd.DataFrame(numbers, index=range(n)).assign(**given)
        return Represented(rows, trend_matrix(self.trend, table), n, times=law_values(self.laws, table))

    def parts(self, cases: Represented, include_nugget: bool = True) -> list[Prediction]:
        """Return what every member by itself predicts."""
        return [
            self.layout.join_predictions(
                [
                    gp.predict_distribution(cross, include_nugget=include_nugget, trend_columns=cases.trend)
                    for gp in member.gps
                ]
            )
            for member, cross in zip(self.members, self._cross(cases), strict=True)
        ]

    def mixed(self, parts: Sequence[Prediction], cases: Represented, include_nugget: bool = True) -> Prediction:
        """Make one prediction of those of all members, and of the experts where there are two regimes."""
        found = mixture(parts, self._weights())
        if self.regimes is not None:
            cross = self._cross(cases)[self.regimes.base]
            experts, second = self.regimes.predict(cross, cases.trend, include_nugget)
            weights = self.regimes.weights(second)
            whole = mixed([found.columns(), *experts], weights)
            found = whole.column(0) if self.layout.single else whole
        if self.link is not None:
            found = found.widened(self.link.widening(found, cases.others[0], include_nugget))
        # Means are carried back before widths are applied: how wide intervals have to be must not move them.
        return carried(found, self.scales, times=cases.times).widened(self.layout.widths(self.widths))

    def _cross(self, cases: Represented) -> list[list[Block]]:
        """Return joined blocks from cases to the training rows for every member; they are computed once."""
        if cases.blocks is None:
            known = cases.known or [{}] * len(self.members)
            triples = zip(self.members, cases.rows, known, strict=True)
            cases.blocks = [member.new_blocks(rows, known=own)[0] for member, rows, own in triples]
        return cases.blocks

    def joint(
        self, cases: Represented, include_nugget: bool = True, factors: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the mean (M, k) and the joint covariances (k, M, M) of cases; ``factors`` (M, k) widen them."""

        def in_units(mean: Array, cov: Array, df: float) -> tuple[Array, Array]:
            return self._carried_joint(mean, cov, df, factors, cases.times)

        return self._joint_of_all(cases, include_nugget, in_units)

    def process_covariance(self, cases: Represented, include_nugget: bool = True) -> Array:
        """Return the joint covariances (k, M, M) of cases on the scales of the processes, as wide as folds ask for."""
        squares = self.widths.to_numpy()[:, None, None] ** 2
        return self._joint_of_all(cases, include_nugget, lambda mean, cov, _: (mean, squares * cov))[1]

    def _joint_of_all(
        self, cases: Represented, include_nugget: bool, carry: Callable[[Array, Array, float], tuple[Array, Array]]
    ) -> tuple[Array, Array]:
        """Return mean (M, k) and covariances (k, M, M) of the members and, where there are two regimes, the experts.

        ``carry`` takes those of a process, with its degrees of freedom, to where they are mixed.
        """
        pairs = [
            member.predict_joint(*blocks, include_nugget=include_nugget, trend_columns=cases.trend)
            for member, blocks in self._joint_blocks(cases)
        ]
        means, covs = (np.stack(parts) for parts in zip(*pairs, strict=True))
        together = mixture_covariance(means, covs, self.weights.to_numpy())
        if self.link is not None:
            added = self.link.helper.process_covariance(cases.others[0], include_nugget)
            together = (together[0], together[1] + self.link.slope**2 * added)
        mean, cov = carry(*together, self._df)
        if self.regimes is None:
            return mean, cov
        experts, second = self.regimes.joint(*self._of_base(cases), cases.trend, include_nugget)
        every = [carry(*own, gps[0].df_) for own, gps in zip(experts, self.regimes.experts, strict=True)]
        means, covs = (np.stack(parts) for parts in zip(*every, strict=True))
        own_mean, own_cov = branches_together(means, covs, second)
        shares = np.stack([1.0 - self.regimes.shares, self.regimes.shares])
        return mixture_covariance(np.stack([mean, own_mean]), np.stack([cov, own_cov]), shares)

    def _carried_joint(
        self, mean: Array, cov: Array, df: float, factors: Array | None, times: Array | None
    ) -> tuple[Array, Array]:
        """Return mean (M, k) and covariances (k, M, M) in the units of the targets, as wide as they should be."""
        widths = self.widths.to_numpy()
        across = np.ones(mean.shape).T if factors is None else factors.reshape(mean.shape).T
        wide = cov * widths[:, None, None] ** 2
        if factors is not None:
            wide = wide * across[:, :, None] * across[:, None, :]
        for k, scale in enumerate(self.scales):
            if not scale.is_identity:
                mean[:, k], wide[k] = carried_covariance(scale, mean[:, k], cov[k], df, widths[k] * across[k])
        if times is None:
            return mean, wide
        return times * mean, times.T[:, :, None] * wide * times.T[:, None, :]

    def sample(
        self,
        cases: Represented,
        n_samples: int,
        rng: np.random.Generator,
        include_nugget: bool = False,
        correlation: Array | None = None,
    ) -> Array:
        """Draw joint samples at cases, (n_samples, M) or (n_samples, M, k); ``correlation`` (k, k) is that of targets.

        Without it, targets are drawn by themselves.
        """
        found = self.process_sample(cases, n_samples, rng, include_nugget)
        if correlation is not None:
            told = self.predict(cases, include_nugget).process.columns()
            found = correlated(found, told.mean, told.std, correlation)
        if self.layout.single:
            found = self.scales[0].inverse(found) if self.scales else found
            return found if cases.times is None else cases.times[:, 0] * found
        for k, scale in enumerate(self.scales):
            found[..., k] = scale.inverse(found[..., k])
        return found if cases.times is None else cases.times * found

    def process_sample(
        self, cases: Represented, n_samples: int, rng: np.random.Generator, include_nugget: bool = False
    ) -> Array:
        """Draw joint samples on the scales of the processes, shape (n_samples, M) or (n_samples, M, k)."""
        pairs = [
            member.draw(*blocks, self.layout, n_samples, rng, include_nugget=include_nugget, trend_columns=cases.trend)
            for member, blocks in self._joint_blocks(cases)
        ]
        draws, means = zip(*pairs, strict=True)
        weights = self._weights()
        mean: Array = (weights[:, None] * np.stack(means)).sum(axis=0)
        drawn = draws[0] if len(draws) == 1 else choose_members(np.stack(draws), weights, rng)
        if self.regimes is not None:
            drawn, mean = self._with_regimes(cases, drawn, mean, rng, include_nugget)
        if self.link is not None:
            other = self.link.helper.process_sample(cases.others[0], n_samples, rng, include_nugget)
            added = self.link.slope * (other - self.link.told(cases.others[0]).mean)
            drawn = drawn + added.reshape(drawn.shape)
        return np.asarray(mean + self.layout.widths(self.widths) * (drawn - mean))

    def _with_regimes(
        self, cases: Represented, draws: Array, mean: Array, rng: np.random.Generator, include_nugget: bool
    ) -> tuple[Array, Array]:
        """Return samples and mean of the stack with those of the experts, which take the place of some draws."""
        regimes = self.regimes
        assert regimes is not None
        drawn, own = regimes.sample(*self._of_base(cases), cases.trend, len(draws), rng, include_nugget)
        shares = regimes.shares
        if self.layout.single:
            drawn, own, shares = drawn[..., 0], own[..., 0], shares[0]
        pairs = np.stack([1.0 - shares, shares])
        return choose_members(np.stack([draws, drawn]), pairs, rng), (1.0 - shares) * mean + shares * own

    def _of_base(self, cases: Represented) -> tuple[list[Block], list[Block]]:
        """Return the blocks, to the training rows and among the cases, that the experts predict with."""
        assert self.regimes is not None
        return self.members[self.regimes.base].new_blocks(cases.rows[self.regimes.base], joint=True)

    def leave_one_out(self) -> Prediction:
        """Predict every training row from others, arrays of shape (N,) or (N, k)."""
        if self.left_out is None:
            found = mixture(self.parts_left_out(), self._weights())
        else:
            found = self.left_out.column(0) if self.layout.single else self.left_out
        return carried(found, self.scales, times=self.train_times).widened(self.layout.widths(self.widths))

    def cross_validation(self) -> tuple[Positions, Prediction] | None:
        """Return which training rows were left out of fits of their own and what these say, arrays of shape (J, k)."""
        if self.judged is None:
            return None
        rows, found = self.judged
        times = None if self.train_times is None else self.train_times[rows]
        return rows, carried(found, self.scales, times=times).widened(self.widths.to_numpy())

    def parts_left_out(self) -> list[Prediction]:
        """Return what every member by itself predicts for training rows from all others, ranges fixed."""
        return [self.layout.join_predictions([gp.leave_one_out() for gp in m.gps]) for m in self.members]

    def shape_std(self, parts: Sequence[Prediction]) -> Array:
        """Return the standard deviations (M, k) that members on shapes alone give; those of all if there are none."""
        chosen = [i for i, member in enumerate(self.members) if shapes_alone(member.kernel)]
        chosen = chosen or list(range(len(self.members)))
        weights = self.weights.to_numpy()[chosen] + np.finfo(float).tiny
        return mixture([parts[i].columns() for i in chosen], weights / weights.sum(axis=0)).columns().std

    def check_differentiable(self, std: bool) -> None:
        """Refuse processes whose predictions, or whose standard deviations, have no derivatives."""
        if self.link is not None:
            if self.link.helper.regimes is not None:
                raise InputError(
                    f"{self.layout.names[0]} is helped by {self.link.column}, which has two regimes, and derivatives "
                    f"of both together are not available: fit with regimes='one', or targets_together=False."
                )
            self.link.helper.check_differentiable(std)
        for member in self.members:
            for gp in member.gps:
                gp.check_differentiable(std)
                if self._carried and not gp.has_std_slope:
                    raise InputError(
                        "A target that is not fitted on its own scale has a mean that moves with its std, which has no "
                        "derivative here: fit with target_scale='identity'."
                    )

    def linearize(
        self,
        values: Mapping[str, object],
        row: pd.DataFrame,
        chosen: Sequence[int],
        std: bool,
        of_process: bool = False,
    ) -> tuple[Array, dict[str, Array]]:
        """Differentiate the prediction of one case.

        Parameters
        ----------
        values : mapping of str to object
            The entry of every column; meshes and graphs as :class:`~swwl.embedding.linear.Source`.
        row : DataFrame
            The same as a table of one row, for the trend.
        chosen : sequence of int
            The places of t targets.
        std : bool
            Whether to differentiate standard deviations, too.
        of_process : bool
            Whether to stay on the scale of the process.

        Returns
        -------
        moments : ndarray of shape (2, t)
            Mean and standard deviation of the chosen targets.
        columns : dict of str to ndarray
            Gradients of both, target by target, in what every column holds: (n, d, m) of graphs and (m,) of numbers,
            m = 2 t, or t without those of the standard deviations.
        """
        members = [*self.members, *self._expert_members()]
        factors, places = distinct_factors([member.kernel for member in members])
        linear = [  # a category cannot change by little
            None if factor.takes == "categories" else differentiable(factor).linear(values[factor.column])
            for factor in factors
        ]
        told = None if self.link is None else self.link.linear(values, row)
        if self.link is not None and told is not None:
            row = row.assign(**{self.link.column: told.mean})
        trend = trend_matrix(self.trend, row)
        rows, predictions = [], []
        for member, own in zip(members, places, strict=True):
            new = [
                factor.represent([values[factor.column]])
                if (known := linear[place]) is None
                else differentiable(factor).of_row(known.row)
                for factor, place in zip(member.kernel.factors, own, strict=True)
            ]
            cross, _ = member.new_blocks(new)
            rows.append(new)
            inner = std or self._carried or self.regimes is not None
            predictions.append([gp.linearize(cross, std=inner, trend_columns=trend) for gp in member.gps])
        found = [(np.concatenate([p.mean for p in own]), np.concatenate([p.std for p in own])) for own in predictions]
        added = 0.0 if self.link is None or told is None else self.link.slope * told.std
        slopes = [self._slopes(found, t, added, of_process) for t in chosen]
        n_columns = (1 + std) * len(chosen)
        in_rows = [None if known is None else np.zeros((len(known.row), n_columns)) for known in linear]
        in_trend = np.zeros((trend.shape[1] if trend is not None else 0, n_columns))
        for i, (member, own) in enumerate(zip(members, places, strict=True)):
            in_mean, in_std = (np.zeros((len(found[i][0]), n_columns)) for _ in range(2))
            for j, t in enumerate(chosen):
                own_columns = slice((1 + std) * j, (1 + std) * (j + 1))
                target = t if len(in_mean) > 1 else 0  # the gate has one, whatever the targets
                in_mean[target, own_columns], in_std[target, own_columns] = slopes[j].of_parts[i][: 1 + std].T
            start = 0
            for prediction in predictions[i]:
                stop = start + len(prediction.mean)
                parts, of_trend = prediction.pull_back(in_mean[start:stop], in_std[start:stop])
                start = stop
                in_trend += of_trend[len(of_trend) - len(in_trend) :]  # a constant comes first
                member.pull_back(rows[i], parts, [in_rows[place] for place in own])
        columns: dict[str, Array] = {}
        for factor, known, gradient in zip(factors, linear, in_rows, strict=True):
            if known is not None and gradient is not None:
                columns[factor.column] = columns.get(factor.column, np.zeros(())) + known.pull_back(gradient)
        for factor, slope in zip(self.trend, in_trend, strict=True):
            known = differentiable(factor).linear(row[factor.column].iloc[0])
            columns[factor.column] = columns.get(factor.column, np.zeros(())) + known.pull_back(slope[None])
        if self.link is not None and told is not None:
            in_mean = columns.pop(self.link.column)
            in_std = self.link.slope * np.concatenate([own.of_added[: 1 + std] for own in slopes])
            for name, gradient in told.pull_back(in_mean, in_std).items():
                columns[name] = columns.get(name, np.zeros(())) + gradient
        moments = np.array([[own.mean, own.std] for own in slopes]).T
        return (moments, columns) if of_process else self._times_laws(moments, columns, row, chosen, std)

    def _times_laws(
        self, moments: Array, columns: dict[str, Array], row: pd.DataFrame, chosen: Sequence[int], std: bool
    ) -> tuple[Array, dict[str, Array]]:
        """Multiply moments and gradients by the laws' values: (s m)' is s m' + s' m. See :meth:`linearize`."""
        times = law_values(self.laws, row)
        if times is None:
            return moments, columns
        own = times[0, list(chosen)]
        found = {name: slopes * np.repeat(own, 1 + std) for name, slopes in columns.items()}
        for j, t in enumerate(chosen):
            law = self.laws[t]
            for name, slope in ({} if law is None else law.slopes(row)).items():
                found.setdefault(name, np.zeros((1 + std) * len(chosen)))
                found[name][(1 + std) * j : (1 + std) * (j + 1)] += slope[0] * moments[: 1 + std, j]
        return moments * own, found

    def _slopes(
        self, found: Sequence[tuple[Array, Array]], t: int, added: float = 0.0, of_process: bool = False
    ) -> MixedSlopes:
        """Return mean and std of target t, and their derivatives in those of all members and experts.

        Parameters
        ----------
        found : sequence of pairs of ndarrays
            Means and standard deviations of every member, (k,), of both experts and of the gate, (1,).
        t : int
        added : float
            What a helper adds to the standard deviation of the process, in squares.
        of_process : bool
            Whether to stay on the scale of the process.
        """
        scale = self.scales[t] if self.scales and not of_process else TargetScale()
        width = float(self.widths.to_numpy()[t])
        weights = self.weights.to_numpy()[:, t]
        means, stds = (np.array([one[i][t] for one in found[: len(weights)]]) for i in range(2))
        mean = float(weights @ means)
        spread = float(np.sqrt(weights @ (stds**2 + (means - mean) ** 2)))
        tame = 0.0 < spread < np.inf  # otherwise nobody asks for its derivative
        share = weights / spread if tame else np.zeros(len(weights))
        own_stds = stds if tame else np.zeros(len(stds))
        in_plain = [
            np.array([[w, 0.0], [s * (m - mean), s * own]])
            for w, s, m, own in zip(weights, share, means, own_stds, strict=True)
        ]
        whole_spread = float(np.hypot(spread, added))
        plain = CarriedMoments.of(scale, mean, whole_spread, self._df, width)
        if self.regimes is None:
            sides = (spread / whole_spread, added / whole_spread) if tame else (1.0, 0.0)
            of_own, of_added = plain.of_both * [1.0, sides[0]], plain.of_both[:, 1] * sides[1]
            return MixedSlopes(plain.mean, plain.std, [of_own @ own for own in in_plain], of_added)
        experts = [
            CarriedMoments.of(scale, float(m[t]), float(s[t]), gps[t].df_, width)
            for (m, s), gps in zip(found[len(weights) : -1], self.regimes.experts, strict=True)
        ]
        gate = Prediction.from_std(*found[-1], self.regimes.gate.df_)
        whole = mixed_slopes([plain, *experts], float(self.regimes.shares[t]), gate)
        of_plain, *of_others = whole.of_parts
        return MixedSlopes(whole.mean, whole.std, [*(of_plain @ own for own in in_plain), *of_others])

    def _expert_members(self) -> list[Member]:
        """Return both experts and the gate as members with the rows they were fitted to; none without regimes."""
        if self.regimes is None:
            return []
        base, groups = self.members[self.regimes.base], [*self.regimes.experts, [self.regimes.gate]]
        every = [*self.regimes.branches(), np.flatnonzero(self.regimes.known)]
        return [
            Member(base.name, base.kernel, [some_rows(own, rows) for own in base.rows], gps)
            for rows, gps in zip(every, groups, strict=True)
        ]

    @property
    def _carried(self) -> bool:
        """Whether any target is fitted on another scale than its own."""
        return any(not scale.is_identity for scale in self.scales)

    @property
    def _df(self) -> float:
        return self.members[0].gps[0].df_

    def _weights(self) -> Array:
        """Return the weights (K, k), or (K,) for a single target."""
        found: Array = self.weights.to_numpy()
        return found[:, 0] if self.layout.single else found

    def _joint_blocks(self, cases: Represented) -> list[tuple[Member, tuple[list[Block], list[Block]]]]:
        pairs = zip(self.members, cases.rows, strict=True)
        return [(member, member.new_blocks(rows, joint=True)) for member, rows in pairs]


def law_values(laws: Sequence[Law | None], table: pd.DataFrame) -> Array | None:
    """Return the laws' values of every row, (N, k), ones for targets without; None where there is no law."""
    if not any(laws):
        return None
    return np.column_stack([np.ones(len(table)) if law is None else law.values(table) for law in laws])


def other_inputs(
    laws: Sequence[Law | None], trend: Sequence[Factor], members: Sequence[Member], table: pd.DataFrame
) -> dict[str, Array]:
    """Return the columns of a table that laws need, and those of the trend that no kernel has, (N,) each."""
    known = {name for member in members for name in number_columns(member.kernel.factors, member.rows)}
    names = [name for law in laws if law is not None for name in law.columns.values()]
    names += [factor.column for factor in trend if factor.column not in known]
    return {name: table[name].to_numpy(dtype=np.float64) for name in dict.fromkeys(names)}


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

"""JoinedStack: targets with rows of their own, side by side, as one stack of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.verdict import Reference, Representation, make_reference, number_columns
from swwl.errors import InputError
from swwl.gp.carried import CarriedPrediction, carried
from swwl.gp.prediction import Prediction, to_std
from swwl.kernels.base import Product
from swwl.regression.mixture import mixture
from swwl.regression.stack import Layout, Member, Represented, Stack
from swwl.regression.target_scale import TargetScale

Array = NDArray[np.float64]


def with_df(prediction: Prediction, df: float) -> Prediction:
    """Return predictions of the same mean and standard deviation with other degrees of freedom.

    Examples
    --------
    >>> found = with_df(Prediction(np.zeros(1), np.ones(1), np.inf), 4.0)
    >>> found.std.round(12).tolist(), found.df
    ([1.0], 4.0)
    """
    if prediction.df == df:
        return prediction
    if isinstance(prediction, CarriedPrediction):
        fitted = with_df(prediction.fitted, df)
        return carried(fitted, prediction.scales, prediction.mean, prediction.times)
    unit = float(to_std(np.ones(1), df)[0]) if df > 2 else 1.0
    spread = prediction.std if prediction.df > 2 else prediction.scale
    return Prediction(prediction.mean, spread / unit, df)


class JoinedStack(Stack):
    """Stacks of single targets that were fitted to different rows of one table.

    Parameters
    ----------
    stacks : list of k Stack
        Some may be helped by others.
    names : list of k str
    base : int
        The target of which most rows are known: its kernels say how cases compare.
    rows : list
        What the factors of its kernel make of all N training rows.
    left_out : Prediction
        What is said of every training row from others, or of cells that are missing, on the scales of the processes,
        before ``widths``; arrays of shape (N, k).
    usual : ndarray of shape (N, k)
        Standard deviations of the kernels that look at shapes alone, of the same.
    other_inputs : dict of str to ndarray of shape (N,)
        Columns of laws and trends, of all training rows.
    """

    def __init__(
        self,
        stacks: list[Stack],
        names: list[str],
        base: int,
        rows: list[Representation],
        left_out: Prediction,
        usual: Array,
        other_inputs: dict[str, Array],
    ):
        self.stacks, self.base, self.base_rows, self.usual = stacks, base, rows, usual
        members = [
            Member(f"{name}: {m.name}", m.kernel, m.rows, m.gps, m.shares)
            for name, stack in zip(names, stacks, strict=True)
            for m in stack.members
        ]
        weights = np.zeros((len(members), len(names)))
        start = 0
        for k, stack in enumerate(stacks):
            weights[start : start + len(stack.members), k] = stack.weights.to_numpy()[:, 0]
            start += len(stack.members)
        scales = [stack.scales[0] if stack.scales else TargetScale() for stack in stacks]
        laws = [stack.laws[0] if stack.laws else None for stack in stacks]
        super().__init__(
            members,
            pd.DataFrame(weights, index=[member.name for member in members], columns=names),
            pd.Series([float(stack.widths.iloc[0]) for stack in stacks], index=names),
            [],
            Layout(names, single=False, shared=False),
            stacked=True,
            left_out=left_out,
            scales=scales if any(not scale.is_identity for scale in scales) else [],
            judged=(np.arange(len(left_out)), left_out),
            laws=laws if any(laws) else [],
            other_inputs=other_inputs,
        )

    @cached_property
    def kernel(self) -> Product:
        """That of the target of which most is known."""
        return self.stacks[self.base].kernel

    @cached_property
    def train_rows(self) -> list[Representation]:
        """What its factors make of all training rows."""
        return self.base_rows

    @cached_property
    def reference(self) -> Reference:
        """What cases are compared with: all training rows."""
        inputs = pd.DataFrame(number_columns(self.kernel.factors, self.train_rows))
        return make_reference(self.kernel.factors, self.train_rows, self.leave_one_out(), self.usual, inputs)

    @property
    def heaviest(self) -> Member:
        """The heaviest member of the target of which most is known."""
        return self.stacks[self.base].heaviest

    def kernel_rows(self, rows: Sequence[Sequence[Representation]]) -> list[Representation]:
        """Return the representations of the factors of :attr:`kernel`."""
        return self.stacks[self.base].kernel_rows(rows)

    def ranges(self) -> pd.DataFrame:
        """Return the range of every part of the kernels of every target, infinite where a target has none."""
        return self._by_target([stack.ranges() for stack in self.stacks], np.inf)

    def importance(self) -> pd.DataFrame:
        """Return how much every input matters to every target."""
        return self._by_target([stack.importance() for stack in self.stacks], 0.0)

    def _by_target(self, parts: Sequence[pd.Series | pd.DataFrame], otherwise: float) -> pd.DataFrame:
        columns = [part.iloc[:, 0] if isinstance(part, pd.DataFrame) else part for part in parts]
        return pd.concat(columns, axis=1, keys=self.layout.names).fillna(otherwise)

    def kernel_groups(self) -> list[list[Product]]:
        """Return the kernels of all targets and their helpers, group by group."""
        return [group for stack in self._distinct() for group in stack.kernel_groups()]

    def columns(self) -> list[str]:
        """Return the columns that predictions of any target need."""
        return list(dict.fromkeys(name for stack in self.stacks for name in stack.columns()))

    def _distinct(self) -> list[Stack]:
        return self.stacks

    def represented(
        self,
        rows: Sequence[list[Representation]],
        table: pd.DataFrame,
        others: Sequence[Sequence[list[Representation]]] = (),
    ) -> Represented:
        """Return a table as all targets see it, given what :meth:`kernel_groups` make of it."""
        groups, found = [rows, *others], []
        for stack in self.stacks:
            own, groups = groups[: len(stack.kernel_groups())], groups[len(stack.kernel_groups()) :]
            found.append(stack.represented(own[0], table, own[1:]))
        return self.beside(found)

    def beside(self, cases: list[Represented]) -> Represented:
        """Return cases as all targets see them, given those of each."""
        base = cases[self.base]
        times = None
        if self.laws:
            ones = np.ones((len(base), 1))
            times = np.hstack([ones if one.times is None else one.times for one in cases])
        return Represented(base.rows, None, len(base), sizes=base.sizes, times=times, others=cases)

    def parts(self, cases: Represented, include_nugget: bool = True) -> list[Prediction]:
        """Return what every member by itself predicts, target by target."""
        pairs = zip(self.stacks, cases.others, strict=True)
        return [part for stack, own in pairs for part in stack.parts(own, include_nugget)]

    def mixed(self, parts: Sequence[Prediction], cases: Represented, include_nugget: bool = True) -> Prediction:
        """Make one prediction, arrays of shape (M, k), of those of all members."""
        triples = zip(self.stacks, self._split(parts), cases.others, strict=True)
        return self.together([stack.mixed(own, case, include_nugget) for stack, own, case in triples])

    def together(self, parts: Sequence[Prediction]) -> Prediction:
        """Return predictions of all targets, (M,) each, as one."""
        df = min(part.df for part in parts)
        return Prediction.joined([with_df(part.column(0), df) for part in parts], targets=True)

    def shape_std(self, parts: Sequence[Prediction]) -> Array:
        """Return the standard deviations (M, k) that members on shapes alone give."""
        pairs = zip(self.stacks, self._split(parts), strict=True)
        return np.hstack([stack.shape_std(own) for stack, own in pairs])

    def _split(self, parts: Sequence[Prediction]) -> list[list[Prediction]]:
        found, left = [], list(parts)
        for stack in self.stacks:
            found.append(left[: len(stack.members)])
            left = left[len(stack.members) :]
        return found

    def joint(
        self, cases: Represented, include_nugget: bool = True, factors: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the mean (M, k) and the joint covariances (k, M, M) of cases."""
        found = [
            stack.joint(own, include_nugget, None if factors is None else factors[:, k])
            for k, (stack, own) in enumerate(zip(self.stacks, cases.others, strict=True))
        ]
        return np.hstack([mean for mean, _ in found]), np.concatenate([cov for _, cov in found])

    def process_sample(
        self, cases: Represented, n_samples: int, rng: np.random.Generator, include_nugget: bool = False
    ) -> Array:
        """Draw samples of every target at cases, on the scales of the processes, (n_samples, M, k)."""
        pairs = zip(self.stacks, cases.others, strict=True)
        return np.stack([stack.process_sample(own, n_samples, rng, include_nugget) for stack, own in pairs], axis=-1)

    def check_differentiable(self, std: bool) -> None:
        """Refuse processes whose predictions have no derivatives."""
        for stack in self.stacks:
            stack.check_differentiable(std)

    def linearize(
        self,
        values: Mapping[str, object],
        row: pd.DataFrame,
        chosen: Sequence[int],
        std: bool,
        of_process: bool = False,
    ) -> tuple[Array, dict[str, Array]]:
        """Differentiate the prediction of one case, target by target; see :meth:`swwl.regression.stack.Stack`."""
        found = [self.stacks[t].linearize(values, row, [0], std, of_process) for t in chosen]
        names = dict.fromkeys(name for _, columns in found for name in columns)
        like = {name: next(own[name] for _, own in found if name in own) for name in names}
        columns = {
            name: np.concatenate([own.get(name, np.zeros_like(like[name])) for _, own in found], axis=-1)
            for name in names
        }
        return np.hstack([moments for moments, _ in found]), columns

    def training_cases_at(self, given: Mapping[str, float | str]) -> Represented:
        """Refuse: training rows of targets differ."""
        raise InputError("Conditions cannot be fixed for a model whose targets have missing cells.")


def joined(stacks: list[Stack], names: list[str], table: pd.DataFrame, known: NDArray[np.bool_]) -> JoinedStack:
    """Put stacks of single targets side by side.

    Parameters
    ----------
    stacks : list of k Stack
    names : list of k str
    table : DataFrame of N rows
        Inputs of all training rows.
    known : ndarray of bool, shape (N, k)
        Which cells each stack was fitted to.
    """
    base = int(known.sum(axis=0).argmax())
    n, k = known.shape
    nothing = Prediction(np.zeros((n, k)), np.ones((n, k)), np.inf)
    others: dict[str, Array] = {}
    for name in dict.fromkeys(name for stack in stacks for name in stack.other_inputs):
        others[name] = table[name].to_numpy(dtype=np.float64)
    empty = JoinedStack(stacks, names, base, [], nothing, np.ones((n, k)), others)
    cases = empty.represent(table)
    told, usual = [], np.empty((n, k))
    for t, (stack, own) in enumerate(zip(stacks, cases.others, strict=True)):
        rows = known[:, t]
        parts, left = stack.parts(own), stack.parts_left_out()
        usual[:, t] = stack.shape_std(parts)[:, 0]
        usual[rows, t] = stack.shape_std(left)[:, 0]
        plain = stack.mixed(parts, own).column(0).process
        plain = replace(plain, scale=plain.scale / float(stack.widths.iloc[0]))
        found = stack.left_out
        found = mixture(left, stack.weights.to_numpy()[:, 0]).columns() if found is None else found
        mean, scale = plain.mean.copy(), plain.scale.copy()
        mean[rows], scale[rows] = found.mean[:, 0], with_df(found, plain.df).scale[:, 0]
        told.append(Prediction(mean, scale, plain.df))
    left_out = empty.together(told)
    rows_of_base = stacks[base].kernel_rows(cases.others[base].rows)
    return JoinedStack(stacks, names, base, rows_of_base, left_out, usual, others)

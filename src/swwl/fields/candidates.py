"""Which kernel, descriptors, range, shrinkage and warp a field gets: by folds of training meshes, modes refitted.

The lists are short and fixed, and each stage goes on with the best of the one before: amplitudes, descriptors and
ranges, warps, shrinkages, kernels, amplitudes again (:func:`choose`). Sizes of modes are predicted by Gaussian
processes on a kernel (:class:`ModeKernel`): leading modes have ranges of their own, all others share theirs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from swwl.errors import GPWarning
from swwl.fields.coding import Candidate, Coded, FieldData, code_nodes, code_smooth
from swwl.fields.geometry.descriptors import Describer, Recipe
from swwl.fields.scores import mesh_score, pooled
from swwl.fields.values import possible_warps
from swwl.formatting import Record
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.folds import shuffled_folds
from swwl.gp.search import Start
from swwl.regression.stack import Member

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

RANGES = (0.7, 1.5)
SHRINKAGES = (1e-6, 1e-5, 1e-4)
# Offsets to groups spread the nodes of a mesh over little of the space of descriptors; the pooled field has the rest.
SHRINKAGES_OF_GROUPS = (1e-2, 1e-4, 1e-6)
_FOLDS = 4
_OWN = 6
# Of shared nodes more modes are exact enough to learn ranges from.
OWN_OF_NODES = 12
# From so many ranges on, the robust prior would pull all of them to long ones.
_MANY_RANGES = 10
# Fields as amplitudes times shapes have to be better by this.
_WORTH = 1.05


def groups_of(number: int, own: int = _OWN) -> list[slice]:
    """Return which modes share a process: none of the leading ones, all of the others.

    Examples
    --------
    >>> groups_of(8)[-2:]
    [slice(5, 6, None), slice(6, 8, None)]
    """
    alone = [slice(j, j + 1) for j in range(min(own, number))]
    return alone + ([slice(own, number)] if number > own else [])


@dataclass(frozen=True)
class ModeKernel:
    """A kernel among training rows, and processes of modes on it.

    Attributes
    ----------
    member : Member
    groups : list of list of Block
        Of every factor, held.
    seed : int
    """

    member: Member
    groups: list[list[Block]]
    seed: int

    @classmethod
    def of(cls, member: Member, seed: int) -> ModeKernel:
        """Hold the blocks of a kernel."""
        return cls(member, [[block.held() for block in group] for group in member.training_blocks()], seed)

    def among(self, rows: Rows | None = None) -> list[Block]:
        """Return joined blocks among some training rows, or all."""
        joined = self.member.kernel.join(self.groups)
        return joined if rows is None else [block.take(rows) for block in joined]

    def cross(self, out: Rows, train: Rows) -> list[Block]:
        """Return joined blocks from rows that are left out to others."""
        return self.member.left_out_blocks(self.groups, out, train)

    def process(self, nugget: float | str = "estimate", beta: Array | None = None) -> RobustGP:
        """Return an unfitted process on this kernel."""
        prior = "gentle" if len(self.member.kernel.range_names()) >= _MANY_RANGES else "robust"
        correlations = self.member.kernel.correlations()
        return RobustGP(correlations, nugget, beta=beta, n_starts=1, prior=prior, random_state=self.seed)

    def fit(
        self,
        sizes: Array,
        rows: Rows | None = None,
        groups: Sequence[slice] | None = None,
        starts: Sequence[Start] | None = None,
        max_iter: int | None = None,
        on_fit: Callable[[], None] | None = None,
    ) -> list[RobustGP]:
        """Fit a process to every group of modes.

        Parameters
        ----------
        sizes : ndarray of shape (rows, K)
        rows : ndarray of int, optional
            Which training rows; by default all.
        groups : sequence of slice, optional
            By default those of :func:`groups_of`.
        starts : sequence, optional
            Where each optimization run begins.
        max_iter : int, optional
        on_fit : callable, optional
        """
        groups = groups_of(sizes.shape[1]) if groups is None else groups
        among, found = self.among(rows), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # of a field that folds judge
            for k, group in enumerate(groups):
                start = None if starts is None or k >= len(starts) else starts[k]
                found.append(self.process().fit(among, sizes[:, group], start=start, max_iter=max_iter))
                if on_fit is not None:
                    on_fit()
        return found

    def refit(self, gps: Sequence[RobustGP], sizes: Array, rows: Rows, out: Rows, groups: Sequence[slice]) -> Array:
        """Return predictions (out, K) of modes from some rows, with ranges and nuggets that are known.

        Some rows may have fewer modes than all have, and so fewer groups than there are processes.
        """
        among, cross, found = self.among(rows), self.cross(out, rows), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)
            for gp, group in zip(gps, groups, strict=False):
                part = sizes[:, group]
                if not part.shape[1]:
                    continue
                fixed = self.process(nugget=max(gp.nugget_, 1e-6), beta=gp.beta_).fit(among, part)
                found.append(np.asarray(fixed.predict(cross)).reshape(len(out), -1))
        return np.hstack(found) if found else np.empty((len(out), 0))


def pair_of_groups(number: int) -> list[slice]:
    """Return two groups: the leading modes and the others, for quick comparisons; fewer where there are none."""
    return [group for group in (slice(0, min(_OWN, number)), slice(_OWN, number)) if group.start < group.stop]


@dataclass
class Settings:
    """What a choice may not change.

    Attributes
    ----------
    n_modes : int
        At most.
    basis_size : int
    recipes : dict of str to dict
        Empty for meshes that share their cells.
    describer : Describer
    warps : list of str or None
        None for those that may suit the field.
    seed : int
    on_fit : callable
        Called after the fit of every process.
    """

    n_modes: int
    basis_size: int
    recipes: dict[str, Recipe]
    describer: Describer
    warps: list[str] | None
    seed: int
    on_fit: Callable[[], None]


@dataclass
class FieldChoice:
    """What was chosen, and all that was compared.

    Attributes
    ----------
    data : FieldData
        As it is, or as shapes.
    coded : Coded
    inputs : ModeKernel
    rows : list of dict
        For a table: one row per candidate.
    """

    data: FieldData
    coded: Coded
    inputs: ModeKernel
    rows: list[Record]


class _Trials:
    """Candidates that were tried on one field, as it is or as shapes, with their errors in folds.

    Only the best one is kept coded: the basis at all nodes takes a hundred megabytes and more.
    """

    def __init__(self, data: FieldData, settings: Settings):
        self.data, self.shapes, self.settings = data, data.as_shapes(), settings
        self.tried: list[tuple[float, Candidate, ModeKernel]] = []
        self._best: tuple[float, Coded, ModeKernel] | None = None
        self._known: dict[tuple[int, str, bool], list[RobustGP]] = {}

    def best(self) -> tuple[float, Coded, ModeKernel]:
        """Return the one with the least error; amplitudes, which need a model of their own, have to be worth it."""
        assert self._best is not None
        return self._best

    def seen(self, candidate: Candidate) -> FieldData:
        """Return the field as a candidate has it."""
        return self.shapes if candidate.amplitude and self.shapes is not None else self.data

    def code(self, **changes: object) -> None:
        """Try the best candidate with some changes, on the same kernel."""
        _, coded, inputs = self.best()
        candidate = replace(coded.candidate, **changes)  # type: ignore[arg-type]
        self.add(_code(self.seen(candidate), candidate, self.settings, coded), inputs)

    def stages(self, warps: Sequence[str], kernels: Sequence[ModeKernel]) -> None:
        """Try one thing after the other, each with the best of all others."""
        for name, recipe in self.settings.recipes.items():
            for length in RANGES:
                self.code(name=name, recipe=recipe, length=length)
        for warp in warps:
            self.code(warp=warp)
        for shrinkage in _shrinkages(self.settings) if self.settings.recipes else ():
            self.code(shrinkage=shrinkage)
        for inputs in kernels:
            self.add(self.best()[1], inputs)

    def add(self, coded: Coded, inputs: ModeKernel) -> None:
        """Try one, unless it has been."""
        candidate = coded.candidate
        if any(one == candidate and own is inputs for _, one, own in self.tried):
            return
        key = (id(inputs), candidate.warp, candidate.amplitude)  # other descriptors hardly change the ranges
        if key not in self._known:
            self._known[key] = quick_fit(coded, inputs, self.settings)
        error = fold_error(self.seen(candidate), coded, inputs, self._known[key], self.settings.n_modes)
        self.tried.append((error, candidate, inputs))
        if self._best is None or _cost(error, candidate) < _cost(self._best[0], self._best[1].candidate):
            self._best = error, coded, inputs


def _cost(error: float, candidate: Candidate) -> float:
    return error * (_WORTH if candidate.amplitude else 1.0)


def choose(data: FieldData, kernels: Sequence[ModeKernel], settings: Settings) -> FieldChoice:
    """Choose all that is open.

    Parameters
    ----------
    data : FieldData
    kernels : sequence of ModeKernel
        The candidates.
    settings : Settings
    """
    trials = _Trials(data, settings)
    warps = possible_warps(data.pool()) if settings.warps is None else settings.warps
    first = _first(data, settings, warps[0])
    if first.warp.deviation == 0 or len(data) < 2 * _FOLDS:  # nothing to choose by
        return FieldChoice(data, first, kernels[0], [])
    trials.add(first, kernels[0])
    if trials.shapes is not None:
        trials.code(amplitude=True)
    trials.stages(warps, kernels)
    if trials.shapes is not None:  # once more, with all else as it is now, and then all else
        amplitude = trials.best()[1].candidate.amplitude
        trials.code(amplitude=not amplitude)
        if trials.best()[1].candidate.amplitude != amplitude:
            trials.stages(warps, kernels)
    chosen = trials.best()
    same = chosen[1].candidate, chosen[2]
    rows = [_row(data, *one, chosen=one[1] == same[0] and one[2] is same[1]) for one in trials.tried]
    return FieldChoice(trials.seen(chosen[1].candidate), chosen[1], chosen[2], rows)


def _first(data: FieldData, settings: Settings, warp: str) -> Coded:
    if not settings.recipes:
        return code_nodes(data, warp)
    name, recipe = next(iter(settings.recipes.items()))
    # Fewer nodes than functions leave much open; coordinates of slit maps are exact enough for little shrinkage.
    few = float(np.median([len(values) for values in data.values])) <= 2 * settings.basis_size
    strong = few and "wall" not in recipe and not settings.describer.told_by_groups
    shrinkage = _shrinkages(settings)[-1 if strong else 0]
    return _code(data, Candidate(name, recipe, RANGES[0], shrinkage, warp), settings, None)


def _shrinkages(settings: Settings) -> tuple[float, ...]:
    return SHRINKAGES_OF_GROUPS if settings.describer.told_by_groups else SHRINKAGES


def _code(data: FieldData, candidate: Candidate, settings: Settings, known: Coded | None) -> Coded:
    if not settings.recipes:
        return code_nodes(data, candidate.warp)
    return code_smooth(data, settings.describer, candidate, settings.basis_size, settings.seed, False, known)


def _row(data: FieldData, error: float, candidate: Candidate, inputs: ModeKernel, *, chosen: bool) -> Record:
    return {
        "field": data.kind.name,
        "kernel": inputs.member.name,
        "descriptors": candidate.name,
        "range": candidate.length,
        "shrinkage": candidate.shrinkage,
        "warp": candidate.warp,
        "amplitude": candidate.amplitude,
        "rrmse": error,
        "chosen": chosen,
    }


def fold_error(data: FieldData, coded: Coded, inputs: ModeKernel, gps: Sequence[RobustGP], n_modes: int) -> float:
    """Return the relative error of training meshes from folds without them, ranges fixed."""
    scores = []
    for train, out in shuffled_folds(len(data), _FOLDS, inputs.seed + 1):
        modes, sizes = coded.encoded.modes(train, n_modes)
        found = inputs.refit(gps, sizes, train, out, pair_of_groups(modes.number))
        found = np.pad(found, ((0, 0), (0, max(modes.number - found.shape[1], 0))))
        for a, row in zip(found, out, strict=True):
            nodes = data.chosen(row)
            truth = data.given(row)[nodes]
            if np.isfinite(truth).any():
                values = np.exp(data.size(row).mean) * coded.warp.inverse(coded.field_at(data, row, modes, a))
                scores.append(mesh_score(truth, data.finished(row, nodes, values), times=data.kind.times))
    return pooled(scores).rrmse


def quick_fit(coded: Coded, inputs: ModeKernel, settings: Settings) -> list[RobustGP]:
    """Fit two processes to all rows: of the leading modes and of the others."""
    rows = np.arange(inputs.among()[0].shape[0])
    modes, sizes = coded.encoded.modes(rows, settings.n_modes)
    return inputs.fit(sizes, groups=pair_of_groups(modes.number), on_fit=settings.on_fit)

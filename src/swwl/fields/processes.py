"""Processes of the modes of a field: leading modes have ranges of their own, all others share theirs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import GPWarning
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.folds import shuffled_folds
from swwl.regression.stack import Member

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

_OWN = 6
# Of shared nodes more modes are exact enough to learn ranges from.
OWN_OF_NODES = 12
# From so many ranges on, the robust prior would pull all of them to long ones.
_MANY_RANGES = 10


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
class Inputs:
    """The blocks of one kernel among training rows.

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
    def of(cls, member: Member, seed: int) -> Inputs:
        """Hold the blocks of a kernel."""
        return cls(member, [[block.held() for block in group] for group in member.training_blocks()], seed)

    def among(self, rows: Rows | None = None) -> list[Block]:
        """Return joined blocks among some training rows, or all."""
        joined = self.member.kernel.join(self.groups)
        return joined if rows is None else [block.take(rows) for block in joined]

    def cross(self, out: Rows, train: Rows) -> list[Block]:
        """Return joined blocks from rows that are left out to others."""
        return self.member.left_out_blocks(self.groups, out, train)

    def process(self, **given: Any) -> RobustGP:
        """Return an unfitted process on this kernel."""
        many = len(self.member.kernel.range_names()) >= _MANY_RANGES
        prior = "gentle" if many else "robust"
        options: dict[str, Any] = {"n_starts": 1, "prior": prior, "random_state": self.seed, **given}
        return RobustGP(self.member.kernel.correlations(), **options)

    def fit(self, sizes: Array, rows: Rows | None = None, groups: Sequence[slice] | None = None,
            starts: Sequence[Any] | None = None, max_iter: int | None = None,
            on_fit: Callable[[], None] | None = None) -> list[RobustGP]:  # fmt: skip
        """Fit a process to every group of modes.

        Parameters
        ----------
        sizes : ndarray of shape (rows, K)
        rows : ndarray of int, optional
            Which training rows; by default all.
        groups : sequence of slice, optional
            By default those of :func:`groups_of`.
        starts : sequence, optional
            Where each climb begins.
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
        """Return predictions (out, K) of modes from some rows, with ranges and nuggets that are known."""
        among, cross, found = self.among(rows), self.cross(out, rows), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)
            for gp, group in zip(gps, groups, strict=True):
                part = sizes[:, group]
                if not part.shape[1]:
                    continue
                fixed = self.process(nugget=max(gp.nugget_, 1e-6), beta=gp.beta_).fit(among, part)
                found.append(np.asarray(fixed.predict(cross)).reshape(len(out), -1))
        return np.hstack(found) if found else np.empty((len(out), 0))


def pair_of_groups(number: int) -> list[slice]:
    """Return two groups: the leading modes and the others, for quick comparisons."""
    return [slice(0, min(_OWN, number)), *([slice(_OWN, number)] if number > _OWN else [])]


def folds_of(n: int, seed: int, number: int) -> list[tuple[Rows, Rows]]:
    """Return training and left-out rows of folds."""
    return shuffled_folds(n, number, seed)

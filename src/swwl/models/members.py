"""One kernel with its processes: what a regressor has one of, or several that are stacked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from swwl.errors import InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.inputs import check_correlations, training_terms
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Product, as_product
from swwl.kernels.elliptic import make_kernel
from swwl.kernels.together import distinct_factors
from swwl.models.processes import Layout

Array = NDArray[np.float64]

_MOST_PAIRS = 2048
_OF_ROWS = ("coordinates_", "center_")  # what the state of a process holds of training rows


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

    def state(self) -> dict[str, Any]:
        """Return what it is made of, for a model file."""
        return {
            "name": self.name,
            "factors": self.kernel.factors,
            "elliptic": self.kernel.elliptic,
            "train": self.rows,
            "gps": [self._lean(gp.get_state()) for gp in self.gps],
            "shares": self.shares,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Member:
        """Make it again of what :meth:`state` returned."""
        kernel = make_kernel(state["factors"], state["elliptic"])
        member = cls(str(state["name"]), kernel, list(state["train"]), shares=np.asarray(state["shares"]))
        member.gps = [RobustGP.from_state(member._whole(gp)) for gp in state["gps"]]
        return member

    def _lean(self, state: dict[str, Any]) -> dict[str, Any]:
        """Leave coordinates out of a large process's state: they are those of the training rows."""
        return {name: value for name, value in state.items() if not (self.large and name.startswith(_OF_ROWS))}

    def _whole(self, state: dict[str, Any]) -> dict[str, Any]:
        """Put the coordinates back that `_lean` left out."""
        if state["params"].get("solver", "exact") == "exact":
            return state
        correlations = check_correlations(self.kernel.correlations())
        joined = self.kernel.join(self.training_blocks())
        _, known = training_terms(joined, correlations, len(state["y"]))
        found = {f"coordinates_{i}": group.values for i, group in known.items()}
        return state | found | {f"center_{i}": group.center for i, group in known.items()}


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

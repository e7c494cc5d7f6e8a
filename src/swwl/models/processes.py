"""Several targets, several processes: which are fitted together, and how their answers are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Product
from swwl.parallel import Progress

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

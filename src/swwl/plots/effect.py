"""What the options of an embedding cost: error against numbers of projections and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from swwl.errors import InputError
from swwl.kernels.base import as_product
from swwl.models.regression import RobustGPRegressor
from swwl.plots.style import CYCLE, MARKERS, Display, words


class EffectDisplay(Display):
    """Error against the number of projections, one line for each number of quantiles.

    Parameters
    ----------
    table : DataFrame
        With columns ``n_projections``, ``n_quantiles`` and ``rmse``.
    name : str
        Of the target.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, table: pd.DataFrame, name: str = "target"):
        self.table, self.name = table, name

    @classmethod
    def from_estimator(
        cls,
        estimator: RobustGPRegressor,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any] | None = None,
        n_projections: Sequence[int] = (2, 5, 10, 20, 50),
        n_quantiles: Sequence[int] = (10, 100, 500),
        ax: Any = None,
    ) -> EffectDisplay:
        """Fit once for every pair of numbers, and draw.

        Parameters
        ----------
        estimator : RobustGPRegressor
            With a kernel that has projections and quantiles, such as :class:`swwl.SWWL`; it is cloned.
        X, y
            To fit, with a single target.
        test : tuple (X, y), optional
            To score; leave-one-out by default.
        n_projections, n_quantiles : sequence of int
        ax : matplotlib axis, optional
        """
        if estimator.kernel is None:
            raise InputError("The model needs a kernel of its own, such as SWWL('mesh') * Matern52('speed').")
        rows = []
        for quantiles in n_quantiles:
            for projections in n_projections:
                numbers = {"n_projections": projections, "n_quantiles": quantiles}
                kernel = as_product(clone(estimator.kernel))
                sliced = [factor for factor in kernel.factors if numbers.keys() <= factor.get_params(deep=False).keys()]
                if not sliced:
                    raise InputError(f"The kernel {kernel!r} has no projections and quantiles.")
                for factor in sliced:
                    factor.set_params(**numbers)
                fitted = clone(estimator).set_params(kernel=kernel, calibrate=False).fit(X, y)
                truth = fitted.train_targets_[:, 0] if test is None else np.asarray(test[1], dtype=np.float64)
                mean = fitted.leave_one_out().column(0).mean if test is None else fitted.predict(test[0])
                rows.append(numbers | {"rmse": float(np.sqrt(np.mean((truth - mean) ** 2)))})
        return cls(pd.DataFrame(rows), fitted.target_names_[0]).plot(ax)

    def _draw(self, ax: Any) -> None:
        for number, (quantiles, line) in enumerate(self.table.groupby("n_quantiles")):
            look = {"color": CYCLE[number % len(CYCLE)], "marker": MARKERS[number % len(MARKERS)], "ms": 5}
            ax.plot(line["n_projections"], line["rmse"], label=f"Q = {quantiles}", **look)
        ax.set_xscale("log")
        ticks = sorted(set(self.table["n_projections"]))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.set_ylim(0, None)
        ax.set(xlabel="projections P", ylabel=f"RMSE of {words(self.name)}")
        ax.set_title("effect of projections and quantiles")
        ax.legend(loc="best")

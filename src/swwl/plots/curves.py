"""Characteristic curves: predictions with bands over a sweep of one number, for several values of another."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.kernels.sliced import SWWL
from swwl.models.regression import RobustGPRegressor
from swwl.plots.quality import pick_target
from swwl.plots.style import CYCLE, GREY, MARKERS, axes_for, limits, style, words
from swwl.storage import MemoryCache, MeshFile


class CurvesDisplay:
    """Curves with 95 % bands, the training points behind them.

    Parameters
    ----------
    table : DataFrame
        One row per point, curve after curve: the inputs, then ``mean``, ``std``, ``lower95`` and ``upper95``.
    sweep : str
        Column along the curves.
    each : str or None
        Column that tells curves apart.
    name : str
        Of the target.
    train_x, train_y : ndarray of shape (N,)
        Training rows, whatever their other inputs.
    """

    def __init__(
        self, table: pd.DataFrame, sweep: str, each: str | None, name: str, train_x: NDArray, train_y: NDArray
    ):
        self.table, self.sweep, self.each, self.name = table, sweep, each, name
        self.train_x, self.train_y = train_x, train_y

    @classmethod
    def from_estimator(
        cls,
        model: RobustGPRegressor,
        mesh: Any,
        sweep: tuple[str, Sequence[float]],
        each: tuple[str, Sequence[float]] | None = None,
        fix: Mapping[str, float] | None = None,
        target: str | None = None,
    ) -> CurvesDisplay:
        """Predict the curves of one mesh.

        Parameters
        ----------
        model : RobustGPRegressor
        mesh : graph, path or dict
            For the graph column of the model; a dict names columns where there are several.
        sweep : tuple (column, values)
        each : tuple (column, values), optional
        fix : mapping, optional
            Values of other inputs; the median of the training set where they are not named.
        target : str, optional
            The first by default.
        """
        table, prediction = predict_curves(model, mesh, sweep, each, fix)
        return cls.from_prediction(model, table, prediction, sweep[0], each and each[0], target)

    @classmethod
    def from_prediction(
        cls,
        model: RobustGPRegressor,
        table: pd.DataFrame,
        prediction: scores.Prediction,
        sweep: str,
        each: str | None = None,
        target: str | None = None,
    ) -> CurvesDisplay:
        """Make a display of what :func:`predict_curves` returned, for one of the targets."""
        k = pick_target(model, target)
        one = scores.column_of(prediction, k)
        lower, upper = one.interval(0.95)
        train = scores.training_inputs(model)
        shown = table[list(train.columns)].assign(mean=one.mean, std=one.std, lower95=lower, upper95=upper)
        y = scores.training_targets(model)[:, k]
        return cls(shown, sweep, each, model.target_names_[k], train[sweep].to_numpy(), y)

    def plot(self, ax: Any = None) -> CurvesDisplay:
        """Draw it."""
        with style():
            self.ax_ = ax = axes_for(ax)
            curves = [(None, self.table)] if self.each is None else list(self.table.groupby(self.each, sort=False))
            for number, (value, curve) in enumerate(curves):
                colour = CYCLE[number % len(CYCLE)]
                x = curve[self.sweep]
                ax.fill_between(x, curve["lower95"], curve["upper95"], color=colour, alpha=0.16, lw=0)
                label = "prediction, 95 % band" if value is None else f"{words(str(self.each))} {value:g}"
                marker = MARKERS[number % len(MARKERS)]
                ax.plot(x, curve["mean"], color=colour, label=label, marker=marker, ms=4, markevery=max(1, len(x) // 6))
            low, high = limits(self.table[self.sweep])
            bottom, top = limits(self.table["lower95"], self.table["upper95"])
            near = (self.train_x >= low) & (self.train_x <= high)
            ax.plot(
                self.train_x[near],
                self.train_y[near],
                ".",
                color=GREY,
                ms=4,
                alpha=0.6,
                zorder=0,
                label="training cases",
            )
            shown = self.train_y[near]
            if shown.size:  # room for most of the training points, but the curves come first
                bottom, top = min(bottom, np.quantile(shown, 0.02)), max(top, np.quantile(shown, 0.98))
            ax.set(xlim=(low, high), ylim=(bottom, top), xlabel=words(self.sweep), ylabel=words(self.name))
            ax.legend(loc="best")
        return self


def predict_curves(
    model: RobustGPRegressor,
    mesh: Any,
    sweep: tuple[str, Sequence[float]],
    each: tuple[str, Sequence[float]] | None = None,
    fix: Mapping[str, float] | None = None,
) -> tuple[pd.DataFrame, scores.Prediction]:
    """Return the inputs of all points, curve after curve, and their predictions, arrays of shape (M, k).

    Parameters are those of :meth:`CurvesDisplay.from_estimator`.
    """
    train = scores.training_inputs(model)
    given = {sweep[0]: None, **({each[0]: None} if each else {}), **(fix or {})}
    for name in given:
        if name not in train.columns:
            raise InputError(f"The model has no numeric input {name!r}; it has: {', '.join(train.columns) or 'none'}.")
    values = [float(v) for v in (each[1] if each else [0.0])]
    along = [float(v) for v in sweep[1]]
    rows: dict[str, Any] = {name: float(train[name].median()) for name in train.columns} | dict(fix or {})
    table = pd.DataFrame({name: np.full(len(values) * len(along), value) for name, value in rows.items()})
    table[sweep[0]] = np.tile(along, len(values))
    if each:
        table[each[0]] = np.repeat(values, len(along))
    memory = MemoryCache()
    for factor in model.kernel_.factors:
        if isinstance(factor, SWWL):
            one = mesh[factor.column] if isinstance(mesh, dict) else mesh
            # The same mesh stands in all rows: a file is embedded once and remembered.
            item = MeshFile(one, None, memory) if isinstance(one, (str, os.PathLike)) else one
            table[factor.column] = pd.Series([item] * len(table), dtype=object)
    return table, scores.predict_all(model, table)

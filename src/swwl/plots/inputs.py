"""What a model is made of: which inputs matter, where its training cases lie, and what its options cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from swwl.embedding.distances import pairwise_distances
from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.kernels.base import as_product
from swwl.kernels.sliced import SWWL, PrincipalSWWL, principal_components, project
from swwl.models.regression import RobustGPRegressor
from swwl.plots.quality import pick_target
from swwl.plots.style import BLACK, BLUE, CYCLE, GREY, MARKERS, SCALE, VERMILLION, axes_for, style, words


class ImportanceDisplay:
    """Bars of importance, one on average; what hardly matters is summed up.

    Parameters
    ----------
    importance : Series
        By the names of ranges.
    name : str
        Of the target.
    most : int
        Bars to draw.
    """

    def __init__(self, importance: pd.Series, name: str = "target", most: int = 12):
        self.importance, self.name, self.most = importance.sort_values(ascending=False), name, most

    @classmethod
    def from_estimator(cls, model: RobustGPRegressor, target: str | None = None, most: int = 12) -> ImportanceDisplay:
        """Make a display of a fitted model."""
        k = pick_target(model, target)
        table = scores.importance_table(model)
        return cls(table.iloc[:, min(k, table.shape[1] - 1)], model.target_names_[k], most)

    def plot(self, ax: Any = None) -> ImportanceDisplay:
        """Draw it."""
        with style():
            self.ax_ = ax = axes_for(ax)
            shown = self.importance.iloc[: self.most]
            rest = self.importance.iloc[self.most :]
            names = [words(str(name)) for name in shown.index]
            values = shown.to_numpy()
            if len(rest):
                names.append(f"{len(rest)} more together")
                values = np.append(values, rest.sum())
            places = np.arange(len(values))
            ax.barh(places, values, color=[BLUE] * len(shown) + [GREY] * bool(len(rest)), height=0.7)
            for place, value in zip(places, values, strict=True):
                ax.annotate(f"{value:.2f}", (value, place), (3, 0), textcoords="offset points", va="center", fontsize=8)
            ax.axvline(1, color=BLACK, lw=0.8, ls=":")
            ax.set_yticks(places, names)
            ax.invert_yaxis()
            ax.grid(axis="y", visible=False)
            ax.set_xlim(0, 1.15 * max(1.0, float(values.max())))
            ax.set_xlabel("importance (one on average)")
            ax.set_title(f"what matters for {words(self.name)}")
        return self


class DesignDisplay:
    """The training set on its two principal components; cases far from all others are marked.

    Parameters
    ----------
    coordinates : ndarray of shape (N, 2)
    values : ndarray of shape (N,)
        What colours show.
    outliers : ndarray of bool, shape (N,)
    share : tuple of float
        Share of the variance that each of the two components carries.
    name : str
        Of the values.
    labels : sequence of str
        Names of the cases.
    """

    def __init__(
        self,
        coordinates: NDArray,
        values: NDArray,
        outliers: NDArray,
        share: tuple[float, float],
        name: str = "target",
        labels: Sequence[str] = (),
    ):
        self.coordinates, self.values, self.outliers = coordinates, values, outliers
        self.share, self.name, self.labels = share, name, list(labels)

    @classmethod
    def from_estimator(
        cls,
        model: RobustGPRegressor,
        target: str | None = None,
        colour: str = "target",
        labels: Sequence[str] = (),
    ) -> DesignDisplay:
        """Make a display of a fitted model: of its first graph column, or of its numbers where it has none.

        Parameters
        ----------
        model : RobustGPRegressor
        target : str, optional
        colour : {"target", "std"}
            What colours show: the target, or how unsure the model is of a case when it is left out.
        labels : sequence of str
        """
        if colour not in ("target", "std"):
            raise InputError(f"colour must be 'target' or 'std', not {colour!r}.")
        k = pick_target(model, target)
        rows = design_rows(model)
        mean, components, ratio = principal_components(rows, 2)
        coordinates = np.zeros((len(rows), 2))
        coordinates[:, : components.shape[1]] = project(rows, mean, components)
        share = (*ratio[:2].tolist(), 0.0, 0.0)[:2]
        name = model.target_names_[k]
        values = scores.training_targets(model)[:, k]
        if colour == "std":
            values, name = scores.left_out(model).std[:, k], f"standard deviation of {name}"
        return cls(coordinates, values, far_from_others(rows), share, name, labels)

    def plot(self, ax: Any = None) -> DesignDisplay:
        """Draw it."""
        with style():
            self.ax_ = ax = axes_for(ax)
            dots = ax.scatter(*self.coordinates.T, c=self.values, cmap=SCALE, s=22, lw=0.4, edgecolor="white")
            if self.outliers.any():
                marked = self.coordinates[self.outliers]
                text = f"far from all others ({self.outliers.sum()})"
                ax.scatter(*marked.T, s=90, facecolor="none", edgecolor=VERMILLION, lw=1.3, label=text)
                ax.legend(loc="best")
                middle = self.coordinates[:, 0].mean()
                for i in np.flatnonzero(self.outliers)[:5] if self.labels else ():
                    right = self.coordinates[i, 0] > middle
                    place = {"xytext": (-8 if right else 8, 0), "ha": "right" if right else "left", "va": "center"}
                    ax.annotate(self.labels[i], self.coordinates[i], textcoords="offset points", fontsize=7.5, **place)
            ax.figure.colorbar(dots, ax=ax, label=words(self.name), pad=0.02).outline.set_visible(False)
            first, second = (f"component {j + 1} ({100 * share:.0f} %)" for j, share in enumerate(self.share))
            ax.set(xlabel=first, ylabel=second)
            ax.tick_params(labelbottom=False, labelleft=False)  # units of an embedding say nothing
            ax.set_title("map of the training cases")
        return self


def design_rows(model: RobustGPRegressor) -> NDArray:
    """Return what the map shows: the embeddings of the first graph column, or the standardised numbers."""
    for factor, rows in zip(model.kernel_.factors, model._train, strict=True):
        if isinstance(factor, SWWL):
            return rows[0] if isinstance(factor, PrincipalSWWL) else rows
    return np.column_stack(model._train)


def far_from_others(rows: NDArray) -> NDArray[np.bool_]:
    """Return which rows (N, K) have a nearest neighbour much farther away than other rows have.

    The fence is that of a box plot: the upper quartile plus one and a half times the distance between quartiles.

    Examples
    --------
    >>> far_from_others(np.array([[0.0], [1.0], [2.1], [3.0], [4.2], [9.0]])).tolist()
    [False, False, False, False, False, True]
    """
    if len(rows) < 3:
        return np.zeros(len(rows), bool)
    distances = pairwise_distances(rows)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    low, high = np.quantile(nearest, [0.25, 0.75])
    return nearest > high + 1.5 * (high - low)


class EffectDisplay:
    """Error against the number of projections, one line for each number of quantiles.

    Parameters
    ----------
    table : DataFrame
        With columns ``n_projections``, ``n_quantiles`` and ``rmse``.
    name : str
        Of the target.
    """

    def __init__(self, table: pd.DataFrame, name: str = "target"):
        self.table, self.name = table, name

    @classmethod
    def from_estimator(
        cls,
        model: RobustGPRegressor,
        X: Any,
        y: Any,
        test: tuple[Any, Any] | None = None,
        n_projections: Sequence[int] = (2, 5, 10, 20, 50),
        n_quantiles: Sequence[int] = (10, 100, 500),
    ) -> EffectDisplay:
        """Fit anew for every pair of numbers.

        Parameters
        ----------
        model : RobustGPRegressor
            With a kernel; it is cloned.
        X, y
            To fit, with a single target.
        test : tuple (X, y), optional
            To score; leave-one-out by default.
        n_projections, n_quantiles : sequence of int
        """
        if model.kernel is None:
            raise InputError("The model needs a kernel of its own, such as SWWL('mesh') * Matern52('speed').")
        rows = []
        for quantiles in n_quantiles:
            for projections in n_projections:
                kernel = as_product(clone(model.kernel))
                for factor in kernel.factors:
                    if isinstance(factor, SWWL):
                        factor.set_params(n_projections=projections, n_quantiles=quantiles)
                fitted = clone(model).set_params(kernel=kernel, calibrate=False).fit(X, y)
                truth = scores.training_targets(fitted)[:, 0] if test is None else np.asarray(test[1], float)
                mean = scores.left_out(fitted).mean[:, 0] if test is None else fitted.predict(test[0])
                error = float(np.sqrt(np.mean((truth - mean) ** 2)))
                rows.append({"n_projections": projections, "n_quantiles": quantiles, "rmse": error})
        return cls(pd.DataFrame(rows), fitted.target_names_[0])

    def plot(self, ax: Any = None) -> EffectDisplay:
        """Draw it."""
        with style():
            self.ax_ = ax = axes_for(ax)
            for number, (quantiles, line) in enumerate(self.table.groupby("n_quantiles")):
                colour, marker = CYCLE[number % len(CYCLE)], MARKERS[number % len(MARKERS)]
                ax.plot(
                    line["n_projections"], line["rmse"], color=colour, marker=marker, ms=5, label=f"Q = {quantiles}"
                )
            ax.set_xscale("log")
            ticks = sorted(set(self.table["n_projections"]))
            ax.set_xticks(ticks, [str(tick) for tick in ticks])
            ax.set_xticks([], minor=True)
            ax.set_ylim(0, None)
            ax.set(xlabel="projections P", ylabel=f"RMSE of {words(self.name)}")
            ax.set_title("effect of projections and quantiles")
            ax.legend(loc="best")
        return self

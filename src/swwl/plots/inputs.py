"""What a model is made of: which inputs matter, and where its training cases lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from swwl.domain.verdict import far_from_others
from swwl.embedding.components import principal_components, project
from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.evaluation.metadata import data_of
from swwl.formatting import percent
from swwl.plots.arguments import pick_target
from swwl.plots.style import BLACK, BLUE, GRAY, SCALE, VERMILLION, Display, label_points, words
from swwl.regression.estimator import RobustGPRegressor

_ON_AVERAGE = "importance (1 is the average input)"


class ImportanceDisplay(Display):
    """Bars of importance; what hardly matters is summed up.

    Parameters
    ----------
    importance : Series
        By the names of ranges or inputs.
    name : str
        Of the target.
    most : int
        Bars to draw.
    label : str
        What importance is.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, importance: pd.Series, name: str = "target", most: int = 12, label: str = _ON_AVERAGE):
        self.importance, self.name, self.most = importance.sort_values(ascending=False), name, most
        self.label = label

    @classmethod
    def from_estimator(
        cls, estimator: RobustGPRegressor, *, target: str | None = None, most: int = 12, ax: Any = None
    ) -> ImportanceDisplay:
        """Draw what matters; no data is needed.

        The share of the variance that is lost when an input is averaged out, where a fit by ``swwl fit`` has it, and
        otherwise how short the ranges are, one on average.

        Parameters
        ----------
        estimator : RobustGPRegressor
            Fitted.
        target : str, optional
            The first by default.
        most : int
            Bars to draw.
        ax : matplotlib axis, optional
        """
        k = pick_target(estimator, target)
        name, data = estimator.target_names_[k], data_of(estimator)
        shares = {row.input: row.share for row in (data.variance_shares if data else []) if row.target == name}
        if shares:
            return cls(pd.Series(shares), name, most, "share of the variance lost when it is averaged out").plot(ax)
        table = scores.importance_table(estimator)
        return cls(table.iloc[:, min(k, table.shape[1] - 1)], estimator.target_names_[k], most).plot(ax)

    def _draw(self, ax: Any) -> None:
        shown = self.importance.iloc[: self.most]
        rest = self.importance.iloc[self.most :]
        names = [words(str(name)) for name in shown.index]
        values = shown.to_numpy()
        if len(rest):
            names.append(f"{len(rest)} more together")
            values = np.append(values, rest.sum())
        places = np.arange(len(values))
        ax.barh(places, values, color=[BLUE] * len(shown) + [GRAY] * bool(len(rest)), height=0.7)
        for place, value in zip(places, values, strict=True):
            ax.annotate(f"{value:.2f}", (value, place), (3, 0), textcoords="offset points", va="center", fontsize=8)
        if self.label == _ON_AVERAGE:
            ax.axvline(1, color=BLACK, lw=0.8, ls=":")
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
        ax.set_xlim(0, 1.15 * max(1.0, float(values.max())))
        ax.set_xlabel(self.label)
        ax.set_title(f"what matters for {words(self.name)}")


class DesignDisplay(Display):
    """The training set on its two principal components; cases far from all others are marked.

    Parameters
    ----------
    coordinates : ndarray of shape (N, 2)
    values : ndarray of shape (N,)
        What colors show.
    outliers : ndarray of bool, shape (N,)
    share : tuple of float
        Share of the variance that each of the two components carries.
    name : str
        Of the values.
    labels : sequence of str
        Names of the cases.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(
        self,
        coordinates: NDArray[np.float64],
        values: NDArray[np.float64],
        outliers: NDArray[np.bool_],
        share: tuple[float, float],
        name: str = "target",
        labels: Sequence[str] = (),
    ):
        self.coordinates, self.values, self.outliers = coordinates, values, outliers
        self.share, self.name, self.labels = share, name, list(labels)

    @classmethod
    def from_estimator(
        cls,
        estimator: RobustGPRegressor,
        *,
        target: str | None = None,
        color: str = "target",
        labels: Sequence[str] = (),
        ax: Any = None,
    ) -> DesignDisplay:
        """Draw the training set of a fitted model: its first column of graphs or vectors, or its numbers alone.

        Parameters
        ----------
        estimator : RobustGPRegressor
            Fitted. Its kernel must have vectors to show: a kernel that only knows distances has none.
        target : str, optional
            The first by default.
        color : {"target", "std"}
            What colors show: the target, or how unsure the model is of a case when it is left out.
        labels : sequence of str
            Names of the cases.
        ax : matplotlib axis, optional
        """
        if color not in ("target", "std"):
            raise InputError(f"color must be 'target' or 'std', not {color!r}.")
        k = pick_target(estimator, target)
        rows = design_vectors(estimator.kernel_.factors, estimator.train_rows_)
        if rows is None:
            raise InputError(
                f"There is no map of {estimator.kernel_!r}: it compares cases by distances that need not be those "
                f"of points in space."
            )
        mean, components, ratio = principal_components(rows, 2)
        coordinates = np.zeros((len(rows), 2))
        coordinates[:, : components.shape[1]] = project(rows, mean, components)
        first, second = (*ratio[:2].tolist(), 0.0, 0.0)[:2]
        name = estimator.target_names_[k]
        values = estimator.train_targets_[:, k]
        if color == "std":
            values, name = estimator.leave_one_out().column(k).std, f"standard deviation of {name}"
        return cls(coordinates, values, far_from_others(rows), (first, second), name, labels).plot(ax)

    def _draw(self, ax: Any) -> None:
        dots = ax.scatter(*self.coordinates.T, c=self.values, cmap=SCALE, s=22, lw=0.4, edgecolor="white")
        if self.outliers.any():
            marked = self.coordinates[self.outliers]
            text = f"far from all others ({self.outliers.sum()})"
            ax.scatter(*marked.T, s=90, facecolor="none", edgecolor=VERMILLION, lw=1.3, label=text)
            ax.legend(loc="best")
        ax.figure.colorbar(dots, ax=ax, label=words(self.name), pad=0.02).outline.set_visible(False)
        first, second = (f"component {j + 1} ({percent(share)})" for j, share in enumerate(self.share))
        ax.set(xlabel=first, ylabel=second)
        ax.tick_params(labelbottom=False, labelleft=False)  # units of an embedding say nothing
        ax.set_title("map of the training cases")
        if self.outliers.any() and self.labels:
            far = np.argsort(~self.outliers, kind="stable")
            ax.autoscale_view()
            label_points(ax, self.coordinates[far], [self.labels[i] for i in far[: self.outliers.sum()]])


def design_vectors(factors: Sequence[Any], rows: Sequence[Any]) -> NDArray[np.floating] | None:
    """Return what a map shows, (N, K): the vectors of the first column of graphs or rows, or else all numbers.

    None where the columns of graphs and rows have no vectors: a map of the numbers alone would leave out what the
    cases are.

    Parameters
    ----------
    factors : sequence of Factor
        Of a fitted kernel.
    rows : sequence
        Their training representations.
    """
    found = [(factor.takes, factor.vectors(own)) for factor, own in zip(factors, rows, strict=True)]
    things = [vectors for takes, vectors in found if takes in ("graphs", "rows")]
    if things:
        return next((vectors for vectors in things if vectors is not None), None)
    return np.column_stack([vectors for _, vectors in found if vectors is not None])


# So many choices are numbered; more would hide each other.
_NUMBERED = 30


class ChoicesDisplay(Display):
    """A pool on its two principal components, with the cases that were chosen numbered by rank.

    Parameters
    ----------
    coordinates : ndarray of shape (N, 2)
    chosen : sequence of int
        Rows, the first choice first.
    known : ndarray of shape (H, 2)
        Cases that are simulated already; may be empty.
    share : tuple of float
        Share of the variance that each of the two components carries.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(
        self,
        coordinates: NDArray[np.float64],
        chosen: Sequence[int],
        known: NDArray[np.float64],
        share: tuple[float, float] = (0.0, 0.0),
    ):
        self.coordinates, self.chosen, self.known, self.share = coordinates, list(chosen), known, share

    @classmethod
    def from_points(
        cls, points: ArrayLike, chosen: Sequence[int], *, known: ArrayLike | None = None, ax: Any = None
    ) -> ChoicesDisplay:
        """Draw choices among points of any dimension.

        Parameters
        ----------
        points : array-like of shape (N, K)
            The pool, as :func:`swwl.design.space.design_rows` returns it.
        chosen : sequence of int
            The column ``row`` of what `swwl.design.select` and `swwl.design.suggest` return.
        known : array-like of shape (H, K), optional
            Cases that are simulated already.
        ax : matplotlib axis, optional
        """
        pool = np.asarray(points, dtype=np.float64)
        others = np.empty((0, pool.shape[1])) if known is None else np.asarray(known, dtype=np.float64)
        if len(chosen) and (min(chosen) < 0 or max(chosen) >= len(pool)):
            raise InputError(f"Rows from 0 to {len(pool) - 1} can be chosen, not {max(chosen)}.")
        mean, components, ratio = principal_components(np.vstack([pool, others]), 2)
        flat = [np.zeros((len(rows), 2)) for rows in (pool, others)]
        for rows, place in zip((pool, others), flat, strict=True):
            place[:, : components.shape[1]] = project(rows, mean, components)
        first, second = (*ratio[:2].tolist(), 0.0, 0.0)[:2]
        return cls(flat[0], chosen, flat[1], (first, second)).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.scatter(*self.coordinates.T, s=10, color=GRAY, lw=0, label=f"pool ({len(self.coordinates)})")
        if len(self.known):
            ax.scatter(*self.known.T, s=16, color=BLUE, lw=0, label=f"simulated ({len(self.known)})")
        marked = self.coordinates[self.chosen]
        ax.scatter(*marked.T, s=34, color=VERMILLION, lw=0.6, edgecolor="white", label=f"chosen ({len(marked)})")
        for rank, place in enumerate(marked[:_NUMBERED], 1):
            ax.annotate(str(rank), place, (4, 3), textcoords="offset points", fontsize=7.5, color=BLACK)
        first, second = (f"component {j + 1} ({percent(share)})" for j, share in enumerate(self.share))
        ax.set(xlabel=first, ylabel=second)
        ax.tick_params(labelbottom=False, labelleft=False)  # units of an embedding say nothing
        ax.legend(loc="best")
        ax.set_title("which cases to simulate")

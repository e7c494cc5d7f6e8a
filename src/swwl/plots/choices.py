"""Cases that were chosen, on the map of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.embedding.components import principal_components, project
from swwl.errors import InputError
from swwl.plots.style import BLACK, BLUE, GREY, VERMILLION, Display
from swwl.words import percent

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
        ax.scatter(*self.coordinates.T, s=10, color=GREY, lw=0, label=f"pool ({len(self.coordinates)})")
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

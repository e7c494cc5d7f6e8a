"""One look for all displays: colors that everyone can tell apart, quiet axes, and where to draw."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Self

import matplotlib
import numpy as np
from numpy.typing import NDArray

# Okabe and Ito (2008): told apart with any kind of color vision.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK, GRAY = "#CC79A7", "#56B4E9", "#222222", "#8A8A8A"
CYCLE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SCALE = "viridis"  # even in gray
_MANY = 2000  # points, or lines, of one color

RC: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": BLACK,
    "axes.edgecolor": "#666666",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "svg.hashsalt": "swwl",
    "text.parse_math": False,  # a column may have dollar signs in its name
}
# Fonts that know what ours does not: the letters of China, Japan and Korea.
_FALLBACKS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "PingFang SC",
    "Hiragino Sans",
    "Arial Unicode MS",
)
_MOST_LETTERS = 38


@contextmanager
def style() -> Iterator[None]:
    """Return a context in which figures and axes have our look, and letters that no font has are boxes, silently."""
    with matplotlib.rc_context(RC | {"font.family": _families()}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


@cache
def _families() -> list[str]:
    """Return our font, and those of the fallbacks that this machine has."""
    from matplotlib.font_manager import fontManager

    here = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _FALLBACKS if name in here)]


def new_figure(width: float = 4.4, height: float = 3.5) -> Any:
    """Return an empty figure that belongs to no window: for files and pages."""
    from matplotlib.figure import Figure

    with style():
        return Figure(figsize=(width, height), layout="constrained")


def axes_for(ax: Any) -> Any:
    """Return the axis to draw on: the given one, or a new one in pyplot's manner."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(4.4, 3.5), layout="constrained")[1]


def _rasterize(ax: Any) -> None:
    """Make pixels of what has very many points or lines: as vectors, a page about many cases would take megabytes."""
    for line in ax.lines:
        if len(line.get_xdata()) > _MANY:
            line.set_rasterized(True)
    for own in ax.collections:
        if max(len(own.get_offsets()), len(own.get_paths())) > _MANY:
            own.set_rasterized(True)


class Display:
    """What all displays have in common: they draw on an axis, remember it, and return themselves.

    Attributes
    ----------
    ax_ : matplotlib axis
    figure_ : matplotlib Figure
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axis, optional
            By default that of a new figure, in pyplot's manner.
        """
        with style():
            self.ax_ = axes_for(ax)
            self.figure_ = self.ax_.figure
            self._draw(self.ax_)
            _rasterize(self.ax_)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


def words(name: str) -> str:
    r"""Return a column's name as a label, as it is written: on one line, and shortened in its middle where it is long.

    Examples
    --------
    >>> words("max_von_mises"), words("a\tvery_long_name_of_" + 10 * "some_" + "column")
    ('max_von_mises', 'a very_long_name_o…e_some_some_column')
    """
    text = " ".join(name.split())
    if len(text) <= _MOST_LETTERS:
        return text
    half = _MOST_LETTERS // 2
    return f"{text[: half - 1]}…{text[-half + 1 :]}"


def limits(*arrays: Any, margin: float = 0.05) -> tuple[float, float]:
    """Return bounds that hold all finite values, with some room."""
    values = np.concatenate([np.ravel(array) for array in arrays])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    room = margin * (high - low) or 1.0
    return low - room, high + room


_MOST_LABELS = 5
_LETTER, _LINE = 0.58, 1.25  # of the size of a font: how wide a letter is, and how high a line


def label_points(ax: Any, points: NDArray[np.float64], texts: Sequence[str], size: float = 7.5) -> list[int]:
    """Write texts beside points, at most five and none over another; return which were written.

    Each goes where it covers no other text and the fewest points: to the left or right, above or below. One without
    such a place is left out. The limits of the axis must be set.

    Parameters
    ----------
    ax : matplotlib axis
    points : ndarray of shape (N, 2)
        All points that are drawn; those to name come first.
    texts : sequence of str
        Of the first points.
    size : float
        Of the font, in points.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> label_points(Figure().subplots(), np.array([[0.2, 0.2], [0.2, 0.21], [0.9, 0.9]]), ["one", "two", "three"])
    [0, 1, 2]
    """
    scale = 72 / ax.figure.dpi  # pixels to points
    places = ax.transData.transform(points) * scale
    frame = ax.transAxes.transform([[0, 0], [1, 1]]) * scale
    taken: list[tuple[float, float, float, float]] = []
    written = []
    for i, text in enumerate(texts[:_MOST_LABELS]):
        width, height = _LETTER * size * len(text), _LINE * size
        best: tuple[int, tuple[int, int], tuple[float, float, float, float]] | None = None
        for x, y in ((9, 0), (-9, 0), (0, 11), (0, -11), (9, 11), (-9, 11), (9, -11), (-9, -11), (0, 22), (0, -22)):
            left = places[i, 0] + x - (width if x < 0 else width / 2 if x == 0 else 0.0)
            low = places[i, 1] + y - height / 2
            box = (left, low, left + width, low + height)
            if left < frame[0, 0] or box[2] > frame[1, 0] or low < frame[0, 1] or box[3] > frame[1, 1]:
                continue
            if any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken):
                continue
            covered = ((places >= box[:2]) & (places <= box[2:])).all(axis=1).sum()
            if best is None or covered < best[0]:
                best = int(covered), (x, y), box
        if best is None:
            continue
        _, (x, y), box = best
        side = "right" if x < 0 else "center" if x == 0 else "left"
        ax.annotate(text, points[i], (x, y), textcoords="offset points", fontsize=size, ha=side, va="center")
        taken.append(box)
        written.append(i)
    return written

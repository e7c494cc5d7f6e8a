"""Numbers that are derived from curves: peaks and where they are, integrals, first crossings of a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Crossing:
    """The first place at which a curve crosses a value, upward or downward.

    Examples
    --------
    >>> Crossing(0.5).words
    'crossing_0.5'
    """

    value: float

    def __post_init__(self) -> None:
        if not np.isfinite(self.value):
            raise InputError(f"A crossing of {self.value!r} is requested, but a number is expected.")

    @property
    def words(self) -> str:
        """How columns call it."""
        return f"crossing_{self.value:g}"


CurveNumber = str | Crossing


def peak(grid: Array, values: Array) -> Array:
    """Return the largest values (…) of curves (…, m)."""
    return np.asarray(values.max(axis=-1))


def place_of_peak(grid: Array, values: Array) -> Array:
    """Return where curves (…, m) are largest."""
    return np.asarray(grid[values.argmax(axis=-1)])


def lowest(grid: Array, values: Array) -> Array:
    """Return the smallest values (…) of curves (…, m)."""
    return np.asarray(values.min(axis=-1))


def place_of_lowest(grid: Array, values: Array) -> Array:
    """Return where curves (…, m) are smallest."""
    return np.asarray(grid[values.argmin(axis=-1)])


def integral(grid: Array, values: Array) -> Array:
    """Return integrals of curves (…, m) over a grid (m,), by the trapezoidal rule.

    Examples
    --------
    >>> float(integral(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 2.0])))
    5.0
    """
    return np.asarray(np.trapezoid(values, grid, axis=-1))


def first_crossing(grid: Array, values: Array, level: float) -> Array:
    """Return where curves (…, m) first cross a level, on straight lines between places; NaN where they do not.

    Examples
    --------
    >>> first_crossing(np.array([0.0, 1.0, 2.0]), np.array([[0.0, 2.0, 0.0], [0.0, 0.5, 0.0]]), 1.0).tolist()
    [0.5, nan]
    """
    above = values > level
    crosses = above[..., 1:] != above[..., :-1]
    first = crosses.argmax(axis=-1)
    before, after = (np.take_along_axis(values, (first + k)[..., None], axis=-1)[..., 0] for k in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        part = (level - before) / (after - before)
    found = grid[first] + part * (grid[first + 1] - grid[first])
    return np.where(crosses.any(axis=-1), found, np.nan)


NUMBERS: dict[str, Callable[[Array, Array], Array]] = {
    "peak": peak,
    "place_of_peak": place_of_peak,
    "lowest": lowest,
    "place_of_lowest": place_of_lowest,
    "integral": integral,
}


def number_of(what: CurveNumber, grid: Array, values: Array) -> Array:
    """Return a derived number (…) of curves (…, m).

    Parameters
    ----------
    what : {"peak", "place_of_peak", "lowest", "place_of_lowest", "integral"} or Crossing
    grid : ndarray of shape (m,)
    values : ndarray of shape (…, m)
    """
    if isinstance(what, Crossing):
        return first_crossing(grid, values, what.value)
    return NUMBERS[what](grid, values)


def asked_numbers(asked: CurveNumber | Sequence[CurveNumber]) -> list[CurveNumber]:
    """Return the numbers that are asked for as a list; refuse those that are not known."""
    found = [asked] if isinstance(asked, (str, Crossing)) else list(asked)
    for one in found:
        if not isinstance(one, Crossing) and one not in NUMBERS:
            raise InputError(
                f"There is no number {one!r} of curves; choose from {', '.join(NUMBERS)}, or Crossing(value)."
            )
    return found


def name_of(what: CurveNumber) -> str:
    """Return how columns call a derived number."""
    return what.words if isinstance(what, Crossing) else what

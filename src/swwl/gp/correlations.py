r"""Correlation functions of one scaled distance.

Every correlation is written :math:`c(s) = m(s)\,e^{-e(s)}` with :math:`s = \beta d`, because a product of
several then needs a single exponential: the exponents add and the multipliers multiply. Its derivative is
kept as the logarithmic slope :math:`\partial\log c/\partial\log\beta`, which needs no exponential at all.
Where :math:`s^2` is a sum over several ranges (``factors.py``), each has its share of that slope: the slope over
:math:`s^2`, times its own part of the sum.

This file knows arrays and nothing else; ``factors.py`` multiplies correlations together.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError

Array = NDArray[np.float64]
CorrelationName = str | Sequence[Any]  # such as ("power", 1.5)


@dataclass(frozen=True)
class Correlation:
    r"""A correlation :math:`c(s) = m(s)\,e^{-e(s)}` of a scaled distance :math:`s = \beta d \geq 0`.

    Parameters
    ----------
    name : str or tuple
        What the user writes: ``"gaussian"``, ``"matern52"``, ``"matern32"`` or ``("power", alpha)``.
    parts : callable
        Maps ``s`` to ``(e, m)``, two new arrays of its shape; ``m`` is None where it is one.
    slope : callable
        Maps ``s`` to :math:`\partial\log c/\partial\log\beta`, a new array of its shape.
    steepness : callable
        Maps ``s`` to the slope over :math:`s^2`, a new array of its shape; zero where it has no limit at s = 0.
    rough : bool
        Whether c, as a function of :math:`s^2`, is steep without bound at zero: rounding of :math:`s^2` counts then.

    Examples
    --------
    >>> c = get_correlation("gaussian")
    >>> float(c(np.array([1.0]))[0]) == math.exp(-1.0)
    True
    """

    name: str | tuple[str, float]
    parts: Callable[[Array], tuple[Array, Array | None]]
    slope: Callable[[Array], Array]
    steepness: Callable[[Array], Array]
    rough: bool = False

    def __call__(self, s: Array) -> Array:
        """Return the correlation at scaled distances ``s``, any shape."""
        exponent, multiplier = self.parts(s)
        value = np.exp(-exponent)
        return value if multiplier is None else multiplier * value


def _gaussian_parts(s: Array) -> tuple[Array, Array | None]:
    return s * s, None


def _gaussian_slope(s: Array) -> Array:
    return -2.0 * (s * s)


def _gaussian_steepness(s: Array) -> Array:
    return np.full_like(s, -2.0)


def _matern52_parts(s: Array) -> tuple[Array, Array | None]:
    t = math.sqrt(5.0) * s
    m = t / 3.0
    m += 1.0
    m *= t
    m += 1.0
    return t, m


def _matern52_slope(s: Array) -> Array:
    # c = (1 + t + t²/3) exp(-t) has dc/dlog β = -t²(1 + t)/3 exp(-t)
    t = math.sqrt(5.0) * s
    below = t + 3.0
    below *= t
    below += 3.0
    above = t + 1.0
    above *= t
    above *= t
    above /= below
    return np.negative(above, out=above)


def _matern52_steepness(s: Array) -> Array:
    t = math.sqrt(5.0) * s
    below = t + 3.0
    below *= t
    below += 3.0
    t += 1.0
    t *= -5.0
    return np.divide(t, below, out=t)


def _matern32_parts(s: Array) -> tuple[Array, Array | None]:
    t = math.sqrt(3.0) * s
    return t, 1.0 + t


def _matern32_slope(s: Array) -> Array:
    # c = (1 + t) exp(-t) has dc/dlog β = -t² exp(-t)
    t = math.sqrt(3.0) * s
    return -(t * t) / (1.0 + t)


def _matern32_steepness(s: Array) -> Array:
    return -3.0 / (1.0 + math.sqrt(3.0) * s)


def _power(alpha: float) -> Correlation:
    def steepness(s: Array) -> Array:
        return -alpha * np.power(s, alpha - 2.0, out=np.zeros_like(s), where=s > 0.0)

    return Correlation(
        ("power", alpha), lambda s: (s**alpha, None), lambda s: -alpha * s**alpha, steepness, rough=alpha < 2.0
    )


GAUSSIAN = Correlation("gaussian", _gaussian_parts, _gaussian_slope, _gaussian_steepness)
_NAMED = {
    "gaussian": GAUSSIAN,
    "matern52": Correlation("matern52", _matern52_parts, _matern52_slope, _matern52_steepness),
    "matern32": Correlation("matern32", _matern32_parts, _matern32_slope, _matern32_steepness),
}


def get_correlation(name: CorrelationName) -> Correlation:
    r"""Look a correlation up by its name.

    Parameters
    ----------
    name : {"gaussian", "matern52", "matern32"} or ("power", alpha)
        With :math:`s = \beta d`: :math:`e^{-s^2}`; :math:`(1 + t + t^2/3)e^{-t}` with :math:`t = \sqrt5 s`;
        :math:`(1 + t)e^{-t}` with :math:`t = \sqrt3 s`; :math:`e^{-s^\alpha}` with :math:`0 < \alpha \leq 2`.

    Examples
    --------
    >>> get_correlation(("power", 1.0))(np.array([0.0, 1.0])).round(3).tolist()
    [1.0, 0.368]
    >>> get_correlation("matern25")
    Traceback (most recent call last):
        ...
    swwl.errors.InputError: Unknown correlation 'matern25': did you mean 'matern52'? Known: ...
    """
    known = "'gaussian', 'matern52', 'matern32' and ('power', alpha)"
    if isinstance(name, str):
        if name in _NAMED:
            return _NAMED[name]
        near = difflib.get_close_matches(name.lower(), [*_NAMED, "power"], n=1, cutoff=0.5)
        wanted = {"power": "('power', alpha)"}.get(near[0], repr(near[0])) if near else ""
        hint = f": did you mean {wanted}?" if near else "."
        raise InputError(f"Unknown correlation {name!r}{hint} Known: {known}.")
    if isinstance(name, (tuple, list)) and len(name) == 2 and name[0] == "power":
        alpha = float(name[1])
        if not 0.0 < alpha <= 2.0:
            raise InputError(f"The power correlation has exponent {alpha:g}, but it must lie in (0, 2].")
        return _power(alpha)
    raise InputError(f"Unknown correlation {name!r}. Known: {known}.")

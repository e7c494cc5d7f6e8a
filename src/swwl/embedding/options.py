"""The options that embeddings and kernels on graphs share, checked in one place by their names."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.clouds import CLOUDS, MEASURES
from swwl.embedding.sliced import DIRECTIONS, QUANTILES
from swwl.embedding.wl import NORMALIZATIONS
from swwl.errors import InputError

NODE_WEIGHTS = (None, "area", "uniform")

_LEAST = {
    "n_iterations": 0,
    "step": 1,
    "n_projections": 1,
    "n_quantiles": 2,
    "n_layers": 0,
    "n_outputs": 1,
    "n_epochs": 1,
    "batch_size": 1,
    "max_iter": 1,
    "t_max": 1,
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    "quantiles": QUANTILES,
    "directions": DIRECTIONS,
    "node_weights": NODE_WEIGHTS,
    "measure": MEASURES,
    "r": (1, 2),
    "normalization": NORMALIZATIONS,
}


def check_options(options: Mapping[str, Any], **choices: tuple[Any, ...]) -> None:
    """Refuse what an option cannot be; options that are not known here are left alone.

    Parameters
    ----------
    options : mapping
        Values by the names of constructor arguments, as ``get_params`` gives them.
    **choices : tuple
        What an option of this name may be where that differs from :class:`swwl.SWWLEmbedding`.

    Examples
    --------
    >>> check_options({"n_iterations": 3, "normalization": "summ"})
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: normalization must be one of ['count', 'sum'], not 'summ'.
    """
    allowed = _CHOICES | choices
    for name, value in options.items():
        if name in allowed:
            plain = value is None or (isinstance(value, (str, numbers.Real)) and not isinstance(value, bool))
            if not plain or value not in allowed[name]:
                raise InputError(f"{name} must be one of {list(allowed[name])}, not {value!r}.")
        elif name in _RULES:
            fits, wanted = _RULES[name]
            if not fits(value):
                raise InputError(wanted.format(name=name, value=value))
        elif name in _LEAST:
            _check_count(name, value)


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and math.isfinite(value) and bool(value > 0)


def _is_not_negative(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and bool(value >= 0)


def _is_jobs(value: object) -> bool:
    return value is None or (isinstance(value, numbers.Integral) and not isinstance(value, bool) and value != 0)


# Whether a value will do, and what to say if not.
_RULES: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(
        ("w", "mu", "learning_rate", "disconnected"), (_is_positive, "{name} must be positive, but is {value!r}.")
    ),
    "tolerance": (_is_not_negative, "tolerance must not be negative, but is {value!r}."),
    "n_jobs": (_is_jobs, "n_jobs must be a number of workers, or -1 for one per core, not {value!r}."),
    "merge_nodes": (
        lambda value: isinstance(value, (bool, np.bool_)),
        "merge_nodes must be True or False, not {value!r}.",
    ),
    "group": (
        lambda value: value is None or (isinstance(value, str) and bool(value.strip())),
        "group must be the name or a pattern of groups, such as 'body*', not {value!r}.",
    ),
    "fields": (
        lambda value: not isinstance(value, str),
        "fields must be a sequence of names, such as [{value!r}], not one string.",
    ),
}


def check_measure(options: Mapping[str, Any]) -> None:
    """Refuse options that a measure cannot serve, given checked options of :class:`swwl.SWWLEmbedding`.

    Examples
    --------
    >>> check_measure({"measure": "skin", "node_weights": "area"})
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: measure='skin' has its own masses, so node_weights must be None, not 'area'.
    """
    measure = options["measure"]
    if measure not in CLOUDS:
        return
    weights, fields, scale = (options.get(name) for name in ("node_weights", "fields", "scale"))
    if weights is not None:
        raise InputError(f"measure={measure!r} has its own masses, so node_weights must be None, not {weights!r}.")
    if options.get("per_iteration"):
        raise InputError(f'measure={measure!r} has no iterations to embed one by one; that needs measure="nodes".')
    if measure != "edges" and fields is not None and len(fields):
        raise InputError(f"measure={measure!r} takes coordinates only, so fields={list(fields)} cannot be used.")
    if measure == "skin" and not (scale is None or scale is False):
        raise InputError(
            f"measure='skin' already scales normals to coordinates, so scale must be False, not {scale!r}."
        )


def _check_count(name: str, value: object) -> None:
    if name == "step" and isinstance(value, str) and value == "sqrt":
        return
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < _LEAST[name]:
        also = ' or "sqrt"' if name == "step" else ""
        raise InputError(f"{name} must be an integer of at least {_LEAST[name]}{also}, not {value!r}.")


def check_exponent(alpha: Any, most: float = 2.0, *, name: str = "alpha", why: str = "") -> None:
    """Refuse exponents of a distance with which a correlation is not positive definite.

    Examples
    --------
    >>> check_exponent(3)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: alpha must lie in (0, 2], but is 3.
    """
    if not isinstance(alpha, (int, float, np.number)) or not 0 < alpha <= most:
        reason = ": with a larger one the kernel is not positive definite." if why else "."
        raise InputError(f"{name} must lie in (0, {most:g}]{why and ' ' + why}, but is {alpha!r}{reason}")


def given_scale(scale: Any, width: int) -> NDArray[np.float64]:
    """Return what features are divided by where that is not to be learned, shape (width,); ones for False."""
    if scale is False or scale is None:
        return np.ones(width)
    wanted = f"scale must be True, False or {width} positive numbers, one per feature, not {scale!r}."
    try:
        given = np.array(scale, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(wanted) from None
    if given.shape != (width,) or not (np.isfinite(given) & (given > 0)).all():
        raise InputError(wanted)
    return given

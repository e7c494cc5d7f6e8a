"""Arrays and objects that nobody can change: checked once, then trusted and shared.

What :class:`swwl.Graph` and :class:`swwl.Mesh` have in common.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from swwl.errors import InputError, InputTypeError

AnyArray: TypeAlias = NDArray[Any]  # of numbers of whatever type


class Frozen:
    """Base class of objects whose attributes are set once, when they are made."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} cannot be changed, so {name!r} cannot be set; make a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} cannot be changed, so {name!r} cannot be deleted.")

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def is_frozen(array: object) -> bool:
    """Whether nobody can write to an array, neither through it nor through the arrays that it is a view of.

    Examples
    --------
    >>> whole = np.zeros(3)
    >>> part = whole[:2]
    >>> part.setflags(write=False)
    >>> is_frozen(part)
    False
    """
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return array is None or isinstance(array, bytes)


def release(array: AnyArray) -> AnyArray:
    """Freeze an array that a reader made and hands over, so that :func:`own` takes it without a copy."""
    part: Any = array
    while isinstance(part, np.ndarray):
        part.setflags(write=False)
        part = part.base
    return array


def own(values: ArrayLike, dtype: DTypeLike | None = None) -> AnyArray:
    """Return a frozen array in C order: a copy, unless the values are one already.

    Examples
    --------
    >>> fixed = own([1, 2])
    >>> own(fixed) is fixed, own(fixed, np.float64) is fixed
    (True, False)
    """
    array = np.asarray(values, dtype, order="C") if is_frozen(values) else np.array(values, dtype, order="C")
    array.setflags(write=False)
    return array


def refuse_masked(values: object, what: str) -> None:
    """Refuse a masked array that hides entries, which would come out as whatever lies under the mask.

    Examples
    --------
    >>> refuse_masked(np.ma.masked_greater([1.0, 9.0], 5.0), "Point coordinates")
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: Point coordinates must be plain numbers, but 1 of 2 entries is masked.
    """
    if isinstance(values, np.ma.MaskedArray):
        hidden = int(np.ma.getmaskarray(values).sum())
        if hidden:
            are = "is" if hidden == 1 else "are"
            raise InputError(f"{what} must be plain numbers, but {hidden} of {values.size} entries {are} masked.")


def own_numbers(values: ArrayLike, wanted: str) -> NDArray[np.float64]:
    """Return a frozen float64 array, or say what was expected instead."""
    refuse_masked(values, wanted.partition(" must ")[0])
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise InputTypeError(f"{wanted}, but they are complex: give the real part.")
    try:
        return own(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{wanted}: {error}.") from None


def check_features(features: ArrayLike, what: str = "Features") -> NDArray[np.float64]:
    """Return a frozen (n, d) float64 array of finite numbers, or say what is wrong."""
    array = own_numbers(features, f"{what} must be an (n, d) array of numbers")
    if array.ndim == 1 and array.size:
        array = array[:, None]
    if array.size == 0 and (array.ndim != 2 or len(array) == 0):
        raise InputError("There are no nodes; at least one is needed.")
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{what} must be an (n, d) array with d >= 1, but have shape {array.shape}.")
    refuse_non_finite(array, what)
    return array


def refuse_non_finite(array: NDArray[np.float64], what: str) -> None:
    """Name the first node that has a value which is not finite, if there is one."""
    # The sum is finite far more often than not, and costs a tenth of looking at every entry.
    if not np.isfinite(array.sum()):
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            place = tuple(bad[0])
            column = f", column {place[1]}" if array.ndim == 2 else ""
            raise InputError(f"{what} must be finite, but node {place[0]}{column} holds {array[place]}.")


def check_field(name: str, field: ArrayLike, length: int, of: str = "node") -> AnyArray:
    """Return a frozen (n,) or (n, c) array of numbers of the given type; they need not be finite."""
    if not isinstance(name, str):
        raise InputTypeError(f"Field names must be strings, not {name!r}.")
    wanted = f"Field {name!r} must be an array of numbers"
    refuse_masked(field, f"Field {name!r}")
    array = field if isinstance(field, np.ndarray) else own_numbers(field, wanted)
    if array.ndim not in (1, 2) or len(array) != length or not array.size:
        raise InputError(f"Field {name!r} must have one row per {of} ({length}), but has shape {array.shape}.")
    if array.dtype.kind in "biuf":
        return own(array, None if array.dtype.isnative else array.dtype.newbyteorder("="))
    if array.dtype.kind == "c":
        raise InputTypeError(f"Field {name!r} must hold real numbers, but holds {array.dtype}.")
    return own_numbers(array, wanted)


def check_node_weights(weights: ArrayLike | None, n_nodes: int) -> NDArray[np.float64] | None:
    """Return a frozen (n,) array of masses, or say what is wrong."""
    if weights is None:
        return None
    array = own_numbers(weights, f"Node weights must be an array of shape ({n_nodes},)")
    if array.shape != (n_nodes,):
        raise InputError(f"Node weights must have shape ({n_nodes},), one per node, but have {array.shape}.")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InputError(f"Node weights must be finite and not negative, but node {bad[0]} has {array[bad[0]]}.")
    if not array.any():
        raise InputError("Node weights are all zero; at least one node needs a positive weight.")
    return array


def first_at_place(points: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return for every point (n, d) the first one at exactly the same place, (n,).

    >>> first_at_place(np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]])).tolist()
    [0, 1, 0]
    """
    number = np.arange(len(points), dtype=np.int32)
    # Points at one place have the same projection; it is quickly seen whether there are any.
    along = np.sort(points @ np.sqrt(np.arange(2.0, 2 + points.shape[1])))
    if (along[1:] != along[:-1]).all():
        return number
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    return number[first][inverse.reshape(-1)]


def counted(number: int, word: str) -> str:
    """Write a number of things.

    >>> counted(1, "edge"), counted(2, "edge")
    ('1 edge', '2 edges')
    """
    return f"{number} {word}{'s' * (number != 1)}"

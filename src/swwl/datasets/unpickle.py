"""Pickles of plain data, read without running what they ask for.

Unpickling calls whatever a file names. Here it can name NumPy's arrays, data types and scalars alone, and even those
are stand-ins: the real arrays are made afterwards from bytes, shape and a checked type, so that a crafted state
never reaches NumPy.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import sys
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError

_MODULES = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray", "numpy.core.numeric", "numpy._core.numeric")
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, np.ndarray, np.generic)


def loads_plain(data: bytes) -> Any:
    """Unpickle containers, numbers, strings and NumPy arrays; refuse everything else.

    Raises
    ------
    ValueError
        If the pickle names anything but plain data, or is damaged. Nothing that it names is run.

    Examples
    --------
    >>> loads_plain(pickle.dumps({"nodes": np.arange(3)}))
    {'nodes': array([0, 1, 2])}
    >>> loads_plain(pickle.dumps(print))
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: The pickle asks for builtins.print, but only plain data and NumPy arrays are read.
    """
    try:
        _check_sizes(data)
        return _Settler(len(data))(_Unpickler(data).load())
    except (pickle.UnpicklingError, EOFError, AttributeError, LookupError, TypeError, OverflowError) as error:
        raise InputError(f"The pickle is damaged or holds more than plain data ({error}).") from None
    except (RecursionError, MemoryError) as error:
        raise InputError(f"The pickle is nested or sized beyond reason ({type(error).__name__}).") from None


def _check_sizes(data: bytes) -> None:
    """Refuse lengths beyond the data's own and memo numbers that no pickler writes: they only exhaust memory."""
    for code, argument, _ in pickletools.genops(data):  # raises where an argument is cut short
        if code.name in ("PUT", "BINPUT", "LONG_BINPUT") and not 0 <= int(argument or 0) <= len(data):
            raise InputError(f"The pickle is damaged: it numbers an object {argument} in {len(data)} bytes.")


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes):
        super().__init__(io.BytesIO(data))
        self._vocabulary = _vocabulary()

    def find_class(self, module: str, name: str) -> Any:
        known = self._vocabulary.get((module, name))
        if known is None:
            raise InputError(f"The pickle asks for {module}.{name}, but only plain data and NumPy arrays are read.")
        return known


def _vocabulary() -> dict[tuple[str, str], Any]:
    """Make the stand-ins, new ones for each pickle: a pickle may set attributes of what it is given."""

    class DType:
        """``numpy.dtype(code, align, copy)``, then a state whose second entry is the byte order."""

        def __init__(self, code: str, *_: Any):
            self.code, self.order = code, "="

        def __setstate__(self, state: tuple[Any, ...]) -> None:
            self.order = state[1]

        def real(self) -> np.dtype[Any]:
            if not (isinstance(self.code, str) and self.code[:1] in "biufcSU" and self.code[1:].isdigit()):
                raise InputError(
                    f"The pickle holds an array of type {self.code!r}, but only numbers and text are read."
                )
            dtype = np.dtype(self.code)
            return dtype.newbyteorder() if self.order == (">" if sys.byteorder == "little" else "<") else dtype

    class Array:
        """``_reconstruct(ndarray, (0,), b"b")``, then a state of version, shape, type, order and bytes."""

        def __init__(self, *_: Any):
            self.state: tuple[Any, ...] | None = None

        def __setstate__(self, state: tuple[Any, ...]) -> None:
            self.state = state

        def real(self) -> NDArray[Any]:
            if self.state is None:
                raise InputError("The pickle holds an array without content.")
            _, shape, dtype, fortran, data = self.state
            return from_buffer(data, dtype, shape, "F" if fortran else "C")

    def from_buffer(data: Any, dtype: Any, shape: Any, order: Any) -> NDArray[Any]:
        if not isinstance(data, (bytes, bytearray)) or not isinstance(dtype, DType):
            raise InputError("The pickle holds an array of objects, but only numbers and text are read.")
        return np.frombuffer(bytes(data), dtype.real()).reshape(shape, order=order).copy(order="K")

    def scalar(dtype: Any, data: Any) -> Any:
        return from_buffer(data, dtype, (), "C")[()]

    def encode(text: Any, encoding: Any = "latin1") -> bytes:
        if encoding != "latin1":
            raise InputError(f"The pickle wants bytes from the encoding {encoding!r}, but only latin1 is read.")
        return str(text).encode("latin1")

    names = {"ndarray": Array, "dtype": DType, "_reconstruct": Array, "scalar": scalar, "_frombuffer": from_buffer}
    known: dict[tuple[str, str], Any] = {(module, name): thing for module in _MODULES for name, thing in names.items()}
    # Older protocols spell these by name.
    builtin = {"set": set, "frozenset": frozenset, "complex": complex, "bytes": lambda: b""}
    known |= {(module, name): thing for module in ("builtins", "__builtin__") for name, thing in builtin.items()}
    return known | {("_codecs", "encode"): encode, ("collections", "OrderedDict"): OrderedDict}


class _Settler:
    """Puts real arrays in place of the stand-ins, each made once.

    Parameters
    ----------
    most : int
        Items to look at. A pickle spends a byte or more on each, unless it names a list again and again inside of
        others: a few hundred bytes can stand for more items than any memory holds.
    """

    def __init__(self, most: int):
        self._left = most
        self._made: dict[int, Any] = {}

    def __call__(self, obj: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise InputError("The pickle stands for more items than it has bytes.")
        if isinstance(obj, _PLAIN):
            return obj
        if isinstance(obj, dict):
            return {self(key): self(value) for key, value in obj.items()}
        if isinstance(obj, (list, tuple, set, frozenset)):
            kind = type(obj)
            return kind(self(item) for item in obj)
        if not isinstance(obj, type) and callable(getattr(obj, "real", None)):
            if id(obj) not in self._made:
                self._made[id(obj)] = obj.real()
            return self._made[id(obj)]
        raise InputError(f"The pickle holds {type(obj).__name__}, but only plain data and NumPy arrays are read.")

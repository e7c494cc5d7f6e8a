"""What a model file says, checked before anything is computed with it: types, ranges, and sizes that must agree."""

from __future__ import annotations

import io
import lzma
import math
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError

# What reading something else than a whole archive ends in; NotImplementedError, of an unknown compression, is a
# RuntimeError.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, OSError)
_MOST_HEAD = 20_000  # bytes; NumPy itself refuses more than 10 000
_HEADS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Sizes:
    """Shapes of arrays that belong together: a letter is one size, learned where it is first met.

    Parameters
    ----------
    **known : int
        Sizes that are known beforehand.

    Examples
    --------
    >>> sizes = Sizes(k=1)
    >>> sizes.array("alpha", np.zeros((5, 1)), "nk").shape, sizes["n"]
    ((5, 1), 5)
    >>> sizes.array("y", np.zeros((4, 1)), "nk")
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: y has shape (4, 1), but (5, 1) is wanted
    """

    def __init__(self, **known: int):
        self._known = known

    def __getitem__(self, letter: str) -> int:
        return self._known[letter]

    def array(self, name: str, value: Any, shape: str, kinds: str = "f") -> NDArray[Any]:
        """Return a finite array of these sizes, one letter per axis.

        Parameters
        ----------
        name : str
            What messages call it.
        value : anything
        shape : str
        kinds : str
            Of data types, as NumPy writes them.
        """
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            found = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else shown(value)
            raise InputError(f"{name} is {found}, but an array of numbers is wanted")
        for letter, size in zip(shape, value.shape, strict=False):
            self._known.setdefault(letter, size)
        wanted = tuple(self._known.get(letter, 0) for letter in shape)
        if value.shape != wanted:
            raise InputError(f"{name} has shape {value.shape}, but {wanted} is wanted")
        if not np.isfinite(value).all():
            raise InputError(f"{name} holds numbers that are not finite")
        return value


def shown(value: Any) -> str:
    """Return a value, whatever it is, for the middle of a line.

    Examples
    --------
    >>> shown(np.eye(2)), len(shown("a" * 1000))
    ('array([[1., 0.], [0., 1.]])', 80)
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:79]}…"


def check_number(name: str, value: Any, least: float = -math.inf, *, above: float = -math.inf) -> float:
    """Return a finite number that is at least ``least`` and more than ``above``.

    Examples
    --------
    >>> check_number("spread", -1.0, above=0)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: spread is -1.0, but a number above 0 is wanted
    """
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not value >= least or not value > above:
        bound = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" if least > -math.inf else ""
        raise InputError(f"{name} is {shown(value)}, but a number{bound} is wanted")
    return float(value)


def check_count(name: str, value: Any, least: int = 0) -> int:
    """Return a whole number that is at least ``least``."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} is {shown(value)}, but a whole number of at least {least} is wanted")
    return int(value)


def check_texts(name: str, value: Any) -> list[str]:
    """Return a list of different texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value) or len({*value}) < len(value):
        raise InputError(f"{name} is {shown(value)}, but a list of different names is wanted")
    return value


def as_array(content: bytes) -> NDArray[Any]:
    """Return the numbers or texts of an ``.npy`` file, read-only; what its head says is compared with its size.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> as_array(file.getvalue())
    array([0, 1, 2])
    """
    try:
        head = io.BytesIO(content[:_MOST_HEAD])
        version = np.lib.format.read_magic(head)
        if version not in _HEADS:
            raise ValueError(f"it is of version {version}")
        shape, fortran, dtype = _HEADS[version](head)
    except Exception as error:  # NumPy lets through what Python's parser raises
        raise InputError(f"it has no valid head ({_first_line(error)})") from None
    if dtype.kind not in "biufU":
        raise InputError(f"it holds {dtype}, neither numbers nor texts")
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != len(content) - head.tell():
        raise InputError(f"it declares {size} bytes, but has {len(content) - head.tell()}")
    if not size:
        empty = np.empty(shape, dtype)
        empty.setflags(write=False)
        return empty
    return np.frombuffer(content, dtype, offset=head.tell()).reshape(shape, order="F" if fortran else "C")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:120]

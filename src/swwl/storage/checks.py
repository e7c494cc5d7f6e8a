"""What a file may say, declared by annotations and checked before anything is computed with it.

A class of stored values says what each of them is: its type and bounds as msgspec knows them, the shape of an array by
a :class:`Shape`. :func:`restored` makes an instance of what a file holds, or refuses it.
"""

from __future__ import annotations

import io
import lzma
import math
import zipfile
import zlib
from dataclasses import dataclass, is_dataclass
from itertools import repeat
from types import UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.formatting import Record

# What reading something else than a whole archive ends in; NotImplementedError, of an unknown compression, is a
# RuntimeError.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, OSError)
_MOST_HEAD = 20_000  # bytes; NumPy itself refuses more than 10 000
_HEADS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}

Kind = TypeVar("Kind")


class Sizes:
    """Shapes of arrays that belong together: a letter is one size, learned where it is first met.

    Parameters
    ----------
    **known : int
        Sizes that are known beforehand.

    Examples
    --------
    >>> sizes = Sizes(k=1)
    >>> sizes.array("alpha", np.zeros((5, 1)), "nk").shape
    (5, 1)
    >>> sizes.array("y", np.zeros((4, 1)), "nk")
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: y has shape (4, 1), but (5, 1) is expected
    """

    def __init__(self, **known: int):
        self._known = known

    def size(self, name: str, letter: str, value: int) -> None:
        """Refuse a number that is not this size."""
        if self._known.setdefault(letter, value) != value:
            raise InputError(f"{name} is {value}, but {self._known[letter]} is expected")

    def array(self, name: str, value: object, shape: str, kinds: str = "f") -> NDArray[Any]:
        """Return a finite array of these sizes, one letter per axis.

        Parameters
        ----------
        name : str
            What messages call it.
        value : anything
        shape : str
            A digit is a size itself, and a star any size.
        kinds : str
            Of data types, as NumPy writes them.
        """
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            found = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else shown(value)
            raise InputError(f"{name} is {found}, but an array of numbers is expected")
        known = self._known | {letter: int(letter) for letter in shape if letter.isdigit()}
        for letter, size in zip(shape, value.shape, strict=False):
            known["*"] = size
            known.setdefault(letter, size)
        expected = tuple(known.get(letter, 0) for letter in shape)
        if value.shape != expected:
            raise InputError(f"{name} has shape {value.shape}, but {expected} is expected")
        if not np.isfinite(value).all():
            raise InputError(f"{name} holds numbers that are not finite")
        self._known = known
        return value


class Mark:
    """A check beside the type of an annotation; by itself it lets everything pass, numbers that are not finite too."""

    def check(self, name: str, value: object, sizes: Sizes) -> None:
        """Refuse a value of the right type that cannot be."""


@dataclass(frozen=True)
class Shape(Mark):
    """The shape and the type of an array, see :meth:`Sizes.array`; bounds of its numbers, and whether they rise.

    The same letter is the same size throughout a class and its parts; items of lists and dicts have letters of their
    own where they are classes.
    """

    axes: str
    kinds: str = "f"
    least: float = -math.inf
    above: float = -math.inf
    rises: bool = False

    def check(self, name: str, value: object, sizes: Sizes) -> None:
        """Refuse another shape, and numbers out of bounds."""
        array = sizes.array(name, value, self.axes, self.kinds)
        if array.size and not (self.least <= array.min() > self.above):
            bound = f"above {self.above:g}" if self.above > -math.inf else f"of at least {self.least:g}"
            raise InputError(f"{name} holds {array.min()}, but numbers {bound} are expected")
        if self.rises and (np.diff(array, axis=0) < 0).any():
            raise InputError(f"{name} decreases somewhere, but must increase")


class _Distinct(Mark):
    def check(self, name: str, value: object, sizes: Sizes) -> None:
        if isinstance(value, list) and len({*value}) < len(value):
            raise InputError(f"{name} is {shown(value)}, but different names are expected")


@dataclass(frozen=True)
class Size(Mark):
    """A number that is a size, by its letter in shapes."""

    letter: str

    def check(self, name: str, value: object, sizes: Sizes) -> None:
        """Refuse another size than is known already."""
        if isinstance(value, int):
            sizes.size(name, self.letter, value)


Array = NDArray[np.float64]
Names = Annotated[list[str], _Distinct()]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Squarable = Annotated[float, Meta(ge=-1e150, le=1e150)]  # its square is a number
NotNegative = Annotated[float, Meta(ge=0)]
# Numbers that need not be finite.
PositiveOrInfinite = Annotated[float, Meta(gt=0), Mark()]
AnyNumber = Annotated[float, Mark()]
PERHAPS = "need not be there"  # beside the type of what an estimator may not have learned


def restored(kind: type[Kind], state: object, **sizes: int) -> Kind:
    """Make an instance of a declared class of what a file holds; other entries of a dict are ignored.

    Parameters
    ----------
    kind : type
        A dataclass, a ``msgspec.Struct``, or any other type that msgspec knows.
    state : object
        Dicts, lists, arrays and plain values.
    **sizes : int
        Letters of shapes that are known beforehand.

    Examples
    --------
    >>> @dataclass
    ... class Line:
    ...     name: str
    ...     points: Annotated[Array, Shape("nd")]
    ...     weights: Annotated[Array, Shape("n", above=0)]
    >>> restored(Line, {"name": "a", "points": np.zeros((3, 2)), "weights": np.ones(2)})
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: weights has shape (2,), but (3,) is expected
    >>> restored(Line, {"name": 5})
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: name: expected 'str', got 'int'
    """
    if isinstance(state, dict):
        state = {name: value for name, value in state.items() if not str(name).startswith("_")}
    found = converted("", state, kind)
    _check("it", found, kind, Sizes(**sizes))
    return found


def arguments(kind: type, params: Record) -> Record:
    """Return arguments of a constructor as its annotations have them; None passes, as a default of scikit-learn's."""
    hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    given = {name: value for name, value in params.items() if value is not None}
    return params | {name: converted(name, value, hints.get(name, Any)) for name, value in given.items()}


def contiguous(state: Record) -> Record:
    """Return a state with arrays in C order and floating point numbers of double precision.

    Memory order decides which BLAS routine runs, so it is part of "bit for bit".
    """
    return {
        name: np.ascontiguousarray(value, dtype=float if value.dtype.kind == "f" else None)
        if isinstance(value, np.ndarray)
        else value
        for name, value in state.items()
    }


def converted(name: str, value: object, kind: Any) -> Any:
    """Return a value as its type has it, without a look at shapes."""
    try:
        return msgspec.convert(value, kind)
    except AttributeError:  # msgspec takes an array for a mapping, which has items
        raise InputError(f"{name or 'it'} holds an array, but a dict is expected") from None
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$")
        place = (name + place.rstrip("`")).lstrip(".")
        text = text.replace("Object missing required field", "It has no").replace("`", "'")
        raise InputError(f"{place}: " * bool(place) + text[:1].lower() + text[1:]) from None


_DECLARED: dict[type, Record] = {}


def is_declared(kind: type) -> bool:
    """Whether a class is stored by its annotations: a dataclass, or a ``msgspec.Struct``."""
    return is_dataclass(kind) or issubclass(kind, msgspec.Struct)


def declared(kind: type) -> Record:
    """Return the annotations of a class of stored values; of an estimator, those of what it learns."""
    if kind not in _DECLARED:
        _DECLARED[kind] = {
            name: hint
            for name, hint in get_type_hints(kind, include_extras=True).items()
            if get_origin(hint) != ClassVar and not name.startswith("_") and (is_declared(kind) or name.endswith("_"))
        }
    return _DECLARED[kind]


def check_declared(thing: object, sizes: Sizes) -> None:
    """Refuse an instance some of whose values are missing, or of another shape than declared."""
    for name, hint in declared(type(thing)).items():
        if hasattr(thing, name):
            _check(name, getattr(thing, name), hint, sizes)
        elif PERHAPS not in get_args(hint):
            raise InputError(f"it has no {name}")


def _check(name: str, value: Any, hint: Any, sizes: Sizes) -> None:
    """Check what msgspec cannot: marks, numbers that are not finite, and what lies inside of others."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marks = [part for part in parts[1:] if isinstance(part, Mark)]
        for mark in marks:
            mark.check(name, value, sizes)
        if not marks:
            _check(name, value, parts[0], sizes)
    elif hint is Any or value is None:
        return
    elif origin in (Union, UnionType):
        for part in parts:
            _check(name, value, part, sizes)
    elif origin in (list, tuple, dict) and isinstance(value, origin):
        items = value.values() if isinstance(value, dict) else value
        for item, part in zip(items, parts if origin is tuple else repeat(parts[-1]), strict=False):
            _check(name, item, part, Sizes() if is_declared(type(item)) else sizes)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name} is {value}, but a number is expected")
    elif is_declared(type(value)):
        check_declared(value, sizes)


def shown(value: object) -> str:
    """Return a value, whatever it is, for the middle of a line.

    Examples
    --------
    >>> shown(np.eye(2)), len(shown("a" * 1000))
    ('array([[1., 0.], [0., 1.]])', 80)
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:79]}…"


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
        raise InputError(f"it holds {dtype}, neither numbers nor strings")
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

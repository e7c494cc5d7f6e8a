"""Declared classes: what fits is made, what does not is refused with its name."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import numpy as np
import pytest

from swwl.errors import InputError
from swwl.storage.checks import (
    PERHAPS,
    AnyNumber,
    Array,
    Count,
    Names,
    Positive,
    PositiveOrInfinite,
    Shape,
    Size,
    Sizes,
    arguments,
    check_declared,
    contiguous,
    declared,
    restored,
)


@dataclass
class Part:
    shift: Annotated[Array, Shape("d")]


class Item(msgspec.Struct):
    values: Annotated[Array, Shape("n")]


@dataclass
class Whole:
    names: Names
    points: Annotated[Array, Shape("nd")]
    part: Part
    items: list[Item]
    df: PositiveOrInfinite = np.inf
    loose: AnyNumber = 0.0
    width: Positive = 1.0
    count: Count = 0
    pieces: list[Annotated[Array, Shape("d*")]] = field(default_factory=list)
    numbers: Annotated[np.ndarray, Shape("k", "i", least=0, rises=True)] | None = None
    boxes: Annotated[Array, Shape("b4")] | None = None
    d: Annotated[int, Size("d")] = 2
    _cache: dict[str, Any] = field(default_factory=dict)


GOOD = {"names": ["a", "b"], "points": np.zeros((3, 2)), "part": {"shift": np.ones(2)}, "items": []}


def test_what_fits_is_made():
    more = {"df": np.inf, "loose": np.nan, "width": 2, "pieces": [np.zeros((2, 5)), np.zeros((2, 1))]}
    items = [{"values": np.zeros(7)}, {"values": np.zeros(1)}]  # of letters of their own
    found = restored(Whole, GOOD | more | {"items": items, "numbers": np.array([0, 0, 4]), "other": 1}, n=3)
    assert isinstance(found.part, Part) and isinstance(found.items[1], Item)
    assert found.width == 2.0 and len(found.pieces) == 2


BAD = {
    "names": (["a", "a"], "names is .*, but different names are expected"),
    "points": (np.zeros((3, 2), int), "points is an array of int64, but an array of numbers is expected"),
    "part": ({"shift": np.ones(3)}, r"shift has shape \(3,\), but \(2,\) is expected"),
    "items": ([{"values": 3}], r"items\[0\].values: expected 'numpy.ndarray', got 'int'"),
    "df": (np.nan, "df: expected 'float' > 0.0"),
    "width": (np.inf, "width is inf, but a number is expected"),
    "count": (True, "count: expected 'int', got 'bool'"),
    "pieces": ([np.zeros((3, 5))], r"pieces has shape \(3, 5\), but \(2, 5\) is expected"),
    "boxes": (np.zeros((3, 5)), r"boxes has shape \(3, 5\), but \(3, 4\) is expected"),
    "d": (3, "d is 3, but 2 is expected"),
    "numbers": (np.array([-1, 2]), "numbers holds -1, but numbers of at least 0 are expected"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused(name):
    value, message = BAD[name]
    with pytest.raises(InputError, match=message):
        restored(Whole, GOOD | {name: value})


def test_more_that_does_not_fit():
    with pytest.raises(InputError, match="numbers decreases somewhere, but must increase"):
        restored(Whole, GOOD | {"numbers": np.array([2, 1])})
    with pytest.raises(InputError, match=r"points has shape \(3, 2\), but \(4, 2\) is expected"):
        restored(Whole, GOOD, n=4)
    with pytest.raises(InputError, match="points holds numbers that are not finite"):
        restored(Whole, GOOD | {"points": np.full((3, 2), np.nan)})
    for value in ([], None, np.zeros(3), "x"):
        with pytest.raises(InputError):
            restored(Whole, value)
    with pytest.raises(InputError, match="it has no 'part'"):
        restored(Whole, {name: GOOD[name] for name in ("names", "points", "items")})
    with pytest.raises(InputError, match="an array, but a dict is expected"):
        restored(dict[str, int], np.zeros(3))


def test_private_values_are_not_read():
    assert "_cache" not in declared(Whole)
    assert restored(Whole, GOOD | {"_cache": {"terms": 1}})._cache == {}


class Estimator:
    options: int = 3
    mean_: float
    rows_: Annotated[Array, Shape("nd")]
    extra_: Annotated[Array, Shape("d"), PERHAPS]


def test_what_estimators_learn():
    assert list(declared(Estimator)) == ["mean_", "rows_", "extra_"]
    one = Estimator()
    one.mean_ = 1.0
    with pytest.raises(InputError, match="it has no rows_"):
        check_declared(one, Sizes())
    one.rows_ = np.zeros((3, 2))
    check_declared(one, Sizes())
    one.extra_ = np.zeros(3)
    with pytest.raises(InputError, match="extra_ has shape"):
        check_declared(one, Sizes())


def test_arguments_are_those_of_the_constructor():
    class Kind:
        def __init__(self, kernel: Any = None, *, trend: str | list[str] = "zero", n: int = 3):
            pass

    assert arguments(Kind, {"trend": ("a",), "n": None}) == {"trend": ["a"], "n": None}
    with pytest.raises(InputError, match="n: expected 'int', got 'str'"):
        arguments(Kind, {"n": "3"})


def test_arrays_in_the_order_of_memory_that_was_fitted():
    found = contiguous({"a": np.asfortranarray(np.ones((3, 2), np.float32)), "i": np.arange(3), "n": 1})
    assert found["a"].flags.c_contiguous and found["a"].dtype == float
    assert found["i"].dtype.kind == "i" and found["n"] == 1

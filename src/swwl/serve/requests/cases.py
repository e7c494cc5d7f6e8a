"""What clients ask, checked: texts of JSON, inputs of a case, values to sweep."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from swwl.errors import InputError
from swwl.formatting import number
from swwl.serve.models.served import Served
from swwl.storage.checks import shown

# Farther out than so many training ranges, squares of distances are beyond what numbers can hold.
_FAR = 1e9


def parse(text: str | bytes) -> dict[str, Any]:
    """Return the object that a text of JSON holds; NaN and numbers too large for one are refused.

    >>> parse('{"a": 1}')
    {'a': 1}
    >>> parse('{"a": NaN}')
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: The request is not JSON: it holds NaN, which JSON has not.
    """

    def refuse(word: str) -> Any:
        raise InputError(f"The request is not JSON: it holds {word}, which JSON has not.")

    try:
        found = json.loads(text, parse_constant=refuse)
    except InputError:
        raise
    except RecursionError:
        raise InputError("The request is not JSON: it is nested too deep.") from None
    except ValueError as error:
        raise InputError(f"The request is not JSON: {str(error)[:120]}.") from None
    if not isinstance(found, dict):
        raise InputError(f"The request must be a JSON object, not {shown(found)}.")
    return found


def known_keys(asked: Mapping[str, Any], *names: str) -> None:
    """Refuse keys that mean nothing, which are probably misspelled."""
    for name in asked:
        if name not in names:
            raise InputError(
                f"The request has a key {str(name)[:80]!r}, which is not known; known are {', '.join(names)}."
            )


def a_number(name: str, value: Any) -> float:
    """Return a finite number, or say what stands in its place."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        found = float(value) if good else math.nan
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise InputError(f"{name} must be a finite number, not {shown(value)}.")
    return found


def a_level(value: Any) -> float:
    """Return the probability of an interval."""
    level = a_number("level", value)
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, not {number(level)}.")
    return level


def an_object(name: str, value: Any) -> dict[str, Any]:
    """Return an object, or say what stands in its place."""
    if not isinstance(value, dict):
        raise InputError(f'{name} must be an object, such as {{"speed": 17000}}, not {shown(value)}.')
    return value


def input_value(served: Served, name: str, value: Any) -> Any:
    """Return the value of an input, checked."""
    known = next((one for one in served.inputs if one["name"] == name), None)
    if known is None:
        names = ", ".join(one["name"] for one in served.inputs) or "none"
        raise InputError(f"The model has no input {str(name)[:80]!r}; it has: {names}.")
    if known["holds"] == "categories":
        if not isinstance(value, str) or value not in known["categories"]:
            raise InputError(
                f"Input {name!r} must be one of {', '.join(known['categories'][:10])}, not {shown(value)}."
            )
        return value
    if known["holds"] == "rows":
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if not isinstance(value, list) or not value or len(value) > 10_000:
            raise InputError(f"Input {name!r} must be an integer or a list of numbers, not {shown(value)}.")
        return np.array([a_number(f"Input {name!r}", one) for one in value])
    found = a_number(f"Input {name!r}", value)
    if "least" in known:
        width = (known["largest"] - known["least"]) or abs(known["median"]) or 1.0
        if abs(found - known["median"]) > _FAR * width:
            raise InputError(
                f"Input {name!r} is {number(found)}, but the training cases lie between {number(known['least'])} and "
                f"{number(known['largest'])}: that is too far away to say anything."
            )
    elif abs(found) > 1e100:
        raise InputError(f"Input {name!r} is {number(found)}, which is too large to say anything.")
    return found


def case_table(served: Served, inputs: Any) -> pd.DataFrame:
    """Return a table of one row of checked inputs; all must be there."""
    given = an_object("inputs", {} if inputs is None else inputs)
    values = {name: input_value(served, name, value) for name, value in given.items()}
    missing = [one["name"] for one in served.inputs if one["name"] not in values]
    if missing:
        raise InputError(f"The model also needs {', '.join(missing)}: give them as inputs.")
    if all(isinstance(value, float) for value in values.values()):  # pandas is quickest with one array
        return pd.DataFrame(np.array([[values[name] for name in served.names]]), columns=served.names)
    return pd.DataFrame({name: _cell(value) for name, value in values.items()}, index=[0])


def _cell(value: Any) -> Any:
    return pd.Series([value], dtype=object) if isinstance(value, np.ndarray) else [value]

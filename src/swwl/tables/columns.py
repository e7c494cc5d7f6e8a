"""What the cells of a column hold: numbers, with a decimal point or comma, dates, or texts.

Receives what ``tablefile.py`` read; hands over pandas columns.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError

# Texts for "missing", in small letters; of these, only the certain ones count as missing in a column of texts.
_MISSING = frozenset(
    ("", "na", "n/a", "nan", "-nan", "+nan", "null", "none", "<na>", "#na", "#n/a", "#n/a n/a", "1.#ind", "-1.#ind",
     "1.#qnan", "-1.#qnan")
)  # fmt: skip
_MISSING_TEXT = _MISSING - {"none", "null"}
_INFINITE = {sign + word for sign in ("", "+", "-") for word in ("inf", "infinity")}
_TRUTH = {"true": True, "false": False}
_POINT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][+-]?\d+)?", re.ASCII)
# Such as 1,234: with a decimal comma, or a thousand two hundred and thirty-four.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+", re.ASCII)
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}([T ].*)?", re.ASCII)
_FRACTION = re.compile(r"[^\d+\-\s]", re.ASCII)
_LARGEST_INTEGER = 2**63


class Cells(NamedTuple):
    """The texts of a column and the lines on which they stand."""

    texts: list[str]
    lines: list[int]


def is_number(text: str) -> bool:
    """Whether a text is a number, with a decimal point or a decimal comma.

    >>> is_number("1.5e3"), is_number("-1,5"), is_number("1.234,5"), is_number("1_000"), is_number("316L")
    (True, True, True, False, False)
    """
    text = text.strip()
    return bool(_POINT.fullmatch(text) or _COMMA.fullmatch(text)) or text.lower() in _INFINITE


def decimal_mark(columns: Mapping[str, Cells], separator: str) -> str:
    """Return the decimal mark of a table, the point unless its numbers say otherwise.

    Parameters
    ----------
    columns : mapping of str to Cells
    separator : str
        What separates columns: programs that separate by semicolons do so for the sake of decimal commas.

    Raises
    ------
    InputError
        If some numbers have points and others commas, or if 1,234 may be meant either way.
    """
    if not any("," in text for texts, _ in columns.values() for text in texts):
        return "."
    commas: list[tuple[int, str, str]] = []
    points: list[tuple[int, str, str]] = []
    for name, (texts, lines) in columns.items():
        stripped = [text.strip() for text in texts]
        present = [text for text in stripped if text.lower() not in _MISSING]
        if 2 * sum(map(is_number, present)) <= len(present):
            continue
        for line, text in zip(lines, stripped, strict=True):
            if _COMMA.fullmatch(text):
                commas.append((line, text, name))
            elif "." in text and _POINT.fullmatch(text):
                points.append((line, text, name))
    if not commas:
        return "."
    line, text, name = commas[0]
    if points:
        other, found, column = points[0]
        raise InputError(
            f"line {line} holds {text} in column {name.strip()!r}, but line {other} holds {found} in column "
            f"{column.strip()!r}: write all numbers with decimal points, or all with decimal commas."
        )
    if separator != ";" and all(_THOUSANDS.fullmatch(text) for _, text, _ in commas):
        raise InputError(
            f"line {line} holds {text} in column {name.strip()!r}, which may be {text.replace(',', '.')} or "
            f"{text.replace(',', '')}: write one of these."
        )
    return ","


def as_column(cells: Sequence[Any], mark: str = ".") -> pd.Series:
    """Return the cells of a column as what they are: numbers, truth values, dates or texts.

    Parameters
    ----------
    cells : sequence
        Texts, or what a cell of Excel holds. None and texts such as "" and "NaN" are missing.
    mark : {".", ","}
        The decimal mark.

    Returns
    -------
    Series
        Of type int64, float64, bool or datetime; or of objects: texts and NaN. Where more than half of the cells are
        numbers and others are not, it holds both.

    Examples
    --------
    >>> as_column(["1", "2"]).tolist(), as_column(["1,5", ""], ",").tolist(), as_column(["304", "316L"]).tolist()
    ([1, 2], [1.5, nan], ['304', '316L'])
    >>> as_column(["1.5", "2", "cancelled"]).tolist()
    [1.5, 2.0, 'cancelled']
    """
    quick = _plain_numbers(cells)
    if quick is not None:
        return quick
    plain = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
    values = [_value(cell, mark) for cell in plain]
    present = [value for value in values if value is not None]
    n_truths = sum(isinstance(value, bool) for value in present)
    n_numbers = sum(map(_is_numeric, present))
    if present and n_truths == len(values):
        return pd.Series(values, dtype=bool)
    if len(present) in (n_numbers, n_truths):
        whole = bool(values) and all(isinstance(value, int) and abs(value) < _LARGEST_INTEGER for value in values)
        numeric = [math.nan if value is None else value for value in values]
        return pd.Series(numeric, dtype=np.int64 if whole else np.float64)
    if all(isinstance(value, datetime.datetime) for value in present):
        return pd.Series(pd.to_datetime(values))
    if 2 * n_numbers > len(present):
        pairs = zip(plain, values, strict=True)
        mixed = [math.nan if v is None else float(v) if _is_numeric(v) else cell for cell, v in pairs]
        return pd.Series(mixed, dtype=object)
    return pd.Series([math.nan if _is_missing_text(cell) else str(cell) for cell in plain], dtype=object)


def _plain_numbers(cells: Sequence[Any]) -> pd.Series | None:
    """Return a column of texts that all are numbers with decimal points, as most are, without a look at each."""
    if not all(isinstance(cell, str) for cell in cells) or any("_" in cell for cell in cells):  # float takes 1_000
        return None
    try:
        if not any(map(_FRACTION.search, cells)):
            return pd.Series([int(cell) for cell in cells], dtype=np.int64)
        return pd.Series([float(cell) for cell in cells], dtype=np.float64)
    except (ValueError, OverflowError):
        return None


def _is_numeric(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(cell: Any, mark: str) -> Any:
    """Return a cell as a number, truth value, date or text; None where it is missing."""
    if isinstance(cell, str):
        return _value_of_text(cell, mark)
    if isinstance(cell, numbers.Real):
        return cell if isinstance(cell, (bool, int)) else None if math.isnan(cell) else float(cell)
    if isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime):
        return datetime.datetime(cell.year, cell.month, cell.day)
    return cell


def _value_of_text(text: str, mark: str) -> Any:
    low = text.lower()
    if low in _MISSING:
        return None
    if mark == "," and _COMMA.fullmatch(text):
        return float(text.replace(".", "").replace(",", "."))
    if _POINT.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() and len(text) < 20 else float(text)
    if low in _INFINITE:
        return float(text)
    return _TRUTH.get(low, text)


def _is_missing_text(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.lower() in _MISSING_TEXT)


def is_dates(values: pd.Series) -> bool:
    """Whether a column holds dates, as such or as texts.

    >>> is_dates(pd.Series(["2024-01-31", "2024-02-01 12:00"])), is_dates(pd.Series(["1-2", "3-4"]))
    (True, False)
    """
    if pd.api.types.is_datetime64_any_dtype(values) or isinstance(values.dtype, pd.PeriodDtype):
        return True
    known = list(values.dropna()) if values.dtype == object or pd.api.types.is_string_dtype(values) else []
    return bool(known) and all(
        isinstance(value, datetime.date) or (isinstance(value, str) and _DATE.fullmatch(value.strip()))
        for value in known
    )


Kind = Literal["numbers", "mixed", "texts", "dates", "empty", "other"]

_MOST_CATEGORIES = 10
_FEWEST_OF_EACH = 3


def kind_of(values: pd.Series) -> Kind:
    """Say what a column holds.

    Returns
    -------
    str
        "mixed" is a column of numbers in which some cells hold texts.

    Examples
    --------
    >>> [kind_of(pd.Series(cells)) for cells in ([1, 2], [1.5, "lost"], ["a", "b"], ["2024-01-31"], [None], [[1]])]
    ['numbers', 'mixed', 'texts', 'dates', 'empty', 'other']
    """
    known = values.dropna()
    if known.empty:
        return "empty"
    if pd.api.types.is_numeric_dtype(values):
        return "numbers"
    if is_dates(values):
        return "dates"
    n_numbers = sum(isinstance(value, numbers.Real) for value in known)
    n_texts = sum(isinstance(value, str) for value in known)
    if n_numbers + n_texts < len(known):
        return "other"
    return "numbers" if n_numbers == len(known) else "mixed" if n_numbers else "texts"


def as_numbers(values: pd.Series) -> NDArray[np.float64]:
    """Return a column as floats, (N,); NaN where it holds something else."""
    if kind_of(values) == "dates":
        return np.full(len(values), np.nan)
    found: NDArray[np.float64] = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return found


def counts_rows(values: pd.Series) -> bool:
    """Whether a column numbers the rows, from 0 or from 1, in any order.

    >>> counts_rows(pd.Series([2, 1, 3])), counts_rows(pd.Series([0.5, 1, 2])), counts_rows(pd.Series([1, 1, 2]))
    (True, False, False)
    """
    if pd.api.types.is_bool_dtype(values) or kind_of(values) != "numbers" or len(values) < 2:
        return False
    ordered = np.sort(as_numbers(values))
    return bool((ordered == np.arange(len(ordered)) + ordered[0]).all() and ordered[0] in (0.0, 1.0))


def all_different(values: pd.Series) -> bool:
    """Whether the texts of a column name the cases: no two are equal."""
    known = values.dropna()
    return len(known) > 1 and known.nunique() == len(known)


def categories_of(values: pd.Series) -> list[str]:
    """Return the different texts of a column, sorted."""
    return sorted({str(value) for value in values.dropna()})


def is_categories(values: pd.Series) -> bool:
    """Whether a column of texts holds so few different ones, each so often, that they can be learned from.

    >>> is_categories(pd.Series(["steel", "copper"] * 5)), is_categories(pd.Series(["a", "b", "c", "d"]))
    (True, False)
    """
    n = len(categories_of(values))
    return 2 <= n <= _MOST_CATEGORIES and _FEWEST_OF_EACH * n <= int(values.notna().sum())

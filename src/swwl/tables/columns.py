"""Columns: from cells of text to pandas columns, and what a column is good for.

Receives the cells that ``read.py`` found. Python's default kernels, commands and checks all ask :func:`kind_of`, so
that a column is the same thing to all of them.
"""

from __future__ import annotations

import datetime
import math
import numbers
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Literal, NamedTuple, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.io.foam.case import is_case
from swwl.mesh.io.formats import READERS
from swwl.mesh.io.series import without_time

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


def as_column(cells: Sequence[object], mark: str = ".") -> pd.Series:
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
    >>> as_column(["1.5", "2", "failed"]).tolist()
    [1.5, 2.0, 'failed']
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


def _plain_numbers(cells: Sequence[object]) -> pd.Series | None:
    """Return a column of texts that all are numbers with decimal points, as most are, without a look at each."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    if len(texts) < len(cells) or any("_" in text for text in texts):  # float takes 1_000
        return None
    try:
        if not any(map(_FRACTION.search, texts)):
            return pd.Series([int(text) for text in texts], dtype=np.int64)
        return pd.Series([float(text) for text in texts], dtype=np.float64)
    except (ValueError, OverflowError):
        return None


def _is_numeric(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(cell: object, mark: str) -> object:
    """Return a cell as a number, truth value, date or text; None where it is missing."""
    if isinstance(cell, str):
        return _value_of_text(cell, mark)
    if isinstance(cell, numbers.Real):
        return cell if isinstance(cell, (bool, int)) else None if math.isnan(cell) else float(cell)
    if isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime):
        return datetime.datetime(cell.year, cell.month, cell.day)
    return cell


def _value_of_text(text: str, mark: str) -> object:
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


def _is_missing_text(cell: object) -> bool:
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


Kind = Literal["numbers", "mixed", "texts", "dates", "meshes", "empty", "other"]

# Kinds of columns whose cells are texts.
TEXTS = ("texts", "meshes")
# Of texts, so many kinds at most can be learned from, each in so many rows at least.
_MOST_CATEGORIES = 10
_FEWEST_OF_EACH = 3
# Words of a name that say that a column numbers the cases, all of them.
_CASE_WORDS = frozenset(
    ("case", "cases", "id", "ids", "uid", "idx", "run", "runs", "index", "sample", "simulation", "sim", "design",
     "experiment", "exp", "doe", "number", "num", "nr", "no", "row", "name", "job", "unnamed")
)  # fmt: skip
# What people write into a column that says which rows to fit, in small letters.
TRAIN = frozenset(("train", "training", "fit"))
TEST = frozenset(("test", "testing", "val", "valid", "validation", "holdout", "hold-out", "held-out", "held out"))


def kind_of(values: pd.Series) -> Kind:
    """Say what a column holds.

    Returns
    -------
    str
        "meshes" is a column of which more than half are paths with the ending of a mesh file, or meshes and graphs
        themselves; "mixed" is a column of numbers in which some cells hold texts.

    Examples
    --------
    >>> [kind_of(pd.Series(cells)) for cells in ([1, 2], [1.5, "lost"], ["a", "b"], ["2024-01-31"], [None], [[1]])]
    ['numbers', 'mixed', 'texts', 'dates', 'empty', 'other']
    >>> kind_of(pd.Series(["lost", "a.vtu", "b.stl"]))
    'meshes'
    """
    known = values.dropna()
    if known.empty:
        return "empty"
    if pd.api.types.is_numeric_dtype(values):
        return "numbers"
    if is_dates(values):
        return "dates"
    folder = values.attrs.get("folder")
    if 2 * sum(names_mesh(value, folder) for value in known) > len(known):
        return "meshes"
    n_numbers = sum(isinstance(value, numbers.Real) for value in known)
    n_texts = sum(isinstance(value, str) for value in known)
    if n_numbers + n_texts < len(known):
        return "other"
    return "numbers" if n_numbers == len(known) else "mixed" if n_numbers else "texts"


def names_mesh(value: object, folder: str | None = None) -> bool:
    """Whether a cell is a path of a mesh, by its ending or as a case folder, or an object that may be one or a graph.

    Paths are relative to ``folder``, or to the working folder.

    >>> names_mesh(" a.vtu"), names_mesh("a.txt.bak"), names_mesh(1.5), names_mesh([0.1, 2])
    (True, False, False, False)
    """
    if isinstance(value, (str, os.PathLike)):
        name = without_time(os.fspath(value).strip())
        return READERS.serves(PurePath(name)) or _is_case(Path(folder or "", name))
    plain = (numbers.Number, datetime.date, list, np.ndarray, np.generic, bytes)
    return value is not None and value is not pd.NA and not isinstance(value, plain)


def _is_case(path: Path) -> bool:
    try:
        return is_case(path)
    except (OSError, ValueError):  # a text that cannot be a path
        return False


def mesh_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of meshes."""
    return [name for name in frame.columns if kind_of(frame[name]) == "meshes"]


def series_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of which more than half are paths of CSV files, such as those of curves.

    >>> series_columns(pd.DataFrame({"cp": ["a.csv", "b.csv"], "load": [1.0, 2.0]}))
    ['cp']
    """
    found = []
    for name in frame.columns:
        known = frame[name].dropna() if kind_of(frame[name]) in TEXTS else ()
        if 2 * sum(str(value).strip().lower().endswith(".csv") for value in known) > len(known):
            found.append(str(name))
    return found


def require_meshes(values: pd.Series) -> None:
    """Refuse a column of meshes of which some cells are something else; say which is the first."""
    for row, value in enumerate(values):
        if not names_mesh(value):
            shown = value.item() if isinstance(value, np.generic) else repr(value)
            raise InputError(
                f"Column {values.name!r} holds meshes, but row {row} holds {shown}; correct it, or leave the row out."
            )


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


def numbers_cases(values: pd.Series) -> bool:
    """Whether a column counts cases: whole numbers under a name such as case, id or run_no, all different or in order.

    >>> numbers_cases(pd.Series([3, 4, 7], name="case_id")), numbers_cases(pd.Series([0, 0, 1, 1, 2], name="Case"))
    (True, True)
    >>> numbers_cases(pd.Series([3, 4, 7], name="blades")), numbers_cases(pd.Series([0.5, 1, 2], name="id"))
    (False, False)
    """
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", str(values.name)).lower())
    if not words or not _CASE_WORDS.issuperset(words):
        return False
    if pd.api.types.is_bool_dtype(values) or kind_of(values) != "numbers":
        return False
    found = as_numbers(values)
    found = found[~np.isnan(found)]
    if len(found) < 3 or (found != np.round(found)).any():
        return False
    n = len(np.unique(found))
    return n == len(found) or (n > 2 and bool((np.diff(found) >= 0).all()))


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


def says_split(values: pd.Series) -> bool:
    """Whether all texts of a column are words for rows to fit or to hold out."""
    known = values.dropna()
    return len(known) > 0 and all(split_word(value) is not None for value in known)


def split_word(value: object) -> Literal["train", "test"] | None:
    """Return what a cell says of its row, or None where it says neither.

    >>> split_word("Training"), split_word("held_out"), split_word("maybe")
    ('train', 'test', None)
    """
    low = str(value).strip().lower().replace("_", "-")
    return "train" if low in TRAIN else "test" if low in TEST else None


def reason_against(values: pd.Series, train: NDArray[np.intp], *, is_output: bool = False) -> str | None:
    """Say why a column is not an input by default, or None if it is one.

    Parameters
    ----------
    values : Series
    train : ndarray of int
        Rows to fit, counted from 0: an input has to vary among them.
    is_output : bool
        Whether whoever made the table calls it an output.
    """
    kind = kind_of(values)
    text = kind in TEXTS
    reasons = {"empty": "is empty", "dates": "holds dates, not numbers", "other": "does not hold numbers"}
    if kind in reasons:
        return reasons[kind]
    if is_output:
        return "an output of the simulation, according to about.json"
    if values.iloc[train].nunique(dropna=False) <= 1 and values.notna().all():
        return "is constant"
    if text and says_split(values):
        return f"says train or test; --split {values.name} holds rows out by it"
    if text and not is_categories(values):
        if all_different(values):
            return "names the rows: its texts are all different"
        return f"does not hold numbers, and {len(categories_of(values))} different texts are too many for categories"
    if counts_rows(values):
        return "numbers the rows; --inputs can still name it"
    if numbers_cases(values):
        return "numbers the cases; --inputs can still name it"
    return None

"""How values are written: numbers, shares and places in a table for people, plain values for JSON."""

from __future__ import annotations

import math
import numbers
from pathlib import Path
from typing import Any

# What JSON calls an object, and a table a row: values by name.
Record = dict[str, Any]


def number(value: Any) -> str:
    """Return a number with four significant digits, integers in full; None is an empty text.

    Examples
    --------
    >>> number(0.123456), number(12345), number(1234.5678), number(None)
    ('0.1235', '12345', '1235', '')
    """
    if value is None:
        return ""
    if isinstance(value, numbers.Integral):
        return str(value)
    return f"{value:.4g}" if abs(value) < 1e4 or not math.isfinite(value) or abs(value) >= 1e7 else f"{value:.0f}"


def percent(value: float) -> str:
    """Return a share as per cent.

    Examples
    --------
    >>> percent(0.9583)
    '96 %'
    """
    return f"{100 * value:.0f} %"


def size(n_bytes: float) -> str:
    """Return a number of bytes in units of three or four digits.

    Examples
    --------
    >>> size(16.5e9), size(12_345), size(7)
    ('16.5 GB', '12.3 kB', '7 bytes')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes:.0f} bytes"


def place(table: Path | str, row: int) -> str:
    """Say where a row, counted from 0, stands in a table: the line of a CSV file, the row of another.

    Examples
    --------
    >>> place("table.csv", 0), place("table.xlsx", 0), place("table.parquet", 0)
    ('line 2', 'row 2', 'row 0')
    """
    ending = Path(table).suffix.lower()
    if ending in (".parquet", ".pq"):
        return f"row {row}"
    return f"{'row' if ending in ('.xlsx', '.xlsm') else 'line'} {row + 2}"


def plain(value: Any) -> Any:
    """Turn arrays, NumPy numbers, paths and tuples into what JSON holds; what is not finite becomes null.

    Examples
    --------
    >>> plain({"path": Path("a.csv"), "mean": (1.0, math.nan)})
    {'path': 'a.csv', 'mean': [1.0, None]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value

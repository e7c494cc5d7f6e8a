"""How values are written: numbers, shares and places in a table for people, plain values for JSON."""

from __future__ import annotations

import html
import math
import numbers
from collections.abc import Sequence
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


def html_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a small table for notebooks; all that is put into it is escaped.

    Examples
    --------
    >>> html_table("a <model>", ["target", "Q²"], [["lift", "0.98"]])[:31]
    '<div><b>a &lt;model&gt;</b><tab'
    """
    head = "".join(f'<th style="text-align:left">{html.escape(name)}</th>' for name in columns)
    cells = ["".join(f'<td style="text-align:left">{html.escape(str(cell))}</td>' for cell in row) for row in rows]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<div><b>{html.escape(title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


class NotebookTable:
    """What fitted models show in a notebook: a table of their own; before the fit, scikit-learn's diagram.

    Subclasses stand it before ``BaseEstimator`` and return the table from ``_html_summary``, or nothing.
    """

    def _html_summary(self) -> str:
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        inherited: Any = super()
        try:
            found = self._html_summary() or str(inherited._repr_html_inner())  # noqa: SLF001
        except Exception:  # what is shown must never stop a notebook
            found = f"<pre>{html.escape(repr(self))}</pre>"
        return found

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        from sklearn import get_config

        plain = {"text/plain": repr(self)}
        return plain | ({"text/html": self._repr_html_inner()} if get_config()["display"] == "diagram" else {})

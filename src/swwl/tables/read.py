"""Tables in files, as people save them <-> pandas tables: CSV of every dialect, Excel, Parquet.

Nothing is guessed from a few lines: all cells have to agree on what separates columns and on the decimal mark.
``columns.py`` says what a column of cells holds.
"""

from __future__ import annotations

import codecs
import csv
import os
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from swwl.errors import InputError, MissingFileError, MissingPackageError, located
from swwl.storage.atomic import atomic_write, refuse_special
from swwl.tables.columns import Cells, as_column, decimal_mark, is_number, mesh_columns, series_columns

PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
TEXT = (".csv", ".tsv", ".tab", ".txt")
TABLES = (*TEXT, *PARQUET, *EXCEL)

# What separates columns, the decimal mark and the encoding of a text file that says nothing else.
PLAIN = (",", ".", "utf-8")

_SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
_NOWHERE = "\x1f"  # separates nothing: a table of one column
_LONGEST_CELL = 1 << 24


class TableFile(NamedTuple):
    """What a file holds: the table, the line of every row where that is not simply its number plus two, and its marks.

    ``marks`` are what separates the columns of a text file, its decimal mark, and its encoding: UTF-8, which Excel
    marks ("utf-8-sig").
    """

    frame: pd.DataFrame
    lines: list[int] | None
    marks: tuple[str, str, str] = PLAIN


class _Record(NamedTuple):
    """The cells of one row, and the line on which it begins."""

    line: int
    cells: list[Any]


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read a table as the command line does; paths of meshes in it are relative to it.

    Parameters
    ----------
    path : str or path
        CSV, separated by commas, semicolons or tabs, with a decimal point or comma, in UTF-8; Excel (``.xlsx``, the
        first sheet, with the extra ``[excel]``); or Parquet.

    Returns
    -------
    DataFrame
        Columns that hold names of mesh files, or of CSV files of curves, hold their full paths. A column of numbers in
        which a few cells hold text keeps these texts, so that they are not lost unseen.

    Raises
    ------
    InputError
        With the path, the line and what is wrong; :class:`FileNotFoundError` as well, if there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cases.csv"
    ...     _ = path.write_text("mesh;load;stress\na.vtu;1,5;20\nb.vtu;2,5;31\n")
    ...     table = read_table(path)
    >>> table["load"].tolist(), [Path(mesh).name for mesh in table["mesh"]]
    ([1.5, 2.5], ['a.vtu', 'b.vtu'])
    """
    path = Path(path)
    frame = read_table_file(path).frame
    frame.attrs["folder"] = str(path.parent)
    for name in dict.fromkeys([*mesh_columns(frame), *series_columns(frame)]):
        files = [str(mesh_file(path, cell)) if isinstance(cell, str) else cell for cell in frame[name]]
        frame[name] = pd.Series(files, index=frame.index, dtype=object)
    del frame.attrs["folder"]
    return frame


def read_table_file(path: Path) -> TableFile:
    """Read a table with paths as they stand in it; it must have rows."""
    if not path.exists():
        raise MissingFileError(f"{path}: no such table.")
    if path.is_dir():
        hint = f"; did you mean {path / 'table.csv'}?" if (path / "table.csv").exists() else "."
        raise InputError(f"{path}: is a folder, but a table (CSV, Excel or Parquet) is expected{hint}")
    with located(str(path)):
        refuse_special(path)
        ending = path.suffix.lower()
        if ending in PARQUET:
            return TableFile(_read_parquet(path), None)
        if ending in (".xls", ".ods"):
            raise InputError("cannot be read as a table; save it as .xlsx or as CSV in UTF-8.")
        header, rows, marks = _read_excel(path) if ending in EXCEL else read_csv_file(path)
        if not rows:
            raise InputError("the table has a header but no rows.")
        lines = [row.line for row in rows]
        columns = {}
        for k, name in enumerate(_names([str(name) for name in header])):
            cells = [row.cells[k] for row in rows]
            if name is not None or not all(map(_is_blank, cells)):
                columns[_unnamed(k) if name is None else name] = as_column(cells, marks[1])
        return TableFile(pd.DataFrame(columns), None if lines == list(range(2, len(lines) + 2)) else lines, marks)


def write_table(path: Path, frame: pd.DataFrame, like: pd.DataFrame | None = None) -> None:
    """Write a CSV or Parquet file, whole or not at all.

    A CSV file is written as the table that ``like`` was read from, so that the program that wrote the one opens the
    other: with semicolons and decimal commas, where Excel speaks German or French. Tabs become commas.
    """
    separator, decimal, encoding = (frame if like is None else like).attrs.get("marks", PLAIN)
    separator = ";" if ";" in separator or decimal == "," else ","
    buffer = BytesIO()
    try:
        if path.suffix.lower() in PARQUET:
            frame.to_parquet(buffer, index=False)
        else:
            frame.to_csv(buffer, index=False, lineterminator="\n", sep=separator, decimal=decimal, encoding=encoding)
    except ImportError:
        raise InputError(f"{path}: writing Parquet needs pyarrow: pip install pyarrow, or name a .csv file.") from None
    with atomic_write(path) as file:
        file.write(buffer.getvalue())


def mesh_file(table: Path, cell: str) -> Path:
    r"""Return the file that a cell names, relative to its table; ``..\meshes\a.vtu`` works everywhere."""
    file = table.parent / cell.strip()
    if "\\" in cell and not file.exists():
        return table.parent / cell.strip().replace("\\", "/")
    return file


def _unnamed(place: int) -> str:
    return f"Unnamed: {place}"  # as pandas calls it


def _names(header: Sequence[str]) -> list[str | None]:
    """Strip the names of columns; refuse two that are equal. None stands for a name that is empty."""
    names: list[str | None] = []
    for number, text in enumerate(header, 1):
        name = text.strip() or None
        if name is not None and name in names:
            first = names.index(name) + 1
            raise InputError(f"columns {first} and {number} are both called {name!r}; rename one of them.")
        names.append(name)
    return names


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise MissingPackageError("reading Parquet needs pyarrow: pip install pyarrow.") from None
    except (ValueError, OSError) as error:
        raise InputError(f"cannot be read as a table ({' '.join(str(error).split())}).") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    if frame.empty:
        raise InputError("the table has a header but no rows.")
    names = _names([str(name) for name in frame.columns])
    frame.columns = pd.Index([_unnamed(k) if name is None else name for k, name in enumerate(names)])
    return frame


def _read_excel(path: Path) -> tuple[list[Any], list[_Record], tuple[str, str, str]]:
    """Return header and rows of the first sheet, and the marks of plain CSV."""
    try:
        import openpyxl
    except ImportError:
        raise MissingPackageError("reading Excel needs openpyxl: pip install 'swwl[excel]'.") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        cells = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)] if book.worksheets else []
        book.close()
    except Exception as error:  # of zip, XML and openpyxl
        raise InputError(f"cannot be read as an Excel table ({' '.join(str(error).split())}).") from None
    records = [_Record(number, row) for number, row in enumerate(cells, 1) if not all(map(_is_blank, row))]
    if not records:
        raise InputError("the table is empty.")
    header, *rows = records
    names = ["" if cell is None else cell for cell in header.cells]
    width = max(len(record.cells) for record in records)
    padded = [_Record(line, [*row, *[None] * (width - len(row))]) for line, row in rows]
    return [*names, *[""] * (width - len(names))], padded, PLAIN


def _is_blank(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def read_csv_file(path: Path) -> tuple[list[str], list[_Record], tuple[str, str, str]]:
    """Return header, rows, and the marks of the file."""
    content = path.read_bytes()
    text = _decode(content)
    if not text.strip():
        raise InputError("the table is empty.")
    header = _records(text, _NOWHERE, most=1)
    if not header:  # quotes with nothing between them
        raise InputError("the table is empty.")
    possible = [mark for mark in _SEPARATORS if mark in header[0].cells[0]] or [_NOWHERE]
    readings = {mark: _records(text, mark) for mark in possible}
    fitting = [mark for mark, records in readings.items() if _first_misfit(records) is None]
    if not fitting:
        _refuse(readings)
    separator = fitting[0] if len(fitting) == 1 else _choose({mark: readings[mark] for mark in fitting})
    first, *rows = readings[separator]
    width = len(first.cells)
    rows = [_Record(line, row[:width]) for line, row in rows]
    columns = [Cells([row.cells[k] for row in rows], [row.line for row in rows]) for k in range(width)]
    decimal = decimal_mark(dict(zip(first.cells, columns, strict=True)), separator)
    encoding = "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else "utf-8"
    return first.cells, rows, (separator, decimal, encoding)


def _decode(content: bytes) -> str:
    cure = "save it as UTF-8 (in Excel: CSV UTF-8)"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"cannot be read as a table: it is text in UTF-16; {cure}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"cannot be read as a table: line {line} is not text in UTF-8 (byte {content[error.start]:#04x}); {cure}."
        ) from None
    if "\0" in text:
        raise InputError("cannot be read as a table: it holds binary data.")
    return text


def _records(text: str, separator: str, most: int | None = None) -> list[_Record]:
    """Split a text into its rows; lines without any cell are left out."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator != "\t")
    records: list[_Record] = []
    line = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                records.append(_Record(line, row))
            line = reader.line_num + 1
            if len(records) == most:
                break
    except csv.Error as error:
        raise InputError(f"cannot be read as a table: line {line}: {error}.") from None
    finally:
        csv.field_size_limit(limit)
    return records


def _first_misfit(records: list[_Record]) -> _Record | None:
    """Return the first row that has fewer cells than the header, or more that are not empty."""
    width = len(records[0].cells)
    for record in records[1:]:
        if len(record.cells) < width or any(cell.strip() for cell in record.cells[width:]):
            return record
    return None


def _refuse(readings: dict[str, list[_Record]]) -> None:
    """Say which row has more or fewer cells than the header, for the separator that fits most rows."""

    def fitting(mark: str) -> int:
        return sum(len(record.cells) == len(readings[mark][0].cells) for record in readings[mark])

    separator = max(readings, key=lambda mark: (fitting(mark), len(readings[mark][0].cells)))
    misfit = _first_misfit(readings[separator])
    assert misfit is not None
    wanted, found = len(readings[separator][0].cells), len(misfit.cells)
    if separator == _NOWHERE:
        cure = "give every column a name."
    elif separator == "," and found > wanted:
        cure = "put quotes around a cell that holds a comma; where numbers have decimal commas, separate by semicolons."
    else:
        cure = f"columns are separated by {_SEPARATORS[separator]}; leave missing cells empty, but do not omit them."
    raise InputError(f"line {misfit.line} has {found} cells, but the header has {wanted}: {cure}")


def _choose(readings: dict[str, list[_Record]]) -> str:
    """Return the separator that makes most columns of numbers; tabs stand in no name and no number."""
    if "\t" in readings:
        return "\t"
    counts = {mark: _numeric_columns(records) for mark, records in readings.items()}
    best = max(counts, key=lambda mark: counts[mark])
    if sum(count == counts[best] for count in counts.values()) > 1:
        names = [f"{_SEPARATORS[mark]} ({' | '.join(records[0].cells)})" for mark, records in readings.items()]
        raise InputError(
            f"columns may be separated by {' or by '.join(names)}; put quotes around cells that hold such a mark."
        )
    return best


def _numeric_columns(records: list[_Record]) -> int:
    columns = zip(*(record.cells[: len(records[0].cells)] for record in records[1:]), strict=True)
    return sum(all(is_number(cell) or _is_blank(cell) for cell in column) for column in columns)

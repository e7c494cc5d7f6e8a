"""What was measured before: one row per measurement in a CSV file, and what has become worse since.

Values are compared with those of the same kind of machine alone: as many cores, the same vector instructions. A line
without a limit is kept, but not compared: of some of them more is better.
"""

from __future__ import annotations

import csv
import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path

import numpy as np

import swwl
from benchmarks.measure import Line

TOLERATED = 0.25
_LEVELS = {"AVX512": ("X86_V4", "AVX512"), "AVX2": ("X86_V3", "AVX2"), "SSE": ("X86_V2", "SSE")}


@dataclass(frozen=True)
class Row:
    """One measurement, as it stands in the file; all values are texts there, and numbers here.

    Attributes
    ----------
    version, date : str
        Of the release, or what comes before it, and of the day.
    machine : str
    module, name : str
    value : float
    limit : float or None
    """

    version: str
    date: str
    machine: str
    module: str
    name: str
    value: float
    limit: float | None

    def compared(self, before: Row) -> str | None:
        """Return in a few words by how much this is worse than before, or None if it is not.

        >>> old = Row("0.2.0", "2026-11-17", "2 cores", "gp", "a fit", 2.0, 5.0)
        >>> Row("0.3.0", "2026-12-01", "2 cores", "gp", "a fit", 3.0, 5.0).compared(old)
        'gp, a fit: 3, which was 2 in 0.2.0 of 2026-11-17'
        >>> old.compared(old)
        """
        if self.limit is None or self.value <= before.value + TOLERATED * abs(before.value) or np.isnan(before.value):
            return None
        earlier = f"{before.value:.3g} in {before.version} of {before.date}"
        return f"{self.module}, {self.name}: {self.value:.3g}, which was {earlier}"


def machine_kind() -> str:
    """Return how many cores this process may use, and the vector instructions that NumPy has found.

    No names of hosts: two machines of one kind are to have one history.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = np.show_config(mode="dicts")["SIMD Extensions"]
    return f"{cores} cores, {platform.machine()}, {simd_level([*found['baseline'], *found['found']])}"


def simd_level(features: Iterable[str]) -> str:
    """Return the widest vector instructions among NumPy's names of features, which its versions spell differently.

    >>> simd_level(["X86_V2", "X86_V3"]), simd_level(["SSE42", "AVX2", "AVX512F"]), simd_level(["NEON", "ASIMD"])
    ('AVX2', 'AVX512', 'ASIMD')
    """
    known = list(features)
    for level, beginnings in _LEVELS.items():
        if any(name.startswith(beginnings) for name in known):
            return level
    return known[-1] if known else "none"


def rows_of(module: str, lines: Iterable[Line]) -> Iterator[tuple[Line, Row]]:
    """Yield each line with its row, under a name that no other line of the module has.

    An indented line belongs to the last one that is not.
    """
    machine, head, seen = machine_kind(), "", Counter[str]()
    for line in lines:
        indented = line.name.startswith(" ")
        head = head if indented else line.name
        name = f"{head}: {line.name.strip()}" if indented else head
        seen[name] += 1
        unique = name if seen[name] == 1 else f"{name} ({seen[name]})"
        today = date.today().isoformat()
        yield line, Row(swwl.__version__, today, machine, module, unique, line.value, line.limit)


def record(path: Path, row: Row) -> None:
    """Append a row to a file, which begins with the names of the columns."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        if new:
            writer.writeheader()
        value, limit = f"{row.value:.6g}", "" if row.limit is None else f"{row.limit:g}"
        writer.writerow(asdict(row) | {"value": value, "limit": limit})


def last_rows(path: Path, machine: str) -> dict[tuple[str, str], Row]:
    """Return the last row of each module and name that was recorded on one kind of machine."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            Row(**raw | {"value": float(raw["value"]), "limit": float(raw["limit"]) if raw["limit"] else None})
            for raw in csv.DictReader(file)
        ]
    return {(row.module, row.name): row for row in rows if row.machine == machine}

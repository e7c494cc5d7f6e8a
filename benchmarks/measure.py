"""The stopwatch: times of several functions in turn, the peak of memory, and a line for each number measured."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from timeit import timeit

import numpy as np


@dataclass(frozen=True)
class Line:
    """A measured number, the most that it may be, and a note."""

    name: str
    value: float
    limit: float | None = None
    unit: str = "x"
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether it exceeds its limit; what could not be measured does."""
        return self.limit is not None and not self.value <= self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else f"<= {self.limit:g}"
        verdict = "TOO MUCH" if self.failed else "ok" if limit else ""
        return f"{self.name:<62} {self.value:>9.3g} {self.unit:<4} {limit:>8}  {verdict:<8} {self.note}"


def best_times(
    *functions: Callable[[], object], repeats: int = 7, timer: Callable[[], float] = perf_counter
) -> list[float]:
    """Return the best of several times of each function, in seconds, after a first call that does not count.

    They run in turn, so that a busy moment of the machine hits all of them; ``time.process_time`` for a timer counts
    the work of this process alone.
    """
    for function in functions:
        function()
    gc.collect()
    rounds = [[timeit(function, timer=timer, number=1) for function in functions] for _ in range(repeats)]
    return np.min(rounds, axis=0).tolist()


def peak_memory() -> float:
    """Return the most memory that this process has held, in MB (nan where the system does not tell).

    Linux's ``ru_maxrss`` would begin at the size of the process that started this one.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return float("nan")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

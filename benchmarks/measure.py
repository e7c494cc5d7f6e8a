"""How benchmarks measure, and the lines they print."""

import gc
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One row of the table: a ratio (or another number), the most it may be, and what it means."""

    name: str
    value: float
    limit: float | None = None
    unit: str = "x"
    note: str = ""

    def __str__(self) -> str:
        verdict = "" if self.limit is None else ("ok" if self.value <= self.limit else "TOO MUCH")
        limit = "" if self.limit is None else f"<= {self.limit:g}"
        return f"{self.name:<62} {self.value:>9.3g} {self.unit:<4} {limit:>8}  {verdict:<8} {self.note}"


def best_times(*functions: Callable[[], object], repeats: int = 7) -> list[float]:
    """Time several functions in turn, so that a busy moment of the machine hits them alike; return the best of each.

    Parameters
    ----------
    *functions : callables without arguments
    repeats : int
        How often each is run, after one run to warm up.

    Returns
    -------
    list of float
        Seconds.
    """
    times: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    gc.collect()
    for _ in range(repeats):
        for record, function in zip(times, functions, strict=True):
            start = time.perf_counter()
            function()
            record.append(time.perf_counter() - start)
    return [min(record) for record in times]


def peak_memory() -> float:
    """Return the most memory that this process has held so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

"""How times and memory are measured, the floors that they are set beside, and the lines that judge them."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from swwl.embedding.transformer import SWWLEmbedding
from swwl.embedding.wl import neighbor_average, wl_iterations
from swwl.errors import InputError
from swwl.mesh.graph import Graph

T = TypeVar("T")


@dataclass(frozen=True)
class Line:
    """One measured number, the bounds that it must keep, and what it means.

    Attributes
    ----------
    name : str
    value : float
    limit : float or None
        The most that it may be; None judges nothing.
    unit : str
    note : str
    least : float or None
        The least that it may be.

    Examples
    --------
    >>> Line("embedding / sort", 0.9, 1.0).verdict, Line("embedding / sort", 1.2, 1.0).verdict
    ('ok', 'TOO MUCH')
    >>> Line("slope", 0.9, 1.15, unit="", least=0.95).verdict
    'TOO LITTLE'
    """

    name: str
    value: float
    limit: float | None = None
    unit: str = "x"
    note: str = ""
    least: float | None = None

    @property
    def bounds(self) -> str:
        """The bounds in words; empty where there are none."""
        if self.limit is None:
            return "" if self.least is None else f">= {self.least:g}"
        return f"<= {self.limit:g}" if self.least is None else f"{self.least:g} to {self.limit:g}"

    @property
    def verdict(self) -> str:
        """``ok``, ``TOO MUCH``, ``TOO LITTLE``, or nothing where there are no bounds."""
        if not self.bounds:
            return ""
        if self.limit is not None and not self.value <= self.limit:
            return "TOO MUCH"
        return "TOO LITTLE" if self.least is not None and not self.value >= self.least else "ok"

    def __str__(self) -> str:
        return f"{self.name:<62} {self.value:>9.3g} {self.unit:<4} {self.bounds:>8}  {self.verdict:<8} {self.note}"


def verdicts(lines: Sequence[Line]) -> pd.DataFrame:
    """Return lines as a table of texts, notes in brackets.

    Examples
    --------
    >>> verdicts([Line("embedding / sort", 0.912, 1.0)]).to_dict("records")
    [{'line': 'embedding / sort', 'value': '0.912', 'limit': '<= 1', 'verdict': 'ok'}]
    """
    return pd.DataFrame(
        [
            {
                "line": line.name + (f" ({line.note})" if line.note else ""),
                "value": f"{line.value:.3g} {line.unit}".removesuffix(" x").strip(),
                "limit": line.bounds,
                "verdict": line.verdict,
            }
            for line in lines
        ]
    )


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
            record.append(seconds(function))
    return [min(record) for record in times]


def seconds(function: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def peak_memory() -> float:
    """Return the most memory that this process has held so far, in megabytes (nan where the system does not tell).

    Linux's ``ru_maxrss`` of a new process begins at the size of the one that started it, so the peak of its own
    memory is read instead.

    Examples
    --------
    >>> peak_memory() > 10
    True
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    try:
        import resource
    except ImportError:
        return float("nan")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def workers(number: int) -> Executor:
    """Return an executor of so many processes; of one thread where one is enough."""
    if number == 1:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("spawn"))


def in_child(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function of a module in a fresh process, for its peak of memory to be its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def projections(graph: Graph, embedding: SWWLEmbedding) -> NDArray[np.float32]:
    """Return what the embedding has to sort for a graph, (P, n): the part of its work that no cleverness removes."""
    features = graph.features - graph.features.mean(0)
    kept = wl_iterations(neighbor_average(graph), features, embedding.n_iterations)
    return np.ascontiguousarray((np.hstack(kept) @ embedding.directions_).T, dtype=np.float32)


def cholesky_and_inverse(n: int) -> Callable[[], object]:
    """Return a function that does once what a GP of n observations does in each step: ``dpotrf`` and ``dpotri``."""
    place = np.linspace(0, 1, n)
    matrix = np.asfortranarray(np.exp(-3 * np.abs(place[:, None] - place)) + 1e-3 * np.eye(n))
    return lambda: lapack.dpotri(lapack.dpotrf(matrix, clean=0)[0], overwrite_c=1)


@dataclass(frozen=True)
class PowerLaw:
    """``seconds = factor * x ** slope``."""

    slope: float
    factor: float

    def __call__(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the seconds at x."""
        return self.factor * np.asarray(x, float) ** self.slope

    def inverse(self, seconds: float) -> float:
        """Return the x at which so many seconds pass; infinite where that is never."""
        if self.slope <= 0:
            return float("inf")
        with np.errstate(over="ignore"):
            return float(np.exp(np.log(seconds / self.factor) / self.slope))


def fit_power_law(x: ArrayLike, seconds: ArrayLike) -> PowerLaw:
    """Fit a power law by least squares of the logarithms.

    Examples
    --------
    >>> law = fit_power_law([1, 10, 100], [2.0, 200.0, 20000.0])
    >>> round(law.slope, 9), round(law.factor, 9), round(law.inverse(800.0), 6)
    (2.0, 2.0, 20.0)
    """
    log_x, log_y = np.log(np.asarray(x, float)), np.log(np.asarray(seconds, float))
    if log_x.size < 2 or np.ptp(log_x) == 0:
        raise InputError(f"A slope needs two different sizes, but there are {np.unique(log_x).size}.")
    slope, shift = np.polyfit(log_x, log_y, 1)
    return PowerLaw(float(slope), float(np.exp(shift)))

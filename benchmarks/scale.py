"""A hundred thousand rows beside two thousand: the solver on inducing rows and neighbors against the exact process.

``python -m benchmarks scale`` takes about 20 minutes of CPU time; ``python -m benchmarks.scale 10000 smooth 0``
measures one size, function and seed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone

from benchmarks.measure import Line, peak_memory
from swwl.gp import Coordinates, RobustGP
from swwl.gp.many_rows import choose_setting
from swwl.gp.prediction import Prediction

N, N_EXACT, N_TEST, SEEDS = 100_000, 2000, 2000, (0, 1, 2)
INDUCING = {"n_inducing": 1000, "n_neighbors": 30, "n_predict_neighbors": 60}  # for the exact process's own rows
Array = NDArray[np.float64]


def smooth(x: Array) -> Array:
    """Flow through a borehole in 8 of 20 inputs in (0, 1); weak effects and interactions of the others."""
    low = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
    rw, r, tu, hu, tl, hl, length, kw = (low + x[:, :8] * (high - low)).T
    ratio = np.log(r / rw)
    flow = 2 * np.pi * tu * (hu - hl) / (ratio * (1 + 2 * length * tu / (ratio * rw**2 * kw) + tu / tl))
    weak = 0.4 * np.sin(2 * np.pi * x[:, 8] * x[:, 9]) + 0.4 * x[:, 10] * np.cos(3 * x[:, 11])
    weak += 0.2 * (x[:, 12:18] @ np.linspace(1, 0.1, 6)) + 0.5 * x[:, 18] ** 2 * (1 - x[:, 0])
    return (flow - 77.7) / 45.6 + weak + 0.3 * np.abs(x[:, 19] - 0.4)


def rough(x: Array) -> Array:
    """Kinks along three of 20 inputs and across two more, the others inert."""
    return np.abs(x[:, 0] - 0.5) + np.abs(x[:, 8] - 0.3) + np.abs(x[:, 10] - 0.6) + np.abs(x[:, 9] - x[:, 18])


def both(x: Array) -> Array:
    """Add the two up: kinks among ten smooth effects, which take many more rows to learn. Not part of the benchmark."""
    return smooth(x) + 0.6 * rough(x)


# noise in units of one standard deviation, correlations and how many inputs each has
FUNCTIONS = {
    "smooth": (smooth, 0.005, ["gaussian", "matern52"], (18, 2)),
    "rough": (rough, 0.02, ["matern52"], (20,)),
    "both": (both, 0.02, ["matern52"], (20,)),
}


def run() -> Iterator[Line]:
    """Measure two functions with three seeds each."""
    for name in ("smooth", "rough"):
        for seed in SEEDS:
            yield from measure(N, name, seed)


def measure(n: int, name: str, seed: int) -> Iterator[Line]:
    """Fit the exact process to 2000 rows, and with its ranges the large one to all; compare them on new rows."""
    function, noise, correlations, widths = FUNCTIONS[name]
    rng = np.random.default_rng(seed)
    x = rng.random((n + N_TEST, 20))
    clean = function(x)
    y = clean + noise * clean.std() * rng.normal(size=len(x))
    edges = np.cumsum([0, *widths])

    def blocks(rows: slice | NDArray[np.intp]) -> list[Coordinates]:
        return [Coordinates(x[rows, a:b]) for a, b in zip(edges[:-1], edges[1:], strict=True)]

    train, test = slice(0, n), slice(n, None)
    some = np.sort(np.random.default_rng(seed).permutation(n)[:N_EXACT])
    begin = time.process_time()
    exact = RobustGP(correlations, n_starts=1, random_state=seed).fit(blocks(some), y[some])
    alone = time.process_time() - begin
    few = exact.predict_distribution(blocks(test))
    least = _error(few, y[test])
    large = clone(exact).set_params(beta=exact.beta_, nugget=exact.nugget_, solver="vecchia")
    if name == "smooth":
        same = clone(large).set_params(solver_options=INDUCING).fit(blocks(some), y[some])
        title = f"{name}, N = {N_EXACT}, seed {seed}: "
        found = same.predict_distribution(blocks(test))
        yield Line(title + "RMSE, 1000 inducing rows / exact", _error(found, y[test]) / least, 1.25)
        yield _coverage(title, found, y[test])
        yield Line(title + "log score lost", _log_score(few, y[test]) - _log_score(found, y[test]), 0.25, "")
    begin = time.process_time()  # what follows is what swwl.gp.fit_large does after its exact fit
    large.set_params(solver_options=choose_setting(large, blocks(train), y[train]))
    choice = time.process_time() - begin
    large.fit(blocks(train), y[train])
    whole = alone + time.process_time() - begin
    found = large.predict_distribution(blocks(test))
    error = _error(found, y[test])
    title = f"{name}, N = {n}, seed {seed}: "
    note = f"{alone:.0f} s for the exact one, {choice:.0f} s to choose {_setting(large)}"
    yield Line(title + "fit / exact, N = 2000, CPU", whole / alone, 6, note=note)
    note = f"{error:.4f} / {least:.4f}, noise {noise * clean.std():.4f}"
    yield Line(title + "RMSE / that of the exact", error / least, 0.65 if n >= N else None, note=note)
    yield _coverage(title, found, y[test])
    row = blocks(slice(n, n + 1))
    rounds = [_seconds(lambda: large.predict_distribution(row)) for _ in range(100)]
    note = f"the median of 100; {1000 * min(rounds):.1f} at best"
    yield Line(title + "one prediction, CPU", 1000 * float(np.median(rounds)), 5, "ms", note)
    yield Line(title + "peak of memory so far", peak_memory(), 4000, "MB")


def _seconds(function: Callable[[], object]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def _error(found: Prediction, y: Array) -> float:
    return float(np.sqrt(np.mean((found.mean - y) ** 2)))


def _log_score(found: Prediction, y: Array) -> float:
    return float(np.mean(student.logpdf(y, found.df, found.mean, found.scale)))


def _coverage(title: str, found: Prediction, y: Array) -> Line:
    """Say how far from 95 the percentage of answers inside their 95 % intervals is."""
    lower, upper = found.interval(0.95)
    inside = 100 * float(np.mean((lower < y) & (y < upper)))
    return Line(title + "inside 95 % intervals, off by", abs(inside - 95), 2.0, "%", f"{inside:.2f} % are inside")


def _setting(gp: RobustGP) -> str:
    """Say which setting was chosen."""
    options = gp.solver_options or {}
    numbers = [options[name] for name in ("n_inducing", "n_neighbors", "n_predict_neighbors")]
    return ", ".join(map(str, numbers)) + " inducing rows and neighbors"


if __name__ == "__main__":
    for line in measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])):
        print(line, flush=True)

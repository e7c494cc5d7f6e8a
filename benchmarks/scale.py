"""A hundred thousand rows beside two thousand: the solver on inducing rows and neighbors against the exact process.

``python -m benchmarks scale`` takes about a quarter of an hour; ``python -m benchmarks.scale 10000 smooth 0`` measures
one size, function and seed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from benchmarks.measure import Line, peak_memory
from swwl.gp import Coordinates, RobustGP
from swwl.gp.large import choose_setting

N, N_EXACT, N_TEST, SEEDS = 100_000, 2000, 2000, (0, 1, 2)
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
    """Measure two functions with three seeds each, and the peak of memory."""
    for name in ("smooth", "rough"):
        for seed in SEEDS:
            yield from measure(N, name, seed)
    yield Line("peak of memory", peak_memory(), 4000, "MB")


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
    middle = time.process_time()  # what follows is what swwl.gp.fit_large does after its exact fit
    large = clone(exact).set_params(beta=exact.beta_, nugget=exact.nugget_, solver="vecchia")
    large.set_params(solver_options=choose_setting(large, blocks(train), y[train]))
    large.fit(blocks(train), y[train])
    whole, alone = time.process_time() - begin, middle - begin
    few, found = (gp.predict_distribution(blocks(test)) for gp in (exact, large))
    error, least = (float(np.sqrt(np.mean((p.mean - y[test]) ** 2))) for p in (found, few))
    lower, upper = found.interval(0.95)
    inside = float(np.mean((lower < y[test]) & (y[test] < upper)))
    title = f"{name}, N = {n}, seed {seed}: "
    yield Line(title + "fit / exact, N = 2000, CPU", whole / alone, 6, note=_setting(large, alone))
    note = f"{error:.4f} / {least:.4f}, noise {noise * clean.std():.4f}"
    yield Line(title + "RMSE / that of the exact", error / least, 0.65 if n >= N else None, note=note)
    yield Line(title + "outside 95 % intervals", 100 * (1 - inside), 7, "%", "at least 3 wanted" * (inside > 0.97))
    row = blocks(slice(n, n + 1))
    begin = time.process_time()
    for _ in range(20):
        large.predict_distribution(row)
    yield Line(title + "one prediction", 50 * (time.process_time() - begin), 5, "ms")


def _setting(gp: RobustGP, seconds: float) -> str:
    """Say which setting was chosen, and how long the exact fit took."""
    options = gp.solver_options or {}
    numbers = [options[name] for name in ("n_inducing", "n_neighbors", "n_predict_neighbors")]
    return f"{seconds:.0f} s for the exact one; " + ", ".join(map(str, numbers)) + " inducing rows and neighbors"


if __name__ == "__main__":
    for line in measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])):
        print(line, flush=True)
    print(f"peak {peak_memory():.0f} MB")

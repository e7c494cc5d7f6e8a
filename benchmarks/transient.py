"""Fields over time: plates that one or two pipes warm up, no two of the same topology.

``python -m benchmarks transient`` takes some ten minutes; ``python -m benchmarks.transient 1000`` has fewer nodes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Line, peak_memory
from swwl import TransientRegressor
from swwl.datasets import make_heating
from swwl.errors import CaseWarning

N_TRAIN, N_TEST, SEED = 100, 50, 1
FIELD = "temperature"


def run(n_nodes: int = 5000) -> Iterator[Line]:
    """Fit, and test on others."""
    warnings.simplefilter("ignore", CaseWarning)
    table = make_heating(N_TRAIN + N_TEST, n_nodes=n_nodes, random_state=SEED)
    test = table[N_TRAIN:]
    truth = [series.fields[FIELD] for series in test["mesh"]]
    used = time.process_time()
    model = TransientRegressor(n_jobs=2).fit(table[:N_TRAIN], FIELD)
    title = f"over time: {N_TRAIN} plates of {n_nodes} nodes at {len(model.times_)} times"
    yield Line(f"{title}, fit", time.process_time() - used, 600, "s")
    yield Line("over time: peak of memory", peak_memory(), 4000, "MB")
    used = time.process_time()
    found = model.predict(test)
    yield Line("over time: prediction of one case", (time.process_time() - used) / len(test), None, "s")
    squares = [np.mean((one[FIELD] - u) ** 2) / u.max() ** 2 for one, u in zip(found, truth, strict=True)]
    yield Line("over time: RRMSE over all nodes and times", float(np.sqrt(np.mean(squares))), 0.02)
    for words, level, whole in (("in 95 % intervals", 0.95, False), ("whole, in bands at 90 %", 0.9, True)):
        low, high = model.predict_interval(test, level, simultaneous=whole)
        inside = [(a[FIELD] <= u) & (u <= b[FIELD]) for a, b, u in zip(low, high, truth, strict=True)]
        share = np.mean([one.all() if whole else one.mean() for one in inside])
        yield Line(f"over time: {words}", float(share))


if __name__ == "__main__":
    for line in run(*map(int, sys.argv[1:])):
        print(line)

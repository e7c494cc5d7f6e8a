"""Whole fields of other people's kinds: flows around several bodies, plates; what bands of whole fields hold.

``python -m benchmarks whole`` takes some ten minutes; ``python -m benchmarks.whole 12`` has another seed than 11.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.measure import Line
from swwl import FieldRegressor
from swwl.datasets import make_samples
from swwl.errors import CaseWarning
from swwl.fields.scores import field_score
from swwl.mesh.remesh.refine import subdivided

N_TRAIN, N_TEST = 120, 54
SETS = {"channel": ("pressure", 2000), "tensile2d": ("displacement", 900)}


def run(seed: int = 11) -> Iterator[Line]:
    """Fit each set, and test on others."""
    for name, (field, nodes) in SETS.items():
        samples = make_samples(name, N_TRAIN + N_TEST, n_nodes=nodes, random_state=seed, n_jobs=2)
        table = pd.DataFrame([{**sample.scalars, "mesh": sample.mesh} for sample in samples])
        yield from _one_set(f"{name}, {field}", field, table[:N_TRAIN], table[N_TRAIN:].reset_index(drop=True))


def _one_set(title: str, field: str, train: pd.DataFrame, test: pd.DataFrame) -> Iterator[Line]:
    warnings.simplefilter("ignore", CaseWarning)
    used = time.process_time()
    model = FieldRegressor(n_jobs=2).fit(train, field)
    used = time.process_time() - used
    cases, truth = model.cases(test), [mesh.fields[field] for mesh in test["mesh"]]
    means, (lower, upper) = cases.predict()[0], cases.predict_interval()
    parts = ([one[field] for one in part] for part in (means, lower, upper))
    found = field_score(truth, *parts)
    yield Line(f"{title}: RRMSE", found.rrmse, note=f"{len(train)} meshes, {used:.0f} s of CPU to fit")
    note = f"worst mesh {found.worst_coverage:.2f}"
    yield Line("  in 95 % intervals of nodes", found.coverage, note=note)
    fine = test.assign(mesh=[subdivided(mesh) for mesh in test["mesh"]])
    for words, table in (("as they are", test), ("refined once", fine)):
        low, high = model.predict_interval(table, 0.9, simultaneous=True)
        values = [mesh.fields[field] for mesh in table["mesh"]]
        inside = [((a[field] <= u) & (u <= b[field])).all() for a, b, u in zip(low, high, values, strict=True)]
        width = np.mean(
            [(b[field] - a[field]).mean() / np.abs(u).max() for a, b, u in zip(low, high, values, strict=True)]
        )
        yield Line(
            f"  whole fields in bands at 90 %, meshes {words}",
            float(np.mean(inside)),
            note=f"width {width:.3f} of the largest",
        )


if __name__ == "__main__":
    for line in run(*map(int, sys.argv[1:2])):
        print(line, flush=True)

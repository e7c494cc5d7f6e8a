"""What helpers bring: targets with missing cells, two fidelities, and designs that weigh the costs of levels.

``python -m benchmarks together`` takes about an hour; ``python -m benchmarks.together missing`` (or ``levels``,
``costs``) does one part, ``python -m benchmarks.together levels 3 4`` with other seeds than 0 to 2.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.measure import Line
from swwl import Elliptic, Mesh, RobustGPRegressor
from swwl.datasets import make_samples
from swwl.datasets.tensile2d import TENSILE2D
from swwl.datasets.tensile2d.material import Material
from swwl.datasets.tensile2d.mesh import notched_plate
from swwl.datasets.tensile2d.solver import pull
from swwl.design import suggest
from swwl.errors import CaseWarning, GPWarning

SEEDS = (0, 1, 2)
SHAPE = ["radius", "height"]
N_ROWS, N_KNOWN, N_TEST = 150, 30, 150
N_COARSE, N_FINE, COARSE, FINE = 300, 30, 200, 800
COSTS = {"coarse": 1.0, "fine": 20.0}
N_START, N_MOST, N_POOL, BATCH = 10, 40, 600, 5


def plates(n: int, seed: int, n_nodes: int = 300) -> pd.DataFrame:
    """Return plates with a load and a modulus over a decade each, some of which yield: how far nodes move."""
    rng = np.random.default_rng(seed)
    rows = []
    for radius, height, load, stiffness in rng.uniform(size=(n, 4)):
        points, cells = notched_plate(0.15 + 0.27 * radius, 0.8 * height - 0.4, n_nodes)
        pressure, young = 6.0 * 10.0**load, 2e4 * 10.0**stiffness
        moved = pull(points, cells, Material(110.0, 100.0, 30.0, 100.0, 5.0, young=young), pressure).displacement
        size = np.linalg.norm(moved, axis=1)
        mesh = Mesh(points, {"triangle": cells})
        answers = {"mean_disp": float(size.mean()), "max_disp": float(size.max())}
        shape = {"radius": radius, "height": height}
        rows.append({"mesh": mesh, "pressure": pressure, "young": young} | shape | answers)
    return pd.DataFrame(rows)


def _rmse(model: RobustGPRegressor, test: pd.DataFrame, target: str) -> float:
    mean = model.predict(test, widen=False).reshape(len(test), -1)[:, model.target_names_.index(target)]
    return float(np.sqrt(np.mean((mean - test[target]) ** 2)))


def missing(seeds: Sequence[int] = SEEDS) -> Iterator[Line]:
    """Hide four fifths of the largest displacement; the mean one is known, or has been shuffled."""
    for seed in seeds:
        table = plates(N_ROWS + N_TEST, seed).drop(columns=SHAPE)
        train, test = table[:N_ROWS].copy(), table[N_ROWS:]
        rng = np.random.default_rng(seed)
        train.loc[rng.permutation(N_ROWS)[N_KNOWN:], "max_disp"] = np.nan
        shuffled = train.assign(mean_disp=rng.permutation(train["mean_disp"]))
        targets = ["mean_disp", "max_disp"]
        alone = _rmse(RobustGPRegressor(targets_together=False).fit(train, targets), test, "max_disp")
        for words, rows, limit in (("related", train, 0.75), ("not related", shuffled, 1.03)):
            model = RobustGPRegressor().fit(rows, targets)
            told = "; ".join(one.words for one in model.chain_.told) if model.chain_ else ""
            ratio = _rmse(model, test, "max_disp") / alone
            yield Line(f"80 % missing, {words}, seed {seed}: error / alone", ratio, limit, note=told)


def levels(seeds: Sequence[int] = SEEDS) -> Iterator[Line]:
    """Learn how far plates of 800 nodes move from 30 of them, with 300 of 200 nodes; then without."""
    for seed in seeds:
        coarse = plates(N_COARSE, seed, COARSE).drop(columns=[*SHAPE, "mean_disp"])
        fine = plates(N_COARSE + N_TEST, seed, FINE).drop(columns=[*SHAPE, "mean_disp"])
        test = fine[N_COARSE:]
        both = pd.concat([coarse.assign(level="coarse"), fine[:N_FINE].assign(level="fine")], ignore_index=True)
        cheap = both["level"] == "coarse"
        shuffled = both.copy()
        shuffled.loc[cheap, "max_disp"] = np.random.default_rng(seed).permutation(both["max_disp"][cheap])
        few = _rmse(RobustGPRegressor().fit(fine[:N_FINE], "max_disp"), test, "max_disp")
        many = _rmse(RobustGPRegressor().fit(fine[:N_COARSE], "max_disp"), test, "max_disp")
        model = RobustGPRegressor().fit(both, "max_disp", fidelity="level")
        error = _rmse(model, test, "max_disp")
        lower, upper = model.predict_interval(test)
        inside = float(np.mean((lower <= test["max_disp"]) & (test["max_disp"] <= upper)))
        note = f"{model.chain_.told[0].words}; {inside:.2f} inside 95 %" if model.chain_ else ""
        name = f"{N_COARSE} coarse and {N_FINE} fine plates, seed {seed}"
        yield Line(f"{name}: error / {N_FINE} fine", error / few, 0.6, note=note)
        yield Line(f"{name}: error / {N_COARSE} fine", error / many, 1.5, note=f"RMSE {error:.3g}")
        lost = _rmse(RobustGPRegressor().fit(shuffled, "max_disp", fidelity="level"), test, "max_disp")
        yield Line(f"coarse plates shuffled, seed {seed}: error / {N_FINE} fine", lost / few, 1.05)


def _numbers(n_nodes: int, level: str) -> pd.DataFrame:
    """Return plates as the eight numbers that made them, and the logarithm of how far they move."""
    samples = make_samples("tensile2d", N_POOL, n_nodes=n_nodes, random_state=0, n_jobs=1)
    moved = [float(np.abs(sample.mesh.fields["displacement"]).max()) for sample in samples]
    table = pd.DataFrame([{**sample.scalars, **sample.shape} for sample in samples])
    return table.assign(level=level, y=np.log(moved))


def _fitted(table: pd.DataFrame, both: bool) -> RobustGPRegressor:
    model = RobustGPRegressor(Elliptic(*TENSILE2D.ranges), prior="gentle", n_starts=1)
    if both:
        return model.fit(table, "y", fidelity={"level": ["coarse", "fine"]})
    return model.fit(table[table["level"] == "fine"].drop(columns="level"), "y")


def _spent(table: pd.DataFrame) -> float:
    return float(table["level"].map(COSTS).sum())


def costs(seeds: Sequence[int] = tuple(range(10))) -> Iterator[Line]:
    """Compare designs of fine runs alone with designs of both levels at half the cost."""
    good, cheap, inputs = _numbers(FINE, "fine"), _numbers(COARSE, "coarse"), list(TENSILE2D.ranges)
    budget = N_MOST * COSTS["fine"] / 2
    ratios = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(N_POOL)
        test, pool = good.iloc[order[:N_TEST]], order[N_TEST:]
        fine = good.iloc[pool[:N_START]]
        while len(fine) < N_MOST:
            found = suggest(_fitted(fine, both=False), good.iloc[pool][inputs], BATCH)
            fine = pd.concat([fine, good.iloc[pool[found["row"]]]])
        both = pd.concat([good.iloc[pool[:N_START]], cheap.iloc[pool[: 3 * N_START]]])
        while budget - _spent(both) >= COSTS["fine"]:
            found = suggest(_fitted(both, both=True), good.iloc[pool][inputs], 2 * BATCH, costs=COSTS)
            for row, level in zip(found["row"], found["level"], strict=True):
                if _spent(both) + COSTS[level] <= budget:
                    one = (good if level == "fine" else cheap).iloc[[pool[row]]]
                    both = pd.concat([both, one])
        errors = [_rmse(_fitted(rows, two), test, "y") for rows, two in ((fine, False), (both, True))]
        ratios.append(errors[1] / errors[0])
        counts = both["level"].value_counts()
        note = f"{counts['coarse']} coarse and {counts['fine']} fine runs, RMSE {errors[1]:.3g}"
        yield Line(f"both levels at half the cost of {N_MOST} fine, seed {seed}: error", ratios[-1], note=note)
    yield Line(f"both levels at half the cost: median of {len(ratios)}", float(np.median(ratios)), 1.0)


PARTS = {"missing": missing, "levels": levels, "costs": costs}


def run() -> Iterator[Line]:
    """Measure all three."""
    warnings.simplefilter("ignore", CaseWarning)
    warnings.simplefilter("ignore", GPWarning)
    for part in PARTS.values():
        yield from part()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = PARTS[sys.argv[1]]
    for line in asked(tuple(map(int, sys.argv[2:]))) if sys.argv[2:] else asked():
        print(line, flush=True)

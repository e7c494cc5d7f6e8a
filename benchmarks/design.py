"""What choosing simulations is worth beside choosing at random: blades, with seeds fixed before the first run.

``python -m benchmarks design``. Meshes are embedded once; the loops fit one elliptic Matérn kernel on twelve components
of their skin (20 projections, 300 nodes), learned from the pool's own meshes, and ask for twenty cases at a time: the
default stack of four kernels would take some twenty times as long.

How far a designer goes in one step is not chosen by what the rules gain. Two numbers of a first study are known, whose
pools are lost: k-means with three groups on eight whitened components of a pool told its three trails apart with a
median adjusted Rand index of 0.97 (worst 0.56, six pools, among the blades of the trails), and 120 blades at random of
a clustered pool left 1.55 times the error of 120 of a uniform one. Of seven steps between 0.01 and 0.16, 0.06 is the
one whose pools show both most often (docs/design.md).
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.domain import blades
from benchmarks.measure import Line
from swwl import Elliptic, RobustGPRegressor, SWWLEmbedding
from swwl.datasets.blade import BLADE
from swwl.datasets.generator import Unsolvable
from swwl.design import select, suggest
from swwl.design.acquire import CRITERIA
from swwl.design.subsets import METHODS
from swwl.embedding.components import principal_components, project

N_NODES, N_POOL, N_TEST, N_START, BATCH, N_MORE, N_SELECT = 300, 400, 500, 40, 20, 80, 120
CLUSTERED, UNIFORM, TEST, BEST = range(8401, 8411), range(8201, 8211), 8001, range(5301, 5307)
# Of designers, in half ranges.
STEP = 0.06
N_OTHERS = N_POOL // 5
N_BEST_POOL, N_BEST_START, BEST_BATCH, N_BEST_MORE = 240, 10, 3, 18
COMPONENTS = [f"z{j + 1}" for j in range(12)]
INPUTS = [*COMPONENTS, "speed", "pressure"]
Case = tuple[pd.DataFrame, np.ndarray]


def run() -> Iterator[Line]:
    """Learn from clustered and from uniform pools, and look for the best blade of a pool."""
    options: dict[str, Any] = {"measure": "skin", "directions": "orthogonal", "quantiles": "mean", "n_jobs": 1}
    skin = SWWLEmbedding(0, n_projections=20, n_quantiles=100, **options)
    test = blades(N_TEST, 1.0, TEST, n_nodes=N_NODES)
    known = (test, skin.fit_transform(test["mesh"]))
    clustered = ((seed, *_embedded(trails(N_POOL, seed), skin)) for seed in CLUSTERED)
    yield from _learn("clustered", clustered, known, 0.75, 0.75)
    many, rows = _embedded(blades(1000, 1.0, TEST + 1, n_nodes=N_NODES), skin)
    draws = ((seed, np.random.default_rng(seed).permutation(1000)[:N_POOL]) for seed in UNIFORM)
    yield from _learn("uniform", ((seed, many.iloc[own], rows[own]) for seed, own in draws), known, 0.97, None)
    yield from _find_best(skin)


def _embedded(table: pd.DataFrame, skin: SWWLEmbedding) -> Case:
    return table, skin.transform(table["mesh"])


def _learn(
    name: str,
    pools: Iterable[tuple[int, pd.DataFrame, np.ndarray]],
    test: Case,
    limit: float,
    select_limit: float | None,
) -> Iterator[Line]:
    """Print the error after suggestions, and after a first choice, over that of random choice.

    Also what there is to gain: the error with the whole pool, and of clustered ones that with all of the other blades,
    which come first in a pool, and with as many of the designers' as then fit in.
    """
    ratios: dict[str, list[float]] = {}
    for seed, pool, rows in pools:
        rng = np.random.default_rng(seed)
        table, (known,) = numbers(pool, rows, [test])
        order = rng.permutation(len(table))
        random = _error(table.iloc[order[: N_START + N_MORE]], known)
        found = {}
        for rule in CRITERIA["learn"]:
            chosen = list(order[:N_START])
            while len(chosen) < N_START + N_MORE:
                free = np.setdiff1d(np.arange(len(table)), chosen)
                more = suggest(fitted(table.iloc[chosen]), table.iloc[free], BATCH, criterion=rule)["row"]
                chosen += free[more].tolist()
            found[rule] = _error(table.iloc[chosen], known) / random
        if name == "clustered":
            first = np.concatenate([np.arange(N_OTHERS), order[order >= N_OTHERS]])[: N_START + N_MORE]
            found["all others"] = _error(table.iloc[first], known) / random
        found["whole pool"] = _error(table, known) / random
        at_random = np.mean([_error(table.iloc[rng.permutation(len(table))[:N_SELECT]], known) for _ in range(3)])
        for method in METHODS:
            first = select(table[INPUTS].drop(columns=COMPONENTS[8:]), N_SELECT, method)["row"].to_numpy()
            found[f"select, {method}"] = _error(table.iloc[first], known) / float(at_random)
        for rule, ratio in found.items():
            ratios.setdefault(rule, []).append(ratio)
        note = ", ".join(f"{rule} {ratio:.2f}" for rule, ratio in found.items())
        yield Line(f"{name} pool {seed}: error after {N_MORE} at random", 1e4 * random, unit="1e-4", note=note)
    limits = {"imse": limit, f"select, {METHODS[0]}": select_limit}
    for rule, values in ratios.items():
        what = f"{name}: {rule}, error / random, median of {len(values)}"
        note = f"better in {sum(value < 1 for value in values)}"
        yield Line(what, float(np.median(values)), limits.get(rule), note=note)


def _find_best(skin: SWWLEmbedding) -> Iterator[Line]:
    """Look for the best efficiency at the design point, three blades at a time."""
    found, lucky, regrets = 0, 0, []
    for seed in BEST:
        point = {"speed": 0.0, "pressure": 0.0}
        pool = blades(N_BEST_POOL, 1.0, seed, n_nodes=N_NODES, scalars=point)
        table, _ = numbers(pool, skin.transform(pool["mesh"]), [])
        y = table["efficiency"].to_numpy()
        for start in range(2):
            order = np.random.default_rng([seed, start]).permutation(len(y))
            chosen = list(order[:N_BEST_START])
            while len(chosen) < N_BEST_START + N_BEST_MORE:
                free = np.setdiff1d(np.arange(len(y)), chosen)
                model = fitted(table.iloc[chosen], COMPONENTS)
                suggested = suggest(model, table.iloc[free], BEST_BATCH, goal="maximize")
                chosen += free[suggested["row"]].tolist()
            found += int(y[chosen].max() == y.max())
            lucky += int(y[order[: len(chosen)]].max() == y.max())
            regrets.append(1e4 * float(y.max() - y[chosen].max()))
    note = f"random {lucky}; regret 1e-4: {', '.join(f'{regret:.1f}' for regret in regrets)}; at least 7 expected"
    yield Line(
        f"best of {N_BEST_POOL} found after {N_BEST_MORE} suggestions, of 12 runs", found, unit="runs", note=note
    )


def fitted(table: pd.DataFrame, inputs: list[str] = INPUTS) -> RobustGPRegressor:
    """Fit one kernel to some simulated blades."""
    model = RobustGPRegressor(Elliptic(*inputs), prior="gentle", n_starts=1, calibrate=False)
    return model.fit(table[[*inputs, "efficiency"]], "efficiency")


def _error(train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Return the root mean square error of a model of some blades on the test blades."""
    return float(np.sqrt(np.mean((fitted(train).predict(test) - test["efficiency"]) ** 2)))


def numbers(pool: pd.DataFrame, rows: np.ndarray, others: list[Case]) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Put the leading components of a pool's embedded rows into its table, and those of other tables."""
    mean, components, _ = principal_components(rows, len(COMPONENTS))
    tables = []
    for table, own in [(pool, rows), *others]:
        z = pd.DataFrame(project(own, mean, components), columns=COMPONENTS)
        tables.append(pd.concat([z, table.drop(columns="mesh").reset_index(drop=True)], axis=1))
    return tables[0], tables[1:]


def trails(n: int, seed: int) -> pd.DataFrame:
    """Simulate the blades that three designers tried, small step by small step, and a fifth of others."""
    rng = np.random.default_rng(seed)
    parts = [blades(N_OTHERS, 1.0, seed, n_nodes=N_NODES)]
    for _ in range(3):
        at, rows = rng.uniform(-1, 1, len(BLADE.shape)), []
        while len(rows) < (n - N_OTHERS) // 3 + 1:
            at = np.clip(at + rng.normal(0, STEP, len(at)), -1, 1)
            inputs = {name: float(rng.uniform(*pair)) for name, pair in BLADE.scalars.items()}
            for value, (name, (low, high)) in zip(at, BLADE.shape.items(), strict=True):
                inputs[name] = (low + high) / 2 + value * (high - low) / 2
            try:
                result = BLADE.simulate(inputs, N_NODES, 1.0)
            except Unsolvable:
                continue
            rows.append({"mesh": result.mesh} | {name: inputs[name] for name in BLADE.scalars} | result.targets)
        parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True).iloc[:n]

"""Whether choosing simulations is worth more than chance: blades of random topology, in pools of four kinds.

``python -m benchmarks chance`` takes hours; ``python -m benchmarks.chance heavy 3 principal`` runs three pools of one
kind with one model. Seeds were fixed before the first run. Test blades are of the pool's own kind but for clustered
pools, the trails of designers, which are tested on blades from anywhere. Two goals: efficiency and mass flow, by the
area that the best compromises dominate.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from benchmarks.design import STEP
from benchmarks.measure import Line
from swwl import Matern52, PrincipalSWWL, RobustGPRegressor
from swwl.datasets.blade import BLADE
from swwl.datasets.generator import Unsolvable
from swwl.design import select, suggest
from swwl.design.acquire import front_of, hypervolume

SEEDS, N_POOL, N_TEST, N_START, N_MORE, BATCH, N_RANDOM = range(7701, 7721), 280, 120, 40, 60, 20, 3
N_NODES, INPUTS, TARGET = 500, ["mesh", "speed", "pressure"], "efficiency"
# Of a mean over pools, and of any pool, over random choice.
LIMITS = {"uniform": (1.02, 1.15), "lopsided": (1.02, 1.15), "clustered": (0.8, None), "heavy": (0.95, None)}
Draw = Callable[[], np.ndarray]


def run(
    kinds: tuple[str, ...] = tuple(LIMITS), n_pools: int = 20, models: tuple[str, ...] = ("principal", "default")
) -> Iterator[Line]:
    """Compare `select` and `suggest` with random choice, and two goals with it."""
    warnings.simplefilter("ignore")
    for kind in kinds:
        for model in models:
            found: dict[str, list[float]] = {}
            for seed in list(SEEDS)[:n_pools]:
                pool, test = pools(kind, seed)
                for rule, ratio in ratios(model, pool, test, seed).items():
                    found.setdefault(rule, []).append(ratio)
                    print(f"  {kind} {seed} {model}: {rule} {ratio:.3f}", file=sys.stderr, flush=True)
            for rule, values in found.items():
                limit, worst = LIMITS[kind]
                note = f"{len(values)} pools, better in {sum(value < 1 for value in values)}"
                yield Line(f"{kind}, {model}: {rule}, error / random", float(np.mean(values)), limit, note=note)
                yield Line("  worst pool", max(values), worst)
    yield from two_goals(min(n_pools, 10))


def ratios(kind: str, pool: pd.DataFrame, test: pd.DataFrame, seed: int) -> dict[str, float]:
    """Return errors after 100 chosen cases over the mean after as many random ones, and after the whole pool."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(pool))
    others = [np.r_[order[:N_START], rng.permutation(order[N_START:])[:N_MORE]] for _ in range(N_RANDOM)]
    random = float(np.mean([error(kind, pool.iloc[rows], test) for rows in others]))
    first = select(pool[INPUTS], N_START + N_MORE)["row"]
    chosen = list(order[:N_START])
    while len(chosen) < N_START + N_MORE:
        free = np.setdiff1d(np.arange(len(pool)), chosen)
        chosen += free[suggest(fitted(kind, pool.iloc[chosen]), pool.iloc[free][INPUTS], BATCH)["row"]].tolist()
    sets = {"select": first, "suggest": chosen}
    return {rule: error(kind, pool.iloc[rows], test) / random for rule, rows in sets.items()}


def two_goals(n_pools: int) -> Iterator[Line]:
    """Compare the area of the best compromises after 60 blades: 20 at random, 40 by expected growth."""
    found, targets = [], [TARGET, "massflow"]
    for seed in list(SEEDS)[:n_pools]:
        pool, _ = pools("uniform", seed)
        values = pool[targets].to_numpy()
        reference, rng = values.min(axis=0), np.random.default_rng(seed)
        order = rng.permutation(len(pool))
        chosen = list(order[:20])
        while len(chosen) < 60:
            free = np.setdiff1d(np.arange(len(pool)), chosen)
            model = fitted("principal", pool.iloc[chosen], targets)
            goals = [f"maximize:{name}" for name in targets]
            chosen += free[suggest(model, pool.iloc[free][INPUTS], 10, goals)["row"]].tolist()
        random = [rng.permutation(len(pool))[:60] for _ in range(9)]
        areas = [hypervolume(front_of(values[rows]), reference) for rows in (chosen, *random)]
        found.append(areas[0] / float(np.median(areas[1:])))
    whole = f"{min(found):.2f} to {max(found):.2f}; at least 1.1 expected"
    yield Line(
        f"two goals: area over that of random choice, median of {len(found)}", float(np.median(found)), note=whole
    )


def fitted(kind: str, table: pd.DataFrame, targets: str | list[str] = TARGET) -> RobustGPRegressor:
    """Fit the default, or principal SWWL, to some simulated blades."""
    kernel = None
    if kind == "principal":
        kernel = PrincipalSWWL("mesh", n_components=8) * Matern52("speed") * Matern52("pressure")
    names = [targets] if isinstance(targets, str) else targets
    return RobustGPRegressor(kernel, n_jobs=2).fit(table[[*INPUTS, *names]], targets)


def error(kind: str, train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Return the root mean square error on test blades."""
    return float(np.sqrt(np.mean((fitted(kind, train).predict(test[INPUTS]) - test[TARGET]) ** 2)))


def pools(kind: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a pool and its test blades."""
    rng = np.random.default_rng(seed)

    def uniform() -> np.ndarray:
        return rng.uniform(-1, 1, len(BLADE.shape))

    def lopsided() -> np.ndarray:
        return 2 * rng.beta(1, 4, len(BLADE.shape)) - 1

    def heavy() -> np.ndarray:
        while True:
            drawn = 0.25 * rng.standard_t(2, len(BLADE.shape))
            if np.abs(drawn).max() < 2:
                return np.asarray(drawn)

    if kind == "clustered":
        parts = [blades(uniform, N_POOL // 5, rng)]
        parts += [blades(_trail(rng), N_POOL * 4 // 15 + 1, rng) for _ in range(3)]
        pool = pd.concat(parts, ignore_index=True).sample(N_POOL, random_state=seed).reset_index(drop=True)
        return pool, blades(uniform, N_TEST, rng)
    table = blades({"uniform": uniform, "lopsided": lopsided, "heavy": heavy}[kind], N_POOL + N_TEST, rng)
    return table[:N_POOL].reset_index(drop=True), table[N_POOL:].reset_index(drop=True)


def _trail(rng: np.random.Generator) -> Draw:
    at = [rng.uniform(-1, 1, len(BLADE.shape))]

    def step() -> np.ndarray:
        at[0] = np.clip(at[0] + rng.normal(0, STEP, len(BLADE.shape)), -1, 1)
        return at[0]

    return step


def blades(draw: Draw, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Simulate blades whose shapes are drawn in half ranges, each meshed in its own way."""
    rows = []
    while len(rows) < n:
        inputs = {name: float(rng.uniform(*pair)) for name, pair in BLADE.scalars.items()}
        for value, (name, (low, high)) in zip(draw(), BLADE.shape.items(), strict=True):
            inputs[name] = (low + high) / 2 + value * (high - low) / 2
        try:
            result = BLADE.simulate(inputs, int(N_NODES * rng.uniform(0.5, 1.5)), float(1.4 ** rng.uniform(-1, 1)))
        except Unsolvable:
            continue
        rows.append({"mesh": result.mesh} | {name: inputs[name] for name in BLADE.scalars} | result.targets)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    asked = sys.argv[1:]
    options = (tuple(asked[0].split(",")), int(asked[1]), tuple(asked[2].split(","))) if asked else ()
    for line in run(*options):
        print(line, flush=True)

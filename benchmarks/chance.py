"""Whether choosing simulations is worth more than chance: blades of random topology, in pools of four kinds.

``python -m benchmarks chance`` takes hours; ``python -m benchmarks.chance heavy principal 7701 7702`` runs two pools of
one kind with one model, ``python -m benchmarks.chance goals default`` two goals; without seeds all of them. Seeds were
fixed before the first run. Test blades are of the pool's own kind but for clustered pools, the trails of designers,
which are tested on blades from anywhere. Two goals: efficiency and mass flow, by the area that the best compromises
dominate, in a pool and where candidates are made for every batch, as ``swwl loop`` does with parameters.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.design import STEP
from benchmarks.measure import Line
from swwl import Matern52, PrincipalSWWL, RobustGPRegressor
from swwl.datasets.blade import BLADE
from swwl.datasets.generator import Unsolvable
from swwl.design import select, suggest
from swwl.design.acquire import front_of, hypervolume
from swwl.design.space import design_rows
from swwl.design.subsets import most_telling
from swwl.jobs.study.candidates import points_near, sobol_points

SEEDS, N_POOL, N_TEST, N_START, N_MORE, BATCH, N_RANDOM = range(7701, 7721), 280, 120, 40, 60, 20, 3
N_NODES, INPUTS, TARGET = 500, ["mesh", "speed", "pressure"], "efficiency"
GOALS, AIM = ["efficiency", "massflow"], ["maximize:efficiency", "maximize:massflow"]
# Of the scatter of random choice: seeds outside the benchmark, random choices, choices of `select`.
OTHERS, N_CASES, N_DRAWS, N_FIRST = range(9001, 9013), N_START + N_MORE, 20, 8
# How far below the worst values on the front the area begins, in ranges of the front.
BEYOND = 0.1
# Of a mean over pools, and of any pool, over random choice.
LIMITS = {"uniform": (1.02, 1.15), "lopsided": (1.02, 1.15), "clustered": (0.8, None), "heavy": (0.95, None)}
Draw = Callable[[], np.ndarray]
Row = dict[str, object]


def run() -> Iterator[Line]:
    """Compare `select` and `suggest` with random choice, and two goals with it."""
    warnings.simplefilter("ignore")
    for model in ("principal", "default"):
        for kind in LIMITS:
            yield from compare(kind, model)
        yield from two_goals(model)
        yield from scatter(model)


def compare(kind: str, model: str, seeds: Sequence[int] = SEEDS) -> Iterator[Line]:
    """Compare errors of what is chosen with those of random choice, in pools of one kind."""
    found: dict[str, list[float]] = {}
    for seed in seeds:
        for rule, ratio in ratios(model, *pools(kind, seed), seed).items():
            found.setdefault(rule, []).append(ratio)
            print(f"  {kind} {seed} {model}: {rule} {ratio:.3f}", file=sys.stderr, flush=True)
    limit, worst = LIMITS[kind]
    for rule in ("select", "suggest"):
        values = found[rule]
        deviation = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        note = f"± {deviation:.2f}, {len(values)} pools, better in {sum(value < 1 for value in values)}"
        yield Line(f"{kind}, {model}: {rule}, error / random", float(np.mean(values)), limit, note=note)
        yield Line("  worst pool", max(values), worst)
    note = "the largest of three random choices over their mean, averaged over pools"
    yield Line(f"{kind}, {model}: worst of three at random / mean", float(np.mean(found["worst random"])), note=note)


def ratios(kind: str, pool: pd.DataFrame, test: pd.DataFrame, seed: int) -> dict[str, float]:
    """Return errors after 100 chosen cases over the mean after as many random ones, and after the whole pool."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(pool))
    others = [np.r_[order[:N_START], rng.permutation(order[N_START:])[:N_MORE]] for _ in range(N_RANDOM)]
    at_random = [error(kind, pool.iloc[rows], test) for rows in others]
    random = float(np.mean(at_random))
    first = select(pool[INPUTS], N_START + N_MORE)["row"]
    chosen = list(order[:N_START])
    while len(chosen) < N_START + N_MORE:
        free = np.setdiff1d(np.arange(len(pool)), chosen)
        chosen += free[suggest(fitted(kind, pool.iloc[chosen]), pool.iloc[free][INPUTS], BATCH)["row"]].tolist()
    sets = {"select": first, "suggest": chosen}
    found = {rule: error(kind, pool.iloc[rows], test) / random for rule, rows in sets.items()}
    return found | {"worst random": max(at_random) / random}


def scatter(model: str, seeds: Sequence[int] = OTHERS) -> Iterator[Line]:
    """Compare a random choice, and `select` with other first cases, with the mean of three, as `compare` does a rule.

    What exceeds 1.15 there by chance says which bound a rule can keep on every pool. Choices of `select` that begin
    with another case have about half of their cases in common.
    """
    found: dict[str, list[np.ndarray]] = {"a random choice": [], "select from another first case": []}
    for seed in seeds:
        pool, test = pools("uniform", seed)
        rng, (points,) = np.random.default_rng([seed, 2]), design_rows(pool[INPUTS])
        drawn = [rng.permutation(len(pool))[:N_CASES] for _ in range(N_DRAWS)]
        chosen = [
            [first, *most_telling(points, N_CASES - 1, points[[first]], np.delete(np.arange(len(pool)), first))["row"]]
            for first in rng.permutation(len(pool))[:N_FIRST]
        ]
        at_random, by_rule = (
            np.array([error(model, pool.iloc[rows], test) for rows in sets]) for sets in (drawn, chosen)
        )
        for name, errors in zip(found, (at_random, by_rule), strict=True):
            others = [at_random[at_random != one] for one in errors]
            pairs = zip(errors, others, strict=True)
            over = [[one / rng.permutation(rest)[:N_RANDOM].mean() for _ in range(100)] for one, rest in pairs]
            found[name].append(np.array(over))
            told = f"mean {np.mean(over):.2f}, deviation {errors.std(ddof=1) / errors.mean():.3f}"
            print(f"  scatter {seed} {model}: {name}: {told}", file=sys.stderr, flush=True)
    for name, pooled in found.items():
        deviation = float(np.mean([over.mean(axis=1).std(ddof=1) for over in pooled]))
        note = f"{len(pooled)} pools, deviation within a pool {deviation:.3f}"
        yield Line(f"{model}: {name} / mean of three at random", float(np.mean(pooled)), note=note)
        above = float(np.mean(np.array(pooled) > 1.15))
        rng = np.random.default_rng(0)
        largest = [max(rng.choice(pooled[k].ravel()) for k in rng.integers(len(pooled), size=20)) for _ in range(1000)]
        low, middle, high = np.percentile(largest, [5, 50, 95])
        note = f"none of twenty pools: {(1 - above) ** 20:.2f}; their largest {middle:.2f} ({low:.2f} to {high:.2f})"
        yield Line("  share above 1.15", above, note=note, unit="")


def two_goals(model: str, seeds: Sequence[int] = SEEDS[:10]) -> Iterator[Line]:
    """Compare the area of the best compromises after 60 blades: 20 at random, 40 by expected growth.

    The area lies above a point a tenth of the front's range below the worst values on the front of the pool, as is
    usual; also above the worst values in the pool, which leave random choice nearly all of it.
    """
    found: dict[str, list[float]] = {}
    for seed in seeds:
        pool, _ = pools("uniform", seed)
        values = pool[GOALS].to_numpy()
        front = front_of(values)
        low, high = front.min(axis=0), front.max(axis=0)
        points = {"below the front": low - BEYOND * (high - low), "worst of the pool": values.min(axis=0)}
        rng = np.random.default_rng(seed)
        start = pool.iloc[rng.permutation(len(pool))[:20]]
        sets = {"pool": of_pool(model, pool, start), "made": as_made(model, start, seed), "whole pool": values}
        random = [values[rng.permutation(len(pool))[:60]] for _ in range(9)]
        for name, point in points.items():
            usual = float(np.median([hypervolume(front_of(rows), point) for rows in random]))
            for what, rows in sets.items():
                ratio = hypervolume(front_of(rows), point) / usual
                found.setdefault(f"{what}, {name}", []).append(ratio)
                print(f"  two goals {seed} {model}: {what}, {name} {ratio:.3f}", file=sys.stderr, flush=True)
    for name, ratios in found.items():
        whole = f"{min(ratios):.2f} to {max(ratios):.2f}; at least 1.1 expected"
        median = float(np.median(ratios))
        yield Line(f"two goals, {model}: {name}: area / random, median of {len(ratios)}", median, note=whole)


def of_pool(kind: str, pool: pd.DataFrame, start: pd.DataFrame) -> np.ndarray:
    """Return the answers of 20 blades and 40 more of a pool, ten at a time."""
    chosen = list(start.index)
    while len(chosen) < 60:
        free = np.setdiff1d(np.arange(len(pool)), chosen)
        model = fitted(kind, pool.iloc[chosen], GOALS)
        chosen += free[suggest(model, pool.iloc[free][INPUTS], 10, AIM)["row"]].tolist()
    return pool.iloc[chosen][GOALS].to_numpy()


def as_made(kind: str, start: pd.DataFrame, seed: int) -> np.ndarray:
    """Return the answers of 20 blades and 40 more, ten at a time of a hundred that are made for the batch.

    Half of them are spread over the ranges, half are near the best compromises so far, as `swwl loop` makes them.
    """
    cases, rng, ranges = start, np.random.default_rng([seed, 1]), BLADE.scalars | BLADE.shape
    low, high = np.array(list(ranges.values())).T
    while len(cases) < 60:
        answers, seeds = cases[GOALS].to_numpy(), [seed, len(cases)]
        best = (answers[:, None] == front_of(answers)).all(axis=2).any(axis=1)
        near = (cases.loc[best, list(ranges)].to_numpy() - low) / (high - low)
        points = np.vstack([sobol_points(len(low), 50, seeds), points_near(near, 50, seeds)])
        made = low + points * (high - low)
        candidates = pd.DataFrame([row for one in made for row in simulated(dict(zip(ranges, one, strict=True)), rng)])
        chosen = suggest(fitted(kind, cases, GOALS), candidates[INPUTS], 10, AIM)
        cases = pd.concat([cases, candidates.iloc[chosen["row"]]], ignore_index=True)
    return cases[GOALS].to_numpy()


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
    rows: list[Row] = []
    while len(rows) < n:
        inputs = {name: float(rng.uniform(*pair)) for name, pair in BLADE.scalars.items()}
        for value, (name, (low, high)) in zip(draw(), BLADE.shape.items(), strict=True):
            inputs[name] = (low + high) / 2 + value * (high - low) / 2
        rows += simulated(inputs, rng)
    return pd.DataFrame(rows)


def simulated(inputs: dict[str, float], rng: np.random.Generator) -> list[Row]:
    """Return a blade, meshed in its own way, with its answers; nothing where it has none."""
    try:
        result = BLADE.simulate(inputs, int(N_NODES * rng.uniform(0.5, 1.5)), float(1.4 ** rng.uniform(-1, 1)))
    except Unsolvable:
        return []
    return [{"mesh": result.mesh} | inputs | result.targets]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    part, model, *seeds = sys.argv[1:] or ["", ""]
    asked = list(map(int, seeds))
    if part == "goals":
        lines = two_goals(model, asked or SEEDS[:10])
    elif part == "scatter":
        lines = scatter(model, asked or OTHERS)
    else:
        lines = compare(part, model, asked or SEEDS) if part else run()
    for line in lines:
        print(line, flush=True)

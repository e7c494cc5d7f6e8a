"""What named groups and bodies are worth: flows around one to four bodies, and beams that are held at either end.

``python -m benchmarks bodies`` prints the errors of new cases over those of the default without groups and bodies, and
how many cases with three bodies the domain of a model of one and two finds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.measure import Line
from swwl import Mesh, RobustGPRegressor
from swwl.datasets import make_channel

N_TRAIN, N_TEST, SEEDS = 120, 200, (11, 12, 13)


def run() -> Iterator[Line]:
    """Measure three seeds of flows, and of beams."""
    ratios: dict[str, list[float]] = {}
    for seed in SEEDS:
        flows = make_channel(N_TRAIN + N_TEST, random_state=seed, random_topology=True, shape=True, n_jobs=-1)
        for target, ratio, line in measured(flows, ["mesh", "viscosity"], ["drag", "lift"], f"flows, seed {seed}"):
            ratios.setdefault(target, []).append(ratio)
            yield line
        yield three_bodies(flows, seed)
        beams = tapered_beams(60 + N_TEST, seed)
        for target, ratio, line in measured(beams, ["mesh"], ["deflection"], f"beams, seed {seed}", 60):
            ratios.setdefault(target, []).append(ratio)
            yield line
    for target, limit in (("drag", 0.7), ("lift", 0.7), ("deflection", 0.3)):
        mean = float(np.exp(np.mean(np.log(ratios[target]))))
        yield Line(f"{target}: error over that without groups, mean", mean, limit)


def measured(
    table: pd.DataFrame, inputs: list[str], targets: list[str], title: str, n_train: int = N_TRAIN
) -> Iterator[tuple[str, float, Line]]:
    """Fit with groups, with bodies found in the boundary alone, and without either; compare errors of new cases."""
    bare = table.assign(mesh=[Mesh(mesh.points, mesh.cells) for mesh in table["mesh"]])
    ways = {"groups": (table, True), "boundary alone": (bare, True), "neither": (bare, False)}
    errors, medians, inside = {}, {}, {}
    for name, (cases, groups) in ways.items():
        model = RobustGPRegressor(groups=groups).fit(cases[inputs][:n_train], cases[targets][:n_train])
        found = model.predict_distribution(cases[inputs][n_train:])
        y = table[targets][n_train:].to_numpy()
        lower, upper = (np.reshape(bound, y.shape) for bound in found.interval(0.95))
        off = np.abs(np.reshape(found.mean, y.shape) - y) / y.std(axis=0)
        errors[name], medians[name] = np.sqrt(np.mean(off**2, axis=0)), np.median(off, axis=0)
        inside[name] = np.mean((lower <= y) & (y <= upper), axis=0)
    for k, target in enumerate(targets):
        told = ", ".join(
            f"{name} {errors[name][k]:.3f} (median {medians[name][k]:.3f}, {inside[name][k]:.2f} inside)"
            for name in ways
        )
        ratio = float(errors["groups"][k] / errors["neither"][k])
        yield target, ratio, Line(f"{title}: {target}", ratio, None, note=f"errors over the deviation: {told}")


def three_bodies(flows: pd.DataFrame, seed: int) -> Line:
    """Train on one and two bodies, ask about three: how many are said to lie outside for that reason."""
    count = flows["bodies"].astype(int)
    known, new = flows[count <= 2], flows[count == 3]
    inputs = ["mesh", "viscosity"]
    domain = RobustGPRegressor().fit(known[inputs], known["drag"]).domain(new[inputs])
    share = float(np.mean(domain["why"].str.startswith("three bodies") & ~domain["inside"].astype(bool)))
    return Line(
        f"flows, seed {seed}: three bodies not told from one or two", 1 - share, 0.1, note=f"of {len(new)} flows"
    )


def tapered_beams(n: int, seed: int) -> pd.DataFrame:
    """Return beams of random thickness at both ends, held at one and loaded at the other, and how far they bend."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        (left, right), at_left, steps = rng.uniform(0.1, 0.4, size=2), rng.random() < 0.5, int(rng.integers(16, 32))
        x, y = np.linspace(0, 1, steps + 1), np.linspace(-0.5, 0.5, 5)
        points = np.column_stack([np.repeat(x, 5), ((left + (right - left) * x)[:, None] * y).ravel()])
        number = np.arange(len(points)).reshape(-1, 5)
        quads = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
        ends = (number[0], number[-1]) if at_left else (number[-1], number[0])
        s = np.linspace(0, 1, 2001)
        stiffness = (left + (right - left) * s) ** 3 / 12
        deflection = float(np.trapezoid((1 - s if at_left else s) ** 2 / stiffness, s))
        mesh = Mesh(points, {"quad": quads}, groups=dict(zip(("held", "loaded"), ends, strict=True)))
        rows.append({"mesh": mesh, "deflection": deflection})
    return pd.DataFrame(rows)

"""Which meshes a model calls strange: blades like its training blades, others, the same in other units, places, meshes.

Seeds were fixed before the first run. ``python -m benchmarks domain``.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd

from benchmarks.measure import Line
from swwl import Mesh, RobustGPRegressor
from swwl.datasets.blade import BLADE
from swwl.datasets.generated import make_blade
from swwl.datasets.generator import Unsolvable

N_TRAIN, N_NODES, SEEDS = 240, 800, (4101, 4102)
INPUTS = ["mesh", "speed", "pressure"]


def run() -> Iterator[Line]:
    """Fit the default model to two draws of blades; print which share of every set it flags."""
    for seed in SEEDS:
        train = make_blade(N_TRAIN, n_nodes=N_NODES, random_state=seed, n_jobs=2)
        model = RobustGPRegressor(random_state=seed, n_jobs=2).fit(train[[*INPUTS, "efficiency"]], "efficiency")
        for name, table, limit in sets(seed + 1000):
            found = model.domain(table)
            flagged = 1.0 - float(found["inside"].mean())
            note = ", ".join(f"{kind} {n}" for kind, n in found["kind"].value_counts().items())
            title = f"seed {seed}: {name}"
            if limit is not None and limit < 0:
                yield Line(f"{title}: missed", 1.0 - flagged, 1.0 + limit, note=note)
            else:
                yield Line(f"{title}: flagged", flagged, limit, note=note)
            if "efficiency" in table:
                yield _coverage(f"seed {seed}: {name}", model, table)


def _coverage(name: str, model: RobustGPRegressor, table: pd.DataFrame) -> Line:
    """Say how many answers lie inside 95 % intervals, before and after doubling those that are less sure."""
    prediction, found = model.predict_with_domain(table)
    y, wide = table["efficiency"].to_numpy(), (found["widened"] != "").to_numpy()
    shares = []
    for one in (model.predict_distribution(table, widen=False), prediction):
        lower, upper = one.interval(0.95)
        shares.append(float(np.mean((lower <= y) & (y <= upper))))
    return Line(
        f"{name}: inside 95 % after doubling", shares[1], note=f"before {shares[0]:.3f}; {wide.mean():.3f} doubled"
    )


def sets(seed: int) -> Iterator[tuple[str, pd.DataFrame, float | None]]:
    """Yield names, tables and limits: at most so many flagged, or at least so many where it is negative."""
    same = make_blade(300, n_nodes=N_NODES, random_state=seed, n_jobs=2)
    yield "like the training blades", same, 0.03
    yield "ranges x 1.3", blades(100, 1.3, seed), None
    yield "ranges x 2", blades(100, 2.0, seed), -0.9
    for name, nodes, limit in (("400 nodes", 400, None), ("3000 nodes", 3000, 0.05)):  # coarse ones are told
        yield name, make_blade(100, n_nodes=nodes, random_state=seed + 1, n_jobs=2), limit
    random = make_blade(150, n_nodes=N_NODES, random_state=seed + 2, random_topology=True, n_jobs=2)
    yield "random topology", random, 0.05
    yield "thickness_mid at 2", blades(100, 1.0, seed + 3, {"thickness_mid": 2.0}), -0.4
    three = {f"thickness_{height}": 2.0 for height in ("hub", "mid", "tip")}
    yield "all three thicknesses at 2", blades(100, 1.0, seed + 4, three), -0.9
    yield "inlet_mid at 2", blades(100, 1.0, seed + 5, {"inlet_angle_mid": 2.0}), None
    some = same[:40][INPUTS]
    quarter, small = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.deg2rad(2.0)
    tilt = np.array([[np.cos(small), -np.sin(small), 0], [np.sin(small), np.cos(small), 0], [0, 0, 1]])
    moves: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "in millimeters": lambda x: 1000 * x,
        "in inches": lambda x: x / 0.0254,
        "rotated by 90 degrees about z": lambda x: x @ quarter.T,
        "rotated by 90 degrees about x": lambda x: x @ quarter[[2, 0, 1]][:, [2, 0, 1]].T,
        "mirrored": lambda x: x * [1, -1, 1],
        "moved by 5 mm": lambda x: x + [0.005, 0, 0],
    }
    for name, move in moves.items():
        yield name, moved(some, move), -1.0
    yield "rotated by 2 degrees about z", moved(some, lambda x: x @ tilt.T), None
    yield "ellipsoids", ellipsoids(some, seed), -1.0


def blades(
    n: int,
    factor: float,
    seed: int,
    fixed: Mapping[str, float] | None = None,
    *,
    n_nodes: int = N_NODES,
    scalars: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Simulate blades whose shape is drawn from wider ranges, or has some parameters at so many half ranges."""
    rng = np.random.default_rng(seed)
    at = {**(fixed or {}), **(scalars or {})}
    factors = dict.fromkeys(BLADE.scalars, 1.0) | dict.fromkeys(BLADE.shape, factor)
    rows = []
    while len(rows) < n:
        inputs = {}
        for name, (low, high) in BLADE.ranges.items():
            drawn = at[name] if name in at else factors[name] * rng.uniform(-1, 1)
            inputs[name] = (low + high) / 2 + drawn * (high - low) / 2
        try:
            result = BLADE.simulate(inputs, n_nodes, 1.0)
        except Unsolvable:
            continue
        rows.append({"mesh": result.mesh} | {name: inputs[name] for name in BLADE.scalars} | result.targets)
    return pd.DataFrame(rows)


def moved(table: pd.DataFrame, move: Callable[[np.ndarray], np.ndarray]) -> pd.DataFrame:
    """Return a table whose meshes have other points."""
    return table.assign(mesh=[Mesh(move(mesh.points), mesh.cells) for mesh in table["mesh"]])


def ellipsoids(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a table with closed surfaces of another kind, of the size and at the place of its blades."""
    rng = np.random.default_rng(seed)
    meshes = []
    for mesh in table["mesh"]:
        middle, half = mesh.points.mean(axis=0), np.ptp(mesh.points, axis=0) / 2
        turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, 24, endpoint=False), np.linspace(0.1, np.pi - 0.1, 20))
        unit = np.stack([np.sin(rise) * np.cos(turn), np.sin(rise) * np.sin(turn), np.cos(rise)], axis=-1)
        lower = (np.arange(19)[:, None] * 24 + np.arange(24)).ravel()
        beside = (np.arange(19)[:, None] * 24 + (np.arange(24) + 1) % 24).ravel()
        cells = np.vstack([np.c_[lower, beside, beside + 24], np.c_[lower, beside + 24, lower + 24]])
        points = middle + unit.reshape(-1, 3) * half * rng.uniform(0.9, 1.1, 3)
        meshes.append(Mesh(points, {"triangle": cells}))
    return table.assign(mesh=meshes)

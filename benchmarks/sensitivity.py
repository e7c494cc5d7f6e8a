"""Derivatives of predictions beside the physics' own: blades, airfoils, ascent along modes, and what they cost.

``python -m benchmarks sensitivity`` prints the quick part, that of cost. ``python -m benchmarks.sensitivity blade 240
960``, ``… airfoil 300`` and ``… ascent 10`` compare with the physics, which takes minutes; ``--figure FILE`` draws the
first two.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from benchmarks.measure import Line
from benchmarks.shapes import shell_mesh
from swwl import SWWL, Matern52, Mesh, PrincipalSWWL, RobustGPRegressor
from swwl.datasets.airfoil import AIRFOIL
from swwl.datasets.blade import BLADE, DESIGN_SPEED
from swwl.datasets.blade.geometry import Blade, surface
from swwl.datasets.generator import Generator, Request, Unsolvable, draw, make_sample
from swwl.design import displacement_modes, improve

NODES = {"blade": 800, "airfoil": 2000}
# The middle of the ranges, where shapes are optimized.
AT = {"speed": DESIGN_SPEED, "pressure": 1.41}
STEP = 0.01  # of the half range of a parameter, for differences of the physics


def run() -> Iterator[Line]:
    """Print what mean and std with all their derivatives cost, in predictions of mean and std, by time of the CPU."""
    rng = np.random.default_rng(0)
    meshes = [Mesh(*shell_mesh(30_000, seed)) for seed in range(31)]
    table = pd.DataFrame({"mesh": meshes, "speed": rng.uniform(0.9, 1.1, 31)})
    lift = np.array([np.ptp(mesh.points[:, 1]) for mesh in meshes]) * table["speed"].to_numpy() ** 2
    for weights in ("uniform", "area"):
        kernel = SWWL("mesh", node_weights=weights) * Matern52("speed")
        model = RobustGPRegressor(kernel, calibrate=False, n_starts=1).fit(table[:30], lift[:30])
        one, whole = cpu_times(lambda model=model: model.predict(table[30:], return_std=True),
                               lambda model=model: model.sensitivity(table[30:]))  # fmt: skip
        yield Line(f"sensitivity of mean and std / prediction, 30 000 nodes, {weights}", whole / one, 6)
    model = RobustGPRegressor(calibrate=False).fit(table[:30], lift[:30])
    one, whole = cpu_times(
        lambda: model.predict(table[30:], return_std=True), lambda: model.sensitivity(table[30:]), repeats=3
    )
    yield Line("sensitivity of mean and std / prediction, 30 000 nodes, default model", whole / one, 6)


def cpu_times(*functions: Any, repeats: int = 5) -> list[float]:
    """Return the least time of the CPU that each function takes, in turn."""
    found = []
    for function in functions:
        function()
    for _ in range(repeats):
        row = []
        for function in functions:
            start = time.process_time()
            function()
            row.append(time.process_time() - start)
        found.append(row)
    return np.min(found, axis=0).tolist()


def simulations(generator: Generator, n: int, seed: int) -> tuple[pd.DataFrame, list[dict[str, float]]]:
    """Return a table of simulations, and the parameters of each shape."""
    request = Request(generator, NODES[generator.name], seed, False)
    samples = [make_sample(request, i, inputs) for i, inputs in enumerate(draw(generator.ranges, n, seed))]
    rows = [{"mesh": s.mesh, **s.scalars, **s.targets} for s in samples]
    return pd.DataFrame(rows), [{**s.scalars, **s.shape} for s in samples]


def physics_slopes(
    generator: Generator, inputs: Mapping[str, float], target: str
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the derivative of the physics in every shape parameter, per half range, and how the nodes move with it."""
    slopes, moves = [], {}
    for name, (low, high) in generator.shape.items():
        half = (high - low) / 2
        both = []
        for sign in (1, -1):
            changed = {**inputs, name: inputs[name] + sign * STEP * half}
            both.append(generator.simulate(changed, NODES[generator.name], 1.0))
        slopes.append((both[0].targets[target] - both[1].targets[target]) / (2 * STEP))
        moves[name] = (both[0].mesh.points - both[1].mesh.points) / (2 * STEP)
    return np.array(slopes), moves


def compare(
    generator: Generator, target: str, sizes: list[int], n_test: int, kernels: Mapping[str, Any], seed: int = 3
) -> list[dict[str, Any]]:
    """Fit models to growing sets; compare their derivatives along the parameters' motions with those of the physics."""
    train, _ = simulations(generator, max(sizes), seed)
    test, parameters = simulations(generator, n_test, seed + 1000)
    true = [physics_slopes(generator, inputs, target) for inputs in parameters]
    wanted = np.array([slopes for slopes, _ in true])
    results = []
    for size in sizes:
        for name, kernel in kernels.items():
            columns = ["mesh", *generator.scalars, target]
            model = RobustGPRegressor(kernel, calibrate=False, n_starts=2).fit(train[columns][:size], target)
            found, spread = np.empty(wanted.shape), np.empty(wanted.shape)
            for i, (_, moves) in enumerate(true):
                (own,) = model.sensitivity(test.iloc[[i]], along=moves)
                found[i], spread[i] = own.along.to_numpy(), own.std.along.to_numpy()
            cosine = (found * wanted).sum() / np.sqrt((found**2).sum() * (wanted**2).sum())
            error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
            q2 = model.score(test, target)
            print(f"{generator.name} {target}, {name}, {size} cases: cosine {cosine:.3f}, relative error {error:.2f}, "
                  f"Q2 {q2:.3f}", flush=True)  # fmt: skip
            results.append({"size": size, "kernel": name, "found": found, "wanted": wanted, "cosine": cosine})
    return results


def principal_kernels(generator: Generator) -> dict[str, Any]:
    """Return principal SWWL with uniform and with area weights, times Matern kernels of the scalars."""
    found = {}
    for weights in ("uniform", "area"):
        kernel: Any = PrincipalSWWL("mesh", node_weights=weights)
        for name in generator.scalars:
            kernel = kernel * Matern52(name)
        found[weights] = kernel
    return found


def nearest_blade(points: np.ndarray, start: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """Return the parameters of the family's blade that is nearest to some points, and how far off it is (rms)."""
    names = list(BLADE.shape)
    half = np.array([(high - low) / 2 for low, high in BLADE.shape.values()])
    middle = np.array([(high + low) / 2 for low, high in BLADE.shape.values()])

    def off(x: np.ndarray) -> np.ndarray:
        values = dict(zip(names, middle + half * x, strict=True))
        return 1e3 * (surface(Blade.from_parameters(values), NODES["blade"]).points - points).ravel()

    begin = (np.array([start[name] for name in names]) - middle) / half
    found = least_squares(off, begin)
    rms = float(np.sqrt((found.fun.reshape(-1, 3) ** 2).sum(axis=1).mean()))
    return dict(zip(names, middle + half * found.x, strict=True)), rms


def efficiency(parameters: Mapping[str, float]) -> float:
    """Return the physics' efficiency of a blade at the point where shapes are optimized; nan where there is none."""
    try:
        return BLADE.simulate({**parameters, **AT}, NODES["blade"], 1.0).targets["efficiency"]
    except Unsolvable:
        return float("nan")


def ascent(n_sets: int, n_train: int = 120, first_seed: int = 100, default: bool = False) -> None:
    """Maximize the efficiency from the best of some simulated blades, and ask the physics."""
    better = inside = 0
    for seed in range(first_seed, first_seed + n_sets):
        table, parameters = simulations(BLADE, n_train, seed)
        known = np.array([efficiency(own) for own in parameters])
        best = int(np.nanargmax(known))
        kernel = None if default else principal_kernels(BLADE)["uniform"]
        columns = ["mesh", "speed", "pressure", "efficiency"]
        model = RobustGPRegressor(kernel, n_starts=None if default else 2).fit(table[columns], "efficiency")
        modes = displacement_modes(table["mesh"])
        found = improve(model, table["mesh"][best], modes, AT)
        blade, off = nearest_blade(found.mesh.points, parameters[best])
        truth = efficiency(blade)
        better += truth > known[best]
        inside += found.interval[0] <= truth <= found.interval[1]
        print(f"set {seed}: best of {n_train} {known[best]:.4f}, improved to {truth:.4f} (predicted {found.mean:.4f}, "
              f"{found.interval[0]:.4f} to {found.interval[1]:.4f}; nearest blade {off:.3f} mm off, "
              f"{found.n_evaluations} evaluations)", flush=True)  # fmt: skip
    print(f"better than the best simulated: {better} of {n_sets}; inside 95 %: {inside} of {n_sets}", flush=True)


def draw_figure(results: list[dict[str, Any]], path: Path) -> None:
    """Draw derivatives of models against those of the physics, one panel per model."""
    from swwl.plots.style import new_figure, style

    figure = new_figure(3.6 * len(results), 3.6)
    with style():
        axes = figure.subplots(1, len(results), squeeze=False)[0]
        for axis, own in zip(axes, results, strict=True):
            wanted, found = 1e3 * own["wanted"].ravel(), 1e3 * own["found"].ravel()
            axis.plot(wanted, found, ".", markersize=3, alpha=0.6)
            ends = [min(wanted.min(), found.min()), max(wanted.max(), found.max())]
            axis.plot(ends, ends, color="0.5", linewidth=0.8)
            axis.set_title(f"{own['size']} blades, {own['kernel']} weights: cosine {own['cosine']:.2f}")
            axis.set_xlabel("of the physics")
        axes[0].set_ylabel("of the model, 1e-3 of efficiency per half range")
        figure.savefig(path, dpi=120)


def main() -> None:
    """Run one comparison with the physics."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["blade", "airfoil", "ascent"])
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--test", type=int, default=40)
    parser.add_argument("--default", action="store_true", help="the default model in place of principal SWWL")
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    if given.what == "ascent":
        ascent(given.sizes[0], default=given.default)
        return
    generator, target = (BLADE, "efficiency") if given.what == "blade" else (AIRFOIL, "lift")
    kernels = {"default": None} if given.default else principal_kernels(generator)
    results = compare(generator, target, given.sizes, given.test, kernels)
    if given.figure:
        draw_figure(results, given.figure)


if __name__ == "__main__":
    main()

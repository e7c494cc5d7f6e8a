"""Curves as answers, beside scikit-learn's process on the parameters that drew the shapes, and what bands hold.

Pressure along NACA contours, of meshes whose topology differs, on a common grid; and the middle of plates that warm up,
by Fourier's series, at times of their own. Of the airfoils, the first 100 of a Sobol sequence are fitted, as
``make_airfoil`` splits them; then 100 at random, which leave holes, so that a few cases in corners decide.
``python -m benchmarks curves`` takes some fifteen minutes; ``python -m benchmarks.curves 4`` has another seed than 1, 2
and 3.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, WhiteKernel

from benchmarks.measure import Line
from swwl import CurveRegressor, Mesh
from swwl.datasets import make_samples
from swwl.datasets.airfoil import N_PANELS, Naca4, solve_panels
from swwl.errors import CaseWarning
from swwl.regression.curves.coding import CurveBasis

Array = NDArray[np.float64]
N_TRAIN, N_TEST = 100, 200


def run(seeds: tuple[int, ...] = (1, 2, 3)) -> Iterator[Line]:
    """Fit each set with each seed, and test on others."""
    warnings.simplefilter("ignore", CaseWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, make, shuffled in (
        ("airfoil", airfoils, False),
        ("plates", plates, False),
        ("airfoil, cases shuffled", airfoils, True),
    ):
        held = []
        for seed in seeds:
            table, truth, grid = make(N_TRAIN + N_TEST, seed)
            order = np.random.default_rng(seed).permutation(len(table)) if shuffled else np.arange(len(table))
            limit = None if shuffled else 1.2
            for line, inside in one_set(f"{name}, seed {seed}", table.iloc[order], truth[order], grid, limit):
                yield line
                held += [] if inside is None else [inside]
        yield Line(f"{name}: whole curves in bands at 90 %, all seeds", float(np.mean(held)))


def airfoils(n: int, seed: int) -> tuple[pd.DataFrame, Array, Array]:
    """Return meshes of air, conditions and true parameters; pressure coefficients around the contour, (n, m)."""
    samples = make_samples("airfoil", n, n_nodes=1500, random_state=seed, random_topology=True, n_jobs=2)
    grid = np.linspace(0, 2 * np.pi, N_PANELS + 1)
    curves = []
    for sample in samples:
        shape = sample.shape
        contour = Naca4(shape["camber"], shape["camber_position"], shape["thickness"]).contour(grid)
        curves.append(1 - solve_panels(contour, np.deg2rad(sample.scalars["incidence"])).strength ** 2)
    rows = [
        {"mesh": sample.mesh, **sample.scalars, **{f"true_{key}": value for key, value in sample.shape.items()}}
        for sample in samples
    ]
    return pd.DataFrame(rows).assign(curve=curves), np.array(curves), grid


def plates(n: int, seed: int) -> tuple[pd.DataFrame, Array, Array]:
    """Return plates of two sizes that a stream warms up, and the temperature of their middle at 30 to 60 times each."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 101)
    rows, curves = [], []
    for _ in range(n):
        a, b, transfer = rng.uniform(0.5, 1.5), rng.uniform(0.5, 1.5), rng.uniform(0.5, 5.0)
        times = np.sort(np.concatenate([[0.0], rng.uniform(0, 1.1, rng.integers(30, 60)), [1.1]]))
        values = 1 - slab(times, a, transfer) * slab(times, b, transfer)
        rows.append({"mesh": rectangle(a, b, rng), "transfer": transfer, "true_a": a, "true_b": b})
        rows[-1]["curve"] = np.column_stack([times, values])
        curves.append(1 - slab(grid, a, transfer) * slab(grid, b, transfer))
    return pd.DataFrame(rows), np.array(curves), grid


def slab(times: Array, half: float, transfer: float, terms: int = 60) -> Array:
    """Return how far the middle of a slab is from the temperature of a stream; diffusivity and conductivity are one."""
    biot, found = transfer * half, np.zeros_like(times)
    for k in range(terms):
        low, high = k * np.pi + 1e-9, k * np.pi + np.pi / 2 - 1e-9
        root = brentq(lambda x: x * np.sin(x) - biot * np.cos(x), low, high)
        size = 4 * np.sin(root) / (2 * root + np.sin(2 * root))
        found += size * np.exp(-(root**2) * times / half**2)
    return np.where(times > 0, found, 1.0)


def rectangle(a: float, b: float, rng: np.random.Generator) -> Mesh:
    """Return a mesh of triangles, as fine as it happens."""
    nx, ny = rng.integers(8, 16, 2)
    x, y = np.meshgrid(np.linspace(-a, a, nx), np.linspace(-b, b, ny), indexing="ij")
    corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
    cells = np.concatenate(
        [
            np.column_stack([corner, corner + ny, corner + 1]),
            np.column_stack([corner + ny, corner + ny + 1, corner + 1]),
        ]
    )
    return Mesh(np.column_stack([x.ravel(), y.ravel()]), {"triangle": cells})


def one_set(
    title: str, table: pd.DataFrame, truth: Array, grid: Array, limit: float | None
) -> Iterator[tuple[Line, float | None]]:
    """Fit and test; with bands of whole curves comes how many they hold."""
    known = [name for name in table if name not in ("mesh", "curve")]
    inputs = table.drop(columns=[name for name in known if name.startswith("true_")])
    train, test = inputs[:N_TRAIN], inputs[N_TRAIN:]
    used = time.process_time()
    model = CurveRegressor(n_jobs=2).fit(train, "curve", grid=grid)
    used = time.process_time() - used
    cases, values = model.cases(test, grid=grid), truth[N_TRAIN:]
    spread = float(np.sqrt(((values - truth[:N_TRAIN].mean(axis=0)) ** 2).mean()))
    error = float(np.sqrt(((cases.predict() - values) ** 2).mean())) / spread
    basis = model.basis_.at(grid)
    # Curves on grids of their own as its users would bring them to one.
    given = np.array([own if own.ndim == 1 else np.interp(grid, *own.T) for own in train["curve"]])
    peer = min(
        float(np.sqrt(((others(table[known].to_numpy(), given, basis, kernel) - values) ** 2).mean())) / spread
        for kernel in (RBF, partial(Matern, nu=2.5))
    )
    note = f"{error:.4f} and {peer:.4f} of the deviation; {used:.0f} s of CPU to fit, {len(basis.shapes)} shapes"
    yield Line(f"{title}: error, over scikit-learn's on true parameters", error / peer, limit, note=note), None
    lower, upper = cases.predict_interval()
    yield Line("  in 95 % intervals", float(((lower <= values) & (values <= upper)).mean())), None
    lower, upper = cases.predict_interval(0.9, simultaneous=True)
    inside = float(((lower <= values) & (values <= upper)).all(axis=1).mean())
    width = float((upper - lower).mean()) / spread
    yield Line("  whole curves in bands at 90 %", inside, note=f"width {width:.3f} of the deviation"), inside


def others(inputs: Array, curves: Array, basis: CurveBasis, kernel: Callable[..., Kernel]) -> Array:
    """Predict the curves of test rows (n, m) from the true parameters, by scikit-learn on principal components."""
    scaled = (inputs - inputs[:N_TRAIN].mean(axis=0)) / inputs[:N_TRAIN].std(axis=0)
    mean = curves.mean(axis=0)
    _, _, shapes = np.linalg.svd(curves - mean, full_matrices=False)
    shapes = shapes[: len(basis.shapes)]
    found = []
    for target in ((curves - mean) @ shapes.T).T:
        ranges = kernel(np.ones(inputs.shape[1]), (1e-2, 1e3))
        process = ConstantKernel(1.0, (1e-3, 1e4)) * ranges + WhiteKernel(1e-4, (1e-10, 1.0))
        gp = GaussianProcessRegressor(process, n_restarts_optimizer=2, random_state=0, normalize_y=True)
        found.append(gp.fit(scaled[:N_TRAIN], target).predict(scaled[N_TRAIN:]))
    return mean + np.array(found).T @ shapes


if __name__ == "__main__":
    for line in run(tuple(map(int, sys.argv[1:])) or (1, 2, 3)):
        print(line, flush=True)

"""What a known law is worth: notched plates with a load and a modulus over a decade each, 60 cases to learn from.

``python -m benchmarks laws`` prints the error of new plates with a law over that without, and which laws are used.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.measure import Line
from swwl import Mesh, RobustGPRegressor
from swwl.datasets.tensile2d.material import Material
from swwl.datasets.tensile2d.mesh import notched_plate
from swwl.datasets.tensile2d.solver import pull
from swwl.errors import LawWarning

N_TRAIN, N_TEST, N_NODES, SEEDS = 60, 100, 300, (0, 1, 2)
LAWS = {
    "the law": ("max_disp ~ pressure / young", 0.7),
    "half of it": ("max_disp ~ pressure", None),
    "upside down": ("max_disp ~ young / pressure", None),
    "a wrong product": ("max_disp ~ pressure * young", None),
}


def plates(n: int, seed: int, yield_stress: float = 1e6) -> pd.DataFrame:
    """Return n plates, their loads and moduli in MPa, and by how far they stretch; with little yield stress also yield.

    Where nothing yields, the displacement is pressure / young times a function of the shape.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for radius, height, load, stiffness in rng.uniform(size=(n, 4)):
        points, cells = notched_plate(0.15 + 0.27 * radius, 0.8 * height - 0.4, N_NODES)
        pressure, young = 6.0 * 10.0**load, 2e4 * 10.0**stiffness
        material = Material(yield_stress, 100.0, 30.0, 100.0, 5.0, young=young)
        moved = pull(points, cells, material, pressure).displacement
        mesh = Mesh(points, {"triangle": cells})
        rows.append({"mesh": mesh, "pressure": pressure, "young": young, "max_disp": float(np.abs(moved).max())})
    return pd.DataFrame(rows)


def run() -> Iterator[Line]:
    """Measure three seeds of elastic plates, and of plates that yield."""
    for title, stress in (("elastic", 1e6), ("yielding", 110.0)):
        for seed in SEEDS:
            yield from measured(f"{title}, seed {seed}", plates(N_TRAIN + N_TEST, seed, stress), seed)


def measured(title: str, table: pd.DataFrame, seed: int) -> Iterator[Line]:
    """Fit without a law, with the right one and with others; compare errors of the rows behind the first 60."""
    train, test = table[:N_TRAIN], table[N_TRAIN:]
    y = test["max_disp"].to_numpy()
    errors = {}
    for name, (law, limit) in {"no law": (None, None), **LAWS}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LawWarning)
            model = RobustGPRegressor(scaled=law, random_state=seed).fit(train, "max_disp")
        found = model.predict_distribution(test)
        lower, upper = found.interval(0.95)
        errors[name] = float(np.sqrt(np.mean((found.mean - y) ** 2)))
        inside = float(np.mean((lower <= y) & (y <= upper)))
        said = "; ".join(one.words for one in model.laws_) or f"fitted on its {model.target_scales_['max_disp'].words}"
        ratio = errors[name] / errors["no law"]
        yield Line(f"{title}: {name}", ratio, limit, note=f"RMSE {errors[name]:.3g}, {inside:.2f} inside 95 %; {said}")

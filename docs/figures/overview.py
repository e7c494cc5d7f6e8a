"""Draw the picture at the top of README and site: ``python docs/figures/overview.py``.

Meshes, predictions of a number against simulations, curves with bands, and a predicted field beside the truth.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt

from swwl import FieldRegressor, RobustGPRegressor, datasets
from swwl.plots import CurvesDisplay, ParityDisplay, draw_field, draw_mesh

HERE = Path(__file__).parent
INPUTS = ["mesh", "speed", "pressure"]


def main() -> None:
    """Fit two small models and draw."""
    blades = datasets.make_blade(90, n_nodes=300, random_state=0)
    model = RobustGPRegressor().fit(blades.loc[:64, INPUTS], blades.loc[:64, "efficiency"])
    plates = datasets.make_tensile2d(60, n_nodes=350, random_state=0).drop(columns=["split", "max_von_mises"])
    fields = FieldRegressor().fit(plates[:50], "von_mises")
    mesh = plates["mesh"][52]
    predicted = fields.predict(plates[52:53])[0]["von_mises"]

    figure = plt.figure(figsize=(12, 5.2), layout="constrained")
    left, middle, right = figure.subfigures(1, 3, width_ratios=[1.05, 1.25, 1.05])
    left.suptitle("meshes of any topology", fontsize=12)
    for ax, item in zip(left.subplots(2, 2).ravel(), [*blades["mesh"][66:68], *plates["mesh"][50:52]], strict=True):
        draw_mesh(item, ax)
    middle.suptitle("numbers and curves, with intervals", fontsize=12)
    top, bottom = middle.subplots(2, 1)
    test = blades.loc[65:]
    ParityDisplay.from_estimator(model, test[INPUTS], test["efficiency"], ax=top)
    sweep, each = ("pressure", np.linspace(1.37, 1.45, 25)), ("speed", [17000.0, 17400.0])
    CurvesDisplay.from_estimator(model, blades["mesh"][70], sweep, each, ax=bottom)
    right.suptitle("whole fields", fontsize=12)
    truth = mesh.fields["von_mises"]
    limits = (float(truth.min()), float(truth.max()))
    for ax, values, title in zip(right.subplots(2, 1), (predicted, truth), ("predicted", "simulated"), strict=True):
        draw_field(mesh, values, ax, title=title, limits=limits)
    figure.savefig(HERE / "overview.png", dpi=110)


if __name__ == "__main__":
    main()

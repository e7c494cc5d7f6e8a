"""
Which cases to simulate first
=============================

A hundred designs, and time for twelve simulations. ``select`` takes those that stand for all others, before any
answer is known.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import datasets
from swwl.design import select
from swwl.design.space import design_rows
from swwl.plots import ChoicesDisplay, draw_mesh

pool = datasets.make_tensile2d(100, n_nodes=200, random_state=0)[["mesh", "pressure"]]

# %%
# The table says which rows, in which order, and why.

chosen = select(pool, 12)
print(chosen.head(4).to_string())

# %%
# How far is a case from the nearest one chosen? Compared with twelve at random, a hundred times.

(points,) = design_rows(pool)


def mean_gap(rows):
    """Return the mean distance of all cases to the nearest of some."""
    return float(np.linalg.norm(points[:, None] - points[None, list(rows)], axis=2).min(axis=1).mean())


rng = np.random.default_rng(0)
gap = mean_gap(chosen["row"])
at_random = [mean_gap(rng.choice(len(pool), 12, replace=False)) for _ in range(100)]
print(f"mean distance to the nearest: {gap:.2f} chosen, {np.mean(at_random):.2f} at random")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), width_ratios=[1.6, 1, 1], layout="constrained")
ChoicesDisplay.from_points(points, chosen["row"].tolist(), ax=axes[0])
for ax, row in zip(axes[1:], chosen["row"][:2], strict=True):
    draw_mesh(pool["mesh"][row], ax, title=f"row {row}")
plt.show()

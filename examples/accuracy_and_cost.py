"""
How many projections and quantiles?
===================================

The embedding has two numbers that cost time and memory: directions P and quantiles Q. Beyond some twenty and a hundred
little is gained, here as in the paper.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import SWWL, Matern52, RobustGPRegressor, datasets

table = datasets.make_tensile2d(90, n_nodes=250, random_state=0)
train, test = table[:60], table[60:]
numbers = Matern52("pressure") * Matern52("yield_stress")

# %%
# The error of new plates for several P and Q, averaged over three draws of the directions.

grid = {}
for n_projections in (2, 5, 20):
    for n_quantiles in (5, 20, 100):
        errors = []
        for seed in range(3):
            mesh = SWWL("mesh", n_projections=n_projections, n_quantiles=n_quantiles, random_state=seed)
            model = RobustGPRegressor(mesh * numbers, calibrate=False, n_starts=1).fit(train, "max_von_mises")
            errors.append(np.sqrt(np.mean((model.predict(test) - test["max_von_mises"]) ** 2)))
        grid[n_projections, n_quantiles] = float(np.mean(errors))

# %%
figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
for n_quantiles, marker in zip((5, 20, 100), "osd", strict=True):
    values = [grid[n_projections, n_quantiles] for n_projections in (2, 5, 20)]
    ax.plot((2, 5, 20), values, marker=marker, label=f"{n_quantiles} quantiles")
ax.set(xlabel="projections", ylabel="RMSE (MPa)", xscale="log")
ax.set_xticks((2, 5, 20), ("2", "5", "20"))
ax.minorticks_off()
ax.legend()
plt.show()
print(f"from {grid[2, 5]:.2f} to {grid[20, 100]:.2f} MPa")

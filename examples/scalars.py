"""
A scalar from a mesh
====================

A hundred and ten notched plates have been pulled until they yielded; every one has a mesh of its own and six numbers of
material and load. What will be the largest stress in thirty more?
"""

import matplotlib.pyplot as plt

from swwl import RobustGPRegressor, datasets
from swwl.evaluation.scores import score
from swwl.plots import ParityDisplay, draw_mesh

# %%
# The data: one row per simulation. A column of meshes stands beside columns of numbers. Meshes may have any number of
# nodes and any topology; here they are objects, elsewhere paths of files.

table = datasets.make_tensile2d(140, n_nodes=250, random_state=0)
train, test = table[:110], table[110:]
print(table.drop(columns="split").head(3).to_string())

# %%
# The fit. Without a kernel, a few of them are fitted and mixed with weights by cross-validation. Everything that is not
# the target is an input.

inputs = ["mesh", "yield_stress", "hardening", "hardening_rate", "viscosity", "exponent", "pressure"]
model = RobustGPRegressor().fit(train[inputs], train["max_von_mises"])

# %%
# Predictions come with intervals. `Q²` is the part of the variance that is explained, `coverage` the part of
# the new plates whose 95 % interval holds the truth.

prediction = model.predict_distribution(test[inputs])
found = score(test["max_von_mises"].to_numpy(), prediction)
print(f"RMSE {found.rmse:.2f} MPa, Q² {found.q2:.3f}, {100 * found.coverage:.0f} % inside the 95 % intervals")

# %%
# Two of the meshes, and the predictions against the simulations.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), width_ratios=[1, 1, 1.4], layout="constrained")
for ax, row in zip(axes, (110, 111), strict=False):
    draw_mesh(table["mesh"][row], ax, title=f"plate {row}")
ParityDisplay.from_estimator(model, test[inputs], test["max_von_mises"], ax=axes[2])
plt.show()

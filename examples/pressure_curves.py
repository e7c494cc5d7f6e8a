"""
Curves as answers
=================

The pressure along an airfoil that was never simulated: one case, a whole curve, with a band that holds all of it.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import CurveRegressor, Matern52, PrincipalSWWL, RobustGPRegressor, datasets
from swwl.plots import CurveBandDisplay

table = datasets.make_airfoil(80, n_nodes=1500, random_state=0)

# %%
# The pressure coefficient at the nodes on the airfoil, over the distance along the contour: every mesh has abscissas of
# its own, since every contour is as long as it happens to be.


def contour(mesh):
    sides = np.sort(mesh.cells["triangle"][:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    sides, counts = np.unique(sides, axis=0, return_counts=True)
    skin = np.unique(sides[counts == 1])  # of the airfoil, from the trailing edge around, and of the far circle
    ring = skin[np.hypot(*mesh.points[skin].T) < 2]
    steps = np.hypot(*np.diff(mesh.points[ring], axis=0).T)
    return np.column_stack([np.append(0.0, np.cumsum(steps)), mesh.fields["pressure_coefficient"][ring]])


table["cp"] = [contour(mesh) for mesh in table["mesh"]]
train, test = table[:60], table[60:]

# %%
# Without a kernel, the default is fitted; this one is faster. Targets are no inputs, so they are left out.

kernel = PrincipalSWWL("mesh", n_components=4, n_projections=20, n_quantiles=50) * Matern52("incidence")
model = CurveRegressor(RobustGPRegressor(kernel, prior="gentle", n_starts=1))
model.fit(train[["mesh", "incidence", "cp"]], "cp")
print(model.cross_validated())

# %%
# Numbers of curves, with intervals: the strongest suction and where it is.

numbers = model.derived(test, ["lowest", "place_of_lowest"])
print(numbers.round(3).head())

# %%
# Bands of whole curves: nine in ten should hold the true curve at all places at once.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
displays = [CurveBandDisplay.from_estimator(model, test, row, ax=ax) for row, ax in enumerate(axes)]
for display, (_, case) in zip(displays, test.iterrows(), strict=False):
    display.ax_.plot(*case["cp"].T, "k--", lw=1)
plt.show()

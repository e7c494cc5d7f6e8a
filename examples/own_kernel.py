"""
Your own kernel
===============

A kernel here is a product of factors, one per column. Three ways to bring your own: name the factors, bring
vectors or distances that you computed, or write a factor.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import cKDTree

from swwl import SWWL, Matern52, Precomputed, RobustGPRegressor, Rows, datasets

table = datasets.make_airfoil(70, n_nodes=500, random_state=0)
train, test = table.index < 55, table.index >= 55
errors = {}


def try_kernel(name, kernel, table):
    """Fit a kernel to the training rows and keep its error on the others."""
    model = RobustGPRegressor(kernel, calibrate=False, n_starts=1).fit(table[train], table["drag"][train])
    errors[name] = float(np.sqrt(np.mean((model.predict(table[test]) - table["drag"][test]) ** 2)))


# %%
# Factors by name: the paper's kernel on the mesh, a Matérn 5/2 on each number; ``*`` multiplies them.

numbers = Matern52("incidence") * Matern52("velocity")
swwl_kernel = SWWL("mesh", n_projections=20, n_quantiles=50, measure="skin")
try_kernel("SWWL of the skin", swwl_kernel * numbers, table)
try_kernel("numbers alone", numbers, table)

# %%
# Vectors of your own, one per mesh: here the thickness of the airfoil at ten stations. Any descriptor will do.


def thickness(mesh, stations=10):
    """Return the height of the inner contour of a mesh at some stations along the chord."""
    x, y = mesh.points.T
    near = (x > 0.02) & (x < 0.98) & (np.abs(y) < 0.25)
    bins = np.clip((x[near] * stations).astype(int), 0, stations - 1)
    inside = [np.sort(np.abs(y[near][bins == k]))[:6].mean() for k in range(stations)]
    return np.asarray(inside)


own = table.assign(thickness=[thickness(mesh) for mesh in table["mesh"]])
try_kernel("Rows: own vectors", Rows("thickness") * numbers, own)

# %%
# Distances of your own, between all pairs: here the mean distance from the nodes of one mesh to the nearest of the
# other. A matrix of distances knows rows by their number, so the column holds numbers of rows. Such distances need not
# be Euclidean; an exponential of a metric is the safer choice.

trees = [cKDTree(mesh.points) for mesh in table["mesh"]]
chamfer = np.array([[a.query(b.data)[0].mean() for b in trees] for a in trees])
chamfer = (chamfer + chamfer.T) / 2
try_kernel(
    "Precomputed: chamfer",
    Precomputed("row", chamfer, correlation=("power", 1.0)) * numbers,
    table.assign(row=np.arange(len(table))),
)

# %%
# Several kernels are stacked: ``RobustGPRegressor([one, other])`` weighs them by cross-validation.

for name, error in errors.items():
    print(f"{name:22} RMSE of drag {error:.5f}")
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.barh(list(errors), list(errors.values()), color="#0072b2")
ax.invert_yaxis()
ax.set_xlabel("RMSE of drag, 15 airfoils held out")
plt.show()

"""
Objects of pyvista and meshio
=============================

A column may hold meshes of other libraries: pyvista, meshio, PyTorch Geometric, networkx. Nothing has to be converted
or written to a file.
"""

import matplotlib.pyplot as plt
import meshio
import numpy as np
import pandas as pd
from scipy.spatial import ConvexHull

from swwl import RobustGPRegressor, as_mesh
from swwl.plots import ParityDisplay, draw_mesh

try:
    import pyvista
except ImportError:  # it comes with the extra [vtk]; meshio's objects do as well
    pyvista = None

# %%
# Ellipsoids with two bumps, of several resolutions.


def surface(axes, bump, n_nodes):
    """Return points and triangles of an ellipsoid with bumps."""
    i = np.arange(n_nodes) + 0.5
    polar, turn = np.arccos(1 - 2 * i / n_nodes), np.pi * (1 + 5**0.5) * i
    sphere = np.c_[np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)]
    return sphere * (1 + bump * sphere[:, :1] ** 4) * axes, ConvexHull(sphere).simplices


def wrapped(points, triangles):
    """Return an object of pyvista, or of meshio where there is no pyvista."""
    if pyvista is None:
        return meshio.Mesh(points, [("triangle", triangles)])
    return pyvista.PolyData(points, np.c_[np.full(len(triangles), 3), triangles].ravel())


rng = np.random.default_rng(0)
shapes = [surface(rng.uniform(0.7, 1.3, 3), rng.uniform(0, 0.4), rng.integers(150, 400)) for _ in range(60)]
table = pd.DataFrame({"shape": [wrapped(*shape) for shape in shapes]})
table["volume"] = [np.abs(np.linalg.det(points[triangles])).sum() / 6 for points, triangles in shapes]
print(type(table["shape"][0]))

# %%
# What is to be learned is the volume. No two surfaces have the same nodes.

train, test = table[:45], table[45:]
model = RobustGPRegressor().fit(train, "volume")
q2 = model.score(test, "volume")
print(f"Q² of the volume of 15 new bodies: {q2:.4f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), width_ratios=[1, 1, 1.4], layout="constrained")
for ax, row in zip(axes, (0, 1), strict=False):
    draw_mesh(as_mesh(table["shape"][row]), ax, title=f"{len(shapes[row][0])} nodes")
ParityDisplay.from_estimator(model, test, test["volume"], ax=axes[2])
plt.show()

"""
Triangles that share no nodes
=============================

Exports of some solvers give every triangle corners of its own (as STL files do, but there they are joined when the file
is read). Such a mesh has no neighbors, and a kernel on graphs cannot see how it hangs together. Merging puts that
right; coarsening makes fine meshes cheap.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import Mesh, SWWLEmbedding, datasets, pairwise_distances
from swwl.plots import draw_mesh

try:
    import mmgpy
except ImportError:  # it comes with the extra [mmg]
    mmgpy = None

plates = list(datasets.make_tensile2d(4, n_nodes=600, random_state=0)["mesh"])

# %%
# A triangle soup: the same geometry with three nodes for each triangle.

triangles = plates[0].cells["triangle"]
soup = Mesh(plates[0].points[triangles].reshape(-1, 2), {"triangle": np.arange(triangles.size).reshape(-1, 3)})
merged = soup.merged()
print(f"{plates[0].n_nodes} nodes, as soup {soup.n_nodes}, merged again {merged.n_nodes}")

# %%
# Averages over neighbors see the difference: soup is far from its own plate, the merged mesh is the plate.

embedding = SWWLEmbedding(n_iterations=3, step="sqrt", n_projections=50, n_quantiles=100)
distances = pairwise_distances(embedding.fit_transform([*plates, soup, merged]))
print(f"to another plate {distances[0, 1]:.4f}, to its own soup {distances[0, 4]:.4f}, merged {distances[0, 5]:.1e}")

# %%
# ``SWWLEmbedding(merge_nodes=True)``, ``SWWL("mesh", merge_nodes=True)`` and ``swwl fit --merge-nodes`` merge as they
# read. Coarser meshes of the same shape, by MMG:

coarse = datasets.coarsen_mesh(plates[0], 150) if mmgpy else plates[0]
print(f"coarsened from {plates[0].n_nodes} to {coarse.n_nodes} nodes")
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
draw_mesh(merged, axes[0], title=f"{merged.n_nodes} nodes")
draw_mesh(coarse, axes[1], title=f"{coarse.n_nodes} nodes")
plt.show()

"""
Classes of graphs
=================

A support vector machine on graphs that chooses its own kernel, by cross-validation on the training graphs alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import Delaunay

from swwl import Graph, GraphSVC
from swwl.plots import draw_mesh

rng = np.random.default_rng(0)


def sheet(kind):
    """Mesh a sheet of random size whose nodes lie at random, or on a lattice that was shaken."""
    n = rng.integers(6, 10)
    if kind == "lattice":
        points = np.stack(np.meshgrid(np.arange(n), np.arange(n)), axis=-1).reshape(-1, 2) / n
        points = points + rng.normal(scale=0.15 / n, size=points.shape)
    else:
        points = rng.random((n * n, 2))
    triangles = Delaunay(points).simplices
    return Graph.from_cells(points * rng.uniform(0.9, 1.1, 2), triangles)


kinds = ["lattice", "random"] * 45
graphs = [sheet(kind) for kind in kinds]

# %%
# Coordinates hardly differ, the edges do: their lengths are what tells the classes apart. We give each node the mean
# length of its edges as its only feature.


def with_lengths(graph):
    """Return the graph with the mean length of its edges at every node."""
    first, second = graph.edges.T
    lengths = np.linalg.norm(graph.features[first] - graph.features[second], axis=1)
    total = np.bincount(first, lengths, graph.n_nodes) + np.bincount(second, lengths, graph.n_nodes)
    count = np.bincount(first, minlength=graph.n_nodes) + np.bincount(second, minlength=graph.n_nodes)
    return graph.with_features((total / np.maximum(count, 1))[:, None])


described = [with_lengths(graph) for graph in graphs]
model = GraphSVC().fit(described[:60], kinds[:60])
accuracy = model.score(described[60:], kinds[60:])
print(model)
print(f"{100 * accuracy:.0f} % of 30 new graphs are put into their class")

# %%
# One graph of each class, and the decision function of the new ones.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), width_ratios=[1, 1, 1.6], layout="constrained")
for ax, graph, kind in zip(axes[:2], graphs, kinds, strict=False):
    draw_mesh(graph, ax, title=kind)
values = model.decision_function(described[60:])
for kind, color in (("lattice", "#0072b2"), ("random", "#d55e00")):
    axes[2].hist(values[np.array(kinds[60:]) == kind], bins=12, alpha=0.7, color=color, label=kind)
axes[2].set(xlabel="decision function", ylabel="graphs")
axes[2].legend()
plt.show()

"""
Graphs of networkx
==================

Graphs without coordinates: power grids, say, or roads. How well does a network hold together when parts of it fail?
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd

from swwl import Graph, RobustGPRegressor
from swwl.plots import ParityDisplay

# %%
# Random networks of 30 nodes, from regular rings to random ones. The target is the global efficiency: the mean of one
# over the length of the shortest path.

rng = np.random.default_rng(0)
networks = [
    nx.connected_watts_strogatz_graph(30, int(rng.integers(4, 9)), float(rng.uniform(0, 0.6)), seed=seed)
    for seed in range(80)
]
efficiency = [nx.global_efficiency(network) for network in networks]

# %%
# A node needs numbers that describe it: its degree, and how many of its neighbors know each other. Attributes of a
# networkx graph are taken as they are, ``as_graph(network, ["load", "voltage"])``; here we compute our own.


def described(network):
    """Return a graph whose nodes carry their degree and their clustering."""
    degree = np.array([d for _, d in network.degree()])
    return Graph(np.c_[degree, 5 * np.array(list(nx.clustering(network).values()))], np.array(network.edges))


table = pd.DataFrame({"network": [described(network) for network in networks], "efficiency": efficiency})
train, test = table[:60], table[60:]
model = RobustGPRegressor().fit(train, "efficiency")
q2 = model.score(test, "efficiency")
print(model.candidates_.to_string())
print(f"Q² of 20 new networks: {q2:.3f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), width_ratios=[1, 1, 1.4], layout="constrained")
order = np.argsort(efficiency)
for ax, row in zip(axes, (order[0], order[-1]), strict=False):
    nx.draw_circular(networks[row], ax=ax, node_size=18, width=0.6, node_color="#0072b2")
    ax.set_title(f"efficiency {efficiency[row]:.2f}")
ParityDisplay.from_estimator(model, test, test["efficiency"], ax=axes[2])
plt.show()

"""
Molecules
=========

Boiling points of alkanes from nothing but who is bonded to whom: 37 molecules of four to eight carbon atoms.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from swwl import SWWL, Graph, Matern52, RobustGPRegressor, with_labels
from swwl.plots import ParityDisplay

# %%
# The carbon chain and its branches, as chemists name them: "2,2,4-trimethylpentane" is a chain of five with methyl
# groups at 2, 2 and 4. Here: length of the chain, places of methyl and of ethyl groups, boiling point in °C at one
# atmosphere.

ALKANES = """
4|||-0.5 3|2||-11.7 5|||36.1 4|2||27.8 3|2,2||9.5 6|||68.7 5|2||60.3 5|3||63.3 4|2,2||49.7 4|2,3||58.0 7|||98.4
6|2||90.0 6|3||92.0 5||3|93.5 5|2,2||79.2 5|2,3||89.8 5|2,4||80.5 5|3,3||86.1 4|2,2,3||80.9 8|||125.7 7|2||117.6
7|3||118.9 7|4||117.7 6||3|118.5 6|2,2||106.8 6|2,3||115.6 6|2,4||109.4 6|2,5||109.1 6|3,3||112.0 6|3,4||117.7
5|2|3|115.6 5|3|3|118.3 5|2,2,3||109.8 5|2,2,4||99.2 5|2,3,3||114.8 5|2,3,4||113.5 4|2,2,3,3||106.5
"""


def skeleton(chain, methyls, ethyls):
    """Return the number of atoms and the bonds of an alkane."""
    bonds = [(i, i + 1) for i in range(chain - 1)]
    n = chain
    for place in methyls:
        bonds.append((place - 1, n))
        n += 1
    for place in ethyls:
        bonds += [(place - 1, n), (n, n + 1)]
        n += 2
    return n, np.array(bonds)


def places(text):
    """Return the numbers in a text such as "2,2,4"."""
    return [int(place) for place in text.split(",") if place]


rows = []
for entry in ALKANES.split():
    chain, methyls, ethyls, boiling = entry.split("|")
    n, bonds = skeleton(int(chain), places(methyls), places(ethyls))
    rows.append((n, bonds, float(boiling)))

# %%
# Atoms are told apart by a label: how many other carbon atoms they are bonded to. ``with_labels`` makes columns of
# zeros and ones of labels; averaging over neighbors then counts what stands next to what.

graphs = [Graph(np.zeros((n, 1)), bonds) for n, bonds, _ in rows]
labels = [np.bincount(bonds.ravel(), minlength=n) for n, bonds, _ in rows]
labeled = with_labels(graphs, labels, attributes=False)
table = pd.DataFrame({"molecule": labeled, "atoms": [float(n) for n, _, _ in rows]})
table["boiling"] = [boiling for *_, boiling in rows]

# %%
# One kernel on the molecule and one on its size. Every molecule is predicted from the 36 others.

kernel = SWWL("molecule", n_iterations=2, n_projections=50, n_quantiles=50) * Matern52("atoms")
model = RobustGPRegressor(kernel, trend=["atoms"]).fit(table, "boiling")
left_out = model.leave_one_out()
rmse = float(np.sqrt(np.mean((left_out.mean - table["boiling"]) ** 2)))
print(f"leave-one-out error {rmse:.1f} °C; the boiling points spread by {table['boiling'].std():.1f} °C")

figure, ax = plt.subplots(figsize=(4.4, 3.8), layout="constrained")
ParityDisplay.from_leave_one_out(model, ax=ax)
plt.show()

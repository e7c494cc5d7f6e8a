"""
Meshes, numbers and materials
=============================

Columns of texts, such as materials, are inputs too: ``Categories`` puts equal ones at distance 0 and different ones at
1.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import SWWL, Categories, Matern52, RobustGPRegressor, datasets
from swwl.plots import ParityDisplay

# %%
# Beams of three materials: how far they bend depends on the shape, the load and Young's modulus.

table = datasets.make_tensile2d(75, n_nodes=200, random_state=3)[["mesh", "pressure"]]
rng = np.random.default_rng(0)
modulus = {"aluminum": 70.0, "steel": 210.0, "titanium": 110.0}
table["material"] = rng.choice(list(modulus), len(table))
width = np.array([np.ptp(mesh.points[np.abs(mesh.points[:, 1]) < 0.3, 0]) for mesh in table["mesh"]])
table["stretch"] = table["pressure"] / (width * table["material"].map(modulus)) * 10
train, test = table[:60], table[60:]

# %%
kernel = SWWL("mesh", n_projections=20, n_quantiles=50) * Matern52("pressure") * Categories("material")
model = RobustGPRegressor(kernel, n_starts=1).fit(train, "stretch")
q2 = model.score(test, "stretch")
print(f"Q² of 15 new cases: {q2:.3f}")
print(model.importance_.round(2).to_string())

# %%
# A material that was never seen is refused, with what was seen.

try:
    model.predict(test.assign(material="wood"))
except ValueError as error:
    refusal = str(error)
    print(refusal)

figure, ax = plt.subplots(figsize=(4.4, 3.8), layout="constrained")
ParityDisplay.from_estimator(model, test, test["stretch"], ax=ax)
plt.show()

"""
Whole fields on new meshes
==========================

Not one number but the stress everywhere, on plates whose meshes have nothing in common with those of the training set:
no common nodes, no common topology.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import FieldRegressor, datasets
from swwl.plots import draw_field

# %%
# The meshes carry the field. What stands beside them are inputs, so targets of other models are dropped.

table = datasets.make_tensile2d(48, n_nodes=200, random_state=0).drop(columns=["split", "max_von_mises"])
train, test = table[:40], table[40:]
model = FieldRegressor().fit(train, "von_mises")

# %%
# Predictions are values at the nodes of the new meshes, with a standard deviation at each.

predicted, std = model.predict(test, return_std=True)
truth = [mesh.fields["von_mises"] for mesh in test["mesh"]]
errors = np.concatenate([p["von_mises"] - t for p, t in zip(predicted, truth, strict=True)])
everything = np.concatenate(truth)
q2 = float(1 - np.mean(errors**2) / np.var(everything))
print(f"Q² over all {len(errors)} nodes of 8 new plates: {q2:.3f}")

# %%
# One of them: the truth, the prediction, and where it is unsure. ``predict_meshes`` returns meshes with these fields,
# to be opened with ParaView.

mesh, shown = test["mesh"].iloc[0], predicted[0]["von_mises"]
limits = (float(truth[0].min()), float(truth[0].max()))
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
draw_field(mesh, truth[0], axes[0], title="simulated", limits=limits)
draw_field(mesh, shown, axes[1], title="predicted", limits=limits)
draw_field(mesh, std[0]["von_mises"], axes[2], title="standard deviation")
plt.show()

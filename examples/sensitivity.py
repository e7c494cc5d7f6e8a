"""
Where to push the surface
=========================

The derivative of a prediction with respect to every node: which parts of a blade matter for its efficiency, and in
which direction.
"""

import matplotlib.pyplot as plt

from swwl import Matern52, Mesh, PrincipalSWWL, RobustGPRegressor, datasets
from swwl.design import displacement_modes
from swwl.plots import PushDisplay

table = datasets.make_blade(110, n_nodes=300, random_state=0)
train, test = table[:100], table[100:]
mesh = PrincipalSWWL("mesh", n_components=8, n_projections=20, n_quantiles=100, node_weights="area")
kernel = mesh * Matern52("speed") * Matern52("pressure")
model = RobustGPRegressor(kernel, prior="gentle", n_starts=1, calibrate=False).fit(train, "efficiency")

# %%
# Exact derivatives of one prediction: in its numbers, along the ways in which the training blades differ, and at every
# node.

modes = displacement_modes(train["mesh"], n_modes=4)
(found,) = model.sensitivity(test[:1], along=modes)
print({name: float(f"{value:.3g}") for name, value in found.inputs.items()})
print(found.along.round(5).to_string())

# %%
# Does it hold? The blade a little to either side along the mode that matters most:

most, step = int(found.along.abs().argmax()), 0.02
blade = test["mesh"].iloc[0]
sides = [Mesh(blade.points + sign * step * modes.displacements[most], blade.cells) for sign in (1, -1)]
above, below = model.predict(test.iloc[[0, 0]].assign(mesh=sides))
change = float(above - below) / (2 * step)
print(f"along mode {most + 1}: derivative {found.along.iloc[most]:.5f}, by small steps {change:.5f}")

# %%
# Red: pushing the surface outward raises the efficiency.

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
PushDisplay(found, length=0.004).plot(ax)
plt.show()

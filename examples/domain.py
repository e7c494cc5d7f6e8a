"""
Is this mesh like the training meshes?
======================================

A model answers whatever it is asked. ``domain`` says of every new case whether it is like those that the model knows,
and in what it differs.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from swwl import Mesh, RobustGPRegressor, datasets
from swwl.plots import draw_mesh
from swwl.regression.candidates import default_kernels

# %%
# A hundred and twenty blades, enough to tell what is usual. One of the default kernels does here.

table = datasets.make_blade(140, n_nodes=200, random_state=0)
inputs = ["mesh", "speed", "pressure"]
train, usual = table[:120], table[120:][inputs]
kernel = default_kernels(train[inputs], n_projections=20)["skin"]
model = RobustGPRegressor(kernel, prior="gentle", n_starts=1).fit(train[inputs], train["efficiency"])

# %%
# New blades of the same kind; the same in millimeters; turned; and twice as thick.

first = usual.iloc[0]
points, cells = first["mesh"].points, first["mesh"].cells
turned = points[:, [1, 0, 2]] * [1, -1, 1]
center = points.mean(axis=0)
strange = {
    "in millimeters": Mesh(points * 1000, cells),
    "turned by 90°": Mesh(turned, cells),
    "stretched by half": Mesh(center + (points - center) * [1, 1, 1.5], cells),
}
odd = pd.DataFrame({"mesh": list(strange.values()), "speed": first["speed"], "pressure": first["pressure"]})
verdict = model.domain(odd)
verdict.index = list(strange)
for name, row in verdict.iterrows():
    print(f"{name}: inside {row['inside']}; {row['why'].split(';')[0]}")

# %%
# Of blades like the training blades few are called strange.

inside = model.domain(usual)["inside"]
print(f"{int(inside.sum())} of {len(usual)} new blades of the same kind are inside")

# %%
figure, axes = plt.subplots(1, 4, figsize=(10, 3), layout="constrained")
for ax, (name, mesh) in zip(axes, {"usual": first["mesh"], **strange}.items(), strict=True):
    scale = np.ptp(mesh.points, axis=0).max()
    draw_mesh(mesh, ax, title=f"{name} ({scale:.3g} across)")
plt.show()

"""
Characteristic curves
=====================

A compressor map: the efficiency of a blade that was never simulated, over the pressure and for three speeds, with
bands.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import RobustGPRegressor, datasets
from swwl.plots import CurvesDisplay

table = datasets.make_blade(70, n_nodes=300, random_state=0)
train, new = table[:60], table[60:]

# %%
# Two targets in one model: meshes are embedded once.

model = RobustGPRegressor().fit(train[["mesh", "speed", "pressure"]], train[["efficiency", "massflow"]])
print(model)

# %%
# One mesh, a sweep of one number, one curve for each value of another. Where the band is wide, the model knows little;
# outside the training range nothing has been tested.

blade = new["mesh"].iloc[0]
sweep, each = ("pressure", np.linspace(1.37, 1.45, 25)), ("speed", [17000.0, 17200.0, 17400.0])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
displays = [
    CurvesDisplay.from_estimator(model, blade, sweep, each, target=target, ax=ax)
    for target, ax in zip(model.target_names_, axes, strict=True)
]
plt.show()

# %%
# The display keeps what it shows, for a table or a figure of your own. Joint samples are whole curves,
# whose points belong together: the spread of their maxima is the uncertainty of the best efficiency.

curve = displays[0].table.query("speed == 17200")
points = curve[["speed", "pressure"]].assign(mesh=[blade] * len(curve))
samples = model.sample(points, n_samples=200, random_state=0)[:, :, 0]
best = samples.max(axis=1)
low, high = np.quantile(best, [0.05, 0.95])
print(f"the best efficiency at speed 17200 is between {low:.4f} and {high:.4f} (90 %)")

"""
Are the intervals right?
========================

A 95 % interval should hold the truth 95 times in 100. Few cases and many ranges make plain intervals too narrow; folds
with ranges of their own show it, and intervals are made as wide as they ask for.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import Matern52, PrincipalSWWL, RobustGPRegressor, datasets
from swwl.plots import CalibrationDisplay

table = datasets.make_blade(240, n_nodes=200, random_state=0)
train, test = table[:50], table[50:]

# %%
# Fifty blades, and a kernel with twelve ranges: easy to overfit.

kernel = (
    PrincipalSWWL("mesh", n_components=8, n_projections=20, n_quantiles=50) * Matern52("speed") * Matern52("pressure")
)
options = {"prior": "gentle", "n_starts": 1}
models = {
    "plain Student-t": RobustGPRegressor(kernel, calibrate=False, **options).fit(train, "efficiency"),
    "calibrated": RobustGPRegressor(kernel, **options).fit(train, "efficiency"),
}
for name, model in models.items():
    lower, upper = model.predict_interval(test)
    inside = np.mean((lower < test["efficiency"]) & (test["efficiency"] < upper))
    print(f"{name:16} {100 * inside:.0f} % of {len(test)} new blades inside; factor {model.calibration_.iloc[0]:.2f}")

# %%
# All levels at once: on the diagonal, an interval of every level holds what it says. Below it, intervals are too
# narrow.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
displays = {}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    displays[name] = CalibrationDisplay.from_estimator(model, test, test["efficiency"], ax=ax)
    ax.set_title(name, loc="left")
plt.show()

"""
Where to push the surface
=========================

What changes a prediction: exact derivatives of its mean and its standard deviation, in numbers, along deformations of
the shape, and on the nodes of the mesh.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import Matern52, PrincipalSWWL, RobustGPRegressor, datasets
from swwl.design import displacement_modes, improve
from swwl.plots import PushDisplay, SlopesDisplay
from swwl.regression.sensitivity import slope_table

table = datasets.make_blade(100, n_nodes=400, random_state=0, random_topology=False)
train, new = table[:90], table[90:]
kernel = PrincipalSWWL("mesh") * Matern52("speed") * Matern52("pressure")
model = RobustGPRegressor(kernel).fit(train, "efficiency")

# %%
# The blades share their triangles, so it is known how they differ: along displacement modes. A derivative along a mode
# says what one standard deviation of the training blades brings. The bars carry the intervals that the process itself
# states.

modes = displacement_modes(train["mesh"], n_modes=6)
case = new[:1]
(found,) = model.sensitivity(case, along=modes)
print(found.along.round(5).to_dict())
print({name: float(f"{slope:.3g}") for name, slope in found.inputs.items()})

slopes = slope_table(model, case, [found], modes)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
SlopesDisplay(slopes, "efficiency").plot(axes[0])
PushDisplay(found, length=0.005).plot(axes[1])
plt.show()

# %%
# The blade on the right shows what pushing its surface outward brings, per area, smoothed over 5 mm. It shows what the
# kernel makes of motions, also of such as no training blade showed: trust the bars first.
#
# Move along the modes, inside the ball that holds nine in ten of the training blades.

best = train.iloc[int(np.argmax(train["efficiency"]))]
improved = improve(model, best["mesh"], modes, {"speed": 17188.0, "pressure": 1.41})
print(f"efficiency from {improved.start_mean:.4f} to {improved.mean:.4f} ± {improved.std:.4f}")
print(f"{np.linalg.norm(improved.coordinates):.2f} standard deviations from the mean blade; "
      f"the region ends at {improved.radius:.2f}")  # fmt: skip

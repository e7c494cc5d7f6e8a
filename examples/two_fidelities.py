"""
Many coarse runs, a few fine ones
=================================

A plate on a coarse mesh is solved in no time, but it is too stiff; on a fine mesh it moves as it should, and takes its
time. A hundred coarse runs and fifteen fine ones can be worth many fine ones: the coarse ones say how the answer
varies, the fine ones by how much it is off.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from swwl import RobustGPRegressor, datasets
from swwl.design import suggest

# %%
# The same plates on meshes of about 200 and 1000 nodes. What is learned is how far they move at most.


def solved(n_nodes: int) -> pd.DataFrame:
    """Pull a hundred and forty plates."""
    samples = datasets.make_samples("tensile2d", 140, n_nodes=n_nodes, random_state=1)
    moved = [float(np.abs(sample.mesh.fields["displacement"]).max()) for sample in samples]
    return pd.DataFrame([{**sample.scalars, **sample.shape} for sample in samples]).assign(max_disp=moved)


coarse, fine = solved(200), solved(1000)
test = fine[100:]

# %%
# A column says which answer is from where. The level with fewer rows is the better one, unless the levels are numbers,
# or an order is given: ``fidelity={"level": ["coarse", "fine"]}``. It is not an input, and predictions are those of the
# fine solver.

table = pd.concat([coarse[:100].assign(level="coarse"), fine[:15].assign(level="fine")], ignore_index=True)
model = RobustGPRegressor().fit(table, "max_disp", fidelity="level")
alone = RobustGPRegressor().fit(fine[:15], "max_disp")
print(model.chain_.told[0].words)

# %%
# Folds of the fine rows have decided that the coarse ones help. New plates agree:

errors = {}
for name, fitted in (("15 fine runs", alone), ("and 100 coarse ones", model)):
    errors[name] = float(np.sqrt(np.mean((fitted.predict(test, widen=False) - test["max_disp"]) ** 2)))
    print(f"{name}: RMSE {errors[name]:.2g}")

# %%
# Which run next, and at which level? That depends on what they cost.

pool = test.drop(columns="max_disp")
chosen = suggest(model, pool, 5, costs={"coarse": 1, "fine": 20})
print(chosen[["row", "level", "why"]].to_string())

# %%
# The predictions of both models against the fine solver.

figure, ax = plt.subplots(figsize=(4.4, 4), layout="constrained")
for fitted, marker, name in ((alone, "o", "fine runs alone"), (model, "s", "with coarse runs")):
    ax.plot(test["max_disp"], fitted.predict(test, widen=False), marker, markersize=4, label=name)
ends = [test["max_disp"].min(), test["max_disp"].max()]
ax.plot(ends, ends, color="0.6", linewidth=1)
ax.set(xlabel="simulated displacement", ylabel="predicted")
ax.legend(frameon=False)
plt.show()

"""
Which case to simulate next
===========================

The best of a hundred and fifty blades, with a fraction of the simulations: after each batch the model suggests where
the efficiency is likely to be higher than what is known.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import RobustGPRegressor, datasets
from swwl.design import suggest
from swwl.regression.candidates import default_kernels

# %%
# The answers of the pool are known here, so that we can see how good the suggestions are; the model sees only those
# that were "simulated".

pool = datasets.make_blade(150, n_nodes=200, random_state=0)
inputs = ["mesh", "speed", "pressure"]
answers = pool["efficiency"].to_numpy()
kernel = default_kernels(pool[inputs], n_projections=10)["skin"]
known = list(np.random.default_rng(2).choice(len(pool), 20, replace=False))
best = [answers[known].max()]

# %%
# Three batches of four.

for _ in range(3):
    model = RobustGPRegressor(kernel, prior="gentle", n_starts=1, calibrate=False)
    model.fit(pool.loc[known, inputs], answers[known])
    left = np.setdiff1d(np.arange(len(pool)), known)
    found = suggest(model, pool.loc[left, inputs], 4, goal="maximize")
    known += list(left[found["row"]])
    best.append(answers[known].max())
print(found["why"][0])
ranks = [int((answers > value).sum()) + 1 for value in best]
print(f"the best so far is number {', '.join(map(str, ranks))} of {len(pool)}, after 20, 24, 28 and 32 simulations")

# %%
figure, ax = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
ax.plot([20, 24, 28, 32], best, "o-", color="#0072b2", label="best so far")
ax.axhline(answers.max(), color="#d55e00", ls="--", label="best of the pool")
ax.axhline(np.sort(answers)[-8], color="gray", ls=":", label="95th percentile of the pool")
ax.set(xlabel="simulations", ylabel="efficiency")
ax.legend()
plt.show()

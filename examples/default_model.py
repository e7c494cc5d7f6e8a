"""
What the default model looks at
===============================

Without a kernel, several candidates are fitted, each of which sees a mesh in its own way, and cross-validation says
what each of them weighs.
"""

import matplotlib.pyplot as plt
import numpy as np

from swwl import RobustGPRegressor, datasets
from swwl.plots import ImportanceDisplay

table = datasets.make_airfoil(75, n_nodes=500, random_state=2)
train, test = table[:60], table[60:]
inputs = ["mesh", "incidence", "velocity"]
model = RobustGPRegressor().fit(train[inputs], train[["lift", "drag"]])

# %%
# The candidates and their weights, for either target, with the error of rows that folds left out.

print(model.candidates_.to_string())

# %%
# Which inputs matter: one on average, near zero for an input that hardly matters. In this panel method lift does not
# depend on velocity.

print(model.importance_.round(2).to_string())
q2 = model.score(test[inputs], test[["lift", "drag"]])
print(f"Q² of 15 new airfoils, mean of both targets: {q2:.3f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
weights = model.weights_
for k, target in enumerate(weights.columns):
    axes[0].barh(np.arange(len(weights)) + 0.4 * k, weights[target], height=0.38, label=target)
axes[0].set_yticks(np.arange(len(weights)) + 0.2, weights.index)
axes[0].set_xlabel("weight")
axes[0].legend()
for ax, target in zip(axes[1:], weights.columns, strict=True):
    ImportanceDisplay.from_estimator(model, target=target, ax=ax)
plt.show()

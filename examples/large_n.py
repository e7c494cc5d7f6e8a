"""
Many cases
==========

The exact process takes time with the third power of the number of rows. Above 3000 rows another solver takes over:
inducing rows, and neighbors for what they leave, with the same model and the same intervals. Here on plain numbers, and
on fewer rows, so that both can be run.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from swwl.gp import Coordinates, RobustGP, fit_large

rng = np.random.default_rng(0)
x = rng.random((2600, 4))
y = np.sin(8 * x[:, 0]) + np.cos(6 * x[:, 1]) * x[:, 2] ** 2 + 0.3 * np.sin(5 * x[:, 3])
y += 0.005 * rng.normal(size=len(x))
new_x, new_y = x[2000:], y[2000:]

# %%
# The exact process on 200 rows, and the solver for many rows on 200 to 2000 of them: ranges of an exact fit to 200
# rows, everything else from all rows.

small = RobustGP(["matern52"], n_starts=1).fit([Coordinates(x[:200])], y[:200])
errors, inside, seconds = {}, {}, {}
for n in (200, 600, 2000):
    many = RobustGP(["matern52"], n_starts=1, solver="vecchia", solver_options={"n_inducing": 150, "n_neighbors": 20})
    start = time.process_time()
    gp = fit_large(many, [Coordinates(x[:n])], y[:n], n_exact=200)
    seconds[n] = time.process_time() - start
    found = gp.predict_distribution([Coordinates(new_x)])
    lower, upper = found.interval(0.95)
    errors[n] = float(np.sqrt(np.mean((found.mean - new_y) ** 2)))
    inside[n] = float(np.mean((lower < new_y) & (new_y < upper)))
exact = float(np.sqrt(np.mean((small.predict([Coordinates(new_x)]) - new_y) ** 2)))
print(f"exact, 200 rows: RMSE {exact:.4f}")
for n in errors:
    print(f"{n:5} rows: RMSE {errors[n]:.4f}, {100 * inside[n]:.0f} % inside the 95 % intervals")

# %%
# With meshes nothing changes: ``RobustGPRegressor(solver="auto")``, the default, chooses by the number of rows, and
# ``swwl embed`` makes the rows of very many meshes, on a cluster if there is one.

figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.loglog(list(errors), list(errors.values()), "o-", color="#0072b2", label="solver for many rows")
ax.axhline(exact, color="#d55e00", ls="--", label="exact, 200 rows")
ax.axhline(0.005, color="gray", ls=":", label="noise")
ax.set(xlabel="rows", ylabel="RMSE of 600 new rows")
ax.set_xticks(list(errors), [str(n) for n in errors])
ax.set_xticks([], minor=True)
ax.legend()
plt.show()

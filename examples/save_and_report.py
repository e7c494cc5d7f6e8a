"""
Save, load, report
==================

A fitted model is one file, without pickle, that predicts bit for bit the same on another machine. The report is one
page without scripts, to read, print and send.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from swwl import RobustGPRegressor, datasets, load_model
from swwl.plots import DesignDisplay, ResidualsDisplay
from swwl.report import write_report

table = datasets.make_blade(70, n_nodes=200, random_state=4)
train, test = table[:55], table[55:]
inputs = ["mesh", "speed", "pressure"]
model = RobustGPRegressor().fit(train[inputs], train["pressure_ratio"])

# %%
# One file. It holds what predictions need, not the meshes.

folder = Path(tempfile.mkdtemp())
model.save(folder / "rotor.swwl")
again = load_model(folder / "rotor.swwl")
same = np.array_equal(model.predict(test[inputs]), again.predict(test[inputs]))
size = (folder / "rotor.swwl").stat().st_size
print(f"{size / 1000:.0f} kB, the same predictions: {same}")

# %%
# One page. On the command line: ``swwl report rotor.swwl``.

write_report(folder / "report.html", again)
page = (folder / "report.html").read_text(encoding="utf-8")
print(f"report of {len(page) / 1000:.0f} kB, of pictures mostly")

# %%
# Two of the pictures on it: which training cases are badly predicted by the others, and which lie apart.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
ResidualsDisplay.from_leave_one_out(model, ax=axes[0])
DesignDisplay.from_estimator(model, ax=axes[1])
plt.show()

"""
What is odd about a table
=========================

Before anything is fitted, ``swwl check`` compares every mesh with the others: units, orientation, place, copies,
damaged files. Here two of fourteen meshes were spoiled.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from swwl import Mesh, datasets
from swwl.plots import draw_mesh

# %%
# Plates in a folder and a table beside them. Plate 5 is in millimeters, plate 7 lies on its side.

folder = Path(tempfile.mkdtemp())
made = datasets.make_tensile2d(14, n_nodes=200, random_state=0)
meshes = list(made["mesh"])
meshes[5] = Mesh(meshes[5].points * 1000, meshes[5].cells)
meshes[7] = Mesh(meshes[7].points @ np.array([[0.0, 1.0], [-1.0, 0.0]]), meshes[7].cells)
for number, mesh in enumerate(meshes):
    mesh.write(folder / f"{number}.vtu")
names = [f"{number}.vtu" for number in range(len(meshes))]
pd.DataFrame({"mesh": names, "pressure": made["pressure"], "stress": made["max_von_mises"]}).to_csv(
    folder / "plates.csv", index=False
)

# %%
# On the command line, ``swwl check plates.csv --target stress`` prints a line for each finding; ``--json`` is for
# scripts.

command = [sys.executable, "-m", "swwl", "check", str(folder / "plates.csv"), "--target", "stress", "--json"]
findings = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
for finding in findings:
    print(f"{finding['kind']}: {finding['message']}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for ax, number, title in zip(axes, (0, 5, 7), ("plate 0", "plate 5: × 1000", "plate 7: turned"), strict=True):
    draw_mesh(meshes[number], ax, title=title)
    ax.axis("on")
plt.show()

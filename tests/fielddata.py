"""Small plates of several topologies with a scalar, a vector and a cell field; quick to learn."""

import numpy as np
import pandas as pd

from swwl import Mesh

QUICK = ["--kernel", "swwl", "-P", "4", "-Q", "10", "-H", "1", "--jobs", "1", "--modes", "2"]


def plate(width, load, n):
    """Return a plate of n x n nodes, pulled."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(0, width, n), np.linspace(0, 1, n), indexing="ij"))
    corner = np.arange(n * n).reshape(n, n)[:-1, :-1].ravel()
    cells = np.concatenate([corner[:, None] + [0, n, n + 1], corner[:, None] + [0, n + 1, 1]])
    heat = load * (x**2 + y)
    fields = {"heat": heat, "move": np.column_stack([load * x, 0.3 * load * y])}
    return Mesh(np.column_stack([x, y]), cells, fields, cell_fields={"flux": heat[cells].mean(axis=1)})


def write_plates(folder, count=14):
    """Write plates and their table to a folder; return the table."""
    rng = np.random.default_rng(0)
    (folder / "meshes").mkdir(parents=True)
    rows = []
    for i in range(count):
        width, load = rng.uniform(1, 2), rng.uniform(1, 3)
        plate(width, load, 4 + i % 3).write(folder / "meshes" / f"{i:03}.vtu")
        split = "train" if i < count - 3 else "test"
        rows.append({"mesh": f"meshes/{i:03}.vtu", "split": split, "load": load, "top": load * (width**2 + 1)})
    pd.DataFrame(rows).to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"

"""
PLAID data
==========

`PLAID <https://plaid-lib.readthedocs.io>`_ is a format for sets of simulations: a folder per sample, with CGNS meshes
and scalars. A folder that was downloaded becomes a table, without any package but h5py.
"""

import tempfile
from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np

from swwl import RobustGPRegressor, datasets, read_mesh
from swwl.plots import ParityDisplay, draw_mesh

# %%
# ``fetch_plaid("Tensile2d")`` downloads a published set. To stay offline we write a small one of our own, in the same
# layout.


def node(parent, name, label, value=None):
    """Write a CGNS node as HDF5 stores it."""
    group = parent.create_group(name)
    group.attrs.update({"name": np.bytes_(name.ljust(33, "\0")), "label": np.bytes_(label.ljust(33, "\0"))})
    group.attrs["type"] = np.bytes_({None: "MT", "i": "I4", "f": "R8"}[None if value is None else value.dtype.kind])
    if value is not None:
        group.create_dataset(" data", data=value)
    return group


def write_sample(folder, mesh, scalars):
    """Write a mesh of triangles and its scalars as one PLAID sample."""
    (folder / "meshes").mkdir(parents=True)
    with h5py.File(folder / "meshes" / "mesh_000000000.cgns", "w") as file:
        base = node(file, "Base_2_2", "CGNSBase_t", np.array([2, 2], dtype="int32"))
        zone = node(base, "Zone", "Zone_t", np.array([[mesh.n_nodes], [mesh.n_cells], [0]], dtype="int32"))
        coordinates = node(zone, "GridCoordinates", "GridCoordinates_t")
        for name, values in zip("XY", mesh.points.T, strict=True):
            node(coordinates, f"Coordinate{name}", "DataArray_t", np.ascontiguousarray(values))
        elements = node(zone, "Elements_TRI_3", "Elements_t", np.array([5, 0], dtype="int32"))
        node(elements, "ElementRange", "IndexRange_t", np.array([1, mesh.n_cells], dtype="int32"))
        cells = mesh.cells["triangle"].astype("int32") + 1
        node(elements, "ElementConnectivity", "DataArray_t", cells.ravel())
    (folder / "scalars.csv").write_text(f"{','.join(scalars)}\n{','.join(map(repr, scalars.values()))}\n")


made = datasets.make_tensile2d(90, n_nodes=200, random_state=1)
names = [name for name in made.columns if name not in ("mesh", "split")]
home = tempfile.TemporaryDirectory()
for i, row in made.iterrows():
    scalars = {name: float(row[name]) for name in names}
    write_sample(Path(home.name) / "samples" / f"sample_{i:09d}", row["mesh"], scalars)

# %%
# Reading it back: paths of meshes, and one column per scalar.

table = datasets.load_plaid(home.name)
print(table.columns.tolist(), len(table), "rows")
train, test = table[:75], table[75:]
model = RobustGPRegressor().fit(train.drop(columns="split"), "max_von_mises")
q2 = model.score(test, "max_von_mises")
print(f"Q² of 15 new plates: {q2:.2f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.4), layout="constrained")
draw_mesh(read_mesh(table["mesh"][0]), axes[0], title="sample 0")
ParityDisplay.from_estimator(model, test, test["max_von_mises"], ax=axes[1])
plt.show()
home.cleanup()

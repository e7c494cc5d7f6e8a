"""Data sets: ``make_*`` generates simulations, ``fetch_*`` may download, ``load_*`` reads local files only.

=================  =============================================  =======================================
`make_tensile2d`   notched plate, elasto-viscoplastic finite      6 scalars -> ``max_von_mises``
                   elements, plane stress
`make_airfoil`     NACA airfoil in an O-grid, vortex panels and   2 scalars -> ``lift, drag``
                   integral boundary layer
`make_blade`       rotor blade surface, blade-element model       2 scalars -> ``massflow,
                                                                  pressure_ratio, efficiency``
`make_capacitor`   two conductors in a grounded circle, Laplace   1 scalar -> ``charge_left,
                   equation, linear finite elements               charge_right``
`make_channel`     channel around one to four bodies, with        1 scalar -> ``drag, lift``
                   groups, Navier-Stokes, linear elements
`make_heating`     plates with hot pipes, heat equation over      2 scalars -> ``temperature``
                   time, linear elements; in memory               at 20 times
=================  =============================================  =======================================

None of them stands for a real machine; each says in its ``model`` what it is. The same seed gives the
same data, whatever the number of processes, and a larger set begins with the smaller one.

Examples
--------
In memory, as a table of meshes and numbers:

>>> from swwl import datasets
>>> table = datasets.make_blade(4, n_nodes=500, random_state=0)
>>> table.columns.tolist()
['mesh', 'split', 'speed', 'pressure', 'massflow', 'pressure_ratio', 'efficiency']
>>> table["mesh"][0].points.shape
(504, 3)

On disk, to be opened with ParaView or read back as a table:

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     written = datasets.write_dataset("blade", 5, folder, n_nodes=500, random_state=0)
>>> written["split"].tolist()
['train', 'train', 'train', 'train', 'test']
>>> bool(written["efficiency"][0] == table["efficiency"][0])
True

Published data: `fetch_tu` and `load_tu` for the TU graph benchmarks; `fetch_plaid` and `load_plaid` for PLAID sets such
as Rotor37, Tensile2d and AirfRANS. Coarser meshes: `coarsen_mesh` for one, `coarsen_dataset` for all.
"""

from __future__ import annotations

from swwl.datasets.folder import coarsen_dataset, load_dataset
from swwl.datasets.generated import (
    GENERATORS,
    make_airfoil,
    make_blade,
    make_capacitor,
    make_channel,
    make_samples,
    make_tensile2d,
    write_dataset,
)
from swwl.datasets.generator import Generator, Sample, Unsolvable
from swwl.datasets.heating import make_heating
from swwl.datasets.plaid import fetch_plaid, load_plaid
from swwl.datasets.tu import LabeledGraphs, fetch_tu, load_tu
from swwl.mesh.remesh.coarsen import coarsen as coarsen_mesh

__all__ = [
    "GENERATORS",
    "Generator",
    "LabeledGraphs",
    "Sample",
    "Unsolvable",
    "coarsen_dataset",
    "coarsen_mesh",
    "fetch_plaid",
    "fetch_tu",
    "load_dataset",
    "load_plaid",
    "load_tu",
    "make_airfoil",
    "make_blade",
    "make_capacitor",
    "make_channel",
    "make_heating",
    "make_samples",
    "make_tensile2d",
    "write_dataset",
]

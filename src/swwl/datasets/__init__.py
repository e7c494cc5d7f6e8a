"""Simulation data of three kinds, made from scratch: meshes, operating conditions and what comes out.

=============  =================================================  =======================================
`tensile2d`    notched plate, elasto-viscoplastic finite          6 scalars -> ``max_von_mises``
               elements, plane stress
`airfoil`      NACA airfoil in an O-grid, vortex panels and       2 scalars -> ``lift, drag``
               integral boundary layer
`blade`        rotor blade surface, blade-element model           2 scalars -> ``massflow,
                                                                  pressure_ratio, efficiency``
=============  =================================================  =======================================

None of them is computational fluid dynamics; each says in its ``model`` what it is. The same seed gives the
same data, whatever the number of processes, and a larger set begins with the smaller one.

Examples
--------
In memory:

>>> from swwl import datasets
>>> samples = datasets.make("blade", 4, nodes=500, seed=0)
>>> samples[0].points.shape, list(samples[0].scalars), list(samples[0].targets)
((504, 3), ['speed', 'pressure'], ['massflow', 'pressure_ratio', 'efficiency'])

On disk, to be opened with ParaView or read back as a table:

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     table = datasets.write("blade", 5, folder, nodes=500, seed=0)
>>> table.columns.tolist()
['mesh', 'split', 'speed', 'pressure', 'massflow', 'pressure_ratio', 'efficiency']
>>> table["split"].tolist()
['train', 'train', 'train', 'train', 'test']
>>> bool(table["efficiency"][0] == samples[0].targets["efficiency"])
True

Published data: `load_tu` for the TU graph benchmarks; `load_plaid` and `download` for PLAID sets such as Rotor37,
Tensile2d and AirfRANS. Coarser meshes: `coarsen` for one, `coarsen_dataset` for all.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pandas as pd

from swwl.datasets.airfoil import AIRFOIL
from swwl.datasets.blade import BLADE
from swwl.datasets.coarsen_set import coarsen_dataset
from swwl.datasets.folder import load, write_folder
from swwl.datasets.generator import Generator, Request, run
from swwl.datasets.plaid import download, load_plaid
from swwl.datasets.sample import Sample, Unsolvable
from swwl.datasets.tensile2d import TENSILE2D
from swwl.datasets.tu import load_tu
from swwl.errors import InputError
from swwl.mesh.coarsen import coarsen
from swwl.parallel import ProgressBar as Progress

__all__ = [
    "GENERATORS",
    "Generator",
    "Progress",
    "Sample",
    "Unsolvable",
    "coarsen",
    "coarsen_dataset",
    "download",
    "load",
    "load_plaid",
    "load_tu",
    "make",
    "write",
]

GENERATORS: dict[str, Generator] = {g.name: g for g in (TENSILE2D, AIRFOIL, BLADE)}


def make(
    name: str,
    n_samples: int,
    *,
    nodes: int | None = None,
    seed: int = 0,
    random_topology: bool = False,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Sample]:
    """Make samples in memory.

    Parameters
    ----------
    name : {"tensile2d", "airfoil", "blade"}
    n_samples : int
    nodes : int, optional
        Wanted number of nodes per mesh, met within a few per cent; the generator's usual one by default.
    seed : int
    random_topology : bool
        Mesh every sample at a resolution of its own, from half to one and a half times `nodes`, with cells of
        another aspect (the plate's triangles stay equilateral).
    jobs : int
        Processes, -1 for one per core. The samples do not depend on it.
    progress : callable, optional
        Called with the number done and the number wanted, for instance `Progress("blade")`.

    Returns
    -------
    samples : list of Sample
    """
    request = _request(name, nodes, seed, random_topology)
    if n_samples < 1:
        raise InputError(f"n_samples must be at least 1, found {n_samples}.")
    samples = []
    for sample in run(request, list(range(n_samples)), _unchanged, jobs):
        samples.append(sample)
        if progress:
            progress(len(samples), n_samples)
    return samples


def write(
    name: str,
    n_samples: int,
    folder: str | os.PathLike[str],
    *,
    nodes: int | None = None,
    seed: int = 0,
    random_topology: bool = False,
    test_fraction: float = 0.2,
    file_format: str = "vtu",
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Make a data set in a folder: ``table.csv``, ``shape.csv``, ``about.json`` and ``meshes/``.

    A run that was interrupted, even killed, goes on where it stopped when it is started again, and a folder
    with fewer samples is added to; both end with the bytes of an unbroken run. A folder that holds anything
    else is refused.

    Parameters
    ----------
    name, n_samples, nodes, seed, random_topology, jobs, progress
        As for `make`.
    folder : path
    test_fraction : float
        Share of the samples, the last ones, that the column ``split`` calls ``test``.
    file_format : {"vtu", "npz"}

    Returns
    -------
    table : pandas.DataFrame
        As `load` reads it.
    """
    write_folder(
        _request(name, nodes, seed, random_topology),
        folder,
        n_samples,
        test_fraction=test_fraction,
        file_format=file_format,
        jobs=jobs,
        progress=progress,
    )
    return load(folder)


def _request(name: str, nodes: int | None, seed: int, random_topology: bool) -> Request:
    if name not in GENERATORS:
        raise InputError(f"There is no generator {name!r}; there are {', '.join(GENERATORS)}.")
    generator = GENERATORS[name]
    return Request(generator, generator.nodes if nodes is None else nodes, seed, random_topology)


def _unchanged(sample: Sample) -> Sample:
    return sample

"""Data sets as users have them: a table with the paths of mesh files, numbers and targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from swwl import datasets
from swwl.mesh.graph import Graph
from swwl.mesh.io.npz import write_graph
from swwl.mesh.mesh import Mesh
from swwl_paper import published
from swwl_paper.meshsets import coarser, made
from swwl_paper.study import Study


@dataclass(frozen=True)
class FileSet:
    """Where a data set comes from.

    Attributes
    ----------
    title : str
    targets, scalars : tuple of str
    generator : str, optional
        Of a generated set.
    coarsened, random_topology : bool
        What becomes of a generated set's meshes.
    read : callable, optional
        Of a published set: returns a table of numbers and targets, and as many meshes or graphs.
    """

    title: str
    targets: tuple[str, ...]
    scalars: tuple[str, ...] = ()
    generator: str = ""
    coarsened: bool = False
    random_topology: bool = False
    read: Callable[[], tuple[pd.DataFrame, Sequence[Mesh | Graph]]] | None = None


def _generated(title: str, generator: str, *targets: str, **options: Any) -> FileSet:
    return FileSet(title, targets, tuple(datasets.GENERATORS[generator].scalars), generator, **options)


SETS = {
    "tensile2d": _generated("plates", "tensile2d", "max_von_mises"),
    "airfoil": _generated("airfoils", "airfoil", "drag", "lift", coarsened=True),
    "blade": _generated("blades", "blade", "efficiency", "massflow", coarsened=True),
    "blade-random": _generated("blades, random", "blade", "efficiency", "massflow", random_topology=True),
    "airfrans": FileSet(
        "AirfRANS", ("lift",), ("velocity", "incidence"), read=lambda: published.airfrans(published.contour)
    ),
    "naca0012": FileSet("NACA 0012", ("drag", "lift"), read=lambda: published.naca0012(published.contour)),
    "cars": FileSet("cars", ("drag",), read=published.cars),
    "polycrystals": FileSet("polycrystals", ("stiffness", "strength"), read=published.polycrystals),
    "trusses": FileSet("trusses", ("log_sag",), read=published.trusses),
    "crystals": FileSet("crystals", ("bandgap", "formation_energy"), read=published.crystals),
}


def table_of(study: Study, name: str, n: int, nodes: tuple[int, int], wanted: FileSet | None = None) -> pd.DataFrame:
    """Return n cases of a set, whose meshes stand in files: the first of a generated one, else any.

    Parameters
    ----------
    study : Study
    name : str
        A key of ``SETS``.
    n : int
    nodes : (int, int)
        Of a generated set's meshes, as generated and coarsened.
    wanted : FileSet, optional
        In place of that in ``SETS``.

    Returns
    -------
    DataFrame
        Columns ``mesh`` (paths), numbers, and targets.
    """
    wanted = wanted or SETS[name]
    if wanted.read is not None:
        table, items = wanted.read()
        rows = np.sort(np.random.default_rng([study.seed, len(table)]).permutation(len(table))[:n])
        return table.iloc[rows].assign(mesh=written(study, name, rows, items)).reset_index(drop=True)
    table = made(study, wanted.generator, n, nodes[0], random_topology=wanted.random_topology)
    if wanted.coarsened:
        table = coarser(study, table, wanted.generator, nodes[1])
    return table[["mesh", *wanted.scalars, *wanted.targets]]


def written(study: Study, name: str, rows: Any, items: Sequence[Mesh | Graph]) -> list[str]:
    """Write the meshes or graphs of some rows, the same bytes each time; return the paths."""
    folder = study.work("data", name)
    paths = [str(folder / f"{row:05}.npz") for row in rows]
    for path, row in zip(paths, rows, strict=True):
        item = items[row]
        if isinstance(item, Mesh):
            item.write(path)
        else:
            write_graph(path, item)
    return paths

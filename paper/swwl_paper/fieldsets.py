"""Meshes that carry a field, as each method of ``fields.py`` gets them: training cases first, then test cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from swwl import datasets
from swwl.mesh.io import read_mesh
from swwl.mesh.mesh import Mesh
from swwl_paper import published
from swwl_paper.study import Study


@dataclass(frozen=True)
class FieldSet:
    """Where meshes with a field come from.

    Attributes
    ----------
    title, field : str
    generator : str
        Of a generated set; "airfrans" is the one that is read.
    common : bool
        Whether all meshes share their cells.
    random_topology : bool
    """

    title: str
    field: str
    generator: str
    common: bool = False
    random_topology: bool = False


SETS = {
    "plates-stress": FieldSet("plates: von Mises stress", "von_mises", "tensile2d"),
    "plates-displacement": FieldSet("plates: displacement", "displacement", "tensile2d"),
    "blades-random": FieldSet("blades, random: pressure", "pressure", "blade", random_topology=True),
    "blades": FieldSet("blades: pressure", "pressure", "blade", common=True),
    "airfoils-random": FieldSet("airfoils, random: cp", "pressure_coefficient", "airfoil", random_topology=True),
    "airfoils": FieldSet("airfoils: cp", "pressure_coefficient", "airfoil", common=True),
    "airfrans": FieldSet("AirfRANS: cp", "cp", "airfrans"),
    "conductors": FieldSet("two conductors: potential", "potential", "capacitor", random_topology=True),
}


@dataclass(frozen=True)
class Cases:
    """Training and test cases of one data set.

    Attributes
    ----------
    field : str
    meshes : list of Mesh
        They carry the field.
    numbers : DataFrame
        Operating conditions, in the same order; perhaps without columns.
    n_train : int
    common : bool
    """

    field: str
    meshes: list[Mesh]
    numbers: pd.DataFrame
    n_train: int
    common: bool = False

    @property
    def values(self) -> list[np.ndarray]:
        """The field at the nodes of every mesh, (n, c)."""
        found = [np.asarray(mesh.fields[self.field], float) for mesh in self.meshes]
        return [field.reshape(len(field), -1) for field in found]

    @property
    def table(self) -> pd.DataFrame:
        """Columns ``mesh`` and the numbers."""
        return self.numbers.assign(mesh=pd.Series(self.meshes, index=self.numbers.index, dtype=object))

    @property
    def train(self) -> np.ndarray:
        """Numbers of the training cases."""
        return np.arange(self.n_train)

    @property
    def test(self) -> np.ndarray:
        """Numbers of the test cases."""
        return np.arange(self.n_train, len(self.meshes))


def load(study: Study, name: str, seed: int, n_train: int, n_test: int, nodes: int) -> Cases:
    """Make or read a data set.

    Parameters
    ----------
    study : Study
    name : str
        A key of ``SETS``.
    seed : int
        Of the generator; of the split of a published set.
    n_train, n_test, nodes : int
    """
    wanted = SETS[name]
    if wanted.generator == "airfrans":
        table, meshes = airfrans()
        order = np.random.default_rng(seed).permutation(len(meshes))[: n_train + n_test]
        return Cases(wanted.field, [meshes[k] for k in order], table.iloc[order].reset_index(drop=True), n_train)
    n = n_train + n_test
    key = f"{wanted.generator}-{'random' if wanted.random_topology else 'usual'}-{n}-{nodes}-{seed}"
    table = datasets.write_dataset(
        wanted.generator,
        n,
        study.work("fields", key),
        n_nodes=nodes,
        random_state=seed,
        random_topology=wanted.random_topology,
        test_fraction=n_test / n,
        n_jobs=study.n_jobs,
        progress=study.progress(f"{wanted.title}: meshes"),
    )
    scalars = list(datasets.GENERATORS[wanted.generator].scalars)
    read: Callable[[str], Mesh] = read_mesh
    return Cases(wanted.field, list(map(read, table["mesh"])), table[scalars], n_train, wanted.common)


def airfrans() -> tuple[pd.DataFrame, list[Mesh]]:
    """Read the rings of AirfRANS with their pressure coefficient, velocity and incidence."""
    table, contours = published.airfrans(published.contour)
    pressure = np.split(published.arrays("airfrans")["cp"].astype(float), np.cumsum([m.n_nodes for m in contours])[:-1])
    meshes = [mesh.with_fields({"cp": cp}) for mesh, cp in zip(contours, pressure, strict=True)]
    return table[["velocity", "incidence"]], meshes

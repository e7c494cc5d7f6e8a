"""What a generator hands on: one simulated sample, or the news that it cannot be solved.

The physics modules fill `Simulation`; ``generator.py`` adds the inputs and hands `Sample` to the caller or to
``generated.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.datasets.types import Floats
from swwl.mesh.mesh import Mesh


class Unsolvable(RuntimeError):
    """The model has no solution for these inputs (no convergence, choked, separated ...): draw others."""


@dataclass(frozen=True)
class Simulation:
    """A mesh with the fields on its nodes, and the numbers to predict.

    Attributes
    ----------
    mesh : Mesh
        Its points, cells and fields can also be had from the simulation itself, which `swwl.as_graph` takes.
    targets : dict of str to float
    """

    mesh: Mesh
    targets: dict[str, float]

    @property
    def points(self) -> Floats:
        """Points of the mesh, (n, 2) or (n, 3)."""
        return self.mesh.points

    @property
    def cells(self) -> Mapping[str, NDArray[np.int32]]:
        """Cells of the mesh by type, here always ``"triangle"``."""
        return self.mesh.cells

    @property
    def fields(self) -> Mapping[str, NDArray[Any]]:
        """Values (n,) at the nodes by name."""
        return self.mesh.fields


@dataclass(frozen=True)
class Sample(Simulation):
    """A simulation with its number in the design and the inputs that made it.

    Attributes
    ----------
    index : int
        Position in the design, from 0.
    scalars : dict of str to float
        The operating conditions or material constants: inputs of a model beside the mesh.
    shape : dict of str to float
        The parameters that drew the geometry: known here, hidden from a model that sees the mesh.
    redraws : int
        How often the inputs were drawn again because the model had no solution.
    """

    index: int
    scalars: dict[str, float]
    shape: dict[str, float]
    redraws: int

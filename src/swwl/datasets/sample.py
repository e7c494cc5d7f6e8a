"""What a generator hands on: one simulated sample, or the news that it cannot be solved.

The physics modules fill `Simulation`; ``generator.py`` adds the inputs and hands `Sample` to the caller or to
``generated.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swwl.datasets.types import Floats
from swwl.mesh.mesh import Mesh


class Unsolvable(RuntimeError):
    """The model has no solution for these inputs (no convergence, choked, separated ...): draw others."""


@dataclass(frozen=True)
class Simulation:
    """A mesh, the fields on its nodes, and the numbers to predict.

    Attributes
    ----------
    points : ndarray of shape (n, 2) or (n, 3)
    cells : dict of str to ndarray of shape (m, k)
        Node numbers by meshio cell type, here always ``"triangle"``.
    fields : dict of str to ndarray of shape (n,)
        Values at the nodes.
    targets : dict of str to float
    """

    points: Floats
    cells: dict[str, Any]
    fields: dict[str, Floats]
    targets: dict[str, float]

    @property
    def mesh(self) -> Mesh:
        """The mesh with its fields."""
        return Mesh(self.points, self.cells, self.fields)


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

"""Quasi-static finite elements: a mesh, a material and a pressure -> the stress under load.

Linear triangles in plane stress, the load raised in equal steps, Newton's method with the consistent
tangent of ``material.py`` in each. Linear systems are solved by conjugate gradients preconditioned with the
LU factors of an earlier tangent: a factorization costs as much as some ten solves, and the tangent changes
slowly.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import LinearOperator, SuperLU, cg, splu

from swwl.datasets.generator import Floats, Ints, Unsolvable
from swwl.datasets.tensile2d.material import Material, return_map, von_mises
from swwl.errors import InputError

LOAD_STEPS = (4, 8, 16)  # tried in this order until one converges
DURATION = 1.0  # seconds from zero to full load
_NEWTON_TOLERANCE = 1e-6  # residual force over applied force
_NEWTON_ITERATIONS = 25
_LARGEST_STRAIN = 10.0  # far beyond any that the theory of small strains allows: a sign of divergence
_REFACTOR_AFTER = 10  # conjugate gradient iterations that show the preconditioner to be stale


class Response(NamedTuple):
    """State under full load.

    Attributes
    ----------
    displacement : ndarray of shape (n, 2)
    stress : ndarray of shape (m, 3)
        (s11, s22, s12) per triangle.
    plastic : ndarray of shape (m,)
        Accumulated plastic strain per triangle.
    steps : int
        Load steps taken.
    """

    displacement: Floats
    stress: Floats
    plastic: Floats
    steps: int


class Elements:
    """Linear triangles: what links nodal displacements to strains, and stresses to nodal forces.

    Degrees of freedom are ordered x and y node by node: 0, 1 for node 0, and so on.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
        Counterclockwise.

    Examples
    --------
    >>> unit = Elements(np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([[0, 1, 2]]))
    >>> stretch = np.array([0, 0, 0.01, 0, 0, 0])
    >>> unit.strain(stretch).tolist(), unit.areas.tolist()
    ([[0.01, 0.0, 0.0]], [0.5])
    """

    def __init__(self, points: Floats, triangles: Ints) -> None:
        corners = points[triangles]
        following, preceding = np.roll(corners, -1, axis=1), np.roll(corners, -2, axis=1)
        opposite = preceding - following
        edge_1, edge_2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        twice_area = edge_1[:, 0] * edge_2[:, 1] - edge_1[:, 1] * edge_2[:, 0]
        if np.any(twice_area <= 0):
            raise InputError("Triangles must be counterclockwise and not flat.")
        gradient_x = -opposite[:, :, 1] / twice_area[:, None]
        gradient_y = opposite[:, :, 0] / twice_area[:, None]
        self.n_dofs = 2 * len(points)
        self.areas = twice_area / 2
        self.triangles = triangles
        self.dofs = np.stack([2 * triangles, 2 * triangles + 1], axis=2).reshape(-1, 6)
        self.operator = np.zeros((len(triangles), 3, 6))  # nodal displacements -> (e11, e22, 2 e12)
        self.operator[:, 0, 0::2] = gradient_x
        self.operator[:, 1, 1::2] = gradient_y
        self.operator[:, 2, 0::2] = gradient_y
        self.operator[:, 2, 1::2] = gradient_x

    def strain(self, displacement: Floats) -> Floats:
        """Strains (m, 3) of a displacement (2n,)."""
        strains: Floats = self.operator @ displacement[self.dofs][:, :, None]
        return strains[:, :, 0]

    def force(self, stress: Floats) -> Floats:
        """Nodal forces (2n,) that balance stresses (m, 3) of unit thickness."""
        local = (stress[:, None, :] @ self.operator)[:, 0, :] * self.areas[:, None]
        return cast(Floats, np.bincount(self.dofs.ravel(), local.ravel(), self.n_dofs))

    def at_nodes(self, values: Floats) -> Floats:
        """Nodal means (n,) of values (m,) per triangle, weighted by area."""
        corners, areas = self.triangles.ravel(), np.repeat(self.areas, 3)
        return np.bincount(corners, areas * np.repeat(values, 3)) / np.bincount(corners, areas)


class Stiffness:
    """Assembles tangent matrices on the free degrees of freedom; the sparsity pattern is found once.

    Parameters
    ----------
    elements : Elements
    free : ndarray of int
        Degrees of freedom that may move, ascending.
    """

    def __init__(self, elements: Elements, free: Ints) -> None:
        self._elements = elements
        number = np.full(elements.n_dofs, -1)
        number[free] = np.arange(len(free))
        rows = number[np.repeat(elements.dofs, 6, axis=1).ravel()]
        columns = number[np.tile(elements.dofs, (1, 6)).ravel()]
        self._kept = np.flatnonzero((rows >= 0) & (columns >= 0))
        rows, columns = rows[self._kept], columns[self._kept]
        pattern = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(free), len(free))).tocsc()
        pattern.sum_duplicates()
        self._indices, self._pointers, self._shape = pattern.indices, pattern.indptr, pattern.shape
        # Position of every local entry in the data array: columns are contiguous there, rows ascend within
        # one.
        column_of = np.repeat(np.arange(len(free)), np.diff(pattern.indptr))
        keys = column_of * len(free) + pattern.indices
        self._slots = np.searchsorted(keys, columns * len(free) + rows)

    def assemble(self, tangent: Floats) -> csc_array:
        """Return the stiffness for material tangents (m, 3, 3) or one (3, 3) for all."""
        operator, areas = self._elements.operator, self._elements.areas
        local = operator.transpose(0, 2, 1) @ (tangent @ operator) * areas[:, None, None]
        data = np.bincount(self._slots, local.ravel()[self._kept], len(self._indices))
        return csc_array((data, self._indices, self._pointers), shape=self._shape)


def pull(points: Floats, triangles: Ints, material: Material, pressure: float) -> Response:
    """Pull a plate upwards by a uniform pressure on its top edge, its bottom edge on rollers.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
    material : Material
    pressure : float
        In MPa, reached after `DURATION` seconds.

    Raises
    ------
    Unsolvable
        When Newton's method fails even with the most load steps.
    """
    elements = Elements(points, triangles)
    free, load = _supports_and_load(points)
    for steps in LOAD_STEPS:
        try:
            return load_path(elements, material, free, pressure * load, steps)
        except Unsolvable as failure:
            reason = failure
    raise reason


def nodal_von_mises(points: Floats, triangles: Ints, response: Response) -> Floats:
    """Von Mises stress (n,) at the nodes: the area-weighted mean over the triangles around each."""
    return Elements(points, triangles).at_nodes(von_mises(response.stress))


def load_path(elements: Elements, material: Material, free: Ints, load: Floats, steps: int) -> Response:
    """Raise a load (2n,) linearly from zero in equal steps over `DURATION` seconds.

    The start of each step extrapolates the last two states; all but the `free` degrees of freedom stay at
    zero.
    """
    stiffness = Stiffness(elements, free)
    solver = _StaleLU()
    displacement, previous = np.zeros(elements.n_dofs), np.zeros(elements.n_dofs)
    plastic_strain, plastic = np.zeros((len(elements.areas), 3)), np.zeros(len(elements.areas))
    for step in range(1, steps + 1):
        applied = load * (step / steps)
        displacement, previous = (2 * displacement - previous, displacement)
        for _ in range(_NEWTON_ITERATIONS):
            strain = elements.strain(displacement)
            if not np.abs(strain).max() < _LARGEST_STRAIN:
                raise Unsolvable(f"Newton's method diverged in load step {step} of {steps}.")
            state = return_map(strain, plastic_strain, plastic, material, DURATION / steps)
            residual = (applied - elements.force(state.stress))[free]
            error = np.linalg.norm(residual) / np.linalg.norm(applied)
            if error < _NEWTON_TOLERANCE:
                break
            matrix = stiffness.assemble(state.tangent)
            displacement[free] += solver.solve(matrix, residual, float(np.clip(error, 1e-6, 1e-2)))
        else:
            raise Unsolvable(f"Newton's method did not converge in load step {step} of {steps}.")
        plastic_strain, plastic = state.plastic_strain, state.plastic
    return Response(displacement.reshape(-1, 2), state.stress, plastic, steps)


def _supports_and_load(points: Floats) -> tuple[Ints, Floats]:
    """Free degrees of freedom, and the nodal forces (2n,) of a unit pressure on the top edge."""
    x, y = points.T
    bottom = np.flatnonzero(y < y.min() + 1e-9)
    corner = bottom[np.argmin(x[bottom])]
    held = np.append(2 * bottom + 1, 2 * corner)
    top = np.flatnonzero(y > y.max() - 1e-9)
    top = top[np.argsort(x[top])]
    half_lengths = np.diff(x[top]) / 2
    load = np.zeros(2 * len(points))
    load[2 * top[:-1] + 1] += half_lengths
    load[2 * top[1:] + 1] += half_lengths
    return np.setdiff1d(np.arange(2 * len(points)), held), load


class _StaleLU:
    """Conjugate gradients preconditioned by the factors of an earlier matrix, renewed when they have aged."""

    def __init__(self) -> None:
        self._factors: SuperLU | None = None

    def solve(self, matrix: csc_array, right_side: Floats, tolerance: float) -> Floats:
        if self._factors is None:
            self._factors = _factorize(matrix)
        iterations = 0

        def count(_: Floats) -> None:
            nonlocal iterations
            iterations += 1

        preconditioner = LinearOperator(matrix.shape, self._factors.solve)
        solution: Floats
        solution, _ = cg(matrix, right_side, rtol=tolerance, maxiter=60, M=preconditioner, callback=count)
        if iterations > _REFACTOR_AFTER:
            self._factors = _factorize(matrix)
            if iterations >= 60:
                solution = self._factors.solve(right_side)
        return solution


def _factorize(matrix: csc_array) -> SuperLU:
    symmetric = dict(SymmetricMode=True)
    try:
        return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)
    except RuntimeError as failure:
        raise Unsolvable(f"The stiffness matrix could not be factorized: {failure}.") from failure

"""Fields carried to one reference mesh by optimal transport and back, exact or entropic.

The features of nodes are Weisfeiler-Lehman iterations of their coordinates and, on surfaces and contours, normals. A
plan P between the uniform measures of a mesh and of the reference carries a field u to the reference as P'u over the
reference's masses, and one on the reference back as Pv over the mesh's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from swwl.embedding.wl import neighbor_average, wl_iterations
from swwl.fields.geometry.descriptors import has_normals, node_normals
from swwl.mesh.mesh import Mesh
from swwl_paper.study import Skipped

MOST_NODES = 1000  # of a mesh that take part in a plan; the others have the values of those around them
NORMALS = 1.5  # weight of normals, in deviations of coordinates
ITERATIONS = 3
_LARGE = 30.0  # logarithm of a scaling that is taken into the potentials
_NEAR = 8  # nodes of which another's value is made


class Transport:
    """Plans between meshes and a reference.

    Parameters
    ----------
    reference : Mesh
    deviations : ndarray of shape (d,)
        Of the coordinates of all training nodes, which are the units of features.
    """

    def __init__(self, reference: Mesh, deviations: np.ndarray):
        self.deviations = deviations
        self.nodes = _some(reference.n_nodes)
        self.features = node_features(reference, deviations)[self.nodes]

    def plans(self, mesh: Mesh, entropies: Sequence[float]) -> list[Plan]:
        """Return the plans of one mesh.

        Parameters
        ----------
        mesh : Mesh
        entropies : sequence of float
            Regularizations over the largest cost, falling; or 0 alone for the exact plan.
        """
        nodes = _some(mesh.n_nodes)
        cost = cdist(node_features(mesh, self.deviations)[nodes], self.features, "sqeuclidean")
        cost /= max(float(cost.max()), 1e-300)
        found = [exact_plan(cost)] if list(entropies) == [0.0] else entropic_plans(cost, entropies)
        return [Plan(mesh, nodes, coupling) for coupling in found]


class Plan:
    """A plan between some nodes of a mesh and those of the reference, rows and columns of it with sums one."""

    def __init__(self, mesh: Mesh, nodes: np.ndarray, coupling: np.ndarray):
        self._mesh, self._nodes = mesh, nodes
        self._back = (coupling / coupling.sum(axis=1, keepdims=True)).astype(np.float32)
        self._there = (coupling / coupling.sum(axis=0)).astype(np.float32)

    def encode(self, field: np.ndarray) -> np.ndarray:
        """Carry a field (n, c) to the reference, (m, c)."""
        return np.asarray(self._there.T @ field[self._nodes], float)

    def decode(self, field: np.ndarray) -> np.ndarray:
        """Carry a field on the reference (m, c) back, (n, c)."""
        found = np.asarray(self._back @ field, float)
        if len(self._nodes) == self._mesh.n_nodes:
            return found
        points = self._mesh.points
        distance, near = cKDTree(points[self._nodes]).query(points, k=min(_NEAR, len(self._nodes)))
        weights = 1 / np.maximum(distance, 1e-9 * float(np.ptp(points, axis=0).max()))
        weights /= weights.sum(axis=1, keepdims=True)
        return np.einsum("nk,nkc->nc", weights, found[near])


def node_features(mesh: Mesh, deviations: np.ndarray) -> np.ndarray:
    """Return the features of all nodes.

    Examples
    --------
    >>> node_features(Mesh([[0.0, 0], [2, 0], [0, 2]], [[0, 1, 2]]), np.ones(2)).shape
    (3, 8)
    """
    graph = mesh.graph()
    steps = wl_iterations(neighbor_average(graph), mesh.points / deviations, ITERATIONS)
    blocks = [step / np.sqrt(len(steps)) for step in steps]
    return np.hstack([*blocks, NORMALS * node_normals(mesh)] if has_normals(mesh) else blocks)


def _some(n: int) -> np.ndarray:
    """Return all nodes, or some of too many."""
    return np.arange(n) if n <= MOST_NODES else np.sort(np.random.default_rng(0).permutation(n)[:MOST_NODES])


def exact_plan(cost: np.ndarray) -> np.ndarray:
    """Return an optimal plan between uniform measures."""
    n, m = cost.shape
    return np.asarray(transport_library().emd(np.full(n, 1 / n), np.full(m, 1 / m), cost, numItermax=1_000_000))


def entropic_plans(
    cost: np.ndarray, entropies: Sequence[float], tolerance: float = 1e-2, most: int = 400
) -> Iterator[np.ndarray]:
    """Yield the entropic plans between uniform measures of several regularizations: Sinkhorn's, stabilized.

    The regularization falls by factors of at most four and passes all that are requested, each beginning with the
    potentials of the one before; scalings that grow large are taken into the potentials, so that nothing overflows
    (Schmitzer, 2019, algorithm 2). Kernels are in single precision.

    Parameters
    ----------
    cost : ndarray of shape (n, m)
        Up to one.
    entropies : sequence of float
        Falling.
    tolerance : float
        Largest relative deviation of a row's sum.
    most : int
        Iterations at each regularization, at which a plan is taken as it is.

    Examples
    --------
    >>> plan = next(entropic_plans(np.array([[0.0, 1.0], [1.0, 0.0]]), [0.5]))
    >>> (plan / plan.sum()).astype(float).round(3).tolist()
    [[0.44, 0.06], [0.06, 0.44]]
    """
    n, m = cost.shape
    f, g, step = np.zeros(n), np.zeros(m), 1.0

    def kernel() -> np.ndarray:
        return np.exp(((f[:, None] + g - cost) / step).astype(np.float32))

    for entropy in entropies:
        parts = max(1, int(np.ceil(np.log(step / entropy) / np.log(4))))
        for step in step * (entropy / step) ** (np.arange(1, parts + 1) / parts):  # noqa: B020
            f, g = _softened(cost, step, f, g)
            plan, u, v = kernel(), np.ones(n, np.float32), np.ones(m, np.float32)
            for iteration in range(most):
                u = 1 / n / np.maximum(plan @ v, 1e-30)
                v = 1 / m / np.maximum(plan.T @ u, 1e-30)
                if max(np.abs(np.log(u)).max(), np.abs(np.log(v)).max()) > _LARGE:
                    f, g = f + step * np.log(u), g + step * np.log(v)
                    plan, u, v = kernel(), np.ones(n, np.float32), np.ones(m, np.float32)
                if iteration % 20 == 19 and np.abs(n * u * (plan @ v) - 1).max() < tolerance:
                    break
            f, g = f + step * np.log(u), g + step * np.log(v)
        yield kernel()


def _softened(cost: np.ndarray, entropy: float, f: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Make one iteration on logarithms, from which on no kernel vanishes."""
    n, m = cost.shape
    f = -entropy * (logsumexp((g - cost) / entropy, axis=1) + np.log(n))
    return f, -entropy * (logsumexp((f[:, None] - cost) / entropy, axis=0) + np.log(m))


def transport_library() -> Any:
    """Return POT."""
    try:
        import ot
    except ImportError:
        raise Skipped("transport needs POT: pip install 'swwl[baselines]'") from None
    return ot

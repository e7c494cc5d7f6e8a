import itertools

import numpy as np
import pytest

from swwl import Graph
from swwl.mesh.adjacency import cells_adjacency
from swwl.mesh.cells import _EDGES, _NODES, CELL_TYPES, cell_edges


@pytest.mark.parametrize("n_nodes", [40, 2**16, 2**16 + 1, 100_000])
@pytest.mark.parametrize("kind", CELL_TYPES)
def test_the_same_as_from_edges(kind, n_nodes):
    """Bit for bit the matrix of a graph of these edges, shared ones, repeated ones and loops included."""
    rng = np.random.default_rng(0)
    size = 7 if kind == "polygon" else _NODES[kind]
    cells = rng.integers(n_nodes - 40, n_nodes, (300, size)).astype(np.int32)  # with equal nodes in many a cell
    cells[-1] = n_nodes - 1
    adjacency = cells_adjacency({kind: cells, "vertex": cells[:, :1]}, n_nodes)
    expected = Graph(np.zeros((n_nodes, 1)), cell_edges(kind, cells)).adjacency
    for name in ("indptr", "indices", "data"):
        ours, theirs = getattr(adjacency, name), getattr(expected, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert adjacency.has_canonical_format


def test_no_cells():
    assert cells_adjacency({}, 3).nnz == 0
    assert cells_adjacency({"triangle": np.empty((0, 3), np.int32)}, 3).nnz == 0


def test_edges_of_cells_with_inner_nodes():
    """By VTK's own coordinates of the nodes: no edge is longer than half a cell."""
    vtk = pytest.importorskip("vtk", reason="VTK is not installed")
    classes = {
        "triangle7": vtk.vtkBiQuadraticTriangle,
        "quad6": vtk.vtkQuadraticLinearQuad,
        "quad9": vtk.vtkBiQuadraticQuad,
        "wedge12": vtk.vtkQuadraticLinearWedge,
        "wedge18": vtk.vtkBiQuadraticQuadraticWedge,
        "hexahedron20": vtk.vtkQuadraticHexahedron,
        "hexahedron24": vtk.vtkBiQuadraticQuadraticHexahedron,
        "hexahedron27": vtk.vtkTriQuadraticHexahedron,
    }
    for kind, make in classes.items():
        cell = make()  # which owns the coordinates
        parametric = cell.GetParametricCoords()
        points = np.array([parametric[k] for k in range(3 * _NODES[kind])]).reshape(-1, 3)
        lengths = {(a, b): np.linalg.norm(points[a] - points[b]) for a, b in _EDGES[kind]}
        assert len({frozenset(edge) for edge in _EDGES[kind]}) == len(_EDGES[kind])
        whole = {"quad6", "wedge12"}  # some of whose edges have no middle node
        assert max(lengths.values()) <= (1 if kind in whole else 0.75), kind
        if kind.startswith(("hexahedron", "quad9")):
            near = itertools.combinations(range(len(points)), 2)
            halves = {pair for pair in near if np.isclose(np.linalg.norm(points[pair[0]] - points[pair[1]]), 0.5)}
            assert halves == {tuple(sorted(edge)) for edge in _EDGES[kind]}

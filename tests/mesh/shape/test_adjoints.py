"""How sizes and normals change with the nodes, against central differences: every cell type."""

import numpy as np
import pytest

from swwl.mesh.boundary import piece_normals
from swwl.mesh.cells import CELL_TYPES, cell_dimension, local_edges, lumped_measures
from swwl.mesh.shape.adjoints import lumped_measures_back, pieces_back, simplex_sizes_back
from swwl.mesh.shape.sampling import simplex_sizes
from tests.helpers import assert_slope


def n_nodes(kind):
    return 6 if kind == "polygon" else max(max(edge) for edge in local_edges(kind, 0)) + 1


@pytest.mark.parametrize(
    ("kind", "dimension"), [(kind, d) for kind in CELL_TYPES for d in range(cell_dimension(kind), 4)]
)
def test_lumped_measures_of_every_cell_type(kind, dimension):
    rng = np.random.default_rng(0)
    n = n_nodes(kind)
    cells = {kind: np.array([rng.permutation(n + 3)[:n] for _ in range(3)], np.int32)}
    points, displacement = rng.normal(size=(2, n + 3, dimension))
    weights = rng.normal(size=n + 3)
    found = lumped_measures_back(points, cells, weights)
    assert_slope((found * displacement).sum(), lambda h: weights @ lumped_measures(points + h * displacement, cells))


@pytest.mark.parametrize(("corners", "dimension"), [(2, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 3)])
def test_simplex_sizes(corners, dimension):
    rng = np.random.default_rng(1)
    simplices = np.array([rng.permutation(9)[:corners] for _ in range(7)], np.int32)
    points, displacement = rng.normal(size=(2, 9, dimension))
    weights = rng.normal(size=7)
    found = simplex_sizes_back(points, simplices, weights)
    assert_slope((found * displacement).sum(), lambda h: weights @ simplex_sizes(points + h * displacement, simplices))


@pytest.mark.parametrize("dimension", [2, 3])
def test_normals(dimension):
    rng = np.random.default_rng(2)
    pieces = np.array([rng.permutation(9)[:dimension] for _ in range(7)], np.int32)
    points, displacement = rng.normal(size=(2, 9, dimension))
    weights = rng.normal(size=(7, dimension))
    found = pieces_back(points, pieces, weights)
    assert_slope(
        (found * displacement).sum(),
        lambda h: (weights * piece_normals(points + h * displacement, pieces)).sum(),
    )


def test_cells_of_no_size_have_no_slope():
    points = np.zeros((3, 2))
    assert not lumped_measures_back(points, {"triangle": np.array([[0, 1, 2]], np.int32)}, np.ones(3)).any()

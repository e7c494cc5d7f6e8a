import itertools

import numpy as np
import pytest

from swwl.mesh.cells import CELL_TYPES, cell_edges, cell_measures, check_cells, lumped_measures

UNIT = {
    "line": ([[0, 0, 0], [1, 0, 0]], 1),
    "triangle": ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], 1 / 2),
    "quad": ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], 1),
    "tetra": ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], 1 / 6),
    "pyramid": ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]], 1 / 3),
    "wedge": ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], 1 / 2),
    "hexahedron": ([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], 1),
}
EDGES = {"line": 1, "triangle": 3, "quad": 4, "tetra": 6, "pyramid": 8, "wedge": 9, "hexahedron": 12}


@pytest.mark.parametrize("kind", UNIT)
def test_unit_cells_have_their_edges_and_size(kind):
    points, size = UNIT[kind]
    points = np.array(points, float)
    cells = np.arange(len(points), dtype=np.int32)[None]
    edges = cell_edges(kind, cells)
    assert len({tuple(sorted(edge)) for edge in edges.tolist()}) == EDGES[kind] == len(edges)
    assert cell_measures(points, kind, cells) == pytest.approx(size)
    # Volume follows the determinant of any affine map.
    matrix = np.random.default_rng(0).standard_normal((3, 3))
    if kind in ("tetra", "pyramid", "wedge", "hexahedron"):
        assert cell_measures(points @ matrix, kind, cells) == pytest.approx(size * abs(np.linalg.det(matrix)))


@pytest.mark.parametrize("kind", ["line3", "triangle6", "quad8", "tetra10", "pyramid13", "wedge15", "hexahedron20"])
def test_quadratic_cells_are_cut_at_midside_nodes(kind):
    linear = kind.rstrip("0123456789")
    corners = np.array(UNIT[linear][0], float)
    n = len(corners)
    middles = [corners[list(edge)].mean(0) for edge in cell_edges(linear, np.arange(n, dtype=np.int32)[None])]
    points = np.vstack([corners, middles])
    cells = np.arange(len(points), dtype=np.int32)[None]
    edges = cell_edges(kind, cells)
    assert len(edges) == 2 * EDGES[linear]
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    whole = [np.linalg.norm(corners[a] - corners[b]) for a, b in cell_edges(linear, np.arange(n, dtype=np.int32)[None])]
    assert lengths.sum() == pytest.approx(sum(whole))
    assert cell_measures(points, kind, cells) == pytest.approx(UNIT[linear][1])


def test_every_type_uses_each_of_its_nodes():
    for kind in CELL_TYPES:
        if kind != "polygon":
            edges = cell_edges(kind, np.arange(30, dtype=np.int32)[None])
            assert set(edges.ravel().tolist()) == set(range(edges.max() + 1)), kind


def test_polygon_and_lumped_sizes():
    angle = np.arange(6) * np.pi / 3
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    cells = np.arange(6, dtype=np.int32)[None]
    assert cell_measures(points, "polygon", cells) == pytest.approx(1.5 * np.sqrt(3))
    assert len(cell_edges("polygon", cells)) == 6
    np.testing.assert_allclose(lumped_measures(points, {"polygon": cells}), np.sqrt(3) / 4)


def test_only_cells_of_the_highest_dimension_are_lumped():
    points = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    tetra = np.array([[0, 1, 2, 4]], np.int32)
    line = np.array([[6, 7]], np.int32)
    weights = lumped_measures(points, {"line": line, "tetra": tetra})
    assert weights.sum() == pytest.approx(1 / 6)
    assert weights[[6, 7]].sum() == 0


@pytest.mark.parametrize(
    ("kind", "cells", "message"),
    [
        ("prism", [[0, 1, 2]], "'prism' are not known. Known types: line"),
        ("triangle", [[0, 1, 2, 3]], "'triangle' have 3 nodes, not 4"),
        ("triangle", [[0, 1, 9]], r"Cell 0 of type 'triangle' joins nodes \[0, 1, 9\], but nodes are numbered 0 to 3"),
        ("triangle", [[0, 1, -1]], "numbered 0 to 3"),
        ("triangle", [0, 1, 2], r"\(m, k\) array"),
    ],
)
def test_bad_cells_are_named(kind, cells, message):
    with pytest.raises(ValueError, match=message):
        check_cells(kind, cells, 4)


def test_cells_must_be_integers():
    with pytest.raises(TypeError, match="must hold integers, but hold float64"):
        check_cells("triangle", [[0.0, 1.0, 2.0]], 4)

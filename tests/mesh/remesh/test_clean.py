"""Cells that say nothing are left out: predictions are those of the clean mesh."""

import warnings

import numpy as np
import pandas as pd
import pytest

from swwl import FieldRegressor, Mesh, RobustGPRegressor
from swwl.errors import LeftOutWarning, OddCellsWarning
from swwl.mesh.remesh.clean import OddCells, cleaned, odd_cells
from tests.helpers import plate
from tests.mesh.shapes import solid


def plates(n, seed=0):
    """Plates of several widths, with a field, and what is asked of them."""
    widths = np.random.default_rng(seed).uniform(1, 2, n)
    found = []
    for k, width in enumerate(widths):
        points, cells = plate(120, k, width)
        found.append(Mesh(points, cells, {"T": points[:, 0] * width}))
    return pd.DataFrame({"mesh": pd.Series(found, dtype=object)}), widths**2


def with_odd_cells(mesh, kind):
    """The same mesh with cells that say nothing."""
    points, cells = mesh.points, mesh.cells["triangle"]
    fields = mesh.fields
    if kind == "repeated nodes":
        cells = np.vstack([cells, [[0, 0, 1]]])
    elif kind == "sliver":
        middle = points[cells[0, :2]].mean(axis=0)
        points = np.vstack([points, middle])
        cells = np.vstack([cells, [[cells[0, 0], cells[0, 1], len(points) - 1]]])
        fields = {"T": np.append(fields["T"], 0.0)}
    else:
        cells = np.vstack([cells, cells[3:8, [1, 0, 2]]])
    return Mesh(points, cells, fields)


KINDS = {"repeated nodes": OddCells(1, 0), "sliver": OddCells(1, 0), "twice": OddCells(0, 5)}


@pytest.fixture(scope="module")
def fitted():
    table, y = plates(16)
    return RobustGPRegressor(calibrate=False).fit(table, y)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_clean_mesh(fitted, kind):
    table, _ = plates(1, seed=9)
    odd = with_odd_cells(table["mesh"][0], kind)
    assert odd_cells(odd) == KINDS[kind]
    with pytest.warns(LeftOutWarning):
        found = fitted.predict(pd.DataFrame({"mesh": [odd]}), return_std=True)
    np.testing.assert_allclose(found, fitted.predict(table, return_std=True), rtol=1e-9)


def test_fields_are_those_of_the_clean_mesh():
    table, _ = plates(12)
    model = FieldRegressor(calibrate=False, n_modes=2, basis_size=40).fit(table[:11], "T")
    clean = table["mesh"][11]
    with pytest.warns(OddCellsWarning, match="A mesh: 5 repeated cells are left out"):
        (found,) = model.predict(pd.DataFrame({"mesh": [with_odd_cells(clean, "twice")]}))
    np.testing.assert_allclose(found["T"], model.predict(table[11:])[0]["T"], rtol=1e-9)


def test_a_clean_mesh_stays_the_same_object():
    for mesh in (Mesh(*plate(50)), solid([(0, 0, 0), (1, 0, 0)], "hexahedron", np.random.default_rng(0))):
        assert cleaned(mesh) is mesh


def test_thin_cells_stay_however_far_from_the_origin():
    """Boundary layers have aspect ratios of a million."""
    points = np.array([[0.0, 0], [1, 0], [1, 1e-6], [0, 1e-6], [1, 1], [0, 1]])
    mesh = Mesh(points, {"quad": [[0, 1, 2, 3], [3, 2, 4, 5]]})
    assert cleaned(mesh) is mesh
    far = Mesh(1e-3 * points + [100.0, 0], mesh.cells)
    assert cleaned(far) is far


def test_quadrilaterals_that_are_triangles_and_springs_of_no_length_stay():
    points = [[0, 0], [1, 0], [0, 1], [1, 1], [1, 1]]
    mesh = Mesh(points, {"quad": [[0, 1, 2, 2], [1, 3, 2, 2]], "line": [[3, 4]]})
    assert odd_cells(mesh) == (0, 0)


def test_flat_solids_go_and_a_mesh_of_nothing_else_stays():
    rng = np.random.default_rng(0)
    block = solid([(0, 0, 0), (1, 0, 0), (0, 1, 0)], "tetra", rng)
    flat = np.vstack([block.cells["tetra"], [block.cells["tetra"][0][[0, 1, 2, 2]]]])
    assert odd_cells(Mesh(block.points, {"tetra": flat})) == (1, 0)
    degenerate = Mesh([[0, 0], [1, 0], [2, 0]], [[0, 1, 2]])
    assert cleaned(degenerate) is degenerate


def test_cell_fields_and_groups_follow():
    mesh = Mesh(
        [[0, 0], [1, 0], [0, 1], [1, 1]],
        [[0, 0, 1], [0, 1, 2], [1, 3, 2], [2, 1, 0]],
        cell_fields={"part": [9, 1, 2, 9]},
        groups={"right": {"triangle": [2, 3]}, "bad": {"triangle": [0]}, "tip": [3]},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddCellsWarning)
        found = cleaned(mesh)
    assert found.cell_fields["part"].tolist() == [1, 2]
    assert found.groups["right"].cells["triangle"].tolist() == [1]
    assert set(found.groups) == {"right", "tip"}

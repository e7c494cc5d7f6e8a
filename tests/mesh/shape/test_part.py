"""Numbers of a part: closed forms, what they do and do not depend on, and their derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swwl import InputError, Mesh
from swwl.mesh.shape.part import MEASURES, part_columns, part_number_names, part_numbers, part_row, part_row_back
from tests.helpers import assert_slope
from tests.mesh.shapes import pixels, ring, sheet, shuffled, solid, sphere


def named(mesh):
    names = [name for own in part_number_names(mesh.dimension).values() for name in own]
    return dict(zip(names, part_row(mesh).tolist(), strict=True))


def test_numbers_of_a_block():
    block = solid(np.array([[0, 0, 0]]), "tetra", np.random.default_rng(0))
    found = named(Mesh(block.points * [4.0, 2.0, 1.0], block.cells))
    assert found["log inside"] == pytest.approx(np.log(8), abs=1e-3)
    assert found["log skin"] == pytest.approx(np.log(28))
    assert found["log box side x"] == pytest.approx(np.log(4), abs=1e-3)
    assert found["log deviation of inside, x"] == pytest.approx(np.log(4 / np.sqrt(12)), abs=2e-3)
    assert found["skin towards +x: share"] == pytest.approx(2 / 28)
    assert found["corners: total"] == pytest.approx(1.0)
    assert found["offset of inside, x"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_names_and_numbers_go_together(dimension):
    mesh = ring(9) if dimension == 2 else sphere(1)
    names, found = part_number_names(dimension), part_numbers(mesh)
    assert list(names) == list(found) == list(MEASURES)
    assert [len(own) for own in names.values()] == [len(own) for own in found.values()]
    row = part_row(mesh)
    for name, own in found.items():
        d, places = part_columns(len(row), [name])
        assert d == dimension
        np.testing.assert_array_equal(row[places], own)
    with pytest.raises(InputError, match="not that of a part"):
        part_columns(7, ["sizes"])


def test_numbering_and_finer_cells_do_not_count():
    rng = np.random.default_rng(0)
    places = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    mesh = solid(places, "hexahedron", rng)
    steps = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    finer = solid((2 * places[:, None] + steps).reshape(-1, 3), "wedge", rng)
    for other in (shuffled(mesh, rng), Mesh(finer.points / 2, finer.cells)):
        np.testing.assert_allclose(part_row(other), part_row(mesh), atol=1e-10)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.01, 100), st.floats(-5, 5))
def test_size_and_place_change_what_they_should(size, shift):
    rng = np.random.default_rng(0)
    mesh = pixels(np.array([[0, 0], [1, 0], [0, 1], [0, 2]]), "triangle", rng)
    one, other = named(mesh), named(Mesh(size * mesh.points + shift, mesh.cells))
    for name, value in one.items():
        power = 0
        if name.startswith("log") and "facing" not in name:
            power = 2 if name == "log inside" else 1
        if not name.startswith("center"):
            assert other[name] == pytest.approx(value + power * np.log(size), abs=1e-7), name


@pytest.mark.parametrize("mesh", [sphere(1), sheet(4), ring(7)], ids=["closed", "open", "contour"])
def test_the_adjoint_is_the_transposed_derivative(mesh):
    rng = np.random.default_rng(0)
    mesh = Mesh(mesh.points + 0.02 * rng.normal(size=mesh.points.shape), mesh.cells)
    direction = rng.normal(size=mesh.points.shape)
    row = part_row(mesh)
    back = part_row_back(mesh, np.eye(len(row)))
    found = np.einsum("nd,ndk->k", direction, back)
    assert_slope(found, lambda h: part_row(Mesh(mesh.points + h * direction, mesh.cells)), rtol=1e-5, scale=10.0)


def test_a_mesh_without_a_skin_is_refused():
    with pytest.raises(InputError, match="have no skin"):
        part_numbers(Mesh([[0, 0, 0], [1, 0, 0], [1, 2, 0]], [[0, 1], [1, 2]]))

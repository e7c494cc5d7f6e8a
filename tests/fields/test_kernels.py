"""Walls in a field regressor's parts: descriptors, a basis with a factor, shapes as inputs of processes."""

import numpy as np
import pytest

from swwl import datasets
from swwl.errors import InputError
from swwl.fields.geometry.descriptors import Describer, check_recipe, n_factors
from swwl.fields.geometry.walls import inner_loops, loop_features
from swwl.fields.kernels import WallShapes
from swwl.fields.modes import SmoothBasis, choose_centers, gram
from swwl.mesh.mesh import Mesh


def describer_of(mesh):
    return Describer(2, 1.0, False, loop_features(mesh, inner_loops(mesh)))


@pytest.fixture(scope="module")
def airfoils():
    return datasets.make_airfoil(4, n_nodes=500, random_topology=True)["mesh"].tolist()


def test_around_bodies_nodes_have_a_place_on_the_disc_and_a_gain(airfoils):
    describer = describer_of(airfoils[0])
    blocks = [describer.blocks(mesh) for mesh in airfoils]
    describer = describer.scaled(blocks)
    assert list(describer.recipes())[:2] == ["walls, gain", "walls"]
    recipe = describer.recipes()["walls, gain"]
    stacked = describer.stack(blocks[0], dict(reversed(recipe.items())))
    assert stacked.shape == (airfoils[0].n_nodes, 3) and n_factors(recipe) == 1
    assert np.hypot(*stacked[:, :2].T).max() < 1 + 1e-6
    assert np.array_equal(stacked[:, 2], blocks[0]["gain"][:, 0])


def test_a_factor_repeats_all_functions():
    rng = np.random.default_rng(0)
    places, factor = rng.normal(size=(50, 2)), rng.uniform(1, 3, 50)
    centers = choose_centers([places], 10)
    plain, twice = SmoothBasis.of(centers, 1.0), SmoothBasis.of(centers, 1.0, factors=1)
    rows = np.column_stack([places, factor])
    np.testing.assert_allclose(twice(rows), np.hstack([plain(places), factor[:, None] * plain(places)]))
    assert twice.size == 20 and gram(twice, rows, np.ones(50), np.ones((50, 1)))[0].shape == (20, 20)
    assert np.array_equal(twice.places(rows), plain.places(places))


def test_pressure_around_an_ellipse_is_smooth_but_for_the_gain():
    """1 - gain² |v|² with v the flow around a circle: a basis with the factor holds it, one without does not."""
    turns = 2 * np.pi * np.arange(80) / 80
    radii = np.exp(np.linspace(0, 2, 12))[:, None]
    zeta = (radii * np.exp(1j * turns)).ravel()
    z = 0.55 * zeta + 0.45 / zeta
    rows = [np.column_stack([k * 80 + np.arange(80), k * 80 + np.roll(np.arange(80), -1)]) for k in range(12)]
    quads = np.vstack([np.column_stack([a, b[:, ::-1]]) for a, b in zip(rows[:-1], rows[1:], strict=True)])
    mesh = Mesh(np.column_stack([z.real, z.imag]), {"quad": quads})
    pressure = 1 - np.abs((1 - 1 / zeta**2) / (1 - 0.45 / 0.55 / zeta**2)) ** 2
    describer = describer_of(mesh)
    blocks = describer.blocks(mesh)
    describer = describer.scaled([blocks])
    errors = {}
    for name in ("walls", "walls, gain"):
        recipe = describer.recipes()[name]
        stacked = describer.stack(blocks, recipe)
        basis = SmoothBasis.of(choose_centers([stacked[:, :2]], 40 // (1 + n_factors(recipe))), 1.5, n_factors(recipe))
        phi = basis(stacked)
        fitted = phi @ np.linalg.solve(phi.T @ phi + 1e-6 * np.eye(basis.size), phi.T @ (pressure - 1))
        errors[name] = np.abs(fitted - (pressure - 1)).max()
    assert errors["walls, gain"] < 0.3 * errors["walls"]


def test_wall_shapes_do_not_see_the_mesh():
    coarse = datasets.make_airfoil(5, n_nodes=700)["mesh"].tolist()
    fine = datasets.make_airfoil(5, n_nodes=2000)["mesh"].tolist()
    factor = WallShapes("mesh", n_components=3)
    rows = factor.fit(coarse)
    assert np.abs(factor.represent(fine) - rows).max() < 0.05
    np.testing.assert_allclose(factor.represent(coarse), rows, atol=1e-9)
    assert factor.range_names()[0] == "mesh (component 1)"


def test_what_has_no_walls_is_refused(airfoils):
    plate = Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
    with pytest.raises(InputError, match="needs meshes with bodies in a plane domain"):
        WallShapes("mesh").fit([plate, plate])
    with pytest.raises(InputError, match="has 0 inner loops, but the first training mesh has 1"):
        describer_of(airfoils[0]).blocks(plate)
    with pytest.raises(InputError, match="'gain' only"):
        check_recipe({"gain": 1.0}, ["gain", "wall"])

"""Coefficients, modes, warps, values and scores of fields: closed forms and invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl import InputError, Mesh
from swwl.fields.geometry.descriptors import Describer, box, check_recipe, has_normals, node_normals
from swwl.fields.modes import Nodal, Smooth, SmoothBasis, choose_centers, gram, pack, unpack
from swwl.fields.numbers import derived_number
from swwl.fields.scores import mesh_score, pooled
from swwl.fields.values import (
    WARPS,
    FieldKind,
    Warp,
    cells_to_nodes,
    node_weights,
    nodes_of_means,
    nodes_to_cells,
    possible_warps,
)
from tests.helpers import central_slope


def smooth_fields(n_meshes=12, rank=2, seed=0, shrinkage=1e-8):
    """Fields that are mixtures of a few functions, on clouds of one dimension that all differ."""
    rng = np.random.default_rng(seed)
    basis = SmoothBasis.of(np.linspace(-1, 1, 12)[:, None], 0.8)
    functions = [np.sin, np.cos, lambda x: x**2][:rank]
    sizes = rng.normal(size=(n_meshes, rank))
    parts, clouds = [], []
    for a in sizes:
        x = np.sort(rng.uniform(-1, 1, 80))[:, None]
        y = sum(w * f(2 * x) for w, f in zip(a, functions, strict=True))
        weights = np.full(80, 1 / 80)
        g, h = gram(basis, x, weights, y)
        parts.append((pack(g), h, float(weights @ (y**2).sum(axis=1))))
        clouds.append((x, y))
    grams, loads, squares = (np.array(part) for part in zip(*parts, strict=True))
    return basis, Smooth(grams, loads, squares, np.full(n_meshes, 80.0), shrinkage), clouds


def test_fields_of_rank_two_have_two_modes_and_come_back():
    basis, encoded, clouds = smooth_fields()
    modes, sizes = encoded.modes(np.arange(12), 6)
    assert modes.variances[2:].sum() < 1e-5 * modes.variances.sum()
    for (x, y), a in zip(clouds, sizes, strict=True):
        base, shapes = modes.at(basis(x))
        assert np.abs(base + shapes @ a - y).max() < 0.01


def test_a_field_that_was_not_among_the_training_ones_is_encoded():
    basis, encoded, clouds = smooth_fields()
    modes, _ = encoded.modes(np.arange(9), 4)
    base, shapes = modes.at(basis(clouds[11][0]))
    assert np.abs(base + shapes @ encoded.encode(modes, 11) - clouds[11][1]).max() < 0.02


def test_strong_shrinkage_leaves_the_prior():
    _, encoded, _ = smooth_fields(shrinkage=1e9)
    prior = np.random.default_rng(0).normal(size=encoded.loads.shape)
    modes, _ = encoded.modes(np.arange(12), 3, prior)
    assert np.allclose(modes.mean, prior.mean(axis=0), atol=1e-6)


def test_nodal_modes_are_principal_components():
    values = np.random.default_rng(1).normal(size=(9, 2, 20))
    encoded = Nodal(values, np.full(20, 1 / 20))
    modes, sizes = encoded.modes(np.arange(9), 30)
    assert modes.number == 8
    back = modes.coefficients(sizes)
    assert np.allclose(back, values)
    assert np.allclose(encoded.encode(modes, 3), sizes[3])
    flat = (values - values.mean(axis=0)).reshape(9, -1)
    assert np.allclose(modes.variances, np.linalg.svd(flat, compute_uv=False)[:8] ** 2 / 9 / 20)


def test_gram_matrices_do_not_depend_on_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    basis, x, y = SmoothBasis.of(rng.normal(size=(7, 2)), 1.0), rng.normal(size=(50, 2)), rng.normal(size=(50, 1))
    whole = gram(basis, x, np.full(50, 0.02), y)
    monkeypatch.setattr("swwl.fields.modes.CHUNK", 16)
    for a, b in zip(whole, gram(basis, x, np.full(50, 0.02), y), strict=True):
        assert np.allclose(a, b)
    assert np.allclose(unpack(pack(whole[0]), 7), whole[0])


def test_centers_are_among_the_nodes_and_differ():
    pool = np.random.default_rng(0).normal(size=(200, 3))
    centers = choose_centers([pool[:100], pool[100:]], 30, seed=4)
    assert len(np.unique(centers, axis=0)) == 30
    assert np.abs(centers[:, None] - pool).sum(axis=2).min(axis=1).max() < 1e-9


@given(st.sampled_from(WARPS), st.lists(st.floats(-5, 0.99), min_size=3, max_size=20))
def test_warps_come_back(kind, values):
    u = np.abs(values)[:, None] if kind == "root" else np.array(values)[:, None]
    warp = Warp.of(kind, u)
    assert np.allclose(warp.inverse(warp(u)), u, atol=1e-6)


def test_slopes_of_warps_are_derivatives():
    u = np.random.default_rng(0).uniform(-3, 0.9, (50, 1))
    for kind in WARPS:
        values = u + 4 if kind == "root" else u
        warp = Warp.of(kind, values)
        y = warp(values)
        numeric, error = central_slope(lambda h, warp=warp, y=y: warp.inverse(y + h))
        assert np.allclose(np.abs(numeric), warp.slope(y), rtol=1e-5) and error.max() < 1e-5 * np.abs(numeric).max()
    assert possible_warps(u) == ["none", "asinh", "speed"]


def test_a_constant_field_has_no_deviation():
    assert Warp.of("none", np.full((9, 2), 3.0)).deviation == 0
    with pytest.raises(InputError, match="warp is 'log'"):
        Warp.of("log", np.zeros((2, 1)))


def test_descriptors_do_not_change_with_the_order_of_nodes():
    square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]], [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    order = np.array([3, 0, 4, 2, 1])
    turned = Mesh(square.points[order], np.argsort(order)[square.cells["triangle"]])
    describer = Describer(2, 1.0, False)
    for name, values in describer.blocks(square).items():
        assert np.allclose(values[order], describer.blocks(turned)[name], atol=1e-6)
    assert not has_normals(square)
    with pytest.raises(InputError, match="has 1 coordinates, but fit saw 2"):
        describer.blocks(Mesh([[0.0], [1.0]], [[0, 1]]))


def test_normals_of_a_sphere_are_its_points():
    points = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
    faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
    octahedron = Mesh(points, {"triangle": faces})
    assert has_normals(octahedron)
    assert np.allclose(node_normals(octahedron), points)
    assert np.allclose(box(octahedron.points), points)


def test_recipes_are_checked():
    assert check_recipe({"box": 2}, ["box"]) == {"box": 2.0}
    for bad in ({}, {"cox": 1.0}, {"box": -1.0}, [1, 2]):
        with pytest.raises(InputError, match="descriptors"):
            check_recipe(bad, ["box"])


def plate():
    points = [[0, 0], [2, 0], [2, 1], [0, 1]]
    return Mesh(points, {"quad": [[0, 1, 2, 3]]}, {"T": [1.0, 2, 3, 4]}, cell_fields={"s": [[5.0, 6.0]]})


def test_fields_of_cells_come_to_nodes_and_back():
    mesh = plate()
    kind = FieldKind.of(mesh, "s")
    assert (kind.components, kind.flat, kind.on_cells) == (2, False, True)
    nodal = kind.nodal(mesh)
    assert nodal.tolist() == [[5.0, 6.0]] * 4
    assert kind.shaped(mesh, nodal).tolist() == [[5.0, 6.0]]


def boundary_layer(n=20, m=25):
    """A grid whose cells are thin at the wall, and a velocity in its cells that rises from zero there."""
    y = np.append(0.0, np.cumsum(1.2 ** np.arange(m)))
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 2, n + 1), y / y[-1], indexing="ij"))
    corner = np.arange((n + 1) * (m + 1)).reshape(n + 1, m + 1)
    cells = np.stack([corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]], axis=-1).reshape(-1, 4)
    at = np.column_stack([x, y])[cells].mean(axis=1)
    speed = np.tanh(30 * at[:, 1] / (1 + at[:, 0])) + 0.1 * np.sin(9 * at[:, 0])
    return Mesh(np.column_stack([x, y]), {"quad": cells}), np.column_stack([speed, 0.1 * speed**2])


def test_means_over_cells_of_nodal_values_are_the_field_of_cells():
    mesh, field = boundary_layer()

    def error(nodal):
        return np.sqrt(np.nanmean((nodes_to_cells(mesh, nodal) - field) ** 2, axis=0)) / np.nanstd(field, axis=0)

    averages, found = cells_to_nodes(mesh, field), nodes_of_means(mesh, field)
    assert (error(found) < 0.1 * error(averages)).all() and (error(found) < 3e-3).all()
    # no checkerboard: neighbors along the wall differ as little as averages do
    along = found.reshape(21, 26, 2)[:, 3]
    assert (
        np.abs(np.diff(along, 2, axis=0)).max()
        < 3 * np.abs(np.diff(averages.reshape(21, 26, 2)[:, 3], 2, axis=0)).max()
    )
    one = nodes_of_means(mesh, field[:, :1])
    np.testing.assert_allclose(one, np.maximum(found[:, :1], one.min()), atol=1e-9)  # components by themselves
    field[:7] = np.nan
    gap = nodes_of_means(mesh, field)
    assert np.isnan(gap[0]).all() and np.isfinite(gap[40:]).all() and (error(gap) < 5e-3).all()


def test_what_is_nowhere_negative_in_cells_stays_so_at_nodes():
    mesh, _ = boundary_layer()
    spot = np.zeros((mesh.n_cells, 1))
    spot[210] = 1.0
    assert nodes_of_means(mesh, spot).min() == 0 and nodes_of_means(mesh, np.column_stack([spot, spot])).min() < -0.1


def test_fields_are_refused_by_name():
    mesh = plate()
    with pytest.raises(InputError, match="no field 'p'; its node fields are: T; its cell fields are: s"):
        FieldKind.of(mesh, "p")
    with pytest.raises(InputError, match="has 1 components in field 'T', but the first mesh 3"):
        FieldKind("T", 3, False, False).nodal(mesh)
    with pytest.raises(InputError, match="no finite value in field 'T'"):
        FieldKind("T", 1, True, False).nodal(mesh.with_fields({"T": np.full(4, np.nan)}))
    with pytest.raises(InputError, match="weights is 'mass'"):
        node_weights(mesh, "mass", np.ones(4, bool))


def test_nodes_that_are_not_known_weigh_nothing():
    assert node_weights(plate(), "area", np.array([True, True, False, False])).tolist() == [0.5, 0.5, 0.0, 0.0]


def test_derived_numbers():
    mesh = plate()
    samples = np.array([[1.0, 1, 1, 1], [0, 1, 2, 3]])
    assert derived_number("max", mesh, "T", samples).tolist() == [1.0, 3.0]
    assert derived_number("mean", mesh, "T", samples).tolist() == [1.0, 1.5]
    assert derived_number("integral", mesh, "T", samples).tolist() == [2.0, 3.0]
    assert np.allclose(derived_number("force", mesh, "T", samples)[0], 0)  # a constant pressure on a closed body
    assert derived_number(lambda m: m.fields["T"][0], mesh, "T", samples).tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match="one of max, min"):
        derived_number("median", mesh, "T", samples)
    with pytest.raises(InputError, match="has 2 components"):
        derived_number("force", mesh, "T", np.zeros((3, 4, 2)))


def test_scores_by_hand():
    truth = [np.array([0.0, 4.0]), np.array([0.0, 2.0, np.nan])]
    predicted = [truth[0], np.array([0.0, 1.0, 9.0])]
    found = pooled([mesh_score(truth[k], predicted[k], truth[k] - 1, truth[k] + 0.5, name=str(k)) for k in range(2)])
    assert found.rrmse == pytest.approx(np.sqrt((0 + 0.5 / 4) / 2))
    assert found.q2 == pytest.approx(1 - 1 / 11)
    assert (found.worst, found.coverage) == ("1", 1.0)
    assert found.max_error == pytest.approx(np.sqrt(0.5) / 3)

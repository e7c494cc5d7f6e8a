"""Adjoints of the embedding against central differences in double precision."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull, Delaunay

from swwl import Graph, InputError, Mesh, SWWLEmbedding
from swwl.embedding.linear import Source, linearize
from swwl.embedding.summaries import SummaryEmbedding
from swwl.mesh.mesh import trusted_mesh
from tests.helpers import assert_slope, plate


def disc(seed=0, n=60):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) * [1.0, 0.7]
    return Mesh(points, Delaunay(points).simplices)


def ball(seed=0, n=50):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3)) * [1.0, 0.7, 0.5]
    return Mesh(points, {"tetra": Delaunay(points).simplices})


def shell(seed=0, n=60):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    points = points / np.linalg.norm(points, axis=1)[:, None] * [1.0, 0.7, 0.5]
    return Mesh(points, ConvexHull(points).simplices)


def contour(seed=0, n=40):
    angles = np.sort(np.random.default_rng(seed).uniform(0, 2 * np.pi, n))
    points = np.column_stack([np.cos(angles), 0.5 * np.sin(angles)])
    return Mesh(points, {"line": np.column_stack([np.arange(n), (np.arange(n) + 1) % n])})


def patch(seed=0):
    """A surface of quadrilaterals, triangles and a pentagon that are not plane."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(4.0), np.arange(4.0))
    points = np.column_stack([x.ravel(), y.ravel(), np.zeros(16)]) + 0.1 * rng.normal(size=(16, 3))
    corners = [[4 * j + i, 4 * j + i + 1, 4 * j + i + 5, 4 * j + i + 4] for j in range(3) for i in range(3)]
    last = corners.pop()
    return Mesh(points, {"quad": corners, "triangle": [last[:3], [last[0], last[2], last[3]]]})


SHAPES = {"disc": disc, "ball": ball, "shell": shell, "contour": contour, "patch": patch}


def moved(mesh, displacement):
    return trusted_mesh(mesh.points + displacement, mesh.cells, mesh.fields, mesh.name)


def check(embedding, item, rtol, move=moved, seed=1):
    """Compare the adjoint with central differences: of random functions of the row, along random displacements.

    Rows have kinks where two nodes change places, or two of thousands of points on cells: so short steps.
    """
    found = linearize(embedding, item)
    rng = np.random.default_rng(seed)
    functions = rng.normal(size=(len(found.row), 2))
    gradient = found.pull_back(functions)
    displacements = rng.normal(size=(3, *gradient.shape[:2]))
    got = np.einsum("ndm,knd->km", gradient, displacements)

    def values(h):
        return [linearize(embedding, move(item, h * own)).row @ functions for own in displacements]

    assert_slope(got, values, rtol, scale=np.abs(got).max(), most=5e-4, steps=10.0 ** -np.arange(5, 11))


@pytest.mark.parametrize("weights", ["uniform", "area"])
@pytest.mark.parametrize("rule", ["linear", "mean"])
@pytest.mark.parametrize("shape", SHAPES)
def test_nodes(shape, rule, weights):
    meshes = [SHAPES[shape](seed) for seed in range(3)]
    options = {"n_projections": 7, "n_quantiles": 11, "quantiles": rule, "node_weights": weights, "scale": True}
    check(SWWLEmbedding(2, **options).fit(meshes), meshes[0], 1e-6)


@pytest.mark.parametrize("weights", ["uniform", "area"])
@pytest.mark.parametrize(("step", "tolerance"), [(1, 0.0), ("sqrt", 1e-5), ("sqrt", 1e-3), (5, 0.0)])
def test_iterations_by_themselves_and_far_steps(step, tolerance, weights):
    meshes = [shell(seed) for seed in range(3)]
    options = {"n_projections": 5, "n_quantiles": 9, "node_weights": weights, "tolerance": tolerance}
    check(SWWLEmbedding(3, step, per_iteration=True, **options).fit(meshes), meshes[0], 1e-5)


@pytest.mark.parametrize(
    "rule", ["mean", *(pytest.param(rule, marks=pytest.mark.slow) for rule in ("linear", "midpoint"))]
)
@pytest.mark.parametrize("measure", ["skin", "area"])
@pytest.mark.parametrize("shape", SHAPES)
def test_points_on_cells(shape, measure, rule):
    meshes = [SHAPES[shape](seed) for seed in range(2)]
    embedding = SWWLEmbedding(0, n_projections=5, n_quantiles=8, quantiles=rule, measure=measure).fit(meshes)
    check(embedding, meshes[0], 3e-5)


def test_a_skin_whose_normals_have_no_sign():
    meshes = [patch(seed) for seed in range(2)]
    cells = {kind: np.array(block) for kind, block in meshes[0].cells.items()}
    cells["quad"][0] = cells["quad"][0, ::-1]
    meshes = [Mesh(mesh.points, cells) for mesh in meshes]
    embedding = SWWLEmbedding(0, n_projections=5, n_quantiles=8, quantiles="mean", measure="skin").fit(meshes)
    assert not embedding.oriented_
    check(embedding, meshes[0], 3e-5)


@pytest.mark.parametrize("measure", ["nodes", "edges"])
def test_graphs(measure):
    rng = np.random.default_rng(0)
    edges = rng.integers(20, size=(40, 2))
    graphs = [Graph(rng.normal(size=(20, 3)), edges) for _ in range(3)]
    embedding = SWWLEmbedding(2, n_projections=6, n_quantiles=7, measure=measure, scale=True).fit(graphs)
    check(embedding, graphs[0], 1e-6, lambda graph, by: graph.with_features(graph.features + by))


@pytest.mark.parametrize("shape", SHAPES)
def test_summaries(shape):
    meshes = [SHAPES[shape](seed) for seed in range(4)]
    check(SummaryEmbedding("mesh").fit(meshes), meshes[0], 1e-6)


def test_summaries_of_graphs():
    meshes = [disc(seed) for seed in range(4)]
    check(SummaryEmbedding("graph").fit(meshes), meshes[0], 1e-6)


@pytest.mark.parametrize("options", [
    {"node_weights": "area"}, {"step": "sqrt"}, {"quantiles": "mean", "node_weights": "area"}, {"quantiles": "lower"},
    {"per_iteration": True, "scale": True}, {"fields": ["T"]}, {"quantiles": "midpoint", "merge_nodes": True},
])  # fmt: skip
def test_rows_are_those_of_the_transformer(options):
    meshes = [mesh.with_fields({"T": mesh.points[:, 0] ** 2}) for mesh in (disc(0), disc(1))]
    embedding = SWWLEmbedding(2, n_projections=6, n_quantiles=9, **options).fit(meshes)
    assert np.allclose(linearize(embedding, meshes[0]).row, embedding.transform(meshes[:1])[0], atol=2e-6)


@pytest.mark.parametrize("measure", ["skin", "area"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_cells_are_those_of_the_transformer_but_for_its_bins(shape, measure):
    meshes = [SHAPES[shape](seed) for seed in range(2)]
    embedding = SWWLEmbedding(0, n_projections=6, n_quantiles=20, quantiles="mean", measure=measure).fit(meshes)
    row = embedding.transform(meshes[:1])[0]
    bins = np.ptp(meshes[0].points) * 3 / 4096 * (6 * 20) ** -0.5
    assert np.abs(linearize(embedding, meshes[0]).row - row).max() < bins


def test_nodes_that_became_one_share_a_gradient():
    points = [[0.0, 0], [1, 0], [0, 1], [1, 0], [1, 1.5], [0, 1]]
    soup = Mesh(points, [[0, 1, 2], [3, 4, 5]])
    options = {"n_projections": 4, "n_quantiles": 5, "node_weights": "area"}
    embedding = SWWLEmbedding(1, merge_nodes=True, **options).fit([soup])
    functions = np.random.default_rng(0).normal(size=(20, 1))
    gradient = linearize(embedding, soup).pull_back(functions)[:, :, 0]
    assert np.array_equal(gradient[1], gradient[3])
    whole = linearize(SWWLEmbedding(1, **options).fit([soup.merged()]), soup.merged()).pull_back(functions)[:, :, 0]
    assert np.allclose(gradient.sum(axis=0), whole.sum(axis=0))


_TAKEN = [{}, {"node_weights": "area"}, {"merge_nodes": True}, {"measure": "edges"}, {"measure": "area"}]
_PARTS = [("faces", own) for own in _TAKEN] + [("cells", own) for own in [*_TAKEN, {"measure": "skin"}]]


@pytest.mark.parametrize(("group", "options"), _PARTS)
def test_nodes_outside_of_a_group_have_no_influence(group, options):
    points, cells = plate(40)
    edges = np.unique(np.sort(cells[:9, :2], axis=1), axis=0)
    mesh = Mesh(points, {"triangle": cells}, groups={"cells": {"triangle": np.arange(9)}, "faces": edges, "fix": [39]})
    options = {
        "n_projections": 4,
        "n_quantiles": 5,
        "quantiles": "mean" if "measure" in options else "linear",
    } | options
    iterations = 0 if "measure" in options else 1
    part = mesh.part(group)
    of_part = linearize(SWWLEmbedding(iterations, **options).fit([part]), part)
    of_group = linearize(SWWLEmbedding(iterations, group=group, **options).fit([mesh]), mesh)
    np.testing.assert_array_equal(of_group.row, of_part.row)
    functions = np.random.default_rng(0).normal(size=(len(of_part.row), 2))
    gradient = of_group.pull_back(functions)
    nodes = mesh.groups[group].nodes
    assert gradient.shape == (40, 2, 2) and len(nodes) < 40
    np.testing.assert_array_equal(gradient[nodes], of_part.pull_back(functions))
    assert not np.delete(gradient, nodes, axis=0).any()


@pytest.mark.parametrize("kind", ["part", "mesh", "graph"])
def test_summaries_of_a_group(kind):
    points, cells = plate(40)
    mesh = Mesh(points, {"triangle": cells}, groups={"a": {"triangle": np.arange(30)}})
    other = Mesh(2 * points, {"triangle": cells}, groups=mesh.groups)
    parts = [mesh.part("a"), other.part("a")]
    whole, alone = SummaryEmbedding(kind, group="a"), SummaryEmbedding(kind)
    np.testing.assert_array_equal(whole.fit_transform([mesh, other]), alone.fit_transform(parts))
    functions = np.random.default_rng(0).normal(size=(len(whole.mean_), 1))
    found, expected = (linearize(e, m).pull_back(functions) for e, m in ((whole, mesh), (alone, parts[0])))
    np.testing.assert_array_equal(found[mesh.groups["a"].nodes], expected)


def test_a_shift_of_all_nodes_moves_every_quantile_alike():
    mesh = ball()
    embedding = SWWLEmbedding(2, "sqrt", 5, 8, node_weights="area").fit([mesh])
    functions = np.eye(40)
    gradient = linearize(embedding, mesh).pull_back(functions)
    shift = np.array([1.0, -2.0, 3.0])
    wanted = (np.tile(shift, 3) @ embedding.directions_)[None].repeat(8, axis=0).ravel() * 40**-0.5
    assert np.allclose(np.einsum("ndm,d->m", gradient, shift), wanted)


@pytest.mark.parametrize(("options", "text"), [
    ({"r": 1}, "r=2"), ({"quantiles": "midpoint", "node_weights": "area"}, "jumps"),
    ({"quantiles": "lower", "node_weights": "area"}, "jumps"),
])  # fmt: skip
def test_what_has_no_derivative_is_refused(options, text):
    with pytest.raises(InputError, match=text):
        linearize(SWWLEmbedding(1, n_projections=3, n_quantiles=4, **options).fit([disc()]), disc())


def test_graphs_without_cells_are_refused_where_these_are_needed():
    embedding = SWWLEmbedding(1, n_projections=3, n_quantiles=4, node_weights="area").fit([disc()])
    with pytest.raises(InputError, match="give the Mesh"):
        linearize(embedding, disc().graph("area"))
    embedding = SWWLEmbedding(0, n_projections=3, n_quantiles=4, measure="skin").fit([disc()])
    with pytest.raises(InputError, match="needs the cells of a mesh"):
        linearize(embedding, disc().graph())


def test_embeddings_that_share_a_mesh_find_the_same():
    mesh, options = shell(), {"n_projections": 3, "n_quantiles": 5}
    embeddings = [
        SWWLEmbedding(2, **options).fit([mesh]),
        SWWLEmbedding(0, measure="skin", quantiles="mean", **options).fit([mesh]),
        SummaryEmbedding().fit([mesh, moved(mesh, mesh.points)]),
    ]
    source = Source(mesh)
    for embedding in embeddings:
        alone, shared = linearize(embedding, mesh), linearize(embedding, source)
        functions = np.random.default_rng(0).normal(size=(len(alone.row), 2))
        np.testing.assert_array_equal(alone.row, shared.row)
        np.testing.assert_array_equal(alone.pull_back(functions), shared.pull_back(functions))

"""Meshes as measures on their cells and skins, graphs as their edges: SWWLEmbedding(measure=...)."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from swwl import SWWL, Graph, InputError, Mesh, RobustGPRegressor, SWWLEmbedding, load_model, pairwise_distances
from swwl.embedding import clouds
from swwl.embedding.sliced import draw_directions, measure_quantiles, projected_quantiles
from swwl.errors import MeshWarning
from swwl.mesh.shape.sampling import cell_samples, skin_samples
from swwl.storage.memory import Memory
from tests.helpers import plate, random_graph, reference_quantiles
from tests.mesh.shapes import flipped, moebius, ring, sheet, shuffled, sphere, together

# Some of the shapes have nodes that no cell uses.
pytestmark = pytest.mark.filterwarnings("ignore::swwl.errors.LooseNodesWarning")

SMALL = {"n_projections": 8, "n_quantiles": 20, "quantiles": "mean"}


def block(n, width=1.0, hole=0.3):
    """A rectangle with a square hole, meshed with some n nodes, most of them to the left."""
    rng = np.random.default_rng(n)
    inner = [0.5 - hole / 2, 0.5 + hole / 2]
    free = rng.random((max(1, round(np.sqrt(n)) - 4), 2)) ** [2, 1]
    x, y = (np.sort([0, 1, *inner, *column]) for column in free.T)
    across = np.column_stack([np.repeat(np.arange(len(x) - 1), len(y) - 1), np.tile(np.arange(len(y) - 1), len(x) - 1)])
    middle = np.column_stack([x[across[:, 0]] + x[across[:, 0] + 1], y[across[:, 1]] + y[across[:, 1] + 1]]) / 2
    i, j = across[np.abs(middle - 0.5).max(axis=1) > hole / 2].T
    corners = np.column_stack([i * len(y) + j, (i + 1) * len(y) + j, (i + 1) * len(y) + j + 1, i * len(y) + j + 1])
    turned = np.where(rng.random((len(corners), 1)) < 0.5, corners, np.roll(corners, 1, axis=1))
    points = np.column_stack([np.repeat(x, len(y)) * width, np.tile(y, len(x))])
    return Mesh(points, np.vstack([turned[:, [0, 1, 2]], turned[:, [0, 2, 3]]]))


def bodies(kind):
    """A few meshes of each sort: plane domains, surfaces, contours, and one whose sides cannot be told."""
    rng = np.random.default_rng(0)
    if kind == "domains":
        return [block(n, width) for n, width in ((60, 1.0), (400, 1.1), (120, 0.9), (1500, 1.2), (80, 1.0))]
    if kind == "surfaces":
        return [flipped(sphere(r, s), rng) for r, s in ((1, 1.0), (3, 1.1), (2, 0.9))] + [sheet(9), sheet(30)]
    if kind == "twisted":
        return [sphere(2), moebius(), sheet(9)]
    return [flipped(ring(n, r), rng) for n, r in ((7, 1.0), (60, 1.1), (400, 0.9))]


def reference_row(embedding, mesh):
    """The row of a skin or an area by its definition, from the samples that the embedding takes."""
    e = embedding
    samples = skin_samples(mesh) if e.measure == "skin" else cell_samples(mesh)
    features = samples.points
    if e.measure == "skin":
        n = samples.normals
        if not e.oriented_:
            pairs = [(i, j) for i in range(n.shape[1]) for j in range(i + 1, n.shape[1])]
            n = np.column_stack([*(n**2).T, *(np.sqrt(2) * n[:, i] * n[:, j] for i, j in pairs)])
        features = np.hstack([features, e.normal_scale_ * n])
    projected = (features @ e.directions_).T
    columns = [reference_quantiles(p, e.n_quantiles, e.quantiles, samples.masses) for p in projected]
    row = np.column_stack(columns) - e.center_ @ e.directions_
    return row.ravel() * (e.n_projections * e.n_quantiles) ** -0.5


@pytest.mark.parametrize("kind", ["domains", "surfaces", "contours", "twisted"])
@pytest.mark.parametrize("measure", ["area", "skin"])
def test_rows_are_weighted_quantiles_of_samples(kind, measure):
    meshes = bodies(kind)
    few = {"n_projections": 3, "n_quantiles": 20, "quantiles": "mean"}
    embedding = SWWLEmbedding(**few, measure=measure, directions="orthogonal")
    rows = embedding.fit_transform(meshes)
    expected = np.array([reference_row(embedding, mesh) for mesh in meshes])
    # They miss by no more than a bin: 1/4096 of the range.
    np.testing.assert_allclose(rows, expected, atol=np.ptp(expected) / 4096)
    if measure == "skin":
        assert embedding.oriented_ == (kind != "twisted")
        d = meshes[0].dimension
        assert embedding.n_node_features_ == (2 * d if embedding.oriented_ else d + d * (d + 1) // 2)
        spreads = []
        for mesh in meshes:
            samples = skin_samples(mesh)
            mean = samples.masses @ samples.points
            spreads.append(np.sqrt(samples.masses @ (samples.points - mean) ** 2).mean())
        assert embedding.normal_scale_ == pytest.approx(np.mean(spreads))
    else:
        assert embedding.normal_scale_ is None and embedding.oriented_ is None


def test_quantiles_of_a_measure_are_within_a_bin_of_the_sorted_ones():
    rng = np.random.default_rng(0)
    for n, rule in ((1, "linear"), (2, "midpoint"), (500, "mean"), (30_000, "midpoint"), (30_000, "mean")):
        points = rng.standard_normal((n, 3)) + 5
        masses = rng.uniform(0.5, 2, n)
        directions = draw_directions(3, 7, "gaussian", rng)
        ours = measure_quantiles(points, directions, 40, rule, masses)
        exact = projected_quantiles(points, directions, 40, rule, masses)
        spread = np.ptp(points @ directions, axis=0)
        if n > 1000:
            assert (np.abs(ours - exact) <= spread / 4096 * 1.01).all()
        assert (np.abs(ours - exact) <= (spread / 4096 if rule == "mean" else spread) + 1e-5).all()
    assert measure_quantiles(np.ones((5, 1)), np.ones((1, 1)), 4, "linear", np.ones(5)).ravel() == pytest.approx(1)


def test_a_translation_is_its_projection():
    mesh, move = block(200), np.array([0.3, -2.0])
    embedding = SWWLEmbedding(**SMALL, measure="skin")
    rows = embedding.fit_transform([mesh, Mesh(mesh.points + move, dict(mesh.cells))])
    shifts = move @ embedding.directions_[:2]
    assert ((rows[0] - rows[1]).astype(float) ** 2).sum() == pytest.approx((shifts**2).mean(), rel=1e-4)


def test_the_skin_of_a_circle():
    """Points and normals of a circle of radius R are R e and L e with L = R / sqrt 2: an ellipse's projections."""
    embedding = SWWLEmbedding(n_projections=5, n_quantiles=50, quantiles="midpoint", measure="skin")
    rows = embedding.fit_transform([ring(2000, 3.0)]).reshape(50, 5)
    assert embedding.normal_scale_ == pytest.approx(3 / np.sqrt(2), rel=1e-5)
    x, n = np.split(embedding.directions_, 2)
    amplitude = np.linalg.norm(3 * x + embedding.normal_scale_ * n, axis=0)
    levels = (np.arange(50) + 0.5) / 50
    expected = -np.cos(np.pi * levels)[:, None] * amplitude / np.sqrt(250)
    np.testing.assert_allclose(rows, expected, atol=2e-3 * amplitude.max() / np.sqrt(250))


@pytest.mark.parametrize("measure", ["area", "skin"])
@pytest.mark.parametrize("kind", ["domains", "surfaces"])
def test_numbering_does_not_matter(measure, kind):
    rng = np.random.default_rng(0)
    meshes = bodies(kind)
    embedding = SWWLEmbedding(**SMALL, measure=measure)
    rows = embedding.fit_transform(meshes)
    again = embedding.transform([shuffled(mesh, rng) for mesh in meshes])
    np.testing.assert_allclose(again, rows, atol=np.ptp(rows) / 4096)


def test_a_shift_of_all_meshes_changes_no_distance():
    meshes = bodies("domains")
    far = [Mesh(mesh.points + [1e4, -1e4], dict(mesh.cells)) for mesh in meshes]
    for measure in ("area", "skin"):
        near, away = (
            pairwise_distances(SWWLEmbedding(**SMALL, measure=measure).fit_transform(m)) for m in (meshes, far)
        )
        np.testing.assert_allclose(near, away, atol=1e-3 * near.max())


def test_cells_do_not_show_the_resolution_of_a_mesh_as_nodes_do():
    """The same body, coarse and fine, beside one that is a tenth wider."""
    meshes = [block(100), block(3000), block(100, 1.1)]
    misses = {}
    for measure in ("nodes", "area", "skin"):
        options = {"n_projections": 30, "n_quantiles": 100, "quantiles": "mean", "n_iterations": 0}
        distances = pairwise_distances(SWWLEmbedding(**options, measure=measure).fit_transform(meshes))
        misses[measure] = distances[0, 1] / distances[0, 2]
    assert misses["nodes"] > 0.5
    assert misses["area"] < 0.05
    assert misses["skin"] < 0.02


MEASURES = [("domains", "area"), ("domains", "skin"), ("twisted", "skin"), ("contours", "skin"), ("surfaces", "edges")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "measure", "scale"),
    [*((*pair, False) for pair in MEASURES), ("domains", "area", True), ("surfaces", "edges", True)],
)
def test_bits_do_not_depend_on_threads_batches_order_or_passes(kind, measure, scale):
    rng = np.random.default_rng(0)
    meshes = bodies(kind) * 2 + [bodies(kind)[0]]
    embedding = SWWLEmbedding(**SMALL, measure=measure, scale=scale).fit(meshes)
    rows = embedding.transform(meshes)
    assert rows.dtype == np.float32 and rows.shape == (len(meshes), 160)
    for n_jobs in (1, 2, 3):
        threaded = clone(embedding).set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(threaded.fit_transform(meshes), rows)
        np.testing.assert_array_equal(threaded.transform(mesh for mesh in meshes), rows)
        np.testing.assert_array_equal(threaded.fit_transform(mesh for mesh in meshes), rows)
    np.testing.assert_array_equal(embedding.transform(meshes[1:2])[0], rows[1])
    order = rng.permutation(len(meshes))
    mixed = [meshes[k] for k in order]
    np.testing.assert_array_equal(embedding.transform(mixed), rows[order])
    np.testing.assert_array_equal(clone(embedding).fit_transform(mixed), rows[order])
    travelled = pickle.loads(pickle.dumps(embedding))
    np.testing.assert_array_equal(travelled.transform(meshes), rows)


@pytest.mark.parametrize(("kind", "measure"), MEASURES)
def test_files_and_memory_give_the_same_bits(tmp_path, monkeypatch, kind, measure):
    meshes, paths = bodies(kind), []
    for k, mesh in enumerate(meshes):
        paths.append(tmp_path / f"{k}.npz")
        mesh.write(paths[-1])
    plain = SWWLEmbedding(**SMALL, measure=measure).fit_transform(meshes)
    reads = []
    for name in ("as_mesh", "as_graph"):
        read = getattr(clouds, name)
        monkeypatch.setattr(
            clouds, name, lambda item, read=read, **options: (reads.append(item), read(item, **options))[1]
        )
    memory = Memory(tmp_path / "memory")
    column = pd.Series([*paths, paths[0]], dtype=object)
    rows = SWWLEmbedding(**SMALL, measure=measure).fit(meshes).transform(column, memory=memory)
    np.testing.assert_array_equal(rows[:-1], plain)
    assert sorted(memory.n_nodes.values()) == sorted(mesh.n_nodes for mesh in meshes)
    fitted = SWWLEmbedding(**SMALL, measure=measure, memory=memory)
    np.testing.assert_array_equal(fitted.fit_transform(paths), plain)
    reads.clear()
    np.testing.assert_array_equal(fitted.fit_transform(paths), plain)
    assert not reads
    # nodes, areas and skins of one file are kept apart
    other = SWWLEmbedding(**SMALL, n_iterations=0, memory=memory).fit_transform(paths)
    assert not np.allclose(other, plain)


def test_edges_are_points_of_means_and_differences():
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, n, 2) for n in (30, 12, 50)]
    rows = SWWLEmbedding(**SMALL, measure="edges", scale=True).fit_transform(graphs)
    points = []
    for graph in graphs:
        a, b = graph.features[graph.edges.T]
        points.append(Graph(np.hstack([(a + b) / 2, np.abs(a - b)]), []))
    expected = SWWLEmbedding(**SMALL, n_iterations=0, scale=True).fit_transform(points)
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    lonely = SWWLEmbedding(**SMALL, measure="edges").fit([Graph([[1.0, 2.0]], []), graphs[0]])
    assert lonely.n_node_features_ == 4


def test_iterations_and_steps_do_not_matter():
    meshes = bodies("domains")
    plain = SWWLEmbedding(**SMALL, measure="skin").fit_transform(meshes)
    for options in ({"n_iterations": 0}, {"n_iterations": 7, "step": "sqrt"}):
        np.testing.assert_array_equal(SWWLEmbedding(**SMALL, measure="skin", **options).fit_transform(meshes), plain)


def test_nodes_are_the_default():
    graphs = [Graph.from_cells(*plate(n)) for n in (40, 60)]
    plain = SWWLEmbedding(**SMALL).fit_transform(graphs)
    np.testing.assert_array_equal(SWWLEmbedding(**SMALL, measure="nodes").fit_transform(graphs), plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "volume"}, r"measure must be one of \[None, 'nodes', 'area', 'skin', 'edges'\], not 'volume'"),
        ({"measure": "skin", "node_weights": "area"}, "has its own masses, so node_weights must be None"),
        ({"measure": "area", "per_iteration": True}, "has no iterations to embed one by one"),
        ({"measure": "area", "fields": ["T"]}, r"takes coordinates only, so fields=\['T'\] cannot be used"),
        ({"measure": "skin", "scale": True}, "scale must be False, not True"),
    ],
)
def test_options_that_a_measure_cannot_serve(options, message):
    with pytest.raises(InputError, match=message):
        SWWLEmbedding(**options).fit(bodies("domains"))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bad_items_are_named(tmp_path, n_jobs):
    good = block(60)
    lines = Mesh([[0, 0, 0], [1, 0, 0]], [[0, 1]])
    lines.write(tmp_path / "wire.vtu")
    cases = [
        (good.graph(), TypeError, "Graph 2: measure=.skin. needs the cells of a mesh, which a Graph does not have"),
        (tmp_path / "wire.vtu", ValueError, "Graph 2: .*wire.vtu: Lines on points of [23] coordinates have no skin"),
        (tmp_path / "missing.vtu", FileNotFoundError, "Graph 2: .*missing.vtu: no such file"),
        (
            sphere(1),
            ValueError,
            "Graph 2 (is in space, but the meshes of the fit were in|has 6 features per node, but graph 0 has 4)",
        ),
        (3.5, TypeError, "Graph 2: Cannot make a mesh of float"),
    ]
    embedding = SWWLEmbedding(**SMALL, measure="skin", n_jobs=n_jobs).fit([good])
    (tmp_path / "wire.vtu").unlink()
    Mesh([[0, 0, 0], [1, 0, 1]], [[0, 1]]).write(tmp_path / "wire.vtu")
    for bad, kind, message in cases:
        for method in (embedding.transform, clone(embedding).fit, clone(embedding).fit_transform):
            with pytest.raises(kind, match=message) as info:
                method([good, good, bad, good])
            assert isinstance(info.value, InputError) and info.value.item == 2


def test_a_new_mesh_without_sides_is_embedded_with_a_warning():
    embedding = SWWLEmbedding(**SMALL, measure="skin").fit(bodies("surfaces"))
    with pytest.warns(MeshWarning, match=r"Graph 1: its boundary normals are not consistent.*: it has only one"):
        rows = embedding.transform([sphere(1), moebius()])
    assert np.isfinite(rows).all()
    turned = SWWLEmbedding(**SMALL, measure="skin").fit(bodies("twisted"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a, b = turned.transform([sheet(9), flipped(sheet(9), np.random.default_rng(0))])
    np.testing.assert_allclose(a, b, atol=1e-6)  # products do not tell a normal from its opposite


def test_parts_weigh_the_same_in_the_embedding():
    """A far circle and a small one: half of all quantiles of the first coordinate lie on either."""
    mesh = together(ring(40, 10.0), ring(40, 0.1, (30, 0)))
    embedding = SWWLEmbedding(n_projections=1, n_quantiles=100, quantiles="midpoint", measure="skin").fit([mesh])
    embedding.directions_ = np.array([[1.0, 0, 0, 0]]).T
    values = embedding.transform([mesh]).ravel() * 10 + embedding.center_[0]
    assert (values > 25).sum() == 50


@pytest.mark.parametrize("measure", ["area", "skin", "edges"])
def test_models_use_measures_and_keep_them_in_files(tmp_path, measure):
    rng = np.random.default_rng(0)
    widths = rng.uniform(0.8, 1.3, 24)
    meshes = [block(int(n), width) for n, width in zip(rng.integers(60, 200, 24), widths, strict=True)]
    table = pd.DataFrame({"mesh": pd.Series(meshes, dtype=object), "load": rng.random(24)})
    table["y"] = np.sin(3 * widths) + 0.1 * table["load"]
    kernel = SWWL("mesh", measure=measure, n_projections=20, n_quantiles=50, quantiles="mean")
    assert repr(kernel).startswith(f"SWWL('mesh', measure='{measure}'")
    model = RobustGPRegressor(kernel).fit(table[:18], "y")
    mean, std = model.predict(table[18:], return_std=True)
    assert np.sqrt(np.mean((mean - table["y"][18:]) ** 2)) < 0.3 * table["y"].std()
    model.save(tmp_path / "model.swwl")
    again = load_model(tmp_path / "model.swwl")
    np.testing.assert_array_equal(np.array(again.predict(table[18:], return_std=True)), np.array([mean, std]))
    assert again.kernel_.factors[0].embedding_.measure == measure

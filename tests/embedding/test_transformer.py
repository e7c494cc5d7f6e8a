import itertools
import weakref

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from swwl import Graph, InputError, Mesh, SWWLEmbedding, pairwise_distances, write_graph
from swwl.errors import LooseNodesWarning
from tests.helpers import plate, random_graph, read_tu, reference_rows

SMALL = {"n_iterations": 2, "n_projections": 7, "n_quantiles": 11}


def check_against_reference(graphs, embedding):
    """Squared distances between rows equal the reference's to 1e-5 relative."""
    rows = embedding.fit_transform(graphs)
    reference = reference_rows(graphs, embedding)
    ours = pairwise_distances(rows, r=embedding.r, squared=True)
    expected = pairwise_distances(reference, r=embedding.r, squared=True)
    # Twins among the graphs have distance zero up to the rounding of the rows.
    floor = 1e-12 * expected.max()
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=floor)


@pytest.mark.parametrize("quantiles", ["linear", "lower", "midpoint", "mean"])
@pytest.mark.parametrize("massive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [0, pytest.param(1e6, marks=pytest.mark.slow)])
def test_random_graphs(quantiles, massive, weighted, shift):
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, n, weighted=weighted, massive=massive) for n in (30, 1, 17, 2)]
    moved = [Graph(g.features + shift, g.edges, g.weights, g.node_weights) for g in graphs]
    for normalization, r, per_iteration in itertools.product(("count", "sum"), (1, 2), (False, True)):
        options = {"normalization": normalization, "r": r, "per_iteration": per_iteration}
        check_against_reference(moved, SWWLEmbedding(**SMALL, quantiles=quantiles, **options))


@pytest.mark.parametrize("directions", ["gaussian", "orthogonal", "sobol"])
@pytest.mark.parametrize("scale", [False, True, (2.0, 0.1)])
@pytest.mark.parametrize("step", [1, 5, "sqrt"])
def test_meshes(directions, scale, step):
    meshes = [plate(n, seed, stretch) for n, seed, stretch in ((120, 0, 1), (150, 1, 1.3), (90, 2, 0.8), (150, 1, 2))]
    graphs = [Graph.from_cells(points * [1, 30], cells, node_weights="area") for points, cells in meshes]
    embedding = SWWLEmbedding(**SMALL, directions=directions, scale=scale, step=step, tolerance=1e-7)
    check_against_reference(graphs, embedding)
    assert embedding.step_ == (11 if step == "sqrt" else step)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BZR", "COX2", "PROTEINS", "ENZYMES", "Cuneiform"])
def test_tu_sets(swwl_data, name):
    graphs = read_tu(swwl_data, name)
    graphs = graphs[:: max(1, len(graphs) // 120)]  # the reference is slow, and sorted sets keep all their classes
    for quantiles in ("linear", "lower", "midpoint"):
        embedding = SWWLEmbedding(n_projections=20, n_quantiles=20, quantiles=quantiles)
        rows = embedding.fit_transform(graphs)
        reference = reference_rows(graphs, embedding)
        ours, expected = pairwise_distances(rows, squared=True), pairwise_distances(reference, squared=True)
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-10 * expected.max())


@pytest.mark.slow
def test_thirty_thousand_nodes_in_large_steps_equal_plain_iteration():
    graphs = [Graph.from_cells(*plate(30_000, seed, 1 + seed / 4)) for seed in range(3)]
    quick = SWWLEmbedding(step=173).fit_transform(graphs)
    plain = SWWLEmbedding(step=173, tolerance=0).fit_transform(graphs)
    assert np.abs(quick - plain).max() < 1e-4 * np.abs(plain).max()
    d, e = pairwise_distances(quick), pairwise_distances(plain)
    np.testing.assert_allclose(d, e, rtol=1e-4)


def test_a_translation_is_its_projection():
    """All quantiles move by <theta, t>, so the squared distance is the mean of its squares."""
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 40)
    move = np.array([0.3, -2.0, 1.0])
    embedding = SWWLEmbedding(n_iterations=3, n_projections=30, n_quantiles=20)
    rows = embedding.fit_transform([graph, Graph(graph.features + move, graph.edges)])
    shifts = np.tile(move, 4) @ embedding.directions_
    assert ((rows[0] - rows[1]).astype(float) ** 2).sum() == pytest.approx((shifts**2).mean(), rel=1e-6)


def test_node_order_does_not_matter():
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 40, weighted=True, massive=True)
    order = rng.permutation(40)
    number = np.argsort(order)
    shuffled = Graph(graph.features[order], number[graph.edges], graph.weights, graph.node_weights[order])
    rows = SWWLEmbedding(**SMALL).fit_transform([graph, shuffled])
    np.testing.assert_allclose(rows[0], rows[1], atol=2e-7)


@pytest.mark.parametrize(
    "options",
    [{}, {"step": 30}, {"step": "sqrt", "scale": True}, {"per_iteration": True}, {"normalization": "sum"}],
)
def test_bits_do_not_depend_on_threads_batches_order_or_passes(options):
    rng = np.random.default_rng(0)
    points, cells = plate(400)
    graphs = [Graph.from_cells(points * rng.uniform(0.5, 2, 2), cells) for _ in range(11)]
    graphs += [Graph.from_cells(*plate(n)) for n in (50, 333, 1500)]
    graphs += [random_graph(rng, 60, 2, weighted=True), Graph(rng.random((40, 2)), [(3, 5), (5, 7)])]
    graphs += [random_graph(rng, n, 2, weighted=True) for n in (20, 1200, 30)] + [Graph([[1.0, 2.0]], [])]
    embedding = SWWLEmbedding(n_iterations=2, n_projections=9, n_quantiles=30, **options).fit(graphs)
    rows = embedding.transform(graphs)
    assert rows.dtype == np.float32
    for n_jobs in (1, 2, 3):
        threaded = clone(embedding).set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(threaded.fit_transform(graphs), rows)
        np.testing.assert_array_equal(threaded.transform(graph for graph in graphs), rows)
        np.testing.assert_array_equal(threaded.fit_transform(graph for graph in graphs), rows)
    np.testing.assert_array_equal(embedding.transform(graphs[4:5])[0], rows[4])
    order = rng.permutation(len(graphs))
    mixed = [graphs[k] for k in order]
    np.testing.assert_array_equal(embedding.transform(mixed), rows[order])
    np.testing.assert_array_equal(clone(embedding).fit_transform(mixed), rows[order])


edges_strategy = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20),
        st.integers(0, 10**6),
    )
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    shapes=st.lists(edges_strategy, min_size=2, max_size=10),
    alpha=st.sampled_from([1.0, 1.99, 2.0]),
    gamma=st.sampled_from([1e-3, 1.0, 1e3]),
    size=st.sampled_from([1e-6, 1.0, 1e6]),
    repeat=st.booleans(),
    quantiles=st.sampled_from(["linear", "lower", "midpoint"]),
)
def test_the_kernel_is_positive_definite(shapes, alpha, gamma, size, repeat, quantiles):
    graphs = [
        Graph(
            size * np.random.default_rng(seed).standard_normal((n, 2)).round(2),
            np.array(edges).reshape(-1, 2).astype(int),
        )
        for n, edges, seed in shapes
    ]
    graphs += graphs[:2] if repeat else []
    rows = SWWLEmbedding(n_iterations=1, n_projections=5, n_quantiles=6, quantiles=quantiles).fit_transform(graphs)
    distances = pairwise_distances(rows) / size
    smallest = np.linalg.eigvalsh(np.exp(-gamma * distances**alpha)).min()
    assert smallest > -1e-10 * len(graphs)


def test_scikit_learn_contract(tmp_path):
    graphs = [Graph.from_cells(*plate(60, seed, 1 + (seed % 2))) for seed in range(12)]
    labels = np.arange(12) % 2
    embedding = SWWLEmbedding(**SMALL)
    assert clone(embedding).get_params() == embedding.get_params()

    search = GridSearchCV(
        make_pipeline(embedding, SVC()), {"swwlembedding__n_iterations": [0, 1], "svc__C": [1.0, 10.0]}, cv=3
    )
    assert search.fit(graphs, labels).best_score_ == 1.0

    for k, graph in enumerate(graphs):
        write_graph(tmp_path / f"{k}.npz", graph)
    table = pd.DataFrame(
        {"mesh": [str(tmp_path / f"{k}.npz") for k in range(12)], "speed": np.arange(12.0)}, index=list("abcdefghijkl")
    )
    rows = embedding.fit_transform(table["mesh"])
    np.testing.assert_array_equal(rows, embedding.fit_transform(graphs))
    np.testing.assert_array_equal(rows, embedding.transform(table[["mesh"]]))
    both = ColumnTransformer([("mesh", embedding, "mesh"), ("rest", "passthrough", ["speed"])]).fit_transform(table)
    np.testing.assert_array_equal(both[:, :-1], rows)

    framed = clone(embedding).set_output(transform="pandas").fit_transform(table[["mesh"]])
    assert framed.columns[0] == "swwlembedding0"
    assert list(framed.index) == list(table.index)
    assert framed.shape == (12, 77)


def test_refitting_forgets_the_last_fit():
    rng = np.random.default_rng(0)
    embedding = SWWLEmbedding(**SMALL).fit([random_graph(rng, 20, 3)])
    assert embedding.fit([random_graph(rng, 20, 5)]).directions_.shape == (15, 7)


def test_progress_counts_every_graph():
    graphs = [random_graph(np.random.default_rng(0)) for _ in range(20)]
    calls = []
    SWWLEmbedding(**SMALL).fit_transform(graphs, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (20, 20)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    SWWLEmbedding(**SMALL).fit_transform(iter(graphs), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (20, None)


@pytest.mark.slow
def test_an_iterator_is_drawn_only_as_needed():
    """Graphs of an iterator live only while they wait for a thread or are embedded."""
    points, cells = plate(2000)
    alive, most = set(), []

    def graphs():
        for k in range(400):
            graph = Graph.from_cells(points.copy(), cells)
            alive.add(k)
            weakref.finalize(graph.features, alive.discard, k)  # the graph itself has slots
            most.append(len(alive))
            yield graph

    SWWLEmbedding(**SMALL, n_jobs=2).fit_transform(graphs())
    # Two handfuls of fifteen at work, two waiting for each thread; and one being drawn.
    assert 15 < max(most) <= 7 * 15


def test_node_weights_can_be_required_or_ignored():
    points, cells = plate(80)
    heavy = Graph.from_cells(points, cells, node_weights="area")
    plain = Graph.from_cells(points, cells)
    ignore = SWWLEmbedding(**SMALL, node_weights="uniform").fit_transform([heavy, plain])
    np.testing.assert_array_equal(ignore[0], ignore[1])
    use = SWWLEmbedding(**SMALL).fit_transform([heavy, plain])
    assert not np.array_equal(use[0], use[1])
    area = SWWLEmbedding(**SMALL, node_weights="area").fit_transform([(points, cells), heavy])
    np.testing.assert_array_equal(area[0], area[1])
    with pytest.raises(ValueError, match="Graph 1: .*no cells to measure; make it with Graph.from_cells"):
        SWWLEmbedding(**SMALL, node_weights="area").fit_transform([heavy, plain])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_quantiles": 1}, "n_quantiles must be an integer of at least 2, not 1"),
        ({"n_projections": 0}, "n_projections must be an integer of at least 1, not 0"),
        ({"n_iterations": -1}, "n_iterations must be an integer of at least 0, not -1"),
        ({"n_iterations": 1.5}, "n_iterations must be an integer"),
        ({"step": 0}, 'step must be an integer of at least 1 or "sqrt", not 0'),
        ({"step": "log"}, "or \"sqrt\", not 'log'"),
        (
            {"quantiles": "nearest"},
            r"quantiles must be one of \['linear', 'lower', 'midpoint', 'mean'\], not 'nearest'",
        ),
        ({"directions": "random"}, "directions must be one of"),
        ({"node_weights": "mass"}, "node_weights must be one of"),
        ({"normalization": "max"}, "normalization must be one of"),
        ({"r": 3}, "r must be one of"),
        ({"tolerance": -1}, "tolerance must not be negative"),
        ({"scale": [1.0]}, "scale must be True, False or 3 positive numbers"),
        ({"scale": [1.0, 0.0, 1.0]}, "3 positive numbers"),
        ({"fields": "pressure"}, r"such as \['pressure'\]"),
        ({"n_jobs": 0}, "n_jobs must be a number of workers, or -1 for one per core, not 0"),
        ({"n_projections": 10**8, "n_quantiles": 10**6}, "The embeddings would take .* GB, but this machine has"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        SWWLEmbedding(**options).fit([random_graph(np.random.default_rng(0))])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bad_graphs_are_named(n_jobs, tmp_path):
    rng = np.random.default_rng(0)
    good = random_graph(rng)
    embedding = SWWLEmbedding(**SMALL, n_jobs=n_jobs).fit([good])
    (tmp_path / "broken.vtk").write_text("this is not a mesh\n")
    write_graph(tmp_path / "flat.npz", random_graph(rng, 10, 2))
    cases = [
        (tmp_path / "flat.npz", ValueError, r"Graph 3 \(flat.npz\) has 2 features per node, but fit saw 3"),
        (tmp_path / "broken.vtk", ValueError, "Graph 3: .*broken.vtk: it does not begin with '# vtk DataFile Version'"),
        (tmp_path / "missing.vtu", FileNotFoundError, "Graph 3: .*missing.vtu: no such file"),
        (([[0, 0], [np.nan, 0]], [[0, 1]]), ValueError, "Graph 3: .*node 1, column 0 holds nan"),
        (3.5, TypeError, "Graph 3: Cannot make a graph of float"),
        (
            Graph([[0.0, 0, 0], [1e200, 0, 0]], []),
            ValueError,
            "Graph 3: its features spread too far for single precision",
        ),
    ]
    for bad, kind, message in cases:
        with pytest.raises(kind, match=message):
            embedding.transform([good, good, good, bad, good])


def test_an_error_in_the_users_iterator_reaches_the_user():
    def graphs():
        yield random_graph(np.random.default_rng(0))
        raise RuntimeError("disk on fire")

    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="disk on fire"):
            SWWLEmbedding(**SMALL, n_jobs=n_jobs).fit_transform(graphs())


@pytest.mark.parametrize(
    ("X", "kind", "message"),
    [
        ([], ValueError, "no graphs to fit"),
        (iter([]), ValueError, "no graphs to fit"),
        ("mesh.vtu", TypeError, "put it in a list"),
        (Graph([[0.0]], []), TypeError, "put it in a list"),
        (3, TypeError, "iterable of graphs"),
        (pd.DataFrame({"a": [1], "b": [2]}), ValueError, "has 2 columns"),
    ],
)
def test_bad_collections(X, kind, message):
    for options in ({}, {"scale": True}):
        with pytest.raises(kind, match=message):
            SWWLEmbedding(**options).fit(X)


def test_transform_of_nothing_is_empty():
    embedding = SWWLEmbedding(**SMALL).fit([random_graph(np.random.default_rng(0))])
    assert embedding.transform([]).shape == embedding.transform(iter([])).shape == (0, 77)


def test_merged_nodes_give_the_rows_of_the_whole_mesh(tmp_path):
    points, cells = plate(60)
    whole = Mesh(points, {"triangle": cells})
    soup = Mesh(points[cells.ravel()], {"triangle": np.arange(cells.size).reshape(-1, 3)})
    soup.write(tmp_path / "soup.vtu")
    options = {"n_projections": 8, "n_quantiles": 20, "memory": tmp_path / "kept"}
    embedding = SWWLEmbedding(**options).fit([whole])
    merging = SWWLEmbedding(**options, merge_nodes=True).fit([whole])
    row = embedding.transform([whole])
    assert np.array_equal(merging.transform([whole]), row)
    assert not np.allclose(embedding.transform([tmp_path / "soup.vtu"]), row, atol=1e-3)
    for _ in range(2):  # the second time from what was kept, under a name of its own
        assert np.allclose(merging.transform([tmp_path / "soup.vtu", soup]), row, atol=1e-6)
    with pytest.raises(InputError, match="graph does not have"):
        merging.transform([whole.graph()])
    with pytest.raises(InputError, match="merge_nodes must be True or False, not 'yes'"):
        SWWLEmbedding(merge_nodes="yes").fit([whole])


@pytest.mark.parametrize("measure", [None, "edges", "area"])
def test_a_group_gives_the_rows_of_its_part(measure, tmp_path):
    points, cells = plate(60)
    mesh = Mesh(points, {"triangle": cells}, groups={"body 1": {"triangle": [0, 1, 2]}, "body 2": {"triangle": [7, 9]}})
    mesh.write(tmp_path / "a.vtu")
    options = {
        "n_iterations": 1,
        "n_projections": 8,
        "n_quantiles": 20,
        "memory": tmp_path / "kept",
        "measure": measure,
    }
    row = SWWLEmbedding(**options).fit([mesh.part("body*")]).transform([mesh.part("body*")])
    grouped = SWWLEmbedding(**options, group="body*").fit([mesh])
    for _ in range(2):  # the second time from what was kept, under a name of its own
        np.testing.assert_array_equal(grouped.transform([tmp_path / "a.vtu", mesh]), row.repeat(2, axis=0))
    whole = SWWLEmbedding(**options).fit([mesh])
    assert not np.allclose(whole.transform([tmp_path / "a.vtu"]), row, atol=1e-3)
    Mesh(points, {"triangle": cells}, groups={"other": [0]}).write(tmp_path / "b.vtu")
    with pytest.raises(InputError, match=r"b.vtu: The mesh has no group 'body\*'; its groups are: other"):
        grouped.transform([tmp_path / "b.vtu"])
    if measure != "area":
        with pytest.raises(InputError, match="a finished graph has no groups"):
            grouped.transform([mesh.graph()])
    with pytest.raises(InputError, match="group must be the name or a pattern of groups"):
        SWWLEmbedding(group=3).fit([mesh])


def test_a_loose_node_changes_no_row():
    points, cells = plate(60)
    whole, stray = Mesh(points, {"triangle": cells}), Mesh([*points, [5.0, 5.0]], {"triangle": cells}, name="stray")
    embedding = SWWLEmbedding(n_projections=8, n_quantiles=20).fit([whole])
    with pytest.warns(LooseNodesWarning, match="stray: 1 node"):
        assert np.array_equal(embedding.transform([stray]), embedding.transform([whole]))

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.svm import SVC

from swwl import Graph, GraphSVC, Matern52, RobustGPRegressor, load_model, pairwise_distances
from swwl.classification.baselines import (
    FGW,
    RPW,
    WWL,
    GraphHopper,
    Propagation,
    fgw_distances,
    graphhopper_gram,
    propagation_gram,
    rpw_distances,
    wwl_distances,
)
from swwl.classification.baselines import transport as exact
from swwl.classification.baselines.common import for_grakel, pair_matrix, require
from swwl.classification.baselines.grakel import path_counts
from swwl.classification.baselines.rpw import (
    convolve,
    line_order,
    mean_plan,
    merge,
    merge_equal,
    projected_distance,
    sort_cloud,
)
from swwl.gp import GPWarning
from swwl.kernels import IndefiniteKernelWarning
from swwl.kernels.base import shift_needed, shifted
from tests.helpers import random_graph, reference_wl, shapes

ot = pytest.importorskip("ot", reason="POT is not installed")
try:
    import grakel
except ImportError:  # it has no release for this Python yet
    grakel = None
needs_grakel = pytest.mark.skipif(grakel is None, reason="GraKeL is not installed: it needs Python below 3.13")

WEIGHTS = np.random.default_rng(5).standard_normal((3, 2))
DISTANCES = {
    "wwl": (wwl_distances, {"n_iterations": 2}),
    "wwl scaled": (wwl_distances, {"n_iterations": 1, "scale": [1.0, 2.0, 3.0]}),
    "sinkhorn": (wwl_distances, {"n_iterations": 1, "sinkhorn": 0.1}),
    "fgw": (fgw_distances, {"alpha": 0.5}),
    "rpw": (rpw_distances, {"weights": WEIGHTS, "n_projections": 7}),
}
GRAMS = {
    "propagation": (propagation_gram, {"w": 1.0, "t_max": 3}),
    "hopper": (graphhopper_gram, {}),
    "linear hopper": (graphhopper_gram, {"node_kernel": "linear"}),
}
FACTORS = {
    "wwl": WWL(n_iterations=1),
    "fgw": FGW(alpha=0.25),
    "rpw": RPW(weights=WEIGHTS, n_projections=5),
    "propagation": pytest.param(Propagation(w=2.0), marks=needs_grakel),
    "hopper": pytest.param(GraphHopper(mu=0.2), marks=needs_grakel),
}
factors = pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS)


@pytest.fixture(scope="module")
def graphs():
    rng = np.random.default_rng(0)
    return [random_graph(rng, n, massive=False) for n in (5, 8, 6, 9, 5, 7, 11, 4)]


def lone():
    return [Graph([[0.5, 1.0, -1.0]], []), Graph(np.eye(3), []), Graph(np.arange(12.0).reshape(4, 3) / 9, [(2, 3)])]


def transport(costs, a, b):
    """The optimal cost by linear programming."""
    n, m = costs.shape
    marginals = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    return linprog(costs.ravel(), A_eq=marginals, b_eq=np.concatenate([a, b]), method="highs").fun


def test_wwl_equals_linear_programming(graphs):
    rng = np.random.default_rng(1)
    few = [*graphs[:3], random_graph(rng, 6, massive=True)]
    found = wwl_distances(few, n_iterations=2)
    for i, one in enumerate(few):
        for j, other in enumerate(few):
            masses = [
                np.full(g.n_nodes, 1 / g.n_nodes) if g.node_weights is None else g.node_weights / g.node_weights.sum()
                for g in (one, other)
            ]
            costs = cdist(reference_wl(one, 2), reference_wl(other, 2))
            assert found[i, j] == pytest.approx(transport(costs, *masses), abs=1e-9)


def test_sinkhorn_is_an_upper_bound_that_tightens(graphs):
    exact = wwl_distances(graphs[:4], n_iterations=1)
    loose, tight = (wwl_distances(graphs[:4], n_iterations=1, sinkhorn=reg) for reg in (0.5, 0.02))
    off = ~np.eye(4, dtype=bool)
    assert (loose[off] > tight[off]).all()
    assert (tight[off] > exact[off] - 1e-9).all()
    np.testing.assert_allclose(tight, exact, rtol=0.02)


def test_fgw_has_its_two_limits(graphs):
    features, structure = (fgw_distances(graphs[:4], alpha=alpha) for alpha in (0.0, 1.0))
    for i, one in enumerate(graphs[:4]):
        for j, other in enumerate(graphs[:i]):
            a, b = (np.full(g.n_nodes, 1 / g.n_nodes) for g in (one, other))
            costs = cdist(one.features, other.features, "sqeuclidean")
            assert features[i, j] == pytest.approx(transport(costs, a, b), abs=1e-9)
            first, second = sorted([one, other], key=lambda g: g.n_nodes)
            paths = [_paths(g) for g in (first, second)]
            gromov = ot.gromov_wasserstein2(*paths, *(np.full(len(p), 1 / len(p)) for p in paths), max_iter=500)
            assert structure[i, j] == pytest.approx(float(gromov), rel=1e-6)


def _paths(graph):
    """Shortest paths by the Floyd-Warshall recursion; unreachable nodes ten times as far as the farthest."""
    d = np.where(graph.adjacency.toarray() > 0, 1.0, np.inf)
    np.fill_diagonal(d, 0)
    for k in range(len(d)):
        d = np.minimum(d, d[:, [k]] + d[[k]])
    d[np.isinf(d)] = 10 * d[np.isfinite(d)].max()
    return d


def test_fgw_of_a_relabelled_graph_at_the_features_end(graphs):
    graph = graphs[3]
    order = np.random.default_rng(2).permutation(graph.n_nodes)
    place = np.argsort(order)
    twin = Graph(graph.features[order], place[graph.edges])
    np.testing.assert_allclose(fgw_distances([graph], [twin], alpha=0.0), 0, atol=1e-12)
    np.testing.assert_allclose(fgw_distances([graph], [graph], alpha=0.5), 0)


def test_rpw_of_a_translated_cloud_is_the_shift(graphs):
    """Any plan between a cloud and itself shifted by t that keeps their order costs |t|² in the full space."""
    rng = np.random.default_rng(3)
    shift = np.array([3.0, -1.0, 2.0])
    graph = graphs[1]
    moved = Graph(graph.features + shift, graph.edges)
    weights = rng.standard_normal((3, 4))
    found = rpw_distances([graph, moved], weights=weights, n_layers=0)
    assert found[0, 1] == pytest.approx(np.linalg.norm(shift @ weights))
    # On three points and six of them, each twice, the measures are the same but for the shift.
    points = rng.standard_normal((3, 2))
    one = sort_cloud((points, np.full(3, 1 / 3)), np.eye(2))
    two = sort_cloud((np.repeat(points, 2, axis=0) + [1.0, 2.0], np.full(6, 1 / 6)), np.eye(2))
    assert projected_distance(one, two) == pytest.approx(np.sqrt(5))


def test_rpw_lies_above_wasserstein_and_is_that_on_a_line(graphs):
    weights = np.random.default_rng(4).standard_normal((3, 1))
    line = rpw_distances(graphs[:4], weights=weights, n_layers=1)
    plane = rpw_distances(graphs[:4], weights=WEIGHTS, n_layers=1)
    for i, one in enumerate(graphs[:4]):
        for j, other in enumerate(graphs[:i]):
            a, b = (np.full(g.n_nodes, 1 / g.n_nodes) for g in (one, other))
            x, y = (convolve(g, 1) for g in (one, other))
            exact = [transport(cdist(x @ w, y @ w, "sqeuclidean"), a, b) for w in (weights, WEIGHTS)]
            assert line[i, j] == pytest.approx(np.sqrt(exact[0]))
            assert plane[i, j] >= np.sqrt(exact[1]) - 1e-9


def test_rpw_is_a_euclidean_distance(graphs):
    """Its squares are conditionally negative definite, so kernels of it are positive definite."""
    squares = rpw_distances([*graphs, *lone()], weights=WEIGHTS) ** 2
    center = np.eye(len(squares)) - 1 / len(squares)
    assert np.linalg.eigvalsh(-0.5 * center @ squares @ center).min() > -1e-9


def test_merged_plans(graphs):
    rng = np.random.default_rng(6)
    for n, m in ((1, 5), (4, 6), (7, 7)):
        equal = merge_equal(n, m)
        for ours, theirs in zip(equal, merge(np.full(n, 1 / n), np.full(m, 1 / m)), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
        np.testing.assert_allclose(np.bincount(equal[0], equal[2]), 1 / n)
    clouds = [(rng.standard_normal((n, 2)), rng.dirichlet(np.ones(n))) for n in (5, 8)]
    directions = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    orders = [line_order(cloud, directions) for cloud in clouds]
    plan = mean_plan(clouds[0][1], clouds[1][1], *orders)
    np.testing.assert_allclose(plan.sum(axis=1), clouds[0][1])
    np.testing.assert_allclose(plan.sum(axis=0), clouds[1][1])
    squares = np.sum(plan * cdist(clouds[0][0], clouds[1][0], "sqeuclidean"))
    ours = projected_distance(*(sort_cloud(cloud, directions) for cloud in clouds))
    assert ours**2 == pytest.approx(squares)


def test_convolution_is_that_of_dense_matrices(graphs):
    graph = random_graph(np.random.default_rng(7), 12, weighted=True)
    looped = graph.adjacency.toarray() + np.eye(12)
    root = np.diag(looped.sum(1) ** -0.5)
    expected = np.linalg.matrix_power(root @ looped @ root, 3) @ graph.features
    np.testing.assert_allclose(convolve(graph, 3), expected)


@needs_grakel
@pytest.mark.parametrize("normalize", [False, True])
def test_propagation_equals_grakel(graphs, normalize):
    few = [*graphs, *lone()]
    first, second = (grakel.PropagationAttr(t_max=4, w=0.7, random_state=3, normalize=normalize) for _ in range(2))
    inputs = [for_grakel(g.features, g.edges) for g in few]
    options = {"t_max": 4, "w": 0.7, "random_state": 3, "normalize": normalize}
    np.testing.assert_allclose(propagation_gram(few, **options), first.fit_transform(inputs), rtol=1e-12)
    np.testing.assert_allclose(
        propagation_gram(few[6:], few[:6], **options), second.fit(inputs[:6]).transform(inputs[6:]), rtol=1e-12
    )


@needs_grakel
@pytest.mark.parametrize("node_kernel", ["linear", "gaussian"])
def test_graphhopper_equals_grakel(node_kernel):
    rng = np.random.default_rng(8)
    few = [Graph(rng.standard_normal((n, 2)), [(i, (i + 1) % n) for i in range(n)] + [(0, n // 2)]) for n in (4, 7, 9)]
    kind = "linear" if node_kernel == "linear" else ("gaussian", 0.3)
    theirs = grakel.GraphHopper(kernel_type=kind).fit_transform([for_grakel(g.features, g.edges) for g in few])
    ours = graphhopper_gram(few, node_kernel=node_kernel, mu=0.3, normalize=False)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@needs_grakel
def test_graphhopper_counts_paths_of_disconnected_graphs():
    """Nodes and paths by hand: an edge and an isolated node, which GraKeL alone cannot take."""
    counts, _ = path_counts(Graph(np.zeros((3, 1)), [(0, 2)]))
    assert counts.shape == (3, 2, 2)
    np.testing.assert_array_equal(counts[1], [[1, 0], [0, 0]])  # the path of no edges
    np.testing.assert_array_equal(counts[0], [[1, 1], [0, 1]])  # and the edge, walked either way
    joined = graphhopper_gram([Graph(np.ones((3, 1)), [(0, 2)])], normalize=False)[0, 0]
    parts = graphhopper_gram([Graph(np.ones((2, 1)), [(0, 1)]), Graph(np.ones((1, 1)), [])], normalize=False)
    assert joined == pytest.approx(parts.sum())


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_of_train_and_test_agree(name, graphs):
    function, options = DISTANCES[name]
    joint = function([*graphs, *lone()], **options)
    np.testing.assert_array_equal(joint, joint.T)
    np.testing.assert_array_equal(joint.diagonal(), 0)
    assert joint.min() >= 0
    cross = function([*graphs[5:], *lone()], graphs[:5], **options)
    np.testing.assert_allclose(cross, joint[5:, :5], rtol=1e-9, atol=1e-12)
    assert function(graphs[5:6], graphs[:5], **options) == pytest.approx(cross[:1], rel=1e-9)


@needs_grakel
@pytest.mark.parametrize("name", GRAMS)
def test_grams_of_train_and_test_agree(name, graphs):
    function, options = GRAMS[name]
    joint = function([*graphs, *lone()], **options)
    np.testing.assert_array_equal(joint, joint.T)
    np.testing.assert_array_equal(joint.diagonal(), 1)
    assert np.linalg.eigvalsh(joint).min() > -1e-9
    np.testing.assert_allclose(function([*graphs[5:], *lone()], graphs[:5], **options), joint[5:, :5], rtol=1e-9)


@needs_grakel
def test_a_gram_gives_its_distance(graphs):
    for options in ({}, {"normalize": False}):
        factor = Propagation(w=1.0, **options)
        rows = factor.fit(graphs)
        gram, distances = factor.gram(rows), factor.items(rows)[0]
        own = gram.diagonal()
        np.testing.assert_allclose(distances**2, own[:, None] + own - 2 * gram, atol=1e-9)
        np.testing.assert_array_equal(distances.diagonal(), 0)
        np.testing.assert_allclose(factor.items(factor.represent(graphs[3:5]), rows)[0], distances[3:5], atol=1e-7)


@factors
def test_one_interface_for_all(factor, graphs):
    table = pd.DataFrame({"graph": pd.Series(graphs, dtype=object)})
    kernel = clone(factor)
    rows = kernel.fit(table["graph"])
    joint = kernel.items(rows)[0]
    np.testing.assert_array_equal(joint, joint.T)
    np.testing.assert_allclose(kernel.items(kernel.represent(graphs[:3]), rows)[0], joint[:3], atol=1e-7)
    scaled = clone(factor).set_params(scale=True)
    bigger = [Graph(10 * g.features, g.edges) for g in graphs]
    first, second = (scaled.items(scaled.fit(sample))[0] for sample in (graphs, bigger))
    np.testing.assert_allclose(first, second, rtol=1e-6)
    with pytest.raises(ValueError, match=r"Column 'graph', graph 1 has 2 features per node, but fit saw 3"):
        kernel.represent([graphs[0], Graph(np.zeros((2, 2)), [])])
    name = factor.exponent_name
    with pytest.raises(ValueError, match=rf"{name} must lie in \(0, 2\], but is 3"):
        clone(factor).set_params(**{name: 3}).fit(graphs)
    with pytest.raises(ValueError, match="no graphs to fit"):
        clone(factor).fit([])


@factors
def test_it_classifies(factor):
    graphs, classes = shapes(24)
    model = GraphSVC(clone(factor), C=100.0).fit(graphs[:16], classes[:16])
    assert model.score(graphs[16:], classes[16:]) == 1.0


@needs_grakel
def test_graphsvc_takes_a_gram_as_it_is():
    graphs, classes = shapes(20)
    factor = GraphHopper(mu=0.5)
    model = GraphSVC(factor, C=2.0, gamma=99.0).fit(graphs[:14], classes[:14])
    gram = graphhopper_gram(graphs, mu=0.5)
    svc = SVC(kernel="precomputed", C=2.0).fit(gram[:14, :14], classes[:14])
    np.testing.assert_allclose(model.decision_function(graphs[14:]), svc.decision_function(gram[14:, :14]))
    assert GraphSVC(factor).fit(graphs, classes).gamma_ == 1.0
    table = pd.DataFrame({"graph": pd.Series(graphs, dtype=object), "x": np.linspace(0, 1, 20)})
    product = GraphSVC(factor * Matern52("x"), gamma=0.5, alpha=1.0).fit(table, classes)
    x = (table["x"].to_numpy() - 0.5) / table["x"].std(ddof=0)
    by_hand = SVC(kernel="precomputed").fit(gram * np.exp(-0.5 * np.abs(x[:, None] - x)), classes)
    np.testing.assert_allclose(product.svc_.dual_coef_, by_hand.dual_coef_, rtol=1e-6)


def radii(number, seed=0):
    """Rings of random radius; the target is the radius."""
    rng = np.random.default_rng(seed)
    radius = rng.uniform(1, 3, number)
    graphs = []
    for r in radius:
        n = int(rng.integers(5, 8))
        angles = 2 * np.pi * np.arange(n) / n + rng.random()
        graphs.append(Graph(r * np.column_stack([np.cos(angles), np.sin(angles), 0 * angles]),
                            [(i, (i + 1) % n) for i in range(n)]))  # fmt: skip
    return pd.DataFrame({"graph": pd.Series(graphs, dtype=object)}), radius


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")  # smooth targets take some ranges to their bounds
@factors
def test_it_works_in_a_gaussian_process(factor, tmp_path):
    table, target = radii(45)
    model = RobustGPRegressor(clone(factor), n_starts=2)
    if factor.positive_definite:
        model.fit(table[:36], target[:36])
    else:
        name = type(factor).__name__
        with pytest.warns(IndefiniteKernelWarning, match=f"{name} does not give a positive definite kernel"):
            model.fit(table[:36], target[:36])
    mean, std = model.predict(table[36:], return_std=True)
    assert np.isfinite(std).all()
    spread = 0.7 if isinstance(factor, Propagation) else 0.4
    assert np.sqrt(np.mean((mean - target[36:]) ** 2)) < spread * target.std()
    assert model.sample(table[36:], 2, 0).shape == (2, 9)
    model.save(tmp_path / "m.swwl")
    twin = load_model(tmp_path / "m.swwl")
    np.testing.assert_array_equal(twin.predict(table[36:], return_std=True), (mean, std))


def test_a_constant_makes_any_kernel_positive_definite():
    rng = np.random.default_rng(0)
    noise = np.triu(rng.uniform(0, 1, (30, 30)) ** 2, 1)
    distances = noise + noise.T
    for exponent in (0.5, 1.0, 2.0):
        shift = shift_needed(distances, exponent)
        assert np.linalg.eigvalsh(np.exp(-(distances**exponent))).min() < -0.1 or exponent < 1
        moved = shifted(distances, exponent, shift, same=True)
        for beta in (0.03, 1.0, 10.0):
            assert np.linalg.eigvalsh(np.exp(-((beta * moved) ** exponent))).min() > -1e-9
        less = shifted(distances, exponent, 0.9 * shift, same=True)
        assert np.linalg.eigvalsh(np.exp(-1e-4 * less**exponent)).min() < -1e-6
    points = rng.standard_normal((30, 3))
    assert shift_needed(cdist(points, points), 2.0) == 0.0


def test_a_wild_factor_still_fits():
    """Random numbers for distances: the fit ends, with positive variances, and has found nothing."""
    table, target = radii(40, seed=1)
    rng = np.random.default_rng(0)
    noise = np.triu(rng.uniform(0, 1, (40, 40)) ** 4, 1)

    class Wild(WWL):
        def prepare(self, graph):
            return graph

        def distances(self, first, second=None):
            return noise + noise.T

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)
        with pytest.warns(IndefiniteKernelWarning, match="A constant is added to the distances"):
            model = RobustGPRegressor(Wild(alpha=2.0), n_starts=1).fit(table, target)
    assert model.kernel_.factors[0].shifts_[0] > 0.1
    assert np.isfinite(model.leave_one_out().std).all()


@pytest.mark.slow
def test_rpw_learns_from_classes():
    pytest.importorskip("torch", reason="torch is not installed: RPW's training needs the extra rpw")
    rng = np.random.default_rng(0)
    classes = np.arange(40) % 2
    # Classes differ in one feature out of three, and the other two vary far more.
    graphs = [
        Graph(rng.standard_normal((6, 3)) * [0.2, 1, 1] + [c, *(3 * rng.standard_normal(2))], [(0, 1), (1, 2), (3, 4)])
        for c in classes
    ]
    options = {"n_layers": 1, "n_epochs": 20, "learning_rate": 0.05, "random_state": 1}
    model = GraphSVC(RPW(**options), C=10.0).fit(graphs[:28], classes[:28])
    assert model.score(graphs[28:], classes[28:]) >= 0.9
    weights = model.kernel_.factors[0].weights_
    assert weights.shape == (3, 5)
    assert np.linalg.norm(weights[0]) > 2 * np.linalg.norm(weights[1:], axis=1).max()
    again = rpw_distances(graphs[:28], y=classes[:28], **options)
    np.testing.assert_array_equal(again, rpw_distances(graphs[:28], weights=weights, n_layers=1, random_state=1))
    steps = []
    rpw_distances(graphs[:6], y=classes[:6], n_epochs=2, progress=lambda done, total: steps.append((done, total)))
    assert steps[:2] == [(1, 2), (2, 2)]


@pytest.mark.slow
def test_rpw_training_lowers_its_loss():
    torch = pytest.importorskip("torch", reason="torch is not installed: RPW's training needs the extra rpw")
    from swwl.classification.baselines.rpw import _loss, train_weights

    graphs, classes = shapes(12)
    clouds = [(g.features, np.full(g.n_nodes, 1 / g.n_nodes)) for g in graphs]
    directions = np.eye(2)
    losses = []
    for epochs in (0, 5, 30):
        weights = train_weights(clouds, classes, directions, n_epochs=epochs)
        squares = pair_matrix(
            projected_distance, [sort_cloud((x @ weights, mass), directions) for x, mass in clouds], diagonal=False
        ) ** 2  # fmt: skip
        means = np.column_stack([squares[:, classes == c].mean(axis=1) for c in (0, 1)])
        logits = -0.5 * means
        by_hand = np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(12), classes])
        loss = float(_loss(torch, clouds, classes, torch.from_numpy(weights), directions))
        assert loss == pytest.approx(by_hand)
        losses.append(loss)
    assert losses[0] > losses[1] > losses[2]


@pytest.mark.slow
def test_pairs_in_parallel(graphs):
    told = []
    many = [Graph(g.features + shift, g.edges) for shift in range(6) for g in graphs]
    expected = wwl_distances(many, n_iterations=0)
    found = wwl_distances(many, n_iterations=0, n_jobs=2, progress=lambda done, total: told.append((done, total)))
    np.testing.assert_array_equal(found, expected)
    assert told[-1] == (48 * 47 // 2, 48 * 47 // 2)
    assert pairwise_distances(expected[:, :3]).shape == (48, 48)


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (WWL(sinkhorn=0.0), "sinkhorn must be a positive number or None, not 0.0"),
        (FGW(alpha=1.5), r"alpha must lie in \[0, 1\], but is 1.5"),
        (FGW(metric="cosine"), "metric must be one of"),
        (RPW(), "RPW learns its metric from classes, and there are none here"),
        (RPW(weights=np.eye(2)), r"weights must have 3 rows, one per feature, but have shape \(2, 2\)"),
        (RPW(weights=WEIGHTS, directions="best"), "directions must be one of"),
        pytest.param(Propagation(t_max=0), "t_max must be an integer of at least 1, not 0", marks=needs_grakel),
        pytest.param(Propagation(w=0.0), "w must be positive, but is 0.0", marks=needs_grakel),
        pytest.param(Propagation(metric="TV"), "metric must be one of", marks=needs_grakel),
        pytest.param(GraphHopper(node_kernel="bridge"), "node_kernel must be one of", marks=needs_grakel),
        pytest.param(GraphHopper(mu=0), "mu must be positive, but is 0", marks=needs_grakel),
        (WWL(scale=[1.0, -1.0, 1.0]), "scale must be True, False or 3 positive numbers"),
    ],
)
def test_bad_options(factor, message, graphs):
    with pytest.raises(ValueError, match=message):
        factor.fit(graphs)


def test_graphs_without_attributes_are_refused(graphs):
    import scipy.sparse as sp

    bare = (sp.eye_array(3), np.empty((3, 0)))
    with pytest.raises(ValueError, match=r"Column 'graph', graph 1: Features must be an \(n, d\) array with d >= 1"):
        WWL().fit([graphs[0], bare])


@needs_grakel
def test_a_graph_without_self_similarity_cannot_be_normalised():
    graphs = [Graph([[1.0], [2.0]], [(0, 1)]), Graph([[0.0], [0.0]], [(0, 1)])]
    with pytest.raises(ValueError, match="Graph 1 has a self-similarity of 0 under GraphHopper"):
        graphhopper_gram(graphs, node_kernel="linear")
    assert graphhopper_gram(graphs, node_kernel="linear", normalize=False)[1, 1] == 0


@pytest.mark.parametrize(
    ("factor", "module"),
    [(WWL(), "ot"), (FGW(), "ot"), (Propagation(), "grakel"), (GraphHopper(), "grakel"), (RPW(), "torch")],
)
def test_a_missing_extra_is_named(factor, module, graphs, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    extra = "rpw" if module == "torch" else "baselines"
    with pytest.raises(ImportError, match=rf"needs {module}, which is not installed: pip install 'swwl\[{extra}\]'"):
        factor.fit(graphs[:2], y=[0, 1])


def test_importing_the_baselines_needs_no_extra():
    code = "import sys, swwl.classification.baselines; print({'ot', 'grakel', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    with pytest.raises(ImportError, match="needs no_such_module"):
        require("no_such_module", "This test")


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (WWL(normalization="summ"), r"normalization must be one of \['count', 'sum'\], not 'summ'"),
        (WWL(n_iterations=-1), "n_iterations must be an integer of at least 0, not -1"),
        (WWL(step="log"), "step must be an integer of at least 1 or \"sqrt\", not 'log'"),
        (WWL(fields="pressure"), r"fields must be a sequence of names, such as \['pressure'\]"),
        (WWL(node_weights="mass"), "node_weights must be one of"),
        (FGW(max_iter=0), "max_iter must be an integer of at least 1"),
        (FGW(disconnected=0.0), "disconnected must be positive"),
        (RPW(weights=[[1.0]], n_layers=-1), "n_layers must be an integer of at least 0"),
        (RPW(weights=[[1.0]], directions="sobol"), r"directions must be one of \['uniform', 'basis'\]"),
        (Propagation(t_max=0), "t_max must be an integer of at least 1"),
        (Propagation(w=-1.0), "w must be positive"),
        (GraphHopper(mu=0.0), "mu must be positive"),
    ],
)
def test_options_are_checked(factor, message):
    with pytest.raises(ValueError, match=message):
        factor.fit([Graph([[0.0], [1.0]], [(0, 1)])])


def test_steps_of_the_root_of_n():
    graphs = [Graph(np.arange(9.0)[:, None], [(k, k + 1) for k in range(8)]) for _ in range(2)]
    kernel = WWL(step="sqrt", n_iterations=2)
    kernel.fit(graphs)
    assert kernel.step_ == 3
    np.testing.assert_allclose(kernel.represent(graphs)[0][0], WWL(step=3, n_iterations=2).fit(graphs)[0][0])


def test_weights_of_nodes_can_be_left_out():
    weighted = Graph([[0.0], [1.0]], [(0, 1)], node_weights=[3.0, 1.0])
    plain = Graph([[0.0], [1.0]], [(0, 1)])
    kernel = WWL(n_iterations=0)
    assert kernel.items(kernel.fit([weighted, plain]))[0][0, 1] == pytest.approx(0.25)
    uniform = WWL(n_iterations=0, node_weights="uniform")
    assert uniform.items(uniform.fit([weighted, plain]))[0][0, 1] == 0


def test_graphs_in_many_rows_are_compared_once(monkeypatch):
    rng = np.random.default_rng(0)
    graphs = [Graph(rng.normal(size=(4, 1)), [(0, 1), (1, 2), (2, 3)]) for _ in range(3)]
    column = [graphs[k] for k in (0, 1, 0, 2, 1, 0)]
    calls = []
    monkeypatch.setattr(
        exact,
        "wasserstein",
        lambda one, two, sinkhorn: calls.append(1) or float(np.abs(one[0] - two[0]).sum()),
    )
    kernel = WWL(n_iterations=0)
    matrix = kernel.items(kernel.fit(column))[0]
    assert len(calls) == 3
    assert matrix[0, 2] == 0 and matrix[0, 1] == matrix[2, 4] > 0

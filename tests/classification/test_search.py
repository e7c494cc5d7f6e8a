"""GraphSVC without a kernel: what it chooses, from what, and that it says so."""

import numpy as np
import pytest
from sklearn.svm import SVC

from swwl import Graph, GraphSVC, load_model
from swwl.classification.search import inner_accuracies, inner_folds, label_columns, settings
from swwl.mesh.labels import with_labels

MACHINE = ("alpha", "gamma", "C")


def rings(classes, column, noise=1e-3, seed=0):
    """Return rings of nine nodes whose features ``column(class, nodes)`` gives, with noise."""
    rng = np.random.default_rng(seed)
    edges = [(i, (i + 1) % 9) for i in range(9)]
    return [Graph(column(c, rng) + noise * rng.standard_normal((9, 1)), edges) for c in classes]


def by_order(c, rng):
    """The same numbers on both classes' nodes, smooth around one ring and alternating around the other."""
    values = np.repeat([0.0, 1.0], [5, 4])
    return (values if c else values[[0, 5, 1, 6, 2, 7, 3, 8, 4]])[:, None] + 0 * rng.random()


def by_small_column(c, rng):
    """A column that tells the classes, beside one a thousand times as large that does not."""
    return np.column_stack([c + rng.random(9), 1e3 * rng.random() + np.zeros(9)])


@pytest.fixture(scope="module")
def fitted():
    classes = np.arange(30) % 2
    graphs = rings(classes, by_order)
    return graphs, classes, GraphSVC().fit(graphs[:24], classes[:24])


def test_it_looks_at_neighbours_where_they_tell_the_classes(fitted):
    graphs, classes, model = fitted
    assert model.best_params_["n_iterations"] > 0
    assert model.score(graphs[24:], classes[24:]) == 1.0


def test_its_choice_is_seen_and_can_be_made_by_hand(fitted):
    graphs, classes, model = fitted
    table = model.selection_
    assert table["chosen"].sum() == 1 and table["chosen"][0]
    assert table["accuracy"].max() == table["accuracy"][0] == 1.0
    assert {name: table[name][0] for name in model.best_params_} == model.best_params_
    assert not table[["n_iterations", "step", "scale", "labels", "alpha"]].duplicated().any()
    assert repr(model).startswith("GraphSVC() chose SWWL('graph', n_iterations=1")
    by_hand = GraphSVC(model.kernel_.factors[0], **{name: model.best_params_[name] for name in MACHINE})
    by_hand.fit(graphs[:24], classes[:24])
    np.testing.assert_array_equal(by_hand.decision_function(graphs), model.decision_function(graphs))
    assert by_hand.selection_.empty and set(by_hand.best_params_) == set(MACHINE)


@pytest.mark.slow
def test_the_same_state_gives_the_same_choice(fitted):
    graphs, classes, model = fitted
    again = GraphSVC().fit(graphs[:24], classes[:24])
    assert again.selection_.equals(model.selection_)
    np.testing.assert_array_equal(again.decision_function(graphs), model.decision_function(graphs))


def test_columns_are_scaled_where_a_large_one_drowns_the_others():
    classes = np.arange(30) % 2
    graphs = rings(classes, by_small_column)
    model = GraphSVC(alpha=1.0, C=10.0).fit(graphs[:20], classes[:20])
    assert model.best_params_["scale"] and model.best_params_["C"] == 10.0
    assert model.score(graphs[20:], classes[20:]) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("tells", ["labels", "attributes"])
def test_labels_are_used_where_they_help(tells, tmp_path):
    rng = np.random.default_rng(1)
    classes = np.array(["round", "flat"])[np.arange(30) % 2]
    kinds = (classes == "flat").astype(int)
    plain = rings(kinds * (tells == "attributes"), lambda c, rng: c + rng.random((9, 1)))
    labels = [np.where(rng.random(9) < (0.9 if k and tells == "labels" else 0.4), "N", "C") for k in kinds]
    graphs = with_labels(plain, labels, 5.0 if tells == "attributes" else 1.0)
    model = GraphSVC(alpha=1.0, C=10.0).fit(graphs[:24], classes[:24])
    assert model.best_params_["labels"] == (tells == "labels")
    assert model.score(graphs[24:], classes[24:]) >= 5 / 6
    assert ("without labels" in repr(model)) == (tells == "attributes")
    if tells == "attributes":
        assert model.columns_.tolist() == [True, False, False]
        with pytest.raises(ValueError, match="has 1 features per node, but fit saw 3"):
            model.predict(plain)
    model.save(tmp_path / "model.swwl")
    again = load_model(tmp_path / "model.swwl")
    assert again.selection_.equals(model.selection_) and repr(again) == repr(model)
    assert again.best_params_ == model.best_params_
    np.testing.assert_array_equal(again.decision_function(graphs), model.decision_function(graphs))


@pytest.mark.slow
def test_of_equals_the_simplest_is_taken():
    """Graphs that are all alike: nothing is better than anything else."""
    graphs = rings(np.zeros(8), lambda c, rng: np.ones((9, 2)), noise=0)
    model = GraphSVC(gamma="scale").fit(graphs, [0, 1] * 4)
    simplest = {"labels": False, "scale": False, "n_iterations": 0, "step": 1, "alpha": 1.0, "gamma": 1.0, "C": 1.0}
    assert simplest.items() <= model.best_params_.items()


@pytest.mark.parametrize("classes", ["ab", "aab", "aaaaaab", "aabbccd"])
def test_few_graphs_and_small_classes_will_do(classes):
    graphs = rings([ord(c) for c in classes], lambda c, rng: np.full((9, 1), c))
    model = GraphSVC(gamma="scale", alpha=1.0, class_weight={c: 1.0 for c in set(classes)}).fit(graphs, list(classes))
    assert model.predict(graphs).shape == (len(classes),)


def test_labels_alone_will_do():
    classes = np.arange(12) % 2
    labels = [["C"] * 9 if c else ["C", "N", "O"] * 3 for c in classes]
    graphs = with_labels(rings(classes, by_order), labels, attributes=False)
    model = GraphSVC(gamma="scale", alpha=1.0).fit(graphs, classes)
    assert model.columns_ is None and model.best_params_["labels"] and model.score(graphs, classes) == 1.0


def test_what_is_given_is_kept_and_progress_is_told(fitted):
    graphs, classes, _ = fitted
    told = []
    model = GraphSVC(gamma=0.5, alpha=1.5, C=3.0).fit(graphs, classes, progress=lambda *done: told.append(done))
    assert [model.best_params_[name] for name in MACHINE] == [1.5, 0.5, 3.0]
    assert told == [(k, len(told)) for k in range(1, len(told) + 1)]


def test_mistakes_are_told(fitted):
    graphs, classes, _ = fitted
    with pytest.raises(ValueError, match="needs column 'graph', but the table has: mesh"):
        GraphSVC().fit({"mesh": graphs}, classes)
    with pytest.raises(ValueError, match="graph 3 has 2 features per node, but graph 0 has 1"):
        GraphSVC().fit([*graphs[:3], Graph([[0.0, 1.0]], []), *graphs[4:]], classes)


def test_settings_fit_the_graphs():
    """One column needs no scaling, two nodes no large steps, and labels alone are always used."""
    rod = [Graph([[0.5], [1.5]], [(0, 1)])]
    assert [s.n_iterations for s in settings(rod, label_columns(rod))] == [0, 1, 2, 3]
    only = with_labels(rod, [["C", "N"]], attributes=False)
    assert all(s.labels for s in settings(only, label_columns(only)))
    both = with_labels(rings([0], by_order), [list("CCCNNNOOO")])
    assert label_columns(both).tolist() == [False, True, True, True]
    assert len(settings(both, label_columns(both))) == 7 + 2 * 7


def test_a_machine_inside_its_bounds_is_not_trained_again():
    rng = np.random.default_rng(0)
    points, labels = rng.standard_normal((60, 3)), np.arange(60) % 3
    gram = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    folds, even = inner_folds(labels, 4, 0)
    costs = (0.1, 1.0, 10.0, 100.0, 1000.0)
    expected = [
        np.mean([
            np.mean(SVC(kernel="precomputed", C=cost).fit(gram[np.ix_(a, a)], labels[a]).predict(gram[np.ix_(b, a)])
                    == labels[b]) for a, b in folds
        ]) for cost in costs
    ]  # fmt: skip
    np.testing.assert_allclose(inner_accuracies(gram, labels, folds, costs), expected)
    assert even

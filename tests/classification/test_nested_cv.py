import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.svm import SVC

from swwl import ASWWL, SWWL, Graph, GraphSVC
from swwl.classification.baselines import RPW, Propagation
from swwl.classification.nested_cv import (
    COLUMNS,
    GAMMAS,
    FoldWarning,
    MatrixCache,
    nested_cv,
    outer_splits,
    paper_settings,
)
from swwl.mesh.labels import label_sets, with_labels
from swwl.storage.memory import fingerprint
from tests.helpers import read_tu, shapes

SMALL = {"n_projections": 6, "n_quantiles": 8}
QUICK = {"n_outer": 4, "n_inner": 3, "gammas": (0.01, 0.1, 1.0), "Cs": (0.1, 1.0, 10.0)}


def noisy(number, seed=0, spread=2.5):
    """Rings of two sizes that overlap."""
    graphs, classes = shapes(number, seed)
    rng = np.random.default_rng(seed)
    return [Graph(g.features * (1 + spread * rng.random()), g.edges) for g in graphs], classes


def swwl_settings():
    return [SWWL(n_iterations=h, **SMALL) for h in (0, 1)]


@pytest.mark.slow
def test_it_equals_scikit_learns_nested_search():
    graphs, classes = noisy(48)
    table = nested_cv(graphs, classes, {"SWWL": swwl_settings()}, random_states=[3], **QUICK)
    assert list(table.columns) == COLUMNS
    matrices = {}
    for factor in swwl_settings():
        matrices[repr(factor)] = factor.items(factor.fit(graphs))[0]
    folds = StratifiedKFold(4, shuffle=True, random_state=3).split(classes, classes)
    for fold, (train, test) in enumerate(folds):
        best = (-1.0,)
        for name, distances in matrices.items():
            for gamma in QUICK["gammas"]:
                kernel = np.exp(-gamma * distances)
                search = GridSearchCV(
                    SVC(kernel="precomputed"),
                    {"C": list(QUICK["Cs"])},
                    cv=StratifiedKFold(3, shuffle=True, random_state=3),
                ).fit(kernel[np.ix_(train, train)], classes[train])
                if search.best_score_ > best[0] + 1e-12:
                    score = search.score(kernel[np.ix_(test, train)], classes[test])
                    best = (search.best_score_, name, gamma, search.best_params_["C"], score)
        row = table.iloc[fold]
        assert (row["setting"], row["gamma"], row["C"]) == best[1:4]
        assert row["accuracy"] == pytest.approx(best[4])
        assert row["inner_accuracy"] == pytest.approx(best[0])
        assert row["majority"] == 0.5
        assert row["outer"] == "stratified(4)"
    assert table["accuracy"].mean() > 0.6


def test_a_fold_is_what_graphsvc_predicts():
    graphs, classes = noisy(40, seed=1)
    table = nested_cv(graphs, classes, {"SWWL": SWWL(n_iterations=1, **SMALL)}, alphas=(1.0, 2.0), **QUICK)
    split = outer_splits(classes, "paper", 4, 3, 0)[2]
    row = table.iloc[2]
    model = GraphSVC(SWWL(n_iterations=1, **SMALL), gamma=row["gamma"], C=row["C"], alpha=row["exponent"])
    model.fit([graphs[i] for i in split.train], classes[split.train])
    assert model.score([graphs[i] for i in split.test], classes[split.test]) == row["accuracy"]


@pytest.mark.slow
def test_all_kernels_see_the_same_folds_and_seeds_differ():
    pytest.importorskip("grakel", reason="GraKeL is not installed: it needs Python below 3.13")
    graphs, classes = noisy(36)
    kernels = {"SWWL": swwl_settings(), "PK": [Propagation(w=w) for w in (0.5, 2.0)]}
    table = nested_cv(graphs, classes, kernels, random_states=[0, 1], **QUICK)
    assert table.groupby("kernel").size().to_dict() == {"PK": 8, "SWWL": 8}
    assert np.isnan(table.loc[table["kernel"] == "PK", "gamma"]).all()
    assert table["seconds"].min() > 0
    assert table["matrix_seconds"].min() > 0
    tests = [{tuple(s.test) for s in outer_splits(classes, "paper", 4, 3, seed)} for seed in (0, 1)]
    assert tests[0] != tests[1]
    again = nested_cv(graphs, classes, kernels, random_states=[0, 1], n_jobs=2, **QUICK)
    timeless = table.columns.difference(["seconds", "matrix_seconds"])
    assert again[timeless].equals(table[timeless])


def test_the_authors_folds():
    _, classes = shapes(60)
    splits = outer_splits(classes, "authors", 10, 5, 0)
    expected = [test for _, test in KFold(10, shuffle=True, random_state=42).split(classes)]
    for split, test in zip(splits, expected, strict=True):
        np.testing.assert_array_equal(split.test, test)
        assert split.rule == "KFold(10)"
        for train, held in split.inner:
            assert np.bincount(classes[split.train][held], minlength=2).min() >= 4
            assert not set(train) & set(held)


def test_paper_settings_are_the_papers():
    assert [len(paper_settings(name)) for name in ("SWWL", "WWL", "FGW", "RPW", "PK", "GH")] == [4, 4, 5, 3, 7, 1]
    assert paper_settings("SWWL")[3].n_projections == 20
    assert GAMMAS == pytest.approx([1e-4, 1e-3, 1e-2, 1e-1])
    with pytest.raises(ValueError, match="not 'SP'"):
        paper_settings("SP")


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path):
    graphs, classes = noisy(32)
    journal, cache = tmp_path / "run.json", tmp_path / "matrices"
    kernels = {"SWWL": swwl_settings()}

    class Stopped(Exception):
        pass

    def stop(done, total):
        if done == 3:
            raise Stopped

    with pytest.raises(Stopped):
        nested_cv(graphs, classes, kernels, journal=journal, cache=cache, progress=stop, **QUICK)
    kept = json.loads(journal.read_text())["kernels"]["SWWL"]["rows"]
    assert len(kept) == 3
    told = []
    table = nested_cv(graphs, classes, kernels, journal=journal, cache=cache,
                      progress=lambda done, total: told.append((done, total)), **QUICK)  # fmt: skip
    assert told == [(3, 4), (4, 4)]
    assert table["matrix_seconds"].isna().sum() == 1  # the last fold used matrices of the first run
    fresh = nested_cv(graphs, classes, kernels, **QUICK)
    timeless = table.columns.difference(["seconds", "matrix_seconds"])
    assert table[timeless].equals(fresh[timeless])
    assert "NaN" not in journal.read_text()
    more = nested_cv(graphs, classes, kernels, journal=journal, random_states=[0, 1], **QUICK)  # more seeds may join
    assert more[:4][timeless].equals(table[timeless])
    with pytest.raises(ValueError, match="holds rows of 'SWWL' for other graphs, folds, grids or settings"):
        nested_cv(graphs[::-1], classes[::-1], kernels, journal=journal, **QUICK)
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ValueError, match=r"other.json: not a journal of nested_cv"):
        nested_cv(graphs, classes, kernels, journal=tmp_path / "other.json", **QUICK)


def test_fingerprints_and_the_cache(tmp_path):
    one = Graph([[0.0], [1.0]], [(0, 1)])
    assert fingerprint([one]) == fingerprint([Graph([[0.0], [1.0]], [(1, 0)])])
    assert fingerprint([one]) != fingerprint([Graph([[0.0], [1.0]], [])])
    assert MatrixCache(None).get("a") is None
    store = MatrixCache(tmp_path / "new")
    store.put("a", np.eye(2))
    np.testing.assert_array_equal(store.get("a"), np.eye(2))


@pytest.mark.slow
def test_labels_scaling_and_exponent_are_chosen_inside():
    """Labels alone tell the classes apart here, so the inner search takes the version that has them."""
    rng = np.random.default_rng(0)
    classes = np.arange(40) % 2
    graphs = [Graph(rng.standard_normal((6, 2)), [(0, 1), (1, 2)]) for _ in classes]
    labels = [np.where(rng.random(6) < 0.2 + 0.6 * c, "C", "O") for c in classes]
    versions = {"attributes": graphs, "labels": with_labels(graphs, labels, 2.0)}
    settings = [SWWL(n_iterations=0, scale=scale, **SMALL) for scale in (False, True)]
    table = nested_cv(versions, classes, {"SWWL": settings}, alphas=(1.0, 2.0), **QUICK)
    assert (table["features"] == "labels").all()
    assert table["accuracy"].mean() > 0.75
    alone = nested_cv(with_labels(graphs, labels, attributes=False), classes, {"SWWL": settings}, **QUICK)
    assert alone["accuracy"].mean() > 0.75


def test_a_supervised_kernel_never_sees_the_test_classes(monkeypatch):
    graphs, classes = noisy(24)
    seen = []

    def learn(self, graphs, y, progress):
        seen.append((len(graphs), np.array(y)))
        self.directions_, self.weights_ = np.eye(3), np.eye(3)

    monkeypatch.setattr(RPW, "_learn", learn)
    table = nested_cv(graphs, classes, {"RPW": RPW(n_layers=1)}, **QUICK)
    assert [number for number, _ in seen] == [18] * 4
    assert table["matrix_seconds"].isna().all()
    for (_, y), split in zip(seen, outer_splits(classes, "paper", 4, 3, 0), strict=True):
        np.testing.assert_array_equal(y, classes[split.train])


def test_balanced_accuracy_and_majority():
    graphs, _ = noisy(40)
    classes = np.where(np.arange(40) < 32, "common", "rare")
    table = nested_cv(graphs, classes, {"SWWL": SWWL(n_iterations=0, **SMALL)}, Cs=[1e-3], gammas=[1e-4],
                      n_outer=4, n_inner=2)  # fmt: skip
    np.testing.assert_allclose(table["accuracy"], 0.8)
    np.testing.assert_allclose(table["majority"], 0.8)
    np.testing.assert_allclose(table["balanced_accuracy"], 0.5)


def test_small_classes():
    graphs, _ = noisy(40)
    kernel = {"SWWL": SWWL(n_iterations=0, **SMALL)}
    lone = np.array(["a"] * 39 + ["b"])
    with pytest.raises(ValueError, match=r"Class 'b' has a single member \(graph 39\)"):
        nested_cv(graphs, lone, kernel)
    few = np.array(["a"] * 20 + ["b"] * 17 + ["c"] * 3)
    with (
        pytest.warns(FoldWarning, match="A class 'c' has 3 members, fewer than the 4 outer folds"),
        pytest.warns(FoldWarning, match=r"fewer members than the 3 inner folds .*'c', has 3 in all"),
    ):
        table = nested_cv(graphs, few, kernel, **QUICK)
    assert (table["outer"] == "stratified(4)").all()
    tiny = np.repeat(np.arange(10), 4)
    with pytest.warns(FoldWarning, match="Stratified folds are impossible, as no class has enough members"):
        splits = outer_splits(tiny, "paper", 10, 2, 0)
    assert {split.rule for split in splits} == {"KFold(10)"}
    assert len(np.concatenate([split.test for split in splits])) == 40


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"y": [0] * 40}, ValueError, "All graphs are of class '0'"),
        ({"y": [0, 1]}, ValueError, r"Classes have shape \(2,\), but there are 40 graphs"),
        ({"folds": "mine"}, ValueError, r"folds must be one of \['paper', 'authors'\], not 'mine'"),
        ({"kernels": {"none": []}}, ValueError, "Kernel 'none' has no settings"),
        ({"kernels": {"word": ["SWWL"]}}, TypeError, "Kernel 'word' must be a factor such as SWWL"),
        ({"kernels": {"many": ASWWL(n_iterations=1, **SMALL)}}, TypeError, "needs one matrix of distances per kernel"),
        ({"gammas": ()}, ValueError, "The grid of gamma, C and exponents is empty"),
        ({"Cs": ()}, ValueError, "The grid of gamma, C and exponents is empty"),
        ({"n_outer": 41}, ValueError, "There are 40 graphs, but 41 outer folds"),
    ],
)
def test_bad_input(change, kind, message):
    graphs, classes = noisy(40)
    options = {"y": classes, "kernels": {"SWWL": SWWL(n_iterations=0, **SMALL)}, **QUICK, **change}
    with pytest.raises(kind, match=message):
        nested_cv(graphs, **options)


def test_label_errors():
    graphs = [Graph(np.zeros((2, 1)), [(0, 1)], name=name) for name in ("a.txt", "b.txt")]
    sets = label_sets([["C", "O"], ["C", "C"]])
    with pytest.raises(ValueError, match=r"Graph 1 \(b.txt\): node 0 has the label N, but the labels are: C, O"):
        with_labels(graphs, [["C", "O"], ["N", "C"]], sets=sets)
    with pytest.raises(ValueError, match=r"Graph 0 \(a.txt\) has 2 nodes, but labels for 3"):
        with_labels(graphs, [["C", "O", "C"], ["C", "C"]])
    with pytest.raises(ValueError, match="labels for 1 graphs, but 2 graphs"):
        with_labels(graphs, [["C", "O"]])
    with pytest.raises(ValueError, match="Graph 1 has 2 columns of labels, but graph 0 has 1"):
        with_labels(graphs, [[1, 2], [[1, 2], [1, 2]]])
    with pytest.raises(ValueError, match="1 column of labels, but 2 sets"):
        with_labels(graphs, [[1, 2], [1, 2]], sets=[[1, 2], [3]])
    with pytest.raises(ValueError, match=r"labels of graph 0 must have shape \(n,\) or \(n, c\)"):
        with_labels(graphs, [np.zeros((2, 2, 2)), [1, 1]])
    with pytest.raises(ValueError, match="no graphs"):
        label_sets([])


def test_labels_keep_weights_and_several_columns():
    graph = Graph([[5.0], [6.0]], [(0, 1)], weights=[0.5], node_weights=[1.0, 2.0])
    (labeled,) = with_labels([graph], [[[7, 1], [8, 1]]], weight=3.0)
    np.testing.assert_array_equal(labeled.features, [[5, 3, 0, 3], [6, 0, 3, 3]])
    np.testing.assert_array_equal(labeled.weights, [0.5])
    np.testing.assert_array_equal(labeled.node_weights, [1, 2])


@pytest.mark.slow
def test_cuneiform_falls_back_to_plain_folds(swwl_data):
    """No class has ten members. Labels and scaling matter: without both, two thirds are wrong."""
    graphs = read_tu(swwl_data, "Cuneiform")
    with zipfile.ZipFile(swwl_data / "tu" / "Cuneiform.zip") as archive:
        member = {Path(file).name: file for file in archive.namelist()}
        with archive.open(member["Cuneiform_graph_labels.txt"]) as file:
            classes = np.loadtxt(file, dtype=int)
        with archive.open(member["Cuneiform_node_labels.txt"]) as file:
            labels = np.loadtxt(file, delimiter=",", dtype=int)
    ends = np.cumsum([graph.n_nodes for graph in graphs])
    graphs = with_labels(graphs, np.split(labels, ends[:-1]))
    with pytest.warns(FoldWarning, match="Stratified folds are impossible"):
        table = nested_cv(graphs, classes, {"SWWL": SWWL(n_iterations=1, n_projections=20, n_quantiles=20, scale=True)},
                          gammas=[0.01, 0.1], Cs=[1e3])  # fmt: skip
    assert (table["outer"] == "KFold(10)").all()
    assert table["accuracy"].mean() > 0.8
    assert table["majority"].mean() < 0.1

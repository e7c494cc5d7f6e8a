import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from swwl import ASWWL, SWWL, Graph, GraphSVC, Matern52, PrincipalSWWL, SWWLEmbedding, load_model, pairwise_distances
from swwl.classification.baselines import GraphHopper
from tests.helpers import plate, read_tu, shapes

SMALL = {"n_iterations": 1, "n_projections": 8, "n_quantiles": 20}


@pytest.fixture(scope="module")
def plates():
    rng = np.random.default_rng(0)
    wide = np.arange(40) % 2
    graphs = [Graph.from_cells(points * [1 + 0.3 * w + 0.1 * rng.random(), 1], cells)
              for w, (points, cells) in zip(wide, [plate(50)] * 40, strict=True)]  # fmt: skip
    return graphs, np.array(["narrow", "wide"])[wide]


def test_it_equals_an_svm_on_the_kernel_made_by_hand(plates):
    graphs, classes = plates
    model = GraphSVC(SWWL(**SMALL), gamma=0.7, alpha=1.5, C=3.0).fit(graphs[:30], classes[:30])
    embedding = SWWLEmbedding(**SMALL)
    phi = embedding.fit_transform(graphs[:30])
    svc = SVC(kernel="precomputed", C=3.0).fit(np.exp(-0.7 * pairwise_distances(phi) ** 1.5), classes[:30])
    cross = np.exp(-0.7 * pairwise_distances(embedding.transform(graphs[30:]), phi) ** 1.5)
    np.testing.assert_allclose(model.decision_function(graphs[30:]), svc.decision_function(cross), rtol=1e-9)
    assert model.score(graphs[30:], classes[30:]) == 1.0


def test_it_works_in_model_selection(plates):
    graphs, classes = plates
    model = GraphSVC(SWWL(**SMALL))
    assert cross_val_score(model, graphs, classes, cv=4).mean() == 1.0
    grid = {"kernel__n_iterations": [0, 1], "C": [1.0, 10.0], "gamma": ["scale", 0.1]}
    assert GridSearchCV(model, grid, cv=2).fit(graphs, classes).best_score_ == 1.0
    assert repr(clone(model)) == repr(model)
    table = pd.DataFrame({"mesh": pd.Series(graphs, dtype=object)})
    assert GraphSVC(ASWWL("mesh", **SMALL)).fit(table, classes).score(table, classes) == 1.0


def test_identical_graphs_do_no_harm(plates):
    graphs, _ = plates
    model = GraphSVC(SWWL(**SMALL)).fit([graphs[0]] * 4, [0, 1, 0, 1])
    assert model.gamma_ > 0


def test_it_classifies_molecules(swwl_data):
    """BZR at fixed parameters: above the majority class, which holds 78.8 %."""
    graphs = read_tu(swwl_data, "BZR")
    labels = _labels(swwl_data, "BZR")
    model = GraphSVC(SWWL(n_iterations=2, n_projections=20, n_quantiles=20), gamma=1.0, C=10.0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(model, graphs, labels, cv=folds).mean() > 0.82


def _labels(folder, name):
    import zipfile
    from pathlib import Path

    with zipfile.ZipFile(folder / "tu" / f"{name}.zip") as archive:
        member = next(file for file in archive.namelist() if Path(file).name == f"{name}_graph_labels.txt")
        with archive.open(member) as file:
            return np.loadtxt(file, dtype=int)


@pytest.mark.parametrize(
    ("options", "y", "kind", "message"),
    [
        ({}, ["a"] * 40, ValueError, "All graphs are of class 'a'"),
        ({}, ["a"] * 3, ValueError, r"Classes have shape \(3,\), but there are 40 graphs"),
        ({"alpha": 3}, None, ValueError, r"alpha must lie in \(0, 2\]"),
        ({"kernel": PrincipalSWWL(**SMALL)}, None, TypeError, "needs distances, which PrincipalSWWL does not give"),
        ({"kernel": SWWL("mesh")}, None, ValueError, "needs column 'mesh', but the table has: graph"),
    ],
)
def test_bad_input(plates, options, y, kind, message):
    graphs, classes = plates
    with pytest.raises(kind, match=message):
        GraphSVC(**options).fit(graphs, classes if y is None else y)


@pytest.mark.parametrize("number", [2, 3])
def test_decisions_are_those_of_scikit_learn(number, tmp_path):
    graphs, _ = shapes(30)
    classes = np.array(["a", "b", "c"])[np.arange(30) % number]
    model = GraphSVC(SWWL(n_iterations=1, n_projections=6, n_quantiles=8)).fit(graphs, classes)
    cross = model._cross(graphs, None, None)
    np.testing.assert_array_equal(model.predict(graphs), model.svc_.predict(cross))
    np.testing.assert_allclose(model.decision_function(graphs), model.svc_.decision_function(cross), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", [SWWL(n_projections=6, n_quantiles=8), GraphHopper(), Matern52("size") * SWWL("graph")]
)
def test_a_classifier_is_saved_and_loaded(kernel, tmp_path):
    if isinstance(kernel, GraphHopper):
        pytest.importorskip("grakel", reason="GraKeL is not installed")
    graphs, classes = shapes(24)
    table = pd.DataFrame({"graph": pd.Series(graphs, dtype=object), "size": [g.n_nodes for g in graphs]})
    table["kind"] = np.where(classes == 1, "large", "small")
    model = GraphSVC(kernel, class_weight={"large": 2.0, "small": 1.0}).fit(table, "kind")
    model.metadata_["made"] = "here"
    model.save(tmp_path / "rings.swwl")
    again = load_model(tmp_path / "rings.swwl")
    assert repr(again.kernel_) == repr(model.kernel_) and again.metadata_ == {"made": "here"}
    assert again.get_params()["class_weight"] == {"large": 2.0, "small": 1.0}
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    np.testing.assert_array_equal(again.decision_function(table), model.decision_function(table))
    assert again.score(table, "kind") == model.score(table, table["kind"]) > 0.9
    again.save(tmp_path / "again.swwl")
    assert (tmp_path / "again.swwl").read_bytes() == (tmp_path / "rings.swwl").read_bytes()


def test_an_unfitted_classifier_says_so(tmp_path):
    for use in (lambda m: m.predict([]), lambda m: m.decision_function([]), lambda m: m.save(tmp_path / "m.swwl")):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(GraphSVC())

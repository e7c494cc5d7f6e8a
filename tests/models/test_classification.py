import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from swwl import ASWWL, SWWL, Graph, GraphSVC, PrincipalSWWL, SWWLEmbedding, pairwise_distances
from tests.helpers import plate, read_tu

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
        ({"kernel": SWWL("mesh")}, None, ValueError, "wants column 'mesh', but the table has: graph"),
    ],
)
def test_bad_input(plates, options, y, kind, message):
    graphs, classes = plates
    with pytest.raises(kind, match=message):
        GraphSVC(**options).fit(graphs, classes if y is None else y)

"""The default model beside others at a tiny size: rows, splits, that it can be interrupted, and its sentences."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL, Matern52, RobustGPRegressor, datasets, read_graph, read_mesh
from swwl_paper import defaults, defaultstable, filesets, published, reproduce
from swwl_paper.rows import RowFile
from swwl_paper.study import Skipped, Study

NODES = {"tensile2d": (240, 0), "airfoil": (500, 300), "blade": (210, 205), "blade-random": (400, 0)}
TINY = defaults.DefaultsPlan((8, 12), 6, 2, NODES)
COLUMNS = [*defaults.KEYS, "n_test", "error", "coverage", "width", "score", "warnings", "seconds"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(defaults.SIZES, "small", TINY)


@pytest.fixture
def pretended(monkeypatch):
    """Fits that cost nothing; returns what each was given."""
    given = []

    def pretend(model, cases, target, n_train, **_):
        given.append((model, cases, target, n_train))
        return {"error": 0.5, "coverage": 0.9, "width": 1.0, "score": 2.0, "warnings": 0, "seconds": 0.1}

    monkeypatch.setattr(defaults, "fit_and_score", pretend)
    return given


def run_on(names, folder, **options):
    return reproduce("defaults", folder=folder, n_jobs=1, options={"dataset": names, **options})


def test_rows_tables_and_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(defaults, "SPLITS", (7001,))
    run_on(["tensile2d"], tmp_path)
    frame = pd.read_csv(tmp_path / "defaults.csv")
    assert list(frame) == COLUMNS and not frame.isna().any(axis=None)
    assert len(frame) == 2 * 7 and set(frame["model"]) == set(defaultstable.MODELS)
    text = (tmp_path / "defaults.md").read_text(encoding="utf-8")
    for part in ("| plates: max von mises | 8 |", "| to best |", "principal → default", "The default's error is"):
        assert part in text
    assert (tmp_path / "defaults.png").read_bytes()[:4] == b"\x89PNG"
    assert json.loads((tmp_path / "defaults.json").read_text())["settings"]["splits"] == [7001]


def test_goes_on_where_it_stopped(tmp_path, monkeypatch):
    options = {"kernel": ["ridge"]}
    run_on(["tensile2d"], tmp_path / "whole", **options)
    add = RowFile.add

    def cut_off(rows, *new):
        if len(rows.frame()) == 3:
            raise KeyboardInterrupt
        add(rows, *new)

    monkeypatch.setattr(RowFile, "add", cut_off)
    with pytest.raises(KeyboardInterrupt):
        run_on(["tensile2d"], tmp_path / "parts", **options)
    monkeypatch.setattr(RowFile, "add", add)
    run_on(["tensile2d"], tmp_path / "parts", **options)
    whole, parts = (
        pd.read_csv(tmp_path / name / "defaults.csv").drop(columns="seconds") for name in ("whole", "parts")
    )
    pd.testing.assert_frame_equal(whole, parts)

    monkeypatch.setattr(defaults, "table_of", lambda *_: pytest.fail("meshes were read again"))
    run_on(["tensile2d"], tmp_path / "parts", **options)


def test_splits(tmp_path, pretended, data_folder):
    """Fewer training cases are the first of more; the test cases are the same, and other splits have others."""
    run_on(["naca0012"], tmp_path, kernel=["SWWL"])
    assert [(target, n) for _, _, target, n in pretended] == [
        (target, n) for target in ("drag", "lift") for n in (12, 12, 8, 8)
    ]
    (_, large, *_), (_, other, *_), (_, small, *_), _ = pretended[:4]
    assert list(large) == ["drag", "mesh"]
    pd.testing.assert_frame_equal(small[:8], large[:8])
    pd.testing.assert_frame_equal(small[8:], large[12:])
    assert len(set(large["mesh"])) == 18 and set(other["mesh"][12:]) != set(large["mesh"][12:])


def test_published_sets(tmp_path, pretended, data_folder):
    names = ["airfrans", "naca0012", "cars", "polycrystals", "trusses", "crystals"]
    run_on(names, tmp_path, kernel=["scalars", "ridge", "auto"])
    frame = pd.read_csv(tmp_path / "defaults.csv")
    assert set(frame["dataset"]) == set(names)
    assert set(frame.loc[frame["model"] == "scalars", "dataset"]) == {"airfrans"}
    items = {Path(cases["mesh"].iloc[0]).parent.name: cases["mesh"].iloc[0] for _, cases, *_ in pretended}
    assert [read_mesh(items[name]).dimension for name in names[:3]] == [2, 2, 3]
    assert [read_graph(items[name]).n_features for name in names[3:]] == [5, 4, 7]


def test_published_graphs(data_folder):
    table, graphs = published.trusses()
    assert list(table) == ["log_sag"] and graphs[0].features[:, 2:].tolist() == [[10, 0], [0, 0], [0, 10]]
    table, graphs = published.crystals()
    assert graphs[1].features[:, 3:].tolist() == [[3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 3, 0]]
    _, graphs = published.polycrystals()
    np.testing.assert_allclose(np.concatenate([graph.features for graph in graphs]).std(axis=0), 1)
    assert set(np.concatenate([graph.weights for graph in graphs])) == {1.0}


def test_real_published_sets():
    folder = os.environ.get("SWWL_DATA")
    if not folder or not (Path(folder) / published.FILES["trusses"]).exists():
        pytest.skip("SWWL_DATA names no folder of published meshes")
    for read, n, nodes in ((published.cars, 20, {3586}), (published.trusses, 5000, {11, 13, 15, 17, 19})):
        table, items = read()
        assert len(table) == len(items) == n and {item.n_nodes for item in items} == nodes
    table, graphs = published.crystals()
    assert len(table) == len(graphs) == 2391 and not table.isna().any(axis=None)


def test_generated_sets(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "coarsen_dataset", lambda table, *_, **__: table)
    study = Study("defaults", "small", tmp_path, n_jobs=1)
    table = filesets.table_of(study, "blade", 3, NODES["blade"])
    assert list(table) == ["mesh", "speed", "pressure", "efficiency", "massflow"]
    assert len({read_mesh(path).n_nodes for path in table["mesh"]}) == 1
    table = filesets.table_of(study, "blade-random", 3, NODES["blade-random"])
    assert len({read_mesh(path).n_nodes for path in table["mesh"]}) == 3


def test_what_is_not_here(tmp_path, monkeypatch, pretended):
    monkeypatch.delenv("SWWL_DATA", raising=False)
    with pytest.raises(Skipped, match="none of the data sets"):
        run_on(["cars"], tmp_path)
    with pytest.raises(ValueError, match="no dataset 'rotor'; choose from tensile2d"):
        run_on(["rotor"], tmp_path)


# Models


@pytest.fixture(scope="module")
def plates(tmp_path_factory):
    study = Study("defaults", "small", tmp_path_factory.mktemp("plates"), n_jobs=1)
    return filesets.table_of(study, "tensile2d", 18, NODES["tensile2d"])


@pytest.mark.filterwarnings("ignore:The targets cannot be told from noise")  # in a dozen cases
def test_a_row_is_what_the_library_predicts(plates, tmp_path):
    plates = plates[["mesh", "pressure", "max_von_mises"]]
    row = defaults.fit_and_score("SWWL", plates, "max_von_mises", 12, memory=tmp_path)
    model = RobustGPRegressor(SWWL("mesh") * Matern52("pressure")).fit(plates[:12], "max_von_mises")
    truth = plates["max_von_mises"][12:].to_numpy()
    lower, upper = model.predict_interval(plates[12:], level=0.95, widen=False)
    assert row["error"] == pytest.approx(
        np.sqrt(((model.predict(plates[12:], widen=False) - truth) ** 2).mean()) / truth.std()
    )
    assert row["width"] == pytest.approx((upper - lower).mean() / truth.std())
    assert row["score"] >= row["width"] and row["coverage"] == ((lower <= truth) & (truth <= upper)).mean()


def test_the_default_names_no_kernel():
    assert defaults.regressor("auto", ["speed"]).get_params() == RobustGPRegressor().get_params()
    assert repr(defaults.regressor("scalars", ["speed", "load"]).kernel) == "Matern52('speed') * Matern52('load')"


@pytest.mark.parametrize(("model", "error"), [(defaults.ridge, 1.15), (defaults.boosted, 1.6)])
def test_intervals_of_models_on_statistics_hold_what_they_say(model, error):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(400, 5)) * [1, 10, 100, 0, 1]  # one column is constant
    y = inputs @ [1, 0.1, 0.01, 0, 0] + rng.normal(size=400)
    prediction = model(inputs[:200], y[:200], inputs[200:])
    lower, upper = prediction.interval(0.95)
    assert 0.9 < ((lower <= y[200:]) & (y[200:] <= upper)).mean() < 0.99
    assert np.std(y[200:] - prediction.mean) < error


# Sentences


def rows(*given):
    columns = ["dataset", "target", "n_train", "model", "error", "coverage"]
    common = {"split": 7001, "n_test": 50, "width": 1.0, "score": 1.0, "seconds": 1.0}
    return pd.DataFrame([dict(zip(columns, row, strict=True)) | common for row in given])


def test_verdicts():
    frame = rows(
        ("cars", "drag", 60, "ridge", 0.2, 0.95),
        ("cars", "drag", 60, "principal", 0.4, 0.95),
        ("cars", "drag", 60, "auto", 0.4, 0.5),
        ("blade", "massflow", 120, "ridge", 0.4, 0.95),
        ("blade", "massflow", 120, "principal", 0.8, 0.95),
        ("blade", "massflow", 120, "auto", 0.2, 0.8),
    )
    errors, intervals, together = defaultstable.tables(frame)
    assert errors[1].to_numpy().tolist() == [
        ["blades: massflow", "120", "0.4", "0.8", "0.2", "0.5"],
        ["cars: drag", "60", "0.2", "0.4", "0.4", "2"],
    ]
    assert intervals[1]["in 95 %"].tolist() == ["0.95 → 0.8", "0.95 → 0.5"]
    assert together[1].set_index("model").loc["default"].tolist() == ["1", "2", "0.5", "1", "0.65", "1"]
    notes = together[2]
    assert "1.00 times the best other model's (geometric mean over 2 rows), 0.50 to 2.00 times" in notes
    assert "the largest on cars: drag, N = 60. It is larger by more than 5 % on 1." in notes
    assert "0.50 times principal SWWL's" in notes
    assert "hold 65.0 % of the tests on average" in notes
    assert notes.endswith("less than 88 % on blades: massflow, N = 120 (80 %).")


def test_without_the_default_or_principal():
    frame = rows(("cars", "drag", 60, "SWWL", 0.2, 0.95), ("cars", "drag", 60, "ridge", 0.4, 0.95))
    titles = [title for title, *_ in defaultstable.tables(frame)]
    assert len(titles) == 2 and defaultstable.verdicts(frame) == []
    assert defaultstable.draw(frame).axes[0].get_title(loc="left") == "N = 60"

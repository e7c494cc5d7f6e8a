"""Every command and every display with every kernel: a model fitted in Python, saved, and used from there."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from swwl import (
    ASWWL,
    SWWL,
    Gaussian,
    Graph,
    GraphSVC,
    InputError,
    Matern32,
    Matern52,
    Power,
    Precomputed,
    PrincipalSWWL,
    RobustGPRegressor,
    read_graph,
    write_graph,
)
from swwl.classification.baselines import FGW, RPW, WWL, GraphHopper, Propagation
from swwl.kernels import Rows
from swwl.plots import (
    CalibrationDisplay,
    CurvesDisplay,
    DesignDisplay,
    EffectDisplay,
    ImportanceDisplay,
    ParityDisplay,
    ResidualsDisplay,
    draw_mesh,
)
from tests.cli.conftest import swwl

pytestmark = pytest.mark.slow

N_TRAIN, N = 24, 30
SMALL = {"n_iterations": 1, "n_projections": 4, "n_quantiles": 5}
NEEDS = {"WWL": "ot", "FGW": "ot", "Propagation": "grakel", "GraphHopper": "grakel"}
# What has vectors has a map of its training cases; what only knows distances has none.
MAPPED = {"SWWL", "ASWWL", "PrincipalSWWL", "Rows", "numbers"}


def kernels(distances):
    """One kernel of every kind, by name."""
    return {
        "SWWL": SWWL("rod", **SMALL) * Matern52("load"),
        "ASWWL": ASWWL("rod", **SMALL) * Matern32("load"),
        "PrincipalSWWL": Gaussian("load") * PrincipalSWWL("rod", n_components=2, **SMALL),
        "Precomputed": Precomputed("id", distances) * Matern52("load"),
        "Rows": Rows("modes") * Matern52("load"),
        "WWL": WWL("rod", n_iterations=1) * Matern52("load"),
        "FGW": FGW("rod") * Matern52("load"),
        "RPW": RPW("rod", weights=np.eye(2)) * Matern52("load"),
        "Propagation": Propagation("rod") * Matern52("load"),
        "GraphHopper": GraphHopper("rod") * Matern52("load"),
        "numbers": Power("bend", alpha=1.8) * Matern52("load"),
    }


NAMES = list(kernels(np.zeros((1, 1))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Thirty rods of six nodes each, and a table of them."""
    folder = tmp_path_factory.mktemp("rods")
    rng = np.random.default_rng(0)
    rows = []
    for k in range(N):
        length, bend, load = rng.uniform(1, 2), rng.uniform(0, 1), rng.uniform(1, 3)
        x = np.linspace(0, length, 6)
        write_graph(folder / f"{k}.npz", Graph(np.column_stack([x, bend * x**2]), [(i, i + 1) for i in range(5)]))
        modes = json.dumps([length, bend * length**2])
        rows.append((f"{k}.npz", k, modes, bend, load, load * length + np.sin(3 * bend), load - bend))
    columns = ["rod", "id", "modes", "bend", "load", "stretch", "turn"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "table.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def table(folder):
    """The table as Python users hold it."""
    frame = pd.read_csv(folder / "table.csv")
    frame["rod"] = pd.Series([str(folder / name) for name in frame["rod"]], dtype=object)
    frame["modes"] = pd.Series([np.array(json.loads(text)) for text in frame["modes"]], dtype=object)
    return frame


def fit(name, table):
    """A model of two targets, with the kernel of that name."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{name} needs the extra [baselines]")
    ends = np.stack(table["modes"])
    kernel = kernels(np.linalg.norm(ends[:, None] - ends, axis=2))[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small set, and kernels that are not positive definite
        return RobustGPRegressor(kernel, n_starts=1, calibrate=False).fit(table[:N_TRAIN], ["stretch", "turn"])


@pytest.fixture(scope="module", params=NAMES)
def case(request, folder, table):
    """The name of a kernel, a model fitted with it, and its file."""
    model = fit(request.param, table)
    path = folder / f"{request.param}.swwl"
    model.save(path)
    return request.param, model, path


def test_predict(case, folder, table, tmp_path):
    name, model, path = case
    facts = json.loads(swwl("predict", path, folder / "table.csv", "-o", tmp_path / "p.csv", "--json").stdout)
    # rows that the model was fitted to are scored by themselves, where the kernel knows them
    counts = pd.DataFrame(facts["scores"]).groupby("target")["n"].sum()
    assert counts.to_dict() == {"stretch": N, "turn": N}
    found = pd.read_csv(tmp_path / "p.csv")
    mean, std = model.predict(table, return_std=True)
    np.testing.assert_allclose(found["stretch_mean"], mean[:, 0], rtol=1e-9)
    np.testing.assert_allclose(found["turn_std"], std[:, 1], rtol=1e-9)


def curve_options(name, folder):
    """Return what a curve of the last rod needs besides its sweep."""
    if name == "numbers":
        return []
    if name == "Precomputed":
        return ["--fix", f"id={N - 1}"]
    if name == "Rows":
        return ["--fix", f"modes={pd.read_csv(folder / 'table.csv')['modes'].iloc[-1]}"]
    return ["--mesh", folder / f"{N - 1}.npz"]


def test_curve(case, folder, table, tmp_path):
    name, model, path = case
    options = [*curve_options(name, folder), "--sweep", "load=1.2:2.8:4", "--target", "stretch"]
    if name == "numbers":
        options += ["--fix", f"bend={table['bend'].iloc[-1]}"]
    facts = json.loads(swwl("curve", path, *options, "-o", tmp_path / "c.png", "--json").stdout)
    rows = table.iloc[[N - 1] * 4].reset_index(drop=True).assign(load=np.linspace(1.2, 2.8, 4))
    np.testing.assert_allclose(facts["points"]["stretch_mean"], model.predict(rows)[:, 0], rtol=1e-9)
    with Image.open(tmp_path / "c.png") as picture:
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 10
    if name in ("Precomputed", "Rows"):
        error = swwl("curve", path, "--sweep", "load=1.2:2.8:4", "-o", tmp_path / "d.png", code=2).stderr
        assert "needs a value of column" in error and "Traceback" not in error


def test_info(case):
    name, model, path = case
    facts = json.loads(swwl("info", path, "--json").stdout)
    assert facts["kind"] == "model"
    assert facts["kernel"] == repr(model.kernel_)
    assert facts["importance"]["turn"] == pytest.approx(model.importance_["turn"].to_dict())
    assert facts["training_rows"] == N_TRAIN and facts["scores"] == []  # without calibration there are no folds
    assert "accuracy is unknown" in swwl("info", path).stdout


def test_report(case, tmp_path):
    name, model, path = case
    swwl("report", path, "-o", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert text.count("<h2>") == 9
    assert text.count('alt="map of the training cases') == (3 if name in MAPPED else 0)
    assert text.count("There is no map of the training cases here") == (0 if name in MAPPED else 2)


def test_displays_of_predictions(case, table):
    _, model, _ = case
    test = table[N_TRAIN:]
    for display in (ParityDisplay, ResidualsDisplay, CalibrationDisplay):
        drawn = [
            display.from_estimator(model, test, "turn", ax=Figure().subplots()),
            display.from_predictions(test["turn"], model.predict_distribution(test).column(1), ax=Figure().subplots()),
            display.from_leave_one_out(model, target="turn", ax=Figure().subplots()),
        ]
        assert all(one.ax_.get_title(loc="left") and one.figure_ is one.ax_.figure for one in drawn)


def test_displays_of_the_model(case, table):
    name, model, _ = case
    rows = {"id": N - 1, "modes": table["modes"].iloc[-1]}
    fix = {column: value for column, value in rows.items() if column in model.feature_names_in_}
    sweep = ("load", np.linspace(1.2, 2.8, 4))
    display = CurvesDisplay.from_estimator(model, table["rod"].iloc[-1], sweep, fix=fix, ax=Figure().subplots())
    assert len(display.table) == 4
    importance = ImportanceDisplay.from_estimator(model, target="turn", ax=Figure().subplots())
    assert len(importance.importance) == len(model.importance_)
    if name in MAPPED:
        display = DesignDisplay.from_estimator(model, target="turn", color="std", ax=Figure().subplots())
        np.testing.assert_allclose(display.values, model.leave_one_out().std[:, 1])
        assert display.coordinates.shape == (N_TRAIN, 2)
    else:
        with pytest.raises(InputError, match=f"no map of .*{name}"):
            DesignDisplay.from_estimator(model, ax=Figure().subplots())


def test_a_classifier_is_described_and_predicts_in_python_only(table, tmp_path):
    classes = np.where(table["bend"] > 0.5, "bent", "straight")
    GraphSVC(SWWL("rod", **SMALL)).fit(table, classes).save(tmp_path / "c.swwl")
    assert json.loads(swwl("info", tmp_path / "c.swwl", "--json").stdout)["classes"] == ["bent", "straight"]
    assert "classifier of bent, straight" in swwl("info", tmp_path / "c.swwl").stdout
    for command in (["predict", "t.csv", "-o", "p.csv"], ["report"], ["curve", "--sweep", "load=1:2:3", "-o", "c.png"]):
        error = swwl(command[0], tmp_path / "c.swwl", *command[1:], code=2).stderr
        assert "c.swwl: holds a GraphSVC, but a" in error


def test_a_map_of_given_vectors_shows_their_principal_components(table):
    model = RobustGPRegressor(Rows("modes") * Matern52("load"), n_starts=1, calibrate=False)
    display = DesignDisplay.from_estimator(model.fit(table[:N_TRAIN], "stretch"), ax=Figure().subplots())
    ends = np.stack(table["modes"][:N_TRAIN])
    between = np.linalg.norm(display.coordinates[:, None] - display.coordinates, axis=2)
    np.testing.assert_allclose(between, np.linalg.norm(ends[:, None] - ends, axis=2), atol=1e-12)


@pytest.mark.parametrize("name", ["SWWL", "WWL"])
def test_effect_of_options(name, table):
    kernel = kernels(np.zeros((1, 1)))[name]
    model = RobustGPRegressor(kernel, n_starts=1, calibrate=False)
    options = {"n_projections": (2, 4), "n_quantiles": (5,), "ax": Figure().subplots()}
    if name == "SWWL":
        assert len(EffectDisplay.from_estimator(model, table[:N_TRAIN], "stretch", **options).table) == 2
    else:
        with pytest.raises(InputError, match="has no projections and quantiles"):
            EffectDisplay.from_estimator(model, table[:N_TRAIN], "stretch", **options)


def test_a_rod_is_drawn(folder):
    ax = draw_mesh(folder / "0.npz", Figure().subplots(), title="a rod")
    assert ax.get_title() == "a rod"
    drawn = [segment for lines in ax.collections for segment in lines.get_segments()]
    graph = read_graph(folder / "0.npz")
    found = {tuple(sorted(ends)) for ends in np.reshape([s[:, 0] for s in drawn], (-1, 2)).tolist()}
    wanted = {tuple(sorted(ends)) for ends in graph.features[graph.edges][:, :, 0].tolist()}
    assert found == wanted  # its edges, and nothing else
    picture = io.BytesIO()
    ax.figure.savefig(picture, format="png")
    assert np.asarray(Image.open(picture).convert("L")).min() < 200  # not a blank one


def test_vectors_in_parquet(folder, table, tmp_path):
    pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    model = fit("Rows", table)
    model.save(tmp_path / "m.swwl")
    table[["modes", "load"]].to_parquet(tmp_path / "t.parquet")
    swwl("predict", tmp_path / "m.swwl", tmp_path / "t.parquet", "-o", tmp_path / "p.parquet")
    found = pd.read_parquet(tmp_path / "p.parquet")
    np.testing.assert_allclose(found["stretch_mean"], model.predict(table)[:, 0], rtol=1e-9)
    np.testing.assert_array_equal(np.stack(found["modes"]), np.stack(table["modes"]))
    assert json.loads(swwl("info", tmp_path / "t.parquet", "--json").stdout)["columns"][0]["name"] == "modes"


@pytest.mark.parametrize(
    "name, column, value, message",
    [("Rows", "modes", "[1, two]", "line 6 holds '[1, two]'"), ("Precomputed", "id", 400, "0 to 29")],
)
def test_columns_that_do_not_fit(name, column, value, message, folder, table, tmp_path):
    fit(name, table).save(tmp_path / "m.swwl")
    frame = pd.read_csv(folder / "table.csv")
    frame[column] = frame[column].where(frame.index != 4, value)
    frame.to_csv(folder / "bad.csv", index=False)
    error = swwl("predict", tmp_path / "m.swwl", folder / "bad.csv", "-o", tmp_path / "p.csv", code=2).stderr
    assert message in error and "Traceback" not in error

"""A model of fields over time, over HTTP and on the page: fields at a time, and how they change at a node."""

import json
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from starlette.testclient import TestClient

from swwl import Mesh, MeshSeries, TransientRegressor
from swwl.serve.answers.fields import unpack
from swwl.serve.http.app import make_app
from swwl.serve.models import load_served
from swwl.serve.models.series import ServedSeries
from tests.chromium import Chromium
from tests.helpers import plate
from tests.serve.conftest import LIMITS, client_of, served_by

WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
TIMES = np.linspace(0, 1, 6)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A folder with plates that warm up, the model and what it is made of."""
    folder = tmp_path_factory.mktemp("warm")
    rng = np.random.default_rng(0)
    names, rates = [], rng.uniform(1, 3, 20)
    for number, rate in enumerate(rates):
        points, cells = plate(50, seed=number)
        values = (1 - np.exp(-rate * TIMES))[:, None] * (1 + points[:, 0])
        names.append(f"{number:03d}.pvd")
        MeshSeries(Mesh(points, {"triangle": cells}), TIMES, {"T": values}).write(folder / names[-1])
    table = pd.DataFrame({"mesh": [folder / name for name in names], "rate": rates})
    model = TransientRegressor(n_modes=2).fit(table, "T")
    known = {"rows": list(range(20)), "meshes": {"mesh": names}, "nodes": []}
    told = {"table": "table.csv", "split": "all rows", "n_rows": 20, "ignored": {}, "train": known}
    model.metadata_ = told | {"ranges": {}, "held_out_scores": {}}
    model.save(folder / "warm.swwl")
    return model, load_served([folder / "warm.swwl"], folder), table, folder


@pytest.fixture(scope="module")
def client(warm):
    _, models, _, folder = warm
    with TestClient(make_app(models, folder, limits=LIMITS), base_url="http://127.0.0.1") as found:
        yield found


CASE = {"mesh": "train:mesh:3", "inputs": {"rate": 2.0}}


@pytest.mark.parametrize("time", [None, 0.4, 0.5])
def test_fields_at_a_time_are_those_of_the_model(warm, client, time):
    model, _, table, _ = warm
    found = client.post("/api/field", json=CASE | ({} if time is None else {"time": time}))
    assert found.status_code == 200, found.text
    _, arrays = unpack(found.content)
    row = table.iloc[[3]].assign(rate=2.0)
    means, stds = model.predict(row, return_std=True, times=[TIMES[-1] if time is None else time])
    np.testing.assert_allclose(arrays["value:T"], means[0]["T"][0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(arrays["std:T"], stds[0]["T"][0], rtol=1e-5, atol=1e-6)


def test_a_mesh_file_holds_the_time_that_is_asked_for(client, warm):
    from swwl import read_mesh

    model, _, table, folder = warm
    found = client.post("/api/field", json=CASE | {"time": 0.4, "format": "vtu"})
    (folder / "got.vtu").write_bytes(found.content)
    mesh = read_mesh(folder / "got.vtu")
    expected = model.predict(table.iloc[[3]].assign(rate=2.0), times=[0.4])[0]["T"][0]
    np.testing.assert_allclose(mesh.fields["T"], expected, atol=1e-9)
    assert "T_upper95" in mesh.fields


def test_a_node_has_a_history_with_intervals(warm, client):
    model, _, table, _ = warm
    row = table.iloc[[3]].assign(rate=2.0)
    answer = client.post("/api/history", json=CASE | {"node": 7}).json()
    assert answer["node"] == 7 and answer["curves"]["T"]["abscissa"] == TIMES.tolist()
    np.testing.assert_allclose(answer["curves"]["T"]["mean"], model.predict(row)[0]["T"][:, 7], atol=1e-9)
    lower, upper = model.predict_interval(row)
    np.testing.assert_allclose(answer["curves"]["T"]["lower"], lower[0]["T"][:, 7], atol=1e-9)
    np.testing.assert_allclose(answer["curves"]["T"]["upper"], upper[0]["T"][:, 7], atol=1e-9)
    values = model.predict(row)[0]["T"]
    np.testing.assert_allclose(answer["ranges"]["T"]["mean"], [values.min(), values.max()], atol=1e-9)
    most = client.post("/api/history", json=CASE).json()["node"]
    assert most == int(np.argmax(np.ptp(model.predict(row)[0]["T"], axis=0)))


@pytest.mark.parametrize("rate", [2.0, 90.0])
@pytest.mark.parametrize("path", ["/api/history", "/api/predict", "/api/curve"])
def test_no_answer_holds_nan(client, path, rate):
    sweep = {"sweep": {"name": "rate", "from": 1, "to": rate, "n": 3}} if path == "/api/curve" else {}
    answer = client.post(path, json={"mesh": CASE["mesh"], "inputs": {"rate": rate}} | sweep)
    assert answer.status_code == 200, answer.text
    json.loads(answer.text, parse_constant=pytest.fail)


def test_numbers_are_of_all_nodes_and_times(warm, client):
    model, _, table, _ = warm
    answer = client.post("/api/predict", json=CASE).json()["targets"]
    values = model.predict(table.iloc[[3]].assign(rate=2.0))[0]["T"]
    assert answer["T_max"]["mean"] == pytest.approx(values.max(), rel=0.05)
    assert answer["T_mean"]["lower"] <= values.mean() <= answer["T_mean"]["upper"]
    curve = client.post("/api/curve", json=CASE | {"sweep": {"name": "rate", "n": 3}})
    assert curve.status_code == 200 and len(curve.json()["curves"][0]["targets"]["T_mean"]["mean"]) == 3
    assert isinstance(warm[1]["warm"], ServedSeries)
    assert client.get("/api/model").json()["times"] == TIMES.tolist()


@pytest.mark.parametrize(
    ("address", "more", "words"),
    [
        ("/api/field", {"time": 3.0}, "Time 3 is requested"),
        ("/api/history", {"node": 5000}, "the mesh has nodes 0 to"),
        ("/api/history", {"node": -1}, "the mesh has nodes 0 to"),
        ("/api/predict", {"probe": [[0.0, 0.0]]}, "predicts fields over time"),
        ("/api/sensitivity", {}, "predicts fields"),
    ],
)
def test_what_it_cannot_say_is_told_in_a_line(client, address, more, words):
    found = client.post(address, json=CASE | more)
    assert found.status_code == 400 and words in found.json()["error"]


def test_numbers_come_in_forms_too(client):
    form = {"mesh": (None, CASE["mesh"]), "inputs": (None, '{"rate": 2}')}
    found = client.post("/api/history", files=form | {"node": (None, "7")})
    assert found.status_code == 200 and found.json()["node"] == 7, found.text
    refused = client.post("/api/field", files=form | {"time": (None, "late")})
    assert refused.status_code == 400 and "time must be a finite number" in refused.json()["error"]


def test_models_of_numbers_have_no_times(plates):
    with client_of(plates) as client:
        found = client.post("/api/history", json={"mesh": "data/meshes/003.vtu", "inputs": {"load": 2.0}})
        assert found.status_code == 400 and "does not predict fields over time" in found.json()["error"]


@pytest.mark.slow
def test_the_page_goes_through_times(warm):
    model, models, table, folder = warm
    with served_by(models, folder) as port:
        browser = Chromium(*WEBGL)
        try:
            browser.open(f"http://127.0.0.1:{port}/", 1400, 900)
            browser.wait_for("!!document.querySelector('#whole .main-svg') && !document.getElementById('bar').hidden")
            row = table.iloc[[0]]
            node = int(browser.ask("document.getElementById('node').value"))
            drawn = browser.ask("document.getElementById('whole').data.find((one) => one.name === 'predicted').y")
            np.testing.assert_allclose(drawn, model.predict(row)[0]["T"][:, node], rtol=1e-5, atol=1e-6)
            picture = browser.ask("document.getElementById('canvas').toDataURL()")
            browser.ask(
                "(() => { const t = document.getElementById('time'); t.value = 1;"
                " t.dispatchEvent(new Event('input')); })()"
            )
            browser.wait_for(f"document.getElementById('canvas').toDataURL() !== {picture!r}")
            assert browser.ask("document.getElementById('time-now').textContent") == "0.2"
            browser.ask(
                "(() => { const n = document.getElementById('node'); n.value = 3;"
                " n.dispatchEvent(new Event('change')); })()"
            )
            expected = model.predict(row)[0]["T"][-1, 3]
            browser.wait_for(
                "Math.abs(document.getElementById('whole').data.find((one) => one.name === 'predicted').y.at(-1)"
                f" - {expected}) < 1e-5"
            )
            assert browser.nameless() == []
        finally:
            browser.close()


@pytest.mark.slow
def test_a_mesh_that_moves_does_so_on_the_page(tmp_path):
    """Beams that bend with time, more under a larger load: nodes are drawn where they are predicted to be."""
    rng, rows = np.random.default_rng(1), []
    for number, load in enumerate(rng.uniform(1, 3, 16)):
        points, cells = plate(60, seed=number)
        bend = np.zeros((len(TIMES), len(points), 2))
        bend[:, :, 1] = 0.1 * load * TIMES[:, None] * points[:, 0] ** 2
        series = MeshSeries(
            Mesh(points, {"triangle": cells}), TIMES, {"T": load * TIMES[:, None] * points[:, 1], "motion": bend}
        )
        series.write(tmp_path / f"{number}.pvd")
        rows.append({"mesh": tmp_path / f"{number}.pvd", "load": load})
    model = TransientRegressor(n_modes=2).fit(pd.DataFrame(rows), ["T", "motion"])
    known = {"rows": list(range(16)), "meshes": {"mesh": [f"{k}.pvd" for k in range(16)]}, "nodes": []}
    told = {"table": "table.csv", "split": "all rows", "n_rows": 16, "ignored": {}, "train": known}
    model.metadata_ = told | {"ranges": {}, "held_out_scores": {}}
    model.save(tmp_path / "bend.swwl")
    with served_by(load_served([tmp_path / "bend.swwl"], tmp_path), tmp_path) as port:
        browser = Chromium(*WEBGL)
        try:
            browser.open(f"http://127.0.0.1:{port}/", 1400, 900)
            browser.wait_for("document.getElementById('moved').value === 'motion'")
            browser.wait_for("document.getElementById('moved-times').value === '1'")
            show = (
                "(() => {{ const t = document.getElementById('{}'); t.value = '{}';"
                " t.dispatchEvent(new Event('{}')); }})()"
            )
            browser.ask(show.format("color", "", "change"))
            canvas = "document.getElementById('canvas').toDataURL()"
            browser.wait_for("document.getElementById('bar').hidden")
            late = browser.ask(canvas)
            browser.ask(show.format("time", 1, "input"))
            browser.wait_for(f"{canvas} !== {late!r}")
            time.sleep(0.5)
            early = browser.ask(canvas)
            browser.ask(show.format("moved-times", 3, "input"))
            browser.wait_for(f"![{late!r}, {early!r}].includes({canvas})")
            browser.ask(show.format("moved-times", 1, "input"))
            browser.wait_for(f"{canvas} === {early!r}")
            browser.ask(show.format("moved", "", "change"))
            browser.wait_for("document.getElementById('moved-times-row').hidden")
            assert browser.nameless() == []
        finally:
            browser.close()

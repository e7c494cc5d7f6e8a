"""Models of fields, served: values, downloads, numbers derived from them."""

import io

import numpy as np
import pandas as pd
import pytest

from swwl import FieldRegressor, Mesh, load_model, read_mesh
from swwl.fields.numbers import Probe
from swwl.serve.answers.fields import unpack
from swwl.serve.http.app import make_app
from swwl.serve.models import load_served
from tests.helpers import plate
from tests.serve.conftest import LIMITS, TestClient
from tests.serve.test_plaid import sample_of

ASKED = {"mesh": "3.vtu", "inputs": {"load": 2.0}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of plates that share their cells, and a model of the fields u and v of nodes and w of cells."""
    folder = tmp_path_factory.mktemp("fields")
    points, cells = plate(50)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"load": rng.uniform(1, 3, 20), "width": rng.uniform(1, 2, 20)})
    table["mesh"] = [folder / f"{k}.vtu" for k in range(20)]
    for load, width, path in zip(table["load"], table["width"], table["mesh"], strict=True):
        x = points * [width, 1]
        fields = {"u": load * np.sin(x[:, 0]), "v": np.column_stack([load * x[:, 0], x[:, 1]])}
        of_cells = {"w": load * x[cells].mean(axis=1)[:, 0]}
        Mesh(x, {"triangle": cells}, fields, cell_fields=of_cells).write(path)
    FieldRegressor(calibrate=False, n_jobs=1).fit(table[["mesh", "load"]], ["u", "v", "w"]).save(folder / "fields.swwl")
    return folder


@pytest.fixture(scope="module")
def client(folder):
    app = make_app(load_served([folder / "fields.swwl"], folder), folder, limits=LIMITS)
    with TestClient(app, base_url="http://127.0.0.1") as found:
        yield found


@pytest.fixture(scope="module")
def truth(folder):
    model = load_model(folder / "fields.swwl")
    means, stds = model.predict(pd.DataFrame({"mesh": [folder / "3.vtu"], "load": [2.0]}), return_std=True)
    return means[0], stds[0]


def test_fields_come_as_bytes(client, truth):
    header, arrays = unpack(client.post("/api/field", json=ASKED).content)
    assert header["fields"] == ["u", "v", "w"]
    assert arrays["value:w"].shape == (50,)  # carried to the nodes, where they are drawn
    for name in ("u", "v"):
        np.testing.assert_array_equal(arrays[f"value:{name}"], truth[0][name].astype(np.float32))
        np.testing.assert_array_equal(arrays[f"std:{name}"], truth[1][name].astype(np.float32))


def test_fields_come_as_a_mesh_file(client, truth, tmp_path):
    answer = client.post("/api/field", json=ASKED | {"format": "vtu"})
    assert "attachment" in answer.headers["content-disposition"]
    (tmp_path / "a.vtu").write_bytes(answer.content)
    found = read_mesh(tmp_path / "a.vtu")
    np.testing.assert_array_equal(found.fields["u"], truth[0]["u"])
    np.testing.assert_array_equal(found.fields["u_std"], truth[1]["u"])
    np.testing.assert_array_equal(found.cell_fields["w"], truth[0]["w"])


def test_cards_show_the_largest_value_and_the_mean(client, truth):
    facts = client.get("/api/model").json()
    assert facts["kind"] == "fields" and facts["inputs"][0]["name"] == "load"
    answer = client.post("/api/predict", json=ASKED).json()
    assert list(answer["targets"]) == ["u_max", "u_mean", "v_max", "v_mean", "w_max", "w_mean"]
    one = answer["targets"]["u_max"]
    assert one["lower"] <= one["mean"] <= one["upper"]
    assert one["mean"] == pytest.approx(truth[0]["u"].max(), rel=0.1)
    assert client.post("/api/predict", json=ASKED | {"inputs": {"load": 9}}).json()["domain"]["inside"] is False


def test_a_sample_of_plaid_gets_fields(client, folder, truth, tmp_path):
    from swwl.serve.answers import plaid
    from swwl.serve.requests.questions import SampleTree
    from tests.helpers import write_cgns

    mesh = read_mesh(folder / "3.vtu")
    write_cgns(tmp_path / "a.cgns", mesh.points, mesh.cells["triangle"], {}, {"load": 2.0})
    answer = client.post("/process", json={"sample": sample_of(tmp_path / "a.cgns")}).json()["samples"][0]
    found, _ = plaid.mesh_of_sample(plaid.sample_of(SampleTree(**answer))[0])
    np.testing.assert_allclose(found.fields["u"], truth[0]["u"], rtol=1e-12)
    assert {"u_std", "v_x", "v_y", "v_std_x"} <= set(found.fields)


def test_curves_are_derived_numbers_along_an_input(client, folder):
    asked = ASKED | {"sweep": {"name": "load", "from": 1.5, "to": 2.5, "n": 3}}
    answer = client.post("/api/curve", json=asked).json()
    table = pd.DataFrame({"mesh": [folder / "3.vtu"] * 3, "load": [1.5, 2.0, 2.5]})
    found = load_model(folder / "fields.swwl").derived(table, "max", field="u")
    for key in ("mean", "std", "lower", "upper"):
        np.testing.assert_allclose(answer["curves"][0]["targets"]["u_max"][key], found[key], rtol=1e-9)
    middle = client.post("/api/predict", json=ASKED).json()["targets"]["u_max"]
    assert answer["curves"][0]["targets"]["u_max"]["upper"][1] == pytest.approx(middle["upper"], rel=1e-9)


def test_too_many_fields_at_once_are_refused(client):
    sweep = {"name": "load", "n": 400}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swwl.serve.models.fields._MOST_VALUES", 400 * 50 - 1)
        answer = client.post("/api/curve", json=ASKED | {"sweep": sweep})
    assert answer.status_code == 400 and "fewer points" in answer.json()["error"]


def test_the_map_puts_a_training_mesh_on_itself(client):
    facts = client.get("/api/model").json()
    answer = client.post("/api/predict", json=ASKED).json()["map"]
    assert answer["nearest"][0]["case"] == 3
    assert answer["place"] == pytest.approx(facts["map"]["places"][3], abs=1e-6)


def test_a_table_comes_back_with_derived_numbers(client):
    text = "mesh,load,note\n3.vtu,2,a\n4.vtu,9,b\n"
    sent = client.post("/api/table", content=text, headers={"content-type": "text/csv"})
    found = pd.read_csv(io.StringIO(sent.text))
    one = client.post("/api/predict", json=ASKED).json()["targets"]["v_mean"]
    keys = {"mean": "mean", "std": "std", "lower": "lower95", "upper": "upper95"}
    for key, column in keys.items():
        assert found[f"v_mean_{column}"][0] == pytest.approx(one[key], rel=1e-9)
    assert list(found["note"]) == ["a", "b"] and len(found) == 2
    taken = client.post("/api/table", content="mesh,load,u_max_mean\n3.vtu,2,1\n", headers={"content-type": "text/csv"})
    assert taken.status_code == 400 and "u_max_mean" in taken.json()["error"]


def test_mlflow_gets_derived_numbers(client):
    answer = client.post("/invocations", json={"instances": [{"mesh": "3.vtu", "load": 2.0}]}).json()
    one = client.post("/api/predict", json=ASKED).json()["targets"]["u_mean"]
    assert answer["predictions"][0]["u_mean_upper95"] == pytest.approx(one["upper"], rel=1e-9)


def test_sensitivities_are_of_numbers(client):
    answer = client.post("/api/sensitivity", json=ASKED)
    assert answer.status_code == 400 and "predicts fields" in answer.json()["error"]


def test_values_at_places_are_those_of_the_model(client, folder):
    asked = ASKED | {"probe": [[0.3, 0.4], [0.3, 0.4]], "level": 0.9}
    found = client.post("/api/predict", json=asked).json()["targets"]
    row = pd.DataFrame({"mesh": [folder / "3.vtu"], "load": [2.0]})
    model = load_model(folder / "fields.swwl")
    told = model.derived(row, Probe((0.3, 0.4)), 0.9, field="u").iloc[0]
    assert {key: found["u_at_0.3_0.4"][key] for key in told.index} == told.to_dict()
    assert found["v_at_0.3_0.4_y"]["mean"] == model.derived(row, Probe((0.3, 0.4)), field="v")["mean_1"][0]
    assert found["u_at_0.3_0.4"]["trust"] == found["u_max"]["trust"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"probe": [[9, 9]]}, "at 9, 9: the point 9, 9 lies "),
        ({"probe": [[0.1, 0.1, 0.1]]}, "has 3 coordinates, but the mesh has 2"),
        ({"probe": [[]]}, "two or three coordinates are expected"),
        ({"probe": [["x", 1]]}, "must be a finite number"),
        ({"force_on": ["pressure:body*"]}, "no group 'body*'"),
    ],
)
def test_places_and_groups_that_the_mesh_does_not_have_are_refused(client, asked, words):
    answer = client.post("/api/predict", json=ASKED | asked)
    assert answer.status_code == 400
    assert words in answer.json()["error"]

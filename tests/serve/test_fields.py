"""Models of fields, served: values, downloads, numbers derived from them."""

import numpy as np
import pandas as pd
import pytest

from swwl import FieldRegressor, Mesh, load_model, read_mesh
from swwl.serve.app import make_app
from swwl.serve.library import load_served
from swwl.serve.surface import unpack
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
    assert list(answer["targets"]) == ["u_max", "u_mean", "v_max", "v_mean"]
    one = answer["targets"]["u_max"]
    assert one["lower"] <= one["mean"] <= one["upper"]
    assert one["mean"] == pytest.approx(truth[0]["u"].max(), rel=0.1)
    assert client.post("/api/predict", json=ASKED | {"inputs": {"load": 9}}).json()["domain"]["inside"] is False


def test_a_sample_of_plaid_gets_fields(client, folder, truth, tmp_path):
    from swwl.serve import plaid
    from tests.helpers import write_cgns

    mesh = read_mesh(folder / "3.vtu")
    write_cgns(tmp_path / "a.cgns", mesh.points, mesh.cells["triangle"], {}, {"load": 2.0})
    answer = client.post("/process", json={"sample": sample_of(tmp_path / "a.cgns")}).json()["samples"][0]
    found, _ = plaid.mesh_of_sample(plaid.sample_of(answer)[0])
    np.testing.assert_allclose(found.fields["u"], truth[0]["u"], rtol=1e-12)
    assert {"u_std", "v_x", "v_y", "v_std_x"} <= set(found.fields)


def test_what_is_for_numbers_alone_is_refused(client):
    curve = client.post("/api/curve", json=ASKED | {"sweep": {"name": "load"}})
    table = client.post("/api/table", content="mesh,load\n3.vtu,2\n", headers={"content-type": "text/csv"})
    explained = client.post("/api/sensitivity", json=ASKED)
    assert {one.status_code for one in (curve, table, explained)} == {400}
    assert all("predicts fields" in one.json()["error"] for one in (curve, table, explained))

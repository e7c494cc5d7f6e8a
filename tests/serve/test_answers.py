"""What the server answers is what the model says."""

import json
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL, Matern52, RobustGPRegressor, load_model, read_mesh
from swwl.serve.answers.fields import surface_of, unpack
from swwl.serve.http.app import make_app
from swwl.serve.http.described import examples
from swwl.serve.http.limits import Limits
from swwl.serve.models import load_served
from tests.cli.conftest import swwl
from tests.mesh.shapes import FILLINGS, solid
from tests.serve.conftest import LIMITS, TestClient, client_of

MESH = "data/meshes/003.vtu"


@pytest.fixture(scope="module")
def model(plates):
    return load_model(plates / "model.swwl")


def case(plates, load=2.0, mesh=MESH):
    return pd.DataFrame({"mesh": [plates / mesh], "load": [load]})


def test_predictions_are_the_models_bit_for_bit(client, model, plates):
    for load in (1.1, 2.0, 2.9):
        answer = client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": load}}).json()
        found = model.predict_distribution(case(plates, load))
        assert (model.predict(case(plates, load)) == found.mean).all()
        for k, name in enumerate(["stretch", "area"]):
            one = answer["targets"][name]
            lower, upper = found.interval(0.95)
            wanted = [values[0, k] for values in (found.mean, found.std, lower, upper)]
            assert [one[key] for key in ("mean", "std", "lower", "upper")] == wanted


def test_intervals_are_those_of_swwl_predict(client, plates, tmp_path):
    out = swwl("predict", plates / "model.swwl", "--mesh", plates / MESH, "load=1.2", "--json")
    row = json.loads(out.stdout)
    answer = client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": 1.2}}).json()
    for name in ("stretch", "area"):
        wanted = [row[f"{name}_{key}"] for key in ("mean", "std", "lower95", "upper95")]
        assert [answer["targets"][name][key] for key in ("mean", "std", "lower", "upper")] == wanted


def test_a_mesh_can_be_sent_kept_and_named(client, plates):
    content = (plates / MESH).read_bytes()
    named = client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": 2}}).json()
    files = {"mesh": ("../odd name.VTU", content)}
    sent = client.post("/api/predict", data={"inputs": '{"load": 2}'}, files=files).json()
    kept = client.post("/api/mesh", files=files).json()["meshes"][0]
    again = client.post("/api/predict", json={"mesh": kept["mesh"], "inputs": {"load": 2}}).json()
    known = client.post("/api/predict", json={"mesh": {"mesh": "train:mesh:3"}, "inputs": {"load": 2}}).json()
    assert kept["name"] == "odd name.VTU"
    assert kept["nodes"] == 60
    assert named["targets"] == sent["targets"] == again["targets"] == known["targets"]
    assert sent["meshes"]["mesh"]["name"] == "odd name.VTU"


def test_the_verdict_says_what_leaves_the_training_range(client):
    inside = client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": 2}}).json()
    outside = client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": 30}}).json()
    assert inside["domain"]["inside"] is None and inside["targets"]["area"]["trust"] == "unknown"
    (note,) = inside["domain"]["notes"]  # few training cases: the model itself says nothing
    assert note.startswith("only ranges, sizes and orientations were compared: ") and "too few" in note
    assert not outside["domain"]["inside"] and outside["domain"]["outside"] == ["load"]
    assert outside["domain"]["notes"] == ["load lies outside the training range"]
    assert outside["targets"]["area"]["trust"] == "untested"


def test_training_meshes_are_called_after_their_cases(plates, tmp_path):
    """Files that are all called alike, as solvers leave them, have the names of their folders."""
    names = []
    for k in range(24):
        (tmp_path / f"case{k:02d}").mkdir()
        names.append(f"case{k:02d}/internal.vtu")
        shutil.copy(plates / f"data/meshes/{k:03d}.vtu", tmp_path / names[-1])
    model = load_model(plates / "model.swwl")
    known = {"rows": list(range(24)), "meshes": {"mesh": names}, "nodes": []}
    model.metadata_ = {"table": "table.csv", "split": "all rows", "n_rows": 24, "ignored": {}, "train": known}
    model.save(tmp_path / "model.swwl")
    with client_of(tmp_path) as client:
        answer = client.post("/api/predict", json={"mesh": "train:mesh:7", "inputs": {"load": 2}}).json()
        assert answer["meshes"]["mesh"]["name"] == "case07" == answer["map"]["nearest"][0]["label"]
        assert client.get("/api/model").json()["cases"][3]["label"] == "case03"


def test_the_map_puts_a_training_mesh_on_itself(client):
    facts = client.get("/api/model").json()
    answer = client.post("/api/predict", json={"mesh": "train:mesh:7", "inputs": {"load": 2}}).json()
    assert answer["map"]["nearest"][0]["case"] == 7
    assert answer["map"]["nearest"][0]["label"] == "007.vtu"
    assert answer["map"]["place"] == pytest.approx(facts["map"]["places"][7], abs=1e-6)


def test_a_model_tells_inputs_targets_scores_and_cases(client, model):
    facts = client.get("/api/model?model=model").json()
    assert client.get("/api/models").json()["models"][0]["targets"] == ["stretch", "area"]
    assert facts["inputs"][0]["name"] == "load"
    assert facts["inputs"][0]["least"] == model.train_inputs_["load"].min()
    assert [one["name"] for one in facts["targets"]] == ["stretch", "area"]
    assert len(facts["cases"]) == 24
    assert facts["cases"][5]["targets"]["area"] == model.train_targets_[5, 1]
    assert facts["targets"][0]["scores"] == []  # one kernel without folds: nothing was left out


def test_curves_are_predictions_along_an_input(client, model, plates):
    asked = {"mesh": MESH, "sweep": {"name": "load", "from": 1, "to": 3, "n": 5}, "level": 0.5}
    answer = client.post("/api/curve", json=asked).json()
    table = pd.concat([case(plates, load) for load in np.linspace(1, 3, 5)], ignore_index=True)
    found, _ = model.predict_with_domain(table)
    curve = answer["curves"][0]["targets"]["stretch"]
    np.testing.assert_allclose(curve["mean"], found.mean[:, 0], rtol=1e-12)
    np.testing.assert_allclose(curve["upper"], found.interval(0.5)[1][:, 0], rtol=1e-12)


def test_a_table_comes_back_with_predictions(client, model, plates):
    text = f'mesh,load,note\n{MESH},2.0,a\ndata/meshes/004.vtu,1.5,"b, c"\n'
    for sent in (
        client.post("/api/table", content=text, headers={"content-type": "text/csv"}),
        client.post("/api/table", files={"table": ("mine.csv", text)}),
    ):
        lines = sent.text.splitlines()
        keys = ("mean", "std", "lower95", "upper95")
        added = ",".join(f"{name}_{key}" for name in ("stretch", "area") for key in keys)
        assert lines[0].startswith(f"mesh,load,note,{added},outside_training_range")
        table = case(plates, 2.0)
        assert float(lines[1].split(",")[3]) == pytest.approx(model.predict(table)[0, 0], rel=1e-12)
        assert lines[2].startswith('data/meshes/004.vtu,1.5,"b, c",')


@pytest.mark.parametrize("kind", FILLINGS)
def test_the_surface_of_a_solid_is_closed_and_shows_no_cuts(kind):
    mesh = solid([(0, 0, 0), (1, 0, 0), (0, 1, 0)], kind, np.random.default_rng(0))
    found = surface_of(mesh)
    sides = np.sort(found["triangles"][:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert (np.unique(sides, axis=0, return_counts=True)[1] % 2 == 0).all()
    if kind == "hexahedron":  # each square of the surface has no diagonal
        lengths = np.linalg.norm(np.diff(found["points"][found["edges"]], axis=1)[:, 0], axis=1)
        np.testing.assert_allclose(lengths, 1, rtol=1e-6)


def test_a_surface_brings_the_fields_of_the_file(client, plates):
    header, arrays = unpack(client.post("/api/surface", json={"mesh": MESH}).content)
    mesh = read_mesh(plates / MESH)
    assert header["fields"] == ["stress", "shift"] and header["nodes"] == 60
    np.testing.assert_array_equal(arrays["field:stress"], mesh.fields["stress"][arrays["nodes"]].astype(np.float32))
    lengths = np.linalg.norm(mesh.fields["shift"], axis=1)[arrays["nodes"]]
    np.testing.assert_allclose(arrays["field:shift"], lengths, rtol=1e-6)
    assert arrays["triangles"].max() < len(arrays["points"])
    spread = mesh.points.max(axis=0) - mesh.points.min(axis=0)
    np.testing.assert_allclose(np.ptp(arrays["points"], axis=0)[:2], spread, rtol=1e-6)


@pytest.mark.parametrize(
    "form",
    [
        {"dataframe_records": [{"mesh": MESH, "load": 2.0}, {"mesh": MESH, "load": 1.5}]},
        {"instances": [{"mesh": MESH, "load": 2.0}, {"mesh": MESH, "load": 1.5}]},
        {"dataframe_split": {"columns": ["mesh", "load"], "data": [[MESH, 2.0], [MESH, 1.5]]}},
        {"inputs": {"mesh": [MESH, MESH], "load": [2.0, 1.5]}},
    ],
)
def test_mlflow_asks_in_its_own_form(client, model, plates, form):
    answer = client.post("/invocations", json=form).json()["predictions"]
    assert answer[1]["stretch_mean"] == pytest.approx(model.predict(case(plates, 1.5))[0, 0], rel=1e-12)
    assert list(answer[0])[:4] == ["stretch_mean", "stretch_std", "stretch_lower95", "stretch_upper95"]


def test_sensitivities_are_the_models(client, model, plates):
    asked = {"mesh": MESH, "inputs": {"load": 2}}
    header, arrays = unpack(client.post("/api/sensitivity", json=asked).content)
    mesh = read_mesh(plates / MESH)
    table = pd.DataFrame({"mesh": pd.Series([mesh], dtype=object), "load": [2.0]})
    for one in model.sensitivity(table, std=False):
        np.testing.assert_array_equal(arrays[f"value:{one.target}"], one.normal.astype(np.float32))
        assert header["inputs"][one.target] == one.inputs


def test_the_description_names_every_address(client):
    described = client.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method in methods:
            status = client.request(method, path).status_code
            assert status not in (404, 405, 500), (path, method)


def test_every_example_of_the_description_is_answered(client, plates):
    described = client.get("/openapi.json").json()
    table = "mesh,load\ndata/meshes/003.vtu,2\n"
    for path, methods in described["paths"].items():
        words = shlex.split(next(iter(methods.values()))["x-codeSamples"][0]["source"])
        assert words[0] == "curl" and words[-1].startswith(f"http://127.0.0.1{path}")
        given = list(zip(words[1:-1:2], words[2:-1:2], strict=True))
        parts = [value.partition("=")[::2] for key, value in given if key == "-F"]
        mesh = (plates / "data" / "meshes" / "003.vtu").read_bytes()
        files = {name: ("part.vtu", mesh) for name, value in parts if value == "@part.vtu"}
        form = {name: value for name, value in parts if name not in files}
        headers = dict(value.split(": ") for key, value in given if key == "-H")
        content = next((value for key, value in given if key in ("-d", "--data-binary")), None)
        if content == "@sample.json":
            continue  # tests/serve/test_plaid.py
        content = table if content == "@new.csv" else content and content.replace("mesh.vtu", "data/meshes/003.vtu")
        body = {"data": form, "files": files} if parts else {"content": content, "headers": headers}
        status = client.request("POST" if given else "GET", words[-1], **body).status_code
        assert status == (400 if path in ("/api/field", "/api/history") else 200), path  # the model predicts numbers


def test_examples_are_words_of_a_shell(plates):
    served = load_served([plates / "model.swwl"], None)["model"]
    served.names, served.inputs = None, [{"name": "it's", "holds": "categories", "categories": ["a'b", "c"]}]
    words = shlex.split(examples(served)["/api/predict"])
    assert words == ["-F", "mesh=@part.vtu", "-F", 'inputs={"it\'s": "a\'b"}', "{link}/api/predict"]


def test_people_can_read_the_description(client):
    page = client.get("/http").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert f"<code>{path}</code>" in page
    assert "probability of the interval; above 0; at most 0.999999; 0.95 by default" in page
    assert '<script src="/page/theme.js"></script>' in page and "https:" not in page
    assert "object of name, values, from, to, n" in page
    assert "Bearer &lt;x&gt;" in client.get("/http", params={"token": "<x>"}).text


def test_answers_carry_a_policy(client):
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy
    assert client.get("/").headers["x-content-type-options"] == "nosniff"


def test_the_page_and_plotly_come_from_here(client):
    page = client.get("/").text
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
    for name in ("app.js", "view3d.js", "style.css", "icon.svg", "plotly.js"):
        assert client.get(f"/page/{name}").status_code == 200, name


def test_without_a_folder_only_known_and_sent_meshes_are_read(plates):
    with client_of(plates, meshes=False) as client:
        named = client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": 2}})
        known = client.post("/api/predict", json={"mesh": "train:mesh:3", "inputs": {"load": 2}})
    assert named.status_code == 400 and "--meshes" in named.json()["error"]
    assert known.status_code == 200


def test_a_started_again_server_says_the_same(plates):
    answers = []
    for _ in range(2):
        with client_of(plates) as client:
            answers.append(client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": 2}}).content)
    assert answers[0] == answers[1]


def test_a_long_computation_is_given_up_and_many_are_sent_away(plates, monkeypatch):
    import time

    from swwl.serve.models.served import Served

    monkeypatch.setattr(Served, "case", lambda *_: time.sleep(0.4))
    with client_of(plates, Limits(at_work=1, waiting=0, seconds=0.05)) as client:
        slow = client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": 2}})
        busy = client.post("/api/predict", json={"mesh": MESH, "inputs": {"load": 2}})
    assert (slow.status_code, busy.status_code) == (503, 503)
    assert "took longer" in slow.json()["error"] and "busy" in busy.json()["error"]


@pytest.fixture(scope="module")
def others(plates, tmp_path_factory):
    """A client of a model of meshes alone, of one of two columns of meshes, and of one of numbers alone."""
    folder = tmp_path_factory.mktemp("others")
    names = [plates / "data" / "meshes" / f"{k:03d}.vtu" for k in range(16)]
    width = np.array([np.ptp(read_mesh(name).points[:, 0]) for name in names])
    load = np.linspace(1, 2, 16)
    table = pd.DataFrame({"hull": names, "rotor": names[::-1], "load": load})
    own = {"n_iterations": 0, "n_projections": 4, "n_quantiles": 5, "n_jobs": 1}
    hull, rotor = SWWL("hull", **own), SWWL("rotor", **own)
    wanted = {"alone": (hull, width), "two": (hull * rotor, width + width[::-1]), "none": (Matern52("load"), load**2)}
    for name, (kernel, y) in wanted.items():
        found = RobustGPRegressor(kernel, calibrate=False).fit(table, pd.Series(y, name="y"))
        columns = [column for column in ("hull", "rotor") if column in repr(kernel)]
        meshes = {column: [str(path) for path in table[column]] for column in columns}
        train = {"rows": list(range(16)), "meshes": meshes, "nodes": []}
        found.metadata_ = {"table": "t.csv", "split": "all rows", "n_rows": 16, "ignored": {}, "train": train}
        found.save(folder / f"{name}.swwl")
    models = load_served([folder / f"{name}.swwl" for name in wanted], plates)
    with TestClient(make_app(models, plates, limits=LIMITS), base_url="http://127.0.0.1") as client:
        yield client


def test_models_without_numbers_are_served(others):
    facts = others.get("/api/model?model=alone").json()
    assert facts["inputs"] == [] and len(facts["cases"]) == 16 and facts["sensitivity"]
    answer = others.post("/api/predict", json={"model": "alone", "mesh": MESH}).json()
    assert np.isfinite(answer["targets"]["y"]["mean"])
    curve = others.post("/api/curve", json={"model": "alone", "mesh": MESH, "sweep": {"name": "load"}})
    assert curve.status_code == 400 and "no numeric input" in curve.json()["error"]


def test_models_without_meshes_are_served(others):
    facts = others.get("/api/model?model=none").json()
    assert facts["mesh_columns"] == [] and not facts["sensitivity"]
    assert others.post("/api/predict", json={"model": "none", "inputs": {"load": 1.5}}).status_code == 200
    refused = others.post("/api/predict", json={"model": "none", "mesh": MESH, "inputs": {"load": 1.5}})
    assert refused.status_code == 400 and "no meshes" in refused.json()["error"]


def test_models_of_two_meshes_are_served(others):
    facts = others.get("/api/model?model=two").json()
    assert facts["mesh_columns"] == ["hull", "rotor"] and not facts["sensitivity"]
    asked = {"model": "two", "mesh": {"hull": "train:hull:1", "rotor": "train:rotor:1"}}
    assert others.post("/api/predict", json=asked).status_code == 200
    names = [
        unpack(others.post("/api/surface", json=asked | {"column": c}).content)[0]["name"] for c in ("hull", "rotor")
    ]
    assert names == ["001.vtu", "014.vtu"]
    missing = others.post("/api/predict", json={"model": "two", "mesh": {"hull": "train:hull:1"}})
    assert missing.status_code == 400 and "rotor" in missing.json()["error"]
    explained = others.post("/api/sensitivity", json=asked)
    assert explained.status_code == 400 and "several columns" in explained.json()["error"]


@pytest.mark.parametrize("load", [2.0, 30.0])
def test_no_answer_holds_nan(client, load):
    """JSON has no word for it, and a table leaves cells empty."""
    asked = {"mesh": MESH, "inputs": {"load": load}}
    sweep = {"name": "load", "from": 1, "to": load, "n": 3}
    answers = [
        client.get("/api/model"),
        client.post("/api/predict", json=asked),
        client.post("/api/curve", json={"mesh": MESH, "sweep": sweep}),
    ]
    for answer in answers:
        assert answer.status_code == 200
        json.loads(answer.text, parse_constant=pytest.fail)
    text = f"mesh,load,note\n{MESH},{load},\n"
    table = client.post("/api/table", content=text, headers={"content-type": "text/csv"})
    assert table.status_code == 200 and len(table.text.splitlines()) == 2
    assert not {"nan", "inf", "-inf"} & {cell.lower() for line in table.text.splitlines() for cell in line.split(",")}

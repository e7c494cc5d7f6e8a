"""PLAID's clients: what pyplaid sends is understood, and what comes back is what it reads."""

import base64

import h5py
import numpy as np
import pandas as pd
import pytest

from swwl import load_model, read_mesh
from swwl.serve.answers import plaid
from swwl.serve.requests.questions import SampleTree
from tests.helpers import write_cgns
from tests.serve.conftest import serving

NO_PYPLAID = "pyplaid (the extra [plaid]) is not installed"


def packed(array):
    array = np.ascontiguousarray(array)
    return {
        "kind": "ndarray",
        "encoding": "base64",
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "order": "C",
        "byte_order": "little",
        "data": base64.b64encode(array.tobytes()).decode(),
    }


def tree_of(group, name="CGNSTree", label="CGNSTree_t"):
    """A CGNS file as PLAID's JSON."""
    value = None
    if " data" in group:
        found = group[" data"][()]
        value = packed(found.view("S1") if found.dtype == np.int8 else found)
    children = [
        tree_of(child, key, child.attrs["label"].decode())
        for key, child in group.items()
        if isinstance(child, h5py.Group)
    ]
    return {"name": name, "label": label, "value": value, "children": children}


def sample_of(path, time=0.0):
    with h5py.File(path) as file:
        tree = {"format": "plaid-cgns-tree-json", "version": 1, "tree": tree_of(file)}
    return {"format": "plaid-sample-json", "version": 1, "trees": [{"time": time, "tree": tree}]}


@pytest.fixture
def case(plates, tmp_path):
    """A plate in a CGNS file with its load, and what the model says of it."""
    mesh = read_mesh(plates / "data" / "meshes" / "003.vtu")
    write_cgns(tmp_path / "a.cgns", mesh.points, mesh.cells["triangle"], {}, {"load": 2.0})
    model = load_model(plates / "model.swwl")
    table = pd.DataFrame({"mesh": [tmp_path / "a.cgns"], "load": [2.0]})
    return tmp_path / "a.cgns", model.predict(table, return_std=True)


def test_a_sample_comes_back_with_predictions(client, case):
    path, (mean, std) = case
    sample = sample_of(path)
    answer = client.post("/process", json={"sample": sample}).json()["samples"][0]
    tree, scalars = plaid.sample_of(SampleTree(**answer))
    assert scalars["stretch"] == mean[0, 0] and scalars["area_std"] == std[0, 1]
    assert scalars["load"] == 2.0
    before, _ = plaid.mesh_of_sample(plaid.sample_of(SampleTree(**sample))[0])
    after, _ = plaid.mesh_of_sample(tree)
    np.testing.assert_array_equal(before.points, after.points)


def test_fields_go_to_the_nodes_of_the_zone(case):
    path, _ = case
    sample = SampleTree(**sample_of(path))
    mesh, _ = plaid.mesh_of_sample(plaid.sample_of(sample)[0])
    fields = {"p": np.arange(60.0), "u": np.ones((60, 2))}
    answer = SampleTree(**plaid.with_predictions(sample, {}, fields))
    found, _ = plaid.mesh_of_sample(plaid.sample_of(answer)[0])
    np.testing.assert_array_equal(found.fields["p"], fields["p"])
    assert set(found.fields) == set(mesh.fields) | {"p", "u_x", "u_y"}


def test_the_clients_other_questions(client):
    assert client.post("/health", json={}).json()["status"] == "ok"
    problem = client.post("/problem_definition", json={}).json()
    assert problem["output_features"] == ["Global/stretch", "Global/area"]
    assert client.post("/infos", json={}).status_code == 200


def test_pyplaids_own_client(plates, case):
    pytest.importorskip("plaid", reason=NO_PYPLAID)
    from plaid.containers.sample import Sample
    from plaid.utils.process_client import PlaidClient
    from plaid.utils.sample_json import sample_from_json_payload

    path, (mean, std) = case
    with serving(plates) as port:
        client = PlaidClient("127.0.0.1", port)
        assert client.check_connection()
        answer = client.process(sample_from_json_payload(sample_of(path)))
    assert isinstance(answer, Sample)
    assert float(np.ravel(answer.get_global("stretch"))[0]) == mean[0, 0]
    assert float(np.ravel(answer.get_global("stretch_std"))[0]) == std[0, 0]
    assert {"stretch", "area", "load"} <= set(answer.get_global_names())

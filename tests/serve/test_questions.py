"""What clients ask, and how mistakes are answered: without a server."""

import pytest

from swwl import Mesh
from swwl.errors import InputError, MissingFileError
from swwl.serve.answers.numbers import csv_frame, trust
from swwl.serve.http.guard import RefusedError, extra_headers, status_of
from swwl.serve.http.limits import Limits
from swwl.serve.models.__init__ import load_served
from swwl.serve.models.meshes import MeshStore
from swwl.serve.models.numbers import ServedNumbers
from swwl.serve.requests.questions import CurveQuestion, PredictQuestion, checked


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"inputs": {}, "level": 1}, "level must be .* not 1"),
        ({"inputs": [1]}, "inputs must be an object"),
        ({"inputs": {}, "levle": 0.9}, "levle"),
        ("hello", "The request"),
    ],
)
def test_questions_that_make_no_sense(asked, message):
    with pytest.raises(InputError, match=message):
        checked(PredictQuestion, asked)


def test_sweeps_have_as_many_points_as_are_drawn():
    found = checked(CurveQuestion, {"sweep": {"name": "speed", "from": 1, "to": 2}}, Limits(rows=500))
    assert (found.sweep.first, found.sweep.last) == (1, 2) and found.level == 0.95
    with pytest.raises(InputError, match="600 points, but at most 500"):
        checked(CurveQuestion, {"sweep": {"name": "speed", "n": 600}}, Limits(rows=500))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RefusedError(413, "too large"), 413),
        (MissingFileError("a.vtu: no such file"), 404),
        (InputError("two\nlines"), 400),
        (MemoryError(), 503),
    ],
)
def test_mistakes_have_a_status_and_one_line(error, status):
    found, text = status_of(error)
    assert found == status and "\n" not in text


def test_our_own_errors_are_told_to_the_log_alone(capsys):
    status, text = status_of(KeyError("secret"))
    assert status == 500 and "secret" not in text and "secret" in capsys.readouterr().err
    assert extra_headers(503) == {"retry-after": "2"} and extra_headers(200) == {}


def test_only_files_under_the_folder_have_names(tmp_path):
    inner = tmp_path / "meshes"
    inner.mkdir()
    mesh = Mesh([[0.0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
    mesh.write(inner / "a.vtu")
    mesh.write(tmp_path / "outside.vtu")
    (inner / "link.vtu").symlink_to(tmp_path / "outside.vtu")
    store = MeshStore(inner, Limits())
    assert store.find("a.vtu").item.name == "a.vtu" and store.find("a.vtu").item.n_nodes == 3
    for name in ("../outside.vtu", "link.vtu", "/etc/passwd", str(tmp_path / "outside.vtu"), "upload:1", "train:1"):
        with pytest.raises(MissingFileError):
            store.find(name)
    with pytest.raises(InputError, match="not a path"):
        store.find("\0")
    with pytest.raises(InputError, match="--meshes FOLDER"):
        MeshStore(None, Limits()).find("a.vtu")


def test_a_model_of_numbers_knows_its_inputs_and_its_training_cases(plates):
    (served,) = load_served([plates / "model.swwl"], plates).values()
    assert isinstance(served, ServedNumbers)
    assert served.mesh_columns == ["mesh"]
    assert served.targets == ["stretch", "area"] and [one["name"] for one in served.inputs] == ["load"]
    assert trust(True, False) == "tested"


def test_tables_of_mlflow():
    assert csv_frame(b"a,b\n1,x\n").to_dict("list") == {"a": [1], "b": ["x"]}
    with pytest.raises(InputError, match="The table is not CSV"):
        csv_frame(b"")

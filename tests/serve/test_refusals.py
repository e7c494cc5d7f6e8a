"""How mistakes are answered, which meshes have names, and what a served model knows: without a server."""

import pytest

from swwl import Mesh
from swwl.errors import InputError, MissingFileError
from swwl.serve.answers.numbers import csv_frame, trust
from swwl.serve.http.guard import RefusedError, extra_headers, status_of
from swwl.serve.http.limits import Limits
from swwl.serve.models.__init__ import load_served
from swwl.serve.models.meshes import MeshStore
from swwl.serve.models.numbers import ServedNumbers


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

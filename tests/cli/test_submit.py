"""PLAID folders: fitted in place of a table, predicted as a submission, and fields written into their samples."""

import json
import pickle

import h5py
import numpy as np
import pytest

from swwl import load_model, read_mesh
from swwl.datasets import load_plaid
from swwl.datasets.plaid import load_split, write_submission
from swwl.errors import InputError
from swwl.mesh.io.hdf.cgns import copy_cgns
from tests.cli.conftest import swwl
from tests.datasets.test_plaid import NO_PYPLAID, plaid_sample
from tests.fielddata import QUICK, plate
from tests.helpers import write_cgns


def write_sample(folder, i, targets=True, fields=True):
    rng = np.random.default_rng(i)
    width, load = rng.uniform(1, 2), rng.uniform(1, 3)
    mesh = plate(width, load, 4 + i % 3)
    place = folder / f"sample_{i:09d}" / "meshes"
    place.mkdir(parents=True)
    scalars = {"load": load} | ({"top": load * (width**2 + 1)} if targets else {})
    known = {"heat": mesh.fields["heat"]} if targets and fields else {}
    write_cgns(place / "mesh_000000000.cgns", mesh.points, mesh.cells["triangle"], known, scalars)


@pytest.fixture(scope="session")
def plaid(tmp_path_factory):
    """A set whose test targets are hidden, and models of a field and of a scalar of it."""
    folder = tmp_path_factory.mktemp("plaid")
    for i in range(12):
        write_sample(folder / "set/data/train", i)
    for i in range(3):
        write_sample(folder / "set/data/test", 20 + i, targets=False)
    options = ["--target-field", "heat", "--target", "top", "--no-calibrate", "--no-cache"]
    swwl("fit", folder / "set", *options, "-o", folder / "m.swwl", *QUICK)
    return folder


@pytest.mark.slow
def test_a_folder_is_fitted_and_predicted(plaid, tmp_path):
    models = [plaid / "m.swwl", plaid / "m-scalars.swwl"]
    options = ["-o", tmp_path / "s.pkl", "--samples", tmp_path / "out", "--no-cache", "--json"]
    facts = json.loads(swwl("submit", plaid / "set", *models, *options).stdout)
    assert facts["names"] == ["heat", "top"]
    rows = pickle.loads((tmp_path / "s.pkl").read_bytes())
    table = load_plaid(plaid / "set", "test")
    assert "top" not in table
    expected = load_model(models[0]).predict(table)
    tops = load_model(models[1]).predict(table)
    assert len(rows) == 3
    for row, fields, top in zip(rows, expected, tops, strict=True):
        assert set(row) == {"heat", "top"}
        np.testing.assert_allclose(row["heat"], fields["heat"], rtol=1e-12)
        assert row["top"] == pytest.approx(top)
        assert type(row["top"]) is float
    written = load_plaid(tmp_path / "out")
    np.testing.assert_allclose(written["top"], tops)
    np.testing.assert_array_equal(written["load"], table["load"])
    for path, given, row in zip(written["mesh"], table["mesh"], rows, strict=True):
        found = read_mesh(path)
        np.testing.assert_array_equal(found.fields["heat"], row["heat"])
        np.testing.assert_array_equal(found.points, read_mesh(given).points)


@pytest.mark.slow
def test_what_submit_refuses(plaid, tmp_path):
    def refused(*arguments, words):
        message = swwl("submit", plaid / "set", *arguments, code=2).stderr.splitlines()[-1]
        assert message.startswith("error: ") and words in message, message

    model = plaid / "m.swwl"
    refused(model, "-o", tmp_path / "s.csv", words="must end in .pkl")
    refused(model, "-o", tmp_path / "s.pkl", "--split", "tset", words="its splits are: train, test")
    refused(model, model.with_name("m-scalars.swwl"), "-o", model, words="must end in .pkl")
    (tmp_path / "s.pkl").write_text("mine")
    refused(model, "-o", tmp_path / "s.pkl", words="already exists")
    (tmp_path / "copy.swwl").write_bytes(model.read_bytes())
    refused(model, tmp_path / "copy.swwl", "-o", tmp_path / "t.pkl", words="'heat' is predicted by several")
    refused(model, "-o", tmp_path / "t.pkl", "--samples", plaid / "set", words="name a new folder")


@pytest.mark.slow
def test_mistakes_name_the_sample_and_hidden_targets_are_no_inputs(tmp_path):
    for i in range(6):
        write_sample(tmp_path / "set/data/train", i, fields=i != 4)
    write_sample(tmp_path / "set/data/test", 20, targets=False)
    arguments = ["fit", tmp_path / "set", "--target-field", "heat", "-o", tmp_path / "m.swwl", *QUICK]
    found = swwl(*arguments, code=2)
    assert "set: sample 4 has no field 'heat'" in found.stderr.splitlines()[-1]
    assert "ignored   top: no sample that is not to train on has it" in found.stdout
    assert "inputs    mesh, load\n" in found.stdout


def test_samples_are_in_the_order_of_the_split(tmp_path):
    for i in range(4):
        write_sample(tmp_path / "dataset/samples", i)
    (tmp_path / "problem_definition").mkdir()
    (tmp_path / "problem_definition/split.json").write_text(json.dumps({"train": [0], "test": [3, 1, 2]}))
    table = load_split(tmp_path)
    assert [path.split("sample_")[1][:9] for path in table["mesh"]] == ["000000003", "000000001", "000000002"]


def test_fields_are_added_to_a_copy(tmp_path):
    write_sample(tmp_path, 0)
    source, target = tmp_path / "sample_000000000/meshes/mesh_000000000.cgns", tmp_path / "copy.cgns"
    before, mesh = source.read_bytes(), read_mesh(source)
    n, m = mesh.n_nodes, mesh.n_cells
    copy_cgns(source, target, {"heat": np.arange(n), "new": np.ones(n)}, {"flux": np.arange(m)}, {"lift": 2.0})
    assert source.read_bytes() == before
    found = read_mesh(target)
    np.testing.assert_array_equal(found.fields["heat"], np.arange(n))
    np.testing.assert_array_equal(found.fields["new"], np.ones(n))
    np.testing.assert_array_equal(found.cell_fields["flux"], np.arange(m))
    np.testing.assert_array_equal(found.cells["triangle"], mesh.cells["triangle"])
    with pytest.raises(InputError, match="nodes"):
        copy_cgns(source, target, {"heat": np.ones(n + 1)})
    with pytest.raises(InputError, match="32 bytes"):
        copy_cgns(source, target, {"h" * 33: np.ones(n)})
    (tmp_path / "text.cgns").write_text("no")
    with pytest.raises(InputError, match="not a CGNS file"):
        copy_cgns(tmp_path / "text.cgns", target, {})


def test_a_submission_holds_finite_numbers(tmp_path):
    with pytest.raises(InputError, match="'U1' must be a finite number"):
        write_submission(tmp_path / "s.pkl", [{"U1": np.array([1.0, np.nan])}])
    assert not (tmp_path / "s.pkl").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of pyplaid's own dependencies
@pytest.mark.parametrize("without", [None, "VertexFields"])
def test_pyplaid_reads_what_was_added(without, tmp_path):
    plaid = pytest.importorskip("plaid", reason=NO_PYPLAID)
    plaid_sample(0).save_to_dir(tmp_path / "old")
    source = next((tmp_path / "old/meshes").glob("*.cgns"))
    if without is not None:
        with h5py.File(source, "r+") as file:
            del file["Base_2_2/Zone"][without]
    mesh = read_mesh(source)
    n, m = mesh.n_nodes, mesh.n_cells
    (tmp_path / "new/meshes").mkdir(parents=True)
    fields = {"p": np.arange(n), "new": np.ones(n)}
    copy_cgns(source, tmp_path / "new/meshes" / source.name, fields, {"flux": np.arange(m)}, {"lift": 7.0})
    sample = plaid.Sample.load_from_dir(tmp_path / "new")
    np.testing.assert_array_equal(sample.get_field("p"), np.arange(n))
    np.testing.assert_array_equal(sample.get_field("new"), np.ones(n))
    np.testing.assert_array_equal(sample.get_field("flux", location="CellCenter"), np.arange(m))
    assert sample.get_global("lift") == 7.0
    np.testing.assert_array_equal(sample.get_nodes(), mesh.points)

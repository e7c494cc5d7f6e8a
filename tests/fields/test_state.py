"""Model files of fields that were damaged, edited or crafted: one line that says so, and nothing else happens."""

import copy
import json
import random
import zipfile

import numpy as np
import pytest

from swwl import FieldRegressor, Matern52, load_model
from swwl.datasets import make_airfoil
from swwl.errors import InputError
from swwl.fields.state import FieldRegressorState
from swwl.jobs.describe import field_model_facts, model_file_facts
from swwl.report import make_report
from tests.fields.test_estimator import plates, quick, smooth
from tests.helpers import plain_state, rewrite_model
from tests.storage.test_hostile import CHANGED, places, put

SCORE = {"name": "a.vtu", "n": 40, "rmse": 0.1, "largest": 3.0, "largest_predicted": 3.1, "rrmse": 0.03, "width": 0.4}
SCORE |= {"coverage": 0.9, "interval_score": None, "mean": [1.0], "spread": 20.0, "case": 0}


@pytest.fixture(scope="module")
def table():
    return plates(16)


@pytest.fixture(scope="module", params=[False, True], ids=["any topology", "shared cells"])
def saved(request, tmp_path_factory):
    """A model of two fields that swwl fit could have written."""
    table = plates(16, same=request.param)
    model = smooth(n_modes=2, basis_size=20, calibrate=False).fit(table[:14], ["T", "v"])
    cases = {"rows": list(range(14)), "nodes": [40] * 14, "meshes": {"mesh": ["a.vtu"] * 14}}
    held_out = {"rows": [14], "nodes": [40], "meshes": {"mesh": ["b.vtu"]}, "inputs": {"load": [2.0]}}
    model.metadata_ = {"table": "t.csv", "n_rows": 15, "split": "all", "ignored": {}, "train": cases}
    model.metadata_ |= {"held_out": held_out, "ranges": {"load": [1.0, 3.0]}, "held_out_scores": {"T": [SCORE]}}
    path = tmp_path_factory.mktemp("saved") / "f.swwl"
    model.save(path)
    return path, table[14:]


def manifest_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("manifest.json"))


def test_a_state_comes_back(table):
    model = quick().fit(table[:12], "T")
    state = model.get_state()
    assert isinstance(state, FieldRegressorState)
    again = type(model).from_state(plain_state(state))
    np.testing.assert_array_equal(again.predict(table[:2])[0]["T"], model.predict(table[:2])[0]["T"])


def test_a_model_of_fields_times_the_gain_of_slit_maps_comes_back(tmp_path):
    table = make_airfoil(6, n_nodes=500, random_topology=True)[["mesh", "incidence"]]
    options = {"n_modes": 2, "basis_size": 20, "calibrate": False, "warp": "none"}
    model = FieldRegressor(Matern52("incidence"), descriptors={"wall": 1.0, "gain": 1.0}, **options)
    model.fit(table, "pressure_coefficient").save(tmp_path / "m.swwl")
    assert model.models_["pressure_coefficient"].basis.factors == 1
    one, other = (m.predict(table[:1])[0]["pressure_coefficient"] for m in (model, load_model(tmp_path / "m.swwl")))
    np.testing.assert_array_equal(one, other)


def test_a_model_comes_back_and_predicts_the_same_bits(saved):
    path, new = saved
    once, again = load_model(path), load_model(path)
    for one, other in zip(once.predict(new), again.predict(new), strict=True):
        np.testing.assert_array_equal(one["T"], other["T"])
        np.testing.assert_array_equal(one["v"], other["v"])
    facts = model_file_facts(path)
    assert facts["kind"] == "field model"
    assert [row["test"] for row in facts["scores"] if row["field"] == "T"] == ["held-out rows"]
    page = make_report(once, path)
    assert "T, v" in page
    assert "There are no pictures" in page  # b.vtu is not there


@pytest.mark.slow
def test_flipped_bits_are_refused_or_do_not_matter(saved, tmp_path):
    path, new = saved
    data, rng = path.read_bytes(), random.Random(0)
    expected = load_model(path).predict(new)[0]["T"]
    refused = 0
    for _ in range(60):
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (tmp_path / "m.swwl").write_bytes(flipped)
        try:
            model = load_model(tmp_path / "m.swwl")
        except InputError:
            refused += 1
        else:
            np.testing.assert_array_equal(model.predict(new)[0]["T"], expected)
    assert refused > 40


@pytest.mark.slow
def test_an_edit_of_anything_is_refused(saved, tmp_path):
    path, _ = saved
    for place in random.Random(0).sample(list(places(manifest_of(path))), 30):
        if place not in (("version",), ("format",)):
            rewrite_model(path, tmp_path / "m.swwl", lambda m, _, p=place: put(m, p, 17), checksum=False)
            with pytest.raises(InputError, match=CHANGED):
                load_model(tmp_path / "m.swwl")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")  # of a model with other ranges
def test_crafted_values_are_refused_or_predict(saved, tmp_path):
    """With the right checksum: every value of the manifest becomes something else, and nothing but `InputError`."""
    path, new = saved
    manifest = manifest_of(path)
    others = [None, True, -1, 0, 10**30, 1e308, float("nan"), "x", "<b>", [], {}, [[1]], {"$array": 0}, {"$tuple": []}]
    rng = random.Random(0)
    loaded = 0
    for place in rng.choices(list(places(manifest)), k=110):
        for other in rng.sample(others, 2):
            rewrite_model(path, tmp_path / "m.swwl", lambda m, _, p=place, o=other: put(m, p, copy.copy(o)))
            try:
                with np.errstate(all="ignore"):
                    model = load_model(tmp_path / "m.swwl")
                    model.predict(new[:1], return_std=True)
                    field_model_facts(model)
                loaded += 1
            except InputError as error:
                assert len(str(error).splitlines()) == 1, (place, other)
            except Exception as error:
                raise AssertionError(f"{place} = {other!r}") from error
    assert loaded > 20

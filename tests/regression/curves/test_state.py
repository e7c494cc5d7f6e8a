"""Model files of curves that were damaged or crafted: one line that says so."""

import copy
import json
import random
import zipfile

import numpy as np
import pandas as pd
import pytest

from swwl import load_model
from swwl.errors import InputError
from swwl.evaluation.metadata import curve_data_of, curve_score_rows
from swwl.jobs.describe import curve_model_facts
from swwl.regression.curves.state import CurveRegressorState
from swwl.report import make_report
from tests.helpers import plain_state, rewrite_model
from tests.regression.curves.test_estimator import T, make_table, quick
from tests.storage.test_hostile import CHANGED, places, put


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model that swwl fit could have written."""
    table = make_table(16)
    model = quick(n_shapes=2).fit(table[:14], "u", grid=T)
    cases = {"rows": list(range(14)), "nodes": [], "meshes": {}}
    shown = {"row": 15, "places": [0.0, 1.0], "truth": [0.0, 1.0], "mean": [0.0, 1.0]}
    shown |= {"lower": [0.0, 1.0], "upper": [0.0, 1.0]}
    score = {"curve": "u", "test": "held out", "n": 2, "rmse": 0.1, "q2": 0.9, "coverage": 0.9, "whole": 1.0}
    model.metadata_ = {"table": "t.csv", "n_rows": 16, "split": "all", "ignored": {}, "train": cases, "held_out": None}
    model.metadata_ |= {"curve_scores": [score], "shown": [shown]}
    path = tmp_path_factory.mktemp("saved") / "c.swwl"
    model.save(path)
    return path


def manifest_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("manifest.json"))


def test_a_state_comes_back(saved):
    model = load_model(saved)
    state = model.get_state()
    assert isinstance(state, CurveRegressorState)
    again = type(model).from_state(plain_state(state))
    new = make_table(3, seed=1)
    np.testing.assert_array_equal(again.predict(new, widen=False), model.predict(new, widen=False))
    assert len(curve_data_of(again).shown) == 1 and len(curve_score_rows(again)) == 2
    assert "held out, from the best" in make_report(model, saved)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("basis", "smooth"), 3, "bool"),
        (("form",), "waves", "enum|Invalid|invalid"),
        (("bands", "numbers"), {}, "there are errors of"),
        (("bands", "sure"), -1.0, "sure"),
        (("curve",), 5, "str"),
        (("bands", "rest"), {"$array": 0}, ""),
    ],
)
def test_crafted_values_are_refused(saved, tmp_path, place, value, said):
    rewrite_model(saved, tmp_path / "m.swwl", lambda m, _: put(m, place, value))
    with pytest.raises(InputError, match=CHANGED) as error:
        load_model(tmp_path / "m.swwl")
    assert len(str(error.value).splitlines()) == 1
    assert not said or any(word in str(error.value) for word in said.split("|")), str(error.value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")  # of a model with other ranges
def test_any_value_is_refused_or_predicts(saved, tmp_path):
    manifest, new = manifest_of(saved), make_table(3, seed=1)
    others = [None, True, -1, 0, 10**30, 1e308, float("nan"), "x", "<b>", [], {}, [[1]], {"$array": 0}, {"$tuple": []}]
    rng, loaded = random.Random(0), 0
    for place in rng.choices(list(places(manifest)), k=120):
        for other in rng.sample(others, 2):
            rewrite_model(saved, tmp_path / "m.swwl", lambda m, _, p=place, o=other: put(m, p, copy.copy(o)))
            try:
                with np.errstate(all="ignore"):
                    model = load_model(tmp_path / "m.swwl")
                    model.predict(new, return_std=True)
                    model.derived(new, ["peak", "integral"])
                    curve_model_facts(model)
                loaded += 1
            except InputError as error:
                assert len(str(error).splitlines()) == 1, (place, other)
            except Exception as error:
                raise AssertionError(f"{place} = {other!r}") from error
    assert loaded > 20


def test_metadata_of_others_are_theirs(saved):
    model = load_model(saved)
    model.metadata_["shown"][0]["truth"] = [1.0]
    with pytest.raises(InputError, match="must have 2 values"):
        curve_data_of(model)
    model.metadata_ = {"note": "mine"}
    assert curve_data_of(model) is None and len(curve_score_rows(model)) == 1
    assert "left out by cross-validation" in make_report(model)
    assert isinstance(model.cross_validated(), pd.DataFrame)

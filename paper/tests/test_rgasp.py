import json

import numpy as np
import pytest

from swwl.errors import InputError
from swwl_paper import reproduce, rgasp
from swwl_paper.study import Skipped, Study

FITS = ("A_m32_prod_nug_converged", "B_m52_prod_fixedrange", "B_m52_prod_ref_xi_converged", "C_m52x3_nug_converged")


@pytest.fixture
def four_fits(rgasp_reference, tmp_path, monkeypatch):
    """A folder of data with four of R's fits: a wrong gradient, given ranges, another prior, and a good one."""
    reference = json.loads(rgasp_reference.read_text(encoding="utf-8"))
    reference["fits"] = {name: reference["fits"][name] for name in FITS}
    (tmp_path / rgasp.FILE).write_text(json.dumps(reference), encoding="utf-8")
    monkeypatch.setenv("SWWL_DATA", str(tmp_path))
    return reference


def test_differences_are_small_and_what_r_gets_wrong_is_left_out(four_fits, tmp_path):
    study = Study("rgasp", "small", tmp_path / "results")
    study.begin()
    rgasp.run(study)
    frame = study.rows(["fit"]).frame().set_index("fit")
    assert list(frame.index) == list(FITS)
    assert (frame["objective"] < 1e-8).all()
    assert (frame[["mean", "std"]] < 1e-5).all(axis=None)
    wrong, given, other, good = FITS
    assert frame["gradient"].isna().tolist() == [True, False, False, False]
    assert np.nanmax(frame["gradient"]) < 1e-6
    assert frame.loc[wrong, "gain"] > 5  # R stops where its gradient is wrong
    assert frame.loc[[given, other], "gain"].isna().all()
    assert frame.loc[good, "gain"] > -1e-4
    assert study.path(".png").stat().st_size > 0
    assert wrong in study.path(".md").read_text(encoding="utf-8")


def test_goes_on_where_it_stopped(four_fits, tmp_path, monkeypatch):
    calls = []

    def pretend(reference, name):
        calls.append(name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        numbers = dict.fromkeys(["log_posterior_r", "log_posterior", "objective", "gradient", "mean", "std"], 1e-9)
        return {"fit": name, "data": "A", "n": 3, **numbers, "gain": 0.1, "note": ""}

    monkeypatch.setattr(rgasp, "compare", pretend)
    monkeypatch.setattr(Study, "figure", lambda *_: None)
    for _ in range(2):
        study = Study("rgasp", "small", tmp_path / "results")
        study.begin()
        try:
            rgasp.run(study)
        except KeyboardInterrupt:
            assert len(study.rows(["fit"]).frame()) == 2
    assert calls == [*FITS[:3], *FITS[2:]]


def test_the_reference_is_a_given_file_or_one_of_the_data(monkeypatch, tmp_path):
    monkeypatch.setenv("SWWL_DATA", str(tmp_path))
    with pytest.raises(Skipped, match="SWWL_DATA names, or from the file that --reference"):
        rgasp.find_reference(Study("rgasp", "small", tmp_path))
    mine, theirs = tmp_path / "mine.json", tmp_path / rgasp.FILE
    for path in (mine, theirs):
        path.write_text("{}")
    assert rgasp.find_reference(Study("rgasp", "small", tmp_path)) == theirs
    assert rgasp.find_reference(Study("rgasp", "small", tmp_path, options={"reference": [str(mine)]})) == mine
    with pytest.raises(InputError, match="nowhere.json: there is no such file"):
        reproduce("rgasp", folder=tmp_path / "out", options={"reference": ["nowhere.json"]})

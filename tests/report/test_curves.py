"""The page about a model of curves."""

import numpy as np
import pandas as pd

from swwl import CurveRegressor, Matern52, RobustGPRegressor
from swwl.report import make_report
from swwl.report.curves import curve_sections


def test_curves_that_folds_left_out_are_drawn(tmp_path):
    t, slope = np.linspace(0, 1, 9), np.random.default_rng(0).uniform(1, 2, 14)
    table = pd.DataFrame({"slope": slope, "<b>u": [one * t**2 for one in slope]})
    model = CurveRegressor(RobustGPRegressor(Matern52("slope"), n_starts=1)).fit(table, "<b>u", grid=t)
    found = curve_sections(model, tmp_path / "m.swwl")
    assert found["model_name"] == "m.swwl" and len(found["pictures"]) == 6 and found["n_shapes"] == 1
    page = make_report(model)
    assert "left out by cross-validation" in page and "&lt;b&gt;u" in page and "<b>u" not in page

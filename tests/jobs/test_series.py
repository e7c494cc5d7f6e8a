"""Predicted curves in the user's own form, and their scores."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import CurveRegressor, Matern52, RobustGPRegressor
from swwl.errors import InputError
from swwl.jobs.series import (
    AskedOfCurves,
    asked_of_curves,
    check_curve_names,
    compare_curves,
    curve_cases,
    curve_file_names,
    known_curves,
    predict_curve_table,
    score_curves,
    wide_names,
)

T = np.linspace(0, 1, 11)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    slope = rng.uniform(1, 2, 24)
    wide = pd.DataFrame(slope[:, None] * T**2, columns=[f"u_{t:.1f}" for t in T])
    return pd.concat([pd.DataFrame({"slope": slope}), wide], axis=1)


@pytest.fixture(scope="module")
def model(table):
    return CurveRegressor(RobustGPRegressor(Matern52("slope"), n_starts=1)).fit(table[:16], "u")


def test_wide_predictions_stand_beside_the_truth(table, model):
    fitted = np.arange(24) < 16
    cases, asked = curve_cases(model, table, Path("t.csv")), AskedOfCurves(["integral"], True)
    found = predict_curve_table(model, table, Path("t.csv"), cases, asked=asked, fitted=fitted)
    np.testing.assert_allclose(found.table[wide_names(model, "mean")], model.predict(table), atol=1e-12)
    np.testing.assert_allclose(found.table["u_integral_mean"], table["slope"] * np.trapezoid(T**2, T), atol=0.01)
    assert [row["test"] for row in found.scores] == ["held-out rows", "training rows"]
    assert found.scores[0]["n"] == 8 and found.scores[0]["q2"] > 0.99
    assert list(found.curves[3])[:2] == ["abscissa", "u"] and len(found.curves) == 24
    with pytest.raises(InputError, match="already has a column 'u_mean_0.0'"):
        check_curve_names(model, found.table, Path("t.csv"), AskedOfCurves())
    assert curve_file_names(model, table[:3], Path("t.csv")) == ["case_0.csv", "case_1.csv", "case_2.csv"]


def test_only_what_is_known_is_compared(table, model):
    cells = table[16:20].drop(columns="slope").reset_index(drop=True)
    cells.loc[1, "u_0.5"] = np.nan
    curves = known_curves(cells, "u")
    assert [one is None for one in curves] == [False, True, False, False]
    compared = compare_curves(model.cases(table[16:20]), curves)
    (row,) = score_curves(model, compared, np.zeros(4, bool))
    assert row["n"] == 3 and row["test"] == "given in table"
    assert score_curves(model, [None], np.zeros(1, bool)) == []
    assert asked_of_curves(True, False, [], True) == AskedOfCurves(
        ["peak", "place_of_peak", "lowest", "place_of_lowest"], True
    )

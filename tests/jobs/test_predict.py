"""From a model and a table to predictions, the same way for numbers and for fields."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL as Swwl
from swwl import GraphSVC, Matern52, RobustGPRegressor
from swwl.errors import InputError
from swwl.jobs import predict
from swwl.jobs.table import read_table
from tests.helpers import plates


def test_a_model_file_of_another_kind_is_refused(made, models, tmp_path):
    assert predict.load_any(made / "m.swwl").predicts == "fields"
    assert predict.load_regressor(made / "m-scalars.swwl").predicts == "numbers"
    with pytest.raises(InputError, match="holds a FieldRegressor, but a RobustGPRegressor is expected"):
        predict.load_regressor(made / "m.swwl")
    table = plates(8)
    kernel = Swwl("mesh", n_iterations=0, n_projections=2, n_quantiles=3)
    GraphSVC(kernel, C=1.0).fit(table[["mesh"]], [0, 1] * 4).save(tmp_path / "c.swwl")
    with pytest.raises(InputError, match="holds a GraphSVC, but a RobustGPRegressor or a FieldRegressor is expected"):
        predict.load_any(tmp_path / "c.swwl")


@pytest.mark.parametrize("kind", ["numbers", "fields"])
def test_columns_are_checked_alike(made, kind, request):
    model, path = request.getfixturevalue(kind), made / "table.csv"
    assert predict.column_kinds(model) == {"mesh": "graphs", "load": "numbers"}
    assert predict.graph_columns(model) == ["mesh"]
    frame = read_table(path)
    inputs = predict.input_columns(model, frame, path)
    assert inputs["mesh"].iloc[0] == made / "meshes" / "000.vtu" and list(inputs) == ["mesh", "load"]
    frame.loc[2, "mesh"] = "meshes/lost.vtu"
    with pytest.raises(InputError, match="line 4: mesh 'meshes/lost.vtu' does not exist"):
        predict.input_columns(model, frame, path)
    with pytest.raises(InputError, match="has no column 'load'"):
        predict.input_columns(model, read_table(path).drop(columns="load"), path)


def test_columns_of_the_trend_are_needed_too():
    table = pd.DataFrame({"a": np.linspace(0, 1, 8), "b": np.linspace(1, 3, 8) ** 2, "y": np.linspace(0, 1, 8) ** 3})
    model = RobustGPRegressor(Matern52("a"), trend=["b"], n_starts=1, calibrate=False).fit(table, "y")
    assert predict.column_kinds(model) == {"a": "numbers", "b": "trend"}
    assert list(predict.one_case(model, {}, ["a=0.5", "b=2"])) == ["a", "b"]
    with pytest.raises(InputError, match="the trend 'b' must hold numbers"):
        predict.input_columns(model, table.assign(b="x"), Path("t.csv"))


def test_a_table_of_numbers(made, numbers):
    path = made / "table.csv"
    frame = read_table(path)
    prediction, domain = predict.predict_table(numbers, frame, path)
    result = predict.prediction_table(numbers, frame, prediction, {1: ["mesh"]}, domain)
    assert list(result)[: len(frame.columns)] == list(frame)
    assert result["top_mean"].to_numpy() == pytest.approx(numbers.predict(predict.input_columns(numbers, frame, path)))
    assert (result["top_lower95"] < result["top_mean"]).all() and (result["top_mean"] < result["top_upper95"]).all()
    assert result[predict.OUTSIDE].iloc[1].startswith("mesh")
    (row,) = predict.against_table(numbers, frame, prediction)
    assert row["n"] == 14 and row["q2"] > 0.9
    with pytest.raises(InputError, match="already has a column 'top_mean'"):
        predict.check_names(numbers, result, path)


def test_meshes_of_fields_are_handed_over_with_the_truth(made, fields):
    path, written = made / "table.csv", {}
    frame = read_table(path)
    found = predict.predict_fields(fields, frame, path, written.__setitem__)
    assert list(written) == list(range(14))
    mesh = written[0]
    assert {"heat", "heat_std", "heat_lower95", "heat_upper95", "heat_true", "heat_error"} <= set(mesh.fields)
    assert np.allclose(mesh.fields["heat_error"], mesh.fields["heat"] - mesh.fields["heat_true"])
    assert "flux_true" in mesh.cell_fields
    assert found.table["heat_max_true"].iloc[0] == pytest.approx(mesh.fields["heat_true"].max())
    assert {row["field"] for row in found.scores} == {"heat", "move", "flux"}
    blind = predict.predict_fields(fields, frame.iloc[:2], path, written.__setitem__, compare=False)
    assert blind.scores == [] and "heat_rrmse" not in blind.table
    with pytest.raises(InputError, match="already has a column 'heat_max_mean'"):
        predict.check_field_names(fields, found.table.drop(columns=[]), path)


@pytest.mark.parametrize("kind", ["numbers", "fields"])
def test_one_case_needs_all_inputs(kind, request):
    model = request.getfixturevalue(kind)
    assert predict.one_case(model, {"mesh": Path("a.vtu")}, ["load=1.5"]).iloc[0].to_dict() == {
        "mesh": "a.vtu",
        "load": "1.5",
    }
    for meshes, values, message in [
        ({}, ["load=1"], "also needs mesh: give --mesh FILE"),
        ({"mesh": Path("a.vtu")}, [], "also needs load: give load=VALUE"),
        ({"mesh": Path("a.vtu")}, ["speed=1"], "'speed=1' is not understood"),
        ({"mesh": Path("a.vtu")}, ["load=1", "load=2"], "'load' is given twice"),
    ]:
        with pytest.raises(InputError, match=message):
            predict.one_case(model, meshes, values)


def test_meshes_are_named_by_column():
    assert predict.meshes_by_column(["mesh"], ["a.vtu"]) == {"mesh": Path("a.vtu")}
    with pytest.raises(InputError, match="--mesh COLUMN=FILE for the columns a, b"):
        predict.meshes_by_column(["a", "b"], ["x.vtu"])

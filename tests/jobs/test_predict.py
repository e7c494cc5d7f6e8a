"""From a model and a table to predictions, the same way for numbers and for fields."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL as Swwl
from swwl import GraphSVC, Matern52, RobustGPRegressor
from swwl.errors import InputError
from swwl.gp.prediction import Prediction
from swwl.jobs import predict
from swwl.jobs.fit import FitJob, FitRequest
from swwl.jobs.plan import HoldOut, KernelOptions
from swwl.jobs.table import read_table
from swwl.tables.places import ONE_CASE, rows_named
from tests.helpers import plates


def test_a_model_file_of_another_kind_is_refused(made, models, tmp_path):
    assert predict.load_any(made / "m.swwl").predicts == "fields"
    assert predict.load_regressor(made / "m-scalars.swwl").predicts == "numbers"
    with pytest.raises(
        InputError, match="but a RobustGPRegressor is expected. Models of whole fields are for swwl predict"
    ):
        predict.load_regressor(made / "m.swwl")
    table = plates(8)
    kernel = Swwl("mesh", n_iterations=0, n_projections=2, n_quantiles=3)
    GraphSVC(kernel, C=1.0).fit(table[["mesh"]], [0, 1] * 4).save(tmp_path / "c.swwl")
    with pytest.raises(InputError, match="holds a GraphSVC, but a model of numbers, fields or curves is expected"):
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
    assert predict.column_kinds(model) == {"a": "numbers", "b": "numbers"}
    assert list(predict.one_case(model, {}, ["a=0.5", "b=2"])) == ["a", "b"]
    moved = table.assign(b=table["b"].where(table.index < 5, 0.0))
    assert predict.fitted_rows(model, moved, Path("m.swwl")).tolist() == [True] * 5 + [False] * 3
    with pytest.raises(InputError, match="input 'b' must hold numbers"):
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
def test_one_case_needs_all_inputs(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    mesh = tmp_path / "a.vtu"
    mesh.touch()
    found = predict.one_case(model, {"mesh": mesh}, ["load=1.5"]).iloc[0].to_dict()
    assert found == {"mesh": str(mesh), "load": "1.5"}
    for meshes, values, message in [
        ({}, ["load=1"], "also needs mesh: give --mesh FILE"),
        ({"mesh": mesh}, [], "also needs load: give load=VALUE"),
        ({"mesh": mesh}, ["speed=1"], "'speed=1' is not understood"),
        ({"mesh": mesh}, ["load=1", "load=2"], "'load' is given twice"),
        ({"mesh": mesh}, ["load=1 kN"], "^load must be a number, not '1 kN'"),
        ({"mesh": tmp_path / "b.vtu"}, ["load=1"], "b.vtu: no such file"),
    ]:
        with pytest.raises(InputError, match=message):
            predict.one_case(model, meshes, values)


def test_training_rows_are_known_and_scored_by_themselves(made, models, tmp_path):
    path = made / "table.csv"
    frame = read_table(path)
    for model, name in zip(models, ("m.swwl", "m-scalars.swwl"), strict=True):
        columns = predict.input_columns(model, frame, path)
        train = (frame["split"] == "train").tolist()
        assert predict.fitted_rows(model, columns, made / name).tolist() == train
        moved = columns.assign(load=columns["load"] * (1 + 1e-15))
        assert predict.fitted_rows(model, moved, made / name).tolist() == train
        moved.loc[0, "load"] += 1e-3
        assert predict.fitted_rows(model, moved, made / name).tolist() == [False, *train[1:]]
        swapped = columns.assign(mesh=columns["mesh"].iloc[::-1].to_numpy())
        assert not predict.fitted_rows(model, swapped, made / name)[:6].any()
        assert not predict.fitted_rows(model, columns, tmp_path / "elsewhere.swwl").any()


@pytest.mark.parametrize("kernel", ["swwl", "auto"])
def test_predict_says_of_held_out_rows_what_fit_said(folder, kernel):
    table, model = folder / "table.csv", folder / "h.swwl"
    options = KernelOptions("swwl", n_projections=4, n_quantiles=10, n_iterations=1, n_jobs=1)
    given = options if kernel == "swwl" else KernelOptions(n_jobs=1)
    job = FitJob(FitRequest(table, model, ["top"], kernel=given, rows=HoldOut(fraction=0.4)))
    ((_, facts),) = job.run()
    fitted, frame = predict.load_regressor(model), read_table(table)
    prediction, _ = predict.predict_table(fitted, frame, table)
    known = predict.fitted_rows(fitted, predict.input_columns(fitted, frame, table), model)
    assert np.flatnonzero(known).tolist() == job.plan.split.train.tolist()
    unseen, seen = predict.against_table(fitted, frame, prediction, known)
    assert (unseen["test"], seen["test"]) == (predict.UNSEEN, predict.FITTED)
    (said,) = [row for row in facts["scores"] if row["test"] == "held-out rows"]
    for name in ("n", "rmse", "q2", "coverage", "width"):
        assert unseen[name] == pytest.approx(said[name], rel=1e-6), name
    assert [row["n"] for row in predict.answers_agree(fitted, frame, prediction, known)] == [unseen["n"]]


def test_fields_of_training_rows_are_scored_by_themselves(made, fields):
    path = made / "table.csv"
    seen = np.arange(14) < 9
    found = predict.predict_fields(fields, read_table(path), path, lambda row, mesh: None, compare=seen)
    assert [(row["test"], row["n"]) for row in found.scores if row["field"] == "heat"] == [
        (predict.UNSEEN, 5),
        (predict.FITTED, 9),
    ]


def test_training_rows_do_not_leave_their_range(numbers, made):
    frame = read_table(made / "table.csv")
    train = frame[frame["split"] == "train"]
    for factor in (1 + 4e-16, 1 - 4e-16):
        assert not any(predict.outside_inputs(numbers, train.assign(load=train["load"] * factor)))
    assert any(predict.outside_inputs(numbers, train.assign(load=train["load"] * 1.000001)))


def test_meshes_are_named_by_column():
    assert predict.meshes_by_column(["mesh"], ["a.vtu"]) == {"mesh": Path("a.vtu")}
    with pytest.raises(InputError, match="--mesh COLUMN=FILE for the columns a, b"):
        predict.meshes_by_column(["a", "b"], ["x.vtu"])


def test_two_outcomes_are_the_same_everywhere(tmp_path):
    from starlette.testclient import TestClient

    from swwl.evaluation.scores import regime_words
    from swwl.jobs.curves import draw_curves, plan_curves
    from swwl.plots import ParityDisplay
    from swwl.serve.http.app import make_app
    from swwl.serve.models import load_served
    from tests.regression.test_regimes import flows

    table, _ = flows()
    model = RobustGPRegressor(Matern52("a") * Matern52("b"), regimes="auto", n_starts=1).fit(table, ["lift", "drag"])
    assert regime_words(model).startswith("Training cases follow two branches (")
    new = pd.DataFrame({"a": [0.1, 0.5], "b": [0.5, 0.5]})
    new.to_csv(tmp_path / "new.csv", index=False)
    prediction, domain = predict.predict_table(model, new, tmp_path / "new.csv")
    found = predict.prediction_table(model, new, prediction, None, domain)
    ends = found.loc[1, ["lift_lower95", "lift_gap_from95", "lift_gap_to95", "lift_upper95"]].to_numpy(float)
    assert np.isnan(found.loc[0, "lift_gap_from95"]) and (np.diff(ends) > 0).all()
    sets = model.predict_sets(new)
    own = sets[(sets["row"] == 1) & (sets["target"] == "lift")][["lower", "upper"]].to_numpy()
    np.testing.assert_allclose(own.ravel(), ends)
    with pytest.raises(InputError, match="already has a column 'lift_gap_to95'"):
        predict.check_names(model, new.assign(lift_gap_to95=0), tmp_path / "new.csv")
    drawn = draw_curves(model, plan_curves(model, ("a", [0.1, 0.5]), None, {"b": 0.5}), tmp_path / "c.png")
    np.testing.assert_allclose(drawn.loc[1, ["lift_gap_from95", "lift_gap_to95"]].to_numpy(float), ends[1:3])
    model.save(tmp_path / "m.swwl")
    with TestClient(make_app(load_served([tmp_path / "m.swwl"], None), None), base_url="http://127.0.0.1") as client:
        told = client.post("/api/predict", json={"inputs": {"a": 0.5, "b": 0.5}}).json()["targets"]["lift"]
    np.testing.assert_allclose([told["lower"], told["gap_from"], told["gap_to"], told["upper"]], ends)
    truth = table["lift"].to_numpy()
    bars = ParityDisplay.from_predictions(truth, model.leave_one_out().column(0)).ax_.collections
    assert sum(len(bar.get_segments()) for bar in bars) > len(truth)  # two bars where two outcomes are possible


def test_what_is_true_of_all_rows_is_not_repeated_in_each():
    few = "32 training cases are too few, at least 100 are needed"
    found = pd.DataFrame(
        {"inside": pd.array([pd.NA, pd.NA], dtype="boolean"), "score": 0.5, "kind": "cannot tell", "widened": ""}
        | {"why": [few, f"{few}; the mesh is 10 times larger"]}
    )
    assert predict.domain_columns(found)["domain"] == ["cannot tell", "cannot tell: the mesh is 10 times larger"]
    assert predict.domain_words(found.assign(outside="", meshing="", far=False, tail=1.0), 32)[0].endswith(
        "at least 100 are needed"
    )


def test_mistakes_about_one_case_name_its_mesh():
    frame = pd.DataFrame({"mesh": ["part.inp"]})
    frame.attrs[ONE_CASE] = "part.inp"
    with pytest.raises(InputError, match=r"^part.inp has no group"), rows_named(frame, Path("case"), [0]):
        raise InputError("has no group 'fixed'").of_item(0, "Graph 0", continues=True)


def test_agreement_is_not_said_of_predictions_that_say_nothing():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 60)}).assign(y=lambda t: np.sin(6 * t["x"]), z=rng.normal(size=60))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # z is noise
        model = RobustGPRegressor({"x": Matern52("x")}).fit(table[:40], ["y", "z"])
    new = table[40:]
    true = model.predict_distribution(new, widen=False)
    of_y, of_z = predict.answers_agree(model, new, true)
    assert of_y["agree"] and of_y["why"] == ""
    assert of_z["agree"] is None and ("worse than the mean" in of_z["why"] or "so wide" in of_z["why"])
    away = predict.answers_agree(model, new.assign(y=new["y"] + 3 * true.std[:, 0]), true)[0]
    assert away["agree"] is False and away["p_value"] < 0.005
    # Wide intervals around a constant hold everything, and are no agreement however small errors are in them.
    flat = Prediction(np.full((20, 2), 2.0), np.full((20, 2), 3.0), np.inf)
    found = predict._says_nothing(new["y"].to_numpy(), flat.column(0), 0.0)
    assert found.startswith("predictions are worse than the mean of these answers (Q² -")


def test_a_p_value_of_some_hundredths_is_no_alarm(monkeypatch):
    table = pd.DataFrame({"x": np.linspace(0, 1, 30)}).assign(y=lambda t: np.sin(6 * t["x"]))
    model = RobustGPRegressor(Matern52("x"), n_starts=1).fit(table, "y")
    new = table.assign(x=table["x"] + 0.01, y=np.sin(6 * (table["x"] + 0.01)))
    prediction = model.predict_distribution(new, widen=False).columns()
    for p, agree in ((0.027, True), (0.009, False)):
        monkeypatch.setattr(predict, "agreement", lambda *_, p=p: p)
        assert predict.answers_agree(model, new, prediction)[0]["agree"] is agree

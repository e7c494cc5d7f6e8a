"""From a request to model files that know their data."""

import numpy as np
import pandas as pd
import pytest

from swwl import RobustGPRegressor
from swwl.errors import InputError
from swwl.jobs.fit import FitJob, FitRequest
from swwl.jobs.plan import HoldOut, KernelOptions, plan_fit
from tests.jobs.conftest import QUICK, quick, run


def test_two_models_know_their_table_and_scores(made, models, fields, numbers):
    assert (made / "m.swwl").exists() and (made / "m-scalars.swwl").exists()
    assert list(fields.field_names_) == ["heat", "move", "flux"] and numbers.target_names_ == ["top"]
    for model in models:
        data = model.metadata_
        assert data["table"] == "table.csv" and data["n_rows"] == 14 and data["held_out"]["rows"] == [11, 12, 13]
        assert data["train"]["meshes"]["mesh"][0] == "meshes/000.vtu" and data["train"]["nodes"][:3] == [16, 25, 36]
        assert set(data["typical"]) == {"mesh"}
    assert [row["case"] for row in fields.metadata_["held_out_scores"]["heat"]] == [0, 1, 2]
    truth = pd.read_csv(made / "table.csv")["top"].to_numpy()[11:]
    assert numbers.metadata_["held_out"]["targets"] == truth[:, None].tolist()


@pytest.mark.slow
def test_the_default_is_that_of_python(made, tmp_path):
    table = made / "table.csv"
    request = FitRequest(table, tmp_path / "m.swwl", ["top"], kernel=KernelOptions("scalars"), calibrate=False)
    alone = run(request)[0]
    assert list(alone.feature_names_in_) == ["load"]
    plan = plan_fit(table, ["top"])
    rows = plan.table().iloc[plan.split.train]
    (model,) = run(FitRequest(table, tmp_path / "d.swwl", ["top"], kernel=KernelOptions(n_jobs=1), calibrate=False))
    python = RobustGPRegressor(calibrate=False, random_state=0).fit(rows, "top")
    assert model.kernel is None
    assert np.array_equal(model.predict(rows), python.predict(rows))


def test_steps_say_what_was_found(folder, tmp_path):
    frame = pd.read_csv(folder / "table.csv")
    frame.loc[3, "mesh"] = frame["mesh"][2]
    frame.loc[3, "load"] = frame["load"][2]
    frame.to_csv(folder / "table.csv", index=False)
    job = FitJob(FitRequest(folder / "table.csv", tmp_path / "m.swwl", ["top"], kernel=QUICK, calibrate=False))
    assert job.kernel == "swwl" and job.solver.name == "exact" and job.plan.inputs == ["load"]
    assert "repeated rows" in [finding.kind for finding in job.check()]
    ((path, facts),) = job.run()
    assert path == tmp_path / "m.swwl" and facts["targets"] == ["top"] and facts["training_rows"] == 11
    about = job.facts()
    assert about["meshes"] == 13 and about["nodes"]["largest"] == 36 and about["findings"][0]["kind"] == "repeated rows"
    assert (folder / ".swwl-cache").is_dir()


def test_nothing_is_kept_without_a_cache(folder, tmp_path):
    run(FitRequest(folder / "table.csv", tmp_path / "m.swwl", ["top"], kernel=QUICK, calibrate=False, cache=False))
    assert not (folder / ".swwl-cache").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ()}, "Nothing to learn"),
        ({"targets": (), "fields": ["heat"], "solver": "exact"}, "do not apply to --target-field"),
        ({"fields": ["heat"], "kernel": quick(merge_nodes=True)}, "--merge-nodes does not apply"),
        ({"fields": ["het"]}, "Did you mean 'heat'"),
        ({"targets": ["tops"]}, "Did you mean 'top'"),
        ({"rows": HoldOut(fraction=0.99)}, "at least 5 training rows are needed"),
    ],
)
def test_requests_that_are_refused_before_anything_is_fitted(made, tmp_path, changes, message):
    request = {"targets": ["top"], "kernel": QUICK} | changes
    with pytest.raises(InputError, match=message):
        FitJob(FitRequest(made / "table.csv", tmp_path / "m.swwl", **request))


def test_files_of_users_are_spared(made, tmp_path):
    (tmp_path / "m.swwl").write_text("mine")
    with pytest.raises(InputError, match="--force overwrites it"):
        FitJob(FitRequest(made / "table.csv", tmp_path / "m.swwl", ["top"], kernel=QUICK))
    FitJob(FitRequest(made / "table.csv", tmp_path / "m.swwl", ["top"], kernel=QUICK, force=True))

"""From a request to model files that know their data."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, RobustGPRegressor, load_model, read_mesh
from swwl.errors import InputError
from swwl.evaluation.metadata import data_of
from swwl.jobs.check import Reading, check_table
from swwl.jobs.fit import FitJob, FitRequest, mesh_facts
from swwl.jobs.plan import HoldOut, KernelOptions, plan_fit
from swwl.jobs.predict import mesh_names
from swwl.report import make_report
from swwl.storage.memory import Memory
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


def with_groups(folder, name="body 1"):
    """Give every mesh a group of its first cells."""
    for file in sorted((folder / "meshes").glob("*.vtu")):
        mesh = read_mesh(file)
        kind, block = next(iter(mesh.cells.items()))
        groups = {name: {kind: np.arange(len(block) // 2)}, "fix": [0]}
        Mesh(mesh.points, mesh.cells, mesh.fields, cell_fields=mesh.cell_fields, groups=groups).write(file)
    return folder / "table.csv"


@pytest.mark.parametrize("kernel", [QUICK, KernelOptions(n_projections=4, n_quantiles=10, n_jobs=1)])
@pytest.mark.filterwarnings("ignore::swwl.errors.MeshWarning")
def test_a_model_remembers_its_group(folder, tmp_path, kernel):
    table = with_groups(folder)
    options = {"kernel": replace(kernel, group="body*"), "calibrate": False}
    (model,) = run(FitRequest(table, tmp_path / "m.swwl", ["top"], **options))
    read = plan_fit(table, ["top"]).table()
    parts = read.assign(mesh=[read_mesh(file).part("body*") for file in read["mesh"]])
    alone = read.assign(mesh=[read_mesh(file) for file in read["mesh"]])
    np.testing.assert_array_equal(model.predict(read), model.predict(parts))  # a part has its group
    np.testing.assert_array_equal(model.predict(read), model.predict(alone))
    bare = alone.assign(mesh=[Mesh(mesh.points, mesh.cells, mesh.fields, "bare") for mesh in alone["mesh"]])
    with pytest.raises(InputError, match=r"The mesh has no group 'body\*'; it has no groups"):
        model.predict(bare)
    (whole,) = run(FitRequest(table, tmp_path / "w.swwl", ["top"], kernel=kernel, calibrate=False))
    assert not np.allclose(whole.predict(read), model.predict(read), rtol=1e-9)


def test_a_mesh_without_the_group_is_named(folder, tmp_path):
    table = with_groups(folder)
    mesh = read_mesh(folder / "meshes/003.vtu")
    Mesh(mesh.points, mesh.cells, mesh.fields, groups={"wall": [0]}).write(folder / "meshes/003.vtu")
    job = FitJob(FitRequest(table, tmp_path / "m.swwl", ["top"], kernel=quick(group="body*"), calibrate=False))
    with pytest.raises(InputError, match=r"table.csv: line 5: .*003.vtu: .*no group 'body\*'; its groups are: wall"):
        job.check()
    found = check_table(table, ["top"], reading=Reading(group="body*"))
    assert [(finding.kind, finding.place) for finding in found] == [("mesh file", "line 5")]


def test_nothing_is_kept_without_a_cache(folder, tmp_path):
    run(FitRequest(folder / "table.csv", tmp_path / "m.swwl", ["top"], kernel=QUICK, calibrate=False, cache=False))
    assert not (folder / ".swwl-cache").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ()}, "Nothing to learn"),
        ({"targets": (), "fields": ["heat"], "solver": "exact"}, "do not apply to --target-field"),
        ({"fields": ["heat"], "kernel": quick(merge_nodes=True)}, "--merge-nodes does not apply"),
        ({"fields": ["heat"], "kernel": quick(group="body")}, "--group does not apply"),
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


def test_cases_are_called_by_the_folder_that_tells_them_apart(folder):
    table = pd.read_csv(folder / "table.csv")
    for k, mesh in enumerate(table["mesh"]):
        home = folder / "cases" / f"case{k:03d}" / "VTK"
        home.mkdir(parents=True)
        (folder / mesh).rename(home / "internal.vtu")
    table["mesh"] = [f"cases/case{k:03d}/VTK/internal.vtu" for k in range(len(table))]
    table.to_csv(folder / "table.csv", index=False)
    path = folder / "c.swwl"
    request = FitRequest(folder / "table.csv", path, ["top"], ["heat"], kernel=QUICK, n_modes=2, calibrate=False)
    of_fields, of_numbers = run(request)
    called = [f"case{k:03d}" for k in range(14)]
    assert [row["name"] for row in of_fields.metadata_["held_out_scores"]["heat"]] == called[11:]
    assert data_of(of_numbers).names() == (called[:11], called[11:])
    assert mesh_names(table, folder / "table.csv", "mesh") == [f"{name}.vtu" for name in called]
    for model, file in ((of_fields, path), (of_numbers, path.with_name("c-scalars.swwl"))):
        text = make_report(model, file)
        assert "case011 (line 13)" in text and "internal.vtu (" not in text


def test_sizes_of_meshes_say_how_many_were_read():
    """Of meshes whose embeddings are in a store only those that are held out are read."""
    memory = Memory(None)
    files = [Path(f"{k}.vtu") for k in range(5)]
    memory.n_nodes.update(dict(zip(files[:2], (30, 50), strict=True)))
    plan = SimpleNamespace(meshes=["mesh"], mesh_files=lambda name: files)
    found = mesh_facts(plan, memory)
    assert (found["meshes"], found["nodes_known_of"], found["nodes"]["largest"]) == (5, 2, 50)


def test_a_table_without_meshes_is_fitted_as_in_python(tmp_path):
    """The same candidates and scales, bit for bit; ``--kernel scalars`` is another model."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"kind": ["a", "b"] * 20, "x": rng.uniform(0, 1, 40), "z": rng.uniform(0, 1, 40)})
    table["y"] = np.exp(3 * table["x"]) * (1 + table["z"]) + (table["kind"] == "a")
    table.to_csv(tmp_path / "t.csv", index=False)
    ((path, _),) = FitJob(FitRequest(tmp_path / "t.csv", tmp_path / "m.swwl", ["y"])).run()
    inputs = table.drop(columns="y").astype({"kind": "category"})
    found, same = load_model(path), RobustGPRegressor().fit(inputs, table["y"])
    assert (
        found.candidates_.equals(same.candidates_) and found.target_scales_["y"].kind == same.target_scales_["y"].kind
    )
    new = inputs.assign(x=inputs["x"] + 0.01, z=inputs["z"][::-1].to_numpy())
    for one, other in zip(found.predict(new, return_std=True), same.predict(new, return_std=True), strict=True):
        np.testing.assert_array_equal(one, other)

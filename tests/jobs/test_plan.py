"""Rows, columns and kernels are settled before anything is fitted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import RobustGPRegressor
from swwl.design.acquire import suggest
from swwl.errors import InputError
from swwl.jobs.check import check_table
from swwl.jobs.plan import RESULT, HoldOut, KernelOptions, make_kernel, mesh_kernels, plan_fit, split_rows
from swwl.jobs.predict import one_case
from swwl.kernels import PrincipalSWWL
from swwl.regression.candidates import default_kernels

TABLE = Path("table.csv")


def write(folder, **columns):
    n = 12
    base = {"load": np.linspace(1, 2, n), "y": np.linspace(3, 5, n) ** 2}
    pd.DataFrame(base | columns).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def test_rows_are_held_out_at_random_by_seed():
    frame = pd.DataFrame({"x": range(20)})
    first, again, other = (split_rows(frame, TABLE, HoldOut(fraction=0.25, seed=seed)) for seed in (0, 0, 1))
    assert len(first.test) == 5 and sorted([*first.train, *first.test]) == list(range(20))
    assert (first.test == again.test).all() and not (first.test == other.test).all()
    assert first.words == "held out at random: 5 of 20 rows (seed 0)"


def test_a_column_says_which_rows_to_fit():
    frame = pd.DataFrame({"Split": ["train", "Held_Out", "fit", "val"], "x": range(4)})
    found = split_rows(frame, TABLE)
    assert found.train.tolist() == [0, 2] and found.test.tolist() == [1, 3] and found.column == "Split"
    assert split_rows(frame, TABLE, HoldOut(all_rows=True)).train.tolist() == [0, 1, 2, 3]
    left = found.without(np.array([True, False, False, True]), "two left out")
    assert left.rows.tolist() == [1, 2] and left.words.endswith("; two left out")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (HoldOut(column="s", fraction=0.2), "Choose one of: a column"),
        (HoldOut(fraction=1.5), "between 0 and 1"),
        (HoldOut(column="t"), "has no column 't'"),
        (HoldOut(column="s"), "line 3 says 'maybe'"),
        (HoldOut(column="none"), "no row of column 'none' says 'train'"),
    ],
)
def test_splits_that_make_no_sense(how, message):
    frame = pd.DataFrame({"s": ["train", "maybe"], "none": ["test", "test"]})
    with pytest.raises(InputError, match=message):
        split_rows(frame, TABLE, how)


def test_columns_are_sorted_by_what_they_are_good_for(tmp_path):
    path = write(
        tmp_path,
        case=range(1, 13),
        material=["steel", "copper"] * 6,
        day=["2024-01-31"] * 12,
        constant=3,
        name=[f"run {k}" for k in range(12)],
        mesh=[f"{k}.vtu" for k in range(12)],
    )
    plan = plan_fit(path, ["y"])
    assert (plan.meshes, plan.inputs, plan.categories) == (["mesh"], ["load"], ["material"])
    reasons = {"case": "numbers the rows", "day": "dates", "constant": "is constant", "name": "names the rows"}
    assert plan.ignored.keys() == reasons.keys()
    assert all(words in plan.ignored[name] for name, words in reasons.items())
    scalars = plan_fit(path, ["y"], inputs=["case"], kernel="scalars")
    assert (scalars.meshes, scalars.inputs) == ([], ["case"])
    assert "mesh" in scalars.ignored


def test_meshes_may_be_named_among_the_inputs(tmp_path):
    path = write(
        tmp_path, mesh=[f"{k}.vtu" for k in range(12)], hub=[f"h{k}.vtu" for k in range(12)], more=range(3, 15)
    )
    plan = plan_fit(path, ["y"], inputs=["mesh", "load"])
    assert (plan.meshes, plan.inputs) == (["mesh"], ["load"]) and {"hub", "more"} <= set(plan.ignored)
    assert plan_fit(path, ["y"], inputs=["load"]).meshes == ["mesh", "hub"]
    plain = plan_fit(write(tmp_path), ["y"])
    assert (plain.meshes, plain.inputs) == ([], ["load"])


def test_incomplete_rows_are_named_or_left_out(tmp_path):
    load = np.linspace(1, 2, 12)
    load[4] = np.nan
    path = write(tmp_path, load=load)
    with pytest.raises(InputError, match=r"input 'load' is missing or not finite in 1 row \(line 6\)"):
        plan_fit(path, ["y"], kernel="scalars")
    plan = plan_fit(path, ["y"], kernel="scalars", rows=HoldOut(drop_incomplete=True))
    assert 4 not in plan.split.train and len(plan.split.train) == 11
    assert plan.split.words.endswith("1 incomplete left out (line 6)")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"y": [1.0] * 12}, {}, "is 1 in all rows"),
        ({"y": ["a"] * 12}, {}, "target 'y' must hold numbers"),
        ({"y": [None] * 12}, {}, "target 'y' is empty"),
        ({}, {"kernel": "other"}, "There is no kernel 'other'"),
        ({}, {"kernel": "swwl"}, "no column holds paths of meshes"),
        ({"mesh": "text"}, {"kernel": "auto"}, "no column holds paths of meshes"),
        ({"part": [f"parts/{k}.xyz1" for k in range(12)]}, {"kernel": "auto"}, "no column holds paths of meshes"),
        ({}, {"inputs": ["y"]}, "cannot be an input"),
        ({}, {"inputs": ["lod"]}, "Did you mean 'load'"),
        ({}, {"inputs": []}, "no columns to learn from"),
    ],
)
def test_tables_that_cannot_be_learned_from(tmp_path, columns, options, message):
    with pytest.raises(InputError, match=message):
        plan_fit(write(tmp_path, **columns), ["y"], **{"kernel": "scalars"} | options)


def test_options_choose_the_kernel():
    assert KernelOptions().kernel == "auto" and KernelOptions().is_default
    assert KernelOptions(n_iterations=2).kernel == "principal"
    assert not KernelOptions(n_projections=8).is_default and not KernelOptions(merge_nodes=True).is_default
    assert KernelOptions(seed=3, n_jobs=2).is_default and not KernelOptions("swwl").is_default
    with pytest.raises(InputError, match="--step does not apply to --kernel auto"):
        _ = KernelOptions("auto", step=2).kernel
    assert "n_components" not in KernelOptions("swwl", n_components=3).embedding()


def test_kernels_of_a_plan(made):
    plan = plan_fit(made / "table.csv", ["top"])
    principal = make_kernel(KernelOptions("principal", n_components=2), plan)
    assert isinstance(principal.factors[0], PrincipalSWWL) and principal.factors[0].n_components == 2
    assert [factor.column for factor in principal.factors] == ["mesh", "load"]
    table = plan.table().iloc[plan.split.train].drop(columns="top")
    few, stored = (make_kernel(KernelOptions(), plan, stored=stored) for stored in (False, True))
    assert list(few) == list(default_kernels(table)) and set(few) - set(stored) == {"skin, few ranges"}
    meshes = {"mesh": dict(enumerate(plan.mesh_files("mesh")))}
    assert len(mesh_kernels(KernelOptions(), meshes)) == len(stored)
    with pytest.raises(InputError, match="compares no meshes"):
        mesh_kernels(KernelOptions("scalars"), meshes)


def engineers_table(folder):
    """Write a table of a part under load, with the number of the case and other results beside the target."""
    rng = np.random.default_rng(0)
    load, thickness, shape = rng.uniform(1, 2, 40), rng.uniform(1, 3, 40), rng.lognormal(0, 0.5, 40)
    columns = {"case": 2 * np.arange(40) + 7, "load": load, "thickness": thickness}
    columns |= {"max_disp": load / thickness**3 * shape, "vm99": load / thickness**2 * shape}
    columns |= {"energy": load**2 / thickness**3 * shape, "freq1": thickness / shape**0.3}
    pd.DataFrame(columns).to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def test_results_are_doubtful_inputs_until_the_user_settles_it(tmp_path):
    path = engineers_table(tmp_path)
    plan = plan_fit(path, ["max_disp"], kernel="scalars")
    assert list(plan.doubtful) == ["vm99", "energy", "freq1"] and "case" not in plan.inputs
    assert plan.ignored["case"].startswith("numbers the cases")
    (found,) = [one for one in check_table(path, ["max_disp"]) if one.kind == "results"]
    assert "columns vm99, energy and freq1 look like results" in found.message
    assert "--results vm99,energy,freq1 leaves them out, --inputs load,thickness settles it" in found.message
    rng = np.random.default_rng(1)
    notes = pd.read_csv(path).assign(dp=rng.normal(size=40), cpu_s=rng.gamma(2, size=40))
    notes.to_csv(tmp_path / "notes.csv", index=False)
    (found,) = [one for one in check_table(tmp_path / "notes.csv", ["max_disp"]) if one.kind == "results"]
    assert "--inputs load,thickness settles it" in found.message  # nobody is told to learn from cpu_s
    left = plan_fit(path, ["max_disp"], kernel="scalars", results=["vm*", "energy", "freq?"])
    assert left.inputs == ["load", "thickness"] and not left.doubtful and left.ignored["vm99"] == RESULT
    assert not [
        one for one in check_table(path, ["max_disp"], results=["*9", "energy", "freq1"]) if "vm99" in one.message
    ]
    named = plan_fit(path, ["max_disp"], inputs=["load", "vm99", "case"], kernel="scalars")
    assert named.inputs == ["load", "vm99", "case"] and not named.doubtful
    assert not plan_fit(path, [], kernel="scalars").doubtful  # nobody knows yet what is to be learned
    with pytest.raises(InputError, match="has no column 'vm9' for results.*Did you mean 'vm99'"):
        plan_fit(path, ["max_disp"], kernel="scalars", results=["vm9"])


def test_units_may_be_left_out(tmp_path):
    rng = np.random.default_rng(0)
    names = ["force [N]", "young [MPa]", "top [mm]", "max_mises [MPa]"]
    table = pd.DataFrame(rng.uniform(1, 2, (30, 4)), columns=names)
    table["top [mm]"] = table["force [N]"] / table["young [MPa]"]
    table.to_csv(tmp_path / "t.csv", index=False)
    plan = plan_fit(tmp_path / "t.csv", ["top"], inputs=["force", "young [MPa]"], kernel="scalars")
    assert plan.targets == ["top [mm]"] and list(plan.inputs) == names[:2]
    plan = plan_fit(tmp_path / "t.csv", ["top"], kernel="scalars", results=["max_*"])
    assert list(plan.inputs) == names[:2]
    model = RobustGPRegressor().fit(plan.frame[names[:2]], plan.frame["top [mm]"])
    assert one_case(model, {}, ["force=2", "young [MPa]=3"]).to_dict("records") == [
        {"force [N]": "2", "young [MPa]": "3"}
    ]
    chosen = suggest(model, 1.01 * plan.frame[names[:2]], 1, "minimize:top")
    assert len(chosen) == 1

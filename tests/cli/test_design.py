"""``swwl select``, ``swwl suggest``, and what ``swwl predict`` says of strange cases."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, load_model, read_mesh
from swwl.jobs.design import read_bounds
from swwl.report import make_report
from tests.cli.conftest import swwl
from tests.helpers import plate


@pytest.mark.slow
def test_selected_rows_name_meshes_that_exist(data, tmp_path):
    out = tmp_path / "elsewhere" / "first.csv"
    out.parent.mkdir()
    said = swwl("select", data / "table.csv", "-n", 6, "-o", out, "--map", out.with_suffix(".png")).output
    found = pd.read_csv(out)
    assert found["rank"].tolist() == [1, 2, 3, 4, 5, 6] and {"mesh", "speed", "score", "why"} <= set(found)
    assert all((out.parent / mesh).is_file() for mesh in found["mesh"])
    assert "6 of 40 cases" in said and "most informative about the pool" in said and "random choice" in said
    assert out.with_suffix(".png").stat().st_size > 1000
    more = swwl("select", data / "table.csv", "-n", 3, "-o", tmp_path / "more.csv", "--have", out, "--json", "-q")
    rows = json.loads(more.output)
    assert [row["rank"] for row in rows] == [1, 2, 3] and set(rows[0]) == {"place", "row", "rank", "score", "why"}
    again = swwl("select", data / "table.csv", "-n", 6, "-o", out, "--method", "maximin", "-q").output
    assert again == "" and pd.read_csv(out)["rank"].tolist() == [1, 2, 3, 4, 5, 6]


def test_cases_are_chosen_by_a_group_of_their_meshes(tmp_path):
    """Of plates whose bodies differ but whose tips are one of two kinds, --group tip chooses one of each."""
    for k in range(8):
        points, triangles = plate(9)
        right = points[:, 0] > 0.55
        points = points * [1 + (k >= 4) * 0.5 * right.mean() + 0.0 * k, 1]
        points[:, 1] *= np.where(right, 1.0, 1.0 + k % 4)
        chosen = np.flatnonzero(right[triangles].all(axis=1))
        Mesh(points, triangles, groups={"tip": {"triangle": chosen}}).write(tmp_path / f"{k}.vtu")
    (tmp_path / "t.csv").write_text("mesh\n" + "".join(f"{k}.vtu\n" for k in range(8)))
    swwl(
        "select", tmp_path / "t.csv", "-n", 2, "--group", "tip", "-o", tmp_path / "two.csv", "--map", tmp_path / "m.png"
    )
    found = pd.read_csv(tmp_path / "two.csv")["mesh"].str.removesuffix(".vtu").astype(int)
    assert sorted(found >= 4) == [False, True]
    done = swwl("select", tmp_path / "t.csv", "-n", 2, "--group", "tail", "-o", tmp_path / "no.csv", code=2)
    assert "has no group 'tail'; its groups are: tip" in done.stderr


def test_suggested_rows(fitted, data, tmp_path):
    out, table = tmp_path / "next.csv", data / "table.csv"
    swwl("suggest", fitted, table, "-n", 3, "-o", out, "--map", tmp_path / "next.svg")
    assert len(pd.read_csv(out)) == 3 and (tmp_path / "next.svg").stat().st_size > 1000
    options = ["--goal", "maximize:efficiency", "--at-least", "massflow=21", "--json"]
    rows = json.loads(swwl("suggest", fitted, table, "-n", 2, "-o", out, *options, "-q").output)
    assert "efficiency predicted" in rows[0]["why"] and "massflow at least 21 with" in rows[0]["why"]
    frame = pd.read_csv(table)
    frame["state"] = np.where(np.arange(40) < 35, "failed", "")
    frame.loc[36, "state"] = "Running"
    frame.to_csv(table, index=False)
    rows = json.loads(swwl("suggest", fitted, table, "-n", 4, "-o", out, "--status", "state", "--json", "-q").output)
    assert sorted(row["row"] for row in rows) == [35, 37, 38, 39]


def test_wishes_that_cannot_be(fitted, data, tmp_path):
    out, table = tmp_path / "next.csv", data / "table.csv"
    for arguments, text in [
        (["select", table, "-n", 99], "99 cases were requested, but the pool has 40."),
        (["select", table, "-n", 2, "--inputs", "lost"], "has no column 'lost'"),
        (["suggest", fitted, table, "-n", 99], "99 cases were requested, but the pool has 40."),
        (["suggest", fitted, table, "-n", 2, "--goal", "maximize:lift"], "The model has no target 'lift'"),
        (["suggest", fitted, table, "-n", 2, "--at-least", "massflow"], "'massflow' is not understood"),
        (["suggest", fitted, table, "-n", 2, "--status", "state"], "has no column 'state' for the state of cases"),
    ]:
        result = swwl(*arguments, "-o", out, code=2)
        assert text in result.output.replace("\n", " ") and "Traceback" not in result.output
    frame = pd.read_csv(table)
    frame.drop(columns="speed").to_csv(data / "less.csv", index=False)
    assert "has no column 'speed'" in swwl("suggest", fitted, data / "less.csv", "-n", 2, "-o", out, code=2).output
    frame.assign(why="").to_csv(data / "named.csv", index=False)
    assert "already has a column 'why'" in swwl("select", data / "named.csv", "-n", 2, "-o", out, code=2).output
    assert "is the input" in swwl("select", table, "-n", 2, "-o", table, code=2).output
    assert not out.exists()


def test_bounds_of_both_sides_go_together():
    assert read_bounds(["m=1", "p=2"], ["m=3"]) == {"m": (1.0, 3.0), "p": (2.0, None)}


def test_few_training_cases_cannot_tell(fitted, data, tmp_path):
    out = tmp_path / "p.csv"
    said = swwl("predict", fitted, data / "table.csv", "-o", out).output
    assert "cannot be told" in said and pd.read_csv(out)["inside_domain"].isna().all()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A model of 110 blades with a small kernel, and their folder."""
    folder = tmp_path_factory.mktemp("large")
    swwl("make", "blade", "-n", 130, "--nodes", 200, "-o", folder / "d", "-q")
    small = ["-P", "8", "-Q", "20", "-H", "0", "--jobs", "1", "--kernel", "swwl"]
    swwl("fit", folder / "d/table.csv", "--target", "efficiency", "-o", folder / "m.swwl", "-q", *small)
    return folder


@pytest.mark.slow
def test_strange_cases_are_said_and_intervals_doubled(large, tmp_path):
    folder = tmp_path / "d"
    shutil.copytree(large / "d", folder)
    frame = pd.read_csv(folder / "table.csv").iloc[104:].reset_index(drop=True)
    mesh = read_mesh(folder / frame["mesh"][0])
    type(mesh)(25.4 * mesh.points, mesh.cells).write(folder / "meshes/large.vtu")
    frame.loc[0, "mesh"] = "meshes/large.vtu"
    frame["efficiency"] += 0.1
    frame.to_csv(folder / "new.csv", index=False)
    result = swwl("predict", large / "m.swwl", folder / "new.csv", "-o", tmp_path / "p.csv")
    assert "unlike the training cases" in result.output and "interval that is widened" in result.output
    assert "efficiency: the answers in the table disagree with the model" in result.output
    found = pd.read_csv(tmp_path / "p.csv", keep_default_na=False)
    assert str(found["inside_domain"][0]) == "False" and found["domain"][0].startswith("other units, frame or kind")
    assert (found["inside_domain"].astype(str) == "True").mean() > 0.7
    model = load_model(large / "m.swwl")
    table = frame.assign(mesh=[folder / name for name in frame["mesh"]])
    lower, upper = model.predict_interval(table, widen=False)
    wide = np.where(found["widened"] == "efficiency", 2.0, 1.0)
    np.testing.assert_allclose(found["efficiency_upper95"] - found["efficiency_lower95"], wide * (upper - lower))
    assert (wide == 2).any() and (wide == 1).any()


@pytest.mark.slow
def test_the_report_says_how_strange_cases_are_told(large, fitted):
    for model, text in [(large / "m.swwl", "training cases at the edge"), (fitted, "cannot be told from")]:
        assert text in make_report(load_model(model), model)

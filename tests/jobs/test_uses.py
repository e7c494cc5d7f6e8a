"""What is done with a model: curves, explanations, choices, submissions."""

import numpy as np
import pandas as pd
import pytest

from swwl import read_mesh
from swwl.errors import InputError
from swwl.jobs.curves import draw_curves, plan_curves
from swwl.jobs.design import (
    chosen_rows,
    draw_selection,
    holds_choices,
    plan_select,
    read_bounds,
    select_rows,
    suggest_rows,
)
from swwl.jobs.explain import draw_explained, explain_case, is_explained, mesh_with_fields, read_along, read_where
from swwl.jobs.outputs import is_picture
from swwl.jobs.predict import one_case
from swwl.jobs.submit import cell_outputs, outputs_of, predict_split
from swwl.jobs.table import read_table
from swwl.storage.memory import Memory
from swwl.tables.read import write_table


def test_curves_are_drawn_and_written(made, numbers, tmp_path):
    mesh = made / "meshes" / "012.vtu"
    plan = plan_curves(numbers, ("load", [1.0, 2.0, 3.0]), meshes={"mesh": mesh})
    assert plan.targets == ["top"] and plan.held == {}
    table = draw_curves(numbers, plan, tmp_path / "c.png", "a plate")
    rows = pd.DataFrame({"mesh": [mesh] * 3, "load": [1.0, 2.0, 3.0]})
    assert table["top_mean"].to_numpy() == pytest.approx(numbers.predict(rows))
    assert is_picture(tmp_path / "c.png")
    written = pd.read_csv(tmp_path / "c.csv")
    assert list(written) == ["load", "top_mean", "top_std", "top_lower95", "top_upper95"]
    assert written["top_std"].to_numpy() == pytest.approx(table["top_std"].to_numpy())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ["bottom"]}, "has no target 'bottom'"),
        ({"meshes": {}}, "meshes were given for none"),
        ({"sweep": ("speed", [1.0, 2.0])}, "speed"),
    ],
)
def test_curves_that_make_no_sense(made, numbers, changes, message):
    options = {"sweep": ("load", [1.0, 2.0]), "meshes": {"mesh": made / "meshes" / "012.vtu"}} | changes
    with pytest.raises(InputError, match=message):
        plan_curves(numbers, **options)


def test_a_case_is_explained(made, numbers, tmp_path):
    mesh = made / "meshes" / "012.vtu"
    case = one_case(numbers, {"mesh": mesh}, ["load=2"])
    along = read_along([f"wider={mesh},{made / 'meshes' / '009.vtu'}"], numbers, made / "m-scalars.swwl")
    found, table = explain_case(numbers, case, along)
    assert table["what"].tolist() == ["load", "wider"]
    step = 1e-3
    near = pd.DataFrame({"mesh": [mesh] * 2, "load": [2 - step, 2 + step]})
    assert table["derivative"].iloc[0] == pytest.approx(np.diff(numbers.predict(near))[0] / (2 * step), rel=1e-3)
    mesh_with_fields(found).write(tmp_path / "s.vtu")
    assert is_explained(tmp_path / "s.vtu") and not is_explained(mesh)
    assert {"top_gradient", "top_push"} <= set(read_mesh(tmp_path / "s.vtu").fields)
    draw_explained(found, table, tmp_path / "s.png")
    assert is_picture(tmp_path / "s.png")


def test_what_explain_refuses(made, numbers):
    mesh = made / "meshes" / "012.vtu"
    case = one_case(numbers, {"mesh": mesh}, ["load=2"])
    for box, message in [("0:1", "has 1 ranges"), ("8:9,8:9", "holds no node")]:
        with pytest.raises(InputError, match=message):
            explain_case(numbers, case, None, where=read_where(box))
    for text in ("0:1,x:2", "1", "body*"):
        with pytest.raises(InputError, match="is not a box, such as 0:1,-0.5:0.5, and the mesh has no groups"):
            explain_case(numbers, case, None, where=read_where(text))
    with pytest.raises(InputError, match="is not understood"):
        read_along(["a=b,c,d"], numbers, made / "m-scalars.swwl")
    with pytest.raises(InputError, match="no such file"):
        read_along(["lost.npz"], numbers, made / "m-scalars.swwl")
    with pytest.raises(InputError, match="of the same topology. Without --along modes, explain shows where"):
        read_along(["modes"], numbers, made / "m-scalars.swwl")


def test_cases_are_selected_by_inputs(made, tmp_path):
    plan = plan_select(made / "table.csv", [], ["load"])
    chosen, known = select_rows(plan, 6, "maximin", memory=Memory(None))
    assert len(set(chosen["row"])) == 6 and known is None
    output = tmp_path / "first.csv"
    table = chosen_rows(plan.frame, plan.path, plan.meshes, chosen, output)
    write_table(output, table)
    assert holds_choices(output) and not holds_choices(made / "table.csv")
    assert all((tmp_path / mesh).resolve().is_file() for mesh in table["mesh"])
    draw_selection(plan, chosen, known, tmp_path / "map.png", None, 0)
    assert is_picture(tmp_path / "map.png")
    with pytest.raises(InputError, match="already has a column 'rank'"):
        plan_select(output, [], ["load"])


def test_cases_are_suggested_by_a_model(made, numbers):
    frame = read_table(made / "table.csv")
    states = frame.assign(state=["running", "Failed ", *["free"] * 12])
    chosen = suggest_rows(numbers, states, made / "table.csv", 3, status="state")
    assert len(set(chosen["row"])) == 3 and not {0, 1} & set(chosen["row"])
    best = suggest_rows(numbers, frame, made / "table.csv", 1, goal="maximize:top")
    assert frame["top"].iloc[best["row"].iloc[0]] > frame["top"].median()
    with pytest.raises(InputError, match="has no column 'state'"):
        suggest_rows(numbers, frame, made / "table.csv", 1, status="state")


def test_bounds_of_both_sides_go_together():
    assert read_bounds(["a=1"], ["a=2", "b=3"]) == {"a": (1.0, 2.0), "b": (None, 3.0)}
    with pytest.raises(InputError, match="--at-most 'a' is not understood"):
        read_bounds([], ["a"])


def test_a_submission_holds_what_both_models_predict(made, models, fields, numbers):
    assert outputs_of(numbers) == {"top": False}
    assert outputs_of(fields) == {"heat": False, "move_0": False, "move_1": False, "flux": True}
    assert cell_outputs(models) == ["flux"]
    frame = read_table(made / "table.csv").iloc[:10]
    rows = predict_split(models, frame, made / "table.csv", keep=False)
    assert len(rows) == 10 and set(rows[0]) == {"top", "heat", "move_0", "move_1", "flux"}
    assert rows[9]["heat"].shape == (16,) and isinstance(rows[9]["top"], float)

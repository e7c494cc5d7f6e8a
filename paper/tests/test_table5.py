from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from swwl import Graph
from swwl.datasets import GENERATORS
from swwl_paper import measure, table5, timetable
from swwl_paper.study import Study

COLUMNS = {
    "set", "kernel", "step", "nodes", "meshes", "measured", "seconds", "seconds_of_all", "paper_seconds", "floor",
    "floor_seconds", "ratio", "peak_mb",
}  # fmt: skip


@pytest.fixture
def tiny(monkeypatch):
    """Meshes of 500 nodes, in this process and a single thread."""
    monkeypatch.setattr(
        table5, "CASES", {name: replace(case, nodes=500, batch=4) for name, case in table5.CASES.items()}
    )
    counts = {
        "blade": table5.Counts(12, 6, 5, 10),
        "tensile2d": table5.Counts(2, 2, 2, 0),
        "airfoil": table5.Counts(5, 2, 2, 0),
    }
    monkeypatch.setattr(table5, "SIZES", {"small": counts})
    monkeypatch.setattr(table5, "OPTIONS", {"n_iterations": 2, "n_projections": 5, "n_quantiles": 10})
    calls = []

    def here(function, *arguments):
        calls.append(function.__name__)
        return function(*arguments)

    monkeypatch.setattr(measure, "in_child", here)
    return calls


def make(folder):
    study = Study("table5", "small", folder, n_jobs=1)
    study.begin()
    return study


def test_all_lines_are_measured_and_only_once(tiny, tmp_path):
    table5.run(make(tmp_path))
    frame = pd.read_csv(tmp_path / "table5.csv")
    assert set(frame) >= COLUMNS
    assert len(frame) == 2 * 3 + 2
    blade = frame[frame["set"] == "blade"].set_index(["kernel", "step"])
    assert blade["measured"].to_dict() == {
        ("SWWL(1)", "embedding"): 12,
        ("SWWL(√n)", "embedding"): 6,
        ("SWWL(1)", "distances"): 12,
        ("SWWL(1)", "training"): 10,
    }
    embedding = blade.loc[("SWWL(1)", "embedding")]
    assert embedding["seconds_of_all"] == pytest.approx(embedding["seconds"] * 1200 / 12)
    assert blade["seconds_of_all"].isna().tolist() == [False, False, True, True]
    assert (frame["peak_mb"] > 10).all()
    assert not list((tmp_path / "work" / "table5").iterdir())
    page = (tmp_path / "table5.md").read_text(encoding="utf-8")
    assert "12 of 1200" in page and "3 h 52 min" in page
    assert (tmp_path / "table5.png").stat().st_size > 0

    calls = len(tiny)
    table5.run(make(tmp_path))
    assert len(tiny) == calls


def test_goes_on_where_it_stopped(tiny, tmp_path, monkeypatch):
    def cut(task):
        raise KeyboardInterrupt

    def blades():
        study = Study("table5", "small", tmp_path, n_jobs=1, options={"dataset": ["blade"]})
        study.begin()
        table5.run(study)

    monkeypatch.setattr(Study, "figure", lambda *_: None)
    with monkeypatch.context() as context:
        context.setattr(table5, "time_training", cut)
        with pytest.raises(KeyboardInterrupt):
            blades()
    before = pd.read_csv(tmp_path / "table5.csv")
    tiny.clear()
    blades()
    assert tiny == ["time_training"]
    after = pd.read_csv(tmp_path / "table5.csv")
    pd.testing.assert_frame_equal(after[: len(before)][before.columns], before)
    assert len(after) == len(before) + 1


def test_airfoils_have_topologies_of_their_own_and_blades_one(tmp_path):
    for name, shared in (("blade", True), ("airfoil", False)):
        task = table5._Task(name, table5.Counts(2, 2, 2, 0), 0, 1, 1, str(tmp_path / name))
        table5._save_design(task)
        first, second = table5._Meshes(task, 2) if name == "blade" else _coarse_airfoils(task)
        assert first.same_topology(second) is shared


def _coarse_airfoils(task):
    inputs = task.design().to_dict("records")
    return [Graph.from_cells(*table5.CASES["airfoil"].mesh(inputs[i], 2000, 0.2 + 0.6 * i)) for i in range(2)]


def test_a_child_is_another_process_with_a_peak_of_its_own():
    held = np.ones(400 * 2**17)  # 400 MB, which no child may be charged with
    assert measure.in_child(measure.peak_memory) < measure.peak_memory() - 200
    assert held[0] == 1


def test_verdicts():
    rows = [
        ("blade", "SWWL(1)", "embedding", 1200, 0.9, 1.0),
        ("blade", "SWWL(√n)", "embedding", 1200, 3.0, 3.5),
        ("airfoil", "SWWL(√n)", "embedding", 96, 5.0, 5.5),
        ("blade", "SWWL(1)", "training", 1000, 600.0, np.nan),
        ("tensile2d", "SWWL(1)", "training", 500, 600.0, np.nan),
    ]
    frame = pd.DataFrame(rows, columns=["set", "kernel", "step", "measured", "ratio", "to_first"])
    lines = timetable.judge(frame.assign(nodes=100, seconds=1.0, evaluations=30.0))
    assert [line.verdict for line in lines] == ["ok", "TOO MUCH", "ok", "TOO MUCH", ""]


def test_a_target_varies_with_all_its_inputs():
    for name, case in table5.CASES.items():
        ranges = GENERATORS[name].ranges
        middle = {key: (low + high) / 2 for key, (low, high) in ranges.items()}
        base = case.target(middle)
        for key, (low, high) in ranges.items():
            assert case.target({**middle, key: 0.4 * low + 0.6 * high}) != base, (name, key)

import numpy as np
import pandas as pd
import pytest

from swwl_paper import scaling, slopes
from swwl_paper.measure import Line, fit_power_law
from swwl_paper.study import Study

TINY = scaling.SweepRanges(
    nodes=(30, 60, 90),
    large_step_nodes=(30, 60, 90),
    base_nodes=90,
    projections=(1, 2, 3),
    quantiles=(2, 3, 4),
    iterations=(1, 2, 3),
    graphs=(1, 2, 3),
    rows=(3, 4, 5),
    widths=(3, 4, 5),
    fixed=(4, 5),
    train_nodes=(30, 60, 90),
    train_graphs=(4, 5, 6),
    graph_nodes=(8, 10, 12),
    budget=100.0,
    repeats=1,
)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(scaling.SIZES, "small", TINY)
    # Only SWWL itself: the other kernels' libraries take longer to load than all else.
    for module in (scaling, slopes):
        monkeypatch.setattr(module, "PEERS", {"RPW": slopes.PEERS["RPW"]})
        monkeypatch.setattr(module, "KERNELS", ("SWWL", "RPW"))


def make(folder):
    study = Study("scaling", "small", folder)
    study.begin()
    return study


def test_all_sweeps_are_measured_fitted_and_drawn(tiny, tmp_path):
    study = make(tmp_path)
    scaling.run(study)
    frame = study.rows(["quantity", "kernel", "variable", "value"]).frame()
    assert {"quantity", "kernel", "variable", "value", "seconds"} <= set(frame)
    assert (frame["seconds"] > 0).all()
    for sweep in slopes.SWEEPS:
        assert len(slopes.series(frame, *sweep)[0]) == 3, sweep
    assert len(slopes.slopes(frame)) == len(slopes.SWEEPS) + 2
    limits = pd.read_csv(tmp_path / "scaling-practical.csv")
    assert limits["kernel"].tolist() == ["SWWL", "RPW"]
    assert (tmp_path / "scaling.png").stat().st_size > 0
    assert "slope of distances in N" in (tmp_path / "scaling.md").read_text(encoding="utf-8")


def test_goes_on_where_it_stopped(tiny, tmp_path, monkeypatch):
    calls = []

    def pretend(*functions, repeats):
        calls.append(repeats)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return [1e-3] * len(functions)

    monkeypatch.setattr(scaling, "best_times", pretend)
    monkeypatch.setattr(Study, "figure", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        scaling.run(make(tmp_path))
    done = len(pd.read_csv(tmp_path / "scaling.csv"))
    scaling.run(make(tmp_path))
    whole = len(calls)
    assert done == 4
    scaling.run(make(tmp_path))
    assert len(calls) == whole


def test_a_kernel_stops_at_its_budget(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(scaling.SIZES, "small", TINY._replace(graph_nodes=(10, 20, 40, 80, 160), budget=1.0))
    monkeypatch.setattr(scaling, "_matrix_seconds", lambda name, n, budget: (1e-4 * n**2, 1e-4 * n**2))
    study = make(tmp_path)
    rows = study.rows(["quantity", "kernel", "variable", "value"])
    scaling._sweep_matrix(study, rows, scaling.SIZES["small"], "RPW")
    assert rows.frame()["value"].tolist() == [10, 20, 40, 80]
    scaling._sweep_matrix(study, rows, scaling.SIZES["small"], "RPW")
    assert len(rows.frame()) == 4


def test_a_library_that_is_missing_is_no_error(tiny, tmp_path, monkeypatch):
    def missing(name, n, budget):
        raise ImportError("RPW needs torch")

    monkeypatch.setattr(scaling, "_matrix_seconds", missing)
    study = make(tmp_path)
    rows = study.rows(["quantity", "kernel", "variable", "value"])
    scaling._sweep_matrix(study, rows, TINY, "RPW")
    assert rows.frame().empty


@pytest.mark.parametrize("slope", [-0.5, 0.0, 1.0, 2.0, 3.7])
def test_slopes_of_exact_power_laws(slope):
    x = np.array([10.0, 30.0, 100.0, 300.0])
    law = fit_power_law(x, 0.02 * x**slope)
    assert law.slope == pytest.approx(slope, abs=1e-12)
    assert law.factor == pytest.approx(0.02)
    if slope > 0:
        assert law(law.inverse(5.0)) == pytest.approx(5.0)
    else:
        assert law.inverse(5.0) == np.inf


def test_overhead_at_the_small_end_does_not_bend_the_slope():
    x = 10.0 ** np.arange(6)
    assert slopes.asymptotic_law(x, 1e-9 * x**2 + 1e-6 * (x < 50)).slope == pytest.approx(2.0)


def test_a_single_size_has_no_slope():
    with pytest.raises(ValueError, match="two different sizes, but there are 1"):
        fit_power_law([5, 5], [1.0, 2.0])


def test_memory_or_time_limits():
    n = np.array([100, 1000, 10_000])
    quick = pd.DataFrame({"quantity": "matrix", "kernel": "FGW", "variable": "n", "value": n, "seconds": 1e-9 * n**2})
    slow = quick.assign(kernel="WWL", seconds=1e-3 * n**2)
    limits = slopes.practical(pd.concat([quick, slow]), memory_gib=8).set_index("kernel")
    assert limits.loc["WWL", "limit"] == "time"
    assert limits.loc["WWL", "nodes"] == pytest.approx(np.sqrt(3600 / 1e-3))
    assert limits.loc["FGW", "limit"] == "memory"
    assert 8 * slopes.PEERS["FGW"].squares * limits.loc["FGW", "nodes"] ** 2 == pytest.approx(8 * 2**30)


def test_verdicts():
    table = pd.DataFrame(
        {
            "quantity": ["embedding", "prediction"],
            "kernel": "SWWL(1)",
            "variable": ["n", "n of training"],
            "range": "3 to 9",
            "slope": [1.3, 0.01],
            "theory": "",
        }
    )
    assert [line.verdict for line in slopes.judge(table)] == ["TOO MUCH", "ok"]
    assert Line("nothing to judge", 1.0).verdict == ""
    assert Line("not a number", float("nan"), 1.0).verdict == "TOO MUCH"

"""Tables 2 and 3 on a few graphs: what they measure, how they go on, and what they say where something is missing."""

import json
from functools import partial

import numpy as np
import pytest

from swwl import Graph
from swwl.classification.nested_cv import nested_cv, paper_settings
from swwl_paper import classification, reproduce, table2, table3
from swwl_paper.classification import ClassificationPlan, settings_of, some_of

TINY = ClassificationPlan(datasets=("BZR", "ENZYMES"), kernels=("SWWL", "SWWL tuned"), seeds={"": 1}, graphs={"": 24})


@pytest.fixture
def molecules(monkeypatch):
    """Two sets of rods whose length or bend tells the class, in place of the published ones."""
    rng = np.random.default_rng(0)

    def load(name, *, labels=False, **_):
        n, classes = {"BZR": (40, 2), "ENZYMES": (36, 3)}[name]
        y = np.arange(n) % classes
        bends = y + 0.2 * rng.random(n)
        columns = 2 + labels
        return [Graph([[0.0, b, 1][:columns], [1, 0, 0][:columns]], [(0, 1)]) for b in bends], y

    monkeypatch.setattr(classification, "fetch_tu", load)
    monkeypatch.setitem(table2.SIZES, "small", TINY)
    monkeypatch.setitem(
        table3.SIZES, "small", ClassificationPlan(datasets=("BZR",), kernels=("SWWL",), graphs={"": 24})
    )
    monkeypatch.setattr(table2, "TUNED", {"gammas": (1.0,), "Cs": (10.0,), "alphas": (1.0,)})
    monkeypatch.setattr(table2, "nested_cv", partial(nested_cv, gammas=(0.1, 10.0), Cs=(1.0, 100.0)))


def test_table2_fills_a_row_per_fold_and_goes_on(tmp_path, molecules, monkeypatch):
    reproduce("table2", "small", tmp_path, n_jobs=1, options={"dataset": ["BZR"], "kernel": ["SWWL"]})
    first = (tmp_path / "table2.csv").read_bytes()
    study = reproduce("table2", "small", tmp_path, n_jobs=1)
    assert (tmp_path / "table2.csv").read_bytes().startswith(first)
    frame = study.rows(table2.KEYS).frame()
    assert len(frame) == 2 * 2 * 10
    assert frame.groupby(["dataset", "kernel"])["fold"].apply(sorted).map(lambda found: found == list(range(10))).all()
    assert frame["accuracy"].between(0, 1).all() and frame["balanced_accuracy"].between(0, 1).all()
    assert (frame["n_graphs"] == 24).all()
    assert set(frame.loc[frame["kernel"] == "SWWL", "features"]) == {"attributes"}
    page = (tmp_path / "table2.md").read_text()
    assert "85.43 ± 4.05" in page and "always the largest class" in page and "Balanced accuracy" in page
    assert (tmp_path / "table2.png").exists()
    monkeypatch.setattr(table2, "nested_cv", None)  # nothing is left to be done
    reproduce("table2", "small", tmp_path, n_jobs=1)
    assert len(json.loads((tmp_path / "table2.json").read_text())["commands"]) == 1


def test_graphs_left_out_are_said(tmp_path, molecules, monkeypatch):
    plan = ClassificationPlan(
        datasets=("BZR",), kernels=("SWWL", "PK"), seeds={"": 1}, graphs={"": None, ("PK", "BZR"): 20}
    )
    monkeypatch.setitem(table2.SIZES, "small", plan)
    monkeypatch.setattr(classification, "HASH_SEEDS", (0, 42))
    pytest.importorskip("grakel", reason="GraKeL is not installed: it needs Python below 3.13")
    study = reproduce("table2", "small", tmp_path, n_jobs=1)
    page = (tmp_path / "table2.md").read_text()
    assert "† Cut down: PK on 20 graphs of BZR" in page and "Accuracy of PK (%) by the seed of its hashing" in page
    counts = study.rows(table2.KEYS).frame().groupby("kernel")["kernel_seed"].value_counts()
    assert counts.to_dict() == {("PK", 0): 10, ("PK", 42): 10, ("SWWL", 0): 10}


def test_table3_scales_what_it_did_not_time(tmp_path, molecules):
    study = reproduce("table3", "small", tmp_path, n_jobs=1, options={"kernel": ["SWWL"]})
    frame = study.rows(["dataset", "kernel", "setting"]).frame()
    assert len(frame) == 4 and (frame["n_graphs"] == 40).all() and (frame["timed_graphs"] == 24).all()
    expected = frame["prepare_seconds"] * 40 / 24 + frame["matrix_seconds"] * (40 / 24) ** 2
    np.testing.assert_allclose(frame["seconds"], expected)
    page = (tmp_path / "table3.md").read_text()
    assert "≈" in page and "24 of BZR" in page and "0.7 + 0.1" in page
    assert (tmp_path / "table3.png").exists()


def test_a_missing_library_leaves_out_its_kernel(tmp_path, molecules, monkeypatch):
    def missing(kernel, dataset, kernel_seed):
        if kernel == "WWL":
            raise ImportError("WWL needs POT: pip install 'swwl[baselines]'.")
        return paper_settings(kernel)

    monkeypatch.setattr(table2, "settings_of", missing)
    monkeypatch.setitem(table2.SIZES, "small", ClassificationPlan(("BZR",), ("WWL", "SWWL"), {"": 1}, {"": 24}))
    study = reproduce("table2", "small", tmp_path, n_jobs=1)
    assert set(study.rows(table2.KEYS).frame()["kernel"]) == {"SWWL"}


def test_without_data_the_command_says_what_is_missing(swwl, tmp_path, monkeypatch):
    monkeypatch.setattr(classification, "fetch_tu", _not_here)
    result = swwl("reproduce", "table2", "-o", tmp_path)
    assert result.exit_code == 1
    assert "table2 was skipped: BZR is nowhere" in result.output


def _not_here(name, **_):
    raise FileNotFoundError(f"{name} is nowhere")


def test_settings_follow_the_paper():
    assert [f.learning_rate for f in settings_of("RPW", "PROTEINS")] == [1e-3] * 3
    assert [f.n_epochs for f in settings_of("RPW", "BZR")] == [10] * 3
    assert all(f.scale is True for f in settings_of("WWL", "Cuneiform"))
    assert [f.random_state for f in settings_of("PK", "BZR", 42)] == [42] * 7
    assert [f.scale for f in settings_of("SWWL tuned", "Cuneiform")] == [False] * 4 + [True] * 4


def test_some_graphs_of_every_class():
    classes = np.repeat(np.arange(3), [50, 20, 6])
    kept = some_of(classes, 30)
    assert np.bincount(classes[kept]).tolist() == [20, 8, 5]
    assert some_of(classes, None).tolist() == list(range(76))

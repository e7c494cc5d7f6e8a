"""Published boards at a tiny size, with made-up cases: rows, contours, folds, interruptions, sentences."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import RobustGPRegressor
from swwl.gp.prediction import Prediction
from swwl_paper import ahmed, ahmedtable, airfrans, airfranstable, boards, published, reproduce
from swwl_paper.rows import RowFile
from swwl_paper.study import Skipped, Study

FACES = np.array([[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4]])
FACES = np.vstack([FACES, [[2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]]])
CORNERS = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])


def ellipse(n, height):
    angles = 2 * np.pi * np.arange(n) / n
    return np.column_stack([(1 + np.cos(angles)) / 2, height / 2 * np.sin(angles)])


@pytest.fixture
def board_folder(tmp_path, monkeypatch):
    """A folder with two boards of the same form, 24 ellipses and 24 boxes."""
    folder, rng, n = tmp_path / "data", np.random.default_rng(0), 24
    (folder / "boards").mkdir(parents=True)
    heights, speeds, angles = rng.uniform(0.1, 0.3, n), rng.uniform(30, 90, n), rng.uniform(-3, 12, n)
    sizes = rng.integers(10, 20, n) * 2
    contours = [ellipse(size, height) for size, height in zip(sizes, heights, strict=True)]
    np.savez(
        folder / published.FILES["airfrans-board"],
        points=np.vstack(contours),
        n_nodes=sizes,
        U=speeds.round(3),
        alpha=angles.round(3),
        cl=1 + heights + angles / 10,
        cd=1 + heights**2 + speeds / 100,
        split=(np.arange(n) % 3 == 0).astype(int),
    )
    sides = rng.uniform(0.5, 1.5, (n, 8)) * [1, 1, 1, 1, 1, 1, 1, 40]
    names = [*ahmed.PARAMETERS[:4], "slant-angle-length", "slant-angle-height", *ahmed.PARAMETERS[4:]]
    np.savez(
        folder / published.FILES["ahmed-board"],
        points=np.vstack([CORNERS * side[:3] for side in sides]).astype(np.float32),
        triangles=np.tile(FACES, (n, 1)).astype(np.int32),
        n_nodes=np.full(n, 8),
        n_triangles=np.full(n, 12),
        parameters=sides,
        parameter_names=np.array(names),
        cd=sides[:, 0] * sides[:, 1],
        cl=sides[:, 2],
    )
    monkeypatch.setenv("SWWL_DATA", str(folder))
    monkeypatch.setitem(airfrans.SIZES, "small", airfrans.AirfransPlan({8: 2, 12: 2}, 6))
    monkeypatch.setitem(ahmed.SIZES, "small", ahmed.AhmedPlan(3, 8, 21))
    return folder


@pytest.fixture
def pretended(monkeypatch):
    """Fits that cost nothing and know the truth, all intervals doubled; returns what each was given."""
    given = []

    def pretend(model, train, tests, targets, memory=None):
        given.append((model, train, tests))
        answers = {}
        for name, table in tests.items():
            truth = table[list(targets)]
            values = truth.to_numpy(float)
            prediction = Prediction(values * 1.1, np.full(values.shape, 0.1), np.inf)
            inside = np.where(np.arange(len(table)) == 0, 0.0, 1.0)
            answers[name] = boards.Answers(truth, prediction, inside, np.zeros(values.shape, bool))
        return answers, {"warnings": 0, "seconds": 0.1}

    monkeypatch.setattr(boards, "fit_and_ask", pretend)
    return given


# AirfRANS


def test_airfrans_rows_tables_and_figure(tmp_path, board_folder, pretended):
    reproduce("airfrans", folder=tmp_path, n_jobs=1)
    frame = pd.read_csv(tmp_path / "airfrans.csv")
    assert len(frame) == 4 * 3 * 2 and set(frame["contours"]) == {"same", "uniform", "cosine"}
    assert list(frame.groupby("n_train")["seed"].unique().map(list)) == [[0, 1], [0, 1]]
    np.testing.assert_allclose(frame["rrmse"], 0.1)
    np.testing.assert_allclose(frame["spearman"], 1)
    assert set(frame["inside"]) == {5} and set(frame["flagged"]) == {1} and set(frame["n_test"]) == {6}
    text = (tmp_path / "airfrans.md").read_text(encoding="utf-8")
    for part in ("| lift: default | 8 |", "| drag: MMGP | 800 | – | 0.033 |", "| lift: Transolver | 800 |", "0.9978"):
        assert part in text
    for part in ("Casenave", "Each draw of training cases", "| 40 cosine points | drag | 12 |", "1 of 6", "on: none."):
        assert part in text
    assert (tmp_path / "airfrans.png").read_bytes()[:4] == b"\x89PNG"
    assert json.loads((tmp_path / "airfrans.json").read_text())["settings"]["seeds"] == {"8": [0, 1], "12": [0, 1]}


def test_airfrans_splits(tmp_path, board_folder, pretended):
    """Training cases are official ones, fewer are the first of more, and the tests are the same airfoils."""
    reproduce("airfrans", folder=tmp_path, n_jobs=1)
    table, _ = boards.airfoils()
    (_, few, tests), (_, other, _), (_, many, _), _ = pretended
    assert set(table.loc[many.index, "split"]) == {0} and list(many.index[:8]) == list(few.index)
    assert set(other.index) != set(few.index)
    assert list(few) == ["U", "alpha", "cl", "cd", "mesh"]
    for kind, cases in tests.items():
        assert list(cases.index) == list(table.index[table["split"] == 1][:6])
        assert all(Path(path).parent.name == f"airfrans-{kind}" for path in cases["mesh"])
    assert all(model.get_params() == RobustGPRegressor().get_params() for model, *_ in pretended)


@pytest.mark.parametrize("name", ["airfrans", "ahmed"])
def test_goes_on_where_it_stopped(name, tmp_path, board_folder, pretended, monkeypatch):
    reproduce(name, folder=tmp_path / "whole", n_jobs=1)
    add, count = RowFile.add, len(pretended)

    def cut_off(rows, *new):
        if len(rows.frame()):
            raise KeyboardInterrupt
        add(rows, *new)

    monkeypatch.setattr(RowFile, "add", cut_off)
    with pytest.raises(KeyboardInterrupt):
        reproduce(name, folder=tmp_path / "parts", n_jobs=1)
    monkeypatch.setattr(RowFile, "add", add)
    del pretended[:]
    reproduce(name, folder=tmp_path / "parts", n_jobs=1)
    assert len(pretended) == count - 1
    whole, parts = (pd.read_csv(tmp_path / part / f"{name}.csv") for part in ("whole", "parts"))
    pd.testing.assert_frame_equal(whole, parts)

    monkeypatch.delenv("SWWL_DATA")
    reproduce(name, folder=tmp_path / "parts", n_jobs=1)


@pytest.mark.parametrize("name", ["airfrans", "ahmed"])
def test_what_is_not_here(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SWWL_DATA", str(tmp_path))
    with pytest.raises(Skipped, match=f"boards/{name}_board.npz in the folder that SWWL_DATA names"):
        reproduce(name, folder=tmp_path / "results", n_jobs=1)


def test_surfaces_are_found_by_speed_and_angle(board_folder):
    table, contours = boards.airfoils()
    (board_folder / "meshes").mkdir()
    order = [5, 2, 7]
    np.savez(
        board_folder / published.FILES["airfrans"],
        points=np.vstack([contours[row] for row in order]).astype(np.float32),
        n_nodes=[len(contours[row]) for row in order],
        u_inf=table["U"][order].astype(str).to_numpy(str),
        aoa_deg=table["alpha"][order].astype(str).to_numpy(str),
    )
    found = boards.surfaces(table.loc[[2, 7]])
    for row, points in zip((2, 7), found, strict=True):
        np.testing.assert_allclose(points, contours[row], atol=1e-6)


# Contours


def test_contours_lie_on_the_airfoil():
    turn = np.array([[np.cos(0.2), -np.sin(0.2)], [np.sin(0.2), np.cos(0.2)]])
    contour = ellipse(400, 0.2) @ turn.T
    steps = np.linalg.norm(np.diff(boards.uniform(contour, 300), axis=0), axis=1)
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-2)
    for points in (boards.uniform(contour, 300), boards.cosine(contour, 40)):
        x, y = (points @ turn).T
        assert np.abs(np.hypot(2 * x - 1, y / 0.1) - 1).max() < 1e-3
        np.testing.assert_allclose(points[0], contour[0])
    np.testing.assert_allclose(boards.cosine(contour, 40), ellipse(40, 0.2) @ turn.T, atol=1e-4)


@pytest.mark.parametrize("shift", range(5))
def test_a_cut_trailing_edge_is_closed_wherever_the_numbering_begins(shift):
    kite = np.array([[1.0, 0.0], [0.5, 0.1], [0.0, 0.0], [0.5, -0.1]])
    cut = np.vstack([[0.9, -0.02], [0.9, 0.02], kite[1:]])
    found = boards.closed(np.roll(cut, shift, axis=0))
    place = np.flatnonzero(np.isclose(found, kite[0]).all(axis=1))
    assert len(found) == 6 and len(place) == 1
    around = found[[(place[0] - 1) % 6, (place[0] + 1) % 6]]
    np.testing.assert_allclose(around, [[0.9, -0.02], [0.9, 0.02]])


def test_real_boards():
    folder = os.environ.get("SWWL_DATA")
    if not folder or not (Path(folder) / published.FILES["airfrans-board"]).exists():
        pytest.skip("SWWL_DATA names no folder of published boards")
    table, contours = boards.airfoils()
    assert len(table) == len(contours) == 1000 and (table["split"] == 1).sum() == 200
    rows = table.index[table["split"] == 1]
    for row in rows[::40]:
        for points in (boards.uniform(contours[row], 300), boards.cosine(contours[row], 40)):
            gap = np.linalg.norm(points[:, None] - contours[row], axis=-1).min(axis=1)
            assert gap.max() < 0.015 and np.ptp(points[:, 0]) == pytest.approx(np.ptp(contours[row][:, 0]), abs=1e-3)
    surfaces = boards.surfaces(table.loc[rows])
    assert len(surfaces) == 200
    for row, surface in zip(rows[::40], surfaces[::40], strict=True):
        tip = contours[row][np.argmax(contours[row][:, 0])]
        gaps = [np.linalg.norm(nodes - tip, axis=1).min() for nodes in (surface, boards.closed(surface))]
        assert gaps[0] > 5e-4 and gaps[1] < 1e-5  # cut off a thousandth of the chord
    table, meshes = boards.bodies()
    assert len(table) == len(meshes) == 499 and set(ahmed.PARAMETERS) <= set(table)
    assert table[ahmed.ANGLE].between(*ahmed.JUMP).sum() > 100


# AhmedML


def test_ahmed_rows_tables_and_figure(tmp_path, board_folder, pretended):
    reproduce("ahmed", folder=tmp_path, n_jobs=1)
    frame = pd.read_csv(tmp_path / "ahmed.csv")
    assert len(frame) == 2 * 3 * 2 * 2 and set(frame["training"].astype(str)) == {"all", "8"}
    assert set(frame["n_train"]) == {14, 8}
    assert (frame.groupby(["model", "training", "target"])["n_test"].sum() == 21).all()
    text = (tmp_path / "ahmed.md").read_text(encoding="utf-8")
    for part in (
        "| drag: default | 14 |",
        "| lift: GP, true parameters | 8 |",
        "| drag: best of a family | 449 | 0.775 |",
    ):
        assert part in text
    assert "- Lift, N = 14: the default leaves" in text and "null_travels.md" in text
    assert (tmp_path / "ahmed.png").read_bytes()[:4] == b"\x89PNG"
    assert {tuple(train) for _, train, _ in pretended} == {("mesh", "cd", "cl"), (*ahmed.PARAMETERS, "cd", "cl")}


def test_ahmed_folds(tmp_path, board_folder, pretended):
    """Every case is left out once; fewer training cases are the first of all of a fold."""
    reproduce("ahmed", folder=tmp_path, n_jobs=1, options={"kernel": ["auto"]})
    left = [set(tests[""].index) for _, _, tests in pretended]
    assert sorted(row for fold in left[:3] for row in fold) == list(range(21)) and left[3:] == left[:3]
    for (_, train, _), (_, few, _), out in zip(pretended[:3], pretended[3:], left, strict=False):
        assert set(train.index) == set(range(21)) - out and list(few.index) == list(train.index[:8])


def test_r2_is_that_of_all_folds(board_folder, pretended, tmp_path):
    study = Study("ahmed", "small", tmp_path, n_jobs=1)
    table = ahmed.cases(study, ahmed.SIZES["small"])
    rows = []
    for fold, test in enumerate(ahmed.split(21, 3)):
        found = ahmed.fit_and_score("auto", table, np.setdiff1d(np.arange(21), test), test)
        rows += [{"model": "auto", "training": "all", "fold": fold} | row for row in found]
    frame = ahmedtable.together(pd.DataFrame(rows)).set_index("target")
    for target in ahmed.TARGETS:
        y = table[target].to_numpy()
        assert frame.loc[target, "r2"] == pytest.approx(1 - np.mean((0.1 * y) ** 2) / y.var())
        holds = np.abs(0.1 * y) <= 1.959964 * 0.1
        assert frame.loc[target, "coverage"] == pytest.approx(holds.mean())
        jump = table[ahmed.ANGLE].between(30, 45).to_numpy()
        assert frame.loc[target, "n_jump"] == jump.sum()
        assert frame.loc[target, "jump_coverage"] == pytest.approx(holds[jump].mean())


# Fits


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a dozen cases are few
def test_a_row_is_what_users_get(board_folder, tmp_path):
    study = Study("airfrans", "small", tmp_path, n_jobs=1)
    train, tests = airfrans.cases(study, airfrans.AirfransPlan({12: 1}, 6))
    train, same = train[:12], tests["same"]
    answers, facts = boards.fit_and_ask(RobustGPRegressor(), train, {"same": same}, ["cl", "cd"])
    model = RobustGPRegressor().fit(train, ["cl", "cd"])
    lower, upper = model.predict_interval(same.drop(columns=["cl", "cd"]), level=0.95)
    found = answers["same"]
    for k, target in enumerate(("cl", "cd")):
        truth, row = same[target].to_numpy(), found.scores(k)
        assert row["width"] == pytest.approx((upper - lower)[:, k].mean() / truth.std())
        assert row["coverage"] == ((lower[:, k] <= truth) & (truth <= upper[:, k])).mean()
        assert row["error"] == pytest.approx(airfrans.root_mean_square(found.errors(k)))
    assert np.isnan(found.inside).all() and facts["seconds"] > 0  # a dozen cases cannot tell
    assert list(found.flagged(1)) == list(found.widened[:, 1])


# Sentences


def test_airfrans_verdicts():
    common = {"seed": 0, "n_test": 200, "rrmse": 0.004, "spearman": 1.0, "coverage": 0.95, "width": 0.1}
    common |= {"inside": 190, "widened": 0, "flagged": 20, "unflagged_same": 0.1, "seconds": 1.0, "warnings": 0}
    common |= {"together": 0}
    rows = [
        {"contours": kind, "target": target, "n_train": n, "error": error, "unflagged": unflagged} | common
        for kind, target, n, error, unflagged in (
            ("same", "cl", 200, 0.1, 0.1),
            ("same", "cl", 800, 0.2, 0.1),
            ("same", "cd", 800, 0.1, 0.1),
            ("cosine", "cl", 200, 0.3, 0.11),
            ("cosine", "cl", 800, 0.3, 0.2),
            ("cosine", "cd", 800, 0.3, np.nan),
        )
    ]
    (_, first, notes), (_, others, moved) = airfranstable.tables(pd.DataFrame(rows))
    assert "RRMSE of lift from 800 cases: 0.004, 0.50 times MMGP's." in notes
    assert notes.endswith("More cases had a larger error on: lift, seed 0: 200 to 800 cases.")
    assert first["model"].tolist()[:3] == ["lift: default", "lift: default", "lift: MMGP"]
    assert others["ratio"].tolist() == ["3.00", "1.50", "3.00"]
    assert others["not flagged"].tolist() == ["1.10", "2.00", "–"]
    assert moved.endswith("by more than 1.15 times on: 40 cosine points, lift, N = 800 (2.00).")
    told = pd.DataFrame(rows).assign(together=1)
    assert list(airfranstable.tables(told))[1][2].endswith("by more than 1.15 times on: none.")

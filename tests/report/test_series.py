"""The page about a model of fields over time."""

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, MeshSeries, TransientRegressor
from swwl.evaluation.metadata import plain_score
from swwl.fields.scores import MeshScore
from swwl.jobs.transient import score_series
from swwl.report import make_report
from swwl.report.fields import gather_fields
from swwl.report.series import series_sections
from tests.helpers import plate

TIMES = np.linspace(0, 1, 7)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A folder with plates that warm up, four of them held out, and the model."""
    folder = tmp_path_factory.mktemp("warm")
    rng = np.random.default_rng(0)
    names, rates = [f"{number:03d}.pvd" for number in range(24)], rng.uniform(1, 3, 24)
    for number, (name, rate) in enumerate(zip(names, rates, strict=True)):
        points, cells = plate(50, seed=number)
        heat = (1 - np.exp(-rate * TIMES))[:, None] * (1 + points[:, 0])
        fields = {"T": heat, "u": heat[:, :, None] * [1.0, 0.5]}
        MeshSeries(Mesh(points, {"triangle": cells}), TIMES, fields).write(folder / name)
    table = pd.DataFrame({"mesh": [folder / name for name in names], "rate": rates})
    model = TransientRegressor(n_modes=2).fit(table[:20], ["T", "u"])
    scores = {"T": [], "u": []}
    for case in range(4):
        for name, score in score_series(model, table.iloc[[20 + case]], names[20 + case]).items():
            scores[name].append(plain_score(score, case))
    model.metadata_ = {
        "table": "table.csv", "split": "4 of 24 rows are held out", "n_rows": 24, "ignored": {},
        "train": {"rows": list(range(20)), "meshes": {"mesh": names[:20]}, "nodes": []},
        "held_out": {"rows": list(range(20, 24)), "meshes": {"mesh": names[20:]}, "nodes": [],
                     "inputs": {"rate": rates[20:].tolist()}},
        "ranges": {"rate": [1.0, 3.0]}, "held_out_scores": scores,
    }  # fmt: skip
    return model, folder / "m.swwl"


def test_held_out_cases_are_drawn_over_time(warm):
    model, path = warm
    found = series_sections(model, path)
    assert [one.alternative for one in found["pictures"]] == [
        f"{name} over time on the {word} mesh" for name in ("T", "u") for word in ("median", "worst")
    ]
    assert len(found["over_time"]) == 2 and "on 4 held-out cases" in found["over_time"][0].caption
    text = make_report(model, path)
    assert "A model of fields over time" in text and '"></th>' not in text and "no case was held out" not in text
    anchors = [part.split('"')[0] for part in text.split('<section id="')[1:]]
    assert all(f'href="#{anchor}"' in text for anchor in anchors) and len(anchors) == 7


def test_errors_over_time_are_those_of_the_scores(warm):
    from swwl.report.series import _compared

    model, path = warm
    facts = gather_fields(model.fields_, None)
    for name in ("T", "u"):
        scores: dict[int, MeshScore] = dict(facts.held_out[name])
        for case, one in _compared(model, facts, name, path).items():
            assert np.sqrt((one.errors**2).mean()) == pytest.approx(scores[case].rmse, rel=1e-6)


def test_without_files_there_are_words(warm, tmp_path):
    model, _ = warm
    text = make_report(model, tmp_path / "m.swwl")
    assert "There are no pictures" in text and "There is no picture" in text

"""What ``swwl fit`` wrote about its data: typed where it is ours, refused where it was changed."""

import copy
from pathlib import Path

import numpy as np
import pytest

from swwl import load_model
from swwl.errors import InputError
from swwl.evaluation.metadata import (
    data_of,
    field_data_of,
    field_score_rows,
    held_out_of,
    held_out_scores,
    plain_score,
)

DATA = Path(__file__).parents[1] / "storage" / "data" / "format3"


@pytest.fixture
def numbers():
    return load_model(DATA / "fitted-numbers.swwl")


@pytest.fixture
def fields():
    return load_model(DATA / "fitted-fields.swwl")


def put(model, path, value):
    """Change one entry of the metadata."""
    model.metadata_ = copy.deepcopy(model.metadata_)
    place = model.metadata_
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value


def test_models_of_numbers(numbers):
    data = data_of(numbers)
    assert (data.table, data.n_rows, len(data.train.rows), len(data.held_out.rows)) == ("a.csv", 18, 14, 4)
    assert data.train.meshes["mesh"][0] == "a0.vtu" and data.train.inputs == {}
    assert list(data.held_out.inputs) == ["load"]
    targets, prediction = held_out_of(numbers)
    assert targets.shape == prediction.mean.shape == (4, 1)
    np.testing.assert_allclose(prediction.std, numbers.metadata_["held_out"]["std"])
    put(numbers, ["held_out"], None)
    assert held_out_of(numbers) is None
    numbers.metadata_ = {"note": "mine"}
    assert data_of(numbers) is None


def test_models_of_fields(fields):
    data = field_data_of(fields)
    assert data.ranges.keys() == {"load"} and len(data.ranges["load"]) == 2
    ((case, score), *others) = held_out_scores(fields)["T"]
    assert case == 0 and score.name == "s2.vtu" and len(others) == 3
    assert plain_score(score, case) == fields.metadata_["held_out_scores"]["T"][0]
    assert [row["test"] for row in field_score_rows(fields)] == ["cross-validation", "held-out rows"]
    put(fields, ["held_out_scores", "T", 0, "rrmse"], None)
    assert np.isnan(held_out_scores(fields)["T"][0][1].rrmse)
    fields.metadata_ = {"train": "mine"}
    assert field_data_of(fields) is None and held_out_scores(fields) == {}


CHANGES = {
    ("table",): [5, None],
    ("n_rows",): [-1, "<b>", 1.5],
    ("ignored",): [[], {"a": 1}],
    ("train", "rows"): [[0], [0.5] * 14, "x"],
    ("train", "nodes"): [[1, 2], ["<script>"] * 14],
    ("train", "meshes"): [{"mesh": ["a"]}, {"mesh": [3] * 14}, np.zeros(3)],
    ("held_out",): [{"mean": 1}, 5],
    ("held_out", "inputs", "load"): [[1.0], 5],
}
OF_NUMBERS = {
    ("held_out", "mean"): [[[1.0]], [[1.0, 2.0]] * 4, [["x"]] * 4],
    ("held_out", "df"): [0.0, -1, None],
}
OF_FIELDS = {
    ("ranges", "load"): [[1.0], [1.0, np.nan], "xy"],
    ("held_out_scores",): [[], {"T": 3}],
    ("held_out_scores", "T", 0, "n"): [0, "x"],
    ("held_out_scores", "T", 0, "mean"): [[], [None]],
    ("held_out_scores", "T", 0, "rmse"): [None, np.inf],
}


@pytest.mark.parametrize("path", [*CHANGES, *OF_NUMBERS])
def test_changes_are_refused(path, numbers):
    for value in (CHANGES | OF_NUMBERS)[path]:
        put(numbers, path, value)
        with pytest.raises(InputError, match="The metadata of the model"):
            data_of(numbers)


@pytest.mark.parametrize("path", [path for path in [*CHANGES, *OF_FIELDS] if path != ("held_out",)])
def test_changes_of_fields_are_refused(path, fields):
    for value in (CHANGES | OF_FIELDS)[path]:
        put(fields, path, value)
        with pytest.raises(InputError, match="The metadata of the model"):
            field_data_of(fields)

"""What a model says of its data: a file of anyone's making, so it is checked before it is shown."""

import copy

import numpy as np
import pytest

from swwl import Matern52, RobustGPRegressor
from swwl.errors import InputError
from swwl.evaluation.metadata import check_cases, data_of, held_out_of

CASES = {"rows": list(range(8)), "meshes": {"mesh": [f"{k}.vtu" for k in range(8)]}, "nodes": []}
HELD_OUT = {"rows": [8, 9], "meshes": {}, "nodes": [], "targets": [[1.0], [2.0]], "mean": [[1.1], [1.9]]}
GOOD = {
    "table": "t.csv",
    "split": "all rows",
    "n_rows": 10,
    "ignored": {"id": "numbers the rows"},
    "train": CASES,
    "held_out": HELD_OUT | {"std": [[0.1], [0.2]], "df": 7.0},
}


@pytest.fixture(scope="module")
def model():
    x = np.linspace(0, 1, 8)
    return RobustGPRegressor(Matern52("x0"), n_starts=1, calibrate=False).fit(x, np.sin(3 * x))


def test_held_out_predictions_come_back(model):
    model.metadata_ = copy.deepcopy(GOOD)
    assert data_of(model) == GOOD
    targets, prediction = held_out_of(model)
    assert targets.tolist() == [[1.0], [2.0]]
    np.testing.assert_allclose(prediction.std, [[0.1], [0.2]])  # with the factor of Student's distribution taken out
    assert prediction.df == 7
    model.metadata_ = {"note": "mine"}
    assert data_of(model) == {} and held_out_of(model) is None


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("table",), 3),
        (("n_rows",), -1),
        (("ignored",), ["id"]),
        (("train", "rows"), [0, 1]),
        (("train", "meshes"), {"mesh": [1] * 8}),
        (("train", "nodes"), [5]),
        (("held_out", "mean"), [[1.0]]),
        (("held_out", "df"), 0),
        (("held_out", "std"), "wide"),
    ],
)
def test_what_does_not_fit_is_refused(model, place, value):
    model.metadata_ = copy.deepcopy(GOOD)
    home = model.metadata_
    for name in place[:-1]:
        home = home[name]
    home[place[-1]] = value
    with pytest.raises(InputError, match="The metadata of the model"):
        data_of(model)


def test_cases_are_as_many_as_they_should_be():
    check_cases("train", CASES, 8)
    with pytest.raises(InputError, match="train rows"):
        check_cases("train", CASES, 9)

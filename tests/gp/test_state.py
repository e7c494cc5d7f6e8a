"""Fitted processes as arrays and plain values: they come back, and what does not fit together is refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from swwl.errors import InputError
from swwl.gp import Coordinates, RobustGP


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    line, points = rng.uniform(size=14), rng.normal(size=(14, 2))
    cross = [np.abs(np.subtract.outer(rng.uniform(size=3), line)), Coordinates(rng.normal(size=(3, 2)))]
    return [np.abs(np.subtract.outer(line, line)), Coordinates(points)], cross, np.sin(3 * line) + points @ [1.0, 0.5]


@pytest.fixture(scope="module")
def gp(data):
    return RobustGP([("power", 1.5), "gaussian"], n_starts=1, range_uncertainty=True).fit(data[0], data[2])


def test_a_process_comes_back_and_predicts_the_same_bits(gp, data):
    again = RobustGP.from_state(gp.get_state())
    assert again.correlations == [("power", 1.5), "gaussian"]
    for ours, theirs in zip(gp.predict(data[1], return_std=True), again.predict(data[1], return_std=True), strict=True):
        assert_array_equal(ours, theirs)
    assert_array_equal(gp.leave_one_out().std, again.leave_one_out().std)
    assert {**again.get_state()}.keys() == gp.get_state().keys()


def test_a_state_of_an_unknown_solver_is_refused(gp):
    state = gp.get_state()
    with pytest.raises(InputError, match="solver is 'quantum', but 'exact' or 'vecchia' is expected"):
        RobustGP.from_state(state | {"params": state["params"] | {"solver": "quantum"}})


def test_every_entry_is_checked(gp):
    state = gp.get_state()
    for name, value in state.items():
        others = [None, "x", [], np.nan]
        if isinstance(value, np.ndarray):
            others += [value[:-1], value[None], value.astype(str), value.astype(complex)]
            others += [np.full_like(value, np.nan)] if value.dtype.kind == "f" else [value - 100]
        for other in others:
            with pytest.raises(Exception) as caught:  # noqa: PT011 - load_model makes one line of whatever it is
                RobustGP.from_state(state | {name: other})
            assert not isinstance(caught.value, (MemoryError, SystemError))
    for name in ("beta", "nugget", "cholesky", "y", "params", "single", "importance", "n_evaluations"):
        with pytest.raises((KeyError, InputError)):
            RobustGP.from_state({key: item for key, item in state.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("beta", np.array([-1.0, 1.0, 1.0]), "beta"),
        ("nugget", -1.0, "nugget"),
        ("df", 0.0, "df"),
        ("single", 1, "single"),
        ("n_evaluations", -1, "n_evaluations"),
        ("coordinates_1", np.zeros((13, 2)), "factor 1: coordinates has shape"),
        ("layout_1", np.array([1, 2]), "layout_1"),
        ("cholesky", np.zeros(104), "cholesky"),
    ],
)
def test_messages_name_the_entry(gp, name, value, message):
    with pytest.raises(InputError, match=message):
        RobustGP.from_state(gp.get_state() | {name: value})

"""Fitted models as arrays: those of earlier versions are read, and predict the same."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from swwl.errors import InputError
from swwl.gp import Coordinates, RobustGP

# Written with its predictions by swwl 0.1.0, before there were solvers: its centers are spelled "centre".  codespell:ignore centre
OLD = Path(__file__).parent / "data" / "state_format1.npz"


@pytest.fixture
def old():
    with np.load(OLD) as file:
        entries = dict(file)
    rest = json.loads(str(entries.pop("rest")))
    prefix = "state/"
    state = {name.removeprefix(prefix): a for name, a in entries.items() if name.startswith(prefix)}
    return state | rest, {name: a for name, a in entries.items() if not name.startswith(prefix)}


def test_a_state_of_the_first_format_predicts_the_same(old):
    state, answers = old
    assert "centre_1" in state and "solver" not in state["params"]
    gp = RobustGP.from_state(state)
    assert gp.solver == "exact" and gp.correlations == [("power", 1.5), "gaussian"]
    cross = [answers["cross"], Coordinates(answers["new"])]
    mean, std = gp.predict(cross, return_std=True)
    _, cov = gp.predict(cross, return_cov=True, test_distances=[answers["among"], None])
    loo = gp.leave_one_out()
    # not bit for bit: another processor's BLAS may round differently
    for name, ours in {"mean": mean, "std": std, "cov": cov, "loo_mean": loo.mean, "loo_std": loo.std}.items():
        assert_allclose(ours, answers[name], rtol=1e-11, atol=1e-13, err_msg=name)


def test_what_is_written_is_spelled_the_new_way_and_says_the_same(old):
    state, answers = old
    gp = RobustGP.from_state(state)
    new = gp.get_state()
    assert "center_1" in new and "centre_1" not in new
    assert new["params"]["solver"] == "exact"
    again = RobustGP.from_state(new)
    cross = [answers["cross"], Coordinates(answers["new"])]
    for a, b in zip(gp.predict(cross, return_std=True), again.predict(cross, return_std=True), strict=True):
        assert_array_equal(a, b)


def test_a_state_of_an_unknown_solver_is_refused(old):
    state, _ = old
    state["params"] |= {"solver": "quantum"}
    with pytest.raises(InputError, match="solver is 'quantum', but 'exact' or 'vecchia' is wanted"):
        RobustGP.from_state(state)

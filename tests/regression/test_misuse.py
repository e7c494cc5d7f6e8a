"""Options and numbers that make no sense are refused by name, before anything is computed or written."""

import os

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, RobustGPRegressor
from swwl.errors import InputError

X = pd.DataFrame({"x": np.linspace(0, 1, 12)})
Y = np.sin(3 * X["x"].to_numpy())


@pytest.mark.parametrize("kind", ["numbers", "curves"])
@pytest.mark.parametrize(("option", "value"), [
    ("random_state", -1), ("random_state", 1.5), ("random_state", "a"), ("n_jobs", 0), ("n_jobs", "a"),
    ("n_starts", 0), ("n_starts", 1.5), ("n_starts", "3"), ("prior", ""), ("prior", "x"), ("regimes", ""),
    ("target_scale", 3), ("scaled", 3), ("trend", 3), ("trend", ""), ("calibrate", "no"), ("calibrate", None),
    ("share_ranges", 1), ("range_uncertainty", "no"), ("groups", "x"),
])  # fmt: skip
def test_options_that_make_no_sense(option, value, kind, monkeypatch):
    """They are refused before anything is read."""
    monkeypatch.setattr("swwl.regression.estimator.as_table", None)
    with pytest.raises(InputError, match=f"^{option} (is|must be) .*{value}"):
        RobustGPRegressor(**{option: value}).fit(
            X, Y if kind == "numbers" else None, curve=None if kind == "numbers" else "c"
        )


@pytest.mark.parametrize("seed", [None, np.int64(3), np.random.RandomState(0)])
def test_seeds_are_those_of_scikit_learn(seed):
    assert RobustGPRegressor(random_state=seed, n_starts=np.int64(1), calibrate=np.bool_(False)).fit(X, Y)


def test_numbers_of_samples_and_levels():
    model = RobustGPRegressor(calibrate=False).fit(X, Y)
    for n, message in ((0, "at least 1"), (-1, "at least 1"), (2.5, "whole number"), (10**15, "GB of memory")):
        with pytest.raises(InputError, match=message):
            model.sample(X, n)
    for level in ("high", None, [0.9, 0.95]):
        with pytest.raises(InputError, match="strictly between 0 and 1"):
            model.predict_interval(X, level=level)


@pytest.mark.parametrize(("y", "shape"), [(Y, (0, 0)), (np.c_[Y, Y**2], (2, 0, 0))])
def test_no_rows_have_an_empty_covariance(y, shape):
    model = RobustGPRegressor(calibrate=False).fit(X, y)
    mean, cov = model.predict(X[:0], return_cov=True)
    assert mean.shape == model.predict(X[:0]).shape and cov.shape == shape


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_models_are_not_written_over_pipes_and_devices(tmp_path):
    model = RobustGPRegressor(calibrate=False).fit(X, Y)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not an ordinary file"):
        model.save(tmp_path / "pipe")
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]
    assert not (tmp_path / "pipe").is_file()


def test_cases_that_are_all_the_same():
    mesh = Mesh([[0.0, 0], [1, 0], [1, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]})
    with pytest.raises(InputError, match="nothing to learn"):
        RobustGPRegressor(random_state=0).fit([mesh] * 8, np.arange(8.0))


def test_meshes_in_space_for_a_model_of_plane_ones():
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    plates = [Mesh(square * [1 + 0.1 * k, 1], {"quad": [[0, 1, 2, 3]]}) for k in range(8)]
    model = RobustGPRegressor(calibrate=False, random_state=0).fit(plates, np.arange(8.0))
    bent = Mesh(np.c_[square, [0, 0, 0, 0.5]], {"triangle": [[0, 1, 2], [0, 2, 3]]})
    with pytest.raises(InputError, match="is in space, but the meshes of the fit were in the plane"):
        model.predict([bent])


def test_many_rows_solver_of_few_rows():
    """All twelve are inducing, so that processes are exact at their ranges; these and weights come from fewer rows."""
    model, exact = (RobustGPRegressor(solver=name, random_state=0).fit(X, Y) for name in ("vecchia", "exact"))
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-3)
    lower, upper = model.predict_interval(X)
    assert ((lower < Y) & (upper > Y)).all() and (upper - lower).max() < 0.02
    for member in model.members_:
        (known,), blocks = member.gps, member.kernel.join(member.training_blocks())
        fixed = {"beta": known.beta_, "nugget": known.nugget_, "prior": known.prior, "names": known.names}
        same = known.__class__(known.correlations, **fixed).fit(blocks, Y)
        found, expected = (gp.leave_one_out().columns() for gp in (known, same))
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-6)
        np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-4)

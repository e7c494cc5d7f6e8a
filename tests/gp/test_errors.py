"""Mistakes get an error that names the culprit, what was found and what is expected."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from swwl.errors import InputError
from swwl.gp import Coordinates, RobustGP

X = np.linspace(0, 1, 10)
D = np.abs(X[:, None] - X)
Y = np.sin(5 * X)


def spoilt(matrix, at, value):
    out = matrix.copy()
    out[at] = value
    return out


@pytest.mark.parametrize(
    "distances, y, message",
    [
        ([D[:, :9]], Y, r"factor 0 of 1 have shape \(10, 9\), but a square matrix"),
        ([D[0]], Y, r"factor 0 of 1 have shape \(10,\), but \(N, N\)"),
        ([spoilt(D, (3, 5), 9.0)], Y, r"not symmetric: .* at \((3, 5|5, 3)\)"),
        ([spoilt(D, (2, 1), -1.0)], Y, r"hold -1 at \(2, 1\), but they must not be negative"),
        ([spoilt(D, (2, 1), np.nan)], Y, r"hold nan at \(2, 1\), but they must be finite"),
        ([spoilt(D, (2, 1), np.inf)], Y, r"hold inf at \(2, 1\)"),
        ([spoilt(D, (4, 4), 0.5)], Y, "hold 0.5 on the diagonal, but 0 is expected"),
        ([D, D], Y, "has 2 items, but 1 are expected: one per correlation"),
        (D, Y, "is one array, but a list"),
        ([D], Y[:9], "but y has 9 rows"),
        ([D], spoilt(Y, 3, np.nan), r"y\[3\] is nan"),
        ([D], np.ones(10), r"y is constant \(1\), so there is nothing to learn"),
        ([D], np.stack([Y, np.ones(10)], axis=1), "column 1 of y is constant"),
        ([D], Y.reshape(2, 5, 1), r"y has shape \(2, 5, 1\)"),
        ([D[:2, :2]], Y[:2], "2 training points, but a trend of 1 columns needs at least 3"),
        ([Coordinates(np.ones((9, 2)))], Y, "have 9 rows, but 10 are expected"),
        ([Coordinates(X)], Y, r"shape \(10,\), but \(N, k\)"),
        ([Coordinates(spoilt(D, (1, 2), np.nan))], Y, r"hold nan at \(1, 2\)"),
    ],
)
def test_fit(distances, y, message):
    with pytest.raises(ValueError, match=message):
        RobustGP(["gaussian"]).fit(distances, y)


def test_names_appear_in_messages():
    with pytest.raises(ValueError, match=r"factor 1 \('speed'\) of 2"):
        RobustGP(["gaussian", "matern52"], names=["mesh", "speed"]).fit([D, -D], Y)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"correlations": ["matern25"]}, "did you mean 'matern52'"),
        ({"correlations": "gaussian"}, r"a list is expected: \['gaussian'\]"),
        ({"correlations": []}, "at least one"),
        ({"names": ["a", "b"]}, "names has 2 entries, but there are 1"),
        ({"method": "bayes"}, "method is 'bayes'"),
        ({"trend": "cubic"}, "trend is 'cubic'"),
        ({"trend": "linear"}, "needs trend_columns"),
        ({"nugget": "guess"}, "nugget is 'guess'"),
        ({"nugget": -1.0}, "nugget is -1.0"),
        ({"nugget_floor": -1.0}, "nugget_floor is -1.0"),
        ({"n_starts": 0}, "n_starts is 0"),
        ({"beta": [1.0, 2.0]}, "one positive number or 1 of them"),
        ({"bounds": (0.0, None)}, "The lower bound is 0.0"),
        ({"bounds": (2.0, 1.0)}, "exceeds its upper bound"),
        ({"prior": "flat"}, "prior is 'flat', but 'robust' or 'gentle' is expected"),
    ],
)
def test_options(options, message):
    with pytest.raises(ValueError, match=message):
        RobustGP(**({"correlations": ["gaussian"]} | options)).fit([D], Y)


@pytest.mark.parametrize(
    "columns, message",
    [
        (np.ones(10), "linearly dependent"),
        (np.ones((9, 1)), "10 rows are expected"),
        (np.full(10, np.nan), "not finite"),
        (Y, "reproduces column 0 of y exactly"),
    ],
)
def test_trend_columns(columns, message):
    with pytest.raises(ValueError, match=message):
        RobustGP(["gaussian"], trend="linear").fit([D], Y, trend_columns=columns)


def test_trend_columns_without_use():
    with pytest.raises(ValueError, match="does not use them"):
        RobustGP(["gaussian"]).fit([D], Y, trend_columns=X)


def test_predict():
    gp = RobustGP(["gaussian"])
    with pytest.raises(NotFittedError, match="call fit first"):
        gp.predict([D])
    gp.fit([D], Y)
    for call, message in [
        (lambda: gp.predict([D[:, :9]]), r"shape \(10, 9\), but \(M, 10\) is expected"),
        (lambda: gp.predict([D, D]), "has 2 items, but 1"),
        (lambda: gp.predict([Coordinates(D)]), "was fitted on distances"),
        (lambda: gp.predict([-D]), "must not be negative"),
        (lambda: gp.predict([D], True, True), "at most one"),
        (lambda: gp.predict([D], return_cov=True), "needs test_distances"),
        (lambda: gp.predict([D], return_cov=True, test_distances=[D[:3, :3]]), r"but \(10, 10\) is expected"),
        (lambda: gp.predict_interval([D], level=1.0), "level is 1.0, but it must lie strictly between"),
        (lambda: gp.predict_interval([D], level=95), "level is 95"),
        (lambda: gp.leave_one_out().interval(0.0), "level is 0.0"),
        (lambda: gp.log_posterior([0.0, 0.0]), "log_beta has 2 entries, but there are 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_predict_with_coordinates():
    gp = RobustGP(["gaussian", "gaussian"]).fit([Coordinates(np.stack([X, X**2], axis=1)), D], Y)
    for items, message in [
        ([D, D], "was fitted on Coordinates"),
        ([Coordinates(X[:, None]), D], "have 1 columns, but fit saw 2"),
        ([Coordinates(np.ones((3, 2))), D], r"factor 1 of 2 has 10 new rows, but factor 0 has 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            gp.predict(items)


def test_an_indefinite_matrix_gets_advice():
    far = 5.0 * (1 - np.eye(4))
    far[0, 1:] = far[1:, 0] = 0.01  # near all others, which are far from each other: no such points exist
    with pytest.raises(np.linalg.LinAlgError, match="check that the distances are Euclidean") as caught:
        RobustGP(["gaussian"], beta=1.0, nugget=0.0).fit([far], [1.0, 2.0, 0.5, 1.0])
    assert isinstance(caught.value, InputError)  # one line for the user, not a traceback

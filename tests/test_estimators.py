"""scikit-learn's own checks on all estimators; what cannot hold is listed with its reason."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import swwl
from swwl import SWWL, GPWarning, GraphSVC, Matern52, PrincipalSWWL, RobustGP, RobustGPRegressor, SWWLEmbedding
from swwl.classification.baselines import FGW, RPW, WWL, GraphHopper, Propagation
from swwl.kernels import Rows

ONE_COLUMN = "a list of numbers is a table of one column, and a list of graphs is one too"
EXPECTED = {
    "check_fit1d": ONE_COLUMN,
    "check_fit2d_predict1d": ONE_COLUMN,
}


@pytest.fixture
def few_rows(monkeypatch):
    """Have the checks take regression data of 40 rows and 3 columns in place of 200 and 10."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    monkeypatch.setattr(estimator_checks, "REGRESSION_DATASET", (x, x @ [1.0, -1, 0.5] + 0.1 * rng.normal(size=40)))


@pytest.mark.slow
@pytest.mark.usefixtures("few_rows")
@parametrize_with_checks(
    [RobustGPRegressor(calibrate=False, n_starts=1)], expected_failed_checks=lambda estimator: EXPECTED
)
def test_the_regressor_on_arrays(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)  # their data are noise, and it says so
        check(estimator)


# Graphs are not arrays, so scikit-learn leaves these alone; what it asks of constructors and parameters holds as well.
ESTIMATORS = [
    RobustGPRegressor(),
    GraphSVC(),
    SWWLEmbedding(),
    RobustGP(),
    SWWL(),
    PrincipalSWWL(),
    Rows(),
    *(WWL(), FGW(), RPW(), Propagation(), GraphHopper()),
]
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_constructors_and_parameters(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (RobustGPRegressor(), "predict"),
        (RobustGPRegressor(), "predict_interval"),
        (RobustGPRegressor(), "predict_distribution"),
        (RobustGPRegressor(), "sample"),
        (GraphSVC(), "predict"),
        (GraphSVC(), "decision_function"),
        (SWWLEmbedding(), "transform"),
        (RobustGP(), "predict"),
    ],
)
def test_an_unfitted_estimator_says_so(estimator, method):
    with pytest.raises(NotFittedError):
        getattr(estimator, method)([[0.0]])
    for loose in ("leave_one_out", "get_state"):
        if hasattr(estimator, loose):
            with pytest.raises(NotFittedError):
                getattr(estimator, loose)()


def test_names_of_columns_are_parameters():
    model = RobustGPRegressor(SWWL("mesh") * Matern52("speed"))
    model.set_params(kernel__mesh__n_projections=7)
    assert clone(model).kernel.factors[0].n_projections == 7


# What estimators say of their parameters, unfitted and as copies.
PARAMETERS = """
from swwl import SWWL, CurveRegressor, Elliptic, FieldRegressor, Matern52, PrincipalSWWL, RobustGP, RobustGPRegressor
from swwl import Rows, SWWLEmbedding
from swwl.estimators import clone

kernel = Elliptic(PrincipalSWWL("mesh", n_components=3, fields=["p"]), "speed")
estimators = [
    RobustGPRegressor(SWWL("mesh") * Matern52("speed"), n_starts=1), CurveRegressor(RobustGPRegressor(kernel)),
    FieldRegressor(), RobustGP(["gaussian", ("power", 1.9)]), SWWLEmbedding(2, fields=["p"]), Rows(), kernel
]
told = []
for one in estimators:
    again = clone(one)
    told += [repr(one), repr(again), sorted(map(str, one.get_params())), list(map(str, again.get_params(deep=False)))]
    assert again is not one and type(again) is type(one)
model = estimators[0].set_params(kernel__speed__log=True, n_starts=2, kernel__mesh__n_projections=7)
try:
    model.set_params(steps=3)
except ValueError as error:
    told.append(str(error)[:60])
told.append(repr(clone(model)))
told = " ".join(" ".join(map(str, told)).split())  # however lines are broken
"""
# In a process that spares scikit-learn, and what scikit-learn makes of such estimators once it is there all the same.
SPARED = """
import sys
from swwl import estimators

estimators.spare_scikit_learn()
exec(sys.argv[1])
assert not any(name.partition(".")[0] == "sklearn" for name in sys.modules)
print(told)
import sklearn.base, sklearn.exceptions

assert not isinstance(model, sklearn.base.BaseEstimator)
assert repr(sklearn.base.clone(model)) == repr(model)
try:
    model.predict([[0.0]])
except sklearn.exceptions.NotFittedError as error:
    print(error)
"""


def test_estimators_are_the_same_without_scikit_learn():
    source = str(Path(swwl.__file__).parents[1])
    command = [sys.executable, "-c", SPARED, PARAMETERS]
    found = subprocess.run(command, env=os.environ | {"PYTHONPATH": source}, capture_output=True, text=True)
    here = {}
    exec(PARAMETERS, here)
    assert isinstance(here["model"], BaseEstimator)
    with pytest.raises(NotFittedError) as raised:
        here["model"].predict([[0.0]])
    assert found.stdout.splitlines() == [here["told"], str(raised.value)], found.stderr

"""One mesh and many inputs: what the kernels make of the mesh is computed once, and answers are the model's."""

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL, Elliptic, InputError, Matern52, PrincipalSWWL, RobustGPRegressor
from swwl.kernels import sliced
from swwl.regression.one_mesh import OneMesh
from swwl.regression.state import member_from_state, member_state, regressor_from_state, regressor_state
from tests.helpers import SMALL, plain_state, plates


@pytest.fixture(scope="module")
def table():
    return plates(40)


@pytest.fixture(scope="module", params=["product", "stack"])
def model(request, table):
    product = SWWL("mesh", **SMALL) * Matern52("load")
    other = Elliptic(PrincipalSWWL("mesh", n_components=2, **SMALL), "load")
    kernel = product if request.param == "product" else [product, other]
    return RobustGPRegressor(kernel, n_starts=1).fit(table[:30], ["stiffness", "weight"])


def test_answers_are_the_models_bit_for_bit(model, table):
    for row in (31, 35):
        one = OneMesh.of(model, {"mesh": table["mesh"][row]})
        case = table.iloc[[row]]
        for _ in range(2):  # what is kept changes nothing
            found = model.predict_represented(one.represent(case[["load"]]))
            wanted = model.predict_distribution(case)
            np.testing.assert_array_equal(found.mean, wanted.mean)


def test_many_inputs_are_those_one_by_one(model, table):
    one = OneMesh.of(model, {"mesh": table["mesh"][31]})
    loads = pd.DataFrame({"load": [1.2, 1.9, 2.7]})
    together = model.predict_represented(one.represent(loads)).mean
    alone = [model.predict_represented(one.represent(loads[k : k + 1])).mean[0] for k in range(3)]
    np.testing.assert_allclose(together, alone, rtol=1e-9)
    prediction, domain = one.predict_with_domain(model, loads)
    assert prediction.mean.shape == (3, 2) and len(domain["inside"]) == 3


def test_the_mesh_is_embedded_once(model, table, monkeypatch):
    one = OneMesh.of(model, {"mesh": table["mesh"][31]})
    monkeypatch.setattr(sliced.SWWL, "represent", lambda *_, **__: pytest.fail("the mesh was embedded again"))
    one.represent(pd.DataFrame({"load": [1.5]}))
    assert one.vectors() is not None


def test_a_state_comes_back_and_predicts_the_same_bits(model, table):
    state = plain_state(regressor_state(model))
    again = regressor_from_state(RobustGPRegressor, state)
    for ours, theirs in zip(*(m.predict(table[30:], return_std=True) for m in (model, again)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    first = model.stack_.members[0]
    copy = member_from_state(member_state(first))
    assert copy.name == first.name and repr(copy.kernel) == repr(first.kernel)


@pytest.mark.parametrize("change", [{"members": []}, {"targets": ["one"]}, {"calibration": [0.0, 1.0]}])
def test_a_state_that_no_fit_leaves_behind_is_refused(model, change):
    with pytest.raises(InputError):
        regressor_from_state(RobustGPRegressor, plain_state(regressor_state(model)) | change)

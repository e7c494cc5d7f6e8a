"""Whether a case is like the training cases: closed forms, invariances, and words for what differs."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from swwl import Components, Elliptic, Matern52, Mesh, RobustGPRegressor, load_model
from swwl.domain import clouds
from swwl.domain.clouds import FLOOR, harmonic_mean, make_cloud, p_values
from swwl.domain.verdict import agreement, far_from_others, judge, make_reference, shown_factors
from swwl.errors import InputError
from swwl.gp.prediction import Prediction
from swwl.jobs.predict import domain_columns, domain_words, n_unlike
from tests.helpers import plate

SKIN = {"measure": "skin", "n_iterations": 0, "quantiles": "mean", "n_projections": 12, "n_quantiles": 24}


def plates(n, seed, low=1.0, high=2.0):
    """Rectangles of several widths and heights, with loads and an answer."""
    rng = np.random.default_rng(seed)
    width, height, load = rng.uniform(low, high, n), rng.uniform(low, high, n), rng.uniform(1, 3, n)
    points, cells = plate(64)
    meshes = [Mesh(points * [w, h], {"triangle": cells}) for w, h in zip(width, height, strict=True)]
    return pd.DataFrame({"mesh": meshes, "load": load, "stress": load / width + 0.1 * height})


@pytest.fixture(scope="module")
def model():
    kernel = Elliptic(Components("mesh", n_components=4, **SKIN), "load")
    return RobustGPRegressor(kernel, n_starts=1).fit(plates(140, 0), "stress")


def test_scores_of_a_cloud_are_those_of_the_formulas():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 4)) * [4, 3, 2, 1] + 5
    cloud = make_cloud(rows)
    new = rng.normal(size=(7, 4)) * 6
    apart = new - rows.mean(axis=0)
    along, off, nearest = cloud.scores(new, np.full(7, 2.0)).T
    np.testing.assert_allclose(along, np.einsum("ij,jk,ik->i", apart, np.linalg.inv(np.cov(rows.T)), apart))
    np.testing.assert_allclose(off, 2.0, rtol=1e-6)  # all axes are kept: only what the coordinates leave is off them
    square = ((new[:, None] - rows) ** 2).sum(axis=2).min(axis=1)
    np.testing.assert_allclose(nearest, np.sqrt(square + 4.0))


def test_meshes_all_alike_have_no_coordinates():
    """Then only what the coordinates leave tells a new mesh apart."""
    cloud = make_cloud(np.empty((7, 0)), np.zeros(7))
    np.testing.assert_array_equal(cloud.scores(np.empty((2, 0)), np.array([0.0, 3.0])), [[0, 0, 0], [0, 3, 3]])
    assert make_cloud(np.ones((7, 80))).p_values(cloud.reference).min() == 1.0
    assert not far_from_others(np.empty((7, 0))).any()


def test_left_out_rows_are_rarely_strange():
    rng = np.random.default_rng(1)
    cloud = make_cloud(rng.normal(size=(250, 30)))
    p = cloud.p_values(cloud.scores(rng.normal(size=(2000, 30))))
    assert np.mean(harmonic_mean(p[:, [0, 2]]) <= 0.03) < 0.06
    assert abs(np.mean(p[:, 0]) - 0.5) < 0.08  # uniform, as p-values of rows of the same kind are


@settings(max_examples=30, deadline=None)
@given(arrays(float, 12, elements=st.floats(-5, 5)), arrays(float, 20, elements=st.floats(-5, 5)), st.floats(0.1, 10))
def test_p_values_fall_as_scores_grow_and_know_no_units(scores, reference, unit):
    p = p_values(np.sort(scores), reference)
    assert (np.diff(p) <= 0).all() and p.min() >= 1 / 21 and p.max() <= 1
    np.testing.assert_array_equal(p, p_values(np.sort(scores) * 2.0, reference * 2.0))
    means = harmonic_mean(np.column_stack([p, p]))
    np.testing.assert_allclose(means, p)


def test_what_lies_little_off_is_floored():
    rng = np.random.default_rng(2)
    rows = np.c_[rng.normal(size=(200, 2)), np.zeros(200)]
    cloud = make_cloud(rows)
    little, much = 0.5 * FLOOR * cloud.spread, 2 * FLOOR * cloud.spread
    p = cloud.p_values(cloud.scores(np.array([[0, 0, little], [0, 0, much]])))
    assert p[0, 1] == 1.0 and p[1, 1] < 0.01


def test_wide_rows_and_their_coordinates_say_the_same():
    rng = np.random.default_rng(3)
    axes = np.linalg.qr(rng.normal(size=(200, 5)))[0]
    z = rng.normal(size=(150, 5)) * [5, 4, 3, 2, 1]
    new = rng.normal(size=(6, 5)) * 6
    np.testing.assert_allclose(
        make_cloud(z @ axes.T).scores(new @ axes.T), make_cloud(z).scores(new), rtol=1e-6, atol=1e-6
    )


def test_training_like_plates_are_inside_and_others_are_not(model):
    like = model.domain(plates(100, 1))
    assert list(like.columns[:4]) == ["score", "inside", "kind", "why"] and like["inside"].dtype == bool
    assert like["inside"].mean() >= 0.94
    wider = model.domain(plates(40, 2, 2.4, 2.8))
    assert not wider["inside"].any()
    assert set(wider["kind"]) <= {"further along known variations", "unlike any training case"}
    table = plates(10, 3)
    table["mesh"] = [Mesh(1000 * mesh.points, mesh.cells) for mesh in table["mesh"]]
    found = model.domain(table)
    assert not found["inside"].any() and set(found["kind"]) == {"other units, frame or kind"}
    assert "units" in found["why"].iloc[0]


def test_a_number_far_out_of_range_is_named(model):
    table = plates(5, 4).assign(load=9.0)
    found = model.domain(table)
    assert not found["inside"].any() and (found["kind"] == "input out of range").all()
    assert found["why"].str.startswith("load is 9, trained from").all()
    assert (found["widened"] == "stress").all()


def test_rows_do_not_depend_on_their_neighbors_and_keep_their_index(model):
    table = plates(6, 5).set_index(pd.Index(list("abcdef")))
    found = model.domain(table)
    assert list(found.index) == list("abcdef")
    pd.testing.assert_frame_equal(model.domain(table.iloc[2:3]), found.iloc[2:3])
    prediction, same = model.predict_with_domain(table)
    np.testing.assert_array_equal(prediction.mean, model.predict(table))
    pd.testing.assert_frame_equal(same, found)


def test_a_loaded_model_says_the_same(model, tmp_path):
    model.save(tmp_path / "m.swwl")
    table = plates(8, 6, 0.5, 3.0)
    pd.testing.assert_frame_equal(load_model(tmp_path / "m.swwl").domain(table), model.domain(table))


def test_few_training_cases_cannot_tell():
    table = plates(40, 0)
    kernel = Elliptic(Components("mesh", n_components=2, **SKIN), "load")
    found = RobustGPRegressor(kernel, n_starts=1, calibrate=False).fit(table, "stress").domain(table)
    assert found["inside"].isna().all() and (found["kind"] == "cannot tell").all()
    assert found["why"].str.startswith("40 training cases are too few, at least 100").all()


def test_few_training_cases_tell_what_needs_no_statistics():
    table = plates(40, 0)
    kernel = Elliptic(Components("mesh", n_components=2, **SKIN), "load")
    model = RobustGPRegressor(kernel, n_starts=1, calibrate=False).fit(table, "stress")
    new = plates(4, 3)
    new.loc[1, "load"] = 40.0
    large = new.loc[2, "mesh"]
    new["mesh"] = new["mesh"].astype(object)
    new.at[2, "mesh"] = Mesh(1000 * large.points, large.cells)
    found = model.domain(new)
    assert found["inside"].isna().tolist() == [True, False, False, True]
    assert not found["inside"].iloc[[1, 2]].any() and (found["tail"].iloc[[1, 2]] < 0.01).all()
    assert found["kind"].iloc[:3].tolist() == ["cannot tell", "input out of range", "other units, frame or kind"]
    assert "too few" not in "".join(found["why"].iloc[1:3])
    told = domain_words(found, 40, 1)
    assert told[0].startswith("1 of 4 cases is outside the training range") and told[1].startswith(
        "2 of 4 cases are unlike"
    )
    assert told[-1].startswith("whether the other 2 cases are like the 40 training cases cannot be told")
    assert n_unlike(found) == 2 and domain_columns(found)["inside_domain"] == [None, False, False, None]


def test_models_without_meshes_and_with_several_targets():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(120, 2)), columns=["a", "b"])
    y = pd.DataFrame({"u": table["a"] ** 2, "v": np.sin(3 * table["b"])})
    model = RobustGPRegressor(Matern52("a") * Matern52("b"), n_starts=1).fit(table, y)
    found = model.domain(pd.DataFrame({"a": [0.5, 0.5, 4.0], "b": [0.5, 0.6, -3.0]}))
    assert found["inside"].tolist() == [True, True, False]
    assert found["widened"].iloc[2] == "u, v"
    with pytest.raises(InputError, match="no rows"):
        model.domain(table[:0])


def test_the_case_of_a_table_has_no_shape():
    """Fifteen columns that hardly differ from each other, and a case in which they do."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{k}": 1e-3 * rng.uniform(size=200) for k in range(15)}).add(rng.uniform(size=200), axis=0)
    new = pd.DataFrame([rng.choice([0.1, 0.9], 15)], columns=table.columns)
    factors = [Matern52(name) for name in table]
    rows = [factor.fit(table[factor.column]) for factor in factors]
    flat = np.ones((200, 1))
    reference = make_reference(factors, rows, Prediction(0 * flat, flat, np.inf), flat, table)
    found = judge(reference, factors, [factor.represent(new[factor.column]) for factor in factors], flat[:1], new)
    why = found["why"][0]
    assert "the case combines its numbers as none of the training cases does" in why and "shape" not in why


def test_the_skin_shows_a_mesh_best():
    factors = [Components("mesh", measure=None), Components("mesh", measure="area"), Components("mesh", **SKIN)]
    assert shown_factors(factors) == [2] and shown_factors(factors[:2]) == [1]


def test_answers_that_moved_are_found_and_others_not():
    rng = np.random.default_rng(0)
    rejected = {0.0: 0, 1.5: 0}
    flat = Prediction(np.zeros(10), np.ones(10), np.inf)
    old = Prediction(np.zeros(100), np.ones(100), np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(100):
            train = rng.normal(size=100)
            for shift in rejected:
                rejected[shift] += agreement(rng.normal(size=10) + shift, flat, train, old) <= 0.05
    assert rejected[0.0] <= 11 and rejected[1.5] >= 90


def test_many_training_cases_are_stood_for_by_a_sample(monkeypatch, model):
    whole = model.domain_reference()
    assert np.mean(whole.left_out_scores() <= 0.03) < 0.08
    monkeypatch.setattr(clouds, "_MOST_ROWS", 110)
    fewer = make_reference(
        model.kernel_.factors, model.train_rows_, model.leave_one_out(), whole.shape_std, model.train_inputs_
    )
    assert len(fewer.clouds["mesh"][1].reference) == 110 and not len(fewer.left_out_scores())

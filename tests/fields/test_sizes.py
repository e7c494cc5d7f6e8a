"""Fields as amplitudes times shapes: predictions keep the limits and the values that all training fields keep."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from swwl import FieldRegressor, InputError, Mesh, load_model
from swwl.fields.estimator import held_words
from swwl.fields.fit import whole_field
from swwl.fields.model import FieldModel, NodeAnswer
from swwl.fields.one_mesh import PreparedFields
from swwl.fields.sizes import CaseSizes, field_sizes, stretch, worth_a_model
from swwl.fields.training import held_values
from swwl.fields.values import Warp, kept_limits
from swwl.mesh.remesh.refine import subdivided
from swwl.regression.intervals import WholeBand, floored

N_TRAIN, N_TEST = 48, 24


def beam(rng):
    """A rectangle of triangles, held on the left, with a stress that peaks there; loads over two decades."""
    length, height, load = rng.uniform(2, 4), rng.uniform(0.4, 0.6), 10 ** rng.uniform(0, 2)
    n, m = rng.integers(18, 26), rng.integers(5, 8)
    x, y = (part.ravel() for part in np.meshgrid(np.linspace(0, length, n), np.linspace(0, height, m)))
    corner = (np.arange(m - 1)[:, None] * n + np.arange(n - 1)).ravel()
    cells = np.vstack([np.c_[corner, corner + 1, corner + n + 1], np.c_[corner, corner + n + 1, corner + n]])
    bending = load * (length - x) / height**3
    fields = {
        "stress": bending * np.abs(2 * y - height),
        "moved": np.column_stack([-bending * (2 * y - height) * x / 9, bending * x**2]) * (x / length)[:, None],
    }
    clamp = np.column_stack([np.arange(m - 1) * n, np.arange(1, m) * n])
    return {"mesh": Mesh(np.c_[x, y], {"triangle": cells}, fields, groups={"clamp": clamp}), "load": load}


@pytest.fixture(scope="module")
def beams():
    rng = np.random.default_rng(0)
    table = pd.DataFrame([beam(rng) for _ in range(N_TRAIN + N_TEST)])
    train, test = table[:N_TRAIN], table[N_TRAIN:].reset_index(drop=True)
    return FieldRegressor(basis_size=40, n_modes=6).fit(train, ["stress", "moved"]), test


def test_loads_over_decades_are_amplitudes(beams):
    model, test = beams
    assert all(one.amplitude for one in model.models_.values()) and model.sizes_ is not None
    found, truth = model.predict(test), test["mesh"]
    for name in ("stress", "moved"):
        errors = [np.abs(one[name] - mesh.fields[name]).max() / np.abs(mesh.fields[name]).max()
                  for one, mesh in zip(found, truth, strict=True)]  # fmt: skip
        assert np.median(errors) < 0.25


def test_sizes_are_those_of_their_own_model(beams):
    """Embeddings that its kernels share with those of the fields are made once."""
    model, test = beams
    cases, alone = model.cases(test), model.sizes_.predict_distribution(test, widen=False)
    parts = [part for name in ("stress", "moved") for part in cases.case_sizes[name]]
    np.testing.assert_allclose(np.column_stack(parts[::2]), alone.mean, rtol=1e-9)
    np.testing.assert_allclose(np.column_stack(parts[1::2]), alone.std, rtol=1e-9)


def test_limits_and_held_values_are_kept(beams):
    model, test = beams
    assert model.limits_ == {"stress": (0.0, np.inf), "moved": (-np.inf, np.inf)}
    assert model.held_["moved"]["clamp"].tolist() == [0.0, 0.0] and not model.held_["stress"]
    cases = model.cases(test)
    (means, stds), bounds, bands = cases.predict(), cases.predict_interval(), cases.predict_interval(simultaneous=True)
    draws = cases.sample(5, 0)
    for row, mesh in enumerate(test["mesh"]):
        held = mesh.groups["clamp"].nodes
        for part in (means, *bounds, *bands):
            assert (part[row]["stress"] >= 0).all() and (part[row]["moved"][held] == 0).all()
        assert (draws[row]["stress"] >= 0).all() and (draws[row]["moved"][:, held] == 0).all()
        assert (stds[row]["moved"][held] == 0).all()


def test_bands_hold_whole_fields_and_do_not_depend_on_fineness(beams):
    model, test = beams

    def inside(table):
        lower, upper = model.predict_interval(table, 0.9, simultaneous=True, widen=False)
        for name in ("stress", "moved"):
            yield np.mean([
                ((low[name] <= mesh.fields[name]) & (mesh.fields[name] <= high[name])).all()
                for low, high, mesh in zip(lower, upper, table["mesh"], strict=True)
            ])  # fmt: skip

    assert all(share >= 0.75 for share in inside(test))
    fine = test.assign(mesh=[subdivided(mesh) for mesh in test["mesh"]])
    given, finer = (model.predict_interval(one, 0.9, simultaneous=True, widen=False) for one in (test, fine))
    pointwise = model.predict_interval(test, 0.9, widen=False)
    for name in ("stress", "moved"):
        ratios = []
        for row in range(len(test)):
            widths = [upper[row][name] - lower[row][name] for lower, upper in (given, pointwise, finer)]
            assert widths[0].mean() > widths[1].mean()
            ratios.append(widths[2].mean() / widths[0].mean())
        assert np.median(ratios) == pytest.approx(1, abs=0.1)


def test_largest_values_agree_with_the_field(beams):
    model, test = beams
    for name in ("stress", "moved"):
        top = np.array([np.linalg.norm(np.c_[mesh.fields[name]], axis=1).max() for mesh in test["mesh"]])
        found = model.derived(test, "largest", field=name)
        assert ((found["lower"] <= top) & (top <= found["upper"])).mean() >= 0.8
        assert (found["lower"] > 0).all()
        if model.models_[name].power:
            means = [np.linalg.norm(np.c_[one[name]], axis=1).max() for one in model.predict(test)]
            np.testing.assert_allclose(means, found["mean"], rtol=1e-6)


def test_one_mesh_and_a_file_say_the_same(beams, tmp_path):
    model, test = beams
    model.save(tmp_path / "beams.swwl")
    again = load_model(tmp_path / "beams.swwl")
    first = test[:1]
    before, after = (one.predict_interval(first, 0.9, simultaneous=True) for one in (model, again))
    prepared = PreparedFields(model, first["mesh"][0]).cases(first[["load"]])
    here = prepared.predict_interval(0.9, simultaneous=True)
    for name in ("stress", "moved"):
        for a, b, c in zip(before, after, here, strict=True):
            np.testing.assert_allclose(a[0][name], b[0][name], rtol=1e-9)
            np.testing.assert_allclose(a[0][name], c[0][name], rtol=1e-9)


def test_bands_need_folds(beams):
    _, test = beams
    model = FieldRegressor(basis_size=20, n_modes=3, calibrate=False).fit(test[:12], "stress")
    with pytest.raises(InputError, match="Bands of whole fields need folds, and there were none for stress"):
        model.predict_interval(test[:1], simultaneous=True)


def test_sizes_do_not_depend_on_fineness():
    rng = np.random.default_rng(1)
    mesh = beam(rng)["mesh"]
    x = mesh.points[:, :1]
    fine = subdivided(mesh)
    assert field_sizes(fine, fine.points[:, :1]) == pytest.approx(field_sizes(mesh, x), rel=2e-3)
    assert field_sizes(mesh, 3 * x)[0] == pytest.approx(3 * field_sizes(mesh, x)[0])
    assert not worth_a_model(np.ones((5, 2)))


@given(arrays(float, (7, 2), elements=st.floats(-1e3, 1e3)), st.floats(0.1, 1e4), st.sampled_from((2.0, 6.0, 18.0)))
def test_stretched_fields_have_the_largest_size(values, largest, power):
    times = stretch(values, largest, power)
    size = np.linalg.norm(values, axis=1)
    assert (times > 0).all()
    if size.max() > 1e-3 and 1 / 3 <= largest / size.max() <= 3:
        assert (times[:, 0] * size).max() == pytest.approx(largest, rel=1e-9)


def test_no_sizes_change_nothing():
    assert CaseSizes.none(3).row(1).mean == 0
    assert stretch(np.array([[1.0], [2.0]]), np.nan, 2.0).tolist() == [[1.0], [1.0]]


def test_limits_that_most_fields_reach():
    rng = np.random.default_rng(0)
    waves = [np.clip(rng.normal(size=(40, 1)), -1, 0.5) for _ in range(9)]
    assert kept_limits(waves) == (-1.0, 0.5)
    assert kept_limits([rng.normal(size=(40, 1)) for _ in range(9)]) == (-np.inf, np.inf)
    assert kept_limits([np.abs(rng.normal(size=(40, 2)))]) == (-np.inf, np.inf)  # vectors have none
    warp = Warp.of("none", np.concatenate(waves), (-1.0, 0.5))
    assert warp.inverse(np.array([[-99.0], [99.0]])).ravel().tolist() == [-1.0, 0.5]


def test_held_components_by_themselves():
    """A plane of symmetry holds one component alone."""
    ends = {"": (np.array([0.0, 0.0]), np.array([1.0, 2.0])), "plane": (np.array([0.0, 0.0]), np.array([0.0, 1.5]))}
    found = held_values([ends, ends])
    np.testing.assert_array_equal(found["plane"], [0.0, np.nan])


@given(arrays(float, 30, elements=st.floats(0.01, 50)), st.floats(0.05, 0.95))
def test_bands_hold_their_share_of_the_fields_they_come_from(errors, level):
    found = WholeBand(np.sort(errors), 0.0)
    assert (errors <= found.width(level) * (1 + 1e-12)).mean() >= level - 1 / 30
    assert found.width(0.999) >= found.width(level)


def test_deviations_are_floored():
    sd = np.array([[0.0], [2.0]])
    assert floored(sd, 0.0).tolist() == sd.tolist()
    assert floored(sd, 1.0)[0, 0] == pytest.approx(2**0.5)
    assert whole_field([np.full((2, 1), np.nan)], [sd]) is None


def test_answers_of_one_node_by_hand(beams):
    """Mean, deviation and interval of a field that is an amplitude times one shape."""
    model = beams[0].models_["stress"]
    y = np.array([[0.3]])
    answer = NodeAnswer(model, y, np.array([[0.1]]), np.array([[7.0]]), np.array([[np.nan]]))
    assert answer.mean() == 7 * model.warp.inverse(y)
    lower, upper = answer.interval(0.95)
    assert lower < answer.mean() < upper and answer.std() > 0
    held = NodeAnswer(model, y, np.array([[0.1]]), np.array([[7.0]]), np.array([[5.0]]))
    assert held.mean() == held.interval(0.9)[0] == held.interval(0.9, whole=True)[1] == 5 and held.std() == 0


@pytest.mark.slow
def test_laws_enter_amplitudes_where_left_out_cases_agree(beams, tmp_path):
    """With its law a load far beyond those of training is no news: fields grow with it."""
    _, test = beams
    rng = np.random.default_rng(1)
    train = pd.DataFrame([beam(rng) for _ in range(N_TRAIN)])
    model = FieldRegressor(basis_size=40, n_modes=6, scaled="stress ~ load").fit(train, ["stress", "moved"])
    (law,) = model.laws_
    assert law.used and law.error < law.plain_error and "stress is learned over load" in law.words
    small, large = (model.cases(test.assign(load=test["load"] * times)).case_sizes for times in (1.0, 1e3))
    grown = large["stress"].mean - small["stress"].mean
    assert np.abs(grown - np.log(1e3)).max() < 0.3 < np.abs(large["moved"].mean - small["moved"].mean).max()
    model.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl")
    assert again.laws_ == model.laws_
    for one, other in zip(model.predict(test), again.predict(test), strict=True):
        np.testing.assert_array_equal(one["stress"], other["stress"])
    held = PreparedFields(model, test["mesh"][0]).cases(test.loc[[0], ["load"]])
    np.testing.assert_array_equal(held.predict()[0][0]["stress"], model.predict(test[:1])[0]["stress"])


@pytest.mark.slow
def test_a_wrong_law_is_not_used(beams):
    rng = np.random.default_rng(2)
    train = pd.DataFrame([beam(rng) for _ in range(N_TRAIN)])
    model = FieldRegressor(basis_size=30, n_modes=4, scaled={"stress": "1 / load"}).fit(train, "stress")
    assert not model.laws_[0].used and "not used" in model.laws_[0].words
    with pytest.raises(InputError, match="names 'pull', but the numeric inputs are load"):
        FieldRegressor(scaled="stress ~ pull").fit(train, "stress")


def test_derived_numbers_keep_the_limits_of_their_field():
    """However unsure samples are: a size is not negative, and the mean of a field at least zero is not, either."""
    warp = Warp.of("none", np.array([[1.0], [2.0]]), (0.0, 5.0))
    model = FieldModel.__new__(FieldModel)
    model.warp, model.numbers = warp, {}
    drawn, wide = np.array([[0.1, 0.2, 4.9]]), np.array([9.0])
    for name, ends in {"max": (0.0, 5.0), "mean": (0.0, 5.0), "largest": (0.0, None), "mean_size": (0.0, None)}.items():
        found = model.number(name, drawn, 0.95, wide)
        assert found["lower"][0] == ends[0] and (ends[1] is None or found["upper"][0] == ends[1])
    assert model.number("integral", drawn, 0.95, wide)["lower"][0] < 0


def test_what_a_history_is_held_at_is_said_in_a_few_words():
    assert held_words(np.array([20.0] * 9 + [np.nan] * 11), times=20) == "20 at 9 of 20 times, free at the others"
    assert held_words(np.zeros(3)) == "0"

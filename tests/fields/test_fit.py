"""The fit of one field on shared nodes, stage by stage: coding, candidates, processes of modes, folds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from swwl import Matern52
from swwl.fields.candidates import ModeKernel, Settings, choose, fold_error, groups_of, pair_of_groups, quick_fit
from swwl.fields.coding import MOST_SCORED, FieldData, code_nodes, scored_nodes
from swwl.fields.fit import count_fits, fit_field
from swwl.fields.geometry.descriptors import Describer
from swwl.fields.values import FieldKind
from swwl.kernels.base import Product
from swwl.regression.stack import Member

N, NODES = 20, 15


@pytest.fixture(scope="module")
def case():
    """Fields sin(3 x) p(s) + x² q(s) at fixed nodes s: two modes, whose sizes are smooth in x; and noise beside x."""
    rng = np.random.default_rng(0)
    x, noise, s = rng.uniform(0, 1, N), rng.normal(size=N), np.linspace(0, 1, NODES)
    values = np.sin(3 * x)[:, None] * np.cos(4 * s) + (x**2)[:, None] * s
    nodes = [np.arange(NODES)] * N
    shares = [np.full((NODES, 1), 1 / NODES)] * N
    weights = [np.full(NODES, 1 / NODES)] * N
    held = [np.zeros((NODES, 1), bool)] * N
    kind, fields = FieldKind("u", 1, True, False), [v[:, None] for v in values]
    data = FieldData(kind, fields, weights, [{}] * N, nodes, shares, held)
    kernels = []
    for name, column in {"x": x, "noise": noise}.items():
        factor = Matern52(name)
        kernels.append(ModeKernel.of(Member(name, Product(factor), [factor.fit(pd.Series(column))]), 0))
    return data, kernels


def settings(**changed):
    fits = []
    given = {"n_modes": 4, "basis_size": 10, "recipes": {}, "describer": Describer(1, 1.0, False), "warps": ["none"]}
    return Settings(**given | changed, seed=0, on_fit=lambda: fits.append(1)), fits


@pytest.mark.parametrize("number", [0, 1, 5, 6, 7, 20])
@pytest.mark.parametrize("make", [groups_of, pair_of_groups])
def test_groups_hold_every_mode_once(make, number):
    assert [k for group in make(number) for k in range(number)[group]] == list(range(number))


def test_large_meshes_are_scored_at_some_nodes_that_a_seed_draws():
    assert scored_nodes(7, 0).tolist() == list(range(7))
    drawn = scored_nodes(3 * MOST_SCORED, 1)
    assert len(np.unique(drawn)) == MOST_SCORED and (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(drawn, scored_nodes(3 * MOST_SCORED, 1))
    assert not np.array_equal(drawn, scored_nodes(3 * MOST_SCORED, 2))


def test_modes_of_nodes_are_those_of_a_singular_value_decomposition(case):
    data, _ = case
    coded = code_nodes(data, "none")
    modes, sizes = coded.encoded.modes(np.arange(N), 4)
    values = np.array(data.values)[:, :, 0]
    exact = np.linalg.svd(values - values.mean(axis=0), compute_uv=False)
    found = [coded.field_at(data, row, modes, sizes[row])[:, 0] for row in range(N)]
    np.testing.assert_allclose(coded.warp.inverse(np.array(found)), values, atol=1e-6)
    spread = np.linalg.svd(sizes - sizes.mean(axis=0), compute_uv=False)[:2]
    np.testing.assert_allclose(spread[1] / spread[0], exact[1] / exact[0], rtol=1e-4)


def test_a_value_that_is_not_known_gets_the_mean_of_the_other_meshes(case):
    data, _ = case
    values = [v.copy() for v in data.values]
    values[3][5] = np.nan
    holed = replace(data, values=values)
    assert len(holed.pool()) == len(data.pool()) - 1
    modes, sizes = code_nodes(holed, "none").encoded.modes(np.arange(N), 4)
    assert np.isfinite(sizes).all() and np.isfinite(modes.mean).all()


def test_the_input_that_matters_has_the_smaller_error_and_is_chosen(case):
    data, kernels = case
    given, _ = settings()
    coded = code_nodes(data, "none")
    errors = [fold_error(data, coded, one, quick_fit(coded, one, given), 4) for one in kernels]
    assert errors[0] < 0.01 < 0.1 < errors[1]
    choice = choose(data, kernels[::-1], given)
    assert choice.inputs is kernels[0]
    assert [row["chosen"] for row in choice.rows] == [False, True]
    assert [row["rrmse"] for row in choice.rows] == errors[::-1]


def test_a_fitted_field_predicts_its_meshes_and_counts_its_fits(case):
    data, kernels = case
    given, fits = settings()
    fitted = fit_field(data, kernels[:1], given, calibrate=True)
    assert fitted.scores["rrmse"] < 0.1 and 0.8 < fitted.scores["coverage"] <= 1
    assert (np.diff(fitted.model.widths) >= 0).all()  # a larger share needs a wider interval
    assert {"max", "min", "mean"} <= set(fitted.model.numbers)
    plain_fits = len(fits)
    given, fits = settings()
    plain = fit_field(data, kernels[:1], given, calibrate=False)
    assert plain.scores == {} and len(fits) < plain_fits <= count_fits(1, 1, 4, 1, calibrate=True)


def test_a_field_that_never_changes_has_no_modes(case):
    data, kernels = case
    same = replace(data, values=[np.full((NODES, 1), 7.0)] * N)
    assert fit_field(same, kernels, settings()[0], calibrate=True).model.modes.number == 0


def test_a_fold_may_have_fewer_modes_than_all_meshes_have(case):
    """Nine meshes, each with a bump of its own at another node: all have eight modes, a fold has fewer."""
    data, kernels = case
    few = FieldData(data.kind, [row[:, None] for row in np.eye(9, NODES)], *(
        part[:9] for part in (data.weights, data.blocks, data.scored, data.shares, data.held)
    ))  # fmt: skip
    x = np.linspace(0, 1, 9)
    factor = Matern52("x")
    kernel = ModeKernel.of(Member("x", Product(factor), [factor.fit(pd.Series(x))]), 0)
    coded, (options, _) = code_nodes(few, "none"), settings(n_modes=9)
    gps = quick_fit(coded, kernel, options)
    assert len(gps) == 2
    assert np.isfinite(fold_error(few, coded, kernel, gps, 9))

"""Widths of intervals and bands."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from swwl.errors import InputError
from swwl.regression.curves.bands import calibrate, curve_deviations, error_correlation
from swwl.regression.curves.cases import CurveCases, widening
from swwl.regression.curves.coding import CodedCurves, CurveBasis
from swwl.regression.intervals import conformal, whole_band

M = 40


def basis(noise=0.0):
    t = np.linspace(0, np.pi, M)
    shapes = np.linalg.qr(np.column_stack([np.sin(t), np.sin(2 * t)]))[0].T
    return CurveBasis(t, np.zeros(M), shapes, np.full(M, noise), False)


def test_deviations_are_those_of_a_sum_of_correlated_coefficients():
    found, correlation = basis(0.01), np.array([[1.0, 0.6], [0.6, 1.0]])
    std = np.array([[1.0, 2.0]])
    covariance = correlation * np.outer(std, std)
    expected = np.sqrt(np.einsum("km,kl,lm->m", found.shapes, covariance, found.shapes) + 0.01)
    np.testing.assert_allclose(curve_deviations(found, correlation, std)[0], expected)


def test_bands_hold_what_they_say_of_curves_like_those_left_out():
    rng = np.random.default_rng(0)
    plain, n = basis(), 400
    draw = lambda: rng.normal(size=(n, 2)) @ np.array([[2.0, 0.0], [1.0, 0.5]]).T  # noqa: E731
    truth = plain.decode(draw())
    told = np.zeros((n, 2)), np.ones((n, 2))  # too sure, and blind to how errors go together
    coded = CodedCurves(truth, plain, plain.encode(truth), np.zeros((n, M)))
    bands, errors = calibrate(coded, told, np.arange(n), 0)
    np.testing.assert_allclose(errors, truth, atol=1e-12)
    cases = CurveCases(plain, bands, *told, False, None)
    new = plain.decode(draw())
    lower, upper = cases.predict_interval(0.95)
    assert abs(((lower <= new) & (new <= upper)).mean() - 0.95) < 0.03
    lower, upper = cases.predict_interval(0.9, simultaneous=True)
    assert abs(((lower <= new) & (new <= upper)).all(axis=1).mean() - 0.9) < 0.04
    drawn = bands.draw(plain, bands.rest, told[0][:1], told[1][:1], 4000, rng)[:, 0]
    assert abs(bands.correlation[0, 1] - 0.89) < 0.05
    np.testing.assert_allclose(drawn.std(axis=0).mean(), new.std(axis=0).mean(), rtol=0.1)


def test_few_curves_have_no_correlation_worth_telling():
    rng = np.random.default_rng(0)
    found = error_correlation(rng.normal(size=(6, 5)))
    assert np.abs(found - np.eye(5)).max() < 0.5 and np.linalg.eigvalsh(found).min() > 0
    assert error_correlation(np.zeros((5, 1))).tolist() == [[1.0]]
    np.linalg.cholesky(error_correlation(np.ones((9, 3))))


def test_a_floor_helps_where_deviations_vanish():
    errors, deviations = np.ones((30, 2)), np.tile([1.0, 1e-3], (30, 1))
    assert whole_band(errors, deviations).floor > 0


def test_beyond_the_largest_error_bands_grow():
    errors = np.arange(1.0, 10.0)
    assert conformal(errors, 0.5) == 5.0 and conformal(errors, 0.99) > 9.0
    for level in (0.0, 1.0, np.nan):
        with pytest.raises(InputError, match="between 0 and 1"):
            conformal(errors, level)


def test_unsure_cases_are_doubled():
    assert widening(np.array([[3.0, 4.0], [3.0, 4.1]]), 5.0).tolist() == [[1.0], [2.0]]


def test_curves_that_were_never_negative_are_not_predicted_so():
    rng, plain = np.random.default_rng(0), basis()
    truth = plain.decode(np.abs(rng.normal(size=(60, 2))) * [2.0, 0.1])
    for shift, least in ((0.0, 0.0), (-1.0, -np.inf)):
        values = np.maximum(truth, 0.0) + shift
        coded = CodedCurves(values, plain, plain.encode(values), np.zeros((60, M)))
        bands, _ = calibrate(coded, (np.zeros((60, 2)), np.ones((60, 2))), np.arange(60), 0)
        assert bands.least == least
        cases = CurveCases(plain, bands, np.zeros((1, 2)), np.ones((1, 2)), False, pd.DataFrame(index=[0]))
        for whole in (False, True):
            assert (cases.predict_interval(simultaneous=whole)[0].min() >= 0) == (least == 0)
        numbers = cases.derived(["peak", "integral", "lowest"])
        assert (numbers.filter(like="lower").to_numpy().min() >= 0) == (least == 0)


def test_bands_of_few_noisy_curves_hold_new_ones():
    """Where noise happened to be small, new curves leave the band; the curves that tell of it must not hide that."""
    rng, held = np.random.default_rng(3), []
    for _ in range(20):
        known, new = rng.normal(size=(2, 30, M))
        plain = replace(basis(), noise=(known**2).mean(axis=0))
        told = np.zeros((30, 2)), np.full((30, 2), 1e-9)
        coded = CodedCurves(plain.mean + known, plain, np.zeros((30, 2)), known)
        bands, _ = calibrate(coded, told, np.arange(30), 0)
        lower, upper = CurveCases(plain, bands, *told, False, None).predict_interval(0.9, simultaneous=True)
        held.append(((lower <= plain.mean + new) & (plain.mean + new <= upper)).all(axis=1).mean())
    assert abs(np.mean(held) - 0.9) < 0.04

"""Principal components of wide rows, and what a few rows know of another."""

import numpy as np

from swwl.embedding.components import Span


def test_a_span_tells_folds_apart_whose_row_numbers_have_the_same_sum():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    span = Span(rows)
    for out in ([0, 3], [1, 2]):
        train = np.setdiff1d(np.arange(6), out)
        assert np.allclose(span.coordinates(train, np.array(out), rows), rows[out], atol=1e-5)


def test_one_row_far_away_takes_no_digits_of_the_others():
    # what only a strange mesh has: the others are the same, but for rounding
    rows = np.full((8, 3), 0.3)
    rows[5] = [0.9, 0.1, 0.4]
    rows[2] += 1e-12
    train, out = np.delete(np.arange(8), 5), np.array([5])
    assert np.abs(Span(rows).coordinates(train, out, rows) - 0.3).max() < 1e-9

    ordinary = np.random.default_rng(1).normal(size=(9, 3))
    far = np.vstack([ordinary, np.full((1, 3), 1e4)])
    for train in (np.arange(8), np.array([0, 1, 2, 3, 4, 5, 6, 7, 9])):  # without that row, and with it
        known = Span(far).coordinates(train, np.array([8]), far)
        assert np.allclose(known, far[8], atol=1e-4)

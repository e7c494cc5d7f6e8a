"""Principal components of wide rows, and what a few rows know of another."""

import numpy as np

from swwl.embedding.components import Span


def test_a_span_tells_folds_apart_whose_row_numbers_have_the_same_sum():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    span = Span(rows)
    for out in ([0, 3], [1, 2]):
        train = np.setdiff1d(np.arange(6), out)
        assert np.allclose(span.coordinates(train, np.array(out), rows), rows[out], atol=1e-5)

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from swwl import pairwise_distances


@pytest.mark.parametrize("r", [1, 2])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("block_bytes", [2**26, 4000])
def test_distances_equal_scipys(r, squared, block_bytes, monkeypatch):
    monkeypatch.setattr("swwl.embedding.distances._BLOCK_BYTES", block_bytes)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 9, 50)).astype(np.float32)
    b = b[:6]
    few = pairwise_distances(a[:2], b, r=r, squared=squared)
    np.testing.assert_allclose(few, pairwise_distances(a, b, r=r, squared=squared)[:2], rtol=1e-12)
    metric = {1: "cityblock", 2: "euclidean"}[r]
    power = 2 if squared else 1
    expected = cdist(a.astype(float), b.astype(float), metric) ** power
    np.testing.assert_allclose(pairwise_distances(a, b, r=r, squared=squared), expected, rtol=1e-12)
    expected = cdist(a.astype(float), a.astype(float), metric) ** power
    np.testing.assert_allclose(pairwise_distances(a, r=r, squared=squared), expected, rtol=1e-12, atol=1e-7)


def test_symmetric_with_zero_diagonal():
    d = pairwise_distances(np.random.default_rng(0).standard_normal((40, 300)).astype(np.float32))
    np.testing.assert_array_equal(d, d.T)
    assert not d.diagonal().any()


def test_a_common_shift_costs_no_digits():
    rng = np.random.default_rng(0)
    rows = rng.integers(-1000, 1000, (20, 400)) / 64
    far = (rows + 2.0**12).astype(np.float32)
    np.testing.assert_allclose(pairwise_distances(far), pairwise_distances(rows), rtol=1e-12, atol=1e-12)


def test_the_input_is_not_changed():
    rows = np.random.default_rng(0).standard_normal((5, 8))
    before = rows.copy()
    pairwise_distances(rows)
    pairwise_distances(rows, rows)
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1.0, 2.0]], [[1.0]]), {}, "different lengths: 2 in first, 1 in second"),
        (([1.0, 2.0],), {}, "first must hold embeddings as rows"),
        (([[1.0]], np.empty((0, 1))), {}, "second must hold embeddings"),
        (([[1.0]],), {"r": 3}, "r must be 1 or 2"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        pairwise_distances(*arguments, **options)

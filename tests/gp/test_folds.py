import numpy as np
import pytest

from swwl.gp.folds import shuffled_folds


@pytest.mark.parametrize(("n", "number"), [(12, 5), (10, 10), (4, 10), (101, 7)])
def test_every_row_is_left_out_once(n, number):
    folds = shuffled_folds(n, number, seed=0)
    assert len(folds) == min(n, number)
    np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in folds])), np.arange(n))
    for train, out in folds:
        np.testing.assert_array_equal(np.union1d(train, out), np.arange(n))
        assert len(train) + len(out) == n
    sizes = [len(out) for _, out in folds]
    assert max(sizes) - min(sizes) <= 1


def test_the_seed_shuffles():
    first, again, other = (shuffled_folds(50, 5, seed) for seed in (0, 0, 1))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a[1], b[1])
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(first, other, strict=True))

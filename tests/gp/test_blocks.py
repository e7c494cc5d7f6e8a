"""Blocks: any rows and columns on demand, and never more than those."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from swwl.embedding.distances import pairwise_distances
from swwl.errors import InputError
from swwl.gp import Coordinates, Distances, Joint, RobustGP, RowDistances, blocks

KINDS = ["distances", "rows", "rows, r = 1", "remainder", "coordinates", "joint"]


def make(kind, n, m=None, seed=0):
    """Return a block among n points, or between n and m others."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n, 7))
    second = None if m is None else rng.normal(size=(m, 7))
    if kind == "joint":
        return Joint([make(part, n, m, seed) for part in ("remainder", "coordinates", "distances", "coordinates")])
    if kind == "distances":
        return Distances(cdist(first, first if m is None else second), symmetric=m is None)
    if kind == "coordinates":
        return Coordinates(first[:, :3], None if m is None else second[:, :3])
    if kind == "remainder":
        return RowDistances(first, second, without=(first[:, :3], None if m is None else second[:, :3]))
    return RowDistances(first, second, r=1 if "r = 1" in kind else 2)


def test_distances_of_rows_in_closed_form():
    x, y = np.random.default_rng(0).normal(size=(2, 12, 40))
    assert_allclose(RowDistances(x, y).dense(), cdist(x, y), rtol=1e-12)
    assert_allclose(RowDistances(x, y, r=1).dense(), cdist(x, y, "cityblock"), rtol=1e-12)
    assert_allclose(RowDistances(x).dense(), cdist(x, x), rtol=1e-12, atol=1e-7)
    # without some of its columns: the distance in the others
    some = RowDistances(x, y, without=(x[:, :5], y[:, :5]))
    assert_allclose(some.dense(), cdist(x[:, 5:], y[:, 5:]), rtol=1e-12)
    assert_array_equal(RowDistances(x, without=(x, None)).dense(), 0.0)  # nothing is left, and no NaN
    assert_allclose(Coordinates(x, y).dense(), cdist(x, y), rtol=1e-12)


@pytest.mark.parametrize("among", [True, False])
def test_the_remainder_has_the_bits_of_its_formula(among):
    rng = np.random.default_rng(1)
    rows, other = (rng.normal(size=(n, 300)).astype(np.float32) for n in (15, 9))
    z, z_other = (block[:, :4].astype(float) for block in (rows, other))
    second, z_second = (None, None) if among else (other, z_other)
    squared = pairwise_distances(rows, second, squared=True)
    squared -= pairwise_distances(z, z_second, squared=True)
    wanted = np.sqrt(np.maximum(squared, 0))
    assert_array_equal(RowDistances(rows, second, without=(z, z_second)).dense(), wanted)
    # no components: simply the distances
    plain = np.sqrt(pairwise_distances(rows, second, squared=True))
    assert_array_equal(RowDistances(rows, second).dense(), plain)


indices = st.lists(st.integers(0, 5), min_size=0, max_size=8)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(rows=indices, columns=indices, seed=st.integers(0, 20))
def test_taking_and_computing_commute(kind, rows, columns, seed):
    among, cross = make(kind, 6, seed=seed), make(kind, 6, 7, seed=seed)
    for block in (among, cross):
        part = block.take(rows, columns)
        assert part.shape == part.dense().shape == (len(rows), len(columns))
        assert_allclose(part.dense(), block.dense()[np.ix_(rows, columns)], rtol=1e-9, atol=1e-7)
    square = among.take(rows)
    assert square.symmetric and square.shape == (len(rows), len(rows))
    assert_allclose(square.dense(), among.dense()[np.ix_(rows, rows)], rtol=1e-9, atol=1e-7)
    assert_allclose(cross.take(rows).dense(), cross.dense()[rows], rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_positions_masks_and_slices_are_the_same(kind):
    block = make(kind, 6)
    rows, mask = np.array([1, 2, 3]), np.array([False, True, True, True, False, False])
    for which in (rows, rows.tolist(), mask, slice(1, 4)):
        assert_allclose(block.take(which).dense(), block.take(rows).dense(), rtol=1e-12)
        assert_allclose(block.take(which, [5, 0]).dense(), block.take(rows, [5, 0]).dense(), rtol=1e-12)
        assert_allclose(block.take([5, 0], which).dense(), block.take(rows, [5, 0]).dense().T, rtol=1e-12)
    with pytest.raises(IndexError, match="cannot choose among 6"):
        block.take(mask[:5])


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_parts(kind):
    block = make(kind, 6)
    part = block.take([5, 1, 3, 2]).take([2, 0])
    assert part.symmetric
    assert_allclose(part.dense(), block.take([3, 5]).dense(), rtol=1e-12)
    other = block.take([5, 1, 3, 2], [0, 4, 2]).take([3], [1, 0])
    assert_allclose(other.dense(), block.dense()[[2]][:, [4, 0]], rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_among_points_is_symmetric_with_a_zero_diagonal(kind):
    dense = make(kind, 40).take(np.arange(0, 40, 3)).dense()
    assert_array_equal(dense, dense.T)
    assert_array_equal(np.diag(dense), 0.0)


def layers_of(block):
    """Return the distances of each range."""
    if isinstance(block, Joint):
        return [layer for part in block.parts for layer in layers_of(part)]
    return [np.abs(z[:, None] - z) for z in block.values.T] if isinstance(block, Coordinates) else [block.dense()]


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_and_largest(kind, monkeypatch):
    monkeypatch.setattr(blocks, "_FEW_ROWS", 7)  # several pieces, the last one ragged
    block, rng = make(kind, 20), np.random.default_rng(2)
    rows, columns = rng.integers(20, size=(2, 50))
    layers = layers_of(block)
    assert block.n_ranges == len(layers)
    assert_allclose(block.pairs(rows, columns), np.stack([d[rows, columns] for d in layers], axis=1), atol=1e-7)
    assert_allclose(block.largest(), [d.max() for d in layers], rtol=1e-9)


def test_the_largest_coordinate_distance_between_two_sets():
    block = Coordinates([[0.0, 5.0], [1.0, 6.0]], [[3.0, 5.5], [4.0, 5.5]])
    assert_allclose(block.largest(), [4.0, 0.5])


def test_only_the_asked_rows_and_columns_are_computed(monkeypatch):
    asked = []

    def counting(first, second=None, **options):
        asked.append((len(first), len(first if second is None else second)))
        return pairwise_distances(first, second, **options)

    monkeypatch.setattr(blocks, "between_rows", counting)
    rows = np.random.default_rng(0).normal(size=(100_000, 3))  # its N x N matrix would take 80 GB
    for block in (RowDistances(rows), RowDistances(rows, without=(rows[:, :2], None)), Coordinates(rows)):
        asked.clear()
        part = block.take(np.arange(30, 90)).take(np.arange(10), [20, 30, 40])
        assert asked == []  # nothing yet
        assert part.dense().shape == (10, 3) and set(asked) == {(10, 3)}
        asked.clear()
        assert block.take([3, 99_999]).dense().shape == (2, 2) and set(asked) == {(2, 2)}
    asked.clear()
    pairs = RowDistances(rows).pairs(np.arange(200), np.arange(300, 500))
    assert pairs.shape == (200, 1) and asked == [(200, 200)]


def test_what_is_held_is_computed_once(monkeypatch):
    block = RowDistances(np.random.default_rng(0).normal(size=(8, 3)))
    held = block.held()
    monkeypatch.setattr(blocks, "between_rows", None)
    assert held.take([1, 2]).dense().shape == (2, 2) and held.symmetric
    assert held.held() is held and held.dense() is held.dense()
    matrix = np.zeros((3, 3))
    assert Distances(matrix).dense() is matrix  # by reference
    assert np.shares_memory(Distances(matrix).take(slice(0, 2), slice(1, 3)).dense(), matrix)


def test_blocks_know_their_own_rows_among_themselves():
    rng = np.random.default_rng(3)
    new, train = rng.normal(size=(4, 6)), rng.normal(size=(9, 6))
    assert_array_equal(RowDistances(new, train).among().dense(), RowDistances(new).dense())
    without = RowDistances(new, train, without=(new[:, :2], train[:, :2])).among()
    assert_array_equal(without.dense(), RowDistances(new, without=(new[:, :2], None)).dense())
    assert_array_equal(Coordinates(new, train).among().values, new)
    assert Distances(cdist(new, train)).among() is None
    assert Distances(cdist(new, new)).among() is not None
    assert Distances(cdist(new, new), symmetric=False).among() is None


@pytest.mark.parametrize(
    "make_block, message",
    [
        (lambda: Distances([1.0, 2.0]), r"shape \(2,\), but \(M, N\)"),
        (lambda: RowDistances([1.0, 2.0]), r"shape \(2,\), but \(N, K\)"),
        (lambda: RowDistances([[1.0]], r=3), "r is 3, but 1 or 2"),
        (lambda: RowDistances([[1.0]], r=1, without=([[1.0]], None)), "r = 2"),
        (lambda: RowDistances([[1.0]], without=([[1.0]], [[1.0]])), "only where"),
        (
            lambda: RowDistances([[1.0]], without=([[1.0], [2.0]], None)),
            r"of \(2, 2\) points, but the rows are \(1, 1\)",
        ),
        (lambda: RowDistances([[1.0], [np.nan]]).dense(), "row 1 holds values that are not finite"),
        (lambda: RowDistances([[1.0]] * 3, [[1.0], [np.inf]]).dense(), "column 1 holds values that are not finite"),
        (lambda: RowDistances([[1.0]], [[1.0, 2.0]]).dense(), "different lengths"),
    ],
)
def test_mistakes(make_block, message):
    with pytest.raises(InputError, match=message):
        make_block()


@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_a_process_on_blocks_is_the_process_on_their_matrices():
    rng = np.random.default_rng(4)
    rows, new = rng.normal(size=(30, 50)), rng.normal(size=(5, 50))
    z, new_z = rows[:, :2], new[:, :2]
    y = np.sin(z[:, 0]) + rows[:, 3]
    train = [Coordinates(z), RowDistances(rows, without=(z, None)), RowDistances(z, r=1)]
    cross = [Coordinates(new_z), RowDistances(new, rows, without=(new_z, z)), RowDistances(new_z, z, r=1)]
    correlations = ["gaussian", "gaussian", ("power", 1.0)]
    one = RobustGP(correlations).fit(train, y)
    two = RobustGP(correlations).fit([train[0], *(block.dense() for block in train[1:])], y)
    assert_array_equal(one.beta_, two.beta_)
    dense = [cross[0], *(block.dense() for block in cross[1:])]
    for a, b in zip(one.predict(cross, return_std=True), two.predict(dense, return_std=True), strict=True):
        assert_array_equal(a, b)
    # lazy blocks know the distances among their rows; matrices must be told
    among = [None, *(block.among().dense() for block in cross[1:])]
    joint = one.predict(cross, return_cov=True), two.predict(dense, return_cov=True, test_distances=among)
    assert_array_equal(joint[0][1], joint[1][1])
    assert_array_equal(one.sample(cross, None, 2, 0), two.sample(dense, among, 2, 0))
    # parts of training blocks are what a fold needs
    keep, out = np.arange(25), np.arange(25, 30)
    fold = RobustGP(correlations).fit([block.take(keep) for block in train], y[keep])
    assert fold.predict([block.take(out, keep) for block in train]).shape == (5,)


@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_a_process_refuses_blocks_that_do_not_fit():
    rows = np.random.default_rng(5).normal(size=(10, 3))
    gp = RobustGP(["gaussian"])
    for item, message in [
        (RowDistances(rows, rows), "between two sets of points, but those among one"),
        (RowDistances(rows[:9]), r"shape \(9, 9\), but y has 10 rows"),
        (RowDistances(np.where(rows == rows[3, 1], np.inf, rows)), "row 3 holds values that are not finite"),
    ]:
        with pytest.raises(InputError, match=message):
            gp.fit([item], rows[:, 0])
    with pytest.raises(InputError, match="one item per correlation"):
        gp.fit(RowDistances(rows), rows[:, 0])
    gp.fit([RowDistances(rows)], rows[:, 0])
    with pytest.raises(InputError, match=r"shape \(2, 9\), but \(M, 10\)"):
        gp.predict([RowDistances(rows[:2], rows[:9])])


def test_single_numbers_are_compared_by_their_difference():
    """Exactly, for any norm: a product of rows would lose what large numbers have in common."""
    x = np.array([[1e9], [1e9 + 1e-3], [0.0]])
    for r in (1, 2):
        block = RowDistances(x, r=r)
        np.testing.assert_array_equal(block.dense(), np.abs(x - x.T))
        places = np.array([[0, 1], [2, 0]])
        np.testing.assert_array_equal(block.patches(places, places), block.dense()[places[:, :, None], places[:, None]])

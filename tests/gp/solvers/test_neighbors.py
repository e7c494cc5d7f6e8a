"""Neighbors, inducing rows and patches against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from swwl.gp import Coordinates, Distances, Joint, RowDistances
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term, cross_correlation
from swwl.gp.solvers import neighbors
from swwl.gp.solvers.neighbors import Patches, earlier_neighbors, nearest, scaled_points
from swwl.gp.solvers.whitening import choose_rows, features, inducing_factor


@pytest.fixture
def terms():
    rng = np.random.default_rng(0)
    joint = Joint([Coordinates(rng.normal(size=(300, 3))), RowDistances(rng.normal(size=(300, 4)))])
    scalar = RowDistances(rng.random((300, 1)))
    return [Term(get_correlation("gaussian"), joint), Term(get_correlation("matern52"), scalar)]


BETA = np.array([0.5, 1.0, 0.2, 0.3, 0.7])


@pytest.mark.parametrize("piece", [1 << 22, 1])
def test_neighbors_are_the_nearest_earlier_rows_in_scaled_coordinates(terms, monkeypatch, piece):
    monkeypatch.setattr(neighbors, "_PIECE", piece)
    order = np.random.default_rng(1).permutation(300)
    z = scaled_points(terms, BETA).values.astype(float)
    assert z.shape == (300, 8)
    found = earlier_neighbors(terms, BETA, 7, order)
    for place, row in enumerate(order):
        before = order[:place]
        wanted = before[np.argsort(((z[before] - z[row]) ** 2).sum(axis=1))[:7]]
        assert set(found[row]) - {-1} == set(wanted)
        assert (found[row] < 0).sum() == max(0, 7 - place)


def test_distances_that_are_not_euclidean_are_compared_by_correlation(terms):
    rough = [*terms[:1], Term(get_correlation(("power", 1.0)), terms[1].block)]
    assert scaled_points(rough, BETA) is None
    c = cross_correlation([term.held() for term in rough], BETA, (300, 300))
    found = earlier_neighbors(rough, BETA, 5, np.arange(300))
    for row in (3, 5, 100, 299):
        assert set(found[row]) - {-1} == set(np.argsort(-c[row, :row])[:5])


def test_new_points_have_neighbors_among_all_rows(terms):
    new, old = np.arange(20), np.arange(20, 300)
    cross = [term.take(new, old) for term in terms]
    found = nearest(cross, BETA, 9)
    z = scaled_points(terms, BETA).values.astype(float)
    far = ((z[new][:, None] - z[old]) ** 2).sum(axis=2)
    assert_array_equal(np.sort(found, axis=1), np.sort(np.argsort(far, axis=1)[:, :9], axis=1))
    assert nearest(cross, BETA, 1000).shape == (20, 280)
    assert nearest(cross, BETA, 0).shape == (20, 0)


def test_inducing_rows_explain_all_others_to_a_tenth_of_the_nugget(terms):
    order = np.random.default_rng(2).permutation(300)
    beta, nugget = 0.05 * BETA, 1e-2
    chosen = choose_rows(terms, beta, nugget, 200, order)
    assert 2 < len(chosen) < 100 and len(set(chosen)) == len(chosen)
    v = features(terms, beta, chosen, inducing_factor(terms, beta, chosen), np.empty((300, len(chosen))))
    assert ((1.0 - np.einsum("ij,ij->i", v, v)) < 0.1 * nugget + 1e-9).all()
    assert_array_equal(choose_rows(terms, beta, nugget, 300, order), np.arange(300))
    assert choose_rows(terms, beta, nugget, 0, order).shape == (0,)


def test_patches_are_blocks_of_the_correlation_matrix(terms):
    rng = np.random.default_rng(3)
    z = rng.random((300, 2))
    every = [*terms, Term(get_correlation("matern32"), Distances(np.abs(z[:, :1] - z[:, 0])))]
    every += [Term(get_correlation("matern52"), RowDistances(z, r=1))]
    every += [Term(get_correlation("gaussian"), RowDistances(np.hstack([z, z]), without=(z[:, :1], None)))]
    beta = np.append(BETA, [0.4, 0.6, 0.8])
    rows, columns = rng.integers(300, size=(6, 4)), rng.integers(300, size=(6, 3))
    found = Patches(every, beta, rows, columns).correlation
    c = cross_correlation([term.held() for term in every], beta, (300, 300))
    assert_allclose(found, c[rows[:, :, None], columns[:, None, :]], rtol=1e-7)
    for term in every:
        cross = term.block.take(np.arange(5), np.arange(5, 300))
        among = cross.among_columns()
        assert (among is None) == isinstance(cross, Distances)
        if among is not None:
            assert_allclose(among.dense(), term.block.take(np.arange(5, 300)).dense(), atol=1e-7)


def test_the_largest_distance_of_many_rows_is_found_by_walking():
    x = np.random.default_rng(4).normal(size=(5200, 3))
    block = RowDistances(x)
    exact = max(RowDistances(x[i : i + 400], x).dense().max() for i in range(0, 5200, 400))
    assert exact / 2.0 <= block.largest()[0] <= exact + 1e-9
    line = np.random.default_rng(5).random((5200, 1))
    assert_allclose(RowDistances(line).largest()[0], np.ptp(line))

"""Where the climb starts and how far it may go."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from swwl.gp.blocks import Distances
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term
from swwl.gp.search import default_bounds, sample_pairs, starting_points, starting_ranges

CASES = {
    "gaussian": ["gaussian"],
    "power": [("power", 1.3)],
    "matern52": ["matern52"],
    "matern32": ["matern32"],
    "matern32 twice": ["matern32", "matern32"],
    "all": ["gaussian", ("power", 1.7), "matern52", "matern32"],
    "coordinates": [4],
    "coordinates beside distances": [3, "matern52", "gaussian", 2],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
def test_starts_put_the_product_at_their_level(make_terms, case, level):
    terms = make_terms(CASES[case], 80)
    pairs = sample_pairs(terms, 80, np.random.default_rng(0))
    log_beta, product, used = starting_ranges(terms, pairs, level), np.ones(len(pairs)), 0
    for term in terms:
        for _ in range(term.block.n_ranges):
            product *= term.correlation(np.exp(log_beta[used]) * pairs[:, used])
            used += 1
    assert_allclose(np.median(product), level, rtol=1e-6)


def test_starts_are_reproducible_and_respect_the_floor(make_terms):
    terms = make_terms(["matern52", 3], 120)
    one, two = (starting_points(terms, 120, 6, np.random.default_rng(5), 0.01) for _ in range(2))
    assert_allclose(one, two, rtol=0)
    assert (one[:, -1] >= np.log(0.1) - 1e-12).all()


def test_sampled_pairs_are_uniform_and_distinct():
    x = np.arange(500.0)
    term = Term(get_correlation("gaussian"), Distances(np.abs(x[:, None] - x)))
    pairs = sample_pairs([term], 500, np.random.default_rng(0), most=1000)
    assert pairs.shape == (1000, 1) and pairs.min() >= 1.0
    assert abs(pairs.mean() - 500 / 3) < 12  # the mean distance of two uniform points


def test_the_lower_bound_follows_the_conditioning(make_terms):
    terms = make_terms(["gaussian"], 60)
    largest = terms[0].block.largest()
    bare, floored = (default_bounds(terms, 60, nu)[0] + np.log(largest) for nu in (0.0, 1e-6))
    assert floored[0] < np.log(2e-4) < bare[0]  # with a nugget ranges may grow until the factor is flat

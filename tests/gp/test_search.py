"""Where the optimization starts and how far it may go."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from swwl.errors import InputError
from swwl.gp import Coordinates, GPWarning, Joint, RobustGP
from swwl.gp.blocks import Distances
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term
from swwl.gp.prior import default_prior
from swwl.gp.search import Given, _Descent, default_bounds, make_search, sample_pairs, starting_points, starting_ranges
from swwl.gp.solvers.base import Problem, standardize
from swwl.gp.solvers.dense import DenseSolver

CASES = {
    "gaussian": ["gaussian"],
    "power": [("power", 1.3)],
    "matern52": ["matern52"],
    "matern32": ["matern32"],
    "matern32 twice": ["matern32", "matern32"],
    "all": ["gaussian", ("power", 1.7), "matern52", "matern32"],
    "coordinates": [4],
    "coordinates beside distances": [3, "matern52", "gaussian", 2],
    "elliptic": [{"matern52": (3, 0, 2)}],
    "elliptic coordinates": [{("power", 1.4): (4,)}],
    "elliptic beside others": [2, {"matern32": (2, 0)}, "matern52", {"gaussian": (1, 0)}],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
def test_starts_put_the_product_at_their_level(make_terms, case, level):
    terms = make_terms(CASES[case], 80)
    pairs = sample_pairs(terms, 80, np.random.default_rng(0))
    log_beta, product, used = starting_ranges(terms, pairs, level), np.ones(len(pairs)), 0
    for term in terms:
        own = slice(used, used + term.block.n_ranges)
        scaled = np.exp(log_beta[own]) * pairs[:, own]
        if term.radial:
            product *= term.correlation(np.linalg.norm(scaled, axis=1))
        else:
            product *= term.correlation(scaled).prod(axis=1)
        used = own.stop
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


@pytest.fixture(scope="module")
def smooth():
    """Ten ranges, four of which matter: a joined block of 80 points and its targets."""
    rng = np.random.default_rng(3)
    z, x = rng.normal(size=(80, 8)), rng.random((80, 2))
    y = np.sin(z[:, 0]) + z[:, 1] * x[:, 0] + x[:, 1] ** 2 + 0.02 * rng.normal(size=80)
    return Joint([Coordinates(z), Coordinates(x)]), y


def make_gp(**options):
    return RobustGP(["matern52"], prior="gentle", **options)


@pytest.mark.slow
def test_a_warm_start_needs_few_evaluations(smooth):
    block, y = smooth
    whole = make_gp().fit([block], y)
    rows = np.arange(0, 80) % 5 != 0
    cold, warm = make_gp().fit([block.take(rows)], y[rows]), make_gp().fit([block.take(rows)], y[rows], start=whole)
    assert warm.n_evaluations_ < 0.4 * cold.n_evaluations_
    assert warm.log_posterior_ > cold.log_posterior_ - 0.5
    few = make_gp()
    with pytest.warns(GPWarning, match="max_iter=3 iterations"):
        few.fit([block.take(rows)], y[rows], start=whole, max_iter=3)
    assert few.n_evaluations_ < 10 and few.max_iter == 200  # its own option stays
    cross = [block.take(~rows, rows)]
    assert_allclose(warm.predict(cross), cold.predict(cross), atol=0.3 * np.std(y - cold.theta_))
    # a restored process does not know its bounds, but where it was
    restored = RobustGP.from_state(whole.get_state())
    again = make_gp().fit([block.take(rows)], y[rows], start=restored)
    assert_allclose(again.log_posterior_, warm.log_posterior_, atol=0.5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_a_start_is_where_the_optimization_begins(smooth, monkeypatch):
    block, y = smooth
    start, asked = (np.linspace(-2.0, -1.0, 10), -4.0), []
    evaluate = DenseSolver.with_gradient

    def spy(self, log_beta, log_nugget):
        asked.append(np.append(log_beta, log_nugget))
        return evaluate(self, log_beta, log_nugget)

    monkeypatch.setattr(DenseSolver, "with_gradient", spy)
    make_gp().fit([block], y, start=start)
    assert_allclose(asked[0], np.append(*start))
    asked.clear()
    best = make_gp(n_starts=1).fit([block], y)
    asked.clear()
    again = make_gp().fit([block], y, start=best)
    assert_allclose(asked[0], np.log(np.append(best.beta_, best.nugget_)))
    assert len(asked) < 5 and again.log_posterior_ >= best.log_posterior_ - 1e-9
    # what is fixed stays fixed, and a start outside the bounds is brought inside
    gp = make_gp(nugget=1e-3, bounds=(None, 1.0)).fit([block], y, start=(np.full(10, 50.0), -np.inf))
    assert_allclose(gp.nugget_, 1e-3)
    assert (gp.beta_ < 1.0 + 1e-9).all()
    fixed = make_gp(beta=0.3, nugget=1e-3).fit([block], y, start=gp)
    assert_allclose(fixed.beta_, 0.3)
    zero = make_gp(nugget=0.0).fit([block], y)
    assert make_gp(nugget=0.0).fit([block], y, start=zero).nugget_ == 0.0


@pytest.mark.parametrize(
    "start, message",
    [
        ((np.zeros(3), 0.0), "start has 3 inverse ranges, but there are 10"),
        ((np.full(10, np.nan), 0.0), "finite numbers are expected"),
        ((np.zeros(10), np.inf), "finite numbers are expected"),
        (np.zeros(11), "a fitted RobustGP or"),
        ("here", "a fitted RobustGP or"),
    ],
)
def test_starts_that_do_not_fit(smooth, start, message):
    block, y = smooth
    with pytest.raises(InputError, match=message):
        make_gp().fit([block], y, start=start)


@pytest.mark.parametrize(("correlation", "periods"), [("matern52", 6), ("gaussian", 4)])
def test_many_periods_are_not_noise(correlation, periods):
    x = np.random.default_rng(0).uniform(size=(100, 2))
    y = np.sin(2 * np.pi * periods * x[:, 0]) + x[:, 1]
    gp = RobustGP([correlation]).fit([Joint([Coordinates(x)], ["a", "b"])], y)
    assert gp.nugget_ < 1e-4 and np.sqrt(np.mean((gp.leave_one_out().mean - y) ** 2)) < 0.1
    again = RobustGP([correlation]).fit([Joint([Coordinates(x)], ["a", "b"])], y, start=gp.beginning())
    assert again.nugget_ < 1e-4  # folds begin where that run began


def test_noise_stays_noise():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(80, 3)), rng.normal(size=80)
    with pytest.warns(GPWarning, match="cannot be told from noise"):
        gp = RobustGP(["matern52"]).fit([Joint([Coordinates(x)], list("abc"))], y)
    assert np.sqrt(np.mean((gp.leave_one_out().mean - y) ** 2)) > 0.9 * y.std()


@pytest.mark.parametrize("part", [0.0, 0.03, 0.3])
def test_derivatives_of_the_search_are_those_of_differences(part):
    """Whatever is added to inverse ranges before logarithms are taken, at ranges that matter and others."""
    rng = np.random.default_rng(0)
    terms = DenseSolver.prepare([Term(get_correlation("gaussian"), Coordinates(rng.normal(size=(30, 4))))])
    y, prior = standardize(rng.normal(size=(30, 1)), shift=True), default_prior(terms[0].block.largest(), 30)
    problem = Problem(terms, np.ones((30, 1)), y, "posterior", prior)
    search = make_search(terms, 30, Given(None, 1e-6, None, None), n_starts=1, seed=0)
    w = search.starts[0] - [0.0, 1.0, 5.0, 0.5, 2.0]
    descent = _Descent(DenseSolver(problem), search, w, np.append(np.full(4, part), 0.0))
    z = descent.shifted(w)
    assert_allclose(descent.logs(z), w, rtol=1e-9)
    _, gradient = descent(z)
    for i in range(5):
        step = np.zeros(5)
        step[i] = 1e-5
        assert_allclose((descent(z + step)[0] - descent(z - step)[0]) / 2e-5, gradient[i], rtol=1e-5, atol=1e-6)

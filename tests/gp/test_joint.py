"""Joined blocks and their radial correlation: closed forms, scikit-learn, invariances, gradients."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern

from swwl.errors import InputError
from swwl.gp import Coordinates, Distances, Joint, RobustGP, RowDistances
from swwl.gp import factors as factors_module
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import (
    Term,
    contract_triangle,
    cross_correlation,
    cross_derivatives,
    fill_correlation,
    multiply_derivatives,
)
from swwl.gp.inputs import range_labels
from swwl.gp.prior import default_prior
from tests.helpers import assert_slope, central_slope

NAMES = ["gaussian", "matern52", "matern32", ("power", 1.0), ("power", 1.7)]
BETA = np.array([0.5, 0.2, 0.8, 0.3, 0.6, 1.1])


@pytest.fixture
def points():
    """Return rows (30, 9) and new ones (7, 9): columns 0 to 2 and 8 have ranges, 3 to 5 and 6 to 7 one together."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(30, 9)), rng.normal(size=(7, 9))


def joint(rows, others=None):
    """Return the joined block of rows, or from rows to others: layout (3, 0, 0, 1), six ranges."""

    def part(columns):
        return rows[:, columns], None if others is None else others[:, columns]

    z = slice(0, 3)
    pairs = cdist(rows[:, 6:8], (rows if others is None else others)[:, 6:8])
    return Joint(
        [
            Coordinates(*part(z)),
            RowDistances(*part(slice(0, 6)), without=part(z)),  # what is left is the distance in columns 3 to 5
            Distances(pairs, symmetric=others is None),
            Coordinates(*part(slice(8, 9))),
        ]
    )


def scale():
    """Return the inverse range of each of the nine columns."""
    return BETA[[0, 1, 2, 3, 3, 3, 4, 4, 5]]


def reference(name):
    """Return scikit-learn's kernel with the same ranges."""
    if name == "gaussian":
        return RBF(1 / (np.sqrt(2) * scale()))
    nu = {"matern52": 2.5, "matern32": 1.5, ("power", 1.0): 0.5}[name]
    return Matern(1 / scale(), nu=nu)


@pytest.mark.parametrize("name", NAMES[:4])
def test_it_is_scikit_learns_anisotropic_kernel(points, name):
    rows, new = points
    c, wanted = get_correlation(name), reference(name)
    among, cross = Term(c, joint(rows)), Term(c, joint(new, rows))
    assert_allclose(cross_correlation([cross.held()], BETA, (7, 30)), wanted(new, rows), rtol=1e-9, atol=1e-12)
    filled = fill_correlation([among.held()], BETA, np.empty((30, 30)))
    assert_allclose(np.tril(filled), np.tril(wanted(rows)), rtol=1e-9, atol=1e-12)
    # coordinates alone
    z = Term(c, Coordinates(new * scale(), rows * scale()))
    assert_allclose(cross_correlation([z], np.ones(9), (7, 30)), wanted(new, rows), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "matern52", "matern32"])
def test_predictions_are_scikit_learns(points, name):
    rows, new = points
    y = np.sin(rows[:, 0]) + rows[:, 6] * rows[:, 8]
    gp = RobustGP([name], nugget=1e-2, trend="zero", beta=BETA, method="likelihood").fit([joint(rows)], y)
    theirs = GaussianProcessRegressor(reference(name), alpha=1e-2, optimizer=None).fit(rows, y)
    for block in (joint(new, rows), Joint([Coordinates(new[:, :3]), *joint(new, rows).parts[1:]])):
        mean, cov = gp.predict([block], return_cov=True, include_nugget=False, test_distances=[joint(new)])
        wanted, covariance = theirs.predict(new, return_cov=True)
        assert_allclose(mean, wanted, rtol=1e-8)
        assert_allclose(cov, gp.sigma2_ * covariance, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_a_gaussian_of_joined_blocks_is_the_product_of_gaussians(points):
    rows, new = points
    y = np.sin(rows[:, 0]) + rows[:, 6] * rows[:, 8]
    block, cross = joint(rows), joint(new, rows)
    c = get_correlation("gaussian")
    one, several = [Term(c, block).held()], [Term(c, part).held() for part in block.parts]
    r = [np.tril(fill_correlation(terms, BETA, np.empty((30, 30)))) for terms in (one, several)]
    assert_allclose(r[0], r[1], rtol=1e-12)
    weights = np.random.default_rng(0).normal(size=(30, 30))
    gradients = [contract_triangle(terms, BETA, r[0], weights.copy()) for terms in (one, several)]
    assert_allclose(gradients[0], gradients[1], rtol=1e-12)
    # and as a radial function, written with the same formula under another name
    power = [Term(get_correlation(("power", 2.0)), block).held()]
    assert_allclose(np.tril(fill_correlation(power, BETA, np.empty((30, 30)))), r[0], rtol=1e-9, atol=1e-12)
    assert_allclose(contract_triangle(power, BETA, r[0], weights.copy()), gradients[0], rtol=1e-9)
    fits = RobustGP(["gaussian"]).fit([block], y), RobustGP(["gaussian"] * 4).fit(block.parts, y)
    assert_allclose(fits[0].log_posterior_, fits[1].log_posterior_, rtol=1e-10)
    options = {"beta": fits[0].beta_, "nugget": fits[0].nugget_}
    one, several = RobustGP(["gaussian"], **options), RobustGP(["gaussian"] * 4, **options)
    found = one.fit([block], y).predict([cross], return_std=True)
    assert_allclose(found, several.fit(block.parts, y).predict(cross.parts, return_std=True), rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_by_central_differences(points, name, monkeypatch):
    monkeypatch.setattr(factors_module, "_BLOCK", 200)
    rows, new = points
    rng = np.random.default_rng(2)
    c = get_correlation(name)
    among, cross = [Term(c, joint(rows)).held()], [Term(c, joint(new, rows)).held()]
    other = np.linalg.norm(rows[:, None] - rows, axis=2), np.linalg.norm(new[:, None] - rows, axis=2)
    among.append(Term(get_correlation("matern32"), Distances(other[0])))
    cross.append(Term(get_correlation("matern32"), Distances(other[1])))
    beta, vectors = np.append(BETA, 0.1), rng.normal(size=(30, 2))
    weights = np.tril(rng.normal(size=(30, 30)), -1)

    def matrix(beta):
        return np.tril(fill_correlation(among, beta, np.empty((30, 30))), -1)

    r = fill_correlation(among, beta, np.empty((30, 30)))
    found = contract_triangle(among, beta, r, weights.copy())
    moved = multiply_derivatives(among, beta, r, vectors)
    in_cross = cross_derivatives(cross, beta, cross_correlation(cross, beta, (7, 30)), vectors)

    def values(h):
        betas = beta * np.exp(h * np.eye(7))
        lower = [matrix(moved) for moved in betas]
        return (
            np.array([np.sum(weights * r) for r in lower]),
            np.array([(r + r.T) @ vectors for r in lower]),
            np.array([cross_correlation(cross, moved, (7, 30)) @ vectors for moved in betas]),
        )

    for k, derivatives in enumerate((found, moved, in_cross)):
        assert_slope(derivatives, lambda h, k=k: values(h)[k], 1e-6, 1e-7)


@pytest.mark.parametrize("name", ["matern52", ("power", 0.5)])
def test_near_and_equal_points(name):
    """Equal points correlate fully, and the rounding of squared distances does not spoil near ones or gradients."""
    rng = np.random.default_rng(3)
    z = 5.0 + rng.normal(size=(12, 4))
    z[6:] = z[:6] + 1e-7 * rng.normal(size=(6, 4)) * (np.arange(6) % 2)[:, None]
    c, beta = get_correlation(name), np.full(4, 0.7)
    terms = [Term(c, Coordinates(z))]
    layers = 0.7 * np.abs(z[:, None] - z)
    s = np.sqrt((layers**2).sum(axis=2))
    r = fill_correlation(terms, beta, np.empty((12, 12)))
    assert_allclose(np.tril(r), np.tril(c(s)), rtol=1e-9 if c.rough else 1e-13)
    gradient = contract_triangle(terms, beta, r, np.ones((12, 12)))
    wanted = np.tril(c(s) * c.steepness(s), -1)
    assert_allclose(gradient, [np.sum(wanted * layers[..., k] ** 2) for k in range(4)], rtol=1e-9)


@pytest.fixture
def fitted(points):
    rows, new = points
    y = np.sin(rows[:, 0]) + rows[:, 6] * rows[:, 8]
    gp = RobustGP(["matern52"], prior="gentle", range_uncertainty=True).fit([joint(rows)], y)
    return gp, [joint(new, rows)], y


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_invariances(points, fitted):
    rows, new = points
    gp, cross, y = fitted
    mean, std = gp.predict(cross, return_std=True)

    def check(block, new_block, targets=y):
        other = RobustGP(["matern52"], prior="gentle", range_uncertainty=True).fit([block], targets)
        assert_allclose(other.log_posterior_, gp.log_posterior_, rtol=1e-7)
        found = other.predict([new_block], return_std=True)
        assert_allclose(found[0], mean, atol=1e-4 * std.max())
        assert_allclose(found[1], std, rtol=1e-3)
        return other

    order = np.random.default_rng(5).permutation(30)
    check(joint(rows[order]), joint(new, rows[order]), y[order])
    # coordinates split in two, before and after
    first, left, distances, last = joint(rows).parts
    split = Joint([Coordinates(rows[:, :1]), Coordinates(rows[:, 1:3]), left, distances, last])
    same = check(split, cross[0])
    assert_array_equal(same.beta_, gp.beta_)
    # the order of the parts is that of the ranges, and nothing else
    turned = check(Joint([last, distances, left, first]), Joint(cross[0].parts[::-1]))
    assert_allclose(np.log(turned.beta_[[3, 4, 5, 2, 1, 0]]), np.log(gp.beta_), atol=0.05)
    # units of a part: its range, and nothing else
    scaled = Joint([first, left, Distances(1e3 * distances.dense()), Coordinates(7.0 + 1e-3 * last.values)])
    _, new_left, new_distances, new_last = cross[0].parts
    new_scaled = Joint(
        [cross[0].parts[0], new_left, 1e3 * new_distances.dense(), Coordinates(7 + 1e-3 * new_last.values)]
    )
    assert_allclose(check(scaled, new_scaled).beta_ * [1, 1, 1, 1, 1e3, 1e-3], gp.beta_, rtol=0.05, atol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_range_uncertainty_is_the_delta_method(points, fitted):
    rows, _ = points
    gp, cross, y = fitted
    extra = gp._posterior.uncertainty
    w = np.append(np.log(gp.beta_), np.log(gp.nugget_))

    def mean_at(w):
        return RobustGP(["matern52"], beta=np.exp(w[:-1]), nugget=np.exp(w[-1])).fit([joint(rows)], y).predict(cross)

    gradient, _ = central_slope(lambda h: [mean_at(w + h * e) for e in np.eye(7)[extra.free]])
    added = np.einsum("am,ab,bm->m", gradient, extra.covariance, gradient)
    plain = RobustGP(["matern52"], prior="gentle").fit([joint(rows)], y)
    wide, narrow = (g.predict_distribution(cross).scale for g in (gp, plain))
    assert_allclose(wide**2 - narrow**2, added, rtol=1e-4, atol=1e-10)


def test_states_predict_bit_for_bit(points, fitted):
    rows, new = points
    gp, cross, _ = fitted
    back = RobustGP.from_state(gp.get_state())
    assert back.range_slices_ == gp.range_slices_ == [slice(0, 6)]
    for a, b in zip(gp.predict(cross, return_std=True), back.predict(cross, return_std=True), strict=True):
        assert_array_equal(a, b)
    covs = (g.predict(cross, return_cov=True, test_distances=[joint(new)])[1] for g in (gp, back))
    assert_array_equal(*covs)
    # coordinates alone have no layout of their own
    z = RobustGP(["matern52"]).fit([Coordinates(rows)], np.sin(rows[:, 0]))
    again = RobustGP.from_state(z.get_state())
    assert_array_equal(again.predict([Coordinates(new)]), z.predict([Coordinates(new)]))
    assert "layout_0" not in z.get_state() and "layout_0" in gp.get_state()
    assert_allclose(z.predict([Joint([Coordinates(new)])]), z.predict([Coordinates(new)]))


def test_samples_and_folds(points, fitted):
    rows, new = points
    gp, cross, y = fitted
    among = [joint(new)]
    assert gp.sample(cross, among, 3, 0).shape == (3, 7)
    assert gp.sample_prior(among, 2, 0).shape == (2, 7)
    keep, out = np.arange(25), np.arange(25, 30)
    block = joint(rows).held()
    fold = RobustGP(["matern52"], beta=gp.beta_, nugget=1e-3).fit([block.take(keep)], y[keep])
    new_block = Joint([Coordinates(rows[out][:, :3]), *joint(rows[out], rows[keep]).parts[1:]])
    assert_allclose(fold.predict([block.take(out, keep)]), fold.predict([new_block]), rtol=1e-9)
    # blocks that know the distances among their rows need not be told
    lazy = Joint([RowDistances(rows), Coordinates(rows[:, :2])])
    gp = RobustGP(["matern52"], beta=0.3, nugget=1e-3).fit([lazy], y)
    cross = [Joint([RowDistances(new, rows), Coordinates(new[:, :2])])]
    told = gp.predict(cross, return_cov=True, test_distances=[Joint([RowDistances(new), Coordinates(new[:, :2])])])[1]
    assert_array_equal(gp.predict(cross, return_cov=True)[1], told)
    assert_array_equal(gp.predict(cross, return_cov=True, test_distances=[RowDistances(new)])[1], told)


def test_no_large_temporaries():
    n = 700
    z = np.random.default_rng(0).normal(size=(n, 12))
    terms = [Term(get_correlation("matern52"), Joint([Coordinates(z), RowDistances(z)])).held()]
    out, weights = np.empty((n, n)), np.ones((n, n))
    tracemalloc.start()
    fill_correlation(terms, np.full(13, 0.2), out)
    contract_triangle(terms, np.full(13, 0.2), out, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * out.nbytes


def test_a_joined_block_of_new_points_takes_rows_and_columns(points):
    rows, new = points
    bare = Joint([Coordinates(new[:, :3]), RowDistances(new, rows)])
    assert bare.shape == (7, 30) and not bare.symmetric and bare.n_ranges == 4
    part = bare.take([1, 2], [0, 5, 9])
    assert part.shape == (2, 3) and part.parts[0].shape == (2, 2)
    assert bare.take([1, 2]).shape == (2, 30)
    assert bare.among().shape == (7, 7) and bare.among().symmetric
    assert Joint([Coordinates(new), np.zeros((7, 30))]).among() is None
    assert Joint([joint(rows), Coordinates(rows)]).n_ranges == 15  # joined blocks are joined one by one
    assert repr(bare) == "Joint of 2 blocks, shape (7, 30)"
    with pytest.raises(InputError, match="have no distances yet"):
        bare.dense()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda x: Joint([]), "no blocks"),
        (lambda x: Joint(Coordinates(x)), "one block, but a list"),
        (lambda x: Joint([Coordinates(x), Coordinates(x[:5])]), r"shapes \(30, 30\), \(5, 5\), but all must match"),
        (lambda x: Joint([RowDistances(x, x[:3]), RowDistances(x, x[:4])]), "must match"),
        (
            lambda x: RobustGP(["matern52"]).fit([Joint([Coordinates(x[:9])])], x[:, 0]),
            "part 0 of factor 0 of 1 have 9 rows",
        ),
        (lambda x: Joint([x, Coordinates(x), RowDistances(x)]), r"\(30, 9\), \(30, 30\), \(30, 30\), but all"),
        (
            lambda x: RobustGP(["matern52"]).fit([Joint([Coordinates(x), np.full((30, 30), 2.0)])], x[:, 0]),
            r"distances of part 1 of factor 0 of 1 hold 2 on the diagonal",
        ),
        (
            lambda x: RobustGP(["matern52"]).fit([Joint([Coordinates(x), RowDistances(x, x)])], x[:, 0]),
            r"part 1 of factor 0 of 1 are between two sets of points",
        ),
        (
            lambda x: RobustGP(["matern52"], names=["rods"]).fit(
                [Joint([Coordinates(np.where(x == x[3, 1], np.nan, x))])], x[:, 0]
            ),
            r"coordinates of part 0 of factor 0 \('rods'\) of 1 hold nan at \(3, 1\)",
        ),
    ],
)
def test_mistakes(points, make, message):
    with pytest.raises(InputError, match=message):
        make(points[0])


def test_new_points_must_have_what_fit_saw(points, fitted):
    rows, new = points
    gp, (cross,), _ = fitted
    z, left, distances, last = cross.parts
    fewer, few = RowDistances(new, rows[:9]), (Coordinates(new[:, :3]), Coordinates(new[:, :1]))
    for block, message in [
        (
            Joint([z, last, left, distances]),
            r"3 coordinates \+ distances \+ distances \+ 1 coordinates, but the new points have 4 coordinates",
        ),
        (Coordinates(new), "but the new points have 9 coordinates"),
        (Joint([z, left]), r"but the new points have 3 coordinates \+ distances"),
        (
            Joint([few[0], fewer, fewer, few[1]]),
            r"new distances of part 1 of factor 0 of 1 have shape \(7, 9\), but \(M, 30\)",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            gp.predict([block])
    with pytest.raises(InputError, match="needs test_distances, .* of part 2 of factor 0 of 1"):
        gp.predict([cross], return_cov=True)
    with pytest.raises(InputError, match="holds 1 blocks of distances, but 2 are expected"):
        gp.predict([cross], return_cov=True, test_distances=[RowDistances(new)])
    single = RobustGP(["matern52"], beta=0.5, nugget=1e-3).fit([Coordinates(rows)], rows[:, 0])
    with pytest.raises(InputError, match="fitted on Coordinates"):
        single.predict([np.zeros((7, 30))])


def test_labels_name_every_range(points):
    rows, _ = points
    c, block = get_correlation("matern52"), Joint([Coordinates(rows[:, :2]), RowDistances(rows)])
    term = Term(c, block)
    assert range_labels([term], ["blade"]) == [
        "column 0 of part 0 of factor 0 ('blade') of 1",
        "column 1 of part 0 of factor 0 ('blade') of 1",
        "part 1 of factor 0 ('blade') of 1",
    ]
    named = Joint(block.parts, ["mesh (component 1)", "mesh (component 2)", "mesh (remainder)"])
    assert range_labels([Term(c, named.take(np.arange(5)).held())], None)[2] == "'mesh (remainder)'"
    assert default_prior(named.largest(), 30).c.shape == (3,)

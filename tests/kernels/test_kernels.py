import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

from swwl import (
    ASWWL,
    SWWL,
    Gaussian,
    Matern32,
    Matern52,
    Power,
    Precomputed,
    PrincipalSWWL,
    RobustGPRegressor,
    load_model,
    pairwise_distances,
)
from swwl.embedding.components import principal_components, project
from swwl.errors import InputError
from swwl.gp import Coordinates
from swwl.kernels import Factor, Product, Rows
from swwl.kernels.base import as_product
from swwl.kernels.elliptic import Elliptic, Scalar
from swwl.regression.candidates import default_kernels
from swwl.regression.fit import ladder
from tests.helpers import assert_slope, random_graph

SMALL = {"n_iterations": 1, "n_projections": 6, "n_quantiles": 9}


@pytest.fixture(scope="module")
def graphs():
    rng = np.random.default_rng(0)
    return [random_graph(rng, n) for n in rng.integers(10, 40, 14)]


def test_products_read_and_flatten():
    kernel = SWWL("mesh", alpha=1.99, n_projections=20) * Matern52("speed") * Power("p", alpha=1.5)
    assert repr(kernel) == "SWWL('mesh', alpha=1.99, n_projections=20) * Matern52('speed') * Power('p', alpha=1.5)"
    assert [f.column for f in kernel.factors] == ["mesh", "speed", "p"]
    assert repr(Matern32("a") * (Gaussian("b") * Matern52("c"))) == "Matern32('a') * Gaussian('b') * Matern52('c')"
    assert repr(Precomputed("id", np.zeros((2, 2)))) == "Precomputed('id', distances=<array of shape (2, 2)>)"
    with pytest.raises(TypeError, match="multiplies factors such as SWWL"):
        SWWL("mesh") * 2


def test_parameters_follow_scikit_learn():
    kernel = PrincipalSWWL("mesh", n_components=3) * Matern52("speed")
    assert kernel.get_params()["mesh__n_components"] == 3
    twin = clone(kernel)
    twin.set_params(mesh__n_components=5, mesh__step="sqrt", speed=Gaussian("speed"))
    assert repr(twin) == "PrincipalSWWL('mesh', n_components=5, step='sqrt') * Gaussian('speed')"
    assert repr(kernel) == "PrincipalSWWL('mesh', n_components=3) * Matern52('speed')"
    with pytest.raises(ValueError, match="no parameter 'mass__alpha'; its columns are: mesh, speed"):
        kernel.set_params(mass__alpha=1)
    with pytest.raises(ValueError, match="n_component"):
        kernel.set_params(mesh__n_component=1)


def test_a_column_may_not_be_used_twice():
    with pytest.raises(ValueError, match="uses column 'mesh' twice, in SWWL and PrincipalSWWL"):
        as_product(SWWL("mesh") * PrincipalSWWL("mesh"))
    assert isinstance(as_product(SWWL("mesh")), Product)


@pytest.mark.parametrize("factor", [Matern52("s"), Matern32("s"), Gaussian("s"), Power("s", 1.5)])
def test_numeric_columns_are_standardised_on_the_training_set(factor):
    train, new = np.array([10.0, 20.0, 60.0]), np.array([30.0])
    rows = factor.fit(train)
    assert rows.mean() == pytest.approx(0)
    assert rows.std() == pytest.approx(1)
    (cross,) = factor.items(factor.represent(new), rows)
    np.testing.assert_allclose(cross * factor.units()[0], [[20.0, 10.0, 30.0]])
    (square,) = factor.items(rows)
    np.testing.assert_array_equal(square, square.T)


def test_numbers_whose_squares_overflow_are_refused():
    with pytest.raises(InputError, match="Column 'load' holds -1e.200 in row 1, whose square overflows"):
        Matern52("load").fit([1.0, -1e200, 2.0])


def test_constant_columns_do_no_harm():
    factor = Matern52("s")
    assert factor.fit([5.0, 5.0]).tolist() == [0, 0]
    assert factor.represent([6.0]).tolist() == [1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan, 2.0, np.inf], r"Column 's' must hold finite numbers, but 2 of 4 rows do not \(row 1, 3: nan\)"),
        (["fast", "slow"], "Column 's' must hold numbers for Matern52, but its first entry is 'fast'"),
    ],
)
def test_bad_numbers(values, message):
    with pytest.raises(ValueError, match=message):
        Matern52("s").fit(values)


def test_swwl_hands_over_its_distances(graphs):
    kernel = SWWL("g", **SMALL)
    rows = kernel.fit(graphs)
    (square,) = kernel.items(rows)
    np.testing.assert_allclose(square, pairwise_distances(rows))
    (cross,) = kernel.items(kernel.represent(graphs[:3]), rows)
    np.testing.assert_allclose(cross, square[:3], atol=1e-7)
    assert SWWL("g", alpha=1.99).correlations() == [("power", 1.99)]
    (city,) = SWWL("g", r=1, alpha=1, **SMALL).items(rows)
    np.testing.assert_allclose(city, cdist(rows, rows, "cityblock"), rtol=1e-6)


def test_aswwl_has_a_distance_per_iteration(graphs):
    kernel = ASWWL("g", **SMALL)
    items = kernel.items(kernel.fit(graphs))
    assert len(items) == len(kernel.correlations()) == len(kernel.range_names()) == 2
    alone = SWWL("g", n_iterations=0, n_projections=6, n_quantiles=9)
    np.testing.assert_allclose(items[0], alone.items(alone.fit(graphs))[0], rtol=1e-5)
    stepped = ASWWL("g", n_iterations=2, step=10, n_projections=2, n_quantiles=3)
    stepped.fit(graphs)
    assert stepped.range_names() == ["g (iteration 0)", "g (iteration 10)", "g (iteration 20)"]


@pytest.mark.parametrize(("k", "expected"), [(0, 0), (4, 4), (99, 13)])
def test_components_and_remainder_add_up_to_the_distance(graphs, k, expected):
    kernel = PrincipalSWWL("g", n_components=k, **SMALL)
    rows = kernel.fit(graphs)
    assert kernel.n_components_ == expected
    squared = pairwise_distances(rows[0], squared=True)
    total = np.zeros_like(squared)
    for item in kernel.items(rows):
        total += cdist(item.values, item.values, "sqeuclidean") if isinstance(item, Coordinates) else item**2
    np.testing.assert_allclose(total, squared, rtol=1e-6, atol=1e-9 * squared.max())
    assert len(kernel.range_names()) == expected + kernel.has_remainder_
    assert kernel.has_remainder_ == (expected < 13)


def test_components_of_new_graphs_agree_with_those_of_training(graphs):
    kernel = PrincipalSWWL("g", n_components=3, **SMALL)
    rows = kernel.fit(graphs)
    train, new = kernel.items(rows), kernel.items(kernel.represent(graphs[:4]), rows)
    np.testing.assert_allclose(new[0].values, train[0].values[:4], atol=1e-12)
    np.testing.assert_allclose(new[1], train[1][:4], atol=1e-6)


def test_principal_components_equal_those_of_the_singular_value_decomposition():
    rows = np.random.default_rng(0).standard_normal((12, 40)) * np.linspace(3, 0.1, 40)
    mean, components, ratio = principal_components(rows, 5)
    _, s, vt = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
    np.testing.assert_allclose(mean, rows.mean(0))
    np.testing.assert_allclose(np.abs(components.T @ vt[:5].T), np.eye(5), atol=1e-9)
    np.testing.assert_allclose(ratio, (s**2 / (s**2).sum())[:5])
    np.testing.assert_allclose(project(rows, mean, components), (rows - mean) @ components, atol=1e-12)


def test_identical_graphs_have_no_components(graphs):
    kernel = PrincipalSWWL("g", **SMALL)
    kernel.fit([graphs[0]] * 5)
    assert ladder(kernel, 5) == [0]


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (SWWL("g", alpha=2.5), r"alpha must lie in \(0, 2\] for r=2"),
        (SWWL("g", alpha=2, r=1), r"alpha must lie in \(0, 1\] for r=1, but is 2: with a larger one .* not positive"),
        (PrincipalSWWL("g", n_components=-1), 'n_components must be "auto" or a whole number, not -1'),
        (PrincipalSWWL("g", n_components="many"), "not 'many'"),
        (SWWL("g", n_quantiles=1), "n_quantiles must be an integer of at least 2"),
    ],
)
def test_bad_options(graphs, factor, message):
    with pytest.raises(ValueError, match=message):
        factor.fit(graphs)


def test_bad_graphs_are_named_with_their_column(graphs):
    with pytest.raises(FileNotFoundError, match="Column 'mesh', graph 1: nowhere.vtu: no such file"):
        SWWL("mesh").fit([graphs[0], "nowhere.vtu"])


def test_precomputed_distances_are_looked_up():
    matrix = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    kernel = Precomputed("id", matrix, ("power", 1.0))
    rows = kernel.fit([4, 0, 2])
    (cross,) = kernel.items(kernel.represent([1]), rows)
    assert cross.tolist() == [[3, 1, 1]]
    assert kernel.correlations() == [("power", 1.0)]
    with pytest.raises(ValueError, match="must number rows of the given distances, 0 to 4"):
        kernel.represent([5])
    with pytest.raises(ValueError, match="square"):
        Precomputed("id", np.zeros((2, 3))).fit([0])


def test_columns_of_similar_names_keep_their_parameters():
    kernel = SWWL("a") * SWWL("a__b")
    kernel.set_params(a__n_projections=7, a__b__n_projections=9)
    assert [f.n_projections for f in kernel.factors] == [7, 9]
    kernel.set_params(a__b=Matern52("a__b"))
    assert repr(kernel.factors[1]) == "Matern52('a__b')"
    assert kernel.factors[0].n_projections == 7
    with pytest.raises(ValueError, match="COLUMN__PARAMETER, such as a__"):
        kernel.set_params(n_projections=3)


def test_factors_say_what_they_take_and_give(graphs):
    rows = np.random.default_rng(0).normal(size=(14, 3))
    swwl, principal = SWWL("g", **SMALL), PrincipalSWWL("g", n_components=2, **SMALL)
    speed, given, vectors = Matern52("s"), Precomputed("id", np.zeros((14, 14))), Rows("r")
    assert [f.takes for f in (swwl, principal, speed, given, vectors)] == [
        "graphs",
        "graphs",
        "numbers",
        "rows",
        "rows",
    ]
    assert [f.gives for f in (swwl, principal, speed)] == ["distances", "coordinates", "distances"]
    seen = swwl.fit(graphs)
    np.testing.assert_array_equal(swwl.vectors(seen), seen)
    assert SWWL("g", r=1, alpha=1, **SMALL).vectors(seen) is None
    np.testing.assert_array_equal(principal.vectors(principal.fit(graphs)), seen)
    column = np.arange(14) * 2.5
    represented = speed.fit(column)
    np.testing.assert_allclose(speed.numbers(represented), column)
    assert speed.vectors(represented).shape == (14, 1)
    assert given.vectors(given.fit(np.arange(14))) is None and given.numbers(np.arange(14)) is None
    np.testing.assert_array_equal(vectors.vectors(vectors.fit(list(rows))), rows)


def test_given_vectors_are_compared_by_their_distances():
    rows = np.random.default_rng(1).normal(size=(6, 4))
    kernel = Rows("r", alpha=1.5)
    seen = kernel.fit([list(row) for row in rows])
    np.testing.assert_allclose(kernel.items(seen)[0], cdist(rows, rows), atol=1e-12)
    np.testing.assert_allclose(kernel.items(kernel.represent(rows[:2]), seen)[0], cdist(rows[:2], rows), atol=1e-12)
    assert kernel.correlations() == [("power", 1.5)]
    for column, message in [
        ([[1.0], [1.0, 2.0]], "row 1 has 2 numbers and row 0 has 1"),
        ([[1.0], "a.vtu"], "row 1 is 'a.vtu'"),
        ([[1.0], [np.nan]], "vectors of finite numbers, but row 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            Rows("r").fit(column)
    with pytest.raises(ValueError, match="length 3, but fit saw 4"):
        kernel.represent(rows[:, :3])


def test_distances_on_demand_are_those_at_once(graphs):
    for kernel in (SWWL("g", **SMALL), ASWWL("g", **SMALL), PrincipalSWWL("g", n_components=3, **SMALL)):
        rows = kernel.fit(graphs)
        for block, item in zip(kernel.blocks(rows), kernel.items(rows), strict=True):
            if not isinstance(item, Coordinates):
                np.testing.assert_array_equal(block.dense(), item)
                np.testing.assert_allclose(block.take([1, 5], [0, 2, 3]).dense(), item[np.ix_([1, 5], [0, 2, 3])])


class Halves(Factor):
    """A user's factor with the least there has to be."""

    takes = "numbers"

    def __init__(self, column):
        self.column = column

    def fit(self, values, progress=None):
        return np.asarray(values, float) / 2

    represent = fit

    def items(self, first, second=None):
        return [np.abs(first[:, None] - (first if second is None else second))]

    def correlations(self):
        return ["matern52"]


def test_a_factor_of_the_users_own_is_enough():
    x = np.linspace(0, 1, 20)
    model = RobustGPRegressor(Halves("x")).fit(pd.DataFrame({"x": x, "y": np.sin(4 * x)}), "y", memory=None)
    assert model.score(pd.DataFrame({"x": x + 0.01}), np.sin(4 * (x + 0.01))) > 0.999
    with pytest.raises(TypeError, match="Factor must define items or blocks"):
        Factor().items(x)


def test_logarithms_of_a_column():
    values = 10.0 ** np.random.default_rng(0).uniform(-3, 2, 40)
    plain, factor = Matern52("k"), Matern52("k", log=True)
    rows = factor.fit(values)
    np.testing.assert_allclose(rows, plain.fit(np.log(values)))
    np.testing.assert_allclose(factor.numbers(rows), values)
    assert repr(factor) == "Matern52('k', log=True)" and factor.source() != plain.source()
    assert repr(Elliptic(Scalar("k", log=True), "s")) == "Elliptic(Scalar('k', log=True), 's')"
    linear = factor.linear(0.3)
    assert_slope(linear.pull_back(np.ones((1, 1)))[0], lambda h: factor.represent([0.3 + h])[0], scale=1.0)
    assert np.isfinite(factor.represent([0.0, -1.0])).all() and (factor.represent([0.0, -1.0]) < -50).all()
    with pytest.raises(InputError, match="logarithm needs positive values"):
        factor.fit([1.0, 0.0])


def test_the_default_takes_logarithms_of_columns_over_decades():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"k": 10.0 ** rng.uniform(-3, 2, 40), "s": rng.uniform(0.5, 30, 40)})
    kernels = default_kernels(table)
    assert repr(kernels["numbers"]) == "Elliptic(Scalar('k', log=True), 's')"
    assert repr(kernels["numbers one by one"]) == "Matern52('k', log=True) * Matern52('s')"


def test_slopes_in_a_column_over_decades(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"k": 10.0 ** rng.uniform(-3, 2, 60), "s": rng.uniform(size=60)})
    y = np.log(table["k"]) + np.sin(3 * table["s"])
    for trend in ("constant", "linear"):
        model = RobustGPRegressor(trend=trend, calibrate=False).fit(table, y)
        model.save(tmp_path / "decades.swwl")
        np.testing.assert_array_equal(load_model(tmp_path / "decades.swwl").predict(table), model.predict(table))
        case = pd.DataFrame({"k": [0.2], "s": [0.4]})
        slopes = model.sensitivity(case)[0].inputs

        def moved(h, model=model, case=case):
            return model.predict(case.assign(k=case["k"] + h))[0]

        assert_slope(slopes["k"], moved, rtol=1e-5)

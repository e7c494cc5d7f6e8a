import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

from swwl import ASWWL, SWWL, Gaussian, Matern32, Matern52, Power, Precomputed, PrincipalSWWL, pairwise_distances
from swwl.gp import Coordinates
from swwl.kernels import Product
from swwl.kernels.base import as_product
from swwl.kernels.sliced import principal_components, project
from tests.conftest import random_graph

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
    assert kernel.ladder(5) == [0]


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

"""The elliptic kernel: its blocks, its parameters, and a regressor on it from fit to file."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone

import swwl
from swwl import ASWWL, SWWL, Graph, GraphSVC, PrincipalSWWL, RobustGPRegressor, load_model
from swwl.errors import InputError, InputTypeError
from swwl.gp import Coordinates, Joint
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term, cross_correlation
from swwl.jobs.predict import graph_columns
from swwl.kernels import Categories, Elliptic, Factor, Matern52, Power, Precomputed, Rows
from swwl.kernels.base import as_product
from swwl.kernels.elliptic import Scalar
from swwl.report import make_report

SMALL = {"n_iterations": 1, "n_projections": 6, "n_quantiles": 9}


def principal(column="rod", k=3, **options):
    return PrincipalSWWL(column, n_components=k, **SMALL | options)


@pytest.fixture(scope="module")
def table():
    """Rods of three nodes: their stretch depends on length, load and material."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(50):
        length, bend, load = rng.uniform(1, 2), rng.normal(), rng.uniform(1, 3)
        rod = Graph([[0.0, 0.0], [length / 2, 0.2 * bend], [length, 0.0]], [(0, 1), (1, 2)])
        rows.append({"rod": rod, "load": load, "heat": rng.normal(), "stuff": rng.choice(["oak", "elm"])})
        rows[-1]["stretch"] = load * length + 0.1 * bend + 0.2 * (rows[-1]["stuff"] == "oak")
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def model(table):
    kernel = Elliptic(principal(), "load", "heat")
    return RobustGPRegressor(kernel, prior="gentle").fit(table[:40], "stretch")


def test_it_reads_as_it_is_written():
    kernel = Elliptic(principal(), "load", Matern52("heat"), correlation=("power", 1.5))
    assert [type(factor).__name__ for factor in kernel.factors] == ["PrincipalSWWL", "Scalar", "Scalar"]
    assert repr(kernel).endswith("'load', 'heat', correlation=('power', 1.5))")
    assert kernel.columns == ["rod", "load", "heat"]
    again = clone(kernel)
    assert isinstance(again, Elliptic) and again.correlation == ("power", 1.5) and repr(again) == repr(kernel)
    assert again.factors[0] is not kernel.factors[0]
    assert swwl.Elliptic is Elliptic and as_product(kernel) is kernel


def test_parameters_follow_scikit_learn():
    kernel = Elliptic(principal(), principal(step=2), "load")
    params = kernel.get_params()
    assert params["rod__n_components"] == 3 and params["rod 2__step"] == 2 and params["correlation"] == "matern52"
    kernel.set_params(**{"rod 2__n_components": 1, "correlation": "matern32", "load": Power("load")})
    assert [factor.get_params().get("n_components") for factor in kernel.factors] == [3, 1, None]
    assert kernel.correlation == "matern32" and isinstance(kernel.factors[2], Scalar)
    model = RobustGPRegressor(kernel).set_params(kernel__correlation="gaussian", kernel__rod__n_components=5)
    assert model.kernel.elliptic == "gaussian" and model.kernel.factors[0].n_components == 5
    # a column of that name goes before the option
    odd = Elliptic("correlation", "load")
    assert odd.get_params()["correlation"] is odd.factors[0]


def test_its_blocks_are_one_euclidean_norm(table):
    rods, loads = list(table["rod"]), table["load"].to_numpy()
    kernel = Elliptic(principal(k=2), SWWL("rod", **SMALL), "load", Categories("stuff"))
    columns = [rods, rods, loads, table["stuff"]]
    rows = [factor.fit(values) for factor, values in zip(kernel.factors, columns, strict=True)]
    pairs = list(zip(kernel.factors, rows, strict=True))
    (block,) = kernel.join([factor.training_blocks(own) for factor, own in pairs])
    assert isinstance(block, Joint) and kernel.correlations() == ["matern52"]
    names = ["rod (component 1)", "rod (component 2)", "rod (remainder)", "rod 2", "load", "stuff"]
    assert kernel.range_names() == list(block.names) == names and kernel.block_names([]) == ["rod, load, stuff"]
    assert_allclose(kernel.units(), [1, 1, 1, 1, loads.std(), 1])
    embedded, standardized = rows[1], (loads - loads.mean()) / loads.std()
    kinds = table["stuff"].to_numpy()
    wanted = 2 * cdist(embedded, embedded) ** 2 + (standardized[:, None] - standardized) ** 2
    wanted += (kinds[:, None] != kinds).astype(float)  # all ranges one: components and remainder are the distance
    assert_allclose(block.dense() ** 2, wanted, rtol=1e-5, atol=1e-5)
    # new rows: those of the training set again
    (cross,) = kernel.join([factor.new_blocks(own, own) for factor, own in pairs])
    assert cross.shape == (50, 50) and kernel.join([]) == []


def test_a_gaussian_ellipse_is_the_product(table):
    """Same correlations, same process: only how they are computed differs."""
    kernel = Elliptic(principal(), "load", correlation="gaussian")
    plain = principal() * swwl.Gaussian("load")
    one, two = (RobustGPRegressor(k, calibrate=False).fit(table[:40], "stretch") for k in (kernel, plain))
    assert_allclose(one.gps_[0].log_posterior_, two.gps_[0].log_posterior_, rtol=1e-6)
    assert_allclose(one.predict(table[40:]), two.predict(table[40:]), rtol=1e-4)
    assert list(one.ranges_.index) == list(two.ranges_.index)
    # the standardized numbers have their ranges in units of the column
    assert_allclose(one.ranges_["load"], two.ranges_["load"], rtol=1e-2)


def test_scales_of_the_parts_do_not_matter(table, model):
    """Neither units of numbers nor sizes of graphs: every range has the scale of its own distances."""
    larger = table.assign(
        rod=[Graph(1e3 * rod.features, rod.edges) for rod in table["rod"]], heat=1e-3 * table["heat"] + 300
    )
    other = RobustGPRegressor(model.kernel, prior="gentle").fit(larger[:40], "stretch")
    assert_allclose(other.predict(larger[40:]), model.predict(table[40:]), atol=1e-3 * table["stretch"].std())
    assert_allclose(other.importance_, model.importance_, atol=0.02)


@pytest.mark.slow
def test_from_fit_to_file(table, model, tmp_path):
    new = table[40:]
    assert model.score(new, "stretch") > 0.97
    names = ["rod (component 1)", "rod (component 2)", "rod (component 3)", "rod (remainder)", "load", "heat"]
    assert list(model.ranges_.index) == list(model.importance_.index) == names
    assert model.importance_["load"] > 5 * model.importance_["heat"]
    assert list(model.feature_names_in_) == ["rod", "load", "heat"] and list(model.train_inputs_) == ["load", "heat"]
    assert_allclose(model.train_inputs_["load"], table["load"][:40])
    mean, cov = model.predict(new, return_cov=True)
    assert_allclose(np.sqrt(np.diag(cov)), model.predict(new, return_std=True)[1], rtol=1e-6)
    assert model.sample(new, 3, 0).shape == (3, 10) and model.leave_one_out().mean.shape == (40,)
    path = tmp_path / "rods.swwl"
    model.save(path)
    back = load_model(path)
    assert isinstance(back.kernel_, Elliptic) and repr(back.kernel) == repr(model.kernel) and back.prior == "gentle"
    for a, b in zip(model.predict(new, return_std=True), back.predict(new, return_std=True), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(back.predict(new, return_cov=True)[1], cov)
    assert_array_equal(back.ranges_, model.ranges_)
    again = tmp_path / "again.swwl"
    back.save(again)
    assert again.read_bytes() == path.read_bytes()
    page = make_report(back)
    assert "rod (remainder)" in page and "Elliptic(PrincipalSWWL(" in page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_several_measures_of_one_column(table, tmp_path):
    kernel = Elliptic(
        principal(k=2), principal(k=2, n_iterations=2), ASWWL("rod", **SMALL), "load", Categories("stuff")
    )
    model = RobustGPRegressor(kernel, prior="gentle", share_ranges=True, trend="linear")
    both = table.assign(double=2 * table["stretch"] + table["heat"])
    model.fit(both[:40], ["stretch", "double"])
    assert list(model.ranges_.index[-5:]) == [
        "rod 2 (remainder)",
        "rod 3 (iteration 0)",
        "rod 3 (iteration 1)",
        "load",
        "stuff",
    ]
    assert list(model.feature_names_in_) == ["rod", "load", "stuff"] and graph_columns(model) == ["rod"]
    model.save(tmp_path / "rods.swwl")
    back = load_model(tmp_path / "rods.swwl")
    assert_array_equal(back.predict(both[40:]), model.predict(both[40:]))
    assert make_report(model)


def test_numbers_alone_and_every_correlation(table):
    for correlation in ("matern52", "matern32", "gaussian", ("power", 1.8)):
        kernel = Elliptic("load", "heat", correlation=correlation)
        fitted = RobustGPRegressor(kernel, calibrate=False, n_starts=1).fit(table[:40], 2 * table["load"][:40])
        assert_allclose(fitted.predict(table[40:]), 2 * table["load"][40:], rtol=0.05)
        x = (
            (table[["load", "heat"]] - table[["load", "heat"]][:40].mean()) / table[["load", "heat"]][:40].std(ddof=0)
        ).to_numpy()
        gp = fitted.gps_[0]
        r = cross_correlation([Term(get_correlation(correlation), Coordinates(x[40:], x[:40]))], gp.beta_, (10, 40))
        assert_allclose(gp.theta_ + r @ gp._posterior.alpha[:, 0], fitted.predict(table[40:]), rtol=1e-8)


class Grown(Factor):
    """A factor that knows its correlation only once it is fitted, and then a wrong one."""

    takes = "numbers"

    def __init__(self, column):
        self.column = column

    def fit(self, values, progress=None, **options):
        self.kind_ = ("power", 1.0)
        return np.asarray(values)

    def items(self, first, second=None):
        return [np.abs(first[:, None] - (first if second is None else second))]

    def correlations(self):
        return [self.kind_]


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: Elliptic(), InputError, "at least one part"),
        (lambda: Elliptic(3), InputTypeError, "factors such as"),
        (lambda: Elliptic(PrincipalSWWL("rod")), InputError, "leaves the number of its components open"),
        (lambda: Elliptic(principal()).set_params(rod__n_components="auto"), InputError, "n_components=8"),
        (
            lambda: Elliptic(SWWL("rod", alpha=1.0)),
            InputError,
            r"has the correlation \('power', 1.0\), but .* Euclidean",
        ),
        (lambda: Elliptic(Rows("modes", alpha=1.5)), InputError, "Euclidean"),
        (lambda: Elliptic(Precomputed("id", np.zeros((2, 2)), "matern52")), InputError, "'matern52'"),
        (lambda: Elliptic("load", Matern52("load")), InputError, "uses column 'load' twice"),
        (lambda: Elliptic("load", correlation="matern25"), InputError, "did you mean 'matern52'"),
        (lambda: Elliptic("load") * Matern52("heat"), InputTypeError, "cannot be multiplied"),
        (lambda: Matern52("heat") * Elliptic("load"), InputTypeError, "whole kernel, not a factor"),
        (lambda: Elliptic(Elliptic("load"), "heat"), InputTypeError, "whole kernel"),
    ],
)
def test_mistakes(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_mistakes_that_only_a_fit_can_find(table):
    with pytest.raises(InputError, match=r"Grown\('load'\) has the correlation"):
        RobustGPRegressor(Elliptic(Grown("load"), "heat")).fit(table, "stretch")
    with pytest.raises(InputTypeError, match="GraphSVC multiplies its factors"):
        GraphSVC(Elliptic(SWWL("rod", **SMALL))).fit(table[["rod"]], table["stuff"])
    with pytest.raises(InputError, match="prior is 'flat', but 'robust' or 'gentle' is expected"):
        RobustGPRegressor(Elliptic("load"), prior="flat").fit(table, "stretch")

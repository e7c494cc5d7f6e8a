"""Derivatives of predictions against central differences of the double-precision path, which is checked itself."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import ConvexHull

from swwl import (
    ASWWL,
    SWWL,
    Categories,
    Components,
    Elliptic,
    Gaussian,
    Graph,
    InputError,
    Matern32,
    Matern52,
    Mesh,
    Power,
    Precomputed,
    PrincipalSWWL,
    RobustGPRegressor,
)
from swwl.design import displacement_modes
from swwl.errors import PlaneMeshWarning
from swwl.regression import fit_many_rows as large
from swwl.regression.sensitivity import displacements
from tests.helpers import assert_slope, plate
from tests.mesh.shapes import extruded

OPTIONS = {"n_iterations": 2, "n_projections": 8, "n_quantiles": 15}
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # of shapes: from where their nodes change places to where rounding takes over


def make_table(n=24, seed=0):
    """Return eggs of one topology, stretched by two numbers each, at some speed."""
    rng = np.random.default_rng(seed)
    ball = np.random.default_rng(5).normal(size=(50, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    cells = ConvexHull(ball).simplices
    a, b, speed = rng.uniform(0.8, 1.2, (3, n))
    meshes = []
    for x, y in zip(a, b, strict=True):
        bumps = 0.02 * np.random.default_rng(6).normal(size=ball.shape)
        meshes.append(Mesh(ball * [x, y, 1.0 + 0.2 * x * y] + bumps, cells))
    table = pd.DataFrame({"mesh": meshes, "speed": speed, "load": rng.uniform(1, 2, n)})
    table["y"] = np.sin(2 * a) * b + 0.3 * speed**2 + 0.1 * table["load"] * b
    table["z"] = a * speed
    table["w"] = speed**2 + table["load"]
    return table


TABLE = make_table(24)
NEW = make_table(25, seed=9)[-1:].reset_index(drop=True)


def check(model, rtol=1e-5, targets=("y",), numbers=("speed", "load"), most=2e-4, steps=STEPS):
    """Compare derivatives of mean and std, along two displacements and in numbers, with central differences."""
    rng = np.random.default_rng(1)
    case = NEW
    mesh = case["mesh"].iloc[0]
    smooth = [np.sin(mesh.points @ rng.normal(size=(3, 3))) for _ in range(2)]
    found = model.sensitivity(case, along=smooth)
    assert [own.target for own in found] == list(targets)
    mean, std = model.predict(case, return_std=True, widen=False)
    assert np.allclose([own.value for own in found], np.ravel(mean), rtol=1e-4)
    assert np.allclose([own.std.value for own in found], np.ravel(std), rtol=2e-2)

    def values(cases):
        return [[own.value, own.std.value] for own in model.sensitivity(cases)]

    changes = [lambda h, by=by: case.assign(mesh=[Mesh(mesh.points + h * by, mesh.cells)]) for by in smooth]
    got = [[[own.along.iloc[k], own.std.along.iloc[k]] for own in found] for k in range(2)]
    scales = [np.abs(got).max(axis=0)] * 2  # a derivative that happens to be small is as exact as that along the other
    changes += [lambda h, name=name: case.assign(**{name: case[name] + h}) for name in numbers]
    got += [[[own.inputs[name], own.std.inputs[name]] for own in found] for name in numbers]
    scales += list(np.abs(got[2:]))
    for change, derivatives, scale in zip(changes, got, scales, strict=True):
        assert_slope(derivatives, lambda h, at=change: values(at(h)), rtol, scale=scale, most=most, steps=steps)


@pytest.mark.parametrize("weights", ["uniform", "area"])
@pytest.mark.parametrize("kernel", [SWWL, ASWWL, PrincipalSWWL])
def test_paper_kernels(kernel, weights):
    more = {"n_components": 3} if kernel is PrincipalSWWL else {}
    product = kernel("mesh", node_weights=weights, **OPTIONS, **more) * Matern52("speed") * Gaussian("load")
    check(RobustGPRegressor(product, calibrate=False, n_starts=1).fit(TABLE, "y"))


@pytest.mark.parametrize(("numbers", "trend"), [(Power("speed", 1.9) * Matern32("load"), "linear")])
def test_other_numeric_factors_exponents_and_a_linear_trend(numbers, trend):
    kernel = SWWL("mesh", alpha=1.5, **OPTIONS) * numbers
    model = RobustGPRegressor(kernel, trend=trend, calibrate=False, n_starts=1).fit(TABLE, ["y", "z"])
    check(model, targets=("y", "z"))


def test_several_targets_that_share_ranges():
    kernel = Elliptic(PrincipalSWWL("mesh", n_components=2, **OPTIONS), "speed", "load")
    model = RobustGPRegressor(kernel, share_ranges=True, calibrate=False, n_starts=1).fit(TABLE, ["y", "z"])
    check(model, targets=("y", "z"))


@pytest.fixture(scope="module")
def stack():
    return RobustGPRegressor().fit(TABLE.drop(columns=["z", "w"]), "y")


@pytest.mark.slow
def test_the_default_model(stack):
    assert len(stack.members_) > 1
    # quantiles of the skin have kinks, so that differences tell three or four digits
    check(stack, rtol=1e-4, numbers=("speed",), most=1e-3, steps=(3e-5, 1e-5, 3e-6, 1e-6, 1e-7))


def test_numbers_alone_and_categories():
    table = TABLE[["speed", "load", "w"]].assign(kind=["a", "b"] * 12)
    model = RobustGPRegressor(Matern52("speed") * Gaussian("load") * Categories("kind"), calibrate=False, n_starts=1)
    (found,) = model.fit(table, "w").sensitivity(table[:1])
    assert set(found.inputs) == {"speed", "load"} and found.mesh is None
    assert_slope(found.inputs["speed"], lambda h: model.predict(table[:1].assign(speed=table["speed"][:1] + h))[0])


@pytest.fixture(scope="module")
def model():
    kernel = SWWL("mesh", node_weights="area", **OPTIONS) * Matern52("speed")
    return RobustGPRegressor(kernel, calibrate=False, n_starts=1).fit(TABLE, "y")


def test_rows_come_one_by_one(model):
    found = model.sensitivity(TABLE[:3])
    assert len(found) == 3
    assert np.array_equal(found[1].gradient, model.sensitivity(TABLE[1:2])[0].gradient)


def test_moving_all_nodes_is_the_sum_of_the_gradient(model):
    (found,) = model.sensitivity(TABLE[:1], along={"shift": np.ones((50, 3)) * [1.0, 2.0, 3.0]})
    assert found.along["shift"] == pytest.approx(found.gradient.sum(axis=0) @ [1, 2, 3])


def test_only_some_nodes_may_move(model):
    (found,) = model.sensitivity(TABLE[:1], where=[3, 4])
    assert np.flatnonzero(found.gradient.any(axis=1)).tolist() == [3, 4]
    assert np.flatnonzero(found.normal).tolist() == [3, 4]
    assert np.flatnonzero(found.normal_density(0.5)).tolist() == [3, 4]


def test_smoothing_keeps_what_the_gradient_makes_of_a_shift(model):
    (found,) = model.sensitivity(TABLE[:1])
    areas = found.mesh.graph("area").node_weights[:, None]
    assert np.allclose((areas * found.density(0.4)).sum(axis=0), found.gradient.sum(axis=0))
    assert np.abs(found.density(0.4)).max() < np.abs(found.density()).max()
    assert np.allclose(found.normal, found.normal_density(0.0))


def test_spikes_can_be_cut_down(model):
    (found,) = model.sensitivity(TABLE[:1])
    size = np.linalg.norm(found.density(), axis=1)
    cut = np.linalg.norm(found.density(most=1.0), axis=1)
    assert cut.max() == pytest.approx(np.quantile(size, 0.9)) and np.allclose(
        cut[size < cut.max()], size[size < cut.max()]
    )
    assert np.allclose(found.density(most=1e9), found.density())


def test_along_takes_meshes_pairs_and_modes(model):
    mesh, other = TABLE["mesh"][0], TABLE["mesh"][1]
    (found,) = model.sensitivity(
        TABLE[:1], along={"to": other, "pair": (mesh, other), "array": other.points - mesh.points}
    )
    assert found.along["to"] == pytest.approx(found.along["pair"]) == pytest.approx(found.along["array"])
    modes = displacement_modes(TABLE["mesh"])
    (found,) = model.sensitivity(TABLE[:1], along=modes)
    assert list(found.along.index) == ["mode 1", "mode 2", "mode 3"]  # eggs are stretched along three axes
    assert np.allclose(modes.move(modes.locate(mesh.points)) + modes.mean, mesh.points, atol=1e-6)


@pytest.mark.parametrize(("along", "text"), [
    ({"a": np.zeros((4, 3))}, r"Displacement 'a' has shape \(4, 3\), but the mesh has points of shape \(50, 3\)"),
    ({"a": np.full((50, 3), np.nan)}, "not finite"), ({"a": "nowhere.vtu"}, "nowhere.vtu"), ({"a": object()}, "array"),
    (Mesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), "must have a mesh with the cells of"),
])  # fmt: skip
def test_displacements_that_do_not_fit(model, along, text):
    with pytest.raises((InputError, FileNotFoundError), match=text):
        model.sensitivity(TABLE[:1], along=along)


@pytest.mark.parametrize("where", [[50], [-1], np.ones(3, bool), [0.5]])
def test_nodes_that_are_not_there(model, where):
    with pytest.raises(InputError, match="where"):
        model.sensitivity(TABLE[:1], where=where)


def test_what_the_model_does_not_know(model):
    with pytest.raises(InputError, match="target is 'v', but the model predicts 'y'"):
        model.sensitivity(TABLE[:1], "v")
    with pytest.raises(InputError, match="length"):
        model.sensitivity(TABLE[:1])[0].density(-1.0)
    with pytest.raises(InputError, match="no column of meshes"):
        displacements([np.zeros((1, 1))], None)
    graph = TABLE["mesh"][0].graph("area")
    with pytest.raises(InputError, match="give the Mesh"):
        model.sensitivity(pd.DataFrame({"mesh": [graph], "speed": [1.0]}))


def test_kernels_without_derivatives_are_refused():
    table = TABLE.assign(id=np.arange(24))
    distances = np.abs(np.subtract.outer(TABLE["y"].to_numpy(), TABLE["y"].to_numpy()))
    model = RobustGPRegressor(Precomputed("id", distances), calibrate=False, n_starts=1).fit(table[["id", "y"]], "y")
    with pytest.raises(InputError, match="Precomputed has no derivatives"):
        model.sensitivity(table[:1])
    model = RobustGPRegressor(SWWL("mesh", r=1, alpha=1.0, **OPTIONS), calibrate=False, n_starts=1).fit(TABLE, "y")
    with pytest.raises(InputError, match="r=2"):
        model.sensitivity(TABLE[:1])


def test_uncertain_ranges_have_a_mean_with_derivatives():
    kernel = Matern52("speed") * Matern52("load")
    model = RobustGPRegressor(kernel, range_uncertainty=True, calibrate=False, n_starts=1).fit(TABLE, "w")
    with pytest.raises(InputError, match="std=False"):
        model.sensitivity(TABLE[:1])
    assert model.sensitivity(TABLE[:1], std=False)[0].std is None


@pytest.fixture(scope="module")
def many():
    """Return so many eggs that a solver for many rows has fewer inducing rows and neighbors than there are."""
    return make_table(90, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel",
    [
        SWWL("mesh", **OPTIONS) * Matern52("speed") * Gaussian("load"),
        ASWWL("mesh", **OPTIONS) * Matern52("speed") * Matern52("load"),
        PrincipalSWWL("mesh", n_components=2, **OPTIONS) * Matern52("speed") * Matern52("load"),
        Elliptic(Components("mesh", n_components=2, **OPTIONS), "speed", "load"),
    ],
    ids=repr,
)
def test_models_of_many_rows(kernel, many, monkeypatch):
    monkeypatch.setattr(large, "MOST_EXACT_ROWS", 60)
    monkeypatch.setattr(large, "N_RANGES", 50)
    monkeypatch.setattr(large, "SETTINGS", ({"n_inducing": 30},))
    model = RobustGPRegressor(kernel, calibrate=False, n_starts=1, nugget=1e-3).fit(many, "y")
    assert model.solver_ == "vecchia"
    check(model)


def test_graphs_have_gradients_in_their_features():
    rng = np.random.default_rng(0)
    graphs = [Graph(rng.normal(size=(9, 2)) * rng.uniform(0.5, 2), rng.integers(9, size=(12, 2))) for _ in range(15)]
    y = [graph.features.std() for graph in graphs]
    model = RobustGPRegressor(SWWL("graph", **OPTIONS), calibrate=False, n_starts=1).fit(graphs, y)
    (found,) = model.sensitivity(graphs[:1])
    assert found.gradient.shape == (9, 2) and found.gradient.any()
    with pytest.raises(InputError, match="skin"):
        found.normal  # noqa: B018


def test_both_sides_of_a_layer_share_the_derivative_of_its_plane_mesh():
    """Nothing pushes the front and the back; the contour is pushed as that of the plane mesh."""
    plane = [Mesh(*plate(100, k, 1 + k / 14)) for k in range(14)]
    thick = pd.DataFrame({"mesh": pd.Series([extruded(mesh) for mesh in plane], dtype=object)})
    y = np.array([np.ptp(mesh.points[:, 0]) ** 2 for mesh in plane])
    options = {"calibrate": False, "target_scale": "identity", "outliers": "keep", "regimes": "one"}
    flat = RobustGPRegressor(**options).fit(pd.DataFrame({"mesh": pd.Series(plane, dtype=object)}), y)
    with pytest.warns(PlaneMeshWarning, match="14 meshes are one cell thick: they are learned as plane meshes"):
        model = RobustGPRegressor(**options).fit(thick, y)
    one = flat.sensitivity(pd.DataFrame({"mesh": [plane[3]]}))
    two = model.sensitivity(thick[3:4])
    one, two = (found[0] if isinstance(found, list) else found for found in (one, two))
    n = plane[3].n_nodes
    scale = np.abs(one.gradient).max()
    np.testing.assert_allclose(two.gradient[:n, :2], one.gradient / 2, atol=1e-9 * scale)
    np.testing.assert_array_equal(two.gradient[:n], two.gradient[n:])
    assert not two.gradient[:, 2].any()
    np.testing.assert_allclose(two.normal[:n], one.normal, atol=1e-9 * np.abs(one.normal).max())

"""Accuracy and honest intervals, on real simulations and on generated ones."""

import numpy as np
import pandas as pd
import pytest

from swwl import ASWWL, SWWL, Graph, Matern52, PrincipalSWWL, RobustGPRegressor
from swwl.datasets import make_blade

pytestmark = pytest.mark.slow


def ring(points):
    """The closed contour through consecutive points."""
    number = np.arange(len(points))
    return Graph(points, np.column_stack([number, np.roll(number, -1)]))


def scores(model, table, target, train, test):
    """RMSE over the spread of the target, and the share of the test rows inside their 95 % intervals."""
    model.fit(table.iloc[train], target[train])
    mean, std = model.predict(table.iloc[test], return_std=True)
    assert (std > 0).all()
    lower, upper = model.predict_interval(table.iloc[test])
    inside = (lower < target[test]) & (target[test] < upper)
    return np.sqrt(np.mean((mean - target[test]) ** 2)) / target.std(), inside.mean()


@pytest.fixture(scope="module")
def airfrans(swwl_data):
    with np.load(swwl_data / "meshes" / "airfrans_surface_test200.npz") as data:
        contours = np.split(data["points"], np.cumsum(data["n_nodes"])[:-1])
        table = pd.DataFrame({"mesh": pd.Series([ring(c) for c in contours], dtype=object), "speed": data["u_inf"]})
        return table.assign(incidence=data["aoa_deg"]), data["cl_pressure_derived"].astype(float)


@pytest.fixture(scope="module")
def naca(swwl_data):
    with np.load(swwl_data / "meshes" / "naca0012_contours_reconstructed.npz") as data:
        meshes = [ring(contour) for contour in data["contours"][:1000]]
        return pd.DataFrame({"mesh": pd.Series(meshes, dtype=object)}), data["drag"][:1000].astype(float)


@pytest.mark.parametrize("kernel", [SWWL, ASWWL, PrincipalSWWL])
def test_intervals_hold_on_the_lift_of_airfrans(airfrans, kernel):
    """150 cases to learn from, 50 to test, three splits; the data are nearly noiseless, the hard case."""
    table, lift = airfrans
    results = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(200)
        model = RobustGPRegressor(kernel("mesh") * Matern52("speed") * Matern52("incidence"))
        results.append(scores(model, table, lift, order[:150], order[150:]))
    error, coverage = np.mean(results, axis=0)
    assert 0.88 <= coverage <= 0.99
    assert error < 0.03


def test_the_default_keeps_up_with_a_single_kernel_on_real_drag(naca):
    table, drag = naca
    order = np.random.default_rng(0).permutation(1000)
    train, test = order[:400], order[400:800]
    plain, coverage = scores(RobustGPRegressor(SWWL("mesh")), table, drag, train, test)
    principal, principal_coverage = scores(RobustGPRegressor(), table, drag, train, test)
    assert principal <= 1.05 * plain
    assert 0.88 <= min(coverage, principal_coverage) <= max(coverage, principal_coverage) <= 0.99
    for kernel in (SWWL, ASWWL, PrincipalSWWL):
        assert 0.88 <= scores(RobustGPRegressor(kernel("mesh")), table, drag, order[:300], test)[1] <= 0.99


def test_principal_components_halve_the_error_on_blades_of_random_topology():
    table = make_blade(400, n_nodes=1500, random_state=0, random_topology=True)
    efficiency = table["efficiency"].to_numpy()
    train, test = np.arange(300), np.arange(300, 400)
    scalars = Matern52("speed") * Matern52("pressure")
    plain, _ = scores(RobustGPRegressor(SWWL("mesh") * scalars), table, efficiency, train, test)
    kernel = PrincipalSWWL("mesh") * scalars
    principal, coverage = scores(RobustGPRegressor(kernel), table, efficiency, train, test)
    assert principal <= 0.5 * plain
    assert 0.88 <= coverage <= 0.99

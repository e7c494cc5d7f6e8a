"""Shape ascent stays inside its region, and finds what is there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from swwl import SWWL, InputError, Matern52, Mesh, RobustGPRegressor
from swwl.design import displacement_modes, improve

SQUARE = np.array([[x, y] for x in np.linspace(0, 1, 5) for y in np.linspace(0, 1, 5)])
CELLS = [[5 * i + j, 5 * i + j + 5, 5 * i + j + 6, 5 * i + j + 1] for i in range(4) for j in range(4)]


def plate(width, height):
    return Mesh(SQUARE * [width, height], {"quad": CELLS})


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    width, height, load = rng.uniform(0.8, 1.2, (3, 40))
    best = -((width - 1.05) ** 2) - (height - 0.95) ** 2 + 0.1 * load
    meshes = [plate(w, h) for w, h in zip(width, height, strict=True)]
    return pd.DataFrame({"mesh": meshes, "load": load, "y": best, "z": -best})


@pytest.fixture(scope="module")
def model(table):
    kernel = SWWL("mesh", n_iterations=0, n_projections=10, n_quantiles=20, node_weights="area") * Matern52("load")
    return RobustGPRegressor(kernel, calibrate=False, n_starts=1).fit(table, ["y", "z"])


@pytest.fixture(scope="module")
def modes(table):
    return displacement_modes(table["mesh"])


@pytest.mark.slow
@pytest.mark.parametrize(("target", "goal", "caution"), [("y", "maximize", 0.0), ("z", "minimize", 1.0)])
def test_finds_the_best_plate(model, table, modes, target, goal, caution):
    found = improve(model, table["mesh"][0], modes, {"load": 1.0}, target=target, goal=goal, caution=caution)
    width, height = np.ptp(found.mesh.points, axis=0)
    assert width == pytest.approx(1.05, abs=0.02) and height == pytest.approx(0.95, abs=0.02)
    sign = 1 if goal == "maximize" else -1
    assert sign * found.mean > sign * found.start_mean
    assert found.interval[0] < found.mean < found.interval[1]
    assert np.linalg.norm(found.coordinates) <= found.radius * (1 + 1e-9)


def test_does_not_leave_the_ball(model, table, modes):
    found = improve(model, table["mesh"][0], modes, {"load": 1.0}, target="y", goal="minimize", radius=0.5)
    assert np.linalg.norm(found.coordinates) == pytest.approx(0.5, rel=1e-6)
    away = found.mesh.points - modes.mean
    assert np.allclose(modes.move(found.coordinates), away, atol=1e-6)


@pytest.mark.slow
def test_begins_inside_and_keeps_what_modes_do_not_hold(model, modes):
    odd = plate(3.0, 3.0)
    bump = odd.points.copy()
    bump[12] += 1e-3
    found = improve(model, Mesh(bump, odd.cells), modes, {"load": 1.0}, target="y")
    assert np.linalg.norm(found.coordinates) <= found.radius * (1 + 1e-9)
    shape = modes.mean + modes.move(found.coordinates)
    assert np.abs(found.mesh.points - shape).max() > 5e-4


@pytest.mark.parametrize(("change", "text"), [
    ({"radius": 99.0}, "beyond them nothing has been tested"), ({"radius": 0.0}, "must be positive"),
    ({"target": None}, "several targets"), ({"target": "w"}, "the model predicts 'y', 'z'"),
    ({"constraints": {"z": 3}}, "must be .low, high., numbers"),
    ({"constraints": {"z": ("a", 1)}}, "must be .low, high."),
    ({"constraints": {"z": (None, None)}}, "must be .low, high."), ({"constraints": ["z"]}, "constraints are"),
    ({"inputs": {"load": "a"}}, "load is fixed at 'a', but a number"), ({"inputs": 3}, "Conditions are 3"),
    ({"inputs": {"load": 1.0, "speed": 3}}, "no input 'speed' to fix; it has: load"),
    ({"caution": "1"}, "caution is '1'"),
    ({"thickness": "1"}, "thickness is '1'"), ({"criterion": "ei", "best": "1"}, "best is '1'"),
    ({"radius": "1"}, "radius is '1'"), ({"model": RobustGPRegressor()}, "is not fitted yet"),
    ({"model": "model.swwl"}, "improve needs a fitted RobustGPRegressor, not str"),
    ({"goal": "better"}, "maximize"), ({"inputs": {}}, "needs 'load'"), ({"caution": -1.0}, "caution"),
    ({"mesh": Mesh([[0.0, 0], [1, 0], [0, 1]], [[0, 1, 2]])}, r"points of shape \(3, 2\)"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(model, table, modes, change, text):
    options = {"model": model, "mesh": table["mesh"][0], "inputs": {"load": 1.0}, "target": "y"} | change
    with pytest.raises(ValueError, match=text) as caught:
        improve(options.pop("model"), options.pop("mesh"), modes, options.pop("inputs"), **options)
    assert isinstance(caught.value, (InputError, NotFittedError))


def test_modes_need_one_topology(table):
    with pytest.raises(InputError, match=r"Mesh 1 has different cells"):
        displacement_modes([table["mesh"][0], Mesh([[0.0, 0], [1, 0], [0, 1]], [[0, 1, 2]])])
    with pytest.raises(InputError, match="at least two"):
        displacement_modes(table["mesh"][:1])
    with pytest.raises(InputError, match="all the same"):
        displacement_modes([table["mesh"][0]] * 3)


def test_modes_are_one_deviation_long(table, modes):
    assert np.allclose(modes.coordinates.std(axis=0), 1.0)
    assert len(modes.displacements) == 2
    for row, mesh in zip(modes.coordinates, table["mesh"], strict=True):
        assert np.allclose(modes.locate(mesh.points), row, atol=1e-6)


def test_the_name_is_a_function_whatever_was_imported_before():
    """A module of the same name would take its place in the package once it is imported."""
    import importlib
    import pkgutil

    import swwl.design

    for module in pkgutil.iter_modules(swwl.design.__path__):
        importlib.import_module(f"swwl.design.{module.name}")
    assert all(not isinstance(getattr(swwl.design, name), type(importlib)) for name in swwl.design.__all__)

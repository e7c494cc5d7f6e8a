"""Displays store the right numbers and draw them."""

import io

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import TriMesh
from matplotlib.figure import Figure

from swwl import SWWL, Matern52, PrincipalSWWL, RobustGPRegressor, write_graph
from swwl.errors import CaseWarning, InputError
from swwl.evaluation.scores import score
from swwl.gp.prediction import Prediction
from swwl.mesh import Graph, Mesh, read_mesh
from swwl.plots import (
    CalibrationDisplay,
    ChoicesDisplay,
    CurvesDisplay,
    DesignDisplay,
    EffectDisplay,
    ImportanceDisplay,
    ParityDisplay,
    ResidualsDisplay,
    draw_mesh,
)
from swwl.plots.style import label_points
from tests.helpers import SMALL, plate, plates


@pytest.fixture(scope="module")
def table():
    return plates(40)


@pytest.fixture(scope="module")
def model(table):
    kernel = PrincipalSWWL("mesh", n_components=2, **SMALL) * Matern52("load")
    return RobustGPRegressor(kernel, n_starts=1).fit(table[:30], ["weight", "stiffness"])


def axis():
    """An axis of a figure without a window."""
    return Figure().subplots()


def draw(display):
    """Draw once more on another axis, save it, and return the axis."""
    first = display.ax_
    assert display.plot(ax=axis()) is display
    assert display.ax_ is not first and display.figure_ is display.ax_.figure
    display.figure_.savefig(io.BytesIO(), format="png")
    return display.ax_


def test_parity(model, table):
    display = ParityDisplay.from_estimator(
        model, table[30:], table["stiffness"][30:].to_numpy(), target="stiffness", ax=axis()
    )
    mean, std = model.predict(table[30:], return_std=True)
    np.testing.assert_allclose(display.prediction.mean, mean[:, 1])
    np.testing.assert_allclose(display.prediction.std, std[:, 1])
    lower, upper = model.predict_interval(table[30:])
    np.testing.assert_allclose(display.prediction.interval(0.95), [lower[:, 1], upper[:, 1]])
    assert draw(display).get_xlabel() == "stiffness, simulated"
    for y in ("stiffness", table["stiffness"][30:], table[["weight", "stiffness"]][30:]):
        other = ParityDisplay.from_estimator(model, table[30:], y, target="stiffness", ax=axis())
        np.testing.assert_array_equal(other.y, display.y)
    assert ParityDisplay.from_estimator(model, table[30:], "stiffness", ax=axis()).name == "stiffness"
    given = ParityDisplay.from_predictions(display.y, mean[:, 1], std=std[:, 1], name="stiffness", ax=axis())
    np.testing.assert_allclose(given.prediction.std, display.prediction.std)
    left = ParityDisplay.from_leave_one_out(model, ax=axis())
    assert f"Q² = {score(left.y, left.prediction).q2:.3f}" in draw(left).get_title(loc="left")
    with pytest.raises(ValueError, match="no target 'lift'; its targets are weight, stiffness"):
        ParityDisplay.from_leave_one_out(model, target="lift")


def test_predictions_that_do_not_fit(model, table):
    y, both = table["weight"][30:], model.predict_distribution(table[30:])
    with pytest.raises(InputError, match="holds 2 targets, but one is drawn"):
        ParityDisplay.from_predictions(y, both)
    with pytest.raises(InputError, match="y_true has shape \\(9,\\), but there are 10 predictions"):
        CalibrationDisplay.from_predictions(y[:9], both.column(0))
    with pytest.raises(InputError, match="come with its standard deviations"):
        ResidualsDisplay.from_predictions(y, both.column(0).mean)


def test_residuals_name_odd_cases():
    mean = np.linspace(0, 1, 20)
    y = mean + np.where(np.arange(20) == 7, 0.5, 0.01)
    labels = [f"case {i}" for i in range(20)]
    prediction = Prediction(mean, np.full(20, 0.1), np.inf)
    display = ResidualsDisplay.from_predictions(y, prediction, labels=labels, ax=axis())
    np.testing.assert_allclose(display.residual[7], 5)
    drawn = draw(display)
    assert [text.get_text() for text in drawn.texts] == ["case 7"]
    assert "1 beyond" in drawn.get_title(loc="left")


def test_labels_are_few_and_never_over_each_other():
    rng = np.random.default_rng(0)
    ax = axis()
    points = 0.45 + 0.1 * rng.random((40, 2))
    written = label_points(ax, points, [f"bracket_{i:02d}.vtu" for i in range(12)])
    assert 2 <= len(written) <= 5
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_residuals_and_calibration_of_new_cases(model, table):
    residuals = ResidualsDisplay.from_estimator(model, table[30:], "weight", ax=axis())
    mean, std = model.predict(table[30:], return_std=True)
    np.testing.assert_allclose(residuals.residual, (table["weight"][30:] - mean[:, 0]) / std[:, 0])
    calibration = CalibrationDisplay.from_estimator(model, table[30:], "stiffness", ax=axis())
    assert (calibration.n, calibration.name) == (10, "stiffness")


def test_calibration_of_faultless_intervals():
    rng = np.random.default_rng(0)
    n = 4000
    mean, std = rng.standard_normal(n), np.full(n, 2.0)
    y = mean + 2 * rng.standard_normal(n)
    display = CalibrationDisplay.from_predictions(y, Prediction(mean, std, np.inf), ax=axis())
    assert np.abs(display.coverage - display.levels).max() < 0.03
    draw(display)


def test_curves_widen_outside_the_training_range(model, table):
    load = table["load"][:30]
    values = np.linspace(load.min(), load.max() + 3 * np.ptp(load), 12)
    with pytest.warns(CaseWarning, match=r"9 of 12 cases are outside the training range|widened|unlike"):
        display = CurvesDisplay.from_estimator(model, table["mesh"][35], ("load", values), target="weight", ax=axis())
    width = display.table["upper95"] - display.table["lower95"]
    assert width.iloc[-1] > 2 * width.iloc[0]
    row = pd.DataFrame({"mesh": [table["mesh"][35]], "load": [values[3]]})
    prediction, _ = model.predict_with_domain(row)
    np.testing.assert_allclose(display.table["mean"][3], prediction.mean[0, 0])
    np.testing.assert_allclose(display.table["upper95"][3], prediction.interval(0.95)[1][0, 0])
    draw(display)
    frame = table[:30].assign(sum=table["load"] + table["weight"])
    one = RobustGPRegressor(Matern52("load") * Matern52("weight"), n_starts=1).fit(frame, "sum")
    two = CurvesDisplay.from_estimator(one, None, ("load", values[:3]), ("weight", [1.0, 2.0]), ax=axis())
    assert len(two.table) == 6
    with pytest.raises(ValueError, match="'load' is given twice"):
        CurvesDisplay.from_estimator(one, None, ("load", values[:3]), ("load", [1.0, 2.0]))
    with pytest.raises(ValueError, match="no numeric input 'height'; it has: load"):
        CurvesDisplay.from_estimator(model, table["mesh"][35], ("height", values))


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
def test_what_lies_outside_the_training_range_is_hatched(model, table):
    low, high = model.train_inputs_["load"].min(), model.train_inputs_["load"].max()
    inside = CurvesDisplay.from_estimator(model, table["mesh"][35], ("load", np.linspace(low, high, 9)), ax=axis())
    names = [text.get_text() for text in draw(inside).get_legend().get_texts()]
    values = np.linspace(low, 2 * high, 9)
    beyond = CurvesDisplay.from_estimator(model, table["mesh"][35], ("load", values), ax=axis())
    shaded = [own for own in draw(beyond).patches if own.get_label() == "outside the training range"]
    assert "prediction, 95 % band" in names and len(shaded) <= 2
    assert any(np.isclose(own.get_x(), high) for own in draw(beyond).patches)


def test_importance_sums_up_the_rest(model):
    display = ImportanceDisplay.from_estimator(model, target="weight", most=2, ax=axis())
    assert display.importance.index.tolist() == model.importance_["weight"].sort_values(ascending=False).index.tolist()
    names = [label.get_text() for label in draw(display).get_yticklabels()]
    assert names[-1] == f"{len(display.importance) - 2} more together"


@pytest.mark.slow
def test_map_marks_the_case_far_from_all_others(table):
    odd = Graph.from_cells(plate(60, 0, 9.0)[0], plate(60, 0, 9.0)[1])
    meshes = [*table["mesh"][:29], odd]
    spoiled = table[:30].assign(mesh=pd.Series(meshes, dtype=object))
    kernel = SWWL("mesh", **SMALL) * Matern52("load")
    model = RobustGPRegressor(kernel, n_starts=1, calibrate=False).fit(spoiled, "weight")
    display = DesignDisplay.from_estimator(model, labels=[f"case {i}" for i in range(30)], ax=axis())
    assert display.outliers[29]
    assert "case 29" in [text.get_text() for text in draw(display).texts]
    np.testing.assert_allclose(display.values, spoiled["weight"])
    std = DesignDisplay.from_estimator(model, color="std", ax=axis())
    np.testing.assert_allclose(std.values, model.leave_one_out().std)
    scalars = RobustGPRegressor(Matern52("load"), n_starts=1).fit(table[:30], table["load"][:30] ** 2)
    assert draw(DesignDisplay.from_estimator(scalars, ax=axis())).get_xlabel() == "component 1 (100 %)"
    with pytest.raises(InputError, match="color must be"):
        DesignDisplay.from_estimator(model, color="red")


def test_effect_of_projections_and_quantiles(table):
    model = RobustGPRegressor(SWWL("mesh", **SMALL) * Matern52("load"), n_starts=1)
    numbers = {"n_projections": (2, 6), "n_quantiles": (5, 10)}
    test = (table[30:], table["weight"][30:])
    display = EffectDisplay.from_estimator(model, table[:30], "weight", test=test, **numbers, ax=axis())
    kernel = SWWL("mesh", **SMALL | {"n_projections": 6, "n_quantiles": 10}) * Matern52("load")
    alone = RobustGPRegressor(kernel, n_starts=1, calibrate=False).fit(table[:30], "weight")
    error = np.sqrt(np.mean((alone.predict(table[30:]) - table["weight"][30:]) ** 2))
    np.testing.assert_allclose(display.table["rmse"].iloc[-1], error)
    assert [text.get_text() for text in draw(display).get_legend().get_texts()] == ["Q = 5", "Q = 10"]


def test_many_triangles_are_drawn_as_a_surface_and_not_as_dots(monkeypatch):
    monkeypatch.setattr("swwl.plots.meshes._MOST_TRIANGLES", 100)
    points, triangles = plate(400)
    drawn = draw_mesh(Mesh(np.column_stack([points, np.sin(points[:, 0])]), triangles), axis())
    assert not drawn.lines and isinstance(drawn.collections[0], TriMesh)
    drawn.figure.savefig(io.BytesIO(), format="png")
    low, high = drawn.get_ylim()
    assert high > low


@pytest.mark.slow
def test_meshes_of_all_kinds_are_drawn(tmp_path):
    import meshio

    points, triangles = plate(60)
    flat = np.column_stack([points, np.zeros(len(points))])
    meshio.Mesh(flat, [("triangle", triangles)]).write(tmp_path / "plane.vtu")
    curved = np.column_stack([points, np.sin(points[:, 0])])
    meshio.Mesh(curved, [("triangle", triangles)]).write(tmp_path / "surface.vtu")
    cube = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
    meshio.Mesh(cube, [("hexahedron", [[0, 1, 3, 2, 4, 5, 7, 6]])]).write(tmp_path / "solid.vtu")
    write_graph(tmp_path / "graph.npz", Graph([[0.0], [1.0]], [[0, 1]]))
    for name in ("plane.vtu", "surface.vtu", "solid.vtu", "graph.npz"):
        drawn = draw_mesh(tmp_path / name, axis(), title="a mesh")
        assert drawn.get_title() == "a mesh"
        drawn.figure.savefig(io.BytesIO(), format="png")
    assert draw_mesh(read_mesh(tmp_path / "plane.vtu"), axis()).lines
    assert draw_mesh(Graph(points, triangles[:, :2]), axis()).collections
    solid = draw_mesh(tmp_path / "solid.vtu", axis())
    assert len(solid.collections[0].get_paths()) == 6 and not solid.lines  # three sides face the viewer, no dots
    with pytest.raises(InputError, match="plane axis"):
        draw_mesh(tmp_path / "surface.vtu", Figure().add_subplot(projection="3d"))


def test_without_an_axis_pyplot_makes_one(model):
    matplotlib.use("Agg")
    from matplotlib import pyplot

    display = ImportanceDisplay.from_estimator(model)
    assert display.ax_.figure.number in pyplot.get_fignums()
    pyplot.close(display.ax_.figure)


def test_choices_are_numbered_on_the_map_of_the_pool():
    rows = np.random.default_rng(0).normal(size=(30, 4)) * [3, 2, 1, 0.1]
    display = ChoicesDisplay.from_points(rows, [4, 9], known=rows[:3] + 1, ax=axis())
    drawn = draw(display)
    assert [text.get_text() for text in drawn.texts] == ["1", "2"] and len(drawn.collections) == 3
    np.testing.assert_allclose(drawn.collections[2].get_offsets(), display.coordinates[[4, 9]])
    with pytest.raises(InputError, match="Rows from 0 to 29 can be chosen, not 30"):
        ChoicesDisplay.from_points(rows, [30], ax=axis())


@pytest.mark.slow
def test_very_many_points_become_pixels():
    """So that pages about many cases stay small; a few hundred points stay lines that can be enlarged."""
    sizes = {}
    for n in (500, 20_000):
        y = np.random.default_rng(0).normal(size=n)
        display = ParityDisplay(y, Prediction(y, np.full(n, 0.1), 30.0)).plot(axis())
        sizes[n] = io.BytesIO()
        display.figure_.savefig(sizes[n], format="svg")
    assert b"<image" in sizes[20_000].getvalue() and b"<image" not in sizes[500].getvalue()
    assert len(sizes[20_000].getvalue()) < 1e6

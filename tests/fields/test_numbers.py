"""Numbers derived from fields: exact where fields are linear; their intervals hold what they say."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from swwl import Elliptic, FieldRegressor, InputError, Matern52, Mesh, load_model
from swwl.datasets import make_channel
from swwl.errors import MeshWarning, PlaneMeshWarning
from swwl.fields.kernels import NodePositions
from swwl.fields.numbers import ForceOn, Line, NumberErrors, Probe, derived_number, group_forces, missing_notes
from swwl.kernels import Components
from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cell_measures
from tests.mesh.shapes import FILLINGS, extruded, joined, pixels, ring, shuffled, solid, sphere


def cases(n, bias, spread, seed):
    """True numbers of n meshes, and samples of them that lie too high by ``bias`` and are too narrow by ``spread``."""
    rng = np.random.default_rng(seed)
    center, scale = rng.normal(size=(n, 1)), rng.uniform(0.5, 2, (n, 1))
    truth = center + scale * rng.normal(size=(n, 1))
    return truth, center[:, None] + scale[:, None] * (bias + rng.normal(size=(n, 100, 1)) / spread)


@pytest.mark.parametrize(("bias", "spread"), [(0.0, 1.0), (3.0, 1.0), (-1.0, 4.0), (0.5, 0.2)])
def test_intervals_hold_what_they_say(bias, spread):
    truth, drawn = cases(2000, bias, spread, 0)
    errors = NumberErrors.of(truth, drawn.mean(axis=1), drawn.std(axis=1))
    truth, drawn = cases(4000, bias, spread, 1)
    for level in (0.5, 0.95):
        center, std, lower, upper = errors.interval(drawn, level)
        assert ((lower <= truth) & (truth <= upper)).mean() == pytest.approx(level, abs=0.04)
    assert np.abs((truth - center) / std).mean() == pytest.approx(np.sqrt(2 / np.pi), rel=0.2)
    assert (truth - center).mean() == pytest.approx(0, abs=0.15)


def test_a_number_that_all_meshes_share_is_met_exactly():
    drawn = np.random.default_rng(0).normal(1.3, 0.1, (50, 100, 1))
    errors = NumberErrors.of(np.ones((50, 1)), drawn.mean(axis=1), drawn.std(axis=1))
    _, _, lower, upper = errors.interval(drawn, 0.95)
    assert ((lower <= 1) & (upper >= 1)).mean() >= 0.9
    assert (upper - lower).mean() < 0.3


def test_units_do_not_matter():
    truth, drawn = cases(40, 0.3, 1.0, 0)
    first = NumberErrors.of(truth, drawn.mean(axis=1), drawn.std(axis=1)).interval(drawn, 0.9)
    other = NumberErrors.of(7e9 * truth, 7e9 * drawn.mean(axis=1), 7e9 * drawn.std(axis=1)).interval(7e9 * drawn, 0.9)
    for a, b in zip(first, other, strict=True):
        np.testing.assert_allclose(7e9 * a, b, rtol=1e-9)


def test_levels_beyond_all_scores_follow_a_normal_tail():
    errors = NumberErrors(np.linspace(-1, 1, 19)[:, None], np.ones(1))
    steps = [errors.quantile(level)[0] for level in (0.9, 0.95, 0.975, 0.999)]
    assert steps[1] == pytest.approx(1.0)
    assert np.all(np.diff(steps) > 0)
    assert errors.quantile(0.001)[0] == pytest.approx(-steps[-1])


def test_samples_without_any_spread_are_taken_as_they_are():
    errors = NumberErrors.of(np.full((12, 1), 5.0), np.full((12, 1), 5.0), np.zeros((12, 1)))
    center, std, lower, upper = errors.interval(np.full((3, 100, 1), 5.0), 0.95)
    for part in (center, lower, upper):
        np.testing.assert_allclose(part, 5.0)
    assert (std >= 0).all()


def number(what, mesh, values):
    """A number, or a few, of one field given at the nodes."""
    return derived_number(what, mesh, "u", np.asarray(values, float)[None])[0]


def linear(points, seed=0):
    """A linear field, and what it is elsewhere."""
    slope = np.random.default_rng(seed).normal(size=points.shape[1])
    return points @ slope + 0.7, slope


# Places and lines


@pytest.mark.parametrize("kind", FILLINGS)
def test_linear_fields_are_probed_exactly_in_solids(kind):
    rng = np.random.default_rng(0)
    mesh = solid(list(itertools.product(range(2), repeat=3)), kind, rng)
    values, slope = linear(mesh.points)
    for place in rng.uniform(0, 2, (20, 3)):
        assert number(Probe(place), mesh, values) == pytest.approx(place @ slope + 0.7, abs=1e-12)


@pytest.mark.parametrize("kind", ["triangle", "quad", "polygon"])
def test_linear_fields_and_vectors_are_probed_exactly_in_the_plane(kind):
    rng = np.random.default_rng(1)
    mesh = pixels([(0, 0), (1, 0), (1, 1)], kind, rng)
    values, slope = linear(mesh.points)
    for place in ([0.3, 0.9], [1.0, 1.0], [1.999, 0.001]):
        both = number(Probe(place), mesh, np.column_stack([values, -values]))
        np.testing.assert_allclose(both, np.array([1, -1]) * (place @ slope + 0.7), atol=1e-12)
    with pytest.raises(InputError, match=r"the point 0.3, 1.5 lies 0.5 outside of the mesh"):
        number(Probe((0.3, 1.5)), mesh, values)


def test_probes_are_those_of_scipy():
    rng = np.random.default_rng(2)
    points = rng.uniform(size=(80, 3))
    cells = Delaunay(points)
    mesh, values = Mesh(points, {"tetra": cells.simplices}), rng.normal(size=80)
    places = rng.uniform(size=(60, 3))
    expected = LinearNDInterpolator(cells, values)(places)
    for place, value in zip(places, expected, strict=True):
        if np.isfinite(value):
            assert number(Probe(place), mesh, values) == pytest.approx(value, abs=1e-9)
        else:
            with pytest.raises(InputError, match="outside of the mesh"):
                number(Probe(place), mesh, values)


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
def test_numbers_of_fields_of_cells_are_those_of_cells():
    rng = np.random.default_rng(0)
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 1, 6), indexing="ij"))
    corner = np.arange(42).reshape(7, 6)
    quads = np.stack([corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]], axis=-1).reshape(-1, 4)
    rows = []
    for width, load in zip(rng.uniform(1, 2, 18), rng.uniform(1, 3, 18), strict=True):
        points = np.column_stack([width * x**1.5, y])
        at = points[quads].mean(axis=1)
        p = load * (1 + at[:, 0] ** 2 + np.sin(3 * at[:, 1]))
        groups = {"wall": {"line": np.column_stack([corner[:-1, 0], corner[1:, 0]])}}
        plane = Mesh(points, {"quad": quads}, cell_fields={"p": p}, groups=groups)
        rows.append({"mesh": plane, "load": load})
    table = pd.DataFrame(rows)
    table["layer"] = [with_cells(extruded(mesh, 0.1), mesh) for mesh in table["mesh"]]
    asked = ["max", "mean", "integral", Probe((0.6, 0.45)), ForceOn("wall")]
    found = {}
    for kind in ("mesh", "layer"):
        own = table[[kind, "load"]].rename(columns={kind: "mesh"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlaneMeshWarning)
            model = FieldRegressor(NodePositions("mesh") * Matern52("load"), random_state=1).fit(own[:15], "p")
        found[kind] = model.derived(own[15:], asked)
        assert {"max", "mean", "integral", "force on wall"} <= model.models_["p"].numbers.keys()
        shown = model.predict_meshes(own[15:])[0].cell_fields["p"]
        mesh = table["mesh"][15]
        corners = mesh.points[mesh.cells["quad"]]
        holds = ((corners.min(axis=1) <= [0.6, 0.45]) & (corners.max(axis=1) >= [0.6, 0.45])).all(axis=1)
        assert holds.sum() == 1 and found[kind]["at_0.6_0.45_mean"][0] == pytest.approx(shown[holds][0])
    for row in range(3):
        mesh = table["mesh"][15 + row]
        sizes, p = cell_measures(mesh.points, "quad", mesh.cells["quad"]), mesh.cell_fields["p"]
        for kind in found:
            assert found[kind]["max_mean"][row] == pytest.approx(p.max(), rel=0.03)
            assert found[kind]["integral_mean"][row] == pytest.approx(sizes @ p, rel=0.02)
            assert found[kind]["mean_mean"][row] == pytest.approx(sizes @ p / sizes.sum(), rel=0.02)
            along = mesh.points[corner[:, 0], 0]
            exact = table["load"][15 + row] * (along[-1] + along[-1] ** 3 / 3)
            assert abs(found[kind]["force_on_wall_mean_1"][row]) == pytest.approx(exact, rel=0.1)


def with_cells(mesh, plane):
    """A layer with the cell fields of its plane mesh."""
    return Mesh(mesh.points, mesh.cells, cell_fields=dict(plane.cell_fields), groups=mesh.groups)


def test_the_order_of_nodes_and_cells_does_not_matter():
    rng = np.random.default_rng(3)
    mesh = solid(list(itertools.product(range(2), repeat=3)), "tetra", rng)
    other = shuffled(mesh, rng)
    first, second = (number(Probe((0.4, 1.3, 0.8)), one, np.sin(one.points).sum(axis=1)) for one in (mesh, other))
    assert first == pytest.approx(second, abs=1e-12)


def test_probes_are_of_second_order():
    errors = []
    for n in (8, 16, 32):
        x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1)))
        mesh = Mesh(np.column_stack([x, y]), Delaunay(np.column_stack([x, y])).simplices)
        places = np.random.default_rng(0).uniform(size=(40, 2))
        found = [number(Probe(place), mesh, np.sin(3 * x + y)) for place in places]
        errors.append(np.abs(found - np.sin(places @ [3, 1])).mean())
    assert np.log2(errors[0] / errors[1]) > 1.6
    assert np.log2(errors[1] / errors[2]) > 1.6


def test_both_sides_of_a_thin_gap_are_told_apart():
    """A walk from the nearest node would end on the wrong side."""
    slit = joined([[[0, 0], [10, 0], [10, 1], [0, 1]], [[0, 1.01], [0.5, 1.01], [0.5, 2], [0, 2]],
                   [[0.5, 1.01], [1, 1.01], [1, 2], [0.5, 2]]], "quad")  # fmt: skip
    assert number(Probe((0.5, 0.999)), slit, slit.points[:, 1]) == pytest.approx(0.999)
    assert number(Probe((0.5, 1.011)), slit, slit.points[:, 1]) == pytest.approx(1.011)


def test_a_place_on_a_curved_surface_may_be_off_by_its_sag():
    ball = sphere(3)
    place = np.array([0.6, 0.0, 0.8])  # on the sphere, and so outside of its triangles
    assert number(Probe(place), ball, ball.points[:, 2]) == pytest.approx(0.8, abs=0.01)
    with pytest.raises(InputError, match="lies 1 outside of the mesh"):
        number(Probe(2 * place), ball, ball.points[:, 2])


def test_a_layer_one_cell_thick_is_probed_in_the_plane_and_in_space():
    plane = pixels([(0, 0), (1, 0), (0, 1)], "triangle", np.random.default_rng(0))
    layer = extruded(plane)
    values, slope = linear(plane.points)
    both = np.concatenate([values, values])
    assert number(Probe((0.3, 0.4)), layer, both) == pytest.approx(number(Probe((0.3, 0.4)), plane, values))
    assert number(Probe((0.3, 0.4, 0.05)), layer, both) == pytest.approx(0.3 * slope[0] + 0.4 * slope[1] + 0.7)
    with pytest.raises(InputError, match="3 coordinates, but the mesh has 2"):
        number(Probe((0.3, 0.4, 0.0)), plane, values)


def test_a_line_is_its_probes():
    mesh = pixels([(0, 0), (1, 0)], "quad", np.random.default_rng(0))
    line, values = Line((0.2, 0.1), (3.0, 0.9), 8), np.random.default_rng(1).normal(size=mesh.n_nodes)
    found = number(line, mesh, values)
    for place, value in zip(line.points, found, strict=True):
        if place[0] > 2:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(number(Probe(place), mesh, values))
    with pytest.raises(InputError, match=r"the line from 0, 5 to 1, 5 lies outside of the mesh, 4 away"):
        number(Line((0, 5), (1, 5), 3), mesh, values)


@pytest.mark.parametrize("make", [
    lambda: Probe(("a", 1)), lambda: Probe(()), lambda: Probe((1, np.nan)), lambda: Probe(3.0), lambda: Probe((1,) * 4),
    lambda: Line((0, 0), (1, 1, 1)), lambda: Line((0, 0), (1, 1), 1), lambda: Line((0, 0), (1, 1), 2.5),
])  # fmt: skip
def test_what_is_no_place_or_line_is_refused(make):
    with pytest.raises(InputError, match="expected"):
        make()


# Forces


def with_groups(mesh, **groups):
    return Mesh(mesh.points, mesh.cells, groups=groups)


def around_a_cube(kind):
    """Cells around a unit cube, whose faces are the group "body"; all other faces are "walls"."""
    places = [p for p in itertools.product(range(3), repeat=3) if p != (1, 1, 1)]
    mesh = solid(places, kind, np.random.default_rng(0))
    pieces = boundary(mesh.points, mesh.cells)
    inner = ((mesh.points[pieces] >= 1) & (mesh.points[pieces] <= 2)).all(axis=(1, 2))
    return with_groups(mesh, body=pieces[inner], walls=pieces[~inner])


@pytest.mark.parametrize("kind", FILLINGS)
def test_forces_on_a_body_in_a_flow_are_those_of_archimedes(kind):
    mesh = around_a_cube(kind)
    np.testing.assert_allclose(number(ForceOn("body"), mesh, np.full(mesh.n_nodes, 5.0)), 0, atol=1e-12)
    values, slope = linear(mesh.points)
    np.testing.assert_allclose(number(ForceOn("body"), mesh, values), -slope, atol=1e-12)  # its volume is 1
    np.testing.assert_allclose(number(ForceOn("walls"), mesh, values), 27 * slope, atol=1e-12)
    np.testing.assert_allclose(number(ForceOn("b*|walls"), mesh, values), 26 * slope, atol=1e-12)
    # A force on all of the skin, seen from the other side.
    np.testing.assert_allclose(number(ForceOn("*"), mesh, values), -number("force", mesh, values), atol=1e-12)


@pytest.mark.parametrize("kind", FILLINGS)
def test_quadrilaterals_may_be_cut_either_way(kind):
    mesh = around_a_cube(kind)
    number_of = {tuple(point): k for k, point in enumerate(mesh.points)}
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    quads = [[number_of[tuple(np.insert(corner + 1.0, axis, at))] for corner in square]
             for axis in range(3) for at in (1.0, 2.0)]  # fmt: skip
    body = with_groups(mesh, body=quads)
    values, slope = linear(mesh.points)
    np.testing.assert_allclose(number(ForceOn("body"), body, values), -slope, atol=1e-12)


def test_faces_may_be_cells_of_a_lower_dimension():
    mesh = around_a_cube("tetra")
    faces = mesh.groups["body"].faces["triangle"]
    both = Mesh(mesh.points, {**mesh.cells, "triangle": faces}, groups={"body": {"triangle": np.arange(len(faces))}})
    values, slope = linear(mesh.points)
    np.testing.assert_allclose(number(ForceOn("body"), both, values), -slope, atol=1e-12)


@pytest.mark.parametrize("turned", [1, -1])
def test_surfaces_and_contours_are_pressed_from_outside_whichever_way_they_are_numbered(turned):
    ball, loop = sphere(2), ring(40)
    cells = ball.cells["triangle"][:, ::turned]
    surface = Mesh(ball.points, {"triangle": cells}, groups={"hull": {"triangle": np.arange(len(cells))}})
    contour = Mesh(loop.points, {"line": loop.cells["line"][:, ::turned]}, groups={"hull": loop.cells["line"]})
    volume = np.einsum("md,md->m", *(surface.points[ball.cells["triangle"]][:, 0],
                       np.cross(*ball.points[ball.cells["triangle"]][:, 1:].transpose(1, 0, 2)))).sum() / 6  # fmt: skip
    np.testing.assert_allclose(number(ForceOn("hull"), surface, ball.points[:, 0]), [-volume, 0, 0], atol=1e-12)
    area = 20 * np.sin(2 * np.pi / 40)
    np.testing.assert_allclose(number(ForceOn("hull"), contour, loop.points[:, 0]), [-area, 0], atol=1e-12)


def test_the_force_on_a_circle_is_of_second_order():
    errors = []
    for n in (20, 40, 80):
        loop = ring(n)
        mesh = Mesh(loop.points, loop.cells, groups={"body": {"line": np.arange(n)}})
        errors.append(abs(number(ForceOn("body"), mesh, np.exp(loop.points[:, 0]))[0] + 2 * np.pi * 0.565159103992))
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2, atol=0.05)  # 2 pi I_1(1) is exact


def test_tractions_are_integrated_over_the_group():
    mesh = around_a_cube("hexahedron")
    found = number(ForceOn("body"), mesh, np.tile([1.0, -2.0, 0.5], (mesh.n_nodes, 1)))
    np.testing.assert_allclose(found, [6.0, -12.0, 3.0])


def test_forces_on_a_layer_are_those_of_the_plane_per_unit_of_depth():
    plane = pixels([(0, 0), (1, 0), (0, 1)], "quad", np.random.default_rng(0))
    edges = boundary(plane.points, plane.cells)
    plane = with_groups(plane, left=edges[(plane.points[edges][..., 0] == 0).all(axis=1)])
    layer, values = extruded(plane, 0.1), np.arange(plane.n_nodes, dtype=float)
    flat = ForceOn("left").weights(layer, plane=True).of(np.concatenate([values, values])[None])[0]
    np.testing.assert_allclose(flat, number(ForceOn("left"), plane, values), atol=1e-12)
    thick = number(ForceOn("left"), layer, np.concatenate([values, values]))
    np.testing.assert_allclose(thick, [0.1 * flat[0], 0.1 * flat[1], 0], atol=1e-12)


def test_groups_without_faces_are_refused():
    mesh = pixels([(0, 0), (1, 0)], "quad", np.random.default_rng(0))
    middle = np.flatnonzero(mesh.points[:, 0] == 1)
    mesh = with_groups(mesh, held=[0, 1], hot={"quad": [0]}, between=[middle])
    values = np.zeros(mesh.n_nodes)
    for name, words in {
        "body*": r"no group 'body\*'; its groups are: held, hot, between",
        "held": r"group 'held' has no faces.*held \(2 nodes\)",
        "hot": r"has no faces.*hot \(1 cell",
        "between": "lies inside the mesh",
    }.items():
        with pytest.raises(InputError, match=words):
            number(ForceOn(name), mesh, values)


def test_the_force_of_a_flow_is_most_of_its_drag():
    table = make_channel(4, n_nodes=600, random_state=1)
    for mesh, drag in zip(table["mesh"], table["drag"], strict=True):
        pushed = number(ForceOn("body"), mesh, mesh.fields["pressure"])
        assert 0.3 < pushed[0] / drag < 1.0  # the rest is friction


def test_forces_whose_errors_are_learned():
    mesh = around_a_cube("hexahedron")
    faces = mesh.groups["body"].faces["triangle"]
    half = with_groups(mesh, body_a=faces[:6], body_b=faces[6:], walls=mesh.groups["walls"].faces["triangle"], held=[0])
    found = group_forces(half, 1, 1000)
    assert list(found) == [f"force on {name}" for name in
                           ("body_a", "body_b", "walls", "body_a|body_b", "body_a|body_b|walls")]  # fmt: skip
    assert ForceOn("body*").learned(found) == "force on body_a|body_b"
    assert ForceOn("wall?").learned(found) == "force on walls"
    assert ForceOn("*").learned(["max", "force", *found]) == "force on body_a|body_b|walls"
    values, slope = linear(mesh.points)
    np.testing.assert_allclose(found["force on body_a|body_b"].of(values[None])[0], -slope, atol=1e-12)
    some = group_forces(half, 1, 10)["force on walls"]
    assert len(some.nodes) == 10
    assert group_forces(mesh.with_fields({}), 3, 10)["force on body"].matrix.shape == (8, 1)


# A model


def bar(width, load, n, lost=False):
    """A plate of n x n nodes with a group on its right side, and fields that are smooth."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(0, width, n), np.linspace(0, 1, n), indexing="ij"))
    corner = np.arange(n * n).reshape(n, n)[:-1, :-1].ravel()
    cells = np.concatenate([corner[:, None] + [0, n, n + 1], corner[:, None] + [0, n + 1, 1]])
    right = np.arange(n * n)[-n:]
    fields = {"p": load * (np.sin(2 * x) + y), "t": np.column_stack([load * x, load * y])}
    groups = {} if lost else {"right": np.column_stack([right[:-1], right[1:]])}
    return Mesh(np.column_stack([x, y]), {"triangle": cells}, fields, groups=groups)


@pytest.fixture(scope="module")
def bars():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"width": rng.uniform(1, 2, 60), "load": rng.uniform(1, 3, 60)})
    table["mesh"] = [bar(w, f, 6 + k % 4) for k, (w, f) in enumerate(zip(table["width"], table["load"], strict=True))]
    kernel = Components("mesh", n_components=2, measure="skin", n_iterations=0, n_projections=10, n_quantiles=20)
    options = {"n_modes": 3, "basis_size": 20, "warp": "none", "descriptors": {"box": 1.0}}
    return FieldRegressor(Elliptic(kernel, "load"), **options).fit(table[:40][["mesh", "load"]], ["p", "t"]), table[40:]


def test_a_probe_at_a_node_is_the_field_there(bars):
    model, table = bars
    new = table[:3]
    meshes = model.predict_meshes(new, level=0.9)
    places = [mesh.points[17] for mesh in meshes]
    found = [model.derived(new[k : k + 1], Probe(place), 0.9, field="p").iloc[0] for k, place in enumerate(places)]
    for mesh, row in zip(meshes, found, strict=True):
        for key, ending in {"mean": "", "std": "_std", "lower": "_lower90", "upper": "_upper90"}.items():
            assert row[key] == pytest.approx(mesh.fields[f"p{ending}"][17], rel=1e-9)


def test_several_numbers_of_several_kinds(bars):
    model, table = bars
    asked = [Probe((0.5, 0.5)), "max", ForceOn("right"), lambda mesh: mesh.fields["p"][0]]
    found = model.derived(table, asked[:3], field="p")
    keys = ("mean", "std", "lower", "upper")
    assert list(found) == [f"{name}_{key}{end}" for name, ends in
                           {"at_0.5_0.5": [""], "max": [""], "force_on_right": ["_0", "_1"]}.items()
                           for key in keys for end in ends]  # fmt: skip
    for what in asked:
        alone = model.derived(table, what, field="p")
        if not callable(what):
            np.testing.assert_array_equal(found.filter(regex=rf"^{what}_(mean|std|lower|upper)"), alone)
    along = model.along_line(table, (0, 0.5), (0.5, 0.5), 2, field="p")
    np.testing.assert_allclose(along["mean"][along["x"] == 0.5], found["at_0.5_0.5_mean"])
    assert list(along) == ["row", "distance", "x", "y", *keys]


def test_intervals_of_forces_are_learned_of_left_out_meshes(bars):
    model, table = bars
    learned = model.models_["p"].numbers["force on right"]
    assert learned.scores.shape == (40, 2)
    assert model.models_["t"].numbers["force on right"].scores.shape == (40, 2)
    for field in ("p", "t"):
        truth = np.array([number(ForceOn("right"), mesh, mesh.fields[field]) for mesh in table["mesh"]])
        found = model.derived(table, ForceOn("r*"), field=field)
        lower, upper = (found[[f"{key}_0", f"{key}_1"]].to_numpy() for key in ("lower", "upper"))
        assert ((lower <= truth) & (truth <= upper)).mean() > 0.85
        np.testing.assert_allclose(found[["mean_0", "mean_1"]], truth, atol=0.3)


def test_a_saved_model_says_the_same(bars, tmp_path):
    model, table = bars
    model.save(tmp_path / "m.swwl")
    for what in (ForceOn("right"), Probe((0.4, 0.2))):
        one, other = (m.derived(table[:4], what, field="t") for m in (model, load_model(tmp_path / "m.swwl")))
        pd.testing.assert_frame_equal(one, other)


def test_meshes_without_the_place_or_the_group_have_no_number(bars):
    model, table = bars
    table = table[:4].assign(mesh=[bar(1.2, 2, 6), bar(1.8, 2, 6), bar(1.9, 2, 7, lost=True), bar(1.3, 2, 6)])
    with pytest.warns(MeshWarning, match=r"at 1.5, 0.5: no value for 2 of 4 cases: row 0 \(.* lies 0.3 outside"):
        found = model.derived(table, Probe((1.5, 0.5)), field="p")
    assert found["mean"].isna().tolist() == [True, False, False, True]
    with pytest.warns(MeshWarning, match=r"force on right: no value for 1 of 4 cases: row 2 \(.* has no group 'right'"):
        found = model.derived(table, ForceOn("right"), field="p")
    assert found.isna().all(axis=1).tolist() == [False, False, True, False]
    with pytest.raises(
        InputError, match=r"at 7, 0.5: none of 4 cases has it; row 0: the point 7, 0.5 lies 5.8 outside"
    ):
        model.derived(table, Probe((7, 0.5)), field="p")
    with pytest.raises(InputError, match=r"force on left: none of 4 cases has it; row 0: The mesh has no group 'left'"):
        model.derived(table, ForceOn("left"), field="p")
    assert model.derived(table[:0], Probe((1.5, 0.5)), field="p").empty


def test_layers_are_asked_like_plane_meshes(bars):
    model, table = bars
    thick = table[:3].assign(mesh=[extruded(mesh) for mesh in table["mesh"][:3]])
    place, force = Probe((0.5, 0.5)), ForceOn("right")
    flat, layer = (model.derived(one, place, field="t") for one in (table[:3], thick))
    pd.testing.assert_frame_equal(flat, layer)
    pd.testing.assert_frame_equal(layer, model.derived(thick, Probe((0.5, 0.5, 0.03)), field="t"))
    flat, layer = (model.derived(one, force, field="p") for one in (table[:3], thick))
    assert list(flat) == list(layer)
    assert (np.abs(flat["mean_0"] - layer["mean_0"]) < flat["std_0"]).all()  # other samples


@pytest.mark.parametrize("kind", FILLINGS)
def test_the_force_of_a_stress_is_that_of_its_product_with_normals_out_of_the_part(kind):
    """Over all of the skin that is the integral of the divergence; on one side of a part under tension, the load."""
    mesh = around_a_cube(kind)
    slopes = np.random.default_rng(1).normal(size=(6, 3))
    xx, yy, zz, xy, yz, zx = slopes
    divergence = [xx[0] + xy[1] + zx[2], xy[0] + yy[1] + yz[2], zx[0] + yz[1] + zz[2]]
    found = number(ForceOn("*", "stress"), mesh, mesh.points @ slopes.T + 3.0)
    np.testing.assert_allclose(found, 26 * np.array(divergence), atol=1e-10)  # its volume is 26
    plane = pixels([(0, 0), (1, 0)], "quad", np.random.default_rng(0))
    edges = boundary(plane.points, plane.cells)
    sides = {name: edges[(plane.points[edges][..., 0] == at).all(axis=1)] for name, at in (("left", 0), ("right", 2))}
    bar = with_groups(plane, **sides)
    for stress in ([7.0, 0, 2.0], [7.0, 0, 1.0, 2.0], [7.0, 0, 1.0, 2.0, 0, 0]):
        values = np.tile(stress, (bar.n_nodes, 1))
        np.testing.assert_allclose(number(ForceOn("right", "stress"), bar, values), [7.0, 2.0], atol=1e-12)
        np.testing.assert_allclose(number(ForceOn("left", "stress"), bar, values), [-7.0, -2.0], atol=1e-12)
    known = ForceOn("right", "stress").weights(bar, 3)
    some = known.within(np.arange(bar.n_nodes), np.zeros(bar.n_nodes, bool))
    assert not some.of(np.ones((1, bar.n_nodes, 3))).any()


def test_what_has_no_force_is_refused():
    words = {("DISP", 3): "is a displacement", ("MISES", 1): "equivalent stress, which has no direction",
             ("NDTEMP", 1): "not named like a pressure.*pressure:GROUP", ("grad", 9): "9 components"}  # fmt: skip
    for (name, components), reason in words.items():
        with pytest.raises(InputError, match=f"force on end: {name} .*{reason}.*; forces are those of a pressure"):
            ForceOn("end").for_field(name, components)
    assert ForceOn("end", "pressure").for_field("NDTEMP", 1).of == "pressure"
    with pytest.raises(InputError, match="STRESS has 6 components, which is no pressure"):
        ForceOn("end", "pressure").for_field("STRESS", 6)
    kinds = [("p", 1), ("pressure", 1), ("cp", 1), ("STRESS", 6), ("traction", 3), ("stress", 3)]
    found = [ForceOn("end").for_field(*kind).of for kind in kinds]
    assert found == ["pressure", "pressure", "pressure", "stress", "traction", "stress"]
    with pytest.raises(InputError, match="of is 'load', but one of pressure, traction, stress"):
        ForceOn("end", "load")


def test_a_place_outside_does_not_end_what_is_known_of_another():
    out = {"a.vtu": "the point 9, 9 lies 8 outside of the mesh"}
    assert missing_notes({"at 1, 1": {}, "at 9, 9": out}, 1) == [
        "at 9, 9: no value: the point 9, 9 lies 8 outside of the mesh"
    ]
    with pytest.raises(InputError, match="at 9, 9: the point"):
        missing_notes({"at 9, 9": out, "at 8, 8": out}, 1)

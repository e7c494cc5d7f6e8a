"""Coarser meshes of the same shape."""

import sys
from importlib.util import find_spec

import meshio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from swwl import InputError, Mesh, as_mesh
from swwl.datasets import coarsen_dataset, make_samples
from swwl.datasets.blade import BLADE
from swwl.datasets.blade.geometry import Blade, surface
from swwl.datasets.generator import draw
from swwl.datasets.tensile2d.mesh import notched_plate
from swwl.mesh.cells import node_normals
from swwl.mesh.remesh.coarsen import anchors, coarsen, enclosed, outline_curves, outline_edges
from swwl.mesh.remesh.transfer import interpolate, places_in, transfer
from tests.datasets.quality import smallest_angle
from tests.helpers import plate

needs_mmg = pytest.mark.skipif(find_spec("mmgpy") is None, reason="mmgpy (the extra [mmg]) is not installed")


def blade_mesh(nodes, index=0):
    mesh = surface(Blade.from_parameters(draw(BLADE.ranges, index + 1, 0)[index]), nodes)
    return mesh.points, mesh.triangles


def blade_volume(points, triangles):
    """Between hub and tip, which lie on cylinders: the flux of (x, 0, 0) through them is zero."""
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
    return (corners[:, :, 0].mean(1) * normals[:, 0]).sum()


def area(points, triangles):
    corners = np.zeros((len(triangles), 3, 3))
    corners[:, :, : points.shape[1]] = points[triangles]
    return np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum() / 2


def sphere(n=20):
    """A closed surface: latitude by longitude, poles at both ends."""
    height, turn = np.meshgrid(np.linspace(0, np.pi, n + 1)[1:-1], np.arange(2 * n) * np.pi / n, indexing="ij")
    ring = np.stack([np.sin(height) * np.cos(turn), np.sin(height) * np.sin(turn), np.cos(height)], -1).reshape(-1, 3)
    points = np.vstack([ring, [[0, 0, 1], [0, 0, -1]]])
    i, j = np.meshgrid(np.arange(n - 2), np.arange(2 * n), indexing="ij")
    a, b = (i * 2 * n + j).ravel(), (i * 2 * n + (j + 1) % (2 * n)).ravel()
    body = np.vstack([np.c_[a, a + 2 * n, b], np.c_[b, a + 2 * n, b + 2 * n]])
    first = np.arange(2 * n)
    last = first + (n - 2) * 2 * n
    caps = [np.c_[first, np.roll(first, -1), np.full(2 * n, len(ring))]]
    caps += [np.c_[np.roll(last, -1), last, np.full(2 * n, len(ring) + 1)]]
    return points, np.vstack([body, *caps])


@pytest.mark.slow
@needs_mmg
@pytest.mark.parametrize(("radius", "height"), [(0.3, 0.1), (0.15, -0.4), (0.42, 0.4)])
def test_plate_from_9500_to_1000(radius, height):
    points, triangles = notched_plate(radius, height, 9500)
    coarse = coarsen((points, triangles), 1000)
    assert abs(len(coarse.points) - 1000) <= 100
    exact = 4 - np.pi * radius**2
    assert area(coarse.points, coarse.cells["triangle"]) == pytest.approx(exact, rel=0.02)
    assert area(coarse.points, coarse.cells["triangle"]) == pytest.approx(area(points, triangles), rel=0.005)
    assert smallest_angle(coarse.points, coarse.cells["triangle"]) > 10
    corners = {(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)}
    assert corners <= set(map(tuple, coarse.points.round(12).tolist()))


@pytest.mark.slow
@needs_mmg
@pytest.mark.parametrize("index", [0, 1])
def test_blade_from_30000_to_1000(index):
    points, triangles = blade_mesh(30_000, index)
    coarse = coarsen((points, triangles), 1000)
    assert abs(len(coarse.points) - 1000) <= 100
    assert area(coarse.points, coarse.cells["triangle"]) == pytest.approx(area(points, triangles), rel=0.02)
    volume = blade_volume(points, triangles)
    assert blade_volume(coarse.points, coarse.cells["triangle"]) == pytest.approx(volume, rel=0.02)


@needs_mmg
def test_thin_holes_stay_open():
    """An airfoil in its O-grid: MMG alone closes the hole, and the total area hardly tells."""
    (sample,) = make_samples("airfoil", 1, n_nodes=12_000)
    coarse = coarsen(sample, 1000)
    before, after = enclosed(sample.mesh), enclosed(coarse)
    assert len(before) == len(after) == 2
    np.testing.assert_allclose(after, before, rtol=0.02)


@needs_mmg
def test_a_closed_surface():
    points, triangles = sphere(40)
    coarse = coarsen((points, triangles), 500)
    found = enclosed(coarse)
    np.testing.assert_allclose(found, [4 * np.pi, 4 / 3 * np.pi], rtol=0.02)
    assert abs(len(coarse.points) - 500) <= 50


@needs_mmg
def test_blunt_edges_stay_where_asked_for():
    """Two rectangles that meet at 25 degrees: all triangles lie in one or the other, or some across the edge."""
    x, y = (part.ravel() for part in np.meshgrid(np.linspace(-1, 1, 41), np.linspace(0, 1, 21)))
    points = np.column_stack([x, y, np.tan(np.deg2rad(25)) * np.maximum(x, 0)])
    corner = (np.arange(20)[:, None] * 41 + np.arange(40)).ravel()
    roof = Mesh(points, {"quad": corner[:, None] + [0, 1, 42, 41]})

    def across(mesh):
        normals = np.cross(*(mesh.points[mesh.triangles()[:, k]] - mesh.points[mesh.triangles()[:, 0]] for k in (1, 2)))
        slope = np.degrees(np.arctan2(np.abs(normals[:, 0]), np.abs(normals[:, 2])))
        return ((slope > 1) & (slope < 24)).mean()

    assert across(coarsen(roof, 200, tolerance=0.1, sharp=15)) == 0
    assert across(coarsen(roof, 200, tolerance=0.1)) > 0.02


@needs_mmg
def test_real_car(swwl_data):
    with np.load(swwl_data / "meshes" / "shapenet_car_plaid20.npz") as cars:
        points, triangles, pressure = cars["points"][0], cars["triangles"][0], cars["pressure"][0]
    coarse = coarsen(meshio.Mesh(points, [("triangle", triangles)], point_data={"p": pressure}), 1000)
    assert abs(len(coarse.points) - 1000) <= 100
    found = enclosed(coarse)
    np.testing.assert_allclose(found, enclosed(Mesh(points, triangles)), rtol=0.02)
    assert pressure.min() <= coarse.fields["p"].min() and coarse.fields["p"].max() <= pressure.max()


@needs_mmg
def test_the_same_each_time_and_at_any_scale():
    points, triangles = notched_plate(0.3, 0.1, 1500)
    one, two, far = (coarsen((p, triangles), 300) for p in (points, points.copy(), 1e3 * points))
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.cells["triangle"], two.cells["triangle"])
    assert abs(len(far.points) - len(one.points)) < 30


@needs_mmg
def test_fields_are_interpolated(tmp_path):
    """Linear fields exactly, up to how far the outline moved; cell data and texts are dropped."""
    points, triangles = notched_plate(0.3, 0.1, 2000)
    fields = {"T": 2 * points[:, 0] - points[:, 1], "v": points[:, ::-1].copy()}
    flat = np.column_stack([points, np.full(len(points), 5.0)])
    mesh = meshio.Mesh(flat, [("triangle", triangles)], point_data=fields, cell_data={"q": [np.ones(len(triangles))]})
    mesh.write(tmp_path / "plate.vtu")
    coarse = coarsen(tmp_path / "plate.vtu", 400)
    assert coarse.points.shape[1] == 3 and (coarse.points[:, 2] == 5).all()
    x, y = coarse.points[:, :2].T
    np.testing.assert_allclose(coarse.fields["T"], 2 * x - y, atol=2e-3)
    np.testing.assert_allclose(coarse.fields["v"], np.c_[y, x], atol=2e-3)


@needs_mmg
def test_hardly_more_nodes_than_requested():
    points, triangles = notched_plate(0.3, 0.1, 500)
    same = coarsen((points, triangles), len(points) - 2)
    np.testing.assert_array_equal(same.points, points)


@needs_mmg
def test_too_few_nodes_for_the_shape():
    (sample,) = make_samples("airfoil", 1, n_nodes=3000)
    with pytest.raises(ValueError, match=r"3010 nodes cannot be coarsened to 60 with .* within 2 %: attempts gave"):
        coarsen((sample.points, sample.cells), 60)


@needs_mmg
def test_quads_are_split_and_unused_nodes_dropped():
    points = [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1], [9, 9]]
    cells = {"quad": np.array([[0, 1, 4, 3]]), "triangle": np.array([[1, 4, 2], [2, 5, 4]]), "line": np.array([[0, 1]])}
    mesh = coarsen((points, cells), 6)
    assert len(mesh.points) == 6 and list(mesh.cells) == ["triangle"]
    assert area(mesh.points, mesh.cells["triangle"]) == 2
    assert enclosed(mesh).tolist() == [2.0]  # all turned the same way


@pytest.mark.parametrize(
    ("mesh", "nodes", "error", "message"),
    [
        (plate(50), 60, ValueError, "has 50 nodes, fewer than the 60 requested: it can only be coarsened"),
        (plate(50), 3, ValueError, "nodes must be a whole number of at least 4, found 3"),
        (plate(50), 20.5, ValueError, "whole number of at least 4, found 20.5"),
        ((np.eye(4, 3), {"tetra": [[0, 1, 2, 3]]}), 4, ValueError, "but the mesh is a volume mesh: tetra"),
        ((np.eye(6, 3), {"triangle6": [range(6)]}), 4, ValueError, "mesh is of another kind: triangle6"),
        ((np.eye(2), {"line": [[0, 1]]}), 4, ValueError, "no triangles or quadrilaterals"),
        ((np.full((3, 2), np.nan), [[0, 1, 2]]), 4, ValueError, "Point coordinates must be finite"),
        ((np.eye(3), [[0, 1, 7]]), 4, ValueError, r"joins nodes \[0, 1, 7\], but nodes are numbered 0 to 2"),
        ({}, 4, TypeError, "Cannot make a mesh of dict; expected a Mesh, a file path"),
        ("nowhere.vtu", 4, FileNotFoundError, "nowhere.vtu: no such file"),
    ],
)
def test_refusals(mesh, nodes, error, message):
    with pytest.raises(error, match=message):
        coarsen(mesh, nodes)


@needs_mmg
def test_sharp_is_an_angle():
    with pytest.raises(ValueError, match="sharp must be an angle of more than 0 and at most 180 degrees, found 0"):
        coarsen(plate(50), 20, sharp=0)


def test_without_mmgpy(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mmgpy", None)
    with pytest.raises(ImportError, match=r"pip install 'swwl\[mmg\]'"):
        coarsen(plate(50), 20)
    with pytest.raises(ImportError, match=r"pip install 'swwl\[mmg\]'"):
        coarsen_dataset(tmp_path, tmp_path / "out", 20)
    assert not (tmp_path / "out").exists()


def test_enclosed_by_hand():
    """A cube without its lid, closed by a pyramid of no height; a ring has two loops; a sheet has no volume."""
    corners = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4]])
    triangles = np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    np.testing.assert_allclose(enclosed(Mesh(corners + 100, triangles)), [5, 1])
    np.testing.assert_allclose(enclosed(Mesh(corners, triangles[:, ::-1])), [5, 1])
    mixed = triangles.copy()
    mixed[0] = mixed[0, ::-1]
    np.testing.assert_allclose(enclosed(Mesh(corners, mixed)), [5])
    points, cells = plate(40)
    assert len(enclosed(Mesh(np.c_[points, np.ones(40)], cells))) == 1
    turn = np.arange(8) * np.pi / 4
    ring = np.vstack([np.c_[np.cos(turn), np.sin(turn)], 2 * np.c_[np.cos(turn), np.sin(turn)]])
    k, after = np.arange(8), np.roll(np.arange(8), -1)
    cells = np.vstack([np.c_[k, k + 8, after + 8], np.c_[k, after + 8, after]])
    octagon = 2 * np.sqrt(2)
    np.testing.assert_allclose(enclosed(Mesh(ring, cells)), [octagon, 4 * octagon])


def test_curves_that_touch():
    """Two triangles that share a node: two loops through it, and it is an anchor of both."""
    triangles = np.array([[0, 1, 2], [0, 3, 4]])
    curves = outline_curves(outline_edges(triangles))
    assert sorted(map(len, curves)) == [4, 4] and all(curve[0] == curve[-1] == 0 for curve in curves)


@settings(deadline=None)
@given(st.integers(20, 200), st.floats(0.01, 10))
def test_anchors_keep_corners(n, size):
    side = np.arange(n) / n
    zero, one = np.zeros(n), np.ones(n)
    square = np.vstack([np.c_[side, zero], np.c_[one, side], np.c_[1 - side, one], np.c_[zero, 1 - side]])
    loop = np.roll(np.arange(4 * n), n // 3)
    kept = anchors(square, np.append(loop, loop[0]), np.full(4 * n, size))
    assert {0, n, 2 * n, 3 * n} <= set(kept.tolist())
    # Where 1 / size ends in a half, rounding decides, side by side.
    fewest, most = (4 * min(n, max(1, int(1 / size + 0.5 + slack))) for slack in (-1e-9, 1e-9))
    assert fewest <= len(kept) <= most


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 100))
def test_transfer_of_linear_fields_is_exact(seed):
    rng = np.random.default_rng(seed)
    points, triangles = plate(60, seed=seed)
    inside = np.einsum("mc,mcd->md", rng.dirichlet([1, 1, 1], len(triangles)), points[triangles])
    field = points @ [2.0, -3.0] + 1
    found = interpolate(points, triangles, {"f": field, "g": np.c_[field, -field]}, inside)
    np.testing.assert_allclose(found["f"], inside @ [2.0, -3.0] + 1, atol=1e-12)
    np.testing.assert_allclose(found["g"][:, 1], -found["f"])
    outside = interpolate(points, triangles, {"f": field}, inside + 100)["f"]
    assert (field.min() <= outside).all() and (outside <= field.max()).all()


def test_meshes_get_the_fields_of_others():
    """Whatever else the source holds: quadrilaterals, nodes that nothing uses, fields that the target has."""
    points, triangles = plate(80)
    far = np.vstack([points, [[9.0, 9.0]]])
    plane = Mesh(far, triangles, {"f": far @ [2.0, -3.0], "v": far, "n": np.arange(81)})
    nodes = points[triangles].mean(1)
    target = Mesh(nodes, {"line": [[0, 1]]}, {"f": np.zeros(len(nodes)), "own": np.ones(len(nodes))}, name="target")
    found = transfer(plane, target)
    np.testing.assert_allclose(found.fields["f"], nodes @ [2.0, -3.0], atol=1e-12)
    np.testing.assert_allclose(found.fields["v"], nodes, atol=1e-12)
    assert list(found.fields) == ["f", "own", "v", "n"] and found.name == "target" and found.points is target.points
    square = Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], {"quad": [[0, 1, 2, 3]]}, {"x": [0, 2, 2, 0]})
    np.testing.assert_allclose(transfer(square, target).fields["x"], nodes[:, 0], atol=1e-12)
    with pytest.raises(ValueError, match="One mesh has 2 coordinates, the other 3"):
        transfer(square, Mesh(np.eye(3), [[0, 1, 2]]))
    with pytest.raises(ValueError, match="but the mesh has none"):
        transfer(target, square)


def test_transfer_is_of_second_order():
    """Halving the cells divides the error of a smooth field by four."""
    target = Mesh(*plate(300, seed=5))
    inside = (abs(target.points - 0.5) < 0.35).all(1)
    errors = []
    for n in (400, 1600, 6400):
        points, triangles = plate(n)
        source = Mesh(points, triangles, {"f": np.sin(3 * points[:, 0]) * np.cos(2 * points[:, 1])})
        x, y = target.points.T
        error = transfer(source, target).fields["f"] - np.sin(3 * x) * np.cos(2 * y)
        errors.append(np.sqrt((error[inside] ** 2).mean()))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (rates > 1.7).all() and (rates < 2.4).all()


@needs_mmg
def test_fields_stay_on_their_side_of_a_thin_body():
    """Both sides of a slab 0.001 thick, on another mesh of it."""

    def slab(n, seed):
        points, triangles = plate(n, seed=seed)
        triangles = coarsen((points, triangles), n).cells["triangle"]  # counterclockwise
        sheet = np.c_[points, np.zeros(n)]
        return Mesh(np.vstack([sheet, sheet - [0, 0, 0.001]]), np.vstack([triangles, triangles[:, ::-1] + n]))

    fine, coarse = slab(400, 0), slab(100, 1)
    side = np.repeat([1.0, -1.0], 400)
    found = transfer(fine.with_fields({"side": side}), coarse).fields["side"]
    np.testing.assert_allclose(found, np.repeat([1.0, -1.0], 100))


@needs_mmg
def test_what_can_be_coarsened(tmp_path):
    """Four corners are a quadrilateral, in space too; anything that is a mesh will do."""
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]])
    for cells in ([[0, 1, 2, 3]], np.array([[0, 1, 2, 3]]), {"quad": [[0, 1, 2, 3]]}, [("quad", [[0, 1, 2, 3]])]):
        assert coarsen((points, cells), 4).cells["triangle"].tolist() == [[0, 1, 2], [0, 2, 3]]
    mesh = as_mesh(plate(50))
    mesh.write(tmp_path / "a.vtu")
    mesh.write(tmp_path / "a.npz")
    for form in (mesh, tmp_path / "a.vtu", tmp_path / "a.npz"):
        np.testing.assert_array_equal(coarsen(form, 50).points, mesh.points)


@needs_mmg
def test_nothing_leaks_through_thin_bodies():
    """Two sides of a thin slab: the side that looks the same way counts, though the other is nearer."""
    points, triangles = plate(100)
    up = np.c_[points, np.zeros(100)]
    slab = np.vstack([up, up - [0, 0, 0.01]])
    triangles = coarsen((points, triangles), 100).cells["triangle"]  # counterclockwise
    both = np.vstack([triangles, triangles[:, ::-1] + 100])
    side = np.repeat([1.0, -1.0], 100)
    middle = up[triangles].mean(1)
    targets, normals = middle - [0, 0, 0.008], np.tile([0.0, 0, 1], (len(middle), 1))
    assert (interpolate(slab, both, {"s": side}, targets)["s"] == -1).all()
    np.testing.assert_allclose(interpolate(slab, both, {"s": side}, targets, normals)["s"], 1)
    np.testing.assert_allclose(interpolate(slab, both, {"s": side}, targets, -normals)["s"], -1)
    np.testing.assert_allclose(node_normals(slab, both)[:, 2], side)


@pytest.mark.parametrize("kind", ["line", "triangle", "tetra"])
def test_places_are_those_of_the_nearest_point_of_all_cells(kind):
    """No point that is drawn in any cell is nearer, and weights lead to a point at that distance."""
    rng = np.random.default_rng(0)
    d = {"line": 1, "triangle": 2, "tetra": 3}[kind]
    points = rng.uniform(size=(40, d)) if d > 1 else np.sort(rng.uniform(size=(40, 1)), axis=0)
    cells = Delaunay(points).simplices[::2] if d > 1 else np.column_stack([np.arange(0, 39, 2), np.arange(1, 40, 2)])
    targets = rng.uniform(-0.3, 1.3, (50, d))
    found = places_in(Mesh(points, {kind: cells}), targets)
    reached = np.einsum("rk,rkd->rd", found.weights, points[found.nodes])
    np.testing.assert_allclose(np.linalg.norm(reached - targets, axis=1), found.distance, atol=1e-7)
    assert (found.weights >= 0).all()
    drawn = np.einsum("mqk,mkd->mqd", rng.dirichlet(np.ones(d + 1), (len(cells), 200)), points[cells]).reshape(-1, d)
    nearest = np.linalg.norm(drawn[:, None] - targets, axis=2).min(axis=0)
    assert (found.distance <= nearest + 1e-9).all()
    assert (nearest - found.distance).max() < 0.1


def test_cells_of_no_size_hold_nothing_that_others_do_not():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]], float)
    mesh = Mesh(points, {"tetra": [[0, 1, 2, 4], [0, 1, 2, 3]]})
    found = places_in(mesh, np.array([[0.2, 0.2, 0.2], [0.25, 0.25, -1.0]]))
    np.testing.assert_allclose(found.distance, [0, 1], atol=1e-12)
    with pytest.raises(InputError, match="interpolated in cells, but the mesh has none"):
        places_in(Mesh(points, {}), points)

"""Plane problems in solids one cell thick: what is recognized, what is refused, and what becomes of fields."""

import numpy as np
import pytest

from swwl import Mesh
from swwl.errors import InputError
from swwl.mesh.remesh.plane import collapsed, flattened, same_thickness, thickness_of, thin_layer
from tests.helpers import plate
from tests.mesh.shapes import extruded, revolved, solid


def channel(n=5, m=4, low=0.0, kind="quad", bend=0.3):
    """A curved channel of quadrilaterals or triangles, from ``low`` on, with groups."""
    x, y = np.meshgrid(np.linspace(0, 2, n), np.linspace(low, low + 1, m))
    y = y * (1 + bend * np.sin(x))
    first = (np.arange(n - 1) + n * np.arange(m - 1)[:, None]).ravel()
    quads = np.column_stack([first, first + 1, first + n + 1, first + n])
    cells = {"quad": quads} if kind == "quad" else {"triangle": np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])}
    inlet = n * np.arange(m)
    points = np.column_stack([x.ravel(), y.ravel()])
    groups = {"inlet": np.column_stack([inlet[:-1], inlet[1:]]), "corner": [0], "some": {kind: [0, 2]}}
    fields = {"p": points[:, 0] ** 2, "U": np.random.default_rng(0).normal(size=(n * m, 3))}
    return Mesh(points, cells, fields, cell_fields={"T": np.arange(len(cells[kind]))}, groups=groups)


def rotation():
    return np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]


def same(found, plane):
    """Whether two plane meshes have the same points, cells, fields and groups."""
    np.testing.assert_allclose(found.points, plane.points, atol=1e-12)
    assert {k: np.sort(b, axis=1).tolist() for k, b in found.cells.items()} == {
        k: np.sort(b, axis=1).tolist() for k, b in plane.cells.items()
    }
    for name, field in plane.fields.items():
        np.testing.assert_allclose(found.fields[name], field)
    for name, field in plane.cell_fields.items():
        np.testing.assert_array_equal(found.cell_fields[name], field)
    assert found.groups.keys() == plane.groups.keys()
    for name, group in plane.groups.items():
        assert found.groups[name].kind == group.kind
        assert found.groups[name].nodes.tolist() == group.nodes.tolist()
        assert found.groups[name].size == group.size


@pytest.mark.parametrize("kind", ["quad", "triangle"])
@pytest.mark.parametrize("thickness", [1e-3, 0.1, 7.0])
def test_a_layer_of_solids_collapses_to_the_plane_mesh_that_it_was_made_of(kind, thickness):
    plane = channel(kind=kind)
    thick = extruded(plane, thickness)
    layer = thin_layer(thick)
    assert layer.kind == "plane"
    assert layer.thickness == pytest.approx(thickness, rel=1e-12)
    same(collapsed(thick, layer), plane)


def test_the_coordinate_across_is_dropped_whichever_it_is():
    plane = channel()
    for axis in range(3):
        order = np.insert([0, 1], axis, 2)  # the plane's coordinates keep their order
        thick = extruded(plane, turn=np.eye(3)[order])
        np.testing.assert_allclose(flattened(thick).points, plane.points)


def test_a_turned_layer_keeps_distances_in_its_plane():
    plane = channel()
    found = flattened(extruded(plane, turn=rotation()))
    gaps = [np.linalg.norm(p[:, None] - p, axis=2) for p in (found.points, plane.points)]
    np.testing.assert_allclose(*gaps, atol=1e-12)
    assert found.n_cells == plane.n_cells


def test_single_precision_and_any_order_of_nodes_do_not_matter():
    thick = extruded(channel(20, 15), 0.01, rotation())
    assert thin_layer(Mesh(thick.points.astype(np.float32), thick.cells)) is not None
    order = np.random.default_rng(1).permutation(thick.n_nodes)
    place = np.argsort(order)
    mixed = Mesh(thick.points[order], {kind: place[block] for kind, block in thick.cells.items()})
    assert flattened(mixed).n_nodes == 300


@pytest.mark.parametrize("kind", ["quad", "triangle"])
@pytest.mark.parametrize("low", [0.0, 0.5])
@pytest.mark.parametrize("angle", [1.0, 5.0])
def test_a_wedge_about_an_axis_collapses_to_axial_and_radial_coordinates(kind, low, angle):
    plane = channel(kind=kind, low=low)
    thick = revolved(plane, angle)
    layer = thin_layer(thick)
    assert layer.kind == "wedge"
    assert layer.thickness == pytest.approx(np.radians(angle))
    found = collapsed(thick, layer)
    np.testing.assert_allclose(found.points, plane.points, atol=1e-12)
    cells = [sorted(sorted(map(int, cell)) for b in m.cells.values() for cell in b) for m in (found, plane)]
    assert cells[0] == cells[1]


def test_hexahedra_with_repeated_nodes_in_the_axis_are_a_wedge_too():
    plane = channel()
    n, (x, r), half = plane.n_nodes, plane.points.T, np.radians(2.5)
    points = np.vstack([np.column_stack([x, r * np.cos(half), sign * r * np.sin(half)]) for sign in (-1, 1)])
    cells = np.hstack([plane.cells["quad"], plane.cells["quad"] + n])
    found = flattened(Mesh(points, {"hexahedron": cells}))  # two nodes at each place of the axis
    np.testing.assert_allclose(found.points, plane.points, atol=1e-12)


def test_solids_shells_and_plates_of_varying_thickness_are_refused():
    rng = np.random.default_rng(0)
    block = solid([(x, y, z) for x in range(3) for y in range(3) for z in range(2)], "hexahedron", rng)
    bar = solid([(x, 0, 0) for x in range(4)], "hexahedron", rng)
    cube = solid([(0, 0, 0)], "hexahedron", rng)
    tetrahedra = solid([(x, y, 0) for x in range(3) for y in range(3)], "tetra", rng)
    thick = extruded(channel())
    bent = thick.points.copy()
    bent[:, 2] *= 1 + 0.01 * bent[:, 0]
    sheared = thick.points.copy()
    sheared[:, 0] += 0.1 * (sheared[:, 2] > 0)
    shell = Mesh(np.column_stack([channel().points, np.sin(channel().points[:, 0])]), channel().cells)
    plates = [Mesh(points, thick.cells) for points in (bent, sheared)]
    for mesh in (block, bar, cube, tetrahedra, shell, *plates, channel()):
        assert thin_layer(mesh) is None
    assert np.isnan(thickness_of(block))
    with pytest.raises(InputError, match="is neither plane nor one cell thick"):
        flattened(block)
    assert flattened(channel()).dimension == 2


def test_nodes_that_no_cell_uses_and_cells_that_do_not_reach_across_make_no_layer():
    thick = extruded(channel())
    loose = Mesh(np.vstack([thick.points, [[9.0, 9, 0]]]), thick.cells)
    assert thin_layer(loose) is None


def test_gradients_come_back_in_equal_shares():
    plane = channel()
    for thick in (extruded(plane, turn=rotation()), revolved(plane)):
        layer = thin_layer(thick)
        rng = np.random.default_rng(0)
        gradient, step = rng.normal(size=(*layer.points.shape, 1)), 1e-6
        back = layer.pulled_back(gradient)[:, :, 0]
        move = rng.normal(size=thick.points.shape)
        # along moves that keep it a layer: both sides alike
        move = np.einsum("npx,np->nx", np.broadcast_to(layer.directions, (len(move), 2, 3)), move[:, :2])
        by_node = rng.normal(size=layer.points.shape)[layer.number]
        by_node[layer.points[layer.number, 1] == 0, 1] = 0.0
        move = np.einsum("npx,np->nx", np.broadcast_to(layer.directions, (len(move), 2, 3)), by_node)
        ends = [thin_layer(Mesh(thick.points + s * step * move, thick.cells)) for s in (-1, 1)]
        slope = (gradient[:, :, 0] * (ends[1].points - ends[0].points)).sum() / (2 * step)
        assert (back * move).sum() == pytest.approx(slope, rel=1e-4)


def test_thickness_decides_over_a_set_of_meshes():
    assert same_thickness([thickness_of(extruded(Mesh(*plate(n)))) for n in (60, 90)])
    assert not same_thickness([thickness_of(extruded(Mesh(*plate(60)), t)) for t in (0.1, 0.2)])
    assert not same_thickness([thickness_of(Mesh(*plate(60)))])


def test_numbers_of_parts_stay_whole():
    plane = channel()
    tagged = plane.with_fields({"part": np.arange(plane.n_nodes) // 4})
    found = flattened(extruded(tagged))
    assert found.fields["part"].dtype.kind == "i"
    assert found.fields["part"].tolist() == tagged.fields["part"].tolist()


def test_groups_are_left_out_where_nobody_asks_for_them():
    plane = channel()
    thick = extruded(plane)
    sides = Mesh(thick.points, thick.cells, groups={"some": [0, 1], "ends": np.arange(4)})
    assert flattened(sides).groups.keys() == {"some", "ends"}
    bare = flattened(sides, groups=False)
    assert not bare.groups
    np.testing.assert_array_equal(bare.points, flattened(sides).points)

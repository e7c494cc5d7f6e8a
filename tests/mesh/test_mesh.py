"""The frozen mesh: what it accepts, what it keeps, what becomes of it."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from swwl import Graph, InputError, Mesh, as_graph, as_mesh, read_mesh
from swwl.mesh import arrays as mesh_arrays
from swwl.mesh.cells import CELL_TYPES, cell_dimension, used_nodes
from swwl.mesh.mesh import in_plane
from swwl.mesh.remesh.clean import cleaned
from swwl.storage.memory import fingerprint
from tests.helpers import plate

WIDTHS = {"vertex": 1, "line": 2, "triangle": 3, "quad": 4, "tetra": 4, "pyramid": 5, "wedge": 6, "hexahedron": 8}
WIDTHS |= {"line3": 3, "triangle6": 6, "quad8": 8, "quad9": 9, "tetra10": 10}
WIDTHS |= {"hexahedron20": 20, "hexahedron24": 24, "hexahedron27": 27, "pyramid13": 13, "wedge15": 15, "wedge18": 18}
WIDTHS |= {"line4": 4, "triangle7": 7, "quad6": 6, "wedge12": 12}  # VTK has no pyramid14
SIZES = st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def blocks(draw, n_nodes):
    """Blocks of cells of mixed types, a type several times, polygons of several widths."""
    found = []
    for kind in draw(st.lists(st.sampled_from([*WIDTHS, "polygon"]), min_size=1, max_size=6)):
        width = draw(st.integers(3, 7)) if kind == "polygon" else WIDTHS[kind]
        shape = (draw(st.integers(1, 4)), width)
        dtype = draw(st.sampled_from([np.int32, np.int64, np.uint32]))
        found.append((kind, draw(arrays(dtype, shape, elements=st.integers(0, n_nodes - 1)))))
    return found


@st.composite
def meshes(draw, dimensions=(1, 2, 3)):
    n, d = draw(st.integers(1, 12)), draw(st.sampled_from(dimensions))
    points = draw(arrays(np.float64, (n, d), elements=SIZES))
    fields = {}
    for k in range(draw(st.integers(0, 3))):
        dtype = draw(st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8]))
        shape = draw(st.sampled_from([(n,), (n, 1), (n, 3), (n, 6)]))
        fields[f"field {k}"] = draw(arrays(dtype, shape, elements=st.integers(0, 100)))
    cells = draw(blocks(n))
    m = sum(len(block) for _, block in cells)
    of_cells = {"cell field": np.arange(3 * m).reshape(m, 3)} if draw(st.booleans()) else {}
    return Mesh(points, cells, fields, name=draw(st.sampled_from([None, "a.vtu"])), cell_fields=of_cells)


def same_graph(a, b):
    """Equal to the last bit."""
    assert a.features.tobytes() == b.features.tobytes() and a.features.shape == b.features.shape
    assert a.same_topology(b) and a.adjacency.data.dtype == b.adjacency.data.dtype
    assert (a.node_weights is None) == (b.node_weights is None)
    assert a.node_weights is None or a.node_weights.tobytes() == b.node_weights.tobytes()


def same_mesh(a, b):
    np.testing.assert_array_equal(a.points, b.points)
    for first, second in ((a.cells, b.cells), (a.fields, b.fields), (a.cell_fields, b.cell_fields)):
        assert list(first) == list(second)
        for key in first:
            np.testing.assert_array_equal(first[key], second[key], strict=True)


def frozen(mesh):
    held = [mesh.points, *mesh.cells.values(), *mesh.fields.values(), *mesh.cell_fields.values()]
    return all(mesh_arrays.is_frozen(array) for array in held)


@pytest.fixture
def square():
    return Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]}, {"T": np.arange(4.0)}, "square")


def test_what_a_mesh_holds(square):
    assert square.points.dtype == np.float64 and square.points.shape == (4, 2)
    assert square.cells["quad"].dtype == np.int32
    assert (square.n_nodes, square.n_cells, square.dimension) == (4, 1, 2)
    assert repr(square) == "Mesh(square: 4 nodes in 2 dimensions; cells: 1 quad; fields: T)"
    assert repr(Mesh([1.0], {})) == "Mesh(1 node in 1 dimension; cells: none)"


def test_a_mesh_cannot_be_changed(square):
    for name in ("points", "cells", "fields", "name", "anything"):
        with pytest.raises(AttributeError, match=f"A Mesh cannot be changed, so '{name}' cannot be set"):
            setattr(square, name, None)
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del square.points
    for mapping in (square.cells, square.fields):
        with pytest.raises(TypeError):
            mapping["new"] = np.zeros(4)
    for array in (square.points, square.cells["quad"], square.fields["T"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_graph_cannot_be_changed(square):
    graph = square.graph()
    for name in ("features", "adjacency", "node_weights", "name", "weighted"):
        with pytest.raises(AttributeError, match=f"A Graph cannot be changed, so '{name}' cannot be set"):
            setattr(graph, name, None)
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del graph.name


def test_the_givers_arrays_stay_their_own():
    points, cells = plate(20)
    field = np.zeros(20)
    mesh = Mesh(points, cells, {"f": field})
    before = mesh.points.copy()
    points[:], cells[:], field[:] = 7, 0, 7
    np.testing.assert_array_equal(mesh.points, before)
    assert mesh.cells["triangle"].any() and not mesh.fields["f"].any()
    assert points.flags.writeable and cells.flags.writeable and field.flags.writeable


def test_nothing_is_copied_needlessly():
    points, cells = plate(20)
    points, cells, field = (
        mesh_arrays.release(array) for array in (points, np.array(cells, np.int32, order="C"), np.arange(20))
    )
    mesh = Mesh(points, cells, {"f": field})
    assert mesh.points is points and mesh.cells["triangle"] is cells and mesh.fields["f"] is field
    assert mesh.graph().features is points and mesh.graph(node_weights="area").features is points
    more = mesh.with_fields({"g": np.ones(20)})
    assert more.points is points and more.fields["f"] is field and list(more.fields) == ["f", "g"]
    assert mesh.renamed("b").points is points and mesh.renamed("b").name == "b"
    assert as_mesh(mesh) is mesh
    # A part that cannot be written to may change all the same, as long as the whole can be.
    whole = np.zeros((20, 3))
    part = whole[:, :2]
    part.setflags(write=False)
    whole_mesh = Mesh(part, cells)
    whole[:] = 1
    assert not whole_mesh.points.any()


def test_a_graph_of_a_mesh_is_not_checked_again(monkeypatch):
    mesh = Mesh(*plate(20), {"f": np.ones(20)})
    for name in ("own", "check_features", "check_field"):
        monkeypatch.setattr(mesh_arrays, name, lambda *_: pytest.fail("checked or copied again"))
    for module in ("swwl.mesh.graph.check_features", "swwl.mesh.graph.collect_cells", "swwl.mesh.cells.own"):
        monkeypatch.setattr(module, lambda *_: pytest.fail("checked or copied again"))
    assert mesh.graph(fields=["f"]).n_features == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.LeftOutWarning")
@settings(deadline=None, max_examples=50)
@given(st.data())
def test_graphs_are_those_of_from_cells(data):
    """Bit by bit, whichever form cells come in, fields and areas included."""
    mesh = data.draw(meshes())
    given_blocks = [(kind, block[k : k + 1]) for kind, block in mesh.cells.items() for k in range(len(block))]
    chosen = data.draw(st.lists(st.sampled_from(sorted(mesh.fields) or [""]), unique=True).filter(lambda x: x != [""]))
    fields = {key: mesh.fields[key] for key in chosen}
    same_mesh(Mesh(mesh.points, given_blocks, mesh.fields, cell_fields=mesh.cell_fields), mesh)
    if set(mesh.cells) == {"vertex"}:
        with pytest.raises(InputError, match="The mesh has no cells"):
            mesh.graph()
        return
    same_graph(mesh.graph(fields=chosen), Graph.from_cells(mesh.points, mesh.cells, fields=fields))
    same_graph(mesh.graph(fields=chosen), Graph.from_cells(mesh.points, given_blocks, fields=fields))
    same_graph(as_graph(mesh, fields=chosen), cleaned(in_plane(mesh)).graph(fields=chosen))
    weights = np.arange(1.0, mesh.n_nodes + 1)
    same_graph(mesh.graph(weights), Graph.from_cells(mesh.points, mesh.cells, node_weights=weights))
    try:
        areas = mesh.graph("area")
    except InputError as error:
        assert "non-zero length, area or volume" in str(error)
    else:
        same_graph(areas, Graph.from_cells(mesh.points, mesh.cells, node_weights="area"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.LooseNodesWarning")
@settings(deadline=None, max_examples=50)
@given(meshes(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_does_not_matter(mesh, random):
    order = list(range(mesh.n_nodes))
    random.shuffle(order)
    new = np.argsort(order)
    turned = Mesh(mesh.points[order], {kind: new[block] for kind, block in mesh.cells.items()})
    if set(mesh.cells) == {"vertex"}:
        return
    used, turned_used = (np.flatnonzero(used_nodes(m.cells, m.n_nodes)) for m in (mesh, turned))
    edges = {frozenset(edge) for edge in used[mesh.graph().edges].tolist()}
    assert {frozenset((order[a], order[b])) for a, b in turned_used[turned.graph().edges].tolist()} == edges
    assert len(turned.triangles()) == len(mesh.triangles())


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(meshes())
def test_pickles_and_copies_are_the_same_and_frozen(mesh):
    for twin in (pickle.loads(pickle.dumps(mesh)), copy.deepcopy(mesh), copy.copy(mesh)):
        same_mesh(twin, mesh)
        assert twin.name == mesh.name and frozen(twin) and repr(twin) == repr(mesh)
        assert fingerprint(twin) == fingerprint(mesh)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(mesh=meshes(dimensions=(2, 3)))
def test_npz_files_hold_all(mesh, tmp_path):
    mesh.write(tmp_path / "a.npz")
    back = read_mesh(tmp_path / "a.npz")
    flat = mesh.dimension == 3 and not mesh.points[:, 2].any()
    points = mesh.points[:, :2] if flat else mesh.points
    same_mesh(back, Mesh(points, mesh.cells, mesh.fields, cell_fields=mesh.cell_fields))
    assert back.name == "a.npz" and frozen(back)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(mesh=meshes(dimensions=(2, 3)))
def test_vtu_files_hold_all(mesh, tmp_path):
    mesh.write(tmp_path / "a.vtu")
    back = read_mesh(tmp_path / "a.vtu")
    np.testing.assert_array_equal(
        np.hstack([back.points, np.zeros((back.n_nodes, 3 - back.dimension))])[:, : mesh.dimension], mesh.points
    )
    assert {kind: block.tolist() for kind, block in back.cells.items()} == {
        kind: block.tolist() for kind, block in mesh.cells.items()
    }
    for name, field in mesh.fields.items():
        assert back.fields[name].dtype == field.dtype
        np.testing.assert_array_equal(back.fields[name].ravel(), field.ravel())
    for name, field in mesh.cell_fields.items():
        np.testing.assert_array_equal(back.cell_fields[name], field)


@pytest.mark.parametrize("suffix", ["vtu", "npz"])
def test_the_same_mesh_gives_the_same_bytes(suffix, square, tmp_path):
    square.write(tmp_path / f"a.{suffix}")
    square.renamed("other").write(tmp_path / f"b.{suffix}")
    read_mesh(tmp_path / f"a.{suffix}").write(tmp_path / f"c.{suffix}")
    first, second, third = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in "abc")
    assert first == second == third
    assert len(list(tmp_path.iterdir())) == 3


def test_polygons():
    """One name as long as all have equally many corners, otherwise one for each number of them."""
    points = np.random.default_rng(0).random((7, 2))
    five, six = [[0, 1, 2, 3, 4]], [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]]
    alone = Mesh(points, [("polygon", six[:1]), ("triangle", [[0, 1, 6]]), ("polygon", six[1:])])
    assert {kind: len(block) for kind, block in alone.cells.items()} == {"polygon": 2, "triangle": 1}
    mixed = Mesh(points, [("polygon", five), ("polygon", six)])
    assert {kind: block.tolist() for kind, block in mixed.cells.items()} == {"polygon5": five, "polygon6": six}
    same_mesh(Mesh(points, mixed.cells), mixed)
    assert list(Mesh(points, {"polygon5": five}).cells) == ["polygon"]
    assert len(mixed.triangles()) == 3 + 2 * 4
    assert mixed.graph("area").node_weights.sum() > 0
    with pytest.raises(InputError, match="'polygon5' have 5 nodes, not 6"):
        Mesh(points, {"polygon5": six})
    with pytest.raises(InputError, match="'polygon2' are not known"):
        Mesh(points, {"polygon2": [[0, 1]]})


def test_cell_fields():
    """One row per cell as they are given; one order for all blocks of a type."""
    cells = [("triangle", [[0, 1, 2]]), ("line", [[0, 1], [1, 2]]), ("triangle", [[1, 2, 3]])]
    mesh = Mesh(np.eye(4), cells, cell_fields={"n": [0, 1, 2, 3], "v": np.eye(4)})
    assert mesh.cell_fields["n"].tolist() == [0, 3, 1, 2] and mesh.cell_fields["v"].argmax(1).tolist() == [0, 3, 1, 2]
    assert repr(mesh) == "Mesh(4 nodes in 4 dimensions; cells: 2 triangle, 2 line; cell fields: n, v)"
    assert mesh.with_fields({"T": [1, 2, 3, 4]}).renamed("a").cell_fields == mesh.cell_fields
    with pytest.raises(InputError, match=r"Field 'n' must have one row per cell \(4\), but has shape \(3,\)"):
        Mesh(np.eye(4), cells, cell_fields={"n": [0, 1, 2]})
    with pytest.raises(AttributeError):
        mesh.cell_fields = {}


def test_triangles_of_all_surface_cells():
    kinds = [kind for kind in CELL_TYPES if kind != "polygon" and cell_dimension(kind) == 2]
    cut = {kind: Mesh(np.eye(9), {kind: [range(WIDTHS[kind])]}).triangles().tolist() for kind in kinds}
    halves = [[0, 1, 2], [0, 2, 3]]
    assert cut == {
        **dict.fromkeys(("triangle", "triangle6", "triangle7"), [[0, 1, 2]]),
        **dict.fromkeys(("quad", "quad6", "quad8", "quad9"), halves),
    }
    assert Mesh(np.eye(8, 3), {"hexahedron": [range(8)], "line": [[0, 1]]}).triangles().shape == (0, 3)


def test_fields():
    mesh = Mesh([[0.0], [1.0]], [[0, 1]], {"b": [True, False], "o": np.array([1, 2.5], object), "n": [np.nan, 1]})
    assert mesh.fields["o"].dtype == np.float64 and np.isnan(mesh.fields["n"][0])
    swapped = np.arange(2.0).astype(">f8")
    assert Mesh([[0.0], [1.0]], [[0, 1]], {"s": swapped}).fields["s"].dtype.isnative
    with pytest.raises(InputError, match="Field 'n' must be finite, but node 0, column 0 holds nan"):
        mesh.graph(fields=["n"])
    with pytest.raises(InputError, match="has no node field 'x'; its fields are: b, n, o"):
        mesh.graph(fields=["x"])
    with pytest.raises(InputError, match=r"Field 'x' must have one row per node \(2\), but has shape \(3,\)"):
        mesh.with_fields({"x": [1, 2, 3]})


def test_fingerprints_tell_meshes_apart(square):
    others = [
        square.with_fields({"T": np.zeros(4)}),
        square.with_fields({"p": np.zeros(4)}),
        Mesh(2 * square.points, square.cells, square.fields),
        Mesh(square.points, {"triangle": [[0, 1, 2]]}, square.fields),
        Mesh(square.points, {"quad": [[3, 2, 1, 0]]}, square.fields),
    ]
    assert len({fingerprint(mesh) for mesh in (square, *others)}) == 6
    assert fingerprint(square) == fingerprint(square.renamed(None))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, np.inf]], []), "Point coordinates must be finite, but node 0, column 1 holds inf"),
        (([], {}), "no nodes"),
        ((np.eye(3), [[0, 1, 3]]), r"Cell 0 of type 'triangle' joins nodes \[0, 1, 3\], but nodes are numbered 0 to 2"),
        ((np.eye(3), [[0, 1, 2], [0, 1]]), r"Cells must be an \(m, k\) array or a dict of them"),
        ((np.eye(3), {"triangle": [[0, 1, 2], [0, 1]]}), r"'triangle' must be an \(m, k\) array of node numbers"),
        ((np.eye(3), {"sphere": [[0]]}), "'sphere' are not known"),
        ((np.eye(3), {"vertex": [5]}), r"joins nodes \[5\]"),
        ((np.eye(2), [[0, 1]], {"T": ["a", "b"]}), "Field 'T' must be an array of numbers: could not convert"),
        ((np.eye(2), [[0, 1]], {"T": np.array([1j, 2])}), "Field 'T' must hold real numbers, but holds complex128"),
        ((np.eye(2), [[0, 1]], {"T": np.zeros((2, 0))}), r"but has shape \(2, 0\)"),
        ((np.eye(2), [[0, 1]], {1: np.zeros(2)}), "Field names must be strings, not 1"),
    ],
)
def test_bad_meshes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Mesh(*arguments)


def test_areas_need_ordinary_space():
    with pytest.raises(InputError, match="points of 1 to 3 coordinates, but they have 4"):
        Mesh(np.eye(4), {"tetra": [[0, 1, 2, 3]]}).graph("area")


def test_graphs_that_share_their_topology():
    points, cells = plate(30)
    one, two = Mesh(points, cells, name="one").graph("area"), Mesh(2 * points, cells, name="two").graph("area")
    shared = two.sharing_topology(one)
    assert shared.adjacency is one.adjacency and shared.features is two.features and shared.name == "two"
    assert shared.node_weights is two.node_weights
    other = Mesh(*plate(31)).graph()
    assert other.sharing_topology(one) is other


def test_other_features():
    graph = Graph(np.eye(3), [(0, 1), (1, 2)], [0.0, 2.0], [1, 2, 3], name="bar")
    other = graph.with_features(np.arange(3))
    assert other.features.tolist() == [[0], [1], [2]] and other.adjacency is graph.adjacency
    assert other.node_weights is graph.node_weights and other.name == "bar" and other.weighted
    with pytest.raises(InputError, match="features for 2 nodes, but the graph has 3"):
        graph.with_features(np.eye(2))


def test_merged_nodes_are_those_of_the_whole_mesh():
    """Cut into loose triangles and joined again, a mesh has its graph; fields are means, cell fields stay."""
    points, cells = plate(60)
    loose = Mesh(
        points[cells.ravel()],
        np.arange(cells.size).reshape(-1, 3),
        {"T": points[cells.ravel(), 0] + np.tile([-1.0, 0.0, 1.0], len(cells)), "id": cells.ravel()},
        name="soup",
        cell_fields={"k": np.arange(len(cells))},
    )
    merged = loose.merged()
    first = cells.ravel()[np.sort(np.unique(cells.ravel(), return_index=True)[1])]
    assert np.array_equal(merged.points, points[first]) and np.array_equal(merged.fields["id"], first)
    assert {frozenset(first[list(e)].tolist()) for e in merged.graph().edges} == {
        frozenset(e) for e in Graph.from_cells(points, cells).edges.tolist()
    }
    assert merged.name == "soup" and np.array_equal(merged.cell_fields["k"], np.arange(len(cells)))
    corners = [np.flatnonzero(cells.ravel() == node) % 3 - 1.0 for node in first]
    assert merged.fields["T"] == pytest.approx([points[n, 0] + c.mean() for n, c in zip(first, corners, strict=True)])
    assert merged.merged() is merged


@pytest.mark.parametrize("part", ["points", "cells", "field", "group"])
def test_masked_arrays_that_hide_something_are_refused(part):
    points, cells = plate(9)
    parts = {"points": points, "cells": cells, "field": points[:, 0], "group": np.arange(3)}
    parts[part] = np.ma.masked_array(parts[part], mask=np.arange(parts[part].size).reshape(parts[part].shape) == 1)
    with pytest.raises(InputError, match="must be plain numbers, but 1 of .* is masked"):
        Mesh(parts["points"], parts["cells"], {"T": parts["field"]}, groups={"some": parts["group"]})
    whole = np.ma.masked_array(points)
    assert Mesh(whole, cells).n_nodes == 9


def test_complex_coordinates_are_refused():
    points, cells = plate(9)
    for make in (lambda p: Mesh(p, cells), lambda p: Graph(p, cells[:, :2]), lambda p: as_mesh((p, cells))):
        with pytest.raises(InputError, match="complex: give the real part"):
            make(points + 1j)
    with pytest.raises(InputError, match="Edges must be plain numbers"):
        Graph(points, np.ma.masked_equal(cells[:, :2], cells[0, 0]))


def test_a_plane_mesh_in_space_is_the_same_whichever_way_it_comes():
    points, cells = plate(9)
    space = np.column_stack([points, np.zeros(9)])
    quad = [[0, 1, 4, 3]]
    for flat, expected in (((space, cells), (points, cells)), (Mesh(space, cells), Mesh(points, cells))):
        same_mesh(as_mesh(flat), as_mesh(expected))
        same_graph(as_graph(flat), as_graph(expected))
    assert set(as_mesh((space, quad)).cells) == {"quad"}

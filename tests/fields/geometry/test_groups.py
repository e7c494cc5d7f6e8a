"""Offsets to groups, the way between two of them, nearness to bodies: closed forms, and finer meshes of one part."""

from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from swwl import InputError, Mesh
from swwl.datasets import make_channel
from swwl.fields.geometry.descriptors import Describer, between
from swwl.fields.geometry.groups import (
    around_bodies,
    common_groups,
    group_gaps,
    group_offsets,
    group_pieces,
    inner_bodies,
    nearest_points,
)
from swwl.mesh.cells import cell_corners
from swwl.mesh.remesh.refine import subdivided


def box(n=3, length=4.0):
    """A bar of n x n x 2n nodes in hexahedra, held at one end and loaded on a part of its top."""
    x, y, z = np.meshgrid(np.linspace(0, length, 2 * n), *[np.linspace(0, 1, n)] * 2, indexing="ij")
    number = np.arange(x.size).reshape(x.shape)
    a, b, c, d = (number[i : i - 1 or None, j : j - 1 or None] for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    cells = np.stack([*(k[..., :-1] for k in (a, b, c, d)), *(k[..., 1:] for k in (a, b, c, d))], axis=-1)
    ends = [np.stack([k[i, :, :-1] for k in (a, d)] + [k[i, :, 1:] for k in (d, a)], axis=-1) for i in (0,)]
    top = number[n:, :, -1]
    loaded = np.stack([top[:-1, :-1], top[1:, :-1], top[1:, 1:], top[:-1, 1:]], axis=-1)
    groups = {"held": {"quad": ends[0].reshape(-1, 4)}, "loaded": {"quad": loaded.reshape(-1, 4)}}
    points = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    return Mesh(points, {"hexahedron": cells.reshape(-1, 8)}, groups=groups)


def plate(n=4, thickness=None):
    """A plate of squares with an inlet on the left and a node of a tip on the right; in space if it is a shell."""
    x, y = np.meshgrid(np.linspace(0, 3, 2 * n), np.linspace(0, 1, n), indexing="ij")
    number = np.arange(x.size).reshape(x.shape)
    cells = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    points = np.column_stack([x.ravel(), y.ravel()])
    lines = np.column_stack([number[0, :-1], number[0, 1:]])
    if thickness is not None:
        points = np.column_stack([points, thickness * np.sin(x.ravel())])
    return Mesh(points, {"quad": cells}, groups={"inlet": lines, "tip": [int(number[-1, 0])]})


def contour(n=12):
    """A square contour, a side of which is held."""
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], float)
    shares = np.arange(n) / n
    points = np.concatenate([a + shares[:, None] * (b - a) for a, b in zip(corners, corners[1:], strict=False)])
    lines = np.column_stack([np.arange(4 * n), np.roll(np.arange(4 * n), -1)])
    return Mesh(points, {"line": lines}, groups={"held": lines[:n], "end": [2 * n]})


def finer(mesh):
    """Subdivide a mesh with its groups; also return the numbers of its old nodes."""
    fine = subdivided(mesh)
    at = {tuple(p): k for k, p in enumerate(fine.points.round(9).tolist())}

    def number(points):
        return np.array([at[tuple(p)] for p in points.round(9).tolist()])

    old, groups = number(mesh.points), {}
    for name, group in mesh.groups.items():
        if group.kind == "nodes":
            groups[name] = old[group.nodes]
            continue
        part = subdivided(Mesh(mesh.points, {kind: cell_corners(kind, f) for kind, f in group.faces.items()}))
        groups[name] = {kind: number(part.points)[cells] for kind, cells in part.cells.items()}
    return Mesh(fine.points, fine.cells, groups=groups), old


@cache
def channel():
    """A flow around bodies, of which there may be several."""
    meshes = make_channel(4, n_nodes=500, random_state=3)["mesh"]
    return next(mesh for mesh in meshes if len(inner_bodies(mesh)) > 1)


@pytest.mark.parametrize("make", [box, plate, partial(plate, thickness=0.4), contour, channel])
def test_a_finer_mesh_of_the_same_part_has_the_same_offsets(make):
    mesh = make()
    fine, old = finer(mesh)
    for name in mesh.groups:
        coarse, again = group_offsets(mesh, name, 0.3), group_offsets(fine, name, 0.3)[old]
        # Where two points are equally near, either may be found.
        sizes = np.linalg.norm(coarse, axis=1)
        np.testing.assert_allclose(np.linalg.norm(again, axis=1), sizes, rtol=1e-6, atol=1e-9)
        assert np.isclose(again, coarse, rtol=1e-6, atol=1e-9).all(axis=1).mean() > 0.9


def test_nearness_to_bodies_is_that_of_a_finer_mesh():
    mesh = channel()
    fine, old = finer(mesh)
    np.testing.assert_allclose(around_bodies(fine)[old], around_bodies(mesh), rtol=1e-6, atol=1e-9)


def test_nearness_to_a_circle():
    turns = 2 * np.pi * np.arange(200) / 200
    ring = np.column_stack([np.cos(turns), np.sin(turns)])
    points = np.concatenate([ring, 2 * ring, 5 * ring])
    a = np.concatenate([np.arange(200), 200 + np.arange(200)])
    b = np.concatenate([np.roll(np.arange(200), -1), 200 + np.roll(np.arange(200), -1)])
    mesh = Mesh(points, {"quad": np.column_stack([a, a + 200, b + 200, b])})
    found = around_bodies(mesh)
    for r, rows in zip((1, 2, 5), np.split(found, 3), strict=True):
        np.testing.assert_allclose(rows, np.column_stack([ring, np.ones(200)]) / r, rtol=2e-4, atol=1e-4)


@given(seed=st.integers(0, 10**6), corners=st.integers(1, 3), m=st.integers(1, 40))
def test_nearest_points_are_on_pieces_and_no_corner_is_nearer(seed, corners, m):
    rng = np.random.default_rng(seed)
    d = 2 if corners == 2 else 3
    points = rng.normal(size=(max(4, m), d))
    pieces = np.array([rng.permutation(len(points))[:corners] for _ in range(m)])
    places = rng.normal(size=(20, d)) * 2
    found = nearest_points(places, points, pieces)
    far = np.linalg.norm(found - places, axis=1)
    used = points[np.unique(pieces)]
    assert (far <= np.linalg.norm(places[:, None] - used, axis=2).min(axis=1) + 1e-9).all()
    if corners < 3:  # among triangles that do not hang together, the search may end early
        shares = np.linspace(0, 1, 201)[:, None, None, None]
        along = points[pieces[:, 0]] * (1 - shares) + points[pieces[:, -1]] * shares
        assert (far <= np.linalg.norm(places[:, None] - along, axis=3).min(axis=(0, 2)) + 1e-9).all()


def test_the_nearest_point_of_a_triangle_agrees_with_an_optimizer():
    rng = np.random.default_rng(0)
    for _ in range(10):
        points, place = rng.normal(size=(3, 3)), 2 * rng.normal(size=3)

        def squared(s, points=points, place=place):
            return ((points.T @ np.array([1 - s[0] - s[1], *s]) - place) ** 2).sum()

        limits = {"type": "ineq", "fun": lambda s: 1 - s.sum()}
        best = minimize(squared, [0.3, 0.3], bounds=[(0, 1)] * 2, constraints=limits, tol=1e-12).fun
        found = nearest_points(place[None], points, np.array([[0, 1, 2]]))
        assert ((found - place) ** 2).sum() == pytest.approx(best, rel=1e-6, abs=1e-9)


def test_order_of_nodes_does_not_count():
    mesh = channel()
    order = np.random.default_rng(0).permutation(mesh.n_nodes)
    new = np.argsort(order)
    groups = {name: {kind: new[f] for kind, f in group.faces.items()} for name, group in mesh.groups.items()}
    turned = Mesh(mesh.points[order], {kind: new[c] for kind, c in mesh.cells.items()}, groups=groups)
    describer = Describer(2, 5.0, False, groups=list(mesh.groups), pair=("inlet", "outlet"), around=True)
    one, other = describer.blocks(mesh), describer.blocks(turned)
    for name in one:
        np.testing.assert_allclose(other[name], one[name][order], rtol=1e-4, atol=1e-5 * np.abs(one[name]).max())


def slit(n, height=1.0):
    """A channel of length 3 and some height, in n x 3n squares."""
    x, y = np.meshgrid(np.linspace(0, 3, 3 * n + 1), np.linspace(0, height, n + 1), indexing="ij")
    number = np.arange(x.size).reshape(x.shape)
    cells = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    ends = {"inlet": number[0], "outlet": number[-1]}
    groups = {name: np.column_stack([end[:-1], end[1:]]) for name, end in ends.items()}
    return Mesh(np.column_stack([x.ravel(), y.ravel()]), {"quad": cells}, groups=groups)


def test_the_way_through_a_narrow_channel_is_that_of_a_slow_flow():
    # w = (h²/4 - y²) / 2, its integral across is h³ / 12; at the open ends w is that of the middle.
    errors = []
    for n in (2, 4, 8, 16):
        found = between(slit(n, 0.3), "inlet", "outlet", 1.0)
        assert np.allclose(found.sum(axis=1), found.sum(axis=1)[0])
        errors.append(abs(found[:, 0].max() / (12 * 3 / 0.3**3) - 1))
    assert errors[-1] < 0.02
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_a_channel_one_cell_wide_is_not_closed():
    wide, fine = (between(slit(n, 0.3), "inlet", "outlet", 1.0)[:, 0].max() for n in (1, 16))
    assert 0.3 < wide / fine < 3


def test_the_way_along_a_shell_is_its_length():
    mesh = plate(8, thickness=0.4)
    ends = {name: np.flatnonzero(mesh.points[:, 0] == x) for name, x in (("a", 0.0), ("b", 3.0))}
    found = between(Mesh(mesh.points, mesh.cells, groups=ends), "a", "b", 1.0)
    row = mesh.points[mesh.points[:, 1] == 0]
    assert found[:, 0].max() == pytest.approx(np.linalg.norm(np.diff(row, axis=0), axis=1).sum(), rel=1e-6)


def test_groups_that_no_cells_join_have_no_way_between_them():
    points = [[0, 0], [1, 0], [0, 1], [5, 0], [6, 0], [5, 1]]
    mesh = Mesh(points, [[0, 1, 2], [3, 4, 5]], groups={"a": [0], "b": [3]})
    assert common_groups([group_gaps(mesh)]) == (["a", "b"], None)
    with pytest.raises(InputError, match="no cells that lead from group 'a' to group 'b'"):
        between(mesh, "a", "b", 1.0)


def test_pieces_of_groups_of_all_kinds():
    mesh = box()
    assert group_pieces(mesh, "held").shape == (8, 3)
    member = mesh.groups["held"].nodes
    other = Mesh(mesh.points, mesh.cells, groups={"nodes": member, "part": {"hexahedron": [0, 1]}, "one": [5]})
    same = group_offsets(other, "nodes", 1.0), group_offsets(mesh, "held", 1.0)
    np.testing.assert_allclose(*same, atol=1e-12)
    assert group_pieces(other, "part").shape[1] == 3
    assert group_pieces(other, "one").tolist() == [[5]]
    assert inner_bodies(mesh) == []
    assert not around_bodies(mesh).any()


def test_groups_that_all_meshes_have_and_the_two_that_are_farthest_apart():
    mesh = channel()
    gaps = group_gaps(mesh)
    assert gaps["inlet"]["walls"] == 0
    assert common_groups([gaps]) == (["inlet", "outlet", "walls", "body"], ("inlet", "outlet"))
    assert common_groups([gaps, {}]) == ([], None)


def test_a_mesh_without_a_group_is_told():
    mesh = channel()
    describer = Describer(2, 5.0, False, groups=["inlet", "rotor"])
    with pytest.raises(
        InputError, match="has no group 'rotor', but all training meshes have one; its groups are: inlet"
    ):
        describer.blocks(mesh)
    with pytest.raises(InputError, match="it has no groups"):
        describer.blocks(Mesh(mesh.points, mesh.cells))

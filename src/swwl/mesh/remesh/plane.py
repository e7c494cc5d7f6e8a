"""Plane problems in meshes one cell thick: recognized by their geometry, and collapsed into the plane.

Many solvers of flows know solids alone: a plane problem is one layer of cells between two parallel copies of the plane
mesh, an axisymmetric one a layer between two half planes that meet in the axis. :func:`thin_layer` recognizes both,
:func:`collapsed` returns the plane mesh, and :class:`ThinLayer` brings fields and gradients back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, own
from swwl.mesh.cells import cell_dimension, cell_edges, cell_sides, used_nodes
from swwl.mesh.groups import Group, collect_groups
from swwl.mesh.mesh import Mesh, trusted_mesh

Array = NDArray[np.float64]
_Nodes = NDArray[np.int32]

_SOLIDS = ("hexahedron", "wedge", "pyramid", "tetra")
# How far nodes may be from where a perfect layer has them: relative to its thickness, and, as coordinates are often
# written with few digits, to the size of the mesh.
_TOLERANCE, _DIGITS, _MOST = 1e-4, 1e-6, 1e-2
_MOST_ANGLE = np.radians(30.0)
# Thicknesses that differ by less are the same; those of a set of meshes have to be.
_SAME = 1e-6
_MOST_TRIED = 300  # cells, of which the largest shows where the sides are; nodes that are looked at first
# Corners of cells on one side, and those across from them.
_ACROSS = {
    "hexahedron": (
        ((0, 1, 2, 3), (4, 5, 6, 7)),
        ((0, 1, 5, 4), (3, 2, 6, 7)),
        ((0, 3, 7, 4), (1, 2, 6, 5)),
    ),
    "wedge": (((0, 1, 2), (3, 4, 5)),),
}
_FACE_TYPES = {2: "line", 3: "triangle", 4: "quad"}


@dataclass(frozen=True)
class ThinLayer:
    """A mesh one cell thick: which of its nodes are which node of the plane mesh.

    Attributes
    ----------
    kind : {"plane", "wedge"}
        A layer between parallel planes, or between two half planes that meet in an axis.
    thickness : float
        Distance of the planes, or angle between them in radians.
    number : ndarray of shape (n,), int32
        Of every node, its node of the plane mesh.
    points : ndarray of shape (k, 2)
        Of the plane mesh: in the plane, or along the axis and away from it.
    directions : ndarray of shape (n, 2, 3) or (1, 2, 3)
        Where in space the two coordinates of a node grow.
    cells : dict of str to ndarray of shape (m, 3) or (m, 4)
        Of the plane mesh, counterclockwise.
    rows : ndarray of shape (m,)
        Of every cell of the plane mesh, its place among all cells of the mesh.
    """

    kind: Literal["plane", "wedge"]
    thickness: float
    number: _Nodes
    points: Array
    directions: Array
    cells: dict[str, _Nodes]
    rows: NDArray[np.intp]

    def mean(self, field: AnyArray) -> AnyArray:
        """Return what a field (n, ...) is on the plane mesh, (k, ...): the mean of both sides; of integers, the least.

        Examples
        --------
        >>> box = Mesh(*_box())
        >>> thin_layer(box).mean(np.arange(12.0)).tolist()
        [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
        """
        if field.dtype.kind != "f":
            order = np.lexsort((field if field.ndim == 1 else field[:, 0], self.number))
            return np.asarray(field[order[np.unique(self.number[order], return_index=True)[1]]])
        columns = np.asarray(field, float).reshape(len(field), -1).T
        counts = np.bincount(self.number)
        means = np.column_stack([np.bincount(self.number, column) / counts for column in columns])
        return np.asarray(means.reshape(len(counts), *field.shape[1:]).astype(field.dtype))

    def pulled_back(self, gradient: Array) -> Array:
        """Bring gradients (k, 2, m) in the points of the plane mesh to all nodes in space, (n, 3, m): equal shares."""
        shares = gradient / np.bincount(self.number)[:, None, None]
        return np.stack([self.lifted(shares[:, :, j]) for j in range(gradient.shape[2])], axis=2)

    def gathered(self, gradient: Array) -> Array:
        """Return the gradient (k, 2) in the points of the plane mesh, given the shares (n, 3) of all nodes."""
        parts = np.einsum("npx,nx->pn", np.broadcast_to(self.directions, (len(gradient), 2, 3)), gradient)
        return np.column_stack([np.bincount(self.number, part) for part in parts])

    def lifted(self, vectors: Array) -> Array:
        """Return vectors (k, 2) in the plane as vectors in space at all nodes, (n, 3)."""
        shape = len(self.number), 2, 3
        return np.asarray(np.einsum("npx,np->nx", np.broadcast_to(self.directions, shape), vectors[self.number]))


def _box() -> tuple[Array, dict[str, _Nodes]]:
    """Return points and cells of two hexahedra in a layer, for examples."""
    plane = np.array([[0.0, 0], [1, 0], [3, 0], [0, 1], [1, 1], [3, 3]])
    points = np.vstack([np.column_stack([plane, np.full(6, z)]) for z in (0.0, 0.5)])
    quads = np.array([[0, 1, 4, 3], [1, 2, 5, 4]])
    return points, {"hexahedron": np.hstack([quads, quads + 6]).astype(np.int32)}


def thin_layer(mesh: Mesh) -> ThinLayer | None:
    """Recognize a mesh one cell thick, of constant thickness; None for all others, solids above all.

    Every node has to lie on one of two planes, or in the axis in which they meet, with its copy straight across on the
    other, and every cell has to reach from one to the other. Fields and names do not count. A row of single cells,
    which is thin in two directions, stays a solid, and so do cells with nodes on their sides.

    Parameters
    ----------
    mesh : Mesh

    Examples
    --------
    >>> found = thin_layer(Mesh(*_box()))
    >>> found.kind, found.thickness, found.points[:3].tolist(), {k: c.tolist() for k, c in found.cells.items()}
    ('plane', 0.5, [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], {'quad': [[0, 1, 4, 3], [1, 2, 5, 4]]})
    """
    return mesh.derived("layer", _thin_layer)


def _thin_layer(mesh: Mesh) -> ThinLayer | None:
    if mesh.dimension != 3:
        return None
    solids = {kind: block for kind, block in mesh.cells.items() if cell_dimension(kind) == 3 and len(block)}
    if not solids or any(kind not in _SOLIDS for kind in solids):
        return None
    if sum(map(len, solids.values())) < 2 or not {"hexahedron", "wedge"} & solids.keys():
        return None
    size = float(np.ptp(mesh.points.T.copy(), axis=1).max())
    some = mesh.points[:: max(1, mesh.n_nodes // _MOST_TRIED)]
    pairs = [pair for pair in _opposite_faces(mesh.points, solids) if _may_hold(some, *pair, size)]
    looks = (_sides(mesh.points, *pair, size) for pair in pairs)
    sides = [found for found in looks if found is not None]
    if len(sides) != 1 or (not sides[0].side.all() and not used_nodes(solids, mesh.n_nodes).all()):
        return None
    return _layer(mesh, sides[0])


def flattened(mesh: Mesh, *, groups: bool = True) -> Mesh:
    """Return the plane mesh of one that is one cell thick; meshes that are plane already as they are.

    Without ``groups``, which take as long as the rest, it need not have them.

    Raises
    ------
    InputError
        For others.
    """
    layer = thin_layer(mesh)
    if layer is not None:
        if groups or not mesh.groups:
            return mesh.derived("flattened", lambda one: collapsed(one, layer))
        return mesh.derived("flattened alone", lambda one: collapsed(one, layer, groups=False))
    if mesh.dimension > 2:
        raise InputError("the mesh is neither plane nor one cell thick, but those of fit are.")
    return mesh


def thickness_of(mesh: Mesh) -> float:
    """Return how thick a layer is: 0 for plane meshes, NaN for solids, less than zero for angles of wedges.

    Examples
    --------
    >>> thickness_of(Mesh(*_box())), thickness_of(Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]))
    (0.5, 0.0)
    """
    if mesh.dimension < 3:
        return 0.0
    layer = thin_layer(mesh)
    if layer is None:
        return float("nan")
    return layer.thickness if layer.kind == "plane" else -layer.thickness


def same_thickness(found: list[float]) -> bool:
    """Whether meshes of these thicknesses are to be learned as plane ones: all as thick, as far as they are not plane.

    Where the thickness varies from mesh to mesh it is an input, as of plates, and the meshes stay solids.

    Examples
    --------
    >>> same_thickness([0.1, 0.1, 0.0]), same_thickness([0.1, 0.2]), same_thickness([0.1, float("nan")])
    (True, False, False)
    """
    thick = np.array([one for one in found if one != 0])
    if not len(thick) or not np.isfinite(thick).all():
        return False
    return bool(np.ptp(thick) <= _SAME * np.abs(thick).max())


def collapsed(mesh: Mesh, layer: ThinLayer, *, groups: bool = True) -> Mesh:
    """Return the plane mesh of one that is one cell thick.

    Parameters
    ----------
    mesh : Mesh
    layer : ThinLayer
        Of it.
    groups : bool
        Whether the plane mesh has the groups of the mesh.

    Returns
    -------
    Mesh
        In two coordinates: without the one across, where the planes are across a coordinate axis. Node fields are the
        mean of both sides, with all their components. Faces from one side to the other become lines of groups of the
        same name; the two sides themselves are dropped.

    Examples
    --------
    >>> box = Mesh(*_box(), groups={"inlet": {"quad": [[0, 3, 9, 6]]}, "front": {"quad": [[0, 1, 4, 3]]}})
    >>> plane = collapsed(box, thin_layer(box))
    >>> plane
    Mesh(6 nodes in 2 dimensions; cells: 2 quad; groups: inlet)
    >>> plane.groups["inlet"].faces["line"].tolist()
    [[0, 3]]
    """
    fields = {name: layer.mean(field) for name, field in mesh.fields.items()}
    of_cells = {name: own(field[layer.rows]) for name, field in mesh.cell_fields.items()}
    raw = {name: _group(mesh, layer, group) for name, group in mesh.groups.items()} if groups else {}
    kept = collect_groups({name: one for name, one in raw.items() if one is not None}, len(layer.points), layer.cells)
    return trusted_mesh(layer.points, layer.cells, fields, mesh.name, of_cells, kept)


# Where the layer lies


@dataclass(frozen=True)
class _Sides:
    """Two planes: on which side every node lies (-1, 1, or 0 in the axis), and its two coordinates (n, 2)."""

    kind: Literal["plane", "wedge"]
    thickness: float
    side: NDArray[np.int8]
    points: Array
    directions: Array
    tolerance: float


def _opposite_faces(points: Array, solids: dict[str, _Nodes]) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of faces of a large cell, (3 or 4, 3) each, one of which must lie on the two sides of a layer."""
    kind = "hexahedron" if "hexahedron" in solids else "wedge"
    block = solids[kind][:: max(1, len(solids[kind]) // _MOST_TRIED)]
    corners = points[block.T]  # (8, m, 3): minima over few corners of many cells are fast in this order
    boxes = np.sort(corners.max(axis=0) - corners.min(axis=0), axis=1)
    cell = block[[int(np.argmax(boxes[:, 1]))]]  # its second longest edge counts
    faces = [points[face[0]] for face in cell_sides(kind, cell)]
    if kind == "hexahedron":
        yield from ((faces[a], faces[b]) for a, b in ((0, 1), (2, 4), (3, 5)))
    else:
        yield faces[0], faces[1]
        yield from ((faces[a], faces[b]) for a, b in ((2, 3), (3, 4), (4, 2)))


def _cross(a: Array, b: Array) -> Array:
    """Return the product of two vectors; numpy's takes ten times as long for them."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _normal(face: Array) -> Array | None:
    a, b = (face[1] - face[0], face[2] - face[0]) if len(face) == 3 else (face[2] - face[0], face[3] - face[1])
    vector = _cross(a, b)
    size = float(np.linalg.norm(vector))
    return vector / size if size > 0 else None


def _snapped(vector: Array) -> Array:
    """Return a unit vector whose largest entry is positive, exactly along an axis where it is so but for rounding."""
    axis = int(np.argmax(np.abs(vector)))
    vector = vector * np.sign(vector[axis])
    return np.eye(3)[axis] if 1 - vector[axis] < 1e-9 else vector


def _sides(points: Array, first: Array, second: Array, size: float) -> _Sides | None:
    a, b = _normal(first), _normal(second)
    if a is None or b is None:
        return None
    axis = _cross(a, b)
    if np.linalg.norm(axis) < 1e-5:
        return _between_planes(points, _snapped(a), size)
    if np.linalg.norm(axis) > np.sin(_MOST_ANGLE):
        return None
    return _between_half_planes(points, (first, a), (second, b), _snapped(axis / np.linalg.norm(axis)), size)


def _may_hold(points: Array, first: Array, second: Array, size: float) -> bool:
    """Whether some points are roughly in two planes, or two that meet: sets most pairs aside at little cost."""
    a, b = _normal(first), _normal(second)
    if a is None or b is None:
        return False
    apart = [np.abs((points - face[0]) @ normal) for face, normal in ((first, a), (second, b))]
    thickness = max(float(np.abs((second - first[0]) @ a).max()), float(np.linalg.norm(_cross(a, b))) * size)
    return bool((np.minimum(*apart) <= 5 * _MOST * thickness).all())


def _tolerance(thickness: float, size: float) -> float:
    return max(_TOLERANCE * thickness, min(_DIGITS * size, _MOST * thickness))


def _between_planes(points: Array, normal: Array, size: float) -> _Sides | None:
    across = points @ normal
    low, high = float(across.min()), float(across.max())
    thickness = high - low
    tolerance = _tolerance(thickness, size)
    if not (np.minimum(across - low, high - across) <= tolerance).all():
        return None
    side = np.where(across - low <= tolerance, -1, 1).astype(np.int8)
    largest = int(np.argmax(normal))
    if normal[largest] == 1.0:
        basis = np.delete(np.eye(3), largest, axis=0)
    else:
        start = np.eye(3)[int(np.argmin(np.abs(normal)))]
        start = start - (start @ normal) * normal
        start /= np.linalg.norm(start)
        basis = np.array([start, _cross(normal, start)])
    thickness = float(across[side > 0].mean() - across[side < 0].mean())
    return _Sides("plane", thickness, side, points @ basis.T, basis[None], tolerance)


def _between_half_planes(
    points: Array, first: tuple[Array, Array], second: tuple[Array, Array], axis: Array, size: float
) -> _Sides | None:
    # The point in both planes that is nearest to the origin.
    planes = np.array([first[1], second[1], axis])
    start = np.linalg.solve(planes, [first[1] @ first[0][0], second[1] @ second[0][0], 0.0])
    away = []
    for face, _ in (first, second):
        middle = face.mean(axis=0) - start
        middle = middle - (middle @ axis) * axis
        away.append(middle / np.linalg.norm(middle))
    radial = away[0] + away[1]
    radial /= np.linalg.norm(radial)
    across = _cross(axis, radial)
    x, r, t = (points - start) @ axis + start @ axis, (points - start) @ radial, (points - start) @ across
    half = abs(float(np.arctan2(away[0] @ across, away[0] @ radial)))
    radius = np.hypot(r, t)
    most = float(radius.max())
    tolerance = _tolerance(2 * half * most, size)
    on_axis = radius <= 1e-6 * most
    if not (np.abs(np.abs(t) - np.tan(half) * r)[~on_axis] <= tolerance).all() or (r[~on_axis] <= 0).any():
        return None
    side = np.where(on_axis, 0, np.sign(t)).astype(np.int8)
    outward = (r[:, None] * radial + t[:, None] * across) / np.where(on_axis, 1.0, radius)[:, None]
    outward[on_axis] = radial
    directions = np.stack([np.broadcast_to(axis, outward.shape), outward], axis=1)
    far = radius > 0.5 * most
    angle = 2 * float(np.median(np.arctan2(np.abs(t[far]), r[far])))
    return _Sides("wedge", angle, side, np.column_stack([x, np.where(on_axis, 0.0, radius)]), directions, tolerance)


# Nodes and cells


class _Cells(NamedTuple):
    """Cells of a type: which of all cells they are, and their nodes on one side and across from these, (m, w) each.

    Of those with nodes in the axis, or repeated ones, ``across`` is None and ``nodes`` are all nodes.
    """

    kind: str
    rows: NDArray[np.intp]
    nodes: _Nodes
    across: _Nodes | None


def _layer(mesh: Mesh, sides: _Sides) -> ThinLayer | None:
    parts = list(_parts(mesh, sides.side))
    partner = _partners(parts, sides.side)
    if partner is None:
        return None
    half = np.flatnonzero(np.arange(mesh.n_nodes) <= partner)  # one of every pair
    other = partner[half]
    points, across = sides.points.take(half, axis=0), sides.points.take(other, axis=0)
    if float(np.abs(points - across).max()) > sides.tolerance:
        return None
    number = np.empty(mesh.n_nodes, np.int32)
    number[half] = number[other] = np.arange(len(half), dtype=np.int32)
    points = (points + across) / 2
    if not sides.side.all():
        kept, joined = _joined_on_axis(points, sides.side[half] == 0)
        number, points = joined[number], points[kept]
    found: dict[int, list[tuple[NDArray[np.intp], _Nodes]]] = {}
    for part in parts:
        faces = {part.nodes.shape[1]: (part.rows, number.take(part.nodes))}
        if part.across is None:
            others = _plane_cells(part, number, sides.side)
            if others is None:
                return None
            faces = others
        for width, own_faces in faces.items():
            found.setdefault(width, []).append(own_faces)
    blocks, rows = {}, []
    for width, pairs in found.items():
        places, nodes = pairs[0]
        if len(pairs) > 1:
            places = np.concatenate([own_places for own_places, _ in pairs])
            order = np.argsort(places, kind="stable")
            places, nodes = places[order], np.concatenate([own_nodes for _, own_nodes in pairs])[order]
        blocks[_FACE_TYPES[width]] = own(_counterclockwise(points, nodes), np.int32)
        rows.append(places)
    return ThinLayer(sides.kind, sides.thickness, number, own(points), sides.directions, blocks, np.concatenate(rows))


def _parts(mesh: Mesh, side: NDArray[np.int8]) -> Iterator[_Cells]:
    """Yield the solids of the mesh: those that reach straight from one side to the other, and the rest."""
    start = 0
    for kind, block in mesh.cells.items():
        left = np.arange(len(block)) if cell_dimension(kind) == 3 else np.empty(0, np.intp)
        for one, other in _ACROSS.get(kind, ()):
            if not len(left):
                break
            nodes = block if len(left) == len(block) else block[left]
            lies = side.take(nodes.T)
            here, there = (lies[list(some)].sum(axis=0, dtype=np.int8) for some in (one, other))
            straight = (np.abs(here) == len(one)) & (there == -here)
            if straight.any():
                some = nodes if straight.all() else nodes[straight]
                rows = left if len(some) == len(left) else left[straight]
                yield _Cells(kind, start + rows, some.take(one, axis=1), some.take(other, axis=1))
                left = left[~straight]
        if len(left):
            yield _Cells(kind, start + left, block[left], None)
        start += len(block)


def _partners(parts: Sequence[_Cells], side: NDArray[np.int8]) -> NDArray[np.intp] | None:
    """Return the node across from every node, (n,), itself in the axis; None where a node has none or several."""
    partner = np.where(side == 0, np.arange(len(side)), -1)
    pairs: list[tuple[NDArray[np.integer], NDArray[np.integer]]] = []
    for part in parts:
        if part.across is not None:
            pairs.append((part.nodes, part.across))
        else:
            ends = cell_edges(part.kind, part.nodes).T
            here = side[ends[0]] * side[ends[1]] < 0
            pairs.append((ends[0][here], ends[1][here]))
    for one, other in pairs:
        partner[one] = other
    first = np.flatnonzero(partner >= 0)
    partner[partner[first]] = first
    # A pair that has lost its place to another one shows that a node has two partners.
    whole = (partner >= 0).all() and (partner.take(partner) == np.arange(len(side))).all()
    return partner if whole and all((partner.take(a) == b).all() for a, b in pairs) else None


def _joined_on_axis(points: Array, on_axis: NDArray[np.bool_]) -> tuple[NDArray[np.intp], _Nodes]:
    """Make nodes at one place in the axis one: return which nodes (k,) stay, and of every node its new number."""
    nodes = np.flatnonzero(on_axis)
    x = points[nodes, 0]
    order = np.argsort(x, kind="stable")
    run = np.concatenate([[0], np.cumsum(np.diff(x[order]) > 1e-9 * max(float(np.abs(x).max()), 1e-300))])
    least = np.full(int(run[-1]) + 1, len(points))
    np.minimum.at(least, run, nodes[order])
    first = np.arange(len(points))
    first[nodes[order]] = least[run]
    kept = first == np.arange(len(points))
    return np.flatnonzero(kept), (np.cumsum(kept) - 1)[first].astype(np.int32)


def _plane_cells(
    part: _Cells, number: _Nodes, side: NDArray[np.int8]
) -> dict[int, tuple[NDArray[np.intp], _Nodes]] | None:
    """Return the faces of cells on the first side, by their number of corners: which cells, and their nodes.

    None where a cell has no such face, or nodes that are not across from it.
    """
    corners, lies = number[part.nodes], side[part.nodes]
    left = np.ones(len(corners), bool)
    found: dict[int, list[tuple[NDArray[np.intp], _Nodes]]] = {}
    for (places,) in cell_sides(part.kind, np.arange(corners.shape[1], dtype=np.int32)[None]):
        of_face = lies[:, places]
        chosen = np.flatnonzero(left & (of_face <= 0).all(axis=1) & (of_face < 0).any(axis=1))
        nodes = corners[np.ix_(chosen, places)]
        whole = (corners[chosen][:, :, None] == nodes[:, None, :]).any(axis=2).all(axis=1)
        chosen, nodes = chosen[whole], nodes[whole]
        new = nodes != np.roll(nodes, 1, axis=1)
        for count in range(3, nodes.shape[1] + 1):
            some = new.sum(axis=1) == count
            if some.any():
                found.setdefault(count, []).append((chosen[some], nodes[some][new[some]].reshape(-1, count)))
                left[chosen[some]] = False
    if left.any():
        return None
    joined = {width: [np.concatenate(some) for some in zip(*pairs, strict=True)] for width, pairs in found.items()}
    return {width: (part.rows[places], nodes) for width, (places, nodes) in joined.items()}


def _counterclockwise(points: Array, cells: _Nodes) -> _Nodes:
    x, y = (column.take(cells.T) for column in points.T.copy())
    a, b, c = (1, 0, 2) if len(x) == 3 else (2, 1, 3)  # two edges of a triangle, the diagonals of a quadrilateral
    area = (x[a] - x[0]) * (y[c] - y[b]) - (x[c] - x[b]) * (y[a] - y[0])
    clockwise = np.flatnonzero(area < 0)
    cells[clockwise, 1:] = cells[clockwise, :0:-1]
    return cells


# Groups


def _group(mesh: Mesh, layer: ThinLayer, group: Group) -> object:
    """Return a group of the plane mesh as :func:`collect_groups` takes it; None where nothing is left of it."""
    if group.kind == "nodes":
        return np.unique(layer.number[group.nodes]) if len(group.nodes) else None
    if group.kind == "faces":
        return _lines(layer, list(group.faces.values()))
    solids: list[NDArray[np.intp]] = []
    others: list[_Nodes] = []
    start = 0
    for kind, block in mesh.cells.items():
        if kind in group.cells and cell_dimension(kind) == 3:
            solids.append(start + group.cells[kind].astype(np.intp))
        elif kind in group.cells:
            others.append(block[group.cells[kind]])
        start += len(block)
    if not solids:
        return _lines(layer, others)
    chosen = np.isin(layer.rows, np.concatenate(solids))
    found, start = {}, 0
    for kind, block in layer.cells.items():
        rows = np.flatnonzero(chosen[start : start + len(block)])
        if len(rows):
            found[kind] = rows
        start += len(block)
    return found or None


def _lines(layer: ThinLayer, faces: list[_Nodes]) -> object:
    """Return the lines that faces from one side to the other become; None where there are none."""
    found = []
    for block in faces:
        numbers = layer.number[block]
        across = np.logical_or.reduce([a == b for a, b in combinations(numbers.T, 2)])  # not on one of the sides
        numbers = np.sort(numbers[across], axis=1)
        different = 1 + (numbers[:, 1:] != numbers[:, :-1]).sum(axis=1)
        ends = numbers[different == 2]
        found.append(np.column_stack([ends[:, 0], ends[:, -1]]))
    ends = np.concatenate([np.empty((0, 2), np.int32), *found])
    keys = np.unique(ends[:, 0] * np.int64(len(layer.points)) + ends[:, 1])  # faster than sorting rows
    return {"line": np.column_stack(np.divmod(keys, len(layer.points)))} if len(keys) else None

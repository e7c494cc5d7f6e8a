"""Motions of named groups: a body shifts, turns or grows, the mesh around it follows, and the rest of the skin stays.

Such motions exist on every mesh that has the group, whatever its cells: derivatives along them need no common topology.
Nodes of the body move rigidly (or away from its center); nodes between it and what stays are drawn along by springs on
the edges, so that a small motion leaves all cells valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from swwl.errors import InputError
from swwl.mesh.adjacency import cells_adjacency
from swwl.mesh.arrays import first_at_place
from swwl.mesh.cells import cell_dimension, cut_into_simplices, top_cells
from swwl.mesh.groups import chosen_groups
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.mesh.remesh.plane import ThinLayer, flattened, thin_layer
from swwl.mesh.shape.bodies import fills, find_bodies
from swwl.mesh.shape.density import springs
from swwl.mesh.shape.sampling import simplex_sizes
from swwl.mesh.shape.skin import extent, skin

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]

# Motions by less than this share of the size of the mesh, per unit, move nothing: a single node does not turn.
_STILL = 1e-12
LENGTH, DEGREE, PERCENT = "length", "degree", "percent"


class Motion(NamedTuple):
    """How all nodes of a mesh move when a group, or one of its bodies, does.

    Attributes
    ----------
    group : str
    body : int
        From 1, in the order of the first coordinate of their centers; 0 is the whole group, where it has several.
    kind : str
        "x", "y", "z"; "rotation" in the plane, counterclockwise, or "rotation x", … in space; "size".
    per : {"length", "degree", "percent"}
        What the velocity is per: a unit of the coordinates, a degree, a hundredth of the size.
    velocity : ndarray of shape (n, d)
    """

    group: str
    body: int
    kind: str
    per: str
    velocity: _Floats

    @property
    def name(self) -> str:
        """What to call it, such as "body #2: rotation"."""
        return f"{self.group}{f' #{self.body}' if self.body else ''}: {self.kind}"


class Body(NamedTuple):
    """What moves as one: a body of a group by its number from 1, or with number 0 the whole group."""

    number: int
    nodes: _Nodes  # (k,)
    center: _Floats  # (d,), of its skin


def group_motions(mesh: Mesh, pattern: str) -> list[Motion]:
    """Return the motions of groups and of each of their bodies: shifts, rotations about the center, and growth.

    All other nodes of the skin stay, and so do those of other groups of faces and of other bodies of the group. Bodies
    in a mesh one cell thick move in its plane.

    Parameters
    ----------
    mesh : Mesh
        One with a skin, see :func:`swwl.mesh.shape.skin.skin`.
    pattern : str
        Name or shell pattern of groups, see :meth:`swwl.Mesh.group`. The bodies of a group of cells are its connected
        parts, which move as a whole; those of faces or nodes are connected parts of the skin.

    Returns
    -------
    list of Motion

    Examples
    --------
    >>> square = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]]
    >>> mesh = Mesh(square, [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], groups={"right": [[1, 2]]})
    >>> [motion.name for motion in group_motions(mesh, "right")]
    ['right #1: x', 'right #1: y', 'right #1: rotation', 'right #1: size']
    >>> group_motions(mesh, "right")[0].velocity[:, 0].round(3).tolist()  # the middle follows half way
    [0.0, 1.0, 1.0, 0.0, 0.5]
    """
    layer = thin_layer(mesh)
    plane = mesh if layer is None else flattened(mesh)
    found = []
    for name in chosen_groups(mesh.groups, pattern):
        bodies = group_bodies(plane, name)
        given = [(body, *one) for body in bodies for one in _velocities(plane, body, _axes(layer, plane.dimension))]
        followed = _followed(plane, bodies, [velocity for *_, velocity in given])
        for (body, kind, per, _), velocity in zip(given, followed, strict=True):
            if np.abs(velocity).max() > _STILL * extent(plane.points):
                found.append(Motion(name, body.number, kind, per, _lifted(layer, velocity)))
    return found


def moved_group(
    mesh: Mesh,
    group: str,
    body: int = 0,
    *,
    shift: ArrayLike | None = None,
    degrees: ArrayLike | None = None,
    percent: float = 0.0,
) -> Mesh:
    """Return a mesh with a group, or one of its bodies, moved; the mesh around it follows as in :func:`group_motions`.

    Parameters
    ----------
    mesh : Mesh
    group : str
        Name of one group.
    body : int
        Which body, from 1 in the order of the first coordinate of their centers; 0 moves the whole group as one.
    shift : array-like of shape (d,), optional
        In units of the coordinates.
    degrees : float, or array-like of shape (3,), optional
        Rotation about the center: counterclockwise in the plane, about the vector of that length in space.
    percent : float
        By how much it grows from its center.

    Returns
    -------
    Mesh
        With the same cells, fields and groups.

    Raises
    ------
    InputError
        Where there is no such group or body, and for motions so large that cells turn inside out.

    Examples
    --------
    >>> square = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]]
    >>> mesh = Mesh(square, [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], groups={"right": [[1, 2]]})
    >>> moved_group(mesh, "right", percent=-50).points[1:3].tolist()
    [[2.0, 0.5], [2.0, 1.5]]
    """
    layer = thin_layer(mesh)
    plane = mesh if layer is None else flattened(mesh)
    names = list(chosen_groups(plane.groups, group))
    if len(names) > 1:
        raise InputError(f"{group!r} means several groups, one is expected: {', '.join(names)}.")
    bodies = group_bodies(plane, names[0])
    numbers = [own.number for own in bodies]
    if body not in numbers and (body != 0 or len(bodies) > 1):
        most = max(numbers)
        raise InputError(f"body is {body!r}, but group {names[0]!r} has bodies 1 to {most}; 0 is the whole group.")
    chosen = bodies[numbers.index(body)] if body in numbers else bodies[0]
    d = plane.dimension
    by = _vector(np.zeros(d) if shift is None else shift, d, "shift")
    factor = 1 + float(_vector(percent, 1, "percent")[0]) / 100
    if factor <= 0:
        raise InputError(f"percent is {percent:g}, but nothing can shrink by all of its size.")
    degrees = np.zeros(1 if d == 2 else 3) if degrees is None else degrees
    turn = _vector(degrees, 1, "degrees") * [0, 0, 1] if d == 2 else _vector(degrees, 3, "degrees")
    matrix = scipy.spatial.transform.Rotation.from_rotvec(turn, degrees=True).as_matrix()[:d, :d]
    away = plane.points[chosen.nodes] - chosen.center
    displacement = np.zeros_like(plane.points)
    displacement[chosen.nodes] = factor * away @ matrix.T - away + by
    (followed,) = _followed(plane, bodies, [displacement])
    if _folds(plane, plane.points + followed):
        raise InputError(f"Group {names[0]!r} moves so far that cells turn inside out: try a smaller motion.")
    points = mesh.points + _lifted(layer, followed)
    return trusted_mesh(points, mesh.cells, mesh.fields, mesh.name, mesh.cell_fields, mesh.groups)


class FollowedBody(NamedTuple):
    """A body of a group, and how all nodes follow it when it moves.

    Attributes
    ----------
    name : str
        Such as "body #2".
    axes : list of str
        What the coordinates in which it moves are called.
    points : ndarray of shape (k, d)
        Of the body.
    fields : ndarray of shape (n, 1 + d)
        With a shift s (d,) and a matrix M (d, d), by which what is away from its center is multiplied, all nodes are
        displaced by ``fields @ [s, (M - 1).T]``.
    """

    name: str
    axes: list[str]
    points: _Floats
    fields: _Floats


def followed_bodies(mesh: Mesh, pattern: str) -> tuple[ThinLayer | None, list[FollowedBody]]:
    """Return the bodies of groups with all that follows them, and the layer in whose plane they move, if there is one.

    Parameters
    ----------
    mesh, pattern
        As for :func:`group_motions`.

    Examples
    --------
    >>> square = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]]
    >>> mesh = Mesh(square, [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], groups={"right": [[1, 2]]})
    >>> followed_bodies(mesh, "right")[1][0].fields.round(3).tolist()  # ones and what is away from (2, 1)
    [[0.0, 0.0, 0.0], [1.0, 0.0, -1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]
    """
    layer = thin_layer(mesh)
    plane = mesh if layer is None else flattened(mesh)
    found = []
    for name in chosen_groups(mesh.groups, pattern):
        bodies = group_bodies(plane, name)
        moving = [body for body in bodies if body.number]
        given = []
        for body in moving:
            field = np.zeros((plane.n_nodes, 1 + plane.dimension))
            field[body.nodes] = np.column_stack([np.ones(len(body.nodes)), plane.points[body.nodes] - body.center])
            given.append(field)
        axes = _axes(layer, plane.dimension)
        for body, fields in zip(moving, _followed(plane, bodies, given), strict=True):
            found.append(FollowedBody(f"{name} #{body.number}", axes, plane.points[body.nodes], fields))
    return layer, found


def group_bodies(mesh: Mesh, name: str) -> list[Body]:
    """Return the bodies of a group and, where there are several, the whole group first.

    Parameters
    ----------
    mesh : Mesh
    name : str
        Of one group.

    Examples
    --------
    >>> strip = [[2, 0], [1, 0], [0, 0], [2, 1], [1, 1], [0, 1]]
    >>> mesh = Mesh(strip, {"quad": [[0, 1, 4, 3], [1, 2, 5, 4]]}, groups={"ends": [[0, 3], [2, 5]]})
    >>> [(body.number, body.nodes.tolist(), body.center.tolist()) for body in group_bodies(mesh, "ends")]
    [(0, [0, 2, 3, 5], [1.0, 0.5]), (1, [2, 5], [0.0, 0.5]), (2, [0, 3], [2.0, 0.5])]
    """
    group = mesh.groups[name]
    if not len(group.nodes):
        raise InputError(f"Group {name!r} is empty.")
    label, pieces = _region_parts(mesh, name) if fills(mesh, group) else _skin_parts(mesh, name, group.nodes)
    centers, masses = zip(*(_center(mesh.points, own) for own in pieces), strict=True)
    order = np.lexsort(np.round(np.array(centers).T[::-1], 12))
    bodies = [Body(k + 1, np.flatnonzero(label == own).astype(np.int32), centers[own]) for k, own in enumerate(order)]
    if len(bodies) == 1:
        return bodies
    middle = np.average(centers, axis=0, weights=masses)
    return [Body(0, np.flatnonzero(label >= 0).astype(np.int32), middle), *bodies]


def _region_parts(mesh: Mesh, name: str) -> tuple[NDArray[np.intp], list[_Nodes]]:
    """Return which connected part of a group of cells every node belongs to, or -1, and the skins of the parts."""
    part, nodes = mesh.part(name), mesh.part_group(name).nodes
    count, own = connected_components(cells_adjacency(part.cells, part.n_nodes), directed=False)
    label = np.full(mesh.n_nodes, -1, np.intp)
    label[nodes] = own
    pieces = nodes[skin(part).pieces]
    return label, [pieces[label[pieces[:, 0]] == k] for k in range(count)]


def _skin_parts(mesh: Mesh, name: str, nodes: _Nodes) -> tuple[NDArray[np.intp], list[_Nodes]]:
    """Return the same of a group of faces or nodes; those on no piece of the skin belong to the nearest one."""
    pieces = find_bodies(mesh, name).pieces
    label = np.full(mesh.n_nodes, -1, np.intp)
    for k, own in enumerate(pieces):
        label[own] = k
    left, known = nodes[label[nodes] < 0], np.flatnonzero(label >= 0)
    if len(left):
        label[left] = label[known[scipy.spatial.KDTree(mesh.points[known]).query(mesh.points[left])[1]]]
    return label, pieces


def _center(points: _Floats, pieces: _Nodes) -> tuple[_Floats, float]:
    """Return the center of pieces, and their size; of single nodes, their mean and number."""
    sizes = simplex_sizes(points, pieces) if pieces.shape[1] > 1 else np.ones(len(pieces))
    return np.average(points[pieces].mean(axis=1), axis=0, weights=sizes), float(sizes.sum())


def _axes(layer: ThinLayer | None, d: int) -> list[str]:
    """Name the coordinates; those of a layer by where they point in space."""
    if layer is None:
        return list("xyz"[:d])
    if layer.kind == "wedge":
        return ["axis", "radius"]
    return ["xyz"[int(np.abs(direction).argmax())] for direction in layer.directions[0]]


def _velocities(mesh: Mesh, body: Body, axes: Sequence[str]) -> list[tuple[str, str, _Floats]]:
    """Return the motions of the nodes of a body, what they are called, and what they are per; others stay."""
    d = mesh.dimension
    away = mesh.points[body.nodes] - body.center
    found = [(axis, LENGTH, np.tile(one, (len(away), 1))) for axis, one in zip(axes, np.eye(d), strict=True)]
    radians = np.pi / 180
    if d == 2:
        found.append(("rotation", DEGREE, radians * np.column_stack([-away[:, 1], away[:, 0]])))
    else:
        turns = zip(axes, np.eye(3), strict=True)
        found += [(f"rotation {axis}", DEGREE, radians * np.cross(one, away)) for axis, one in turns]
    found.append(("size", PERCENT, away / 100))
    whole = []
    for kind, per, own in found:
        velocity = np.zeros_like(mesh.points)
        velocity[body.nodes] = own
        whole.append((kind, per, velocity))
    return whole


def _followed(mesh: Mesh, bodies: Sequence[Body], motions: Sequence[_Floats]) -> list[_Floats]:
    """Let the nodes between bodies and what stays follow motions (n, d), by springs along the edges."""
    n, d = mesh.points.shape
    fixed = np.zeros(n, bool)
    fixed[skin(mesh).pieces] = True
    for group in mesh.groups.values():
        if group.kind == "faces":
            fixed[group.nodes] = True
    for body in bodies:
        fixed[body.nodes] = True
    place = np.arange(n)
    if max(map(cell_dimension, top_cells(mesh.cells))) < d:  # seams do not open
        place = first_at_place(mesh.points).astype(np.intp)
    pulls = springs(mesh)
    label = connected_components(pulls, directed=False)[1]
    held = np.zeros(n, bool)
    held[label[fixed]] = True
    free = np.flatnonzero(~fixed & held[label])
    values = np.concatenate(motions, axis=1)
    if len(free):
        stiffness = sparse.diags_array(np.asarray(pulls.sum(axis=1)).ravel()) - pulls
        values[free] = splu(stiffness.tocsr()[free][:, free].tocsc()).solve(pulls[free] @ values)
    return np.split(values[place], len(motions), axis=1)


def _lifted(layer: ThinLayer | None, vectors: _Floats) -> _Floats:
    return vectors if layer is None else layer.lifted(vectors)


def _folds(mesh: Mesh, points: _Floats) -> bool:
    """Whether a simplex of cells that fill space has another sign, or no size, once its nodes have moved."""
    simplices = cut_into_simplices(mesh.cells)
    if simplices.shape[1] != mesh.dimension + 1:
        return False
    before, after = (np.linalg.det(at[simplices[:, 1:]] - at[simplices[:, :1]]) for at in (mesh.points, points))
    return bool((before * after <= 0)[before != 0].any())


def _vector(given: ArrayLike, d: int, what: str) -> _Floats:
    """Check d numbers; a single one need not be in a list."""
    try:
        found = np.asarray(given, dtype=np.float64)
        found = found.reshape(1) if d == found.size == 1 else found
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (d,) or not np.isfinite(found).all():
        expected = "a finite number is" if d == 1 else f"{d} finite numbers are"
        raise InputError(f"{what} is {given!r}, but {expected} expected.")
    return found

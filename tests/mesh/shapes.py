"""Meshes with a known skin, for the tests of skins, samples and embeddings."""

import itertools

import numpy as np

from swwl import Mesh

# Corners of the unit cube as a hexahedron, and how other cells fill it.
CUBE = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))])
FILLINGS = {
    "hexahedron": [[0, 1, 2, 3, 4, 5, 6, 7]],
    "wedge": [[0, 1, 2, 4, 5, 6], [0, 2, 3, 4, 6, 7]],
    "tetra": [[0, a, b, 6] for a, b in ((1, 2), (2, 3), (3, 7), (7, 4), (4, 5), (5, 1))],
    "pyramid": [
        [0, 3, 2, 1, 8],
        [4, 5, 6, 7, 8],
        [0, 1, 5, 4, 8],
        [1, 2, 6, 5, 8],
        [2, 3, 7, 6, 8],
        [3, 0, 4, 7, 8],
    ],  # fmt: skip
}
# The same cells numbered the other way around.
MIRRORED = {
    "hexahedron": [4, 5, 6, 7, 0, 1, 2, 3],
    "wedge": [3, 4, 5, 0, 1, 2],
    "tetra": [0, 2, 1, 3],
    "pyramid": [0, 3, 2, 1, 4],
    "triangle": [0, 2, 1],
    "quad": [0, 3, 2, 1],
}
# Cell types of the same corners with more nodes.
RELATIVES = {
    "triangle": ["triangle6", "triangle7"],
    "quad": ["quad6", "quad8", "quad9"],
    "tetra": ["tetra10"],
    "pyramid": ["pyramid13", "pyramid14"],
    "wedge": ["wedge12", "wedge15", "wedge18"],
    "hexahedron": ["hexahedron20", "hexahedron24", "hexahedron27"],
}


def joined(corners, kind):
    """A mesh of cells given by the coordinates of their corners, (m, k, d): corners at one place are one node."""
    corners = np.asarray(corners, float)
    points, cells = np.unique(corners.reshape(-1, corners.shape[2]), axis=0, return_inverse=True)
    return Mesh(points, {kind: cells.reshape(corners.shape[:2])})


def solid(places, kind, rng):
    """Unit cubes at some places, filled with cells that are numbered one way or the other."""
    with_center = np.vstack([CUBE, [[0.5, 0.5, 0.5]]])
    cells = [with_center[cell] + place for place in places for cell in FILLINGS[kind]]
    return joined([cell[MIRRORED[kind]] if rng.random() < 0.5 else cell for cell in cells], kind)


def pixels(places, kind, rng):
    """Unit squares at some places, as quadrilaterals or cut into triangles."""
    square = CUBE[:4, :2]
    parts = [[0, 1, 2, 3]] if kind in ("quad", "polygon") else [[0, 1, 2], [0, 2, 3]]
    cells = [square[part] + place for place in places for part in parts]
    order = MIRRORED["quad" if kind == "polygon" else kind]
    return joined([cell[order] if rng.random() < 0.5 else cell for cell in cells], kind)


def with_more_nodes(mesh, name):
    """The same cells with nodes on their sides or inside, which all cells share, since they must not matter."""
    ((_, cells),) = mesh.cells.items()
    extra = int(name.lstrip("abcdefghijklmnopqrstuvwxyz")) - cells.shape[1]
    inner = np.tile(np.arange(extra) + mesh.n_nodes, (len(cells), 1))
    points = np.vstack([mesh.points, np.zeros((extra, mesh.dimension))])
    return Mesh(points, {name: np.hstack([cells, inner])})


def sphere(n_rounds=3, radius=1.0, center=(0.0, 0.0, 0.0)):
    """Triangles on a sphere, from an octahedron whose edges are halved again and again; all look outward."""
    corners = [np.array([[x, 0, 0], [0, y, 0], [0, 0, z]], float) for x, y, z in itertools.product((1, -1), repeat=3)]
    triangles = np.array([c if np.linalg.det(c) > 0 else c[::-1] for c in corners])
    for _ in range(n_rounds):
        a, b, c = triangles.transpose(1, 0, 2)
        ab, bc, ca = ((u + v) / np.linalg.norm(u + v, axis=1)[:, None] for u, v in ((a, b), (b, c), (c, a)))
        triangles = np.concatenate([np.stack(t, 1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    return joined((triangles.round(12) * radius + np.array(center)).round(12), "triangle")


def ring(n=60, radius=1.0, center=(0.0, 0.0)):
    """A closed polygon of lines, counter-clockwise."""
    angle = 2 * np.pi * np.arange(n) / n
    points = radius * np.column_stack([np.cos(angle), np.sin(angle)]) + np.array(center)
    return Mesh(points, {"line": np.column_stack([np.arange(n), np.roll(np.arange(n), -1)])})


def together(*meshes):
    """Several meshes of one cell type as one."""
    starts = np.cumsum([0, *(mesh.n_nodes for mesh in meshes)])
    ((kind, _),) = meshes[0].cells.items()
    cells = [mesh.cells[kind] + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.vstack([mesh.points for mesh in meshes]), {kind: np.vstack(cells)})


def flipped(mesh, rng, share=0.5):
    """The same mesh with some cells numbered the other way around."""
    ((kind, cells),) = mesh.cells.items()
    cells = cells.copy()
    some = rng.random(len(cells)) < share
    cells[some] = cells[some, ::-1]
    return Mesh(mesh.points, {kind: cells})


def shuffled(mesh, rng):
    """The same mesh with other numbers for its nodes and cells, and some nodes that no cell uses."""
    order = rng.permutation(mesh.n_nodes)
    number = np.argsort(order).astype(np.int32)
    cells = {kind: number[block][rng.permutation(len(block))] for kind, block in mesh.cells.items()}
    return Mesh(mesh.points[order], cells)


def moebius(n=40, width=0.4):
    """A strip of triangles whose ends are joined with a half turn."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    across = np.column_stack([np.cos(angle / 2) * np.cos(angle), np.cos(angle / 2) * np.sin(angle), np.sin(angle / 2)])
    middle = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    points = np.vstack([middle - width * across, middle + width * across])
    left, right = np.arange(n), np.arange(n) + n
    next_left, next_right = np.roll(left, -1), np.roll(right, -1)
    next_left[-1], next_right[-1] = right[0], left[0]
    triangles = np.vstack([np.column_stack([left, next_left, right]), np.column_stack([next_left, next_right, right])])
    return Mesh(points, {"triangle": triangles})


def sheet(n=8, height=0.2):
    """An open, bent surface of triangles that look up."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    points = np.column_stack([x.ravel(), y.ravel(), height * (x**2 + y).ravel()])
    first = np.array([i + n * j for j in range(n - 1) for i in range(n - 1)])
    lower = np.column_stack([first, first + 1, first + n + 1])
    return Mesh(points, {"triangle": np.vstack([lower, np.column_stack([first, first + n + 1, first + n])])})


_SOLID = {"triangle": "wedge", "quad": "hexahedron"}


def extruded(plane, thickness=0.1, turn=None):
    """A plane mesh as one layer of solids, its fields and groups on both sides; turned by a matrix (3, 3)."""
    n = plane.n_nodes
    points = np.vstack([np.column_stack([plane.points, np.full(n, z)]) for z in (0.0, thickness)])
    cells = {_SOLID[kind]: np.hstack([block, block + n]) for kind, block in plane.cells.items()}
    fields = {name: np.concatenate([field, field]) for name, field in plane.fields.items()}
    groups = {}
    for name, group in plane.groups.items():
        if group.kind == "faces":
            lines = group.faces["line"]
            groups[name] = {"quad": np.hstack([lines, lines[:, ::-1] + n])}
        elif group.kind == "cells":
            groups[name] = {_SOLID[kind]: rows for kind, rows in group.cells.items()}
        else:
            groups[name] = np.concatenate([group.nodes, group.nodes + n])
    for name, shift in (("front", 0), ("back", n)):
        groups[name] = {kind: block + shift for kind, block in plane.cells.items()}
    points = points if turn is None else points @ np.asarray(turn).T
    return Mesh(points, cells, fields, plane.name, cell_fields=plane.cell_fields, groups=groups)


def revolved(plane, angle=5.0):
    """A plane mesh (along the axis, away from it) as one layer about the x-axis; nodes in the axis are shared."""
    half, n = np.radians(angle) / 2, plane.n_nodes
    x, r = plane.points.T
    sides = [np.column_stack([x, r * np.cos(half), sign * r * np.sin(half)]) for sign in (-1, 1)]
    inner = r > 0
    across = np.where(inner, n + np.cumsum(inner) - 1, np.arange(n))
    cells = {kind: [] for kind in ("hexahedron", "wedge", "pyramid", "tetra")}
    for block in plane.cells.values():
        for cell in block:
            on = [k for k in range(len(cell)) if not inner[cell[k]]]
            if not on or len(cell) == 4 and len(on) == 1:
                cells[_SOLID["quad" if len(cell) == 4 else "triangle"]].append([*cell, *across[cell]])
                continue
            start = on[0] if len(on) == 1 or on[1] == on[0] + 1 else on[1]
            cell = np.roll(cell, -start)
            if len(on) == 1:
                a, b, c = cell
                cells["pyramid"].append([b, c, across[c], across[b], a])
            elif len(cell) == 3:
                a, b, c = cell
                cells["tetra"].append([a, b, c, across[c]])
            else:
                a, b, c, d = cell
                cells["wedge"].append([a, d, across[d], b, c, across[c]])
    return Mesh(np.vstack([sides[0], sides[1][inner]]), {kind: block for kind, block in cells.items() if block})

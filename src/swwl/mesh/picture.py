"""A small picture of a mesh for notebooks, made of NumPy alone: plane cells with their edges, skins of solids in light.

Points on triangles and edges are put on a grid of pixels, the nearest last. ``plots/`` draws larger ones.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cell_dimension, top_cells, triangle_normals

if TYPE_CHECKING:
    from swwl.mesh.mesh import Mesh

_Floats = NDArray[np.float64]
_ELEVATION, _AZIMUTH = 15, -70  # degrees: where surfaces in space are seen from
_FACE, _LINE = np.array([86.0, 180.0, 233.0]), np.array([0.0, 80.0, 130.0])
_FINER = 2  # pixels are means of so many by so many
# Of more cells only nodes are drawn, and of those at most so many: a notebook does not wait.
_MOST_CELLS, _MOST_NODES = 60_000, 200_000
_MOST_EDGES = 6_000


def viewing_directions() -> _Floats:
    """Return (3, 3): rightward, upward, and toward the viewer."""
    elevation, azimuth = np.radians([_ELEVATION, _AZIMUTH])
    toward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return np.stack([right, np.cross(toward, right), toward])


def mesh_picture(mesh: Mesh, width: int = 220, height: int = 160) -> bytes:
    """Return a picture of a mesh as a PNG file.

    Parameters
    ----------
    mesh : Mesh
    width, height : int
        In pixels.

    Examples
    --------
    >>> from swwl import Mesh
    >>> mesh_picture(Mesh([[0.0, 0], [1, 0], [0, 1]], [[0, 1, 2]]))[1:4]
    b'PNG'
    """
    points = np.zeros((mesh.n_nodes, 3))
    points[:, : min(mesh.dimension, 3)] = mesh.points[:, :3]
    space = mesh.dimension >= 3
    seen = points @ (viewing_directions().T if space else np.eye(3))
    size = np.array([width, height]) * _FINER
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    scale = float((0.94 * size / np.maximum(high - low, 1e-12 * (np.abs(high).max() or 1.0))).min())
    seen *= scale
    seen[:, :2] += size / 2 - scale * (low + high) / 2
    places, colors = [], []
    triangles = _triangles(mesh)
    if len(triangles):
        if space and cell_dimension(next(iter(top_cells(mesh.cells)))) == 3:  # what looks away is not seen
            triangles = triangles[triangle_normals(seen, triangles)[:, 2] > 0]
        light = np.ones(len(triangles)) if not space else _light(seen, triangles)
        spots, owners = _inside(seen, triangles)
        places.append(spots)
        colors.append(_FACE * (0.45 + 0.55 * light)[owners, None])
    edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    if not len(triangles) and "line" in mesh.cells:
        edges = mesh.cells["line"]
    if (not space or not len(triangles)) and 0 < len(edges) <= 3 * _MOST_EDGES:
        spots, _ = _inside(seen, np.unique(edges, axis=0))
        places.append(spots + [0, 0, 1e-6])
        colors.append(np.tile(_LINE, (len(spots), 1)))
    if not places:
        step = -(-len(seen) // _MOST_NODES)
        places, colors = [seen[::step]], [np.tile(_LINE, (len(seen[::step]), 1))]
    return _png(_painted(np.concatenate(places), np.concatenate(colors), size))


def _triangles(mesh: Mesh) -> NDArray[np.int32]:
    top = top_cells(mesh.cells)
    order = max(map(cell_dimension, top), default=0)
    if order < 2 or mesh.n_cells > _MOST_CELLS:
        return np.empty((0, 3), np.int32)
    return boundary(mesh.points, top) if order == 3 and mesh.dimension == 3 else mesh.triangles()


def _light(seen: _Floats, triangles: NDArray[np.int32]) -> _Floats:
    """Return how much light falls on triangles, from 0 to 1, over the viewer's right shoulder."""
    normals = triangle_normals(seen, triangles)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    normals *= np.where(normals[:, 2] < 0, -1.0, 1.0)[:, None]
    return np.clip(normals @ np.array([0.53, 0.38, 0.76]), 0, 1)


def _inside(seen: _Floats, pieces: NDArray[np.int32]) -> tuple[_Floats, NDArray[np.intp]]:
    """Return points on triangles or edges, about one per pixel, (p, 3), and whose they are, (p,)."""
    corners = seen[pieces]
    longest = np.linalg.norm(corners[:, :, :2] - np.roll(corners[:, :, :2], 1, axis=1), axis=2).max(axis=1)
    steps = np.ceil(1.3 ** np.ceil(np.log(np.clip(longest, 1, 1024)) / np.log(1.3))).astype(int)
    found, owners = [], []
    for n in np.unique(steps):
        own = np.flatnonzero(steps == n)
        a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1)) if pieces.shape[1] == 3 else (np.arange(n + 1), 0)
        keep = np.asarray(a + b <= n)
        weights = np.stack([w[keep] for w in np.broadcast_arrays(n - a - b, a, b)][: pieces.shape[1]]) / n
        found.append(np.einsum("cs,ncx->nsx", weights, corners[own]).reshape(-1, 3))
        owners.append(np.repeat(own, weights.shape[1]))
    return np.concatenate(found), np.concatenate(owners)


def _painted(places: _Floats, colors: _Floats, size: NDArray[np.int_]) -> NDArray[np.uint8]:
    """Put colored points on a grid, the nearest last; return an image (height, width, 4)."""
    columns, rows = np.clip(places[:, :2].astype(int), 0, size - 1).T
    order = np.argsort(places[:, 2], kind="stable")
    image = np.zeros((size[1], size[0], 4))
    image[size[1] - 1 - rows[order], columns[order]] = np.column_stack([colors, np.full(len(colors), 255.0)])[order]
    blocks = image.reshape(size[1] // _FINER, _FINER, size[0] // _FINER, _FINER, 4)
    share = blocks[..., 3:].sum(axis=(1, 3)) / 255
    mean = blocks[..., :3].sum(axis=(1, 3)) / np.maximum(share, 1)
    return np.concatenate([mean, 255 * share / _FINER**2], axis=2).astype(np.uint8)


def _png(image: NDArray[np.uint8]) -> bytes:
    """Return an image (height, width, 4) as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = image.shape[:2]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body

"""STL, binary or text: triangles, whose corners at exactly the same place become one node.

Of several solids in one file all are read. Normals follow from the corners; colors and names are left out.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import release
from swwl.mesh.io.shared import refuse_empty
from swwl.mesh.io.text.lines import floats, text_of
from swwl.mesh.mesh import Mesh

_HEAD = 84  # a comment of 80 bytes, and the number of triangles
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("color", "<u2")])


def read_stl(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read triangles and join their corners.

    Nodes stand in the order in which corners name them, so that files of one surface that was deformed have the same
    cells.
    """
    refuse_empty(path)
    corners = _text(path) if _is_text(path) else _binary(path)
    if not len(corners):
        raise InputError("it has no triangles")
    points, nodes = _joined(corners)
    return Mesh(release(points), {"triangle": release(nodes.reshape(-1, 3))})


def _is_text(path: Path) -> bool:
    """Whether a file is text: binary files may begin with "solid" too, but then their length is the declared one."""
    with open(path, "rb") as file:
        head = file.read(1000)
    whole = len(head) >= _HEAD and path.stat().st_size == _HEAD + _TRIANGLE.itemsize * _declared(head)
    return not whole and head.lstrip()[:5].lower() == b"solid" and b"\0" not in head


def _declared(head: bytes) -> int:
    return int.from_bytes(head[_HEAD - 4 : _HEAD], "little")


def _binary(path: Path) -> NDArray[np.float32]:
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if len(head) < _HEAD:
        raise InputError(f"it has {len(head)} bytes and does not begin with 'solid', so it is not an STL file")
    declared, found = _declared(head), (path.stat().st_size - _HEAD) // _TRIANGLE.itemsize
    if declared > found:
        raise InputError(
            f"as binary STL it declares {declared} triangles, but has room for {found} "
            "(is it cut off, or of another format?)"
        )
    triangles = np.fromfile(path, dtype=_TRIANGLE, count=declared, offset=_HEAD)
    return triangles["corners"].reshape(-1, 3)


def _text(path: Path) -> NDArray[np.float64]:
    corners: list[list[float]] = []
    facets = solids = 0
    for line in text_of(path).lower().splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "vertex":
            corner = floats(words[1:], "a vertex")
            if len(corner) != 3:
                raise InputError(f"a vertex has {len(corner)} coordinates, but 3 are expected")
            corners.append(corner)
        elif words[0] == "endfacet":
            facets += 1
            if len(corners) != 3 * facets:
                raise InputError(f"facet {facets} has {len(corners) - 3 * facets + 3} corners, but 3 are expected")
        elif words[0] == "solid":
            solids += 1
        elif words[0] == "endsolid":
            solids -= 1
    if solids or len(corners) != 3 * facets:
        raise InputError(f"it ends after {facets} triangles without 'endsolid' (is it cut off?)")
    return np.array(corners).reshape(-1, 3)


def _joined(corners: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Return the distinct rows in the order in which they appear, and which of them each row is.

    Examples
    --------
    >>> points, nodes = _joined(np.array([[1.0, 0], [0, 2], [1, -0.0]]))
    >>> points.tolist(), nodes.tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [0, 1, 0])
    """
    corners = corners + corners.dtype.type(0)  # no negative zeros
    order = np.lexsort(corners.T)  # stable: of equal rows the first comes first
    ranked = corners[order]
    new = np.ones(len(ranked), dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    firsts = np.sort(order[new])
    nodes = np.empty(len(ranked), dtype=np.int64)
    nodes[order] = np.searchsorted(firsts, order[new])[np.cumsum(new) - 1]
    return corners[firsts], nodes

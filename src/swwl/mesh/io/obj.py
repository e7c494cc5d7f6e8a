"""Wavefront OBJ: vertices, faces and lines. Normals, texture coordinates and materials say nothing of the shape."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from swwl.errors import InputError
from swwl.mesh.arrays import release
from swwl.mesh.io.limits import refuse_empty
from swwl.mesh.io.text import blocks_of, floats, text_of
from swwl.mesh.mesh import Mesh

_FACES = {3: "triangle", 4: "quad"}


def read_obj(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read vertices, faces of any number of corners, and lines.

    A corner is ``vertex``, ``vertex/texture`` or ``vertex/texture/normal``, of which the vertex counts; negative ones
    count back from the last vertex so far.
    """
    refuse_empty(path)
    points: list[list[float]] = []
    cells: list[tuple[str, list[int]]] = []
    for line in text_of(path).replace("\\\n", " ").splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0] == "v":
            point = floats(words[1:4], "a vertex")
            if len(point) != 3:
                raise InputError(f"a vertex has {len(point)} coordinates, but 3 are wanted")
            points.append(point)
        elif words[0] in ("f", "l"):
            corners = [_vertex(word, len(points)) for word in words[1:]]
            if words[0] == "l":
                cells += [("line", list(pair)) for pair in zip(corners[:-1], corners[1:], strict=True)]
            elif len(corners) < 3:
                raise InputError(f"a face has {len(corners)} corners, but at least 3 are wanted")
            else:
                cells.append((_FACES.get(len(corners), "polygon"), corners))
    if not points:
        raise InputError("it has no vertices")
    ids = np.arange(1, len(points) + 1)
    return Mesh(release(np.array(points)), blocks_of(cells, ids) or {})


def _vertex(word: str, known: int) -> int:
    """Return the number of a corner's vertex, from 1 up."""
    first = word.partition("/")[0]
    try:
        number = int(first)
    except ValueError:
        raise InputError(f"a face has the corner {word[:40]!r}, which is not a number") from None
    return number + known + 1 if number < 0 else number

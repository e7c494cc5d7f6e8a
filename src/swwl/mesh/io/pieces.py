"""Meshes that files give in pieces: parts of a parallel computation, zones of a multi-block grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.mesh import Mesh

Fields = dict[str, AnyArray]


@dataclass
class Piece:
    """A part of a mesh: points (n, d), cells by types, numbers of nodes and of cells."""

    points: AnyArray
    cells: list[tuple[str, AnyArray]]
    fields: Fields
    cell_fields: Fields


def join(pieces: Sequence[Piece]) -> Mesh:
    """Make one mesh of pieces; their points are not merged."""
    if not pieces:
        raise InputError("There are no nodes; at least one is needed.")
    if len(pieces) == 1:
        (one,) = pieces
        return Mesh(one.points, one.cells or {}, one.fields, cell_fields=one.cell_fields)
    starts = np.cumsum([0, *(len(piece.points) for piece in pieces)])
    cells = [
        (kind, release(block.astype(np.int64) + start))
        for piece, start in zip(pieces, starts, strict=False)
        for kind, block in piece.cells
    ]
    points = release(np.concatenate([piece.points for piece in pieces]))
    fields = _joined([piece.fields for piece in pieces], "point data")
    with_cells = [piece for piece in pieces if piece.cells]
    return Mesh(
        points, cells or {}, fields, cell_fields=_joined([piece.cell_fields for piece in with_cells], "cell data")
    )


def _joined(parts: Sequence[Fields], what: str) -> Fields:
    names = dict.fromkeys(name for part in parts for name in part)
    for number, part in enumerate(parts, 1):
        missing = next((name for name in names if name not in part), None)
        if missing is not None:
            raise InputError(f"its piece {number} has no {what} {missing!r}, which another piece has")
    joined = {}
    for name in names:
        shapes = {part[name].shape[1:] for part in parts}
        if len(shapes) > 1:
            raise InputError(f"its {what} {name!r} have different numbers of components in different pieces")
        joined[name] = release(np.concatenate([part[name] for part in parts]))
    return joined

"""What readers share: how much memory a file may ask for, what they say of files they cannot read, meshes in pieces."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.mesh import Mesh

# What a file unpacks to is rarely more than ten times its size; a crafted one unpacks to a thousand times as much.
_MOST_RATIO = 20
# Small files may hold little but zeros.
_ALWAYS = 64 * 2**20


class UnsupportedError(InputError):
    """A sound file of a kind that this reader does not read; another one may."""


class Budget:
    """Bytes that the arrays of a file may take in memory, counted as they are asked for.

    Parameters
    ----------
    size : int
        Of the file, in bytes.

    Examples
    --------
    >>> Budget(1000).take(10**9)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: its arrays declare 1.0 GB, more than 20 times the size of the file (0.0 MB)
    """

    def __init__(self, size: int):
        self._size = size
        self._asked = 0
        self._most = _MOST_RATIO * size + _ALWAYS

    def take(self, n_bytes: int) -> None:
        """Ask for more, or say that it is too much."""
        self._asked += n_bytes
        if self._asked > self._most:
            declared = f"{self._asked / 1e9:.1f} GB" if self._asked < 1e18 else "an absurd number of bytes"
            raise InputError(
                f"its arrays declare {declared}, more than {_MOST_RATIO} times the size of the file "
                f"({self._size / 1e6:.1f} MB)"
            )


def refuse_empty(path: Path) -> None:
    """Say so if there is nothing in a file; some readers wait for its first line forever."""
    if not path.stat().st_size:
        raise InputError("the file is empty.")


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


# Named parts of a mesh: nodes (k,); faces by types, (m, corners) nodes each; or cells by types, (m,) places among them.
Groups = dict[str, AnyArray | dict[str, AnyArray]]


class Parts(NamedTuple):
    """All that a reader finds: points (n, d), cells by types, numbers of nodes and of cells, groups by names."""

    points: AnyArray
    cells: Mapping[str, AnyArray]
    fields: Fields
    cell_fields: Fields
    groups: Groups


def mesh_with_groups(parts: Parts) -> Mesh:
    """Make a mesh of what a reader found."""
    options: dict[str, Any] = {"cell_fields": parts.cell_fields}
    if "groups" in inspect.signature(Mesh).parameters:
        options["groups"] = parts.groups
    return Mesh(parts.points, dict(parts.cells), parts.fields, **options)


def cells_by_type(blocks: Sequence[tuple[str, AnyArray]]) -> tuple[dict[str, AnyArray], NDArray[np.intp]]:
    """Join blocks of the same type; return them and, for every cell, its place in the order of the blocks.

    Examples
    --------
    >>> blocks = [("line", np.array([[0, 1]])), ("vertex", np.array([[0]])), ("line", np.array([[1, 2]]))]
    >>> cells, order = cells_by_type(blocks)
    >>> cells["line"].tolist(), order.tolist()
    ([[0, 1], [1, 2]], [0, 2, 1])
    """
    names = list(dict.fromkeys(kind for kind, _ in blocks))
    which = np.repeat([names.index(kind) for kind, _ in blocks], [len(block) for _, block in blocks])
    joined = {name: release(np.concatenate([block for kind, block in blocks if kind == name])) for name in names}
    return joined, np.argsort(which, kind="stable")


def groups_of_cells(cells: Mapping[str, AnyArray], chosen: AnyArray) -> dict[str, AnyArray]:
    """Return cells that are numbered through all types, (k,), as places among those of each type.

    Examples
    --------
    >>> groups_of_cells({"line": np.zeros((2, 2)), "triangle": np.zeros((3, 3))}, np.array([4, 1]))
    {'line': array([1]), 'triangle': array([2])}
    """
    found, start = {}, 0
    for kind, block in cells.items():
        inside = np.unique(chosen[(chosen >= start) & (chosen < start + len(block))]) - start
        if len(inside):
            found[kind] = inside
        start += len(block)
    return found

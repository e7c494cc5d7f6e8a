"""What readers share: how much memory a file may ask for, what they say of files they cannot read, meshes in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.cells import cell_dimension
from swwl.mesh.groups import cells_by_type, unique_name
from swwl.mesh.mesh import Mesh

# What a file unpacks to is rarely more than ten times its size; a crafted one unpacks to a thousand times as much.
_MOST_RATIO = 20
# Small files may hold little but zeros.
_ALWAYS = 64 * 2**20


# A node of a patch is one of the mesh if it is no farther off than this share of the diagonal: float32 is written.
NEAR = 1e-6


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
class NamedSets:
    """Named sets of nodes, faces and cells as a file gives them, until they are the ``groups`` of a mesh.

    Parts of a set may come one after another. Cells are counted through all blocks, as the file lists them.

    Examples
    --------
    >>> sets = NamedSets()
    >>> sets.add_nodes("fix", np.array([0, 1]))
    >>> sets.add_cells("fix", np.array([2]))
    >>> sets.groups([("line", [[0, 1]]), ("triangle", [[0, 1, 2], [1, 3, 2]])])
    {'fix': array([0, 1]), 'fix (elements)': {'triangle': array([1])}}
    """

    nodes: dict[str, list[AnyArray]] = field(default_factory=dict)
    faces: dict[str, list[tuple[str, AnyArray]]] = field(default_factory=dict)
    cells: dict[str, list[AnyArray]] = field(default_factory=dict)

    def add_nodes(self, name: str, nodes: AnyArray) -> None:
        """Add node numbers (k,) to a set of nodes."""
        self.nodes.setdefault(name, []).append(np.asarray(nodes, np.int64))

    def add_faces(self, name: str, kind: str, faces: AnyArray) -> None:
        """Add the nodes of faces of one type, (m, k), to a set of faces."""
        self.faces.setdefault(name, []).append((kind, np.asarray(faces, np.int64)))

    def add_cells(self, name: str, cells: AnyArray) -> None:
        """Add numbers of cells (m,) to a set of cells."""
        self.cells.setdefault(name, []).append(np.asarray(cells, np.int64))

    def add_elements(self, name: str, blocks: Sequence[tuple[str, AnyArray]], chosen: AnyArray) -> None:
        """Add elements of files that list the boundary among the cells.

        Parameters
        ----------
        name : str
        blocks : sequence of (type, ndarray)
            All cells.
        chosen : ndarray of ints
            Numbers of cells. Those of the highest dimension that there is are cells; others are faces, or nodes.
        """
        chosen = np.unique(np.asarray(chosen, np.int64))
        top = max(cell_dimension(kind) for kind, _ in blocks)
        start = 0
        for kind, block in blocks:
            here = chosen[np.searchsorted(chosen, start) : np.searchsorted(chosen, start + len(block))]
            if len(here) and cell_dimension(kind) == top:
                self.add_cells(name, here)
            elif len(here) and kind == "vertex":
                self.add_nodes(name, block[here - start].ravel())
            elif len(here):
                self.add_faces(name, kind, block[here - start])
            start += len(block)

    def extend(self, other: NamedSets, first_node: int, first_cell: int) -> None:
        """Take in the sets of a piece whose nodes and cells are counted on from others."""
        for name, parts in other.nodes.items():
            for part in parts:
                self.add_nodes(name, part + first_node)
        for name, blocks in other.faces.items():
            for kind, block in blocks:
                self.add_faces(name, kind, block + first_node)
        for name, parts in other.cells.items():
            for part in parts:
                self.add_cells(name, part + first_cell)

    def groups(self, blocks: Sequence[tuple[str, ArrayLike]]) -> dict[str, Any]:
        """Return what :class:`swwl.Mesh` takes as ``groups``.

        Where sets of several kinds have one name, nodes keep it, and " (faces)" or " (elements)" is added to those of
        others.
        """
        found: dict[str, Any] = {name: release(np.unique(np.concatenate(p))) for name, p in self.nodes.items()}
        for name, faces in self.faces.items():
            by_type: dict[str, list[AnyArray]] = {}
            for kind, block in faces:
                by_type.setdefault(kind, []).append(block)
            joined = {kind: release(np.concatenate(some)) for kind, some in by_type.items()}
            found[unique_name(name, found, "faces")] = joined
        for name, parts in self.cells.items():
            chosen = cells_by_type(blocks, np.concatenate(parts))
            found[unique_name(name, found, "elements")] = chosen or {"vertex": np.empty(0, np.int64)}
        return found


def tagged_groups(
    tags: AnyArray, dimensions: AnyArray, names: Mapping[tuple[int, int], str], word: str = "physical"
) -> Iterator[tuple[str, AnyArray]]:
    """Yield groups that cells name by a number, such as the physical groups of Gmsh, with their cells.

    Parameters
    ----------
    tags : ndarray of shape (m,)
        Of all cells; zero for those of no group.
    dimensions : ndarray of shape (m,)
        Of the cells: groups of different dimensions may have one number.
    names : mapping of (dimension, number) to str
    word : str
        What others are called, before their number.

    Examples
    --------
    >>> found = tagged_groups(np.array([1, 1, 2, 0]), np.array([1, 1, 2, 2]), {(1, 1): "wall"})
    >>> [(name, cells.tolist()) for name, cells in found]
    [('wall', [0, 1]), ('physical 2', [2])]
    """
    for number in np.unique(tags[tags > 0]):
        for dimension in np.unique(dimensions[tags == number]):
            name = names.get((int(dimension), int(number)), f"{word} {number}")
            yield name, np.flatnonzero((tags == number) & (dimensions == dimension))


@dataclass
class Piece:
    """A part of a mesh: points (n, d), cells by types, numbers of nodes and of cells, named sets of both."""

    points: AnyArray
    cells: list[tuple[str, AnyArray]]
    fields: Fields
    cell_fields: Fields
    sets: NamedSets = field(default_factory=NamedSets)


def join(pieces: Sequence[Piece]) -> Mesh:
    """Make one mesh of pieces; their points are not merged, their sets of one name are united."""
    if not pieces:
        raise InputError("There are no nodes; at least one is needed.")
    if len(pieces) == 1:
        (one,) = pieces
        groups = one.sets.groups(one.cells)
        return Mesh(one.points, one.cells or {}, one.fields, cell_fields=one.cell_fields, groups=groups)
    starts = np.cumsum([0, *(len(piece.points) for piece in pieces)])
    cells = [
        (kind, release(block.astype(np.int64) + start))
        for piece, start in zip(pieces, starts, strict=False)
        for kind, block in piece.cells
    ]
    sets, first_cell = NamedSets(), 0
    for piece, start in zip(pieces, starts, strict=False):
        sets.extend(piece.sets, int(start), first_cell)
        first_cell += sum(len(block) for _, block in piece.cells)
    points = release(np.concatenate([piece.points for piece in pieces]))
    fields = _joined([piece.fields for piece in pieces], "point data")
    of_cells = _joined([piece.cell_fields for piece in pieces if piece.cells], "cell data")
    return Mesh(points, cells or {}, fields, cell_fields=of_cells, groups=sets.groups(cells))


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
    return Mesh(parts.points, dict(parts.cells), parts.fields, cell_fields=parts.cell_fields, groups=parts.groups)


def joined_blocks(blocks: Sequence[tuple[str, AnyArray]]) -> tuple[dict[str, AnyArray], NDArray[np.intp]]:
    """Join blocks of the same type; return them and, for every cell, its place in the order of the blocks.

    Examples
    --------
    >>> blocks = [("line", np.array([[0, 1]])), ("vertex", np.array([[0]])), ("line", np.array([[1, 2]]))]
    >>> cells, order = joined_blocks(blocks)
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
    return cells_by_type(list(cells.items()), chosen)

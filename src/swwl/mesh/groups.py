"""Named parts of a mesh: nodes, faces or cells that a solver's file gives a name, such as where it is held.

:class:`swwl.Mesh` has them as ``groups``; readers hand them over in one of the forms of :func:`collect_groups`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError, InputTypeError
from swwl.mesh.arrays import AnyArray, Frozen, counted, own, refuse_masked, release
from swwl.mesh.cells import Cells, block_names, cell_corners, cell_dimension, check_cells

_Nodes: TypeAlias = NDArray[np.int32]
# Types of faces that a plain array holds, by their number of nodes.
_FACES = {1: "vertex", 2: "line", 3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8", 9: "quad9"}


class Group(Frozen):
    """Nodes, faces or cells of a mesh that belong together; neither a group nor its arrays can be changed.

    Made by :class:`swwl.Mesh` out of the forms that its argument ``groups`` may have.

    Attributes
    ----------
    kind : {"nodes", "faces", "cells"}
    nodes : ndarray of shape (k,), int32
        The nodes that it touches, sorted.
    faces : mapping of str to ndarray of shape (m, k), int32
        Of a group of faces: their nodes, by type.
    cells : mapping of str to ndarray of shape (m,), int32
        Of a group of cells: which of ``mesh.cells[type]`` they are, sorted, by type.

    Examples
    --------
    >>> from swwl import Mesh
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> mesh = Mesh(square, [[0, 1, 2], [0, 2, 3]], groups={"inlet": [[3, 0]], "hot": {"triangle": [1]}})
    >>> mesh.groups["inlet"], mesh.groups["hot"]
    (Group(1 face, 2 nodes), Group(1 cell, 3 nodes))
    >>> mesh.groups["hot"].nodes.tolist()
    [0, 2, 3]
    """

    __slots__ = ("cells", "faces", "kind", "nodes")

    kind: str
    nodes: _Nodes
    faces: Mapping[str, _Nodes]
    cells: Mapping[str, _Nodes]

    def __init__(self, kind: str, nodes: _Nodes, faces: Mapping[str, _Nodes], cells: Mapping[str, _Nodes]):
        for array in (nodes, *faces.values(), *cells.values()):
            array.setflags(write=False)
        self._set(kind=kind, nodes=nodes, faces=MappingProxyType(dict(faces)), cells=MappingProxyType(dict(cells)))

    @property
    def size(self) -> int:
        """How many nodes, faces or cells it has."""
        if self.kind == "nodes":
            return len(self.nodes)
        return sum(map(len, (self.faces if self.kind == "faces" else self.cells).values()))

    @property
    def words(self) -> str:
        """What it has, in words."""
        own = counted(self.size, self.kind.removesuffix("s"))
        return own if self.kind == "nodes" else f"{own}, {counted(len(self.nodes), 'node')}"

    def renumbered(self, number: NDArray[np.integer]) -> Group:
        """Return the group in a mesh of the same cells, given the new number of every node, (n,), or -1 if it is lost.

        Faces that lose a node are dropped, and so are those two corners of which become one.
        """
        if self.kind == "faces":
            return faces_group({kind: _kept(kind, number[faces]) for kind, faces in self.faces.items()})
        return Group(self.kind, _sorted(number[self.nodes]), {}, self.cells)

    def within(self, cells: Cells, places: Mapping[str, NDArray[np.integer]]) -> Group:
        """Return a group of cells in a part of its mesh: its cells, and the new numbers of the old ones, or -1."""
        return _cells_group({kind: _sorted(places[kind][chosen]) for kind, chosen in self.cells.items()}, cells)

    def parts(self) -> list[Any]:
        """Return all that makes it what it is, for :func:`swwl.storage.memory.fingerprint`."""
        mappings = (self.faces, self.cells)
        return [self.kind, self.nodes, *([*mapping, *mapping.values()] for mapping in mappings)]

    def __reduce__(self) -> tuple[Any, ...]:
        return Group, (self.kind, self.nodes, dict(self.faces), dict(self.cells))

    def __repr__(self) -> str:
        return f"Group({self.words})"


def _sorted(numbers: NDArray[np.integer]) -> _Nodes:
    """Return numbers that were checked, each once and in order; -1 is dropped."""
    most = int(numbers.max(initial=-1))
    if 8 * numbers.size > most:  # many of few: marks are several times as fast as sorting
        marks = np.zeros(most + 2, bool)
        marks[numbers] = True
        return np.flatnonzero(marks[:-1]).astype(np.int32)
    found = np.unique(numbers)
    return found[found >= 0].astype(np.int32)


def _kept(kind: str, faces: NDArray[np.integer]) -> _Nodes:
    """Return the faces that have all of their nodes, and corners that are all different."""
    corners = np.sort(cell_corners(kind, faces.astype(np.int32)), axis=1)
    return faces[(faces >= 0).all(axis=1) & (corners[:, 1:] != corners[:, :-1]).all(axis=1)].astype(np.int32)


def faces_group(faces: Mapping[str, _Nodes]) -> Group:
    """Make a group of faces that have been checked."""
    filled = {kind: block for kind, block in faces.items() if len(block)}
    return Group("faces", _sorted(_flat(filled.values())), filled, {})


def _flat(blocks: Iterable[NDArray[np.integer]]) -> NDArray[np.integer]:
    return np.concatenate([np.empty(0, np.int32), *(block.ravel() for block in blocks)])


def _cells_group(chosen: Mapping[str, _Nodes], cells: Cells) -> Group:
    filled = {kind: numbers for kind, numbers in chosen.items() if len(numbers)}
    return Group("cells", _sorted(_flat(cells[kind][numbers] for kind, numbers in filled.items())), {}, filled)


def collect_groups(groups: Mapping[str, Any], n_points: int, cells: Cells) -> dict[str, Group]:
    """Check groups in any of the forms in which they may be given.

    Parameters
    ----------
    groups : mapping of str to object
        An array of node numbers (k,), or a mask (n,) of bools: nodes. An array (m, k) of the nodes of faces, whose type
        k tells (lines, triangles, quadrilaterals, and those with nodes on their sides), or a dict of such arrays by
        type: faces. A dict of arrays (m,) by type, which cells of that type: cells. A :class:`Group`.
    n_points : int
    cells : mapping of str to ndarray of shape (m, k)
        Of the mesh.

    Examples
    --------
    >>> corner = {"triangle": np.array([[0, 1, 2]])}
    >>> collect_groups({"tip": [2], "all": np.ones(3, bool), "side": {"line": [[0, 1]]}}, 3, corner)
    {'tip': Group(1 node), 'all': Group(3 nodes), 'side': Group(1 face, 2 nodes)}
    """
    found = {}
    for name, given in groups.items():
        if not isinstance(name, str) or not name.strip():
            raise InputTypeError(f"Names of groups must be texts that are not empty, not {name!r}.")
        found[name] = _collected(name, given, n_points, cells)
    return found


def _collected(name: str, given: Any, n_points: int, cells: Cells) -> Group:
    if isinstance(given, Group):
        raw: Any = {"nodes": given.nodes, "faces": given.faces, "cells": given.cells}[given.kind]
        _collected(name, raw, n_points, cells)
        return given
    if isinstance(given, Mapping):
        arrays = {kind: _integers(name, values) for kind, values in given.items()}
        widths = {array.ndim for array in arrays.values()}
        if widths == {1}:
            return _cells_group({kind: _checked(name, kind, a, cells) for kind, a in arrays.items()}, cells)
        if widths <= {2}:
            return faces_group({kind: _faces(name, kind, array, n_points) for kind, array in arrays.items()})
        raise InputError(
            f"Group {name!r} must be a dict of arrays that all have shape (m, k), nodes of faces, or all (m,), numbers "
            f"of cells."
        )
    array = _integers(name, given, n_points)
    if array.ndim == 1:
        if array.size and (array.min() < 0 or array.max() >= n_points):
            bad = array[(array < 0) | (array >= n_points)][0]
            raise InputError(f"Group {name!r} has node {bad}, but nodes are numbered 0 to {n_points - 1}.")
        return Group("nodes", _sorted(array), {}, {})
    if array.ndim != 2 or array.shape[1] not in _FACES:
        raise InputError(
            f"Group {name!r} must hold node numbers, (k,), or the nodes of faces, (m, k) with k one of "
            f"{', '.join(map(str, _FACES))}, but has shape {array.shape}; name the type of others, as in "
            f'{{"line3": faces}}.'
        )
    kind = _FACES[array.shape[1]]
    return faces_group({kind: _faces(name, kind, array, n_points)})


def _integers(name: str, values: Any, n_points: int | None = None) -> AnyArray:
    refuse_masked(values, f"Group {name!r}")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"Group {name!r} must hold arrays of integers: {error}.") from None
    if array.dtype == bool and n_points is not None and array.shape == (n_points,):
        return np.flatnonzero(array)
    if not array.size:
        return array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"Group {name!r} must hold integers, but holds {array.dtype}.")
    return array


def _faces(name: str, kind: str, faces: AnyArray, n_points: int) -> _Nodes:
    try:
        found = check_cells(kind, faces, n_points)
    except InputError as error:
        raise type(error)(f"Group {name!r}: {error}") from None
    if cell_dimension(kind) > 2:
        raise InputError(f"Group {name!r} has faces of type {kind!r}, which are solids and not faces.")
    return found


def _checked(name: str, kind: str, numbers: AnyArray, cells: Cells) -> _Nodes:
    count = len(cells[kind]) if kind in cells else 0
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
        bad = numbers[(numbers < 0) | (numbers >= count)][0]
        there = f"those are numbered 0 to {count - 1}" if count else f"the mesh has cells of type {', '.join(cells)}"
        raise InputError(f"Group {name!r} has cell {bad} of type {kind!r}, but {there}.")
    return _sorted(numbers)


def cells_by_type(blocks: Sequence[tuple[str, ArrayLike]], chosen: NDArray[np.integer]) -> dict[str, AnyArray]:
    """Return cells that are counted over all blocks, as a file lists them, as a group of cells is given.

    Parameters
    ----------
    blocks : sequence of (type, array)
        As :class:`swwl.Mesh` takes them; a type may occur several times.
    chosen : ndarray of shape (m,)
        Numbers of cells, counted through all blocks.

    Examples
    --------
    >>> blocks = [("line", [[0, 1]]), ("triangle", [[0, 1, 2]]), ("line", [[1, 2], [2, 0]])]
    >>> {kind: numbers.tolist() for kind, numbers in cells_by_type(blocks, np.array([0, 3])).items()}
    {'line': [0, 2]}
    """
    found: dict[str, list[AnyArray]] = {}
    before: dict[str, int] = {}
    start = 0
    if (chosen[1:] <= chosen[:-1]).any():
        chosen = np.unique(chosen)
    for name, (_, block) in zip(block_names(blocks), blocks, strict=True):
        size = len(np.asarray(block))
        here = chosen[np.searchsorted(chosen, start) : np.searchsorted(chosen, start + size)]
        if len(here):
            found.setdefault(name, []).append(here - start + before.get(name, 0))
        before[name] = before.get(name, 0) + size
        start += size
    return {name: release(np.concatenate(parts)) for name, parts in found.items()}


def unique_name(name: str, taken: Mapping[str, object], kind: str) -> str:
    """Return a name for a group that none has yet: where a set of another kind has it, its kind is added.

    Examples
    --------
    >>> unique_name("fix", {}, "elements"), unique_name("fix", {"fix": 1}, "elements")
    ('fix', 'fix (elements)')
    """
    found, number = name, 1
    while found in taken:
        found = f"{name} ({kind})" if number == 1 else f"{name} ({kind} {number})"
        number += 1
    return found


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a shell pattern means: ``*``, ``?`` and ``[...]``, several patterns between ``|``.

    Where none is meant exactly, upper and lower case are the same.

    Examples
    --------
    >>> matching("body*|tail", ["body 1", "body 2", "inlet", "tail"])
    ['body 1', 'body 2', 'tail']
    >>> matching("inlet", ["Inlet", "outlet"])
    ['Inlet']
    """
    names = list(names)
    if pattern in names:
        return [pattern]
    patterns = [part.strip() for part in pattern.split("|")]
    found = [name for name in names if any(fnmatchcase(name, part) for part in patterns)]
    if found:
        return found
    folded = [part.casefold() for part in (pattern, *patterns)]
    return [
        name for name in names if name.casefold() == folded[0] or any(fnmatchcase(name.casefold(), p) for p in folded)
    ]


def chosen_groups(groups: Mapping[str, Group], pattern: str) -> dict[str, Group]:
    """Return the groups that a pattern means, at least one."""
    if not isinstance(pattern, str):
        raise InputTypeError(f"A group is named by a text such as 'body*', not {pattern!r}.")
    names = matching(pattern, groups)
    if not names:
        there = f"its groups are: {', '.join(groups)}" if groups else "it has no groups"
        raise InputError(f"The mesh has no group {pattern!r}; {there}.")
    return {name: groups[name] for name in names}


def united(groups: Iterable[Group], cells: Cells) -> Group:
    """Return the union of groups; that of groups of different kinds is a group of nodes.

    Examples
    --------
    >>> corner = {"triangle": np.array([[0, 1, 2]], np.int32)}
    >>> united(collect_groups({"a": [[0, 1]], "b": [[1, 0], [1, 2]]}, 3, corner).values(), corner)
    Group(2 faces, 3 nodes)
    """
    groups = list(groups)
    if len(groups) == 1:
        return groups[0]
    kinds = {group.kind for group in groups}
    if kinds == {"cells"}:
        return _cells_group(_joined([group.cells for group in groups], _sorted), cells)
    if kinds == {"faces"}:
        return faces_group(_joined([group.faces for group in groups], _different))
    return Group("nodes", _sorted(_flat(group.nodes for group in groups)), {}, {})


def _joined(parts: Sequence[Mapping[str, _Nodes]], merge: Any) -> dict[str, _Nodes]:
    kinds = dict.fromkeys(kind for part in parts for kind in part)
    return {kind: merge(np.concatenate([part[kind] for part in parts if kind in part])) for kind in kinds}


def _different(faces: _Nodes) -> _Nodes:
    """Return every face once, whichever way around it is given: in the order in which they first come."""
    first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)[1]
    return own(faces[np.sort(first)])

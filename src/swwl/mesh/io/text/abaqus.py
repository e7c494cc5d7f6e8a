"""Abaqus and CalculiX input files (``.inp``): nodes and elements, also of parts and their instances; and named sets.

Sets stay with the part, the instance or the assembly that they are of (:class:`_Set`) until all nodes are known; then
:class:`_Members` finds which nodes and elements of a piece of the mesh belong to them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.cells import cell_dimension, side_of
from swwl.mesh.io.shared import NamedSets, Piece, join
from swwl.mesh.io.text.lines import blocks_of, count_unknown, floats, included, integers, tell_unknown, text_of
from swwl.mesh.mesh import Mesh

_SOLID = re.compile(r"(?:DC|DCC|AC|EC|COH|PC|GK|F|Q)?C?3D|SC[68]|CSS8")
_NOT_SOLID = re.compile(r"[TMR]3D|SFM3D|CONN3D|RB3D|DCOUP3D|B3")
_LINE = re.compile(
    r"[TR]2D2|T[23]D|B[23][1-3]|PIPE|ELBOW|FRAME|RAX2|RB[23]D|[SM]AX|DSAX|D?C1D|AC1D|CONN|SPRING|DASHPOT|GAP"
)
_SURFACE = re.compile(r"S[3-9]|STRI|DS|C[PG]|CAX|M3D|R3D|SFM|DC2D|DCC2D|DCAX|DCCAX|AC2D|ACAX|COH2D|COHAX|CGAX|W")
_SOLIDS = {4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron", 10: "tetra10", 13: "pyramid13", 15: "wedge15"}
_SOLIDS |= {20: "hexahedron20"}
_SURFACES = {3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8", 9: "quad9"}
_LINES = {2: "line", 3: "line3"}
# Keywords that make nodes or elements, or move them, in ways that are not read.
_REFUSED = ("NGEN", "NCOPY", "NFILL", "NMAP", "ELGEN", "ELCOPY", "SYSTEM", "SUBMODEL")


# Corners of the faces of solids, in the order in which surfaces count them.
_FACES: dict[str, list[tuple[int, ...]]] = {
    "tetra": [(0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)],
    "pyramid": [(0, 1, 2, 3), (0, 4, 1), (1, 4, 2), (2, 4, 3), (3, 4, 0)],
    "wedge": [(0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)],
    "hexahedron": [(0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)],
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "quad": [(0, 1), (1, 2), (2, 3), (3, 0)],
}
_SHELL = re.compile(r"S[3-9]|STRI|DS\d|M3D|R3D|SFM3D|SC")
_SETS = {"NSET": "NSET", "ELSET": "ELSET", "SURFACE": "NAME"}  # keywords, and which option names the set


@dataclass
class _Set:
    """Some lines of a set: its keyword and name, numbers with steps (first, last, step), and names of other sets.

    In a surface, every number and name has the label of a face beside it. ``instance`` says whose nodes or elements a
    set of the assembly has.
    """

    keyword: str
    name: str
    instance: str = ""
    ranges: list[tuple[int, int, int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    faces: list[tuple[str, str]] = field(default_factory=list)
    of_nodes: bool = False  # of a surface


@dataclass
class _Scope:
    """The nodes, elements and sets of a part, of an instance, or of all that is in neither."""

    ids: list[int] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    elements: list[tuple[str, list[int]]] = field(default_factory=list)
    part: str = ""
    move: list[list[float]] = field(default_factory=list)
    sets: list[_Set] = field(default_factory=list)
    name: str = ""


def read_abaqus(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read the nodes and elements of an input file: of its instances, if it has any, or of its parts, or its own.

    Groups are sets of nodes and elements and surfaces; those of several instances or parts are called "instance.set".
    """
    reader = _Input()
    reader.read(text_of(path), [path])
    mesh, lost = reader.mesh()
    tell_unknown(path, lost)
    return mesh


def surfaces_of(path: Path) -> dict[str, dict[str, NDArray[np.int64]]]:
    """Return the faces of the surfaces of an input file by type, as numbers of nodes (m, k); none of decks of parts."""
    reader = _Input()
    reader.read(text_of(path), [path])
    return reader.surfaces()


def keyword_of(line: str) -> tuple[str, dict[str, str]]:
    """Split a keyword line.

    >>> keyword_of("*Element, type=C3D8R , ELSET=all")
    ('ELEMENT', {'TYPE': 'C3D8R', 'ELSET': 'all'})
    """
    keyword, *rest = line[1:].split(",")
    pairs = (option.partition("=") for option in rest)
    return " ".join(keyword.upper().split()), {name.strip().upper(): value.strip() for name, _, value in pairs}


class _Input:
    def __init__(self) -> None:
        self._top = _Scope()
        self._scope = self._top
        self._parts: dict[str, _Scope] = {}
        self._instances: list[_Scope] = []
        self._in_assembly = False
        self._set: _Set | None = None  # that lines of nodes, elements or sets belong to

    def read(self, text: str, chain: list[Path]) -> None:
        """Take in the lines of a file and of those that it includes."""
        keyword, options = "", dict[str, str]()
        waiting: list[str] = []  # words of an element that goes on in the next line
        for line in text.splitlines():
            if line.startswith("**") or not line.strip():
                continue
            if line.startswith("*"):
                if waiting:
                    raise InputError(f"its element {waiting[0]} is not complete")
                keyword, options = keyword_of(line)
                self._begin(keyword, options, chain)
            elif keyword == "NODE":
                self._node(line)
            elif keyword == "ELEMENT":
                waiting = self._element(waiting, line, options.get("TYPE", "").upper())
            elif keyword in _SETS and self._set is not None:
                self._member(self._set, line, "GENERATE" in options)
            elif keyword == "INSTANCE" and self._scope.part:
                self._scope.move.append(floats([word for word in line.split(",") if word.strip()], "an *INSTANCE"))
        if waiting:
            raise InputError(f"it is cut off: its element {waiting[0]} is not complete")

    def _begin(self, keyword: str, options: dict[str, str], chain: list[Path]) -> None:
        if keyword in _REFUSED:
            raise InputError(f"it makes or moves nodes by *{keyword}, which is not supported; write a plain mesh")
        self._set = None
        if keyword == "PART":
            name = options.get("NAME", "").strip('"')
            self._scope = self._parts.setdefault(name.upper(), _Scope(name=name))
        elif keyword == "INSTANCE":
            name = options.get("NAME", "").strip('"')
            self._scope = _Scope(part=options.get("PART", "").strip('"').upper(), name=name)
            self._instances.append(self._scope)
        elif keyword in ("END PART", "END INSTANCE"):
            self._scope = self._top
        elif keyword in ("ASSEMBLY", "END ASSEMBLY"):
            self._in_assembly = keyword == "ASSEMBLY"
        elif keyword == "NODE" and options.get("SYSTEM", "R").upper() not in ("R", ""):
            raise InputError("it gives nodes in cylindrical or spherical coordinates, which is not supported")
        word = {"NODE": "NSET", "ELEMENT": "ELSET"}.get(keyword, keyword)
        if word in _SETS and (name := options.get(_SETS[word] if word == keyword else word, "").strip('"')):
            self._set = _Set(word, name, options.get("INSTANCE", "").strip('"').upper())
            self._set.of_nodes = options.get("TYPE", "").upper() == "NODE"
            self._scope.sets.append(self._set)
            if word == "NSET" and "ELSET" in options and keyword == word:
                self._set.faces.append((options["ELSET"].strip('"'), ""))  # the nodes of these elements
        if keyword in ("INCLUDE", "NODE", "ELEMENT", *_SETS) and "INPUT" in options:
            text, longer = included(chain[-1], options.pop("INPUT"), chain)
            rest = "".join(f", {name}={value}" if value else f", {name}" for name, value in options.items())
            self.read(("" if keyword == "INCLUDE" else f"*{keyword}{rest}\n") + text, longer)

    def _member(self, home: _Set, line: str, generate: bool) -> None:
        """Take in one line of a set."""
        words = [word.strip().strip('"') for word in line.split(",")]
        if home.keyword == "SURFACE":
            home.faces.append((words[0], words[1].upper() if len(words) > 1 else ""))
            return
        words = [word for word in words if word]
        if generate:
            first, *more = integers(words[:3], f"the set {home.name!r}")
            last, step = [*more, *[first, 1][len(more) :]]
            home.ranges.append((first, last, max(1, step)))
            return
        for word in words:
            if word.isdecimal():
                home.ranges.append((int(word), int(word), 1))
            else:
                home.names.append(word)

    def _node(self, line: str) -> None:
        if self._in_assembly and self._scope is self._top:
            return  # a reference point
        words = [word.strip() for word in line.split(",")]
        (number,) = integers(words[:1], "a *NODE")
        self._scope.ids.append(number)
        if self._set is not None:
            self._set.ranges.append((number, number, 1))
        self._scope.points.append([*floats([word or "0" for word in words[1:4]], "a *NODE"), 0.0, 0.0, 0.0][:3])

    def _element(self, waiting: list[str], line: str, kind: str) -> list[str]:
        """Take in one line of an element; return its words so far if it goes on."""
        words = waiting + [word.strip() for word in line.split(",") if word.strip()]
        if line.rstrip().endswith(","):
            return words
        if self._in_assembly and self._scope is self._top:
            return []  # it joins nodes of several instances
        number, *nodes = integers(words, f"an *ELEMENT of type {kind}")
        self._scope.numbers.append(number)
        self._scope.elements.append((kind, nodes))
        if self._set is not None:
            self._set.ranges.append((number, number, 1))
        return []

    def mesh(self) -> tuple[Mesh, dict[str, int]]:
        """Put together what was found; count the members of sets that were not."""
        if self._instances:
            scopes = [self._placed(scope) for scope in self._instances]
        else:
            scopes = [self._top, *self._parts.values()]
        scopes = [scope for scope in scopes if scope.ids]
        lost: dict[str, int] = {}
        pieces = [_piece(scope, self._top, len(scopes) > 1, lost) for scope in scopes]
        if not pieces:
            raise InputError("it has no *NODE with nodes, so it is not a mesh of Abaqus")
        return join(pieces), lost

    def surfaces(self) -> dict[str, dict[str, NDArray[np.int64]]]:
        """Return the faces of surfaces as numbers of nodes; see :func:`surfaces_of`."""
        names = {one.name for one in self._top.sets if one.keyword == "SURFACE"}
        if self._instances or self._parts or not names:
            return {}
        mesh, ids = self.mesh()[0], np.array(self._top.ids, np.int64)
        faces = {name: group.faces for name, group in mesh.groups.items() if name in names and group.kind == "faces"}
        return {name: {kind: ids[block] for kind, block in own.items()} for name, own in faces.items()}

    def _placed(self, instance: _Scope) -> _Scope:
        """Return the nodes and elements of an instance: its own, or its part's, moved to their place."""
        source = instance if instance.ids else self._parts.get(instance.part, _Scope())
        own = instance.sets if source is instance else [*source.sets, *instance.sets]
        source = replace(source, name=instance.name, sets=own)
        if not source.ids or not instance.move:
            return source
        points = np.array(source.points)
        shift, *turn = instance.move
        points[:, : len(shift)] += shift
        if turn:
            points = _turned(points, np.array(turn[0]))
        return replace(source, points=points.tolist())


def _turned(points: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn points about the axis through two points by an angle in degrees: Rodrigues' formula."""
    if turn.shape != (7,):
        raise InputError("an *INSTANCE has a rotation that is not two points and an angle")
    start, end, angle = turn[:3], turn[3:6], np.deg2rad(turn[6])
    axis = (end - start) / np.linalg.norm(end - start)
    arms = points - start
    along = np.outer(arms @ axis, axis)
    return start + along + np.cos(angle) * (arms - along) + np.sin(angle) * np.cross(axis, arms)


def _piece(scope: _Scope, top: _Scope, several: bool, lost: dict[str, int]) -> Piece:
    points = np.array(scope.points)
    found = blocks_of(_named(scope.elements), np.array(scope.ids, np.int64))
    blocks = [(kind, middle_last(points, block) if kind == "line3" else block) for kind, block in found]
    return Piece(points, list(blocks), {}, {}, _Members(scope, top, blocks, lost).sets(several))


class _Members:
    """Which nodes and elements of a piece of the mesh belong to sets: its own, and those of the assembly."""

    def __init__(self, scope: _Scope, top: _Scope, blocks: list[tuple[str, NDArray[np.int64]]], lost: dict[str, int]):
        self._scope, self._top, self._blocks, self._lost = scope, top, blocks, lost
        self._ids = {"NSET": np.array(scope.ids, np.int64), "ELSET": np.array(scope.numbers, np.int64)}
        self._known: dict[tuple[bool, str, str], NDArray[np.bool_] | None] = {}
        self._free: set[tuple[int, ...]] | None = None  # faces of one solid

    def sets(self, several: bool) -> NamedSets:
        """Return the sets that there are; those of its own with its name where there are several pieces."""
        found = NamedSets()
        done = set()
        for own in (True, False) if self._scope is not self._top else (True,):
            for one in (self._scope if own else self._top).sets:
                name = f"{self._scope.name}.{one.name}" if own and several and self._scope.name else one.name
                if one.keyword == "SURFACE":
                    self._add_surface(found, name, one, own)
                elif (own, one.keyword, one.name.upper()) in done:
                    continue  # a set goes on, perhaps in other letters
                elif one.keyword == "NSET":
                    found.add_nodes(name, np.flatnonzero(self._mask("NSET", one.name, own)))
                else:
                    found.add_cells(name, np.flatnonzero(self._mask("ELSET", one.name, own)))
                done.add((own, one.keyword, one.name.upper()))
        return found

    def _mask(self, keyword: str, name: str, own: bool) -> NDArray[np.bool_]:
        """Say of every node or element whether it belongs to a set."""
        key = (own, keyword, name.upper())
        if key not in self._known:
            self._known[key] = None  # being found: a set that is part of itself adds nothing
            scope = self._scope if own else self._top
            found = np.zeros(len(self._ids[keyword]), bool)
            for one in scope.sets:
                if (one.keyword, one.name.upper()) == key[1:]:
                    found |= self._of(one, own)
            self._known[key] = found
        mask = self._known[key]
        return np.zeros(len(self._ids[keyword]), bool) if mask is None else mask

    def _of(self, one: _Set, own: bool) -> NDArray[np.bool_]:
        ids = self._ids[one.keyword]
        mask = np.zeros(len(ids), bool)
        if own or (one.instance and one.instance == self._scope.name.upper()):
            single = [first for first, last, _ in one.ranges if first == last]
            mask |= np.isin(ids, single)
            self._lost[one.name] = self._lost.get(one.name, 0) + count_unknown(ids, single)
            for first, last, step in one.ranges:
                if first != last:
                    mask |= (ids >= first) & (ids <= last) & ((ids - first) % step == 0)
        for name in one.names:
            mask |= self._named(one.keyword, name, own, one.instance)
        for elset, _ in one.faces:  # the nodes of elements
            chosen = np.flatnonzero(self._named("ELSET", elset, own, one.instance))
            for start, (_, block) in zip(self._starts(), self._blocks, strict=True):
                rows = chosen[(chosen >= start) & (chosen < start + len(block))] - start
                mask[block[rows].ravel()] = True
        return mask

    def _named(self, keyword: str, name: str, own: bool, instance: str = "") -> NDArray[np.bool_]:
        """Return the members that a name means, or a number, perhaps of an instance: "bolt-1.head", "bolt-1.7"."""
        home, dot, rest = name.rpartition(".")
        here = self._scope.name.upper()
        if not own and dot and home.upper() == here:
            name, own = rest, True
        elif not own and instance:
            if instance != here:
                return np.zeros(len(self._ids[keyword]), bool)
            own = True
        if name.isdecimal():
            return (self._ids[keyword] == int(name)) & own
        return self._mask(keyword, name, own)

    def _starts(self) -> list[int]:
        return [0, *np.cumsum([len(block) for _, block in self._blocks]).tolist()][: len(self._blocks)]

    def _add_surface(self, found: NamedSets, name: str, one: _Set, own: bool) -> None:
        """Add the faces of elements, or the nodes, that a surface has."""
        for target, label in one.faces:
            if one.of_nodes:
                found.add_nodes(name, np.flatnonzero(self._named("NSET", target, own, one.instance)))
                continue
            found.add_faces(name, "line", np.empty((0, 2), np.int64))
            chosen = np.flatnonzero(self._named("ELSET", target, own, one.instance))
            for start, (kind, block) in zip(self._starts(), self._blocks, strict=True):
                rows = chosen[(chosen >= start) & (chosen < start + len(block))] - start
                types = np.array([self._scope.elements[start + row][0] for row in rows.tolist()], str)
                if not label and cell_dimension(kind) == 3:
                    self._add_free_faces(found, name, kind, block[rows])
                    continue
                for element in np.unique(types):
                    for face, corners in _faces(kind, str(element), label):
                        found.add_faces(name, face, block[rows[types == element]][:, corners])

    def _add_free_faces(self, found: NamedSets, name: str, kind: str, cells: NDArray[np.int64]) -> None:
        """Add the faces of solid cells that no other solid of the piece has."""
        if self._free is None:
            sides = [
                side for other, block in self._blocks if cell_dimension(other) == 3 for side in _padded(other, block)
            ]
            keys, counts = np.unique(np.concatenate(sides), axis=0, return_counts=True)
            self._free = {tuple(key) for key in keys[counts == 1].tolist()}
        for corners, keys in zip(_FACES[kind.rstrip("0123456789")], _padded(kind, cells), strict=True):
            free = [tuple(key) in self._free for key in keys.tolist()]
            face, places = side_of(kind, corners)
            found.add_faces(name, face, cells[np.array(free, bool)][:, places])


def _padded(kind: str, cells: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the corners of every face of cells, sorted, (m, 4) each: a triangle begins with -1."""
    sides = [cells[:, corners] for corners in _FACES[kind.rstrip("0123456789")]]
    return [np.sort(np.hstack([side, np.full((len(side), 4 - side.shape[1]), -1)]), axis=1) for side in sides]


def _faces(kind: str, element: str, label: str) -> list[tuple[str, list[int]]]:
    """Return the type of the face of an element that a label means, and the places of its nodes.

    Shells have faces SPOS and SNEG (CalculiX: S2 and S1) and edges E1, E2, ... (CalculiX: S3, S4, ...). No label means
    the face of a shell. Lines of axisymmetric shells are faces themselves.
    """
    linear = kind.rstrip("0123456789")
    if linear == "line" and label in ("", "SPOS", "SNEG"):
        return [side_of(kind, (0, 1))]
    if linear not in _FACES:
        return []
    if cell_dimension(kind) == 2 and _SHELL.match(element):
        ring = tuple(range(len(_FACES[linear])))
        labels = dict.fromkeys(("", "SPOS", "SNEG", "S1", "S2"), ring)
        for k, side in enumerate(_FACES[linear]):
            labels[f"E{k + 1}"] = labels[f"S{k + 3}"] = side
    else:
        labels = {f"S{k + 1}": side for k, side in enumerate(_FACES[linear])}
    if label not in labels:
        if label:
            raise InputError(f"it has a surface of face {label[:20]!r} of an element of type {element[:40]!r}")
        return []
    return [side_of(kind, labels[label])]


def _named(elements: list[tuple[str, list[int]]]) -> Iterator[tuple[str, list[int]]]:
    """Name the types of elements as meshio does."""
    for kind, nodes in elements:
        if re.match(r"B[23][1-3]", kind):  # what follows is a node that tells its orientation
            nodes = nodes[: 3 if kind[2] == "2" else 2]
        size = len(nodes)
        if size == 1:
            yield "vertex", nodes
        elif _SOLID.match(kind) and not _NOT_SOLID.match(kind) and size in _SOLIDS:
            yield _SOLIDS[size], nodes
        elif _LINE.match(kind) and size in _LINES:
            yield _LINES[size], nodes
        elif _SURFACE.match(kind) and size in _SURFACES:
            yield _SURFACES[size], nodes
        else:
            raise InputError(f"its elements of type {kind[:40]!r} with {size} nodes are not supported")


def middle_last(points: NDArray[np.float64], lines: NDArray[np.int64]) -> NDArray[np.int64]:
    """Put the middle node of lines of three nodes last; beams list it second, and others last."""
    a, b, c = (points[lines[:, k]] for k in range(3))
    second, last = np.linalg.norm(a + c - 2 * b, axis=1), np.linalg.norm(a + b - 2 * c, axis=1)
    return lines[:, [0, 2, 1]] if (second < last).mean() > 0.5 else lines

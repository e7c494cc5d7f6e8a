"""Abaqus and CalculiX input files (``.inp``): nodes and elements, also of parts and their instances."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.io.shared import Piece, join
from swwl.mesh.io.text.lines import blocks_of, floats, included, integers, text_of
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


@dataclass
class _Scope:
    """The nodes and elements of a part, of an instance, or of all that is in neither."""

    ids: list[int] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    elements: list[tuple[str, list[int]]] = field(default_factory=list)
    part: str = ""
    move: list[list[float]] = field(default_factory=list)


def read_abaqus(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read the nodes and elements of an input file: of its instances, if it has any, or of its parts, or its own."""
    reader = _Input()
    reader.read(text_of(path), [path])
    return reader.mesh()


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
            elif keyword == "INSTANCE" and self._scope.part:
                self._scope.move.append(floats([word for word in line.split(",") if word.strip()], "an *INSTANCE"))
        if waiting:
            raise InputError(f"it is cut off: its element {waiting[0]} is not complete")

    def _begin(self, keyword: str, options: dict[str, str], chain: list[Path]) -> None:
        if keyword in _REFUSED:
            raise InputError(f"it makes or moves nodes by *{keyword}, which is not supported; write a plain mesh")
        if keyword == "PART":
            self._scope = self._parts.setdefault(options.get("NAME", "").upper(), _Scope())
        elif keyword == "INSTANCE":
            self._scope = _Scope(part=options.get("PART", "").upper())
            self._instances.append(self._scope)
        elif keyword in ("END PART", "END INSTANCE"):
            self._scope = self._top
        elif keyword in ("ASSEMBLY", "END ASSEMBLY"):
            self._in_assembly = keyword == "ASSEMBLY"
        elif keyword == "NODE" and options.get("SYSTEM", "R").upper() not in ("R", ""):
            raise InputError("it gives nodes in cylindrical or spherical coordinates, which is not supported")
        if keyword in ("INCLUDE", "NODE", "ELEMENT") and "INPUT" in options:
            text, longer = included(chain[-1], options["INPUT"], chain)
            head = "" if keyword == "INCLUDE" else f"*{keyword}, TYPE={options.get('TYPE', '')}\n"
            self.read(head + text, longer)

    def _node(self, line: str) -> None:
        if self._in_assembly and self._scope is self._top:
            return  # a reference point
        words = [word.strip() for word in line.split(",")]
        self._scope.ids += integers(words[:1], "a *NODE")
        self._scope.points.append([*floats([word or "0" for word in words[1:4]], "a *NODE"), 0.0, 0.0, 0.0][:3])

    def _element(self, waiting: list[str], line: str, kind: str) -> list[str]:
        """Take in one line of an element; return its words so far if it goes on."""
        words = waiting + [word.strip() for word in line.split(",") if word.strip()]
        if line.rstrip().endswith(","):
            return words
        if self._in_assembly and self._scope is self._top:
            return []  # it joins nodes of several instances
        self._scope.elements.append((kind, integers(words, f"an *ELEMENT of type {kind}")[1:]))
        return []

    def mesh(self) -> Mesh:
        """Put together what was found."""
        if self._instances:
            scopes = [self._placed(scope) for scope in self._instances]
        else:
            scopes = [self._top, *self._parts.values()]
        pieces = [_piece(scope) for scope in scopes if scope.ids]
        if not pieces:
            raise InputError("it has no *NODE with nodes, so it is not a mesh of Abaqus")
        return join(pieces)

    def _placed(self, instance: _Scope) -> _Scope:
        """Return the nodes and elements of an instance: its own, or its part's, moved to their place."""
        source = instance if instance.ids else self._parts.get(instance.part, _Scope())
        if not source.ids or not instance.move:
            return source
        points = np.array(source.points)
        shift, *turn = instance.move
        points[:, : len(shift)] += shift
        if turn:
            points = _turned(points, np.array(turn[0]))
        return _Scope(source.ids, points.tolist(), source.elements)


def _turned(points: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn points about the axis through two points by an angle in degrees: Rodrigues' formula."""
    if turn.shape != (7,):
        raise InputError("an *INSTANCE has a rotation that is not two points and an angle")
    start, end, angle = turn[:3], turn[3:6], np.deg2rad(turn[6])
    axis = (end - start) / np.linalg.norm(end - start)
    arms = points - start
    along = np.outer(arms @ axis, axis)
    return start + along + np.cos(angle) * (arms - along) + np.sin(angle) * np.cross(axis, arms)


def _piece(scope: _Scope) -> Piece:
    points = np.array(scope.points)
    blocks = blocks_of(_named(scope.elements), np.array(scope.ids, np.int64))
    return Piece(
        points, [(kind, middle_last(points, block) if kind == "line3" else block) for kind, block in blocks], {}, {}
    )


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

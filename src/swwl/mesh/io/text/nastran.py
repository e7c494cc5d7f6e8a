"""Nastran bulk data (``.bdf``, ``.nas``, ``.fem``): grid points and elements, in all field formats, with includes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import release
from swwl.mesh.io.shared import NamedSets, Piece, UnsupportedError, join, refuse_empty
from swwl.mesh.io.text.lines import blocks_of, count_unknown, included, tell_unknown, text_of
from swwl.mesh.io.vtk.cells import UPRIGHT_FIRST
from swwl.mesh.mesh import Mesh

# Cards of elements: where their nodes begin, and meshio's names by the number of nodes.
_LINE = (3, {2: "line"})
_TRIANGLE = (3, {3: "triangle", 6: "triangle6"})
_QUAD = (3, {4: "quad", 8: "quad8", 9: "quad9"})
_ELEMENTS: dict[str, tuple[int, dict[int, str]]] = {
    **dict.fromkeys(("CROD", "CTUBE", "CBAR", "CBEAM", "CBUSH", "CBUSH1D", "CGAP", "CVISC"), _LINE),
    "CONROD": (2, {2: "line"}),
    **dict.fromkeys(("CTRIA3", "CTRIAR", "CTRIA6"), _TRIANGLE),
    **dict.fromkeys(("CQUAD4", "CQUADR", "CQUAD8", "CQUAD", "CSHEAR"), _QUAD),
    "CTETRA": (3, {4: "tetra", 10: "tetra10"}),
    **dict.fromkeys(("CPYRAM", "CPYRA"), (3, {5: "pyramid", 13: "pyramid13"})),
    "CPENTA": (3, {6: "wedge", 15: "wedge15"}),
    "CHEXA": (3, {8: "hexahedron", 20: "hexahedron20"}),
}
# What follows the corners of a card with no more than them (an angle, offsets) is not a node.
_CORNERS_ALONE = {"CTRIA3": 3, "CTRIAR": 3, "CQUAD4": 4, "CQUADR": 4, "CSHEAR": 4, "CTRIA6": 6, "CQUAD8": 8}
_UNKNOWN = re.compile(r"C(TRAX|TRIAX|QUADX|PLSTN|PLSTS|IFHEX|IFPENT|IFQDX)")
_EXPONENT = re.compile(r"(?<=[\d.])([+-]\d+)$")


def read_nastran(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read the grid points and elements of a file and of all that it includes."""
    refuse_empty(path)
    ids, points, cells, properties = [], [], [], []
    others: set[str] = set()
    held = _Held()
    for card in _cards(path):
        name = card[0]
        if name == "GRID":
            if _field(card, 2) not in ("", "0"):
                raise UnsupportedError(f"its grid point {card[1]} is in coordinate system {card[2]}, not supported")
            ids.append(_integer(card, 1))
            points.append([_number(_field(card, k)) for k in (3, 4, 5)])
        elif name in _ELEMENTS and _ELEMENTS[name] is _LINE and _field(card, 4) in ("", "0"):
            continue  # a spring to the ground
        elif name in _ELEMENTS:
            cells.append(_cell(card))
            properties.append(0 if name == "CONROD" else _integer(card, 2, default=_integer(card, 1)))
        elif name in ("SPC", "SPC1", "SPCADD", "SET1"):
            held.add(card)
        elif _UNKNOWN.match(name):
            others.add(name)
    if others:
        raise InputError(f"it has unknown elements {', '.join(sorted(others))[:80]}")
    blocks = blocks_of(cells, np.array(ids, np.int64))
    if points and not blocks:
        raise InputError(f"it has {len(points)} grid points, but no elements that are known")
    tags = {"nastran:ref": np.array(properties)} if properties else {}
    sets = held.sets(np.array(ids, np.int64))
    tell_unknown(path, held.lost(np.array(ids, np.int64)))
    for number in np.unique(tags["nastran:ref"]) if properties else ():
        if number:
            sets.add_cells(f"property {number}", np.flatnonzero(tags["nastran:ref"] == number))
    return join([Piece(release(np.array(points).reshape(-1, 3)), list(blocks), {}, tags, sets)])


class _Held:
    """Sets of grid points: those that single-point constraints hold, and SET1."""

    def __init__(self) -> None:
        self._ranges: dict[str, list[tuple[int, int]]] = {}
        self._sums: dict[str, list[str]] = {}

    def add(self, card: list[str]) -> None:
        """Take in a card."""
        kind, number = card[0], _integer(card, 1)
        name = f"{'SET1' if kind == 'SET1' else 'SPC'} {number}"
        if kind == "SPCADD":
            self._sums[name] = [f"SPC {int(word)}" for word in card[2:] if word.isdecimal()]
            return
        words = [word.upper() for word in (card[2::3] if kind == "SPC" else card[2 if kind == "SET1" else 3 :]) if word]
        found = self._ranges.setdefault(name, [])
        for place, word in enumerate(words):
            if word == "THRU" and found and place + 1 < len(words) and words[place + 1].isdecimal():
                found[-1] = found[-1][0], int(words[place + 1])
            elif word.isdecimal() and (not place or words[place - 1] != "THRU"):
                found.append((int(word), int(word)))

    def lost(self, ids: NDArray[np.int64]) -> dict[str, int]:
        """Return of every set how many points it names, one by one, that there are not."""
        single = {name: [first for first, last in spans if first == last] for name, spans in self._ranges.items()}
        return {name: count_unknown(ids, numbers) for name, numbers in single.items()}

    def sets(self, ids: NDArray[np.int64]) -> NamedSets:
        """Return the sets of those points that there are, given the numbers of all."""
        found = NamedSets()
        for name in (*self._ranges, *(name for name in self._sums if name not in self._ranges)):
            inside = np.zeros(len(ids), bool)
            for one in (name, *self._sums.get(name, ())):
                for first, last in self._ranges.get(one, ()):
                    inside |= (ids >= first) & (ids <= last)
            found.add_nodes(name, np.flatnonzero(inside))
        return found


def is_nastran(path: Path) -> bool:
    """Whether a ``.dat`` file is of Nastran, and not of Tecplot."""
    with open(path, "rb") as file:
        start = file.read(2**16).upper()
    return b"BEGIN BULK" in start or re.search(rb"^GRID[ *,\t]", start, re.MULTILINE) is not None


def _cards(path: Path) -> Iterator[list[str]]:
    """Yield cards as fields without blanks around them: name first, and continuations joined."""
    card: list[str] = []
    full = 0
    for line in _bulk(text_of(path), [path]):
        fields, is_continuation = _split(line)
        if is_continuation and card:
            # A line stands for all of its fields, whatever is written of them.
            card += [""] * (full - len(card)) + fields[1:]
        else:
            if card:
                yield card
            card, full = (fields if fields[0] else []), 1
        full += 4 if line[:8].split(",")[0].rstrip().endswith("*") or line.startswith("*") else 8
    if card:
        yield card


def _bulk(text: str, chain: list[Path]) -> Iterator[str]:
    """Yield the lines of the bulk data of a file and of those that it includes."""
    lines = text.splitlines()
    begins = [k for k, line in enumerate(lines) if re.match(r"\s*BEGIN\s+BULK", line, re.IGNORECASE)]
    if begins and len(chain) == 1:
        lines = lines[begins[0] + 1 :]
    rows = iter(lines)
    for line in rows:
        content = line.split("$")[0].rstrip()
        if not content.strip():
            continue
        if re.match(r"\s*ENDDATA", content, re.IGNORECASE):
            return
        include = re.match(r"\s*INCLUDE\s*(.*)", content, re.IGNORECASE)
        if include is None:
            yield content
            continue
        name = include[1]
        while name[:1] in ("'", '"') and name.count(name[0]) < 2:  # a long name goes on in the next line
            more = next(rows, None)
            if more is None:
                raise InputError("it is cut off inside an INCLUDE")
            name += more.strip()
        inner, longer = included(chain[-1], name, chain)
        yield from _bulk(inner, longer)


def _split(line: str) -> tuple[list[str], bool]:
    """Split a line into its fields; tell whether it continues a card.

    >>> _split("GRID*                  1                             0.0             1.5*A")
    (['GRID', '1', '', '0.0', '1.5'], False)
    >>> _split("CQUAD4,6,4,4,1,14,15")
    (['CQUAD4', '6', '4', '4', '1', '14', '15'], False)
    """
    line = line.expandtabs(8)
    if "," in line:
        words = [word.strip() for word in line.split(",")]
        if len(words) > 9 and not words[0].endswith("*"):
            words = words[:9]  # the tenth names the line that follows
    elif line[:8].rstrip().endswith("*") or line.startswith("*"):
        words = [line[:8].strip(), *(line[k : k + 16].strip() for k in range(8, min(len(line), 72), 16))]
    else:
        words = [line[k : k + 8].strip() for k in range(0, min(len(line), 72), 8)]
    is_continuation = not words[0] or words[0][0] in "+*"
    return [words[0].rstrip("*_").upper(), *words[1:]], is_continuation  # meshio writes CHEXA_


def _field(card: list[str], place: int) -> str:
    return card[place] if place < len(card) else ""


def _integer(card: list[str], place: int, default: int | None = None) -> int:
    word = _field(card, place)
    if not word and default is not None:
        return default
    try:
        return int(word)
    except ValueError:
        raise InputError(f"its card {' '.join(card)[:60]!r} has {word!r} where an integer is expected") from None


def _number(word: str) -> float:
    """Return a number of Nastran's, which may lack the letter of its exponent.

    >>> _number("2.9+7"), _number("-1.5E-3"), _number("")
    (29000000.0, -0.0015, 0.0)
    """
    if not word:
        return 0.0
    try:
        return float(_EXPONENT.sub(r"e\1", word.upper().replace("D", "E")))
    except ValueError:
        raise InputError(f"it has {word[:40]!r} where a number is expected") from None


def _cell(card: list[str]) -> tuple[str, list[int]]:
    first, kinds = _ELEMENTS[card[0]]
    most = min(max(kinds), _CORNERS_ALONE.get(card[0], 99))
    words = [_field(card, first + k) for k in range(most)]
    least = min(kinds)
    middle = [word not in ("", "0") for word in words[least:]]
    size = least if not any(middle) else most
    if any(middle) and not all(middle):
        held = [k for k in kinds if all(middle[: k - least]) and not any(middle[k - least :])]
        if not held:
            raise InputError(f"its card {' '.join(card)[:60]!r} has some of its midside nodes, but not all")
        size = held[0]
    nodes = [_integer(card, first + k) for k in range(size)]
    kind = kinds[size]
    return kind, [nodes[k] for k in UPRIGHT_FIRST[kind]] if kind in UPRIGHT_FIRST else nodes

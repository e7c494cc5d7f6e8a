"""LS-DYNA keyword files (``.k``, ``.key``, ``.dyn``): nodes, elements, parts and sets, with the files they include."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.cells import cell_measures
from swwl.mesh.io.shared import Groups, Parts, groups_of_cells, joined_blocks, mesh_with_groups, refuse_empty
from swwl.mesh.io.text.lines import blocks_of, count_unknown, floats, included, integers, places, tell_unknown, text_of
from swwl.mesh.mesh import Mesh

_WITHOUT_SHAPE = ("DISCRETE", "MASS", "INERTIA", "SEATBELT", "PLOTEL", "SPH", "LANCING", "DIRECT")
# Options of elements that add one line to each; THICKNESS, BETA and MCID share theirs.
_ONE_MORE = {"SHELL": [("THICKNESS", "BETA", "MCID"), ("OFFSET",), ("DOF",)]}
_ONE_MORE["BEAM"] = [("THICKNESS",), ("SCALAR", "SCALR"), ("SECTION",), ("PID",), ("OFFSET",), ("ORIENTATION",)]
_ONE_MORE["SOLID"] = [("DOF",)]
_ONE_MORE["TSHELL"] = [("BETA",)]
_TWO_MORE = {"SOLID": ("ORTHO",)}


@dataclass
class _Deck:
    ids: list[int] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    elements: list[tuple[str, int, int, str, list[int]]] = field(default_factory=list)  # family, label, part, type
    parts: dict[int, str] = field(default_factory=dict)
    node_sets: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # first and last
    cell_sets: dict[str, tuple[str, list[tuple[int, int]]]] = field(default_factory=dict)
    segments: dict[str, list[list[int]]] = field(default_factory=dict)


@dataclass
class _Form:
    """How wide the fields of a card are: of numbers of nodes and elements, and of others."""

    label: int = 8
    other: int = 10
    number: int = 16


def read_dyna(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read the nodes and elements of a keyword file; parts, by their titles, and sets become groups."""
    return mesh_with_groups(read_deck(path))


def read_deck(path: Path) -> Parts:
    """Return what :func:`read_dyna` makes a mesh of."""
    refuse_empty(path)
    deck = _Deck()
    _read(text_of(path), [path], deck, _Form())
    if not deck.ids or not deck.elements:
        raise InputError(f"it has {len(deck.ids)} nodes and {len(deck.elements)} elements; both are needed")
    ids = np.array(deck.ids, np.int64)
    cells, order = joined_blocks(blocks_of([(kind, nodes) for _, _, _, kind, nodes in deck.elements], ids))
    if "wedge" in cells:
        cells["wedge"] = _larger(np.array(deck.points), cells["wedge"])
    part = np.array([element[2] for element in deck.elements], np.int64)[order]
    groups, lost = _groups(deck, ids, cells, part, order)
    tell_unknown(path, lost)
    return Parts(release(np.array(deck.points)), cells, {}, {"part": part}, groups)


def _larger(points: NDArray[np.float64], wedges: AnyArray) -> AnyArray:
    """Take the nodes of wedges as two triangles where that encloses more: so gmsh writes them, unlike LS-DYNA."""
    others = wedges[:, [0, 1, 4, 3, 2, 5]]
    own, other = (cell_measures(points, "wedge", cells.astype(np.int32)) for cells in (wedges, others))
    return release(np.where((other > 1.1 * own)[:, None], others, wedges))


def _groups(
    deck: _Deck, ids: NDArray[np.int64], cells: dict[str, AnyArray], part: AnyArray, order: NDArray[np.intp]
) -> tuple[Groups, dict[str, int]]:
    """Return parts and sets, and of sets how many nodes or elements they name that there are not."""
    groups: Groups = {}
    lost: dict[str, int] = {}
    for number in np.unique(part).tolist():
        title = deck.parts.get(number) or f"part {number}"
        name = title if title not in groups else f"{title} ({number})"
        groups[name] = groups_of_cells(cells, np.flatnonzero(part == number))
    for name, spans in deck.node_sets.items():
        groups.setdefault(name, np.flatnonzero(_inside(ids, spans)))
        lost[name] = count_unknown(ids, [first for first, last in spans if first == last])
    labels = np.array([element[1] for element in deck.elements], np.int64)[order]
    families = np.array([element[0] for element in deck.elements])[order]
    for name, (family, spans) in deck.cell_sets.items():
        inside = np.flatnonzero(_inside(labels, spans) & (families == family))
        groups.setdefault(name, groups_of_cells(cells, inside))
        own = labels[families == family]
        lost[name] = lost.get(name, 0) + count_unknown(own, [first for first, last in spans if first == last])
    for name, rows in deck.segments.items():
        by_type: dict[str, list[list[int]]] = {}
        for row in rows:
            corners = list(dict.fromkeys(number for number in row if number))
            kind = {2: "line", 3: "triangle", 4: "quad"}.get(len(corners))
            if kind:
                by_type.setdefault(kind, []).append(corners)
        groups.setdefault(name, {kind: places(ids, np.array(rows, np.int64)) for kind, rows in by_type.items()})
    return groups, lost


def _inside(labels: NDArray[np.int64], spans: list[tuple[int, int]]) -> NDArray[np.bool_]:
    singles = np.array([first for first, last in spans if first == last], np.int64)
    inside = np.isin(labels, singles)
    for first, last in spans:
        if first != last:
            inside |= (labels >= first) & (labels <= last)
    return inside


def _read(text: str, chain: list[Path], deck: _Deck, form: _Form) -> None:
    """Take in the keywords of a file and of those that it includes."""
    for keyword, cards in _keywords(text):
        if keyword.startswith("KEYWORD"):
            form = _form_of(keyword)
            continue
        own = _FORMS.get(keyword[-1:], form)
        keyword = keyword.rstrip("+-% ")
        name, _, options = keyword.partition("_")
        if keyword == "NODE":
            _nodes(cards, deck, own)
        elif keyword in ("NODE_TRANSFORM", "INCLUDE_TRANSFORM"):
            raise InputError(f"it moves nodes by *{keyword}, which is not supported; write a plain mesh")
        elif name == "ELEMENT":
            _elements(options.split("_"), cards, deck, own)
        elif name == "PART" and options != "MOVE":
            _parts(cards, deck, own, plain=not options)
        elif name == "SET":
            _set(options.split("_"), cards, deck, own)
        elif keyword == "INCLUDE":
            for file in _files(cards):
                inner, longer = included(chain[-1], file, chain)
                _read(inner, longer, deck, form)


_FORMS = {"+": _Form(20, 20, 20), "-": _Form(), "%": _Form(10)}


def _form_of(keyword: str) -> _Form:
    """Return the widths that the first line of a file settles."""
    if re.search(r"LONG\s*=\s*[YK]", keyword):
        return _FORMS["+"]
    return _FORMS["%" if re.search(r"I10\s*=\s*Y", keyword) else "-"]


def _keywords(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield keywords with the lines that follow, without comments."""
    keyword, cards = "", list[str]()
    for line in text.splitlines():
        if line.startswith("$"):
            continue
        if line.startswith("*"):
            if keyword:
                yield keyword, cards
            keyword, cards = line[1:].strip().upper(), []
            if keyword == "END":
                return
        else:
            cards.append(line.rstrip())
    if keyword:
        yield keyword, cards
    else:
        raise InputError("it is not a keyword file of LS-DYNA: no line begins with *")


def _fields(card: str, widths: list[int]) -> list[str]:
    """Split a card, which has commas or columns of given widths, the last of which repeats."""
    if "," in card:
        return [word.strip() for word in card.split(",")]
    words, place, number = [], 0, 0
    card = card.expandtabs(8)
    while place < len(card):
        width = widths[min(number, len(widths) - 1)]
        words.append(card[place : place + width].strip())
        place, number = place + width, number + 1
    return words


def _numbers(words: list[str], what: str) -> list[int]:
    return integers([word or "0" for word in words], what)


def _nodes(cards: list[str], deck: _Deck, form: _Form) -> None:
    for card in cards:
        if card.strip():
            words = _fields(card, [form.label, form.number, form.number, form.number, form.label])
            deck.ids += integers(words[:1], "a *NODE")
            words = [word or "0" for word in [*words[1:4], "", "", ""][:3]]
            deck.points.append(floats(words, f"its node {deck.ids[-1]}"))


def _elements(options: list[str], cards: list[str], deck: _Deck, form: _Form) -> None:
    family, given = options[0], set(options[1:])
    if family in _WITHOUT_SHAPE:
        return
    known = {option for same in _ONE_MORE.get(family, []) for option in same} | {*_TWO_MORE.get(family, ())}
    unknown = given - known - {"TET4TOTET10", "H8TOH20"}
    if family not in _ONE_MORE or unknown or given & {"TET4TOTET10", "H8TOH20"}:
        raise InputError(f"it has *ELEMENT_{'_'.join(options)[:60]}, which is not supported")
    more = sum(bool(given & {*same}) for same in _ONE_MORE[family]) + 2 * bool(given & {*_TWO_MORE.get(family, ())})
    cards = [card for card in cards if card.strip()]
    place = 0
    while place < len(cards):
        card = cards[place]
        place += 1
        while family == "SOLID" and card.count(",") > 10 and card.endswith(",") and place < len(cards):
            card += cards[place]  # gmsh cuts long cards after a comma
            place += 1
        numbers = _numbers(_fields(card, [form.label]), f"an *ELEMENT_{family}")
        if family == "SOLID" and len([n for n in numbers[2:] if n]) == 0:  # label and part stand alone
            if place >= len(cards):
                raise InputError(f"it is cut off: its element {numbers[:1]} has no nodes")
            numbers = [
                *(numbers + [0, 0])[:2],
                *_numbers(_fields(cards[place], [form.label]), f"its element {numbers[0]}"),
            ]
            place += 1
        if len(numbers) < 4:
            raise InputError(f"its element {numbers[:1]} has too few nodes")
        label, part, nodes = numbers[0], numbers[1], numbers[2:]
        extra = more
        if family == "SHELL" and more and len(nodes) > 4 and any(nodes[4:8]):
            extra += bool(given & {"THICKNESS", "BETA", "MCID"})  # thicknesses of the middles
        place += extra
        deck.elements.append((family, label, part, *_cell(family, nodes, label)))


def _cell(family: str, nodes: list[int], label: int) -> tuple[str, list[int]]:
    """Return the type and the nodes of an element; repeated nodes make it one with fewer corners."""
    if family == "BEAM":
        return "line", nodes[:2]  # what follows is a node that tells its orientation
    return _shell(nodes[:8]) if family == "SHELL" else _solid(nodes, label)


def _shell(nodes: list[int]) -> tuple[str, list[int]]:
    if any(nodes[4:]):
        if len(nodes) == 8 and nodes[3] != nodes[2] and all(nodes):
            return "quad8", nodes
        if nodes[3] in (nodes[2], 0) and len([node for node in nodes[4:] if node]) >= 3:
            return "triangle6", [*nodes[:3], *nodes[4:7]]
    corners = nodes[:4]
    if len(corners) == 3 or corners[3] in (0, corners[2]):
        return "triangle", corners[:3]
    return "quad", corners


def _solid(nodes: list[int], label: int) -> tuple[str, list[int]]:
    distinct = list(dict.fromkeys(node for node in nodes if node))
    filled = [node for node in nodes if node]
    if len(filled) == 10 and len(distinct) == 10:
        return "tetra10", filled
    if len(filled) == 20 and len(distinct) == 20:
        return "hexahedron20", filled
    kinds = {4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron"}
    kind = kinds.get(len(distinct)) if len(filled) in (4, 5, 6, 8) else None
    if kind is None:
        raise InputError(f"its element {label} has nodes {nodes[:10]}, which are not those of a known solid")
    if kind == "wedge" and len(filled) == 8:
        if filled[4] != filled[5] or filled[6] != filled[7]:
            if filled[2] == filled[3] and filled[6] == filled[7]:
                return kind, [*filled[:3], *filled[4:7]]
            raise InputError(f"its element {label} has nodes {nodes[:8]}, which are not those of a known solid")
        a, b, c, d, e, _, f, _ = filled
        return kind, [a, b, e, d, c, f]  # a roof over the base a b c d: triangles a b e and d c f
    return kind, distinct


def _parts(cards: list[str], deck: _Deck, form: _Form, plain: bool) -> None:
    """Take in titles of parts; with options a part has more cards, and the first two lines tell."""
    lines = [card for card in cards if card.strip()] if plain else cards[:2]
    for title, card in zip(lines[::2], lines[1::2], strict=False):
        number = _fields(card, [form.other])[:1]
        if number and number[0].isdecimal():
            deck.parts[int(number[0])] = title.strip()


def _set(options: list[str], cards: list[str], deck: _Deck, form: _Form) -> None:
    family, given = options[0], options[1:]
    titled = "TITLE" in given
    cards = [card for k, card in enumerate(cards) if card.strip() or (k == 0 and titled)]
    if family not in ("NODE", "SEGMENT", "SHELL", "SOLID", "BEAM", "TSHELL") or {"GENERAL", "ADD", "COLUMN"} & {*given}:
        return
    title = cards.pop(0).strip() if titled and cards else ""
    if not cards:
        return
    number = _fields(cards[0], [form.other])[0]
    kind = family.lower()
    name = title or f"{kind} set {number}"
    rows = [_numbers([w for w in _fields(card, [form.other]) if w], f"its set {name!r}") if family != "SEGMENT"
            else _numbers(_fields(card, [form.other])[:4], f"its set {name!r}") for card in cards[1:]]  # fmt: skip
    if family == "SEGMENT":
        deck.segments[name] = rows
        return
    members = [number for row in rows for number in row if number]
    generated = "GENERATE" in given
    spans = list(zip(members[::2], members[1::2], strict=False)) if generated else [(m, m) for m in members]
    if family == "NODE":
        deck.node_sets[name] = spans
    else:
        deck.cell_sets[name] = (family, spans)


def _files(cards: list[str]) -> Iterator[str]:
    """Yield the names of included files; a long one goes on in the next line after " +"."""
    name = ""
    for card in cards:
        if card.strip():
            name += card.strip().removesuffix(" +") if card.rstrip().endswith(" +") else card.strip()
            if not card.rstrip().endswith(" +"):
                yield name
                name = ""

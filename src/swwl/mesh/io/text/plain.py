"""Small text formats: AVS UCD, the first format of Gmsh, TetGen, Wavefront OBJ, and triangles as well-known text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MissingFileError
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.cells import cell_dimension
from swwl.mesh.io.shared import Budget, NamedSets, Piece, UnsupportedError, join, refuse_empty, tagged_groups
from swwl.mesh.io.text.lines import blocks_of, floats, integers, places, text_of
from swwl.mesh.mesh import Mesh

# AVS: meshio's name, and VTK's order of nodes in terms of that of AVS, where the top comes first.
_AVS = {
    "pt": ("vertex", [0]),
    "line": ("line", [0, 1]),
    "tri": ("triangle", [0, 1, 2]),
    "quad": ("quad", [0, 1, 2, 3]),
    "tet": ("tetra", [0, 1, 3, 2]),
    "pyr": ("pyramid", [1, 2, 3, 4, 0]),
    "prism": ("wedge", [3, 4, 5, 0, 1, 2]),
    "hex": ("hexahedron", [4, 5, 6, 7, 0, 1, 2, 3]),
}
_GMSH = {1: "line", 2: "triangle", 3: "quad", 4: "tetra", 5: "hexahedron", 6: "wedge", 7: "pyramid", 15: "vertex"}
_GMSH |= {8: "line3", 9: "triangle6", 10: "quad9", 11: "tetra10", 16: "quad8"}


class _Lines:
    """The words of the lines of a text, without blank ones and comments."""

    def __init__(self, text: str, comment: str | None = "#"):
        lines = (line.partition(comment)[0] if comment else line for line in text.splitlines())
        self._words = (words for line in lines if (words := line.split()))

    def next(self, what: str) -> list[str]:
        """Return those of the next line."""
        words = next(self._words, None)
        if words is None:
            raise InputError(f"it is cut off: it ends where {what} is expected")
        return words

    def __iter__(self) -> Iterator[list[str]]:
        return self._words


def _count(word: str, what: str, limit: int) -> int:
    """Return a number of things, of which each takes some letters of the file."""
    (number,) = integers([word], what)
    if not 0 <= number <= limit:
        raise InputError(f"{what} declares {number}, which the file is too short for")
    return number


def is_avs(path: Path) -> bool:
    """Whether an ``.inp`` file is of AVS and not of Abaqus: its first line has five numbers, and no asterisk."""
    with open(path, "rb") as file:
        start = file.read(4096).decode("latin-1")
    first = next((line for line in start.splitlines() if line.strip() and not line.startswith("#")), "")
    return start[:1] == "\7" or re.fullmatch(r"\s*\d+(\s+\d+){2,4}\s*", first) is not None


def read_avs(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read an AVS UCD file, the text form."""
    refuse_empty(path)
    with open(path, "rb") as file:
        if file.read(1) == b"\7":
            raise UnsupportedError("it is a binary AVS UCD file, which is not supported; save it as text")
    text = text_of(path)
    lines = _Lines(text)
    head = [_count(word, "its first line", len(text)) for word in lines.next("the number of nodes")]
    if len(head) < 2:
        raise InputError("its first line does not give the numbers of nodes and cells")
    n_nodes, n_cells, n_node_data, n_cell_data = [*head, 0, 0, 0][:4]
    rows = [lines.next("a node") for _ in range(n_nodes)]
    ids = np.array([integers(row[:1], "a node")[0] for row in rows], np.int64)
    points = np.array([[*floats(row[1:4], "a node"), 0.0, 0.0, 0.0][:3] for row in rows]).reshape(-1, 3)
    cells, numbers, materials = [], [], []
    for _ in range(n_cells):
        row = lines.next("a cell")
        kind, order = _AVS.get(row[2].lower() if len(row) > 2 else "", ("", []))
        if not kind or len(row) != 3 + len(order):
            raise InputError(f"it has an unknown cell {' '.join(row)[:60]!r}")
        nodes = integers(row[3:], "a cell")
        cells.append((kind, [nodes[k] for k in order]))
        numbers.append(integers(row[:1], "a cell")[0])
        materials += integers(row[1:2], "a cell")
    of_nodes = _avs_data(lines, ids, n_node_data)
    of_cells = _avs_data(lines, np.array(numbers, np.int64), n_cell_data)
    of_cells |= {"Material Id": np.array(materials)} if materials else {}
    blocks = blocks_of(cells, ids)
    return Mesh(release(points), blocks or {}, _chosen(of_nodes, fields), cell_fields=_chosen(of_cells, fields))


def _chosen(found: dict[str, AnyArray], wanted: Collection[str] | None) -> dict[str, AnyArray]:
    return {name: values for name, values in found.items() if wanted is None or name in wanted}


def _avs_data(lines: _Lines, ids: NDArray[np.int64], count: int) -> dict[str, AnyArray]:
    if not count:
        return {}
    _, *widths = (_count(word, "a number of components", count) for word in lines.next("the data"))
    if sum(widths) != count:
        raise InputError(f"its head declares {count} numbers of data, but its fields {sum(widths)}")
    names = [" ".join(lines.next("the name of a field")).partition(",")[0].strip() for _ in widths]
    rows = [lines.next("a value") for _ in ids]
    values = np.array([floats(row[1:], "a value") for row in rows if len(row) == 1 + sum(widths)])
    if len(values) != len(ids):
        raise InputError(f"its data do not have {sum(widths)} numbers in every line")
    values = values[places(np.array([integers(row[:1], "a value")[0] for row in rows]), ids)]
    ends = np.cumsum(widths)
    parts = [values[:, end - width : end] for width, end in zip(widths, ends, strict=True)]
    return {name: part[:, 0] if part.shape[1] == 1 else part for name, part in zip(names, parts, strict=True)}


def read_gmsh1(path: Path) -> Mesh:
    """Read a file of the first format of Gmsh: ``$NOD`` and ``$ELM``."""
    text = text_of(path)
    lines = _Lines(text, comment=None)
    ids, points = np.empty(0, np.int64), np.empty((0, 3))
    cells, physical, geometrical = [], [], []
    for words in lines:
        if words[0] not in ("$NOD", "$ELM"):
            continue
        rows = [lines.next("a node or element") for _ in range(_count(lines.next("a count")[0], words[0], len(text)))]
        if words[0] == "$NOD":
            ids = np.array([integers(row[:1], "a node")[0] for row in rows], np.int64)
            points = np.array([[*floats(row[1:4], "a node"), 0.0, 0.0, 0.0][:3] for row in rows]).reshape(-1, 3)
            continue
        for row in rows:
            if len(row) < 6:
                raise InputError(f"it is cut off, or its element {' '.join(row)[:60]!r} is too short")
            _, kind, phys, geom, size, *nodes = integers(row, "an element")
            if kind not in _GMSH or len(nodes) != size:
                raise InputError(f"it has an element {' '.join(row)[:60]!r} of unknown type")
            if kind == 11:  # the last two nodes of a tetrahedron of ten change places
                nodes[8:] = nodes[9], nodes[8]
            cells.append((_GMSH[kind], nodes))
            physical.append(phys)
            geometrical.append(geom)
    tags = {"gmsh:physical": np.array(physical), "gmsh:geometrical": np.array(geometrical)} if cells else {}
    blocks, sets = blocks_of(cells, ids), NamedSets()
    if cells:
        dimensions = np.array([cell_dimension(kind) for kind, _ in cells])
        for name, chosen in tagged_groups(tags["gmsh:physical"], dimensions, {}):
            sets.add_elements(name, blocks, chosen)
    return join([Piece(release(points), list(blocks), {}, tags, sets)])


def read_tetgen(path: Path) -> Mesh:
    """Read a mesh of TetGen or Triangle: two files, ``.node`` and ``.ele``, of which either may be given."""
    refuse_empty(path)
    tables = []
    for suffix, least in ((".node", 3), (".ele", 4)):
        file = next((path.with_suffix(s) for s in (suffix, suffix.upper()) if path.with_suffix(s).is_file()), None)
        if file is None:
            raise MissingFileError(f"it needs a file {path.with_suffix(suffix).name} beside it, which is missing.")
        text = text_of(file)
        lines = _Lines(text)
        head = integers(lines.next(f"the head of {file.name}"), f"the head of {file.name}")
        rows = [lines.next(f"a line of {file.name}") for _ in range(_count(str(head[0]), file.name, len(text)))]
        if len(head) < 2 or any(len(row) < least for row in rows) or len({len(row) for row in rows}) > 1:
            raise InputError(f"the lines of {file.name} are not as long as its head says")
        tables.append((head, rows))
    ((_, d, *_), nodes), ((_, size, *_), elements) = tables
    kind = {(2, 3): "triangle", (2, 6): "triangle6", (3, 4): "tetra", (3, 10): "tetra10"}.get((d, size), "")
    if not kind or (elements and len(elements[0]) < 1 + size) or (nodes and len(nodes[0]) < 1 + d):
        raise InputError(f"it has cells of {size} nodes in {d} dimensions, which are unknown or incomplete")
    if size > 4:
        raise UnsupportedError("it has cells of the second order, which are not supported")
    ids = np.array([integers(row[:1], "a node")[0] for row in nodes], np.int64)
    values = np.array([floats(row[1:], "a node") for row in nodes])
    cells = blocks_of([(kind, integers(row[1 : 1 + size], "a cell")) for row in elements], ids)
    return Mesh(
        release(values[:, :d].copy()),
        cells or {},
        {f"tetgen:{k}": values[:, d + k] for k in range(values.shape[1] - d)},
    )


def read_wkt(path: Path) -> Mesh:
    """Read triangles as well-known text: ``TIN (((x y z, x y z, x y z, x y z)), ...)``."""
    refuse_empty(path)
    text = text_of(path).strip()
    inside = re.fullmatch(r"TIN\s*+Z?\s*+\((.*)\)", text, re.DOTALL | re.IGNORECASE)
    if inside is None:
        raise InputError("it is not a TIN of well-known text")
    triangles = re.findall(r"\(\s*+\(([^()]*+)\)\s*+\)", inside[1])
    if re.sub(r"[\s,]", "", re.sub(r"\(\s*+\(([^()]*+)\)\s*+\)", "", inside[1])):
        raise InputError("it holds something between its triangles")
    Budget(len(text)).take(32 * text.count(","))
    rings = [[tuple(floats(point.split(), "a point")) for point in ring.split(",")] for ring in triangles]
    numbers: dict[tuple[float, ...], int] = {}
    cells = []
    for ring in rings:
        if len(ring) != 4 or ring[0] != ring[-1]:
            raise InputError("one of its triangles is not a closed line of three points")
        cells.append([numbers.setdefault(point, len(numbers)) for point in ring[:3]])
    if len({len(point) for point in numbers}) > 1:
        raise InputError("some of its points have more coordinates than others")
    return Mesh(np.array(list(numbers)), {"triangle": np.array(cells, np.int64).reshape(-1, 3)})


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
                raise InputError(f"a vertex has {len(point)} coordinates, but 3 are expected")
            points.append(point)
        elif words[0] in ("f", "l"):
            corners = [_vertex(word, len(points)) for word in words[1:]]
            if words[0] == "l":
                cells += [("line", list(pair)) for pair in zip(corners[:-1], corners[1:], strict=True)]
            elif len(corners) < 3:
                raise InputError(f"a face has {len(corners)} corners, but at least 3 are expected")
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

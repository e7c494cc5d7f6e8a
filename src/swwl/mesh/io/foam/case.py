"""OpenFOAM cases as folders: the mesh at a time, fields of cells and points, patches and zones as groups.

Decomposed cases are joined. ``files.py`` reads the files, :mod:`swwl.mesh.io.faces` makes cells of faces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from swwl.errors import InputError, located
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.io.faces import Ints, Solids, fan, solid_cells
from swwl.mesh.io.foam.files import FoamFile, dictionaries, found, open_foam
from swwl.mesh.io.shared import Fields, Groups, Parts, groups_of_cells

_TIME = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_FIELD = re.compile(r"(vol|point)(Scalar|Vector|SphericalTensor|SymmTensor|Tensor)Field(?:::Internal)?")
_WIDTH = {"Scalar": 1, "Vector": 3, "SphericalTensor": 1, "SymmTensor": 6, "Tensor": 9}
_VTK_ORDER = [0, 3, 5, 1, 4, 2]  # OpenFOAM lists xx xy xz yy yz zz
_CLASS = re.compile(rb"class\s++([\w:]++)\s*+;")
_VALUES = re.compile(rb"(?:internalField|^value)\s++(uniform|nonuniform)\b\s*+(?:List<\w++>)?", re.MULTILINE)
_ZONE = re.compile(rb"([\w.:+-]++)\s*+\{\s*+type\s++cellZone\s*+;\s*+cellLabels\s++(?:List<label>)?")
_MESH_FILES = ["points", "faces", "owner", "neighbour", "boundary", "cellZones"]
_MESH_FILES += ["pointProcAddressing", "cellProcAddressing"]
_COUPLED = ("processor", "processorCyclic")


def case_folder(path: Path) -> Path:
    """Return the folder of a case: itself, or that of its ``.foam`` file."""
    return path if path.is_dir() else path.parent


def is_case(folder: Path) -> bool:
    """Whether a folder holds a mesh of OpenFOAM, whole or decomposed."""
    return folder.is_dir() and any(_has_mesh(root) for root in (folder, *_processors(folder)[:1]))


def times_of(path: Path) -> list[float]:
    """Return the times of a case, whole or decomposed, in order."""
    folder = case_folder(path)
    return sorted({time for root in (folder, *_processors(folder)) for time in _times(root)})


def files_of(path: Path, step: int = -1) -> list[Path]:
    """Return the files that a time of a case is read from, in order; the last by default."""
    folder = case_folder(path)
    times = times_of(folder)
    time = times[step] if times else None
    files: list[Path] = []
    for root in _roots(folder, time):
        files += [file for name in _MESH_FILES if (file := _instance(root, name, time)) is not None]
        at = _times(root).get(time) if time is not None else None
        files += sorted(file for file in at.iterdir() if file.is_file()) if at is not None else []
    return files


def read_case(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Parts:
    """Read a case at one of its times.

    Parameters
    ----------
    path : Path
        The folder, or its ``.foam`` file.
    fields : collection of str, optional
        Names of the requested fields; others are not read. All by default.
    step : int
        Which of :func:`times_of`; the last by default.
    """
    folder = case_folder(path)
    if not is_case(folder):
        raise InputError(why_no_case(folder))
    times = times_of(folder)
    time = times[step] if times else None
    regions = [_Region(root, time, fields) for root in _roots(folder, time)]
    _check_neighbors(regions)
    return _joined(regions)


def is_set_up(folder: Path) -> bool:
    """Whether a folder is a case of OpenFOAM by its settings, with a mesh or without."""
    marks = ("system/controlDict", "system/controlDict.gz", "constant/*/polyMesh", "processors*/")
    return folder.is_dir() and any(any(folder.glob(mark)) for mark in marks)


def why_no_case(folder: Path) -> str:
    """Say why a folder is not a case whose mesh can be read."""
    regions = [p.parent.name for p in sorted(folder.glob("constant/*/polyMesh"))]
    if regions:
        return f"it is an OpenFOAM case of several regions ({', '.join(regions)[:80]}), which is not supported"
    if any(folder.glob("processors*/")):
        return "it is an OpenFOAM case decomposed in collated form, which is not supported; run reconstructPar"
    if found(folder / "system" / "controlDict"):
        return "it is a case of OpenFOAM without a mesh (constant/polyMesh): run blockMesh, or its mesher"
    return (
        "is a folder, but not an OpenFOAM case: neither constant/polyMesh nor processor0/constant/polyMesh is in it; "
        "expected is a mesh file or a case."
    )


def _processors(folder: Path) -> list[Path]:
    named = [(int(p.name[9:]), p) for p in folder.glob("processor*") if p.name[9:].isdecimal() and p.is_dir()]
    return [p for _, p in sorted(named)]


def _has_mesh(root: Path) -> bool:
    return any(found(at / "polyMesh" / "faces") for at in (root / "constant", *_times(root).values()))


def _times(root: Path) -> dict[float, Path]:
    return {float(p.name): p for p in root.iterdir() if _TIME.fullmatch(p.name) and p.is_dir()}


def _roots(folder: Path, time: float | None) -> list[Path]:
    """Return the folders to read: the whole case where it has the time, or else its processors'."""
    processors = [root for root in _processors(folder) if _has_mesh(root)]
    whole = _has_mesh(folder)
    if not processors or (whole and (time is None or _holds_fields(_times(folder).get(time)))):
        return [folder]
    _check_processors(processors, time)
    return processors


def _check_processors(roots: list[Path], time: float | None) -> None:
    """Refuse a decomposed case that lacks a processor, or a time of one that others have."""
    numbers = [int(root.name[9:]) for root in roots]
    missing = [f"processor{k}" for k in range(numbers[-1]) if k not in numbers]
    if missing:
        raise InputError(f"it is decomposed up to {roots[-1].name}, but has no mesh of {_listed(missing)}")
    late = [root.name for root in roots if time not in _times(root)]
    if time is not None and 0 < len(late) < len(roots):
        have = "has" if len(late) == 1 else "have"
        raise InputError(f"its {_listed(late)} {have} no time {time:g}, which others have ({len(roots) - len(late)})")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


def _holds_fields(at: Path | None) -> bool:
    return at is not None and any(True for _ in _field_files(at, None))


def _instance(root: Path, name: str, time: float | None) -> Path | None:
    """Return a file of the mesh: the latest at or before a time, or else the constant one."""
    times = _times(root) if time is not None else {}
    at = [times[t] for t in sorted(times, reverse=True) if time is not None and t <= time]
    return next((file for place in (*at, root / "constant") if (file := found(place / "polyMesh" / name))), None)


# What people and editors put behind the names of copies of fields; cases come with U.orig, too.
_COPIES = (".bak", ".old", ".orig", ".save", ".tmp", "~")


def _field_files(at: Path, wanted: Collection[str] | None) -> Iterator[tuple[str, Path, str, str]]:
    """Yield the fields of a time: name, file without ".gz", "vol" or "point", kind of value."""
    for file in sorted(at.iterdir()):
        name = file.name.removesuffix(".gz")
        if name.startswith(".") or not file.is_file() or (wanted is not None and name not in wanted):
            continue
        if wanted is None and name.endswith(_COPIES):
            continue
        plain = at / name
        if file.name != name and plain.is_file():
            continue
        kind = _class_of(file)
        match = _FIELD.fullmatch(kind)
        if match:
            yield name, plain, match[1], match[2]


def _class_of(file: Path) -> str:
    """Return what a file says it holds, without reading all of it where it is not packed."""
    with open(file, "rb") as opened:
        start = opened.read(4096)
    if start[:2] == b"\x1f\x8b":
        with located(file.name):
            return open_foam(file.with_name(file.name.removesuffix(".gz"))).kind
    match = _CLASS.search(start)
    return match[1].decode("latin-1") if match and b"FoamFile" in start else ""


class _Region:
    """A mesh with its fields: of a whole case, or of one processor."""

    def __init__(self, root: Path, time: float | None, wanted: Collection[str] | None):
        self._root, self._time = root, time
        self.points = self._read("points", lambda file: file.scalars(3, "the list of its points"))
        self._starts, self._nodes = self._read("faces", lambda file: file.faces("the list of its faces"))
        owner = self._read("owner", lambda file: file.labels("the list of owners"))
        neighbour = self._read("neighbour", lambda file: file.labels("the list of neighbors"))
        n_faces = len(self._starts) - 1
        if len(owner) != n_faces or len(neighbour) > n_faces:
            raise InputError(f"its mesh has {n_faces} faces, but {len(owner)} owners and {len(neighbour)} neighbors")
        self.n_cells = int(max(owner.max(initial=-1), neighbour.max(initial=-1))) + 1
        if owner.min(initial=0) < 0 or 4 * self.n_cells > 2 * n_faces:
            raise InputError(f"its faces name cell {self.n_cells - 1}, but {n_faces} faces cannot enclose as many")
        if len(self._nodes) and not 0 <= self._nodes.min() <= self._nodes.max() < len(self.points):
            raise InputError(f"its faces name a point that is not one of its {len(self.points)}")
        self._sides = np.full((n_faces, 2), -1, np.int64)
        self._sides[:, 0] = owner
        self._sides[: len(neighbour), 1] = np.maximum(neighbour, -1)
        self.solids = self._cells()
        self.patches = {name: (kind, span) for name, kind, span in self._patches()}
        self.fields, self.cell_fields = self._fields(wanted)

    def _read(self, name: str, take):  # type: ignore[no-untyped-def]
        file = _instance(self._root, name, self._time)
        if file is None:
            raise InputError(f"its mesh has no file {name!r} (neither {name} nor {name}.gz in constant/polyMesh)")
        with located(self._said(file)):
            return take(open_foam(file.with_name(name)))

    def _said(self, file: Path) -> str:
        return file.relative_to(self._root).as_posix()

    def _cells(self) -> Solids:
        sizes = np.diff(self._starts)
        by_size = []
        for size in np.unique(sizes):
            chosen = np.flatnonzero(sizes == size)
            by_size.append((self._nodes[self._starts[chosen][:, None] + np.arange(size)], self._sides[chosen]))
        return solid_cells(self.points, by_size, self.n_cells)

    def _patches(self) -> Iterator[tuple[str, str, range]]:
        for name, entry in self._read("boundary", dictionaries).items():
            try:
                start, count = int(entry["startFace"]), int(entry["nFaces"])
            except (KeyError, ValueError):
                continue
            if start < 0 or count < 0 or start + count > len(self._sides):
                raise InputError(f"its patch {name!r} has faces {start} to {start + count}, of {len(self._sides)}")
            yield name, entry.get("type", "patch"), range(start, start + count)

    def faces(self, span: range) -> list[Ints]:
        """Return the nodes of a patch's faces, one array for each number of corners."""
        starts = self._starts[span.start : span.stop + 1]
        sizes = np.diff(starts)
        return [
            self._nodes[starts[:-1][sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes).tolist()
        ]

    def rows(self, span: range) -> list[Ints]:
        """Return the nodes of faces one by one."""
        return [self._nodes[self._starts[k] : self._starts[k + 1]] for k in span]

    def addressing(self, name: str, length: int) -> Ints | None:
        """Return the numbers of points or cells in the whole case, if they are known."""
        file = _instance(self._root, name, self._time)
        if file is None:
            return None
        numbers: Ints = self._read(name, lambda opened: opened.labels(name))
        if len(numbers) != length or numbers.min(initial=0) < 0:
            raise InputError(f"its {name} has {len(numbers)} entries for {length}")
        return numbers

    @cached_property
    def zones(self) -> dict[str, Ints]:
        """The cells of zones."""
        if _instance(self._root, "cellZones", self._time) is None:
            return {}
        zones: dict[str, Ints] = self._read("cellZones", _cell_zones)
        for name, cells in zones.items():
            if len(cells) and not 0 <= cells.min() <= cells.max() < self.n_cells:
                raise InputError(f"its zone {name!r} names a cell that is not one of its {self.n_cells}")
        return zones

    def _fields(self, wanted: Collection[str] | None) -> tuple[Fields, Fields]:
        at = _times(self._root).get(self._time) if self._time is not None else None
        of_points: Fields = {}
        of_cells: Fields = {}
        for name, file, place, kind in _field_files(at, wanted) if at is not None else ():
            length = self.n_cells if place == "vol" else len(self.points)
            with located(self._said(file)):
                values = _values(open_foam(file), _WIDTH[kind], length)
            if values is None:
                continue
            if kind == "SymmTensor":
                values = values[:, _VTK_ORDER]
            (of_cells if place == "vol" else of_points)[name] = values[:, 0] if values.shape[1] == 1 else values
        return of_points, of_cells


def _values(file: FoamFile, width: int, length: int) -> AnyArray | None:
    """Return the inner values of a field; None where they are not written out (macros, included files)."""
    match = _VALUES.search(file.data, file.place)
    if match is None:
        return None
    file.place = match.end()
    if match[1] == b"nonuniform":
        values = file.scalars(width, "the field")
        if len(values) != length:
            raise InputError(f"the field has {len(values)} values, but {length} are expected")
        return values
    end = file.data.find(b";", file.place)
    text = file.data[file.place : end].strip()
    if end < 0 or len(text) > 1000 or re.search(rb"[$#]", text):
        return None
    words = text.replace(b"(", b" ").replace(b")", b" ").split()
    try:
        row = np.array([float(word) for word in words])
    except ValueError:
        return None
    if len(row) != width:
        raise InputError(f"the field's uniform value {text[:40]!r} does not have {width} numbers")
    return np.tile(row, (length, 1))


def _cell_zones(file: FoamFile) -> dict[str, Ints]:
    zones = {}
    while (match := _ZONE.search(file.data, file.place)) is not None:
        file.place = match.end()
        name = match[1].decode("latin-1")
        zones[name] = file.labels(f"the zone {name!r}")
    return zones


@dataclass
class _Numbers:
    """Numbers in the whole case: of every region's points and cells, and how many there are."""

    points: list[Ints]
    n_points: int
    cells: list[Ints]


def _joined(regions: list[_Region]) -> Parts:
    """Make one mesh of a whole case, or of the regions of all processors."""
    numbers = _numbers(regions)
    centers = np.cumsum([numbers.n_points, *(len(region.solids.split) for region in regions)])
    maps = [
        np.concatenate([points, np.arange(start, end)])
        for points, start, end in zip(numbers.points, centers[:-1], centers[1:], strict=True)
    ]

    def of_points(parts: list[AnyArray]) -> AnyArray:
        extended = [region.solids.with_centers(part) for region, part in zip(regions, parts, strict=True)]
        whole = np.full((int(centers[-1]), *parts[0].shape[1:]), np.nan)
        for place, part in zip(maps, extended, strict=True):
            whole[place] = part
        return release(whole)

    blocks: dict[str, list[tuple[Ints, Ints, Ints]]] = {}  # nodes, cells of the whole case, their order as they come
    come = 0
    for region, place, cells in zip(regions, maps, numbers.cells, strict=True):
        first = 0
        for kind, nodes in region.solids.blocks:
            source = cells[region.solids.source[first : first + len(nodes)]]
            blocks.setdefault(kind, []).append((place[nodes], source, np.arange(come, come + len(nodes))))
            first, come = first + len(nodes), come + len(nodes)
    whole_cells, order, whole_source = {}, [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for kind, parts in blocks.items():
        nodes, source, came = (np.concatenate(part) for part in zip(*parts, strict=True))
        by_number = np.argsort(source, kind="stable")
        whole_cells[kind] = release(nodes[by_number])
        order.append(came[by_number])
        whole_source.append(source[by_number])
    as_they_came = np.concatenate(order)

    def of_cells(parts: list[AnyArray]) -> AnyArray:
        spread = [part[region.solids.source] for region, part in zip(regions, parts, strict=True)]
        return release(np.concatenate(spread)[as_they_came])

    return Parts(
        of_points([region.points for region in regions]),
        whole_cells,
        {name: of_points([r.fields[name] for r in regions]) for name in _common([r.fields for r in regions])},
        {name: of_cells([r.cell_fields[name] for r in regions]) for name in _common([r.cell_fields for r in regions])},
        _groups(regions, maps, numbers.cells, whole_cells, np.concatenate(whole_source)),
    )


def _common(parts: list[Fields]) -> list[str]:
    return [name for name in parts[0] if all(name in part for part in parts)]


def _groups(
    regions: list[_Region], maps: list[Ints], cells: list[Ints], whole: dict[str, AnyArray], source: Ints
) -> Groups:
    """Return patches, but not those between processors, as faces; and zones as cells."""
    faces: dict[str, dict[str, list[AnyArray]]] = {}
    zones: dict[str, list[Ints]] = {}
    for region, place, numbers in zip(regions, maps, cells, strict=True):
        for name, (kind, span) in region.patches.items():
            for nodes in region.faces(span) if kind not in _COUPLED else ():
                # larger faces bound polyhedra, which are cut there
                corners = place[nodes if nodes.shape[1] <= 4 else fan(nodes)]
                by_type = faces.setdefault(name, {})
                by_type.setdefault({3: "triangle", 4: "quad"}[corners.shape[1]], []).append(corners)
        for name, inside in region.zones.items():
            zones.setdefault(name, []).append(numbers[inside])
    groups: Groups = {
        name: {kind: np.concatenate(parts) for kind, parts in by_type.items()} for name, by_type in faces.items()
    }
    for name, parts in zones.items():
        chosen = np.flatnonzero(np.isin(source, np.concatenate(parts)))
        groups.setdefault(name, groups_of_cells(whole, chosen))
    return groups


def _check_neighbors(regions: list[_Region]) -> None:
    """Refuse processors whose patches name one that is not there."""
    pairs = [
        re.match(r"procBoundary(\d+)to(\d+)", name)
        for region in regions
        for name, (kind, _) in region.patches.items()
        if kind in _COUPLED
    ]
    most = max((int(number) for pair in pairs if pair for number in pair.groups()), default=0)
    if 1 < len(regions) <= most:
        raise InputError(f"its processors share faces with processor{most}, which is not there")


def _numbers(regions: list[_Region]) -> _Numbers:
    """Give numbers to points and cells of all processors: those of the whole case, if they are known, or new ones."""
    counts = [len(region.points) for region in regions]
    n_cells = [region.n_cells for region in regions]
    if len(regions) == 1:
        return _Numbers([np.arange(counts[0])], counts[0], [np.arange(n_cells[0])])
    points = [region.addressing("pointProcAddressing", len(region.points)) for region in regions]
    cells = [region.addressing("cellProcAddressing", region.n_cells) for region in regions]
    starts = np.cumsum([0, *n_cells])
    known_cells = [c for c in cells if c is not None]
    if len(known_cells) < len(regions):
        known_cells = [np.arange(a, b) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    known = [p for p in points if p is not None]
    if len(known) < len(regions):
        known = _merged(regions, counts)
    used = np.unique(np.concatenate(known), return_inverse=True)
    number = np.split(used[1].reshape(-1), np.cumsum(counts)[:-1])
    return _Numbers(number, len(used[0]), known_cells)


def _merged(regions: list[_Region], counts: list[int]) -> list[Ints]:
    """Give numbers to points so that those of faces that two processors share are the same.

    Both list the faces between them in the same order, and each face from the same node on, in opposite directions.
    """
    starts = np.cumsum([0, *counts])
    shared: dict[tuple[str, str], list[Ints]] = {}
    for number, region in enumerate(regions):
        for name, (kind, span) in region.patches.items():
            match = re.match(r"procBoundary(\d+)to(\d+)(.*)", name) if kind in _COUPLED else None
            if match and kind == "processor":
                low, high = sorted((int(match[1]), int(match[2])))
                rows = region.rows(span)
                turned = [np.roll(row[::-1], 1) for row in rows] if int(match[1]) == high else rows
                nodes = np.concatenate([np.empty(0, np.int64), *turned]) + starts[number]
                shared.setdefault((f"{low}-{high}", match[3]), []).append(nodes)
    pairs = [np.empty((0, 2), np.int64)]
    for key, sides in shared.items():
        if len(sides) != 2 or len(sides[0]) != len(sides[1]):
            raise InputError(f"its processors {key[0]} do not list the same faces between them")
        pairs.append(np.column_stack(sides))
    joined = np.concatenate(pairs)
    total = int(starts[-1])
    graph = sparse.coo_array((np.ones(len(joined), bool), (joined[:, 0], joined[:, 1])), (total, total))
    _, label = connected_components(graph, directed=False)
    # the lowest point of each names it, so that points keep their order
    first: NDArray[np.int64] = np.full(total, total, np.int64)
    np.minimum.at(first, label, np.arange(total))
    return np.split(first[label], starts[1:-1])

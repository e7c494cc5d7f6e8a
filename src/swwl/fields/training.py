"""Meshes of a field regressor: read once, checked and described; what the geometry of training meshes has in common.

:class:`TableMeshes` reads a column of meshes and keeps them for whoever needs them next: descriptors, kernels,
predictions. :func:`load_training` looks at all training meshes and takes their fields; :class:`Geometry` is what it
settles of them, by which new meshes are checked and described.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MeshWarning, PlaneMeshWarning
from swwl.fields.candidates import Settings
from swwl.fields.coding import MOST_SCORED, FieldData, JudgedCells, scored_nodes
from swwl.fields.geometry.descriptors import Blocks, Describer, check_recipe, has_normals
from swwl.fields.geometry.groups import common_groups, group_gaps, inner_bodies
from swwl.fields.geometry.walls import inner_loops, loop_features
from swwl.fields.numbers import NodalWeights, force_kind, group_forces, node_shares
from swwl.fields.sizes import field_sizes
from swwl.fields.values import WARPS, FieldKind, kept_limits, node_weights
from swwl.mesh.io import as_mesh
from swwl.mesh.io.convert import MeshFile
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.clean import cleaned
from swwl.mesh.remesh.plane import flattened, same_thickness, thickness_of
from swwl.parallel import Progress, check_jobs, in_threads
from swwl.storage.memory import Memory, fingerprint

if TYPE_CHECKING:
    from swwl.fields.estimator import FieldRegressor

Array = NDArray[np.float64]
Codes = NDArray[np.uint64]
Found = TypeVar("Found")

N_MODES = 30
_FEWEST = 4
# With this share of cells in common nodes correspond; meshes of independent nodes share hardly any.
_LEAST_SHARE = 0.5
# So many nodes of mesh files stay in memory from one look at them to the next; other files are read again.
_MOST_NODES_KEPT = 10_000_000
# Values on a group that differ by less than this part of the range of a field are the same.
_SAME_VALUE = 1e-6


class TableMeshes:
    """A column of meshes, of which every file is read once, as far as memory permits.

    Parameters
    ----------
    items : sequence of Mesh or path
        Or anything else that :func:`swwl.as_mesh` takes.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    plane : bool
        Whether meshes one cell thick are taken for plane ones.
    """

    def __init__(self, items: Sequence[object], n_jobs: int | None, plane: bool = False):
        check_jobs(1 if n_jobs is None else n_jobs)
        files = {os.fspath(item): MeshFile(item) for item in items if isinstance(item, (str, os.PathLike))}
        self._items = [files[os.fspath(item)] if isinstance(item, (str, os.PathLike)) else item for item in items]
        self._n_jobs = n_jobs
        self._kept: set[MeshFile] = set()
        self._room = _MOST_NODES_KEPT
        self._thick: set[int] = set()
        self.plane = plane

    def __len__(self) -> int:
        return len(self._items)

    def first(self) -> Mesh:
        """Return the first mesh, as it is learned from."""
        return learned_mesh(0, mesh_of(0, self._items[0]), self.plane)

    def settle_plane(self) -> None:
        """Find out whether all meshes are one cell thick, and as thick: then they are learned as plane meshes.

        A model of plane meshes takes such as are one cell thick, too.
        """
        found = [thickness_of(mesh_of(0, self._items[0]))]
        if same_thickness(found):
            found = self.each(lambda _, mesh: thickness_of(mesh))
        self.plane = found == [0.0] or same_thickness(found)
        if same_thickness(found):
            text = f"{len(found)} meshes are one cell thick: they are learned as plane meshes."
            warnings.warn(text, PlaneMeshWarning, stacklevel=4)

    def each(self, function: Callable[[int, Mesh], Found], progress: Progress | None = None) -> list[Found]:
        """Call a function of number and mesh for every mesh, in threads; return the results in order."""
        found: list[Found] = []

        def call(numbered: tuple[int, object]) -> Found:
            return function(numbered[0], mesh_of(*numbered))

        results = in_threads(call, list(enumerate(self._items)), self._n_jobs)
        for item, result in zip(self._items, results, strict=True):
            self._keep_or_release(item)
            found.append(result)
            if progress is not None:
                progress(len(found), len(self))
        return found

    def each_learned(self, function: Callable[[int, Mesh], Found], progress: Progress | None = None) -> list[Found]:
        """Call a function of number and mesh, as it is learned from, for every mesh; return the results in order."""

        def call(number: int, mesh: Mesh) -> Found:
            learned = learned_mesh(number, mesh, self.plane)
            if learned.dimension < mesh.dimension:
                self._thick.add(number)
            return function(number, learned)

        return self.each(call, progress)

    def _keep_or_release(self, item: object) -> None:
        if not isinstance(item, MeshFile) or item in self._kept:
            return
        if 0 < item.n_nodes <= self._room:
            self._room -= item.n_nodes
            self._kept.add(item)
        else:
            item.release()

    def keeps(self, number: int) -> bool:
        """Whether a mesh stays in memory."""
        item = self._items[number]
        return not isinstance(item, MeshFile) or item in self._kept

    def shared(self, as_given: bool = False) -> list[object]:
        """Return what kernels take: objects as they were given, files with what is kept of them, paths of others.

        Of meshes that :meth:`each_learned` found to be one cell thick the plane meshes, unless they are asked for
        ``as_given``.
        """
        known: dict[int, object] = {}
        for number, item in enumerate(self._items):
            if id(item) in known:
                continue
            if number in self._thick and not as_given:
                known[id(item)] = learned_mesh(number, mesh_of(number, item), self.plane)
                self._keep_or_release(item)
            else:
                known[id(item)] = os.fspath(item) if isinstance(item, MeshFile) and item not in self._kept else item
        return [known[id(item)] for item in self._items]

    def path(self, number: int) -> Path | None:
        """Return the file of a mesh, if it is one."""
        item = self._items[number]
        return Path(item) if isinstance(item, MeshFile) else None


def cell_codes(mesh: Mesh) -> Codes:
    """Return a number for each cell, sorted, whatever the order of its nodes; other numbers of nodes, other codes.

    Examples
    --------
    >>> square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> one, other = (cell_codes(Mesh(square, cells)) for cells in ([[0, 1, 2], [0, 2, 3]], [[3, 0, 2], [2, 0, 1]]))
    >>> bool((one == other).all())
    True
    """
    seed = _mixed(np.array([[mesh.n_nodes, mesh.dimension]], np.uint64))
    found = [_mixed(np.sort(block, axis=1).astype(np.uint64)) for block in mesh.cells.values()]
    return np.sort(np.concatenate([seed, *(codes ^ seed for codes in found)]))


def correspond(first: Codes, second: Codes) -> bool:
    """Whether nodes of two meshes correspond, going by their :func:`cell_codes`.

    Examples
    --------
    >>> square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> codes = cell_codes(Mesh(square, [[0, 1, 2], [0, 2, 3]]))
    >>> correspond(codes, codes), correspond(codes, cell_codes(Mesh(square, [[0, 1, 3], [1, 2, 3]])))
    (True, False)
    """
    same = len(np.intersect1d(first, second, assume_unique=False))
    return same >= max(1.0, _LEAST_SHARE * max(len(first), len(second)))


def _mixed(rows: Codes) -> Codes:
    """Return one well-mixed number per row of whole numbers."""
    codes = np.full(len(rows), rows.shape[1], np.uint64)
    for column in rows.T:
        codes = (codes ^ column) * np.uint64(0x9E3779B97F4A7C15)
        codes ^= codes >> np.uint64(29)
    return codes


@dataclass(frozen=True)
class Geometry:
    """What new meshes are described by.

    Attributes
    ----------
    describer : Describer
    common : bool
        Whether the nodes of all training meshes correspond.
    cells : ndarray of uint64
        Codes of the first mesh's cells.
    plane : bool
        Whether meshes are plane, and those one cell thick are taken for such.
    """

    describer: Describer
    common: bool
    cells: Codes
    plane: bool = False

    def check(self, number: int, mesh: Mesh) -> None:
        """Refuse other cells than those of training, where all share them, and meshes without a group of theirs."""
        try:
            self.describer.check_groups(mesh)
        except InputError as error:
            raise error.of_item(number, _title(number, mesh), continues=True) from None
        if self.common and not correspond(cell_codes(mesh), self.cells):
            other = InputError(
                "has different cells from the training meshes, which all share theirs; for meshes of any cells fit "
                "again with descriptors='smooth'."
            )
            raise other.of_item(number, _title(number, mesh), continues=True)

    def described(self, number: int, mesh: Mesh, memory: Memory, path: Path | None) -> Blocks:
        """Return the descriptors of a mesh, those that a memory holds of its file; none where all share their cells."""
        if self.common:
            return {}
        try:
            return _kept_blocks(self.describer, mesh, memory, path)
        except InputError as error:
            raise error.of_item(number, _title(number, mesh), continues=True) from None


def _kept_blocks(describer: Describer, mesh: Mesh, memory: Memory, path: Path | None) -> Blocks:
    if memory.folder is None or path is None:
        return describer.blocks(mesh)
    bodies = None if describer.bodies is None else describer.bodies.tolist()
    settled = (describer.dimension, describer.diagonal, describer.normals, bodies, *_of_groups(describer))
    key = fingerprint("blocks 2", *map(repr, settled))
    known = memory.get(path, "blocks", key)
    if known is not None and all(len(part) == mesh.n_nodes for name, part in known.items() if name != "n_nodes"):
        return {name: part for name, part in known.items() if name != "n_nodes"}
    blocks = describer.blocks(mesh)
    memory.put(path, "blocks", key, mesh.n_nodes, **blocks)
    return blocks


def _of_groups(describer: Describer) -> tuple[object, ...]:
    """Return what else blocks depend on, where there is any of it: what was kept without it stays valid."""
    own = (describer.groups, describer.pair, describer.around, *(() if describer.lagged else ("no lags",)))
    return own if any(own) else ()


def mesh_of(number: int, item: object) -> Mesh:
    """Return an item of a column as a mesh."""
    try:
        return as_mesh(item)
    except InputError as error:
        raise error.of_item(number, f"Mesh {number}") from None


def learned_mesh(number: int, mesh: Mesh, plane: bool) -> Mesh:
    """Return a mesh as it is learned from: without odd cells, and in the plane where it is one cell thick."""
    try:
        return cleaned(flattened(mesh) if plane else mesh)
    except InputError as error:
        raise error.of_item(number, _title(number, mesh)) from None


@dataclass(frozen=True)
class Training:
    """All fields on all training meshes.

    Attributes
    ----------
    geometry : Geometry
    fields : list of FieldData
    sizes : list of ndarray of shape (N, 2)
        Of each field, amplitudes and largest sizes.
    """

    geometry: Geometry
    fields: list[FieldData]
    sizes: list[Array]


def load_training(
    meshes: TableMeshes, names: list[str], model: FieldRegressor, progress: Progress | None, memory: Memory
) -> Training:
    """Read and describe training meshes.

    Parameters
    ----------
    meshes : TableMeshes
    names : list of str
        Of the fields.
    model : FieldRegressor
    progress : callable, optional
    memory : Memory
    """
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f"Field names must be distinct texts, not {names!r}.")
    if len(meshes) < _FEWEST:
        raise InputError(f"The table has {len(meshes)} rows, but fields need at least {_FEWEST} meshes to learn from.")
    meshes.settle_plane()
    first = meshes.first()
    kinds = []
    for name in names:
        try:
            kinds.append(FieldKind.of(first, name, model.n_times))
        except InputError as error:
            raise error.of_item(0, _title(0, first), continues=True) from None
    cells = cell_codes(first)
    looks = meshes.each_learned(lambda number, mesh: _look(number, mesh, kinds, model, cells))
    _warn_about_missing(looks, kinds)
    _warn_about_constants(looks, kinds)
    common = all(look.corresponds for look in looks) and model.descriptors in (None, "nodes")
    if model.descriptors == "nodes" and not common:
        odd = next(k for k, look in enumerate(looks) if not look.corresponds)
        raise InputError(f"descriptors is 'nodes', but mesh {odd} has different cells from mesh 0.")
    describer = Describer(
        first.dimension,
        float(np.median([look.diagonal for look in looks])) or 1.0,
        not common and all(look.normals for look in looks),
        _bodies(first, looks) if not common else None,
    )
    if not common:
        groups = common_groups([look.gaps for look in looks])
        around = describer.bodies is None and any(look.bodies for look in looks)
        # Around bodies no recipe but one of the user's takes offsets to groups.
        offsets = isinstance(model.descriptors, Mapping) or not (around or describer.bodies is not None)
        describer = replace(describer, groups=groups.names if offsets else [], pair=groups.pair, around=around)
    blocks: list[Blocks] = []
    if not common:
        describer, blocks = _describe(meshes, describer, cells, progress, memory)
    scored, shares = [look.scored for look in looks], [look.shares for look in looks]
    fields, sizes = [], []
    for j, kind in enumerate(kinds):
        values, weights = [look.values[j] for look in looks], [look.weights[j] for look in looks]
        constant = held_values([look.ends[j] for look in looks])
        known = [_held_nodes(look, constant, kind.components) for look in looks]
        judged = [cells for cells in (look.cells[j] for look in looks) if cells is not None]
        limits = kept_limits([cells.truth for cells in judged] or values)
        if judged:  # nodes reach farther than means over cells
            values = [np.clip(own, *limits) for own in values]
        forces = [look.forces[j] for look in looks]
        own = kind, values, weights, blocks, scored, shares, known, constant, limits
        fields.append(FieldData(*own, forces=forces, cells=judged or None))
        sizes.append(np.array([look.sizes[j] for look in looks]))
    return Training(Geometry(describer, common, cells, meshes.plane), fields, sizes)


def held_values(ends: Sequence[dict[str, tuple[Array, Array]]]) -> dict[str, Array]:
    """Return the values that a field has on named groups of all meshes, (c,) each; NaN for components that vary.

    Parameters
    ----------
    ends : sequence of dict of str to (least, most)
        Of every mesh, the range (c,) each of the field on its groups; "" stands for the whole mesh.

    Examples
    --------
    >>> zero, one = np.zeros(1), np.ones(1)
    >>> first = {"": (zero, one), "clamp": (zero, zero), "tip": (one, one)}
    >>> held_values([first, {"": (zero, one), "clamp": (zero, zero)}])
    {'clamp': array([0.])}
    """
    whole = [own[""] for own in ends]
    near = _SAME_VALUE * (np.max([most for _, most in whole], axis=0) - np.min([least for least, _ in whole], axis=0))
    found = {}
    for name in ends[0]:
        if name and all(name in own for own in ends):
            least = np.min([own[name][0] for own in ends], axis=0)
            most = np.max([own[name][1] for own in ends], axis=0)
            same = (most - least <= near) & (near > 0)
            if same.any():
                found[name] = np.where(same, (least + most) / 2, np.nan)
    return found


def _held_nodes(look: _Look, held: dict[str, Array], components: int) -> NDArray[np.bool_]:
    """Say at which nodes of a mesh a field is known beforehand, (n, c)."""
    found = np.zeros((look.n_nodes, components), bool)
    for name, values in held.items():
        found[look.groups[name]] |= ~np.isnan(values)
    return found


def _describe(
    meshes: TableMeshes, describer: Describer, cells: Codes, progress: Progress | None, memory: Memory
) -> tuple[Describer, list[Blocks]]:
    """Return the descriptors of all training meshes, and what makes them; slit maps are left out where one fails."""

    def blocks_of(number: int, mesh: Mesh) -> Blocks:
        return Geometry(describer, False, cells).described(number, mesh, memory, meshes.path(number))

    try:
        blocks = meshes.each_learned(blocks_of, progress)
    except InputError as error:
        if describer.bodies is None:
            raise
        warnings.warn(f"Slit maps are left out: {error}", MeshWarning, stacklevel=4)
        describer = replace(describer, bodies=None)
        blocks = meshes.each_learned(blocks_of, progress)
    return describer.scaled(blocks), blocks


@dataclass(frozen=True)
class _Look:
    corresponds: bool
    diagonal: float
    normals: bool
    n_bodies: int
    bodies: bool
    gaps: dict[str, dict[str, float]]
    values: list[Array]
    weights: list[Array]
    scored: NDArray[np.intp]
    shares: Array
    n_nodes: int
    groups: dict[str, NDArray[np.int32]]
    ends: list[dict[str, tuple[Array, Array]]]
    sizes: list[tuple[float, float]]
    forces: list[dict[str, NodalWeights]]
    cells: list[JudgedCells | None]
    missing: list[int]


def _look(number: int, mesh: Mesh, kinds: Sequence[FieldKind], model: FieldRegressor, cells: Codes) -> _Look:
    try:
        if model.kernel is None and not mesh.cells:
            raise InputError("has no cells; join its nodes by lines, or name a kernel on other columns.")
        values = [kind.nodal(mesh) for kind in kinds]
        weights = [node_weights(mesh, model.weights, np.isfinite(v[:, 0])) for v in values]
    except InputError as error:
        raise error.of_item(number, _title(number, mesh), continues=True) from None
    diagonal = float(np.linalg.norm(np.ptp(mesh.points, axis=0)))
    same = correspond(cell_codes(mesh), cells)
    scored = scored_nodes(mesh.n_nodes, model.random_state + number)
    shares = node_shares(mesh)[scored] * (mesh.n_nodes / len(scored))
    groups = {name: group.nodes for name, group in mesh.groups.items() if len(group.nodes)}
    return _Look(
        same,
        diagonal,
        has_normals(mesh),
        _count_bodies(mesh),
        bool(inner_bodies(mesh)),
        group_gaps(mesh),
        values,
        weights,
        scored,
        shares,
        mesh.n_nodes,
        groups,
        [_ends(kind, field, groups) for kind, field in zip(kinds, values, strict=True)],
        [field_sizes(mesh, field, kind.times) for kind, field in zip(kinds, values, strict=True)],
        [_forces(mesh, kind, model.random_state + number) for kind in kinds],
        [
            JudgedCells.of(mesh, kind, field, model.random_state + number) if kind.on_cells else None
            for kind, field in zip(kinds, values, strict=True)
        ],
        [kind.n_missing(mesh) for kind in kinds],
    )


def _forces(mesh: Mesh, kind: FieldKind, seed: int) -> dict[str, NodalWeights]:
    """Return the weights of forces on groups, of fields that may have any: scalars may be asked to be pressures."""
    of = force_kind(kind.name, kind.components)
    known = of in ("pressure", "traction", "stress")
    if kind.times > 1 or (not known and kind.components > 1):
        return {}
    return group_forces(mesh, kind.components, MOST_SCORED, seed, of if known else "pressure")


def _ends(kind: FieldKind, values: Array, groups: dict[str, NDArray[np.int32]]) -> dict[str, tuple[Array, Array]]:
    """Return the range of a field on a mesh, and of a field of nodes on its groups, where all of it is known."""
    found = {"": (np.nanmin(values, axis=0), np.nanmax(values, axis=0))}
    for name, nodes in groups.items():
        own = values[nodes]
        if not kind.on_cells and np.isfinite(own).all():
            found[name] = own.min(axis=0), own.max(axis=0)
    return found


def _count_bodies(mesh: Mesh) -> int:
    try:
        return len(inner_loops(mesh))
    except InputError:
        return 0


def _bodies(first: Mesh, looks: Sequence[_Look]) -> Array | None:
    """Return where bodies are, in the first mesh, if all meshes have as many."""
    counts = {look.n_bodies for look in looks}
    return loop_features(first, inner_loops(first)) if len(counts) == 1 and counts != {0} else None


def _title(number: int, mesh: Mesh) -> str:
    return f"Mesh {number}" + (f" ({mesh.name})" if mesh.name else "")


def _warn_about_missing(looks: Sequence[_Look], kinds: Sequence[FieldKind]) -> None:
    for j, kind in enumerate(kinds):
        counts = [look.missing[j] for look in looks]
        odd = [number for number, count in enumerate(counts) if count]
        if odd:
            some = ", ".join(map(str, odd[:5])) + (", …" if len(odd) > 5 else "")
            nodes = f"{sum(counts)} {'cell' if kind.on_cells else 'node'}{'s' * (sum(counts) > 1)}"
            text = f"Field {kind.name!r} is not finite at {nodes} of mesh {some}; they do not count."
            warnings.warn(text, MeshWarning, stacklevel=4)


def _warn_about_constants(looks: Sequence[_Look], kinds: Sequence[FieldKind]) -> None:
    """Warn of fields that are the same in all meshes, and of single meshes on which one does not vary."""
    for j, kind in enumerate(kinds):
        least, most = (np.array([look.ends[j][""][k] for look in looks]) for k in (0, 1))
        flat = [number for number, same in enumerate((least == most).all(axis=1)) if same]
        values = [f"{one:g}" for one in least[flat[0]]] if flat else []
        value = ", ".join(dict.fromkeys(values) if kind.times > 1 else values)  # of many times each value once
        if (least.min(axis=0) == most.max(axis=0)).all():
            text = f"Field {kind.name!r} is {value} everywhere on all {len(looks)} meshes: there is nothing to learn."
            warnings.warn(text, MeshWarning, stacklevel=4)
        elif flat and 2 * len(flat) <= len(looks):
            some = ", ".join(map(str, flat[:5])) + (", …" if len(flat) > 5 else "")
            text = f"Field {kind.name!r} is {value} everywhere on mesh {some}: was it solved there?"
            warnings.warn(text, MeshWarning, stacklevel=4)


def check_options(model: FieldRegressor) -> None:
    """Refuse options of a field regressor that make no sense."""
    for name, least in (("n_modes", 1), ("basis_size", 2)):
        value = getattr(model, name)
        missing = value is None and name == "n_modes"
        if not missing and (not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least):
            raise InputError(f"{name} is {value!r}, but a whole number of at least {least} is expected.")
    if model.warp not in ("auto", *WARPS):
        raise InputError(f"warp is {model.warp!r}, but one of 'auto', {', '.join(map(repr, WARPS))} is expected.")
    if model.weights not in ("uniform", "area"):
        raise InputError(f"weights is {model.weights!r}, but 'uniform' or 'area' is expected.")
    given = model.descriptors
    if isinstance(given, str) and given not in ("smooth", "nodes"):
        raise InputError(f"descriptors is {given!r}, but None, 'smooth', 'nodes' or a dict of weights is expected.")


def make_settings(model: FieldRegressor, training: Training) -> Settings:
    """Return what choices of a fit may not change."""
    describer = training.geometry.describer
    recipes = {} if training.geometry.common else describer.recipes()
    if recipes and model.descriptors not in (None, "smooth"):
        recipes = {"given": check_recipe(model.descriptors, list(describer.scales))}
    warps = None if model.warp == "auto" else [model.warp]
    n_modes = min(model.n_modes or N_MODES, len(training.fields[0]) - 2)
    typical = int(np.median([len(values) for values in training.fields[0].values]))
    size = max(min(model.basis_size, typical // 2), 2)
    return Settings(n_modes, size, recipes, describer, warps, model.random_state, lambda: None)

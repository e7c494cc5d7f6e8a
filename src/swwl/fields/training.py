"""Training meshes of a field regressor: read, checked, described; what their geometry has in common."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MeshWarning
from swwl.fields.candidates import Settings
from swwl.fields.coding import FieldData, scored_nodes
from swwl.fields.geometry.descriptors import Blocks, Describer, check_recipe, has_normals
from swwl.fields.geometry.walls import inner_loops, loop_features
from swwl.fields.numbers import node_shares
from swwl.fields.values import FieldKind, node_weights
from swwl.fields.warps import WARPS
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh
from swwl.parallel import Progress, check_jobs, in_threads
from swwl.storage.memory import Memory, fingerprint

Codes = NDArray[np.uint64]

# With this share of cells in common nodes correspond; meshes of independent nodes share hardly any.
_LEAST_SHARE = 0.5


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


Array = NDArray[np.float64]

N_MODES = 30
_FEWEST = 4
# Meshes of files are kept between the two looks at them up to so many nodes; others are read again.
_MOST_NODES_KEPT = 10_000_000


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
    """

    describer: Describer
    common: bool
    cells: Codes

    def check(self, number: int, mesh: Mesh) -> None:
        """Refuse other cells than those of training, where all share them."""
        if self.common and not correspond(cell_codes(mesh), self.cells):
            error = InputError(
                "has other cells than the training meshes, which all share theirs; for meshes of any cells fit "
                "again with descriptors='smooth'."
            )
            raise error.of_item(number, _title(number, mesh), continues=True)

    def described(self, number: int, mesh: Mesh, memory: Memory, item: Any) -> Blocks:
        """Return the descriptors of a mesh; none where all meshes share their cells."""
        if self.common:
            return {}
        try:
            return kept_blocks(self.describer, mesh, memory, item)
        except InputError as error:
            raise error.of_item(number, _title(number, mesh), continues=True) from None


def kept_blocks(describer: Describer, mesh: Mesh, memory: Memory, item: Any) -> Blocks:
    """Return the descriptors of a mesh, from memory where a file is known there."""
    if memory.folder is None or not isinstance(item, (str, os.PathLike)):
        return describer.blocks(mesh)
    path, key = Path(item), fingerprint("blocks", *(repr(part) for part in _settled(describer)))
    known = memory.get(path, "blocks", key)
    if known is not None and all(len(part) == mesh.n_nodes for name, part in known.items() if name != "n_nodes"):
        return {name: part for name, part in known.items() if name != "n_nodes"}
    blocks = describer.blocks(mesh)
    memory.put(path, "blocks", key, mesh.n_nodes, **blocks)
    return blocks


def _settled(describer: Describer) -> list[Any]:
    bodies = None if describer.bodies is None else describer.bodies.tolist()
    return [describer.dimension, describer.diagonal, describer.normals, bodies]


def mesh_of(number: int, item: Any) -> Mesh:
    """Return an item of a column as a mesh."""
    try:
        return as_mesh(item)
    except InputError as error:
        raise error.of_item(number, f"Mesh {number}") from None


def on_meshes(
    function: Callable[[int, Any], Any], items: Sequence[Any], n_jobs: int | None, progress: Progress | None
) -> list[Any]:
    """Call a function of number and item for every mesh, in threads; return the results in order."""
    check_jobs(1 if n_jobs is None else n_jobs)
    found: list[Any] = []
    for result in in_threads(lambda pair: function(*pair), enumerate(items), n_jobs):
        found.append(result)
        if progress is not None:
            progress(len(found), len(items))
    return found


@dataclass(frozen=True)
class Training:
    """All fields on all training meshes."""

    geometry: Geometry
    fields: list[FieldData]


def load_training(
    items: list[Any], names: list[str], model: Any, progress: Progress | None, memory: Memory
) -> Training:
    """Read and describe training meshes.

    Parameters
    ----------
    items : list of Mesh or path
    names : list of str
        Of the fields.
    model : FieldRegressor
    progress : callable, optional
    memory : Memory
    """
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f"Fields are named by {names!r}, but different names of fields are wanted.")
    if len(items) < _FEWEST:
        raise InputError(f"The table has {len(items)} rows, but fields need at least {_FEWEST} meshes to learn from.")
    first = mesh_of(0, items[0])
    kinds = []
    for name in names:
        try:
            kinds.append(FieldKind.of(first, name))
        except InputError as error:
            raise error.of_item(0, _title(0, first), continues=True) from None
    cells = cell_codes(first)
    looks = on_meshes(lambda number, item: _look(number, item, kinds, model, cells), items, model.n_jobs, None)
    _warn_about_missing(looks, names)
    common = all(look.corresponds for look in looks) and model.descriptors in (None, "nodes")
    if model.descriptors == "nodes" and not common:
        odd = next(k for k, look in enumerate(looks) if not look.corresponds)
        raise InputError(f"descriptors is 'nodes', but mesh {odd} has other cells than mesh 0.")
    describer = Describer(
        first.dimension,
        float(np.median([look.diagonal for look in looks])) or 1.0,
        not common and all(look.normals for look in looks),
        _bodies(first, looks) if not common else None,
    )
    blocks: list[Blocks] = []
    if not common:
        budget, kept = _MOST_NODES_KEPT, []
        for look, item in zip(looks, items, strict=True):
            budget -= look.mesh.n_nodes
            kept.append(look.mesh if budget > 0 or not isinstance(item, (str, os.PathLike)) else None)

        def describe(number: int, item: Any) -> Blocks:
            mesh = kept[number] or mesh_of(number, item)
            return Geometry(describer, False, cells).described(number, mesh, memory, item)

        try:
            blocks = on_meshes(describe, items, model.n_jobs, progress)
        except InputError as error:
            if describer.bodies is None:
                raise
            warnings.warn(f"Slit maps are left out: {error}", MeshWarning, stacklevel=4)
            describer = replace(describer, bodies=None)
            blocks = on_meshes(describe, items, model.n_jobs, progress)
        describer = describer.scaled(blocks)
    scored, shares = [look.scored for look in looks], [look.shares for look in looks]
    fields = []
    for j, kind in enumerate(kinds):
        values, weights = [look.values[j] for look in looks], [look.weights[j] for look in looks]
        fields.append(FieldData(kind, values, weights, blocks, scored, shares))
    return Training(Geometry(describer, common, cells), fields)


@dataclass(frozen=True)
class _Look:
    mesh: Mesh
    corresponds: bool
    diagonal: float
    normals: bool
    n_bodies: int
    values: list[Array]
    weights: list[Array]
    scored: NDArray[np.intp]
    shares: Array


def _look(number: int, item: Any, kinds: Sequence[FieldKind], model: Any, cells: Codes) -> _Look:
    mesh = mesh_of(number, item)
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
    return _Look(mesh, same, diagonal, has_normals(mesh), _count_bodies(mesh), values, weights, scored, shares)


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


def _warn_about_missing(looks: Sequence[_Look], names: Sequence[str]) -> None:
    for j, name in enumerate(names):
        counts = [int(np.isnan(look.values[j][:, 0]).sum()) for look in looks]
        odd = [number for number, count in enumerate(counts) if count]
        if odd:
            some = ", ".join(map(str, odd[:5])) + (", …" if len(odd) > 5 else "")
            nodes = f"{sum(counts)} node{'s' * (sum(counts) > 1)}"
            text = f"Field {name!r} is not finite at {nodes} of mesh {some}; they do not count."
            warnings.warn(text, MeshWarning, stacklevel=4)


def check_options(model: Any) -> None:
    """Refuse options of a field regressor that make no sense."""
    for name, least in (("n_modes", 1), ("basis_size", 2)):
        value = getattr(model, name)
        missing = value is None and name == "n_modes"
        if not missing and (not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least):
            raise InputError(f"{name} is {value!r}, but a whole number of at least {least} is wanted.")
    if model.warp not in ("auto", *WARPS):
        raise InputError(f"warp is {model.warp!r}, but one of 'auto', {', '.join(map(repr, WARPS))} is wanted.")
    if model.weights not in ("uniform", "area"):
        raise InputError(f"weights is {model.weights!r}, but 'uniform' or 'area' is wanted.")
    given = model.descriptors
    if isinstance(given, str) and given not in ("smooth", "nodes"):
        raise InputError(f"descriptors is {given!r}, but None, 'smooth', 'nodes' or a dict of weights is wanted.")


def check_samples(n_samples: Any) -> int:
    """Refuse a number of samples that makes no sense."""
    if not isinstance(n_samples, (int, np.integer)) or isinstance(n_samples, bool) or n_samples < 1:
        raise InputError(f"n_samples is {n_samples!r}, but a whole number of at least 1 is wanted.")
    return int(n_samples)


def make_settings(model: Any, training: Training) -> Settings:
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

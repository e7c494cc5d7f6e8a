"""Cells that say nothing: degenerate ones without area or volume, and those that a mesh has twice.

They would count in skins, areas and graphs all the same; :func:`cleaned` leaves them out of what is learned from.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import OddCellsWarning
from swwl.mesh.arrays import counted, own
from swwl.mesh.cells import TETRAHEDRA, cell_corners, cell_dimension, linear_relative, top_cells
from swwl.mesh.mesh import Mesh, trusted_mesh

_Mask = NDArray[np.bool_]
_Rows = NDArray[np.float64]

# A cell has no area or volume where that is so much smaller than that of a square or cube of its extent, or no larger
# than what rounding makes of coordinates so far from the origin.
_FLAT, _ROUNDING = 1e-12, 16 * np.finfo(float).eps
_AT_ONCE = 8192  # cells whose corners stay in the cache


class OddCells(NamedTuple):
    """How many cells are degenerate, and how many are there again."""

    degenerate: int
    repeated: int

    @property
    def words(self) -> str:
        """Say so, to follow the name of a mesh; nothing where there are none.

        >>> OddCells(1, 5).words, OddCells(0, 0).words
        ('1 cell without area or volume and 5 repeated cells', '')
        """
        parts = [f"{counted(self.degenerate, 'cell')} without area or volume"] * bool(self.degenerate)
        parts += [counted(self.repeated, "repeated cell")] * bool(self.repeated)
        return " and ".join(parts)


def odd_cells(mesh: Mesh) -> OddCells:
    """Count degenerate and repeated cells.

    Examples
    --------
    >>> odd_cells(Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2], [0, 0, 1], [2, 0, 1]]))
    OddCells(degenerate=1, repeated=1)
    """
    return OddCells(*(sum(int(mask.sum()) for mask in masks.values()) for masks in _odd(mesh)))


def cleaned(mesh: Mesh) -> Mesh:
    """Return the mesh without degenerate and repeated cells, with a warning; with all of its nodes.

    Where no cell of the highest dimension would be left, it stays as it is.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     cleaned(Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2], [0, 0, 1]], name="corner"))
    Mesh(corner: 3 nodes in 2 dimensions; cells: 1 triangle)
    >>> str(told[0].message)
    'corner: 1 cell without area or volume is left out.'
    """
    found = mesh.derived("cleaned", _cleaned)
    return mesh if found is None else found


def _cleaned(mesh: Mesh) -> Mesh | None:
    flat, again = _odd(mesh)
    count = OddCells(*(sum(int(own.sum()) for own in masks.values()) for masks in (flat, again)))
    if not count.words:
        return None
    are = "is" if sum(count) == 1 else "are"
    warnings.warn(f"{mesh.name or 'A mesh'}: {count.words} {are} left out.", OddCellsWarning, stacklevel=4)
    none = np.zeros(1, bool)
    whole = {kind: np.ones(len(block), bool) for kind, block in mesh.cells.items()}
    kept = {kind: mask & ~flat.get(kind, none) & ~again.get(kind, none) for kind, mask in whole.items()}
    cells = {kind: own(block[kept[kind]]) for kind, block in mesh.cells.items() if kept[kind].any()}
    rows = np.concatenate(list(kept.values()))
    fields = {name: own(field[rows]) for name, field in mesh.cell_fields.items()}
    places = {kind: np.where(mask, np.cumsum(mask) - 1, -1) for kind, mask in kept.items()}
    moved = {
        name: group.within(cells, places) if group.kind == "cells" else group for name, group in mesh.groups.items()
    }
    groups = {name: group for name, group in moved.items() if group.size}
    return trusted_mesh(mesh.points, cells, mesh.fields, mesh.name, fields, groups)


def _odd(mesh: Mesh) -> tuple[dict[str, _Mask], dict[str, _Mask]]:
    """Return which cells of each type are degenerate, and which of the others are there before."""
    flat, again = {}, {}
    top, rows = top_cells(mesh.cells), mesh.points.T.copy()
    for kind, block in mesh.cells.items():
        if cell_dimension(kind) == 0 or not len(block):
            continue
        flat[kind] = _degenerate(rows, kind, block)
    if all(flat[kind].all() for kind in top if kind in flat):
        flat = {}
    for kind, block in mesh.cells.items():
        if cell_dimension(kind) > 0 and len(block):
            again[kind] = _repeated(cell_corners(kind, block), mesh.n_nodes) & ~flat.get(kind, np.zeros(1, bool))
    return flat, again


def _degenerate(rows: _Rows, kind: str, block: NDArray[np.int32]) -> _Mask:
    d = cell_dimension(kind)
    if d == 1:  # lines of no length join nodes at one place, as springs do
        return np.asarray(block[:, 0] == block[:, 1])
    if not d <= len(rows) <= 3:
        corners = np.sort(cell_corners(kind, block), axis=1)
        return np.asarray((corners[:, 1:] == corners[:, :-1]).any(axis=1))
    far = float(np.abs(rows).max())
    found = _sizes(rows, kind, block) <= _least(d, np.ptp(rows, axis=1).max(keepdims=True), far)
    some = np.flatnonzero(found)  # hardly any: for these the extent of the cell counts, not that of the mesh
    extent = np.ptp(rows[:, cell_corners(kind, block[some])], axis=2).max(axis=0)
    found[some] = _sizes(rows, kind, block[some]) <= _least(d, extent, far)
    return found


def _least(d: int, extent: _Rows, far: float) -> _Rows:
    """Return the area or volume up to which cells of such an extent have none."""
    with np.errstate(over="ignore"):
        return _FLAT * extent**d + _ROUNDING * far * extent ** (d - 1)


def _sizes(rows: _Rows, kind: str, block: NDArray[np.int32]) -> _Rows:
    """Return the area or volume of every cell, (m,), from coordinates (dimension, n)."""
    corners = cell_corners(kind, block)
    found = np.empty(len(block))
    for start in range(0, len(block), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        found[here] = _sizes_at_once(rows.take(corners[here].T.astype(np.intp), axis=1), kind)
    return found


def _sizes_at_once(corners: _Rows, kind: str) -> _Rows:
    """Return areas or volumes from coordinates of corners, (dimension, width, m)."""
    with np.errstate(over="ignore", invalid="ignore"):
        if cell_dimension(kind) == 2:
            spokes = corners[:, 1:] - corners[:, :1]
            total = _cross(spokes[:, 0], spokes[:, 1])
            for k in range(1, spokes.shape[1] - 1):
                total = total + _cross(spokes[:, k], spokes[:, k + 1])
            return np.asarray(0.5 * np.sqrt(sum(part * part for part in total)))
        size = np.zeros(corners.shape[2])
        for tetrahedron in TETRAHEDRA[linear_relative(kind)]:
            u, v, w = (corners[:, k] - corners[:, tetrahedron[0]] for k in tetrahedron[1:])
            size += np.abs(sum(a * b for a, b in zip(_cross(u, v), w, strict=True))) / 6
        return size


def _cross(a: _Rows, b: _Rows) -> _Rows:
    """Return the cross product of vectors by rows, (1, m) in the plane or (3, m)."""
    if len(a) == 2:
        return (a[0] * b[1] - a[1] * b[0])[None]
    return np.stack([a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))])


def _repeated(corners: NDArray[np.int32], n_nodes: int) -> _Mask:
    """Say of every cell whether one before it has the same corners."""
    # Cells of the same corners have the same sum; others hardly ever have.
    codes = np.random.default_rng(0).integers(2**62, size=n_nodes, dtype=np.uint64)
    sums = codes[corners[:, 0]]
    for column in corners.T[1:]:
        sums = sums + codes[column]
    ranked = np.sort(sums)
    twice = ranked[1:][ranked[1:] == ranked[:-1]]
    found = np.zeros(len(corners), bool)
    if len(twice):
        some = np.flatnonzero(np.isin(sums, twice))
        first, inverse = np.unique(np.sort(corners[some], axis=1), axis=0, return_index=True, return_inverse=True)[1:]
        found[some] = first[inverse.reshape(-1)] != np.arange(len(some))
    return found

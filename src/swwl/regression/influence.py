r"""What is left of a mesh's influence: how far predictions move when the same part has a coarser or a finer mesh.

Candidates of the default see the part, and nearly nothing of its mesh; what there is left is measured. After the fit, a
few training meshes are made coarser and finer (``mesh/remesh/thin.py``, ``refine.py``), and the fitted stack is asked
again. Answers are taken to be off by :math:`c\,h`, at random, where the pieces of the skin have the mean size h
(:func:`swwl.mesh.shape.skin.coarseness`), in standard deviations: where a coarse mesh makes a case look strange, its
prediction is less sure already. What training meshes do, whose sizes go up to :math:`h_1`, is in the fit
already, so that the prediction for a coarser mesh is expected to move by

.. math:: c\,\sqrt{h^2 - h_1^2},

and that for others by nothing, if meshes of the same part with more nodes do not move it. This widens intervals
(``intervals.py``), and where it is more than a part of a standard deviation, or nothing as coarse has been tried, the
case is not like the training cases.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.summaries import CoarsenessEmbedding
from swwl.errors import InputError
from swwl.formatting import number
from swwl.kernels.base import Product
from swwl.kernels.sliced import EmbeddingFactor
from swwl.mesh.arrays import AnyArray
from swwl.mesh.cells import top_cells
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.plane import flattened
from swwl.mesh.remesh.refine import subdivided
from swwl.mesh.remesh.thin import thinned
from swwl.regression.intervals import chi2_quantile
from swwl.regression.stack import Represented, Stack, trend_matrix
from swwl.storage.checks import Names, Shape
from swwl.storage.memory import Memory, MemoryLike, as_memory

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

# Training meshes that are changed, and the shares of their nodes that are left: of contours, which take no time, and of
# other meshes.
_MESHES, _OF_LINES, _OF_OTHERS = 4, (0.5, 0.25, 0.125), (0.35,)
_SHARE = 0.1
# A case is unlike the training cases from so many standard deviations on, or where pieces are so many times larger than
# any that were tried. Moves of single cases are up to three times as large as what is expected.
_MOST_MOVE, _BEYOND = 0.2, 1.25
# Only of meshes that are coarser or finer by so much is anything said.
_CLEARLY = 1.2
# Meshes of more nodes take too long to be changed.
_MOST_NODES = 200_000


class Coarseness(EmbeddingFactor):
    """No factor of a kernel, but read with the meshes of its column, once: how coarse they are, (N, 1).

    Parameters
    ----------
    column : str
    n_jobs : int or None
    plane : bool
        Take meshes one cell thick for plane ones, where ``fit`` has not found out.
    """

    r = 1  # whole numbers are kept, whatever the solver

    def __init__(self, column: str = "graph", *, n_jobs: int | None = None, plane: bool = False):
        self.column = column
        self.n_jobs = n_jobs
        self.plane = plane
        self.start()

    def make_embedding(self) -> CoarsenessEmbedding:
        """Return what measures meshes."""
        return CoarsenessEmbedding(n_jobs=self.n_jobs, plane=self.plane)

    def keep(self, rows: AnyArray) -> Array:
        """Return the numbers."""
        return np.asarray(rows, np.float64)


def embedded_columns(kernels: Iterable[Product]) -> list[str]:
    """Return the columns of graphs that kernels embed whole, each once.

    Examples
    --------
    >>> from swwl.kernels import SWWL, Matern52
    >>> embedded_columns([SWWL("mesh") * Matern52("speed")])
    ['mesh']
    """
    factors = [factor for kernel in kernels for factor in kernel.factors]
    own = [factor for factor in factors if isinstance(factor, EmbeddingFactor)]
    # thinned meshes have no groups
    parts = {factor.column for factor in own if getattr(factor, "group", None) or getattr(factor, "groups", None)}
    return list(dict.fromkeys(str(factor.column) for factor in own if factor.column not in parts))


def coarseness_kernel(columns: Sequence[str], n_jobs: int | None = None, plane: bool = False) -> Product:
    """Return what measures the meshes of columns while kernels embed them."""
    return Product(*(Coarseness(name, n_jobs=n_jobs, plane=plane) for name in columns))


class Expected(NamedTuple):
    """What the meshes of M cases are expected to do to predictions of k targets.

    Attributes
    ----------
    moves : ndarray of shape (M, k) or None
        In standard deviations of the predictions; None where nothing is known.
    notes : list of str
        What to say of each case that is unlike the training cases for it; nothing of the others.
    """

    moves: Array | None
    notes: list[str]


@dataclass(frozen=True)
class MeshInfluence:
    """How predictions depend on how coarse meshes are, for c columns of meshes and k targets.

    Attributes
    ----------
    columns : list of str
    finest, coarsest : ndarray of shape (c,)
        Least and largest size of pieces of the training meshes, :math:`h_0` and :math:`h_1`.
    tried : ndarray of shape (c,)
        The largest size that was tried.
    factor : ndarray of shape (c, k)
        c, in standard deviations of predictions.
    finer : ndarray of shape (c, k)
        By how far predictions move when every edge is halved, for another half each.
    plane : bool
        Whether meshes one cell thick are taken for plane ones.
    """

    columns: Names
    finest: Annotated[Array, Shape("c", above=0)]
    coarsest: Annotated[Array, Shape("c", above=0)]
    tried: Annotated[Array, Shape("c", above=0)]
    factor: Annotated[Array, Shape("ck", least=0)]
    finer: Annotated[Array, Shape("ck", least=0)]
    plane: bool = False

    @cached_property
    def kernel(self) -> Product:
        """What measures the meshes of :attr:`columns` while they are embedded."""
        return coarseness_kernel(self.columns, plane=self.plane)

    def moves(self, sizes: Array) -> Array:
        """Return by how many standard deviations cases of so large pieces (M, c) move, (M, k).

        Examples
        --------
        >>> one = np.ones((1, 1))
        >>> influence = MeshInfluence(["mesh"], one[0], 3 * one[0], 8 * one[0], 0.1 * one, 0.2 * one)
        >>> influence.moves(np.array([[0.5], [1.0], [3.0], [5.0], [np.nan]])).round(3).ravel().tolist()
        [0.2, 0.0, 0.0, 0.4, 0.0]
        """
        h = np.where(np.isfinite(sizes), sizes, self.coarsest)
        coarser = np.sqrt(np.maximum(h**2 - self.coarsest**2, 0.0))
        halved = np.log2(np.maximum(self.finest / h, 1.0))
        moved = self.factor * coarser[:, :, None] + self.finer * halved[:, :, None]
        return np.asarray(np.sqrt((moved**2).sum(axis=1)))

    def expected(self, sizes: Array) -> Expected:
        """Return by how far cases of so large pieces (M, c) move, and what is to be said of it.

        Sizes are nan where they are not known.
        """
        moves = self.moves(sizes)
        apart = ((sizes > _CLEARLY * self.coarsest) | (sizes < self.finest / _CLEARLY)).any(axis=1)
        beyond = np.asarray((sizes > _BEYOND * self.tried).any(axis=1))
        told = apart & (beyond | (moves.max(axis=1) > _MOST_MOVE))
        notes = [
            self._words(own, float(move.max()), bool(far)) if tell else ""
            for own, move, far, tell in zip(sizes, moves, beyond, told, strict=True)
        ]
        return Expected(moves, notes)

    def _words(self, sizes: Array, move: float, beyond: bool) -> str:
        """Say by how much a mesh is coarser or finer than the training meshes."""
        coarser, finer = sizes / self.coarsest, self.finest / sizes
        ratio = np.nan_to_num(np.maximum(coarser, finer), nan=0.0)
        worst = int(ratio.argmax())
        what = "coarser" if coarser[worst] >= finer[worst] else "finer"
        text = f"the mesh in {self.columns[worst]!r} is about {number(float(f'{ratio[worst]:.2g}'))} times {what} than "
        text += "the training meshes"
        if beyond:
            return f"{text}, beyond what has been tested"
        return f"{text}, and its prediction may move by {number(float(f'{move:.1g}'))} standard deviations"


def measure_influence(
    stack: Stack, table: pd.DataFrame, columns: Sequence[str], sizes: Array, memory: MemoryLike = None
) -> MeshInfluence | None:
    """Change a few training meshes and see how far predictions move.

    Parameters
    ----------
    stack : Stack
        Fitted.
    table : DataFrame
        The training table.
    columns : sequence of str
        Of meshes, c of them.
    sizes : ndarray of shape (N, c)
        How coarse the training meshes are.
    memory : Memory or path, optional
        Where the changed meshes of mesh files are kept.

    Returns
    -------
    MeshInfluence or None
        None where no mesh can be made coarser.
    """
    found = []
    plane = any(getattr(getattr(f, "embedding_", None), "plane_", False) for f in stack.kernel.factors)
    for k, name in enumerate(columns):
        known = np.flatnonzero(np.isfinite(sizes[:, k]))
        changed = (
            list(_changed(table[name], known[_spread(sizes[known, k])], plane, as_memory(memory))) if len(known) else []
        )
        if any(one.coarser for one in changed):
            found.append((str(name), sizes[known, k], _measured(stack, table, str(name), sizes[:, k], changed)))
    if not found:
        return None
    names, own, measured = zip(*found, strict=True)
    tried, factor, finer = (np.array(part) for part in zip(*measured, strict=True))
    finest, coarsest = np.array([h.min() for h in own]), np.array([h.max() for h in own])
    return MeshInfluence(list(names), finest, coarsest, np.maximum(tried, coarsest), factor, finer, plane)


def _spread(sizes: Array) -> Positions:
    """Return a few places spread evenly over sorted sizes, without the extremes."""
    order = np.argsort(sizes, kind="stable")
    places = (np.arange(_MESHES) + 0.5) / _MESHES * len(order)
    return order[np.unique(places.astype(np.intp))]


class _Changed(NamedTuple):
    """A training row, and other meshes of the same part."""

    row: int
    coarser: list[Mesh]
    finer: list[Mesh]


def _changed(values: pd.Series, rows: Positions, plane: bool, memory: Memory) -> Iterator[_Changed]:
    """Yield training meshes with coarser ones of nearly the same part, and some with a finer one."""
    for place, row in enumerate(rows.tolist()):
        given, last = values.iloc[row], place == len(rows) - 1  # the coarsest: a finer one takes least time
        path = Path(given) if isinstance(given, (str, os.PathLike)) else None
        key = "1" + "-plane" * plane + "-finer" * last
        kept = None if path is None else memory.get(path, "changed", key)
        if kept is not None and "n_coarser" in kept:
            meshes, count = _unpacked(kept), int(kept["n_coarser"])
            yield _Changed(row, meshes[:count], meshes[count:])
            continue
        try:
            mesh = as_mesh(given)
            mesh = flattened(mesh) if plane else mesh
        except InputError:
            continue
        if mesh.n_nodes > _MOST_NODES:
            continue
        found = _Changed(row, *_variants(mesh, last))
        if path is not None:
            packed = _packed([*found.coarser, *found.finer])
            memory.put(path, "changed", key, mesh.n_nodes, n_coarser=np.array(len(found.coarser)), **packed)
        yield found


def _variants(mesh: Mesh, finer: bool) -> tuple[list[Mesh], list[Mesh]]:
    """Return coarser meshes of nearly the same part and, if requested, a finer one; none of unknown cells."""
    thin, fine, last = list[Mesh](), list[Mesh](), mesh
    try:
        for share in _OF_LINES if mesh.dimension == 2 and "line" in top_cells(mesh.cells) else _OF_OTHERS:
            last = thinned(last, share * mesh.n_nodes / last.n_nodes)
            thin.append(last)
        if finer:
            fine.append(subdivided(mesh))
    except InputError:
        pass
    return thin, fine


def _packed(meshes: Sequence[Mesh]) -> dict[str, AnyArray]:
    """Return the arrays of meshes under names that :func:`_unpacked` understands."""
    found: dict[str, AnyArray] = {}
    for place, mesh in enumerate(meshes):
        found[f"{place}:points:"] = mesh.points
        found |= {f"{place}:cells:{kind}": block for kind, block in mesh.cells.items()}
        found |= {f"{place}:fields:{name}": field for name, field in mesh.fields.items()}
    return found


def _unpacked(arrays: Mapping[str, AnyArray]) -> list[Mesh]:
    """Undo :func:`_packed`."""
    parts: dict[int, dict[str, dict[str, AnyArray]]] = {}
    for name, array in arrays.items():
        place, colon, rest = name.partition(":")
        if colon:
            kind, _, own = rest.partition(":")
            parts.setdefault(int(place), {"points": {}, "cells": {}, "fields": {}})[kind][own] = array
    return [Mesh(one["points"][""], one["cells"], one["fields"]) for _, one in sorted(parts.items())]


def _measured(
    stack: Stack, table: pd.DataFrame, name: str, sizes: Array, changed: Sequence[_Changed]
) -> tuple[float, Array, Array]:
    """Return the largest size that was tried, the factors, and the moves of finer meshes, (k,) each."""
    pairs = [(one.row, mesh) for one in changed for mesh in (*one.coarser, *one.finer)]
    rows, meshes = np.array([row for row, _ in pairs]), [mesh for _, mesh in pairs]
    cases = table.iloc[rows].assign(**{name: pd.Series(meshes, index=table.index[rows], dtype=object)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say of meshes has been said of the training meshes
        h = Coarseness(name).represent(meshes)[:, 0]
        after = stack.predict(stack.represent(cases)).process.columns()
    known = Represented([member.rows for member in stack.members], trend_matrix(stack.trend, table), len(table))
    before = stack.predict(known.take(rows)).process.columns()
    usual = stack.leave_one_out().process.columns().std[rows]  # as sure as of a new case, not of a training case
    moves = np.abs(after.mean - before.mean) / np.maximum(after.std, usual)
    coarser, finer = (np.isfinite(h) & (sign * h > sign * (1 + sign * 0.01) * sizes[rows]) for sign in (1, -1))
    factor = random_error(h[coarser], sizes[rows][coarser], moves[coarser], len(changed))
    still = np.sqrt((moves[finer] ** 2).mean(axis=0)) if finer.any() else np.zeros(moves.shape[1])
    return float(h[coarser].max(initial=0.0)), factor, still


def random_error(coarse: Array, given: Array, moves: Array, n: int) -> Array:
    r"""Return c (k,) of errors :math:`c\,h`, of moves (m, k) from meshes of size :math:`h_0` to those of size h, (m,).

    The root mean square of moves over :math:`\sqrt{h^2 - h_0^2}`, or rather what it may well be with so few meshes: the
    largest in nine of ten, given n of them: :math:`\sqrt{n / \chi^2_{n, 1/10}}` times as much.

    Examples
    --------
    >>> h, h0 = np.array([5.0, 5.0]), np.array([3.0, 3.0])
    >>> random_error(h, h0, np.array([[0.4], [-0.4]]), 1000).round(2).tolist()
    [0.1]
    """
    if not len(moves):
        return np.zeros(moves.shape[1])
    ratio = moves / np.sqrt(coarse**2 - given**2)[:, None]
    return np.asarray(np.sqrt(n / chi2_quantile(_SHARE, n)) * np.sqrt((ratio**2).mean(axis=0)))

r"""What is left of a mesh's influence: by how far predictions move when the same part is meshed more coarsely or finely.

Candidates of the default see the part, and nearly nothing of its mesh; what there is left is measured. After the fit, a
few training meshes are made coarser and finer (``mesh/remesh/thin.py``, ``refine.py``), and the fitted stack is asked
again. A mesh whose pieces of skin have the mean size h (:func:`swwl.mesh.shape.skin.coarseness`) is taken to move a
prediction by :math:`c\,h^p`; what training meshes of all sizes from :math:`h_0` to :math:`h_1` do is in the fit
already, so that a new case is expected to move by

.. math:: c\,(h^p - h_1^p) \text{ where } h > h_1, \qquad c\,(h_0^p - h^p) \text{ where } h < h_0,

and by nothing in between. This widens intervals (``intervals.py``), and where it is more than a part of a standard
deviation, or nothing as coarse has been tried, the case is not like the training cases.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.summaries import CoarsenessEmbedding
from swwl.errors import InputError
from swwl.formatting import number
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Product
from swwl.kernels.sliced import EmbeddingFactor
from swwl.mesh.arrays import AnyArray
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.refine import subdivided
from swwl.mesh.remesh.thin import thinned
from swwl.regression.stack import Stack
from swwl.storage.checks import Names, Shape

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

# Training meshes that are changed, and the shares of their nodes that are left.
_MESHES, _SHARES = 4, (0.5, 0.25)
# Powers of the size of pieces to choose from.
_POWERS = (1.0, 1.5, 2.0, 2.5, 3.0)
# A case is unlike the training cases from so many standard deviations on, or where pieces are so many times larger than
# any that were tried. Moves of single cases are up to twice as large as what is expected.
_MOST_MOVE, _BEYOND = 0.3, 1.25
# Meshes of more nodes take too long to be changed.
_MOST_NODES = 200_000


class Coarseness(EmbeddingFactor):
    """No factor of a kernel, but read with the meshes of its column, once: how coarse they are, (N, 1).

    Parameters
    ----------
    column : str
    n_jobs : int or None
    """

    r = 1  # whole numbers are kept, whatever the solver

    def __init__(self, column: str = "graph", *, n_jobs: int | None = None):
        self.column = column
        self.n_jobs = n_jobs
        self.start()

    def make_embedding(self) -> CoarsenessEmbedding:
        """Return what measures meshes."""
        return CoarsenessEmbedding(n_jobs=self.n_jobs)

    def keep(self, rows: AnyArray) -> Array:
        """Return the numbers."""
        return np.asarray(rows, np.float64)


def embedded_columns(kernels: Iterable[Product]) -> list[str]:
    """Return the columns of graphs that kernels embed, each once.

    Examples
    --------
    >>> from swwl.kernels import SWWL, Matern52
    >>> embedded_columns([SWWL("mesh") * Matern52("speed")])
    ['mesh']
    """
    factors = [factor for kernel in kernels for factor in kernel.factors]
    return list(dict.fromkeys(str(own.column) for own in factors if isinstance(own, EmbeddingFactor)))


def coarseness_kernel(columns: Sequence[str], n_jobs: int | None = None) -> Product:
    """Return what measures the meshes of columns while kernels embed them."""
    return Product(*(Coarseness(name, n_jobs=n_jobs) for name in columns))


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
class Influence:
    """How predictions depend on how coarse meshes are, for c columns of meshes and k targets.

    Attributes
    ----------
    columns : list of str
    finest, coarsest : ndarray of shape (c,)
        Sizes of pieces of the training meshes, :math:`h_0` and :math:`h_1`.
    tried : ndarray of shape (c,)
        The largest size that was tried.
    factor, power : ndarray of shape (c, k)
        c and p, on the scales of the processes.
    finer : ndarray of shape (c, k)
        By how far predictions move when every edge is halved, for another half each.
    """

    columns: Names
    finest: Annotated[Array, Shape("c", above=0)]
    coarsest: Annotated[Array, Shape("c", above=0)]
    tried: Annotated[Array, Shape("c", above=0)]
    factor: Annotated[Array, Shape("ck", least=0)]
    power: Annotated[Array, Shape("ck", above=0)]
    finer: Annotated[Array, Shape("ck", least=0)]

    @cached_property
    def kernel(self) -> Product:
        """What measures the meshes of :attr:`columns` while they are embedded."""
        return coarseness_kernel(self.columns)

    def moves(self, sizes: Array) -> Array:
        """Return by how far cases of so large pieces (M, c) move, (M, k), on the scales of the processes.

        Examples
        --------
        >>> one = np.ones((1, 1))
        >>> influence = Influence(["mesh"], one[0], 2 * one[0], 8 * one[0], 0.1 * one, 2 * one, 0 * one)
        >>> influence.moves(np.array([[0.5], [1.0], [2.0], [4.0]])).round(3).ravel().tolist()
        [0.075, 0.0, 0.0, 1.2]
        """
        known = np.where(np.isfinite(sizes), np.clip(sizes, self.finest, self.coarsest), 0.0)
        h = np.where(np.isfinite(sizes), sizes, known)[:, :, None]
        apart = np.abs(h**self.power - known[:, :, None] ** self.power)
        halved = np.log2(np.maximum(self.finest / np.maximum(h[:, :, 0], 1e-300), 1.0))
        halved[~np.isfinite(sizes)] = 0.0
        moved = np.maximum(self.factor * apart, self.finer * halved[:, :, None])
        return np.asarray(np.sqrt((moved**2).sum(axis=1)))

    def expected(self, sizes: Array, plain: Prediction) -> Expected:
        """Return by how far cases move in standard deviations of their predictions, and what is to be said of it.

        Parameters
        ----------
        sizes : ndarray of shape (M, c)
            Nan where they are not known.
        plain : Prediction
            Of the cases, arrays of shape (M,) or (M, k).
        """
        std = plain.process.columns().std
        moves = self.moves(sizes) / np.where(std > 0, std, np.inf)
        notes = []
        for own, moved in zip(sizes, moves.max(axis=1), strict=True):
            beyond = bool((own > _BEYOND * self.tried).any())
            notes.append(self._words(own, float(moved), beyond) if beyond or moved > _MOST_MOVE else "")
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


def measure_influence(stack: Stack, table: pd.DataFrame, columns: Sequence[str], sizes: Array) -> Influence | None:
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

    Returns
    -------
    Influence or None
        None where no mesh can be made coarser.
    """
    found = []
    for k, name in enumerate(columns):
        known = np.flatnonzero(np.isfinite(sizes[:, k]))
        changed = list(_changed(table[name], known[_spread(sizes[known, k])])) if len(known) else []
        if any(one.coarser for one in changed):
            found.append((str(name), sizes[known, k], _measured(stack, table, str(name), changed)))
    if not found:
        return None
    names, own, measured = zip(*found, strict=True)
    tried, factor, power, finer = (np.array(part) for part in zip(*measured, strict=True))
    finest, coarsest = np.array([h.min() for h in own]), np.array([h.max() for h in own])
    return Influence(list(names), finest, coarsest, np.maximum(tried, coarsest), factor, power, finer)


def _spread(sizes: Array) -> Positions:
    """Return a few places spread evenly over sorted sizes, without the extremes."""
    order = np.argsort(sizes, kind="stable")
    places = (np.arange(_MESHES) + 0.5) / _MESHES * len(order)
    return order[np.unique(places.astype(np.intp))]


class _Changed(NamedTuple):
    """A training row, its mesh and others of the same part."""

    row: int
    given: Mesh
    coarser: list[Mesh]
    finer: list[Mesh]


def _changed(values: pd.Series, rows: Positions) -> Iterator[_Changed]:
    """Yield training meshes with coarser ones of nearly the same part, and some with a finer one."""
    for place, row in enumerate(rows.tolist()):
        try:
            mesh = as_mesh(values.iloc[row])
        except InputError:
            continue
        if mesh.n_nodes > _MOST_NODES:
            continue
        coarser, finer, last = list[Mesh](), list[Mesh](), mesh
        try:
            for share in _SHARES:
                last = thinned(last, share * mesh.n_nodes / last.n_nodes)
                coarser.append(last)
            if place % 2:
                finer.append(subdivided(mesh))
        except InputError:  # other cells
            pass
        yield _Changed(row, mesh, coarser, finer)


def _measured(
    stack: Stack, table: pd.DataFrame, name: str, changed: Sequence[_Changed]
) -> tuple[float, Array, Array, Array]:
    """Return the largest size that was tried, and factors, powers and moves of finer meshes, (k,) each."""
    meshes = [mesh for one in changed for mesh in (one.given, *one.coarser, *one.finer)]
    rows = [one.row for one in changed for _ in (one.given, *one.coarser, *one.finer)]
    first = {one.row: rows.index(one.row) for one in changed}
    cases = table.iloc[rows].assign(**{name: pd.Series(meshes, index=table.index[rows], dtype=object)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say of meshes has been said of the training meshes
        h = Coarseness(name).represent(meshes)[:, 0]
        mean = stack.predict(stack.represent(cases)).process.columns().mean
    origin = np.array([first[row] for row in rows])
    moves = np.abs(mean - mean[origin])
    coarser = np.isfinite(h) & (h > 1.01 * h[origin])
    finer = np.isfinite(h) & (h < 0.99 * h[origin])
    pairs = [_law(h[coarser], h[origin][coarser], own[coarser]) for own in moves.T]
    still = np.sqrt((moves[finer] ** 2).mean(axis=0)) if finer.any() else np.zeros(moves.shape[1])
    factor, power = (np.array(part) for part in zip(*pairs, strict=True))
    return float(h[coarser].max(initial=0.0)), factor, power, still


def _law(coarse: Array, given: Array, moves: Array) -> tuple[float, float]:
    r"""Return c and p of :math:`c\,(h^p - h_0^p)`, of the size of moves (m,) from :math:`h_0` to :math:`h`.

    The power is that by which moves over differences of powers vary least; the factor is their root mean square.

    Examples
    --------
    >>> h0, h = np.array([1.0, 1.0, 2.0]), np.array([2.0, 4.0, 8.0])
    >>> factor, power = _law(h, h0, 0.3 * (h**2 - h0**2))
    >>> round(factor, 3), power
    (0.3, 2.0)
    """
    if not moves.any():
        return 0.0, _POWERS[0]
    least = 0.1 * moves.max()  # one that happens to be small says little
    tries = []
    for power in _POWERS:
        apart = coarse**power - given**power
        spread = float(np.log(np.maximum(moves, least) / apart).std())
        tries.append((spread, power, float(np.sqrt(np.mean((moves / apart) ** 2)))))
    _, power, factor = min(tries)
    return factor, power

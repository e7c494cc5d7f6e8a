"""Training fields of one name on a shared basis, or node by node: what candidates of a choice are compared by."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.fields.geometry.descriptors import Blocks, Describer, Recipe, n_factors
from swwl.fields.modes import Encoded, FieldModes, Nodal, Smooth, SmoothBasis, choose_centers, gram, gram_of, pack
from swwl.fields.numbers import NodalWeights, cell_shares
from swwl.fields.sizes import CaseSizes, OneSize
from swwl.fields.values import FieldKind, Warp, cell_means
from swwl.mesh.mesh import Mesh

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Nodes of a mesh at which candidates are compared, folds are scored and intervals are judged; Gram matrices of the
# final fit take all.
MOST_COMPARED, MOST_SCORED, MOST_JUDGED = 1000, 2000, 8000
# Bytes of functions at nodes that are kept while candidates are compared.
_MOST_BYTES = 2_000_000_000


class JudgedCells(NamedTuple):
    """Some cells of a mesh, or all: at which nodes (q,) they are, means over their nodes (m, q), the field (m, c).

    ``lost`` are the mean squares (c,) of what the field loses on the way to nodes and back, ``shares`` (m, 1) the sizes
    of the cells.
    """

    nodes: Rows
    means: sparse.csr_array
    truth: Array
    lost: Array
    shares: Array

    @classmethod
    def of(cls, mesh: Mesh, kind: FieldKind, nodal: Array, seed: int) -> JudgedCells:
        """Choose cells whose field is known: all, or many drawn at random.

        Parameters
        ----------
        mesh : Mesh
        kind : FieldKind
            Of a field of cells.
        nodal : ndarray of shape (n, c)
            The field at the nodes.
        seed : int
        """
        given = np.asarray(mesh.cell_fields[kind.name], dtype=float).reshape(mesh.n_cells, -1)
        means = cell_means(mesh)
        known = np.isfinite(given).all(axis=1) & np.isfinite(means @ nodal).all(axis=1)
        cells = np.flatnonzero(known)
        if mesh.n_nodes > MOST_JUDGED:
            some = max(1, MOST_JUDGED // max(block.shape[1] for block in mesh.cells.values()))
            cells = np.sort(np.random.default_rng(seed).permutation(cells)[:some])
        nodes = np.unique(means[cells].indices)
        among = means[cells][:, nodes]
        left = among @ nodal[nodes] - given[cells]
        lost = (left**2).mean(axis=0) if len(left) else np.zeros(given.shape[1])
        return cls(nodes, among, given[cells], lost, cell_shares(mesh)[cells] * (known.sum() / max(len(cells), 1)))

    def of_nodes(self, values: Array) -> Array:
        """Return values at the cells, (..., m, c), of those at their nodes, (..., q, c)."""
        flat = np.moveaxis(values, -2, 0)
        found = (self.means @ flat.reshape(len(flat), -1)).reshape(-1, *flat.shape[1:])
        return np.moveaxis(found, 0, -2)


@dataclass(frozen=True)
class FieldData:
    """One field on all training meshes.

    Attributes
    ----------
    kind : FieldKind
    values : list of ndarray of shape (n, c)
        NaN where it is not known.
    weights : list of ndarray of shape (n,)
    blocks : list of dict
        Descriptors of all nodes; empty for meshes that share their cells.
    scored : list of ndarray of int
        The nodes at which folds are scored.
    shares : list of ndarray of shape (scored, 1) or (scored, 1 + d)
        Shares of the scored nodes in cells and normals, see :func:`swwl.fields.numbers.node_shares`.
    held : list of ndarray of bool, shape (n, c)
        Where values are the same in all fields, on named groups, and so known.
    held_values : dict of str to ndarray of shape (c,)
        What they are there, by group; NaN where they vary.
    limits : tuple of float
        That all fields keep.
    sizes : CaseSizes or None
        Of every field, from folds without it.
    true_amplitudes : ndarray of shape (N,) or None
    amplitudes : ndarray of shape (N,) or None
        What ``values`` were divided by, if they are shapes.
    forces : list of dict of str to NodalWeights
        What nodes count in the forces on groups, see :func:`swwl.fields.numbers.group_forces`.
    cells : list of JudgedCells, or None
        Of fields of cells, those at which folds are scored and intervals are judged.
    """

    kind: FieldKind
    values: list[Array]
    weights: list[Array]
    blocks: list[Blocks]
    scored: list[Rows]
    shares: list[Array]
    held: list[NDArray[np.bool_]]
    held_values: dict[str, Array] = field(default_factory=dict)
    limits: tuple[float, float] = (-np.inf, np.inf)
    sizes: CaseSizes | None = None
    true_amplitudes: Array | None = None
    amplitudes: Array | None = None
    forces: list[dict[str, NodalWeights]] = field(default_factory=list)
    cells: list[JudgedCells] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def pool(self) -> Array:
        """Return values at the scored nodes of all meshes, those that are known, (n, c)."""
        values = np.concatenate([v[nodes] for v, nodes in zip(self.values, self.scored, strict=True)])
        return values[np.isfinite(values).all(axis=1)]

    def truth(self) -> list[Array]:
        """Return the values at the scored nodes, in units of the field."""
        return [self.given(row)[nodes] for row, nodes in enumerate(self.scored)]

    def chosen(self, row: int) -> Rows:
        """Return the nodes of a mesh that candidates are compared by: some of those that are scored."""
        nodes = self.scored[row]
        return nodes[:: -(-len(nodes) // MOST_COMPARED)]

    def given(self, row: int) -> Array:
        """Return the field of a mesh in its units, (n, c)."""
        return self.values[row] if self.amplitudes is None else self.values[row] * self.amplitudes[row]

    def size(self, row: int) -> OneSize:
        """Return how large a field is, as folds without it say; its amplitude only where values are shapes."""
        if self.sizes is None:
            return OneSize()
        found = self.sizes.row(row)
        return found if self.amplitudes is not None else OneSize(largest=found.largest)

    def finished(self, row: int, nodes: Rows, values: Array) -> Array:
        """Return predicted values at some nodes with those that are known, (n, c)."""
        return np.where(self.held[row][nodes], self.given(row)[nodes], values)

    def as_shapes(self) -> FieldData | None:
        """Return the same fields over their amplitudes; None where nothing is known of these, or limits forbid it."""
        if self.sizes is None or self.true_amplitudes is None or not set(self.limits) <= {-np.inf, 0.0, np.inf}:
            return None
        values = [own / size for own, size in zip(self.values, self.true_amplitudes, strict=True)]
        return replace(self, values=values, amplitudes=self.true_amplitudes)


def scored_nodes(n: int, seed: int) -> Rows:
    """Return the nodes of a mesh of n at which folds are scored: all, or some drawn at random."""
    return np.arange(n) if n <= MOST_SCORED else np.sort(np.random.default_rng(seed).permutation(n)[:MOST_SCORED])


def judged_nodes(n: int, seed: int) -> Rows:
    """Return the nodes of a mesh of n at which intervals are judged: all, or many drawn at random.

    Bands of whole fields have to hold the largest error, so that a few nodes are not enough.
    """
    return np.arange(n) if n <= MOST_JUDGED else np.sort(np.random.default_rng(seed).permutation(n)[:MOST_JUDGED])


@dataclass(frozen=True)
class Candidate:
    """One choice of everything but the kernel.

    Attributes
    ----------
    name : str
        Of the descriptors.
    recipe : dict
    length : float
        Range of the basis, in units of descriptors.
    shrinkage : float
    warp : str
    amplitude : bool
        Whether fields are amplitudes times shapes.
    """

    name: str
    recipe: Recipe
    length: float
    shrinkage: float
    warp: str
    amplitude: bool = False


@dataclass(frozen=True)
class Coded:
    """Training fields on a candidate's basis.

    Attributes
    ----------
    candidate : Candidate
    warp : Warp
    basis : SmoothBasis or None
    describer : Describer
    encoded : Smooth or Nodal
    functions : list of ndarray of shape (n, M), or None
        The basis at the nodes that candidates are compared by, while it is kept.
    """

    candidate: Candidate
    warp: Warp
    basis: SmoothBasis | None
    describer: Describer
    encoded: Encoded
    functions: list[Array] | None = None

    def descriptors(self, data: FieldData, row: int, nodes: Rows | slice) -> Array | None:
        """Return the descriptors of some nodes of a training mesh, or None where the basis is that of nodes."""
        if self.basis is None:
            return None
        blocks = {name: data.blocks[row][name][nodes] for name in self.candidate.recipe}
        return self.describer.stack(blocks, self.candidate.recipe)

    def field_at(self, data: FieldData, row: int, modes: FieldModes, sizes: Array) -> Array:
        """Return a sum of modes of given sizes (K,) at nodes that candidates are compared by, (n, c), still warped."""
        coefficients = modes.coefficients(sizes)
        if self.basis is None:
            return np.asarray(coefficients.T[data.chosen(row)])
        return np.asarray(self.at_chosen(data, row) @ coefficients.T)

    def at_chosen(self, data: FieldData, row: int) -> Array:
        """Return the basis at the nodes of a mesh that candidates are compared by, (n, M)."""
        if self.functions is not None:
            return self.functions[row]
        descriptors = self.descriptors(data, row, data.chosen(row))
        assert self.basis is not None and descriptors is not None
        return self.basis(descriptors)

    def modes_at(self, data: FieldData, row: int, modes: FieldModes, nodes: Rows) -> tuple[Array, Array, Rows]:
        """Return mean and principal fields at some nodes of a training mesh, and places of truncation."""
        descriptors = self.descriptors(data, row, nodes)
        if self.basis is None or descriptors is None:
            mean, shapes = modes.at(None)
            return mean[nodes], shapes[nodes], nodes
        found = modes.of_correlations(self.basis).at(self.basis.correlations(descriptors))
        return *found, self.basis.places(descriptors)


def code_nodes(data: FieldData, warp: str) -> Coded:
    """Code fields of meshes that share their cells; a value that is not known gets the mean of the other meshes."""
    scale = Warp.of(warp, data.pool(), data.limits)
    values = np.stack([scale(values).T for values in data.values])
    if np.isnan(values).any():
        values = np.where(np.isnan(values), np.nan_to_num(np.nanmean(values, axis=0)), values)
    weights = np.mean(data.weights, axis=0)
    candidate = Candidate("nodes", {}, 0.0, 0.0, warp, data.amplitudes is not None)
    return Coded(candidate, scale, None, Describer(0, 1.0, False), Nodal(values, weights))


def code_smooth(
    data: FieldData, describer: Describer, candidate: Candidate, size: int, seed: int, whole: bool, known: Coded | None
) -> Coded:
    """Code fields on a candidate's basis.

    Parameters
    ----------
    data : FieldData
    describer : Describer
    candidate : Candidate
    size : int
        Functions of the basis.
    seed : int
    whole : bool
        Whether Gram matrices take all nodes, to all digits, and not just those that candidates are compared by.
    known : Coded, optional
        Whose basis is taken over, where it would be the same, and Gram matrices.
    """
    scale = Warp.of(candidate.warp, data.pool(), data.limits)
    if known is not None and (known.candidate.recipe, known.candidate.length) != (candidate.recipe, candidate.length):
        known = None
    same = known is not None and (known.candidate.warp, known.candidate.amplitude) == (
        candidate.warp,
        candidate.amplitude,
    )
    if known is not None and same and not whole:
        encoded = known.encoded.shrunk(candidate.shrinkage)
        return Coded(candidate, scale, known.basis, describer, encoded, known.functions)
    basis = known.basis if known is not None else None
    if basis is None:
        basis = _basis(data, describer, candidate, size, seed)
    coded = Coded(candidate, scale, basis, describer, Smooth(*(np.empty((0, 0)),) * 4, candidate.shrinkage))
    if not whole:
        coded = replace(coded, functions=known.functions if known is not None else _functions(data, coded))
    grams, loads, squares, counts = [], [], [], []
    for row in range(len(data)):
        part = slice(None) if whole else data.chosen(row)
        weights = data.weights[row][part]
        weights = weights / (float(weights.sum()) or 1.0)
        y = np.nan_to_num(scale(data.values[row][part]))
        if whole:
            descriptors = coded.descriptors(data, row, part)
            assert descriptors is not None
            g, h = gram(basis, descriptors, weights, y)
            packed = pack(g)
        elif known is not None and isinstance(known.encoded, Smooth):
            packed, h = known.encoded.grams[row], (y * weights[:, None]).T @ coded.at_chosen(data, row)
        else:
            g, h = gram_of(coded.at_chosen(data, row), weights, y)
            packed = pack(g)
        grams.append(packed)
        loads.append(h)
        squares.append(float(weights @ (y**2).sum(axis=1)))
        counts.append(float((weights > 0).sum()))
    encoded = Smooth(np.array(grams), np.array(loads), np.array(squares), np.array(counts), candidate.shrinkage)
    return replace(coded, encoded=encoded, functions=None if whole else coded.functions)


def _basis(data: FieldData, describer: Describer, candidate: Candidate, size: int, seed: int) -> SmoothBasis:
    """Choose the centers of a candidate's basis among the nodes of all meshes."""
    stacked = []
    for blocks, nodes in zip(data.blocks, data.scored, strict=True):
        chosen = {name: blocks[name][nodes] for name in candidate.recipe}
        stacked.append(describer.stack(chosen, candidate.recipe))
    factors = n_factors(candidate.recipe)
    places = [rows[:, : rows.shape[1] - factors] for rows in stacked]
    centers = choose_centers(places, max(2, size // (1 + factors)), seed)
    return SmoothBasis.of(centers, candidate.length, factors)


def _functions(data: FieldData, coded: Coded) -> list[Array] | None:
    """Return the basis at the nodes that candidates are compared by, where there is room for it."""
    assert coded.basis is not None
    total = sum(len(data.chosen(row)) for row in range(len(data)))
    if 8 * total * coded.basis.size > _MOST_BYTES:
        return None
    return [coded.at_chosen(data, row) for row in range(len(data))]

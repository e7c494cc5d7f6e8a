"""Training fields of one name on a shared basis, or node by node: what candidates of a choice are compared by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swwl.fields.geometry.descriptors import Blocks, Describer, Recipe, n_factors
from swwl.fields.modes import Encoded, FieldModes, Nodal, Smooth, SmoothBasis, choose_centers, gram, pack
from swwl.fields.values import FieldKind, Warp

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Nodes of a mesh at which folds are scored; Gram matrices of the final fit take all.
MOST_SCORED = 2000


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
    """

    kind: FieldKind
    values: list[Array]
    weights: list[Array]
    blocks: list[Blocks]
    scored: list[Rows]
    shares: list[Array]

    def __len__(self) -> int:
        return len(self.values)

    def pool(self) -> Array:
        """Return values at the scored nodes of all meshes, those that are known, (n, c)."""
        values = np.concatenate([v[nodes] for v, nodes in zip(self.values, self.scored, strict=True)])
        return values[np.isfinite(values).all(axis=1)]

    def truth(self) -> list[Array]:
        """Return the values at the scored nodes."""
        return [values[nodes] for values, nodes in zip(self.values, self.scored, strict=True)]


def scored_nodes(n: int, seed: int) -> Rows:
    """Return the nodes of a mesh of n at which folds are scored: all, or some drawn at random."""
    return np.arange(n) if n <= MOST_SCORED else np.sort(np.random.default_rng(seed).permutation(n)[:MOST_SCORED])


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
    """

    name: str
    recipe: Recipe
    length: float
    shrinkage: float
    warp: str


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
    """

    candidate: Candidate
    warp: Warp
    basis: SmoothBasis | None
    describer: Describer
    encoded: Encoded

    def descriptors(self, data: FieldData, row: int, nodes: Rows | slice) -> Array | None:
        """Return the descriptors of some nodes of a training mesh, or None where the basis is that of nodes."""
        if self.basis is None:
            return None
        blocks = {name: data.blocks[row][name][nodes] for name in self.candidate.recipe}
        return self.describer.stack(blocks, self.candidate.recipe)

    def field_at(self, data: FieldData, row: int, modes: FieldModes, sizes: Array) -> Array:
        """Return a sum of modes of given sizes (K,) at the scored nodes of a training mesh, (n, c), still warped."""
        nodes = data.scored[row]
        coefficients = modes.coefficients(sizes)
        descriptors = self.descriptors(data, row, nodes)
        if self.basis is None or descriptors is None:
            return np.asarray(coefficients.T[nodes])
        return self.basis.combine(descriptors, coefficients.T)

    def modes_at(self, data: FieldData, row: int, modes: FieldModes) -> tuple[Array, Array, Rows]:
        """Return mean and principal fields at the scored nodes of a training mesh, and places of truncation."""
        nodes = data.scored[row]
        descriptors = self.descriptors(data, row, nodes)
        if self.basis is None or descriptors is None:
            mean, shapes = modes.at(None)
            return mean[nodes], shapes[nodes], nodes
        return *modes.at(self.basis(descriptors)), self.basis.places(descriptors)


def code_nodes(data: FieldData, warp: str) -> Coded:
    """Code fields of meshes that share their cells; a value that is not known gets the mean of the other meshes."""
    scale = Warp.of(warp, data.pool())
    values = np.stack([scale(values).T for values in data.values])
    if np.isnan(values).any():
        values = np.where(np.isnan(values), np.nan_to_num(np.nanmean(values, axis=0)), values)
    weights = np.mean(data.weights, axis=0)
    candidate = Candidate("nodes", {}, 0.0, 0.0, warp)
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
        Whether Gram matrices take all nodes, and not just those that are scored.
    known : Coded, optional
        Whose Gram matrices are taken over, where they would be the same.
    """
    scale = Warp.of(candidate.warp, data.pool())
    if known is not None and (known.candidate.recipe, known.candidate.length) != (candidate.recipe, candidate.length):
        known = None
    if known is not None and known.candidate.warp == candidate.warp and not whole:
        return Coded(candidate, scale, known.basis, describer, known.encoded.shrunk(candidate.shrinkage))
    basis = None if known is None else known.basis
    if basis is None:
        stacked = []
        for blocks, nodes in zip(data.blocks, data.scored, strict=True):
            chosen = {name: blocks[name][nodes] for name in candidate.recipe}
            stacked.append(describer.stack(chosen, candidate.recipe))
        factors = n_factors(candidate.recipe)
        places = [rows[:, : rows.shape[1] - factors] for rows in stacked]
        centers = choose_centers(places, max(2, size // (1 + factors)), seed)
        basis = SmoothBasis.of(centers, candidate.length, factors)
    grams, loads, squares, counts = [], [], [], []
    for row in range(len(data)):
        part = slice(None) if whole else data.scored[row]
        weights = data.weights[row][part]
        weights = weights / (float(weights.sum()) or 1.0)
        y = np.nan_to_num(scale(data.values[row][part]))
        own = {name: data.blocks[row][name][part] for name in candidate.recipe}
        g, h = gram(basis, describer.stack(own, candidate.recipe), weights, y)
        grams.append(pack(g))
        loads.append(h)
        squares.append(float(weights @ (y**2).sum(axis=1)))
        counts.append(float((weights > 0).sum()))
    encoded = Smooth(np.array(grams), np.array(loads), np.array(squares), np.array(counts), candidate.shrinkage)
    return Coded(candidate, scale, basis, describer, encoded)

r"""What tells the place of a node, on a mesh of any topology: blocks of numbers per node, weighed by recipes.

Blocks are box coordinates, normals of surfaces and contours, lags by linear finite elements and, around bodies in the
plane, slit-map coordinates (see ``walls.py``). Their deviations in the training set are settled once; a recipe weighs
and stacks them, and smooth functions of the result are the basis of fields (``modes.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.errors import InputError
from swwl.fields.geometry.groups import around_bodies, group_offsets
from swwl.fields.geometry.walls import wall_descriptors, wall_gains, wall_map
from swwl.mesh.adjacency import cells_adjacency
from swwl.mesh.arrays import first_at_place
from swwl.mesh.boundary import boundary, piece_normals
from swwl.mesh.cells import cell_dimension, cut_into_simplices, top_cells
from swwl.mesh.groups import matching
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.conduction import solved
from swwl.mesh.shape.skin import skin
from swwl.storage.checks import Count, Positive, Shape

Array = NDArray[np.float64]

# To the diagonal of stiffness, so that parts of a mesh that are held nowhere have a solution, too.
_LEAK = 1e-12
# What the profile of a flow has inside a simplex beyond its corners, over 1 / sum of squared slopes.
_BUBBLE = 0.2
# Offsets to groups are saturated at this part of the typical diagonal.
_NEAR = 0.1


def stiffness(
    points: Array, simplices: NDArray[np.integer], conductance: Array | None = None
) -> tuple[sparse.csc_array, Array]:
    r"""Assemble :math:`K_{ab} = \int \nabla\varphi_a\cdot\nabla\varphi_b` and the lumped mass of linear elements.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    simplices : ndarray of shape (m, k)
        Lines (k = 2), triangles or tetrahedra, in any dimension.
    conductance : ndarray of shape (m,), optional
        A factor of every simplex in K.

    Returns
    -------
    K : sparse array of shape (n, n)
    M : ndarray of shape (n,)
        Sums to the length, area or volume.

    Examples
    --------
    >>> K, M = stiffness(np.array([[0.0], [2.0]]), np.array([[0, 1]]))
    >>> K.toarray().round(6).tolist(), M.tolist()
    ([[0.5, -0.5], [-0.5, 0.5]], [1.0, 1.0])
    """
    n, k = len(points), simplices.shape[1]
    corners = points[simplices]
    edges = corners[:, 1:] - corners[:, :1]
    metric = np.einsum("mid,mjd->mij", edges, edges)
    # Flat cells would have infinite gradients.
    scale = np.maximum(np.einsum("mii->m", metric) / (k - 1), np.finfo(float).tiny)
    sizes = np.sqrt(np.maximum(_adjugate(metric)[1], 0.0)) / float(np.prod(np.arange(1, k)))
    inverse = _inverse(metric + 1e-13 * scale[:, None, None] * np.eye(k - 1))
    inverse *= (sizes if conductance is None else sizes * conductance)[:, None, None]
    local = np.empty((len(simplices), k, k))
    local[:, 1:, 1:] = inverse
    local[:, 0, 1:] = local[:, 1:, 0] = -inverse.sum(axis=1)
    local[:, 0, 0] = inverse.sum(axis=(1, 2))
    rows, columns = np.repeat(simplices, k, axis=1).ravel(), np.tile(simplices, (1, k)).ravel()
    matrix = sparse.csc_array((local.ravel(), (rows, columns)), shape=(n, n))
    return matrix, np.asarray(np.bincount(simplices.ravel(), np.repeat(sizes / k, k), n), dtype=float)


def _inverse(matrices: Array) -> Array:
    """Return the inverses of symmetric matrices, (m, k, k) with k from 1 to 3: ten times faster than LAPACK's."""
    adjugate, determinant = _adjugate(matrices)
    return np.asarray(adjugate / determinant[:, None, None])


def _adjugate(matrices: Array) -> tuple[Array, Array]:
    """Return the adjugates of symmetric matrices, (m, k, k) with k from 1 to 3, and their determinants, (m,)."""
    found = np.empty_like(matrices)
    if matrices.shape[1] == 1:
        found[:] = 1.0
    elif matrices.shape[1] == 2:
        found[:, 0, 0], found[:, 1, 1] = matrices[:, 1, 1], matrices[:, 0, 0]
        found[:, 0, 1] = found[:, 1, 0] = -matrices[:, 0, 1]
    else:
        first, second, third = (matrices[:, i] for i in range(3))
        for i, (a, b) in enumerate(((second, third), (third, first), (first, second))):
            found[:, i] = np.cross(a, b)
    return found, np.asarray(np.einsum("mi,mi->m", matrices[:, 0], found[:, 0]))


def lags(mesh: Mesh, lengths: Sequence[float], values: Array | None = None) -> list[Array]:
    r"""Return :math:`(I + \tau^2 M^{-1} K)^{-1} x - x` for every length :math:`\tau`.

    On a surface that is about the normal times the curvature; in a domain, the direction to the boundary and how near
    it is.

    Parameters
    ----------
    mesh : Mesh
    lengths : sequence of float
    values : ndarray of shape (n, s), optional
        What is carried; by default the coordinates.

    Returns
    -------
    list of ndarray of shape (n, s)
        Zero at nodes that hang together with no others.

    Examples
    --------
    >>> line = Mesh(np.linspace(0, 1, 101)[:, None], np.column_stack([np.arange(100), np.arange(1, 101)]))
    >>> lag = lags(line, [0.1])[0]
    >>> bool(abs(lag[50, 0]) < 1e-6), lag[0, 0].round(3).tolist()  # inward at the ends, by tau
    (True, 0.1)
    """
    values = mesh.points if values is None else values
    simplices = cut_into_simplices(mesh.cells)
    if not len(simplices):
        return [np.zeros_like(values) for _ in lengths]
    matrix, mass = stiffness(mesh.points, simplices)
    touched = mass > 0
    mass = np.maximum(mass, 1e-12 * mass[touched].mean() if touched.any() else 1.0)
    centered = values - values.mean(axis=0)
    solid = simplices.shape[1] == 4
    found = []
    for length in lengths:
        system = (sparse.diags_array(mass) + length**2 * matrix).tocsc()
        found.append(solved(system, mass[:, None] * centered, solid) - centered)
    return [_on_sides(mesh, lag, touched) for lag in found]


def between(mesh: Mesh, first: str, second: str, diagonal: float) -> Array:
    r"""Return how far a node is from two groups on the way from one to the other, (n, 2).

    A unit current flows from one group to the other, :math:`\nabla\cdot(w \nabla u) = 0`, and the columns are what it
    has overcome since the first and what is left to the second. In a plane or solid domain it flows the better the
    wider that is: :math:`-\Delta w = 1` with :math:`w = 0` on all other boundary, the profile of a slow flow. On
    surfaces and along lines w = 1.

    Parameters
    ----------
    mesh : Mesh
    first, second : str
        Groups that share no node.
    diagonal : float
        The unit of lengths.

    Raises
    ------
    InputError
        If no cells lead from one to the other.

    Examples
    --------
    >>> line = Mesh([0.0, 1.0, 4.0], {"line": [[0, 1], [1, 2]]}, groups={"a": [0], "b": [2]})
    >>> between(line, "a", "b", 1.0).round(6).tolist()
    [[0.0, 4.0], [1.0, 3.0], [4.0, 0.0]]
    """
    simplices = cut_into_simplices(mesh.cells)
    matrix, mass = stiffness(mesh.points / diagonal, simplices)
    start, end, held = (np.zeros(mesh.n_nodes, bool) for _ in range(3))
    start[mesh.group(first).nodes] = end[mesh.group(second).nodes] = True
    solid = simplices.shape[1] == 4
    if 1 < mesh.dimension == simplices.shape[1] - 1:
        held[boundary(mesh.points, mesh.cells)] = True
        held &= ~start & ~end
    if held.any():
        width = np.minimum(_with_held(matrix, mass, held, np.zeros(len(mass)), solid), 1.0)
        # In a wall one cell thick all nodes are held: what is between them counts, and the less the finer a mesh is.
        conducts = np.maximum(width, 0.0)[simplices].mean(axis=1) + _BUBBLE * _squared_heights(
            mesh.points / diagonal, simplices
        )
        matrix, _ = stiffness(mesh.points / diagonal, simplices, conducts)
    level = _with_held(matrix, np.zeros(len(mass)), start | end, end.astype(float), solid)
    current = float(level @ (matrix @ level))
    if not current > _LEAK * matrix.diagonal().max():
        raise InputError(f"has no cells that lead from group {first!r} to group {second!r}.")
    return _on_sides(mesh, np.column_stack([level, 1.0 - level]) / current, mass > 0)


def _squared_heights(points: Array, simplices: NDArray[np.integer]) -> Array:
    """Return one over the sum of the squared slopes of the linear functions in every simplex, (m,)."""
    edges = points[simplices[:, 1:]] - points[simplices[:, :1]]
    metric = np.einsum("mid,mjd->mij", edges, edges)
    scale = np.maximum(np.einsum("mii->m", metric), np.finfo(float).tiny)
    inverse = _inverse(metric + 1e-13 * scale[:, None, None] * np.eye(edges.shape[1]))
    return np.asarray(1.0 / (np.einsum("mii->m", inverse) + inverse.sum(axis=(1, 2))))


def _with_held(matrix: sparse.csc_array, right: Array, held: NDArray[np.bool_], values: Array, solid: bool) -> Array:
    """Solve for all nodes but those whose values are held."""
    found, free = np.where(held, values, 0.0), np.flatnonzero(~held)
    diagonal = matrix.diagonal()
    # Parts that are held nowhere, and nodes that linear elements do not know, stay where they are.
    system = matrix[free][:, free] + sparse.diags_array(np.full(len(free), _LEAK * diagonal.max()))
    found[free] = solved(system.tocsc(), (right - matrix @ found)[free, None], solid)[:, 0]
    return found


def _on_sides(mesh: Mesh, lag: Array, touched: NDArray[np.bool_]) -> Array:
    """Give nodes on the sides and inside of cells, which linear elements do not know, the mean of their neighbors."""
    if touched.all():
        return lag
    lag[~touched] = 0.0
    adjacency = cells_adjacency(mesh.cells, mesh.n_nodes)
    known = touched.astype(float)
    for _ in range(3):  # nodes inside of cells have neighbors on sides, which have corners
        count = adjacency @ known
        new = (known == 0) & (count > 0)
        if not new.any():
            break
        lag[new] = (adjacency[new] @ lag) / count[new, None]
        known[new] = 1.0
    return lag


Blocks = dict[str, NDArray[np.float32]]
Recipe = dict[str, float]

# Lengths of lags, as parts of the typical diagonal.
LENGTHS = (0.03, 0.1, 0.3)
_LAGS = tuple(f"lag{length:g}" for length in LENGTHS)
# The block that is not a place but a factor: a basis has all its functions a second time, times the squared gain.
FACTOR = "gain"
# What names of groups have before them in those of their blocks.
_OFFSET = "to "


def box(points: Array) -> Array:
    """Return coordinates from -1 to 1 in the box of the points, (n, d); a flat side gives zeros.

    Examples
    --------
    >>> box(np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]])).tolist()
    [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    return np.asarray((points - middle) / np.where(half > 0, half, 1.0))


def node_normals(mesh: Mesh) -> Array:
    """Return unit normals at the nodes of a surface in space or of a contour in the plane, (n, d).

    Examples
    --------
    >>> ring = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], {"line": [[0, 1], [1, 2], [2, 3], [3, 0]]})
    >>> node_normals(ring).round(2)[0].tolist()
    [-0.71, -0.71]
    """
    total = normal_shares(mesh)[first_at_place(mesh.points)]
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1), np.finfo(float).tiny)[:, None])


def normal_shares(mesh: Mesh) -> Array:
    """Return every node's share of the normals of the skin, which are as long as its pieces are large, (n, d).

    Examples
    --------
    >>> square = Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]])
    >>> normal_shares(square)[0].tolist()
    [-1.0, -1.0]
    """
    pieces = skin(mesh).pieces
    k = pieces.shape[1]
    vectors = piece_normals(mesh.points, pieces) / k
    return np.column_stack([np.bincount(pieces.ravel(), np.repeat(v, k), mesh.n_nodes) for v in vectors.T])


def has_normals(mesh: Mesh) -> bool:
    """Whether a mesh is a surface in space or a contour in the plane, and tells one side from the other."""
    top = max(map(cell_dimension, top_cells(mesh.cells)), default=0)
    if mesh.dimension not in (2, 3) or top != mesh.dimension - 1:
        return False
    try:
        return skin(mesh).oriented
    except InputError:
        return False


@dataclass(frozen=True)
class Describer:
    """Which blocks the nodes of a data set get, and on which scales.

    Attributes
    ----------
    dimension : int
        Number of coordinates.
    diagonal : float
        Of the typical box; lags are parts of it.
    normals : bool
    bodies : ndarray of shape (K, 4) or None
        Where the bodies of the first training mesh are, and how large, for slit maps; None without bodies.
    scales : dict of str to (mean, deviation)
        Of every block, pooled over the training nodes.
    groups : list of str
        That all training meshes have: offsets to them are blocks.
    pair : pair of str, optional
        Two of them, between which :func:`between` measures.
    around : bool
        Whether nodes know how near they are to bodies, of which there may be any number.
    lagged : bool
        Whether lags are computed.
    """

    dimension: Count
    diagonal: Positive
    normals: bool
    bodies: Annotated[Array, Shape("b4")] | None = None
    scales: dict[str, tuple[Annotated[Array, Shape("*")], Positive]] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    pair: tuple[str, str] | None = None
    around: bool = False
    lagged: bool = True

    def restricted(self, names: Collection[str]) -> Describer:
        """Return the same with no more blocks than have these names: what recipes that were chosen need.

        Examples
        --------
        >>> found = Describer(2, 1.0, True, groups=["inlet"], pair=("inlet", "outlet")).restricted({"box", "between"})
        >>> found.normals, found.groups, found.pair, found.lagged
        (False, [], ('inlet', 'outlet'), False)
        """
        return replace(
            self,
            normals=self.normals and "normal" in names,
            bodies=self.bodies if {"wall", FACTOR} & set(names) else None,
            scales={name: scale for name, scale in self.scales.items() if name in names},
            groups=[name for name in self.groups if _OFFSET + name in names],
            pair=self.pair if "between" in names else None,
            around=self.around and "around" in names,
            lagged=self.lagged and not set(_LAGS).isdisjoint(names),
        )

    def check_groups(self, mesh: Mesh) -> None:
        """Refuse a mesh without a group that blocks need."""
        for name in dict.fromkeys([*self.groups, *(self.pair or ())]):
            if not matching(name, [own for own, group in mesh.groups.items() if len(group.nodes)]):
                there = f"its groups are: {', '.join(mesh.groups)}" if mesh.groups else "it has no groups"
                raise InputError(f"has no group {name!r}, but all training meshes have one; {there}.")

    def blocks(self, mesh: Mesh) -> Blocks:
        """Return the blocks of every node, (n, s) each."""
        if mesh.dimension != self.dimension:
            raise InputError(f"has {mesh.dimension} coordinates, but fit saw {self.dimension}.")
        self.check_groups(mesh)
        found: dict[str, Array] = {"box": box(mesh.points)}
        if self.lagged:
            found |= zip(_LAGS, lags(mesh, [part * self.diagonal for part in LENGTHS]), strict=True)
        if self.normals:
            found["normal"] = node_normals(mesh)
        if self.bodies is not None:
            around = wall_map(mesh, self.bodies)
            found["wall"] = wall_descriptors(around)
            found[FACTOR] = (wall_gains(around) ** 2).sum(axis=1, keepdims=True)
        for name in self.groups:
            found[_OFFSET + name] = group_offsets(mesh, name, _NEAR * self.diagonal)
        if self.pair is not None:
            found["between"] = between(mesh, *self.pair, self.diagonal)
        if self.around:
            found["around"] = around_bodies(mesh)
        return {name: values.astype(np.float32) for name, values in found.items()}

    def scaled(self, pool: Sequence[Blocks]) -> Describer:
        """Return the same with the scales of training nodes."""
        scales: dict[str, tuple[Array, float]] = {}
        for name in pool[0]:
            values = np.concatenate([blocks[name] for blocks in pool]).astype(float)
            mean = values.mean(axis=0)
            spread = float(np.sqrt(((values - mean) ** 2).sum(axis=1).mean()))
            fixed = name in ("box", "normal", "wall", FACTOR)  # their sizes mean something
            scales[name] = (np.zeros_like(mean), 1.0) if fixed else (mean, spread or 1.0)
        return replace(self, scales=scales)

    def recipes(self) -> dict[str, Recipe]:
        """Return the recipes that may be chosen, by name."""
        lagged = {name: 0.3 for name in _LAGS}
        if self.normals:
            found = {
                "box, normals, lags": {"box": 1.0, "normal": 0.7, **lagged},
                "box, normals": {"box": 1.0, "normal": 0.7},
            }
        else:
            found = {
                "lags, box": {"box": 0.5, **dict.fromkeys(_LAGS, 0.5)},
                "box, lags": {"box": 1.0, **lagged},
            }
        first = next(iter(found))
        if self.groups or self.pair or self.around:
            found = self._with_groups(found[first]) | {first: found[first]}
        if self.bodies is None:
            return found
        return {"walls, gain": {"wall": 1.0, FACTOR: 1.0}, "walls": {"wall": 1.0}, **dict([next(iter(found.items()))])}

    def _with_groups(self, known: Recipe) -> dict[str, Recipe]:
        """Return recipes that tell nodes by named groups or bodies, too."""
        way = {"between": 0.5} if self.pair else {}
        if self.around:
            return {"bodies, between groups" if way else "bodies": {"box": 0.5, "around": 0.5, **way}}
        if not self.groups:  # with slit maps
            return {"between groups": known | way} if way else {}
        weak = {name: 0.3 if name in _LAGS else weight for name, weight in known.items()}
        return {
            "groups": weak | {"box": 0.5, **{_OFFSET + name: 0.5 for name in self.groups}, **dict.fromkeys(way, 0.3)}
        }

    @property
    def told_by_groups(self) -> bool:
        """Whether nodes are told by named groups or bodies, and not by slit maps."""
        return self.bodies is None and (bool(self.groups) or self.around)

    def stack(self, blocks: Mapping[str, NDArray[np.floating]], recipe: Recipe) -> Array:
        """Weigh blocks by a recipe and put them side by side, (n, D); a factor comes last."""
        parts = []
        for name, weight in sorted(recipe.items(), key=lambda part: part[0] == FACTOR):
            mean, spread = self.scales[name]
            parts.append(weight * (blocks[name].astype(float) - mean) / spread)
        return np.hstack(parts)


def check_recipe(recipe: object, known: Sequence[str]) -> Recipe:
    """Return a recipe of the user's, or say what is wrong with it."""
    if not isinstance(recipe, Mapping) or not recipe:
        raise InputError(f"descriptors is {recipe!r}, but a dict such as {{'box': 1.0, 'lag0.1': 0.5}} is expected.")
    for name, weight in recipe.items():
        if name not in known:
            raise InputError(f"descriptors names {name!r}, but these meshes have: {', '.join(known)}.")
        if not isinstance(weight, (int, float)) or not 0 < weight < np.inf:
            raise InputError(f"descriptors gives {name!r} the weight {weight!r}, but a positive number is expected.")
    if set(recipe) == {FACTOR}:
        raise InputError(f"descriptors names {FACTOR!r} only, but that is a factor of functions of other blocks.")
    return {str(name): float(weight) for name, weight in recipe.items()}


def n_factors(recipe: Mapping[str, float]) -> int:
    """Return how many of the last columns of stacked blocks are factors.

    Examples
    --------
    >>> n_factors({"wall": 1.0, "gain": 1.0}), n_factors({"box": 1.0})
    (1, 0)
    """
    return int(FACTOR in recipe)

"""Fields of meshes as (n, c) arrays at nodes, and the scales on which they are learned.

:class:`FieldKind` takes a field out of a mesh, checked, and puts it back; fields of cells are carried to nodes by
areas. :class:`Warp` is a scale: as they are, compressed at both ends, as speeds, or as roots of positive fields; each
ends in standardized numbers, a mean for each component and one deviation for all. :func:`kept_limits` finds the limits
that all training fields keep, and predictions with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from swwl.errors import InputError
from swwl.mesh.cells import cell_dimension, cell_measures, lumped_measures
from swwl.mesh.mesh import Mesh
from swwl.storage.checks import AnyNumber, NotNegative, Shape

Array = NDArray[np.float64]

WARPS = ("none", "asinh", "speed", "root")
# sinh of larger numbers, far beyond the training fields, would swamp everything.
_SLACK = 3.0
# From this share of meshes on that reach the same least or largest value, it is a limit.
_REACH, _SAME = 0.8, 1e-6
# Steps from averages at nodes to values whose means are those of cells.
_STEPS = 8


@dataclass(frozen=True)
class FieldKind:
    """What a field is like, on all meshes alike.

    Attributes
    ----------
    name : str
    components : int
        c.
    flat : bool
        Whether arrays have shape (n,), and not (n, c).
    on_cells : bool
    times : int
        At how many times components are given, side by side, (n, J p): sizes are those of p components at one time.
    """

    name: str
    components: Annotated[int, Meta(ge=1)]
    flat: bool
    on_cells: bool
    times: Annotated[int, Meta(ge=1)] = 1

    @property
    def single(self) -> bool:
        """Whether the field is one number at a place and time, and not a vector."""
        return self.flat or 1 < self.times == self.components

    @classmethod
    def of(cls, mesh: Mesh, name: str, times: int = 1) -> FieldKind:
        """Look at a field of the first training mesh."""
        on_cells = name not in mesh.fields and name in mesh.cell_fields
        values = (mesh.cell_fields if on_cells else mesh.fields).get(name)
        if values is None:
            raise InputError(_missing(mesh, name))
        return cls(name, 1 if values.ndim == 1 else values.shape[1], values.ndim == 1, on_cells, times)

    def nodal(self, mesh: Mesh) -> Array:
        """Return the field at the nodes, (n, c); NaN where it is not known.

        Raises
        ------
        InputError
            If the mesh has no such field, or one of another number of components or without any finite value.
        """
        values = (mesh.cell_fields if self.on_cells else mesh.fields).get(self.name)
        if values is None:
            raise InputError(_missing(mesh, self.name))
        found = 1 if values.ndim == 1 else values.shape[1]
        if found != self.components:
            raise InputError(f"has {found} components in field {self.name!r}, but the first mesh {self.components}.")
        if values.dtype.kind not in "fiub":
            raise InputError(f"has {values.dtype} in field {self.name!r}, but numbers are expected.")
        array = np.array(values, dtype=float).reshape(len(values), -1)
        array[~np.isfinite(array).all(axis=1)] = np.nan
        if self.on_cells:
            array = nodes_of_means(mesh, array)
        if np.isnan(array[:, 0]).all():
            raise InputError(f"has no finite value in field {self.name!r}.")
        return array

    def flattened(self, values: Array) -> Array:
        """Return nodal values (..., n, c) without an axis for one component, where the mesh has none."""
        return values[..., 0] if self.flat else values

    def n_missing(self, mesh: Mesh) -> int:
        """Return at how many nodes, or cells, the field of a mesh is not finite."""
        values = np.asarray((mesh.cell_fields if self.on_cells else mesh.fields)[self.name], dtype=float)
        return int((~np.isfinite(values.reshape(len(values), -1)).all(axis=1)).sum())

    def shaped(self, mesh: Mesh, values: Array) -> Array:
        """Return nodal values (..., n, c) in the shape that the mesh had them: on cells, without an axis for one."""
        if self.on_cells:
            values = nodes_to_cells(mesh, values)
        return values[..., 0] if self.flat else values


def _missing(mesh: Mesh, name: str) -> str:
    nodes, cells = ", ".join(sorted(mesh.fields)) or "none", ", ".join(sorted(mesh.cell_fields)) or "none"
    return f"has no field {name!r}; its node fields are: {nodes}; its cell fields are: {cells}."


def cells_to_nodes(mesh: Mesh, values: Array) -> Array:
    """Average values of cells (m, c) at nodes (n, c), by the cells' lengths, areas or volumes; NaN where none is known.

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> cells_to_nodes(line, np.array([[0.0], [3.0]])).ravel().tolist()
    [0.0, 2.0, 3.0]
    """
    total, weight = np.zeros((mesh.n_nodes, values.shape[1])), np.zeros(mesh.n_nodes)
    start = 0
    for kind, block in mesh.cells.items():
        part = values[start : start + len(block)]
        start += len(block)
        if cell_dimension(kind) == 0:
            continue
        size = np.maximum(cell_measures(mesh.points, kind, block), np.finfo(float).tiny)
        size = np.where(np.isnan(part).any(axis=1), 0.0, size)
        for node in block.T:
            weight += np.bincount(node, size, mesh.n_nodes)
            for j in range(values.shape[1]):
                total[:, j] += np.bincount(node, size * np.nan_to_num(part[:, j]), mesh.n_nodes)
    return np.asarray(np.where(weight[:, None] > 0, total / np.where(weight > 0, weight, 1.0)[:, None], np.nan))


def nodes_of_means(mesh: Mesh, values: Array) -> Array:
    """Return values at nodes (n, c) whose means over the nodes of every cell are nearly those given, (m, c).

    Averages at nodes (:func:`cells_to_nodes`) are too smooth, and their means over cells smoother again. They are
    where a few steps of conjugate gradients for least squares begin, too few for patterns from node to node that no
    mean over a cell sees. Fields that are nowhere negative stay so. NaN where no cell around is known.

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> nodes_to_cells(line, nodes_of_means(line, np.array([[1.5], [2.5]]))).ravel().round(6).tolist()
    [1.5, 2.5]
    """
    x = cells_to_nodes(mesh, values)
    known, reached = np.isfinite(values).all(axis=1), np.isfinite(x).all(axis=1)
    means = cell_means(mesh)[np.flatnonzero(known)][:, np.flatnonzero(reached)]
    y, given = x[reached], values[known]
    if not len(y) or not len(given):
        return x
    left = given - means @ y
    gradient = means.T @ left
    along, size = gradient.copy(), (gradient**2).sum(axis=0)
    enough = np.finfo(float).eps * (given**2).sum(axis=0)  # of squares: eight digits of the field
    for _ in range(_STEPS):
        seen = means @ along
        scale = (seen**2).sum(axis=0)
        step = np.where((left**2).sum(axis=0) > enough, size / np.where(scale > 0, scale, np.inf), 0.0)
        y += step * along
        left -= step * seen
        gradient = means.T @ left
        before, size = size, (gradient**2).sum(axis=0)
        along = gradient + size / np.where(before > 0, before, np.inf) * along
    if values.shape[1] == 1 and (given >= 0).all():
        y = np.maximum(y, 0.0)
    x[reached] = y
    return x


def cell_means(mesh: Mesh) -> sparse.csr_array:
    """Return the matrix (m, n) of means over the nodes of every cell.

    Examples
    --------
    >>> cell_means(Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})).toarray().tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    """
    counts = np.concatenate([np.full(len(block), block.shape[1]) for block in mesh.cells.values()])
    nodes = np.concatenate([block.ravel() for block in mesh.cells.values()])
    starts = np.append(0, np.cumsum(counts))
    return sparse.csr_array((np.repeat(1.0 / counts, counts), nodes, starts), shape=(len(counts), mesh.n_nodes))


def nodes_to_cells(mesh: Mesh, values: Array) -> Array:
    """Average nodal values (..., n, c) over the nodes of every cell, (..., m, c).

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> nodes_to_cells(line, np.array([[0.0], [2.0], [3.0]])).ravel().tolist()
    [1.0, 2.5]
    """
    return np.concatenate([values[..., block, :].mean(axis=-2) for block in mesh.cells.values()], axis=-2)


def node_weights(mesh: Mesh, kind: str, known: NDArray[np.bool_]) -> Array:
    """Return what every node weighs, (n,), sum 1: alike or by area; nodes that are not known weigh nothing."""
    weights = lumped_measures(mesh.points, mesh.cells) if kind == "area" else np.ones(mesh.n_nodes)
    if kind not in ("area", "uniform"):
        raise InputError(f"weights is {kind!r}, but 'uniform' or 'area' is expected.")
    weights = weights * known
    total = float(weights.sum())
    if not total > 0:
        raise InputError("has no area at the nodes where the field is known; use weights='uniform'.")
    return np.asarray(weights / total)


@dataclass(frozen=True)
class Warp:
    """One scale.

    Attributes
    ----------
    kind : {"none", "asinh", "speed", "root"}
    center : ndarray of shape (c,)
        Medians, of "asinh".
    unit : float
        Typical distance from the median, of "asinh".
    mean : ndarray of shape (c,)
    deviation : float
        Zero for a constant field.
    low, high : float
        Range of the standardized training values; predictions are kept within a few deviations of it.
    least, most : float
        Limits of values that all training fields keep, and predictions with them.
    """

    kind: Annotated[str, Meta(pattern=rf"^({'|'.join(WARPS)})\Z")]
    center: Annotated[Array, Shape("c")]
    unit: NotNegative
    mean: Annotated[Array, Shape("c")]
    deviation: NotNegative
    low: float
    high: float
    least: AnyNumber = -np.inf
    most: AnyNumber = np.inf

    @classmethod
    def of(cls, kind: str, values: Array, limits: tuple[float, float] = (-np.inf, np.inf)) -> Warp:
        """Settle a warp on pooled training values (n, c).

        Examples
        --------
        >>> warp = Warp.of("none", np.array([[1.0], [3.0]]))
        >>> warp(np.array([[2.0]])).tolist(), warp.inverse(np.array([[1.0]])).tolist()
        ([[0.0]], [[3.0]])
        """
        center, unit = np.zeros(values.shape[1]), 1.0
        if kind == "asinh":
            center = np.median(values, axis=0)
            unit = float(np.median(np.abs(values - center))) or float(np.abs(values - center).mean()) or 1.0
        elif kind not in WARPS:
            raise InputError(f"warp is {kind!r}, but one of 'auto', {', '.join(map(repr, WARPS))} is expected.")
        raw = _bent(values, kind, center, unit)
        mean = raw.mean(axis=0)
        deviation = float(np.sqrt(((raw - mean) ** 2).mean()))
        if deviation <= 1e-12 * float(np.abs(raw).max(initial=0.0)):
            deviation = 0.0
        scaled = (raw - mean) / (deviation or 1.0)
        return cls(kind, center, unit, mean, deviation, float(scaled.min()), float(scaled.max()), *limits)

    def __call__(self, values: Array) -> Array:
        """Return standardized values, of the same shape (n, c)."""
        bent = _bent(values, self.kind, self.center, self.unit)
        return np.asarray((bent - self.mean) / (self.deviation or 1.0))

    def inverse(self, scaled: ArrayLike) -> Array:
        """Return values of standardized ones, (..., c)."""
        values: Array = np.asarray(scaled, dtype=float)
        if self.kind != "none":
            values = np.clip(values, self.low - _SLACK, self.high + _SLACK)
        raw = values * self.deviation + self.mean
        if self.kind == "asinh":
            raw = self.center + self.unit * np.sinh(raw)
        elif self.kind == "speed":
            raw = 1.0 - np.maximum(raw, 0.0) ** 2
        elif self.kind == "root":
            raw = np.maximum(raw, 0.0) ** 2
        return np.clip(raw, self.least, self.most)

    def slope(self, scaled: Array) -> Array:
        """Return how fast values change with standardized ones, without sign."""
        if self.kind != "none":
            scaled = np.clip(scaled, self.low - _SLACK, self.high + _SLACK)
        raw = scaled * self.deviation + self.mean
        if self.kind == "asinh":
            return np.asarray(self.unit * np.cosh(raw) * self.deviation)
        if self.kind in ("speed", "root"):
            return np.asarray(2.0 * np.maximum(raw, 0.0) * self.deviation)
        return np.full(raw.shape, self.deviation)

    def relative(self, scaled: Array) -> Array:
        """Return by how much standardized values change when values grow by a factor: value over slope, without sign.

        Examples
        --------
        >>> Warp.of("none", np.array([[1.0], [3.0]])).relative(np.array([[0.0]])).tolist()
        [[2.0]]
        """
        slope = self.slope(scaled)
        least = 1e-3 * float(slope.max(initial=0.0)) or 1.0
        return np.abs(self.inverse(scaled)) / np.maximum(slope, least)

    @property
    def falls(self) -> bool:
        """Whether larger standardized values mean smaller values."""
        return self.kind == "speed"


def _bent(values: Array, kind: str, center: Array, unit: float) -> Array:
    """Return values (n, c) on a scale before it is standardized."""
    if kind == "asinh":
        return np.arcsinh((values - center) / unit)
    if kind in ("speed", "root"):
        return np.sqrt(np.maximum(values if kind == "root" else 1.0 - values, 0.0))
    return values


def possible_warps(values: Array) -> list[str]:
    """Return the warps that may suit pooled training values (n, c).

    "speed" is for pressure coefficients, "root" for what is never negative, such as stresses.

    Examples
    --------
    >>> possible_warps(np.array([[-3.0], [0.5], [1.0]])), possible_warps(np.array([[0.0], [300.0]]))
    (['none', 'asinh', 'speed'], ['none', 'asinh', 'root'])
    """
    least, most = float(values.min()), float(values.max())
    like_cp = values.shape[1] == 1 and 0.5 <= most <= 1.1 and least < -0.2
    positive = values.shape[1] == 1 and least >= 0
    return ["none", "asinh", *(["speed"] if like_cp else []), *(["root"] if positive else [])]


def kept_limits(values: Sequence[Array]) -> tuple[float, float]:
    """Return the limits that all fields of one component keep; infinite where there are none.

    Zero, where nothing is negative; and what most fields reach, to the last digits, and none exceeds.

    Parameters
    ----------
    values : sequence of ndarray of shape (n, c)
        One field per mesh; NaN where it is not known.

    Examples
    --------
    >>> kept_limits([np.array([[0.5], [2.0]]), np.array([[3.0], [7.0]])])
    (0.0, inf)
    >>> kept_limits([np.array([[-1.0], [x]]) for x in (0.5, 0.6, 0.7)])
    (-1.0, inf)
    """
    if values[0].shape[1] != 1:
        return -np.inf, np.inf
    ends = np.array([(np.nanmin(own), np.nanmax(own)) for own in values])
    least, most = float(ends[:, 0].min()), float(ends[:, 1].max())
    near = _SAME * (most - least)
    reached = (np.abs(ends - [least, most]) <= near).mean(axis=0) >= _REACH
    low = least if reached[0] else 0.0 if least >= 0 and most > 0 else -np.inf
    return low, most if reached[1] and most > least else np.inf

r"""Which combinations of a deformation look like what the training meshes differ in, whatever their topology.

A lattice has many more ways to move a mesh than the training meshes have shown. A model knows meshes by rows, and
training rows vary along few principal axes :math:`\sigma_j v_j`. With the derivative J of a mesh's row in the numbers
of a deformation, :math:`c_j = (J^\top J + \eta I)^{-1} J^\top \sigma_j v_j` moves it as one standard deviation of the
training meshes along axis j does. Axes of which a deformation reproduces less than half are left out: among them those
in which the training meshes differ only because they are meshed in different ways.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from swwl.design.deformation import Deformation
from swwl.embedding.components import Projector
from swwl.embedding.linear import Source
from swwl.errors import InputError
from swwl.kernels.base import Factor, differentiable
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.regression.estimator import RobustGPRegressor

Array = NDArray[np.float64]

# The share of the training meshes that the ball holds.
INSIDE = 0.9
# What must be reproduced of the variance along an axis, and how many are tried.
_REPRODUCED, _MOST_AXES = 0.5, 24
# Relative to the largest singular value of J, squared.
_RIDGE = 1e-4
# Of the reach of a number, for differences of rows, which are smooth and in double precision.
_STEP = 1e-3


class FamiliarMotions:
    """Motions of one mesh, made of those of a deformation, that look like what training meshes differ in.

    The numbers are coordinates of the moved mesh along principal axes of the training meshes, in standard deviations,
    as a model's kernel sees them.

    Parameters
    ----------
    base : Deformation
    matrix : ndarray of shape (k, m)
        What a standard deviation along every axis does to the numbers of the base.
    start : ndarray of shape (m,)
        Coordinates of the mesh at rest.
    train : ndarray of shape (N, m)
        Of the training meshes.
    shares : ndarray of shape (m,)
        What of the variance along every axis the motion reproduces.
    """

    def __init__(self, base: Deformation, matrix: Array, start: Array, train: Array, shares: Array):
        self.base, self.matrix, self.shares = base, matrix, shares
        self._start = start
        self.low: Array = np.minimum(train.min(axis=0), start)
        self.high: Array = np.maximum(train.max(axis=0), start)
        norms = np.linalg.norm(train, axis=1)
        self.radius = max(float(np.quantile(norms, INSIDE)), float(np.linalg.norm(start)) * (1 + 1e-9))

    @property
    def names(self) -> list[str]:
        """What to call the motions: "variation 1", …."""
        return [f"variation {k + 1}" for k in range(len(self.shares))]

    def rest(self, points: Array) -> Array:
        """Return the coordinates of the mesh at rest, (m,)."""
        return self._start

    def numbers(self, points: Array, c: Array) -> Array:
        """Return the numbers of the base, (k,)."""
        return self.base.rest(points) + self.matrix @ (c - self._start)

    def room(self, points: Array, c: Array) -> tuple[Array, Array]:
        """Return how far the numbers of the base are inside their bounds, (2 k,), and the derivatives, (2 k, m)."""
        half = (self.base.high - self.base.low) / 2
        own, slopes = self.numbers(points, c), self.matrix / half[:, None]
        values = np.concatenate([(self.base.high - own) / half, (own - self.base.low) / half])
        return values, np.concatenate([-slopes, slopes])

    def move(self, points: Array, c: Array) -> Array:
        """Return where points (n, d) go."""
        return self.base.move(points, self.numbers(points, c))

    def pull(self, points: Array, c: Array, gradient: Array) -> Array:
        """Return the gradient (m,) in the coordinates, given that in the moved points, (n, d)."""
        return np.asarray(self.matrix.T @ self.base.pull(points, self.numbers(points, c), gradient))


def familiar_motions(model: RobustGPRegressor, column: str, mesh: Mesh, base: Deformation) -> FamiliarMotions:
    """Find the combinations of a deformation that look like what the training meshes of a model differ in.

    Parameters
    ----------
    model : RobustGPRegressor
        Fitted.
    column : str
        Of meshes.
    mesh : Mesh
        At rest.
    base : Deformation
        Of this mesh.

    Examples
    --------
    >>> from swwl import SWWL
    >>> from swwl.design import Lattice
    >>> rods = [Mesh([[0.0], [length]], [[0, 1]]) for length in np.linspace(1, 2, 12)]
    >>> kernel = SWWL("rod", n_iterations=0, n_projections=1, n_quantiles=2)
    >>> model = RobustGPRegressor(kernel, calibrate=False).fit({"rod": rods, "y": np.linspace(0, 1, 12) ** 2}, "y")
    >>> found = familiar_motions(model, "rod", rods[5], Lattice(rods[5], [2]))
    >>> found.names, found.shares.round(3).tolist()  # longer, with one end held: not shifted
    (['variation 1'], [1.0])
    >>> longer = found.move(rods[5].points, found.high)
    >>> bool(np.allclose(longer, rods[-1].points, atol=1e-3))
    True
    """
    clouds = model.domain_reference().clouds
    if column not in clouds:
        raise InputError("The training meshes are all alike, so the effect of a change of the shape is not known.")
    place, cloud = clouds[column]
    factor = model.kernel_.factors[place]
    mean, basis = _basis(factor, cloud.basis)
    middle = cloud.rows.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(cloud.rows.T, ddof=0).reshape(2 * [cloud.rows.shape[1]]))
    kept = np.flatnonzero(values > _RIDGE**2 * values.max())[::-1][:_MOST_AXES]
    spread, vectors = np.sqrt(values[kept]), vectors[:, kept]
    whole = spread * (vectors if basis is None else basis @ vectors)  # (K, m), in rows
    at_rest, slopes = _row_slopes(factor, mesh, base)
    size = float(np.linalg.norm(slopes, 2))
    if not size > 0:
        raise InputError(
            "The deformation moves nothing that the model sees of the mesh: try another lattice, box, group or axes."
        )
    ridge = _RIDGE * size**2 * np.eye(slopes.shape[1])
    numbers = np.linalg.solve(slopes.T @ slopes + ridge, slopes.T @ whole)
    left = ((whole - slopes @ numbers) ** 2).sum(axis=0) / (whole**2).sum(axis=0)
    good = left <= 1 - _REPRODUCED
    if not good.any():
        raise InputError(
            "No motion of the deformation resembles the variation of the training meshes, so its effect is not "
            "known: try another lattice or group."
        )
    start = at_rest - mean if basis is None else (at_rest - mean) @ basis
    half = ((base.high - base.low) / 2)[:, None]
    return FamiliarMotions(
        base,
        half * numbers[:, good],
        ((start - middle) @ vectors / spread)[good],
        ((cloud.rows - middle) @ vectors / spread)[:, good],
        1 - left[good],
    )


def _basis(factor: Factor, wide: tuple[Array, Array] | None) -> tuple[Array | float, Array | None]:
    """Return the mean (K,) and components (K, q) by which rows become coordinates of a cloud; none where they are."""
    sample = getattr(factor, "sample", None)
    projector: Projector | None = None if sample is None else sample()
    mean: Array | float = 0.0
    basis: Array | None = None
    if projector is not None:
        mean, basis = np.concatenate(projector.means), block_diag(*projector.components).astype(np.float64)
    if wide is not None:
        center, components = wide
        mean = center if basis is None else mean + basis @ center
        basis = components if basis is None else basis @ components
    return mean, basis


def _row_slopes(factor: Factor, mesh: Mesh, base: Deformation) -> tuple[Array, Array]:
    """Return the row (K,) of a mesh, and its derivatives (K, k) in a deformation, per half the range of numbers."""

    def row(c: Array) -> Array:
        moved = trusted_mesh(base.move(mesh.points, c), mesh.cells, {}, mesh.name, groups=mesh.groups)
        return differentiable(factor).linear(Source(moved)).row

    rest, half = base.rest(mesh.points), (base.high - base.low) / 2
    first = row(rest)
    columns = [(row(rest + _STEP * half * one) - first) / _STEP for one in np.eye(len(half))]
    return first, np.column_stack(columns)

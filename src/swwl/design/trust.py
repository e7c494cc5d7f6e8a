r"""How far a mesh is from the training meshes in a model's own coordinates, with the gradient in its nodes.

Two of the scores by which a model judges whether a case is like its training cases (:mod:`swwl.domain.clouds`) are
quadratic in the row that its kernel makes of a mesh: how far along what the training meshes vary in, :math:`T^2`, and
how far off it, :math:`\mathrm{SPE}^2`. They need no common topology, and say of any deformation when it leaves what has
been tested.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.components import Projector
from swwl.embedding.linear import Source
from swwl.kernels.base import differentiable
from swwl.mesh.mesh import Mesh
from swwl.regression.estimator import RobustGPRegressor

Array = NDArray[np.float64]

# The share of left-out training meshes that the region holds, by each of both scores.
INSIDE = 0.9


class Trust:
    """The region of meshes that score like training meshes, in the coordinates of the kernel that shows meshes best.

    Parameters
    ----------
    model : RobustGPRegressor
        Fitted.
    column : str
        Of meshes.

    Attributes
    ----------
    limits : ndarray of shape (2,)
        What 90 % of left-out training meshes stay below.

    Examples
    --------
    >>> from swwl import SWWL
    >>> rods = [Mesh([[0.0], [length]], [[0, 1]]) for length in np.linspace(1, 2, 12)]
    >>> kernel = SWWL("rod", n_iterations=0, n_projections=1, n_quantiles=2)
    >>> model = RobustGPRegressor(kernel, calibrate=False).fit({"rod": rods, "y": np.linspace(0, 1, 12) ** 2}, "y")
    >>> trust = Trust(model, "rod")
    >>> scores, gradient = trust.scores(Mesh([[0.0], [2.5]], [[0, 1]]))
    >>> bool(scores[0] > trust.limits[0]), gradient.shape
    (True, (2, 1, 2))
    """

    def __init__(self, model: RobustGPRegressor, column: str):
        place, self._cloud = model.domain_reference().clouds[column]
        self._factor = model.kernel_.factors[place]
        sample = getattr(self._factor, "sample", None)
        self._projector: Projector | None = None if sample is None else sample()
        along, off = np.quantile(self._cloud.reference[:, :2], INSIDE, axis=0)
        self.limits: Array = np.array([along, off**2])

    def scores(self, mesh: Mesh) -> tuple[Array, Array]:
        """Return both scores of a mesh, squared, (2,), and their gradients in its points, (n, d, 2)."""
        linear = differentiable(self._factor).linear(Source(mesh))
        cloud, row = self._cloud, linear.row
        rest, in_row = np.zeros(2), np.zeros((len(row), 2))
        if self._projector is not None:
            u, left, back = _kept(self._projector, row)
            rest[1] = left @ left
            in_row[:, 1] = 2 * left
        else:
            u, back = row, np.eye(0)
        if cloud.basis is not None:
            mean, components = cloud.basis
            z = (u - mean) @ components
            left = u - mean - components @ z
            rest[1] += left @ left
            in_u = np.column_stack([np.zeros(len(u)), 2 * left])
        else:
            z, in_u, components = u, np.zeros((len(u), 2)), None
        apart = z - cloud.mean
        inside = apart @ cloud.axes
        off = apart - cloud.axes @ inside
        in_z = np.column_stack([2 * cloud.axes @ (inside / cloud.variances), 2 * off])
        in_u = in_u + (in_z if components is None else components @ in_z)
        in_row = in_row + (in_u if self._projector is None else back @ in_u)
        scores = rest + np.array([(inside**2 / cloud.variances).sum(), off @ off])
        return scores, linear.pull_back(in_row)


def _kept(projector: Projector, row: Array) -> tuple[Array, Array, Array]:
    """Return the coordinates (m,) that are kept of a row (K,), what they leave of it, and the components, (K, m)."""
    parts = np.split(row, len(projector.means))
    coordinates, left = [], []
    back = np.zeros((len(row), sum(own.shape[1] for own in projector.components)))
    start = column = 0
    for part, mean, components in zip(parts, projector.means, projector.components, strict=True):
        z = (part - mean) @ components
        coordinates.append(z)
        left.append(part - mean - components @ z)
        back[start : start + len(part), column : column + len(z)] = components
        start, column = start + len(part), column + len(z)
    return np.concatenate(coordinates), np.concatenate(left), back

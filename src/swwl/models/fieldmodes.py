"""The modes of a fitted :class:`swwl.FieldRegressor` as fields on a mesh: what its predictions are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.mesh import Mesh
from swwl.models.fieldmodel import FieldModel
from swwl.models.fields import FieldRegressor
from swwl.storage import MemoryLike

Array = NDArray[np.float64]


def mode_fields(
    model: FieldRegressor, X: Any, n_modes: int = 4, *, memory: MemoryLike = None
) -> list[dict[str, Array]]:
    """Return what the leading modes do to the mean field, in the units of the field.

    Parameters
    ----------
    model : FieldRegressor
        Fitted.
    X : DataFrame or list of meshes
        Rows as for :meth:`swwl.FieldRegressor.predict`: a mode is drawn on their meshes.
    n_modes : int
        At most so many.
    memory : Memory or path, optional

    Returns
    -------
    list of dict of str to ndarray of shape (K, n) or (K, n, c)
        One dict per row. Mode k is how much the field differs from the mean field where the size of the mode is one
        standard deviation over the training meshes above its mean.
    """

    def answer(one: FieldModel, mesh: Mesh, descriptors: Array | None, mean: Array, std: Array) -> Array:
        count = min(n_modes, one.modes.number)
        zero = np.zeros(one.modes.number)
        base = one.warp.inverse(one.at_nodes(descriptors, mesh.n_nodes, zero, zero)[0])
        shapes = np.empty((count, *base.shape))
        for k in range(count):
            size = zero.copy()
            size[k] = np.sqrt(one.modes.variances[k])
            shapes[k] = one.warp.inverse(one.at_nodes(descriptors, mesh.n_nodes, size, zero)[0]) - base
        return one.kind.shaped(mesh, shapes)

    return model._answers(X, answer, None, memory)


def mode_shares(model: FieldRegressor, field: str) -> Array:
    """Return the part of the variance of training fields that each mode explains, (K,); the first explains most."""
    modes = model.models_[field].modes
    return np.asarray(modes.variances / modes.total if modes.total > 0 else modes.variances)

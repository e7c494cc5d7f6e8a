"""Numbers derived from a field on a mesh: its extremes, mean and integral, the force of a pressure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.fields.descriptors import normal_shares
from swwl.mesh.cells import lumped_measures
from swwl.mesh.mesh import Mesh

Array = NDArray[np.float64]
NAMES = ("max", "min", "mean", "integral", "force")


def derived_number(what: str | Callable[[Mesh], Any], mesh: Mesh, name: str, samples: Array) -> Array:
    r"""Return one number, or a few, of every sample of a field.

    Parameters
    ----------
    what : {"max", "min", "mean", "integral", "force"} or callable
        "mean" and "integral" are over the lengths, areas or volumes of cells; "force" is :math:`-\int p\, n` over the
        skin, for a pressure p and outward normals n. A callable takes the mesh with the field, and returns a number or
        an array of numbers.
    mesh : Mesh
    name : str
        Of the field.
    samples : ndarray of shape (n_samples, n) or (n_samples, n, c)

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, k)

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> derived_number("integral", line, "T", np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])).tolist()
    [3.0, 3.5]
    """
    if callable(what):
        return np.array([np.asarray(what(mesh.with_fields({name: one})), dtype=float) for one in samples])
    if what not in NAMES:
        raise InputError(f"The derived number is {what!r}, but a function or one of {', '.join(NAMES)} is wanted.")
    if what in ("max", "min"):
        return np.asarray(getattr(samples, what)(axis=1))
    if what == "force":
        if samples.ndim == 3:
            raise InputError(f"Field {name!r} has {samples.shape[2]} components, but a force is that of a pressure.")
        return np.asarray(-samples @ normal_shares(mesh))
    shares = lumped_measures(mesh.points, mesh.cells)
    if what == "mean":
        shares = shares / (shares.sum() or 1.0)
    return np.tensordot(samples, shares, axes=(1, 0))

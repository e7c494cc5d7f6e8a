"""Numbers derived from a field on a mesh, and how wide their intervals have to be.

Its extremes, mean and integral, and the force of a pressure (:func:`derived_number`); numbers of samples are compared
with those of meshes that folds left out (:class:`NumberErrors`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from swwl.errors import InputError
from swwl.fields.geometry.descriptors import normal_shares
from swwl.mesh.cells import lumped_measures
from swwl.mesh.mesh import Mesh
from swwl.storage.checks import Shape

Array = NDArray[np.float64]
NAMES = ("max", "min", "mean", "integral", "force", "largest", "mean_size")


def derived_number(what: str | Callable[[Mesh], ArrayLike], mesh: Mesh, name: str, samples: Array) -> Array:
    r"""Return one number, or a few, of every sample of a field.

    Parameters
    ----------
    what : {"max", "min", "mean", "integral", "force", "largest", "mean_size"} or callable
        "mean" and "integral" are over the lengths, areas or volumes of cells; "force" is :math:`-\int p\, n` over the
        skin, for a pressure p and outward normals n; "largest" is the largest :math:`|u|`, of a vector its length, and
        "mean_size" the mean of :math:`|u|`. A callable takes the mesh with the field, and returns a number or an array
        of numbers.
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
    check_name(what)
    if what == "force" and samples.ndim == 3:
        raise InputError(f"Field {name!r} has {samples.shape[2]} components, but a force is that of a pressure.")
    shares = lumped_measures(mesh.points, mesh.cells)[:, None]
    if what == "force":
        shares = np.hstack([shares, normal_shares(mesh)])
    found = numbers_of(what, samples if samples.ndim == 3 else samples[:, :, None], shares)
    single = what in ("largest", "mean_size") or (what != "force" and samples.ndim == 2)
    return found[:, 0] if single else found


def check_name(what: object) -> None:
    """Refuse a number that has no name here."""
    if what not in NAMES:
        raise InputError(f"The derived number is {what!r}, but a function or one of {', '.join(NAMES)} is expected.")


def node_shares(mesh: Mesh) -> Array:
    """Return every node's share of the cells and, where the mesh has a skin, of its normals, (n, 1) or (n, 1 + d).

    Examples
    --------
    >>> node_shares(Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]]))[1].round(3).tolist()
    [0.667, 1.0, -1.0]
    """
    cells = lumped_measures(mesh.points, mesh.cells)[:, None]
    try:
        return np.hstack([cells, normal_shares(mesh)])
    except InputError:
        return cells


def numbers_of(what: str, samples: Array, shares: Array) -> Array:
    """Return a number of every sample of a field, or one for each component or direction, (n_samples, k).

    Parameters
    ----------
    what : str
        One of ``NAMES``.
    samples : ndarray of shape (n_samples, n, c)
    shares : ndarray of shape (n, 1) or (n, 1 + d)
        Of :func:`node_shares`.

    Examples
    --------
    >>> numbers_of("largest", np.array([[[3.0, 4.0], [0.0, 1.0]]]), np.ones((2, 1))).tolist()
    [[5.0]]
    """
    if what in ("max", "min"):
        return np.asarray(getattr(samples, what)(axis=1))
    if what == "largest":
        return np.linalg.norm(samples, axis=2).max(axis=1)[:, None]
    if what == "force":
        return np.asarray(-samples[:, :, 0] @ shares[:, 1:])
    weights = shares[:, 0]
    if what != "integral":  # nodes without cells count alike
        weights = weights / weights.sum() if weights.any() else np.full(len(weights), 1 / len(weights))
    values = np.linalg.norm(samples, axis=2)[:, :, None] if what == "mean_size" else samples
    return np.tensordot(values, weights, axes=(1, 0))


# Part of the typical deviation of samples that any deviation is taken to have more: none is quite zero.
_FLOOR = 0.1
_USUAL = 0.95


@dataclass(frozen=True)
class NumberErrors:
    """Scores of one derived number on left-out meshes.

    Attributes
    ----------
    scores : ndarray of shape (n, k)
        Rising, for each of k components.
    floor : ndarray of shape (k,)
        What is added to deviations of samples.
    """

    scores: Annotated[Array, Shape("nk", rises=True)]
    floor: Annotated[Array, Shape("k", above=0)]

    @classmethod
    def of(cls, truth: Array, center: Array, deviation: Array) -> NumberErrors:
        """Judge samples of n meshes by the true numbers, (n, k) each.

        Examples
        --------
        >>> found = NumberErrors.of(np.array([[1.0], [2.0]]), np.zeros((2, 1)), np.ones((2, 1)))
        >>> found.scores.ravel().round(3).tolist()
        [0.909, 1.818]
        """
        tiny = 1e-12 * (np.abs(truth).max(axis=0) + np.abs(center).max(axis=0)) + np.finfo(float).tiny
        floor = np.maximum(_FLOOR * np.median(deviation, axis=0), tiny)
        return cls(np.sort((truth - center) / (deviation + floor), axis=0), floor)

    def quantile(self, level: float) -> Array:
        """Return which score is not exceeded with this probability, (k,); beyond all scores a normal tail.

        Examples
        --------
        >>> errors = NumberErrors(np.array([[-1.0], [0.0], [1.0]]), np.ones(1))
        >>> errors.quantile(0.75).tolist(), errors.quantile(0.5).tolist()
        ([1.0], [0.0])
        """
        n = len(self.scores)
        place = np.clip((n + 1) * level, 1, n)
        low = int(place) - 1
        found = self.scores[low] + (place - 1 - low) * (self.scores[min(low + 1, n - 1)] - self.scores[low])
        stretch = float(norm.ppf(level) / norm.ppf(place / (n + 1))) if place != (n + 1) * level and n > 1 else 1.0
        middle = np.median(self.scores, axis=0)
        return np.asarray(middle + stretch * (found - middle))

    def interval(self, drawn: Array, level: float) -> tuple[Array, Array, Array, Array]:
        """Return center, standard deviation and bounds (..., k) of a number, from those of samples (..., S, k).

        The deviation is that of a normal distribution whose 95 % interval is as wide.
        """
        center, unit = drawn.mean(axis=-2), drawn.std(axis=-2) + self.floor
        width = self.quantile(0.5 + _USUAL / 2) - self.quantile(0.5 - _USUAL / 2)
        lower, upper = self.quantile(0.5 - level / 2), self.quantile(0.5 + level / 2)
        std = width / (2 * float(norm.ppf(0.5 + _USUAL / 2)))
        return center + unit * self.quantile(0.5), unit * std, center + unit * lower, center + unit * upper

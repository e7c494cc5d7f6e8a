r"""How good predictions of whole fields are: PLAID's relative error, Q², the maximum, and what intervals hold.

A mesh is scored by itself (:func:`mesh_score`), so that nobody has to hold all fields at once; :func:`pooled` makes one
score of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError

_Floats = NDArray[np.float64]


class MeshScore(NamedTuple):
    r"""The accuracy of one predicted field on one mesh, and what :func:`pooled` needs of it.

    Attributes
    ----------
    name : str
    n : int
        Number of nodes whose true value is known.
    rmse : float
        Root of the mean squared error over nodes; of a vector field, of its length.
    largest, largest_predicted : float
        The largest :math:`|u|` over nodes, true and predicted.
    rrmse : float
        ``rmse / largest``; NaN where the true field is zero everywhere.
    coverage, width, interval_score : float
        Of the intervals of all nodes and components; NaN where there are none.
    mean : tuple of float
        Mean of the true field, per component.
    spread : float
        Sum of squares of the true field about that mean.
    """

    name: str
    n: int
    rmse: float
    largest: float
    largest_predicted: float
    rrmse: float
    coverage: float
    width: float
    interval_score: float
    mean: tuple[float, ...]
    spread: float


class FieldScore(NamedTuple):
    r"""The accuracy of predictions of one field on several meshes :math:`i` of :math:`n_i` nodes.

    Attributes
    ----------
    n : int
        Number of meshes.
    nodes : int
        Number of nodes of all of them, those left out whose true value is not known.
    rrmse : float
        PLAID's relative error, :math:`\sqrt{\text{mean}_i\, \|u_i - \hat u_i\|^2 / (n_i \max |u_i|^2)}`.
    q2 : float
        :math:`1 - \sum (u - \hat u)^2 / \sum (u - \bar u)^2` over all nodes of all meshes.
    max_error : float
        Root mean square over meshes of :math:`\max |\hat u_i| - \max |u_i|`, over the mean of :math:`\max |u_i|`.
    coverage : float
        Share of node values inside their 95 % intervals, mean over meshes; NaN without intervals.
    worst_coverage : float
        That of the mesh with the least.
    worst_covered : str
        Its name.
    width, interval_score : float
        Means over meshes, in the units of the field.
    worst_rrmse : float
        That of the mesh with the largest error.
    worst : str
        Its name.
    """

    n: int
    nodes: int
    rrmse: float
    q2: float
    max_error: float
    coverage: float
    worst_coverage: float
    worst_covered: str
    width: float
    interval_score: float
    worst_rrmse: float
    worst: str


def mesh_score(
    truth: ArrayLike,
    predicted: ArrayLike,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    *,
    name: str = "",
    level: float = 0.95,
    times: int = 1,
) -> MeshScore:
    r"""Compare a field on one mesh with its prediction.

    Parameters
    ----------
    truth, predicted : array-like of shape (n,) or (n, c)
        Nodes whose truth is NaN in any component do not count.
    lower, upper : array-like of the same shape, optional
        Bounds of intervals.
    name : str
        Of the mesh.
    level : float
        Of the intervals, for their score.
    times : int
        At how many times components are given, side by side: each is compared by itself, as if it were a node.

    Examples
    --------
    Errors of one on a field whose largest value is four:

    >>> found = mesh_score([1.0, 2, 4], [2.0, 3, 5], [0.0, 0, 0], [1.5, 1.5, 9])
    >>> found.rrmse, round(found.coverage, 3)
    (0.25, 0.667)
    """
    u, v = _columns("The true field", truth), _columns("The predicted field", predicted)
    if u.shape != v.shape:
        raise InputError(f"The true field has shape {_said(u)}, but the predicted one has {_said(v)}.")
    if u.shape[1] % times:
        raise InputError(f"times is {times}, but the field has {u.shape[1]} components.")
    parts, shape = u.shape[1] // times, u.shape
    u, v = u.reshape(-1, parts), v.reshape(-1, parts)
    known = np.isfinite(u).all(axis=1)
    if not known.any():
        raise InputError(f"The true field of {name or 'the mesh'} is not known at any node.")
    error = np.linalg.norm((v - u)[known], axis=1)
    largest, found = (float(np.linalg.norm(field[known], axis=1).max()) for field in (u, v))
    rmse = float(np.sqrt((error**2).mean()))
    inside = width = score = float("nan")
    if lower is not None and upper is not None:
        low, high = _columns("Lower bounds", lower), _columns("Upper bounds", upper)
        if not low.shape == high.shape == shape:
            raise InputError(
                f"The true field has shape {_said(u)}, but its bounds have {_said(low)} and {_said(high)}."
            )
        low, high = low.reshape(-1, parts), high.reshape(-1, parts)
        inside, width, score = _intervals(u[known], low[known], high[known], level)
    center = u[known].mean(axis=0)
    return MeshScore(
        name,
        int(known.sum()),
        rmse,
        largest,
        found,
        rmse / largest if largest > 0 else float("nan"),
        inside,
        width,
        score,
        tuple(center.tolist()),
        float(((u[known] - center) ** 2).sum()),
    )


def _columns(what: str, values: ArrayLike) -> _Floats:
    """Return a field as (n, c)."""
    field = np.asarray(values, dtype=np.float64)
    if field.ndim not in (1, 2) or not field.size:
        raise InputError(f"{what} must have shape (n,) or (n, c) with at least one node, not {field.shape}.")
    return field[:, None] if field.ndim == 1 else field


def _said(field: _Floats) -> str:
    return f"({field.shape[0]}, {field.shape[1]})"


def _intervals(u: _Floats, low: _Floats, high: _Floats, level: float) -> tuple[float, float, float]:
    """Return coverage, mean width and mean interval score (Gneiting and Raftery, 2007, Eq. 43)."""
    outside = np.maximum(low - u, 0) + np.maximum(u - high, 0)
    width = high - low
    return float((outside == 0).mean()), float(width.mean()), float((width + 2 / (1 - level) * outside).mean())


def pooled(scores: Sequence[MeshScore]) -> FieldScore:
    """Make one score of those of several meshes, which all count the same.

    Meshes on which the true field is zero everywhere have no relative error and are left out of the relative ones.

    Parameters
    ----------
    scores : sequence of MeshScore
        At least one.

    Examples
    --------
    >>> found = pooled([mesh_score([0.0, 1], [0.0, 1], name="a"), mesh_score([1.0, 2], [3.0, 2], name="b")])
    >>> round(found.rrmse, 6), round(found.q2, 6), found.worst
    (0.5, -1.0, 'b')
    """
    if not scores:
        raise InputError("There is no mesh to score.")
    weights = np.array([score.n for score in scores], dtype=float)
    centers = np.array([score.mean for score in scores])
    center = weights @ centers / weights.sum()
    # The spread about the common mean is that about each mesh's own, and that of these means.
    spread = sum(score.spread for score in scores) + float(weights @ ((centers - center) ** 2).sum(axis=1))
    squares = float(weights @ np.array([score.rmse**2 for score in scores]))
    relative = np.array([score.rrmse for score in scores])
    top, top_found = np.array([(score.largest, score.largest_predicted) for score in scores]).T
    covered = np.array([score.coverage for score in scores])
    least, worst = _worst(-covered), _worst(relative)
    return FieldScore(
        len(scores),
        int(weights.sum()),
        _root_mean(relative),
        1 - squares / spread if spread > 0 else float("nan"),
        _root_mean(top_found - top) / float(top.mean()) if top.any() else float("nan"),
        float(covered.mean()),
        float(covered[least]),
        "" if np.isnan(covered[least]) else scores[least].name,
        float(np.mean([score.width for score in scores])),
        float(np.mean([score.interval_score for score in scores])),
        float(relative[worst]),
        scores[worst].name,
    )


def _worst(values: _Floats) -> int:
    """Return where the largest value stands that is a number."""
    return int(np.argmax(np.where(np.isnan(values), -np.inf, values)))


def _root_mean(values: _Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.sqrt((known**2).mean())) if known.size else float("nan")


__all__ = ["FieldScore", "MeshScore", "field_score", "mesh_score", "pooled"]


def field_score(
    truth: Sequence[ArrayLike],
    predicted: Sequence[ArrayLike],
    lower: Sequence[ArrayLike] | None = None,
    upper: Sequence[ArrayLike] | None = None,
    names: Sequence[str] | None = None,
) -> FieldScore:
    """Compare a field on several meshes with its predictions.

    Parameters
    ----------
    truth, predicted : sequence of array-like of shape (n_i,) or (n_i, c)
    lower, upper : sequences of such arrays, optional
        Bounds of 95 % intervals.
    names : sequence of str, optional
        Of the meshes; by default their numbers.

    Examples
    --------
    >>> field_score([[1.0, 2.0], [4.0, 0.0, 0.0]], [[1.0, 2.0], [4.0, 0.0, 0.0]]).rrmse
    0.0
    """
    labels = [f"mesh {i}" for i in range(len(truth))] if names is None else list(names)
    bounds: list[Sequence[ArrayLike | None]] = [
        [None] * len(truth) if given is None else given for given in (lower, upper)
    ]
    if len({len(truth), len(predicted), len(labels), *map(len, bounds)}) > 1:
        raise InputError(f"There are {len(truth)} true fields, but {len(predicted)} predicted ones or other bounds.")
    return pooled(
        [
            mesh_score(u, v, low, high, name=name)
            for u, v, low, high, name in zip(truth, predicted, *bounds, labels, strict=True)
        ]
    )

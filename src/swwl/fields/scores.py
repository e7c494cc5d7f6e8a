"""How well fields are predicted: PLAID's relative error, Q², error of the largest value, coverage, the worst mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mesh_errors(truth: Sequence[Array], predicted: Sequence[Array]) -> Array:
    r"""Return for every mesh :math:`\overline{|u - \hat u|^2} / \max |u|^2`, (N,), over nodes where u is known.

    Examples
    --------
    >>> mesh_errors([np.array([[0.0], [2.0]])], [np.array([[0.0], [1.0]])]).tolist()
    [0.125]
    """
    found = []
    for u, v in zip(truth, predicted, strict=True):
        u, v = _columns(u), _columns(v)
        known = np.isfinite(u).all(axis=1)
        top = float((u[known] ** 2).sum(axis=1).max(initial=0.0))
        error = float(((u - v)[known] ** 2).sum(axis=1).mean()) if known.any() else 0.0
        found.append(error / (top or 1.0))
    return np.array(found)


def _columns(values: Array) -> Array:
    return np.asarray(values, dtype=float).reshape(len(values), -1)


def field_scores(
    truth: Sequence[Array],
    predicted: Sequence[Array],
    lower: Sequence[Array] | None = None,
    upper: Sequence[Array] | None = None,
) -> dict[str, Any]:
    r"""Compare predicted fields with true ones.

    Parameters
    ----------
    truth, predicted : sequence of N ndarrays of shape (n,) or (n, c)
        Nodes where the truth is NaN do not count.
    lower, upper : sequences of the same shapes, optional

    Returns
    -------
    dict
        ``rrmse``: the root of the mean of :func:`mesh_errors`; ``q2``: one less the share of the variance of all nodal
        values that is missed; ``max_error``: root mean square error of the largest size of the field over its mean;
        ``worst``: number of the worst mesh, ``worst_rrmse``; with bounds ``coverage``: the mean over meshes of the part
        of nodes inside, and ``least_coverage``.

    Examples
    --------
    >>> u = [np.array([0.0, 1.0]), np.array([0.0, 2.0])]
    >>> field_scores(u, u)["q2"]
    1.0
    """
    errors = mesh_errors(truth, predicted)
    pairs = [(_columns(u), _columns(v)) for u, v in zip(truth, predicted, strict=True)]
    known = [np.isfinite(u).all(axis=1) for u, _ in pairs]
    u = np.concatenate([pair[0][rows] for pair, rows in zip(pairs, known, strict=True)])
    v = np.concatenate([pair[1][rows] for pair, rows in zip(pairs, known, strict=True)])
    spread, missed = float(((u - u.mean(axis=0)) ** 2).sum()), float(((u - v) ** 2).sum())
    tops = np.array([[np.linalg.norm(part[rows], axis=1).max(initial=0.0) for part in pair]
                     for pair, rows in zip(pairs, known, strict=True)])  # fmt: skip
    size = float(tops[:, 0].mean())
    scores: dict[str, Any] = {
        "rrmse": float(np.sqrt(errors.mean())),
        "q2": 1.0 - missed / spread if spread > 0 else float(missed == 0),
        "max_error": float(np.sqrt(((tops[:, 1] - tops[:, 0]) ** 2).mean())) / (size or 1.0),
        "worst": int(errors.argmax()),
        "worst_rrmse": float(np.sqrt(errors.max())),
    }
    if lower is not None and upper is not None:
        inside = []
        for (u, _), low, high, rows in zip(pairs, lower, upper, known, strict=True):
            inside.append(float(((_columns(low) <= u) & (u <= _columns(high)))[rows].mean()))
        scores |= {"coverage": float(np.mean(inside)), "least_coverage": float(np.min(inside))}
    return scores

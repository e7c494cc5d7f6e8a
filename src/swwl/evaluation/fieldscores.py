"""Scores of predicted fields on several meshes, of those of single ones (``fields/scores.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from swwl.errors import InputError
from swwl.fields.scores import FieldScore, MeshScore, mesh_score, pooled

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
    bounds: list[Any] = [[None] * len(truth) if given is None else given for given in (lower, upper)]
    if len({len(truth), len(predicted), len(labels), *map(len, bounds)}) > 1:
        raise InputError(f"There are {len(truth)} true fields, but {len(predicted)} predicted ones or other bounds.")
    return pooled(
        [
            mesh_score(u, v, low, high, name=name)
            for u, v, low, high, name in zip(truth, predicted, *bounds, labels, strict=True)
        ]
    )

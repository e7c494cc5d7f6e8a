"""Where a mesh lies among the training meshes: two main components of what a kernel makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.design.domain import far_from_others
from swwl.embedding.components import principal_components, project

_NEAREST = 5


class DesignMap:
    """The training cases as points in the plane.

    Parameters
    ----------
    vectors : ndarray of shape (N, K)
    labels : sequence of N str
        Names of the cases.
    """

    def __init__(self, vectors: NDArray[Any], labels: Sequence[str]):
        self._vectors, self._labels = vectors.astype(np.float64), labels
        self._mean, self._components, _ = principal_components(vectors, 2)
        self._places = self._projected(vectors)

    def _projected(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        places = np.zeros((len(vectors), 2))
        places[:, : self._components.shape[1]] = project(vectors, self._mean, self._components)
        return places

    def place(self, vector: NDArray[Any] | None) -> dict[str, Any] | None:
        """Return where a mesh lies, and the training cases that are nearest to it."""
        if vector is None or vector.shape != self._vectors.shape[1:]:
            return None
        distances = np.sqrt(((self._vectors - vector) ** 2).sum(axis=1))
        order = np.argsort(distances, kind="stable")[:_NEAREST]
        near = [{"case": int(i), "label": self._labels[i], "distance": float(distances[i])} for i in order]
        return {"place": self._projected(vector[None])[0].tolist(), "nearest": near}

    def facts(self) -> dict[str, Any]:
        """Return the places of the training cases, their names, and which lie far from all others."""
        return {"places": self._places, "labels": self._labels, "far": far_from_others(self._vectors)}

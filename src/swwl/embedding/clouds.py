"""Items as clouds of points with masses: cells and skins of meshes, edges of graphs.

What :class:`swwl.SWWLEmbedding` embeds for the measures that are not made of nodes. Points of a cloud have no
neighbors; ``runner.py`` brings the items, ``pipeline.py`` takes the clouds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputTypeError, located
from swwl.mesh.graph import Graph
from swwl.mesh.io import as_graph, as_mesh, prepared
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.sampling import cell_samples, skin_samples
from swwl.mesh.shape.skin import Skin

# Measures of clouds; the others are made of nodes.
CLOUDS = ("area", "skin", "edges")
MEASURES = (None, "nodes", *CLOUDS)


@dataclass(frozen=True)
class Cloud:
    """Points with features and masses.

    Parameters
    ----------
    features : ndarray of shape (m, w)
        Fastest in Fortran order.
    masses : ndarray of shape (m,) or None
        With sum 1; None where points are all alike.
    n_nodes : int
        Of the mesh or graph.
    name : str or None
    reason : str
        Why normals among the features are not consistently oriented; empty if they are.
    """

    features: NDArray[np.float64]
    masses: NDArray[np.float64] | None
    n_nodes: int
    name: str | None = None
    reason: str = ""

    @property
    def n_points(self) -> int:
        """Number of points, m."""
        return len(self.features)

    @property
    def n_features(self) -> int:
        """Number of features per point, w."""
        return int(self.features.shape[1])

    def without_directions(self) -> Cloud:
        r"""Return it with products of normals in place of normals, so that opposite normals are the same.

        The second half of the features, :math:`n`, becomes :math:`n_i^2` and :math:`\sqrt 2\, n_i n_j`: distances are
        those of the matrices :math:`n n^\top`.

        Examples
        --------
        >>> Cloud(np.array([[5.0, 7.0, 0.6, 0.8]]), None, 1).without_directions().features.round(4).tolist()
        [[5.0, 7.0, 0.36, 0.64, 0.6788]]
        """
        d = self.n_features // 2
        rows = self.features.T
        normals = rows[d:]
        products = [np.sqrt(2) * a * b for a, b in combinations(normals, 2)]
        return replace(self, features=np.stack([*rows[:d], *normals**2, *products]).T)


def cloud_of(
    item: Any,
    measure: str,
    fields: Sequence[str] = (),
    merge_nodes: bool = False,
    found: Skin | None = None,
    group: str | None = None,
) -> Cloud:
    """Make a cloud of an item.

    Parameters
    ----------
    item : object
        Anything that :func:`swwl.as_mesh` takes; for edges, that :func:`swwl.as_graph` takes.
    measure : {"area", "skin", "edges"}
        "area": coordinates on the cells of the highest dimension. "skin": coordinates and unit normals on the skin,
        see :mod:`swwl.mesh.shape.sampling`. "edges": mean and absolute difference of the features at the two ends of
        every edge, all alike; where there are no edges, nodes count as edges to themselves.
    fields : sequence of str
        Node fields that features have beside coordinates, for edges.
    merge_nodes : bool
        Make nodes of a mesh at the same place one.
    found : Skin, optional
        Of the mesh, where it is known.
    group : str, optional
        Of a mesh: the part to take, see :meth:`swwl.Mesh.part`.

    Examples
    --------
    >>> cloud_of(Graph([[0.0], [1.0], [3.0]], [(0, 1), (1, 2)]), "edges").features.tolist()
    [[0.5, 1.0], [2.0, 2.0]]
    """
    if measure == "edges":
        return _edges(as_graph(item, fields=fields, merge_nodes=merge_nodes, group=group))
    if isinstance(item, Graph):
        raise InputTypeError(
            f'measure="{measure}" needs the cells of a mesh, which a Graph does not have; '
            f"give the Mesh, its file or (points, cells)."
        )
    whole = as_mesh(item)
    if isinstance(item, (str, os.PathLike)):
        with located(str(item)):
            return _sampled(prepared(whole, merge_nodes, group), measure, found)
    return _sampled(prepared(whole, merge_nodes, group), measure, found)


def _sampled(mesh: Mesh, measure: str, found: Skin | None) -> Cloud:
    if measure == "area":
        samples = cell_samples(mesh)
        return Cloud(samples.points, samples.masses, mesh.n_nodes, mesh.name)
    samples = skin_samples(mesh, found=found)
    assert samples.normals is not None
    features = np.concatenate([samples.points.T, samples.normals.T]).T
    return Cloud(features, samples.masses, mesh.n_nodes, mesh.name, samples.reason)


def _edges(graph: Graph) -> Cloud:
    ends = graph.edges.T if graph.n_edges else np.arange(graph.n_nodes)[None].repeat(2, axis=0)
    first, second = (graph.features[end].T for end in ends)
    features = np.concatenate([(first + second) / 2, np.abs(first - second)]).T
    return Cloud(features, None, graph.n_nodes, graph.name)

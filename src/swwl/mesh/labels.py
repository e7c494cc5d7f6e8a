"""Discrete node labels as features: one-hot columns beside the continuous attributes, with a weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, counted
from swwl.mesh.graph import Graph


def label_sets(labels: Sequence[ArrayLike]) -> list[AnyArray]:
    """Return the distinct labels of every column, over all graphs.

    Parameters
    ----------
    labels : sequence of N array-likes of shape (n,) or (n, c)
        The labels of every node of every graph.

    Returns
    -------
    list of c sorted arrays

    Examples
    --------
    >>> [found.tolist() for found in label_sets([["C", "O"], ["C", "N"]])]
    [['C', 'N', 'O']]
    """
    tables = _tables(labels)
    if not tables:
        raise InputError("There are no graphs, and so no labels.")
    return [np.unique(np.concatenate([table[:, c] for table in tables])) for c in range(tables[0].shape[1])]


def one_hot(labels: ArrayLike, sets: Sequence[ArrayLike] | None = None, weight: float = 1.0) -> NDArray[np.float64]:
    """Encode the labels of nodes: a column for each label that there is, not zero where a node has it.

    Parameters
    ----------
    labels : array-like of shape (n,) or (n, c)
        Each of several columns gets a block of its own.
    sets : sequence of c array-likes, optional
        The labels that there are, sorted and distinct, from :func:`label_sets`. By default those of these nodes.
    weight : float
        What stands in place of 1.

    Returns
    -------
    ndarray of shape (n, number of labels)

    Raises
    ------
    InputError
        Names a node whose label is not among those that there are.

    Examples
    --------
    >>> one_hot(["O", "H", "H"], weight=0.5)
    array([[0. , 0.5],
           [0.5, 0. ],
           [0.5, 0. ]])
    """
    (table,) = _tables([labels])
    known = label_sets([table]) if sets is None else [np.asarray(found) for found in sets]
    if table.shape[1] != len(known):
        columns, given = counted(table.shape[1], "column"), counted(len(known), "set")
        raise InputError(f"Found {columns} of labels, but {given} of them.")
    blocks = []
    for column, found in zip(table.T, known, strict=True):
        unknown = ~np.isin(column, found)
        if unknown.any():
            node = int(np.flatnonzero(unknown)[0])
            some = ", ".join(map(str, found[:10])) + (", …" if len(found) > 10 else "")
            raise InputError(f"node {node} has the label {column[node]!s}, but the labels are: {some}.")
        blocks.append((column[:, None] == found) * float(weight))
    return np.hstack(blocks)


def with_labels(
    graphs: Sequence[Graph],
    labels: Sequence[ArrayLike],
    weight: float = 1.0,
    *,
    sets: Sequence[ArrayLike] | None = None,
    attributes: bool = True,
) -> list[Graph]:
    r"""Append node labels to the features of graphs, one-hot.

    Parameters
    ----------
    graphs : sequence of N Graph
    labels : sequence of N array-likes of shape (n,) or (n, c)
        The labels of every node; each of several columns gets a block of its own.
    weight : float
        What a one-hot column holds in place of 1: two nodes that differ in one label are
        :math:`\sqrt 2` times the weight apart by it.
    sets : sequence of c array-likes, optional
        The labels that there are, from :func:`label_sets`. By default those of these graphs; new graphs need those of
        the training graphs, for columns to mean the same.
    attributes : bool
        Whether to keep the features that graphs have; False leaves the labels alone.

    Returns
    -------
    list of N Graph

    Examples
    --------
    >>> water = Graph([[0.0], [1.0], [-1.0]], [(0, 1), (0, 2)])
    >>> with_labels([water], [["O", "H", "H"]], weight=0.5)[0].features
    array([[ 0. ,  0. ,  0.5],
           [ 1. ,  0.5,  0. ],
           [-1. ,  0.5,  0. ]])
    """
    if len(graphs) != len(labels):
        raise InputError(f"There are labels for {len(labels)} graphs, but {len(graphs)} graphs.")
    tables = _tables(labels)
    known = label_sets(labels) if sets is None else [np.unique(np.asarray(found)) for found in sets]
    result = []
    for index, (graph, table) in enumerate(zip(graphs, tables, strict=True)):
        title = f"Graph {index}" + (f" ({graph.name})" if graph.name else "")
        if len(table) != graph.n_nodes:
            fault = InputError(f"has {counted(graph.n_nodes, 'node')}, but labels for {len(table)}.")
            raise fault.of_item(index, title, continues=True)
        try:
            encoded = one_hot(table, known, weight)
        except InputError as error:
            error.of_item(index, title)
            raise
        result.append(graph.with_features(np.hstack([graph.features, encoded]) if attributes else encoded))
    return result


def _tables(labels: Sequence[ArrayLike]) -> list[AnyArray]:
    tables: list[AnyArray] = []
    for index, given in enumerate(labels):
        table = np.asarray(given)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2 or table.shape[1] == 0:
            raise InputError(f"The labels of graph {index} must have shape (n,) or (n, c), not {np.shape(given)}.")
        if tables and table.shape[1] != tables[0].shape[1]:
            columns = (table.shape[1], tables[0].shape[1])
            raise InputError(f"Graph {index} has {columns[0]} columns of labels, but graph 0 has {columns[1]}.")
        tables.append(table)
    return tables

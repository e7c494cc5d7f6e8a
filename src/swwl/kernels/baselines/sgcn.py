r"""Metric learning for RPW: the weights of a simple graph convolution, trained on classes with torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.errors import InputError
from swwl.kernels.baselines.common import require
from swwl.kernels.baselines.projected import Cloud, line_order, mean_plan
from swwl.mesh.graph import Graph
from swwl.parallel import Progress


def convolve(graph: Graph, n_layers: int) -> NDArray[np.float64]:
    r"""Return the features after :math:`L` parameter-free convolutions, (n, d).

    .. math:: \hat A^L F, \quad \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

    Parameters
    ----------
    graph : Graph
        Edge weights, where it has them, are the entries of A.
    n_layers : int
        :math:`L \ge 0`.

    References
    ----------
    Wu et al. (2019), "Simplifying graph convolutional networks".

    Examples
    --------
    >>> convolve(Graph([[0.0], [1.0]], [(0, 1)]), 1).round(12).tolist()
    [[0.5], [0.5]]
    """
    looped = (graph.adjacency.astype(np.float64) + sparse.eye_array(graph.n_nodes)).tocsr()
    degrees = np.asarray(looped.sum(axis=1)).ravel()
    if (degrees <= 0).any():
        node = int(np.flatnonzero(degrees <= 0)[0])
        raise InputError(f"The edge weights of node {node} sum to {degrees[node] - 1:g}; more than -1 is wanted.")
    root = 1 / np.sqrt(degrees)[:, None]
    features = graph.features
    for _ in range(n_layers):
        features = root * (looped @ (root * features))
    return features


def train_weights(
    clouds: Sequence[Cloud],
    classes: Any,
    directions: NDArray[np.float64],
    *,
    n_epochs: int = 10,
    learning_rate: float = 1e-2,
    batch_size: int = 8,
    random_state: int = 0,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    r"""Learn weights :math:`\Theta` that bring graphs of one class together and push others apart.

    With :math:`\bar d^2_{ik}` the mean squared distance from graph i to the graphs of class k in the batch, the mean
    over the batch of

    .. math:: -\log \frac{e^{-\bar d^2_{i y_i} / 2}}{\sum_k e^{-\bar d^2_{ik} / 2}}

    is minimised by Adam: the loss "nearest class cloud" of its paper.

    Parameters
    ----------
    clouds : sequence of N (features (n, d), masses (n,))
        Convolved features.
    classes : array-like of shape (N,)
    directions : ndarray of shape (k, P)
        Unit columns, in the space of the weighted features.
    n_epochs, learning_rate, batch_size, random_state
        Of the optimiser; the seed draws the first weights and shuffles the batches.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of epochs.

    Returns
    -------
    ndarray of shape (d, k)

    References
    ----------
    Kaloga, Borgnat and Habrard (2022), "A simple way to learn metrics between attributed graphs".
    """
    torch = require("torch", "The training of RPW")
    labels = np.unique(np.asarray(classes), return_inverse=True)[1].ravel()
    if labels.max(initial=0) < 1:
        raise InputError("RPW learns its metric from classes, and at least two are needed.")
    rng = np.random.default_rng(random_state)
    width, k = clouds[0][0].shape[1], len(directions)
    limit = np.sqrt(6 / (width + k))
    weights = torch.tensor(rng.uniform(-limit, limit, (width, k)), requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=learning_rate)
    with _one_thread(torch):
        for epoch in range(n_epochs):
            for batch in _batches(rng.permutation(len(clouds)), batch_size):
                loss = _loss(torch, [clouds[i] for i in batch], labels[batch], weights, directions)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            if progress is not None:
                progress(epoch + 1, n_epochs)
    return weights.detach().numpy().copy()


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Hold torch to one thread: on matrices this small, waking others takes longer than the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _batches(order: NDArray[np.intp], size: int) -> list[NDArray[np.intp]]:
    """Split into batches; a last one of a single graph joins its neighbour."""
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [np.concatenate(batches[-2:])]
    return batches


def _loss(torch: Any, clouds: list[Cloud], labels: NDArray[Any], weights: Any, directions: NDArray[Any]) -> Any:
    """Return the loss of one batch; plans are constants for the gradient, as sorting is piecewise constant."""
    n = len(clouds)
    moments = torch.from_numpy(pair_moments(clouds, weights.detach().numpy(), directions))
    lower = torch.einsum("bij,ik,jk->b", moments, weights, weights)
    rows, columns = np.tril_indices(n, -1)
    place = np.zeros((n, n), dtype=np.int64)
    place[rows, columns] = place[columns, rows] = np.arange(1, len(rows) + 1)
    distances = torch.cat([torch.zeros(1, dtype=torch.float64), lower])[torch.from_numpy(place)]
    present, own = np.unique(labels, return_inverse=True)
    member = (labels[:, None] == present).astype(np.float64)
    to_class = distances @ torch.from_numpy(member / member.sum(0))
    return torch.nn.functional.cross_entropy(-0.5 * to_class, torch.from_numpy(own.ravel()))


def pair_moments(
    clouds: Sequence[Cloud], weights: NDArray[np.float64], directions: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Return the matrices B of which squared distances are made at fixed plans, (pairs, d, d).

    .. math:: d_{ij}^2 = \operatorname{tr} \Theta^\top B_{ij} \Theta, \quad
              B_{ij} = \sum_{u, v} \bar\pi_{uv} (x_u - y_v)(x_u - y_v)^\top

    Parameters
    ----------
    clouds : sequence of n (features (m, d), masses (m,))
    weights : ndarray of shape (d, k)
    directions : ndarray of shape (k, P)

    Returns
    -------
    ndarray of shape (n (n - 1) / 2, d, d)
        Pairs in the order of the lower triangle, row by row.
    """
    outputs = [(features @ weights, mass) for features, mass in clouds]
    orders = [line_order(output, directions) for output in outputs]
    own = [(features.T * mass) @ features for features, mass in clouds]
    moments = []
    for i in range(len(clouds)):
        for j in range(i):
            plan = mean_plan(outputs[i][1], outputs[j][1], orders[i], orders[j])
            mixed = clouds[i][0].T @ plan @ clouds[j][0]
            moments.append(own[i] + own[j] - mixed - mixed.T)
    return np.array(moments)

r"""RPW: a learned graph convolution and the restricted projected Wasserstein distance between its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from swwl.classification.baselines.common import Baseline, masses, pair_matrix, plain_matrix, require, rescaled
from swwl.embedding.options import check_exponent, check_options
from swwl.embedding.sliced import draw_directions
from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.graph import Graph
from swwl.parallel import Progress
from swwl.storage.checks import Shape
from swwl.storage.modelfile import storable

WeightedPoints = tuple[NDArray[np.float64], NDArray[np.float64]]
# Points sorted along every direction (P, n, k), their masses in that order (P, n) or None where all are equal, and
# the mean squared norm.
Sorted = tuple[NDArray[np.float64], NDArray[np.float64] | None, float]


def merge(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the plan between two sorted lists of masses that keeps the order: rows, columns and masses.

    Examples
    --------
    >>> [part.tolist() for part in merge(np.array([0.5, 0.5]), np.array([0.25, 0.75]))]
    [[0, 0, 1], [0, 1, 1], [0.25, 0.25, 0.5]]
    """
    ends_first, ends_second = np.cumsum(first), np.cumsum(second)
    ends = np.sort(np.concatenate([ends_first[:-1], ends_second[:-1], [1.0]]))
    mass = np.diff(ends, prepend=0.0)
    middle = ends - 0.5 * mass
    rows = np.searchsorted(ends_first[:-1], middle)
    columns = np.searchsorted(ends_second[:-1], middle)
    kept = mass > 0
    return rows[kept], columns[kept], mass[kept]


@lru_cache(maxsize=4096)
def merge_equal(n: int, m: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the plan of :func:`merge` between n equal masses and m equal ones, with whole numbers until the end."""
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    starts = np.concatenate([[0], ends[:-1]])
    return starts // m, starts // n, (ends - starts) / (n * m)


def line_order(cloud: WeightedPoints, directions: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return how the points of a cloud are sorted on every direction, (n, P); directions are (k, P)."""
    return np.argsort(cloud[0] @ directions, axis=0, kind="stable")


def sort_cloud(cloud: WeightedPoints, directions: NDArray[np.float64]) -> Sorted:
    """Sort a cloud along every direction.

    Parameters
    ----------
    cloud : (points (n, k), masses (n,))
    directions : ndarray of shape (k, P)
        Unit columns.
    """
    points, mass = cloud
    order = line_order(cloud, directions).T
    equal = bool((mass == mass[0]).all())
    return points[order], None if equal else mass[order], float(mass @ (points**2).sum(axis=1))


def projected_distance(first: Sorted, second: Sorted) -> float:
    r"""Return the projected Wasserstein distance of two sorted clouds.

    .. math:: d^2 = \frac1P \sum_p \sum_{u, v} \pi^{(p)}_{uv} \|x_u - y_v\|^2,

    with :math:`\pi^{(p)}` the optimal plan between the projections on direction p.
    """
    (x, a, squares_x), (y, b, squares_y) = first, second
    if a is None and b is None:
        rows, columns, mass = merge_equal(x.shape[1], y.shape[1])
        products = np.einsum("pik,pik,i->", x[:, rows], y[:, columns], mass)
    else:
        products = 0.0
        for p in range(len(x)):
            n, m = x.shape[1], y.shape[1]
            rows, columns, mass = merge(
                np.full(n, 1 / n) if a is None else a[p], np.full(m, 1 / m) if b is None else b[p]
            )
            products += np.einsum("ik,ik,i->", x[p, rows], y[p, columns], mass)
    return float(np.sqrt(max(0.0, squares_x + squares_y - 2 * products / len(x))))


def mean_plan(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    first_order: NDArray[np.intp],
    second_order: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the average over directions of the plans between the projections of two clouds.

    Parameters
    ----------
    first, second : ndarrays of shape (n,) and (m,)
        Masses.
    first_order, second_order : ndarrays of shape (n, P) and (m, P)
        How the points of each cloud are sorted on every direction, from :func:`line_order`.

    Returns
    -------
    ndarray of shape (n, m)
    """
    n, m, number = len(first), len(second), first_order.shape[1]
    if all((mass == mass[0]).all() for mass in (first, second)):
        rows, columns, mass = merge_equal(n, m)
        flat = first_order[rows] * m + second_order[columns]
        total: AnyArray = np.bincount(flat.ravel(), np.repeat(mass, number), n * m)
    else:
        total = np.zeros(n * m, dtype=np.float64)
        for u, v in zip(first_order.T, second_order.T, strict=True):
            rows, columns, mass = merge(first[u], second[v])
            np.add.at(total, u[rows] * m + v[columns], mass)
    return total.reshape(n, m) / number


def projected_distances(
    first: list[Sorted],
    second: list[Sorted] | None = None,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the projected Wasserstein distances of all pairs of sorted clouds, (N, M)."""
    return pair_matrix(partial(projected_distance), first, second, diagonal=False, n_jobs=n_jobs, progress=progress)


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
        raise InputError(f"The edge weights of node {node} sum to {degrees[node] - 1:g}; they must exceed -1.")
    root = 1 / np.sqrt(degrees)[:, None]
    features = graph.features
    for _ in range(n_layers):
        features = root * (looped @ (root * features))
    return features


def train_weights(
    clouds: Sequence[WeightedPoints],
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

    is minimized by Adam: the loss "nearest class cloud" of its paper.

    Parameters
    ----------
    clouds : sequence of N (features (n, d), masses (n,))
        Convolved features.
    classes : array-like of shape (N,)
    directions : ndarray of shape (k, P)
        Unit columns, in the space of the weighted features.
    n_epochs, learning_rate, batch_size, random_state
        Of the optimizer; the seed draws the first weights and shuffles the batches.
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
    optimizer = torch.optim.Adam([weights], lr=learning_rate)
    with _one_thread(torch):
        for epoch in range(n_epochs):
            for batch in _batches(rng.permutation(len(clouds)), batch_size):
                loss = _loss(torch, [clouds[i] for i in batch], labels[batch], weights, directions)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
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
    """Split into batches; a last one of a single graph joins its neighbor."""
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [np.concatenate(batches[-2:])]
    return batches


def _loss(torch: Any, clouds: list[WeightedPoints], labels: AnyArray, weights: Any, directions: AnyArray) -> Any:
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
    clouds: Sequence[WeightedPoints], weights: NDArray[np.float64], directions: NDArray[np.float64]
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


_DIRECTIONS = ("uniform", "basis")


@storable
class RPW(Baseline):
    r"""The kernel :math:`\exp(-(\beta\,\mathrm{RPW}(G, G'))^\alpha)` on a metric learned from classes.

    Nodes get the features :math:`\hat A^L F \Theta` of a simple graph convolution whose weights :math:`\Theta` are
    trained, and clouds of nodes are compared by plans that sorting finds on a few directions:

    .. math:: \mathrm{RPW}^2 = \frac1P \sum_p \sum_{u, v} \pi^{(p)}_{uv} \|x_u - y_v\|^2 .

    Sorted clouds are functions of [0, 1], and this is their distance in :math:`L^2`, averaged over directions: so,
    unlike the Wasserstein distance, it gives positive definite kernels.

    Parameters
    ----------
    column : str
        Name of a column of graphs.
    n_layers : int
        L.
    n_outputs : int
        Columns of :math:`\Theta`.
    n_projections : int
        P, for uniform directions.
    directions : {"uniform", "basis"}
        Drawn once on the sphere (Carpintero Perez et al., 2024), or the coordinate axes of the outputs, of which
        there are ``n_outputs``.
    weights : array-like of shape (d, k), optional
        :math:`\Theta`, learned elsewhere (see ``weights_``): then nothing is trained, and torch is not needed.
    n_epochs, learning_rate, batch_size
        Of the training.
    random_state : int
        Draws the directions and the first weights, and shuffles the batches.
    alpha : float
        :math:`\alpha` in (0, 2].
    scale, fields, node_weights, n_jobs
        See :class:`WWL`.

    Attributes
    ----------
    weights_ : ndarray of shape (d, k)
    directions_ : ndarray of shape (k, P)

    Notes
    -----
    The training needs classes: :class:`swwl.GraphSVC` and :func:`swwl.nested_cv` hand over those of
    their training graphs. A Gaussian process has none to give, so that a factor for one takes ``weights``.

    References
    ----------
    Kaloga, Borgnat and Habrard (2022), "A simple way to learn metrics between attributed graphs".

    Examples
    --------
    >>> near = Graph([[0.0], [1.0]], [(0, 1)])
    >>> far = Graph([[3.0], [4.0]], [(0, 1)])
    >>> kernel = RPW(n_layers=0, weights=[[1.0]])
    >>> kernel.items(kernel.fit([near, far]))[0].round(12)
    array([[0., 3.],
           [3., 0.]])
    """

    weights_: Annotated[NDArray[np.float64], Shape("dk")]
    directions_: Annotated[NDArray[np.float64], Shape("kP")]

    @property
    def supervised(self) -> bool:
        """Whether there are weights to learn."""
        return self.weights is None

    def __init__(
        self,
        column: str = "graph",
        *,
        n_layers: int = 2,
        n_outputs: int = 5,
        n_projections: int = 50,
        directions: str = "uniform",
        weights: ArrayLike | None = None,
        n_epochs: int = 10,
        learning_rate: float = 1e-2,
        batch_size: int = 8,
        random_state: int = 0,
        alpha: float = 1.0,
        scale: Any = False,
        fields: Sequence[str] = (),
        node_weights: str | None = None,
        n_jobs: int | None = None,
    ):
        self.column = column
        self.n_layers = n_layers
        self.n_outputs = n_outputs
        self.n_projections = n_projections
        self.directions = directions
        self.weights = weights
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state
        self.alpha = alpha
        self.scale = scale
        self.fields = fields
        self.node_weights = node_weights
        self.n_jobs = n_jobs

    def prepare(self, graph: Graph) -> Sorted:
        """Return the cloud of the graph's outputs, sorted along every direction."""
        return sort_cloud(
            (convolve(graph, self.n_layers) @ self.weights_, masses(graph, self.node_weights)), self.directions_
        )

    def distances(self, first: list[Any], second: list[Any] | None = None) -> NDArray[np.float64]:
        """Return restricted projected Wasserstein distances, (N, M)."""
        return projected_distances(first, second, n_jobs=self.n_jobs, progress=self._progress)

    def _learn(self, graphs: list[Graph], y: object, progress: Progress | None) -> None:
        if y is None and self.weights is None:
            raise InputError(
                "RPW learns its metric from classes, and there are none here; use it in GraphSVC, or give it weights "
                "that were learned there: RPW(weights=classifier.kernel_.factors[0].weights_)."
            )
        width = graphs[0].n_features
        given = None if self.weights is None else np.array(self.weights, dtype=np.float64)
        if given is not None and (given.ndim != 2 or len(given) != width):
            raise InputError(f"weights must have {width} rows, one per feature, but have shape {given.shape}.")
        size = self.n_outputs if given is None else given.shape[1]
        if self.directions == "basis":
            self.directions_ = np.eye(size)
        else:
            rng = np.random.default_rng(self.random_state)
            self.directions_ = draw_directions(size, self.n_projections, "gaussian", rng)
        if given is None:
            clouds = [
                (convolve(rescaled(graph, self.scale_), self.n_layers), masses(graph, self.node_weights))
                for graph in graphs
            ]
            given = train_weights(
                clouds,
                y,
                self.directions_,
                n_epochs=self.n_epochs,
                learning_rate=self.learning_rate,
                batch_size=self.batch_size,
                random_state=self.random_state,
                progress=progress,
            )
        self.weights_ = given

    def _check(self) -> None:
        check_options(self.get_params(deep=False), directions=_DIRECTIONS)
        check_exponent(self.alpha)


def rpw_distances(
    graphs: Any, others: Any = None, *, y: object = None, progress: Progress | None = None, **options: Any
) -> NDArray[np.float64]:
    """Return restricted projected Wasserstein distances between graphs, (N, N) or (N, M).

    Parameters
    ----------
    graphs, others, progress
        See :func:`wwl_distances`.
    y : array-like, optional
        Classes of ``others`` (of ``graphs`` where there are none), to train on; not needed with ``weights``.
    **options
        Those of :class:`RPW`.
    """
    return plain_matrix(RPW(**options), graphs, others, progress, y)

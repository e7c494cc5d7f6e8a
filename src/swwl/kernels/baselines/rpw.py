r"""RPW: a learned graph convolution and the restricted projected Wasserstein distance between its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.embedding.options import check_exponent, check_options
from swwl.embedding.sliced import draw_directions
from swwl.errors import InputError, renamed_arguments
from swwl.kernels.baselines.common import Baseline, masses, plain_matrix, rescaled
from swwl.kernels.baselines.projected import Sorted, projected_distances, sort_cloud
from swwl.kernels.baselines.sgcn import convolve, train_weights
from swwl.mesh.graph import Graph
from swwl.parallel import Progress
from swwl.storage import storable

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

    @property
    def supervised(self) -> bool:
        """Whether there are weights to learn."""
        return self.weights is None

    @renamed_arguments(exponent="alpha")
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

    def _learn(self, graphs: list[Graph], y: Any, progress: Progress | None) -> None:
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
    graphs: Any, others: Any = None, *, y: Any = None, progress: Progress | None = None, **options: Any
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

"""SWWLEmbedding: the scikit-learn transformer around ``pipeline.py``; ``runner.py`` brings the graphs.

Graphs, or whatever :func:`swwl.as_graph` takes, go in one by one; one row per graph comes out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from swwl.embedding.clouds import CLOUDS
from swwl.embedding.options import check_measure, check_options, given_scale
from swwl.embedding.pipeline import EmbeddedGraph, Moments, Recipe
from swwl.embedding.runner import Entry, Run, centers_of, embedded_of, moments_of
from swwl.embedding.sliced import draw_directions, quantile_levels
from swwl.errors import InputError
from swwl.estimators import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, check_is_fitted
from swwl.parallel import Progress
from swwl.storage.checks import PERHAPS, Array, Names, Shape, Size, Sizes, check_declared, restored, shown
from swwl.storage.memory import Memory, MemoryLike
from swwl.storage.modelfile import storable

# Of an embedding in a model file: more than the root of the nodes of the largest mesh, and than any machine has.
_MOST_STEP, _MOST_JOBS = 10**6, 10**4
# Nodes of graphs that are taken at a time in large steps: as columns of one matrix they share its products.
_MOST_NODES_STACKED = 480_000


@storable
class SWWLEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Embed graphs so that distance between rows is sliced Wasserstein distance between graphs.

    Continuous Weisfeiler-Lehman iterations give every node :math:`(H+1) d` features; the empirical measure of the
    nodes is projected on :math:`P` directions, and :math:`Q` quantiles of every projection are kept:

    .. math:: \phi_{p + P(q-1)}(G) = (PQ)^{-1/r} F^{-1}_{\theta_p \sharp \mu_G}(t_q)

    Then :math:`\|\phi(G) - \phi(G')\|_r` estimates :math:`SW_r(\mu_G, \mu_{G'})`.

    Parameters
    ----------
    n_iterations : int
        :math:`H \ge 0`.
    step : int or "sqrt"
        :math:`T \ge 1`: iterations :math:`0, T, \dots, HT` are kept. "sqrt" is the rounded square root of the mean
        number of nodes in ``fit``.
    n_projections, n_quantiles : int
        :math:`P \ge 1` and :math:`Q \ge 2`.
    quantiles : {"linear", "lower", "midpoint", "mean"}
        Linear interpolation at equally spaced levels (the paper), the order statistic below them (its authors' code),
        the quantile function at the middle of Q equal parts, or its mean over each part. The last two converge to
        :math:`SW_r` as Q grows, and the last alone changes little where shapes change little: quantile functions
        have jumps, and a level may lie at one.
    directions : {"gaussian", "orthogonal", "sobol"}
        Independent directions (the paper), blocks of orthonormal ones, or quasi Monte Carlo.
    node_weights : None, "area" or "uniform"
        None takes the weights that a graph carries and equal ones where it carries none. "area" weighs the nodes of
        a mesh by the length, area or volume around them. "uniform" weighs all nodes the same in any case.
    measure : {None, "nodes", "area", "skin", "edges"}
        What a graph is as a measure. None and "nodes": its nodes, with ``node_weights``. The others embed points
        that have no neighbors, so ``n_iterations`` and ``step`` do not matter. "area": points on the cells of a mesh,
        by length, area or volume. "skin": points on the boundary of a plane or solid domain, or on a surface or contour
        itself, with features :math:`[x, L n]`, coordinates and scaled normals; every connected part weighs the same.
        "edges": the edges of a graph, with mean and absolute difference of the features at their two ends. What is
        made of cells does not depend on where a mesh is fine and where it is coarse, as nodes do.
    scale : bool or array-like of shape (d,)
        Whether to divide each feature by its standard deviation over all nodes seen in ``fit``, or what to divide by.
    r : {1, 2}
        Order of the distance.
    random_state : int, Generator, RandomState or None
        Draws the directions, in ``fit``.
    n_jobs : int or None
        Threads, by joblib's rules.
    normalization : {"count", "sum"}
        For weighted edges: divide a node's weighted sum by its number of neighbors (the paper) or by the sum of
        their weights (PyTorch Geometric).
    tolerance : float
        Bound on the error of large steps, relative to the features' spread: they are taken by a Chebyshev series cut
        where less than this is left. 0 runs every single iteration.
    per_iteration : bool
        Embed every kept iteration by itself, with its own directions: the blocks of the anisotropic kernel ASWWL.
        Rows are then :math:`(H+1) P Q` long, block by block.
    fields : sequence of str
        Node fields to append to the coordinates of meshes.
    merge_nodes : bool
        Make nodes of a mesh at exactly the same place one, for files in which every triangle has corners of its own;
        see :meth:`swwl.Mesh.merged`.
    group : str, optional
        Name or shell pattern of groups, such as ``"body*"``: embed the part of every mesh that their cells or faces
        make, see :meth:`swwl.Mesh.part`.
    memory : Memory, path or None
        A folder in which the embeddings of mesh files are kept from one run to the next, keyed by what a file holds
        and by the options here. Rows are bit for bit those of a run without.

    Attributes
    ----------
    directions_ : ndarray of shape ((H + 1) d, P)
        Unit columns; rows ordered iteration by iteration. With ``per_iteration``, the d rows of each iteration are
        unit columns by themselves.
    levels_ : ndarray of shape (Q,)
        The quantile levels :math:`t_q`.
    step_ : int
        The step, with "sqrt" resolved.
    scale_ : ndarray of shape (d,)
        What features are divided by; ones unless ``scale`` says otherwise.
    center_ : ndarray of shape ((H + 1) d,)
        What node embeddings are shifted by, in double precision, so that single-precision rows keep their digits
        however far from the origin the graphs lie. The same for all graphs, so distances do not see it.
    n_node_features_ : int
        d; for a skin, coordinates and normals together.
    normal_scale_ : float or None
        For a skin, :math:`L`: the mean, over meshes and axes, of the standard deviation of the coordinates.
    oriented_ : bool or None
        For a skin, whether normals were consistently oriented in all of ``fit``. If not, :math:`n` stands for the
        products :math:`n_i^2, \sqrt 2 n_i n_j`, for all meshes, which do not tell a normal from its opposite.
    plane_ : bool
        Whether the meshes of ``fit`` are all one cell thick, and as thick: then they are taken for plane meshes, see
        :mod:`swwl.mesh.remesh.plane`, and so are new ones.

    Notes
    -----
    ``fit``, ``transform`` and ``fit_transform`` take a list, a pandas column, an array of objects, or any iterable,
    also one that yields graphs only once. Graphs are read and embedded as they come, and a few per thread are held at a
    time. A file or an object that stands in several rows is read and embedded once. One pass over an iterator is
    enough for ``fit_transform``, unless ``step="sqrt"`` or ``scale=True`` have to see all graphs before the first can
    be embedded: then an iterator's graphs are kept in memory.

    Rows do not depend on the number of threads, nor on which graphs are embedded together or in which order. (Where
    scipy is compiled to fuse products with sums, as on ARM, large steps on plane meshes that share a topology are an
    exception, in their last bits.)

    References
    ----------
    Carpintero Perez, Da Veiga, Garnier and Staber (2024), "Gaussian process regression with Sliced Wasserstein
    Weisfeiler-Lehman graph kernels", Eq. 12.

    Examples
    --------
    >>> from swwl import Graph
    >>> rod = Graph([[0.0], [1.0], [2.0]], [(0, 1), (1, 2)])
    >>> shifted = Graph([[3.0], [4.0], [5.0]], [(0, 1), (1, 2)])
    >>> embedding = SWWLEmbedding(n_iterations=0, n_projections=4, n_quantiles=5)
    >>> phi = embedding.fit_transform([rod, shifted])
    >>> phi.shape
    (2, 20)
    >>> round(float(np.linalg.norm(phi[0] - phi[1])), 6)  # in one dimension, the shift itself
    3.0
    """

    directions_: Annotated[Array, Shape("sP")]
    levels_: Annotated[Array, Shape("Q")]
    step_: Annotated[int, Meta(ge=1, le=_MOST_STEP)]
    scale_: Annotated[Array, Shape("d", above=0)]
    center_: Annotated[Array, Shape("s")]
    n_node_features_: Annotated[int, Meta(ge=1), Size("d")]
    normal_scale_: Annotated[float | None, PERHAPS]
    oriented_: Annotated[bool | None, PERHAPS]
    plane_: Annotated[bool, PERHAPS]

    def __init__(
        self,
        n_iterations: int = 3,
        step: int | str = 1,
        n_projections: int = 50,
        n_quantiles: int = 500,
        *,
        quantiles: str = "linear",
        directions: str = "gaussian",
        node_weights: str | None = None,
        measure: str | None = None,
        scale: Any = False,
        r: int = 2,
        random_state: object = 0,
        n_jobs: int | None = None,
        normalization: str = "count",
        tolerance: float = 1e-5,
        per_iteration: bool = False,
        fields: Sequence[str] = (),
        merge_nodes: bool = False,
        group: str | None = None,
        memory: MemoryLike = None,
    ):
        self.n_iterations = n_iterations
        self.step = step
        self.n_projections = n_projections
        self.n_quantiles = n_quantiles
        self.quantiles = quantiles
        self.directions = directions
        self.node_weights = node_weights
        self.measure = measure
        self.scale = scale
        self.r = r
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.normalization = normalization
        self.tolerance = tolerance
        self.per_iteration = per_iteration
        self.fields = fields
        self.merge_nodes = merge_nodes
        self.group = group
        self.memory = memory

    def fit(
        self, X: object, y: object = None, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> SWWLEmbedding:
        """Draw the directions; learn the center and, where asked for, the step and the scale.

        Parameters
        ----------
        X : iterable of graphs, or of anything :func:`swwl.as_graph` takes
        y : ignored
        progress : callable, optional
            Called as ``progress(done, total)`` as graphs are done; ``total`` is None for an iterator.
        memory : Memory or path, optional
            In place of the constructor's.
        """
        run = self._run(X, progress, memory)
        run.settle()
        if hasattr(self, "center_"):
            run.finished()
        else:
            self.center_ = _mean(run.collect(partial(centers_of, recipe=self.recipe())))
        return self

    def transform(
        self, X: object, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> NDArray[np.float32]:
        """Embed graphs.

        Parameters
        ----------
        X : iterable of graphs, or of anything :func:`swwl.as_graph` takes
        progress : callable, optional
            Called as ``progress(done, total)`` as graphs are done; ``total`` is None for an iterator.
        memory : Memory or path, optional
            In place of the constructor's.

        Returns
        -------
        ndarray of shape (N, P * Q), float32
            ``(N, (H + 1) * P * Q)`` with ``per_iteration``.
        """
        check_is_fitted(self, "center_")
        return self._run(X, progress, memory).rows(fit=False)[0]

    def fit_transform(
        self, X: object, y: object = None, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> NDArray[np.float32]:
        """Fit and embed; every distinct graph is read once, or twice where all have to be seen before any is embedded.

        That is the case where the step or the scale are to be learned and there are more graphs than fit into memory.
        """
        run = self._run(X, progress, memory)
        run.settle()
        return run.rows(fit=True)[0]

    def check_restored(self, per_iteration: bool) -> int:
        """Refuse what a model file says of a fitted embedding where that cannot be; return the length of its rows."""
        options = self.get_params(deep=False)
        check_options(options)
        check_measure(options)
        restored(Names, list(self.fields))
        if self.per_iteration is not per_iteration:
            raise InputError(f"per_iteration is {shown(self.per_iteration)}, but {per_iteration} is expected")
        if abs(self.n_jobs or 1) > _MOST_JOBS:
            raise InputError(f"n_jobs is {self.n_jobs}, which is out of range")
        s = (self._kept_iterations + 1) * self.n_node_features_
        check_declared(self, Sizes(s=s, P=self.n_projections, Q=self.n_quantiles))
        return self._n_features_out

    @property
    def _n_features_out(self) -> int:
        return self._n_blocks * self.n_projections * self.n_quantiles

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _run(self, X: object, progress: Progress | None, memory: MemoryLike) -> Run:
        return Run([self], X, progress=progress, memory=self.memory if memory is None else memory)

    def _options(self) -> Recipe:
        """Return the options as a recipe, enough to read graphs."""
        names = ("node_weights", "normalization", "tolerance", "n_quantiles", "quantiles", "merge_nodes", "group")
        given = {name: getattr(self, name) for name in names}
        given |= {"measure": self.measure or "nodes", "plane": getattr(self, "plane_", False)}
        return Recipe(fields=tuple(self.fields), n_iterations=self._kept_iterations, **given)

    def recipe(self) -> Recipe:
        """Return the options together with what ``fit`` settled."""
        return replace(
            self._options(),
            n_features=self.n_node_features_,
            step=self.step_,
            scale=self.scale_,
            directions=tuple(np.split(self.directions_, self._n_blocks)),
            directed=self.measure != "skin" or bool(self.oriented_),
        )

    @property
    def _kept_iterations(self) -> int:
        """H, which is zero for points that have no neighbors."""
        return 0 if self.measure in CLOUDS else self.n_iterations

    @property
    def _n_blocks(self) -> int:
        return self.n_iterations + 1 if self.per_iteration else 1

    @property
    def looks_first(self) -> bool:
        """Whether all graphs have to be seen before the first can be embedded."""
        return self._by_nodes or self.scale is True or self.measure == "skin"

    @property
    def _by_nodes(self) -> bool:
        """Whether the step follows from the numbers of nodes."""
        return self.step == "sqrt" and self.measure not in CLOUDS

    @property
    def row_length(self) -> int:
        """How many numbers a row has."""
        check_options(self.get_params(deep=False))
        return self._n_features_out

    @property
    def nodes_at_once(self) -> int | None:
        """Many for large steps, whose sparse products graphs of one topology share."""
        return _MOST_NODES_STACKED if self.step_ > 1 else None

    def look(self, items: Sequence[Entry], memory: Memory) -> list[Moments]:
        """Return the moments of graphs."""
        check_measure(self.get_params(deep=False))
        return moments_of(items, self._options(), memory)

    def settle(self, looks: list[Moments]) -> None:
        """Settle width, step, scale and directions by the moments of all graphs, or of the first.

        Moments of all graphs settle the center as well, where iterations keep shifts.
        """
        width = len(looks[0].mean)
        for index, found in enumerate(looks):
            if len(found.mean) != width:
                error = InputError(f"has {len(found.mean)} features per node, but graph 0 has {width}.")
                raise error.of_item(index, f"Graph {index}", continues=True)
        self.normal_scale_ = None
        self.oriented_ = None
        if self.measure == "skin":
            scale = self._weigh_normals(looks)
        else:
            scale = _pooled_deviation(looks) if self.scale is True else given_scale(self.scale, width)
        counts = np.array([found.weight for found in looks], float)
        step = max(1, round(math.sqrt(counts.mean()))) if self._by_nodes else 1 if self.step == "sqrt" else self.step
        self._settle(len(scale), int(step), scale)
        if hasattr(self, "center_"):  # of an earlier fit
            del self.center_
        if self.looks_first and self.recipe().directed and all(found.averaging for found in looks):
            self.center_ = _mean([np.tile(found.mean / scale, self._kept_iterations + 1) for found in looks])

    def pieces(self, n: int | None) -> QuantileRows:
        """Return where to put the quantiles and centers of n graphs."""
        return QuantileRows(n, (self._n_blocks, self.n_quantiles, self.n_projections))

    def take(self, items: Sequence[Entry], memory: Memory) -> list[EmbeddedGraph]:
        """Return quantiles and center of every graph."""
        return embedded_of(items, self.recipe(), memory)

    def finish(self, pieces: QuantileRows, inverse: list[int] | None, *, fit: bool) -> NDArray[np.float32]:
        """Make rows of the quantiles and centers of distinct graphs; one for every graph."""
        centers = pieces.centers
        if fit:
            self.center_ = _mean(centers if inverse is None else [centers[k] for k in inverse])
        rows = self._rows(pieces.stacked(), centers)
        return rows if inverse is None or len(inverse) == len(rows) else rows[inverse]

    def _weigh_normals(self, moments: Sequence[Moments]) -> NDArray[np.float64]:
        """Settle what normals count for beside coordinates; return what to divide both by, (d,)."""
        n_axes = len(moments[0].mean) // 2
        spreads = [float(np.sqrt(found.variance[:n_axes]).mean()) for found in moments]
        self.normal_scale_ = math.fsum(spreads) / len(spreads) or 1.0
        self.oriented_ = all(found.directed for found in moments)
        n_normals = n_axes if self.oriented_ else n_axes * (n_axes + 1) // 2
        return np.repeat([1.0, 1 / self.normal_scale_], [n_axes, n_normals])

    def _settle(self, n_features: int, step: int, scale: NDArray[np.float64]) -> None:
        self.n_node_features_ = n_features
        self.step_ = step
        self.scale_ = scale
        self.levels_ = quantile_levels(self.n_quantiles, self.quantiles)
        rng = _generator(self.random_state)
        size = (self._kept_iterations + 1) * n_features // self._n_blocks
        draws = [draw_directions(size, self.n_projections, self.directions, rng) for _ in range(self._n_blocks)]
        self.directions_ = np.concatenate(draws)

    def _rows(self, quantiles: NDArray[np.float32], centers: list[NDArray[np.float64]]) -> NDArray[np.float32]:
        """Bring the quantiles, in place, from each graph's own center to the common one; scale them."""
        factor = (self.n_projections * self.n_quantiles) ** (-1 / self.r)
        directions = self.directions_.reshape(self._n_blocks, -1, self.n_projections)
        for row, center in zip(quantiles, centers, strict=True):
            shift = (center - self.center_).reshape(len(row), 1, -1) @ directions
            row[...] = (row + shift) * factor
        return quantiles.reshape(len(quantiles), self._n_features_out)


class QuantileRows:
    """QuantileRows of graphs about their own centers, and those centers, as they come.

    Parameters
    ----------
    n : int or None
        How many graphs there will be; where that is known, quantiles are in memory only once.
    shape : tuple of int
        (blocks, Q, P)

    Attributes
    ----------
    centers : list of ndarray of shape ((H + 1) d,)
    """

    def __init__(self, n: int | None, shape: tuple[int, ...]):
        self.centers: list[NDArray[np.float64]] = []
        self._whole = None if n is None else np.empty((n, *shape), np.float32)
        self._parts = [np.empty((0, *shape), np.float32)]

    def extend(self, pieces: Iterable[EmbeddedGraph]) -> None:
        """Add those of the next graphs."""
        for quantiles, center in pieces:
            if self._whole is None:
                self._parts.append(quantiles[None])
            else:
                self._whole[len(self.centers)] = quantiles
            self.centers.append(center)

    def stacked(self) -> NDArray[np.float32]:
        """Return the quantiles of all graphs, (N, blocks, Q, P)."""
        return np.concatenate(self._parts) if self._whole is None else self._whole


def _sum(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the first axis, correctly rounded and therefore the same for any order of rows."""
    return np.array([math.fsum(column) for column in rows.T])


def _mean(offsets: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return _sum(np.array(offsets)) / len(offsets)


def _pooled_deviation(moments: Sequence[Moments]) -> NDArray[np.float64]:
    """Return the standard deviation of each feature over the nodes of all graphs; one where it is constant."""
    counts = np.array([[found.weight] for found in moments], float)
    means = np.array([found.mean for found in moments])
    variances = np.array([found.variance for found in moments])
    mean = _sum(counts * means) / math.fsum(counts.ravel())
    deviation = np.sqrt(_sum(counts * (variances + (means - mean) ** 2)) / math.fsum(counts.ravel()))
    # What is constant up to rounding carries nothing to scale.
    return np.where(deviation <= 1e-12 * np.abs(means).max(axis=0), 1.0, deviation)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    return np.random.default_rng(random_state)

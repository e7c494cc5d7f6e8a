r"""SWWLEmbedding: the scikit-learn transformer around ``wl.py`` and ``sliced.py``; threads and streaming.

Graphs, or whatever :func:`swwl.as_graph` takes, go in one by one; one row per graph comes out.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from swwl.embedding.batches import Progress, Recipe, as_items, moments_of, offsets_of, quantiles_of, stream
from swwl.embedding.sliced import DIRECTIONS, QUANTILES, draw_directions, quantile_levels
from swwl.embedding.wl import NORMALIZATIONS
from swwl.errors import InputError


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
    quantiles : {"linear", "lower", "midpoint"}
        Linear interpolation at equally spaced levels (the paper), the order statistic below them (its authors' code),
        or the quantile function at the middle of Q equal parts, which alone converges to :math:`SW_r` as Q grows.
    directions : {"gaussian", "orthogonal", "sobol"}
        Independent directions (the paper), blocks of orthonormal ones, or quasi Monte Carlo.
    node_weights : None, "area" or "uniform"
        None takes the weights that a graph carries and equal ones where it carries none. "area" weighs the nodes of
        a mesh by the length, area or volume around them. "uniform" weighs all nodes the same in any case.
    scale : bool or array-like of shape (d,)
        Whether to divide each feature by its standard deviation over all nodes seen in ``fit``, or what to divide by.
    r : {1, 2}
        Order of the distance.
    random_state : int, Generator, RandomState or None
        Draws the directions, in ``fit``.
    n_jobs : int or None
        Threads, by joblib's rules.
    normalization : {"count", "sum"}
        For weighted edges: divide a node's weighted sum by its number of neighbours (the paper) or by the sum of
        their weights (PyTorch Geometric).
    tolerance : float
        Bound on the error of large steps, relative to the features' spread: they are taken by a Chebyshev series cut
        where less than this is left. 0 runs every single iteration.
    per_iteration : bool
        Embed every kept iteration by itself, with its own directions: the blocks of the anisotropic kernel ASWWL.
        Rows are then :math:`(H+1) P Q` long, block by block.
    fields : sequence of str
        Node fields to append to the coordinates of meshes.

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
        d.

    Notes
    -----
    ``fit``, ``transform`` and ``fit_transform`` take a list, a pandas column, an array of objects, or any iterable,
    also one that yields graphs only once. Graphs are read and embedded as they come, and a few per thread are held at a
    time. One pass over an iterator is enough for ``fit_transform``, unless ``step="sqrt"`` or ``scale=True`` have to
    see all graphs before the first can be embedded: then an iterator's graphs are kept in memory.

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
        scale: Any = False,
        r: int = 2,
        random_state: Any = 0,
        n_jobs: int | None = None,
        normalization: str = "count",
        tolerance: float = 1e-5,
        per_iteration: bool = False,
        fields: Sequence[str] = (),
    ):
        self.n_iterations = n_iterations
        self.step = step
        self.n_projections = n_projections
        self.n_quantiles = n_quantiles
        self.quantiles = quantiles
        self.directions = directions
        self.node_weights = node_weights
        self.scale = scale
        self.r = r
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.normalization = normalization
        self.tolerance = tolerance
        self.per_iteration = per_iteration
        self.fields = fields

    def fit(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> SWWLEmbedding:
        """Draw the directions; learn the centre and, where asked for, the step and the scale.

        Parameters
        ----------
        X : iterable of graphs, or of anything :func:`swwl.as_graph` takes
        y : ignored
        progress : callable, optional
            Called as ``progress(done, total)`` as graphs are done; ``total`` is None for an iterator.
        """
        items, means = self._prepare(X, progress)
        if means is None:
            means = list(self._stream(offsets_of, items, progress))
        self.center_ = _mean(means)
        return self

    def transform(self, X: Any, *, progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed graphs.

        Parameters
        ----------
        X : iterable of graphs, or of anything :func:`swwl.as_graph` takes
        progress : callable, optional
            Called as ``progress(done, total)`` as graphs are done; ``total`` is None for an iterator.

        Returns
        -------
        ndarray of shape (N, P * Q), float32
            ``(N, (H + 1) * P * Q)`` with ``per_iteration``.
        """
        check_is_fitted(self, "center_")
        return self._rows(*self._embed(as_items(X), progress))

    def fit_transform(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> NDArray[np.float32]:
        """Fit and embed; every graph is read once, or twice where the step or the scale are to be learned."""
        items, _ = self._prepare(X, None)
        quantiles, offsets = self._embed(items, progress)
        self.center_ = _mean(offsets)
        return self._rows(quantiles, offsets)

    @property
    def _n_features_out(self) -> int:
        blocks = self.n_iterations + 1 if self.per_iteration else 1
        return blocks * self.n_projections * self.n_quantiles

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _check_parameters(self) -> None:
        for name, least in (("n_iterations", 0), ("n_projections", 1), ("n_quantiles", 2), ("step", 1)):
            value = getattr(self, name)
            if name == "step" and value == "sqrt":
                continue
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
                also = ' or "sqrt"' if name == "step" else ""
                raise InputError(f"{name} must be an integer of at least {least}{also}, not {value!r}.")
        choices: dict[str, tuple] = {
            "quantiles": QUANTILES,
            "directions": DIRECTIONS,
            "node_weights": (None, "area", "uniform"),
            "r": (1, 2),
            "normalization": NORMALIZATIONS,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be one of {list(allowed)}, not {getattr(self, name)!r}.")
        if not self.tolerance >= 0:
            raise InputError(f"tolerance must not be negative, but is {self.tolerance!r}.")
        if isinstance(self.fields, str):
            raise InputError(f"fields must be a sequence of names, such as [{self.fields!r}], not one string.")

    def _prepare(self, X: Any, progress: Progress | None) -> tuple[Iterable, list[NDArray] | None]:
        """Settle width, step, scale and directions. Returns the items and, if they are known by now, the offsets."""
        self._check_parameters()
        items = as_items(X)
        if self.step != "sqrt" and self.scale is not True:
            iterator = iter(items)
            first = next(iterator, None)
            if first is None:
                raise InputError("There are no graphs to fit; at least one is needed.")
            (_, mean, _, _), *_ = moments_of([(0, first)], self._recipe(settled=False))
            self._settle(len(mean), int(self.step), given_scale(self.scale, len(mean)))
            return items if isinstance(items, Sized) else chain([first], iterator), None

        items = items if isinstance(items, Sized) else list(items)
        moments = list(stream(moments_of, items, self._recipe(settled=False), self.n_jobs, progress))
        if not moments:
            raise InputError("There are no graphs to fit; at least one is needed.")
        counts = np.array([count for count, *_ in moments], float)
        width = len(moments[0][1])
        for index, (_, mean, _, _) in enumerate(moments):
            if len(mean) != width:
                raise InputError(f"Graph {index} has {len(mean)} features per node, but graph 0 has {width}.")
        step = max(1, round(math.sqrt(counts.mean()))) if self.step == "sqrt" else int(self.step)
        scale = _pooled_deviation(moments) if self.scale is True else given_scale(self.scale, width)
        self._settle(width, step, scale)
        if not all(averaging for *_, averaging in moments):
            return items, None
        return items, [np.tile(mean / scale, self.n_iterations + 1) for _, mean, _, _ in moments]

    def _settle(self, n_features: int, step: int, scale: NDArray[np.float64]) -> None:
        self.n_node_features_ = n_features
        self.step_ = step
        self.scale_ = scale
        self.levels_ = quantile_levels(self.n_quantiles, self.quantiles)
        rng = _generator(self.random_state)
        n_kept = self.n_iterations + 1
        blocks, size = (n_kept, n_features) if self.per_iteration else (1, n_kept * n_features)
        draws = [draw_directions(size, self.n_projections, self.directions, rng) for _ in range(blocks)]
        self.directions_ = np.concatenate(draws)

    def _recipe(self, settled: bool = True) -> Recipe:
        """Gather what the threads need: until width, step and scale are settled, no more than loading needs."""
        blocks = self.n_iterations + 1 if self.per_iteration else 1
        return Recipe(
            fields=tuple(self.fields),
            node_weights=self.node_weights,
            normalization=self.normalization,
            n_iterations=self.n_iterations,
            tolerance=self.tolerance,
            n_quantiles=self.n_quantiles,
            rule=self.quantiles,
            n_features=self.n_node_features_ if settled else None,
            step=self.step_ if settled else 1,
            scale=self.scale_ if settled else np.ones(1),
            directions=np.split(self.directions_, blocks) if settled else [],
        )

    def _stream(self, function: Callable, items: Iterable, progress: Progress | None) -> Iterator:
        return stream(function, items, self._recipe(), self.n_jobs, progress)

    def _embed(self, items: Iterable, progress: Progress | None) -> tuple[NDArray[np.float32], list[NDArray]]:
        """Return every graph's quantiles about its own centre, (N, blocks, Q, P), and those centres."""
        pieces = self._stream(quantiles_of, items, progress)
        offsets = []
        if isinstance(items, Sized):
            blocks = self._n_features_out // (self.n_projections * self.n_quantiles)
            quantiles = np.empty((len(items), blocks, self.n_quantiles, self.n_projections), np.float32)
            for row, (piece, offset) in zip(quantiles, pieces, strict=True):
                row[...] = piece
                offsets.append(offset)
            return quantiles, offsets
        kept = []
        for piece, offset in pieces:
            kept.append(piece)
            offsets.append(offset)
        return np.stack(kept) if kept else np.empty((0, 1, 1, self._n_features_out), np.float32), offsets

    def _rows(self, quantiles: NDArray[np.float32], offsets: list[NDArray]) -> NDArray[np.float32]:
        """Bring the quantiles, in place, from each graph's own centre to the common one; scale them."""
        factor = (self.n_projections * self.n_quantiles) ** (-1 / self.r)
        directions = self.directions_.reshape(-1, self.directions_.shape[0] // quantiles.shape[1], self.n_projections)
        for row, offset in zip(quantiles, offsets, strict=True):
            shift = (offset - self.center_).reshape(len(row), 1, -1) @ directions
            row[...] = (row + shift) * factor
        return quantiles.reshape(len(quantiles), self._n_features_out)


def given_scale(scale: Any, width: int) -> NDArray[np.float64]:
    """Return what features are divided by where that is not to be learned, shape (width,); ones for False."""
    if scale is False or scale is None:
        return np.ones(width)
    given = np.array(scale, dtype=np.float64)
    if given.shape != (width,) or not (np.isfinite(given) & (given > 0)).all():
        raise InputError(f"scale must be True, False or {width} positive numbers, one per feature, not {scale!r}.")
    return given


def _sum(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the first axis, correctly rounded and therefore the same for any order of rows."""
    return np.array([math.fsum(column) for column in rows.T])


def _mean(offsets: list[NDArray]) -> NDArray[np.float64]:
    return _sum(np.array(offsets)) / len(offsets)


def _pooled_deviation(moments: Sequence) -> NDArray[np.float64]:
    """Return the standard deviation of each feature over the nodes of all graphs; one where it is constant."""
    counts = np.array([[count] for count, *_ in moments], float)
    means = np.array([mean for _, mean, _, _ in moments])
    variances = np.array([variance for _, _, variance, _ in moments])
    mean = _sum(counts * means) / math.fsum(counts.ravel())
    deviation = np.sqrt(_sum(counts * (variances + (means - mean) ** 2)) / math.fsum(counts.ravel()))
    # What is constant up to rounding carries nothing to scale.
    return np.where(deviation <= 1e-12 * np.abs(means).max(axis=0), 1.0, deviation)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    return np.random.default_rng(random_state)

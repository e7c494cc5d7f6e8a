"""GraphSVC: support vector classification of graphs, with the kernel exp(-gamma D^alpha) on their distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from swwl.errors import InputError, InputTypeError
from swwl.kernels import ASWWL, SWWL
from swwl.kernels.base import Progress, as_product
from swwl.kernels.baselines import Baseline, GramBaseline
from swwl.kernels.numeric import Numeric
from swwl.kernels.precomputed import Precomputed
from swwl.models.tables import as_table, column


class GraphSVC(ClassifierMixin, BaseEstimator):
    r"""Support vector classification of graphs.

    .. math:: k(G, G') = \exp\Bigl(-\gamma \sum_l D_l(G, G')^\alpha\Bigr) \prod_m k_m(G, G')

    with one distance per part of the kernel; for :class:`SWWL` there is one. Factors that are kernels themselves
    (:class:`~swwl.kernels.baselines.Propagation`, :class:`~swwl.kernels.baselines.GraphHopper`) give the
    :math:`k_m`; with these alone, gamma and alpha play no part.

    Parameters
    ----------
    kernel : SWWL, ASWWL, a baseline, another factor of distances, or a product of them
        Says which distances; the correlations of its factors play no part. By default ``SWWL()`` on the column "graph",
        which is where a plain list of graphs goes.
    gamma : float or "scale"
        "scale" is one over the median of :math:`\sum_l D_l^\alpha` over the training pairs.
    alpha : float
        Exponent in (0, 2]; the paper classifies with 1.
    C : float
        Regularisation of the support vector machine.
    class_weight : dict or "balanced", optional
        See :class:`sklearn.svm.SVC`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    gamma_ : float
    kernel_ : Product
        The fitted kernel.
    svc_ : sklearn.svm.SVC

    Examples
    --------
    >>> from swwl import Graph
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 1.1, 1.2, 3.0, 3.1, 3.2)]
    >>> model = GraphSVC(SWWL(n_iterations=0, n_projections=4, n_quantiles=5))
    >>> model = model.fit(rods, ["short"] * 3 + ["long"] * 3)
    >>> model.predict([Graph([[0.0], [2.9]], [(0, 1)])]).tolist()
    ['long']
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        gamma: float | str = "scale",
        alpha: float = 1.0,
        C: float = 1.0,
        class_weight: Any = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.C = C
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, *, progress: Progress | None = None) -> GraphSVC:
        """Embed the graphs and fit the machine.

        Parameters
        ----------
        X : DataFrame, Series or list of graphs
        y : array-like of shape (N,)
            Classes.
        progress : callable, optional
            Called as ``progress(done, total)`` while graphs are embedded.
        """
        if not 0 < self.alpha <= 2:
            raise InputError(f"alpha must lie in (0, 2], but is {self.alpha!r}.")
        table = as_table(X)
        labels = np.asarray(y)
        if labels.shape != (len(table),):
            raise InputError(f"Classes have shape {labels.shape}, but there are {len(table)} graphs.")
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise InputError(f"All graphs are of class {str(labels[0])!r}; at least two classes are needed.")
        self.kernel_ = as_product(SWWL() if self.kernel is None else clone(self.kernel))
        for factor in self.kernel_.factors:
            if type(factor) not in (SWWL, ASWWL, Precomputed) and not isinstance(factor, (Numeric, Baseline)):
                raise InputTypeError(
                    f"GraphSVC needs distances, which {type(factor).__name__} does not give; use SWWL."
                )
        self._train = [
            f.fit(column(table, f.column), progress, **({"y": labels} if f.supervised else {}))
            for f in self.kernel_.factors
        ]
        powers, gram = self._parts(self._train)
        self.gamma_ = _median_gamma(powers) if self.gamma == "scale" else float(self.gamma)
        self.svc_ = SVC(kernel="precomputed", C=self.C, class_weight=self.class_weight)
        self.svc_.fit(np.exp(-self.gamma_ * powers) * gram, labels)
        return self

    def predict(self, X: Any) -> NDArray:
        """Return the class of each graph, shape (M,)."""
        return self.svc_.predict(self._cross(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the machine's decision values, shape (M,) or (M, n_classes)."""
        return self.svc_.decision_function(self._cross(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _parts(self, first: list, second: list | None = None) -> tuple[Any, Any]:
        """Return the sum of the distances to the power alpha, and the product of the kernels given as such."""
        others = [None] * len(first) if second is None else second
        powers: Any = 0.0
        gram: Any = 1.0
        for factor, own, other in zip(self.kernel_.factors, first, others, strict=True):
            if isinstance(factor, GramBaseline):
                gram = gram * factor.gram(own, other)
                continue
            for distances in factor.items(own, other):
                powers = powers + np.asarray(distances) ** self.alpha
        return powers, gram

    def _cross(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "svc_")
        table = as_table(X)
        rows = [factor.represent(column(table, factor.column)) for factor in self.kernel_.factors]
        powers, gram = self._parts(rows, self._train)
        return np.exp(-self.gamma_ * powers) * gram


def _median_gamma(powers: Any) -> float:
    if np.ndim(powers) == 0:
        return 1.0
    pairs = powers[np.triu_indices(len(powers), 1)]
    median = float(np.median(pairs)) or float(pairs.max())
    return 1 / median if median else 1.0

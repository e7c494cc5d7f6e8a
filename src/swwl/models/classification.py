"""GraphSVC: support vector classification of graphs, with the kernel exp(-gamma D^alpha) on their distances."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from swwl.embedding.options import check_exponent
from swwl.errors import InputError, InputTypeError
from swwl.kernels import SWWL, Product
from swwl.kernels.base import as_product, options_for
from swwl.models.modelfile import save_model
from swwl.models.restored import check_factors
from swwl.models.tables import as_table, column
from swwl.parallel import Progress
from swwl.restore import Sizes, check_number
from swwl.storage import MemoryLike, storable


@dataclass(frozen=True)
class Machine:
    """A fitted support vector machine as arrays; what model files keep.

    Attributes
    ----------
    support : ndarray of int, shape (S,)
        Training rows that support it, class by class.
    n_support : ndarray of int, shape (k,)
        How many of them there are of each class.
    dual : ndarray of shape (k - 1, S)
        Coefficients, in libsvm's order.
    intercept : ndarray of shape (k (k - 1) / 2,)
    """

    support: NDArray[np.intp]
    n_support: NDArray[np.intp]
    dual: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def check(self, sizes: Sizes, n: int) -> None:
        """Refuse arrays that do not fit together, for ``k`` classes among the sizes and n training rows."""
        k = sizes["k"]
        support = sizes.array("support", self.support, "S", "i")
        counts = sizes.array("n_support", self.n_support, "k", "i")
        sizes.array("dual", self.dual, "rS")
        sizes.array("intercept", self.intercept, "d")
        good = counts.min(initial=0) >= 0 and counts.sum() == len(support) and sizes["d"] == k * (k - 1) // 2
        if not good or sizes["r"] != k - 1 or not ((support >= 0) & (support < n)).all():
            raise InputError("the support vectors are not those of its classes")

    def duels(self, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the decision between every two classes, (M, k (k - 1) / 2), positive for the first of them.

        Parameters
        ----------
        kernel : ndarray of shape (M, N)
            Between new rows and all training rows.
        """
        known = kernel[:, self.support]
        ends = np.cumsum([0, *self.n_support])
        own = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        k = len(own)
        columns: list[NDArray[np.float64]] = []
        for i in range(k):
            for j in range(i + 1, k):
                # libsvm keeps the coefficients of class i against a later class j in row j - 1, those of j in row i.
                value = known[:, own[i]] @ self.dual[j - 1, own[i]] + known[:, own[j]] @ self.dual[i, own[j]]
                columns.append(value + self.intercept[len(columns)])
        return np.column_stack(columns)

    def votes(self, kernel: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how many duels every class wins, (M, k), and the sum of its decisions, (M, k)."""
        duels = self.duels(kernel)
        k = len(self.n_support)
        won, sums = np.zeros((len(kernel), k)), np.zeros((len(kernel), k))
        pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        for (i, j), value in zip(pairs, duels.T, strict=True):
            won[:, i] += value > 0
            won[:, j] += value <= 0
            sums[:, i] += value
            sums[:, j] -= value
        return won, sums


def machine_of(svc: SVC) -> Machine:
    """Return the arrays of a fitted machine."""
    sign = -1.0 if len(svc.classes_) == 2 else 1.0  # with two classes scikit-learn turns libsvm's signs round
    return Machine(svc.support_, svc.n_support_, sign * svc.dual_coef_, sign * svc.intercept_)


@storable
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

    def fit(self, X: Any, y: Any, *, progress: Progress | None = None, memory: MemoryLike = None) -> GraphSVC:
        """Embed the graphs and fit the machine.

        Parameters
        ----------
        X : DataFrame, Series or list of graphs
        y : array-like of shape (N,), or str
            Classes, or the name of their column in ``X``.
        progress : callable, optional
            Called as ``progress(done, total)`` while graphs are embedded.
        memory : Memory or path, optional
            Where embeddings of mesh files are kept; see :class:`swwl.SWWLEmbedding`.
        """
        check_exponent(self.alpha)
        table = as_table(X)
        labels = _labels(table, y)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise InputError(f"All graphs are of class {str(labels[0])!r}; at least two classes are needed.")
        self.kernel_ = as_product(SWWL() if self.kernel is None else clone(as_product(self.kernel)))
        if self.kernel_.elliptic is not None:
            raise InputTypeError(f"GraphSVC multiplies its factors, which {self.kernel_!r} does not; use SWWL.")
        for factor in self.kernel_.factors:
            if factor.gives == "coordinates":
                raise InputTypeError(
                    f"GraphSVC needs distances, which {type(factor).__name__} does not give; use SWWL."
                )
        self.feature_names_in_ = np.array([factor.column for factor in self.kernel_.factors], dtype=object)
        self.train_rows_ = [
            factor.fit(column(table, factor.column), progress, **options_for(factor, memory, labels))
            for factor in self.kernel_.factors
        ]
        powers, gram = self._parts(self.train_rows_)
        self.gamma_ = _median_gamma(powers) if isinstance(self.gamma, str) else float(self.gamma)
        self.svc_ = SVC(kernel="precomputed", C=self.C, class_weight=self.class_weight)
        self.svc_.fit(np.exp(-self.gamma_ * powers) * gram, labels)
        self._machine = machine_of(self.svc_)
        self.metadata_: dict[str, Any] = {}
        return self

    def predict(self, X: Any, *, progress: Progress | None = None, memory: MemoryLike = None) -> NDArray[Any]:
        """Return the class of each graph, shape (M,)."""
        won, _ = self._fitted().votes(self._cross(X, progress, memory))
        return np.asarray(self.classes_[won.argmax(axis=1)])

    def decision_function(
        self, X: Any, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> NDArray[np.float64]:
        """Return decision values: (M,), positive for the second of two classes, or (M, n_classes).

        For several classes they are scikit-learn's "ovr" values: duels won, and a term below one half that orders
        classes with equally many by the sum of their decisions.
        """
        won, sums = self._fitted().votes(self._cross(X, progress, memory))
        if len(self.classes_) == 2:
            return -sums[:, 0]
        return won + sums / (3 * (np.abs(sums) + 1))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy; ``y`` as for :meth:`fit`."""
        check_is_fitted(self, "gamma_")
        return float(accuracy_score(_labels(as_table(X), y), self.predict(X), sample_weight=sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self)

    def get_state(self) -> dict[str, Any]:
        """Return what the fitted classifier is made of, for a model file."""
        machine = self._fitted()
        params = self.get_params(deep=False)
        kernel = params.pop("kernel")
        params["class_weight"] = _as_pairs(params["class_weight"])
        return {
            "params": params,
            "kernel": None if kernel is None else as_product(kernel).factors,
            "fitted_kernel": self.kernel_.factors,
            "train": self.train_rows_,
            "classes": self.classes_.tolist(),
            "gamma": self.gamma_,
            "machine": [machine.support, machine.n_support, machine.dual, machine.intercept],
            "metadata": self.metadata_,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> GraphSVC:
        """Make a fitted classifier again of what :meth:`get_state` returned."""
        params = dict(state["params"])
        if isinstance(params["class_weight"], list):
            params["class_weight"] = {label: weight for label, weight in params["class_weight"]}
        model = cls(None if state["kernel"] is None else Product(*state["kernel"]), **params)
        model.kernel_ = Product(*state["fitted_kernel"])
        model.feature_names_in_ = np.array([factor.column for factor in model.kernel_.factors], dtype=object)
        model.train_rows_ = state["train"]
        model.classes_ = np.asarray(state["classes"])
        model.gamma_ = check_number("gamma", state["gamma"], 0.0)
        model._machine = Machine(*state["machine"])
        model.metadata_ = dict(state["metadata"])
        check_exponent(model.alpha)
        check_factors(model.kernel_.factors, model.train_rows_, len(model.train_rows_[0]))
        model._machine.check(Sizes(k=len(model.classes_)), len(model.train_rows_[0]))
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _parts(self, first: list[Any], second: list[Any] | None = None) -> tuple[Any, Any]:
        """Return the sum of the distances to the power alpha, and the product of the kernels given as such."""
        others = [None] * len(first) if second is None else second
        powers: Any = 0.0
        gram: Any = 1.0
        for factor, own, other in zip(self.kernel_.factors, first, others, strict=True):
            if factor.gives == "gram":
                gram = gram * factor.gram(own, other)
                continue
            for distances in factor.items(own, other):
                powers = powers + np.asarray(distances) ** self.alpha
        return powers, gram

    def _fitted(self) -> Machine:
        check_is_fitted(self, "gamma_")
        return self._machine

    def _cross(self, X: Any, progress: Progress | None, memory: MemoryLike) -> NDArray[np.float64]:
        table = as_table(X)
        rows = [
            factor.represent(column(table, factor.column), progress, **options_for(factor, memory))
            for factor in self.kernel_.factors
        ]
        powers, gram = self._parts(rows, self.train_rows_)
        return np.asarray(np.exp(-self.gamma_ * powers) * gram)


def _labels(table: Any, y: Any) -> NDArray[Any]:
    labels = np.asarray(column(table, y, "fit") if isinstance(y, str) else y)
    if labels.shape != (len(table),):
        raise InputError(f"Classes have shape {labels.shape}, but there are {len(table)} graphs.")
    return labels


def _as_pairs(class_weight: Any) -> Any:
    """Return weights by class as pairs: JSON would make texts of the classes."""
    if not isinstance(class_weight, dict):
        return class_weight
    return [
        [label.item() if isinstance(label, np.generic) else label, weight] for label, weight in class_weight.items()
    ]


def _median_gamma(powers: Any) -> float:
    if np.ndim(powers) == 0:
        return 1.0
    pairs = powers[np.triu_indices(len(powers), 1)]
    median = float(np.median(pairs)) or float(pairs.max())
    return 1 / median if median else 1.0

"""GraphSVC: support vector classification of graphs, with the kernel exp(-gamma D^alpha) on their distances.

A :class:`Machine` is what is left of scikit-learn's SVC: arrays that a model file can hold.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
import pandas as pd
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from swwl.classification.baselines.common import load_graphs
from swwl.classification.search import COLUMNS, choose, median_gamma, select_columns
from swwl.embedding.options import check_exponent
from swwl.errors import InputError, InputTypeError, located
from swwl.formatting import Record
from swwl.kernels import SWWL, Product
from swwl.kernels.base import Factor, as_product, options_for
from swwl.mesh.arrays import AnyArray
from swwl.parallel import Progress
from swwl.regression.state import check_factors
from swwl.storage.checks import NotNegative, Positive, Shape, arguments, restored
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import save_model, storable
from swwl.tables.inputs import as_table, check_labels, column


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

    support: Annotated[NDArray[np.intp], Shape("S", "i", least=0)]
    n_support: Annotated[NDArray[np.intp], Shape("k", "i", least=0)]
    dual: Annotated[NDArray[np.float64], Shape("rS")]
    intercept: Annotated[NDArray[np.float64], Shape("d")]

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


class ClassifierState(msgspec.Struct):
    """A fitted :class:`GraphSVC`; ``machine`` holds the arrays of :class:`Machine`, in their order."""

    params: Record
    kernel: list[Factor] | None
    fitted_kernel: list[Factor]
    train: Annotated[list[Any], Meta(min_length=1)]
    classes: list[bool | int | float | str]
    gamma: NotNegative
    best_params: Record
    columns: Annotated[NDArray[np.bool_], Shape("d", "b")] | None
    selection: dict[str, list[Any]]
    machine: list[NDArray[Any]]
    metadata: Record


class _Best(msgspec.Struct):
    alpha: Positive
    gamma: Positive
    C: Positive


@storable
class GraphSVC(ClassifierMixin, BaseEstimator):
    r"""Support vector classification of graphs, which chooses its own kernel unless it is given one.

    .. math:: k(G, G') = \exp\Bigl(-\gamma \sum_l D_l(G, G')^\alpha\Bigr) \prod_m k_m(G, G')

    with one distance per part of the kernel; for :class:`SWWL` there is one. Factors that are kernels themselves
    (:class:`~swwl.classification.baselines.Propagation`, :class:`~swwl.classification.baselines.GraphHopper`) give the
    :math:`k_m`; with these alone, gamma and alpha play no part.

    Parameters
    ----------
    kernel : SWWL, ASWWL, a baseline, another factor of distances, or a product of them, optional
        Says which distances; the correlations of its factors play no part. By default :class:`SWWL` on the column
        "graph", which is where a plain list of graphs goes, with what five-fold cross-validation on the training graphs
        finds best: features scaled or not, with one-hot labels or without, zero to three iterations, single or large
        steps (``step="sqrt"``). Of equals the simplest is taken.
    gamma : float or "scale", optional
        "scale" is one over the median of :math:`\sum_l D_l^\alpha` over the training pairs. By default "scale" with a
        kernel, and chosen with it without.
    alpha : float, optional
        Exponent in (0, 2]; the paper classifies with 1. By default 1 with a kernel, and 1 or 2 without.
    C : float, optional
        Regularization of the support vector machine. By default 1 with a kernel, and chosen without.
    class_weight : dict or "balanced", optional
        See :class:`sklearn.svm.SVC`.
    random_state : int
        Draws the folds on which the kernel is chosen, and its directions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    best_params_ : dict
        ``alpha``, ``gamma`` and ``C`` in use; where the kernel was chosen, also ``labels``, ``scale``, ``n_iterations``
        and ``step``.
    selection_ : DataFrame
        How they were chosen: a row for every setting and exponent with its best ``gamma`` and ``C``, their mean
        ``accuracy`` over the folds, whether it was ``refined`` (on the whole grid of gamma and C, as the best settings
        are after a first look at all), and ``chosen``. Empty with a kernel.
    columns_ : ndarray of bool, shape (d,), or None
        Which columns of node features are in use; None is all of them.
    gamma_ : float
    kernel_ : Product
        The fitted kernel.
    svc_ : sklearn.svm.SVC

    Notes
    -----
    Labels are columns of features that hold zero or one other number, as :func:`swwl.with_labels` and
    ``fetch_tu(..., labels=True)`` append them: hand them over, and they are used if that helps. Settings are compared
    on about a thousand graphs at most.

    Examples
    --------
    >>> from swwl import Graph
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 1.1, 1.2, 3.0, 3.1, 3.2)]
    >>> model = GraphSVC().fit(rods, ["short"] * 3 + ["long"] * 3)
    >>> model.predict([Graph([[0.0], [2.9]], [(0, 1)])]).tolist()
    ['long']
    >>> model.best_params_["n_iterations"], float(model.selection_["accuracy"].max())
    (0, 1.0)
    >>> GraphSVC(SWWL(n_iterations=0, n_projections=4), C=10.0).fit(rods, [0, 0, 0, 1, 1, 1]).best_params_["C"]
    10.0
    """

    predicts: ClassVar[Literal["classes"]] = "classes"

    def __init__(
        self,
        kernel: Any = None,
        *,
        gamma: float | str | None = None,
        alpha: float | None = None,
        C: float | None = None,
        class_weight: object = None,
        random_state: int = 0,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.C = C
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: object, y: object, *, progress: Progress | None = None, memory: MemoryLike = None) -> GraphSVC:
        """Choose a kernel where none is given, embed the graphs, and fit the machine.

        Parameters
        ----------
        X : DataFrame, Series or list of graphs
        y : array-like of shape (N,), or str
            Classes, or the name of their column in ``X``.
        progress : callable, optional
            Called as ``progress(done, total)`` with numbers of graphs that are embedded, or of settings where a kernel
            is chosen.
        memory : Memory or path, optional
            Where embeddings of mesh files are kept; see :class:`swwl.SWWLEmbedding`. While a kernel is chosen, none
            are.
        """
        if self.alpha is not None:
            check_exponent(self.alpha)
        table = as_table(X)
        labels = _labels(table, y)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise InputError(f"All graphs are of class {str(labels[0])!r}; at least two classes are needed.")
        self.columns_: NDArray[np.bool_] | None = None
        self.selection_ = pd.DataFrame(columns=COLUMNS)
        self.best_params_ = {
            "alpha": 1.0 if self.alpha is None else self.alpha,
            "gamma": self.gamma,
            "C": 1.0 if self.C is None else self.C,
        }
        if self.kernel is None:
            self.kernel_ = as_product(self._choose(table, labels, progress))
            progress = None  # all settings were embedded, and this one is embedded once more
        else:
            self.kernel_ = clone(as_product(self.kernel))
        if self.kernel_.elliptic is not None:
            raise InputTypeError(f"GraphSVC multiplies its factors, which {self.kernel_!r} does not; use SWWL.")
        for factor in self.kernel_.factors:
            if factor.gives == "coordinates":
                raise InputTypeError(
                    f"GraphSVC needs distances, which {type(factor).__name__} does not give; use SWWL."
                )
        self.feature_names_in_ = np.array([factor.column for factor in self.kernel_.factors], dtype=object)
        self.train_rows_ = [
            factor.fit(self._values(table, factor), progress, **options_for(factor, memory, labels))
            for factor in self.kernel_.factors
        ]
        powers, gram = self._parts(self.train_rows_)
        given = self.best_params_["gamma"]
        self.gamma_ = median_gamma(powers) if given is None or isinstance(given, str) else float(given)
        self.best_params_["gamma"] = self.gamma_
        self.svc_ = SVC(kernel="precomputed", C=self.best_params_["C"], class_weight=self.class_weight)
        self.svc_.fit(np.exp(-self.gamma_ * powers) * gram, labels)
        self._machine = machine_of(self.svc_)
        self.metadata_: Record = {}
        return self

    def predict(self, X: object, *, progress: Progress | None = None, memory: MemoryLike = None) -> AnyArray:
        """Return the class of each graph, shape (M,)."""
        won, _ = self._fitted().votes(self._cross(X, progress, memory))
        return np.asarray(self.classes_[won.argmax(axis=1)])

    def decision_function(
        self, X: object, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> NDArray[np.float64]:
        """Return decision values: (M,), positive for the second of two classes, or (M, n_classes).

        For several classes they are scikit-learn's "ovr" values: duels won, and a term below one half that orders
        classes with equally many by the sum of their decisions.
        """
        won, sums = self._fitted().votes(self._cross(X, progress, memory))
        if len(self.classes_) == 2:
            return -sums[:, 0]
        return won + sums / (3 * (np.abs(sums) + 1))

    def score(self, X: object, y: object, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy; ``y`` as for :meth:`fit`."""
        check_is_fitted(self, "gamma_")
        return float(accuracy_score(_labels(as_table(X), y), self.predict(X), sample_weight=sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self)

    def get_state(self) -> ClassifierState:
        """Return what the fitted classifier is made of, for a model file."""
        machine = self._fitted()
        params = self.get_params(deep=False)
        kernel = params.pop("kernel")
        params["class_weight"] = _as_pairs(params["class_weight"])
        return ClassifierState(
            params=params,
            kernel=None if kernel is None else as_product(kernel).factors,
            fitted_kernel=self.kernel_.factors,
            train=self.train_rows_,
            classes=self.classes_.tolist(),
            gamma=self.gamma_,
            best_params=self.best_params_,
            columns=self.columns_,
            selection=self.selection_.to_dict("list"),
            machine=[machine.support, machine.n_support, machine.dual, machine.intercept],
            metadata=self.metadata_,
        )

    @classmethod
    def from_state(cls, values: Record) -> GraphSVC:
        """Make a fitted classifier again of what :meth:`get_state` returned; refuse what no fit leaves behind."""
        state = restored(ClassifierState, values)
        params = arguments(cls, state.params)
        if isinstance(params["class_weight"], list):
            params["class_weight"] = {label: weight for label, weight in params["class_weight"]}
        model = cls(None if state.kernel is None else Product(*state.kernel), **params)
        model.kernel_ = Product(*state.fitted_kernel)
        model.feature_names_in_ = np.array([factor.column for factor in model.kernel_.factors], dtype=object)
        model.train_rows_, model.columns_ = state.train, state.columns
        model.classes_ = np.asarray(state.classes)
        model.gamma_, model.best_params_ = state.gamma, state.best_params
        model.selection_ = pd.DataFrame(state.selection, columns=COLUMNS)
        check_exponent(restored(_Best, state.best_params).alpha)
        n, k = len(state.train[0]), len(state.classes)
        check_factors(model.kernel_.factors, model.train_rows_, n)
        names = ("support", "n_support", "dual", "intercept")
        machine = restored(Machine, dict(zip(names, state.machine, strict=True)), k=k, r=k - 1, d=k * (k - 1) // 2)
        if machine.n_support.sum() != len(machine.support) or machine.support.max(initial=-1) >= n:
            raise InputError("the support vectors are not those of its classes")
        model._machine = machine
        model.metadata_ = state.metadata
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        if self.kernel is not None or not hasattr(self, "best_params_"):
            return text
        machine = ", ".join(f"{name}={self.best_params_[name]:.3g}" for name in ("alpha", "gamma", "C"))
        columns = "" if self.columns_ is None else " without labels"
        return f"{text} chose {self.kernel_.factors[0]!r}{columns}, {machine}"

    def _choose(self, table: Any, labels: AnyArray, progress: Progress | None) -> SWWL:
        """Choose the kernel and all that is not given, by cross-validation; return the kernel."""
        values = column(table, "graph")
        with located("Column 'graph'"):
            graphs = load_graphs(values)
        given = {name: getattr(self, name) for name in ("alpha", "gamma", "C", "class_weight", "random_state")}
        choice = choose(graphs, labels, **given, progress=progress)
        self.columns_, self.best_params_, self.selection_ = choice.columns, choice.params, choice.table
        return choice.kernel

    def _values(self, table: Any, factor: Any) -> Any:
        """Return the column of a factor, with the features in use."""
        values = column(table, factor.column)
        if self.columns_ is None:
            return values
        with located(f"Column {factor.column!r}"):
            return select_columns(load_graphs(values, len(self.columns_)), self.columns_)

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
                powers = powers + np.asarray(distances) ** self.best_params_["alpha"]
        return powers, gram

    def _fitted(self) -> Machine:
        check_is_fitted(self, "gamma_")
        return self._machine

    def _cross(self, X: object, progress: Progress | None, memory: MemoryLike) -> NDArray[np.float64]:
        table = as_table(X)
        rows = [
            factor.represent(self._values(table, factor), progress, **options_for(factor, memory))
            for factor in self.kernel_.factors
        ]
        powers, gram = self._parts(rows, self.train_rows_)
        return np.asarray(np.exp(-self.gamma_ * powers) * gram)


def _labels(table: Any, y: object) -> AnyArray:
    check_labels(table, y)
    labels = np.asarray(column(table, y, "fit") if isinstance(y, str) else y)
    if labels.shape != (len(table),):
        raise InputError(f"Classes have shape {labels.shape}, but there are {len(table)} graphs.")
    return labels


def _as_pairs(class_weight: object) -> Any:
    """Return weights by class as pairs: JSON would make texts of the classes."""
    if not isinstance(class_weight, dict):
        return class_weight
    return [
        [label.item() if isinstance(label, np.generic) else label, weight] for label, weight in class_weight.items()
    ]

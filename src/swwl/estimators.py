"""What our estimators inherit and how they are copied: scikit-learn's base classes, or the little a prediction needs.

In Python, estimators inherit scikit-learn's ``BaseEstimator`` and mixins, as pipelines, searches and checks of theirs
expect. Importing those takes half a second, as scipy.stats comes with them: nearly as long as all the rest of a single
prediction from a shell. A command that only asks a fitted model calls :func:`spare_scikit_learn` first; its classes are
then made of those below, which keep parameters by the same rules. What models compute and files hold is the same.
"""

from __future__ import annotations

import copy
import inspect
import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import ClassNamePrefixFeaturesOutMixin as ClassNamePrefixFeaturesOutMixin
    from sklearn.base import RegressorMixin as RegressorMixin
    from sklearn.base import TransformerMixin as TransformerMixin

Estimator = TypeVar("Estimator")


def clone(estimator: Estimator) -> Estimator:
    """Return an estimator with the same parameters that is not fitted, as scikit-learn's ``clone`` does.

    Examples
    --------
    >>> from swwl import Matern52
    >>> clone(Matern52("speed"))
    Matern52('speed')
    """
    found: Estimator = estimator.__sklearn_clone__()  # type: ignore[attr-defined]
    return found


def check_is_fitted(estimator: object, attribute: str) -> None:
    """Refuse an estimator that lacks what ``fit`` sets, with scikit-learn's error.

    Examples
    --------
    >>> from swwl import RobustGP
    >>> check_is_fitted(RobustGP(), "beta_")
    Traceback (most recent call last):
    ...
    sklearn.exceptions.NotFittedError: This RobustGP instance is not fitted yet. Call 'fit' with ...
    """
    if not hasattr(estimator, attribute):
        from sklearn.exceptions import NotFittedError  # only now: see above

        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. "
            "Call 'fit' with appropriate arguments before using this estimator."
        )


class _Parameters:
    """An estimator's parameters: what the constructor takes and stores as given."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        names = sorted(name for name in inspect.signature(type(self).__init__).parameters if name != "self")
        params = {name: getattr(self, name) for name in names}
        for outer, value in list(params.items()) if deep else ():
            if hasattr(value, "get_params"):
                params |= {f"{outer}__{name}": one for name, one in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Any:
        known = self.get_params(deep=False)
        for key, value in sorted(params.items(), key=lambda pair: "__" in pair[0]):  # first whole ones, then theirs
            name, _, rest = key.partition("__")
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid ones are: {list(known)}.")
            if rest:
                getattr(self, name).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Any:
        return type(self)(**{name: _copied(value) for name, value in self.get_params(deep=False).items()})

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        params = self.get_params(deep=False).items()
        changed = [f"{name}={value!r}" for name, value in params if repr(value) != repr(defaults[name].default)]
        return f"{type(self).__name__}({', '.join(changed)})"


def _copied(value: Any) -> Any:
    """Copy a parameter for an estimator of its own."""
    if hasattr(value, "__sklearn_clone__"):
        return value.__sklearn_clone__()
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(_copied, value))
    return copy.deepcopy(value)


# Predictions call no method of the mixins.
_MIXINS = ("ClassNamePrefixFeaturesOutMixin", "RegressorMixin", "TransformerMixin")
_LIGHT: dict[str, type] = {"BaseEstimator": _Parameters} | {name: type(name, (), {}) for name in _MIXINS}
_spared = False


def spare_scikit_learn() -> None:
    """Have the estimators of this process inherit no class of scikit-learn, unless they do so already.

    Call it before any of them is imported, in a process that is our own: scikit-learn's functions take the estimators
    all the same, but they are no instances of its ``BaseEstimator``.
    """
    global _spared
    _spared = "sklearn.base" not in sys.modules


def __getattr__(name: str) -> type:
    if name not in _LIGHT:
        raise AttributeError(f"module 'swwl.estimators' has no attribute {name!r}")
    if _spared:
        return _LIGHT[name]
    import sklearn.base

    found: type = getattr(sklearn.base, name)
    return found

"""How good a model is: scores, folds, nested cross-validation."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swwl.classification.nested_cv import nested_cv as nested_cv

__all__ = ["nested_cv"]


def __getattr__(name: str) -> Any:
    if name != "nested_cv":
        raise AttributeError(f"module 'swwl.evaluation' has no attribute {name!r}")
    from swwl.classification.nested_cv import nested_cv  # and with it the support vector machines of scikit-learn

    return nested_cv

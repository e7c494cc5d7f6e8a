"""How good a model is: scores, folds, nested cross-validation."""

from swwl.classification.nested_cv import nested_cv

__all__ = ["nested_cv"]

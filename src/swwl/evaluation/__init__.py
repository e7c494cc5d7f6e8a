"""How good a model is: scores, folds, nested cross-validation."""

from swwl.evaluation.nested_cv import nested_cv

__all__ = ["nested_cv"]

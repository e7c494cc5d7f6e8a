"""Support vector classification of graphs (`GraphSVC`), its search, nested cross-validation, and rival kernels."""

from swwl.classification.nested_cv import nested_cv
from swwl.classification.svc import GraphSVC

__all__ = ["GraphSVC", "nested_cv"]

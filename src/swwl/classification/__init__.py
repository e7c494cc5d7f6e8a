"""Support vector classification of graphs, and the kernels that SWWL is compared with."""

from swwl.classification.nested_cv import nested_cv
from swwl.classification.svc import GraphSVC

__all__ = ["GraphSVC", "nested_cv"]

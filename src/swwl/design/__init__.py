"""Which cases lie apart, which to simulate first and next.

Names are imported when they are first used: models ask ``domain.py`` whether a mesh is like their training meshes, and
what chooses cases asks models.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swwl.design.acquire import suggest
    from swwl.design.clusters import KernelKMeans, mmd_test
    from swwl.design.domain import far_from_others
    from swwl.design.subsets import select

__all__ = ["KernelKMeans", "far_from_others", "mmd_test", "select", "suggest"]

_HOMES = {
    "KernelKMeans": "clusters",
    "far_from_others": "domain",
    "mmd_test": "clusters",
    "select": "subsets",
    "suggest": "acquire",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'swwl.design' has no attribute {name!r}")
    value = getattr(import_module(f"swwl.design.{_HOMES[name]}"), name)
    globals()[name] = value
    return value

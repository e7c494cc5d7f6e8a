"""Which cases lie apart, which to simulate first and next, and where to move a shape.

Names are imported when they are first used: models ask ``domain.py`` whether a mesh is like their training meshes, and
what chooses cases asks models.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swwl.design.acquire import suggest
    from swwl.design.ascent import Improvement, improve
    from swwl.design.clusters import KernelKMeans, mmd_test
    from swwl.design.domain import far_from_others
    from swwl.design.subsets import select
    from swwl.embedding.modes import Modes, displacement_modes

__all__ = [
    "Improvement",
    "KernelKMeans",
    "Modes",
    "displacement_modes",
    "far_from_others",
    "improve",
    "mmd_test",
    "select",
    "suggest",
]

_HOMES = {
    "Improvement": "design.ascent",
    "KernelKMeans": "design.clusters",
    "Modes": "embedding.modes",
    "displacement_modes": "embedding.modes",
    "far_from_others": "design.domain",
    "improve": "design.ascent",
    "mmd_test": "design.clusters",
    "select": "design.subsets",
    "suggest": "design.acquire",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'swwl.design' has no attribute {name!r}")
    value = getattr(import_module(f"swwl.{_HOMES[name]}"), name)
    globals()[name] = value
    return value

"""Which cases lie apart, and which to simulate.

Names are imported when they are first used: models ask ``domain.py`` whether a mesh is like their training meshes, and
what chooses cases asks models.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swwl.design.domain import far_from_others

__all__ = ["far_from_others"]

_HOMES = {"far_from_others": "domain"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'swwl.design' has no attribute {name!r}")
    value = getattr(import_module(f"swwl.design.{_HOMES[name]}"), name)
    globals()[name] = value
    return value

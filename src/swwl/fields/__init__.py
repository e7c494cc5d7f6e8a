"""Whole fields on meshes of any topology: node descriptors, a shared smooth basis, modes of fields.

The flow of a fit, file by file: ``training`` reads the meshes, takes their fields (``values``) and describes their
nodes (``geometry``); ``kernels`` compares meshes and numbers; ``fit`` fits every field: ``candidates`` says what is
tried and chosen by folds, ``coding`` puts training fields on a candidate's basis, ``modes`` makes principal fields of
them, and what comes out is a ``model``, which also answers what is asked of new rows. ``numbers`` derives numbers from
fields, ``scores`` compares fields, ``one_mesh`` asks again and again about one mesh, ``state`` is what a model file
holds; ``transient`` predicts fields over time. Plain functions of arrays; :class:`swwl.FieldRegressor`
(``estimator``) puts them together.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swwl.fields.estimator import FieldRegressor as FieldRegressor
    from swwl.fields.transient import TransientRegressor as TransientRegressor

__all__ = ["FieldRegressor", "TransientRegressor"]
# Imported when they are first used: what predicts numbers takes no more of this room than scores and places.
_HOMES = {"FieldRegressor": "swwl.fields.estimator", "TransientRegressor": "swwl.fields.transient"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'swwl.fields' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

"""Whole fields on meshes of any topology: node descriptors, a shared smooth basis, modes of fields.

The flow, file by file: ``stiffness`` (finite elements of degree one, lags) -> ``descriptors`` (what tells the place of
a node; around bodies by ``panels``, ``slitmap`` and ``walls``) -> ``basis`` (smooth functions of descriptors, Gram
matrices) -> ``modes`` (coefficients shrunk to the pooled field, principal fields) -> ``warps`` (scales on which fields
are learned). ``values`` takes fields out of meshes, ``shapes`` makes inputs of processes of walls and of shared nodes,
``derived`` makes numbers of fields, ``scores`` compares fields.
Plain functions of arrays; :class:`swwl.FieldRegressor` puts them together.
"""

from swwl.fields.estimator import FieldRegressor

__all__ = ["FieldRegressor"]

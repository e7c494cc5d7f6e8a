"""Fields of one mesh and many inputs: what does not depend on the inputs is computed once.

A page with sliders asks again and again about the same mesh: its embedding, its descriptors and the basis at its nodes
take far longer than the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from swwl.domain.notes import typical_in
from swwl.domain.verdict import unlike_groups
from swwl.fields.estimator import FieldRegressor
from swwl.fields.model import FieldCases, Found, MeshNodes
from swwl.fields.training import learned_mesh
from swwl.kernels.shared import represent_columns
from swwl.mesh.mesh import Mesh
from swwl.regression.one_mesh import OneMesh
from swwl.tables.inputs import column


class PreparedFields:
    """A fitted field regressor and one mesh: tables hold the other inputs alone.

    Parameters
    ----------
    model : FieldRegressor
        Fitted.
    mesh : Mesh

    Attributes
    ----------
    members : OneMesh
        Kernels and processes of all fields, with what they make of the mesh.

    Examples
    --------
    >>> import numpy as np
    >>> x, lines = np.linspace(0, 1, 12), np.column_stack([np.arange(11), np.arange(1, 12)])
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"length": rng.uniform(1, 2, 30), "load": rng.uniform(1, 3, 30)})
    >>> table["mesh"] = [Mesh(a * x[:, None], {"line": lines}, {"u": b * np.sin(a * x)})
    ...                  for a, b in zip(table["length"], table["load"])]
    >>> model = FieldRegressor(calibrate=False).fit(table[["mesh", "load"]], "u")
    >>> prepared = PreparedFields(model, table["mesh"][3])
    >>> means, stds = prepared.cases(table.loc[[3], ["load"]]).predict()
    >>> bool((means[0]["u"] == model.predict(table.loc[[3]])[0]["u"]).all())
    True
    """

    def __init__(self, model: FieldRegressor, mesh: Mesh):
        self.model, self.mesh = model, mesh
        self._nodes = model.nodes_of(mesh, keep=True)
        seen = {model.mesh_column_: learned_mesh(0, mesh, model.plane_)}
        self.members = OneMesh([one.member for one in model.models_.values()], seen)
        self._sizes = None if model.sizes_ is None else OneMesh.of(model.sizes_, seen)
        groups = model.seeing_groups()
        table = pd.DataFrame({name: pd.Series([one], dtype=object) for name, one in seen.items()})
        rows: list[Any] = sum(represent_columns(groups, partial(column, table)), [])
        self._groups = unlike_groups([factor for kernel in groups for factor in kernel.factors], rows, 1)

    def cases(self, X: pd.DataFrame) -> FieldCases:
        """Return rows of other inputs on this mesh, to ask things of: the same as the model says, bit for bit."""
        found, models = self.members.represent(X), list(self.model.models_.values())
        known = found.known or [{}] * len(models)
        triples = zip(models, found.rows, known, strict=True)
        sizes = [one.sizes(one.member.new_blocks(rows, known=own)[0], len(found)) for one, rows, own in triples]
        table = X.assign(**{self.model.mesh_column_: pd.Series([self.mesh] * len(X), X.index, object)})
        meshes, own_sizes = _SameMesh(self.mesh, self._nodes, len(found)), {}
        if self._sizes is not None and self.model.sizes_ is not None:
            cases = self._sizes.represent(X)
            own_sizes = self.model.sizes_of(self.model.sizes_.stack_.predict(cases), X)
        typical, groups = typical_in(self.model.metadata_), self._groups * len(found)
        return FieldCases(models, found.rows, sizes, table, meshes, typical, own_sizes, groups)


class _SameMesh:
    """One mesh for every row."""

    def __init__(self, mesh: Mesh, nodes: list[MeshNodes], n_rows: int):
        self._mesh, self._nodes, self._n_rows = mesh, nodes, n_rows

    def each(self, function: Callable[[int, Mesh], Found]) -> list[Found]:
        """Call a function of number and mesh for every row; return the results in order."""
        return [function(number, self._mesh) for number in range(self._n_rows)]

    def nodes(self, number: int, mesh: Mesh) -> list[MeshNodes]:
        """Return the nodes of the mesh, as each of the models sees them."""
        return self._nodes

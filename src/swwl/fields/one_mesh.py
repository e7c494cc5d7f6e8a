"""Fields of one mesh and many inputs: what does not depend on the inputs is computed once.

A page with sliders asks again and again about the same mesh: its embedding, its descriptors and the basis at its nodes
take far longer than the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.verdict import Reference, look, make_reference, number_columns, verdicts
from swwl.fields.estimator import FieldRegressor
from swwl.fields.model import FieldModel
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.mesh.mesh import Mesh
from swwl.parallel import Progress
from swwl.regression.one_mesh import OneMesh
from swwl.regression.stack import Represented
from swwl.storage.memory import MemoryLike, as_memory

Array = NDArray[np.float64]
Piece = tuple[slice, Array | None, NDArray[np.intp]]

# The basis at the nodes of larger meshes is not kept: it takes 2.4 kB per node.
_MOST_NODES = 20_000


class PreparedFields(FieldRegressor):
    """A fitted field regressor and one mesh: tables hold the other inputs alone. It is not fitted or saved itself.

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
    >>> import pandas as pd
    >>> x, lines = np.linspace(0, 1, 12), np.column_stack([np.arange(11), np.arange(1, 12)])
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"length": rng.uniform(1, 2, 30), "load": rng.uniform(1, 3, 30)})
    >>> table["mesh"] = [Mesh(a * x[:, None], {"line": lines}, {"u": b * np.sin(a * x)})
    ...                  for a, b in zip(table["length"], table["load"])]
    >>> model = FieldRegressor(calibrate=False).fit(table[["mesh", "load"]], "u")
    >>> prepared = PreparedFields(model, table["mesh"][3])
    >>> bool((prepared.predict(table.loc[[3], ["load"]])[0]["u"] == model.predict(table.loc[[3]])[0]["u"]).all())
    True
    """

    def __init__(self, model: FieldRegressor, mesh: Mesh):
        self.__dict__ |= vars(model)
        model._geometry.check(0, mesh)
        self.mesh = mesh
        self.models_: dict[str, FieldModel] = {name: _Kept.of(one) for name, one in model.models_.items()}
        self.members = OneMesh([one.member for one in model.models_.values()], {model.mesh_column_: mesh})
        blocks = model._geometry.described(0, mesh, as_memory(None), mesh)
        stack = model._geometry.describer.stack
        self._stacked = {
            name: None if one.basis is None else stack(blocks, one.recipe) for name, one in self.models_.items()
        }

    def _answers(
        self,
        X: Any,
        answer: Callable[[FieldModel, Mesh, Array | None, Array, Array], Any],
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> list[dict[str, Any]]:
        cases = self.members.represent(X)
        models = list(self.models_.values())
        sizes = [one.sizes(cross, len(cases)) for one, cross in zip(models, self._cross(cases), strict=True)]
        return [
            {
                one.kind.name: answer(one, self.mesh, self._stacked[one.kind.name], mean[row], std[row])
                for one, (mean, std) in zip(models, sizes, strict=True)
            }
            for row in range(len(cases))
        ]

    def _cross(self, cases: Represented) -> list[list[Block]]:
        """Return the blocks from cases to the training rows, of every field."""
        known = cases.known or [{}] * len(cases.rows)
        members = [one.member for one in self.models_.values()]
        triples = zip(members, cases.rows, known, strict=True)
        return [member.new_blocks(rows, known=own)[0] for member, rows, own in triples]

    def judged(self, X: Any, references: Mapping[str, Reference]) -> dict[str, Any]:
        """Say of rows whether they are like the training cases.

        Parameters
        ----------
        X : DataFrame of M rows
        references : mapping of str to Reference
            Of every field, by :func:`field_references`.

        Returns
        -------
        dict of str to M values
            ``score``, ``inside``, ``kind`` and ``why``, as :meth:`swwl.RobustGPRegressor.domain` has them: those of the
            field whose score is the lowest. Empty where there is nothing to compare with.
        """
        cases = self.members.represent(X)
        found = []
        for (name, one), own, cross in zip(self.models_.items(), cases.rows, self._cross(cases), strict=True):
            if name not in references:
                continue
            factors, std = one.member.kernel.factors, one.sizes(cross, len(cases))[1]
            looks = look(references[name], factors, own, len(cases))
            found.append(verdicts(references[name], looks, std, number_columns(factors, own)))
        if not found:
            return {}
        worst = np.argmin([part["score"] for part in found], axis=0)
        keys = ("score", "inside", "kind", "why")
        return {key: [found[field][key][row] for row, field in enumerate(worst)] for key in keys}


def field_references(model: FieldRegressor) -> dict[str, Reference]:
    """Return what new cases are compared with: training meshes and numbers, and how sure left-out modes were.

    By field; a constant one has no modes, and is left out.
    """
    found = {}
    for name, one in model.models_.items():
        factors, rows = one.member.kernel.factors, one.member.rows
        if one.member.gps:
            std = np.hstack([gp.leave_one_out().columns().std for gp in one.member.gps])
            left_out = Prediction(np.zeros_like(std), std, np.inf)
            found[name] = make_reference(factors, rows, left_out, std, pd.DataFrame(number_columns(factors, rows)))
    return found


@dataclass
class _Kept(FieldModel):
    """A field model on one mesh, which keeps the basis at its nodes."""

    known: list[Piece] | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, model: FieldModel) -> _Kept:
        """Make one of a field model."""
        return cls(**{one.name: getattr(model, one.name) for one in fields(model)})

    def pieces(self, descriptors: Array | None, n: int) -> Iterator[Piece]:
        """Yield some nodes of the mesh at a time, as a field model does."""
        if n > _MOST_NODES:
            yield from super().pieces(descriptors, n)
            return
        if self.known is None:
            self.known = list(super().pieces(descriptors, n))
        yield from self.known

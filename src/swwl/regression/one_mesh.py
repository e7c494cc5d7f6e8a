"""Predictions for one mesh and many inputs: what the kernels make of the mesh is computed once.

A page with sliders asks again and again about the same mesh; reading and embedding it takes far longer than the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.notes import typical_in, with_causes
from swwl.domain.verdict import Columns, Looks, Representation
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, Product
from swwl.kernels.shared import distinct_factors, represent_columns
from swwl.regression.estimator import RobustGPRegressor, Table
from swwl.regression.influence import MeshInfluence
from swwl.regression.stack import Member, Represented, Stack, law_values, trend_matrix
from swwl.regression.together.joined import JoinedStack
from swwl.regression.together.link import Link
from swwl.tables.inputs import as_rows, column
from swwl.tables.laws import Law


class OneMesh:
    """Members of a fitted model, and what their kernels make of one mesh for each column of graphs.

    Parameters
    ----------
    members : sequence of Member
        Those of a regressor's ``stack_``, or of several fields.
    meshes : mapping of str to mesh
        By column: anything :func:`swwl.as_graph` takes.
    trend : sequence of Factor
        The stack's.
    influence : MeshInfluence, optional
        The stack's.
    laws : sequence of Law or None
        The stack's.

    Examples
    --------
    >>> from swwl import SWWL, Graph, Matern52
    >>> rng = np.random.default_rng(0)
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in rng.uniform(1, 2, 30)]
    >>> table = pd.DataFrame({"rod": rods, "load": rng.uniform(1, 3, 30)})
    >>> table["stretch"] = [load * rod.features[1, 0] for rod, load in zip(table["rod"], table["load"])]
    >>> kernel = SWWL("rod", n_iterations=0, n_projections=4, n_quantiles=5) * Matern52("load")
    >>> model = RobustGPRegressor(kernel).fit(table, "stretch")
    >>> one = OneMesh.of(model, {"rod": rods[0]})
    >>> case = pd.DataFrame({"rod": [rods[0]], "load": [2.0]})
    >>> bool(model.predict_represented(one.represent(case[["load"]])).mean == model.predict(case))
    True
    """

    def __init__(
        self,
        members: Sequence[Member],
        meshes: Mapping[str, object],
        trend: Sequence[Factor] = (),
        influence: MeshInfluence | None = None,
        laws: Sequence[Law | None] = (),
    ):
        self._members, self._trend, self._meshes, self._laws = members, trend, meshes, laws
        self._factors, self._places = distinct_factors([member.kernel for member in members])
        graphs = [factor for factor in self._factors if factor.takes == "graphs"]
        table = pd.DataFrame({name: pd.Series([mesh], dtype=object) for name, mesh in meshes.items()})
        kernels = [Product(*graphs)] if graphs else []
        if influence is not None:
            kernels.append(influence.kernel)
        of_kernels = represent_columns(kernels, partial(column, table))
        self._sizes = None if influence is None else np.hstack(of_kernels.pop())
        found = of_kernels[0] if graphs else []
        self._known = dict(zip(map(id, graphs), found, strict=True))
        self._blocks = [self._held(member, own) for member, own in zip(members, self._places, strict=True)]
        self._looks: Looks | None = None  # of the meshes, when they are first asked for
        self.helper: tuple[Link, OneMesh] | None = None
        self.beside: tuple[JoinedStack, list[OneMesh]] | None = None

    @classmethod
    def of(cls, model: RobustGPRegressor, meshes: Mapping[str, object]) -> OneMesh:
        """Make one for a fitted regressor."""
        stack = model.stack_
        if not isinstance(stack, JoinedStack):
            return cls._of_stack(stack, meshes)
        every = [cls._of_stack(own, meshes) for own in stack.stacks]
        base = cls._of_stack(stack.stacks[stack.base], meshes)
        base.beside = (stack, every)
        return base

    @classmethod
    def _of_stack(cls, stack: Stack, meshes: Mapping[str, object]) -> OneMesh:
        found = cls(stack.members, meshes, stack.trend, stack.influence, stack.laws)
        if stack.link is not None:
            found.helper = (stack.link, cls._of_stack(stack.link.helper, meshes))
        return found

    def represent(self, X: Table) -> Represented:
        """Return rows of other inputs, without the columns of meshes, as the members see them with the mesh.

        Predictions of a single row are bit for bit those of the model.
        """
        if self.beside is not None:
            joined, every = self.beside
            return joined.beside([one.represent(X) for one in every])
        others = [factor for factor in self._factors if factor.takes != "graphs"]
        table = as_rows(X, [factor.column for factor in others])
        rows = {id(factor): _repeated(known, len(table)) for factor, known in self._given()}
        rows |= {id(factor): factor.represent(column(table, factor.column)) for factor in others}
        found = [[rows[id(self._factors[place])] for place in own] for own in self._places]
        known = self._blocks if len(table) == 1 else None
        sizes = None if self._sizes is None else np.repeat(self._sizes, len(table), axis=0)
        helper = [] if self.helper is None else [self.helper[1].represent(table)]
        times = law_values(self._laws, table)
        if self.helper is not None:
            table = self.helper[0].completed(table, helper[0])
        trend = trend_matrix(self._trend, table)
        return Represented(found, trend, len(table), known, sizes=sizes, times=times, others=helper)

    def predict_with_domain(self, model: RobustGPRegressor, X: Table) -> tuple[Prediction, Columns]:
        """Predict rows of other inputs, and say of every row whether it is like the training cases.

        Parameters
        ----------
        model : RobustGPRegressor
            Whose members these are.
        X : DataFrame of M rows

        Returns
        -------
        prediction : Prediction
        domain : dict of str to M values
            The columns of what :meth:`swwl.RobustGPRegressor.domain` returns.
        """
        cases = self.represent(X)
        if self._looks is None and self._known:
            found = model.look(cases)
            alone = all(place >= 0 for place, _ in model.domain_reference().clouds.values())
            self._looks = found if alone else None
        prediction, domain = model.judge(cases, None if self._looks is None else self._looks.repeated(len(cases)))
        meshes = {name: [mesh] * len(cases) for name, mesh in self._meshes.items()}
        return prediction, with_causes(domain, len(model.train_targets_), meshes, typical_in(model.metadata_))

    def vectors(self) -> NDArray[np.floating] | None:
        """Return the mesh as the vector (K,) that a map of the training cases shows, or None where there is none."""
        found = (factor.vectors(known) for factor, known in self._given())
        return next((vectors[0] for vectors in found if vectors is not None), None)

    def _held(self, member: Member, places: list[int]) -> dict[int, list[Block]]:
        """Return the blocks from the mesh to the training meshes, by the place of their factor in the kernel."""
        found = {}
        for place, (factor, train) in enumerate(zip(member.kernel.factors, member.rows, strict=True)):
            known = self._known.get(id(self._factors[places[place]]))
            if known is not None:
                found[place] = [block.held() for block in factor.new_blocks(known, train)]
        return found

    def _given(self) -> list[tuple[Factor, Representation]]:
        return [(factor, self._known[id(factor)]) for factor in self._factors if id(factor) in self._known]


def _repeated(rows: Representation, n: int) -> Representation:
    """Return the representation of one mesh as that of n."""
    if n == 1:
        return rows
    if isinstance(rows, tuple):
        return tuple(_repeated(part, n) for part in rows)
    return rows * n if isinstance(rows, list) else np.repeat(rows, n, axis=0)

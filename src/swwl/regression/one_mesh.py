"""Predictions for one mesh and many inputs: what the kernels make of the mesh is computed once.

A page with sliders asks again and again about the same mesh; reading and embedding it takes far longer than the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from swwl.domain.verdict import Looks
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, Product
from swwl.kernels.shared import distinct_factors, represent_columns
from swwl.regression.estimator import Blocks, RobustGPRegressor
from swwl.regression.stack import Member
from swwl.tables.inputs import as_rows, column


class PreparedMembers:
    """Members of a fitted model, and what their kernels make of one mesh for each column of graphs.

    Parameters
    ----------
    members : sequence of Member
    meshes : mapping of str to mesh
        By column: anything :func:`swwl.as_graph` takes.
    """

    def __init__(self, members: Sequence[Member], meshes: Mapping[str, Any]):
        self._members = members
        self._factors, self._places = distinct_factors([member.kernel for member in members])
        graphs = [factor for factor in self._factors if factor.takes == "graphs"]
        table = pd.DataFrame({name: pd.Series([mesh], dtype=object) for name, mesh in meshes.items()})
        found = represent_columns([Product(*graphs)], partial(column, table))[0] if graphs else []
        self._known = dict(zip(map(id, graphs), found, strict=True))
        self._blocks = [self._held(member, own) for member, own in zip(members, self._places, strict=True)]

    @property
    def has_meshes(self) -> bool:
        """Whether any kernel looks at a mesh."""
        return bool(self._known)

    def represented(self, X: Any) -> tuple[pd.DataFrame, list[list[Any]], Blocks]:
        """Return a table of other inputs, what the factors of every member make of it, and their blocks."""
        others = [factor for factor in self._factors if factor.takes != "graphs"]
        table = as_rows(X, [factor.column for factor in others])
        rows = {id(factor): _repeated(known, len(table)) for factor, known in self._given()}
        rows |= {id(factor): factor.represent(column(table, factor.column)) for factor in others}
        found = [[rows[id(self._factors[place])] for place in own] for own in self._places]
        blocks = [
            member.new_blocks(own, known=held if len(table) == 1 else None)
            for member, own, held in zip(self._members, found, self._blocks, strict=True)
        ]
        return table, found, blocks

    def vectors(self) -> np.ndarray[Any, Any] | None:
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

    def _given(self) -> list[tuple[Factor, Any]]:
        return [(factor, self._known[id(factor)]) for factor in self._factors if id(factor) in self._known]


class Prepared:
    """A fitted regressor and one mesh for each of its columns of graphs.

    Parameters
    ----------
    model : RobustGPRegressor
        Fitted.
    meshes : mapping of str to mesh
        By column: anything :func:`swwl.as_graph` takes.

    Examples
    --------
    >>> from swwl import SWWL, Graph, Matern52
    >>> rng = np.random.default_rng(0)
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in rng.uniform(1, 2, 30)]
    >>> table = pd.DataFrame({"rod": rods, "load": rng.uniform(1, 3, 30)})
    >>> table["stretch"] = [load * rod.features[1, 0] for rod, load in zip(table["rod"], table["load"])]
    >>> kernel = SWWL("rod", n_iterations=0, n_projections=4, n_quantiles=5) * Matern52("load")
    >>> model = RobustGPRegressor(kernel).fit(table, "stretch")
    >>> prepared = Prepared(model, {"rod": rods[0]})
    >>> case = pd.DataFrame({"rod": [rods[0]], "load": [2.0]})
    >>> bool(prepared.predict_distribution(case[["load"]]).mean == model.predict(case))
    True
    """

    def __init__(self, model: RobustGPRegressor, meshes: Mapping[str, Any]):
        self.model = model
        self.members = PreparedMembers(model.members_, meshes)
        self._looks: Looks | None = None  # of the meshes, when they are first asked for

    def predict_distribution(self, X: Any) -> Prediction:
        """Predict at rows of other inputs; bit for bit what the model predicts for one row.

        Parameters
        ----------
        X : DataFrame of M rows
            Without the columns of meshes.

        Returns
        -------
        Prediction
            Arrays of shape (M,) or (M, k).
        """
        table, _, blocks = self.members.represented(X)
        return self.model.predict_represented(table, blocks)

    def predict_with_domain(self, X: Any) -> tuple[Prediction, dict[str, Any]]:
        """Also say of every row whether it is like the training cases.

        Parameters
        ----------
        X : DataFrame of M rows

        Returns
        -------
        prediction : Prediction
        domain : dict of str to M values
            The columns of what :meth:`swwl.RobustGPRegressor.domain` returns.
        """
        table, rows, blocks = self.members.represented(X)
        if self._looks is None and self.members.has_meshes:
            found = self.model.look_represented(rows, len(table))
            alone = all(place >= 0 for place, _ in self.model.domain_reference().clouds.values())
            self._looks = found if alone else None
        known = None if self._looks is None else self._looks.repeated(len(table))
        return self.model.judge_represented(table, rows, blocks, known)


def _repeated(rows: Any, n: int) -> Any:
    """Return the representation of one mesh as that of n."""
    if n == 1:
        return rows
    if isinstance(rows, tuple):
        return tuple(_repeated(part, n) for part in rows)
    return rows * n if isinstance(rows, list) else np.repeat(rows, n, axis=0)

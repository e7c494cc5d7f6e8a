"""The kernels that a table gets when the user names none: short fixed lists, of which cross-validation makes one model.

Which measure of a mesh matters is a question of the physics, and no single answer is right. The lists are short because
every candidate is fitted, and fixed because a long list would be a choice by test scores. Candidates for meshes see the
part and not its mesh: measures on its skin, and exact integrals (``mesh/shape/part.py``), which stay as they are when
the same part is meshed more finely. Nodes count for graphs alone, which have no cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd

from swwl.errors import InputError, MeshWarning
from swwl.estimators import clone
from swwl.kernels import (
    BodySets,
    Categories,
    Components,
    Elliptic,
    GroupMeasures,
    Matern52,
    PartMeasures,
    Product,
    Summaries,
)
from swwl.kernels.base import Factor
from swwl.kernels.elliptic import Scalar
from swwl.kernels.named import named_parts, plane_mesh
from swwl.kernels.numeric import over_decades
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.skin import skin
from swwl.tables.columns import kind_of, require_meshes
from swwl.tables.inputs import column

# Candidates that see where named groups and bodies are.
OF_GROUPS = ("bodies", "named groups", "named groups and skin")
# What the names of candidates mean, for people.
WORDS = {
    "skin": "the boundary with its normals",
    "skin, smooth": "the boundary with its normals, for answers without kinks",
    "edges and corners": "sizes of the part, and where its boundary bends: edges, corners, holes",
    "faces and skin": "sizes of the part, how much boundary faces each direction, and the boundary with its normals",
    "skin, few ranges": "the boundary with its normals by a single range: safe with few cases",
    "named groups": "sizes of the part, and where its named groups are, how large and how many",
    "named groups and skin": "where named groups are, how large and how many, and the boundary with its normals",
    "bodies": "sets of bodies, each with what surrounds it, whatever their number",
    "nodes, smooth": "attributes of nodes averaged over neighbors, for answers without kinks",
    "nodes by iteration": "attributes of nodes, averaged over near and over farther neighbors, each separately",
    "far nodes, edges, summaries": "far averages of nodes, differences along edges, and plain numbers",
    "scaled nodes, edges, summaries": "nodes whose attributes count equally, differences along edges, plain numbers",
    "nodes, few ranges": "nodes, averaged over near and over farther neighbors, one range each: safe with few cases",
    "numbers": "all numbers together",
    "numbers, smooth": "all numbers together, for answers without kinks",
    "numbers one by one": "the product of the effects of single numbers",
}

# Of all embeddings: means over a hundred parts tell as much as five hundred quantiles, in rows a fifth as long.
_ALL: dict[str, Any] = {"n_quantiles": 100, "normalization": "sum"}
_SKIN = {"measure": "skin", "n_iterations": 0, "directions": "orthogonal", "quantiles": "mean"}
_FAR = {"step": "sqrt", "n_iterations": 8, "tolerance": 1e-3, "node_weights": "uniform"}
_EDGES = {"measure": "edges", "n_iterations": 0, "scale": True}
# With so many training rows for each component of a measure it may have a range of its own.
_ROWS_PER_COMPONENT = 4
# With fewer training rows a dozen ranges are too many to be sure of, and a candidate of four comes in addition.
FEW_ROWS = 120

# (correlation, parts); a part is what it is made of (options of an embedding, names of the measures of a part, or None
# for summaries of a graph), and how many components have a range each
_Parts = Sequence[tuple[dict[str, Any] | tuple[str, ...] | None, int]]
_MESHES: dict[str, tuple[str, _Parts]] = {
    "skin": ("matern52", [(_SKIN, 16)]),
    "skin, smooth": ("gaussian", [(_SKIN, 8)]),
    "edges and corners": ("matern52", [(("sizes", "edges", "corners"), 0)]),
    "faces and skin": ("matern52", [(("sizes", "faces"), 0), (_SKIN, 8)]),
}
_GRAPHS: dict[str, tuple[str, _Parts]] = {
    "nodes, smooth": ("gaussian", [({}, 8)]),
    "nodes by iteration": ("matern52", [({"per_iteration": True}, 3)]),
    "far nodes, edges, summaries": ("matern52", [(_FAR, 6), (_EDGES, 6), (None, 6)]),
    "scaled nodes, edges, summaries": ("matern52", [({"scale": True}, 6), (_EDGES, 6), (None, 6)]),
}
_MESHES_IF_FEW: dict[str, tuple[str, _Parts]] = {"skin, few ranges": ("matern52", [(_SKIN, 0)])}
_GRAPHS_IF_FEW: dict[str, tuple[str, _Parts]] = {"nodes, few ranges": ("matern52", [({"per_iteration": True}, 0)])}


def default_kernels(
    table: pd.DataFrame, *, few_rows: bool = True, groups: bool = True, **options: Any
) -> dict[str, Product]:
    """Return the candidates for a table of inputs, by name.

    Columns of numbers and of pandas' type "category" are in all of them, positive numbers over decades by their
    logarithms; whether to learn from other texts is for the
    user to say. Columns of meshes get the skin and the measures of a part in several combinations; columns of graphs
    without cells their nodes and edges.

    Parameters
    ----------
    table : DataFrame
        Training inputs.
    few_rows : bool
        Whether tables of meshes or graphs with fewer than 120 rows get one more candidate, of few ranges.
    groups : bool
        Whether a column of meshes gets candidates on its named groups and bodies, where these tell meshes apart.
    **options
        For all embeddings, such as ``n_jobs``, ``random_state`` and ``n_projections``.

    Examples
    --------
    >>> kernels = default_kernels(pd.DataFrame({"speed": [1.0, 2.0], "load": [3.0, 5.0]}))
    >>> kernels["numbers, smooth"]
    Elliptic('speed', 'load', correlation='gaussian')
    """
    numbers, graphs, others = _sorted_columns(table)
    decades = {name: over_decades(column(table, name)) for name in numbers}
    scalars = [Scalar(name, log=decades[name]) for name in numbers]
    if not graphs:
        plain = Product(*(Matern52(name, log=decades[name]) for name in numbers), *map(Categories, others))
        return {
            "numbers": Elliptic(*scalars, *map(Categories, others)),
            "numbers, smooth": Elliptic(*map(clone, scalars), *map(Categories, others), correlation="gaussian"),
            "numbers one by one": plain,
        }
    first = [_with_skin(table[name], name, options.get("group")) for name in graphs]
    meshes = [mesh is not None for mesh in first]
    few = few_rows and len(table) < FEW_ROWS
    lists = [
        (_MESHES | (_MESHES_IF_FEW if few else {})) if mesh else (_GRAPHS | (_GRAPHS_IF_FEW if few else {}))
        for mesh in meshes
    ]
    most = max(1, len(table) // _ROWS_PER_COMPONENT)
    candidates: dict[str, Product] = {}
    for names in zip(*lists, strict=True):
        factors: list[Factor] = []
        for own, mesh, name, title in zip(lists, meshes, graphs, names, strict=True):
            for given, k in own[title][1]:
                k = min(max(1, k // len(graphs)), most) if k else 0
                factors.append(_factor(name, k, "mesh" if mesh else "graph", given, options))
        correlation = lists[0][names[0]][0]
        title = " + ".join(dict.fromkeys(names))
        candidates[title] = Elliptic(*factors, *map(clone, scalars), *map(Categories, others), correlation=correlation)
    if groups and meshes == [True] and options.get("group") is None:
        few_options: dict[str, Any] = {key: options[key] for key in ("merge_nodes", "n_jobs") if key in options}
        skin_part = _factor(graphs[0], min(8, most), "mesh", _SKIN, options)
        parts_of = _on_groups(graphs[0], table[graphs[0]], first[0], skin_part, few_options)
        named = {
            title: Elliptic(*parts, *map(clone, scalars), *map(Categories, others)) for title, parts in parts_of.items()
        }
        return named | candidates  # the first one is asked for the scales of targets
    return candidates


def _on_groups(
    name: str, values: pd.Series, first: Mesh | None, skin_part: Factor, options: dict[str, Any]
) -> dict[str, list[Factor]]:
    """Return the parts of candidates that see the named groups of meshes, and bodies; none where they tell nothing."""
    merge = bool(options.get("merge_nodes", False))
    single, sets, pairs = named_parts(values, merge_nodes=merge, first=None if merge else first)
    counted = [*single, *(group for group in sets if group is None)]
    held = counted or [group for pair in pairs for group in pair]
    where: list[Factor] = [GroupMeasures(name, groups=held, pairs=pairs, **options)] if held else []
    found: dict[str, list[Factor]] = {}
    if sets:
        bodies = [
            BodySets(name, group=group, together=together, **options) for group in sets for together in (False, True)
        ]
        found["bodies"] = [*map(clone, where), *bodies]
    if single or pairs:
        found["named groups"] = [PartMeasures(name, measures=("sizes",), **options), *where]
        found["named groups and skin"] = [skin_part, *map(clone, where)]
    return found


def shape_factors(table: pd.DataFrame, n_components: int, **options: Any) -> list[Factor]:
    """Return one factor for every column of a table: skins of meshes, nodes of graphs, numbers, categories.

    Parameters
    ----------
    table : DataFrame
    n_components : int
        Of columns of graphs.
    **options
        For all embeddings.

    Examples
    --------
    >>> shape_factors(pd.DataFrame({"speed": [1.0, 2.0]}), 8)
    [Scalar('speed')]
    """
    numbers, graphs, others = _sorted_columns(table)
    factors: list[Factor] = []
    for name in graphs:
        with_skin = _with_skin(table[name], name, options.get("group")) is not None
        kind, given = ("mesh", _SKIN) if with_skin else ("graph", dict[str, Any]())
        factors.append(_factor(name, n_components, kind, given, options))
    scalars = [Scalar(name, log=over_decades(column(table, name))) for name in numbers]
    return [*factors, *scalars, *map(Categories, others)]


def _factor(
    name: str, k: int, kind: str, given: dict[str, Any] | tuple[str, ...] | None, options: dict[str, Any]
) -> Factor:
    if not isinstance(given, dict):
        plain = {key: options[key] for key in ("merge_nodes", "group", "n_jobs") if key in options}
        if given is not None:
            return PartMeasures(name, measures=given, **plain)
        return Summaries(name, n_components=k, kind=kind, **plain)
    own: dict[str, Any] = _ALL | options | given
    if own.get("measure") in ("skin", "area"):
        own.pop("fields", None)
    return Components(name, n_components=k, **own)


def _sorted_columns(table: pd.DataFrame) -> tuple[list[str], list[str], list[str]]:
    """Return the columns of numbers, of graphs and of categories; refuse others."""
    numbers, graphs, categories = [], [], []
    for name in table.columns:
        values = column(table, name)
        kind = kind_of(values)
        if kind == "numbers" or pd.api.types.is_numeric_dtype(values) or not len(values):
            numbers.append(name)
        elif isinstance(values.dtype, pd.CategoricalDtype):
            categories.append(name)
        elif kind == "dates":
            raise InputError(
                f"Column {name!r} holds dates; drop it, or count days: (t[{name!r}] - t[{name!r}].min()).dt.days."
            )
        elif kind == "meshes":
            require_meshes(values)
            graphs.append(name)
        else:
            odd = next((value for value in values if isinstance(value, str)), values.iloc[0])
            raise InputError(
                f"Column {name!r} holds {odd!r}, neither numbers nor meshes, and has no kernel; for texts of a few "
                f"kinds t[{name!r}] = t[{name!r}].astype('category') makes categories of them; otherwise drop it, or "
                f"name the columns to use by a kernel, such as kernel={_example(table, name)}."
            )
    if not (numbers or graphs or categories):
        raise InputError("The table has no columns to learn from.")
    return numbers, graphs, categories


def _example(table: pd.DataFrame, name: str) -> str:
    """Return a kernel on the columns of a table that have one, and another on a column of texts, as it is written."""
    kinds = {str(other): kind_of(column(table, other)) for other in table.columns if other != name}
    written = {"meshes": "SWWL", "numbers": "Matern52"}
    return " * ".join(
        [*(f"{written[kind]}({other!r})" for other, kind in kinds.items() if kind in written)][:2]
        + [f"Categories({name!r})"]
    )


def _with_skin(values: pd.Series, name: str, group: str | None = None) -> Mesh | None:
    """Return the first mesh of a column if it has a skin; graphs without cells have none."""
    try:
        mesh = plane_mesh(values.iloc[0], group=group)
    except InputError:
        return None  # a graph; what cannot be read at all is told when it is embedded
    try:
        skin(mesh)
    except InputError as error:
        text = f"Column {name!r}: the skin of the meshes is left out ({error}); they are compared as graphs."
        warnings.warn(text, MeshWarning, stacklevel=4)
        return None
    return mesh

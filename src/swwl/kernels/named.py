"""Which named parts of meshes tell them apart: found in a few meshes of a column, before any kernel is fitted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from swwl.errors import InputError
from swwl.mesh.cells import cell_dimension, top_cells
from swwl.mesh.groups import chosen_groups, matching, united
from swwl.mesh.io import as_mesh, prepared
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.plane import flattened, thin_layer
from swwl.mesh.shape.bodies import body_numbers, find_bodies, n_own_numbers
from swwl.mesh.shape.conduction import resistance
from swwl.mesh.shape.skin import Skin, skin

# So many meshes are looked at, spread over the column.
_LOOKED_AT = 8
# Of sets of more bodies than these not every one can be looked at.
_MOST_BODIES = 100
# More groups than these are not told apart by a few hundred cases; those that vary most are taken.
_MOST_GROUPS = 8
# Numbers of groups that vary by less show how curved skins were meshed.
_LEAST_SPREAD = 2e-3
# Groups are apart by this part of the diagonal; resistances that vary by less show how parts were meshed.
_LEAST_GAP, _LEAST_RESISTANCE = 1e-3, 0.02
_NUMBER = re.compile(r"[\s_.-]*\d+$")


class NamedParts(NamedTuple):
    """Patterns of groups.

    Attributes
    ----------
    single : list of str
        Those that vary from mesh to mesh.
    sets : list of str or None
        Those with several bodies in some mesh; None for the inner parts of the boundary of meshes without groups.
    pairs : list of (str, str)
        The two groups that are farthest apart, if the resistance between them varies from mesh to mesh.
    """

    single: list[str]
    sets: list[str | None]
    pairs: list[tuple[str, str]]


def named_parts(values: pd.Series, *, merge_nodes: bool = False, first: Mesh | None = None) -> NamedParts:
    """Find the groups by which a kernel can tell meshes apart, going by a few meshes of a column.

    Names that all of these have are taken by themselves, others together with those that differ from them in a number:
    ``body1`` and ``body2`` are ``body*``. Groups that are the same in all meshes do not count.

    Parameters
    ----------
    values : Series
        Meshes or files of them.
    merge_nodes : bool
        Make nodes of a mesh at the same place one.
    first : Mesh, optional
        The first one, where it has been read. No other is, if it has neither groups nor an inner boundary.

    Examples
    --------
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> sides = ([0, 1], [1, 2])
    >>> meshes = [Mesh(square, [[0, 1, 2], [0, 2, 3]], groups={"held": [a], "all": [0, 1, 2, 3]}) for a in sides]
    >>> named_parts(pd.Series(meshes))
    NamedParts(single=['held'], sets=[], pairs=[])
    """
    rows = np.unique(np.linspace(0, len(values) - 1, min(_LOOKED_AT, len(values))).round().astype(int))
    seen: list[tuple[Mesh, Skin]] = []
    for row in rows:
        try:
            mesh = first if first is not None and not seen else plane_mesh(values.iloc[row], merge_nodes)
            found = skin(mesh)
        except InputError:
            return NamedParts([], [], [])  # a graph, or what cannot be read, which is told when it is embedded
        seen.append((mesh, found))
        if not mesh.groups and not found.parts.any():
            return NamedParts([], [], [])
    if len({mesh.dimension for mesh, _ in seen}) != 1:
        return NamedParts([], [], [])
    patterns: Sequence[str | None] = _patterns([mesh for mesh, _ in seen]) or [None]
    spreads, sets = dict[str, float](), list[str | None]()
    for pattern in patterns:
        try:
            counts = [len(find_bodies(mesh, pattern, found).pieces) for mesh, found in seen]
        except InputError:  # an empty group
            continue
        if max(counts) > _MOST_BODIES:
            continue
        bodies = [body_numbers(mesh, pattern, found) for mesh, found in seen]
        if max(counts) > 1:
            sets.append(pattern)
        if pattern is None or not min(counts):
            continue
        own = n_own_numbers(seen[0][0].dimension)
        spread = np.array([np.append(len(b), b[:, :own].mean(axis=0)) for b in bodies]).std(axis=0).max()
        if spread > _LEAST_SPREAD:
            spreads[pattern] = float(spread)
    best = sorted(spreads, key=lambda name: -spreads[name])[:_MOST_GROUPS]
    varying = [name for name in sets if name is None or name in best]
    pairs = _far_apart([name for name in patterns if name is not None], [mesh for mesh, _ in seen])
    return NamedParts([name for name in spreads if name in best], varying[:2], pairs)


def _far_apart(patterns: Sequence[str], meshes: Sequence[Mesh]) -> list[tuple[str, str]]:
    """Return the two groups that are farthest apart; none if the way from one to the other is the same everywhere."""

    def gap(one: str, other: str) -> float:
        found = np.inf
        for mesh in meshes:
            first, second = (
                united(chosen_groups(mesh.groups, name).values(), mesh.cells).nodes for name in (one, other)
            )
            if not len(first) or not len(second) or len(np.intersect1d(first, second)):
                return 0.0
            away = scipy.spatial.cKDTree(mesh.points[first]).query(mesh.points[second])[0].min()
            found = min(found, away / np.linalg.norm(np.ptp(mesh.points, axis=0)))
        return float(found)

    gaps = {pair: gap(*pair) for pair in combinations(patterns[:_MOST_GROUPS], 2)}
    best = max(gaps, key=lambda pair: gaps[pair], default=None)
    if best is None or gaps[best] < _LEAST_GAP or meshes[0].dimension < 2:
        return []
    if any(cell_dimension(kind) == 3 for mesh in meshes for kind in top_cells(mesh.cells)):
        return []  # linear elements would let the mesh in, and brackets gained nothing
    spread = float(np.std([resistance(mesh, *best) for mesh in meshes]))
    return [best] if spread > _LEAST_RESISTANCE else []


def plane_mesh(item: object, merge_nodes: bool = False, group: str | None = None) -> Mesh:
    """Return an item of a column, or a part of it, as the mesh that is learned from: a layer as a plane mesh."""
    mesh = as_mesh(item)
    return prepared(mesh if thin_layer(mesh) is None else flattened(mesh), merge_nodes, group)


def _patterns(meshes: Sequence[Mesh]) -> list[str]:
    """Return names that all meshes have, whatever their case, and patterns for those that differ in a number."""
    names = list(meshes[0].groups)
    common = [
        name for name in names if all(matching(name, mesh.groups) for mesh in meshes) and not _is_all(name, meshes)
    ]
    families = dict.fromkeys(
        _NUMBER.sub("", name) + "*" for mesh in meshes for name in mesh.groups if _NUMBER.search(name)
    )
    found = list(common)
    for family in families:
        members = [matching(family, mesh.groups) for mesh in meshes]
        same = {tuple(sorted(own)) for own in members}
        if len(same) > 1 and all(members) and "[" not in family and not family.startswith("*"):
            found = [name for name in found if not matching(family, [name])] + [family]
    return found


def _is_all(name: str, meshes: Sequence[Mesh]) -> bool:
    """Whether a group is all nodes of every mesh."""
    return all(len(mesh.group(name).nodes) == mesh.n_nodes for mesh in meshes)

"""Named groups in VTK's files, which have no place for them: as arrays that other programs show.

A group of nodes or faces is a field "group: NAME" of ones and zeros at the nodes, one of cells a field at the cells.
Faces themselves are beside these, in VTK's field data: the array "group: NAME; TYPE" holds their nodes, (m, k).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.io.shared import Fields, NamedSets
from swwl.mesh.mesh import Mesh

PREFIX = "group: "


def group_arrays(mesh: Mesh) -> tuple[Fields, Fields, Fields]:
    """Return the arrays of a mesh's groups: of nodes, of cells, and of neither.

    Examples
    --------
    >>> mesh = Mesh([0.0, 1.0, 2.0], {"line": [[0, 1], [1, 2]]}, groups={"end": [2], "first": {"line": [0]}})
    >>> of_nodes, of_cells, _ = group_arrays(mesh)
    >>> of_nodes["group: end"].tolist(), of_cells["group: first"].tolist()
    ([0, 0, 1], [1, 0])
    """
    of_nodes: Fields = {}
    of_cells: Fields = {}
    others: Fields = {}
    for name, group in mesh.groups.items():
        if PREFIX + name in mesh.fields or PREFIX + name in mesh.cell_fields:
            raise InputError(f"cannot be written: {PREFIX + name!r} is both a field and what group {name!r} is called")
        if group.kind == "cells":
            masks = {kind: np.zeros(len(block), np.uint8) for kind, block in mesh.cells.items()}
            for kind, chosen in group.cells.items():
                masks[kind][chosen] = 1
            of_cells[PREFIX + name] = np.concatenate([np.empty(0, np.uint8), *masks.values()])
            continue
        of_nodes[PREFIX + name] = np.zeros(mesh.n_nodes, np.uint8)
        of_nodes[PREFIX + name][group.nodes] = 1
        if group.kind == "faces":
            faces = group.faces or {"line": np.empty((0, 2), np.int32)}
            others |= {f"{PREFIX}{name}; {kind}": block for kind, block in faces.items()}
    return of_nodes, of_cells, others


def take_groups(of_nodes: Fields, of_cells: Fields, others: Mapping[str, AnyArray]) -> NamedSets:
    """Take the arrays of groups out of the fields of a file, and return the groups."""
    sets = NamedSets()
    for name, array in others.items():
        if name.startswith(PREFIX) and "; " in name and array.dtype.kind in "iu":
            group, _, kind = name.removeprefix(PREFIX).rpartition("; ")
            sets.add_faces(group, kind, array if array.ndim == 2 else array[:, None])
    for name in [name for name, field in of_nodes.items() if is_group(name, field)]:
        group, field = name.removeprefix(PREFIX), of_nodes.pop(name)
        if group not in sets.faces:
            sets.add_nodes(group, np.flatnonzero(field))
    for name in [name for name, field in of_cells.items() if is_group(name, field)]:
        sets.add_cells(name.removeprefix(PREFIX), np.flatnonzero(of_cells.pop(name)))
    return sets


def is_group(name: str, field: AnyArray) -> bool:
    """Whether a field is the array of a group."""
    return name.startswith(PREFIX) and field.ndim == 1 and field.dtype == np.uint8 and field.max(initial=0) <= 1

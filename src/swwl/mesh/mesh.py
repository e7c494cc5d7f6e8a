"""What a simulation hands over: points, the cells that join them, fields on the nodes and cells, named groups.

``io/`` reads meshes and :meth:`Mesh.write` writes them, by the ending of a file (:class:`Endings`); :meth:`Mesh.graph`
makes the graph that kernels take.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import IO, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError, located
from swwl.formatting import html_table
from swwl.mesh.arrays import AnyArray, Frozen, check_features, check_field, counted, first_at_place, own
from swwl.mesh.cells import CellsLike, collect_cells, cut_into_triangles, joined_order
from swwl.mesh.graph import Graph, graph_of_cells
from swwl.mesh.groups import Group, chosen_groups, collect_groups, united
from swwl.storage.atomic import atomic_write

_Derived = TypeVar("_Derived")


class Mesh(Frozen):
    """Points, cells and node fields; neither a mesh nor its arrays can be changed.

    All is checked when the mesh is made, so nothing that takes one checks it again. Arrays that anybody could write
    to are copied.

    Parameters
    ----------
    points : array-like of shape (n, d)
        Finite coordinates.
    cells : array-like of shape (m, k), dict of such arrays by type, or list of (type, array)
        Node numbers from 0 to n - 1. A plain array holds one type, told by k and d as in :meth:`Graph.from_cells`;
        otherwise types carry meshio's names. A list may repeat a type: its blocks are joined.
    fields : dict of array-likes of shape (n,) or (n, c), optional
        Numbers at the nodes, of any type. They may be NaN where they are not known; :meth:`graph` refuses such a field.
    name : str, optional
        What to call the mesh in messages, such as its file name.
    cell_fields : dict of array-likes of shape (m,) or (m, c), optional
        Numbers of the cells, one row for each of all m cells in the order in which ``cells`` gives them.
    groups : dict of named parts, optional
        Nodes: an array (k,) of their numbers, or a mask (n,) of bools. Faces: an array (m, k) of their nodes, or a dict
        of those by type. Cells: a dict of arrays (m,), which of ``cells[type]``. Or a
        :class:`~swwl.mesh.groups.Group`.

    Attributes
    ----------
    points : ndarray of shape (n, d), float64
    cells : mapping of str to ndarray of shape (m, k), int32
        One array per type, in the order in which types were first given. Polygons are of type "polygon" if all have
        equally many corners; otherwise "polygon5", "polygon6", ... each hold those of one number of corners.
    fields : mapping of str to ndarray of shape (n,) or (n, c)
    cell_fields : mapping of str to ndarray of shape (m,) or (m, c)
        One row per cell, in the order of :attr:`cells`: all cells of its first type, then all of the second, ...
    groups : mapping of str to Group
        Nodes, faces or cells that the solver's file names: where it is held, loaded, wetted.
    name : str or None

    Examples
    --------
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> mesh = Mesh(square, [[0, 1, 2], [0, 2, 3]], {"T": [20.0, 20.0, 30.0, 30.0]}, name="square")
    >>> mesh
    Mesh(square: 4 nodes in 2 dimensions; cells: 2 triangle; fields: T)
    >>> mesh.graph(fields=["T"], node_weights="area")
    Graph(square: 4 nodes, 5 edges, 3 features, node weights)
    """

    __slots__ = ("_derived", "cell_fields", "cells", "fields", "groups", "name", "points")

    points: NDArray[np.float64]
    cells: Mapping[str, NDArray[np.int32]]
    fields: Mapping[str, AnyArray]
    cell_fields: Mapping[str, AnyArray]
    groups: Mapping[str, Group]
    name: str | None
    _derived: dict[str, Any]

    def __init__(
        self,
        points: ArrayLike,
        cells: CellsLike,
        fields: Mapping[str, ArrayLike] | None = None,
        name: str | None = None,
        *,
        cell_fields: Mapping[str, ArrayLike] | None = None,
        groups: Mapping[str, object] | None = None,
    ):
        checked = check_features(points, "Point coordinates")
        blocks = collect_cells(cells, *checked.shape)
        n_cells = sum(map(len, blocks.values()))
        of_cells = {key: check_field(key, field, n_cells, "cell") for key, field in (cell_fields or {}).items()}
        order = joined_order(cells, checked.shape[1]) if of_cells else None
        if order is not None:
            of_cells = {key: field[order] for key, field in of_cells.items()}
        self._fill(
            checked,
            blocks,
            {key: check_field(key, field, len(checked)) for key, field in (fields or {}).items()},
            name,
            of_cells,
            collect_groups(groups or {}, len(checked), blocks),
        )

    def _fill(
        self,
        points: NDArray[np.float64],
        cells: Mapping[str, NDArray[np.int32]],
        fields: Mapping[str, AnyArray],
        name: str | None,
        cell_fields: Mapping[str, AnyArray],
        groups: Mapping[str, Group],
    ) -> None:
        arrays: list[AnyArray] = [points, *cells.values(), *fields.values(), *cell_fields.values()]
        for array in arrays:
            array.setflags(write=False)
        # dict(...): nobody else may hold what the read-only mappings show
        mappings: dict[str, Mapping[str, Any]] = {"cells": cells, "fields": fields, "cell_fields": cell_fields}
        mappings["groups"] = groups
        self._set(
            points=points,
            name=name,
            _derived={},
            **{key: MappingProxyType(dict(value)) for key, value in mappings.items()},
        )

    @classmethod
    def trusted(cls, *parts: Any) -> Mesh:
        """Make a mesh of parts that have been checked; see :func:`trusted_mesh`."""
        mesh = cls.__new__(cls)
        cls._fill(mesh, *parts)
        return mesh

    @property
    def n_nodes(self) -> int:
        """Number of nodes, n."""
        return len(self.points)

    @property
    def n_cells(self) -> int:
        """Number of cells of all types."""
        return sum(map(len, self.cells.values()))

    @property
    def dimension(self) -> int:
        """Number of coordinates, d."""
        return int(self.points.shape[1])

    def derived(self, key: str, find: Callable[[Mesh], _Derived]) -> _Derived:
        """Return what a function finds of the mesh, found once and kept as long as the mesh."""
        if key not in self._derived:
            self._derived[key] = find(self)
        found: _Derived = self._derived[key]
        return found

    def graph(self, node_weights: ArrayLike | str | None = None, fields: Iterable[str] = ()) -> Graph:
        """Make the graph of the mesh: nodes are joined where a cell has an edge.

        Parameters
        ----------
        node_weights : array-like of shape (n,) or "area", optional
            "area" gives each node its share of the lengths, areas or volumes around it, so that the measure
            follows the geometry and not the density of the mesh. By default every node weighs the same.
        fields : iterable of str
            Fields to append to the coordinates, in the order given.

        Returns
        -------
        Graph
            Of the same name. Without ``fields`` its features are :attr:`points` themselves, not a copy. Nodes that no
            cell uses are left out, with a warning.

        Raises
        ------
        InputError
            If there are no cells, if a field is missing or not finite, and where areas are requested but all are zero.
        """
        self.require_cells()
        chosen = {name: self._field(name) for name in fields}
        return graph_of_cells(self.points, self.cells, chosen, node_weights, self.name)

    def require_cells(self) -> None:
        """Refuse a mesh without cells, whose nodes nothing joins."""
        if not any(kind != "vertex" for kind in self.cells):
            raise InputError(
                "The mesh has no cells, so its nodes are not joined; use Graph(points, edges) for point clouds."
            )

    def _field(self, name: str) -> AnyArray:
        if name not in self.fields:
            found = ", ".join(sorted(self.fields)) or "none"
            raise InputError(f"The mesh has no node field {name!r}; its fields are: {found}.")
        return self.fields[name]

    def triangles(self) -> NDArray[np.int32]:
        """Return its surface cells as (m, 3) triangles of their corners, larger ones cut into several.

        Examples
        --------
        >>> Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]}).triangles().tolist()
        [[0, 1, 2], [0, 2, 3]]
        """
        return cut_into_triangles(self.cells)

    def with_fields(self, fields: Mapping[str, ArrayLike]) -> Mesh:
        """Return the same mesh with more fields, or others in place of those of the same name.

        Examples
        --------
        >>> line = Mesh([[0.0], [1.0]], [[0, 1]], {"T": [1.0, 2.0]})
        >>> line.with_fields({"p": [3.0, 4.0]})
        Mesh(2 nodes in 1 dimension; cells: 1 line; fields: T, p)
        """
        new = {key: check_field(key, field, self.n_nodes) for key, field in fields.items()}
        return trusted_mesh(self.points, self.cells, {**self.fields, **new}, self.name, self.cell_fields, self.groups)

    def group(self, pattern: str) -> Group:
        """Return one group, or the union of several.

        Parameters
        ----------
        pattern : str
            Its name, or a shell pattern such as ``"body*"``; several stand between ``|``.

        Returns
        -------
        Group
            That of groups of different kinds is a group of nodes.

        Raises
        ------
        InputError
            If there is none; the message names those that there are.

        Examples
        --------
        >>> ends = Mesh([0.0, 1.0, 2.0], {"line": [[0, 1], [1, 2]]}, groups={"end a": [0], "end b": [2]})
        >>> ends.group("end*").nodes.tolist()
        [0, 2]
        """
        return united(chosen_groups(self.groups, pattern).values(), self.cells)

    def part_group(self, pattern: str) -> Group:
        """Return the group of faces or cells that :meth:`part` makes a mesh of; its nodes are those of that mesh."""
        chosen = {name: group for name, group in chosen_groups(self.groups, pattern).items() if group.kind != "nodes"}
        if len({group.kind for group in chosen.values()}) > 1:
            found = ", ".join(f"{name} ({group.kind})" for name, group in chosen.items())
            raise InputError(f"{pattern!r} means groups of faces and of cells, one kind is expected: {found}.")
        group = united(chosen.values(), self.cells) if chosen else None
        if group is None or not group.size:
            what = "holds only nodes that no cells join" if group is None else "is empty"
            others = [f"{name} ({one.words})" for name, one in self.groups.items() if one.kind != "nodes" and one.size]
            raise InputError(f"Group {pattern!r} {what}; groups of faces or cells: {', '.join(others) or 'none'}.")
        return group

    def part(self, pattern: str) -> Mesh:
        """Return the mesh that the cells of a group make or, where it is a group of faces, those faces as cells.

        Parameters
        ----------
        pattern : str
            As of :meth:`group`. Groups of nodes that it means besides do not count.

        Returns
        -------
        Mesh
            Of the same name, with the nodes of the group alone, in their order, and what fields and other groups have
            there. Faces have no cell fields.

        Raises
        ------
        InputError
            If there is no such group, if it has nodes alone, which no cells join, or is empty, and where the pattern
            means faces and cells.

        Examples
        --------
        >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
        >>> mesh = Mesh(square, [[0, 1, 2], [0, 2, 3]], {"T": [1.0, 2, 3, 4]}, groups={"inlet": [[3, 0]]})
        >>> mesh.part("inlet")
        Mesh(2 nodes in 2 dimensions; cells: 1 line; fields: T; groups: inlet)
        """
        group = self.part_group(pattern)
        number = np.full(self.n_nodes, -1, np.int32)
        number[group.nodes] = np.arange(len(group.nodes), dtype=np.int32)
        places = {kind: np.full(len(block), -1, np.int32) for kind, block in self.cells.items()}
        if group.kind == "faces":
            cells = {kind: number[faces] for kind, faces in group.faces.items()}
            of_cells = {}
        else:
            cells = {kind: number[self.cells[kind][rows]] for kind, rows in group.cells.items()}
            for kind, rows in group.cells.items():
                places[kind][rows] = np.arange(len(rows), dtype=np.int32)
            # in the order of the mesh, which the rows of cell fields are in
            cells = {kind: cells[kind] for kind in self.cells if kind in cells}
            kept = np.concatenate([place >= 0 for place in places.values()])
            of_cells = {key: field[kept] for key, field in self.cell_fields.items()}
        fields = {key: field[group.nodes] for key, field in self.fields.items()}
        moved = {
            name: one.within(cells, places) if one.kind == "cells" else one.renumbered(number)
            for name, one in self.groups.items()
        }
        groups = {name: one for name, one in moved.items() if one.size}
        return trusted_mesh(self.points[group.nodes], cells, fields, self.name, of_cells, groups)

    def merged(self) -> Mesh:
        """Return the mesh with nodes at exactly the same place made one, so that the cells around it are joined.

        Many programs write every triangle with corners of its own, or repeat nodes along seams. Fields of floats get
        the mean of the nodes that become one, others the value of the first. The two sides of a crack are joined too.
        Groups lose faces that shrink to nothing.

        Examples
        --------
        >>> soup = Mesh([[0, 0], [1, 0], [0, 1], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [3, 4, 5]])
        >>> soup.merged()
        Mesh(4 nodes in 2 dimensions; cells: 2 triangle)
        """
        kept, number = np.unique(first_at_place(self.points), return_inverse=True)
        if len(kept) == self.n_nodes:
            return self
        counts = np.bincount(number)

        def joined(field: AnyArray) -> AnyArray:
            if field.dtype.kind != "f":
                return field[kept]
            columns = field.reshape(len(field), -1).T
            means = np.column_stack([np.bincount(number, column) / counts for column in columns])
            return means.reshape(len(kept), *field.shape[1:]).astype(field.dtype)

        cells = {kind: number.astype(np.int32)[block] for kind, block in self.cells.items()}
        fields = {key: joined(field) for key, field in self.fields.items()}
        groups = {name: group.renumbered(number) for name, group in self.groups.items()}
        return trusted_mesh(self.points[kept], cells, fields, self.name, self.cell_fields, groups)

    def renamed(self, name: str | None) -> Mesh:
        """Return the same mesh under another name."""
        return trusted_mesh(self.points, self.cells, self.fields, name, self.cell_fields, self.groups)

    def write(self, path: str | os.PathLike[str], compress: bool = False) -> None:
        """Write the mesh to a file, under a temporary name until it is complete; the ending names the format.

        Parameters
        ----------
        path : str or path
            ``.vtu`` (for ParaView and most other programs, and quick to read), ``.npz`` (for NumPy and swwl), or an
            ending of another format that meshio writes and reads again. Formats other than these two may not hold the
            fields, and do not hold the groups.
        compress : bool
            Make ``.vtu`` and ``.npz`` files about half as large, which then take several times as long to read.

        Raises
        ------
        InputError
            For endings that are not known, and for cells that the format does not have.

        Notes
        -----
        The same mesh gives the same bytes. VTU holds three coordinates, of which the last are zero for a plane mesh;
        :func:`swwl.read_mesh` takes them away again.

        Examples
        --------
        >>> import tempfile, swwl
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]).write(f"{folder}/corner.vtu")
        ...     swwl.read_mesh(f"{folder}/corner.vtu")
        Mesh(corner.vtu: 3 nodes in 2 dimensions; cells: 1 triangle)
        """
        with located(str(path)):
            writer = WRITERS.of(Path(path))
            with atomic_write(path) as file:
                writer(file, self, compress)

    def parts(self) -> list[Any]:
        """Return all that makes the mesh what it is, for :func:`swwl.storage.memory.fingerprint`."""
        mappings = (self.cells, self.fields, *([self.cell_fields] if self.cell_fields else []))
        groups = [[name, *group.parts()] for name, group in self.groups.items()]
        return [
            self.points,
            *([*mapping, *mapping.values()] for mapping in mappings),
            *(["groups", *groups] * bool(groups)),
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        mappings = dict(self.cell_fields), dict(self.groups)
        return trusted_mesh, (self.points, dict(self.cells), dict(self.fields), self.name, *mappings)

    def _repr_html_(self) -> str | None:
        """Return a picture for notebooks with counts, fields and groups; None, for the plain text, if it fails."""
        from swwl.mesh.picture import mesh_picture

        try:
            rows = [["nodes", f"{self.n_nodes} in {counted(self.dimension, 'dimension')}"]]
            rows += [["cells", ", ".join(f"{len(block)} {kind}" for kind, block in self.cells.items()) or "none"]]
            named = {"fields": self.fields, "cell fields": self.cell_fields, "groups": self.groups}
            rows += [[what, ", ".join(own)] for what, own in named.items() if own]
            source = base64.b64encode(mesh_picture(self)).decode()
            table = html_table(f"Mesh {self.name or ''}".strip(), ["", ""], rows)
            image = f'<img alt="picture of the mesh" src="data:image/png;base64,{source}">'
            return f'<div style="display:flex;gap:1em;align-items:center">{image}{table}</div>'
        except Exception:  # what is shown must never stop a notebook
            return None

    def __repr__(self) -> str:
        parts = [f"{counted(self.n_nodes, 'node')} in {counted(self.dimension, 'dimension')}"]
        parts += ["cells: " + (", ".join(f"{len(b)} {kind}" for kind, b in self.cells.items()) or "none")]
        parts += ["fields: " + ", ".join(self.fields)] if self.fields else []
        parts += ["cell fields: " + ", ".join(self.cell_fields)] if self.cell_fields else []
        parts += ["groups: " + ", ".join(self.groups)] if self.groups else []
        return f"Mesh({self.name + ': ' if self.name else ''}{'; '.join(parts)})"


_Function = TypeVar("_Function")


class Endings(dict[str, _Function]):
    """Functions that serve files, by endings such as ``".vtu"`` or ``".vol.gz"``: readers of ``io/``, and writers.

    Examples
    --------
    >>> sizes = Endings({".vtu": len, ".vol.gz": max})
    >>> sizes.of(PurePath("rotor.7.VTU")) is len, sizes.of(PurePath("a.vol.gz")) is max
    (True, True)
    """

    def of(self, path: PurePath) -> _Function:
        """Return the function for a file, or say which endings there are."""
        for ending in _endings(path):
            if ending in self:
                return self[ending]
        raise InputError(f"the file extension {path.suffix!r} is not supported; supported are {' '.join(sorted(self))}")

    def serves(self, path: PurePath) -> bool:
        """Whether there is a function for a file."""
        return any(ending in self for ending in _endings(path))


def _endings(path: PurePath) -> tuple[str, str]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:]), "".join(suffixes[-1:])


Writer: TypeAlias = Callable[[IO[bytes], Mesh, bool], None]  # whether to compress
WRITERS: Endings[Writer] = Endings()  # io/ fills it


def trusted_mesh(
    points: NDArray[np.float64],
    cells: Mapping[str, NDArray[np.int32]],
    fields: Mapping[str, AnyArray],
    name: str | None = None,
    cell_fields: Mapping[str, AnyArray] | None = None,
    groups: Mapping[str, Group] | None = None,
) -> Mesh:
    """Make a mesh of parts that have been checked, without a look at them and without a copy; they are frozen."""
    return Mesh.trusted(points, cells, fields, name, cell_fields or {}, groups or {})


def in_plane(mesh: Mesh) -> Mesh:
    """Drop the third coordinate where it is zero at all nodes."""
    if mesh.dimension != 3 or mesh.points[:, 2].any():
        return mesh
    return trusted_mesh(own(mesh.points[:, :2]), mesh.cells, mesh.fields, mesh.name, mesh.cell_fields, mesh.groups)

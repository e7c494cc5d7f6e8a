"""Fields and scalars into a copy of a CGNS file, as PLAID keeps them: the rest of the file stays as it is."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.storage import atomic_write

_TYPES = {"f8": "R8", "f4": "R4", "i4": "I4", "i8": "I8"}


def copy_cgns(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    fields: Mapping[str, NDArray[Any]],
    cell_fields: Mapping[str, NDArray[Any]] | None = None,
    scalars: Mapping[str, float] | None = None,
) -> None:
    """Copy a CGNS file (HDF5) with more fields and scalars, or others in place of those of the same name.

    Parameters
    ----------
    source, target : str or path
        The target is written under a temporary name until it is complete.
    fields : mapping of str to ndarray of shape (n,)
        At the nodes, numbered as :func:`swwl.read_mesh` numbers them.
    cell_fields : mapping of str to ndarray of shape (m,), optional
        At the cells of the highest dimension.
    scalars : mapping of str to float, optional
        For the base ``Global``.

    Raises
    ------
    InputError
        If the file has several zones with coordinates, or if a field has another length.
    """
    import h5py

    with located(str(source)):
        content = io.BytesIO(Path(source).read_bytes())
        if not h5py.is_hdf5(source):
            raise InputError("it is not a CGNS file in HDF5, so nothing can be added to it.")
        with h5py.File(content, "r+") as file:
            zone = _zone(file)
            n_nodes = _n_nodes(zone)
            for name, values in fields.items():
                if values.shape != (n_nodes,):
                    raise InputError(f"field {name!r} has shape {values.shape}, but there are {n_nodes} nodes.")
            _put(zone, "Vertex", fields)
            _put(zone, "CellCenter", cell_fields or {})
            if scalars:
                home = (
                    file["Global"] if "Global" in file else _node(file, "Global", "CGNSBase_t", np.array([1, 1], "i4"))
                )
                for name, value in scalars.items():
                    _replace(home, name, np.array([value], dtype=np.float64))
    with atomic_write(target) as out:
        out.write(content.getvalue())


def _label(group: Any) -> str:
    value = group.attrs.get("label", b"")
    return (value if isinstance(value, bytes) else str(value).encode()).decode().rstrip("\0 ")


def _children(group: Any, label: str) -> Iterator[Any]:
    return (child for child in group.values() if hasattr(child, "keys") and _label(child) == label)


def _zone(file: Any) -> Any:
    """Return the zone of the base of the highest dimension that has coordinates."""
    bases = sorted(_children(file, "CGNSBase_t"), key=lambda base: -int(np.ravel(base[" data"][()])[0]))
    for base in bases:
        zones = [zone for zone in _children(base, "Zone_t") if any(_children(zone, "GridCoordinates_t"))]
        if len(zones) > 1:
            raise InputError(f"it has {len(zones)} zones, but fields can be added to one alone.")
        if zones:
            return zones[0]
    raise InputError("it has no zone with coordinates.")


def _n_nodes(zone: Any) -> int:
    for grid in _children(zone, "GridCoordinates_t"):
        for axis in _children(grid, "DataArray_t"):
            return int(axis[" data"].size)
    raise InputError("its zone has no coordinates.")


def _put(zone: Any, place: str, fields: Mapping[str, NDArray[Any]]) -> None:
    """Write fields to the first solution at a place, or to a new one."""
    if not fields:
        return
    for solution in _children(zone, "FlowSolution_t"):
        if _location(solution) == place:
            break
    else:
        solution = _node(zone, f"{place}Fields", "FlowSolution_t")
        _node(solution, "GridLocation", "GridLocation_t", place)
    for name, values in fields.items():
        _replace(solution, name, np.asarray(values, dtype=np.float64))


def _location(solution: Any) -> str:
    for node in _children(solution, "GridLocation_t"):
        return bytes(np.ravel(node[" data"][()]).astype(np.uint8)).decode().rstrip("\0 ")
    return "Vertex"


def _replace(parent: Any, name: str, values: NDArray[Any]) -> None:
    if name in parent:
        del parent[name]
    _node(parent, name, "DataArray_t", values)


def _node(parent: Any, name: str, label: str, data: NDArray[Any] | str | None = None) -> Any:
    """Add a node as the CGNS library writes it: a group with its name, label and type in attributes."""
    if "/" in name or len(name.encode()) > 32:
        raise InputError(f"{name!r} cannot be the name of a CGNS node: at most 32 bytes, and no slash.")
    group = parent.create_group(name, track_order=True)  # pyCGNS reads children in their order
    kind = "MT" if data is None else "C1" if isinstance(data, str) else _TYPES[data.dtype.str[1:]]
    for key, value, size in (("name", name, 33), ("label", label, 33), ("type", kind, 3)):
        group.attrs.create(key, np.array(value.encode(), dtype=f"S{size}"))
    group.attrs.create("flags", np.array([1], dtype=np.int32))
    if data is not None:
        group[" data"] = np.frombuffer(data.encode(), np.int8) if isinstance(data, str) else data
    return group

"""The writer of VTU: raw bytes after the XML, so that reading is one look at the head and one at the arrays.

Numbers stand at multiples of their size, in the order of bytes that machines have: a reader takes them as they are.
The same mesh gives the same bytes.
"""

from __future__ import annotations

import zlib
from typing import IO, Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.io.vtk_cells import NUMBERS
from swwl.mesh.mesh import Mesh

# Compressed in pieces of this size: large enough that there are few, small enough that none takes much memory.
_BLOCK = 2**20
_LEVEL = 1  # of zlib: half the time of its default for a few percent of size


def write_vtu(file: IO[bytes], mesh: Mesh, compress: bool = False) -> None:
    """Write a mesh to an open file.

    Parameters
    ----------
    file : binary file
    mesh : Mesh
        Of at most three coordinates.
    compress : bool
        By zlib: smaller, and slower to read.
    """
    if mesh.dimension > 3:
        raise InputError(f"cannot be written, a mesh of {mesh.dimension} coordinates has no place in a .vtu file")
    points = np.zeros((mesh.n_nodes, 3))
    points[:, : mesh.dimension] = mesh.points
    sections = {
        "PointData": {name: _plain(field) for name, field in mesh.fields.items()},
        "CellData": {name: _plain(field) for name, field in mesh.cell_fields.items()},
        "Points": {"Points": points},
        "Cells": _cells(mesh),
    }
    blobs = _blobs([array for arrays in sections.values() for array in arrays.values()], compress)
    lines = []
    offsets = iter(_offsets(blobs))
    for section, arrays in sections.items():
        lines.append(f"<{section}>")
        for name, array in arrays.items():
            width = f' NumberOfComponents="{array.shape[1]}"' if array.ndim == 2 else ""
            lines.append(
                f'<DataArray type="{_type(array)}" Name={_quoted(name)}{width} '
                f'format="appended" offset="{next(offsets)}"/>'
            )
        lines.append(f"</{section}>")
    packer = ' compressor="vtkZLibDataCompressor"' if compress else ""
    head = "\n".join(
        [
            '<?xml version="1.0"?>',
            f'<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64"{packer}>',
            "<UnstructuredGrid>",
            f'<Piece NumberOfPoints="{mesh.n_nodes}" NumberOfCells="{mesh.n_cells}">',
            *lines,
            "</Piece>",
            "</UnstructuredGrid>",
            "",
        ]
    ).encode()
    start = b'<AppendedData encoding="raw">_'
    file.write(head + b" " * (-(len(head) + len(start)) % 8) + start)
    for _, blob in sorted(blobs, key=_place):
        file.write(blob)
    file.write(b"\n</AppendedData>\n</VTKFile>\n")


def _blobs(arrays: list[NDArray[Any]], compress: bool) -> list[tuple[int, bytes]]:
    """Return the bytes of arrays, each with the size of its numbers."""
    return [(array.dtype.itemsize, _packed(array) if compress else _raw(array)) for array in arrays]


def _place(blob: tuple[int, bytes]) -> int:
    # Long numbers come first: then all stand at multiples of their size, without gaps (which meshio does not read).
    return -blob[0]


def _offsets(blobs: list[tuple[int, bytes]]) -> list[int]:
    """Return where each of them begins when they are written in their places."""
    order = sorted(range(len(blobs)), key=lambda k: _place(blobs[k]))
    starts = np.cumsum([0, *(len(blobs[k][1]) for k in order)]).tolist()
    offsets = dict(zip(order, starts, strict=False))
    return [offsets[k] for k in range(len(blobs))]


def _cells(mesh: Mesh) -> dict[str, NDArray[Any]]:
    blocks = {kind: block for kind, block in mesh.cells.items() if len(block)}
    sizes = np.repeat([block.shape[1] for block in blocks.values()], [len(block) for block in blocks.values()])
    numbers = [7 if kind.startswith("polygon") else _number(kind) for kind in blocks]
    ends = np.cumsum(sizes, dtype=np.int64)
    small = not len(ends) or ends[-1] < 2**31
    return {
        "connectivity": np.concatenate([np.empty(0, np.int32), *(block.ravel() for block in blocks.values())]),
        "offsets": ends.astype(np.int32) if small else ends,
        "types": np.repeat(np.array(numbers, np.uint8), [len(block) for block in blocks.values()]),
    }


def _number(kind: str) -> int:
    if kind not in NUMBERS:
        raise InputError(f"cannot be written, cells of type {kind!r} have no place in a .vtu file")
    return NUMBERS[kind]


def _plain(field: NDArray[Any]) -> NDArray[Any]:
    """Give a field a type that VTK knows."""
    if field.dtype.kind == "b":
        return field.astype(np.uint8)
    if field.dtype.kind == "f" and field.dtype.itemsize not in (4, 8):
        return field.astype(np.float64)
    return field


def _type(array: NDArray[Any]) -> str:
    names = {"f": "Float", "i": "Int", "u": "UInt"}
    return f"{names[array.dtype.kind]}{8 * array.dtype.itemsize}"


def _quoted(name: str) -> str:
    if any(ord(letter) < 32 and letter not in "\t\n\r" for letter in name) or "\ufffe" in name or "\uffff" in name:
        raise InputError(f"cannot be written, the name {name!r} of a field has letters that XML does not have")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"cannot be written, the name {name!r} of a field is not valid Unicode") from None
    return quoteattr(name)


def _little(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


def _raw(array: NDArray[Any]) -> bytes:
    data = _little(array)
    return len(data).to_bytes(8, "little") + data


def _packed(array: NDArray[Any]) -> bytes:
    data = _little(array)
    blocks = [zlib.compress(data[k : k + _BLOCK], _LEVEL) for k in range(0, len(data), _BLOCK)]
    header = [len(blocks), _BLOCK, len(data) % _BLOCK, *map(len, blocks)]
    return b"".join(number.to_bytes(8, "little") for number in header) + b"".join(blocks)

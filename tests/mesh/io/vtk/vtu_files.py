"""VTK XML files in every form that the format allows, built by hand for the tests of the reader."""

import base64
import lzma
import zlib

import numpy as np

COMPRESSORS = {"zlib": zlib.compress, "lzma": lzma.compress}
NAMES = {"zlib": "vtkZLibDataCompressor", "lzma": "vtkLZMADataCompressor", "lz4": "vtkLZ4DataCompressor"}


def type_name(array):
    return {"f": "Float", "i": "Int", "u": "UInt"}[array.dtype.kind] + str(8 * array.dtype.itemsize)


class Builder:
    """Builds a file out of arrays.

    Parameters
    ----------
    form : "ascii", "binary", "raw" or "base64"
        The last two are appended.
    compressor : None, "zlib" or "lzma"
    header : "UInt32", "UInt64" or None, which means UInt32
    order : "<" or ">"
    version : str
    block : int
        Bytes of a compressed block.
    together : bool
        Uncompressed base64 with header and data as one text, as VTK does, and not as two.
    """

    def __init__(self, form, compressor=None, header="UInt64", order="<", version="1.0", block=64, together=True):
        self.form, self.compressor, self.header, self.order = form, compressor, header, order
        self.version, self.block, self.together = version, block, together
        self.appended = b""

    def array(self, values, name="", **attributes):
        values = np.asarray(values)
        width = {"NumberOfComponents": values.shape[1]} if values.ndim == 2 else {}
        inline = self.form in ("ascii", "binary")
        attributes = {"type": type_name(values), "Name": name, **width, **attributes}
        attributes["format"] = self.form if inline else "appended"
        if inline:
            text = b"\n" + self.payload(values) + b"\n"
        else:
            attributes["offset"] = len(self.appended)
            self.appended += self.payload(values)
            text = b""
        written = " ".join(f'{key}="{value}"' for key, value in attributes.items())
        return f"<DataArray {written}>".encode() + text + b"</DataArray>\n"

    def payload(self, values):
        if self.form == "ascii":
            return " ".join(repr(value) for value in values.ravel().tolist()).encode()
        data = values.astype(values.dtype.newbyteorder(self.order)).tobytes()
        size = self.order + ("u8" if self.header == "UInt64" else "u4")
        if self.compressor is None:
            header = np.array([len(data)], size).tobytes()
        else:
            parts = [data[k : k + self.block] for k in range(0, len(data), self.block)]
            packed = [COMPRESSORS[self.compressor](part) for part in parts]
            header = np.array([len(parts), self.block, len(data) % self.block, *map(len, packed)], size).tobytes()
            data = b"".join(packed)
        if self.form == "raw":
            return header + data
        if self.compressor is None and self.together:
            return base64.b64encode(header + data)
        return base64.b64encode(header) + base64.b64encode(data)

    def file(self, body, kind="UnstructuredGrid"):
        order = "LittleEndian" if self.order == "<" else "BigEndian"
        header = f' header_type="{self.header}"' if self.header else ""
        packer = f' compressor="{NAMES[self.compressor]}"' if self.compressor else ""
        attributes = f'type="{kind}" version="{self.version}" byte_order="{order}"{header}{packer}'
        head = f'<?xml version="1.0"?>\n<VTKFile {attributes}>'
        encoding = {"raw": b"raw", "base64": b"base64"}.get(self.form)
        appended = (
            b'<AppendedData encoding="%s">\n_' % encoding + self.appended + b"\n</AppendedData>" if encoding else b""
        )
        return head.encode() + f"\n<{kind}>\n".encode() + body + f"\n</{kind}>\n".encode() + appended + b"</VTKFile>\n"

    def grid(self, points, types, offsets, connectivity, fields=None, cell_fields=None):
        """One piece of an unstructured grid."""
        return (
            f'<Piece NumberOfPoints="{len(points)}" NumberOfCells="{len(types)}">'.encode()
            + self.section("PointData", fields or {})
            + self.section("CellData", cell_fields or {})
            + self.section("Points", {"Points": points})
            + self.section("Cells", {"connectivity": connectivity, "offsets": offsets, "types": types})
            + b"</Piece>\n"
        )

    def surface(self, points, lists, fields=None, cell_fields=None):
        """One piece of a PolyData; lists by "Verts", "Lines", "Strips", "Polys"."""
        counts = "".join(f' NumberOf{kind}="{len(cells)}"' for kind, cells in lists.items())
        piece = f'<Piece NumberOfPoints="{len(points)}"{counts}>'.encode()
        piece += self.section("PointData", fields or {}) + self.section("CellData", cell_fields or {})
        piece += self.section("Points", {"Points": points})
        for kind, cells in lists.items():
            arrays = {"connectivity": np.concatenate(cells), "offsets": np.cumsum([len(cell) for cell in cells])}
            piece += self.section(kind, arrays)
        return piece + b"</Piece>\n"

    def section(self, tag, arrays):
        content = b"".join(self.array(values, name) for name, values in arrays.items())
        return f"<{tag}>\n".encode() + content + f"</{tag}>\n".encode()

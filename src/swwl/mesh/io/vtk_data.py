"""The numbers of a VTK XML file: text, base64 or raw bytes, inline or appended, compressed or not -> arrays.

``vtk_xml.py`` says where they are, ``vtu.py`` what they mean.
"""

from __future__ import annotations

import binascii
import lzma
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MissingPackageError
from swwl.mesh.io.base64 import decode
from swwl.mesh.io.limits import Budget
from swwl.mesh.io.vtk_xml import Element

_TYPES = {
    f"{sign}Int{bits}": f"{letter}{bits // 8}" for sign, letter in (("", "i"), ("U", "u")) for bits in (8, 16, 32, 64)
}
_TYPES |= {"Float32": "f4", "Float64": "f8"}
_LARGEST = 2**31 - 1
_MOST_LZMA = 256 * 2**20  # memory that unpacking may take: four times that of the strongest usual preset
_SPACE = b" \t\r\n"
_NUMBERS = b"0123456789+-.eE \t\r\n" + b"naifNAIFty"  # digits and the letters of nan, inf, infinity


class _Raw:
    """Bytes as they are, from one place of a file to another."""

    def __init__(self, data: memoryview, start: int, end: int):
        self._data, self._position, self._end = data, start, end

    def read(self, count: int, what: str) -> memoryview:
        """Return the next bytes."""
        start = self._position
        if count > self._end - start:
            raise _cut_off(what, count, self._end - start)
        self._position = start + count
        return self._data[start : start + count]


class _Base64:
    """Bytes as base64 text; a header and the data behind it are one text, or two where the first ends in ``=``."""

    def __init__(self, text: memoryview, start: int, end: int):
        self._text, self._position, self._end = text, start, end
        self._rest = memoryview(b"")

    def read(self, count: int, what: str) -> memoryview:
        """Return the next bytes."""
        missing = count - len(self._rest)
        if missing > 0:
            length = -(-missing // 3) * 4
            if length > self._end - self._position:
                raise _cut_off(what, count, (self._end - self._position) * 3 // 4)
            piece = self._text[self._position : self._position + length]
            self._position += length
            try:
                decoded = decode(piece)
            except binascii.Error as error:
                raise InputError(f"it is damaged: {what} is not base64 ({error})") from None
            if len(decoded) < missing:
                raise _cut_off(what, count, len(decoded))
            whole = memoryview(b"".join([self._rest, decoded])) if len(self._rest) else decoded
            self._rest = whole[count:]
            return whole[:count]
        found, self._rest = self._rest[:count], self._rest[count:]
        return found


def _cut_off(what: str, wanted: int, there: int) -> InputError:
    return InputError(f"it is cut off or damaged: {what} takes {wanted} bytes, but {there} are left")


class Decoder:
    """Turns the elements ``<DataArray>`` of one file into arrays.

    Parameters
    ----------
    data : bytes
        The file.
    root : Element
        ``<VTKFile>``.
    appended : Element or None
        ``<AppendedData>``.
    """

    def __init__(self, data: bytes, root: Element, appended: Element | None):
        self._data = data
        self._view = memoryview(data)
        self._appended = appended
        self._budget = Budget(len(data))
        order = root.attributes.get("byte_order", "LittleEndian" if sys.byteorder == "little" else "BigEndian")
        if order not in ("LittleEndian", "BigEndian"):
            raise InputError(f"its byte_order is {order[:40]!r}, not LittleEndian or BigEndian")
        self._order = "<" if order == "LittleEndian" else ">"
        header = root.attributes.get("header_type", "UInt32")
        if header not in ("UInt32", "UInt64"):
            raise InputError(f"its header_type is {header[:40]!r}, not UInt32 or UInt64")
        self._header = np.dtype(self._order + _TYPES[header])
        self._compressor = root.attributes.get("compressor", "")

    @staticmethod
    def is_numeric(array: Element) -> bool:
        """Whether an array holds numbers, and not texts or bits."""
        return array.attributes.get("type", "") in _TYPES

    def array(self, array: Element, count: int | None, what: str, *, nodes: bool = False) -> NDArray[Any]:
        """Return the numbers of an array, read-only and without a copy where that can be.

        Parameters
        ----------
        array : Element
        count : int or None
            How many there must be, if that is known.
        what : str
            What to call them in messages.
        nodes : bool
            They are numbers of nodes: 64-bit ones that are unpacked may be made 32-bit ones on the way.

        Returns
        -------
        ndarray of shape (count,)
        """
        dtype = self._dtype(array, what)
        form = array.attributes.get("format", "")
        if form == "ascii":
            values = self._ascii(array, dtype, what)
        else:
            stream = self._stream(array, form, what)
            read = self._unpacked if self._compressor else self._plain
            values = read(stream, dtype, count, nodes and dtype.kind in "iu" and dtype.itemsize == 8, what)
        if count is not None and len(values) != count:
            raise InputError(f"{what} has {len(values)} numbers instead of {count}")
        if not (values.flags.aligned and values.dtype.isnative):
            values = values.astype(dtype.newbyteorder("="))
        values.setflags(write=False)
        return values

    def declared(self, array: Element, what: str) -> int | None:
        """Return how many numbers an array says it has, without reading them; None where it does not say."""
        dtype = self._dtype(array, what)
        form = array.attributes.get("format", "")
        if form == "ascii":
            return None
        stream = self._stream(array, form, what)
        size = self._layout(stream, what)[0] if self._compressor else self._integers(stream, 1, what)[0]
        return size // dtype.itemsize

    def _dtype(self, array: Element, what: str) -> np.dtype[Any]:
        name = array.attributes.get("type", "none")
        if name not in _TYPES:
            raise InputError(f"{what} is of type {name[:40]!r}, not one of numbers")
        return np.dtype(self._order + _TYPES[name])

    def _text(self, array: Element) -> tuple[memoryview, int, int]:
        """Return where the text of an element is: in the file, or in a copy where children stand in between."""
        spans = [(start, end) for start, end in map(self._trimmed, array.texts) if start < end]
        if len(spans) == 1:
            return (self._view, *spans[0])
        text = b" ".join(self._data[start:end] for start, end in spans)
        return memoryview(text), 0, len(text)

    def _trimmed(self, span: tuple[int, int]) -> tuple[int, int]:
        start, end = span
        while start < end and self._data[start] in _SPACE:
            start += 1
        while start < end and self._data[end - 1] in _SPACE:
            end -= 1
        return start, end

    def _ascii(self, array: Element, dtype: np.dtype[Any], what: str) -> NDArray[Any]:
        view, start, end = self._text(array)
        text = bytes(view[start:end])
        strange = text.translate(None, _NUMBERS)
        if strange:
            raise InputError(f"{what} holds {strange[:20]!r} among its numbers")
        if not text:
            return np.empty(0, dtype)
        self._budget.take(len(text) // 2 * dtype.itemsize)
        try:
            with np.errstate(all="ignore"):
                values: NDArray[Any] = np.fromstring(text, dtype.newbyteorder("="), sep=" ")
        except ValueError:  # older versions of NumPy stop there, and the count tells
            raise InputError(f"{what} holds something else than numbers") from None
        values.setflags(write=False)
        return values

    def _stream(self, array: Element, form: str, what: str) -> _Raw | _Base64:
        if form == "binary":
            return self._inline(array)
        if form != "appended":
            raise InputError(f"{what} has format {form[:40]!r}, not ascii, binary or appended")
        if self._appended is None:
            raise InputError(f"{what} is said to be appended, but the file has no <AppendedData> (is it cut off?)")
        offset = array.integer("offset")
        ((start, end),) = self._appended.texts
        if offset >= end - start:
            raise InputError(f"it is cut off or damaged: {what} begins at byte {offset} of {end - start} appended ones")
        encoding = self._appended.attributes.get("encoding", "")
        if encoding == "raw":
            return _Raw(self._view, start + offset, end)
        if encoding == "base64":
            return _Base64(self._view, start + offset, end)
        raise InputError(f"its appended data are encoded as {encoding[:40]!r}, not raw or base64")

    def _inline(self, array: Element) -> _Base64:
        view, start, end = self._text(array)
        data: Any = view.obj
        if any(data.find(letter, start, end) >= 0 for letter in _SPACE):
            text = b"".join(bytes(view[start:end]).split())
            return _Base64(memoryview(text), 0, len(text))
        return _Base64(view, start, end)

    def _integers(self, stream: _Raw | _Base64, count: int, what: str) -> list[int]:
        numbers = np.frombuffer(stream.read(count * self._header.itemsize, f"the header of {what}"), self._header)
        integers: list[int] = numbers.tolist()
        return integers

    def _plain(
        self, stream: _Raw | _Base64, dtype: np.dtype[Any], count: int | None, narrow: bool, what: str
    ) -> NDArray[Any]:
        """Read what is not compressed: its size in bytes, then the bytes."""
        (size,) = self._integers(stream, 1, what)
        _check_size(size, dtype, count, what)
        return np.frombuffer(stream.read(size, what), dtype) if size else np.empty(0, dtype)

    def _layout(self, stream: _Raw | _Base64, what: str) -> tuple[int, int, int]:
        """Return the number of bytes that compressed data unpack to, that of each block of them, and of blocks."""
        (n_blocks,) = self._integers(stream, 1, what)
        if n_blocks == 0:
            return 0, 0, 0
        size, last = self._integers(stream, 2, what)
        return (n_blocks - 1) * size + (last or size), size, n_blocks

    def _unpacked(
        self, stream: _Raw | _Base64, dtype: np.dtype[Any], count: int | None, narrow: bool, what: str
    ) -> NDArray[Any]:
        """Read what is compressed: numbers of blocks and sizes, then the blocks."""
        total, size, n_blocks = self._layout(stream, what)
        _check_size(total, dtype, count, what)
        if size % dtype.itemsize:
            raise InputError(f"{what} comes in blocks of {size} bytes, which do not make whole numbers")
        lengths = self._integers(stream, n_blocks, what) if n_blocks else []
        self._budget.take(total)
        unpack = _unpacker(self._compressor)
        packed = stream.read(sum(lengths), what)  # all at once: blocks are short, and each start takes time
        values = np.empty(total // dtype.itemsize, np.int32 if narrow else dtype)
        done = 0
        for end, length in zip(np.cumsum(lengths, dtype=np.int64).tolist(), lengths, strict=True):
            expected = min(size, total - done)
            block = _unpack(unpack, packed[end - length : end], expected, what)
            numbers = np.frombuffer(block, dtype)
            if narrow and len(numbers) and numbers.view(f"{dtype.byteorder}u8").max() > _LARGEST:
                raise InputError(f"{what} names a node beyond {_LARGEST}")
            start = done // dtype.itemsize
            values[start : start + len(numbers)] = numbers
            done += expected
        return values


def _unpack(unpack: Callable[[memoryview, int], bytes], packed: memoryview, size: int, what: str) -> bytes:
    try:
        block = unpack(packed, size)
    except Exception as error:  # LZ4 has one of its own
        raise InputError(f"it is damaged: {what} cannot be unpacked ({error})") from None
    if len(block) != size:
        raise InputError(f"it is damaged: a part of {what} unpacks to {len(block)} bytes instead of {size}")
    return block


def _check_size(size: int, dtype: np.dtype[Any], count: int | None, what: str) -> None:
    if size % dtype.itemsize:
        raise InputError(f"{what} has {size} bytes, which do not make numbers of {dtype.itemsize} bytes")
    if count is not None and size != count * dtype.itemsize:
        raise InputError(f"{what} has {size // dtype.itemsize} numbers instead of {count}")


def _zlib(data: memoryview, size: int) -> bytes:
    # One byte more than declared shows a block that is too long, without unpacking all of it.
    return zlib.decompressobj().decompress(data, size + 1)


def _lzma(data: memoryview, size: int) -> bytes:
    return lzma.LZMADecompressor(memlimit=_MOST_LZMA).decompress(data, size + 1)


def _unpacker(compressor: str) -> Callable[[memoryview, int], bytes]:
    if compressor == "vtkZLibDataCompressor":
        return _zlib
    if compressor == "vtkLZMADataCompressor":
        return _lzma
    if compressor != "vtkLZ4DataCompressor":
        raise InputError(f"it is compressed by {compressor[:60]!r}, which is not known")
    try:
        from lz4.block import decompress
    except ImportError:
        raise MissingPackageError(
            "it is compressed by LZ4, which takes the package lz4 (pip install 'swwl[lz4]'); "
            "ParaView saves it with another compressor, or without, when asked to"
        ) from None
    return lambda data, size: bytes(decompress(data, uncompressed_size=size))

"""VTK's XML: the elements of a file, and the numbers in them.

:func:`parse` finds elements and where their text is, without a copy of it; a :class:`Decoder` makes arrays of numbers
that are text, base64 or raw bytes, inline or appended, compressed or not. ``vtu.py`` knows what they mean.
"""

from __future__ import annotations

import binascii
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MissingPackageError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.io.shared import Budget

# With a table for every two characters base64 is decoded three times as fast as by the standard library, which makes
# reading a file of uncompressed base64 a third faster (80 000 triangles: 36 and 55 ms); compressed files gain little.
# Below this length the tables cost more than they save.
_SHORT = 4096
_CHUNK = 2**17  # characters that are decoded at a time, so that all of it stays in the second-level cache
_BAD = np.uint32(2**31)


def decode(text: memoryview) -> memoryview:
    """Decode base64 without blanks; anything else in it is a ``binascii.Error``.

    Examples
    --------
    >>> bytes(decode(memoryview(b"TWVzaA==")))
    b'Mesh'
    """
    if len(text) < _SHORT or sys.byteorder != "little":
        return memoryview(binascii.a2b_base64(text, strict_mode=True))
    body = (len(text) // 16 - 1) * 16  # padding is in the rest
    tail = binascii.a2b_base64(text[body:], strict_mode=True)
    data = np.empty(body // 4 * 3 + len(tail), np.uint8)
    data[body // 4 * 3 :] = np.frombuffer(tail, np.uint8)
    words = data[: body // 4 * 3].view(np.uint32).reshape(-1, 3)
    pairs = np.frombuffer(text, np.uint16, body // 2).reshape(-1, 8)
    for start in range(0, len(words), _CHUNK // 16):
        _decode_words(pairs[start : start + _CHUNK // 16], words[start : start + _CHUNK // 16])
    return data.data


def _decode_words(pairs: NDArray[np.uint16], words: NDArray[np.uint32]) -> None:
    """Decode 16 characters (as 8 pairs) at a time to 12 bytes (as 3 words)."""
    upper, lower = _tables()
    columns = np.ascontiguousarray(pairs.T)
    # Each is three bytes, in the lower part of a word.
    a, b, c, d = (
        upper.take(columns[2 * k], mode="wrap") | lower.take(columns[2 * k + 1], mode="wrap") for k in range(4)
    )
    if (a | b | c | d).max() >= _BAD:
        raise binascii.Error("Only base64 data is allowed")
    words[:, 0] = a | (b << np.uint32(24))
    words[:, 1] = (b >> np.uint32(8)) | (c << np.uint32(16))
    words[:, 2] = (c >> np.uint32(16)) | (d << np.uint32(8))


@cache
def _tables() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """For two characters as one 16-bit number: what they give to three bytes if they come first, and if second."""
    code = np.full(256, _BAD, np.uint32)
    code[np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)] = range(64)
    number = np.arange(2**16)
    first, second = code[number & 255], code[number >> 8]
    bad = (first | second) & _BAD
    bits = ((first << np.uint32(6)) | second) & np.uint32(0xFFF)
    upper = (bits >> np.uint32(4)) | ((bits & np.uint32(15)) << np.uint32(12))
    lower = ((bits >> np.uint32(8)) << np.uint32(8)) | ((bits & np.uint32(255)) << np.uint32(16))
    return upper | bad, lower | bad


_TAG = re.compile(rb"""<(?:[^"'<>]++|"[^"]*+"|'[^']*+')*+>""")
_APPENDED = re.compile(rb"<AppendedData[\s>]")


# More than any program writes; every element takes a hundred times the memory of its shortest tag.
_MOST_ELEMENTS = 100_000


@dataclass(slots=True)
class Element:
    """An element: where its text begins and ends in the file, and what it holds."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    texts: list[tuple[int, int]] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[Element]:
        """Yield its children of these tags."""
        return (child for child in self.children if child.tag in tags)

    def first(self, tag: str) -> Element | None:
        """Return its first child of a tag, or None."""
        return next(self.all(tag), None)

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an attribute that is a number of things."""
        value = self.attributes.get(name)
        if value is None and default is not None:
            return default
        if value is None:
            raise InputError(f"its <{self.tag}> has no {name}")
        try:
            number = int(value)
        except ValueError:
            number = -1
        if number < 0:
            raise InputError(f"its <{self.tag}> has {name}={value[:40]!r}, which is not a count")
        return number


def parse(data: bytes) -> tuple[Element, Element | None]:
    """Read the elements of a file.

    Returns
    -------
    root : Element
    appended : Element or None
        ``<AppendedData>``, whose text begins after the underscore and ends with the file.

    Examples
    --------
    >>> root, _ = parse(b'<VTKFile type="x"><Piece/> <!-- two < three --> 7 </VTKFile>')
    >>> root.attributes, [child.tag for child in root.children]
    ({'type': 'x'}, ['Piece'])
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[:2] in (b"<\0", b"\0<"):
        raise InputError("it is XML in UTF-16, and VTK's files are in UTF-8")
    reader = _Parser()
    position = 0
    while True:
        start = data.find(b"<", position)
        if start < 0:
            break
        reader.text(position, start)
        if data.startswith((b"<!--", b"<?"), start):
            position = _after(data, start, b"-->" if data[start + 1 : start + 2] == b"!" else b"?>")
            if data.startswith(b"<?xml", start):
                reader.feed(data[start:position])
            continue
        if data.startswith(b"<!", start):
            raise InputError("it holds a DOCTYPE or CDATA, which mesh files do not have")
        tag = _TAG.match(data, start)
        if tag is None:
            raise InputError(f"it ends inside a tag, or a tag is damaged (at byte {start})")
        position = tag.end()
        reader.feed(tag.group())
        if _APPENDED.match(data, start):
            underscore = data.find(b"_", position)
            if underscore < 0 or data[position:underscore].strip():
                raise InputError("the data after its <AppendedData> do not begin with an underscore")
            return reader.cut(underscore + 1, len(data))
    return reader.end()


def _after(data: bytes, start: int, mark: bytes) -> int:
    end = data.find(mark, start)
    if end < 0:
        raise InputError(f"it ends inside a comment (at byte {start})")
    return end + len(mark)


class _Parser:
    """Builds elements of the tags that expat has found to be well formed."""

    def __init__(self) -> None:
        self._root = Element("", {})
        self._open = [self._root]
        self._count = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes)
        self._count += 1
        if self._count > _MOST_ELEMENTS:
            raise InputError(f"it has more than {_MOST_ELEMENTS} elements")
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def feed(self, data: bytes, final: bool = False) -> None:
        try:
            self._parser.Parse(data, final)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, str(error))
            if final:
                reason = "it ends before its last element does" if len(self._open) > 1 else "it has no elements"
            raise InputError(f"it is not well-formed XML ({reason})") from None
        except LookupError as error:
            raise InputError(f"it is XML of an {error}") from None

    def text(self, start: int, end: int) -> None:
        if end > start:
            self._open[-1].texts.append((start, end))

    def end(self) -> tuple[Element, None]:
        self.feed(b"", final=True)
        return self._root.children[0], None

    def cut(self, start: int, end: int) -> tuple[Element, Element]:
        appended = self._open[-1]
        appended.texts.append((start, end))
        return self._root.children[0], appended


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

    def array(self, array: Element, count: int | None, what: str, *, nodes: bool = False) -> AnyArray:
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

    def _ascii(self, array: Element, dtype: np.dtype[Any], what: str) -> AnyArray:
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
                values: AnyArray = np.fromstring(text, dtype.newbyteorder("="), sep=" ")
        except ValueError:  # older versions of NumPy stop there, and the count tells
            raise InputError(f"{what} holds something other than numbers") from None
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
    ) -> AnyArray:
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
    ) -> AnyArray:
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
        raise InputError(f"it is compressed by {compressor[:60]!r}, which is not supported")
    try:
        from lz4.block import decompress
    except ImportError:
        raise MissingPackageError(
            "it is compressed by LZ4, which needs the package lz4 (pip install 'swwl[lz4]'); "
            "ParaView can save it with another compressor, or without"
        ) from None
    return lambda data, size: bytes(decompress(data, uncompressed_size=size))

"""One file of an OpenFOAM case: its header, lists of numbers as text or binary, plain or gzipped, and dictionaries.

``case.py`` knows which files there are and what they mean.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MissingFileError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.io.shared import Budget

_SPACE = re.compile(rb"(?:\s++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_HEADER = re.compile(rb"FoamFile\s*\{([^{}]*+)\}")
_ENTRY = re.compile(rb'(\w++)\s++("[^"]*+"|[^;]*+);')
_COUNT = re.compile(rb"(\d{1,18})")
_TOKEN = re.compile(rb'[{};()]|"[^"]*+"|[^\s{};()"]++')
_NUMBERS = b"0123456789+-.eEinfatyINFATY \t\r\n()"
_NO_BRACKETS = bytes.maketrans(b"()", b"  ")


@dataclass
class FoamFile:
    """A file that has been read: its bytes from ``place`` on, its class, and how its numbers are written."""

    data: bytes
    place: int
    kind: str
    binary: bool
    label: np.dtype[np.signedinteger]
    scalar: np.dtype[np.floating]
    budget: Budget

    def skip(self) -> None:
        """Go past white space and comments."""
        match = _SPACE.match(self.data, self.place)
        self.place = match.end() if match else self.place

    def word(self, *expected: bytes) -> bool:
        """Go past one of some words or signs, if it is next."""
        self.skip()
        for one in expected:
            if self.data.startswith(one, self.place):
                self.place += len(one)
                return True
        return False

    def labels(self, what: str) -> NDArray[np.int64]:
        """Read a list of integers, (n,)."""
        return self._list(1, self.label, what)[:, 0].astype(np.int64)

    def scalars(self, width: int, what: str) -> AnyArray:
        """Read a list of numbers, vectors or tensors, (n, width)."""
        return self._list(width, self.scalar, what)

    def _list(self, width: int, dtype: np.dtype[np.generic], what: str) -> AnyArray:
        count = self.count(what)
        if self.word(b"{"):  # all alike
            end = self.data.find(b"}", self.place)
            row = self._parsed(self.data[self.place : max(end, self.place)], width, dtype, what)
            if len(row) != 1 or end < 0:
                raise InputError(f"{what} is damaged: one value for all is expected in {{}}")
            self.place = end + 1
            self.budget.take(count * width * dtype.itemsize)
            return np.repeat(row, count, axis=0)
        if not count:
            if self.word(b"("):
                self.word(b")")
            return np.empty((0, width), dtype.newbyteorder("="))
        if not self.word(b"("):
            raise InputError(f"{what} has no list of numbers where one is expected")
        if self.binary:
            size = count * width * dtype.itemsize
            if size > len(self.data) - self.place:
                raise _cut_off(what, count)
            values = np.frombuffer(self.data, dtype, count * width, self.place).reshape(count, width)
            self.place += size
            if not self.word(b")"):
                raise InputError(f"{what} does not end where it should: label or scalar sizes differ from its header")
            return values.astype(dtype.newbyteorder("="))
        end = self._end(count, width, what)
        values = self._parsed(self.data[self.place : end], width, dtype, what)
        if len(values) != count:
            raise InputError(f"{what} declares {count} entries, but has {len(values)} (is it cut off?)")
        self.place = end + 1
        return values

    def _end(self, count: int, width: int, what: str) -> int:
        """Return where the bracket is that closes a list; entries of several numbers have brackets of their own."""
        if width == 1:
            end = self.data.find(b")", self.place)
        else:
            match = re.compile(rb"\)\s*+\)").search(self.data, self.place)
            end = match.end() - 1 if match else -1
        if end < 0:
            raise _cut_off(what, count)
        return end

    def _parsed(self, text: bytes, width: int, dtype: np.dtype[np.generic], what: str) -> AnyArray:
        self.budget.take(len(text) // 2 * dtype.itemsize)
        strange = text.translate(None, _NUMBERS)
        if strange:
            raise InputError(f"{what} holds {strange[:20]!r} among its numbers")
        if not text.strip():
            return np.empty((0, width), dtype.newbyteorder("="))
        try:
            with np.errstate(all="ignore"):
                plain = text.translate(_NO_BRACKETS)
                values: AnyArray = np.fromstring(plain, dtype.newbyteorder("="), sep=" ")
        except (ValueError, DeprecationWarning):
            raise InputError(f"{what} holds something other than numbers") from None
        if len(values) % width:
            raise InputError(f"{what} has {len(values)} numbers, not {width} for each entry")
        return values.reshape(-1, width)

    def count(self, what: str) -> int:
        """Read how many entries follow."""
        self.skip()
        match = _COUNT.match(self.data, self.place)
        if match is None:
            found = self.data[self.place : self.place + 20]
            raise InputError(f"{what} has {found!r} where the number of its entries is expected")
        self.place = match.end()
        return int(match[1])

    def faces(self, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read a list of faces: where each one's nodes begin, (n + 1,), and the nodes."""
        if self.kind == "faceCompactList":
            starts, nodes = self.labels(what), self.labels(what)
        else:
            count = self.count(what)
            if self.binary or not self.word(b"("):
                raise InputError(f"{what} is not a list of faces")
            match = re.compile(rb"\)\s*+\)").search(self.data, self.place)
            end = match.end() - 1 if match else -1
            if end < 0:
                raise _cut_off(what, count)
            flat = self._parsed(self.data[self.place : end], 1, self.label, what)[:, 0].astype(np.int64)
            starts, nodes = _counted(flat, count, what)
        if not len(starts) or starts[0] != 0 or (np.diff(starts) < 3).any() or starts[-1] != len(nodes):
            raise InputError(f"{what} is damaged: every face has at least three nodes")
        return starts, nodes


def _counted(flat: NDArray[np.int64], count: int, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Take lists apart, each of which begins with its length."""
    if count > len(flat):
        raise _cut_off(what, count)
    sizes = flat[:1]
    if count and len(flat) == count * (int(sizes[0]) + 1) and (flat[:: int(sizes[0]) + 1] == sizes[0]).all():
        width = int(sizes[0]) + 1
        return np.arange(count + 1) * (width - 1), flat.reshape(count, width)[:, 1:].ravel()
    values, place = flat.tolist(), 0
    heads: list[int] = []
    while place < len(values) and len(heads) <= count:
        heads.append(place)
        place += max(values[place], 0) + 1
    if place != len(values) or len(heads) != count:
        raise InputError(f"{what} declares {count} faces, but has others (is it cut off?)")
    starts = np.concatenate([[0], np.cumsum(flat[heads])]).astype(np.int64)
    return starts, np.delete(flat, heads)


def _cut_off(what: str, count: int) -> InputError:
    return InputError(f"{what} declares {count} entries, but is cut off")


def found(path: Path) -> Path | None:
    """Return a file, or its gzipped form, whichever is there; None if neither is."""
    packed = path.with_name(path.name + ".gz")
    return next((one for one in (path, packed) if one.is_file()), None)


def open_foam(path: Path) -> FoamFile:
    """Read a file, plain or gzipped, up to the end of its header."""
    there = found(path)
    if there is None:
        raise MissingFileError(f"{path.name} does not exist.")
    data, budget = there.read_bytes(), Budget(there.stat().st_size)
    if data[:2] == b"\x1f\x8b":
        data = _unpacked(data, budget)
    match = _HEADER.search(data, 0, 20_000)
    if match is None:
        raise InputError("it does not begin with the header FoamFile { … }")
    entries = {key.decode(): value.decode("latin-1").strip().strip('"') for key, value in _ENTRY.findall(match[1])}
    arch = entries.get("arch", "")
    sizes = dict(part.split("=", 1) for part in arch.split(";") if "=" in part)
    order = ">" if "MSB" in arch else "<"
    bits = {name: sizes.get(name, default) for name, default in (("label", "32"), ("scalar", "64"))}
    if not {*bits.values()} <= {"32", "64"}:
        raise InputError(f"its header says arch {arch[:60]!r}, but labels and scalars have 32 or 64 bits")
    return FoamFile(
        data,
        match.end(),
        entries.get("class", ""),
        entries.get("format", "ascii") == "binary",
        np.dtype(f"{order}i{int(bits['label']) // 8}"),
        np.dtype(f"{order}f{int(bits['scalar']) // 8}"),
        budget,
    )


def _unpacked(data: bytes, budget: Budget) -> bytes:
    """Unpack a gzipped file, piece by piece so that it cannot grow beyond its budget."""
    parts = []
    unpacker = zlib.decompressobj(wbits=31)
    try:
        while data and not unpacker.eof:
            parts.append(unpacker.decompress(data, 2**22))
            budget.take(len(parts[-1]))
            data = unpacker.unconsumed_tail
    except zlib.error as error:
        raise InputError(f"its gzipped content is damaged ({error})") from None
    if not unpacker.eof:
        raise InputError("its gzipped content is cut off")
    return b"".join(parts)


def dictionaries(file: FoamFile) -> dict[str, dict[str, str]]:
    """Read a list of named dictionaries, such as ``boundary``; values are texts, and inner dictionaries are left out.

    Examples
    --------
    >>> text = b"1 ( inlet { type patch; inGroups 1(wall); nFaces 3; startFace 7; } )"
    >>> kind = np.dtype("<i4"), np.dtype("<f8")
    >>> dictionaries(FoamFile(text, 0, "polyBoundaryMesh", False, *kind, Budget(100)))
    {'inlet': {'type': 'patch', 'inGroups': '1 ( wall )', 'nFaces': '3', 'startFace': '7'}}
    """
    text = re.sub(rb"//[^\n]*+|/\*.*?\*/", b" ", file.data[file.place :], flags=re.DOTALL)
    tokens = iter([token.decode("latin-1") for token in _TOKEN.findall(text)])
    entries: dict[str, dict[str, str]] = {}
    name, depth = "", 0
    words: list[str] = []
    for token in tokens:
        if token == "{":
            depth += 1
            if depth == 1:
                name = words[-1].strip('"') if words else ""
                entries[name] = {}
            words = []
        elif token == "}":
            depth, words = depth - 1, []
        elif token == ";":
            if depth == 1 and len(words) > 1:
                entries[name][words[0]] = " ".join(words[1:])
            words = []
        else:
            words.append(token)
    return entries

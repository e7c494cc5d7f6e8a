"""The elements of a VTK XML file, without the data between them and without a walk over every byte of it.

Tags are picked out by their brackets and handed to expat alone; the text between them is known by its place. What
follows ``<AppendedData>`` need not be XML and is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from swwl.errors import InputError

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
    reader = _Reader()
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


class _Reader:
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

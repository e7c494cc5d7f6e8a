"""Base64 to bytes, twice as fast as the standard library and without holding its lock, for inline data of VTK files."""

from __future__ import annotations

import binascii
import sys
from functools import cache

import numpy as np
from numpy.typing import NDArray

# Below this the tables cost more than they save.
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

"""What readers share: how much memory a file may ask for, and what they say of files that they cannot read."""

from __future__ import annotations

from pathlib import Path

from swwl.errors import InputError

# What a file unpacks to is rarely more than ten times its size; a crafted one unpacks to a thousand times as much.
_MOST_RATIO = 20
# Small files may hold little but zeros.
_ALWAYS = 64 * 2**20


class UnsupportedError(InputError):
    """A sound file of a kind that this reader does not read; another one may."""


class Budget:
    """Bytes that the arrays of a file may take in memory, counted as they are asked for.

    Parameters
    ----------
    size : int
        Of the file, in bytes.

    Examples
    --------
    >>> Budget(1000).take(10**9)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: its arrays declare 1.0 GB, more than 20 times the size of the file (0.0 MB)
    """

    def __init__(self, size: int):
        self._size = size
        self._asked = 0
        self._most = _MOST_RATIO * size + _ALWAYS

    def take(self, n_bytes: int) -> None:
        """Ask for more, or say that it is too much."""
        self._asked += n_bytes
        if self._asked > self._most:
            declared = f"{self._asked / 1e9:.1f} GB" if self._asked < 1e18 else "an absurd number of bytes"
            raise InputError(
                f"its arrays declare {declared}, more than {_MOST_RATIO} times the size of the file "
                f"({self._size / 1e6:.1f} MB)"
            )


def refuse_empty(path: Path) -> None:
    """Say so if there is nothing in a file; some readers wait for its first line forever."""
    if not path.stat().st_size:
        raise InputError("the file is empty.")

"""Functions that serve files, found by the ending of a name: readers of ``io/``, writers of ``mesh.py``."""

from __future__ import annotations

from pathlib import PurePath
from typing import TypeVar

from swwl.errors import InputError

_Function = TypeVar("_Function")


class Endings(dict[str, _Function]):
    """Functions by endings such as ``".vtu"`` or ``".vol.gz"``, in small letters.

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
        raise InputError(f"the ending {path.suffix!r} is not known; known are {' '.join(sorted(self))}")

    def serves(self, path: PurePath) -> bool:
        """Whether there is a function for a file."""
        return any(ending in self for ending in _endings(path))


def _endings(path: PurePath) -> tuple[str, str]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:]), "".join(suffixes[-1:])

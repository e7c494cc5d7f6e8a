"""What readers of text files share: lines with the files they include, and nodes that are named by numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MeshWarning, MissingFileError
from swwl.mesh.arrays import AnyArray, release

_MOST_DEEP = 16


def text_of(path: Path) -> str:
    """Return the text of a file; letters beyond ASCII occur in comments and names alone, so any encoding will do."""
    text = path.read_bytes().decode("latin-1")
    if "\0" in text[:1000]:
        raise InputError("it is not a text file")
    return text


def included(path: Path, name: str, chain: Sequence[Path]) -> tuple[str, list[Path]]:
    """Return the text of a file that another one includes, and the files that led to it.

    Parameters
    ----------
    path : Path
        The file that names it, relative to itself.
    name : str
    chain : sequence of Path
        The files that are being read.
    """
    found = path.parent / name.strip().strip("'\"").replace("\\", "/")
    if not found.is_file():
        raise MissingFileError(f"it includes {name.strip()!r}, which does not exist.")
    if found.resolve() in [one.resolve() for one in chain] or len(chain) > _MOST_DEEP:
        raise InputError(f"it includes {name.strip()!r} recursively")
    return text_of(found), [*chain, found]


def places(ids: AnyArray, wanted: AnyArray) -> NDArray[np.int64]:
    """Return where in a list of node numbers the given ones are.

    Examples
    --------
    >>> places(np.array([10, 30, 20]), np.array([[20, 10]])).tolist()
    [[2, 0]]
    """
    order = np.argsort(ids, kind="stable")
    known = ids[order]
    twice = np.flatnonzero(known[1:] == known[:-1])
    if len(twice):
        raise InputError(f"its node {known[twice[0]]} is given twice")
    found = np.searchsorted(known, wanted)
    lost = (
        (found == len(known)) | (known[np.minimum(found, len(known) - 1)] != wanted) if len(known) else wanted == wanted
    )
    if lost.any():
        raise InputError(f"its cells name node {wanted[lost][0]}, which it does not have")
    return order[found]


def count_unknown(known: AnyArray, named: Sequence[int]) -> int:
    """Count the numbers that a set names and that no node or element has.

    Examples
    --------
    >>> count_unknown(np.array([10, 30, 20]), [10, 40, 50])
    2
    """
    return len({number for number in named if number > 0} - set(known[np.isin(known, named)].tolist()))


def tell_unknown(path: Path, lost: Mapping[str, int]) -> None:
    """Warn of sets that name nodes or elements that a file does not have; how many, by the names of sets."""
    told = [f"{name!r}: {count}" for name, count in lost.items() if count]
    if told:
        some = ", ".join(told[:5]) + ", …" * (len(told) > 5)
        warnings.warn(
            f"{path.name}: its sets name {sum(lost.values())} nodes or elements that it does not have, which are left "
            f"out ({some}).",
            MeshWarning,
            stacklevel=2,
        )


def blocks_of(cells: Iterable[tuple[str, Sequence[int]]], ids: AnyArray) -> list[tuple[str, NDArray[np.int64]]]:
    """Make arrays of cells that are given one by one: runs of one type become blocks, in the order of the file."""
    runs: list[tuple[str, list[Sequence[int]]]] = []
    for kind, nodes in cells:
        if not runs or runs[-1][0] != kind or len(runs[-1][1][-1]) != len(nodes):
            runs.append((kind, []))
        runs[-1][1].append(nodes)
    return [(kind, release(places(ids, np.array(run, np.int64)))) for kind, run in runs]


def integers(words: Sequence[str], what: str) -> list[int]:
    """Return words as integers, or say which is not one."""
    try:
        return [int(word) for word in words]
    except ValueError:
        raise InputError(f"{what} has {' '.join(words)[:60]!r} where integers are expected") from None


def floats(words: Sequence[str], what: str) -> list[float]:
    """Return words as numbers, or say which is not one; some programs write 1.5D3."""
    try:
        return [float(word.replace("D", "e").replace("d", "e")) for word in words]
    except ValueError:
        raise InputError(f"{what} has {' '.join(words)[:60]!r} where numbers are expected") from None

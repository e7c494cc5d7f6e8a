"""Times: which of them a reader takes, and paths that name one, ``flow.pvd@0.5``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from swwl.errors import InputError
from swwl.mesh.mesh import Mesh

Time: TypeAlias = float | str  # a number, "first", "last", or a mode such as "mode1"

_MODE = re.compile(r"mode(\d{1,9})")
_AT = re.compile(r"(.+)@(first|last|mode\d{1,9}|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)", re.DOTALL)
_NEAR = 1e-6
_MOST_NAMED = 8


class Series(NamedTuple):
    """How a format of several times is read: its ``times`` in order, and the mesh and fields at one, ``read``."""

    times: Callable[[Path], list[float]]
    read: Callable[[Path, Collection[str] | None, int], Mesh]
    modes: Callable[[Path], list[float]] | None = None  # frequencies of eigenmodes, which are no times
    read_mode: Callable[[Path, Collection[str] | None, int], Mesh] | None = None

    def read_at(self, path: Path, fields: Collection[str] | None, time: Time) -> Mesh:
        """Read a file at a time, or at a mode: by its number, "mode1", or its frequency."""
        mode = self._mode_of(path, time)
        if mode is None or self.read_mode is None:
            return self.read(path, fields, step_of(self.times(path), time))
        return self.read_mode(path, fields, mode)

    def _mode_of(self, path: Path, time: Time) -> int | None:
        named = _MODE.fullmatch(time) if isinstance(time, str) else None
        if named is None and isinstance(time, str):
            return None
        frequencies = [] if self.modes is None else self.modes(path)
        if named is not None:
            number = int(named[1])
            if not 1 <= number <= len(frequencies):
                has = f"it has modes 1 to {len(frequencies)}" if frequencies else "it has no eigenmodes"
                raise InputError(f"{time} is requested, but {has}")
            return number - 1
        if not frequencies or any(_is_near(own, float(time), [own]) for own in self.times(path)):
            return None
        return next((k for k, own in enumerate(frequencies) if _is_near(own, float(time), [own])), None)


def split_time(path: Path) -> tuple[Path, Time | None]:
    """Return the file of a path, and the time that it names after ``@``, if it does; files of such names have none.

    Examples
    --------
    >>> split_time(Path("flow.pvd@0.5"))[1], split_time(Path("flow.pvd"))[1]
    (0.5, None)
    """
    match = _AT.fullmatch(path.name)
    if match is None or path.exists():
        return path, None
    return path.with_name(match[1]), match[2] if match[2][0] in "flm" else float(match[2])


def without_time(name: str) -> str:
    """Return a path without the time that it names.

    Examples
    --------
    >>> without_time("meshes/flow.pvd@0.5")
    'meshes/flow.pvd'
    """
    match = _AT.fullmatch(name)
    return name if match is None else match[1]


def at_time(path: Path, time: Time) -> Path:
    """Return a path that names a time; one that names another keeps it, and the last of most needs no name.

    A file of a sample of PLAID is that of one time by itself.

    Examples
    --------
    >>> at_time(Path("flow.pvd"), 0.5).name, at_time(Path("flow.pvd"), "last").name
    ('flow.pvd@0.5', 'flow.pvd')
    """
    if (time == "last" and path.suffix.lower() != ".cgns") or split_time(path)[1] is not None:
        return path
    return path.with_name(f"{path.name}@{time if isinstance(time, str) else f'{time:.12g}'}")


def as_time(word: str) -> Time:
    """Return a time as it is written on the command line.

    Examples
    --------
    >>> as_time("0.5"), as_time("last")
    (0.5, 'last')
    """
    if word.strip().lower() in ("first", "last") or _MODE.fullmatch(word.strip().lower()):
        return word.strip().lower()
    if word.strip().lower() == "all":
        raise InputError("a model takes one time of each case, not all of them; give a number, first or last.")
    try:
        time = float(word)
    except ValueError:
        time = math.nan
    if not math.isfinite(time):
        raise InputError(f"time must be a number, first or last, not {word!r}.")
    return time


def step_of(times: Sequence[float], time: Time) -> int:
    """Return which of some times is meant, or say which there are.

    Examples
    --------
    >>> step_of([0.0, 0.5, 1.0], 0.5), step_of([0.0, 0.5, 1.0], "last")
    (1, -1)
    """
    if time in ("first", "last"):
        return 0 if time == "first" else -1
    if isinstance(time, str) or not math.isfinite(time):
        hint = "; read_series returns all of them" if time == "all" else ""
        raise InputError(f'time must be a number, "first" or "last", not {time!r}{hint}.')
    if not times:
        raise InputError(f"it has no times, so that time {time:g} does not apply")
    nearest = min(range(len(times)), key=lambda k: abs(times[k] - time))
    if not _is_near(times[nearest], time, times):
        raise InputError(f"it has no time {time:g}; its times are {said_times(times)}")
    return nearest


def _is_near(known: float, time: float, times: Sequence[float]) -> bool:
    return abs(known - time) <= _NEAR * max(abs(time), abs(times[-1] - times[0]), 1e-300)


def said_times(times: Sequence[float]) -> str:
    """Write times, at most eight of them.

    Examples
    --------
    >>> said_times([0.0, 0.5, 1.0]), said_times(range(100))
    ('0, 0.5, 1', '0, 1, 2, 3, …, 96, 97, 98, 99 (100 of them)')
    """
    words = [f"{time:.6g}" for time in times]
    if len(words) <= _MOST_NAMED:
        return ", ".join(words)
    half = _MOST_NAMED // 2
    return f"{', '.join(words[:half])}, …, {', '.join(words[-half:])} ({len(words)} of them)"

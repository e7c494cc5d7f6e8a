"""Long work on many items: threads, processes or a cluster by joblib; one BLAS thread per worker; progress.

Whatever the number of workers, results come in the order of the items and with the same bits.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

from swwl.errors import InputError

if TYPE_CHECKING:  # what shows no bar need not wait for rich
    from rich.progress import Progress as RichProgress

Progress = Callable[[int, int | None], None]
Given = TypeVar("Given")
Found = TypeVar("Found")

# Below so many rows a second BLAS thread gains a factor of two at best, and on a busy machine it loses ten
# (docs/scale.md): its threads wait for each other, and spin.
_FEW_ROWS = 2500
_LINE_EVERY = 5.0  # seconds between plain lines
_LEAST = 0.5  # seconds after which a rate means something: what is taken from memory has none
_WIDTH = 30


class _Limit:
    """The limit of BLAS, which is one for the whole process: the last that leaves restores what the first one found."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._found: Any = None

    def enter(self) -> None:
        with self._lock:
            limited = _controller().limit(limits=1, user_api="blas")  # again by each: some BLAS count by thread
            _let_go()
            if self._inside == 0:
                self._found = limited
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._found.restore_original_limits()
                _let_go()


def _let_go() -> None:
    """Let other threads of ours change the number: since threadpoolctl 3.8 it belongs to the one that did so first."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context in which BLAS runs in one thread.

    With several, it would fight our own threads for cores, and its results would depend on their number. Contexts may
    overlap, also those of several threads.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


def blas_threads(n_rows: int) -> AbstractContextManager[Any]:
    """Return a context in which BLAS runs in one thread if it works on matrices of few rows, and as it is otherwise.

    Examples
    --------
    >>> with blas_threads(300):
    ...     pass
    """
    return one_blas_thread() if n_rows < _FEW_ROWS else nullcontext()


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds, so it is done once.
    return ThreadpoolController()


def in_threads(function: Callable[[Given], Found], items: Iterable[Given], n_jobs: int | None) -> Iterator[Found]:
    """Yield what a function makes of every item, in their order, in threads that stay the same from first to last.

    Memory that a thread lets go of stays with it, so that new threads would need more. Items are drawn as threads
    become free; what yields them must not raise, or joblib hangs.

    Examples
    --------
    >>> list(in_threads(len, ["one", "three"], 2))
    [3, 5]
    """
    alone = n_jobs == 1 or (isinstance(items, Sized) and len(items) < 2)
    with one_blas_thread():
        if alone or (n_jobs is None and "joblib" not in sys.modules):  # where nobody can have asked it for more
            yield from map(function, items)
            return
        from joblib import Parallel, delayed  # here and below alone: a single prediction need not wait for joblib

        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", batch_size=1)
        yield from parallel(delayed(_alone)(function, item) for item in items)


def _alone(function: Callable[[Given], Found], item: Given) -> Found:
    with one_blas_thread():  # the context around all holds in this process, but not in workers
        return function(item)


def n_workers(n_jobs: int | None, most: int | None = None) -> int:
    """Return how many threads a number of jobs stands for by joblib's rules: one for None, one per core for -1.

    Where no more than a few are of use, the ``most``, joblib is not imported to tell.

    Examples
    --------
    >>> n_workers(None), n_workers(3), n_workers(3, most=2)
    (1, 3, 2)
    """
    if most is not None and n_jobs != 0 and "joblib" not in sys.modules:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        number = 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
    else:
        from joblib import effective_n_jobs

        number = effective_n_jobs(n_jobs)
    return number if most is None else min(number, most)


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse work that cannot fit into this machine's memory, before it begins.

    Examples
    --------
    >>> check_memory(10**18, "The embeddings")
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: The embeddings would take 1000000000.0 GB, but this machine has ... GB of memory.
    """
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not told on this system
        return
    if n_bytes > total:
        raise InputError(
            f"{what} would take {n_bytes / 1e9:.1f} GB, but this machine has {total / 1e9:.1f} GB of memory."
        )


def check_jobs(n_jobs: int) -> None:
    """Refuse a number of workers that is none.

    Examples
    --------
    >>> check_jobs(-1)
    >>> check_jobs(0)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: 0 workers cannot do anything; give a number of them, or -1 for one per core.
    """
    if n_jobs == 0:
        raise InputError("0 workers cannot do anything; give a number of them, or -1 for one per core.")


def each_once(items: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """Return the distinct items, in the order in which they first come, and the place of every item among them.

    Paths are the same if they are spelled the same; other objects if they are one and the same object.

    Examples
    --------
    >>> each_once(["a.vtu", "b.vtu", "a.vtu"])
    (['a.vtu', 'b.vtu'], [0, 1, 0])
    """
    distinct: list[Any] = []
    places: dict[Any, int] = {}
    inverse = []
    for item in items:
        key: Any = os.fspath(item) if isinstance(item, (str, os.PathLike)) else id(item)
        if key not in places:
            places[key] = len(distinct)
            distinct.append(item)
        inverse.append(places[key])
    return distinct, inverse


class ProgressBar:
    """How far a long run is: a bar with rate and time left on a terminal, plain lines elsewhere.

    Call it with the number done and the total, as often as you like.

    Parameters
    ----------
    label : str
    stream : text stream, optional
        Standard error by default, so that the output of a program stays clean.

    Examples
    --------
    >>> progress = ProgressBar("blade", stream=sys.stdout)
    >>> for done in range(3):
    ...     progress(done, 2)
    blade: 2 of 2 ...
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._start: tuple[float, int] | None = None
        self._last_line = time.monotonic()
        self._bar: RichProgress | None = None
        self._ended: int | None = None
        self._most: int | None = None

    def __call__(self, done: int, total: int | None) -> None:
        """Show that `done` of `total` are done."""
        now = time.monotonic()
        if self._ended is not None and total != self._ended:  # other things than before: another rate
            self._start = self._ended = self._most = None
        if done == total:
            if total == self._ended:  # several passes over the same things are told once
                return
            self._ended = total
        if self._start is None:  # what an earlier run did must not count into the rate
            self._start = (now, done)
        status = _status(done, total, now - self._start[0], done - self._start[1], self._most)
        self._most = total
        if self._stream.isatty():
            self._draw(done, total, status)
        elif done == total or now - self._last_line > _LINE_EVERY:
            self._last_line = now
            self._stream.write(f"{self._label}: {status}\n")
            self._stream.flush()

    def _draw(self, done: int, total: int | None, status: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskID, TextColumn
        from rich.table import Column

        if self._bar is None:
            cut = Column(no_wrap=True, overflow="crop")  # an ellipsis is not ASCII
            texts = [
                TextColumn(text, markup=False, table_column=cut)
                for text in ("{task.description}", "{task.fields[status]}")
            ]
            console = Console(file=self._stream)
            # Nothing of it outlives a run that breaks off: no thread, no stream taken over, no hidden cursor.
            self._bar = Progress(
                texts[0],
                BarColumn(_WIDTH),
                texts[1],
                console=console,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.add_task(self._label, total=total, status=status)
            self._bar.start()
            console.show_cursor(True)
        self._bar.update(TaskID(0), completed=done, total=total, status=status, refresh=True)
        if done == total:
            self._bar.stop()


def _status(done: int, total: int | None, elapsed: float, made: int, expected: int | None = None) -> str:
    """Say how far a run is that made so many in so many seconds; ``expected`` is how many were to come at first.

    >>> _status(100, 200, 10.0, 50)
    '100 of 200, 5 per second, 0:20 left'
    >>> _status(70, 70, 35.0, 70, expected=86)
    '70, no more of 86 were needed, in 0:35, 2 per second'
    """
    rate = made / elapsed if elapsed >= _LEAST and made else 0.0
    status = f"{done} so far" if total is None else f"{done} of {total}"
    if done == total and expected is not None and expected > total:
        status = f"{done}, no more of {expected} were needed,"
    if done == total:
        return f"{status} in {_clock(elapsed)}" + (f", {rate:.3g} per second" if rate else "")
    if not rate:
        return status
    return f"{status}, {rate:.3g} per second" + (f", {_clock((total - done) / rate)} left" if total is not None else "")


def _clock(seconds: float) -> str:
    """Minutes and seconds, hours where needed.

    >>> _clock(75), _clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

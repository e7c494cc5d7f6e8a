"""Single flight: what several requests want at the same time is made by the first, and kept for the next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Once(Generic[Result]):
    """The results that were asked for last, by key, up to a total weight.

    Parameters
    ----------
    most : float
        Weight of all results that are kept; the last one always is.
    weight : callable, optional
        Of a result; 1 by default.

    Examples
    --------
    >>> squares = Once(most=2)
    >>> [squares.get(x, lambda x=x: x * x) for x in (1, 2, 3)], 1 in squares, 3 in squares
    ([1, 4, 9], False, True)
    """

    def __init__(self, most: float, weight: Callable[[Result], float] = lambda result: 1.0):
        self._most, self._weight, self._total = most, weight, 0.0
        self._kept: OrderedDict[Hashable, Result] = OrderedDict()
        self._made: dict[Hashable, Future[Result]] = {}
        self._lock = threading.Lock()

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._kept

    def find(self, key: Hashable) -> Result | None:
        """Return what is kept under a key, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def get(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return what is kept under a key; otherwise make it, or wait for whoever makes it already."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            waited = self._made.get(key)
            if waited is None:
                own = self._made[key] = Future()
        if waited is not None:
            return waited.result()
        try:
            result = make()
        except BaseException as error:
            with self._lock:
                del self._made[key]
            own.set_exception(error)
            raise
        with self._lock:
            del self._made[key]
            self._keep(key, result)
        own.set_result(result)
        return result

    def _keep(self, key: Hashable, result: Result) -> None:
        self._kept[key] = result
        self._total += self._weight(result)
        while self._total > self._most and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._total -= self._weight(gone)

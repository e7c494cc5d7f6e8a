"""How far a long run is: a bar with rate and time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

_LINE_EVERY = 5.0  # seconds between plain lines
_WIDTH = 30


class Progress:
    """Call it with the number done and the number wanted, as often as you like.

    Parameters
    ----------
    label : str
    stream : text stream, optional
        Standard error by default, so that the output of a program stays clean.

    Examples
    --------
    >>> progress = Progress("blade", stream=sys.stdout)
    >>> for done in range(3):
    ...     progress(done, 2)
    blade: 2 of 2 ...
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._start: tuple[float, int] | None = None
        self._last_line = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        now = time.monotonic()
        if self._start is None:  # what an earlier run did must not count into the rate
            self._start = (now, done)
        elapsed, made = now - self._start[0], done - self._start[1]
        rate = made / elapsed if elapsed > 0 and made else 0.0
        status = f"{done} of {total}"
        if rate and done < total:
            status += f", {rate:.3g} per second, {_clock((total - done) / rate)} left"
        elif done == total:
            status += f" in {_clock(elapsed)}" + (f", {rate:.3g} per second" if rate else "")
        if self._stream.isatty():
            columns = shutil.get_terminal_size().columns - 1  # a line that wraps could not be overwritten
            width = max(5, min(_WIDTH, columns - len(self._label) - len(status) - 2))
            filled = width * done // max(total, 1)
            line = f"{self._label} {'█' * filled}{'░' * (width - filled)} {status}"[:columns]
            self._stream.write(f"\r\x1b[K{line}" + ("\n" if done == total else ""))
        elif done == total or now - self._last_line > _LINE_EVERY:
            self._last_line = now
            self._stream.write(f"{self._label}: {status}\n")
        self._stream.flush()


def _clock(seconds: float) -> str:
    """Minutes and seconds, hours where needed.

    >>> _clock(75), _clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

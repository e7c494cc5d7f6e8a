"""The progress display on a terminal and elsewhere."""

import io
import os
import re
import subprocess
import sys
from threading import get_ident
from types import SimpleNamespace

import pytest
from joblib import effective_n_jobs

from swwl import parallel
from swwl.parallel import ProgressBar, in_threads, n_workers


class Terminal(io.StringIO):
    """A terminal of so many columns."""

    def __init__(self, encoding="utf-8"):
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding

    def isatty(self):
        return True

    def write(self, text):
        text.encode(self.encoding)  # as a real one does
        return super().write(text)

    def lines(self):
        """What was drawn, one after the other, without colors."""
        plain = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", self.getvalue())
        return [line.rstrip() for line in re.split(r"[\r\n]", plain) if line.strip()]


def clock(monkeypatch, seconds):
    ticks = iter(seconds)
    monkeypatch.setattr(parallel, "time", SimpleNamespace(monotonic=lambda: next(ticks)))


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("encoding", "filled"), [("utf-8", "━"), ("ascii", "-")])
def test_bar_rate_and_time_left_on_a_terminal(monkeypatch, terminal, encoding, filled):
    clock(monkeypatch, [0, 0, 10, 20])
    screen = Terminal(encoding)
    show = ProgressBar("blade", screen)
    for done in (50, 100, 200):  # fifty from an earlier run: they must not count into the rate
        show(done, 200)
    first, middle, last = (next(line for line in screen.lines() if f" {n} of" in line) for n in (50, 100, 200))
    assert "50 of 200" in first and "per second" not in first
    assert middle.startswith(f"blade {filled * 15}") and "100 of 200, 5 per second, 0:20 left" in middle
    assert last == f"blade {filled * 30} 200 of 200 in 0:20, 7.5 per second"


def test_a_bar_that_breaks_off_hides_no_cursor(terminal):
    screen = Terminal()
    ProgressBar("blade", screen)(1, 200)
    assert screen.getvalue().rindex("\x1b[?25h") > screen.getvalue().rindex("\x1b[?25l")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_narrow_terminal_and_an_unknown_number(monkeypatch, terminal, encoding):
    monkeypatch.setenv("COLUMNS", "40")
    screen = Terminal(encoding)
    show = ProgressBar("a rather long label [red]", screen)
    for done in (1, 2, 3):
        show(done, None)
    assert "3 so f" in screen.lines()[-1] and all(len(line) <= 40 for line in screen.lines())


def test_plain_lines_elsewhere(monkeypatch):
    clock(monkeypatch, [0, 0, 1, 6, 7, 9])
    log = io.StringIO()
    show = ProgressBar("blade", log)
    for done in range(5):
        show(done, 4)
    assert log.getvalue().splitlines() == [
        "blade: 2 of 4, 0.333 per second, 0:06 left",
        "blade: 4 of 4 in 0:09, 0.444 per second",
    ]


def test_the_end_is_told_once_and_what_was_not_needed(monkeypatch):
    clock(monkeypatch, [0, 0, *[1] * 5, 2, 3])
    log = io.StringIO()
    meshes, processes = ProgressBar("meshes", log), ProgressBar("Gaussian processes", log)
    for done in (40, 40, 40, 20, 40):
        meshes(done, 40)
    for done, total in ((5, 86), (70, 70)):
        processes(done, total)
    assert log.getvalue().splitlines() == [
        "meshes: 40 of 40 in 0:00",
        "Gaussian processes: 70, no more of 86 were needed, in 0:01, 65 per second",
    ]


def test_other_things_afterwards_have_a_rate_of_their_own(monkeypatch):
    clock(monkeypatch, [0, 0, 2, 10, 14])
    log = io.StringIO()
    show = ProgressBar("meshes", log)
    for done, total in ((16, 89), (89, 89), (1, 15), (15, 15)):
        show(done, total)
    assert log.getvalue().splitlines() == [
        "meshes: 89 of 89 in 0:02, 36.5 per second",
        "meshes: 1 of 15",
        "meshes: 15 of 15 in 0:04, 3.5 per second",
    ]


def test_what_takes_no_time_has_no_rate(monkeypatch):
    clock(monkeypatch, [0, 0, 0.001])
    log = io.StringIO()
    show = ProgressBar("meshes", log)
    for done in (0, 30):
        show(done, 30)
    assert log.getvalue() == "meshes: 30 of 30 in 0:00\n"


OVERLAPPING = """
from threading import Event, Thread
from threadpoolctl import threadpool_info
from swwl.parallel import blas_threads, one_blas_thread
import scipy.linalg

first_in, second_in, first_out, over = Event(), Event(), Event(), Event()

def numbers():
    return sorted({library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"})

def first():
    with blas_threads(100):
        first_in.set()
        second_in.wait(60)
    first_out.set()
    over.wait(60)  # as the threads of a server, it lives on

def second():
    first_in.wait(60)
    with one_blas_thread():
        second_in.set()
        first_out.wait(60)
        inside.append(numbers())

before, inside = numbers(), []
threads = [Thread(target=function) for function in (first, second)]
for thread in threads:
    thread.start()
threads[1].join()
after = numbers()
over.set()
assert inside == [[1]] and after == before, (before, inside, after)
"""


def test_the_limit_of_blas_ends_with_the_last_of_overlapping_contexts():
    """A thread that enters second and leaves last finds one thread, which is not what is to be restored."""
    threads = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", OVERLAPPING], env=os.environ | threads, check=True)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1, -2, -100])
def test_workers_are_those_of_joblib(monkeypatch, n_jobs):
    expected, cores = effective_n_jobs(n_jobs), effective_n_jobs(-1)
    assert n_workers(n_jobs) == n_workers(n_jobs, most=10_000) == expected
    monkeypatch.delitem(sys.modules, "joblib")  # as if it were not imported, which it then is not
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
    assert n_workers(n_jobs, most=10_000) == expected and n_workers(n_jobs, most=1) == 1
    assert "joblib" not in sys.modules


def test_one_item_needs_no_other_thread():
    assert list(in_threads(lambda _: get_ident(), ["one"], -1)) == [get_ident()]
    alone, together = (list(in_threads(len, iter(["one", "three"]), n_jobs)) for n_jobs in (1, 2))
    assert alone == together == [3, 5]

"""The progress display on a terminal and elsewhere."""

import io

from swwl import parallel
from swwl.parallel import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def clock(monkeypatch, seconds):
    ticks = iter(seconds)
    monkeypatch.setattr(parallel.time, "monotonic", lambda: next(ticks))


def test_bar_rate_and_time_left_on_a_terminal(monkeypatch):
    clock(monkeypatch, [0, 0, 10, 20])
    screen = Terminal()
    show = ProgressBar("blade", screen)
    for done in (50, 100, 200):  # fifty from an earlier run: they must not count into the rate
        show(done, 200)
    first, middle, last = screen.getvalue().split("\r")[1:]
    assert "50 of 200" in first and "per second" not in first
    assert "█" * 15 + "░" * 15 in middle and "100 of 200, 5 per second, 0:20 left" in middle
    assert last.endswith("200 of 200 in 0:20, 7.5 per second\n")


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


def test_what_takes_no_time_has_no_rate(monkeypatch):
    clock(monkeypatch, [0, 0, 0.001])
    log = io.StringIO()
    show = ProgressBar("meshes", log)
    for done in (0, 30):
        show(done, 30)
    assert log.getvalue() == "meshes: 30 of 30 in 0:00\n"

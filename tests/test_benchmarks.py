"""The history of benchmarks: rows are appended, and compared with the last of the same kind of machine."""

import csv
import sys
import types

import numpy as np
import pytest

history = pytest.importorskip("benchmarks.history", reason="benchmarks stand in a clone of swwl alone")
main = pytest.importorskip("benchmarks.__main__")
Line = pytest.importorskip("benchmarks.measure").Line


def rows_in(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.fixture
def measured(monkeypatch):
    """Return a list of lines that stands for a benchmark, and what runs it."""
    lines = []
    stub = types.ModuleType("benchmarks.stub")
    stub.run = lambda: iter(lines)
    monkeypatch.setitem(sys.modules, "benchmarks.stub", stub)
    monkeypatch.setattr(main, "MODULES", ("stub",))

    def run(*options):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, options)])
        return main.main()

    return lines, run


def test_what_has_become_worse_is_told(measured, tmp_path, capsys):
    lines, run = measured
    path = tmp_path / "history.csv"
    lines += [Line("a fit", 1.0, 3), Line("a score, more is better", 0.9), Line("memory", 10, 20, "MB")]
    assert run("--record", path, "--compare", path) == 0  # there is nothing to compare with yet
    assert "0 lines compared" in capsys.readouterr().out

    lines[:] = [
        Line("a fit", 1.3, 3),
        Line("a score, more is better", 99.0),
        Line("memory", 12, 20, "MB"),
        Line("new", 1, 2),
    ]
    assert run("--record", path, "--compare", path) == 0
    told = capsys.readouterr().out
    assert "2 lines compared" in told and "stub, a fit: 1.3, which was 1 in" in told
    assert "stub, memory" not in told and "stub, a score" not in told and "stub, new" not in told
    run("--compare", path)
    assert capsys.readouterr().out.endswith("quarter:\nnone\n")  # with the last rows, not the first

    rows = rows_in(path)
    assert [row["name"] for row in rows] == ["a fit", "a score, more is better", "memory"] * 2 + ["new"]
    assert list(rows[0]) == ["version", "date", "machine", "module", "name", "value", "limit"]
    assert [row["limit"] for row in rows[:3]] == ["3", "", "20"]


def test_other_kinds_of_machines_are_not_compared(measured, tmp_path, capsys, monkeypatch):
    lines, run = measured
    path = tmp_path / "history.csv"
    lines += [Line("a fit", 1.0, 3)]
    monkeypatch.setattr(history, "machine_kind", lambda: "64 cores, AVX512")
    run("--record", path)
    lines[:] = [Line("a fit", 2.0, 3)]
    run("--compare", path)
    assert "0 lines compared" in capsys.readouterr().out


def test_limits_still_decide_and_a_run_that_dies_keeps_its_rows(measured, tmp_path):
    lines, run = measured
    path = tmp_path / "history.csv"
    lines += [Line("a fit", 4.0, 3)]
    assert run("--record", path) == 1

    def dies():
        yield Line("done", 1.0)
        raise ZeroDivisionError

    sys.modules["benchmarks.stub"].run = dies
    with pytest.raises(ZeroDivisionError):
        run("--record", path)
    assert [row["name"] for row in rows_in(path)] == ["a fit", "done"]


def test_lines_of_one_name_are_told_apart():
    lines = [
        Line("blades", 1, 2),
        Line("  worst", 3, 4),
        Line("plates", 1, 2),
        Line("  worst", 3, 4),
        Line("plates", 5, 6),
    ]
    names = [row.name for _, row in history.rows_of("m", lines)]
    assert names == ["blades", "blades: worst", "plates", "plates: worst", "plates (2)"]


@pytest.mark.parametrize(
    ("before", "now", "worse"),
    [(1, 1.25, False), (1, 1.26, True), (0, 0, False), (0, 1e-9, True), (-1, -0.8, False), (-1, -0.7, True),
     (1, np.nan, True), (np.nan, 1, False)],
)  # fmt: skip
def test_worse_is_more_than_a_quarter_above(before, now, worse):
    def row(value):
        return history.Row("0.2.0", "2026-11-17", "2 cores", "m", "n", value, 2.0)

    assert (row(now).compared(row(before)) is not None) == worse
    assert history.Row("0.2.0", "2026-11-17", "2 cores", "m", "n", now, None).compared(row(before)) is None


def test_the_kind_of_machine_names_no_host():
    import platform

    kind = history.machine_kind()
    assert "cores" in kind and (not platform.node() or platform.node() not in kind)
    assert history.simd_level(["X86_V2", "X86_V3", "X86_V4"]) == "AVX512" and history.simd_level([]) == "none"

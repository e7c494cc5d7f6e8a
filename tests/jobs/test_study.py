"""Studies: what their file may say, how commands get their values, and what becomes of solvers that misbehave."""

import json
import math
import os
import re
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl.errors import InputError
from swwl.jobs.study.candidates import StudyCase, best_cases, near_failures, points_near, sobol_points
from swwl.jobs.study.page import study_page
from swwl.jobs.study.runs import Command, MakeTask, RunTask, make_mesh, read_answers, simulate
from swwl.jobs.study.steps import Batch, Loop, locked
from swwl.jobs.study.study import Goal, read_study
from swwl.storage.memory import Memory

LINUX = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no SIGKILL here")

# A bowl with its lowest point at (0.3, 0.6); what x and y say decides how the solver misbehaves.
SOLVER = """
import json, os, sys, time
x, y, out = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
mode = sys.argv[4] if len(sys.argv) > 4 else ""
if mode == "strict" and x > 0.7:
    sys.exit("the left side only")
open(out + "/results.json", "w").write(json.dumps({"height": (x - 0.3)**2 + (y - 0.6)**2, "slope": x}))
"""
STUDY = """
[parameters]
x = [0, 1]
y = [0, 1]
[solver]
run = "{python} -S -E solver.py {x} {y} {out} strict"
results = "results.json"
jobs = 2
timeout = "20 s"
[goal]
minimize = "height"
at_least = {slope = 0.2}
[budget]
first = 8
runs = 14
batch = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "solver.py").write_text(SOLVER)
    (tmp_path / "bowl.toml").write_text(STUDY)
    return tmp_path


def changed(folder, *pairs, name="bowl.toml"):
    """Return the study with texts of its file replaced."""
    text = STUDY
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text)
    return folder / name


def script(folder, body, **options):
    """Return the run of a small program in the folder."""
    (folder / "s.py").write_text(f"import os, sys, time, json, subprocess\nout = sys.argv[1]\n{body}\n")
    command = Command("{python} -S -E s.py {out}", folder, timeout=options.pop("timeout", 20))
    values = {"python": sys.executable}
    return RunTask(
        7, folder / "runs" / "0007", command, values, {}, "r.csv", ["a", "b"], options.get("retries", 0), folder
    )


def test_the_studies_of_the_guide_are_read(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "loop.md").read_text(encoding="utf-8")
    found = re.findall(r"^```toml\n(.*?)^```", page, flags=re.M | re.S)
    for k, text in enumerate(found):
        (tmp_path / f"{k}.toml").write_text(text)
    first, second = (read_study(tmp_path / f"{k}.toml") for k in range(2))
    assert first.goal.said == "minimize mass, stress at most 200" and first.command.timeout == 600
    assert second.targets == ["efficiency", "massflow"] and second.budget.stop_after == 3


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("jobs = 2", "jbos = 2", "[solver] jbos is unknown; did you mean jobs?"),
        ("[budget]", "[bugdet]", "bugdet is unknown; did you mean budget?"),
        ("runs = 14", 'runs = "many"', "[budget] runs: expected a whole number, got a text"),
        ("first = 8", "first = 80", "[budget] first is 80, more than all runs, 14"),
        ("x = [0, 1]", "x = [1, 0]", "[parameters] x goes from 1 to 0"),
        ("x = [0, 1]", "case = [0, 1]", "'case' is reserved in a study"),
        ('timeout = "20 s"', 'timeout = "soon"', "timeout is 'soon'; expected a time such as '90 s'"),
        ('minimize = "height"', 'minimize = "height"\nmaximize = "slope"', "has minimize and maximize"),
        ("results.json", "results.txt", "expected a .csv or .json file"),
        ("jobs = 2", "valid = {mass = [0, 1]}", "[solver] valid names 'mass', but results are read for height, slope"),
        ("jobs = 2", "valid = {height = [1, 0]}", "[solver] valid: height goes from 1 to 0"),
        ("jobs = 2", "jobs = 0", "[solver] jobs is 0; expected 1 or more"),
        ("[parameters]\nx = [0, 1]\ny = [0, 1]", "", "give one or the other"),
        ("{x} {y}", "'{x} {y}", "which is not a command (No closing quotation)"),
        ("[parameters]", "[parameters", "is not TOML"),
    ],
)
def test_what_a_file_says_wrong(folder, old, new, words):
    with pytest.raises(InputError) as caught:
        read_study(changed(folder, (old, new)))
    assert words in str(caught.value) and "bowl.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{x} {y}", "{x} {z}", "[solver] run has {z}, which is unknown; it may have {x}, {y}"),
        ("{python} -S", "nosuchsolver", "[solver] run: the program 'nosuchsolver' is not found"),
        ("{python} -S -E solver.py", "solver.py", "did you mean ./solver.py?"),
        ("{python} -S -E solver.py", "./solver.py", "is not executable"),
    ],
)
def test_commands_are_checked_before_anything_runs(folder, old, new, words):
    with pytest.raises(InputError) as caught:
        Loop(read_study(changed(folder, (old, new)))).example()
    assert words in str(caught.value)
    assert not (folder / "bowl").exists()


NASTY = ["a b.vtu", "; rm -rf x", "$(touch hacked)", "`touch hacked`", 'it\'s "quoted"', "a\nb", "*", "-x", "{mesh}"]


@pytest.mark.parametrize("shell", [False, True])
@pytest.mark.parametrize("value", NASTY)
def test_values_are_arguments_and_nothing_else(tmp_path, value, shell):
    """Whatever a mesh is called, the program sees that name, within quotes or outside; no shell reads it."""
    (tmp_path / "say.py").write_text("import json, sys; json.dump(sys.argv[2:], open(sys.argv[1] + '/said.json', 'w'))")
    text = '{python} say.py {out} {mesh} "{mesh}" x={mesh} {{}}' + (" && true" if shell else "")
    task = RunTask(1, tmp_path / "1", Command(text, tmp_path, shell), {"python": sys.executable, "mesh": value}, {},
                "r.csv", [], 0, tmp_path)  # fmt: skip
    simulate(task)
    assert json.loads((tmp_path / "1" / "said.json").read_text()) == [value, value, f"x={value}", "{}"]
    assert not list(tmp_path.rglob("hacked"))


def test_a_shell_puts_no_value_between_single_quotes():
    with pytest.raises(InputError, match="between single quotes"):
        Command("awk '{mesh}'", Path(), shell=True).words({"mesh": "x"})


GOOD = "open(out + '/r.csv', 'w').write('a,b\\n1,2\\n')"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (GOOD, "done", ""),
        (f"{GOOD}; sys.exit(3)", "failed", "exit code 3"),
        (f"{GOOD}; sys.exit('no license in ' + out)", "failed", "exit code 1: no license in "),
        (f"{GOOD}; os.abort()", "failed", "ended by signal 6"),
        ("pass", "failed", "wrote no r.csv"),
        ("open(out + '/r.csv', 'w').write('a,b\\n1,nan\\n')", "failed", "says 'nan' for 'b'; a finite number"),
        ("open(out + '/r.csv', 'w').write('a,b\\n1,ok\\n')", "failed", "says 'ok' for 'b'"),
        ("open(out + '/r.csv', 'w').write('a,c\\n1,2\\n')", "failed", "r.csv has no 'b'"),
        ("open(out + '/r.csv', 'w').write('a,b\\n')", "failed", "r.csv has no 'a'"),
        ("open(out + '/r.csv', 'wb').write(bytes(range(256)))", "failed", "cannot be read"),
        ("os.mkdir(out + '/r.csv')", "failed", "wrote no r.csv"),
        ("open(out + '/r.csv', 'w').write('x' * 2_000_000)", "failed", "2000000 bytes"),
        ("import shutil; shutil.rmtree(out)", "failed", ""),
    ],
)
def test_whatever_a_solver_does_there_is_an_outcome(tmp_path, body, status, words):
    found = simulate(script(tmp_path, body))
    assert found.status == status and words in found.reason and "\n" not in found.reason and ".part" not in found.reason
    assert found.answers == ({"a": 1.0, "b": 2.0} if status == "done" else {})
    assert sorted(path.name for path in tmp_path.glob("runs/*")) in (["0007"], [])


@LINUX
def test_time_is_over_for_children_of_children_too(tmp_path):
    body = (
        "child = [sys.executable, '-S', '-E', '-c', 'import time; time.sleep(600)']\n"
        "a = subprocess.Popen(child)\nb = subprocess.Popen(child, start_new_session=True)\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{a.pid}} {{b.pid}}')\ntime.sleep(600)"
    )
    found = simulate(script(tmp_path, body, timeout=2))
    assert found.status == "timeout" and found.reason == "took longer than 2 s"
    for pid in (tmp_path / "pids").read_text().split():
        assert not is_alive(int(pid))


def is_alive(pid):
    """Whether a process runs; a dead one whose parent has not looked yet does not."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_a_run_is_tried_again(tmp_path):
    body = f"n = len(os.listdir({str(tmp_path / 'tries')!r})); open({str(tmp_path / 'tries')!r} + f'/{{n}}', 'w')\n"
    (tmp_path / "tries").mkdir()
    found = simulate(script(tmp_path, body + f"assert n == 2\n{GOOD}", retries=2))
    assert found.status == "done" and len(list((tmp_path / "tries").iterdir())) == 3


def test_answers_in_two_forms(tmp_path):
    (tmp_path / "r.json").write_text('{"a": 1, "b": "2.5", "c": [1]}')
    (tmp_path / "r.csv").write_text("\ufeffb, a\n 2.5, 1\n9,9\n", encoding="utf-8")
    for name in ("r.json", "r.csv"):
        assert read_answers(tmp_path / name, ["a", "b"]) == {"a": 1.0, "b": 2.5}
    for text in ('{"a": true, "b": 1}', "[1]", "{", '{"a": 1e999, "b": 1}'):
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(InputError):
            read_answers(tmp_path / "r.json", ["a", "b"])


def test_a_mesh_is_made_whole_or_not_at_all(tmp_path):
    (tmp_path / "m.py").write_text(
        "import json, sys\nk = json.load(open(sys.argv[1]))['k']\n"
        "open(sys.argv[2], 'w').write('OFF\\n' if k else 'v 0 0 0\\nv 1 0 0\\nv 0 1 0\\nf 1 2 3\\n')\n"
        "sys.exit(k == 2)"
    )
    command = Command("{python} -S -E m.py {parameters} {mesh}", tmp_path, timeout=20)
    made = [make_mesh(MakeTask(tmp_path / f"{k}.obj", command, {"k": float(k)}, tmp_path)) for k in range(3)]
    assert made[0] == "" and made[1] and made[2].startswith("exit code 1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.obj", "1.failed", "2.failed", "m.py"]
    (tmp_path / "m.py").unlink()  # what was tried is known
    assert [make_mesh(MakeTask(tmp_path / f"{k}.obj", command, {"k": 0.0}, tmp_path)) for k in range(3)] == made


def cases_of(values, goal):
    return [StudyCase(k, 1, "", {}, {"x": float(k)}, status="done", answers=dict(zip("fg", pair, strict=True)))
            for k, pair in enumerate(values)]  # fmt: skip


def test_the_best_case_keeps_to_bounds():
    goal = Goal(minimize="f", at_most={"g": 10.0})
    cases = cases_of([(1.0, 11.0), (3.0, 5.0), (2.0, 10.0), (0.0, 30.0)], goal)
    assert [case.case for case in best_cases(cases, goal)] == [2, 1, 0, 3]
    assert [case.case for case in best_cases(cases, Goal(maximize="f"))] == [1, 2, 0, 3]
    assert best_cases(cases, Goal()) == [] and goal.words == "minimize:f" and goal.said == "minimize f, g at most 10"


def test_points_are_drawn_alike_and_stay_in_the_cube():
    np.testing.assert_array_equal(sobol_points(3, 5, [1, 2]), sobol_points(3, 9, [1, 2])[:5])
    assert not np.allclose(sobol_points(3, 5, [1, 2]), sobol_points(3, 5, [1, 3]))
    found = points_near(np.array([[0.01, 0.99]]), 200, [0])
    assert found.min() >= 0 and found.max() <= 1 and (found != [0.01, 0.99]).any(axis=1).all()


def test_candidates_next_to_failed_cases_are_known():
    tried = pd.DataFrame({"x": [0.0, 0.1, 0.2, 0.8, 0.9, 1.0]})
    found = near_failures(
        pd.DataFrame({"x": [0.05, 0.15, 0.85, 0.95]}), tried, (tried["x"] > 0.5).to_numpy(), Memory(None)
    )
    assert found.tolist() == [False, False, True, True]


def test_two_loops_at_once_are_refused_and_a_lock_left_behind_is_not(tmp_path):
    (tmp_path / "lock").write_text("process 1 on nowhere")
    with locked(tmp_path / "lock"):
        with pytest.raises(InputError, match=f"another swwl loop is at work on this study .process {os.getpid()} on"):
            with locked(tmp_path / "lock"):
                pass
    with locked(tmp_path / "lock"):
        pass


@pytest.mark.slow
def test_a_study_finds_the_bottom_and_learns_where_runs_fail(folder):
    work = Loop(read_study(folder / "bowl.toml"))
    work.run()
    table = pd.read_csv(folder / "bowl" / "cases.csv")
    assert table["case"].tolist() == list(range(1, 15)) and work.stopped == "the budget of 14 runs is used up"
    assert ((table["x"] > 0.7) == (table["status"] == "failed")).all()
    failed = table[table["status"] == "failed"]
    assert (failed["reason"] == "exit code 1: the left side only").all()
    assert len(failed) >= 2 and failed["batch"].max() <= 2  # from then on it is known where
    best = work.best()
    assert best.answers["height"] < 0.01 and best.answers["slope"] >= 0.2
    assert len(pd.read_csv(folder / "bowl" / "data.csv")) == (table["status"] == "done").sum()
    page = (folder / "bowl" / "study.html").read_text()
    assert "Over: the budget of 14 runs is used up." in page and "the left side only" in page and "<script" not in page
    before = (folder / "bowl" / "cases.csv").read_bytes()
    Loop(read_study(folder / "bowl.toml")).run()  # nothing is left to do
    assert (folder / "bowl" / "cases.csv").read_bytes() == before
    more = Loop(read_study(changed(folder, ("runs = 14", "runs = 16"))))
    more.run()
    assert len(more.cases) == 16 and [case.case for case in more.cases][:14] == table["case"].tolist()


@pytest.mark.slow
def test_a_study_ends_when_nothing_is_gained(folder):
    rule = ("batch = 3", "batch = 3\nstop_after = 2\nimprovement = 0.5")
    work = Loop(read_study(changed(folder, ("runs = 14", "runs = 60"), rule)))
    work.run()
    assert work.stopped == "2 batches improved by no more than 50 %" and len(work.cases) < 60
    rule = ("batch = 3", "batch = 3\nexpected = 1.0")
    learn = ('minimize = "height"\nat_least = {slope = 0.2}', "")
    targets = ("jobs = 2", 'jobs = 2\ntargets = ["height"]')
    work = Loop(read_study(changed(folder, rule, learn, targets, name="learn.toml")))
    work.run()
    assert work.stopped == "the expected improvement is below the share 1" and len(work.cases) == 8


@pytest.mark.parametrize("kind", ["minimize", "maximize", ""])
def test_what_becomes_worse_is_no_gain(folder, kind):
    """To learn, the error may rise; a best answer that is larger is a gain where it is to be large, and only there."""
    rule = ("batch = 3", "batch = 3\nstop_after = 1")
    goal = ('minimize = "height"\nat_least = {slope = 0.2}', f'{kind} = "height"' if kind else "")
    targets = ("jobs = 2", 'jobs = 2\ntargets = ["height"]')
    work = Loop(read_study(changed(folder, rule, goal, *([] if kind else [targets]))))
    answers = {"minimize": [3.0, 2.0, 5.0], "maximize": [-2.0, -1.0, -5.0], "": [1.0, 1.0, 1.0]}[kind]
    errors = [0.5, 0.2, 0.4]
    for batch in (1, 2, 3):
        work.cases.append(StudyCase(batch, batch, "", {}, {}, status="done", answers={"height": answers[batch - 1]}))
        work.batches.append(Batch(batch, batch, errors[batch - 1], math.nan))
        assert ("improved by no more than 1 %" in work._reason()) == (batch == 3)


@pytest.mark.slow
def test_cases_of_a_pool(folder):
    """Rows are chosen once each, and commands may name any column; --until stops in between."""
    rng = np.random.default_rng(0)
    pool = pd.DataFrame(
        {"x": rng.uniform(0, 0.6, 14), "y": rng.uniform(size=14), "name": [f"a{k}; b" for k in range(14)]}
    )
    pool.assign(mark=np.arange(14) % 3 > 0).to_csv(folder / "pool.csv", index=False)
    ranges = (
        "[parameters]\nx = [0, 1]\ny = [0, 1]",
        '[study]\npool = "pool.csv"\n[model]\ninputs = ["x", "y", "mark"]',
    )
    path = changed(folder, ranges, ("strict", "'{name}'"), ("runs = 14", "runs = 20"))
    first = Loop(read_study(path))
    first.run(until=5)
    assert (pd.read_csv(folder / "bowl" / "cases.csv")["status"] == "done").sum() == 5
    work = Loop(read_study(path))
    work.run()
    again = [case.inputs for case in Loop(read_study(path)).cases]
    assert again[:5] == [case.inputs for case in first.cases][:5] and again == [case.inputs for case in work.cases]
    table = pd.read_csv(folder / "bowl" / "cases.csv")
    assert sorted(table["row"]) == list(range(14)) and work.stopped == "no candidates are left"
    np.testing.assert_allclose(table["x"], pool["x"].iloc[table["row"]])


POOL = ("[parameters]\nx = [0, 1]\ny = [0, 1]", '[study]\npool = "pool.csv"')


@pytest.mark.slow
def test_copies_in_a_pool_are_not_simulated_twice(folder):
    """The last batch is smaller: of what is left in the pool, only some differ from cases and from each other."""
    rng = np.random.default_rng(0)
    pool = pd.DataFrame({"x": rng.uniform(0, 0.6, 12), "y": rng.uniform(size=12)})
    pd.concat([pool, pool[:4]]).to_csv(folder / "pool.csv", index=False)
    rule = ("first = 8\nruns = 14\nbatch = 3", "first = 7\nruns = 40\nbatch = 4")
    work = Loop(read_study(changed(folder, POOL, rule)))
    work.run()
    assert work.stopped == "no candidates are left" and len(work.cases) == 12
    assert sorted(case.row % 12 for case in work.cases) == list(range(12))
    again = Loop(read_study(folder / "bowl.toml"))
    again.run()
    assert again.stopped == "no candidates are left" and len(again.cases) == 12


def test_a_pool_of_failures_is_used_up(folder):
    """Too few runs go well for a model, and fewer rows are left than a batch has."""
    rng = np.random.default_rng(0)
    pool = pd.DataFrame({"x": np.r_[rng.uniform(0, 0.6, 4), rng.uniform(0.71, 1, 8)], "y": rng.uniform(size=12)})
    pool.to_csv(folder / "pool.csv", index=False)
    rule = ("first = 8\nruns = 14\nbatch = 3", "first = 10\nruns = 40\nbatch = 4")
    work = Loop(read_study(changed(folder, POOL, rule)))
    work.run()
    assert work.stopped == "no candidates are left"
    assert sorted(case.row for case in work.cases) == list(range(12))
    assert [case.status for case in work.cases].count("failed") == 8


def test_a_study_whose_runs_all_fail_names_the_log(folder):
    path = changed(folder, ("solver.py {x}", "nosolver.py {x}"), ("first = 8", "first = 2"))
    work = Loop(read_study(path))
    with pytest.raises(InputError) as caught:
        work.run()
    assert "all 2 runs failed, case 1 with: exit code 2" in str(caught.value)
    log = folder / "bowl" / "runs" / "0001" / "stderr.log"
    assert str(log) in str(caught.value) and "nosolver.py" in log.read_text()


def test_a_table_of_another_study_is_refused(folder):
    (folder / "bowl").mkdir()
    (folder / "bowl" / "cases.csv").write_text("case,batch\n1,1\n")
    with pytest.raises(InputError, match="is the study's folder, but contains other files"):
        Loop(read_study(folder / "bowl.toml"))
    (folder / "bowl" / "lock").write_text("")
    with pytest.raises(InputError, match="has no column 'status'"):
        Loop(read_study(folder / "bowl.toml"))


def test_a_page_holds_what_solvers_say_as_text(folder):
    study = read_study(folder / "bowl.toml")
    case = StudyCase(1, 1, "", {}, {"x": 0.1, "y": 0.2}, status="failed", reason="<script>alert(1)</script>")
    page = study_page(study, [case], None, "at work", "")
    assert "<script" not in page and "&lt;script" in page and 'http-equiv="refresh"' in page
    assert math.isnan(case.seconds) and shutil.which("sh")


NONSENSE = ("{x} {y} {out} strict", "{x} {y} {out} nonsense")


def nonsense(folder):
    """A solver that writes finite nonsense for the second case."""
    body = "height = -5e8 if os.environ['SWWL_CASE'] == '2' else (x - 0.3)**2 + (y - 0.6)**2"
    text = SOLVER.replace("open(out", f"{body}\nopen(out").replace(
        '"height": (x - 0.3)**2 + (y - 0.6)**2', '"height": height'
    )
    (folder / "solver.py").write_text(text)


def test_answers_outside_what_is_valid_are_failures(folder):
    nonsense(folder)
    path = changed(folder, NONSENSE, ("runs = 14", "runs = 8"), ("jobs = 2", "valid = {height = [0, inf]}"))
    work = Loop(read_study(path))
    work.run()
    second = work.cases[1]
    assert second.status == "failed" and second.reason == "height is -5e+08, outside what is valid, 0 to inf"
    assert work.facts()["best"]["height"] >= 0


def test_answers_that_the_model_doubts_are_named(folder):
    nonsense(folder)
    runs = ("first = 8", "first = 40"), ("runs = 14", "runs = 40")
    work = Loop(read_study(changed(folder, NONSENSE, *runs)))
    work.run()
    assert list(work.facts()["doubtful"]) == [2]
    assert work.facts()["doubtful"][2].startswith("doubtful: height is -5e+08, where the other cases tell")
    assert (
        "done, doubtful" in (work.folder / "study.html").read_text()
        or "out of bounds, doubtful" in (work.folder / "study.html").read_text()
    )
    again = read_study(changed(folder, NONSENSE, *runs, ("jobs = 2", "valid = {height = [0, inf]}")))
    assert Loop(again).cases[1].status == "failed"  # said afterwards

"""``swwl loop``: a dry run, what it says, and the same table however often it is killed."""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from starlette.testclient import TestClient

from swwl.serve.http.app import make_app
from swwl.serve.models import load_served
from tests.cli.conftest import start, swwl
from tests.jobs.test_study import LINUX, SOLVER, STUDY, changed, is_alive
from tests.solvers import calculix

EXAMPLE = Path(__file__).parents[2] / "examples" / "loop_brackets"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "solver.py").write_text(SOLVER)
    (tmp_path / "bowl.toml").write_text(STUDY)
    return tmp_path


def test_a_dry_run_shows_the_command_and_writes_nothing(folder):
    said = swwl("loop", folder / "bowl.toml", "--dry-run").output
    assert "goal      minimize height, slope at least 0.2; reads height, slope from results.json" in said
    assert "budget    8 first, then 3 at a time, 14 in all" in said and "nothing was run" in said
    assert f"-S -E solver.py 0.5 0.5 {folder / 'bowl' / 'runs' / '0000'} strict" in " ".join(said.split())
    assert sorted(path.name for path in folder.iterdir()) == ["bowl.toml", "solver.py"]
    facts = json.loads(swwl("loop", folder / "bowl.toml", "--dry-run", "--json").output)
    assert facts["commands"][0][0] == sys.executable and facts["cases"] == 0


def test_mistakes_are_one_line(folder):
    assert "no such file" in swwl("loop", folder / "no.toml", code=2).stderr
    path = changed(folder, ("jobs = 2", "jbos = 2"))
    assert swwl("loop", path, code=2).stderr.strip().endswith("[solver] jbos is unknown; did you mean jobs?")
    assert "without a model.swwl" in swwl("serve", folder, code=2).stderr


def told(folder):
    """Return the table of cases but for times."""
    return pd.read_csv(folder / "bowl" / "cases.csv").drop(columns="seconds")


def count(folder):
    """Return how many cases have ended."""
    try:
        return int(told(folder)["status"].isin(["done", "failed", "timeout"]).sum())
    except FileNotFoundError:
        return 0


def killed_at(folder, n):
    """Start the loop, and kill it when so many cases have ended; solvers are left alone."""
    process = start("loop", folder / "bowl.toml")
    deadline = time.monotonic() + 120
    while count(folder) < n and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.kill()
    process.communicate()


@LINUX
@pytest.mark.slow
def test_the_table_is_the_same_however_often_it_is_killed(folder, tmp_path_factory):
    other = Path(shutil.copytree(folder, tmp_path_factory.mktemp("killed") / "f"))
    said = swwl("loop", folder / "bowl.toml").output
    assert "case 1 " in said and "the budget of 14 runs is used up" in said and "best      case" in said
    slow = SOLVER.replace("import json", "import time; time.sleep(0.2)\nimport json", 1)
    (other / "solver.py").write_text(slow)
    for n in (1, 3, 8, 9, 12):
        killed_at(other, n)
        assert count(other) < 14
    facts = json.loads(swwl("loop", other / "bowl.toml", "--json", "-q").output)
    assert facts["cases"] == 14 and facts["best"]["height"] < 0.01
    pd.testing.assert_frame_equal(told(other), told(folder))
    assert not list(other.rglob("*.part*"))
    page = TestClient(make_app(load_served([other / "bowl" / "model.swwl"], None), study=other / "bowl" / "study.html"))
    assert "Study bowl" in page.get("/study").text and "/study" in page.get("/openapi.json").json()["paths"]


@LINUX
def test_a_solver_left_behind_is_ended_and_its_case_begins_again(folder):
    hang = (
        "import os, sys, time\nopen(sys.argv[0] + '.pids', 'a').write(f'{os.getpid()}\\n')\n"
        "if not os.path.exists(sys.argv[0] + '.go'): time.sleep(600)\n"
    )
    (folder / "solver.py").write_text(hang + SOLVER)
    changed(folder, ("first = 8", "first = 2"), ("jobs = 2", "jobs = 1"), (" strict", ""))
    pids = folder / "solver.py.pids"
    process = start("loop", folder / "bowl.toml")
    deadline = time.monotonic() + 60
    while not (pids.exists() and pids.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    again = swwl("loop", folder / "bowl.toml", code=2).stderr
    assert f"another swwl loop is at work on this study (process {process.pid} on" in " ".join(again.split())
    process.kill()
    process.communicate()
    left = int(pids.read_text().split()[0])
    os.kill(left, 0)  # still there
    (folder / "solver.py.go").write_text("")
    swwl("loop", folder / "bowl.toml", "--until", 2)
    assert not is_alive(left) and told(folder)["status"].tolist() == ["done", "done"]
    assert sorted(path.name for path in (folder / "bowl" / "runs").iterdir()) == ["0001", "0002"]


@pytest.mark.skipif(
    os.name == "nt" or signal.getsignal(signal.SIGINT) == signal.SIG_IGN, reason="there is no SIGINT to send here"
)
@pytest.mark.parametrize("kind", ["SIGINT", "SIGTERM"])
def test_an_interrupt_ends_solvers_too(folder, kind):
    (folder / "solver.py").write_text(
        "import os, sys, time\nopen(sys.argv[0] + '.pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    )
    process = start("loop", changed(folder, ("jobs = 2", "jobs = 1")))
    pid = folder / "solver.py.pid"
    deadline = time.monotonic() + 60
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(getattr(signal, kind))
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "the same command resumes" in " ".join(said.split())
    assert not is_alive(int(pid.read_text()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_runs_the_solver(folder):
    distributed = pytest.importorskip("distributed", reason="needs dask: pip install swwl[dask]")
    path = changed(folder, ("runs = 14", "runs = 11"))
    other = Path(shutil.copytree(folder, folder / "other"))
    swwl("loop", path)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as cluster:
        swwl("loop", other / "bowl.toml", "--scheduler", cluster.scheduler_address)
    pd.testing.assert_frame_equal(told(other), told(folder))
    said = swwl("loop", changed(folder, name="new.toml"), "--scheduler", "tcp://127.0.0.1:1", code=2).stderr
    assert "no Dask scheduler answers there" in said


@pytest.mark.slow
def test_brackets_by_calculix(tmp_path):
    """The example, small: gmsh makes parts, CalculiX loads them, and what fails costs its case only."""
    if reason := calculix.lack():
        pytest.skip(reason)
    for file in EXAMPLE.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    text = (EXAMPLE / "study.toml").read_text()
    for old, new in (("first = 40", "first = 7"), ("runs = 70", "runs = 11"), ("batch = 5", "batch = 2"),
                     ("candidates = 100", "candidates = 8"), ('{mesh}"\nending', '{mesh} 12"\nending')):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "study.toml").write_text(text + '\n[model]\nkernel = "principal"\nprojections = 8\nquantiles = 20\n')
    facts = json.loads(swwl("loop", tmp_path / "study.toml", "--json", "-q").output)
    table = pd.read_csv(tmp_path / "study" / "cases.csv")
    assert facts["cases"] == 11 and facts["done"] >= 8 and table["batch"].max() == 3
    done = table[table["status"] == "done"]
    assert done["mass"].between(50, 300).all() and done["stress"].between(20, 5000).all()
    assert facts["best"]["stress"] <= 200 and facts["best"]["mass"] == done["mass"][done["stress"] <= 200].min()
    assert sorted(path.name for path in (tmp_path / "study" / "meshes").iterdir()) == sorted(
        Path(mesh).name for mesh in table["mesh"]
    )
    assert (tmp_path / "study" / table["mesh"][3]).is_file() and "minimize mass" in facts["goal"]

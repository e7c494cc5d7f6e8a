"""The walks of docs/walk.md are those of the library: each is followed by a trace of that very path, fit included."""

import importlib
import re
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import swwl
import swwl.fields.estimator
import swwl.regression.estimator
from swwl import FieldRegressor, Mesh, RobustGPRegressor
from swwl.embedding import runner
from swwl.embedding.stores import sampled
from swwl.fields import training
from swwl.mesh.io.formats import read_file
from swwl.regression import fit_many_rows, influence
from tests.helpers import plate

PAGE = Path(__file__).parents[1] / "docs" / "walk.md"
SOURCE = str(Path(swwl.__file__).parent)
AGAIN = "`fit` again, with the same `memory`"
START, SAME_MESH = "`save`, and starting the server", "the same mesh again, with another load"
TITLES = {"numbers": "The default model", "fields": "Fields", "server": "A server"}
N_TRAIN, N_NEW = 12, 2
# A dozen plates are few: what is said of cases, samples and fits is tested elsewhere.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::swwl.errors.{kind}") for kind in ("CaseWarning", "MeshWarning", "GPWarning")
]


def section(walk):
    """The text of a walk: what stands below its heading."""
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this installation")
    return re.split(r"^## ", PAGE.read_text(encoding="utf-8").split(f"## {TITLES[walk]}\n")[1], flags=re.M)[0]


def stations(walk):
    """(file, function) of every numbered station, in the order of the page."""
    rows = re.findall(r"^\| (\d+) \| `([\w.]+)` \| `([\w/]+\.py)` \|", section(walk), flags=re.M)
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    return [(file, name) for _, name, file in rows]


def mentions(walk):
    """(file, function) of everything that the text names beside its stations, as `function` (`file.py`)."""
    return [(file, name) for name, file in re.findall(r"`([\w.]+)`\s\(`([\w/]+\.py)`\)", section(walk))]


def reads(walk):
    """How often files are read, by step: the first training file, each other one, each new one."""
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \| (\d+) \|$", section(walk), flags=re.M)
    return {step: tuple(map(int, numbers)) for step, *numbers in rows}


class Trace:
    """The functions of swwl that were entered in every step, in the order of first call, and which files were read."""

    def __init__(self):
        self.entered, self.reads = {}, {}

    @contextmanager
    def step(self, name):
        """Follow all that happens, in this thread and in those that start meanwhile."""
        self._entered = self.entered[name] = {}
        self._reads = self.reads[name] = Counter()
        threading.setprofile(self._follow)
        sys.setprofile(self._follow)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _follow(self, frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCE):
            return
        self._entered.setdefault(code)
        if code is read_file.__code__:
            self._reads[str(frame.f_locals["path"])] += 1

    @property
    def passed(self):
        """(file, function) of all that was entered, in the order of first call; of classes, their name."""
        return list(dict.fromkeys(name for step in self.entered for name in self.names(step)))

    def names(self, step):
        """The same of one step."""
        return [
            (Path(code.co_filename).relative_to(SOURCE).as_posix(), code.co_qualname.removesuffix(".__init__"))
            for code in self.entered[step]
        ]

    def counts(self, step, paths):
        """How often every one of the files was read in a step."""
        return [self.reads[step][str(path)] for path in paths]

    def others(self, step, paths):
        """The same of all other files, if they were."""
        return [number for path, number in self.reads[step].items() if path not in set(map(str, paths))]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A dozen plates to learn from and two more, each a file with nodes of its own and a field."""
    folder = tmp_path_factory.mktemp("plates")
    rng = np.random.default_rng(0)
    widths, loads = rng.uniform(1, 2, (2, N_TRAIN + N_NEW))
    paths = []
    for number, (width, load) in enumerate(zip(widths, loads, strict=True)):
        points, cells = plate(50, seed=number)
        points = points * [width, 1]
        paths.append(folder / f"{number}.vtu")
        u = load * np.sin(3 * points[:, 0]) + points[:, 1] ** 2
        Mesh(points, {"triangle": cells}, {"u": u}).write(paths[-1])
    return pd.DataFrame({"mesh": paths, "load": loads, "y": widths * loads})


@pytest.fixture(scope="module")
def numbers(table):
    """The walk of the default model, and the model."""
    trace, new = Trace(), table[["mesh", "load"]][N_TRAIN:]
    with trace.step("`fit`"):
        model = RobustGPRegressor().fit(table[:N_TRAIN], "y")
    with trace.step("`predict_interval`"):
        model.predict_interval(new)
    return trace, model


@pytest.fixture(scope="module")
def trace_of_numbers(numbers):
    return numbers[0]


@pytest.fixture(scope="module")
def fields(table):
    """The walk of fields, and the model."""
    trace, inputs = Trace(), table[["mesh", "load"]]
    with trace.step("`fit`"):
        model = FieldRegressor().fit(inputs[:N_TRAIN], ["u"])
    with trace.step("`predict`"):
        model.predict(inputs[N_TRAIN:], return_std=True)
    return trace, model


@pytest.fixture(scope="module")
def trace_of_fields(fields):
    return fields[0]


@pytest.fixture(scope="module")
def trace_of_server(numbers, table, tmp_path_factory):
    client_of = pytest.importorskip("starlette.testclient", reason="starlette is not installed").TestClient
    from swwl.serve.http.app import make_app
    from swwl.serve.models import load_served

    path = tmp_path_factory.mktemp("served") / "model.swwl"
    content = table["mesh"].iloc[-1].read_bytes()

    def ask(client, load):
        inputs = {"inputs": f'{{"load": {load}}}'}
        answer = client.post("/api/predict", data=inputs, files={"mesh": ("new.vtu", content)})
        assert answer.json()["targets"]["y"]["mean"] > 0

    trace = Trace()
    with trace.step(START):
        numbers[1].save(path)
        client = client_of(make_app(load_served([path], None)), base_url="http://127.0.0.1")
        client.__enter__()  # its threads start here, and have to be followed
    try:
        with trace.step("the request"):
            ask(client, 1.5)
        with trace.step(SAME_MESH):
            ask(client, 1.2)
    finally:
        client.__exit__(None, None, None)
    return trace


@pytest.mark.parametrize("walk", TITLES)
def test_what_a_walk_names_is_there(walk):
    if walk == "server":
        pytest.importorskip("starlette", reason="starlette is not installed")
    page = stations(walk)
    assert 10 <= len(page) <= 15 and len(set(page)) == len(page)
    assert reads(walk)
    for file, name in page + mentions(walk):
        found = importlib.import_module("swwl." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
        for part in name.split("."):
            found = getattr(found, part)


@pytest.mark.slow
@pytest.mark.parametrize("walk", TITLES)
def test_the_stations_are_passed_in_their_order(walk, request):
    passed = request.getfixturevalue(f"trace_of_{walk}").passed
    page = stations(walk)
    missing = [station for station in page + mentions(walk) if station not in passed]
    assert not missing
    assert [station for station in passed if station in page] == page


@pytest.mark.slow
def test_a_server_reads_and_embeds_a_mesh_once(trace_of_server):
    page, again = stations("server"), trace_of_server.names(SAME_MESH)
    once = [("mesh/io/formats.py", "read_file"), ("regression/one_mesh.py", "OneMesh")]
    assert [station for station in page if station in again] == [station for station in page[3:] if station not in once]
    embed = ("embedding/pipeline.py", "embed")
    assert embed in trace_of_server.passed and embed not in again


@pytest.mark.slow
@pytest.mark.parametrize("walk", TITLES)
def test_files_are_read_as_often_as_the_page_says(walk, request, table):
    trace, told = request.getfixturevalue(f"trace_of_{walk}"), reads(walk)
    train = table["mesh"][:N_TRAIN]
    for step in trace.reads:
        first, other, new = told[step]
        found = trace.counts(step, train)
        if walk == "numbers" and step == "`fit`":  # a few are read again, to be made coarser
            more = [count - usual for count, usual in zip(found, [first] + [other] * (N_TRAIN - 1), strict=True)]
            assert set(more) <= {0, 1} and sum(more) == influence._MESHES
            continue
        assert found == [first] + [other] * (N_TRAIN - 1)
        assert trace.others(step, train) == [new] * (0 if new == 0 else 1 if walk == "server" else N_NEW)


# Sets that are too large for a test are so by limits that are lower: of nodes that wait for their embedding, of nodes
# that fields keep, of rows that are fitted exactly, and of those that are sampled.
WAITING, KEPT = (runner, "_MOST_NODES_WAITING"), (training, "_MOST_NODES_KEPT")
EXACT, SAMPLED = (fit_many_rows, "MOST_EXACT_ROWS"), (sampled, "MOST_SAMPLED")
NODES = f"{runner._MOST_NODES_WAITING // runner._WEIGHT_OF_MESHES:,} nodes"
FIELD_NODES = f"{training._MOST_NODES_KEPT:,} nodes"
ROWS = f"{fit_many_rows.MOST_EXACT_ROWS:,} rows"
SAMPLE = f"one of the {sampled.MOST_SAMPLED:,} sampled"
LARGE = {
    ("numbers", f"`fit`, beyond {NODES}"): {WAITING: 0},
    ("numbers", f"`fit`, beyond {ROWS}: {SAMPLE}"): {EXACT: 5, SAMPLED: N_TRAIN},
    ("numbers", f"`fit`, beyond {ROWS}: one of the others"): {EXACT: 5, SAMPLED: 6},
    ("numbers", f"`fit`, beyond {ROWS} and {NODES}: {SAMPLE}"): {EXACT: 5, SAMPLED: N_TRAIN, WAITING: 0},
    ("fields", f"`fit`, beyond {NODES}"): {WAITING: 0},
    ("fields", f"`fit`, beyond {FIELD_NODES}"): {WAITING: 0, KEPT: 0},
}


class Stop(Exception):
    """All files have been read."""


@pytest.fixture
def reads_of_fit(table, monkeypatch):
    """A function that counts reads of every training file in a fit, as far as the processes: they read nothing."""

    def stop(*_, **__):
        raise Stop

    monkeypatch.setattr(swwl.regression.estimator, "fit_members", stop)
    monkeypatch.setattr(swwl.fields.estimator, "fit_field", stop)

    def count(walk, **options):
        trace, train = Trace(), table[:N_TRAIN]
        with trace.step("fit"), pytest.raises(Stop):
            if walk == "numbers":
                RobustGPRegressor().fit(train, "y", **options)
            else:
                FieldRegressor().fit(train[["mesh", "load"]], ["u"], **options)
        return trace.counts("fit", train["mesh"])

    return count


@pytest.mark.slow
@pytest.mark.parametrize(("walk", "step"), LARGE)
def test_files_of_large_sets_are_read_as_often_as_the_page_says(walk, step, reads_of_fit, monkeypatch):
    for (module, name), value in LARGE[walk, step].items():
        monkeypatch.setattr(module, name, value)
    first, other, new = reads(walk)[step]
    found = reads_of_fit(walk)
    if step.endswith("one of the others"):
        chosen = sampled.sample_rows(N_TRAIN, 0)
        assert 0 not in chosen  # the first is one of them
        found = np.delete(found, chosen).tolist()
    assert found == [first] + [other] * (len(found) - 1)
    assert new == 0


@pytest.mark.slow
def test_new_files_of_fields_are_read_again_where_they_are_too_many(fields, table, monkeypatch):
    for module, name in (WAITING, KEPT):
        monkeypatch.setattr(module, name, 0)
    trace, inputs = Trace(), table[["mesh", "load"]]
    with trace.step("predict"):
        fields[1].predict(inputs[N_TRAIN:], return_std=True)
    told = reads("fields")[f"`predict`, beyond {FIELD_NODES}"]
    assert told[:2] == (0, 0) and trace.others("predict", inputs["mesh"][:N_TRAIN]) == [told[2]] * N_NEW


@pytest.mark.slow
@pytest.mark.parametrize("walk", ["numbers", "fields"])
def test_what_a_memory_holds_is_read_as_often_as_the_page_says(walk, reads_of_fit, tmp_path):
    reads_of_fit(walk, memory=tmp_path)
    first, other, _ = reads(walk)[AGAIN]
    assert reads_of_fit(walk, memory=tmp_path) == [first] + [other] * (N_TRAIN - 1)


@pytest.mark.parametrize("walk", TITLES)
def test_every_number_of_reads_on_the_page_is_counted_here(walk):
    counted = {
        "numbers": {"`fit`", AGAIN, "`predict_interval`"},
        "fields": {"`fit`", AGAIN, "`predict`", f"`predict`, beyond {FIELD_NODES}"},
        "server": {START, "the request", SAME_MESH},
    }
    assert set(reads(walk)) == counted[walk] | {step for own, step in LARGE if own == walk}

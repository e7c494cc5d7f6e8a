"""Model files that were damaged, edited or crafted: one line that says so, no code run, no memory taken."""

import copy
import io
import json
import pickle
import random
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL, GraphSVC, Matern52, PrincipalSWWL, RobustGPRegressor, load_model
from swwl.errors import InputError
from swwl.jobs.describe import model_facts
from swwl.kernels import Categories
from swwl.report import make_report
from tests.helpers import SMALL, plates, rewrite_model

CHANGED = "was changed after it was written, or is damaged"


@pytest.fixture(scope="module")
def table():
    frame = plates(24)
    return frame.assign(material=["steel", "copper"] * 12, kind=np.arange(24) % 3)


@pytest.fixture(scope="module")
def saved(table, tmp_path_factory):
    kernel = PrincipalSWWL("mesh", n_components=2, **SMALL) * Matern52("load") * Categories("material")
    model = RobustGPRegressor(kernel, n_starts=1, calibrate=False, range_uncertainty=True, trend=["load"])
    model.fit(table, "weight")
    cases = {"rows": list(range(24)), "nodes": [9] * 24, "meshes": {"mesh": ["a.vtu"] * 24}}
    model.metadata_ = {"table": "t.csv", "n_rows": 24, "split": "all", "ignored": {}, "train": cases, "held_out": None}
    path = tmp_path_factory.mktemp("saved") / "m.swwl"
    model.save(path)
    return path


@pytest.fixture(scope="module")
def classifier(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "c.swwl"
    GraphSVC(SWWL("mesh", **SMALL)).fit(table, "kind").save(path)
    return path


def places(value, path=()):
    """Yield the way to every value of a manifest."""
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from places(item, (*path, key))


def put(manifest, path, value):
    for key in path[:-1]:
        manifest = manifest[key]
    manifest[path[-1]] = value


@pytest.mark.slow
def test_flipped_bits_are_refused_or_do_not_matter(saved, table, tmp_path):
    data, rng = saved.read_bytes(), random.Random(0)
    expected = load_model(saved).predict(table[:2])
    refused = 0
    for _ in range(450):
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (tmp_path / "m.swwl").write_bytes(flipped)
        try:
            model = load_model(tmp_path / "m.swwl")
        except InputError:
            refused += 1
        else:
            np.testing.assert_array_equal(model.predict(table[:2]), expected)
    assert refused > 350


@pytest.mark.slow
def test_an_edit_of_anything_is_refused(saved, tmp_path):
    with zipfile.ZipFile(saved) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    for path in random.Random(0).sample(list(places(manifest)), 100):
        if path not in (("version",), ("format",)):
            rewrite_model(saved, tmp_path / "m.swwl", lambda m, _, path=path: put(m, path, 17), checksum=False)
            with pytest.raises(InputError, match=CHANGED):
                load_model(tmp_path / "m.swwl")

    def change_array(_, arrays):
        arrays[3] = arrays[3][:-1] + bytes([arrays[3][-1] ^ 1])

    rewrite_model(saved, tmp_path / "m.swwl", change_array, checksum=False)
    with pytest.raises(InputError, match=rf"{CHANGED} \(the checksum does not match\)"):
        load_model(tmp_path / "m.swwl")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")  # of a model with other ranges
@pytest.mark.parametrize("which", ["saved", "classifier"])
def test_crafted_values_are_refused_or_predict(which, table, tmp_path, request):
    """With the right checksum: every value of the manifest becomes something else, and nothing but `InputError`."""
    source = request.getfixturevalue(which)
    with zipfile.ZipFile(source) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    others = [None, True, -1, 0, 10**30, 1e308, float("nan"), "x", "<b>", [], {}, [[1]], {"$array": 0}, {"$tuple": []}]
    rng = random.Random(0)
    loaded = 0
    for path in rng.choices(list(places(manifest)), k=150):
        for other in rng.sample(others, 2):
            rewrite_model(source, tmp_path / "m.swwl", lambda m, _, p=path, o=other: put(m, p, copy.copy(o)))
            try:
                model = load_model(tmp_path / "m.swwl")
                model.predict(table[:3])
                if which == "saved":
                    model_facts(model)
                loaded += 1
            except InputError as error:
                assert len(str(error).splitlines()) == 1, (path, other)
            except Exception as error:
                raise AssertionError(f"{path} = {other!r}") from error
    assert loaded > 20


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


class Bomb:
    def __reduce__(self):
        return print, ("unpickled",)


HEAD = npy(np.zeros(3))
ARRAYS = {
    "garbage": b"garbage",
    "empty": b"",
    "negative": HEAD.replace(b"(3,)", b"(-3,)"),
    "huge": HEAD.replace(b"(3,), }        ", b"(1000000000000,), }"[:15] + b"    "),
    "cut": HEAD[:-1],
    "pickled": npy(np.array([Bomb()], dtype=object), allow_pickle=True),
    "structured": npy(np.zeros(3, dtype=[("a", float)])),
    "version": HEAD.replace(b"NUMPY\x01", b"NUMPY\x09"),
    "nan": npy(np.full(3, np.nan)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_none(name, saved, tmp_path, capsys):
    def change(_, arrays):
        arrays[4] = ARRAYS[name]

    rewrite_model(saved, tmp_path / "m.swwl", change)
    with pytest.raises(InputError, match=CHANGED) as found:
        load_model(tmp_path / "m.swwl")
    assert len(str(found.value).splitlines()) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_nothing_takes_more_memory_than_the_file(saved, tmp_path):
    zeros = npy(np.zeros(5_000_000))
    bombs = {
        "array": lambda _, arrays: arrays.__setitem__(4, zeros),
        "manifest": lambda manifest, _: manifest.update(note=" " * 40_000_000),
    }
    for name, change in bombs.items():
        rewrite_model(saved, tmp_path / f"{name}.swwl", change, compression=zipfile.ZIP_DEFLATED)
        tracemalloc.start()
        with pytest.raises(InputError, match=f"{name}.swwl: .*is compressed"):
            load_model(tmp_path / f"{name}.swwl")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20_000_000


def test_absurd_manifests(saved, tmp_path):
    for name, text in {
        "deep": '{"a":' * 100_000,
        "nested": "[" * 100_000 + "]" * 100_000,
        "digits": "9" * 100_000,
        "list": "[]",
        "none": "",
    }.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("manifest.json", text)
        with pytest.raises(InputError, match=f"{name}: is not a swwl model file"):
            load_model(tmp_path / name)


def test_entries_that_are_not_a_models(saved, tmp_path):
    for name in ("../../evil", "arrays/1000.npy", "manifest.json"):
        path = tmp_path / "m.swwl"
        path.write_bytes(saved.read_bytes())
        with zipfile.ZipFile(path, "a") as archive, pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            archive.writestr(name, archive.read("manifest.json"))
        with pytest.raises(InputError, match="its entries are not those of a model"):
            load_model(path)


def test_fitted_attributes_are_no_methods(saved, tmp_path):
    for name in ("predict", "__class__", "_trend", "items", "fit"):
        rewrite_model(
            saved,
            tmp_path / "m.swwl",
            lambda m, _, name=name: m["members"][0]["factors"][1]["fitted"].update({name: "x"}),
        )
        with pytest.raises(InputError, match=f"{name} is not learned by Matern52"):
            load_model(tmp_path / "m.swwl")


METADATA = {
    "table": 5,
    "n_rows": '<meta http-equiv=refresh content="0;url=x">',
    "split": ["<b>"],
    "ignored": {"a": "<b>"},
    "train": {"rows": [0] * 24, "nodes": ["<script>"] * 24, "meshes": {"mesh": [3] * 24}},
    "held_out": {"mean": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("key", METADATA)
def test_metadata_never_reaches_the_page_as_html(key, saved, tmp_path):
    rewrite_model(saved, tmp_path / "m.swwl", lambda m, _: m["metadata"].update({key: METADATA[key]}))
    model = load_model(tmp_path / "m.swwl")
    try:
        page = make_report(model, tmp_path / "m.swwl")
    except InputError as error:
        assert "metadata" in str(error)
    else:
        assert not any(text in page for text in ("<meta http-equiv=refresh", "<b>a", "<script>", "<b><"))


def test_python_objects_are_what_was_saved(saved):
    """Loaded arrays are the model's own: they can be written to, and pickled."""
    model = load_model(saved)
    assert model.gps_[0].importance_.flags.writeable
    pd.testing.assert_series_equal(pickle.loads(pickle.dumps(model)).ranges_, model.ranges_)

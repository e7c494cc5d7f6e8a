"""PLAID folders: CGNS without pyplaid, what pyplaid writes, and pickles that are not trusted."""

import json
import os
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import Delaunay

from swwl import InputError, Mesh, MeshSeries, TransientRegressor, as_graph, read_graph, read_mesh
from swwl.datasets import fetch_plaid, load_plaid, plaid
from swwl.mesh.io.formats import times_of
from swwl.mesh.io.series import at_time
from swwl.storage.memory import CONTENTS
from tests.helpers import plate, write_cgns

NO_PYPLAID = "pyplaid (the extra [plaid]) is not installed"


def write_samples(folder, n, first=0, csv=False, **more):
    """Samples as PLAID lays them out: speed = their number, lift twice that except for the last."""
    for i in range(n):
        sample = folder / f"sample_{i:09d}"
        (sample / "meshes").mkdir(parents=True)
        points, cells = plate(20 + first + i, seed=first + i)
        scalars = {"speed": float(first + i)} | ({"lift": 2.0 * i} if i < n - 1 else {}) | more
        write_cgns(
            sample / "meshes" / "mesh_000000000.cgns", points, cells, {"p": points[:, 0]}, {} if csv else scalars
        )
        if csv:
            lines = [",".join(scalars), ",".join(map(repr, scalars.values()))]
            (sample / "scalars.csv").write_text("\n".join(lines) + "\n")


def test_a_folder_of_pyplaid_1(tmp_path):
    write_samples(tmp_path / "data" / "test", 2, first=3)
    write_samples(tmp_path / "data" / "train", 3)
    (tmp_path / "infos.yaml").write_text("owner: me\nstorage_backend: cgns\n")
    table = load_plaid(tmp_path)
    assert table.columns.tolist() == ["mesh", "split", "lift", "speed"]
    assert table["split"].tolist() == ["train"] * 3 + ["test"] * 2
    assert table["speed"].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(table["lift"], [0, 2, np.nan, 0, np.nan])
    graph = read_graph(table["mesh"][4], fields=["p"])
    points, cells = plate(24, seed=4)
    np.testing.assert_array_equal(graph.features, np.c_[points, points[:, 0]])
    pd.testing.assert_frame_equal(load_plaid(tmp_path, "test"), table[3:].reset_index(drop=True))
    with pytest.raises(ValueError, match="has no split 'tset'; its splits are: train, test"):
        load_plaid(tmp_path, split="tset")


@pytest.mark.parametrize("place", ["samples", "dataset/samples", "."])
@pytest.mark.parametrize("form", ["json", "csv", None])
def test_older_folders(place, form, tmp_path):
    """Scalars in a file of their own, splits by number, some samples in two of them."""
    write_samples(tmp_path / place, 4, csv=True)
    splits = {"train": [0, 1, 2], "train_small": [0], "test": [3]}
    (tmp_path / "problem_definition").mkdir()
    if form == "json":
        (tmp_path / "problem_definition" / "split.json").write_text(json.dumps(splits))
    elif form == "csv":
        lines = [",".join([name, *map(str, ids)]) for name, ids in splits.items()]
        (tmp_path / "problem_definition" / "split.csv").write_text("\n".join(lines))
    table = load_plaid(tmp_path)
    assert table["speed"].tolist() == [0, 1, 2, 3] and np.isnan(table["lift"][3])
    if form is None:
        assert table["split"].tolist() == [""] * 4
    else:
        assert table["split"].tolist() == ["train;train_small", "train", "train", "test"]
        assert load_plaid(tmp_path, split="train_small")["split"].tolist() == ["train_small"]
        assert len(load_plaid(tmp_path, split="train")) == 3
        with pytest.raises(ValueError, match="its splits are: train, train_small, test"):
            load_plaid(tmp_path, split="valid")


def test_what_is_wrong_with_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder .*nowhere"):
        load_plaid(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="holds no PLAID data set: found neither samples/"):
        load_plaid(tmp_path)
    write_samples(tmp_path / "samples", 2)
    mesh = tmp_path / "samples" / "sample_000000001" / "meshes" / "mesh_000000000.cgns"
    mesh.write_bytes(mesh.read_bytes()[:500])
    with pytest.raises(ValueError, match=r"sample_000000001.*mesh_000000000\.cgns: it is damaged or not a CGNS file"):
        load_plaid(tmp_path)
    mesh.unlink()
    with pytest.raises(ValueError, match="sample_000000001: there is no CGNS file"):
        load_plaid(tmp_path)


def test_bad_scalars(tmp_path):
    write_samples(tmp_path / "samples", 1, csv=True)
    file = tmp_path / "samples" / "sample_000000000" / "scalars.csv"
    for text, message in [("a,b\n1\n", "as many values"), ("a\n", "found 1 lines"), ("a\nx\n", "could not convert")]:
        file.write_text(text)
        with pytest.raises(ValueError, match=rf"scalars\.csv: .*{message}"):
            load_plaid(tmp_path)
    file.write_text("split\n1\n")
    with pytest.raises(ValueError, match="scalar named 'split'"):
        load_plaid(tmp_path)


def test_without_pyplaid(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plaid", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "infos.yaml").write_text("storage_backend: zarr\n")
    with pytest.raises(
        ImportError, match=r"stored by the backend 'zarr'; reading it needs .*pip install 'swwl\[plaid\]'"
    ):
        load_plaid(tmp_path)
    with pytest.raises(ImportError, match=r"Downloading Rotor37 needs pyplaid 1\.0 .*pip install 'swwl\[plaid\]'"):
        fetch_plaid("Rotor37", tmp_path / "new")
    (tmp_path / "infos.yaml").unlink()
    (tmp_path / "all.parquet").write_bytes(b"")
    with pytest.raises(ImportError, match=r"needs pyarrow, .*pip install 'swwl\[plaid\]'"):
        load_plaid(tmp_path)


def test_downloads_refused(tmp_path):
    with pytest.raises(ValueError, match="no PLAID set 'Rotor 37'; choose from Rotor37, Tensile2d, AirfRANS"):
        fetch_plaid("Rotor 37", tmp_path)
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="is not empty"):
        fetch_plaid("Rotor37", tmp_path)


@pytest.mark.slow
def test_download_without_a_network(tmp_path, monkeypatch):
    pytest.importorskip("plaid", reason=NO_PYPLAID)
    constants = pytest.importorskip("huggingface_hub.constants", reason=NO_PYPLAID)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        ConnectionError, match=r"PhysArena/Tensile2d cannot be fetched from the hub .*check the network"
    ):
        fetch_plaid("Tensile2d", tmp_path / "new")


def test_fetched_once(tmp_path, monkeypatch):
    """A set that was downloaded is read; another one, or half of one, is not taken for it."""
    asked = []

    def hub(name, repository, folder, split_ids):
        asked.append((repository, split_ids))
        write_samples(folder / "data" / "train", 2)
        if split_ids == {"train": [7]}:
            raise ConnectionError("broke off")

    monkeypatch.setattr(plaid, "_download", hub)
    monkeypatch.setenv("SWWL_CACHE", str(tmp_path / "cache"))
    first = fetch_plaid("Rotor37", split_ids={"train": range(2)})
    again = fetch_plaid("Rotor37", split_ids={"train": [0, 1]})
    pd.testing.assert_frame_equal(first, again)
    assert asked == [("PhysArena/Rotor37", {"train": [0, 1]})]
    assert (tmp_path / "cache" / "plaid" / "PhysArena--Rotor37" / "data").is_dir()
    with pytest.raises(FileExistsError, match="is not empty"):
        fetch_plaid("Rotor37")
    for _ in range(2):
        with pytest.raises((ConnectionError, FileExistsError), match="broke off|is not empty"):
            fetch_plaid("Rotor37", tmp_path / "half", split_ids={"train": [7]})
    assert len(asked) == 2


@pytest.mark.parametrize("old", [False, True])
def test_download_by_hub_name(old, tmp_path, monkeypatch):
    """The hub replaced by one that hands out a folder; older sets have no infos.yaml and come as they are."""
    pytest.importorskip("plaid", reason=NO_PYPLAID)
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError
    from plaid import storage

    asked = []

    def new_way(repository, folder, split_ids):
        asked.append(repository)
        if old:
            raise EntryNotFoundError("404: infos.yaml")
        write_samples(folder / "data" / "train", 2)

    def old_way(repository, *, repo_type, local_dir, allow_patterns):
        asked.append(repository)
        write_samples(local_dir / "samples", 2)

    monkeypatch.setattr(storage, "download_from_hub", new_way)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", old_way)
    table = fetch_plaid("Rotor37", tmp_path / "rotor")
    assert table["speed"].tolist() == [0, 1]
    assert asked == ["PhysArena/Rotor37"] * (1 + old)


def plaid_sample(i):
    """A sample as pyplaid makes it."""
    import CGNS.PAT.cgnskeywords as names
    import CGNS.PAT.cgnslib as cgns
    from plaid import Sample

    rng = np.random.default_rng(i)
    points = rng.random((30 + i, 2))
    triangles = Delaunay(points).simplices
    sample = Sample()
    sample.init_base(2, 2, "Base_2_2")
    sample.init_zone(np.array([[len(points), len(triangles), 0]]), zone="Zone")
    sample.set_nodes(points)
    connectivity = (triangles + 1).ravel()
    cgns.newElements(sample.get_zone(), "Elements_TRI_3", names.TRI_3_s, np.array([1, len(triangles)]), connectivity)
    sample.add_field("p", rng.random(len(points)))
    sample.add_field("c", rng.random(len(triangles)), location="CellCenter")
    for name, value in {"speed": i + 0.25, "count": i, "vector": np.arange(3.0), "tag": "abc"}.items():
        sample.add_global(name, value)
    if i < 3:
        sample.add_global("lift", 2.0 * i)
    return sample


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of pyplaid's own dependencies
@pytest.mark.parametrize("backend", ["cgns", "zarr", "hf_datasets"])
def test_what_pyplaid_writes_reads_back_equal(backend, tmp_path, monkeypatch):
    storage = pytest.importorskip("plaid.storage", reason=NO_PYPLAID)
    storage.save_to_disk(tmp_path / "set", plaid_sample, {"train": [0, 1, 2], "test": [3, 4]}, backend=backend)
    if backend == "cgns":  # no pyplaid is needed to read it
        monkeypatch.setitem(sys.modules, "plaid", None)
        monkeypatch.setitem(sys.modules, "CGNS", None)
    table = load_plaid(tmp_path / "set")
    if backend == "cgns":
        monkeypatch.undo()
    assert table.columns.tolist() == ["mesh", "split", "count", "lift", "speed"]
    assert table["split"].tolist() == ["train"] * 3 + ["test"] * 2
    assert table["speed"].tolist() == [0.25, 1.25, 2.25, 3.25, 4.25]
    np.testing.assert_array_equal(table["lift"], [0, 2, 4, np.nan, np.nan])
    datasets, converters = storage.init_from_disk(tmp_path / "set")
    for row, (split, i) in zip(
        table.itertuples(), [("train", 0), ("train", 1), ("train", 2), ("test", 0), ("test", 1)], strict=True
    ):
        sample = converters[split].to_plaid(datasets[split], i)
        graph = as_graph(row.mesh, fields=["p"])
        np.testing.assert_array_equal(graph.features[:, :2], sample.get_nodes())
        np.testing.assert_array_equal(graph.features[:, 2], sample.get_field("p"))
        triangles = next(iter(sample.get_elements().values()))
        expected = as_graph((sample.get_nodes(), np.asarray(triangles) - np.min(triangles)))
        assert graph.same_topology(expected)
        assert row.speed == sample.get_global("speed") and row.count == sample.get_global("count")
    assert isinstance(table["mesh"][0], str if backend == "cgns" else Mesh)


def dumped(i):
    """A sample as pyplaid before 1.0 pickled it for the hub."""
    points, cells = plate(20 + i, seed=i)

    def array(name, values):
        return [name, values, [], "DataArray_t"]

    location = ["GridLocation", np.frombuffer(b"Vertex", "S1"), [], "GridLocation_t"]
    axes = [array("CoordinateX", points[:, 0]), array("CoordinateY", points[:, 1])]
    zone = [
        ["GridCoordinates", None, axes, "GridCoordinates_t"],
        ["Elements_TRI_3", np.array([5, 0]), [array("ElementConnectivity", (cells + 1).ravel())], "Elements_t"],
        ["VertexFields", None, [location, array("p", points[:, 0])], "FlowSolution_t"],
    ]
    base = ["Base_2_2", np.array([2, 2]), [["Zone", np.array([[20, 5, 0]]), zone, "Zone_t"]], "CGNSBase_t"]
    tree = ["CGNSTree", None, [base], "CGNSTree_t"]
    return {"meshes": {0.0: tree}, "scalars": {"speed": np.float64(i), "lift": 2.0 * i}, "time_series": None}


def write_parquet(path, contents):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow (in the extra [plaid]) is not installed")
    from pyarrow import parquet

    parquet.write_table(arrow.table({"sample": arrow.array(contents, arrow.binary())}), path)


def test_pickles_of_older_sets(tmp_path):
    (tmp_path / "data").mkdir()
    write_parquet(tmp_path / "data" / "all_samples-00000-of-00002.parquet", [pickle.dumps(dumped(i)) for i in (0, 1)])
    write_parquet(
        tmp_path / "data" / "all_samples-00001-of-00002.parquet", [pickle.dumps({"features": {"data": dumped(2)}})]
    )
    table = load_plaid(tmp_path)
    assert table["split"].tolist() == ["all_samples"] * 3
    np.testing.assert_array_equal(table["speed"], [0, 1, np.nan])
    for i, mesh in enumerate(table["mesh"]):
        points, cells = plate(20 + i, seed=i)
        graph = as_graph(mesh, fields=["p"])
        np.testing.assert_array_equal(graph.features, np.c_[points, points[:, 0]])
        assert graph.same_topology(as_graph((points, cells)))


class Command:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.system, (f"touch {self.target}",)


def test_a_malicious_pickle_is_refused(tmp_path):
    target = tmp_path / "owned"
    write_parquet(tmp_path / "train.parquet", [pickle.dumps(dumped(0) | {"links": Command(target)})])
    with pytest.raises(ValueError, match=r"train\.parquet: The pickle asks for (posix|nt)\.system"):
        load_plaid(tmp_path)
    assert not target.exists()


def test_parquet_of_another_kind(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow (in the extra [plaid]) is not installed")
    from pyarrow import parquet

    parquet.write_table(arrow.table({"x": [1.0], "y": [2.0]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="expected one column 'sample', found x, y"):
        load_plaid(tmp_path)


def write_history(folder, number, times):
    """A sample of several times, whose field grows with time."""
    meshes = folder / "data" / "train" / f"sample_{number:09d}" / "meshes"
    meshes.mkdir(parents=True)
    points, cells = plate(40, seed=number)
    for k, time in enumerate(times):
        field = {"T": points[:, 0] * (1 + time) * (1 + 0.1 * number)}
        write_cgns(meshes / f"mesh_{k:09d}.cgns", points, cells, field, {"speed": 1.0 + number}, time=time)
    return meshes


def test_samples_of_several_times_are_series(tmp_path):
    meshes = write_history(tmp_path, 0, [0.0, 0.5, 2.0])
    first = meshes / "mesh_000000000.cgns"
    series = MeshSeries.read(first)
    assert series.times.tolist() == [0.0, 0.5, 2.0]
    np.testing.assert_allclose(series.fields["T"][2], 3.0 * series.fields["T"][0])
    np.testing.assert_array_equal(read_mesh(first).fields["T"], series.fields["T"][0])
    for time, step in ((0.5, 1), ("last", 2), ("first", 0)):
        np.testing.assert_array_equal(read_mesh(first, time=time).fields["T"], series.fields["T"][step])
        assert at_time(first, time).name == f"mesh_000000000.cgns@{time}"
    np.testing.assert_array_equal(read_mesh(f"{first}@0.5").fields["T"], series.fields["T"][1])
    with pytest.raises(InputError, match=r"no time 1; its times are 0, 0\.5, 2"):
        read_mesh(first, time=1.0)
    alone = write_history(tmp_path, 1, [0.0]) / "mesh_000000000.cgns"
    assert MeshSeries.read(alone).times.tolist() == [0.0] and times_of(alone) == []
    assert read_mesh(alone, time="last").n_nodes == 40


def test_what_is_kept_of_a_time_follows_its_own_file(tmp_path):
    named = write_history(tmp_path, 0, [0.0, 1.0]) / "mesh_000000000.cgns@1"
    (files,) = [files for files in (contents(named) for contents in CONTENTS) if files]
    assert [file.name for file in files] == ["mesh_000000001.cgns"]


def test_a_folder_of_histories_is_learned(tmp_path):
    for number in range(8):
        write_history(tmp_path, number, [0.0, 0.5, 2.0])
    table = load_plaid(tmp_path)
    model = TransientRegressor().fit(table[["mesh", "speed"]].drop(4), "T")
    (mean,) = model.predict(table[4:5])
    truth = MeshSeries.read(table["mesh"][4]).fields["T"]
    assert np.abs(mean["T"] - truth).max() < 0.2 * np.ptp(truth)

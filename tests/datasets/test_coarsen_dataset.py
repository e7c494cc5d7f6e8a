"""Whole data sets with coarser meshes."""

import json
import shutil
from importlib.util import find_spec

import meshio
import numpy as np
import pandas as pd
import pytest

from swwl import read_graph
from swwl.datasets import coarsen_dataset, coarsen_mesh, load_dataset, write_dataset
from swwl.datasets.tensile2d.mesh import notched_plate
from tests.datasets.quality import fingerprint
from tests.helpers import write_cgns

needs_mmg = pytest.mark.skipif(find_spec("mmgpy") is None, reason="mmgpy (the extra [mmg]) is not installed")


@pytest.fixture(scope="module")
def blades(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets") / "blades"
    write_dataset("blade", 4, folder, n_nodes=1500)
    return folder


@pytest.mark.slow
@needs_mmg
def test_a_whole_data_set(blades, tmp_path):
    calls = []
    table = coarsen_dataset(blades, tmp_path / "coarse", 300, progress=lambda *numbers: calls.append(numbers))
    assert calls == [(k, 4) for k in range(5)]
    source = load_dataset(blades, shape=True)
    pd.testing.assert_frame_equal(table, load_dataset(tmp_path / "coarse"))
    again = load_dataset(tmp_path / "coarse", shape=True)
    pd.testing.assert_frame_equal(again.drop(columns="mesh"), source.drop(columns="mesh"))
    for path in table["mesh"]:
        graph = read_graph(path, fields=["pressure"])
        assert 270 <= graph.n_nodes <= 330 and graph.n_features == 4
    about = json.loads((tmp_path / "coarse" / "about.json").read_text())
    assert about["coarsened_to"] == 300 and about["source"]["generator"] == "blade"
    assert set(fingerprint(tmp_path / "coarse")) == set(fingerprint(blades))


@pytest.mark.slow
@needs_mmg
def test_an_interrupted_run_resumes_to_the_same_bytes(blades, tmp_path):
    coarsen_dataset(blades, tmp_path / "whole", 300, n_jobs=1)

    class Stop(Exception):
        pass

    def stop(done, total):
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        coarsen_dataset(blades, tmp_path / "broken", 300, n_jobs=1, progress=stop)
    with pytest.raises(FileNotFoundError, match="is unfinished, at 2 samples"):
        load_dataset(tmp_path / "broken")
    (tmp_path / "broken" / "meshes" / ".00003.vtu.17.part").write_text("half")
    first = (tmp_path / "broken" / "meshes" / "00000.vtu").stat().st_mtime_ns
    coarsen_dataset(blades, tmp_path / "broken", 300, n_jobs=1)
    assert fingerprint(tmp_path / "broken") == fingerprint(tmp_path / "whole")
    assert (tmp_path / "broken" / "meshes" / "00000.vtu").stat().st_mtime_ns == first
    shutil.rmtree(tmp_path / "broken" / "meshes")
    coarsen_dataset(blades, tmp_path / "broken", 300, n_jobs=1)
    assert fingerprint(tmp_path / "broken") == fingerprint(tmp_path / "whole")


@pytest.mark.slow
@needs_mmg
def test_folders_of_anything_else_are_refused(blades, tmp_path):
    coarsen_dataset(blades, tmp_path / "coarse", 400, n_jobs=1)
    before = fingerprint(tmp_path / "coarse")
    with pytest.raises(FileExistsError, match="its coarsened_to is 400, expected 300"):
        coarsen_dataset(blades, tmp_path / "coarse", 300)
    with pytest.raises(FileExistsError, match="is the data set itself"):
        coarsen_dataset(blades, blades, 300)
    (tmp_path / "thesis.tex").write_text("years of work")
    for out, message in [(tmp_path, "holds no coarsened data set"), (tmp_path / "thesis.tex", "is a file")]:
        with pytest.raises(FileExistsError, match=message):
            coarsen_dataset(blades, out, 300)
    assert fingerprint(tmp_path / "coarse") == before
    for changed, message in [({"file_format": "stl"}, "one of vtu, npz"), ({"n_jobs": 0}, "processes must be")]:
        with pytest.raises(ValueError, match=message):
            coarsen_dataset(blades, tmp_path / "new", 300, **changed)


@pytest.mark.slow
@needs_mmg
def test_tables_and_plaid_folders(tmp_path):
    points, triangles = notched_plate(0.3, 0.1, 800)
    mesh = meshio.Mesh(points, [("triangle", triangles)])
    table = pd.DataFrame({"mesh": [mesh, mesh], "load": [1.0, 2.0]}, index=[7, 8])
    coarse = coarsen_dataset(table, tmp_path / "table", 200, n_jobs=1, file_format="npz")
    assert coarse["load"].tolist() == [1, 2]
    np.testing.assert_array_equal(
        coarsen_mesh(coarse["mesh"][0], 100).points, coarsen_mesh(coarse["mesh"][1], 100).points
    )
    sample = tmp_path / "plaid" / "data" / "train" / "sample_000000000" / "meshes"
    sample.mkdir(parents=True)
    write_cgns(sample / "mesh_000000000.cgns", points, triangles, {"p": points[:, 0]})
    coarse = coarsen_dataset(tmp_path / "plaid", tmp_path / "coarse", 200, n_jobs=1)
    assert coarse["speed"].tolist() == [3.5] and coarse["split"].tolist() == ["train"]
    assert abs(read_graph(coarse["mesh"][0], fields=["p"]).n_nodes - 200) <= 20
    table["mesh"] = [mesh, meshio.Mesh(points[:3], [("triangle", [[0, 1, 2]])])]
    with pytest.raises(ValueError, match="Mesh 1: The mesh has 3 nodes, fewer than the 200 requested"):
        coarsen_dataset(table, tmp_path / "bad", 200, n_jobs=1)
    (tmp_path / "empty.vtu").write_text("")
    table["mesh"] = [mesh, tmp_path / "empty.vtu"]
    with pytest.raises(ValueError, match=r"Mesh 1: .*empty\.vtu: the file is empty"):
        coarsen_dataset(table, tmp_path / "unreadable", 200, n_jobs=2)
    with pytest.raises(ValueError, match="no column 'mesh'; its columns are: load"):
        coarsen_dataset(table[["load"]], tmp_path / "bad", 200)
    with pytest.raises(ValueError, match="no rows"):
        coarsen_dataset(table[:0], tmp_path / "bad", 200)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        coarsen_dataset(tmp_path / "nowhere", tmp_path / "bad", 200)

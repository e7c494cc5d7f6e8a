"""Several embeddings of one column: the rows of each alone, and every file read as often as needed."""

import numpy as np
import pytest

from swwl import InputError, Mesh, SWWLEmbedding
from swwl.embedding.runner import fit_transform_together, transform_together
from swwl.embedding.summaries import SummaryEmbedding
from swwl.mesh.io import convert as once
from tests.helpers import SMALL, plate


def several(n_jobs=1):
    return [
        SWWLEmbedding(**SMALL, n_jobs=n_jobs),
        SWWLEmbedding(3, "sqrt", 8, 20, n_jobs=n_jobs),
        SWWLEmbedding(measure="skin", n_projections=8, n_quantiles=20, n_jobs=n_jobs),
        SWWLEmbedding(measure="area", n_projections=8, n_quantiles=20, n_jobs=n_jobs),
        SWWLEmbedding(**SMALL, scale=True, node_weights="area", n_jobs=n_jobs),
        SummaryEmbedding("mesh", n_jobs=n_jobs),
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshes")
    for seed in range(40):
        Mesh(*plate(30 + seed, seed)).write(folder / f"{seed}.vtu")
    return [str(folder / f"{seed}.vtu") for seed in [*range(40), 3, 3]]


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_are_those_of_each_alone(files, n_jobs):
    together, alone = several(n_jobs), several()
    rows = fit_transform_together(together, files)
    for own, embedding, one in zip(rows, together, alone, strict=True):
        np.testing.assert_array_equal(own, one.fit_transform(files))
        for few in (files[:1], files[5:9]):
            np.testing.assert_array_equal(transform_together([embedding], few)[0], one.transform(few))
    for own, new in zip(rows, transform_together(together, files[7:8]), strict=True):
        np.testing.assert_array_equal(own[7:8], new)


def test_large_files_are_taken_one_at_a_time_with_the_same_rows(files, monkeypatch):
    few = files[:6]
    whole = fit_transform_together(several(2), few)
    monkeypatch.setattr("swwl.embedding.runner._MOST_NODES", 1)
    calls = []
    alone = fit_transform_together(several(2), few, progress=lambda done, total: calls.append(done))
    assert set(calls) == set(range(len(set(few)) + 1))  # two passes: every mesh counts half in each
    for ours, theirs in zip(alone, whole, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_files_are_read_once_or_not_at_all(files, monkeypatch, tmp_path):
    read = []
    original = once.read_file
    monkeypatch.setattr(once, "read_file", lambda path, *rest: (read.append(str(path)), original(path, *rest))[1])
    fit_transform_together(several(), files, memory=tmp_path)
    assert sorted(read) == sorted(set(files))  # small enough to wait in memory between the two passes
    read.clear()
    fit_transform_together(several(), files, memory=tmp_path)
    assert not read
    monkeypatch.setattr("swwl.embedding.runner._MOST_NODES_WAITING", 0)
    fit_transform_together(several(), files)
    assert sorted(read) == sorted([*set(files)] * 2)


def test_mistakes_say_which_mesh_it_was(files, tmp_path):
    (tmp_path / "bad.vtu").write_text("nothing")
    with pytest.raises(InputError) as caught:
        fit_transform_together(several(), [*files[:35], str(tmp_path / "bad.vtu")])
    assert caught.value.item == 35
    assert "bad.vtu" in str(caught.value)


def test_progress_counts_meshes(files):
    calls = []
    fit_transform_together(several(), files, progress=lambda *call: calls.append(call))
    assert calls[-1] == (40, 40)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)

"""Several embeddings of one column: the rows of each alone, and every file read as often as needed."""

import numpy as np
import pytest

from swwl import Graph, InputError, Mesh, SWWLEmbedding
from swwl.embedding import pipeline, runner
from swwl.embedding.runner import Entry, fit_transform_together, transform_together
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


@pytest.mark.parametrize(
    "options", [{}, {"step": "sqrt"}, {"scale": True}, {"measure": "skin"}, {"per_iteration": True}]
)
def test_rows_are_those_of_the_pipeline_on_each_mesh_alone(files, options):
    embedding = SWWLEmbedding(**{**SMALL, **options})
    rows = embedding.fit_transform(files)
    recipe = embedding.recipe()
    for row, path in zip(rows, files, strict=True):
        ((quantiles, center),) = pipeline.embed([runner.load(Entry(0, path), recipe)], recipe)
        shape = (len(recipe.directions), -1, embedding.n_projections)
        shift = (center - embedding.center_).reshape(len(quantiles), 1, -1) @ embedding.directions_.reshape(shape)
        factor = (embedding.n_projections * embedding.n_quantiles) ** (-1 / 2)
        np.testing.assert_array_equal(row, ((quantiles + shift) * factor).astype(np.float32).ravel())


def test_embeddings_share_the_graphs_that_are_made_of_a_mesh(files, monkeypatch):
    made = []
    original = runner.as_graph
    monkeypatch.setattr(runner, "as_graph", lambda item, **rest: (made.append(str(item)), original(item, **rest))[1])
    fit_transform_together([SWWLEmbedding(0, n_projections=4), SWWLEmbedding(2, n_projections=4)], files[:5])
    assert sorted(made) == sorted(files[:5])


def test_one_embedding_reads_the_fields_that_it_needs(tmp_path, monkeypatch):
    points, cells = plate(30)
    Mesh(points, cells, {"heat": points[:, 0], "flow": points[:, 1]}).write(tmp_path / "plate.vtu")
    wanted = []
    original = once.read_file
    monkeypatch.setattr(once, "read_file", lambda path, *rest: (wanted.append(rest), original(path, *rest))[1])
    heat = SWWLEmbedding(**SMALL, fields=["heat"])
    alone = heat.fit_transform([tmp_path / "plate.vtu"])
    together = fit_transform_together([heat, SummaryEmbedding("mesh")], [tmp_path / "plate.vtu"])
    np.testing.assert_array_equal(together[0], alone)
    assert [list(fields) for (fields,) in wanted] == [["heat"], ["heat"]]
    with pytest.raises(InputError, match="Graph 0: .*heat"):
        fit_transform_together([SWWLEmbedding(fields=["cold"]), heat], [tmp_path / "plate.vtu"])


@pytest.mark.parametrize("options", [{}, {"step": "sqrt"}, {"scale": True, "normalization": "sum"}])
def test_progress_of_a_fit_ends_with_all_meshes(files, options):
    calls = []
    SWWLEmbedding(**{**SMALL, **options}).fit(files, progress=lambda *call: calls.append(call))
    assert calls[-1] == (40, 40)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_graphs_wait_between_two_passes_as_far_as_they_fit(monkeypatch):
    entry = Entry(0, (np.eye(3), [[0, 1, 2]]))
    made = entry.once("graph", lambda given: Graph.from_cells(*given))
    assert entry.wait(5) == 2
    assert entry.once("graph", lambda given: pytest.fail("made again")) is made
    assert entry.wait(2) == 2
    assert entry.once("graph", lambda given: Graph.from_cells(*given)) is not made


def test_no_meshes_are_refused_by_every_embedding():
    for embeddings in (several(), [SummaryEmbedding("mesh")]):
        with pytest.raises(InputError, match="no graphs to fit"):
            fit_transform_together(embeddings, [])

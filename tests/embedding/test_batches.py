"""Items through the pipeline: each distinct one once, kept from run to run, named where something is wrong."""

import pickle

import numpy as np
import pandas as pd
import pytest

from swwl import Graph, InputError, SWWLEmbedding, write_graph
from swwl.embedding import runner as batches
from swwl.storage.memory import Memory

SMALL = {"n_iterations": 1, "n_projections": 3, "n_quantiles": 4}


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for k in range(3):
        paths.append(tmp_path / f"rod{k}.npz")
        write_graph(paths[-1], Graph(rng.normal(size=(8 + k, 2)), [(i, i + 1) for i in range(7 + k)]))
    return paths


@pytest.fixture
def reads(monkeypatch):
    """Count the graphs that are read."""
    seen = []
    as_graph = batches.as_graph

    def counting(item, **options):
        seen.append(item)
        return as_graph(item, **options)

    monkeypatch.setattr(batches, "as_graph", counting)
    return seen


@pytest.mark.parametrize("options", [{}, {"step": "sqrt"}, {"scale": True}, {"per_iteration": True}])
def test_a_file_in_many_rows_is_read_once(files, reads, options):
    column = [files[0], files[1], files[0], str(files[1]), files[0], files[2]] * 4
    embedding = SWWLEmbedding(**SMALL, **options)
    rows = embedding.fit_transform(pd.Series(column, dtype=object))
    assert len(reads) == 3
    plain = SWWLEmbedding(**SMALL, **options)
    np.testing.assert_array_equal(rows, plain.fit_transform([batches.as_graph(path) for path in column]))
    reads.clear()
    np.testing.assert_array_equal(embedding.transform(column), rows)
    assert len(reads) == 3


def test_the_center_counts_every_row(files):
    graphs = [batches.as_graph(path) for path in files]
    repeated = SWWLEmbedding(**SMALL).fit([graphs[0], graphs[1], graphs[0]])
    copies = SWWLEmbedding(**SMALL).fit([graphs[0], graphs[1], Graph(graphs[0].features, graphs[0].edges)])
    np.testing.assert_array_equal(repeated.center_, copies.center_)


def test_an_iterator_is_drawn_from_once(files, reads):
    rows = SWWLEmbedding(**SMALL).fit_transform(iter(files))
    assert len(reads) == 3
    np.testing.assert_array_equal(rows, SWWLEmbedding(**SMALL).fit_transform(files))


@pytest.mark.parametrize("options", [{}, {"step": "sqrt"}, {"scale": True}])
def test_memory_gives_the_same_bits_and_reads_nothing(files, reads, tmp_path, options):
    plain = SWWLEmbedding(**SMALL, **options).fit_transform(files)
    kept = SWWLEmbedding(**SMALL, **options, memory=tmp_path / "memory")
    np.testing.assert_array_equal(kept.fit_transform(files), plain)
    reads.clear()
    np.testing.assert_array_equal(kept.fit_transform(files), plain)
    np.testing.assert_array_equal(kept.transform(files), plain)
    assert not reads
    given = Memory(tmp_path / "memory")
    SWWLEmbedding(**SMALL, **options).fit_transform(files, memory=given)
    assert given.found == set(files) and sorted(given.n_nodes.values()) == [8, 9, 10]


def test_entries_that_cannot_be_are_made_again(files, tmp_path):
    memory = tmp_path / "memory"
    plain = SWWLEmbedding(**SMALL).fit_transform(files, memory=memory)
    first, second, third = sorted(memory.glob("*/*quantiles*.npz"))
    np.savez(first, n_nodes=8, quantiles=np.zeros((1, 4, 3), np.float64), offset=np.zeros(4))
    np.savez(second, n_nodes=8, quantiles=np.full((1, 4, 3), np.nan, np.float32), offset=np.zeros(4))
    np.savez(third, n_nodes=8)
    np.testing.assert_array_equal(SWWLEmbedding(**SMALL).fit_transform(files, memory=memory), plain)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("row", [0, 1, 5])
def test_errors_know_their_item(files, tmp_path, n_jobs, row):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"nothing of the kind")
    column = [*files, *files]
    column[row] = bad
    for method in ("fit", "fit_transform"):
        with pytest.raises(InputError, match=f"^Graph {row}: .*bad.npz") as info:
            getattr(SWWLEmbedding(**SMALL, n_jobs=n_jobs), method)(column)
        assert info.value.item == row
        travelled = pickle.loads(pickle.dumps(info.value))
        assert str(travelled) == str(info.value) and travelled.item == row


def test_errors_of_the_users_iterator_pass_through():
    def broken():
        yield Graph([[0.0], [1.0]], [(0, 1)])
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        SWWLEmbedding(**SMALL, n_jobs=2).fit_transform(broken())

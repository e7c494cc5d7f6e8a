"""Discrete labels as one-hot columns."""

import numpy as np
import pytest

from swwl import Graph, InputError, with_labels
from swwl.mesh import label_sets, one_hot


def test_by_hand():
    assert one_hot([2, 0, 2]).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert one_hot([["a", 1], ["b", 1]], weight=2.0).tolist() == [[2, 0, 2], [0, 2, 2]]
    assert one_hot(["b"], sets=[["a", "b", "c"]]).tolist() == [[0, 1, 0]]


def test_the_same_for_all_graphs_together_and_one_by_one():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, (30, 2))
    parts = np.split(labels, [4, 11])
    sets = label_sets(parts)
    whole = one_hot(labels, weight=0.3)
    np.testing.assert_array_equal(np.vstack([one_hot(part, sets, 0.3) for part in parts]), whole)
    graphs = [Graph(rng.random((len(part), 3)), [(0, 1)], [0.5], name="g") for part in parts]
    for attributes in (True, False):
        found = with_labels(graphs, parts, 0.3, attributes=attributes)
        encoded = np.vstack([graph.features for graph in found])
        np.testing.assert_array_equal(encoded[:, 3 * attributes :], whole)
        assert all(a.same_topology(b) and a.name == "g" for a, b in zip(found, graphs, strict=True))


def test_mistakes_know_their_graph():
    graphs = [Graph(np.zeros((2, 1)), [(0, 1)], name=name) for name in ("a.txt", "b.txt")]
    with pytest.raises(
        InputError, match=r"^Graph 1 \(b.txt\): node 1 has the label N, but the labels are: C, O"
    ) as found:
        with_labels(graphs, [["C", "O"], ["C", "N"]], sets=[["C", "O"]])
    assert found.value.item == 1
    with pytest.raises(InputError, match=r"^Graph 0 \(a.txt\) has 2 nodes, but labels for 3") as found:
        with_labels(graphs, [["C", "O", "C"], ["C", "C"]])
    assert found.value.item == 0
    with pytest.raises(InputError, match="Found 1 column of labels, but 2 sets of them"):
        one_hot([1, 2], sets=[[1, 2], [3]])

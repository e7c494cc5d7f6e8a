"""Scores of fields: closed forms, invariances, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from swwl.errors import InputError
from swwl.fields.scores import field_score, mesh_score, pooled


def test_rrmse_as_plaid_writes_it():
    rng = np.random.default_rng(0)
    truth = [rng.standard_normal(n) + 2 for n in (5, 9, 30)]
    found = [u + rng.standard_normal(len(u)) for u in truth]
    squares = [((u - v) ** 2).sum() / len(u) / np.abs(u).max() ** 2 for u, v in zip(truth, found, strict=True)]
    score = field_score(truth, found, names=["a", "b", "c"])
    assert score.rrmse == pytest.approx(np.sqrt(np.mean(squares)))
    u, v = np.concatenate(truth), np.concatenate(found)
    assert score.q2 == pytest.approx(1 - ((u - v) ** 2).sum() / ((u - u.mean()) ** 2).sum())
    assert score.worst == "abc"[np.argmax(squares)]
    assert score.worst_rrmse == pytest.approx(np.sqrt(max(squares)))
    assert (score.n, score.nodes) == (3, 44)
    tops = np.array([(np.abs(u).max(), np.abs(v).max()) for u, v in zip(truth, found, strict=True)])
    assert score.max_error == pytest.approx(np.sqrt(np.mean((tops[:, 1] - tops[:, 0]) ** 2)) / tops[:, 0].mean())


def test_intervals_by_hand():
    score = mesh_score([0.0, 1, 2, 5], [0.0, 1, 2, 3], [-1.0, 0, 1, 2], [1.0, 2, 3, 4])
    assert (score.coverage, score.width) == (0.75, 2.0)
    assert score.interval_score == pytest.approx(2 + 40 * 1 / 4)
    both = pooled([score._replace(name="a"), score._replace(name="b", coverage=0.25)])
    assert (both.coverage, both.worst_coverage, both.worst_covered) == (0.5, 0.25, "b")
    without = field_score([[0.0, 1]], [[0.0, 1]])
    assert np.isnan(without.coverage)
    assert without.worst_covered == ""


def test_a_vector_counts_by_its_length():
    u = np.array([[3.0, 4.0], [0.0, 0.0]])
    score = mesh_score(u, u + [[0.0, 1.0], [1.0, 0.0]])
    assert (score.rmse, score.largest, score.rrmse) == (1.0, 5.0, 0.2)
    assert mesh_score(u[:, 1:], u[:, 1:] + 1).rmse == mesh_score(u[:, 1], u[:, 1] + 1).rmse == 1.0
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    v = u + [[0.3, 1.0], [1.0, -2.0]]
    assert mesh_score(u @ turn, v @ turn).rrmse == pytest.approx(mesh_score(u, v).rrmse)


def test_nodes_without_a_true_value_do_not_count():
    score = mesh_score([1.0, np.nan, 2.0], [1.5, 9e9, 2.5], [0.0, 0, 0], [3.0, 0, 3])
    assert (score.n, score.rmse, score.coverage) == (2, 0.5, 1.0)


def test_a_field_of_zeros_has_no_relative_error():
    scores = [mesh_score([0.0, 0], [1.0, 1], name="zero"), mesh_score([1.0, 2], [1.0, 2], name="one")]
    assert np.isnan(scores[0].rrmse)
    assert pooled(scores).rrmse == 0
    assert np.isnan(pooled(scores[:1]).rrmse)
    assert np.isnan(pooled(scores[:1]).q2)


@given(arrays(float, (7,), elements=st.floats(-1e6, 1e6)), st.floats(1e-3, 1e3))
def test_relative_scores_have_no_units(u, factor):
    v = u + np.arange(7.0)
    if np.abs(u).max() < 1e-3 or np.ptp(u) < 1e-3:
        return
    one, other = field_score([u], [v]), field_score([u * factor], [v * factor])
    assert other.rrmse == pytest.approx(one.rrmse)
    assert other.q2 == pytest.approx(one.q2, rel=1e-6)
    order = np.random.default_rng(0).permutation(7)
    assert field_score([u[order]], [v[order]]).rrmse == pytest.approx(one.rrmse)


def test_q2_of_a_large_constant_and_little_more_is_exact():
    rng = np.random.default_rng(0)
    small = [rng.standard_normal(50) for _ in range(3)]
    far = field_score([u + 1e8 for u in small], [1e8 + 0.5 * u for u in small])
    assert far.q2 == pytest.approx(field_score(small, [0.5 * u for u in small]).q2, rel=1e-6)


@pytest.mark.parametrize(
    ("truth", "found", "words"),
    [
        ([1.0, 2.0], [1.0], "shape"),
        ([[1.0, 2.0]], [1.0], "shape"),
        ([], [], "at least one node"),
        ([np.nan], [1.0], "not known at any node"),
    ],
)
def test_what_is_refused(truth, found, words):
    with pytest.raises(InputError, match=words):
        mesh_score(truth, found)
    with pytest.raises(InputError, match="bounds"):
        mesh_score([1.0, 2.0], [1.0, 2.0], [1.0], [2.0])


def test_as_many_predictions_as_fields_and_at_least_one():
    with pytest.raises(InputError, match="2 true fields"):
        field_score([[1.0], [2.0]], [[1.0]])
    with pytest.raises(InputError, match="no mesh"):
        field_score([], [])

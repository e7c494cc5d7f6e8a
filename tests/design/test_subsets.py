"""Which cases to simulate first, groups of cases, and whether two sets are alike."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from swwl import Graph, Mesh
from swwl.design import KernelKMeans, mmd_test, select
from swwl.design.space import design_rows
from swwl.design.subsets import greedy_medians
from swwl.errors import InputError
from tests.helpers import plate


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12))
def test_every_choice_has_the_largest_gain(seed, n):
    rows = np.random.default_rng(seed).normal(size=(40, 3))
    found = greedy_medians(rows, n, rows[:0], np.arange(40))
    distances = cdist(rows, rows)
    chosen = found["row"].tolist()
    assert distances[chosen[0]].sum() == pytest.approx(distances.sum(axis=1).min())
    for k in range(1, n):
        nearest = distances[:, chosen[:k]].min(axis=1)
        gains = np.maximum(nearest - distances, 0).sum(axis=1)
        assert gains[chosen[k]] == pytest.approx(gains.max())  # two cases that stand for each other tie
        assert found["score"][k] == pytest.approx(gains.max() / 40)


def test_choices_know_neither_units_nor_order():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    chosen = select(rows, 5)["row"]
    assert select(rows * [1e3, 1e-6, 1] + 7, 5)["row"].tolist() == chosen.tolist()
    order = rng.permutation(60)
    assert order[select(rows[order], 5)["row"]].tolist() == chosen.tolist()


@pytest.mark.parametrize("method", ["k-median", "maximin"])
def test_more_choices_begin_with_fewer_and_none_is_there_twice(method):
    rows = np.random.default_rng(1).normal(size=(50, 2))
    found = select(rows, 50, method)
    assert sorted(found["row"]) == list(range(50)) and found["rank"].tolist() == list(range(1, 51))
    assert select(rows, 9, method)["row"].tolist() == found["row"][:9].tolist()
    assert list(found.columns) == ["row", "rank", "score", "why"] and (found["why"] != "").all()
    scores = found["score"].to_numpy()[1:]
    assert (np.diff(scores) <= 1e-9).all()


def test_known_cases_are_not_chosen_and_keep_others_away():
    rows = np.r_[np.zeros((20, 1)), np.ones((20, 1)), np.full((20, 1), 2.0)]
    rows += 0.01 * np.random.default_rng(0).normal(size=rows.shape)
    found = select(rows, 2, have=[3, 25])["row"]
    assert found[0] >= 40 and not {3, 25} & set(found)
    mask = np.arange(60) < 40
    assert select(rows, 1, have=mask)["row"][0] >= 40
    assert select(rows, 1, have=rows[:40])["row"][0] >= 40  # a table of others


def test_meshes_are_told_apart_by_their_shape():
    points, cells = plate(80)
    widths = [1.0] * 6 + [3.0] * 6
    rng = np.random.default_rng(0)
    meshes = [Mesh(points * [w + 0.02 * rng.random(), 1], {"triangle": cells}) for w in widths]
    found = select(meshes, 2)["row"].tolist()
    assert {row // 6 for row in found} == {0, 1}
    graphs = [Graph([[0.0], [w + 0.02 * rng.random()]], [(0, 1)]) for w in widths]
    assert {row // 6 for row in select(graphs, 2, "maximin")["row"]} == {0, 1}


def test_bad_pools_are_refused():
    rows = np.random.default_rng(0).normal(size=(5, 2))
    for options, text in [
        ({"n": 6}, "6 cases were requested, but the pool has 5"),
        ({"n": 4, "have": [0, 1]}, "4 cases were requested, but the pool has 3, 2 more are left out"),
        ({"n": 0}, "n must be a whole number of at least 1, not 0"),
        ({"n": 1, "method": "best"}, "method must be one of k-median, maximin"),
        ({"n": 1, "have": [7]}, "have names row 7, but there are 5 cases"),
        ({"n": 1, "have": np.ones(3, bool)}, "have has 3 entries, but there are 5 cases"),
    ]:
        with pytest.raises(InputError, match=text):
            select(rows, **options)
    with pytest.raises(InputError, match="All cases are the same"):
        select(np.ones((4, 2)), 1)
    with pytest.raises(InputError, match="needs column 'load'"):
        select(pd.DataFrame({"load": [1.0, 2.0]}), 1, have=pd.DataFrame({"loud": [1.0]}))


def groups(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 2)) * 0.3 + np.array([[0, 0], [3, 0], [0, 4]])[labels], labels


def test_linear_kernel_k_means_is_k_means():
    rows, labels = groups(0)
    found = KernelKMeans(3).fit(rows)
    assert adjusted_rand_score(labels, found.labels_) == 1.0
    (points,) = design_rows(rows)
    assert found.inertia_ == pytest.approx(KMeans(3, n_init=10, random_state=0).fit(points).inertia_)
    assert KernelKMeans(3, kernel="precomputed").fit(points @ points.T).inertia_ == pytest.approx(found.inertia_)
    assert adjusted_rand_score(labels, KernelKMeans(3, kernel="gaussian").fit_predict(rows)) == 1.0


def test_k_means_refuses_what_cannot_be():
    rows, _ = groups(0)
    for options, text in [({"n_clusters": 99}, "n_clusters"), ({"kernel": "exp"}, "kernel must be one of")]:
        with pytest.raises(InputError, match=text):
            KernelKMeans(**options).fit(rows)
    with pytest.raises(InputError, match="square and symmetric"):
        KernelKMeans(2, kernel="precomputed").fit(rows)


def test_the_discrepancy_is_that_of_the_formula_and_holds_its_level():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 2)), rng.normal(size=(9, 2)) + 1
    first, second = design_rows(x, y)
    gamma = 0.7
    k = lambda a, b: np.exp(-gamma * cdist(a, b) ** 2)  # noqa: E731
    n, m = 12, 9
    wanted = (k(first, first).sum() - n) / (n * (n - 1)) + (k(second, second).sum() - m) / (m * (m - 1))
    wanted -= 2 * k(first, second).mean()
    assert mmd_test(x, y, gamma=gamma, n_permutations=9).statistic == pytest.approx(wanted)
    p = [mmd_test(*np.split(rng.normal(size=(40, 2)), 2), n_permutations=99).p_value for _ in range(40)]
    assert np.mean(np.array(p) <= 0.05) <= 0.15
    assert mmd_test(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 1.5).p_value < 0.01
    with pytest.raises(InputError, match="At least two cases of each set"):
        mmd_test(x, y[:1])

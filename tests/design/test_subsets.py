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
from swwl.design.coverage import Coverage, Outlook, distinct, random_outlook
from swwl.design.space import design_rows
from swwl.design.subsets import METHODS, greedy_medians, support_points
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


def matern(first, second, length):
    t = np.sqrt(5) * cdist(first, second) / length
    return (1 + t + t**2 / 3) * np.exp(-t)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 4))
def test_what_a_choice_leaves_open_is_the_variance_of_a_process(seed, n_known):
    rng = np.random.default_rng(seed)
    rows, known = rng.normal(size=(30, 3)), rng.normal(size=(n_known, 3))
    cover, length = Coverage(rows, known), 5 * np.sqrt(rows.var(axis=0).sum())
    chosen = [3, 17, 8]
    for case in chosen:
        predicted = cover.left() * (1 - cover.gains()[case])
        cover.choose(case)
        assert cover.left() == pytest.approx(predicted, rel=1e-6)
    given = np.vstack([known, rows[chosen]])
    across = matern(rows, given, length)
    solved = np.linalg.solve(matern(given, given, length) + 1e-4 * np.eye(len(given)), across.T)
    assert cover.left() == pytest.approx(1 - (across * solved.T).sum(axis=1).mean(), rel=1e-6)


def test_copies_of_cases_count_once_and_large_pools_by_a_sample(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(40, 2))
    copied = np.vstack([rows, np.repeat(rows[:1], 300, axis=0) + 1e-13])
    assert distinct(copied).tolist() == list(range(40))
    cover = Coverage(rows, rows[:0])
    assert Coverage(copied, rows[:0]).gains()[:40] == pytest.approx(cover.gains())
    monkeypatch.setattr("swwl.design.coverage._MOST_NUMBERS", 30 * 40)
    monkeypatch.setattr("swwl.design.coverage._MOST_KNOWN", 5)
    some = Coverage(rows, rows[:9], seed=1)
    some.choose(12)
    assert 0 < some.left() < 1 and some.gains().shape == (40,)


def test_the_outlook_knows_clustered_pools_from_even_ones():
    rng = np.random.default_rng(0)
    crowd = np.vstack([rng.normal(size=(15, 4)), 0.02 * rng.normal(size=(150, 4)) + rng.normal(size=4)])
    assert select(crowd, 15).attrs["outlook"].worth
    assert "falls to" in select(crowd, 15).attrs["outlook"].told()
    even = select(rng.uniform(size=(280, 10)), 60).attrs["outlook"]
    assert not even.worth and "evenly filled" in even.told()


def test_random_choice_leaves_what_conditioning_leaves():
    rng = np.random.default_rng(0)
    among = matern(*[rng.normal(size=(12, 2))] * 2, 1.0)
    found = random_outlook(among, np.arange(12), np.ones(12), np.full(12, 0.1), 12, np.arange(12), 0)
    left = 1 - (among * np.linalg.solve(among + 0.1 * np.eye(12), among).T).sum(axis=1)
    assert isinstance(found, Outlook) and found.before == 1.0
    assert found.random == pytest.approx([np.sqrt(left.mean())] * 3)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3))
def test_support_points_have_the_least_energy_distance(seed, n_known):
    rng = np.random.default_rng(seed)
    rows, known = rng.normal(size=(25, 2)), rng.normal(size=(n_known, 2))
    found = support_points(rows, 4, known, np.arange(25))

    def energy(chosen):
        own = np.vstack([known, rows[chosen]])
        return 2 * cdist(own, rows).mean() - cdist(own, own).mean() - cdist(rows, rows).mean()

    for k in range(1, 5):
        chosen = found["row"].tolist()[:k]
        others = [energy([*chosen[:-1], c]) for c in range(25) if c not in chosen[:-1]]
        assert energy(chosen) == pytest.approx(min(others)) == pytest.approx(found["score"][k - 1])


def test_choices_know_neither_units_nor_order():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    chosen = select(rows, 5)["row"]
    assert select(rows * [1e3, 1e-6, 1] + 7, 5)["row"].tolist() == chosen.tolist()
    order = rng.permutation(60)
    assert order[select(rows[order], 5)["row"]].tolist() == chosen.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_more_choices_begin_with_fewer_and_none_is_there_twice(method):
    rows = np.random.default_rng(1).normal(size=(50, 2))
    found = select(rows, 50, method)
    assert sorted(found["row"]) == list(range(50)) and found["rank"].tolist() == list(range(1, 51))
    assert select(rows, 9, method)["row"].tolist() == found["row"][:9].tolist()
    assert list(found.columns) == ["row", "rank", "score", "why"] and (found["why"] != "").all()
    scores = found["score"].to_numpy()[1:]
    if method in ("k-median", "maximin"):
        assert (np.diff(scores) <= 1e-9).all()


def test_known_cases_are_not_chosen_and_keep_others_away():
    rows = np.r_[np.zeros((20, 1)), np.ones((20, 1)), np.full((20, 1), 2.0)]
    rows += 0.01 * np.random.default_rng(0).normal(size=rows.shape)
    found = select(rows, 2, have=[3, 25])["row"]
    assert found[0] >= 40 and not {3, 25} & set(found)
    mask = np.arange(60) < 40
    assert select(rows, 1, have=mask)["row"][0] >= 40
    assert select(rows, 1, have=rows[:40])["row"][0] >= 40  # a table of others
    loads = pd.DataFrame({"load": rows[:, 0]})
    assert select(loads, 1, have=loads["load"][:40])["row"][0] >= 40  # a column is one, too
    for method in METHODS:
        assert select(rows[[0, 20, 40]], 1, method, have=[0])["row"][0] in (1, 2)


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
        ({"n": 1, "method": "best"}, "method must be one of imse, support, k-median, maximin"),
        ({"n": 1, "have": [7]}, "have names row 7, but there are 5 cases"),
        ({"n": 1, "have": [1.0]}, "have holds 1.0, but row numbers are whole; give cases as a table"),
        ({"n": 1, "have": np.array([0, 1.5])}, "have holds 0.0, but row numbers are whole"),
        ({"n": 1, "have": 2}, "have must hold row numbers from 0"),
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

"""What is said of new cases: counted in words, and a warning only where chance does not explain it."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from swwl.domain.clouds import SCORES
from swwl.domain.notes import case_notes, repeated_nodes, surprising_notes, warn_about_cases, with_causes
from swwl.errors import CaseWarning
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.screening import facts_of, typical_of


def cases(n, outside=0, unlike=0, widened=0, far=0):
    """What a model says of n cases, the first so many of them odd."""
    count = np.arange(n)
    return pd.DataFrame(
        {
            "outside": np.where(count < outside, "load", ""),
            "inside": count >= unlike,
            "kind": np.where(count < unlike, "other shape", "inside"),
            "widened": np.where(count < widened, "stress", ""),
            "far": count < far,
        }
    )


def test_nothing_is_said_where_all_is_well():
    assert case_notes(cases(20)) == {} and surprising_notes(cases(20), 100, 2) == []


def test_one_case_and_several_are_counted_in_english():
    one, several = case_notes(cases(9, 1, 1, 1)), case_notes(cases(9, 2, 3, 4))
    assert set(one) == set(several) == {"outside", "unlike", "widened"}
    assert one["outside"].startswith("1 of 9 cases leaves") and several["outside"].startswith("2 of 9 cases leave ")
    assert "is unlike" in one["unlike"] and several["unlike"].endswith("(other shape: 3)")
    assert "less sure of it" in one["widened"] and "less sure of them" in several["widened"]


@pytest.mark.parametrize(("kind", "rate", "rare"), [("widened", 0.05, 0.01), ("unlike", 0.05, 0.06)])
def test_python_warns_from_the_first_count_that_chance_hardly_gives(kind, rate, rare):
    first = next(count for count in range(1, 41) if binom.sf(count - 1, 40, rate) < rare)
    assert surprising_notes(cases(40, **{kind: first - 1}), 100, 1) == []
    assert len(surprising_notes(cases(40, **{kind: first}), 100, 1)) == 1


def test_a_number_leaves_the_range_of_few_more_often_than_that_of_many():
    """Of N + 1 numbers drawn alike, a new one is the least or the largest with probability 2 / (N + 1)."""
    assert surprising_notes(cases(20, outside=3), 10, 1) == []
    assert len(surprising_notes(cases(20, outside=3), 1000, 1)) == 1
    assert len(surprising_notes(cases(20, outside=1, unlike=1, far=1), 10, 1)) == 2  # what is far away is told anyway


def test_many_cases_that_differ_a_little_are_told_together():
    """A shift of every p-value that shows in no single case; nothing for few cases, chance, or one mesh many times."""
    even = (np.arange(200) + 0.5) / 200
    for p, told in ((even, False), (0.5 + even / 2, False), (0.35 * even + 0.01, True), (0.1 * even[:9], False)):
        domain = cases(len(p)).assign(std=p)
        assert ("together" in case_notes(domain)) == told
        assert (surprising_notes(domain, 100, 1) != []) == told
    low = cases(200).assign(std=0.35 * even + 0.01)
    text = case_notes(low)["together"]
    assert text.startswith("200 cases, each like the training cases, differ") and "less sure than 82 % of" in text
    swept = low.assign(**{"std": 0.05} | {f"{score} mesh": 0.5 for score in SCORES})
    assert "together" not in case_notes(swept)
    assert "together" not in case_notes(low.assign(inside=pd.array([pd.NA] * 200, dtype="boolean")))


def test_loose_cells_are_said():
    corners = np.array([[0.0, 0], [1, 0], [0, 1], [1, 0], [1, 1], [0, 1]])
    soup = Mesh(corners, [[0, 1, 2], [3, 4, 5]])
    assert "2 of 6 nodes exactly where another one is" in repeated_nodes(facts_of(soup))
    assert repeated_nodes(facts_of(soup.merged())) == ""


def test_warnings_are_sentences():
    with pytest.warns(CaseWarning, match=r"^one\.$"):
        warn_about_cases(["one"])


def test_the_cause_stands_in_place_of_what_follows_from_it():
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    plates = [Mesh(square * [width, 1], {"quad": [[0, 1, 2, 3]]}) for width in np.linspace(2, 2.2, 9)]
    kept = {"geo": typical_of([facts_of(mesh) for mesh in plates]).plain()}
    shifted, large = (Mesh(points, plates[4].cells) for points in (plates[4].points + [0.3, 0], 1e3 * plates[4].points))
    meshes = {"geo": [plates[4], shifted, large, shifted, shifted]}
    why = "the mesh in 'geo' goes further along known variations than the training meshes; less sure"
    kinds = [
        "inside",
        "further along known variations",
        "unlike any training case",
        "cannot tell",
        "input out of range",
    ]
    inside = pd.array([True, False, False, pd.NA, False], dtype="boolean")
    domain = {"kind": kinds, "why": [why] * 5, "inside": inside}
    domain |= {f"{score} geo": np.full(5, 0.01) for score in SCORES}
    found = with_causes(domain, 100, meshes, kept)
    frame = "other units, frame or kind"
    assert found["kind"] == ["inside", frame, frame, frame, "input out of range"]
    assert found["inside"].tolist() == [True, False, False, False, False]  # few training cases know that much
    moved = "the mesh in 'geo' is probably moved by 0.3 in x, compared with the training meshes; less sure"
    assert found["why"][1] == found["why"][3] == moved and "1000 times larger" in found["why"][2]
    assert found["why"][0] == found["why"][4] == why
    assert with_causes(domain, 100, meshes, {}) is domain

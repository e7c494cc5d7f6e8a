"""What is said of new cases: counted in words, and a warning only where chance does not explain it."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import betabinom

from swwl import Matern52
from swwl.domain.clouds import SCORES
from swwl.domain.notes import (
    _chance,
    case_notes,
    repeated_nodes,
    surprising_notes,
    usual,
    warn_about_cases,
    with_causes,
)
from swwl.domain.verdict import judge, make_reference
from swwl.errors import CaseWarning
from swwl.gp.prediction import Prediction
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.screening import facts_of, typical_of
from tests.mesh.shapes import extruded


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
            "tail": np.where(count < far, 0.0, 1.0),
        }
    )


def test_nothing_is_said_where_all_is_well():
    assert case_notes(cases(20)) == {} and surprising_notes(cases(20), 100, 2) == []


def test_one_case_and_several_are_counted_in_english():
    one, several = case_notes(cases(9, 1, 1, 1)), case_notes(cases(9, 2, 3, 4))
    assert set(one) == set(several) == {"outside", "unlike", "widened"}
    assert one["outside"].startswith("1 of 9 cases is outside") and several["outside"].startswith("2 of 9 cases are ")
    assert "is unlike" in one["unlike"] and several["unlike"].endswith("(other shape: 3)")
    assert one["widened"] == "1 of 9 cases has an interval that is widened, as the model is less sure of it"
    assert "less sure of them" in several["widened"]


@pytest.mark.parametrize(("kind", "rate", "rare"), [("widened", 0.05, 0.01), ("unlike", 0.05, 0.06)])
def test_python_warns_from_the_first_count_that_chance_hardly_gives(kind, rate, rare):
    first = next(count for count in range(1, 41) if betabinom.sf(count - 1, 40, 101 * rate, 101 * (1 - rate)) < rare)
    assert surprising_notes(cases(40, **{kind: first - 1}), 100, 1) == []
    assert len(surprising_notes(cases(40, **{kind: first}), 100, 1)) == 1


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_chance_is_beta_binomial(count):
    expected = betabinom.sf(count - 1, 40, 101 * 0.05, 101 * 0.95)
    assert abs(_chance(count, 40, 0.05, 100) - expected) < 1e-12


def test_a_number_leaves_the_range_of_few_more_often_than_that_of_many():
    """Of N + 1 numbers drawn alike, a new one is the least or the largest with probability 2 / (N + 1)."""
    assert surprising_notes(cases(20, outside=3), 10, 1) == []
    assert len(surprising_notes(cases(20, outside=3), 1000, 1)) == 1
    assert len(surprising_notes(cases(20, outside=1, unlike=1, far=1), 10, 1)) == 2  # what is far away is told anyway


def numbers(rng, n, d=4):
    return pd.DataFrame(rng.normal(size=(n, d)), columns=list("abcd")[:d])


def test_numbers_of_the_same_distribution_bring_no_warning_however_many():
    """Of 400 rows of normal numbers, several leave the ranges of 150 others, some by a tenth of them and more."""
    warned, left = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        known, new = numbers(rng, 150), numbers(rng, 400)
        factors = [Matern52(name) for name in known]
        rows = [factor.fit(known[factor.column]) for factor in factors]
        others = [factor.represent(new[factor.column]) for factor in factors]
        flat = np.ones((150, 1))
        reference = make_reference(factors, rows, Prediction(0 * flat, flat, np.inf), flat, known)
        domain = judge(reference, factors, others, np.ones((400, 1)), new).assign(widened="")
        left += bool(domain["far"].any())
        warned += bool(surprising_notes(domain, 150, 4))
        told = case_notes(domain, usual(domain, 150, 4))
        assert seed or told["outside"].endswith(", no more than chance brings")
        assert seed or "so that predictions may be wrong" not in told["unlike"]
    assert warned <= 4 and left > 20


def test_chance_has_no_say_in_other_bodies():
    groups = cases(20, unlike=1).assign(inside=[False] + [True] * 19, kind=["other bodies or places"] + ["inside"] * 19)
    assert len(surprising_notes(groups, 40, 1)) == 1
    assert surprising_notes(groups.assign(kind=["unlike any training case"] + ["inside"] * 19), 40, 1) == []


def test_one_case_that_leaves_the_range_is_told_where_it_goes_far():
    one = cases(1, outside=1, unlike=1).assign(kind="input out of range", far=True)
    assert len(surprising_notes(one.assign(tail=0.01), 150, 4)) == 2
    assert surprising_notes(one.assign(tail=0.5), 150, 4) == []


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


def test_a_mesh_in_other_units_is_outside_whatever_the_number_of_training_cases():
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    plates = [Mesh(square * [width, 1], {"quad": [[0, 1, 2, 3]]}) for width in np.linspace(2, 2.2, 9)]
    kept = {"geo": typical_of([facts_of(mesh) for mesh in plates]).plain()}
    moved, large = (Mesh(points, plates[4].cells) for points in (plates[4].points + [0.3, 0], 1e3 * plates[4].points))
    why = "9 training cases are too few, at least 100 are needed"
    domain = {"kind": ["cannot tell"] * 2, "why": [why] * 2, "inside": pd.array([pd.NA, pd.NA], dtype="boolean")}
    found = with_causes(
        domain | {f"{score} geo": np.full(2, 0.1) for score in SCORES}, 9, {"geo": [moved, large]}, kept
    )
    assert found["inside"].isna().tolist() == [True, False] and not found["inside"][1]
    assert found["kind"] == ["cannot tell", "other units, frame or kind"]
    assert found["why"][1].startswith("the mesh in 'geo' is about 1000 times larger")


def test_a_layer_of_another_thickness_is_not_like_the_training_meshes():
    square = np.stack(np.meshgrid([0.0, 1, 2], [0.0, 1, 2]), axis=-1).reshape(-1, 2)
    cells = {"quad": np.array([[0, 1, 4, 3]]) + np.array([[0], [1], [3], [4]])}
    plates = [Mesh(square * [width, 1], cells) for width in np.linspace(2, 2.2, 9)]
    kept = {"geo": typical_of([facts_of(extruded(mesh, 0.1)) for mesh in plates]).plain()}
    meshes = {"geo": [extruded(plates[3], 0.1), extruded(plates[3], 0.2), plates[3]]}
    domain = {"kind": ["inside"] * 3, "why": [""] * 3, "inside": [True] * 3, "far": [False] * 3}
    domain |= {f"{score} geo": np.full(3, 0.5) for score in SCORES}
    found = with_causes(domain, 100, meshes, kept)
    assert list(found["inside"]) == [True, False, True] and found["far"] == [False, True, False]
    text = "the mesh in 'geo' is a layer 0.2 thick, where the training meshes are a layer 0.1 thick"
    assert found["why"] == ["", text, ""] and found["kind"][1] == "other units, frame or kind"
    unknown = with_causes(domain | {"inside": pd.array([pd.NA] * 3, dtype="boolean")}, 100, meshes, kept)
    assert pd.isna(unknown["inside"]).all() and unknown["far"][1]
    both = typical_of([facts_of(extruded(mesh, 0.1 * (1 + number % 2))) for number, mesh in enumerate(plates)])
    assert both.thickness == 0 and with_causes(domain, 100, meshes, {"geo": both.plain()})["why"] == [""] * 3

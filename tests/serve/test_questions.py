"""What clients may ask: one line for a mistake that names the field, and a description that says the same."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl.errors import InputError
from swwl.serve.http.limits import Limits
from swwl.serve.requests.questions import (
    CurveQuestion,
    FieldQuestion,
    Invocation,
    MeshQuestion,
    PredictQuestion,
    Process,
    checked,
)

SWEEP = {"name": "load"}


@pytest.mark.parametrize(
    ("kind", "asked", "message"),
    [
        (PredictQuestion, [], "The request must be an object, not []."),
        (PredictQuestion, {"level": "0.9"}, "level must be a finite number, not '0.9'."),
        (PredictQuestion, {"level": True}, "level must be a finite number, not True."),
        (PredictQuestion, {"level": 1}, "level must be at most 0.999999, not 1."),
        (PredictQuestion, {"level": 0.9999999999999999}, "level must be at most 0.999999, not 0.9999999999999999."),
        (PredictQuestion, {"level": float("inf")}, "level must be a finite number, not inf."),
        (PredictQuestion, {"inputs": 5}, 'inputs must be an object, such as {"speed": 17000}, not 5.'),
        (
            PredictQuestion,
            {"lvel": 0.9},
            "The request has an unknown key 'lvel'; known keys are model, mesh, inp",
        ),
        (MeshQuestion, {"mesh": 5}, "mesh must be a text, or an object of texts by column, not 5."),
        (MeshQuestion, {"mesh": {"hull": 5}}, "hull of mesh must be a text, not 5."),
        (FieldQuestion, {"format": "stl"}, "format must be 'bytes' or 'vtu', not 'stl'."),
        (CurveQuestion, {}, "The request needs sweep."),
        (CurveQuestion, {"sweep": {}}, "The request needs name of sweep."),
        (CurveQuestion, {"sweep": SWEEP | {"n": 1}}, "n of sweep must be at least 2, not 1."),
        (CurveQuestion, {"sweep": SWEEP | {"n": 2.0}}, "n of sweep must be an integer, not 2.0."),
        (CurveQuestion, {"sweep": SWEEP | {"n": 10**30}}, "points, but at most 100 are drawn."),
        (CurveQuestion, {"sweep": SWEEP | {"values": [1.0] * 101}}, "asks for 101 points, but at most 100 are drawn."),
        (CurveQuestion, {"sweep": SWEEP | {"values": []}}, "values of sweep must be a list of at least 1, not []."),
        (CurveQuestion, {"sweep": SWEEP | {"values": [1, None]}}, "entry 1 of values of sweep must be a finite number"),
        (
            CurveQuestion,
            {"sweep": SWEEP, "each": {"name": "a", "N": 1}},
            "has an unknown key 'N'; known keys are",
        ),
        (Invocation, {"instances": 1}, "instances must be a list of rows, or an object of columns, not 1."),
        (Invocation, {}, "One of dataframe_split, dataframe_records, instances, inputs is expected"),
        (Invocation, {"dataframe_split": {"columns": ["a"], "data": [[1, 2]]}}, "must be a list of 1 values."),
        (Process, {"sample": {"format": "other"}}, "format of sample must be 'plaid-sample-json', not 'other'."),
    ],
)
def test_a_mistake_names_the_field_what_was_found_and_what_is_expected(kind, asked, message):
    with pytest.raises(InputError) as caught:
        checked(kind, asked, Limits(rows=100))
    assert message in str(caught.value) and "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.sampled_from([PredictQuestion, CurveQuestion, FieldQuestion, Invocation, Process]), JSON)
def test_whatever_is_asked_is_a_question_or_refused_in_one_line(kind, asked):
    for one in (asked, {"sweep": asked}, {"mesh": asked}, {"inputs": asked}, {"instances": asked}, {"sample": asked}):
        try:
            assert isinstance(checked(kind, one, Limits()), kind)
        except InputError as error:
            assert "\n" not in str(error) and "pydantic" not in str(error) and len(str(error)) < 500


@pytest.mark.parametrize(
    "form",
    [
        {"dataframe_split": {"columns": ["x", "y"], "data": [[1, "a"], [2.5, "b"]]}},
        {"dataframe_records": [{"x": 1, "y": "a"}, {"x": 2.5, "y": "b"}]},
        {"inputs": {"x": [1, 2.5], "y": ["a", "b"]}},
    ],
)
def test_every_form_of_mlflow_gives_the_same_table(form):
    frame = checked(Invocation, form).frame()
    assert frame.to_dict("list") == {"x": [1, 2.5], "y": ["a", "b"]}


def test_the_description_holds_what_questions_declare(client):
    described = client.get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    asked = described["paths"]["/api/curve"]["post"]["requestBody"]["content"]
    assert set(asked) == {"application/json", "multipart/form-data"}
    assert asked["application/json"]["schema"] == {"$ref": "#/components/schemas/CurveQuestion"}
    assert set(schemas["CurveQuestion"]["properties"]) == {"model", "mesh", "inputs", "level", "sweep", "each"}
    assert set(schemas["Sweep"]["properties"]) == {"name", "values", "from", "to", "n"}
    assert schemas["PredictQuestion"]["properties"]["level"]["maximum"] == 0.999999
    references = set(_references(described))
    assert references and references == {f"#/components/schemas/{name}" for name in schemas} & references


def _references(part):
    if isinstance(part, dict):
        yield from [part["$ref"]] if "$ref" in part else []
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _references(one)


@pytest.mark.slow
def test_nothing_but_the_server_needs_pydantic():
    code = "import sys; sys.modules['pydantic'] = None; import swwl, swwl.cli, swwl.datasets, swwl.jobs.predict"
    subprocess.run([sys.executable, "-c", code], check=True)

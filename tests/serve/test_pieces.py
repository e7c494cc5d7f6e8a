"""Small pieces, with whatever Hypothesis thinks of: packed arrays, names of files, results made once."""

import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from swwl import Matern52, RobustGPRegressor
from swwl.errors import InputError
from swwl.serve.answers.fields import pack, unpack
from swwl.serve.models.numbers import inputs_of
from swwl.serve.models.single_flight import Once
from swwl.serve.requests.reading import ending_of, parse, shown_name

ARRAYS = st.sampled_from(["float32", "uint32"]).flatmap(
    lambda kind: arrays(kind, array_shapes(max_dims=2, max_side=5, min_side=0))
)


@pytest.mark.slow
@given(
    st.dictionaries(st.text(), ARRAYS, max_size=4), st.dictionaries(st.text(), st.integers() | st.text(), max_size=3)
)
def test_packed_arrays_come_back(content, header):
    header.pop("arrays", None)
    name, found = unpack(pack(header, content))
    assert name == header and list(found) == list(content)
    for key, array in content.items():
        np.testing.assert_array_equal(found[key], array)
        assert found[key].dtype == array.dtype


def test_columns_of_the_trend_are_told_with_their_range():
    table = pd.DataFrame({"a": np.linspace(0, 1, 9), "b": np.linspace(1, 3, 9) ** 2, "y": np.linspace(0, 1, 9) ** 3})
    model = RobustGPRegressor(Matern52("a"), trend=["b"], n_starts=1, calibrate=False).fit(table, "y")
    first, second = inputs_of(model)
    assert first["name"] == "a" and second == {"name": "b", "holds": "numbers", "least": 1, "median": 4, "largest": 9}
    model.stack_.other_inputs.clear()  # as in files of 0.3.0
    assert inputs_of(model)[1] == {"name": "b", "holds": "numbers"}


@given(st.text())
def test_names_that_are_shown_lead_nowhere(text):
    name = shown_name(text)
    assert name and len(name) <= 80 and name.isprintable()
    assert not set("/\\\0\n") & set(name)


@given(st.text())
def test_endings_are_ours_or_refused(text):
    try:
        assert ending_of(shown_name(text)).startswith(".")
    except InputError:
        pass


@given(st.text() | st.binary())
def test_whatever_is_parsed_is_an_object_or_refused(text):
    try:
        assert isinstance(parse(text), dict)
    except InputError as error:
        assert "\n" not in str(error)


def test_a_result_is_made_once_for_all_who_wait():
    kept, made, started = Once(most=10), [], threading.Event()
    found = []

    def make():
        made.append(1)
        started.wait(5)
        return "result"

    threads = [threading.Thread(target=lambda: found.append(kept.get("key", make))) for _ in range(8)]
    for thread in threads:
        thread.start()
    started.set()
    for thread in threads:
        thread.join()
    assert found == ["result"] * 8 and made == [1]


def test_a_failure_is_told_to_all_and_not_kept():
    kept = Once(most=10)
    with pytest.raises(InputError):
        kept.get("key", lambda: (_ for _ in ()).throw(InputError("no")))
    assert kept.get("key", lambda: 5) == 5

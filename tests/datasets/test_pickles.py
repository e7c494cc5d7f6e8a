"""Plain data comes back equal; anything else is refused before it runs."""

import io
import os
import pickle
import pickletools
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swwl.datasets.plaid import loads_plain
from swwl.errors import InputError

ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    np.arange(4, dtype=">f8"),
    np.frombuffer(b"Vertex", "S1"),
    np.array(["a", "bcd"]),
    np.array([True, False]),
    np.array(3.5),
    np.empty((0, 3)),
    np.arange(10)[::2],
    np.array([1 + 2j]),
]


@pytest.mark.parametrize("protocol", range(4, pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_of_every_kind(protocol):
    back = loads_plain(pickle.dumps(ARRAYS, protocol))
    for array, copy in zip(ARRAYS, back, strict=True):
        assert type(copy) is np.ndarray and copy.dtype == array.dtype
        np.testing.assert_array_equal(copy, array)


@pytest.mark.parametrize("protocol", range(4, pickle.HIGHEST_PROTOCOL + 1))
def test_a_sample_as_older_versions_dump_it(protocol):
    tree = ["CGNSTree", None, [["CGNSLibraryVersion", np.float32([4]), [], "CGNSLibraryVersion_t"]], "CGNSTree_t"]
    sample = {"meshes": {0.0: tree}, "scalars": OrderedDict(lift=np.float64(1.5), n=np.int64(3)), "links": None}
    back = loads_plain(pickle.dumps(sample, protocol))
    assert back["scalars"] == {"lift": 1.5, "n": 3} and back["links"] is None
    assert back["meshes"][0.0][2][0][1] == np.float32(4)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


@pytest.mark.slow
@settings(deadline=None)
@given(plain)
def test_plain_data_is_unchanged(data):
    assert loads_plain(pickle.dumps(data)) == data


class Command:
    """What an attacker pickles: unpickling calls ``os.system``."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.system, (f"touch {self.target}",)


def test_a_command_is_refused_and_not_run(tmp_path):
    target = tmp_path / "owned"
    harmful = pickle.dumps({"meshes": {0.0: Command(target)}})
    with pytest.raises(ValueError, match=r"asks for posix\.system|asks for nt\.system"):
        loads_plain(harmful)
    assert not target.exists()
    pickle.loads(harmful)  # the payload is real
    assert target.exists()


@pytest.mark.parametrize(
    "thing", [print, eval, np.memmap, np.load, np.random.default_rng(0), Path("x"), io.StringIO, range(3), Ellipsis]
)
def test_other_things_are_refused(thing):
    with pytest.raises(ValueError, match="asks for|holds"):
        loads_plain(pickle.dumps([thing]))


def test_arrays_of_objects_are_refused():
    with pytest.raises(ValueError, match="only numbers and text are read"):
        loads_plain(pickle.dumps(np.array([{}, None])))
    with pytest.raises(ValueError, match="only numbers and text are read"):
        loads_plain(pickle.dumps(np.zeros(2, [("a", "f8"), ("b", "i4")])))


@pytest.mark.parametrize(
    "crafted",
    [
        b"cbuiltins\ngetattr\n.",
        b"cos\nsystem\n(S'true'\ntR.",
        b"c__main__\nx\n.",
        b"cnumpy\nndarray\n.",  # a class in place of an array
        b"cnumpy\nndarray\n)R.",  # an array that never got its content
        b"cnumpy\ndtype\n(S'f8'\ntRcnumpy\nndarray\n)R}b.",  # a dict where a tuple belongs
        b"c_codecs\nencode\n(S'a'\nS'rot13'\ntR.",
        b"(lp0\n0g0\na.",
        b"(lr\xff\xff\xff\xff.",  # would make a memo of 64 GB
        b"\x96" + (2**40).to_bytes(8, "little") + b".",  # and this a bytearray of a terabyte
        b"",
        b"\x80",
        b"not a pickle",
    ],
)
def test_crafted_and_damaged_bytes(crafted):
    with pytest.raises(ValueError):
        loads_plain(crafted)


def test_a_few_bytes_do_not_become_many_items():
    nested = []
    for _ in range(10):
        nested = [nested] * 10
    data = pickle.dumps(nested)
    assert len(data) < 400
    with pytest.raises(InputError, match="declares more items than it has bytes"):
        loads_plain(data)
    array = np.zeros(100_000)
    found = loads_plain(pickle.dumps([array] * 1000))
    assert len(found) == 1000 and found[0] is found[-1]  # made once, however often it is named


def test_one_pickle_cannot_poison_the_next():
    """BUILD may set attributes of what find_class gives out; the next pickle gets new ones."""
    crafted = b"cnumpy.core.multiarray\n_reconstruct\n(N(dS'real'\nNstb."
    pickletools.dis(crafted, out=io.StringIO())
    with pytest.raises(ValueError):
        loads_plain(crafted)
    np.testing.assert_array_equal(loads_plain(pickle.dumps(np.arange(3))), np.arange(3))


@settings(deadline=None)
@given(st.binary(max_size=60), st.integers(0, 200))
def test_no_damage_gets_through(noise, where):
    """Bytes flipped in a good pickle give plain data or a ValueError, nothing else."""
    good = pickle.dumps({"a": np.arange(5.0), "b": [1, "x", None]})
    data = good[:where] + noise + good[where + len(noise) :]
    try:
        found = loads_plain(data)
    except ValueError:
        return
    assert is_plain(found)


def is_plain(found):
    """Whether all of it is data and none of it code: plain values, arrays of them, and what holds these."""
    if isinstance(found, dict):
        return type(found) is dict and all(map(is_plain, [*found, *found.values()]))
    if type(found) in (list, tuple, set, frozenset):
        return all(map(is_plain, found))
    if isinstance(found, np.ndarray | np.generic):
        return found.dtype.kind in "biufcSU"
    return found is None or type(found) in (bool, int, float, complex, str, bytes, bytearray)

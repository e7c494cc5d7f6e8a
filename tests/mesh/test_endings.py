"""Functions by the endings of names: the longest ending counts, letters of either size do."""

from pathlib import PurePath

import pytest

from swwl.errors import InputError
from swwl.mesh.mesh import Endings

ENDINGS = Endings({".gz": "packed", ".vol.gz": "volume", ".vtu": "grid"})


@pytest.mark.parametrize(
    ("name", "found"),
    [("a.vol.gz", "volume"), ("a.vtu.gz", "packed"), ("rotor.7.VTU", "grid"), ("a.b.c/m.Vol.GZ", "volume")],
)
def test_two_endings_come_before_one(name, found):
    assert ENDINGS.of(PurePath(name)) == found
    assert ENDINGS.serves(PurePath(name))


@pytest.mark.parametrize("name", ["a.stl", "vtu", ".vtu", "a.vtu.bak"])
def test_other_names_are_refused_with_what_is_known(name):
    assert not ENDINGS.serves(PurePath(name))
    with pytest.raises(InputError, match=r"supported are \.gz \.vol\.gz \.vtu"):
        ENDINGS.of(PurePath(name))

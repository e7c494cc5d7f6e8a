"""What is written appears whole, where it should, or not at all; errors name what the user named."""

import errno
import os
import warnings

import numpy as np
import pytest

from swwl import SWWLEmbedding
from swwl.errors import StorageWarning
from swwl.storage import memory as storage
from swwl.storage.atomic import atomic_write
from swwl.storage.memory import Memory
from tests.helpers import SMALL, plate


def test_errors_name_the_file_and_leave_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("nowhere/a.txt", "folder"):
        with pytest.raises(OSError) as caught, atomic_write(tmp_path / name) as file:
            file.write(b"lost")
        assert caught.value.filename == str(tmp_path / name)
    (tmp_path / "a.txt").write_text("kept")
    with pytest.raises(OSError) as caught, atomic_write(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a full disk does, which names no file
    assert caught.value.filename == str(tmp_path / "a.txt")
    with pytest.raises(ConnectionError) as other, atomic_write(tmp_path / "a.txt"):
        raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
    assert other.value.filename is None  # not about the file
    assert (tmp_path / "a.txt").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "folder"]


def test_links_are_written_through(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/file")
    (tmp_path / "again").symlink_to("link")
    for content in (b"one", b"two"):
        with atomic_write(tmp_path / "again") as file:
            file.write(content)
        assert (tmp_path / "there" / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink() and (tmp_path / "again").is_symlink()
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="circle"), atomic_write(tmp_path / "circle"):
        pass


@pytest.fixture
def meshes(tmp_path):
    from swwl import Mesh

    paths = [tmp_path / f"{k}.vtu" for k in range(3)]
    for k, path in enumerate(paths):
        Mesh(*plate(30, seed=k)).write(path)
    return paths


def embed(meshes, folder):
    """Embed with a step and a scale that have to be learned, so that moments are kept too."""
    return SWWLEmbedding(**SMALL | {"step": "sqrt", "scale": True}).fit_transform(meshes, memory=folder)


SPOILED = {
    "shape": lambda a: {name: np.zeros(7) if name != "n_nodes" else value for name, value in a.items()},
    "no n_nodes": lambda a: {name: value for name, value in a.items() if name != "n_nodes"},
    "nan": lambda a: {name: value * np.nan if value.dtype.kind == "f" else value for name, value in a.items()},
    "texts": lambda a: dict.fromkeys(a, np.array("text")),
    "nothing": lambda a: {},
    "variance": lambda a: a | {"variance": np.zeros(9), "offset": np.zeros(9)},
    "integers": lambda a: {name: np.zeros(value.shape, int) for name, value in a.items()},
    "large": lambda a: b"PK-not-a-zip" * 1000,
}


@pytest.mark.parametrize("how", SPOILED)
def test_spoiled_entries_count_as_missing(how, meshes, tmp_path):
    expected = embed(meshes, tmp_path / "cache")
    entries = list((tmp_path / "cache").glob("??/*.npz"))
    assert len(entries) == 7  # two of every mesh, and how thick the first one is
    for entry in entries:
        with np.load(entry) as archive:
            content = SPOILED[how](dict(archive))
        if isinstance(content, bytes):
            entry.write_bytes(content)
        else:
            np.savez(entry, **content)
    memory = Memory(tmp_path / "cache")
    np.testing.assert_array_equal(embed(meshes, memory), expected)
    assert not memory.found
    memory = Memory(tmp_path / "cache")
    embed(meshes, memory)
    assert memory.found == set(meshes)  # what was made again has been kept


def test_a_full_disk_under_the_cache_is_a_note(meshes, tmp_path, monkeypatch):
    expected = embed(meshes, None)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(storage.np, "savez", full)
    with pytest.warns(StorageWarning, match="embeddings are not kept .No space left on device") as notes:
        np.testing.assert_array_equal(embed(meshes, tmp_path / "cache"), expected)
    assert len(notes) == 1


@pytest.mark.parametrize("what", ["file", "dangling link"])
def test_a_cache_that_is_no_folder_is_a_note(what, meshes, tmp_path):
    if what == "file":
        (tmp_path / "cache").write_text("mine")
    else:
        (tmp_path / "cache").symlink_to("nowhere/at/all")
    with pytest.warns(StorageWarning, match="embeddings are not kept"):
        found = embed(meshes, tmp_path / "cache")
    with warnings.catch_warnings():
        np.testing.assert_array_equal(found, embed(meshes, None))

"""What is written appears whole, where it should, or not at all; errors name what the user named."""

import errno
import os

import pytest

from swwl.storage import atomic_write


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

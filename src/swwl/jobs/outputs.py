"""Files that commands write, checked before the work that fills them: nothing of the user's is overwritten unasked.

An output that is an input of the same command is always refused. A file that exists is overwritten if it is one that we
wrote, by what it holds (a model, a page, a picture, predictions of the same targets), or if the user asks for it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

import swwl
from swwl.errors import InputError
from swwl.formatting import Record
from swwl.jobs.predict import PREDICTED
from swwl.storage.atomic import written_file
from swwl.storage.modelfile import is_model
from swwl.tables.places import mesh_paths

__all__ = [
    "check_folder",
    "check_output",
    "curves_of",
    "is_model",
    "is_picture",
    "is_predicted_mesh",
    "is_report",
    "picture_metadata",
    "predictions_of",
    "table_files",
]

_HEAD = 1 << 16
_MOST_HEADER = 1 << 20
# How a picture says who made it.
_MARKS = {".png": b"tEXtSoftware\0swwl ", ".svg": b"<dc:title>swwl ", ".pdf": b"/Creator (swwl "}


def check_output(
    path: Path,
    *,
    endings: tuple[str, ...] = (),
    inputs: Iterable[Path] = (),
    ours: Callable[[Path], bool] | None = None,
    force: bool = False,
) -> None:
    """Complain about an output that cannot or must not be written, before the work that would fill it.

    Parameters
    ----------
    path : path
    endings : tuple of str
        Those that the file may have.
    inputs : iterable of path
        Files that the command reads: none of them may be the output, under whatever name.
    ours : callable, optional
        Says whether a file that exists is one that this command wrote, and may write again; none is by default.
    force : bool
        Whether to overwrite any other file.
    """
    if endings and path.suffix.lower() not in endings:
        raise InputError(f"{path}: the output must end in {' or '.join(endings)}.")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, but a file name is needed.")
    try:
        target = written_file(path)
        if not target.parent.is_dir():
            raise InputError(f"{path}: the folder {target.parent} does not exist.")
        if target.exists():
            if not target.is_file():
                raise InputError(f"{path}: is not an ordinary file, so it cannot be written.")
            _spare(path, inputs, ours, force)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}).") from None
    os.close(handle)
    os.unlink(name)


def check_folder(
    folder: Path,
    files: Mapping[str, Callable[[Path], bool]],
    *,
    inputs: Iterable[Path] = (),
    force: bool = False,
) -> None:
    """Complain about a folder of files that cannot or must not be written; it need not exist yet.

    Parameters
    ----------
    folder : path
    files : mapping of str to callable
        Names of the files, each with what says whether one that exists is ours.
    inputs, force
        As in :func:`check_output`.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file, but a folder is needed.")
    home = folder if folder.exists() else folder.absolute().parent
    if not home.is_dir():
        raise InputError(f"{folder}: the folder {home} does not exist.")
    if not os.access(home, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written (no permission).")
    if not folder.exists():
        return
    taken = {entry.name.casefold(): entry.name for entry in os.scandir(folder)}
    there = [name for name in files if name.casefold() in taken]
    known = _identities(inputs) if there else {}
    for name in there:
        path = folder / name
        if path.exists():
            if not path.is_file():
                raise InputError(f"{path}: is not an ordinary file, so it cannot be written.")
            same = known.get(_identity(path))
            _spare(path, [] if same is None else [same], files[name], force)


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _identities(paths: Iterable[Path]) -> dict[tuple[int, int], Path]:
    """Return which of some files exist, by what they are and not by their names."""
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):
            found[_identity(path)] = path
    return found


def is_predicted_mesh(path: Path) -> bool:
    """Whether a file is a mesh with predicted fields, as ``swwl predict`` writes it."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return b"<VTKFile" in head and all(ending in head for ending in (b'_std"', b'_lower95"', b'_upper95"'))


def _spare(path: Path, inputs: Iterable[Path], ours: Callable[[Path], bool] | None, force: bool) -> None:
    """Refuse to overwrite an input, and anything else that is not ours."""
    same = same_file(path, inputs)
    if same is not None:
        raise InputError(f"{path}: is the input {same}, which is never overwritten; name another file.")
    if not force and not (ours is not None and ours(path)):
        raise InputError(
            f"{path}: already exists, and this command did not write it; name another file, or --force overwrites it."
        )


def same_file(path: Path, others: Iterable[Path]) -> Path | None:
    """Return the first of some files that is the same as an existing one, by whatever links or spelling."""
    status = os.stat(path)
    for other in others:
        try:
            found = os.stat(other)
        except OSError:
            continue
        if os.path.samestat(status, found):
            return other
    return None


def table_files(path: Path, frame: pd.DataFrame, columns: Iterable[str]) -> list[Path]:
    """Return a table and the mesh files that some of its columns name."""
    return [path, *(file for name in columns for file in mesh_paths(frame, path, name))]


def is_report(path: Path) -> bool:
    """Whether a file is a page that ``swwl report`` wrote."""
    from swwl.report.page import GENERATOR  # with it come all displays, which few commands need

    with open(path, "rb") as file:
        return GENERATOR.encode() in file.read(_HEAD)


def is_picture(path: Path) -> bool:
    """Whether a file is a picture that :func:`picture_metadata` marked."""
    mark = _MARKS.get(path.suffix.lower())
    with open(path, "rb") as file:
        if path.suffix.lower() == ".pdf":  # it says so near its end
            file.seek(max(0, path.stat().st_size - _HEAD))
        return mark is not None and mark in file.read(_HEAD)


def picture_metadata(path: Path) -> Record:
    """Return what matplotlib is to write into a picture: who made it, and no date, so that bytes can be compared."""
    name = f"swwl {swwl.__version__}"
    kinds: dict[str, Record] = {
        ".png": {"Software": name},
        ".svg": {"Creator": name, "Date": None},
        ".pdf": {"Creator": name, "CreationDate": None},
    }
    return kinds.get(path.suffix.lower(), {})


def predictions_of(targets: Sequence[str]) -> Callable[[Path], bool]:
    r"""Return what says whether a table holds predictions of one of these targets, as ours do.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text("case,lift_mean,lift_std,lift_lower95,lift_upper95\n")
    ...     predictions_of(["lift", "drag"])(path), predictions_of(["drag"])(path)
    (True, False)
    """

    def holds_predictions(path: Path) -> bool:
        names = set(_columns(path))
        return any(names.issuperset(f"{target}_{kind}" for kind in PREDICTED) for target in targets)

    return holds_predictions


def curves_of(curve: str) -> Callable[[Path], bool]:
    """Return what says whether a file holds predictions of a curve, as ours do: one of them, or a table of them."""

    def holds_curves(path: Path) -> bool:
        names = _columns(path)
        ends = ("_std", "_lower95", "_upper95")
        alone = any(set(names).issuperset(f"{name}{end}" for end in ends) for name in names)
        return alone or "predicted_curve" in names or any(name.startswith(f"{curve}_lower95_") for name in names)

    return holds_curves


def _columns(path: Path) -> list[str]:
    """Return the names of a table's columns; none where it cannot be read."""
    if path.suffix.lower() in (".parquet", ".pq"):
        try:
            from pyarrow import parquet

            return [str(name) for name in parquet.read_schema(path).names]
        except (ImportError, OSError, ValueError):  # pyarrow's own errors are children of these
            return []
    with open(path, "rb") as file:
        text = file.read(_MOST_HEADER).decode("utf-8-sig", errors="replace")
    try:
        headers = [next(csv.reader(io.StringIO(text, newline=""), delimiter=mark), []) for mark in ",;\t"]
    except csv.Error:
        return []
    return max(headers, key=len)

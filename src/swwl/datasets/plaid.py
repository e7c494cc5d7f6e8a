"""PLAID data sets (Casenave et al., 2025), in every form they were published in -> one table.

==========================  ==================================================  ==========================
folder                      written by                                          read with
==========================  ==================================================  ==========================
``data/SPLIT/sample_*/``    pyplaid 1.0, backend cgns                           h5py
``dataset/samples/``        older pyplaid: CGNS files, splits beside them       h5py
``data/`` of other kinds    pyplaid 1.0, backends hf_datasets and zarr          pyplaid, the extra [plaid]
``data/*.parquet``          older sets on the hub: a column of pickles          pyarrow and `loads_plain`
==========================  ==================================================  ==========================
"""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import pickletools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from swwl.datasets.fetch import cache_folder
from swwl.errors import InputError, MissingFileError, MissingPackageError, located
from swwl.mesh.io.hdf.cgns import is_tree, mesh_of_tree, read_cgns_scalars, scalars_of_tree
from swwl.mesh.mesh import Mesh
from swwl.storage.atomic import atomic_write

HUB = {
    "Rotor37": "PhysArena/Rotor37",
    "Tensile2d": "PhysArena/Tensile2d",
    "AirfRANS": "PLAID-datasets/AirfRANS_original",
}
_EXTRA = "pip install 'swwl[plaid]'"
_NAMES = ("ndarray", "dtype", "_reconstruct", "scalar", "_frombuffer")  # by which pickles make arrays
Parts = tuple[Any, ...]
Tree = list[Any]  # of CGNS: a name, a value, children and a label
_RECORD = "swwl-fetched.json"  # what a folder was filled with


class _Entry(NamedTuple):
    """One sample: where its mesh is, or the mesh itself."""

    mesh: str | Mesh
    split: str
    scalars: dict[str, float]


def load_plaid(folder: str | os.PathLike[str], split: str | None = None) -> pd.DataFrame:
    """Read a PLAID data set as a table.

    Parameters
    ----------
    folder : path
        As downloaded by `fetch_plaid`, unpacked from Zenodo, or written by pyplaid.
    split : str, optional
        Take these samples alone.

    Returns
    -------
    table : pandas.DataFrame
        Columns ``mesh``, ``split`` and every scalar found, one row per sample. A mesh is the path of its CGNS file
        or, where the set has no such files, a `swwl.Mesh`; `swwl.as_graph` and all kernels take both. A sample that
        has several time steps gives the first; `swwl.MeshSeries.read` reads all times of a sample of CGNS files. A
        sample in several splits has their names joined by ";", one in none an empty name. Scalars that a sample
        lacks, such as hidden targets of a test set, are NaN; global arrays and texts are left out.

    Raises
    ------
    FileNotFoundError, ValueError
        With the folder and what is missing or wrong in it.
    ImportError
        If reading this kind of folder takes the extra ``[plaid]``.

    Examples
    --------
    >>> table = load_plaid("Rotor37", split="train")  # doctest: +SKIP
    >>> scalars = table.columns[2:]  # doctest: +SKIP
    """
    folder = Path(folder).resolve()
    if not folder.is_dir():
        raise MissingFileError(f"There is no folder {folder}.")
    entries = list(_entries(folder, split))
    if split is not None:
        _wanted_splits(folder, {name for entry in entries for name in entry.split.split(";")}, split)
        entries = [entry._replace(split=split) for entry in entries if split in entry.split.split(";")]
    names = sorted({name for entry in entries for name in entry.scalars})
    for clash in {"mesh", "split"}.intersection(names):
        raise InputError(f"{folder} has a scalar named {clash!r}, which is the name of another column.")
    columns: dict[str, object] = {
        "mesh": pd.Series([entry.mesh for entry in entries], dtype=object),
        "split": [entry.split for entry in entries],
    }
    return pd.DataFrame(columns | {name: [e.scalars.get(name, float("nan")) for e in entries] for name in names})


def fetch_plaid(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    split_ids: dict[str, Iterable[int]] | None = None,
) -> pd.DataFrame:
    """Read a PLAID data set, downloaded from the Hugging Face hub the first time; takes the extra ``[plaid]``.

    Parameters
    ----------
    name : {"Rotor37", "Tensile2d", "AirfRANS"} or str
        Or the hub's own name of any other set, as "owner/set".
    folder : path, optional
        New or empty, or one that this function filled before. By default one for each set in the cache
        (``SWWL_CACHE``, or this platform's usual place).
    split_ids : dict of str to iterable of int, optional
        Numbers of the samples wanted from each split; all by default.

    Returns
    -------
    table : pandas.DataFrame
        As `load_plaid` reads it.

    Raises
    ------
    FileExistsError
        The folder holds something else, other samples, or half of a download that broke off.
    ImportError
        Without the extra.
    ConnectionError
        Without a network.
    """
    repository = HUB.get(name, name)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise InputError(f"There is no PLAID set {name!r}; choose from {', '.join(HUB)}, or an 'owner/set' of the hub.")
    ids = None if split_ids is None else {split: [int(i) for i in chosen] for split, chosen in split_ids.items()}
    folder = cache_folder() / "plaid" / repository.replace("/", "--") if folder is None else Path(folder)
    record = {"repository": repository, "split_ids": ids}
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if _fetched(folder) != record:
            raise FileExistsError(f"{folder} is not empty: choose another folder, or read it with load_plaid.")
    else:
        _download(name, repository, folder, ids)
        # The record comes last: a folder without it holds something else, or half of a set.
        with atomic_write(folder / _RECORD) as file:
            file.write(json.dumps(record).encode())
    return load_plaid(folder)


def _fetched(folder: Path) -> object:
    """Return what was downloaded to a folder, or None if nothing was."""
    try:
        return json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _download(name: str, repository: str, folder: Path, split_ids: dict[str, list[int]] | None) -> None:
    storage = _pyplaid(f"Downloading {name}")
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, RepositoryNotFoundError

    unreachable: tuple[type[Exception], ...] = (LocalEntryNotFoundError, OSError, *_transport_errors())
    try:
        try:
            storage.download_from_hub(repository, folder, split_ids)
        except EntryNotFoundError as missing:
            if isinstance(missing, LocalEntryNotFoundError):  # means that there is no network, not no entry
                raise
            # Sets older than pyplaid 1.0 carry no infos.yaml.
            huggingface_hub.snapshot_download(
                repository, repo_type="dataset", local_dir=folder, allow_patterns=["data/*"]
            )
    except RepositoryNotFoundError:
        raise MissingFileError(f"The hub has no data set {repository!r}, or it is not public.") from None
    except unreachable as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ConnectionError(f"{repository} cannot be fetched from the hub ({reason}); check the network.") from None


def _transport_errors() -> tuple[type[Exception], ...]:
    """Return what the hub's client raises without a network; older ones raise an OSError."""
    try:
        from httpx import TransportError
    except ImportError:
        return ()
    return (TransportError,)


def _entries(folder: Path, split: str | None) -> Iterator[_Entry]:
    """Recognize the kind of folder and read its samples."""
    splits = [path.name for path in folder.glob("data/*") if any(path.glob("sample_*/meshes"))]
    if splits:
        for name in _wanted_splits(folder, splits, split):
            yield from _cgns_samples(folder / "data" / name, {})
        return
    for place in ("samples", "dataset/samples", "."):
        if any((folder / place).glob("sample_*/meshes")):
            yield from _cgns_samples(folder / place, _old_splits(folder))
            return
    backend = _backend(folder)
    if backend is not None:
        yield from _stored_samples(folder, backend, split)
        return
    files = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    if files:
        for file in files:
            yield from _pickled_samples(file)
        return
    raise InputError(
        f"{folder} holds no PLAID data set: found neither samples/, dataset/samples/ or data/SPLIT/ with "
        f"sample_*/meshes/, nor an infos.yaml that names a storage_backend, nor data/*.parquet."
    )


def is_plaid(folder: Path) -> bool:
    """Whether a folder looks like a PLAID data set.

    Examples
    --------
    >>> is_plaid(Path("nowhere"))
    False
    """
    places = ("data/*/sample_*/meshes", "samples/sample_*", "dataset/samples/sample_*", "sample_*/meshes")
    return any(next(folder.glob(place), None) for place in (*places, "data/*.parquet")) or _backend(folder) is not None


def _wanted_splits(folder: Path, names: Iterable[str], split: str | None) -> list[str]:
    """Put the training splits first, or take the requested one alone."""
    found = sorted((name for name in names if name), key=lambda name: (not name.startswith("train"), name))
    if split is None:
        return found
    if split not in found:
        raise InputError(f"{folder} has no split {split!r}; its splits are: {', '.join(found) or 'none'}.")
    return [split]


def _cgns_samples(folder: Path, splits: dict[int, str]) -> Iterator[_Entry]:
    for sample in sorted(folder.glob("sample_*")):
        meshes = sorted(sample.glob("meshes/*.cgns"))
        if not meshes:
            raise InputError(f"{sample}: there is no CGNS file in its folder meshes.")
        try:
            scalars = read_cgns_scalars(meshes[0])
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{meshes[0]}: it is damaged or not a CGNS file ({error})") from None
        if (sample / "scalars.csv").exists():
            scalars |= _read_scalars(sample / "scalars.csv")
        number = sample.name.removeprefix("sample_")
        named = splits.get(int(number), "") if splits and number.isdigit() else ""
        split = folder.name if folder.parent.name == "data" else named
        yield _Entry(str(meshes[0]), split, scalars)


def _read_scalars(path: Path) -> dict[str, float]:
    """Read a line of names and a line of values."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) != 2 or len(rows[0]) != len(rows[1]):
        raise InputError(f"{path}: expected a line of names and a line of as many values, found {len(rows)} lines.")
    try:
        return {name.strip(): float(value) for name, value in zip(*rows, strict=True)}
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _old_splits(folder: Path) -> dict[int, str]:
    """Read the splits of every sample from ``problem_definition/split.json`` or, before 0.1.8, ``split.csv``."""
    members: dict[str, Iterable[int]] = {}
    for base in (folder, folder.parent):
        place = base / "problem_definition"
        if (place / "split.json").exists():
            content = json.loads((place / "split.json").read_text(encoding="utf-8"))
            members = {name: ids for name, ids in content.items() if isinstance(ids, list)}
        elif (place / "split.csv").exists():
            with open(place / "split.csv", newline="", encoding="utf-8") as file:
                members = {row[0]: [int(float(number)) for number in row[1:]] for row in csv.reader(file) if row}
        if members:
            break
    named: dict[int, list[str]] = {}
    for name, numbers in members.items():
        for number in numbers:
            named.setdefault(int(number), []).append(name)
    return {number: ";".join(names) for number, names in named.items()}


def _backend(folder: Path) -> str | None:
    """Find what infos.yaml says of its storage; one line of it, so that no YAML reader is needed."""
    try:
        text = (folder / "infos.yaml").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    found = re.search(r"^storage_backend:\s*['\"]?(\w+)", text, re.MULTILINE)
    return found[1] if found else None


def _pyplaid(what: str) -> Any:
    try:
        from plaid import storage
    except ImportError as error:
        raise MissingPackageError(f"{what} needs pyplaid 1.0 or newer ({error}): {_EXTRA}") from None
    return storage


def _stored_samples(folder: Path, backend: str, split: str | None) -> Iterator[_Entry]:
    """Read samples through pyplaid, one at a time."""
    storage = _pyplaid(f"{folder} is stored by the backend {backend!r}; reading it")
    datasets, converters = storage.init_from_disk(folder)
    for name in _wanted_splits(folder, datasets, split):
        for i in range(len(datasets[name])):
            sample = converters[name].to_plaid(datasets[name], i)
            yield _entry(sample.data, {}, name, f"{folder}: sample {i} of {name}")


def _pickled_samples(file: Path) -> Iterator[_Entry]:
    """Read a file of the older hub sets: a column ``sample`` of pickled dictionaries, read as plain data."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingPackageError(f"Reading {file} needs pyarrow, which comes with the extra: {_EXTRA}") from None
    table = parquet.ParquetFile(file)
    try:
        if table.schema_arrow.names != ["sample"]:
            found = ", ".join(table.schema_arrow.names[:5])
            raise InputError(
                f"{file}: expected one column 'sample', found {found}; download the set again with fetch_plaid."
            )
        split = re.sub(r"-\d+-of-\d+$", "", file.stem)
        for batch in table.iter_batches(batch_size=1, columns=["sample"]):
            for value in batch.column(0):
                with located(str(file)):
                    content = loads_plain(value.as_py())
                yield _entry(_trees(content), _loose_scalars(content), split, str(file))
    finally:
        table.close()


class _Named:
    """What a pickle names in place of an array, a type or a scalar of NumPy: kept, not run."""

    args: Parts = ()
    state: Parts = ()

    def __init__(self, *args: object):
        self.args = args

    def __setstate__(self, state: Parts) -> None:
        self.state = state


class _PlainUnpickler(pickle.Unpickler):
    """Hands out a new stand-in for every name of NumPy, and nothing that could do anything."""

    def find_class(self, module: str, name: str) -> type:
        if name in _NAMES and re.fullmatch(r"numpy(\._?core\.(multiarray|numeric))?", module):
            return type(name, (_Named,), {})
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if (module, name) == ("builtins", "complex"):
            return complex
        raise InputError(f"The pickle asks for {module}.{name}, but only plain data and NumPy arrays are read.")


class _Settled:
    """Plain data with real arrays in place of the stand-ins, each made once from bytes, shape and a checked type.

    Parameters
    ----------
    most : int
        Items to look at. A pickle spends a byte or more on each, unless it names a list again and again inside of
        others: a few hundred bytes can stand for more items than any memory holds.
    """

    def __init__(self, most: int):
        self._left = most
        self._made: dict[int, object] = {}

    def __call__(self, item: object) -> object:
        self._left -= 1
        if self._left < 0:
            raise InputError("The pickle declares more items than it has bytes.")
        if item is None or isinstance(item, (bool, int, float, complex, str, bytes, bytearray)):
            return item
        if isinstance(item, dict):
            return {self(key): self(value) for key, value in item.items()}
        if isinstance(item, (list, tuple, set, frozenset)):
            return type(item)(self(one) for one in item)
        if not isinstance(item, _Named):
            raise InputError(f"The pickle holds {type(item).__name__}, but only plain data and NumPy arrays are read.")
        if id(item) not in self._made:
            self._made[id(item)] = _real(item)
        return self._made[id(item)]


def _real(item: _Named) -> object:
    """Return the array or the scalar that a stand-in is for."""
    kind = type(item).__name__
    if kind == "scalar":
        dtype, data = item.args
        return _array(data, dtype, (), "C")[()]
    if kind == "_frombuffer":
        data, dtype, shape, order = item.args
        return _array(data, dtype, shape, order)
    if len(item.state) != 5:
        raise InputError("The pickle holds an array without content.")
    _, shape, dtype, fortran, data = item.state
    return _array(data, dtype, shape, "F" if fortran else "C")


def _array(data: Any, dtype: Any, shape: Any, order: Any) -> NDArray[Any]:
    code = dtype.args[0] if isinstance(dtype, _Named) and dtype.args else None
    if not isinstance(code, str) or not re.fullmatch(r"[biufcSU]\d+", code) or not isinstance(data, (bytes, bytearray)):
        raise InputError(f"The pickle holds an array of type {code!r}, but only numbers and text are read.")
    real = np.dtype(code)
    if dtype.state and dtype.state[1] == (">" if sys.byteorder == "little" else "<"):
        real = real.newbyteorder()
    return np.frombuffer(bytes(data), real).reshape(shape, order=order).copy(order="K")


def loads_plain(data: bytes) -> object:
    """Unpickle containers, numbers, strings and NumPy arrays; refuse everything else.

    Unpickling calls whatever a file names. Here it can name NumPy's arrays, types and scalars alone, and even those are
    stand-ins, so that a crafted state never reaches NumPy. pyplaid wrote such pickles before 1.0 and no longer reads
    them.

    Raises
    ------
    ValueError
        If the pickle names anything but plain data, or is damaged. Nothing that it names is run.

    Examples
    --------
    >>> loads_plain(pickle.dumps({"nodes": np.arange(3)}))
    {'nodes': array([0, 1, 2])}
    >>> loads_plain(pickle.dumps(print))
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: The pickle asks for builtins.print, but only plain data and NumPy arrays are read.
    """
    try:
        # Lengths beyond the data's own and memo numbers that no pickler writes only exhaust memory.
        for code, argument, _ in pickletools.genops(data):  # raises where an argument is cut short
            if code.name in ("PUT", "BINPUT", "LONG_BINPUT") and not 0 <= int(argument or 0) <= len(data):
                raise InputError(f"The pickle is damaged: it numbers an object {argument} in {len(data)} bytes.")
        return _Settled(len(data))(_PlainUnpickler(io.BytesIO(data)).load())
    except (pickle.UnpicklingError, EOFError, AttributeError, LookupError, TypeError, OverflowError) as error:
        raise InputError(f"The pickle is damaged or holds more than plain data ({error}).") from None
    except (RecursionError, MemoryError) as error:
        raise InputError(f"The pickle is too large or too deeply nested ({type(error).__name__}).") from None


def _trees(content: object) -> dict[float, Tree]:
    """Find the CGNS trees of a dumped sample by time; where they are kept changed between versions."""
    if isinstance(content, dict):
        if content and all(is_tree(value) for value in content.values()):
            return content
        for value in content.values():
            if found := _trees(value):
                return found
    return {}


def _loose_scalars(content: object) -> dict[str, float]:
    """Scalars that older versions kept beside the trees."""
    scalars = content.get("scalars") if isinstance(content, dict) else None
    if isinstance(scalars, dict) and isinstance(scalars.get("data"), dict):
        scalars = scalars["data"]
    return {name: float(value) for name, value in (scalars or {}).items() if not isinstance(value, (str, dict))}


def _entry(trees: dict[float, Tree], scalars: dict[str, float], split: str, where: str) -> _Entry:
    if not trees:
        raise InputError(f"{where}: there is no mesh in it.")
    tree = trees[min(trees)]
    with located(where):
        return _Entry(mesh_of_tree(tree), split, scalars | scalars_of_tree(tree))


def load_split(folder: str | os.PathLike[str], split: str = "test") -> pd.DataFrame:
    """Read one split of a PLAID folder in the order in which a submission lists its samples.

    That is the order in which ``problem_definition/split.json`` lists them, where there is one, and otherwise that of
    their numbers.

    Parameters
    ----------
    folder : path
    split : str
    """
    table = load_plaid(folder, split)
    for base in (Path(folder), Path(folder).resolve().parent):
        try:
            listed = json.loads((base / "problem_definition" / "split.json").read_text(encoding="utf-8"))[split]
            order = {int(number): place for place, number in enumerate(listed)}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        numbers = [sample_number(mesh) for mesh in table["mesh"]]
        if None not in numbers and set(numbers) == set(order):
            return table.iloc[np.argsort([order[number] for number in numbers if number is not None])].reset_index(
                drop=True
            )
        break
    return table


def sample_number(mesh: object) -> int | None:
    """Return the number of the sample that a mesh file belongs to, or None.

    Examples
    --------
    >>> sample_number("set/data/test/sample_000000012/meshes/mesh_000000000.cgns")
    12
    """
    found = re.search(r"sample_(\d+)", str(Path(mesh).parent)) if isinstance(mesh, (str, os.PathLike)) else None
    return int(found[1]) if found else None


def write_submission(path: str | os.PathLike[str], predictions: Sequence[Mapping[str, ArrayLike]]) -> None:
    """Write predictions as PLAID's benchmarks take them: a pickled list with one dict per sample.

    Parameters
    ----------
    path : str or path
        Written under a temporary name until it is complete.
    predictions : sequence of mappings
        Of every sample its fields by name, arrays of shape (n,), and its scalars.

    Notes
    -----
    The format is theirs. It is a pickle of a list, dicts, texts, floats and NumPy arrays and nothing else; swwl itself
    reads no pickle.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_submission(f"{folder}/s.pkl", [{"U1": np.zeros(3), "max_von_mises": 2.5}])
    """
    rows = [{str(name): _plain(name, value) for name, value in row.items()} for row in predictions]
    with atomic_write(path) as file:
        pickle.dump(rows, file, protocol=4)


def _plain(name: str, value: ArrayLike) -> float | NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if not np.isfinite(array).all() or array.ndim > 1:
        raise InputError(f"The prediction of {name!r} must be a finite number or a vector of them.")
    return np.ascontiguousarray(array) if array.ndim else float(array)

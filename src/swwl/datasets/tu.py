"""The TU graph benchmark sets (Morris et al., 2020): text files in a zip -> graphs and classes.

``fetch.py`` finds or downloads the zip; here it is read and checked.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.datasets.fetch import NotPublished, cache_folder, check_sha256, download, recorded_sha256
from swwl.errors import InputError, MissingFileError, located
from swwl.mesh.graph import Graph
from swwl.mesh.labels import one_hot

TU_SITE = "https://www.chrsmrrs.com/graphkerneldatasets/"


class LabeledGraphs(NamedTuple):
    """Graphs with their classes; unpacks as ``graphs, y``.

    Attributes
    ----------
    graphs : list of N Graph
    y : ndarray of shape (N,), int64
    """

    graphs: list[Graph]
    y: NDArray[np.int64]


class _Known(NamedTuple):
    n_graphs: int
    n_nodes: int
    n_edges: int
    sha256: str


# Counts of the published sets, and the sums of the copies that the tests read. The site may pack the same text files
# into another zip, so a sum is compared on request alone; the counts hold for any packing.
_KNOWN = {
    "BZR": _Known(405, 14479, 15535, "8806b25c1fd0482817c9a51de7f8b273914a5e75f01179f17ae4e47aa3a590c9"),
    "COX2": _Known(467, 19252, 20289, "cf587de183420c77f55ff950187cea1dd5784ac3fba3b0cb9b0f1c0429f2f00c"),
    "Cuneiform": _Known(267, 5680, 11961, "0a058d81203385273dff53e06363f9c11e8f199d94984372c29a0b539152694d"),
    "ENZYMES": _Known(600, 19580, 37282, "66d1c9438939be25e985faaa50f09aa5fb84833367f712d624a184d442b9a306"),
    "PROTEINS": _Known(1113, 43471, 81044, "eb12691f1b38b828bbe6579ea60ad1e66aafa3737d75e34b44b6f46dc8a3ad10"),
}
# Further names, for suggestions only.
_OTHERS = (
    "AIDS BZR_MD COIL-DEL COIL-RAG COLLAB COLORS-3 COX2_MD DBLP_v1 DD DHFR DHFR_MD ER_MD FIRSTMM_DB FRANKENSTEIN "
    "Fingerprint IMDB-BINARY IMDB-MULTI KKI Letter-high Letter-low Letter-med MSRC_21 MSRC_21C MSRC_9 MUTAG "
    "Mutagenicity NCI1 NCI109 OHSU PROTEINS_full PTC_FM PTC_FR PTC_MM PTC_MR Peking_1 QM9 REDDIT-BINARY "
    "REDDIT-MULTI-12K REDDIT-MULTI-5K SYNTHETIC SYNTHETICnew Synthie TRIANGLES Tox21_AR ZINC_full deezer_ego_nets "
    "github_stargazers reddit_threads twitch_egos"
).split()


def fetch_tu(
    name: str,
    *,
    labels: bool = False,
    label_weight: float = 1.0,
    edge_weights: bool | int = False,
    data_home: str | os.PathLike[str] | None = None,
    checksum: str | None = None,
    download_if_missing: bool = True,
) -> LabeledGraphs:
    """Load a TU benchmark set, from the disk or, the first time, from its site.

    Looked for as ``tu/NAME.zip``, then ``NAME.zip``, in the folder that the environment variable ``SWWL_DATA`` names
    and in the cache (``SWWL_CACHE``, or this platform's usual place); downloaded to the cache if it is in neither.

    Parameters
    ----------
    name : str
        As the site spells it: "BZR", "COX2", "ENZYMES", "PROTEINS", "Cuneiform", …
    labels : bool
        Append the discrete node labels to the continuous attributes, one-hot; every column of labels has its own
        block. They are the only features where a set has no attributes.
    label_weight : float
        What a one-hot column holds in place of 1: the distance between two nodes that differ in one label is
        ``sqrt(2) * label_weight``.
    edge_weights : bool or int
        True takes the edge attribute as edge weights, if there is just one; a number takes that column. Weights that
        differ between the two directions of an edge are averaged.
    data_home : path, optional
        Folder to look in and to download to, instead of ``SWWL_DATA`` and the cache.
    checksum : str, optional
        SHA-256 that the zip must have, or "known" for that of the copy which this version was tested with. A
        downloaded file must always keep the checksum it had when it came.
    download_if_missing : bool
        Whether the site may be asked.

    Returns
    -------
    graphs : list of N Graph
        Features of shape (n, d): d attributes, plus the number of distinct labels if requested.
    y : ndarray of shape (N,), int64
        Classes, numbered as in the files.

    Raises
    ------
    FileNotFoundError, ConnectionError
        The set cannot be found; says where it was looked for.
    ValueError
        The file is damaged, incomplete, or not the expected one.

    References
    ----------
    Morris et al. (2020), TUDataset: a collection of benchmark datasets for learning with graphs.

    Examples
    --------
    >>> graphs, y = fetch_tu("BZR")  # doctest: +SKIP
    >>> len(graphs), graphs[0], int(y[0])  # doctest: +SKIP
    (405, Graph(BZR 0: 30 nodes, 32 edges, 3 features), -1)
    """
    path = find_tu(name, data_home, checksum)
    if path is None:
        if not download_if_missing:
            raise _not_found(name, data_home, "download_if_missing=False")
        path = _fetch(name, data_home, _wanted_checksum(name, checksum))
    return read_tu(path, name, labels=labels, label_weight=label_weight, edge_weights=edge_weights)


def load_tu(
    name: str,
    *,
    labels: bool = False,
    label_weight: float = 1.0,
    edge_weights: bool | int = False,
    data_home: str | os.PathLike[str] | None = None,
    checksum: str | None = None,
) -> LabeledGraphs:
    """Load a TU benchmark set from the disk; `fetch_tu` downloads it.

    Parameters
    ----------
    name, labels, label_weight, edge_weights, data_home, checksum
        As for `fetch_tu`.

    Returns
    -------
    graphs, y
        As for `fetch_tu`.
    """
    path = find_tu(name, data_home, checksum)
    if path is None:
        raise _not_found(name, data_home, "load_tu reads local files alone; fetch_tu downloads it")
    return read_tu(path, name, labels=labels, label_weight=label_weight, edge_weights=edge_weights)


def read_tu(
    path: str | os.PathLike[str],
    name: str,
    *,
    labels: bool = False,
    label_weight: float = 1.0,
    edge_weights: bool | int = False,
) -> LabeledGraphs:
    """Read a TU set from its zip; arguments and results as for `fetch_tu`."""
    with _opened(Path(path), name) as archive:
        return _read(archive, labels, label_weight, edge_weights)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[_Archive]:
    """Open a zip; whatever is wrong with its content becomes an error that names it."""
    try:
        with located(str(path)), zipfile.ZipFile(path) as archive:
            yield _Archive(archive, name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"{path}: it is damaged or not a zip ({error}); delete it and download it again.") from None


class _Archive:
    """The text files of one set by the second half of their name."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self.name = archive, name
        self._members = {Path(member).name: member for member in archive.namelist()}

    def __contains__(self, suffix: str) -> bool:
        return self.file(suffix) in self._members

    def file(self, suffix: str) -> str:
        return f"{self.name}_{suffix}.txt"

    def table(self, suffix: str, dtype: type[np.generic]) -> NDArray[Any]:
        """Read a file as (lines, columns)."""
        file = self.file(suffix)
        if file not in self._members:
            found = ", ".join(sorted(self._members)) or "none"
            raise InputError(f"{file} is missing; the files in it are: {found}.")
        content = self._archive.read(self._members[file])
        if not content.strip():
            return np.empty((0, 1), dtype)
        try:
            return np.loadtxt(io.BytesIO(content), delimiter=",", dtype=dtype, ndmin=2)
        except ValueError as error:
            raise InputError(f"{file}: {error}") from None

    def rows(self, suffix: str, dtype: type[np.generic], n_rows: int, like: str) -> NDArray[Any]:
        """Read a file that must have as many lines as another one."""
        table = self.table(suffix, dtype)
        if len(table) != n_rows:
            raise InputError(f"{self.file(suffix)} has {len(table)} lines, but {self.file(like)} needs {n_rows}.")
        return table


def _structure(archive: _Archive) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the graph of every node (n,) and the edges of all graphs (m, 2), all counted from 0."""
    owner = archive.table("graph_indicator", np.int64).ravel() - 1
    if owner.size == 0 or owner[0] != 0 or not np.isin(np.diff(owner), (0, 1)).all():
        raise InputError(f"{archive.file('graph_indicator')} must number graphs from 1 in order, without gaps.")
    edges = archive.table("A", np.int64)
    if edges.size and edges.shape[1] != 2:
        raise InputError(f"{archive.file('A')} must have 2 numbers per line, but has {edges.shape[1]}.")
    edges = edges.reshape(-1, 2) - 1
    if edges.size and not (0 <= edges.min() and edges.max() < len(owner)):
        wrong = edges.max() + 1 if edges.max() >= len(owner) else edges.min() + 1
        raise InputError(f"{archive.file('A')} names node {wrong}, but the nodes are 1 to {len(owner)}.")
    across = np.flatnonzero(owner[edges[:, 0]] != owner[edges[:, 1]])
    if across.size:
        raise InputError(f"{archive.file('A')} joins two graphs in line {across[0] + 1}.")
    return owner, edges


def _read(archive: _Archive, labels: bool, label_weight: float, edge_weights: bool | int) -> LabeledGraphs:
    owner, edges = _structure(archive)
    n_graphs, n_nodes = int(owner[-1]) + 1, len(owner)
    y = archive.rows("graph_labels", np.int64, n_graphs, "graph_indicator")[:, 0]
    features = _features(archive, n_nodes, labels, label_weight)
    weights = _weights(archive, len(edges), edge_weights)
    order = np.argsort(owner[edges[:, 0]], kind="stable")
    edges, weights = edges[order], None if weights is None else weights[order]
    nodes_end = np.searchsorted(owner, np.arange(n_graphs + 1))
    edges_end = np.searchsorted(owner[edges[:, 0]], np.arange(n_graphs + 1))
    graphs = []
    for k in range(n_graphs):
        nodes, own = slice(nodes_end[k], nodes_end[k + 1]), slice(edges_end[k], edges_end[k + 1])
        graphs.append(
            Graph(
                features[nodes],
                edges[own] - nodes.start,
                None if weights is None else weights[own],
                name=f"{archive.name} {k}",
            )
        )
    return LabeledGraphs(graphs, y)


def _features(archive: _Archive, n_nodes: int, labels: bool, label_weight: float) -> NDArray[np.float64]:
    """Attributes, then the one-hot labels: (n, d) for all graphs at once."""
    blocks: list[NDArray[np.float64]] = []
    if "node_attributes" in archive:
        blocks.append(archive.rows("node_attributes", np.float64, n_nodes, "graph_indicator"))
    if labels:
        if "node_labels" not in archive:
            raise InputError(f"labels=True was requested, but {archive.name} has no node labels.")
        blocks.append(one_hot(archive.rows("node_labels", np.int64, n_nodes, "graph_indicator"), weight=label_weight))
    if not blocks:
        advice = (
            "use its labels with labels=True" if "node_labels" in archive else "nor labels: bring your own features"
        )
        raise InputError(f"{archive.name} has no continuous node attributes; {advice}.")
    return np.hstack(blocks)


def _weights(archive: _Archive, n_edges: int, column: bool | int) -> NDArray[np.float64] | None:
    if column is False:
        return None
    if "edge_attributes" not in archive:
        raise InputError(f"edge_weights={column} was requested, but {archive.name} has no edge attributes.")
    table = archive.rows("edge_attributes", np.float64, n_edges, "A")
    n_columns = table.shape[1]
    if column is True and n_columns > 1:
        raise InputError(
            f"{archive.name} has {n_columns} edge attributes; choose one: edge_weights=0 to {n_columns - 1}."
        )
    if not 0 <= int(column) < n_columns and column is not True:
        raise InputError(f"edge_weights={column} was requested, but the edge attributes are 0 to {n_columns - 1}.")
    return table[:, 0 if column is True else int(column)]


def _folders(data_home: str | os.PathLike[str] | None) -> list[Path]:
    if data_home is not None:
        return [Path(data_home).expanduser()]
    shared = os.environ.get("SWWL_DATA")
    return [*([Path(shared).expanduser()] if shared else []), cache_folder()]


def find_tu(name: str, data_home: str | os.PathLike[str] | None, checksum: str | None = None) -> Path | None:
    """Find the zip of a set on the disk and check it; None if it is not there."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]*[A-Za-z0-9]", name):
        raise InputError(f"The name of a TU set is made of letters, digits, '-' and '_', not {name!r}.{_hint(name)}")
    candidates = [folder / place for folder in _folders(data_home) for place in (f"tu/{name}.zip", f"{name}.zip")]
    path = next((path for path in candidates if path.is_file()), None)
    wanted = _wanted_checksum(name, checksum)
    if path is not None:
        if wanted is not None:
            check_sha256(path, wanted, "the expected checksum")
        recorded = recorded_sha256(path)
        if recorded is not None:
            check_sha256(path, recorded, f"the one noted when it was downloaded ({path.name}.sha256)")
    return path


def _fetch(name: str, data_home: str | os.PathLike[str] | None, checksum: str | None) -> Path:
    """Download a set and see that it is what it claims to be; what is not is removed."""
    path = _folders(data_home)[-1] / "tu" / f"{name}.zip"
    try:
        download(f"{TU_SITE}{name}.zip", path, checksum)
    except NotPublished as error:
        raise MissingFileError(f"There is no TU set {name!r}: {error}{_hint(name)}") from None
    except ConnectionError as error:
        raise ConnectionError(f"{name}.zip is not in {_places(data_home)}, and {error}{_hint(name)}") from None
    try:
        _check_counts(name, path)
    except ValueError:
        path.unlink()
        raise
    return path


def _not_found(name: str, data_home: str | os.PathLike[str] | None, reason: str) -> MissingFileError:
    return MissingFileError(f"{name}.zip is not in {_places(data_home)}, and {reason}.{_hint(name)}")


def _places(data_home: str | os.PathLike[str] | None) -> str:
    return " nor in ".join(map(str, _folders(data_home)))


def _check_counts(name: str, path: Path) -> None:
    """Refuse a download that cannot be read or has other counts than the published set."""
    with _opened(path, name) as archive:
        owner, edges = _structure(archive)
    known = _KNOWN.get(name)
    found = (int(owner[-1]) + 1, len(owner), len(np.unique(np.sort(edges, 1), axis=0)))
    if known is not None and found != known[:3]:
        raise InputError(
            f"{path}: found {found[0]} graphs, {found[1]} nodes and {found[2]} edges, but {name} has "
            f"{known.n_graphs}, {known.n_nodes} and {known.n_edges}."
        )


def _wanted_checksum(name: str, checksum: str | None) -> str | None:
    if checksum != "known":
        return checksum
    if name not in _KNOWN:
        raise InputError(f"No checksum is known for {name!r}, only for {', '.join(_KNOWN)}.")
    return _KNOWN[name].sha256


def _hint(name: object) -> str:
    names = [*_KNOWN, *_OTHERS]
    if name in names:
        return ""
    lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(str(name).lower(), list(lower), n=1)
    return f" Did you mean {lower[near[0]]!r}?" if near else ""

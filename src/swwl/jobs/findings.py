"""The meshes of a table, compared with each other: which are unreadable, apart, loose, copied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray

from swwl.domain.notes import repeated_nodes
from swwl.errors import InputError, located
from swwl.jobs.table import where
from swwl.mesh.io.formats import read_file
from swwl.mesh.shape.screening import Facts, Typical, apart, facts_of
from swwl.parallel import Progress, check_jobs, each_once, one_blas_thread
from swwl.storage.memory import Memory, fingerprint

# So many findings of one kind are told one by one; more are told together.
_MOST = 3


@dataclass(frozen=True)
class Finding:
    """One thing that the user should know before a model is fitted.

    Parameters
    ----------
    kind : str
        Such as "size", "loose nodes" or "repeated rows".
    found, advice : str
        What was found, as what is said of the mesh or the column, and what to do about it.
    severity : {"note", "error"}
        Errors are what ``swwl fit`` refuses; what was found is then its whole message.
    place : str
        Such as "line 7".
    column, mesh : str or None
        The column, and the mesh as the table names it.
    """

    kind: str
    found: str
    advice: str = ""
    severity: str = "note"
    place: str = ""
    column: str | None = None
    mesh: str | None = None

    @property
    def message(self) -> str:
        """All of it in one line.

        >>> Finding("loose nodes", "has 2 nodes that belong to no cell", "they are left out", mesh="a.vtu").message
        'a.vtu has 2 nodes that belong to no cell: they are left out.'
        """
        subject = self.mesh or (f"column {self.column!r}" if self.column else "")
        start = f"{self.place}: " if self.place else ""
        if self.severity == "error":  # as a fit says it, with its place
            subject = start = ""
        said = f"{subject} {self.found}".strip().rstrip(".")
        return f"{start}{said}{': ' if self.advice else ''}{self.advice}{'' if self.advice.endswith('?') else '.'}"

    def facts(self) -> dict[str, Any]:
        """Return it as what JSON holds."""
        names = ("kind", "severity", "place", "column", "mesh", "found", "advice", "message")
        return {name: getattr(self, name) for name in names}


def told_together(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings for people: of more than three of one kind, the first, which names the places of the others.

    Examples
    --------
    >>> many = [Finding("size", "is large", "scale it", place=f"line {k}", mesh=f"{k}.vtu") for k in range(2, 9)]
    >>> [finding.message for finding in told_together(many)]
    ['line 2: 2.vtu is large: scale it. The same for 6 more (lines 3, 4, 5, 6, 7, …).']
    """
    groups: dict[Any, list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.severity, finding.advice, finding.mesh is None), []).append(finding)
    told = []
    for group in groups.values():
        if len(group) <= _MOST or group[0].severity == "error" or not all(finding.place for finding in group):
            told += group
            continue
        first, *others = group
        word = first.place.split()[0]
        numbers = ", ".join(finding.place.split()[-1] for finding in others[:5]) + ", …" * (len(others) > 5)
        more = f"{first.advice or first.found}. The same for {len(others)} more ({word}s {numbers})"
        told.append(replace(first, advice=more) if first.advice else replace(first, found=more))
    return told


# Raise it whenever the same file comes to have other facts.
_KEY = fingerprint("facts 2")


def read_facts(
    files: Iterable[Path], memory: Memory, n_jobs: int | None = None, progress: Progress | None = None
) -> dict[Path, Facts | InputError]:
    """Return the facts of mesh files, or why one cannot be used; what is known from an earlier run is not read.

    Parameters
    ----------
    files : iterable of paths
    memory : Memory
        Where facts are kept beside embeddings.
    n_jobs : int, optional
        Threads.
    progress : callable, optional
        Called as ``progress(done, total)``.
    """
    check_jobs(1 if n_jobs is None else n_jobs)
    distinct, _ = each_once(files)
    found: dict[Path, Facts | InputError] = {}
    with one_blas_thread():
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        for file, facts in zip(distinct, parallel(delayed(_facts)(file, memory) for file in distinct), strict=True):
            found[file] = facts
            if progress is not None:
                progress(len(found), len(distinct))
    return found


def _facts(file: Path, memory: Memory) -> Facts | InputError:
    kept = memory.get(file, "facts", _KEY)
    if kept is not None and kept.keys() >= {"content", "counts", "shape"}:
        n_loose, n_repeated, has_cells = kept["counts"].tolist()
        shape, sizes = kept["shape"], (int(kept["n_nodes"]), n_loose, n_repeated)
        d = len(shape)
        covariance, looks, quantiles = shape[:, :d], shape[:, d : 2 * d], shape[:, 2 * d :]
        return Facts(*sizes, str(kept["content"]), quantiles, covariance, looks, bool(has_cells))
    try:
        with located(str(file)):
            facts = facts_of(read_file(file, ()))
    except InputError as error:
        return error
    except OSError as error:
        return InputError(f"{file}: {error.strerror or error}")
    counts = np.array([facts.n_loose, facts.n_repeated, facts.has_cells])
    shape = np.hstack([facts.covariance, facts.looks, facts.quantiles])  # one array is read faster than three
    memory.put(file, "facts", _KEY, facts.n_nodes, content=np.array(facts.key), counts=counts, shape=shape)
    return facts


class MeshColumn:
    """A column of meshes: the file of every row in use, and the facts of every file that can be read.

    Parameters
    ----------
    frame, path
        The table.
    name : str
        The column.
    files : mapping of int to path
        By rows, counted from 0.
    facts : mapping of path to Facts
    """

    def __init__(
        self, frame: pd.DataFrame, path: Path, name: str, files: Mapping[int, Path], facts: Mapping[Path, Facts]
    ):
        self.frame, self.path, self.name = frame, path, name
        self.files, self.facts = files, facts
        self.first_rows = {file: row for row, file in reversed(list(files.items()))}

    def finding(self, kind: str, row: int, found: str, advice: str) -> Finding:
        """Say something about the mesh of a row."""
        mesh = str(self.frame[self.name].iloc[row])
        return Finding(kind, found, advice, place=where(self.frame, self.path, row), column=self.name, mesh=mesh)

    def error(self, kind: str, row: int, found: str, advice: str = "") -> Finding:
        """Say why the mesh of a row cannot be used."""
        one = self.finding(kind, row, found, advice)
        return replace(one, severity="error", found=f"{self.path}: {one.place}: {one.mesh} {found}")

    def known(self) -> list[tuple[int, Facts]]:
        """Return the first row of every readable file, in order, and its facts."""
        return sorted((row, self.facts[file]) for file, row in self.first_rows.items() if file in self.facts)

    def keys(self) -> dict[int, str]:
        """Return what the mesh of every row is known by: the same for equal meshes."""
        return {row: self.facts[file].key if file in self.facts else str(file) for row, file in self.files.items()}

    def odd_nodes(self, merge_nodes: bool = False) -> list[Finding]:
        """Find nodes that no cell uses, and cells that nothing joins."""
        found = []
        for row, facts in self.known():
            if facts.n_loose:
                what = f"{facts.n_loose} node{'s' * (facts.n_loose > 1)} that no cell uses"
                found.append(self.finding("loose nodes", row, f"has {what}", "left out, as no part of its shape"))
            if not merge_nodes and (what := repeated_nodes(facts)):
                advice = "swwl fit --merge-nodes makes one of them, which joins the cells"
                found.append(self.finding("repeated nodes", row, what, advice))
        return found

    def standing_apart(self, typical: Typical | None, others: str = "the others") -> list[tuple[int, Finding]]:
        """Find meshes of another size, place, orientation or number of nodes; with their rows."""
        found = []
        for row, facts in self.known():
            for kind, text, advice in apart(facts, typical, others) if typical is not None else ():
                found.append((row, self.finding(kind, row, text, advice)))
        return found

    def of_other_dimension(self) -> list[Finding]:
        """Find meshes that no model can learn from beside the others: with more or fewer coordinates."""
        dimensions = [facts.dimension for _, facts in self.known()]
        usual = max(set(dimensions), key=dimensions.count) if dimensions else 0
        found = []
        for row, facts in self.known():
            if facts.dimension != usual:
                text = f"has {facts.dimension} coordinates per node, where the others have {usual}"
                advice = "a coordinate that is zero everywhere is left out; move the mesh into the plane of the others"
                found.append(self.error("dimension", row, text, advice))
        return found


def repeated_rows(keys: Sequence[Any]) -> list[tuple[int, int]]:
    """Return (row, the first row that is the same) for rows whose keys came before.

    >>> repeated_rows(["a", "b", "a", "a"])
    [(2, 0), (3, 0)]
    """
    first: dict[Any, int] = {}
    return [(row, first[key]) for row, key in enumerate(keys) if first.setdefault(key, row) != row]


def pairs(frame: pd.DataFrame, path: Path, rows: Sequence[tuple[int, int]] | NDArray[np.intp]) -> str:
    """Say which rows repeat which, at most three.

    >>> pairs(pd.DataFrame({"x": range(6)}), Path("table.csv"), [(4, 1), (5, 0)])
    'line 6 repeats line 3, line 7 line 2'
    """
    said = [(where(frame, path, int(row)), where(frame, path, int(first))) for row, first in rows[:3]]
    text = ", ".join(f"{row} {'' if k else 'repeats '}{first}" for k, (row, first) in enumerate(said))
    return text + ", …" * (len(rows) > 3)

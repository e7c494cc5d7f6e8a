"""What is odd about a table and its meshes, told before a model learns from them: ``swwl check`` and ``swwl fit``.

Errors are what a fit refuses; notes are what it takes, though the user may not have meant it. A :class:`Finding` is one
of them, a :class:`MeshColumn` compares the meshes of a column with each other.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.notes import repeated_nodes
from swwl.errors import InputError, located
from swwl.formatting import Record, number
from swwl.jobs.plan import RESULT, FitPlan, HoldOut, RowSplit, Whole, known_rows, plan_fit, split_rows
from swwl.jobs.predict import factors_of
from swwl.jobs.table import known_outputs, read_table
from swwl.mesh.io.foam.case import is_case, times_of
from swwl.mesh.io.formats import read_file
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.plane import same_thickness
from swwl.mesh.shape.screening import MeshFacts, Typical, apart, facts_of, typical_of
from swwl.parallel import Progress, check_jobs, each_once, in_threads
from swwl.storage.memory import Memory, fingerprint
from swwl.tables.columns import as_numbers, mesh_columns, numbers_cases
from swwl.tables.laws import written
from swwl.tables.places import (
    at_times,
    mesh_of_row,
    mesh_paths,
    places,
    require_known,
    require_numbers,
    rows_named,
    where,
)
from swwl.tables.results import may_be_input, results_words
from swwl.tables.series import table_curves
from swwl.tables.units import dimensionless_groups, likely_laws

if TYPE_CHECKING:
    from swwl.jobs.predict import Model

# Where fewer rows are fitted, leave-one-out scores are rough.
_FEW_ROWS = 10
# A target is for a logarithm if its largest value is so many times the median, and so many times the least.
_SKEWED, _ORDERS = 20.0, 1e3
# A column varies too little to learn from where its values differ by less than this share of their size.
_ALMOST = 1e-6
# A last time that so many cases share is the usual one.
_NEARLY_ALL_TIMES = 0.75
# A group that so many of the meshes have is missing in the others.
_NEARLY_ALL_GROUPS = 0.8
_NUMBERED = re.compile(r"[\s_.-]*\d+$")
_SHAPES = {"tetra": "tetrahedra", "hexahedron": "hexahedra", "triangle": "triangles", "quad": "quadrilaterals"}
_SHAPES |= {"wedge": "wedges", "pyramid": "pyramids", "line": "lines"}
_LINEAR = {*_SHAPES, "vertex"}
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

    def facts(self) -> Record:
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
_KEY = fingerprint("facts 4")


def read_facts(
    files: Iterable[Path],
    memory: Memory,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    group: str | None = None,
) -> dict[Path, MeshFacts | InputError]:
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
    group : str, optional
        A group that every mesh must have cells or faces of, see :meth:`swwl.Mesh.part`. Facts are those of whole
        meshes all the same.
    """
    check_jobs(1 if n_jobs is None else n_jobs)
    distinct, _ = each_once(files)
    found: dict[Path, MeshFacts | InputError] = {}
    facts = in_threads(partial(_facts, memory=memory, group=group), distinct, n_jobs)
    for file, one in zip(distinct, facts, strict=True):
        found[file] = one
        if progress is not None:
            progress(len(found), len(distinct))
    return found


def _facts(file: Path, memory: Memory, group: str | None = None) -> MeshFacts | InputError:
    key = _KEY if group is None else f"{_KEY}-group-{fingerprint(group)}"
    kept = memory.get(file, "facts", key)
    if kept is not None and kept.keys() >= {"content", "counts", "shape", "thickness", "kinds", "groups"}:
        n_loose, n_repeated, has_cells, n_flat, n_twice = kept["counts"].tolist()
        shape, sizes = kept["shape"], (int(kept["n_nodes"]), n_loose, n_repeated)
        d = len(shape)
        covariance, looks, quantiles = shape[:, :d], shape[:, d : 2 * d], shape[:, 2 * d :]
        form, thickness = (quantiles, covariance, looks), float(kept["thickness"])
        lists = (tuple(filter(None, str(kept[name]).split("\n"))) for name in ("kinds", "groups"))
        return MeshFacts(*sizes, str(kept["content"]), *form, bool(has_cells), n_flat, n_twice, thickness, *lists)
    try:
        with located(str(file)):
            content = read_file(file, ())
            facts = facts_of(content)
            if group is not None and isinstance(content, Mesh):
                content.part_group(group)
    except InputError as error:
        return error
    except OSError as error:
        return InputError(f"{file}: {error.strerror or error}")
    counts = np.array([facts.n_loose, facts.n_repeated, facts.has_cells, *facts.odd_cells])
    shape = np.hstack([facts.covariance, facts.looks, facts.quantiles])  # one array is read faster than three
    arrays = {"content": np.array(facts.key), "counts": counts, "shape": shape, "thickness": np.array(facts.thickness)}
    arrays |= {"kinds": np.array("\n".join(facts.kinds)), "groups": np.array("\n".join(facts.groups))}
    memory.put(file, "facts", key, facts.n_nodes, **arrays)
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
    facts : mapping of path to MeshFacts
    """

    def __init__(
        self, frame: pd.DataFrame, path: Path, name: str, files: Mapping[int, Path], facts: Mapping[Path, MeshFacts]
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

    def known(self) -> list[tuple[int, MeshFacts]]:
        """Return the first row of every readable file, in order, and its facts."""
        return sorted((row, self.facts[file]) for file, row in self.first_rows.items() if file in self.facts)

    def keys(self) -> dict[int, str]:
        """Return what the mesh of every row is known by: the same for equal meshes."""
        return {row: self.facts[file].key if file in self.facts else str(file) for row, file in self.files.items()}

    def odd_nodes(self, merge_nodes: bool = False) -> list[Finding]:
        """Find nodes that no cell uses, cells that say nothing, and cells that nothing joins."""
        found = []
        for row, facts in self.known():
            if facts.n_loose:
                what = f"{facts.n_loose} node{'s' * (facts.n_loose > 1)} that no cell uses"
                found.append(self.finding("loose nodes", row, f"has {what}", "left out, as no part of its shape"))
            if facts.odd_cells.words:
                found.append(self.finding("odd cells", row, f"has {facts.odd_cells.words}", "left out"))
            if not merge_nodes and (what := repeated_nodes(facts)):
                advice = "swwl fit --merge-nodes makes one of them, which joins the cells"
                found.append(self.finding("repeated nodes", row, what, advice))
        return found

    def one_cell_thick(self, plane: bool | None = None) -> list[Finding]:
        """Find meshes one cell thick, and say what is made of them; ``plane`` is what a fitted model does."""
        found = [facts.thickness for _, facts in self.known()]
        thick = [one for one in found if one and np.isfinite(one)]
        if not thick:
            return []
        plane = same_thickness(found) if plane is None else plane
        one = len(thick) == 1
        if len(self.files) == 1:  # a case, not a column
            advice = "it is learned as a plane mesh" if plane else "it is learned as a solid"
            return [self.finding("one cell thick", next(iter(self.files)), "is one cell thick", advice)]
        text = f"holds {'1 mesh' if one else f'{len(thick)} meshes'} one cell thick"
        if plane:
            advice = "it is learned as a plane mesh" if one else "they are learned as plane meshes"
        else:
            mixed = len(thick) < len(found)
            text += ", and others that are not" if mixed else ", of different thickness"
            advice = "all are learned as solids"
        return [Finding("one cell thick", text, advice, column=self.name)]

    def stopped_early(self) -> list[Finding]:
        """Find cases of OpenFOAM, read at their last time, that end elsewhere than most do."""
        times = {row: times_of(file) for file, row in self.first_rows.items() if file in self.facts and is_case(file)}
        last = {row: own[-1] for row, own in times.items() if own}
        usual, count = Counter(last.values()).most_common(1)[0] if last else (0.0, 0)
        if count == len(last) or count < _NEARLY_ALL_TIMES * len(last):
            return []
        advice = "did it stop early? Its fields are read at that time; --time names one for all"
        return [
            self.finding("last time", row, f"has the last time {own:g}, others {usual:g}", advice)
            for row, own in sorted(last.items())
            if own != usual
        ]

    def mixed_orders(self) -> list[Finding]:
        """Find meshes of linear cells among those of quadratic ones, or the other way round."""
        orders = {row: _order(facts.kinds) for row, facts in self.known() if facts.kinds}
        linear, quadratic = ([row for row, one in orders.items() if one == name] for name in ("linear", "quadratic"))
        if not linear or not quadratic:
            return []
        fewer, other = (linear, "quadratic") if len(linear) <= len(quadratic) else (quadratic, "linear")
        facts = dict(self.known())
        shapes = {kind.rstrip("0123456789") for row in fewer for kind in facts[row].kinds}
        what = _SHAPES.get(shapes.pop(), "cells") if len(shapes) == 1 else "cells"
        own = orders[fewer[0]]
        text = f"has {len(fewer)} of {len(orders)} meshes of {own} {what} ({places(self.frame, self.path, fewer)}), "
        text += f"the others of {other} ones"
        advice = "linear ones are too stiff and their stresses too low: mesh all alike, or leave these rows out"
        return [Finding("orders of cells", text, advice, column=self.name)]

    def other_groups(self) -> list[Finding]:
        """Find meshes that lack a group which nearly all others have."""
        known = self.known()
        counts = Counter(name for _, facts in known for name in facts.groups)
        families = {_NUMBERED.sub("", name) for name in counts if counts[name] < len(known) and _NUMBERED.search(name)}
        most = [name for name, count in counts.items() if _NEARLY_ALL_GROUPS * len(known) <= count < len(known)]
        usual = [name for name in most if _NUMBERED.sub("", name) not in families]
        found = []
        for row, facts in known:
            lacks = [name for name in usual if name not in facts.groups]
            if not lacks:
                continue
            own = [name for name in facts.groups if counts[name] < _NEARLY_ALL_GROUPS * len(known)]
            named = ", ".join(map(repr, lacks))
            text = f"has no group {named}, which {min(counts[name] for name in lacks)} of {len(known)} meshes have"
            text += f", but {', '.join(map(repr, own))}" if own else "" if facts.groups else "; it has no groups at all"
            advice = "name them alike in all meshes, or fit with --no-groups"
            found.append(self.finding("groups", row, text, advice))
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


def _order(kinds: Sequence[str]) -> str:
    """Say whether cells are linear or quadratic; nothing of both together.

    >>> _order(("tetra", "wedge")), _order(("tetra10",)), _order(("tetra", "tetra10"))
    ('linear', 'quadratic', '')
    """
    linear = {kind in _LINEAR for kind in kinds}
    return "" if len(linear) != 1 else "linear" if linear.pop() else "quadratic"


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


@dataclass(frozen=True)
class Checked:
    """What was found, and what is typical of the meshes of every column."""

    findings: list[Finding]
    typical: dict[str, Typical] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """How meshes are looked at: where facts are kept, threads, what shows progress, a group that each must have."""

    memory: Memory = field(default_factory=lambda: Memory(None))
    n_jobs: int | None = None
    progress: Progress | None = None
    group: str | None = None


def check_plan(
    plan: FitPlan,
    memory: Memory,
    *,
    n_jobs: int | None = None,
    merge_nodes: bool = False,
    group: str | None = None,
    progress: Progress | None = None,
) -> Checked:
    """Look for what is odd in the rows and meshes of a plan; refuse the first mesh that cannot be read.

    Parameters
    ----------
    plan : FitPlan
    memory : Memory
        Keeps the facts of meshes, so that they are read once.
    n_jobs : int, optional
        Threads.
    merge_nodes : bool
        Whether nodes at the same place will be made one.
    group : str, optional
        The part of the meshes that will be learned from.
    progress : callable, optional
    """
    files = {name: plan.mesh_files(name) for name in plan.meshes}
    named = (file for name in files for file in files[name] if file is not None)
    facts = read_facts(named, memory, n_jobs, progress, group)
    for row in map(int, plan.split.rows):
        for name in plan.meshes:
            found = facts[files[name].iloc[row]]
            if isinstance(found, InputError):
                raise found.within(f"{plan.path}: {where(plan.frame, plan.path, row)}")
    known = {file: found for file, found in facts.items() if isinstance(found, MeshFacts)}
    columns = [
        MeshColumn(plan.frame, plan.path, name, {int(r): files[name].iloc[r] for r in plan.split.rows}, known)
        for name in plan.meshes
    ]
    findings, typical = _of_meshes(columns, merge_nodes)
    return Checked(
        [
            *findings,
            *_of_rows(plan, columns),
            *_of_inputs(plan),
            *_of_results(plan),
            *_of_cells(plan.frame.iloc[plan.split.train], plan.targets),
            *_of_targets(plan),
        ],
        typical,
    )


def check_table(
    path: Path,
    targets: Sequence[str] = (),
    meshes: Sequence[str] = (),
    inputs: Sequence[str] | None = None,
    *,
    results: Sequence[str] = (),
    rows: HoldOut | None = None,
    reading: Reading | None = None,
    curve: str | None = None,
) -> list[Finding]:
    """Look for all that is odd in a table and its meshes; without a target, for what can be told without one.

    Parameters are those of :func:`swwl.jobs.plan.plan_fit`, and how meshes are read.
    """
    frame = read_table(path)
    reading = reading or Reading()
    names = list(meshes) or mesh_columns(frame)
    how = rows or HoldOut()
    frame = at_times(frame, path, names, how.time)
    complete = replace(how, drop_incomplete=True)
    refused: list[Finding] = []
    plan = None
    try:
        kernel = "principal" if names else "scalars"
        plan = plan_fit(
            path, targets, names, inputs, kernel=kernel, rows=complete, results=results, whole=Whole(curve=curve)
        )
        refused += [] if curve is None else _of_curves(plan, curve)
    except InputError as error:
        refused.append(_refusal("table", error))
    if plan is not None and not how.drop_incomplete:
        refused += _incomplete(frame, path, plan, split_rows(frame, path, complete))
    looked_at = range(len(frame)) if plan is None or not how.drop_incomplete else map(int, plan.split.rows)
    unreadable, columns = _readable(frame, path, names, list(looked_at), reading)
    found, _ = _of_meshes(columns)
    if plan is not None:
        few = len(plan.split.train) < 5
        found += [
            *_of_rows(plan, columns),
            *(_left_out(plan) if inputs is None else []),
            *_of_inputs(plan),
            *_of_results(plan),
            *([] if how.drop_incomplete else _of_cells(frame, targets)),
            *([] if few else _of_targets(plan)),
            *([] if few else _of_units(plan)),
        ]
    return [*refused, *unreadable, *found]


def _of_curves(plan: FitPlan, curve: str) -> list[Finding]:
    """Return the first curve that cannot be learned from, as an error."""
    rows = plan.split.rows
    try:
        with rows_named(plan.frame, plan.path, rows):
            table_curves(plan.curve_cells().iloc[rows], curve)
    except InputError as error:
        return [_refusal("curve", error, column=curve)]
    return []


def _of_units(plan: FitPlan) -> list[Finding]:
    """Offer laws of targets, and dimensionless groups of inputs, that units in the names of columns allow."""
    found = []
    for target in plan.targets:
        laws = likely_laws(plan.frame.iloc[plan.split.train], target, plan.inputs)[:_MOST]
        if laws:
            law = shlex.quote(f"{written(target, plan.targets)} ~ {laws[0]}")
            advice = f"try swwl fit --scaled {law}, which is used if left-out rows agree"
            found.append(
                Finding("law", f"may be proportional, by its unit, to {' or '.join(laws)}", advice, column=target)
            )
    every = dimensionless_groups(plan.inputs) if found else []
    groups = sorted(every, key=lambda group: len(group.powers) == 2)[:_MOST]  # ratios of two lengths come last
    if groups:
        names = [name for group in groups for name in group.powers]
        told = ", ".join(group.formula(plan.inputs) for group in groups)
        text = f"the units of {', '.join(dict.fromkeys(names))} make up dimensionless groups"
        found.append(Finding("dimensionless groups", text, told))
    return found


def check_cases(
    model: Model,
    columns: Sequence[str],
    frame: pd.DataFrame,
    path: Path,
    memory: Memory | None = None,
) -> tuple[list[Finding], dict[int, list[str]]]:
    """Compare meshes to predict with those that a model was fitted to.

    Parameters
    ----------
    model : RobustGPRegressor or FieldRegressor
        Fitted by :func:`swwl.jobs.fit.fit_plan` or :func:`swwl.jobs.fit.fit_fields`, which keep what is typical of
        its meshes; of others nothing is known.
    columns : sequence of str
        Those of meshes.
    frame, path
        The table.
    memory : Memory, optional

    Returns
    -------
    findings : list of Finding
    outside : dict of int to list of str
        The rows, counted from 0, whose mesh stands apart, and the columns of such meshes.
    """
    memory = Memory(None) if memory is None else memory
    kept = model.metadata_.get("typical")
    findings: list[Finding] = []
    outside: dict[int, list[str]] = {}
    for name in columns:
        typical = Typical.from_plain(kept.get(name)) if isinstance(kept, dict) else None
        if typical is None:
            continue
        files = dict(enumerate(mesh_paths(frame, path, name)))
        facts = read_facts(files.values(), memory, n_jobs=-1)
        known = {file: found for file, found in facts.items() if isinstance(found, MeshFacts)}
        column = MeshColumn(frame, path, name, files, known)
        findings += column.odd_nodes(merge_nodes=_merges(model, name))
        findings += column.one_cell_thick(_is_plane(model, name))
        for row, finding in column.standing_apart(typical, "the training meshes"):
            findings.append(finding)
            for other, file in files.items():
                if file == files[row] and name not in outside.setdefault(other, []):
                    outside[other].append(name)
    return findings, outside


def _merges(model: Model, column: str) -> bool:
    """Whether a model makes nodes at the same place one."""
    factors = [factor for factor in factors_of(model) if factor.column == column]
    return any(factor.get_params(deep=False).get("merge_nodes") for factor in factors)


def _is_plane(model: Model, column: str) -> bool:
    """Whether a model takes meshes one cell thick for plane ones."""
    if getattr(model, "plane_", False):
        return True
    embeddings = [getattr(factor, "embedding_", None) for factor in factors_of(model) if factor.column == column]
    return any(getattr(embedding, "plane_", False) for embedding in embeddings)


def _refusal(kind: str, error: InputError, **where_: Any) -> Finding:
    return Finding(kind, str(error), severity="error", **where_)


def _readable(
    frame: pd.DataFrame,
    path: Path,
    names: Sequence[str],
    rows: Sequence[int],
    reading: Reading,
) -> tuple[list[Finding], list[MeshColumn]]:
    """Return every mesh that is not there or cannot be read as an error, and columns of the others."""
    refused: dict[tuple[int, str], InputError] = {}
    files: dict[str, dict[int, Path]] = {name: {} for name in names if name in frame.columns}
    for row in rows:
        for name in files:
            try:
                files[name][row] = mesh_of_row(frame, path, name, row)
            except InputError as error:
                refused[row, name] = error
    named = (file for column in files.values() for file in column.values())
    facts = read_facts(named, reading.memory, reading.n_jobs, reading.progress, reading.group)
    for name, column in files.items():
        for row, file in column.items():
            found = facts[file]
            if isinstance(found, InputError):
                refused[row, name] = InputError(f"{path}: {where(frame, path, row)}: {found}")
    known = {file: found for file, found in facts.items() if isinstance(found, MeshFacts)}
    findings = [
        _refusal("mesh file", error, column=name, place=where(frame, path, row), mesh=_text(frame[name].iloc[row]))
        for (row, name), error in sorted(refused.items(), key=lambda item: item[0])
    ]
    return findings, [MeshColumn(frame, path, name, column, known) for name, column in files.items()]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _incomplete(frame: pd.DataFrame, path: Path, plan: FitPlan, rows: RowSplit) -> list[Finding]:
    """Return an error for every column in which something is missing that a fit needs."""
    found = []
    for name in [*plan.targets, *plan.inputs, *plan.categories]:
        try:
            if name in plan.categories:
                missing = rows.rows[frame[name].isna().to_numpy()[rows.rows]]
                require_known(frame, path, name, "input", missing, "missing")
            elif name in plan.targets:
                require_numbers(frame, path, name, "target", known_rows(frame, plan.targets, name, rows.train))
            else:
                require_numbers(frame, path, name, "input", rows.rows)
        except InputError as error:
            found.append(_refusal("missing values", error, column=name))
    return found


def _of_meshes(columns: Sequence[MeshColumn], merge_nodes: bool = False) -> tuple[list[Finding], dict[str, Typical]]:
    """Return what is odd about the meshes of every column, and what is typical of them."""
    findings: list[Finding] = []
    typical: dict[str, Typical] = {}
    for column in columns:
        usual = typical_of([facts for _, facts in column.known()])
        if usual is not None:
            typical[column.name] = usual
        findings += column.of_other_dimension()
        findings += [finding for _, finding in column.standing_apart(usual)]
        findings += column.odd_nodes(merge_nodes)
        findings += column.one_cell_thick()
        findings += column.stopped_early()
        findings += [*column.mixed_orders(), *column.other_groups()]
    return findings, typical


def _of_rows(plan: FitPlan, columns: Sequence[MeshColumn]) -> list[Finding]:
    """Find rows and meshes that stand in the table twice, above all on both sides of the split."""
    frame, path, rows = plan.frame, plan.path, [int(row) for row in plan.split.rows]
    of_columns = [column.keys() for column in columns]
    numbers = frame[[*plan.inputs, *plan.categories]].iloc[rows].to_numpy(dtype=object)
    train = set(map(int, plan.split.train))
    found: list[Finding] = []
    keys = {row: (*(keys.get(row) for keys in of_columns), *values) for row, values in zip(rows, numbers, strict=True)}
    levels = [None] * len(frame) if plan.fidelity is None else frame[plan.fidelity.column].tolist()  # one row of each
    same = [(rows[a], rows[b]) for a, b in repeated_rows([(*keys[row], levels[row]) for row in rows])]
    fitted = {keys[row]: row for row in reversed(rows) if row in train}
    twins = [(row, fitted[keys[row]]) for row in rows if row not in train and keys[row] in fitted]
    what = "mesh and inputs" if columns and (plan.inputs or plan.categories) else "mesh" if columns else "inputs"
    if same:
        other = sum(not _equal(frame[plan.targets].iloc[a], frame[plan.targets].iloc[b]) for a, b in same)
        text = f"{len(same)} row{'s repeat others' if len(same) > 1 else ' repeats another'} with the same {what} "
        text += f"({pairs(frame, path, same)}){', of which ' + str(other) + ' with another target' if other else ''}"
        advice = "leave repeated rows out; a random --test-fraction may put them on both sides"
        found.append(Finding("repeated rows", text, advice))
    if twins:
        text = f"{len(twins)} of {len(plan.split.test)} held-out rows are the same as fitted rows "
        text += f"({pairs(frame, path, twins)})"
        found.append(Finding("twins", text, "held-out scores will be too optimistic; keep such rows on one side"))
    for column, of_column in zip(columns, of_columns, strict=True):
        found += _of_copies(plan, column, of_column, {row for pair in same for row in pair})
    return found


def _equal(first: pd.Series, second: pd.Series) -> bool:
    return bool(np.array_equal(first.to_numpy(float), second.to_numpy(float), equal_nan=True))


def _of_copies(plan: FitPlan, column: MeshColumn, keys: dict[int, str], told: set[int]) -> list[Finding]:
    """Find files that hold the same mesh, and meshes on both sides of the split."""
    found = []
    files = sorted(column.first_rows.values())
    copies = [(files[a], files[b]) for a, b in repeated_rows([keys[row] for row in files]) if files[a] not in told]
    if copies:
        text = f"names {len(copies)} file{'s' * (len(copies) > 1)} that hold{'s' * (len(copies) == 1)} the same mesh "
        text += f"as another one ({pairs(plan.frame, plan.path, copies)})"
        advice = "if intended, name one file in these rows, which is then read once; otherwise name the right files"
        found.append(Finding("copied meshes", text, advice, column=column.name))
    known = {keys[row] for row in map(int, plan.split.train) if row in keys}
    seen = [row for row in map(int, plan.split.test) if keys.get(row) in known and row not in told]
    if len(seen) > len(plan.split.test) / 2:
        text = f"has meshes in {len(seen)} of {len(plan.split.test)} held-out rows that fitted rows have too"
        advice = "held-out scores are about new inputs, not about new meshes"
        found.append(Finding("known meshes", text, advice, column=column.name))
    return found


def _left_out(plan: FitPlan) -> list[Finding]:
    """Say which columns are not learned from, where that was not the user's choice."""
    known = {plan.split.column, *known_outputs(plan.path)}
    known |= {name for name, reason in plan.ignored.items() if reason == RESULT}
    return [
        Finding("ignored", f"is not an input: {reason}", column=name)
        for name, reason in plan.ignored.items()
        if name not in known
    ]


def _of_inputs(plan: FitPlan) -> list[Finding]:
    """Find inputs that hardly vary or only number the cases, and too few rows."""
    found: list[Finding] = []
    train = plan.split.train
    few = max(_FEW_ROWS, 2 * (len(plan.inputs) + len(plan.categories) + len(plan.meshes)))
    if len(train) < few:
        text = f"{len(train)} rows to fit are few for {len(plan.inputs + plan.categories + plan.meshes)} inputs"
        found.append(Finding("few rows", text, f"scores are rough below {few} rows; add simulations"))
    for name in plan.inputs:
        values = as_numbers(plan.frame[name])[train]
        counts = pd.Series(values).value_counts()
        if len(counts) < 2:
            continue
        if np.ptp(values) < _ALMOST * np.abs(values).max():
            text = f"varies only by {number(float(np.ptp(values)))} around {number(float(np.median(values)))}"
            found.append(Finding("almost constant", text, "subtract what is common, or leave it out", column=name))
        elif len(values) >= _FEW_ROWS and counts.iloc[0] == len(values) - 1:
            rows = train[values != counts.index[0]]
            text = f"is {number(float(counts.index[0]))} in all rows but one ({places(plan.frame, plan.path, rows)})"
            found.append(Finding("almost constant", text, "a typing error? Leave it out (--inputs)", column=name))
        elif _numbers_cases(name, values):
            text = "seems to number the cases: whole numbers, all different"
            found.append(Finding("case numbers", text, "leave it out (--inputs names the others)", column=name))
    return found


def _of_results(plan: FitPlan) -> list[Finding]:
    """Find inputs that look like results of the simulation, and say how to settle it."""
    names = list(plan.doubtful)
    if not names:
        return []
    why = "; ".join(f"{name}: {reason}" for name, reason in plan.doubtful.items())
    others = [name for name in [*plan.inputs, *plan.categories] if name not in names and may_be_input(name)]
    them = "them" if len(names) > 1 else "it"
    given = shlex.quote(",".join(names))
    advice = f"--results {given} leaves {them} out, --inputs {shlex.quote(','.join(others))} settles it"
    return [Finding("results", f"{results_words(names)} ({why})", advice)]


def _numbers_cases(name: str, values: Any) -> bool:
    """Whether a column holds consecutive whole numbers, or different ones under a name such as id."""
    ordered = np.unique(values)
    if len(ordered) < max(len(values), _FEW_ROWS) or (ordered != np.round(ordered)).any():
        return False
    return bool((np.diff(ordered) == 1).all()) or numbers_cases(pd.Series(values, name=name))


def _of_cells(frame: pd.DataFrame, targets: Sequence[str]) -> list[Finding]:
    """Say which of several targets have missing cells, which is no mistake."""
    missing = {name: int(frame[name].isna().sum()) for name in targets if len(targets) > 1}
    advice = "it is learned from the others, and may be helped by other targets (--targets-together)"
    return [
        Finding("missing cells", f"is missing in {count} of {len(frame)} rows", advice, column=name)
        for name, count in missing.items()
        if count
    ]


def _of_targets(plan: FitPlan) -> list[Finding]:
    """Find targets that hardly vary, or that are better learned as logarithms."""
    found: list[Finding] = []
    for name in plan.targets:
        values = as_numbers(plan.frame[name])[plan.split.train]
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        size = np.abs(values)
        if np.ptp(values) < _ALMOST * size.max():
            text = f"varies only by {number(float(np.ptp(values)))} around {number(float(np.median(values)))}"
            found.append(Finding("almost constant", text, "learn the difference from a constant", column=name))
        elif (values > 0).all() or (values < 0).all():
            low, middle, high = float(size.min()), float(np.median(size)), float(size.max())
            if high > _SKEWED * middle and high > _ORDERS * low:
                text = f"spans {np.log10(high / low):.0f} orders of magnitude ({number(low)} to {number(high)})"
                advice = "the default model chooses the scale"
                advice += f"; swwl fit --log {name} insists on the logarithm" if (values > 0).all() else ""
                found.append(Finding("orders of magnitude", text, advice, column=name))
    return found

"""Before a fit: which rows and columns of a table are learned from (:class:`FitPlan`), and with which kernel.

What a user asks for comes as objects, :class:`HoldOut` and :class:`KernelOptions`, that every command fills alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.formatting import Record
from swwl.jobs.table import CHOSEN, known_outputs, read_table
from swwl.kernels import ASWWL, SWWL, Categories, Matern52, PrincipalSWWL, Product
from swwl.mesh.io.series import Time
from swwl.regression.candidates import default_kernels
from swwl.regression.together.levels import Levels, of_level, read_levels
from swwl.tables.columns import (
    TEXTS,
    as_numbers,
    categories_of,
    is_categories,
    kind_of,
    mesh_columns,
    reason_against,
    split_word,
)
from swwl.tables.laws import bare_name, full_name
from swwl.tables.places import (
    at_times,
    is_missing,
    mesh_paths,
    places,
    require_column,
    require_known,
    require_numbers,
    where,
)
from swwl.tables.results import result_columns, words_of
from swwl.tables.series import curve_columns, with_files


@dataclass(frozen=True)
class RowSplit:
    """Which rows are fitted and which are held out.

    Attributes
    ----------
    train, test : ndarray of int
        Rows, counted from 0.
    words : str
        How they were chosen.
    column : str or None
        The column that says so, if there is one.
    """

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    words: str
    column: str | None = None

    @property
    def rows(self) -> NDArray[np.intp]:
        """All of them, in order."""
        return np.sort(np.concatenate([self.train, self.test]))

    def without(self, rows: NDArray[np.bool_], words: str) -> RowSplit:
        """Leave rows out, given as (N,) truth values; say so in ``words``."""
        if not rows[self.rows].any():
            return self
        return RowSplit(
            self.train[~rows[self.train]], self.test[~rows[self.test]], f"{self.words}; {words}", self.column
        )


@dataclass(frozen=True)
class HoldOut:
    """How rows to hold out are to be chosen: by a column, at random, or by a column "split" that says train and test.

    Attributes
    ----------
    column : str or None
        Column whose rows "train" are fitted.
    fraction : float or None
        Share of rows to hold out, drawn with ``seed``.
    all_rows : bool
        Hold none out, whatever a column "split" says.
    seed : int
    drop_incomplete : bool
        Leave out rows in which a mesh, an input or, among those to fit, a target is missing or holds text.
    time : float, "first" or "last", or None
        Which time of meshes that are series is read; the last by default.
    fidelity : str or None
        Column of levels of fidelity, which is not an input; held-out rows are those of the best level.
    """

    column: str | None = None
    fraction: float | None = None
    all_rows: bool = False
    seed: int = 0
    drop_incomplete: bool = False
    time: Time | None = None
    fidelity: str | None = None


def split_rows(frame: pd.DataFrame, path: Path, how: HoldOut | None = None) -> RowSplit:
    """Choose the rows to hold out.

    Examples
    --------
    >>> split_rows(pd.DataFrame({"split": ["Train", "test", "training"]}), Path("table.csv")).train.tolist()
    [0, 2]
    """
    how = how or HoldOut()
    fraction = how.fraction
    n = len(frame)
    if sum((how.column is not None, fraction is not None, how.all_rows)) > 1:
        raise InputError("Choose one of: a column to split by, a fraction to hold out, or all rows.")
    if fraction is not None:
        if not 0 < fraction < 1:
            raise InputError(f"The fraction of rows to hold out must lie between 0 and 1, but is {fraction:g}.")
        test = np.sort(np.random.default_rng(how.seed).permutation(n)[: max(1, round(fraction * n))])
        train = np.setdiff1d(np.arange(n), test)
        return RowSplit(train, test, f"held out at random: {len(test)} of {n} rows (seed {how.seed})")
    name = split_column(frame) if how.column is None else how.column
    if how.all_rows or name is None:
        return RowSplit(np.arange(n), np.empty(0, dtype=np.intp), f"no rows are held out: all {n} are fitted")
    if name not in frame.columns:
        raise InputError(f"{path}: has no column {name!r} to split by; it has: {', '.join(frame.columns)}.")
    words = split_words(frame, path, name, how.drop_incomplete)
    fitted, held_out = (np.flatnonzero([word == kind for word in words]) for kind in ("train", "test"))
    if not len(fitted):
        raise InputError(f"{path}: no row of column {name!r} says 'train', so there is none to fit.")
    said = f"column {name!r}: {len(fitted)} rows say train, the other {len(held_out)} are held out"
    missing = np.flatnonzero([word is None for word in words])
    if len(missing):
        said += f"; {len(missing)} left out without a value ({places(frame, path, missing)})"
    return RowSplit(fitted, held_out, said, name)


def split_column(frame: pd.DataFrame) -> str | None:
    """Return the column that is called "split", in whatever letters."""
    return next((str(name) for name in frame.columns if str(name).lower() == "split"), None)


def split_words(frame: pd.DataFrame, path: Path, name: str, drop_incomplete: bool = False) -> list[str | None]:
    """Return "train", "test" or, where a cell is empty and that is allowed, None for every row."""
    words: list[str | None] = []
    for row, value in enumerate(frame[name]):
        word = split_word(value)
        if is_missing(value) and drop_incomplete:
            words.append(None)
        elif is_missing(value) or word is None:
            found = "is empty" if is_missing(value) else f"says {str(value)!r}"
            raise InputError(
                f"{path}: {where(frame, path, row)} {found} in column {name!r}, but train (or training, fit) or test "
                f"(or val, validation, holdout) is expected; correct it, or fit all rows (--all-rows)."
            )
        else:
            words.append(word)
    return words


GRAPH_KERNELS: dict[str, type[SWWL] | type[PrincipalSWWL]] = {"principal": PrincipalSWWL, "swwl": SWWL, "aswwl": ASWWL}
KERNELS = ["auto", *GRAPH_KERNELS, "scalars"]
# With fewer rows the leave-one-out predictions have no variance.
_FEWEST_ROWS = 5
# What paths of files look like: with folders, or an ending of letters.
_PATH = re.compile(r"[/\\]|\w\.[A-Za-z][A-Za-z0-9]{0,7}$")
# Words that columns of meshes are called by.
_OF_MESHES = frozenset("mesh meshes graph graphs geometry geometries".split())
# Why a column is left out that the user calls a result.
RESULT = "a result of the simulation (--results)"


@dataclass(frozen=True)
class FitPlan:
    """What is to be learned from which columns and rows of a table.

    Attributes
    ----------
    path, frame
        The table; columns of numbers are checked.
    meshes, targets, inputs, categories : list of str
    ignored : dict of str to str
        Columns left out, and why.
    split : RowSplit
    time : float, "first" or "last", or None
        Which time of series is read.
    doubtful : dict of str to str
        Inputs that look like results of the simulation, and why; none where the user named the inputs.
    fidelity : Levels or None
        Levels of fidelity of the rows to fit.
    """

    path: Path
    frame: pd.DataFrame
    meshes: list[str]
    targets: list[str]
    inputs: list[str]
    categories: list[str]
    ignored: dict[str, str]
    split: RowSplit
    time: Time | None = None
    doubtful: dict[str, str] = field(default_factory=dict)
    curves: list[str] = field(default_factory=list)
    fidelity: Levels | None = None

    @property
    def answered(self) -> NDArray[np.intp]:
        """The rows to fit that answers are compared with: of levels of fidelity, those of the best."""
        return self.split.train if self.fidelity is None else self.split.train[self.fidelity.rows[-1]]

    def mesh_files(self, name: str) -> pd.Series:
        """Return the mesh files of a column, for the rows that are used; they exist."""
        return mesh_paths(self.frame, self.path, name, self.split.rows)

    def table(self) -> pd.DataFrame:
        """Return all rows of the columns that are used, with the mesh files of rows that are used."""
        level = [] if self.fidelity is None else [self.fidelity.column]
        table = self.frame[[*self.inputs, *self.categories, *self.targets, *level]].copy()
        for name in self.categories:
            table[name] = table[name].astype("category")
        for name in self.meshes:
            table[name] = self.mesh_files(name)
        return pd.concat([table, self.curve_cells()], axis=1) if self.curves else table

    def curve_cells(self) -> pd.DataFrame:
        """Return the columns that hold curves, with the full paths of their files."""
        return with_files(self.frame[self.curves], self.path)

    def files(self) -> list[Path]:
        """Return all files that are read: the table and, once each, the meshes."""
        meshes = {file for name in self.meshes for file in self.mesh_files(name) if file is not None}
        return [self.path, *sorted(meshes)]


@dataclass
class _Columns:
    """The columns of a table, sorted by what they are used for."""

    targets: list[str]
    meshes: list[str]
    inputs: list[str]
    categories: list[str]
    ignored: dict[str, str]
    curves: list[str] = field(default_factory=list)

    @property
    def used(self) -> set[str]:
        return {*self.targets, *self.meshes, *self.inputs, *self.categories, *self.curves}


class Whole(NamedTuple):
    """What is learned beside columns of numbers.

    Attributes
    ----------
    fields : sequence of str
        Of the meshes.
    curve : str or None
        A column of curves, or the beginning of the names of wide columns.
    """

    fields: Sequence[str] = ()
    curve: str | None = None


_NOTHING = Whole()


def plan_fit(
    path: Path,
    targets: Sequence[str],
    meshes: Sequence[str] = (),
    inputs: Sequence[str] | None = None,
    *,
    kernel: str = "auto",
    rows: HoldOut | None = None,
    results: Sequence[str] = (),
    whole: Whole = _NOTHING,
) -> FitPlan:
    """Read and check a table; settle columns and rows, without reading any mesh.

    Parameters
    ----------
    path : path
        A CSV, Excel or Parquet file.
    targets, meshes, inputs : sequence of str
        Columns; by default the meshes are those that hold paths of mesh files, or of these those among the inputs; the
        inputs all other numbers and texts of a few kinds. An empty list of inputs means meshes only. A table without
        meshes, nor paths of anything, is learned from its other columns.
    kernel : {"auto", "principal", "swwl", "aswwl", "scalars"}
    rows : HoldOut, optional
    results : sequence of str
        Columns, or patterns such as ``max_*``, that are not inputs by default since the simulation computes them.
    whole : Whole
        Fields and curves that are learned; without them and without targets no column is taken for a result.
    """
    if kernel not in KERNELS:
        raise InputError(f"There is no kernel {kernel!r}; choose from {', '.join(KERNELS)}.")
    frame = read_table(path)
    columns_of = list(map(str, frame.columns))
    with located(str(path)):
        targets = [full_name(name, columns_of) for name in targets]
        inputs = None if inputs is None else [full_name(name, columns_of) for name in inputs]
    curves = _curve_columns(frame, path, whole.curve)
    found = [name for name in mesh_columns(frame) if name not in curves]
    chosen = [] if kernel == "scalars" else list(meshes) or [name for name in found if name in (inputs or ())] or found
    expected = kernel not in ("auto", "scalars") or whole.fields
    if not chosen and kernel != "scalars" and (expected or _path_columns(frame, curves)):
        raise InputError(
            f"{path}: no column holds paths of meshes; name the column (--mesh), or learn from numbers alone "
            f"(--kernel scalars)."
        )
    for name in chosen:
        require_column(frame, path, name, "meshes")
    how = rows or HoldOut()
    frame = at_times(frame, path, chosen, how.time)
    for name in targets:
        _require_target(frame, path, name)
    split = split_rows(frame, path, how)
    columns = _Columns(list(targets), chosen, [], [], {}, curves)
    columns.ignored |= {name: "a mesh column, which the kernel 'scalars' does not use" for name in found if not chosen}
    if split.column:
        columns.ignored[split.column] = "says which rows to train on"
    if how.fidelity is not None:
        require_column(frame, path, how.fidelity, "fidelity")
        if how.fidelity in columns.used or how.fidelity == split.column:
            raise InputError(
                f"{path}: column {how.fidelity!r} cannot be the fidelity: it is a target, or holds meshes."
            )
        columns.ignored[how.fidelity] = "says how good an answer is (--fidelity)"
    columns.ignored |= dict.fromkeys(_results(frame, path, columns, results), RESULT)
    _sort_columns(frame, path, columns, split.train, inputs)
    split = _complete_rows(frame, path, columns, split, how.drop_incomplete)
    for name in [*columns.inputs, *targets]:
        frame[name] = as_numbers(frame[name])
    split, levels = _with_levels(frame, path, split, how.fidelity)
    _check_rows(frame, path, columns, split)
    doubtful = {}
    if inputs is None and (targets or whole.fields or curves):
        fitted = frame.iloc[split.train]
        doubtful = result_columns(fitted[columns.inputs], fitted[list(targets)], [str(name) for name in frame.columns])
    parts = (columns.targets, columns.inputs, columns.categories, columns.ignored)
    return FitPlan(path, frame, chosen, *parts, split, how.time, doubtful, curves, levels)


def _path_columns(frame: pd.DataFrame, curves: Sequence[str]) -> list[str]:
    """Return the columns of texts that look like paths or are called meshes, but hold none; not those of curves."""
    found = []
    for name in frame.columns:
        if name in curves or kind_of(frame[name]) not in TEXTS:
            continue
        texts = [str(value).strip() for value in frame[name].dropna()]
        paths = 2 * sum(bool(_PATH.search(text)) for text in texts) > len(texts) and not is_categories(frame[name])
        if paths or _OF_MESHES.intersection(words_of(str(name))):
            found.append(str(name))
    return found


def _curve_columns(frame: pd.DataFrame, path: Path, curve: str | None) -> list[str]:
    """Return the columns of the curve to learn; complain where there are none."""
    found = [] if curve is None else curve_columns(frame, curve)
    if curve is not None and not found:
        require_column(frame, path, curve, "curves")
    return found


def _results(frame: pd.DataFrame, path: Path, columns: _Columns, patterns: Sequence[str]) -> list[str]:
    """Return the columns that patterns name, but for targets and meshes; each pattern has to name one."""
    found = []
    for pattern in patterns:
        every = list(map(str, frame.columns))
        names = [name for name in every if name == pattern or fnmatchcase(name, pattern)]
        names = names or [name for name in every if fnmatchcase(bare_name(name), pattern)]
        if not names:
            require_column(frame, path, pattern, "results")
        found += [name for name in names if name not in columns.used and name not in columns.ignored]
    return found


def _require_target(frame: pd.DataFrame, path: Path, name: str) -> None:
    """Refuse a target that holds anything but numbers; single cells are looked at later."""
    kind = kind_of(require_column(frame, path, name, "target"))
    if kind == "empty":
        raise InputError(f"{path}: target {name!r} is empty.")
    if kind not in ("numbers", "mixed"):
        require_numbers(frame, path, name, "target")


def _sort_columns(
    frame: pd.DataFrame, path: Path, columns: _Columns, train: NDArray[np.intp], wanted: Sequence[str] | None
) -> None:
    """Find the inputs: the requested columns, or all that can be; note why the others are not."""
    for name in dict.fromkeys(wanted or []):
        if name in columns.meshes:
            continue
        if name in columns.used:
            raise InputError(f"{path}: column {name!r} cannot be an input, it is a target already.")
        if kind_of(require_column(frame, path, name, "input")) in TEXTS and len(categories_of(frame[name])) > 1:
            columns.categories.append(name)
        else:
            columns.inputs.append(name)
        columns.ignored.pop(name, None)
    if wanted is not None:
        known = {*columns.used, *columns.ignored}
        columns.ignored |= {name: "not among the named inputs" for name in frame.columns if name not in known}
        return
    outputs = known_outputs(path)
    if set(CHOSEN) <= set(frame.columns):
        columns.ignored |= {name: "swwl select or swwl suggest wrote it" for name in CHOSEN if name not in columns.used}
    for name in frame.columns:
        if name in columns.used or name in columns.ignored:
            continue
        reason = reason_against(frame[name], train, is_output=name in outputs)
        if path.is_dir() and _is_hidden(frame[name], train):
            reason = "no sample that is not to train on has it, so it is an output"
        if reason:
            columns.ignored[name] = reason
        else:
            (columns.categories if kind_of(frame[name]) in TEXTS else columns.inputs).append(name)


def _is_hidden(values: pd.Series, train: NDArray[np.intp]) -> bool:
    """Whether a column of a PLAID set is known of the training samples alone: benchmarks keep their outputs secret."""
    known = values.notna().to_numpy()
    others = np.setdiff1d(np.arange(len(known)), train)
    return len(others) > 0 and not known[others].any()


def _complete_rows(frame: pd.DataFrame, path: Path, columns: _Columns, rows: RowSplit, drop: bool) -> RowSplit:
    """Leave out rows in which something is missing, or complain about them."""
    if not drop:
        for name in columns.targets:
            require_numbers(frame, path, name, "target", known_rows(frame, columns.targets, name, rows.train))
        for name in columns.inputs:
            require_numbers(frame, path, name, "input", rows.rows)
        for name in columns.categories:
            missing = rows.rows[frame[name].isna().to_numpy()[rows.rows]]
            require_known(frame, path, name, "input", missing, "missing")
    unknown = np.zeros(len(frame), dtype=bool)  # rows without a target, which can be predicted, but not scored
    for name in columns.targets:
        unknown |= ~np.isfinite(as_numbers(frame[name]))
    for name in columns.curves:
        unknown |= np.array([is_missing(value) for value in frame[name]])
    incomplete = np.zeros(len(frame), dtype=bool)
    for name in columns.inputs:
        incomplete |= ~np.isfinite(as_numbers(frame[name]))
    for name in [*columns.meshes, *columns.categories]:
        incomplete |= np.array([is_missing(value) for value in frame[name]])
    if drop:
        fitted = np.zeros(len(frame), dtype=bool)
        fitted[rows.train] = True
        left = (incomplete | (unknown & fitted)) & np.isin(np.arange(len(frame)), rows.rows)
        which = np.flatnonzero(left)
        if len(which):
            said = f"{len(which)} incomplete left out ({places(frame, path, which)})"
            rows = rows.without(left, said)
    lacking = rows.test[unknown[rows.test]]
    if len(lacking):
        said = f"{len(lacking)} held out without a target, so not scored ({places(frame, path, lacking)})"
        rows = rows.without(unknown & ~np.isin(np.arange(len(frame)), rows.train), said)
    return _without_unseen(frame, path, columns.categories, rows)


def _with_levels(frame: pd.DataFrame, path: Path, rows: RowSplit, name: str | None) -> tuple[RowSplit, Levels | None]:
    """Return the levels of fidelity of the rows to fit, and hold out none but rows of the best."""
    if name is None:
        return rows, None
    with located(str(path)):
        levels = read_levels(frame.iloc[rows.train], name)
    cheap = ~of_level(frame[name], levels.names[-1])
    cheap[rows.train] = False
    said = f"{int(cheap.sum())} not held out, as they are not of the best level, {levels.names[-1]}"
    return rows.without(cheap, said), levels


def known_rows(frame: pd.DataFrame, targets: Sequence[str], name: str, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows in which a target has to be known: of several, cells may be missing, but not those of all."""
    if len(targets) < 2 or kind_of(frame[name]) == "dates":
        return rows
    nothing = frame[list(targets)].isna().to_numpy()[rows].all(axis=1)
    return rows[frame[name].notna().to_numpy()[rows] | nothing]


def _without_unseen(frame: pd.DataFrame, path: Path, categories: list[str], rows: RowSplit) -> RowSplit:
    """Leave out held-out rows whose category no fitted row has."""
    for name in categories:
        known = set(categories_of(frame[name].iloc[rows.train]))
        unseen = np.array([not is_missing(value) and str(value) not in known for value in frame[name]])
        which = rows.test[unseen[rows.test]]
        if len(which):
            said = f"{len(which)} held out with a {name} that no fitted row has ({places(frame, path, which)})"
            rows = rows.without(unseen, said)
    return rows


def _check_rows(frame: pd.DataFrame, path: Path, columns: _Columns, rows: RowSplit) -> None:
    """Complain where too few rows are left, or nothing to learn."""
    if len(rows.train) < _FEWEST_ROWS:
        raise InputError(
            f"{path}: at least {_FEWEST_ROWS} training rows are needed, found {len(rows.train)} ({rows.words})."
        )
    if not (columns.meshes or columns.inputs or columns.categories):
        why = "".join(f"; {name!r} is not one: {reason}" for name, reason in columns.ignored.items())
        if len(frame.columns) == 1:
            why = f"; its only column is {frame.columns[0]!r}: columns are separated by commas, semicolons or tabs"
        raise InputError(f"{path}: there are no columns to learn from besides the targets{why}.")
    for name in columns.targets:
        values = frame[name].to_numpy()[rows.train]
        values = values[np.isfinite(values)]
        if len(values) and np.ptp(values) == 0:
            where = "training rows" if frame[name].nunique() > 1 else "rows"
            raise InputError(f"{path}: target {name!r} is {values[0]:g} in all {where}: there is nothing to learn.")


@dataclass(frozen=True)
class KernelOptions:
    """A kernel by its name, and what its embeddings are to be made with; None leaves it to the kernel.

    Attributes
    ----------
    name : str or None
        One of ``KERNELS``. None is "auto", or "principal" where an option is given that "auto" has no use for.
    n_projections, n_quantiles, n_iterations, step, node_weights, fields, merge_nodes, group
        See :class:`swwl.SWWLEmbedding`.
    n_components : int, "auto" or None
        For "principal".
    groups : bool
        Whether "auto" learns from named groups.
    seed : int
    n_jobs : int or None
    """

    name: str | None = None
    n_projections: int = 50
    n_quantiles: int | None = None
    n_iterations: int | None = None
    step: int | str | None = None
    node_weights: str | None = None
    n_components: int | str | None = None
    fields: tuple[str, ...] = ()
    merge_nodes: bool = False
    group: str | None = None
    groups: bool = True
    seed: int = 0
    n_jobs: int | None = None

    @property
    def kernel(self) -> str:
        """The name of the kernel; options that it has no use for are refused.

        Examples
        --------
        >>> KernelOptions().kernel, KernelOptions(step=2).kernel, KernelOptions("swwl", step=2).kernel
        ('auto', 'principal', 'swwl')
        """
        given = [name for name in _NOT_FOR_AUTO if getattr(self, name) is not None]
        if self.name is None:
            return "principal" if given else "auto"
        if self.name == "auto" and given:
            wanted = "principal" if given[0] == "n_components" else "principal, swwl or aswwl"
            raise InputError(
                f"{_NOT_FOR_AUTO[given[0]]} does not apply to --kernel auto; use it with --kernel {wanted}."
            )
        return self.name

    @property
    def is_default(self) -> bool:
        """Whether the kernels are those that :class:`swwl.RobustGPRegressor` makes by itself."""
        return self.kernel == "auto" and self == KernelOptions(self.name, seed=self.seed, n_jobs=self.n_jobs)

    def embedding(self) -> Record:
        """Return what is given to the embeddings."""
        names = ["n_projections", "n_quantiles", "n_iterations", "step", "node_weights", "fields", "merge_nodes"]
        names += ["group"]
        names += ["n_components"] if self.kernel == "principal" else []
        given = {name: getattr(self, name) for name in names}
        given |= {"random_state": self.seed, "n_jobs": self.n_jobs}
        return {name: value for name, value in given.items() if value is not None}


# Options that "auto" has no use for, as the command line calls them.
_NOT_FOR_AUTO = {
    "n_iterations": "--iterations", "step": "--step", "node_weights": "--node-weights", "n_components": "--components",
}  # fmt: skip


def make_kernel(options: KernelOptions, plan: FitPlan, *, stored: bool = False) -> Product | dict[str, Product]:
    """Return the kernel of a name on the columns of a plan, or the kernels to stack.

    Parameters
    ----------
    options : KernelOptions
    plan : FitPlan
    stored : bool
        Whether meshes come from a store, which holds what the candidates of "auto" for few rows do not need.
    """
    given = options.embedding()
    if options.kernel == "auto":
        table = plan.table().iloc[plan.split.train].drop(columns=[*plan.targets, *plan.curves])
        kernels = default_kernels(table, few_rows=not stored, groups=options.groups and not stored, **given)
        parts = [
            part for kernel in kernels.values() for one in kernel.factors for part in getattr(one, "factors", [one])
        ]
        if options.fields and not any(getattr(part, "fields", ()) for part in parts):
            raise InputError(
                "--field does not apply to --kernel auto, which compares these meshes by their boundaries; use it "
                "with --kernel principal, swwl or aswwl."
            )
        return kernels
    graphs = [GRAPH_KERNELS[options.kernel](column, **given) for column in plan.meshes]
    return Product(*graphs, *map(Matern52, plan.inputs), *map(Categories, plan.categories))


def mesh_kernels(options: KernelOptions, meshes: Mapping[str, Mapping[int, Path]]) -> list[Product]:
    """Return the kernels for columns of meshes alone, given the files of some rows."""
    given = options.embedding()
    if options.kernel == "auto":
        rows = {column: pd.Series(dict(files), dtype=object) for column, files in meshes.items()}
        return list(default_kernels(pd.DataFrame(rows).dropna(), few_rows=False, groups=False, **given).values())
    if options.kernel not in GRAPH_KERNELS:
        raise InputError(f"The kernel {options.kernel!r} compares no meshes, so there is nothing to embed.")
    return [Product(*(GRAPH_KERNELS[options.kernel](column, **given) for column in meshes))]

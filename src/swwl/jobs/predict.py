"""From a model and a table to predictions: of numbers as a table, of fields as meshes; scores where truth is known."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from swwl.domain.notes import case_notes, usual
from swwl.domain.verdict import FEW_CASES, FEWEST, agreement, outside_ranges
from swwl.errors import InputError, MissingFileError, located
from swwl.evaluation import scores
from swwl.evaluation.metadata import HELD_OUT, TableData, curve_data_of, data_of, field_data_of
from swwl.fields.numbers import ForceOn, Line, LinearNumber, Probe, missing_notes
from swwl.fields.scores import MeshScore, mesh_score, pooled
from swwl.formatting import Record
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor
from swwl.mesh.io import as_mesh
from swwl.mesh.io.formats import is_mesh, timed
from swwl.mesh.io.series import Time, without_time
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.intervals import widened
from swwl.regression.together.levels import of_level
from swwl.storage.atomic import refuse_special
from swwl.storage.memory import Memory
from swwl.storage.modelfile import load_model
from swwl.tables.inputs import LARGEST
from swwl.tables.laws import matched_column
from swwl.tables.places import (
    ONE_CASE,
    at_times,
    case_names,
    mesh_paths,
    require_numbers,
    require_rows,
    require_texts,
    rows_named,
    where,
)

if TYPE_CHECKING:  # a model brings the room that it needs
    from swwl.fields.estimator import FieldRegressor
    from swwl.fields.model import FieldCases
    from swwl.fields.transient import TransientRegressor
    from swwl.fields.values import FieldKind
    from swwl.regression.curves.estimator import CurveRegressor

    Model = RobustGPRegressor | FieldRegressor | CurveRegressor | TransientRegressor

# What predictions of a target add to its name, and the column that says which inputs were never tried so far out.
PREDICTED = ("mean", "std", "lower95", "upper95")
# Where two outcomes are possible, the interval has a gap.
GAP = ("gap_from95", "gap_to95")
OUTSIDE = "outside_training_range"
# Whether the band of a whole field holds the true one.
WHOLE = "whole"
# Whether a case is like the training cases, and which targets have intervals twice as wide for being less sure.
SCORE, INSIDE, DOMAIN, WIDENED = DOMAIN_COLUMNS = ("domain_score", "inside_domain", "domain", "widened")
# Answers that are less probable than this disagree, over all targets of a table together, if there are so many of
# them; intervals of which this share hold the mean of the training answers say nothing of agreement.
_DISAGREE, _FEWEST_ANSWERS, _HOLD_ALL = 0.01, 3, 0.95
# Inputs in training deviations that differ by less than this are the same.
_SAME = 1e-9


def load_regressor(path: Path) -> RobustGPRegressor:
    """Read a model file that can predict numbers; refuse models of other kinds."""
    model = load_any(path)
    if model.predicts != "numbers":
        what = {"fields": "of whole fields", "series": "of fields over time", "curves": "of curves"}
        kind = what.get(getattr(model, "predicts", ""))
        hint = "" if kind is None else (
            f" Models {kind} are for swwl predict, report, info and serve; for this command fit numbers "
            "(swwl fit --target)."
        )  # fmt: skip
        raise InputError(f"{path}: holds a {type(model).__name__}, but a RobustGPRegressor is expected.{hint}")
    return model


def load_any(path: Path, *, series: bool = False) -> Model:
    """Read a model file that can predict numbers, fields or curves, or fields over time; refuse others."""
    model: Model = load_model(path)
    if getattr(model, "predicts", None) not in ("numbers", "fields", "curves", *(["series"] if series else [])):
        raise InputError(
            f"{path}: holds a {type(model).__name__}, but a model of numbers, fields or curves is expected."
        )
    return model


def factors_of(model: Model) -> list[Factor]:
    """Return the factors of all kernels of a model."""
    if model.predicts == "series":
        return factors_of(model.fields_)
    kernels = [one.member.kernel for one in model.models_.values()] if model.predicts == "fields" else [model.kernel_]
    return [factor for kernel in kernels for factor in kernel.factors]


def column_kinds(model: Model) -> dict[str, str]:
    """Return what a model takes from every column that it needs: "graphs", "categories", "rows", "numbers"."""
    kinds = {factor.column: factor.takes for factor in factors_of(model)}
    if model.predicts in ("fields", "series"):
        kinds[model.mesh_column_] = "graphs"
    return {name: kinds.get(name, "numbers") for name in model.feature_names_in_}


def graph_columns(model: Model) -> list[str]:
    """Return the columns of a model that hold meshes."""
    return [name for name, kind in column_kinds(model).items() if kind == "graphs"]


def time_of(model: Model, given: Time | None) -> tuple[Time | None, bool]:
    """Return the time to read meshes at, and whether it was asked for: as given, or that of the training meshes."""
    kept = model.metadata_.get("time")
    if given is not None or not isinstance(kept, (int, float, str)):
        return given, True
    return (kept if isinstance(kept, str) else float(kept)), False


def table_at_time(model: Model, frame: pd.DataFrame, path: Path, given: Time | None) -> pd.DataFrame:
    """Return a table whose meshes are read at a given time, or else at that of the training meshes."""
    time, required = time_of(model, given)
    return at_times(frame, path, graph_columns(model), time, required=required)


def input_columns(model: Model, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the columns that a model needs: checked numbers, texts, vectors, and mesh files that exist."""
    columns: Record = {}
    for name, kind in column_kinds(model).items():
        if kind == "graphs":
            columns[name] = mesh_paths(frame, path, name)
        elif kind == "categories":
            columns[name] = require_texts(frame, path, name)
        elif kind == "rows":
            columns[name] = require_rows(frame, path, name)
        else:
            columns[name] = require_numbers(frame, path, name, "input")
    return pd.DataFrame(columns, index=frame.index)


def predict_table(
    model: RobustGPRegressor,
    frame: pd.DataFrame,
    path: Path,
    *,
    memory: Memory | None = None,
    progress: Progress | None = None,
) -> tuple[Prediction, pd.DataFrame]:
    """Predict every row of a table, arrays of shape (M, k); compare it with the training cases. Mistakes name the line.

    Parameters
    ----------
    model : RobustGPRegressor
    frame : DataFrame
        What :func:`~swwl.jobs.table.read_table` returned.
    path : path
        Of the table: paths of meshes are relative to it.
    memory : Memory, optional
        Where embeddings are kept.
    progress : callable, optional
        Called as ``progress(done, total)`` while graphs are embedded.
    """
    inputs = input_columns(model, frame, path)
    with rows_named(frame, path, range(len(frame))):
        prediction, domain = model.predict_with_domain(inputs, memory=memory, progress=progress)
    return prediction.columns(), domain


def check_names(model: RobustGPRegressor, frame: pd.DataFrame, path: Path) -> None:
    """Refuse a table that has columns where predictions go."""
    keys = (*PREDICTED, *(GAP if model.stack_.regimes is not None else ()))
    for name in [*(f"{target}_{key}" for target in model.target_names_ for key in keys), OUTSIDE, *DOMAIN_COLUMNS]:
        if name in frame.columns:
            raise InputError(f"{path}: already has a column {name!r}, which is where predictions go; rename it.")


def prediction_table(
    model: RobustGPRegressor,
    frame: pd.DataFrame,
    prediction: Prediction,
    apart: Mapping[int, Sequence[str]] | None = None,
    domain: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return a table with predictions beside its columns, and which inputs of a row leave the training range.

    Parameters
    ----------
    model : RobustGPRegressor
    frame : DataFrame of M rows
    prediction : Prediction
        Of them, arrays of shape (M, k).
    apart : mapping of int to sequence of str, optional
        The mesh columns of rows, counted from 0, whose mesh is unlike the training meshes.
    domain : DataFrame, optional
        What the model says of them beside that.
    """
    lower, upper = prediction.interval(0.95)
    columns: Record = {}
    for k, name in enumerate(model.target_names_):
        found = (prediction.mean, prediction.std, lower, upper)
        columns |= {f"{name}_{key}": values[:, k] for key, values in zip(PREDICTED, found, strict=True)}
        if model.stack_.regimes is not None:
            columns |= {f"{name}_{key}": values[:, k] for key, values in zip(GAP, prediction.gap(0.95), strict=True)}
    columns[OUTSIDE] = outside_inputs(model, frame, apart)
    if domain is not None:
        columns |= domain_columns(domain)
    return pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)


def domain_columns(domain: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of a table of predictions that say whether cases are like the training cases.

    That there are too few training cases is the same of every row: :func:`domain_words` says it once.
    """
    inside = [None if pd.isna(value) else bool(value) for value in domain["inside"]]
    reasons = [FEW_CASES.sub("", str(why or "")) for why in domain["why"]]
    why = [f"{kind}: {why}" if why else str(kind) for kind, why in zip(domain["kind"], reasons, strict=True)]
    told = (domain["score"].to_numpy(), inside, why, list(domain["widened"]))
    return dict(zip(DOMAIN_COLUMNS, told, strict=True))


def outside_inputs(
    model: RobustGPRegressor, frame: pd.DataFrame, apart: Mapping[int, Sequence[str]] | None = None
) -> list[str]:
    """Say for every row which inputs lie outside the range of the training rows: their names, or nothing."""
    bounds = {str(name): (float(known.min()), float(known.max())) for name, known in model.train_inputs_.items()}
    numbers = {name: pd.to_numeric(frame[name], errors="coerce") for name in bounds}
    found = outside_ranges(bounds, numbers, len(frame))
    return with_meshes_apart(found, apart)


def with_meshes_apart(outside: Iterable[str], apart: Mapping[int, Sequence[str]] | None) -> list[str]:
    """Return the names of inputs that lie outside, with those of mesh columns whose mesh stands apart before them."""
    return [", ".join([*(apart or {}).get(row, ()), *([names] if names else [])]) for row, names in enumerate(outside)]


def meshes_by_column(columns: Sequence[str], given: Sequence[str]) -> dict[str, Path]:
    """Read FILE, or COLUMN=FILE where a model has several mesh columns.

    >>> meshes_by_column(["blade", "hub"], ["blade=a.vtu", "hub=b.vtu"])["hub"].name
    'b.vtu'
    """
    if len(columns) == 1 and len(given) == 1 and not given[0].startswith(f"{columns[0]}="):
        return {columns[0]: Path(given[0])}
    found = {}
    for text in given:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            wanted = f"--mesh COLUMN=FILE for the columns {', '.join(columns)}" if columns else "a model with meshes"
            raise InputError(f"{text!r} is not understood; expected {wanted}.")
        found[name.strip()] = Path(file)
    return found


def case_meshes(model: Model, given: Sequence[str], time: Time | None = None) -> dict[str, Path]:
    """Return the meshes of one case by column, at a given time or else at that of the training meshes."""
    at, _ = time_of(model, time)
    return {name: timed(file, at) for name, file in meshes_by_column(graph_columns(model), given).items()}


def one_case(model: Model, meshes: Mapping[str, Path], values: Sequence[str]) -> pd.DataFrame:
    """Return a table of one row from mesh files by column and texts NAME=VALUE; all inputs have to be there."""
    wanted = [str(name) for name in model.feature_names_in_]
    kinds = column_kinds(model)
    gone = next((file for file in meshes.values() if not is_mesh(file)), None)
    if gone is not None:
        with located(str(gone)):
            refuse_special(gone)
        raise MissingFileError(f"{gone}: no such file.")
    case: Record = {name: str(file) for name, file in meshes.items()}
    for text in values:
        # A column may have "=" in its name: the longest one that fits is meant.
        name = max((n for n in wanted if text.startswith(f"{n}=")), key=len, default=None)
        given = text.partition("=")[0] if name is None else name
        name = matched_column(given, wanted) if name is None else name  # without its unit
        if name is None:
            raise InputError(f"{text!r} is not understood; expected NAME=VALUE for {', '.join(wanted)}.")
        if name in case:
            raise InputError(f"{name!r} is given twice.")
        case[name] = text[len(given) + 1 :]
        is_number = abs(pd.to_numeric(case[name], errors="coerce")) <= LARGEST
        if kinds.get(name) == "numbers" and not is_number:
            raise InputError(f"{name} must be a number, not {case[name]!r}; it is given in the unit of the table.")
    missing = [name for name in wanted if name not in case]
    if missing:
        needed = "--mesh FILE" if missing == graph_columns(model) else f"{missing[0]}=VALUE"
        raise InputError(f"The model also needs {', '.join(missing)}: give {needed}.")
    frame = pd.DataFrame({name: [value] for name, value in case.items()})
    frame.attrs[ONE_CASE] = ", ".join(map(str, meshes.values())) or "the case"
    return frame


def fitted_rows(model: Model, inputs: pd.DataFrame, model_path: Path) -> NDArray[np.bool_]:
    """Say which rows of a table a model was fitted to: the same mesh files and the same other inputs, up to rounding.

    Parameters
    ----------
    model : RobustGPRegressor or FieldRegressor
    inputs : DataFrame of M rows
        What :func:`input_columns` returned.
    model_path : path
        Of the model, which knows its meshes relative to that.

    Returns
    -------
    ndarray of bool, shape (M,)
    """
    factors, rows = _fitted(model)
    data: TableData | None
    if model.predicts == "numbers":
        data = data_of(model)
    else:
        data = field_data_of(model) if model.predicts == "fields" else curve_data_of(model)
    folder = None if data is None else (model_path.resolve().parent / data.table).parent
    pairs: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for name in graph_columns(model):
        meshes = [] if data is None or folder is None else data.train.meshes.get(name, [])
        files = [] if folder is None else [_real_file(folder / mesh) for mesh in meshes]
        numbers = {file: i for i, file in enumerate(files)}
        new = [numbers.get(_real_file(Path(file)), -1) for file in inputs[name]]
        pairs.append((np.array([[numbers[file]] for file in files], float), np.array(new, float)[:, None]))
    for factor, own in zip(factors, rows, strict=True):
        known = None if factor.takes == "graphs" else factor.vectors(own)
        if known is not None:
            vectors = factor.vectors(factor.represent(inputs[factor.column]))
            pairs.append((np.asarray(known, float), np.asarray(vectors, float)))
    regressor = model.regressor_ if model.predicts == "curves" else model
    for name, values in regressor.stack_.other_inputs.items() if regressor.predicts == "numbers" else ():
        unit = float(values.std()) or 1.0
        pairs.append((values[:, None] / unit, inputs[name].to_numpy(float)[:, None] / unit))
    if not pairs or any(not len(known) for known, _ in pairs):
        return np.zeros(len(inputs), dtype=bool)
    train, given = (np.hstack(parts) for parts in zip(*pairs, strict=True))
    return np.asarray(scipy.spatial.cKDTree(train).query(given)[0] <= _SAME)


def _fitted(model: Model) -> tuple[list[Factor], list[Any]]:
    """Return the factors of a model and what they made of the training rows."""
    if model.predicts == "curves":
        model = model.regressor_
    if model.predicts == "numbers":
        return list(model.kernel_.factors), list(model.train_rows_)
    member = next(iter(model.models_.values())).member
    return list(member.kernel.factors), list(member.rows)


def _real_file(file: Path) -> str:
    return os.path.realpath(file)


# What scores are called of rows that a model was not fitted to, and of those that it was.
UNSEEN, FITTED = HELD_OUT, "training rows"


def against_table(
    model: RobustGPRegressor, frame: pd.DataFrame, prediction: Prediction, fitted: NDArray[np.bool_] | None = None
) -> list[Record]:
    """Score predictions against the targets that a table holds already; one row per such target.

    Parameters
    ----------
    model : RobustGPRegressor
    frame : DataFrame of M rows
    prediction : Prediction
    fitted : ndarray of bool, shape (M,), optional
        Rows that the model was fitted to, which have a row of their own: what they score says nothing.
    """
    rows = []
    apart = np.zeros(len(frame), dtype=bool) if fitted is None else fitted
    for k, name in enumerate(model.target_names_):
        truth = _truth(model, frame, name)
        known = np.flatnonzero(np.isfinite(truth))
        unseen, seen = known[~apart[known]], known[apart[known]]
        for test, among in ((UNSEEN if len(seen) else "given in table", unseen), (FITTED, seen)):
            if len(among) > 1:
                found = scores.score(truth[among], prediction.column(k).take(among))
                rows.append({"target": name, "test": test} | found._asdict())
    return rows


def told_of_cases(model: Model, domain: pd.DataFrame) -> list[str]:
    """Return :func:`domain_words` of cases of a model."""
    own = model.fields_ if model.predicts == "series" else model
    n_train = len(own.train_targets_) if own.predicts == "numbers" else own.n_train_
    return domain_words(domain, n_train, sum(kind == "numbers" for kind in column_kinds(model).values()))


def n_unlike(domain: pd.DataFrame) -> int | None:
    """Return how many cases are known to be unlike the training cases; None where that cannot be told of any.

    >>> n_unlike(pd.DataFrame({"inside": pd.array([False, pd.NA], dtype="boolean")}))
    1
    """
    known = domain["inside"].dropna().astype(bool)
    return int((~known).sum()) if len(known) else None


def domain_words(domain: pd.DataFrame, n_train: int, n_inputs: int = 1) -> list[str]:
    """Say in a line or two what the comparison with the training cases found, and where the table says more.

    Of what chance brings, with ``n_train`` training cases and ``n_inputs`` columns of numbers, it says that.
    """
    lines = []
    unknown = domain["inside"].isna()
    if unknown.any():
        few = f"like the {n_train} training cases cannot be told: at least {FEWEST} are needed"
        others = "" if unknown.all() else f"the other {int(unknown.sum())} " if unknown.sum() > 1 else "the other "
        lines.append(f"whether {others}{'case is' if others and unknown.sum() == 1 else 'cases are'} {few}")
    columns = {
        "outside": f"column {OUTSIDE}",
        "unlike": f"columns {INSIDE} and {DOMAIN}",
        "meshing": f"column {DOMAIN}",
        "widened": f"column {WIDENED}",
    }
    notes = case_notes(domain, usual(domain, n_train, n_inputs))
    told = [f"{text}: see {columns[kind]}" if kind in columns else text for kind, text in notes.items()]
    return told + lines if unknown.any() and not unknown.all() else lines + told


def _truth(model: RobustGPRegressor, frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """Return the answers (M,) that a table holds of a target, NaN where it has none of the best level; else nothing."""
    if name not in frame:
        return np.empty(0)
    truth: NDArray[np.float64] = pd.to_numeric(frame[name], errors="coerce").to_numpy(float)
    chain = model.chain_
    if chain is None or chain.level is None or chain.best is None or chain.level not in frame:
        return truth
    return np.where(of_level(frame[chain.level], chain.best), truth, np.nan)


def answers_agree(
    model: RobustGPRegressor, frame: pd.DataFrame, prediction: Prediction, fitted: NDArray[np.bool_] | None = None
) -> list[Record]:
    """Test, for every target that a table holds, whether its answers agree with the model as training cases do.

    Rows that the model was ``fitted`` to, (M,), are passed over: it agrees with them by itself. ``agree`` is None where
    nothing disagrees, but errors that small mean nothing, and ``why`` says the reason: predictions that are worse than
    the mean of the answers, or intervals so wide that they hold the mean of the training answers, too.
    """
    rows: list[Record] = []
    apart = np.zeros(len(frame), dtype=bool) if fitted is None else fitted
    left_out = widened(model.leave_one_out(), model.domain_reference()).columns()
    for k, name in enumerate(model.target_names_):
        truth = _truth(model, frame, name)
        known = np.flatnonzero(np.isfinite(truth) & ~apart) if len(truth) else np.empty(0, dtype=np.intp)
        if len(known) >= _FEWEST_ANSWERS:
            own = prediction.column(k).take(known)
            trained = np.isfinite(model.train_targets_[:, k])
            p = agreement(truth[known], own, model.train_targets_[trained, k], left_out.column(k).take(trained))
            why = _says_nothing(truth[known], own, float(model.train_targets_[trained, k].mean()))
            rows.append({"target": name, "n": len(known), "p_value": p, "agree": None if why else True, "why": why})
    for row in rows:
        if row["p_value"] * len(rows) <= _DISAGREE:
            row |= {"agree": False, "why": ""}
    return rows


def _says_nothing(y: NDArray[np.float64], prediction: Prediction, usual: float) -> str:
    """Say why answers that do not disagree with predictions do not agree with them either; nothing where they do."""
    q2 = scores.score(y, prediction).q2
    if q2 < 0:
        return f"predictions are worse than the mean of these answers (Q² {q2:.2f})"
    lower, upper = prediction.interval(0.95)
    if ((lower <= usual) & (usual <= upper)).mean() >= _HOLD_ALL:
        return "intervals are so wide that they hold the mean of the training answers as well"
    return ""


TABLE = "predictions.csv"  # beside the meshes
FILE = "predicted_mesh"  # the column that names them
# Numbers that are derived from a field: its largest value and its mean over lengths, areas or volumes; of vectors,
# those of their lengths.
DERIVED = ("max", "mean")
_SCORES = ("rrmse", "max_true", "inside95")
# So many meshes are predicted at once: their fields are in memory together.
HANDFUL = 8


def mesh_names(frame: pd.DataFrame, path: Path, column: str) -> list[str]:
    """Name the file of every row after its case; those of meshes that stand in several rows also after their line.

    Examples
    --------
    >>> mesh_names(pd.DataFrame({"mesh": ["1.vtu", "2.cgns", "1.vtu"]}), Path("t.csv"), "mesh")
    ['1-line-2.vtu', '2.vtu', '1-line-4.vtu']
    >>> mesh_names(pd.DataFrame({"mesh": ["a/mesh.inp", "b/mesh.inp"]}), Path("t.csv"), "mesh")
    ['a.vtu', 'b.vtu']
    """
    files = [PurePosixPath(without_time(str(value).strip()).replace("\\", "/")) for value in frame[column]]
    stems = [re.sub(r"[/:]+", "-", name) for name in case_names([file.with_suffix("") for file in files])]
    counts = Counter(stem.casefold() for stem in stems)
    names = []
    for row, stem in enumerate(stems):
        alone = counts[stem.casefold()] == 1
        names.append(f"{stem}.vtu" if alone else f"{stem}-{where(frame, path, row).replace(' ', '-')}.vtu")
    return names


def check_field_names(
    model: FieldRegressor, frame: pd.DataFrame, path: Path, asked: Sequence[LinearNumber] = ()
) -> None:
    """Refuse a table that has columns where predictions go."""
    begin = tuple(f"{name}_{number}_" for name in model.field_names_ for number in asked)
    taken = [name for name in map(str, frame.columns) if name.startswith(begin) and name.endswith(PREDICTED)]
    own = [f"{name}_{what}_{key}" for name in model.field_names_ for what in DERIVED for key in PREDICTED]
    own += [f"{name}_{key}" for name in model.field_names_ for key in _SCORES]
    for name in [FILE, *own, *taken, OUTSIDE, *DOMAIN_COLUMNS]:
        if name in frame.columns:
            raise InputError(f"{path}: already has a column {name!r}, which is where predictions go; rename it.")


class Predicted(NamedTuple):
    """What became of a table: with new columns, scores by field where meshes have the truth, and the domain.

    Beside it the numbers that were asked for, a row for each of them and every case, and notes on missing ones.
    """

    table: pd.DataFrame
    scores: list[Record]
    domain: pd.DataFrame
    numbers: list[Record]
    notes: list[str]

    def note_apart(self, apart: Mapping[int, Sequence[str]]) -> None:
        """Name in the table, too, the columns of meshes unlike the training meshes, by row."""
        self.table[OUTSIDE] = with_meshes_apart(self.domain["outside"], apart)


class Asked(NamedTuple):
    """What is asked of predicted fields besides: numbers of all fields, and bands of whole fields.

    With ``whole``, meshes get NAME_lower95_whole and NAME_upper95_whole, too, the bounds of bands that hold whole
    fields; and the table NAME_whole, 1 where the band holds the true field and 0 where it does not.
    """

    numbers: Sequence[LinearNumber] = ()
    whole: bool = False


_NOTHING = Asked()


def predict_fields(
    model: FieldRegressor,
    frame: pd.DataFrame,
    path: Path,
    write: Callable[[int, Mesh], None],
    *,
    asked: Asked = _NOTHING,
    compare: bool | NDArray[np.bool_] = True,
    memory: Memory | None = None,
    progress: Progress | None = None,
) -> Predicted:
    """Predict every row of a table and hand each mesh over as soon as it is done; mistakes name the line.

    Parameters
    ----------
    model : FieldRegressor
    frame : DataFrame
        What :func:`~swwl.jobs.table.read_table` returned.
    path : path
        Of the table: paths of meshes are relative to it.
    write : callable
        Called with the number of a row and its mesh, which has NAME, NAME_std, NAME_lower95, NAME_upper95 and, where
        the mesh of the table has the field, NAME_true and NAME_error, for every field; none of the fields that were
        simulated otherwise.
    asked : Asked
        What is asked for besides; numbers are refused before anything is predicted where no mesh has them.
    compare : bool or ndarray of bool, shape (M,)
        Whether fields that the meshes hold are the truth of these rows; as an array, which rows the model was fitted
        to, as these are scored by themselves.
    memory : Memory, optional
    progress : callable, optional
        Called as ``progress(done, total)`` after every handful of rows.
    """
    inputs = input_columns(model, frame, path)
    names = case_names(frame[model.mesh_column_].tolist())
    _require_somewhere(model, inputs, names, asked.numbers)
    domains: list[pd.DataFrame] = []
    told: list[Record] = []
    lacks: dict[str, dict[str, str]] = {number.words: {} for number in asked.numbers}
    columns: dict[str, list[float]] = {}
    scores: dict[str, dict[bool, list[MeshScore]]] = {name: {False: [], True: []} for name in model.field_names_}
    seen = compare if isinstance(compare, np.ndarray) else np.zeros(len(frame), dtype=bool)
    has_truth = compare is not False
    for first in range(0, len(frame), HANDFUL):
        some = inputs.iloc[first : first + HANDFUL]
        with rows_named(frame, path, range(first, first + len(some))):
            cases = model.cases(some, memory=memory)
            meshes = cases.predict_meshes(simultaneous=asked.whole)
            domains.append(cases.domain)
            for name, values in derived_numbers(cases).items():
                columns.setdefault(name, []).extend(values)
            if asked.numbers:
                found_numbers, own = asked_numbers(cases, asked.numbers)
                rows_told = [one | {"row": first + one["row"]} for one in found_numbers]
                told += [{"case": names[one["row"]]} | one for one in rows_told]
                for words, why in own.items():
                    lacks[words] |= {names[first + row]: reason for row, reason in why.items()}
        for row, mesh in enumerate(meshes, first):
            known = truths(cases.table[model.mesh_column_].iloc[row - first], model.field_names_) if has_truth else {}
            found = {name: score_mesh(mesh.renamed(names[row]), name, true) for name, true in known.items()}
            write(row, with_truth(mesh, {name: known[name] for name, score in found.items() if score is not None}))
            for name in model.field_names_:
                score = found.get(name)
                scores[name][bool(seen[row])] += [score] if score is not None else []
                for key, value in zip(_SCORES, _of_row(score, known.get(name)), strict=True):
                    columns.setdefault(f"{name}_{key}", []).append(value)
                if asked.whole:
                    held = float("nan") if score is None else float(holds_field(mesh, name, known[name]))
                    columns.setdefault(f"{name}_{WHOLE}", []).append(held)
        if progress is not None:
            progress(first + len(some), len(frame))
    table = pd.DataFrame(
        {name: values for name, values in columns.items() if not np.isnan(values).all()}, index=frame.index
    )
    told.sort(key=lambda one: int(one["row"]))
    table = pd.concat([table, _wide(told, frame.index)], axis=1)
    domain = pd.concat(domains)
    outside = {OUTSIDE: list(domain["outside"])} | domain_columns(domain)
    rows = [
        {"field": name, "test": FITTED if own else UNSEEN if both[True] else "table"} | pooled(found)._asdict()
        for name, both in scores.items()
        for own, found in both.items()
        if found
    ]
    table = pd.concat([frame, table, pd.DataFrame(outside, index=frame.index)], axis=1)
    return Predicted(table, rows, domain, told, missing_notes(lacks, len(frame)))


def holds_field(mesh: Mesh, name: str, truth: NDArray[np.float64]) -> bool:
    """Whether the band of a predicted mesh holds the true field, wherever that is known.

    Examples
    --------
    >>> ends = {"T": [1.0, 1.0], "T_std": [1.0, 1.0], "T_lower95_whole": [0.0, 0.0], "T_upper95_whole": [2.0, 2.0]}
    >>> rod = Mesh([[0.0], [1.0]], {"line": [[0, 1]]}, ends)
    >>> holds_field(rod, "T", np.array([0.5, np.nan])), holds_field(rod, "T", np.array([0.5, 2.1]))
    (True, False)
    """
    home = mesh.fields if f"{name}_std" in mesh.fields else mesh.cell_fields
    lower, upper = (home[f"{name}_{end}95_whole"] for end in ("lower", "upper"))
    slack = 1e-9 * (upper - lower)
    return bool((np.isnan(truth) | ((lower - slack <= truth) & (truth <= upper + slack))).all())


def _of_row(score: MeshScore | None, truth: NDArray[np.float64] | None) -> tuple[float, ...]:
    if score is None or truth is None:
        return (np.nan,) * 3
    top = np.nanmax(np.linalg.norm(truth, axis=1) if truth.ndim == 2 else truth)
    return score.rrmse, float(top), score.coverage


def truths(item: Mesh | os.PathLike[str], names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Return those fields of a mesh, or of a mesh file, that it has, with at least one value."""
    mesh = as_mesh(item)
    found = {}
    for name in names:
        values = mesh.fields.get(name, mesh.cell_fields.get(name))
        if values is not None and values.dtype.kind in "fiub":
            field = np.asarray(values, dtype=np.float64)
            if np.isfinite(field.reshape(len(field), -1)).all(axis=1).any():
                found[name] = field
    return found


def predicted_parts(mesh: Mesh, name: str) -> list[NDArray[np.float64]]:
    """Return what a predicted mesh says of a field, of nodes or cells: mean, standard deviation and bounds."""
    home = mesh.fields if f"{name}_std" in mesh.fields else mesh.cell_fields
    return [home[name + ending] for ending in ("", "_std", "_lower95", "_upper95")]


def score_mesh(mesh: Mesh, name: str, truth: NDArray[np.float64], times: int = 1) -> MeshScore | None:
    """Compare a predicted mesh with the truth; None where that has another number of components."""
    mean, _, lower, upper = predicted_parts(mesh, name)
    if truth.shape != mean.shape:
        return None
    return mesh_score(truth, mean, lower, upper, name=mesh.name or "", times=times)


def derived_numbers(cases: FieldCases, level: float = 0.95) -> dict[str, NDArray[np.float64]]:
    """Return numbers derived from the fields, with their uncertainty, from samples of the fields."""
    columns = {}
    for one in cases.models:
        name, names = one.kind.name, DERIVED if one.kind.single else ("largest", "mean_size")
        found = cases.derived(names, level, field=name)
        for what, number in zip(DERIVED, names, strict=True):
            for key, part in zip(PREDICTED, ("mean", "std", "lower", "upper"), strict=True):
                columns[f"{name}_{what}_{key}"] = found[f"{number}_{part}"].to_numpy()
    return columns


def asked_numbers(
    cases: FieldCases, asked: Sequence[LinearNumber], level: float = 0.95
) -> tuple[list[Record], dict[str, dict[int, str]]]:
    """Return values at places and forces on groups, of all fields, and which rows have none, and why.

    Returns
    -------
    list of dict
        ``row``, ``field``, ``number`` (the column that it fills, without its ending), ``words`` and ``PREDICTED``;
        those that a row does not have are left out.
    dict
        As :meth:`swwl.fields.model.FieldCases.numbers` returns it.
    """
    rows, lacks = list[Record](), dict[str, dict[int, str]]()
    models = cases.models
    numbers = {one.kind.name: [number for number in asked if _applies(number, one.kind)] for one in models}
    for number in asked:  # a force that no field has is refused, with what the first of them lacks
        if isinstance(number, ForceOn) and not any(number in own for own in numbers.values()):
            number.for_field(models[0].kind.name, models[0].kind.components)
    for one in models:
        name = one.kind.name
        if not numbers[name]:
            continue
        found, own = cases.numbers(numbers[name], level, field=name)
        lacks |= own
        for number in numbers[name]:
            ends = [key.removeprefix(f"{number}_mean") for key in found if key.startswith(f"{number}_mean")]
            for k, end in enumerate(ends):
                axis = component_names(len(ends))[k]
                label = f"{name}_{number}" + (f"_{axis}" if axis else "")
                words = f"{name} {number.words}" if number.pointwise else f"{number.words}, {name}"
                words += f", {axis}" if axis else ""
                parts = [found[f"{number}_{key}{end}"].to_numpy() for key in ("mean", "std", "lower", "upper")]
                rows += [
                    {"row": row, "field": name, "number": label, "words": words}
                    | dict(zip(PREDICTED, values, strict=True))
                    for row, values in enumerate(np.column_stack(parts).tolist())
                    if row not in own[number.words]
                ]
    return rows, lacks


def _applies(number: LinearNumber, kind: FieldKind) -> bool:
    """Whether a field has a number: a displacement has no force."""
    if not isinstance(number, ForceOn):
        return True
    try:
        number.for_field(kind.name, kind.components)
    except InputError:
        return False
    return True


def component_names(n: int) -> list[str]:
    """Name the n components of a number: of a vector x, y, z, of a symmetric tensor xx, yy, zz, xy, yz, zx.

    >>> component_names(1), component_names(3), component_names(4)
    ([''], ['x', 'y', 'z'], ['xx', 'yy', 'zz', 'xy'])
    """
    if n <= 3:
        return [""] if n == 1 else list("xyz"[:n])
    return ["xx", "yy", "zz", "xy", "yz", "zx"][:n] if n in (4, 6) else [str(k) for k in range(n)]


def _wide(told: Sequence[Record], index: pd.Index) -> pd.DataFrame:
    """Return the columns that numbers fill, NaN where they are missing."""
    columns = {
        name: np.full(len(index), np.nan) for one in told for name in (f"{one['number']}_{k}" for k in PREDICTED)
    }
    for one in told:
        for key in PREDICTED:
            columns[f"{one['number']}_{key}"][one["row"]] = one[key]
    return pd.DataFrame(columns, index=index)


def _require_somewhere(
    model: FieldRegressor, inputs: pd.DataFrame, names: Sequence[str], asked: Sequence[LinearNumber]
) -> None:
    """Refuse numbers of which no mesh of a table has any; most often a look at the first mesh is enough."""
    lacks: dict[str, dict[str, str]] = {}
    for number in asked:
        why: dict[str, str] = {}
        for item, name in zip(inputs[model.mesh_column_], names, strict=True):
            mesh = as_mesh(item)
            try:
                number.weights(mesh, plane=model.plane_)
                break
            except InputError as error:
                why[name] = str(error)
        else:
            lacks[number.words] = why
            continue
        return
    if lacks:
        missing_notes(lacks, len(names))


def numbers_of_texts(probes: Sequence[str], forces: Sequence[str]) -> list[LinearNumber]:
    """Read places "x,y,z" and names of groups, each once.

    >>> numbers_of_texts(["0.5,1", "0.5, 1.0"], ["body*"])
    [Probe(point=(0.5, 1.0)), ForceOn(pattern='body*', of=None)]
    """
    return list(dict.fromkeys([*(Probe(_place(text)) for text in probes), *map(ForceOn.of_text, forces)]))


def line_of_text(text: str) -> Line:
    """Read a line "x0,y0,z0:x1,y1,z1:N"; without N, of 101 points.

    >>> line_of_text("0,0:1,2:11")
    Line(start=(0.0, 0.0), end=(1.0, 2.0), n=11)
    """
    start, *rest = text.split(":")
    if not 1 <= len(rest) <= 2 or not all(part.strip().isdigit() for part in rest[1:]):
        raise InputError(f"A line is {text!r}, but two places and a number of points are expected: 0,0,0:1,0,0:50.")
    return Line(_place(start), _place(rest[0]), *(int(part) for part in rest[1:]))


def _place(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"A place is {text!r}, but coordinates between commas are expected: 0.5,1.2,0.") from None


def line_table(model: FieldRegressor, frame: pd.DataFrame, line: Line) -> pd.DataFrame:
    """Return all fields along a line through the mesh of one case: x, y, z, distance, and NAME_mean, ….

    Parameters
    ----------
    model : FieldRegressor
    frame : DataFrame of one row
        Of :func:`one_case`.
    line : Line
    """
    cases = model.cases(input_columns(model, frame, Path("case")))
    columns: dict[str, NDArray[np.float64]] = {}
    for one in cases.models:
        found = cases.along_line(line, field=one.kind.name)
        columns |= {str(name): found[name].to_numpy() for name in found if name in ("distance", "x", "y", "z")}
        for key, part in zip(PREDICTED, ("mean", "std", "lower", "upper"), strict=True):
            own = [name for name in found if str(name).split("_")[0] == part]
            columns |= {f"{one.kind.name}_{name.replace(part, key, 1)}": found[name].to_numpy() for name in own}
    return pd.DataFrame(columns)


def with_truth(mesh: Mesh, truth: Mapping[str, NDArray[np.float64]]) -> Mesh:
    """Return a predicted mesh with NAME_true and NAME_error (predicted less true) of fields whose truth is known."""
    of_nodes: dict[str, NDArray[Any]] = {}
    of_cells: dict[str, NDArray[Any]] = dict(mesh.cell_fields)
    for name, true in truth.items():
        more = {f"{name}_true": true, f"{name}_error": predicted_parts(mesh, name)[0] - true}
        (of_nodes if f"{name}_std" in mesh.fields else of_cells).update(more)
    found = mesh.with_fields(of_nodes)
    return trusted_mesh(found.points, found.cells, found.fields, found.name, of_cells, found.groups)

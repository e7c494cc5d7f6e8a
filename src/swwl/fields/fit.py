"""Fit one field: choose, make modes twice, fit processes, and learn from folds how wide intervals have to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from swwl.fields.candidates import (
    OWN_OF_NODES,
    ModeKernel,
    Settings,
    choose,
    groups_of,
    pair_of_groups,
)
from swwl.fields.coding import Coded, FieldData, JudgedCells, code_smooth, judged_nodes
from swwl.fields.model import (
    FieldModel,
    MeshNodes,
    OneField,
    field_at,
    multiplier,
    predict_sizes,
    with_amplitude,
)
from swwl.fields.modes import FieldModes
from swwl.fields.numbers import NAMES, NumberErrors, numbers_of
from swwl.fields.scores import MeshScore, mesh_score, pooled
from swwl.fields.sizes import POWERS
from swwl.fields.values import Warp
from swwl.formatting import Record
from swwl.gp import RobustGP
from swwl.gp.folds import shuffled_folds
from swwl.gp.search import Start
from swwl.regression.intervals import LEVELS, WholeBand, whole_band
from swwl.regression.stack import Member

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

_DRAWS = 100


@dataclass(frozen=True)
class Fold:
    """What a fold predicts of the meshes that were not in it.

    Attributes
    ----------
    rows : ndarray of int
        Meshes that were left out.
    modes : FieldModes
    mean, std : ndarray of shape (rows, K)
        Of the sizes of modes.
    """

    rows: Rows
    modes: FieldModes
    mean: Array
    std: Array


def judge_numbers(
    data: FieldData, coded: Coded, model: FieldModel, folds: Sequence[Fold], seed: int
) -> dict[str, NumberErrors]:
    """Return the errors of all derived numbers that this field has, by name.

    Parameters
    ----------
    data : FieldData
    coded : Coded
    model : FieldModel
        Whose truncation and widths samples have; its modes are those of the folds.
    folds : sequence of Fold
        Together they leave out every mesh once.
    seed : int
    """
    normals = data.kind.components == 1 and all(shares.shape[1] > 1 for shares in data.shares)
    normals = normals and data.cells is None
    found: dict[str, list[tuple[Array, Array, Array]]] = {name: [] for name in NAMES if name != "force" or normals}
    truths = data.truth()
    for fold in folds:
        own = replace(model, modes=fold.modes)
        for row, mean, std in zip(fold.rows, fold.mean, fold.std, strict=True):
            nodes, truth, shares = data.scored[row], truths[row], data.shares[row]
            nodes = nodes if data.cells is None else data.cells[row].nodes
            n = len(data.values[row]) if coded.basis is None else len(nodes)
            rng = np.random.default_rng([seed, int(row)])
            seen = MeshNodes(n, coded.basis, coded.descriptors(data, row, nodes))
            free = np.full((n, data.kind.components), np.nan)
            drawn = own.samples(OneField(seen, mean, std, data.size(row)), free, _DRAWS, rng)
            drawn = drawn[:, nodes] if coded.basis is None else drawn
            if data.cells is not None:
                truth, shares = data.cells[row].truth, data.cells[row].shares
                drawn = data.cells[row].of_nodes(drawn)
            else:
                drawn = np.where(data.held[row][nodes], truth, drawn)
            known = np.isfinite(truth).all(axis=1)
            if not known.any():
                continue
            for name, judged in found.items():
                parts = (part[:, known] for part in (truth[None], drawn))
                true, some = (numbers_of(name, part, shares[known], data.kind.times) for part in parts)
                judged.append((true[0], some.mean(axis=0), some.std(axis=0)))
    return {name: NumberErrors.of(*map(np.array, zip(*judged, strict=True))) for name, judged in found.items()}


def judge_forces(
    data: FieldData, coded: Coded, model: FieldModel, folds: Sequence[Fold], seed: int
) -> dict[str, NumberErrors]:
    """Return the errors of the forces on groups that all meshes have, by their words; see :func:`judge_numbers`."""
    shared = set.intersection(*map(set, data.forces)) if data.forces else set()
    found: dict[str, list[tuple[Array, Array, Array]]] = {name: [] for name in sorted(shared)}
    for fold in folds if found else ():
        own = replace(model, modes=fold.modes)
        for row, mean, std in zip(fold.rows, fold.mean, fold.std, strict=True):
            weights = data.forces[row]
            nodes = np.unique(np.concatenate([weights[name].nodes for name in found]))
            n = len(data.values[row]) if coded.basis is None else len(nodes)
            seen = MeshNodes(n, coded.basis, coded.descriptors(data, row, nodes))
            free, rng = np.full((n, data.kind.components), np.nan), np.random.default_rng([seed, int(row)])
            drawn = own.samples(OneField(seen, mean, std, data.size(row)), free, _DRAWS, rng)
            drawn = data.finished(row, nodes, drawn[:, nodes] if coded.basis is None else drawn)
            truth = data.given(row)[nodes]
            known = np.isfinite(truth).all(axis=1)
            for name, judged in found.items():
                among = weights[name].within(nodes, known)
                true, some = (among.of(part) for part in (np.nan_to_num(truth)[None], drawn))
                judged.append((true[0], some.mean(axis=0), some.std(axis=0)))
    return {name: NumberErrors.of(*map(np.array, zip(*judged, strict=True))) for name, judged in found.items()}


_FOLDS = 5
# A place of the basis counts as having seen so many errors of the average size before any of its own.
_PSEUDO = 5.0
_MOST_STEPS = 60
# Stretched fields may be a little worse as a whole.
_NEARLY = 1.03
# Fewer meshes than this cannot be left out in folds.
FEWEST_TO_CALIBRATE = 10


@dataclass(frozen=True)
class Fitted:
    """A fitted field, what was compared on the way, and how well folds predicted it."""

    model: FieldModel
    choices: list[Record]
    scores: Record


def fit_field(data: FieldData, kernels: Sequence[ModeKernel], settings: Settings, calibrate: bool) -> Fitted:
    """Fit everything of one field.

    Parameters
    ----------
    data : FieldData
    kernels : sequence of ModeKernel
    settings : Settings
    calibrate : bool
    """
    choice = choose(data, kernels, settings)
    data, coded, inputs = choice.data, choice.coded, choice.inputs
    if coded.basis is not None:
        size, seed = settings.basis_size, settings.seed
        coded = code_smooth(data, settings.describer, coded.candidate, size, seed, True, coded)
    modes, gps = _fit_rows(coded, inputs, np.arange(len(data)), settings, None)
    left_out = None
    if calibrate and len(data) >= FEWEST_TO_CALIBRATE and modes.number:
        left_out = _leave_out(data, coded, inputs, settings, gps)
        truncation, widths = left_out.truncation, left_out.widths
    else:
        truncation = np.full((modes.mean.shape[1], data.kind.components), modes.noise / data.kind.components)
        widths = np.asarray(ndtri(0.5 + LEVELS / 2))
    member = Member(inputs.member.name, inputs.member.kernel, inputs.member.rows, gps)
    recipe = coded.candidate.recipe
    model = FieldModel(data.kind, coded.warp, recipe, coded.basis, modes, member, truncation, widths)
    model = replace(model, amplitude=coded.candidate.amplitude, held=data.held_values)
    if data.cells is not None:
        model = replace(model, lost=lost_on_cells(data.cells))
    if left_out is None:
        return Fitted(model, choice.rows, {})
    model = replace(model, power=left_out.power, whole=left_out.whole)
    judged = data, coded, model, left_out.folds, settings.seed
    model = replace(model, numbers=judge_numbers(*judged) | judge_forces(*judged))
    return Fitted(model, choice.rows, left_out.scores)


def _fit_rows(
    coded: Coded, inputs: ModeKernel, rows: Rows, settings: Settings, starts: Sequence[Start] | None
) -> tuple[FieldModes, list[RobustGP]]:
    """Make modes of some training fields, draw each to what the others predict of it, and fit processes."""
    modes, sizes = coded.encoded.modes(rows, settings.n_modes)
    if coded.warp.deviation == 0 or not modes.number:
        return FieldModes(modes.mean, modes.shapes[:, :, :0], modes.variances[:0], modes.noise, modes.total), []
    steps = None if starts is None else _MOST_STEPS
    if coded.basis is not None and len(rows) >= FEWEST_TO_CALIBRATE:
        quick = inputs.fit(sizes, rows, pair_of_groups(modes.number), max_iter=_MOST_STEPS, on_fit=settings.on_fit)
        others = np.hstack([gp.leave_one_out().columns().mean for gp in quick])
        modes, sizes = coded.encoded.modes(rows, settings.n_modes, modes.coefficients(others))
    groups = groups_of(modes.number, OWN_OF_NODES) if coded.basis is None else groups_of(modes.number)
    return modes, inputs.fit(sizes, rows, groups, starts, steps, settings.on_fit)


def lost_on_cells(cells: Sequence[JudgedCells]) -> Array:
    """Return the root mean square (c,) of what fields of cells lose on the way to nodes and back, over all meshes."""
    return np.asarray(np.sqrt(np.mean([own.lost for own in cells], axis=0)))


class _Row(NamedTuple):
    """What a fold says of a mesh that was not in it, at n of its nodes: standardized field, variance, places."""

    nodes: Rows
    y: Array
    variance: Array
    places: Rows


@dataclass(frozen=True)
class LeftOut:
    """What folds said of training meshes that were not in them.

    Attributes
    ----------
    truncation : ndarray of shape (M, c)
    widths : ndarray of shape (levels,)
    power : float
        How sharply fields are stretched to their largest size.
    whole : WholeBand or None
    folds : list of Fold
    scores : dict
    """

    truncation: Array
    widths: Array
    power: float
    whole: WholeBand | None
    folds: list[Fold]
    scores: Record


def _leave_out(
    data: FieldData, coded: Coded, inputs: ModeKernel, settings: Settings, gps: Sequence[RobustGP]
) -> LeftOut:
    """Predict training meshes from folds without them, modes and ranges fitted again."""
    n, c = len(data), data.kind.components
    rows: dict[int, _Row] = {}
    starts = [gp.beginning() for gp in gps]
    missed: Array | None = None
    folds = []
    for train, out in shuffled_folds(n, _FOLDS, settings.seed):
        modes, fold_gps = _fit_rows(coded, inputs, train, settings, starts)
        mean, std = predict_sizes(fold_gps, inputs.cross(out, train), len(out))
        folds.append(Fold(out, modes, mean, std))
        if missed is None:
            missed, seen = np.zeros((modes.mean.shape[1], c)), np.zeros(modes.mean.shape[1])
        for k, row in enumerate(out):
            nodes = judged_nodes(len(data.values[row]), settings.seed + int(row))
            nodes = nodes if data.cells is None else data.cells[row].nodes
            base, shapes, at = coded.modes_at(data, row, modes, nodes)
            y, sd = field_at((base, shapes), mean[k], std[k], np.zeros((len(base), c)))
            rows[int(row)] = _Row(nodes, y, sd**2, at)
            truth = coded.warp(data.values[row][nodes])
            rest = np.nan_to_num((truth - base - shapes @ coded.encoded.encode(modes, row)) ** 2)
            for j in range(c):
                missed[:, j] += np.bincount(at, rest[:, j], len(missed))
            seen += np.bincount(at, np.isfinite(truth[:, 0]), len(missed))
    assert missed is not None
    truncation = (missed + _PSEUDO * missed.sum(axis=0) / max(seen.sum(), 1.0)) / (seen + _PSEUDO)[:, None]
    truncation = np.maximum(truncation, 1e-14)
    power, scores = _stretched(data, coded.warp, rows)
    warp, scaled, errors, deviations = coded.warp, [], [], []
    for row, (nodes, y, variance, places) in sorted(rows.items()):
        size, truth, free = data.size(row), data.given(row)[nodes], ~data.held[row][nodes]
        sd = with_amplitude(warp, y, np.sqrt(variance + truncation[places]), size.std)
        times = multiplier(warp, y, size, power, data.kind.times)
        if data.cells is not None:
            cells, lost = data.cells[row], lost_on_cells(data.cells)
            errors.append(np.abs(cells.truth - cells.of_nodes(times * warp.inverse(y))))
            deviations.append(np.hypot(cells.of_nodes(times * sd * warp.slope(y)), lost))
            scaled.append(errors[-1] / np.maximum(deviations[-1], np.finfo(float).tiny))
            continue
        scaled.append(np.where(free, np.abs(warp(truth / times) - y) / sd, np.nan))
        errors.append(np.where(free, np.abs(truth - times * warp.inverse(y)), np.nan))
        deviations.append(times * sd * warp.slope(y))
    pool = np.concatenate([z[np.isfinite(z)] for z in scaled])
    pool = pool if len(pool) else np.zeros(1)  # where all is held
    widths = np.maximum.accumulate(np.maximum(np.quantile(pool, LEVELS), 1e-6 * LEVELS))
    found = LeftOut(truncation, widths, power, whole_field(errors, deviations), folds, {})
    return replace(found, scores=_scores(scores, scaled, found))


def _stretched(data: FieldData, warp: Warp, rows: dict[int, _Row]) -> tuple[float, list[MeshScore]]:
    """Choose how sharply fields are stretched to their largest size; return scores of left-out fields, too.

    Not at all, where that would make whole fields clearly worse, or largest sizes no better.
    """
    allowed = data.sizes is not None and (data.limits[0] >= 0 or data.kind.components > data.kind.times)
    found = {power: _stretched_scores(data, warp, rows, power) for power in ((0.0, *POWERS) if allowed else (0.0,))}
    totals = {power: pooled(scores) for power, scores in found.items()}
    plain = totals[0.0]
    better = [
        power
        for power, own in totals.items()
        if power and own.rrmse <= _NEARLY * plain.rrmse and own.max_error < plain.max_error
    ]
    chosen = min(better, key=lambda power: totals[power].rrmse, default=0.0)
    return chosen, found[chosen]


def _stretched_scores(data: FieldData, warp: Warp, rows: dict[int, _Row], power: float) -> list[MeshScore]:
    """Return the scores of left-out fields, stretched to their largest sizes."""
    scores = []
    for row, (nodes, y, _, _) in sorted(rows.items()):
        truth = data.given(row)[nodes]
        if np.isfinite(truth).any():
            times = data.kind.times
            values = multiplier(warp, y, data.size(row), power, times) * warp.inverse(y)
            values = data.finished(row, nodes, values)
            if data.cells is not None:
                truth, values = data.cells[row].truth, data.cells[row].of_nodes(values)
            scores.append(mesh_score(truth, values, name=str(row), times=times))
    return scores


def whole_field(errors: Sequence[Array], deviations: Sequence[Array]) -> WholeBand | None:
    """Return how wide bands of whole fields have to be: with the floor that makes them narrowest.

    Parameters
    ----------
    errors, deviations : sequence of ndarray of shape (n, c)
        Of fields that folds left out, in their units: sizes of errors, NaN where they do not count, and deviations.

    Examples
    --------
    Where deviations are right, none is needed:

    >>> sds = [np.array([[1.0], [3.0]])] * 19
    >>> found = whole_field([0.1 * k * sd for k, sd in enumerate(sds, 1)], sds)
    >>> found.floor, round(found.width(0.9), 9)
    (0.0, 1.8)
    """
    known = [(e, sd) for e, sd in zip(errors, deviations, strict=True) if np.isfinite(e).any() and sd.any()]
    return whole_band([e for e, _ in known], [sd for _, sd in known], relative=True) if known else None


def _scores(scores: Sequence[MeshScore], errors: Sequence[Array], found: LeftOut) -> Record:
    """Return the scores of left-out meshes for a table."""
    total = pooled(scores)
    width = float(np.interp(0.95, LEVELS, found.widths))
    inside = [float((z[np.isfinite(z)] <= width).mean()) for z in errors if np.isfinite(z).any()]
    return {
        "rrmse": total.rrmse,
        "q2": total.q2,
        "max_error": total.max_error,
        "coverage": float(np.mean(inside)) if inside else 1.0,
        "least_coverage": float(np.min(inside, initial=1.0)),
        "worst": int(total.worst),
        "worst_rrmse": total.worst_rrmse,
    }


def count_fits(n_fields: int, n_kernels: int, n_modes: int, n_candidates: int, calibrate: bool) -> int:
    """Return about how many processes are fitted, for progress."""
    pairs = len(pair_of_groups(n_modes))
    one = pairs + len(groups_of(n_modes))
    return n_fields * ((n_kernels + n_candidates) * pairs + one * (1 + _FOLDS * calibrate))

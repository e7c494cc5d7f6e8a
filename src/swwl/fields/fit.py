"""Fit one field: choose, make modes twice, fit processes, and learn from folds how wide intervals have to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from swwl.fields.candidates import (
    OWN_OF_NODES,
    ModeKernel,
    Settings,
    choose,
    groups_of,
    pair_of_groups,
)
from swwl.fields.coding import Coded, FieldData, code_smooth
from swwl.fields.model import LEVELS, FieldModel, MeshNodes, field_at, predict_sizes
from swwl.fields.modes import FieldModes
from swwl.fields.numbers import NAMES, NumberErrors, numbers_of
from swwl.fields.scores import mesh_score, pooled
from swwl.formatting import Record
from swwl.gp import RobustGP
from swwl.gp.folds import shuffled_folds
from swwl.gp.search import Start
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
    found: dict[str, list[tuple[Array, Array, Array]]] = {name: [] for name in NAMES if name != "force" or normals}
    for fold in folds:
        own = replace(model, modes=fold.modes)
        for row, mean, std in zip(fold.rows, fold.mean, fold.std, strict=True):
            nodes = data.scored[row]
            n = len(data.values[row]) if coded.basis is None else len(nodes)
            rng = np.random.default_rng([seed, int(row)])
            seen = MeshNodes(n, coded.basis, coded.descriptors(data, row, nodes))
            drawn = model.warp.inverse(own.draw(seen, mean, std, _DRAWS, rng))
            drawn = drawn[:, nodes] if coded.basis is None else drawn
            truth = data.values[row][nodes]
            known = np.isfinite(truth).all(axis=1)
            if not known.any():
                continue
            for name, judged in found.items():
                true, some = (
                    numbers_of(name, part[:, known], data.shares[row][known]) for part in (truth[None], drawn)
                )
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
            drawn = model.warp.inverse(own.draw(seen, mean, std, _DRAWS, np.random.default_rng([seed, int(row)])))
            drawn = drawn[:, nodes] if coded.basis is None else drawn
            truth = data.values[row][nodes]
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
    coded, inputs = choice.coded, choice.inputs
    if coded.basis is not None and any(len(v) > len(s) for v, s in zip(data.values, data.scored, strict=True)):
        size, seed = settings.basis_size, settings.seed
        coded = code_smooth(data, settings.describer, coded.candidate, size, seed, True, coded)
    modes, gps = _fit_rows(coded, inputs, np.arange(len(data)), settings, None)
    left_out = None
    if calibrate and len(data) >= FEWEST_TO_CALIBRATE and modes.number:
        left_out = _leave_out(data, coded, inputs, settings, gps)
        truncation, widths = left_out.truncation, left_out.widths
    else:
        truncation = np.full((modes.mean.shape[1], data.kind.components), modes.noise / data.kind.components)
        widths = np.asarray(norm.ppf(0.5 + LEVELS / 2))
    member = Member(inputs.member.name, inputs.member.kernel, inputs.member.rows, gps)
    recipe = coded.candidate.recipe
    model = FieldModel(data.kind, coded.warp, recipe, coded.basis, modes, member, truncation, widths)
    if left_out is None:
        return Fitted(model, choice.rows, {})
    if not data.kind.on_cells:
        judged = data, coded, model, left_out.folds, settings.seed
        model = replace(model, numbers=judge_numbers(*judged) | judge_forces(*judged))
    return Fitted(model, choice.rows, left_out.scores(data, model))


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


@dataclass(frozen=True)
class LeftOut:
    """What folds said of training meshes that were not in them, at the scored nodes.

    Attributes
    ----------
    y, variance : list of ndarray of shape (n, c)
        Standardized fields, and the variance of modes.
    places : list of ndarray of int
    truncation : ndarray of shape (M, c)
    widths : ndarray of shape (levels,)
    folds : list of Fold
    """

    y: list[Array]
    variance: list[Array]
    places: list[Rows]
    truncation: Array
    widths: Array
    folds: list[Fold]

    def scores(self, data: FieldData, model: FieldModel) -> Record:
        """Return the scores of these predictions."""
        scores = []
        for row, truth in enumerate(data.truth()):
            if not np.isfinite(truth).any():
                continue
            sd = np.sqrt(self.variance[row] + model.truncation[self.places[row]])
            bounds = model.bounds(self.y[row], sd, 0.95)
            scores.append(mesh_score(truth, model.warp.inverse(self.y[row]), *bounds, name=str(row)))
        found = pooled(scores)
        return {
            "rrmse": found.rrmse,
            "q2": found.q2,
            "max_error": found.max_error,
            "coverage": found.coverage,
            "least_coverage": found.worst_coverage,
            "worst": int(found.worst),
            "worst_rrmse": found.worst_rrmse,
        }


def _leave_out(
    data: FieldData, coded: Coded, inputs: ModeKernel, settings: Settings, gps: Sequence[RobustGP]
) -> LeftOut:
    """Predict training meshes from folds without them, modes and ranges fitted again."""
    n, c = len(data), data.kind.components
    y: list[Array] = [np.empty(0)] * n
    variance, places = list(y), [np.empty(0, np.intp)] * n
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
            base, shapes, at = coded.modes_at(data, row, modes)
            y[row], sd = field_at((base, shapes), mean[k], std[k], np.zeros((len(base), c)))
            variance[row], places[row] = sd**2, at
            truth = coded.warp(data.values[row][data.scored[row]])
            rest = np.nan_to_num((truth - base - shapes @ coded.encoded.encode(modes, row)) ** 2)
            for j in range(c):
                missed[:, j] += np.bincount(at, rest[:, j], len(missed))
            seen += np.bincount(at, np.isfinite(truth[:, 0]), len(missed))
    assert missed is not None
    truncation = (missed + _PSEUDO * missed.sum(axis=0) / max(seen.sum(), 1.0)) / (seen + _PSEUDO)[:, None]
    truncation = np.maximum(truncation, 1e-14)
    errors = []
    for row in range(n):
        truth = coded.warp(data.values[row][data.scored[row]])
        sd = np.sqrt(variance[row] + truncation[places[row]])
        z = np.abs(truth - y[row]) / sd
        errors.append(z[np.isfinite(z)])
    widths = np.maximum(np.quantile(np.concatenate(errors), LEVELS), 1e-6 * LEVELS)
    return LeftOut(y, variance, places, truncation, np.maximum.accumulate(widths), folds)


def count_fits(n_fields: int, n_kernels: int, n_modes: int, n_candidates: int, calibrate: bool) -> int:
    """Return about how many processes are fitted, for progress."""
    pairs = len(pair_of_groups(n_modes))
    one = pairs + len(groups_of(n_modes))
    return n_fields * ((n_kernels + n_candidates) * pairs + one * (1 + _FOLDS * calibrate))

"""Fit one field: choose, make modes twice, fit processes, and learn from folds how wide intervals have to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from swwl.fields.modes import Modes
from swwl.fields.scores import field_scores
from swwl.gp import RobustGP
from swwl.models.fieldchoice import Settings, choose
from swwl.models.fieldcoding import Coded, FieldData, code_smooth
from swwl.models.fieldmodel import LEVELS, FieldModel, field_at, predict_sizes
from swwl.models.fieldprocesses import Inputs, folds_of, groups_of, pair_of_groups
from swwl.models.members import Member

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

_FOLDS = 5
# A place of the basis counts as having seen so many errors of the average size before any of its own.
_PSEUDO = 5.0
_MOST_STEPS = 60
# Samples of a field that say how uncertain its extremes are, and by how much samples may be wider for their sake.
_DRAWS, _WIDEST = 100, 3.0
# Fewer meshes than this cannot be left out in folds.
FEWEST_TO_CALIBRATE = 10


@dataclass(frozen=True)
class Fitted:
    """A fitted field, what was compared on the way, and how well folds predicted it."""

    model: FieldModel
    choices: list[dict[str, Any]]
    scores: dict[str, Any]


def fit_field(data: FieldData, kernels: Sequence[Inputs], settings: Settings, calibrate: bool) -> Fitted:
    """Fit everything of one field.

    Parameters
    ----------
    data : FieldData
    kernels : sequence of Inputs
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
        truncation, widths, wide = left_out.truncation, left_out.widths, left_out.sample_factor
    else:
        truncation = np.full((modes.mean.shape[1], data.kind.components), modes.noise / data.kind.components)
        widths, wide = np.asarray(norm.ppf(0.5 + LEVELS / 2)), 1.0
    member = Member(inputs.member.name, inputs.member.kernel, inputs.member.rows, gps)
    recipe = coded.candidate.recipe
    model = FieldModel(data.kind, coded.warp, recipe, coded.basis, modes, member, truncation, widths, wide)
    return Fitted(model, choice.rows, {} if left_out is None else left_out.scores(data, model))


def _fit_rows(
    coded: Coded, inputs: Inputs, rows: Rows, settings: Settings, starts: Sequence[Any] | None
) -> tuple[Modes, list[RobustGP]]:
    """Make modes of some training fields, draw each to what the others predict of it, and fit processes."""
    modes, sizes = coded.encoded.modes(rows, settings.n_modes)
    if coded.warp.deviation == 0 or not modes.number:
        return Modes(modes.mean, modes.shapes[:, :, :0], modes.variances[:0], modes.noise, modes.total), []
    steps = None if starts is None else _MOST_STEPS
    if coded.basis is not None and len(rows) >= FEWEST_TO_CALIBRATE:
        quick = inputs.fit(sizes, rows, pair_of_groups(modes.number), max_iter=_MOST_STEPS, on_fit=settings.on_fit)
        others = np.hstack([gp.leave_one_out().columns().mean for gp in quick])
        modes, sizes = coded.encoded.modes(rows, settings.n_modes, modes.coefficients(others))
    groups = groups_of(modes.number)
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
    sample_factor : float
    """

    y: list[Array]
    variance: list[Array]
    places: list[Rows]
    truncation: Array
    widths: Array
    sample_factor: float

    def scores(self, data: FieldData, model: FieldModel) -> dict[str, Any]:
        """Return the scores of these predictions."""
        sds = [np.sqrt(v + model.truncation[at]) for v, at in zip(self.variance, self.places, strict=True)]
        bounds = [model.bounds(y, sd, 0.95) for y, sd in zip(self.y, sds, strict=True)]
        predicted = [model.warp.inverse(y) for y in self.y]
        return field_scores(data.truth(), predicted, *map(list, zip(*bounds, strict=True)))


def _leave_out(data: FieldData, coded: Coded, inputs: Inputs, settings: Settings, gps: Sequence[RobustGP]) -> LeftOut:
    """Predict training meshes from folds without them, modes and ranges fitted again."""
    n, c = len(data), data.kind.components
    y: list[Array] = [np.empty(0)] * n
    variance, places = list(y), [np.empty(0, np.intp)] * n
    starts = [gp.beginning() for gp in gps]
    missed: Array | None = None
    rng, extremes = np.random.default_rng(settings.seed), list[float]()
    for train, out in folds_of(n, settings.seed, _FOLDS):
        modes, fold_gps = _fit_rows(coded, inputs, train, settings, starts)
        mean, std = predict_sizes(fold_gps, inputs.cross(out, train), len(out))
        if missed is None:
            missed, seen = np.zeros((modes.mean.shape[1], c)), np.zeros(modes.mean.shape[1])
        for k, row in enumerate(out):
            base, shapes, at = coded.modes_at(data, row, modes)
            y[row], sd = field_at((base, shapes), mean[k], std[k], np.zeros((len(base), c)))
            variance[row], places[row] = sd**2, at
            truth = coded.warp(data.values[row][data.scored[row]])
            sizes = mean[k] + std[k] * rng.standard_normal((_DRAWS, len(mean[k])))
            extremes += _extreme_errors(truth, base, shapes, sizes)
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
    usual = float(norm.ppf(0.975))
    plain = float(np.quantile(np.concatenate(errors), 0.95)) / usual
    # Extremes of samples are to be as uncertain as those of new fields; where they hardly vary that would be too much.
    wide = float(np.clip(np.quantile(extremes, 0.95), plain, _WIDEST * plain)) if extremes else plain
    return LeftOut(y, variance, places, truncation, np.maximum.accumulate(widths), wide)


def _extreme_errors(truth: Array, base: Array, shapes: Array, sizes: Array) -> list[float]:
    """Return how far the true extremes of every component lie from those of samples, in half widths of 95 % of these.

    Parameters
    ----------
    truth, base : ndarray of shape (n, c)
    shapes : ndarray of shape (n, c, K)
    sizes : ndarray of shape (S, K)
        Samples of the sizes of modes.
    """
    seen = np.isfinite(truth).all(axis=1)
    if not seen.any() or not shapes.shape[2]:
        return []
    drawn = base[seen] + np.einsum("nck,sk->snc", shapes[seen], sizes, optimize=True)
    errors = []
    for extreme in (np.max, np.min):
        low, middle, high = np.quantile(extreme(drawn, axis=1), [0.025, 0.5, 0.975], axis=0)
        half = np.maximum((high - low) / 2, 1e-12)
        errors += list(np.abs(extreme(truth[seen], axis=0) - middle) / half)
    return errors


def count_fits(n_fields: int, n_kernels: int, n_modes: int, n_candidates: int, calibrate: bool) -> int:
    """Return about how many processes are fitted, for progress."""
    pairs = len(pair_of_groups(n_modes))
    one = pairs + len(groups_of(n_modes))
    return n_fields * ((n_kernels + n_candidates) * pairs + one * (1 + _FOLDS * calibrate))

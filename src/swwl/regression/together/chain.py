"""Fit models that help each other: levels of fidelity, and targets of which some cells are missing.

Every target, or level, has a model of its own, fitted to the rows where it is known; one of which more is known may
help it (``link.py``). Rows left out of folds say whether it does: of the target by its own folds, and of the helper by
its own, so that neither has seen the case.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from swwl.domain.verdict import number_columns
from swwl.errors import InputError
from swwl.estimators import clone
from swwl.gp.prediction import Prediction
from swwl.regression.candidates import default_kernels
from swwl.regression.intervals import FEW, few_rows_factor, interval_factor
from swwl.regression.mixture import mixture
from swwl.regression.stack import Represented, Stack, trend_matrix
from swwl.regression.target_scale import TargetScale
from swwl.regression.together.link import Link, slope_of, widening

if TYPE_CHECKING:
    from swwl.regression.estimator import RobustGPRegressor

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

# A helper is used where errors of rows left out become smaller by this share at least and, unless it is the same answer
# at another level, more of them fall than rise, or by more, than chance allows with this probability: of thirty rows a
# few decide the mean square.
GAIN, CHANCE = 0.05, 0.01
# Another way to use it is preferred where squared errors of rows left out are smaller by so many standard errors.
_ERRORS = 2.0
# Cases are twins if they are nearer to each other than this share of the usual distance between neighbors, by so many
# components of meshes: later ones show how a part is meshed more than what part it is.
_TWINS, _COMPONENTS = 0.25, 3
# Numbers that differ by less than this share of their range are the same.
_SAME = 1e-6


@dataclass(frozen=True)
class Helped:
    """What became of a helper: one line of :attr:`swwl.RobustGPRegressor.together_`.

    Attributes
    ----------
    target, helper : str
        Targets, or levels of fidelity.
    rows, helper_rows : int
        How many rows each was fitted to.
    slope : float
        By how much the target moves with the helper, both on the scales they are fitted on.
    error_alone, error_together : float
        Root mean square errors of rows left out of folds, on the scale on which the target is fitted.
    scale : str
        Which scale that is, in words; nothing where it is its own.
    used : bool
    """

    target: str
    helper: str
    rows: int
    helper_rows: int
    slope: float
    error_alone: float
    error_together: float
    scale: str
    used: bool

    @property
    def words(self) -> str:
        """All of that in a sentence."""
        change = 100 * (1 - self.error_together / max(self.error_alone, np.finfo(float).tiny))
        errors = f"RMSE of rows left out {self.error_together:.3g} with it, {self.error_alone:.3g} without"
        errors += f", of its {self.scale}" if self.scale else ""
        if self.used:
            return (
                f"{self.target} ({self.rows} rows) is helped by {self.helper} ({self.helper_rows} rows): "
                f"errors {change:.0f} % smaller ({errors})"
            )
        return f"{self.target} is learned alone: {self.helper} does not help it clearly ({errors})"


@dataclass(frozen=True)
class HelperRows:
    """What is known of a helper at the rows of a target.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The helper's answers, NaN where they are not known.
    places : ndarray of int, shape (n,)
        Which of the helper's training rows they are, -1 where there is none.
    """

    values: Array
    places: Positions


def helped(
    alone: RobustGPRegressor,
    helper: RobustGPRegressor,
    table: pd.DataFrame,
    y: pd.Series,
    known: HelperRows,
    column: str,
    *,
    same: bool = False,
    of_answers: bool | None = None,
    **options: Any,
) -> RobustGPRegressor:
    """Fit a target with a helper.

    A new case has a prediction of the helper only, for its own mesh. What is left to learn of the target is therefore
    learned over predictions for meshes of the target, which differ from those for meshes of the helper; where a case
    is known at both, the answer may take the place of the prediction for its mesh there, and the difference is added.
    That is better where both answers of a case are off together, as if an input were missing, and worse where noise is
    the helper's own.

    Parameters
    ----------
    alone : RobustGPRegressor
        Fitted to the target by itself.
    helper : RobustGPRegressor
        Fitted, of a single target.
    table : DataFrame of n rows
        Inputs where the target is known.
    y : Series of length n
    known : HelperRows
    column : str
        What to call the helper's answers.
    same : bool
        Whether it is the same quantity, so that the scale on which the helper is fitted suits the target.
    of_answers : bool, optional
        Whether to learn over the helper's answers where they are known; by default if it is another quantity of the
        same simulation, whose noise is likely to be shared, while that of coarse meshes is their own.
    **options
        For the fit.
    """
    stack = helper.stack_
    cases = stack.represent(table, None, options.get("memory"))
    told = stack.predict(cases).column(0)
    there = known.places >= 0
    given, honest, unsure = told.process.mean.copy(), told.process.mean.copy(), told.process.std.copy()
    if there.any():
        places = known.places[there]
        seen, left_out = seen_mean(stack, places), helper.leave_one_out().column(0).process
        # where the helper has seen a case it is learned from, but of a new one it has only what others say: answers,
        # and predictions without the case, differ from those with it on the mesh here as on the mesh there
        honest[there] += left_out.mean[places] - seen
        unsure[there] = left_out.std[places]
        if not same if of_answers is None else of_answers:
            answers = told.to_process(np.where(there, known.values, told.mean))
            given[there] += answers[there] - seen
    model = clone(alone).set_params(
        trend=[*_trend(alone, table), column],
        regimes="one",
    )
    if alone.kernel is None:
        given_options: dict[str, Any] = {"random_state": alone.random_state, "n_jobs": alone.n_jobs}
        model.set_params(kernel=default_kernels(table, groups=alone.groups, **given_options))
    if same and alone.target_scale in (None, "auto"):
        kind = stack.scales[0].kind if stack.scales else "identity"
        model.set_params(target_scale=kind if kind == "identity" or (kind == "log" and (y > 0).all()) else "auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit without a helper has said what needs saying
        model.fit(table.assign(**{column: given}), y, **options)
    link = Link(column, stack, slope_of(model.stack_), given)
    _connect(model, link, y.to_numpy(), link.slope * (honest - given), link.slope * unsure)
    return model


def preferred(
    found: RobustGPRegressor,
    alone: RobustGPRegressor,
    helper: RobustGPRegressor,
    table: pd.DataFrame,
    y: pd.Series,
    known: HelperRows,
    column: str,
    *,
    same: bool = False,
    **options: Any,
) -> RobustGPRegressor:
    """Return a target fitted with a helper, or fitted in the other way if rows left out clearly prefer that.

    The ways are those over predictions of the helper, and over its answers where they are known.

    Parameters
    ----------
    found : RobustGPRegressor
        What :func:`helped` returns for the other parameters.
    alone, helper, table, y, known, column, same, **options
    """
    if not (known.places >= 0).any():
        return found
    other = helped(alone, helper, table, y, known, column, same=same, of_answers=same, **options)
    scale = scale_of(alone)
    gains = left_out_errors(found, other, scale) ** 2 - left_out_errors(other, found, scale) ** 2
    return other if gains.mean() > _ERRORS * gains.std(ddof=1) / np.sqrt(len(gains)) else found


def seen_mean(stack: Stack, places: Positions) -> Array:
    """Return what a helper says of some of its training rows, which it has seen, on its own scale, (J,)."""
    table = pd.DataFrame(number_columns(stack.kernel.factors, stack.train_rows) | stack.other_inputs)
    if stack.link is not None:
        assert stack.link.given is not None
        table = table.reindex(range(len(stack.link.given))).assign(**{stack.link.column: stack.link.given})
    n = len(stack.members[0].gps[0].train_targets_)
    cases = Represented([m.rows for m in stack.members], trend_matrix(stack.trend, table), n).take(places)
    if stack.link is not None:  # has no regimes, and what it is helped by widens intervals alone
        return mixture(stack.parts(cases), stack.weights.to_numpy()[:, 0]).mean
    return stack.mixed(stack.parts(cases), cases).column(0).process.mean


def _trend(model: RobustGPRegressor, table: pd.DataFrame) -> list[str]:
    """Return the columns of a model's own trend."""
    if not isinstance(model.trend, str):
        return list(model.trend)
    return [factor.column for factor in model.stack_.trend]


def _connect(model: RobustGPRegressor, link: Link, y: Array, shift: Array, added: Array) -> None:
    """Give a fitted model its helper: rows left out, and how wide intervals are, are those of both together.

    Parameters
    ----------
    model : RobustGPRegressor
    link : Link
    y : ndarray of shape (n,)
    shift, added : ndarray of shape (n,)
        What the helper's own left-out predictions change in the mean of every row, and add to its deviation.
    """

    def adjusted(plain: Prediction) -> Prediction:
        wide = plain.scale * widening(plain, added[:, None])
        return Prediction(plain.mean + shift[:, None], wide, plain.df)

    stack = model.stack_
    own = mixture([part.columns() for part in stack.parts_left_out()], stack.weights.to_numpy())
    whole = stack.judged is not None and len(stack.judged[0]) == len(y)
    folds = stack.judged[1].columns() if stack.judged is not None and whole else None
    stack.left_out = adjusted(own if folds is None else folds)
    stack.judged = None if folds is None else (np.arange(len(y)), stack.left_out)
    stack.link = link
    stack.other_inputs.pop(link.column, None)  # what a helper says is not an input
    stack.widths = stack.widths * 0.0 + 1.0
    if not model.calibrate:
        return
    known = stack.leave_one_out()  # what to compare with is on the scale of the process
    values, counted = known.to_process(y), model.counted(0)
    left_out = stack.left_out.column(0)
    if len(y) >= FEW:
        width = interval_factor(values[counted], left_out.take(counted)) if folds is not None else 1.0
    else:
        width = few_rows_factor(values, adjusted(own).column(0), None if folds is None else left_out)
    stack.widths = stack.widths * width


def chance_of_gain(before: Array, after: Array) -> float:
    """Return the probability that errors fall as much by chance: the p-value of Wilcoxon's signed-rank test, one-sided.

    Parameters
    ----------
    before, after : ndarray of shape (J,)
        Errors of the same rows.

    Examples
    --------
    >>> chance_of_gain(np.array([1.0, -2.0, 3.0, 4.0, 5.0]), np.zeros(5))
    0.03125
    """
    gains = np.abs(before) - np.abs(after)
    if not gains.any():
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows, some of which do not change
        return float(scipy.stats.wilcoxon(gains, alternative="greater").pvalue)


def left_out_errors(model: RobustGPRegressor, other: RobustGPRegressor, scale: TargetScale) -> Array:
    """Return the errors (J,) of training rows left out of a model of one target.

    Parameters
    ----------
    model : RobustGPRegressor
    other : RobustGPRegressor
        To compare with: rows that hardly count for either have no say.
    scale : TargetScale
        On which errors are compared: of a target that spans decades, those of its logarithm.
    """
    found = model.cross_validation()
    rows, told = (np.arange(len(model.train_targets_)), model.leave_one_out().columns()) if found is None else found
    counted = (model.counted(0) & other.counted(0))[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        truth, mean = (scale.forward(y[counted]) for y in (model.train_targets_[rows, 0], told.columns().mean[:, 0]))
    return np.asarray(np.where(np.isfinite(mean), mean, truth.min() - np.ptp(truth)) - truth)


def scale_of(model: RobustGPRegressor) -> TargetScale:
    """Return the scale on which a model of one target is fitted."""
    return next(iter(model.target_scales_.values()))


def twins(helper: RobustGPRegressor, table: pd.DataFrame, memory: Any = None) -> HelperRows:
    """Find the helper's training rows that are the same cases as rows of a table: their answers are known.

    Cases may be meshed differently: they are twins if all numbers are the same, and the meshes much nearer to each
    other than those of neighbors usually are.
    """
    cases = helper.stack_.represent(table, None, memory)
    points, new = helper.coordinates(None, _COMPONENTS), helper.coordinates(cases.rows, _COMPONENTS)
    usual = float(np.median(scipy.spatial.cKDTree(points).query(points, k=2)[0][:, 1]))
    numbers = helper.train_inputs_
    known, asked = numbers.to_numpy(float).reshape(len(points), -1), table[numbers.columns].to_numpy(float)
    slack = _SAME * np.ptp(known, axis=0)
    places = np.full(len(table), -1, dtype=np.intp)
    for row, (point, own) in enumerate(zip(new, asked, strict=True)):
        same = np.flatnonzero((np.abs(known - own) <= slack).all(axis=1))
        distance = np.linalg.norm(points[same] - point, axis=1)
        if len(same) and distance.min() <= _TWINS * usual:
            places[row] = same[distance.argmin()]
    values = np.where(places >= 0, helper.train_targets_[places, 0], np.nan)
    return HelperRows(values, places)


def part_of(model: RobustGPRegressor, names: Sequence[str], target: str) -> RobustGPRegressor:
    """Return an unfitted model of one target, with what is asked of a model of several.

    Where rows left out are to say whether a helper is used, it has folds even if intervals are not calibrated: with
    ranges that have seen them, leave-one-out predictions of few rows say nothing.
    """
    scale = model.target_scale
    if isinstance(scale, Mapping):
        scale = scale.get(target)
    elif scale is not None and not isinstance(scale, str):
        scale = scale[list(names).index(target)]
    judged = model.calibrate or model.targets_together == "auto"
    return clone(model).set_params(targets_together=False, target_scale=scale, scaled=None, calibrate=judged)


def as_asked(part: RobustGPRegressor, calibrate: bool) -> None:
    """Take back the calibration of a part that has folds only to be judged by them."""
    if part.calibrate and not calibrate:
        part.stack_.widths = part.stack_.widths * 0.0 + 1.0
        part.calibrate = False


def free_name(wanted: str, taken: Sequence[object]) -> str:
    """Return a name for a column that is not taken.

    Examples
    --------
    >>> free_name("coarse", ["coarse", "speed"])
    'coarse (helper)'
    """
    while wanted in taken:
        wanted += " (helper)"
    return wanted


def check_fidelity(model: RobustGPRegressor, names: Sequence[str], embeddings: object) -> None:
    """Refuse what cannot be asked for together with levels of fidelity."""
    if len(names) != 1:
        raise InputError(f"fidelity is for one target at a time, but there are {', '.join(names)}: name one.")
    if embeddings is not None:
        raise InputError("fidelity and stored embeddings cannot be combined: the meshes are read.")

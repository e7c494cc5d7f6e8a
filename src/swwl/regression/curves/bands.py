"""How sure predicted curves are: intervals at every place, and bands that hold whole curves, both by folds.

Receives what folds of the regressor said of the coefficients of curves that were not in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from swwl.regression.curves.coding import CodedCurves, CurveBasis
from swwl.regression.curves.numbers import NUMBERS, CurveNumber, number_of
from swwl.regression.intervals import LEVELS, WholeBand, check_level, conformal, whole_band
from swwl.storage.checks import AnyNumber, NotNegative, Shape

Array = NDArray[np.float64]

# Where the model is less sure than of this share of left-out training curves, intervals are doubled.
_SURE = 0.95
# Deviations below this part of the size of curves are those of rounding.
_ROUNDING = 1e-12
# So many left-out curves are kept, and so many samples of each say how uncertain derived numbers are.
MOST_KEPT, _DRAWS = 300, 100


@dataclass(frozen=True)
class Bands:
    """What folds say of the errors of curves: J of N curves are kept.

    Attributes
    ----------
    correlation : ndarray of shape (k, k)
        Of the errors of coefficients.
    widths : ndarray of shape (l,)
        How many deviations intervals of the levels ``LEVELS`` have to each side, at a place.
    whole : WholeBand
    sure : float
        The deviation of a whole curve up to which intervals are not doubled.
    rows : ndarray of shape (j,)
        Training curves that are kept, by number.
    rest : ndarray of shape (j, m)
        What the basis leaves over of them.
    numbers : dict of str to ndarray of shape (n,)
        Of derived numbers, sizes of errors over deviations of samples, rising.
    least : float
        What no training curve goes below, 0 where none is negative: neither do predictions and bounds.
    """

    correlation: Annotated[Array, Shape("kk")]
    widths: Annotated[Array, Shape("l", least=0, rises=True)]
    whole: WholeBand
    sure: NotNegative
    rows: Annotated[NDArray[np.intp], Shape("j", "iu", least=0)]
    rest: Annotated[Array, Shape("jm")]
    numbers: dict[str, Annotated[Array, Shape("*", least=0, rises=True)]]
    least: AnyNumber = -np.inf

    def width(self, level: float) -> float:
        """Return how many deviations an interval at a place has to each side."""
        check_level(level)
        return float(np.interp(level, np.append(0.0, LEVELS), np.append(0.0, self.widths)))

    def deviations(self, basis: CurveBasis, std: Array) -> Array:
        """Return deviations (M, m) of curves from those of their coefficients, (M, k)."""
        return curve_deviations(basis, self.correlation, std)

    def draw(self, basis: CurveBasis, rest: Array, mean: Array, std: Array, n: int, rng: np.random.Generator) -> Array:
        """Draw curves, (n, M, m), as uncertain as intervals at a place are.

        Parameters
        ----------
        basis : CurveBasis
        rest : ndarray of shape (j, m)
            What the basis leaves over, at its places.
        mean, std : ndarray of shape (M, k)
            Of coefficients.
        n : int
        rng : Generator
        """
        wider = self.width(0.95) / ndtri(0.975)
        drawn = rng.standard_normal((n, *mean.shape)) @ np.linalg.cholesky(self.correlation).T
        curves = basis.decode(mean + wider * std * drawn)
        picked = rng.integers(len(rest), size=(n, len(mean)))
        sign = rng.choice([-1.0, 1.0], size=(n, len(mean), 1))
        return np.asarray(curves + wider * sign * rest[picked])


def curve_deviations(basis: CurveBasis, correlation: Array, std: Array) -> Array:
    """Return deviations (M, m) of curves whose coefficients have deviations (M, k) and are correlated, (k, k)."""
    variance = np.tile(basis.noise, (len(std), 1))
    for column in np.linalg.cholesky(correlation).T:
        variance += ((std * column) @ basis.shapes) ** 2
    return np.sqrt(variance)


def calibrate(coded: CodedCurves, told: tuple[Array, Array], rows: NDArray[np.intp], seed: int) -> tuple[Bands, Array]:
    """Learn from curves that were left out how wide intervals and bands have to be.

    Parameters
    ----------
    coded : CodedCurves
        All N training curves.
    told : tuple of ndarrays of shape (J, k)
        Mean and standard deviation of their coefficients, by folds without them.
    rows : ndarray of shape (J,)
        The numbers of the curves that were left out.
    seed : int

    Returns
    -------
    Bands
    errors : ndarray of shape (J, m)
        Of the left-out curves.
    """
    (mean, std), basis = told, coded.basis
    truth, coefficients, rest = coded.values[rows], coded.coefficients[rows], coded.rest[rows]
    correlation = error_correlation((coefficients - mean) / np.maximum(std, np.finfo(float).tiny))
    errors = (coefficients - mean) @ basis.shapes + rest
    # A curve whose noise is large somewhere makes the noise large there: new ones did not.
    noise = basis.noise - (rest**2 - basis.noise) / max(1, len(coded.rest) - 1)
    sd = np.sqrt(np.maximum(curve_deviations(basis, correlation, std) ** 2 - basis.noise + noise, 0.0))
    sd = np.maximum(sd, _ROUNDING * np.sqrt((truth**2).mean()) + np.finfo(float).tiny)
    pool = np.abs(errors / sd)
    widths = np.maximum.accumulate(np.maximum(np.quantile(pool, LEVELS), 1e-6 * LEVELS))
    whole = whole_band(np.abs(errors), sd)
    sure = float(np.quantile(np.sqrt((std**2).sum(axis=1)), _SURE))
    some = np.sort(np.random.default_rng(seed).permutation(len(rows))[:MOST_KEPT])
    kept = truth[some] - basis.decode(coefficients[some])
    bands = Bands(correlation, widths, whole, sure, rows[some], kept, {})
    rng = np.random.default_rng(seed)
    known: dict[str, list[float]] = {name: [] for name in NUMBERS}
    for k in some:
        drawn = bands.draw(basis, kept, mean[k : k + 1], std[k : k + 1], _DRAWS, rng)[:, 0]
        for name, found in known.items():
            samples, true = number_of(name, basis.grid, drawn), number_of(name, basis.grid, truth[k])
            unsure = max(float(number_std(name, samples, basis.grid)), np.finfo(float).tiny)
            found.append(abs(float(true - samples.mean())) / unsure)
    numbers = {name: np.minimum(np.sort(found), 1e6) for name, found in known.items()}
    least = 0.0 if coded.values.min() >= 0 and coded.values.max() > 0 else -np.inf
    return Bands(correlation, widths, whole, sure, rows[some], kept, numbers, least), errors


def number_std(name: str, samples: Array, grid: Array) -> Array:
    """Return the standard deviation (…) of samples (n, …) of a number; places are not known better than the grid."""
    step = float(np.diff(grid).mean()) if name.startswith("place") else 0.0
    return np.asarray(np.sqrt(samples.var(axis=0) + step**2))


def error_correlation(errors: Array) -> Array:
    """Return how errors (J, k) in deviations go together, (k, k), drawn to the identity as far as they are few.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> both = rng.normal(size=(400, 1)) + 0.1 * rng.normal(size=(400, 2))
    >>> bool(error_correlation(both)[0, 1] > 0.95), bool(abs(error_correlation(rng.normal(size=(400, 2)))[0, 1]) < 0.1)
    (True, True)
    """
    size = np.sqrt((errors**2).mean(axis=0))
    scaled = errors / np.where(size > 0, size, 1.0)
    if errors.shape[1] == 1 or len(errors) < 2:
        return np.eye(errors.shape[1])
    from sklearn.covariance import ledoit_wolf

    found, _ = ledoit_wolf(scaled, assume_centered=True)
    root = np.sqrt(np.maximum(np.diag(found), np.finfo(float).tiny))
    correlation = 0.999 * found / np.outer(root, root)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def number_intervals(
    what: Sequence[tuple[CurveNumber, Array]], bands: Bands, basis: CurveBasis, level: float
) -> list[dict[str, Array]]:
    """Return mean, std, lower and upper, (M,) each, of derived numbers from samples (n, M) of them.

    Numbers that have a name are as wide as folds ask for; crossings are as samples have them, with the ``probability``
    that there is one.
    """
    check_level(level)
    found = []
    for one, samples in what:
        crosses = np.isfinite(samples)
        there = crosses.any(axis=0)
        filled = np.where(crosses | ~there, samples, np.nan)
        safe = np.where(there, filled, 0.0)
        mean, std = np.nanmean(safe, axis=0), np.nanstd(safe, axis=0)
        if isinstance(one, str):
            std = number_std(one, samples, basis.grid)
            half = conformal(bands.numbers[one], level) * std
            lower, upper = mean - half, mean + half
            if one.startswith("place"):
                lower, upper = (np.clip(bound, basis.grid[0], basis.grid[-1]) for bound in (lower, upper))
            elif bands.least == 0:  # an integral of what is not negative is not, either
                mean, lower, upper = (np.maximum(part, 0.0) for part in (mean, lower, upper))
            found.append({"mean": mean, "std": std, "lower": lower, "upper": upper})
        else:
            ends = [0.5 - level / 2, 0.5 + level / 2]
            lower, upper = np.nanquantile(safe, ends, axis=0) if safe.size else np.empty((2, 0))
            parts = {"mean": mean, "std": std, "lower": lower, "upper": upper}
            own = {name: np.where(there, values, np.nan) for name, values in parts.items()}
            found.append(own | {"probability": crosses.mean(axis=0)})
    return found

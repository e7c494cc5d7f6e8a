r"""Which case to simulate next, and at which level of fidelity: what is learned of the best level per cost.

With the answer of a cheap level h and that of the best, :math:`y = \rho h + \delta`, covariances of cases x and c are

.. math:: C^y_{xc} = \rho^2 C^h_{xc} + C^\delta_{xc}, \qquad \operatorname{cov}(y_x, h_c) = \rho\, C^h_{xc},

so that simulating c at a level takes away :math:`\sum_x w_x \operatorname{cov}(y_x, \cdot_c)^2 / (C_{cc} + \nu)` of the
variance of the best level in the pool: over the cost of a run, that is what it is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.design.space import chosen_table
from swwl.errors import InputError
from swwl.formatting import number, percent
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.stack import Represented

Array = NDArray[np.float64]

# So many cases stand for a larger pool.
MOST_CASES = 500
_TINY = np.finfo(float).tiny


def read_costs(model: RobustGPRegressor, costs: Mapping[str, float]) -> dict[str, float]:
    """Return the cost of every level, the best first; refuse levels that the model does not have, and odd costs."""
    chain = model.chain_
    if chain is None or chain.level is None:
        raise InputError("Costs are those of levels of fidelity, but the model was fitted without any (fidelity=...).")
    known = chain.names()
    unknown = [str(name) for name in costs if str(name) not in known]
    if unknown:
        raise InputError(f"There is no level {unknown[0]!r} of {chain.level!r}; the levels are {', '.join(known)}.")
    found = {name: costs[name] for name in reversed(known) if name in costs}
    lacking = [name for name in known if name not in found]
    if lacking:
        raise InputError(f"The cost of level {lacking[0]!r} is missing; the levels are {', '.join(known)}.")
    for name, cost in found.items():
        if not (isinstance(cost, (int, float)) and np.isfinite(cost) and cost > 0):
            raise InputError(f"The cost of level {name!r} is {cost!r}, but a positive number is expected.")
    return {name: float(cost) for name, cost in found.items()}


@dataclass
class LevelPool:
    """What is not known of a pool of M cases at L levels, the best first.

    Attributes
    ----------
    covariance : ndarray of shape (L, M, L, M)
        Of the functions, on the scales of the processes.
    noise : ndarray of shape (L,)
        Variances of single answers about them.
    """

    covariance: Array
    noise: Array

    @classmethod
    def of(cls, model: RobustGPRegressor, cases: Represented, n_levels: int) -> LevelPool:
        """Ask a model, its helper, and the helper's helper."""
        stack, own, slopes = model.stack_, [], []
        at = cases
        while True:
            plain, noisy = (stack.process_covariance(at, include)[0] for include in (False, True))
            own.append((plain, float(np.maximum(np.diag(noisy - plain).mean(), 0.0))))
            if stack.link is None:
                break
            slopes.append(stack.link.slope)
            stack, at = stack.link.helper, at.others[0]
        m, level = len(cases), len(own)
        found = np.zeros((n_levels, m, n_levels, m))
        for i in range(level):
            for j in range(i, level):  # a level moves with a cheaper one by the slopes between
                block = float(np.prod(slopes[i:j])) * own[j][0]
                found[i, :, j, :] = block
                found[j, :, i, :] = block.T
        noise = [own[i][1] if i < level else 1.0 for i in range(n_levels)]
        return cls(found, np.array(noise))

    def gains(self, weights: Array) -> Array:
        """Return which variance of the best level in the pool every run takes away, (L, M), for weights (M,)."""
        across = self.covariance[0]  # (M, L, M): the best level of a case with runs
        own = np.einsum("lmlm->lm", self.covariance) + self.noise[:, None]
        return np.asarray(np.einsum("x,xlm->lm", weights, across**2) / np.maximum(own, _TINY))

    def settle(self, level: int, case: int) -> None:
        """Take a run for known."""
        column = self.covariance[:, :, level, case]
        total = max(float(column[level, case] + self.noise[level]), _TINY)
        self.covariance = self.covariance - column[:, :, None, None] * column / total


def choose_levels(
    pool: LevelPool, names: list[str], costs: Array, weights: Array, n: int, known: NDArray[np.bool_]
) -> tuple[list[tuple[int, int]], list[float], list[str]]:
    """Choose n runs, (level, case) each, with their scores and reasons in words.

    Parameters
    ----------
    pool : LevelPool
    names : list of L str
        Of the levels, the best first.
    costs : ndarray of shape (L,)
    weights : ndarray of shape (M,)
    n : int
    known : ndarray of bool, shape (L, M)
        Runs that are not to be chosen.
    """
    total = max(float(weights @ np.diag(pool.covariance[0, :, 0, :])), _TINY)
    chosen: list[tuple[int, int]] = []
    scores, reasons = [], []
    taken = known.copy()
    for _ in range(n):
        worth = np.where(taken, -np.inf, pool.gains(weights) / total / costs[:, None])
        level, case = (int(place) for place in np.unravel_index(np.argmax(worth), worth.shape))
        share = float(worth[level, case] * costs[level])
        chosen.append((level, case))
        scores.append(float(worth[level, case]))
        told = percent(share) if share >= 0.005 else "less than 1 %"
        reasons.append(
            f"{names[level]}: removes {told} of the variance in the pool at a cost of {number(costs[level])}"
        )
        taken[level, case] = True
        pool.settle(level, case)
    return chosen, scores, reasons


def level_table(
    chosen: list[tuple[int, int]], scores: list[float], reasons: list[str], names: list[str], places: NDArray[np.intp]
) -> pd.DataFrame:
    """Return choices as a table: row, rank, score, why and level."""
    found = chosen_table([int(places[case]) for _, case in chosen], scores, reasons)
    return found.assign(level=[names[level] for level, _ in chosen])

"""Boards: published sets of flows with an official split or figures of others, and how a default fit does on them.

Shapes are rebuilt from published parameters, forces are those of the source. ``airfrans.py`` and ``ahmed.py`` run them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.notes import case_notes
from swwl.evaluation import scores
from swwl.gp import GPWarning
from swwl.gp.prediction import Prediction
from swwl.mesh.mesh import Mesh
from swwl.parallel import one_blas_thread
from swwl.regression.estimator import RobustGPRegressor
from swwl_paper.published import arrays

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """A number that somebody else published.

    Attributes
    ----------
    who : str
        The model.
    target, metric : str
        What was predicted, and the column of our rows that it is to be compared with.
    value : float
    source : str
    """

    who: str
    target: str
    metric: str
    value: float
    source: str


_MMGP = "Casenave, Staber and Roynard (2023), NeurIPS"
_TRANSOLVER = "Wu et al. (2024), ICML"
_NULL = "github.com/ali-kin4/neuroforge-cfd, docs/paper/review/null_travels.md"
_FAMILY = "github.com/ali-kin4/neuroforge-cfd, docs/paper/review/null_mechanism.md"
AIRFRANS = (
    Figure("MMGP", "cl", "rrmse", 0.0080, _MMGP),
    Figure("MMGP", "cd", "rrmse", 0.033, _MMGP),
    Figure("Transolver", "cl", "spearman", 0.9978, _TRANSOLVER),
    Figure("linear model", "cl", "spearman", 0.9821, _NULL),
    Figure("linear model", "cd", "spearman", 0.9318, _NULL),
)
AHMED = (
    Figure("linear model", "cd", "r2", 0.684, _NULL),
    Figure("linear model", "cl", "r2", 0.452, _NULL),
    Figure("best of a family", "cd", "r2", 0.775, _FAMILY),
    Figure("linear with squares", "cl", "r2", 0.630, _NULL),
)


# Cases


def airfoils() -> tuple[pd.DataFrame, list[Array]]:
    """Read the 1000 cases of AirfRANS: a table of ``U, alpha, cl, cd, split`` (1: official test), and contours (n, 2).

    Contours are closed, begin at the trailing edge, and are rotated by the angle of attack.
    """
    data = arrays("airfrans-board")
    table = pd.DataFrame({key: data[key] for key in ("U", "alpha", "cl", "cd", "split")})
    return table, np.split(data["points"].astype(float), np.cumsum(data["n_nodes"])[:-1])


def surfaces(table: pd.DataFrame) -> list[Array]:
    """Read the surfaces of the solver's own meshes for test cases, found by their speed and angle.

    Parameters
    ----------
    table : DataFrame
        Columns ``U`` and ``alpha``.
    """
    data = arrays("airfrans")
    points = np.split(data["points"].astype(float), np.cumsum(data["n_nodes"])[:-1])
    keys = zip(data["u_inf"].astype(float).round(3), data["aoa_deg"].astype(float).round(3), strict=True)
    found = dict(zip(keys, points, strict=True))
    return [found[speed, angle] for speed, angle in zip(table["U"].round(3), table["alpha"].round(3), strict=True)]


def closed(surface: Array) -> Array:
    """Return a surface whose trailing edge was cut, with both sides continued to where they meet.

    Parameters
    ----------
    surface : ndarray of shape (n, 2)
        Nodes along a closed contour. The shortest of the sides next to its two hindmost nodes is the cut.

    Examples
    --------
    >>> closed(np.array([[0.0, 0.1], [0.75, 0.025], [0.75, -0.025], [0.0, -0.1]]))[2].round(9).tolist()
    [1.0, 0.0]
    """
    hindmost = int(surface[:, 0].argmax())
    around = np.roll(surface, 1 - hindmost, axis=0)  # before, hindmost, after
    before, after = np.linalg.norm(around[1] - around[0]), np.linalg.norm(around[2] - around[1])
    first = hindmost if after <= before else hindmost - 1
    ordered = np.roll(surface, -first - 1, axis=0)  # from one end of the cut to the other
    along, back = ordered[-1] - ordered[-2], ordered[0] - ordered[1]
    steps = np.linalg.solve(np.column_stack([along, -back]), ordered[0] - ordered[-1])
    return np.insert(surface, (first + 1) % len(surface), ordered[-1] + steps[0] * along, axis=0)


def bodies() -> tuple[pd.DataFrame, list[Mesh]]:
    """Read the 499 Ahmed bodies of AhmedML: a table of parameters, ``cd`` and ``cl``, and surfaces of triangles."""
    data = arrays("ahmed-board")
    points = np.split(data["points"].astype(float), np.cumsum(data["n_nodes"])[:-1])
    triangles = np.split(data["triangles"], np.cumsum(data["n_triangles"])[:-1])
    table = pd.DataFrame(data["parameters"], columns=[str(name) for name in data["parameter_names"]])
    meshes = [Mesh(nodes, cells) for nodes, cells in zip(points, triangles, strict=True)]
    return table.assign(cd=data["cd"], cl=data["cl"]), meshes


# Contours


def uniform(contour: Array, n: int) -> Array:
    """Return n points at equal distances along a closed contour, the first one kept.

    Examples
    --------
    >>> uniform(np.array([[1.0, 0], [0, 0], [0, 1], [1, 1]]), 8)[:3].tolist()
    [[1.0, 0.0], [0.5, 0.0], [0.0, 0.0]]
    """
    closed = np.vstack([contour, contour[:1]])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    places = along[-1] * np.arange(n) / n
    return np.column_stack([np.interp(places, along, values) for values in closed.T])


def cosine(contour: Array, n: int) -> Array:
    r"""Return n points of an airfoil at chord positions :math:`(1 + \cos(2 \pi k / n)) / 2`, k = 0, …, n - 1.

    Parameters
    ----------
    contour : ndarray of shape (m, 2)
        Closed; its first point is the trailing edge, and the leading edge is the point farthest from it.
    n : int
        Even.

    Examples
    --------
    >>> cosine(np.array([[1.0, 0], [0.5, 0.1], [0, 0], [0.5, -0.1]]), 4).round(9).tolist()
    [[1.0, 0.0], [0.5, 0.1], [0.0, 0.0], [0.5, -0.1]]
    """
    closed = np.vstack([contour, contour[:1]])
    nose = int(np.argmax(np.linalg.norm(contour - contour[0], axis=1)))
    chord = contour[0] - contour[nose]
    position = (closed - contour[nose]) @ chord / (chord @ chord)
    places = (1 + np.cos(2 * np.pi * np.arange(n) / n)) / 2
    first, second = np.arange(n) <= n // 2, np.arange(n) > n // 2
    result = np.empty((n, 2))
    for chosen, side in ((first, slice(nose, None, -1)), (second, slice(nose, None))):
        increasing = np.maximum.accumulate(position[side])  # beside a round nose it may not be
        for k in range(2):
            result[chosen, k] = np.interp(places[chosen], increasing, closed[side, k])
    return result


# Fits


@dataclass(frozen=True)
class Answers:
    """What a fitted model says of test cases, as users get it: less sure predictions with their doubled intervals.

    Attributes
    ----------
    truth : DataFrame
        The targets.
    prediction : Prediction
        A column per target.
    inside : ndarray of shape (M,)
        1 where the domain calls a case like the training cases, 0 where not, NaN where too few of those can tell.
    widened : ndarray of bool of shape (M, k)
    together : bool
        Whether users are told that all cases together differ from the training cases.
    """

    truth: pd.DataFrame
    prediction: Prediction
    inside: Array
    widened: NDArray[np.bool_]
    together: bool = False

    def flagged(self, k: int) -> NDArray[np.bool_]:
        """Whether a user is told to beware of target k of each case: outside the domain, or less sure."""
        return (self.inside == 0) | self.widened[:, k]

    def errors(self, k: int) -> Array:
        """Errors of target k over the deviation of the tests."""
        truth = self.truth.iloc[:, k].to_numpy(float)
        return (self.prediction.column(k).mean - truth) / truth.std()

    def scores(self, k: int) -> dict[str, Any]:
        """Return ``error, coverage, width`` of target k, error and width over the deviation of the tests."""
        truth = self.truth.iloc[:, k].to_numpy(float)
        found, deviation = scores.score(truth, self.prediction.column(k)), float(truth.std())
        return {
            "n_test": found.n,
            "error": found.rmse / deviation,
            "coverage": found.coverage,
            "width": found.width / deviation,
        }


def fit_and_ask(
    model: RobustGPRegressor,
    train: pd.DataFrame,
    tests: Mapping[str, pd.DataFrame],
    targets: Sequence[str],
    memory: Path | None = None,
) -> tuple[dict[str, Answers], dict[str, Any]]:
    """Fit a model to all targets together, and ask it about several versions of the test cases.

    Returns
    -------
    answers : dict of Answers
        For each version.
    facts : dict
        ``warnings`` of the process, and ``seconds`` of this process to fit, which others do not prolong.
    """
    names = list(targets)
    with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GPWarning)
        start = time.process_time()
        model.fit(train, names, memory=memory)
        seconds = time.process_time() - start
        answers = {version: ask(model, table, names, memory) for version, table in tests.items()}
    return answers, {"warnings": len(caught), "seconds": seconds}


def ask(model: RobustGPRegressor, table: pd.DataFrame, targets: list[str], memory: Path | None = None) -> Answers:
    """Return what a fitted model says of a table that holds the targets, too."""
    prediction, found = model.predict_with_domain(table.drop(columns=targets), memory=memory)
    inside = np.array([float(value) if isinstance(value, (bool, np.bool_)) else np.nan for value in found["inside"]])
    widened = [[name in str(cell).split(", ") for name in targets] for cell in found["widened"]]
    return Answers(table[targets], prediction, inside, np.array(widened, bool), "together" in case_notes(found))

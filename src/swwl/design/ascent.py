r"""Move a shape to where a model predicts better, inside what the training meshes have shown.

The shape moves along displacement modes; its coordinates c, in standard deviations of the training meshes, stay inside
a ball around their mean and inside their range along every mode. A surrogate that is optimized without such a
region soon leaves what it knows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from swwl.design.pool import outside_notes
from swwl.embedding.components import Modes
from swwl.errors import CaseWarning, InputError
from swwl.kernels.base import Factor
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.tables.laws import matched_column

Array = NDArray[np.float64]

# The share of the training meshes that the ball holds.
_INSIDE = 0.9
_MOST_STEPS = 60


@dataclass(frozen=True)
class Improvement:
    """A shape that a model predicts to be better.

    Attributes
    ----------
    mesh : Mesh
    mean, std : float
        Predicted for it by the plain process.
    interval : tuple of two floats
        Central, of 95 %, as ``model.predict_interval`` states it: doubled where the model is unsure.
    start_mean, start_std : float
        Predicted for the mesh that was given.
    coordinates : ndarray of shape (k,)
        Along the modes, in standard deviations of the training meshes.
    radius : float
        Of the ball that the coordinates stay in.
    n_evaluations : int
        Predictions with their derivatives that it took.
    """

    mesh: Mesh
    mean: float
    std: float
    interval: tuple[float, float]
    start_mean: float
    start_std: float
    coordinates: Array
    radius: float
    n_evaluations: int


def improve(
    model: Any,
    mesh: Any,
    modes: Modes,
    inputs: Mapping[str, Any] | None = None,
    *,
    target: str | None = None,
    goal: str = "maximize",
    caution: float = 0.0,
    radius: float | None = None,
) -> Improvement:
    r"""Maximize (or minimize) a prediction along displacement modes, inside the trust region of the training meshes.

    Maximizes :math:`m(c) - \kappa s(c)` over the coordinates c, by their exact gradient (SLSQP), subject to
    :math:`|c| \le R` and :math:`c_k` between the least and the largest of the training meshes.

    Parameters
    ----------
    model : RobustGPRegressor
        Fitted, with one column of meshes.
    mesh : Mesh, or anything :func:`swwl.as_mesh` takes
        Where to begin, with the cells of the training meshes. If it lies outside the region, from the nearest shape
        inside; what the modes do not hold of it is kept.
    modes : Modes
        Of the training meshes, from :func:`displacement_modes`.
    inputs : mapping of str to number, optional
        Values of the model's other columns: the conditions to design for. A :class:`~swwl.errors.CaseWarning` tells of
        those outside the training range.
    target : str, optional
        Needed where the model has several.
    goal : {"maximize", "minimize"}
    caution : float
        :math:`\kappa \ge 0`: how many standard deviations the goal stays on the safe side.
    radius : float, optional
        R; by default that of the ball which holds 90 % of the training meshes. More than holds all of them is refused.

    Returns
    -------
    Improvement

    Examples
    --------
    >>> from swwl import RobustGPRegressor, SWWL
    >>> from swwl.design import displacement_modes
    >>> rods = [Mesh([[0.0], [length]], [[0, 1]]) for length in np.linspace(1, 2, 12)]
    >>> model = RobustGPRegressor(SWWL("rod", n_iterations=0, n_projections=2, n_quantiles=3), calibrate=False)
    >>> model = model.fit({"rod": rods, "y": [-(rod.points[1, 0] - 1.6) ** 2 for rod in rods]}, "y")
    >>> found = improve(model, rods[4], displacement_modes(rods))
    >>> bool(abs(found.mesh.points[1, 0] - 1.6) < 0.01)
    True
    """
    known = [str(name) for name in model.feature_names_in_]
    inputs = {matched_column(name, known) or name: value for name, value in (inputs or {}).items()}
    column, target = _checked(model, inputs, target, goal, caution)
    for note in outside_notes(model, inputs):
        warnings.warn(f"{note}.", CaseWarning, stacklevel=2)
    start = as_mesh(mesh)
    if start.points.shape != modes.mean.shape:
        raise InputError(
            f"The mesh has points of shape {start.points.shape}, but the modes move points of {modes.mean.shape}."
        )
    norms = np.linalg.norm(modes.coordinates, axis=1)
    if radius is None:
        radius = float(np.quantile(norms, _INSIDE))
    if not 0 < radius <= norms.max():
        raise InputError(
            f"radius is {radius:g}, but it must be positive and at most {norms.max():.4g}, within which all training "
            f"meshes lie: beyond them nothing has been tested."
        )
    origin = modes.locate(start.points)
    low, high = modes.coordinates.min(axis=0), modes.coordinates.max(axis=0)
    sign = 1.0 if goal == "maximize" else -1.0
    count = 0

    def moved(c: Array) -> Mesh:
        return trusted_mesh(start.points + modes.move(c - origin), start.cells, {}, start.name, groups=start.groups)

    def predicted(shape: Mesh, slopes: bool = True) -> Any:
        row = pd.DataFrame({column: [shape]} | {name: [value] for name, value in inputs.items()})
        return model.sensitivity(row, target, along=modes if slopes else None, std=caution > 0 or not slopes)[0]

    def goal_of(c: Array) -> tuple[float, Array]:
        nonlocal count
        count += 1
        found = predicted(moved(c))
        value, gradient = sign * found.value, sign * found.along.to_numpy()
        if caution > 0:
            value, gradient = value - caution * found.std.value, gradient - caution * found.std.along.to_numpy()
        return -value / spread, -gradient / spread

    spread = float(np.nanstd(model.train_targets_[:, model.target_names_.index(target)]))
    ball = {"type": "ineq", "fun": lambda c: radius**2 - c @ c, "jac": lambda c: -2 * c}
    inside = _inside(origin, low, high, radius)
    found = minimize(
        goal_of,
        inside,
        jac=True,
        method="SLSQP",
        bounds=list(zip(low, high, strict=True)),
        constraints=[ball],
        options={"maxiter": _MOST_STEPS, "ftol": 1e-7},
    )
    candidates = [inside, _inside(found.x, low, high, radius)]
    c = min(candidates, key=lambda own: goal_of(own)[0])
    best, before = predicted(moved(c), slopes=False), predicted(start, slopes=False)
    return Improvement(
        mesh=moved(c),
        mean=best.value,
        std=best.std.value,
        interval=_bounds(model, column, moved(c), inputs, target),
        start_mean=before.value,
        start_std=before.std.value,
        coordinates=c,
        radius=radius,
        n_evaluations=count,
    )


def _bounds(model: Any, column: str, mesh: Mesh, inputs: Mapping[str, Any], target: str) -> tuple[float, float]:
    row = pd.DataFrame({column: [mesh]} | {name: [value] for name, value in inputs.items()})
    lower, upper = (np.ravel(bound) for bound in model.predict_with_domain(row)[0].interval(0.95))
    place = model.target_names_.index(target)
    return float(lower[place]), float(upper[place])


def _inside(c: Array, low: Array, high: Array, radius: float) -> Array:
    """Return coordinates inside the box, drawn in to the ball, which is around the mean, where they lie outside it."""
    kept = np.clip(c, low, high)
    return np.asarray(kept * min(1.0, radius / max(float(np.linalg.norm(kept)), np.finfo(float).tiny)))


def _checked(model: Any, inputs: Mapping[str, Any], target: str | None, goal: str, caution: float) -> tuple[str, str]:
    """Return the column of meshes and the target; refuse what does not fit the model."""
    factors: list[Factor] = model.kernel_.factors
    columns = {factor.column for factor in factors if factor.takes == "graphs"}
    if len(columns) != 1:
        raise InputError(f"A model with one column of meshes is expected, but this one has {len(columns)}.")
    (column,) = columns
    missing = [name for name in model.feature_names_in_ if name != column and name not in inputs]
    if missing:
        raise InputError(f"The model needs {', '.join(map(repr, missing))}, too: give inputs={{{missing[0]!r}: …}}.")
    names = list(model.target_names_)
    if target is None and len(names) > 1:
        raise InputError(f"The model has several targets; name one of {', '.join(map(repr, names))}.")
    if target is not None and target not in names:
        raise InputError(f"target is {target!r}, but the model predicts {', '.join(map(repr, names))}.")
    if goal not in ("maximize", "minimize"):
        raise InputError(f'goal must be "maximize" or "minimize", not {goal!r}.')
    if not (np.isfinite(caution) and caution >= 0):
        raise InputError(f"caution is {caution!r}, but a number of at least 0 is expected.")
    return column, names[0] if target is None else target

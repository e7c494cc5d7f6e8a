r"""Robust Gaussian process on distances: pure arrays, no graphs.

The flow, file by file: ``blocks`` (distances and coordinates of any rows x columns) and ``joint`` (several as one) ->
``correlations`` (of one scaled distance) -> ``factors`` (of several ranges, their product and its gradient) ->
``prior`` and ``solvers`` (log posterior of ranges and nugget, and what predicts once it is maximal) -> ``search``
(starts, bounds, optimization) -> ``estimator`` (`RobustGP`, and draws) -> ``prediction`` (`Prediction`). Beside it:
``inputs`` checks what comes in, ``diagnostics`` warns, ``adjoint`` is the derivative of a prediction, ``state`` is for
model files, and ``many_rows`` (`fit_large`) fits processes of very many rows.

Examples
--------
>>> import numpy as np
>>> from swwl.gp import Coordinates, RobustGP
>>> rng = np.random.default_rng(0)
>>> z, speed = rng.normal(size=(40, 2)), rng.random(40)
>>> y = np.sin(z[:, 0]) + speed**2
>>> gp = RobustGP(["gaussian", "matern52"])
>>> gp = gp.fit([Coordinates(z), np.abs(speed[:, None] - speed)], y)
>>> gp.beta_.shape, gp.leave_one_out().mean.shape
((3,), (40,))
>>> mean, std = gp.predict([Coordinates([[0.5, 0.0]]), np.abs([[0.3]] - speed)], return_std=True)
>>> bool(abs(mean[0] - np.sin(0.5) - 0.09) < 0.05)
True
"""

from swwl.errors import GPWarning
from swwl.gp.blocks import Block, Coordinates, Distances, RowDistances
from swwl.gp.estimator import RobustGP
from swwl.gp.joint import Joint
from swwl.gp.many_rows import fit_large
from swwl.gp.prediction import Prediction

__all__ = [
    "Block",
    "Coordinates",
    "Distances",
    "GPWarning",
    "Joint",
    "Prediction",
    "RobustGP",
    "RowDistances",
    "fit_large",
]

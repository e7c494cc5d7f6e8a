"""Displays in scikit-learn's manner: they store what they show, draw on an axis (``ax_``), and return themselves.

=====================  ===============================================================================
ParityDisplay          predictions with intervals against truth
ResidualsDisplay       errors in units of their standard deviation; odd cases are named
CalibrationDisplay     how many cases lie inside intervals of every level
CurvesDisplay          characteristic curves with bands, over a sweep of one number
CurveBandDisplay       a predicted curve of one case, with its band and the truth
ImportanceDisplay      which inputs matter
DesignDisplay          the training set on its two principal components, outliers marked
ChoicesDisplay         cases to simulate, numbered by rank, on the map of a pool
EffectDisplay          error against numbers of projections and quantiles
SlopesDisplay          derivatives in numbers and along deformations, with intervals
PushDisplay            where pushing a surface outward changes a prediction
=====================  ===============================================================================

The first three have ``from_estimator(estimator, X, y, *, target=None, ax=None)`` for new cases,
``from_predictions(y_true, y_pred, *, ax=None)`` for given predictions, and
``from_leave_one_out(estimator, *, target=None, ax=None)`` for the training cases. ImportanceDisplay and DesignDisplay
show what a fit found, so ``from_estimator(estimator, *, target=None, ax=None)`` needs no data. All of them draw at
once; ``plot(ax)`` draws again elsewhere. :func:`draw_mesh` draws a mesh, a graph or a file, :func:`draw_field` a field
on a mesh, :func:`draw_prediction` a predicted one beside the truth, its error and its standard deviation.

Examples
--------
>>> import numpy as np
>>> from matplotlib.figure import Figure
>>> y = np.linspace(0.0, 1.0, 20)
>>> display = CalibrationDisplay.from_predictions(y, y + 0.01, std=np.full(20, 0.02), ax=Figure().subplots())
>>> display.coverage[-1].item()
1.0
"""

from swwl.plots.curves import CurveBandDisplay, CurvesDisplay
from swwl.plots.fields import draw_field, draw_prediction
from swwl.plots.inputs import ChoicesDisplay, DesignDisplay, ImportanceDisplay
from swwl.plots.meshes import draw_mesh
from swwl.plots.quality import CalibrationDisplay, EffectDisplay, ParityDisplay, ResidualsDisplay
from swwl.plots.sensitivity import PushDisplay, SlopesDisplay

__all__ = [
    "CalibrationDisplay",
    "ChoicesDisplay",
    "CurveBandDisplay",
    "CurvesDisplay",
    "DesignDisplay",
    "EffectDisplay",
    "ImportanceDisplay",
    "ParityDisplay",
    "PushDisplay",
    "ResidualsDisplay",
    "SlopesDisplay",
    "draw_field",
    "draw_mesh",
    "draw_prediction",
]

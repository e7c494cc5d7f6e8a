"""Displays of a fitted model, in scikit-learn's manner: they store what they show, draw on an axis, return themselves.

=====================  ===============================================================================
ParityDisplay          predictions with intervals against truth
ResidualsDisplay       errors in units of their standard deviation; odd cases are named
CalibrationDisplay     how many cases lie inside intervals of every level
CurvesDisplay          characteristic curves with bands, over a sweep of one number
ImportanceDisplay      which inputs matter
DesignDisplay          the training set on its two principal components, outliers marked
EffectDisplay          error against numbers of projections and quantiles
=====================  ===============================================================================

Examples
--------
>>> import numpy as np
>>> from matplotlib.figure import Figure
>>> from swwl.evaluation.scores import prediction_of
>>> y = np.linspace(0.0, 1.0, 20)
>>> display = CalibrationDisplay.from_predictions(y, prediction_of(y + 0.01, np.full(20, 0.02), 19.0))
>>> display.plot(ax=Figure().subplots()).coverage[-1].item()
1.0
"""

from swwl.plots.curves import CurvesDisplay
from swwl.plots.inputs import DesignDisplay, EffectDisplay, ImportanceDisplay
from swwl.plots.meshes import draw_mesh
from swwl.plots.quality import CalibrationDisplay, ParityDisplay, ResidualsDisplay

__all__ = [
    "CalibrationDisplay",
    "CurvesDisplay",
    "DesignDisplay",
    "EffectDisplay",
    "ImportanceDisplay",
    "ParityDisplay",
    "ResidualsDisplay",
    "draw_mesh",
]

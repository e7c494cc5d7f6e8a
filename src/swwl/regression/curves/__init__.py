"""Curves as answers: a series of values per case, on a common grid or on own ones.

``coding`` turns curves into a few coefficients and back; ``estimator`` predicts these with the default model of
numbers; ``bands`` says by folds how wide intervals and bands of whole curves have to be; ``numbers`` derives peaks,
integrals and crossings.
"""

from swwl.regression.curves.estimator import CurveRegressor

__all__ = ["CurveRegressor"]

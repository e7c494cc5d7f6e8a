"""Gaussian process regression on tables of meshes and numbers: :class:`swwl.RobustGPRegressor`."""

from swwl.regression.estimator import RobustGPRegressor

__all__ = ["RobustGPRegressor"]

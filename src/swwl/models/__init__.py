"""Estimators on tables: Gaussian process regression, classification, model files."""

from swwl.models.classification import GraphSVC
from swwl.models.modelfile import load_model
from swwl.models.regression import RobustGPRegressor

__all__ = ["GraphSVC", "RobustGPRegressor", "load_model"]

"""Estimators on tables: Gaussian process regression, classification, model files."""

from swwl.models.classification import GraphSVC
from swwl.models.modelfile import load_model
from swwl.models.regression import RobustGPRegressor
from swwl.models.tablefile import read_table

__all__ = ["GraphSVC", "RobustGPRegressor", "load_model", "read_table"]

"""Estimators on tables: Gaussian process regression, whole fields, classification, model files."""

from swwl.models.basis import read_embeddings
from swwl.models.classification import GraphSVC
from swwl.models.fields import FieldRegressor
from swwl.models.modelfile import load_model
from swwl.models.regression import RobustGPRegressor
from swwl.models.tablefile import read_table

__all__ = ["FieldRegressor", "GraphSVC", "RobustGPRegressor", "load_model", "read_embeddings", "read_table"]

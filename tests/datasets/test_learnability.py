"""Geometry matters and scalars matter: a simple model needs both, and the design is solvable."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from swwl import datasets


def explained(inputs, target):
    """Cross-validated share of variance (Q²) that a quadratic ridge regression explains."""
    model = make_pipeline(
        StandardScaler(), PolynomialFeatures(2), StandardScaler(), RidgeCV(np.logspace(-6, 3, 10))
    )
    predicted = cross_val_predict(model, inputs, target, cv=5)
    return 1 - np.mean((predicted - target) ** 2) / np.var(target)


@pytest.mark.parametrize(
    ("name", "n_samples", "nodes"), [("tensile2d", 200, 300), ("airfoil", 150, 500), ("blade", 300, 200)]
)
def test_geometry_and_scalars_matter(name, n_samples, nodes):
    samples = datasets.make(name, n_samples, nodes=nodes, seed=1, jobs=2)
    assert sum(sample.redraws for sample in samples) < 0.02 * n_samples
    scalars = np.array([list(sample.scalars.values()) for sample in samples])
    shape = np.array([list(sample.shape.values()) for sample in samples])
    for target in datasets.GENERATORS[name].targets:
        values = np.array([sample.targets[target] for sample in samples])
        both = explained(np.hstack([scalars, shape]), values)
        assert both > 0.75
        assert explained(scalars, values) < both - 0.15
        assert explained(shape, values) < both - 0.15

"""Geometry matters and scalars matter: a simple model needs both, and finds the geometry in the mesh."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from swwl import datasets


def explained(inputs, target):
    """Cross-validated share of variance (Q²) that a quadratic ridge regression explains."""
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), StandardScaler(), RidgeCV(np.logspace(-6, 3, 10)))
    predicted = cross_val_predict(model, inputs, target, cv=5)
    return 1 - np.mean((predicted - target) ** 2) / np.var(target)


def summarize_meshes(samples, n_components):
    """Principal components of the quantiles of the nodes' coordinates along twenty directions."""
    dimension = samples[0].points.shape[1]
    directions = np.random.default_rng(0).normal(size=(dimension, 20))
    levels = np.linspace(0, 1, 41)
    quantiles = [np.quantile(sample.points @ directions, levels, axis=0).ravel() for sample in samples]
    return PCA(n_components).fit_transform(np.array(quantiles))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_samples", "nodes", "n_components"),
    [("tensile2d", 200, 400, 4), ("airfoil", 150, 500, 4), ("blade", 300, 300, 10)],
)
def test_geometry_and_scalars_matter(name, n_samples, nodes, n_components):
    samples = datasets.make_samples(name, n_samples, n_nodes=nodes, random_state=1)
    assert sum(sample.redraws for sample in samples) < 0.02 * n_samples
    scalars = np.array([list(sample.scalars.values()) for sample in samples])
    shape = np.array([list(sample.shape.values()) for sample in samples])
    meshes = summarize_meshes(samples, n_components)
    for target in datasets.GENERATORS[name].targets:
        values = np.array([sample.targets[target] for sample in samples])
        alone = explained(scalars, values)
        with_shape = explained(np.hstack([scalars, shape]), values)
        with_mesh = explained(np.hstack([scalars, meshes]), values)
        print(f"{name} {target}: Q² {alone:.2f} by scalars, {with_mesh:.2f} by mesh, {with_shape:.2f} by shape")
        # What is left unexplained falls to half and less with the shape, nearly so with the crude summary.
        assert 1 - with_shape < 0.5 * (1 - alone)
        assert 1 - with_mesh < 0.7 * (1 - alone)
        assert explained(shape, values) < with_shape - 0.2

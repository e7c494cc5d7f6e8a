"""Small data sets for the tests of the Gaussian process."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from swwl.gp import Coordinates, Distances, Joint
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    """Keep BLAS on one thread: for matrices of fifty rows waking others costs more than the work."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def data():
    """Distances of two factors, coordinates, targets and new points: (train, cross, among, y, z, new_z)."""
    rng = np.random.default_rng(0)
    x, z = rng.random((40, 2)), rng.normal(size=(40, 3))
    new, new_z = rng.random((6, 2)), rng.normal(size=(6, 3))
    y = np.sin(5 * x[:, 0]) + x[:, 1] ** 2 + 0.3 * z[:, 0] + 0.05 * rng.normal(size=40)

    def axes(a, b):
        return [np.abs(a[:, [j]] - b[:, j]) for j in range(2)]

    return axes(x, x), axes(new, x), axes(new, new), y, z, new_z


@pytest.fixture(scope="session")
def make_terms():
    """Make training terms of n random points.

    A name is a distance matrix, a number a group of Gaussian coordinates, a dict {name: layout} joined blocks.
    """

    def coordinates(n, width, rng):
        z = rng.normal(size=(n, width))
        return Coordinates(z - z.mean(axis=0))

    def distances(n, rng):
        x = rng.random((n, 2))
        return Distances(np.linalg.norm(x[:, None] - x, axis=2))

    def make(items, n, rng=0):
        rng, out = np.random.default_rng(rng), []
        for item in items:
            if isinstance(item, int):
                out.append(Term(get_correlation("gaussian"), coordinates(n, item, rng)))
            elif isinstance(item, dict):
                ((name, layout),) = item.items()
                parts = [coordinates(n, width, rng) if width else distances(n, rng) for width in layout]
                out.append(Term(get_correlation(name), Joint(parts) if len(parts) > 1 else parts[0]))
            else:
                out.append(Term(get_correlation(item), distances(n, rng)))
        return out

    return make

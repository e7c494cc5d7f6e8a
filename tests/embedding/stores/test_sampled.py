"""Components of a sample: what is kept of very many meshes, and what is said where the sample was not enough."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from swwl import Graph, SWWLEmbedding
from swwl.design import far_from_others
from swwl.domain import verdict as domain
from swwl.embedding import components
from swwl.embedding.components import Projector, principal_components
from swwl.embedding.stores import sampled
from swwl.embedding.stores.sampled import fit_keep, sample_rows
from swwl.errors import InputError, MeshWarning
from swwl.gp import Coordinates
from swwl.kernels import ASWWL, SWWL, Components, PrincipalSWWL
from tests.helpers import assert_slope


def rods(n, seed=0, odd=0):
    rng = np.random.default_rng(seed)
    bends = np.append(np.zeros(n - odd), rng.uniform(1, 2, odd))
    return [
        Graph([[0.0, 0], [a / 2, b], [a, 0]], [(0, 1), (1, 2)])
        for a, b in zip(rng.uniform(1, 2, n), bends, strict=True)
    ]


def keeper():
    factor = Components("rod", n_kept=1, n_iterations=1, n_projections=5, n_quantiles=5)
    factor.embedding_ = factor.make_embedding()
    return factor


def test_a_sample_of_all_is_the_whole_set(monkeypatch):
    """Where all meshes are sampled, coordinates are those of the components of all, in single precision."""
    graphs = rods(30)
    factor = keeper()
    ((z, left),) = fit_keep([factor.embedding_], [factor], graphs)
    whole = Components("rod", n_kept=1, n_iterations=1, n_projections=5, n_quantiles=5)
    coordinates, remainder = whole.fit(graphs)
    assert z.dtype == np.float32
    np.testing.assert_array_equal(z, coordinates.astype(np.float32))
    np.testing.assert_allclose(left, remainder, atol=1e-6)
    # shards do not show
    monkeypatch.setattr(sampled, "SHARD", 7)
    other = keeper()
    ((again, _),) = fit_keep([other.embedding_], [other], graphs)
    np.testing.assert_allclose(again, z, atol=1e-6)


def test_every_mesh_is_read_once_but_for_the_sample(monkeypatch):
    monkeypatch.setattr(sampled, "MOST_SAMPLED", 10)
    graphs = rods(25)
    graphs += graphs[:5]  # repeated ones count once
    seen = []
    factor = keeper()
    ((z, left),) = fit_keep(
        [factor.embedding_], [factor], graphs, progress=lambda done, total: seen.append((done, total))
    )
    assert z.shape == (30, 1)
    np.testing.assert_array_equal(z[25:], z[:5])
    assert seen[-1] == (25, 25)


def test_a_sample_that_did_not_represent_the_rest_is_told(monkeypatch):
    monkeypatch.setattr(sampled, "MOST_SAMPLED", 10)
    n, odd = 60, 40
    chosen = set(sample_rows(n, 0).tolist())
    plain, bent = rods(n), rods(n, odd=n)
    graphs = [plain[i] if i in chosen or i >= odd else bent[i] for i in range(n)]
    factor = keeper()
    with pytest.warns(MeshWarning, match="10 sampled meshes leave .* did not represent the rest"):
        fit_keep([factor.embedding_], [factor], graphs)
    factor = keeper()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_keep([factor.embedding_], [factor], plain)


def test_a_mesh_that_cannot_be_used_is_numbered_in_the_whole_column(monkeypatch):
    monkeypatch.setattr(sampled, "MOST_SAMPLED", 10)
    graphs = rods(25)
    for bad in (sample_rows(25, 0)[3], np.setdiff1d(np.arange(25), sample_rows(25, 0))[2]):
        spoiled = list(graphs)
        spoiled[bad] = Graph([[0.0, 0, 0]], [])
        factor = keeper()
        with pytest.raises(InputError, match=f"Graph {bad}"):
            fit_keep([factor.embedding_], [factor], spoiled)


def test_distances_of_kept_rows_are_those_of_whole_rows():
    """Rods have one number, so that a few components hold all of it."""
    graphs = rods(20)
    plain = SWWL("rod", n_iterations=1, n_projections=5, n_quantiles=5)
    rows = plain.fit(graphs)
    factor = SWWL("rod", n_iterations=1, n_projections=5, n_quantiles=5)
    factor.embedding_ = factor.make_embedding()
    ((z, left),) = fit_keep([factor.embedding_], [factor], graphs)
    kept = factor.representation(z, left)
    np.testing.assert_allclose(factor.items(kept)[0], plain.items(rows)[0], atol=1e-5)
    np.testing.assert_allclose(factor.represent(graphs[:3]), kept[:3], atol=1e-6)
    factor.fit(graphs)
    assert not hasattr(factor, "basis_")  # few graphs again: whole rows


def test_components_of_many_rows_are_those_of_few(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(50, 6)) * [5, 4, 3, 2, 1, 0.0]
    mean, found, ratio = principal_components(rows, 6)
    monkeypatch.setattr(components, "_MANY", 10)
    _, again, shares = principal_components(rows, 6)
    np.testing.assert_allclose(again, found, atol=1e-9)
    np.testing.assert_allclose(shares, ratio, atol=1e-9)
    z, left = Projector.of(rows, 1, 2).keep(rows)
    np.testing.assert_allclose(np.einsum("ij,ij->i", z, z) + left**2, ((rows - mean) ** 2).sum(axis=1), rtol=1e-6)


def test_far_cases_are_found_among_many(monkeypatch):
    rows = np.append(np.random.default_rng(0).normal(size=(99, 2)), [[50.0, 0.0]], axis=0)
    assert far_from_others(rows)[-1]
    monkeypatch.setattr(domain, "_MANY", 40)
    assert far_from_others(rows)[-1]
    assert far_from_others(rows).sum() < 20


def test_embedding_is_untouched():
    """A sample settles an embedding as if there were no other meshes."""
    graphs = rods(12)
    factor = keeper()
    fit_keep([factor.embedding_], [factor], graphs)
    plain = SWWLEmbedding(1, n_projections=5, n_quantiles=5).fit(graphs)
    np.testing.assert_array_equal(factor.embedding_.directions_, plain.directions_)


@pytest.mark.parametrize(
    "factor",
    [
        SWWL("rod", n_iterations=1, n_projections=5, n_quantiles=5),
        ASWWL("rod", n_iterations=1, n_projections=5, n_quantiles=5),
        PrincipalSWWL("rod", n_components=1, n_iterations=1, n_projections=5, n_quantiles=5),
    ],
    ids=repr,
)
def test_derivatives_go_through_what_is_kept(factor):
    """Of a function of what the process sees of a row, by central differences."""
    graphs = rods(12, odd=12)
    factor = clone(factor)
    factor.embedding_ = factor.make_embedding()
    ((z, left),) = fit_keep([factor.embedding_], [factor], graphs)
    train = factor.representation(z, left)
    row = factor.embedding_.transform(graphs[:1])[0].astype(float)
    rng = np.random.default_rng(0)
    blocks = factor.blocks(factor.of_row(row), train)
    shapes = [(b.n_ranges,) if isinstance(b, Coordinates) else (b.shape[1],) for b in blocks]
    weights = [rng.normal(size=shape) for shape in shapes]

    def value(row):
        total = 0.0
        for block, w in zip(factor.blocks(factor.of_row(row), train), weights, strict=True):
            seen = block.values[0] if isinstance(block, Coordinates) else 0.5 * block.dense()[0] ** 2
            total += float(w @ seen)
        return total

    found = factor.pull_back(factor.of_row(row), train, [w[:, None] for w in weights])[:, 0]
    direction = rng.normal(size=len(row))
    steps = (0.2, 0.1, 0.05, 0.025, 0.0125)  # what is kept is of single precision
    assert_slope(found @ direction, lambda h: value(row + h * direction), 1e-5, steps=steps)

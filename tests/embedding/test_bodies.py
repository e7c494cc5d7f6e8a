"""Sets of bodies as rows: what they keep and what they forget, derivatives, groups that are missing."""

import numpy as np
import pytest

from swwl import InputError, Mesh
from swwl.datasets.around import Box, Superellipse, mesh_around
from swwl.embedding.bodies import FORMS, BodyEmbedding, unpacked
from swwl.embedding.linear import linearize
from swwl.embedding.runner import packed


def channel(*bodies, names=("body",), n_nodes=500):
    """A channel around ellipses (x, y, length, tilt), the k-th of which is of the k-th group, or of the last."""
    shapes = [Superellipse((x, y), (length, 0.06), tilt) for x, y, length, tilt in bodies]
    points, triangles, loops = mesh_around(shapes, Box(3.0, 1.0), n_nodes)
    groups = {}
    for k, loop in enumerate(loops[:-1]):
        name = names[min(k, len(names) - 1)]
        sides = np.column_stack([loop, np.roll(loop, -1)])
        groups[name] = np.vstack([groups[name], sides]) if name in groups else sides
    return Mesh(points, {"triangle": triangles}, groups=groups)


A, B, C = (0.7, 0.4, 0.1, 0.3), (1.5, 0.6, 0.12, -0.5), (2.2, 0.35, 0.08, 0.9)
MESHES = [channel(A), channel(B), channel(A, B), channel(B, C), channel(A, C), channel(A, B, C)]


@pytest.mark.parametrize("form", FORMS)
def test_bodies_have_no_order(form):
    embedding = BodyEmbedding(["body"], form=form).fit(MESHES)
    one, other = embedding.transform([channel(A, B, C), channel(C, A, B)])
    np.testing.assert_allclose(one, other, atol=0.05)  # meshes differ a little
    assert np.abs(embedding.transform([channel(A, B), channel(A, C)])[0] - one).max() > 0.1


def test_rows_are_sums_over_bodies():
    embedding = BodyEmbedding(["body"], form="one by one").fit(MESHES)
    bodies = [np.random.default_rng(k).normal(size=(k + 1, 16)) for k in range(3)]
    together = embedding.row([np.vstack(bodies)])[0]
    np.testing.assert_allclose(together, sum(embedding.row([own])[0] for own in bodies), atol=1e-12)


def test_distances_are_those_of_a_gaussian_kernel():
    embedding = BodyEmbedding(["body"], form="one by one").fit(MESHES)
    rng = np.random.default_rng(0)
    first, second = (embedding.mean_ + embedding.spread_ * rng.normal(size=(1, 16)) for _ in range(2))
    a, b = (embedding.row([own])[0].reshape(16, -1) for own in (first, second))
    moved = ((first - second) / embedding.spread_).ravel()
    np.testing.assert_allclose((a * b).sum(axis=1), np.exp(-0.5 * (moved / 1.5) ** 2), atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("group", ["body", None])
def test_derivatives_are_those_of_differences(form, group):
    embedding = BodyEmbedding([group], form=form).fit(MESHES)
    mesh = channel((0.8, 0.45, 0.1, 0.2), (1.6, 0.55, 0.1, -0.4))
    found = linearize(embedding, mesh)
    np.testing.assert_allclose(found.row, embedding.transform([mesh])[0], atol=1e-9)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(len(found.row), 1))
    inner = (np.abs(mesh.points - [1.5, 0.5]) < [1.49, 0.49]).all(axis=1)
    step = rng.normal(size=mesh.points.shape) * inner[:, None]

    def moved(h):
        return linearize(embedding, Mesh(mesh.points + h * step, mesh.cells, groups=mesh.groups)).row @ weights[:, 0]

    expected = (moved(1e-6) - moved(-1e-6)) / 2e-6
    assert (found.pull_back(weights)[:, :, 0] * step).sum() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_groups_that_some_training_meshes_lack():
    some = [
        channel(A, B, names=("first", "second")),
        channel(B, names=("first",)),
        channel(C, A, names=("first", "second")),
    ]
    embedding = BodyEmbedding(["first", "second"]).fit(some)
    assert embedding.in_use() == ["first"] and embedding.names()[1] == "first: x"
    sets = BodyEmbedding(["second"], form="together").fit(some)  # a mesh without has none
    assert sets.counts_.tolist() == [[0, 1]]
    assert np.abs(sets.transform(some[1:2])).max() == 0
    with pytest.raises(InputError, match="has no group 'first', which the model has learned from"):
        embedding.transform([channel(A, names=("other",))])
    with pytest.raises(InputError, match="has no group 'second', and none of second is in all meshes.*--no-groups"):
        BodyEmbedding(["second"]).fit(some)


def test_bad_options():
    for options, text in (({"form": "all"}, "form must be one of"), ({"groups": "body"}, "must be a list of names")):
        with pytest.raises(InputError, match=text):
            BodyEmbedding(**({"groups": ["body"]} | options)).fit(MESHES)
    with pytest.raises(InputError, match="is for one group, not for 2"):
        BodyEmbedding(["a", "b"], form="together").fit(MESHES)


def test_packed_and_unpacked():
    given = [np.arange(32.0).reshape(2, 16), None, np.empty((0, 16))]
    found = unpacked(packed(2, given), 3)
    np.testing.assert_array_equal(found[0], given[0])
    assert found[1] is None and found[2].shape == (0, 16)

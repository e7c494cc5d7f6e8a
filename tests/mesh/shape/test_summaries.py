import numpy as np
import pytest

from swwl import Graph, InputError, Mesh
from swwl.mesh.shape.sampling import cell_samples, skin_samples
from swwl.mesh.shape.summaries import summaries, summary_names
from tests.helpers import plate
from tests.mesh.shapes import pixels, ring, shuffled, solid, sphere


def named(item):
    return dict(zip(summary_names(item), summaries(item).tolist(), strict=True))


def test_numbers_of_a_plate():
    mesh = Mesh([[0, 0], [3, 0], [3, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]})
    found = named(mesh)
    assert len(found) == 20
    assert found["log size"] == pytest.approx(np.log(3))
    assert found["log nodes"] == found["log skin nodes"] == pytest.approx(np.log(4))
    assert found["log cells"] == 0
    assert found["maximum of nodes, axis 0"] == 3
    assert found["deviation of nodes, axis 0"] == 1.5
    assert found["deviation of cells, axis 0"] == pytest.approx(3 / np.sqrt(12))
    # two sides of length 3 spread evenly, two of length 1 at the ends
    assert found["deviation of skin, axis 0"] == pytest.approx(np.sqrt((6 * 9 / 12 + 2 * 9 / 4) / 8))


def test_moments_are_those_of_very_many_samples():
    rng = np.random.default_rng(0)
    meshes = [Mesh(*plate(60)), sphere(1), solid(np.array([[0, 0, 0], [1, 1, 0]]), "tetra", rng), ring(7)]
    for mesh in meshes:
        found, d = named(mesh), mesh.dimension
        assert len(found) == 8 * d + 4
        for what, samples in (("cells", cell_samples(mesh, 100_000)), ("skin", skin_samples(mesh, 100_000))):
            mean = samples.masses @ samples.points
            deviation = np.sqrt(samples.masses @ (samples.points - mean) ** 2)
            for k in range(d):
                assert found[f"mean of {what}, axis {k}"] == pytest.approx(mean[k], abs=1e-9)
                assert found[f"deviation of {what}, axis {k}"] == pytest.approx(deviation[k], rel=1e-3)


def test_they_do_not_depend_on_numbering():
    rng = np.random.default_rng(0)
    mesh = pixels(np.array([[0, 0], [1, 0], [0, 1]]), "triangle", rng)
    np.testing.assert_allclose(summaries(mesh), summaries(shuffled(mesh, rng)), atol=1e-12)


def test_lines_in_space_have_their_cells_for_a_skin():
    found = named(Mesh([[0, 0, 0], [1, 0, 0], [1, 2, 0]], [[0, 1], [1, 2]]))
    assert found["mean of skin, axis 1"] == found["mean of cells, axis 1"] == pytest.approx(2 / 3)
    assert found["log skin nodes"] == pytest.approx(np.log(3))
    with pytest.raises(InputError, match="no cells with a length"):
        summaries(Mesh([[0.0, 0]], {}))


def test_numbers_of_a_graph():
    found = named(Graph([[0.0, 0], [3, 4], [3, 4]], [(0, 1), (1, 2)]))
    assert len(found) == 15
    assert found["mean of edge lengths"] == found["deviation of edge lengths"] == 2.5
    assert found["edges per node"] == pytest.approx(2 / 3)
    assert found["mean difference of feature 1 along edges"] == 2
    alone = named(Graph([[1.0]], []))
    assert alone["log edges"] == alone["mean of edge lengths"] == 0
    assert all(np.isfinite(list(alone.values())))

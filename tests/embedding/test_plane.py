"""Meshes one cell thick are embedded as the plane meshes that they stand for, where all are as thick."""

import numpy as np
import pandas as pd
import pytest

from swwl import InputError, Mesh, RobustGPRegressor, SWWLEmbedding, load_model
from swwl.embedding.linear import linearize
from swwl.embedding.runner import fit_transform_together
from swwl.embedding.summaries import SummaryEmbedding
from swwl.errors import PlaneMeshWarning
from swwl.storage.memory import Memory
from tests.helpers import SMALL, plate
from tests.mesh.shapes import extruded, revolved, solid

pytestmark = pytest.mark.filterwarnings("ignore::swwl.errors.PlaneMeshWarning")


def plates(n=6):
    found = [Mesh(*plate(80, k, 1 + k / n)) for k in range(n)]
    boundary = {"left": [[0, 9]]}
    return [Mesh(m.points, m.cells, {"T": m.points[:, 0]}, groups=boundary) for m in found]


EMBEDDINGS = {
    "nodes": lambda: SWWLEmbedding(**SMALL),
    "area": lambda: SWWLEmbedding(**SMALL, node_weights="area", fields=["T"]),
    "skin": lambda: SWWLEmbedding(**SMALL, measure="skin"),
    "edges": lambda: SWWLEmbedding(**SMALL, measure="edges"),
    "part": lambda: SummaryEmbedding("part"),
    "graph": lambda: SummaryEmbedding("graph"),
}


@pytest.mark.parametrize("kind", EMBEDDINGS)
@pytest.mark.parametrize("form", ["objects", "files"])
def test_rows_are_those_of_plane_meshes(kind, form, tmp_path):
    plane = plates()
    expected = EMBEDDINGS[kind]().fit_transform(plane)
    thick = [extruded(mesh) for mesh in plane]
    if form == "files":
        for k, mesh in enumerate(thick):
            mesh.write(tmp_path / f"{k}.vtu")
        thick = [tmp_path / f"{k}.vtu" for k in range(len(plane))]
    embedding = EMBEDDINGS[kind]()
    with pytest.warns(PlaneMeshWarning, match="6 meshes are one cell thick: they are learned as plane meshes"):
        found = embedding.fit_transform(thick)
    assert embedding.plane_
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(embedding.transform(thick[2:3]), expected[2:3], atol=1e-6)
    np.testing.assert_allclose(embedding.transform(plane[2:3]), expected[2:3], atol=1e-6)  # plane meshes beside them


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_a_layer_is_collapsed_where_training_meshes_were_plane(kind):
    plane = plates()
    embedding = EMBEDDINGS[kind]().fit(plane)
    found = embedding.transform([extruded(mesh) for mesh in plane])
    np.testing.assert_allclose(found, embedding.transform(plane), atol=1e-6)


def test_of_different_thickness_they_stay_solids():
    thick = [extruded(mesh, 0.1 + k / 10) for k, mesh in enumerate(plates())]
    embedding = SWWLEmbedding(**SMALL).fit(thick)
    assert not embedding.plane_
    assert embedding.n_node_features_ == 3


def test_a_solid_is_refused_where_training_meshes_were_layers():
    embedding = SWWLEmbedding(**SMALL).fit([extruded(mesh) for mesh in plates()])
    cubes = solid(
        [(x, y, z) for x in range(2) for y in range(2) for z in range(2)], "hexahedron", np.random.default_rng(0)
    )
    with pytest.raises(InputError, match="Graph 0: the mesh is neither plane nor one cell thick"):
        embedding.transform([cubes])


def test_groups_of_the_layer_are_those_of_the_plane():
    plane = plates()
    left = SWWLEmbedding(**SMALL, group="left")
    np.testing.assert_allclose(
        left.fit_transform([extruded(mesh) for mesh in plane]),
        SWWLEmbedding(**SMALL, group="left").fit_transform(plane),
        atol=1e-6,
    )
    front = SWWLEmbedding(**SMALL, group="front").fit([extruded(mesh) for mesh in plane])
    assert not front.plane_  # no part of the plane mesh


def test_a_memory_keeps_layers_and_solids_apart(tmp_path):
    plane = plates()
    files = [tmp_path / f"{k}.vtu" for k in range(len(plane))]
    for file, mesh in zip(files, plane, strict=True):
        extruded(mesh).write(file)
    memory = Memory(tmp_path / "memory")
    embeddings = [SWWLEmbedding(**SMALL), SummaryEmbedding("part")]
    first = fit_transform_together(embeddings, files, memory=memory)
    again = fit_transform_together([SWWLEmbedding(**SMALL), SummaryEmbedding("part")], files, memory=memory)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("make", [extruded, revolved])
@pytest.mark.parametrize("kind", ["nodes", "skin", "part"])
def test_gradients_are_those_of_the_plane_mesh_in_equal_shares(make, kind):
    plane = [Mesh(m.points + [0.0, 1.0], m.cells) for m in plates()]
    flat, thick = EMBEDDINGS[kind]().fit(plane), EMBEDDINGS[kind]().fit([make(mesh) for mesh in plane])
    one, two = linearize(flat, plane[2]), linearize(thick, make(plane[2]))
    np.testing.assert_allclose(two.row, one.row, atol=1e-7)
    some = np.random.default_rng(0).normal(size=(len(one.row), 2))
    expected, found = one.pull_back(some), two.pull_back(some)
    n = plane[2].n_nodes
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found[:n, 0] + found[n:, 0], expected[:, 0], atol=1e-6 * scale)
    lengths = [np.linalg.norm(found[part], axis=1) for part in (slice(n), slice(n, None))]
    np.testing.assert_allclose(*lengths, atol=1e-9 * scale)
    np.testing.assert_allclose(2 * lengths[0], np.linalg.norm(expected, axis=1), atol=1e-6 * scale)


def test_a_model_file_remembers(tmp_path):
    plane = plates(12)
    y = np.array([np.ptp(mesh.points[:, 0]) for mesh in plane])
    thick = pd.DataFrame({"mesh": pd.Series([extruded(mesh) for mesh in plane], dtype=object)})
    model = RobustGPRegressor(calibrate=False).fit(thick[:11], y[:11])
    flat = RobustGPRegressor(calibrate=False).fit(pd.DataFrame({"mesh": plane[:11]}), y[:11])
    model.save(tmp_path / "model.swwl")
    back = load_model(tmp_path / "model.swwl")
    np.testing.assert_array_equal(back.predict(thick[11:]), model.predict(thick[11:]))
    np.testing.assert_allclose(model.predict(thick[11:]), flat.predict(pd.DataFrame({"mesh": plane[11:]})), rtol=1e-6)

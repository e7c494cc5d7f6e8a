"""One mesh and many inputs of a field model: the same answers, and a verdict."""

import numpy as np
import pandas as pd
import pytest

from swwl import Elliptic, FieldRegressor, Mesh
from swwl.errors import InputError
from swwl.fields.model import MeshNodes
from swwl.fields.one_mesh import PreparedFields
from swwl.kernels import Components
from tests.helpers import plate


def cases(n, seed, widths=(1, 2)):
    """A table of plates with loads; the meshes differ in their nodes and carry a field u."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"load": rng.uniform(1, 3, n), "width": rng.uniform(*widths, n)})
    meshes = []
    for number, (load, width) in enumerate(table.to_numpy()):
        points, cells = plate(40 + number % 7, seed=number)
        x = points * [width, 1]
        meshes.append(Mesh(x, {"triangle": cells}, {"u": load * np.sin(x[:, 0])}))
    return table.assign(mesh=pd.Series(meshes, dtype=object))


@pytest.fixture(scope="module")
def model():
    skin = Components("mesh", n_components=2, measure="skin", n_iterations=0, n_projections=10, n_quantiles=20)
    options = {"n_modes": 2, "basis_size": 40, "warp": "none", "descriptors": {"box": 1.0, "lag0.1": 0.3}}
    regressor = FieldRegressor(Elliptic(skin, "load"), calibrate=False, n_jobs=1, **options)
    return regressor.fit(cases(110, 0)[["mesh", "load"]], "u")


def test_answers_are_the_models_bit_for_bit(model):
    new = cases(2, 1)
    for row in range(2):
        prepared = PreparedFields(model, new["mesh"][row])
        one = new.iloc[[row]].reset_index(drop=True)
        for _ in range(2):  # what is kept changes nothing
            for found, wanted in zip(
                prepared.cases(one[["load"]]).predict(), model.predict(one, return_std=True), strict=True
            ):
                np.testing.assert_array_equal(found[0]["u"], wanted[0]["u"])
        own, wanted = prepared.cases(one[["load"]]).derived("max"), model.derived(one, "max")
        np.testing.assert_array_equal(own.to_numpy(), wanted.to_numpy())


def test_large_meshes_keep_nothing_and_say_the_same(model, monkeypatch):
    new = cases(1, 2)
    kept = PreparedFields(model, new["mesh"][0]).cases(new[["load"]]).predict()[0][0]["u"]
    monkeypatch.setattr("swwl.fields.model._MOST_NODES", 10)
    calls = []
    pieces = MeshNodes._pieces
    monkeypatch.setattr(MeshNodes, "_pieces", lambda nodes: (calls.append(nodes), pieces(nodes))[1])
    prepared = PreparedFields(model, new["mesh"][0])
    for _ in range(2):
        np.testing.assert_array_equal(prepared.cases(new[["load"]]).predict()[0][0]["u"], kept)
    assert len(calls) == 2
    monkeypatch.setattr("swwl.fields.model._MOST_NODES", 10_000)
    for _ in range(2):
        np.testing.assert_array_equal(prepared.cases(new[["load"]]).predict()[0][0]["u"], kept)
    assert len(calls) == 3


def test_the_verdict_tells_other_meshes_and_inputs(model):
    new = cases(20, 3)
    inside = [PreparedFields(model, mesh).cases(pd.DataFrame({"load": [load]})).domain["inside"][0]
              for mesh, load in zip(new["mesh"], new["load"], strict=True)]  # fmt: skip
    assert sum(inside) >= 18
    mesh = new["mesh"][0]
    far = PreparedFields(model, Mesh(1000 * mesh.points, dict(mesh.cells))).cases(new[["load"]][:1]).domain
    assert not far["inside"][0] and "units" in far["kind"][0]
    out = PreparedFields(model, mesh).cases(pd.DataFrame({"load": [9.0]})).domain
    assert not out["inside"][0] and "load is 9" in out["why"][0]


def test_other_cells_are_refused_where_all_meshes_share_theirs():
    points, cells = plate(30)
    meshes = [Mesh(points * [w, 1], {"triangle": cells}, {"u": w * points[:, 0]}) for w in np.linspace(1, 2, 8)]
    model = FieldRegressor(calibrate=False, n_jobs=1).fit(pd.DataFrame({"mesh": meshes}), "u")
    with pytest.raises(InputError, match="different cells"):
        PreparedFields(model, Mesh(*(lambda p, c: (p, {"triangle": c}))(*plate(31))))

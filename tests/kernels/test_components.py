"""Factors that keep components in place of rows."""

import numpy as np
import pandas as pd
import pytest

from swwl import Elliptic, InputError, Mesh, PrincipalSWWL, RobustGPRegressor, load_model
from swwl.kernels import Components, PartMeasures, Summaries
from swwl.kernels.shared import distinct_factors, fit_kernels, represent_columns
from tests.helpers import SMALL, assert_slope, plate, plates
from tests.mesh.shapes import ring, sphere


@pytest.fixture(scope="module")
def meshes():
    return [Mesh(*plate(60, seed, 1 + 0.1 * (seed % 7))) for seed in range(20)]


def test_with_all_components_kept_distances_are_those_of_whole_rows(meshes):
    kept = Components("mesh", n_components=3, n_kept=19, **SMALL)
    whole = PrincipalSWWL("mesh", n_components=3, **SMALL)
    (own, rest), (theirs, remainder) = kept.blocks(kept.fit(meshes)), whole.blocks(whole.fit(meshes))
    np.testing.assert_allclose(np.abs(own.values), np.abs(theirs.values), atol=1e-5 * np.ptp(theirs.values))
    np.testing.assert_allclose(rest.dense(), remainder.dense(), atol=1e-4 * remainder.dense().max())
    rows = kept.represent(meshes[:5])
    np.testing.assert_allclose(rows[0], kept.fit(meshes)[0][:5], atol=1e-6)


def test_what_is_left_falls_as_more_is_kept(meshes):
    left = [Components("mesh", n_kept=k, **SMALL).fit(meshes)[1].mean() for k in (9, 12, 16)]
    assert left[0] > left[1] > left[2]


def test_iterations_have_components_of_their_own(meshes):
    kernel = Components("mesh", n_components=2, n_kept=5, per_iteration=True, **SMALL)
    rows = kernel.fit(meshes)
    assert rows[0].shape == (20, 10)
    assert kernel.range_names() == [
        f"mesh (iteration {h}, {part})" for h in (0, 1) for part in ("component 1", "component 2", "others")
    ]
    assert len(kernel.blocks(rows)) == len(kernel.correlations()) == 4


def test_factors_of_one_source_are_fitted_once(meshes):
    wide, narrow = (Components("mesh", n_components=k, **SMALL) for k in (8, 3))
    other = Components("mesh", n_components=3, measure="skin", n_projections=8, n_quantiles=20)
    kernels = [Elliptic(wide, "load"), Elliptic(narrow, Summaries("mesh"), "load"), Elliptic(other)]
    factors, places = distinct_factors(kernels)
    assert len(factors) == 4
    assert places == [[0, 1], [0, 2, 1], [3]]
    table = pd.DataFrame({"mesh": pd.Series(meshes, dtype=object), "load": np.arange(20.0)})
    rows = fit_kernels(kernels, table.__getitem__)
    assert rows[0][0] is rows[1][0]
    assert narrow.components_ is wide.components_
    for own, alone in ((rows[0][0], wide), (rows[1][1], kernels[1].factors[1]), (rows[2][0], other)):
        np.testing.assert_array_equal(own[0], alone.fit(meshes)[0])
    again = represent_columns(kernels, table[:3].__getitem__)
    np.testing.assert_allclose(again[2][0][0], rows[2][0][0][:3], atol=1e-12)


def test_summaries_of_meshes_and_graphs():
    table = plates(20)
    for kind, values in (("graph", table["mesh"]), ("mesh", [Mesh(*plate(40, s)) for s in range(20)])):
        kernel = Summaries("mesh", n_components=4, kind=kind)
        coordinates, left = kernel.fit(values)
        assert coordinates.shape[0] == 20
        assert left.max() < 1e-3 * np.abs(coordinates).max()  # components are kept in single precision
    with pytest.raises(InputError, match="graph 1: the mesh is neither plane nor one cell thick"):
        kernel.represent(
            [Mesh(*plate(40, 0)), Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], {"tetra": [[0, 1, 2, 3]]})]
        )


def test_bad_numbers_of_components(meshes):
    with pytest.raises(InputError, match="n_components must be a whole number of at least 0, not 1.5"):
        Components("mesh", n_components=1.5).fit(meshes)
    with pytest.raises(InputError, match="n_kept must be a whole number of at least 1, not 0"):
        Components("mesh", n_kept=0).fit(meshes)


def test_models_keep_no_wide_rows(tmp_path):
    table = plates(40)
    kernel = Elliptic(Components("mesh", n_components=3, n_kept=8, **SMALL), "load")
    model = RobustGPRegressor(kernel, calibrate=False).fit(table[:30], "stiffness")
    model.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl")
    np.testing.assert_array_equal(again.predict(table[30:]), model.predict(table[30:]))
    assert again.train_rows_[0][0].shape == (30, 8)


def balls(n, seed=0):
    """A table of ellipsoids with a load, and how stiff they are."""
    rng = np.random.default_rng(seed)
    half, load = rng.uniform(1, 2, (n, 3)), rng.uniform(1, 3, n)
    meshes = [Mesh(sphere(2).points * axes, sphere(2).cells) for axes in half]
    return pd.DataFrame({"mesh": pd.Series(meshes, dtype=object), "load": load, "y": load * half[:, 0] / half[:, 1]})


def test_measures_of_parts_have_a_range_each_and_are_embedded_once():
    table = balls(12)
    kernels = [Elliptic(PartMeasures("mesh", measures=own), "load") for own in (["sizes", "corners"], ["faces"])]
    factors, places = distinct_factors(kernels)
    assert len(factors) == 2 and places == [[0, 1], [0, 1]]
    rows = fit_kernels(kernels, table.__getitem__)
    assert rows[0][0] is rows[1][0]
    first, second = (kernel.factors[0] for kernel in kernels)
    names = first.range_names()
    assert "mesh (log inside)" in names and not any("towards" in name for name in names + [names[0]])
    assert all("towards" in name for name in second.range_names())
    assert "mesh (corners: total)" not in names  # one for all
    (block,) = first.training_blocks(rows[0][0])
    assert block.values.shape == (12, len(names))
    np.testing.assert_allclose(block.values.std(axis=0), 1.0)


def test_the_mesh_of_a_part_does_not_count():
    table, kernel = balls(12), PartMeasures("mesh", measures=["sizes", "faces", "edges", "corners"])
    kernel.fit(table["mesh"])
    mesh = table["mesh"][0]
    triangles, middle = mesh.cells["triangle"], mesh.n_nodes + np.arange(len(mesh.cells["triangle"]))
    fans = [np.column_stack([triangles[:, k], triangles[:, (k + 1) % 3], middle]) for k in range(3)]
    finer = Mesh(np.vstack([mesh.points, mesh.points[triangles].mean(axis=1)]), {"triangle": np.vstack(fans)})
    one, other = kernel.represent([mesh, finer])[0]
    np.testing.assert_allclose(other, one, atol=1e-9)


def test_parts_that_are_all_alike_and_measures_that_there_are_not():
    kernel = PartMeasures("mesh")
    coordinates, left = kernel.fit([sphere(1)] * 4)
    assert coordinates.shape == (4, 0) and not left.any()
    assert kernel.range_names() == ["mesh"] and kernel.blocks((coordinates, left))[0].values.shape == (4, 1)
    with pytest.raises(InputError, match="measures must be a list of some of sizes, faces, edges, corners, not"):
        PartMeasures("mesh", measures=["holes"]).fit([sphere(1)] * 4)
    with pytest.raises(InputError, match="graph 1 has 43 summaries, but fit saw 118: another dimension"):
        kernel.represent([sphere(1), ring(9)])


def test_models_of_measures_are_kept_and_differentiated(tmp_path):
    table = balls(40)
    model = RobustGPRegressor(Elliptic(PartMeasures("mesh"), "load"), calibrate=False).fit(table[:30], "y")
    assert model.score(table[30:], "y") > 0.95
    model.save(tmp_path / "m.swwl")
    np.testing.assert_array_equal(load_model(tmp_path / "m.swwl").predict(table[30:]), model.predict(table[30:]))
    row = table[30:31]
    mesh = row["mesh"].iloc[0]
    direction = np.random.default_rng(0).normal(size=mesh.points.shape)

    def along(h):
        moved = pd.Series([Mesh(mesh.points + h * direction, mesh.cells)], index=row.index, dtype=object)
        return model.predict(row.assign(mesh=moved), widen=False)[0]

    (found,) = model.sensitivity(row)
    assert_slope((found.gradient * direction).sum(), along, rtol=1e-4, scale=1.0)

"""Factors that keep components in place of rows."""

import numpy as np
import pandas as pd
import pytest

from swwl import Elliptic, InputError, Mesh, PrincipalSWWL, RobustGPRegressor, load_model
from swwl.kernels import Components, Summaries
from swwl.kernels.shared import distinct_factors, fit_kernels, represent_columns
from tests.helpers import SMALL, plate, plates


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
    with pytest.raises(InputError, match="graph 1 has 28 summaries, but fit saw 20"):
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

"""Plain models on plain numbers, for comparison."""

import numpy as np
import pandas as pd

from swwl.kernels import Categories, Components, Matern52, PartMeasures
from swwl.regression.spreadsheet import MODELS, plain_columns, spreadsheet_errors
from tests.mesh.shapes import sphere


def test_each_does_what_it_can():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (150, 3))
    targets = np.column_stack([2 * x[:, 0] - x[:, 1], np.where(x[:, 2] > 0, 1.0, -1.0), rng.normal(size=150)])
    found = spreadsheet_errors(x, targets, ["line", "step", "noise"]).pivot(
        index="target", columns="model", values="rmse"
    )
    assert list(found.columns) == sorted(MODELS)
    assert found.loc["line", "linear"] < 0.01 < found.loc["line", "boosted"]
    assert found.loc["step", "boosted"] < 0.3 < found.loc["step", "linear"]
    assert (found.loc["noise"] > 0.85 * targets[:, 2].std()).all()
    again = spreadsheet_errors(x, 1000 * targets[:, :1] + 5, ["line"])["rmse"][0]
    np.testing.assert_allclose(again, 1000 * found.loc["line", "linear"], rtol=1e-6)


def test_numbers_categories_and_sizes_of_parts_are_columns():
    meshes = [sphere(1, radius) for radius in (1.0, 1.5, 2.0, 4.0)]
    skin = Components("part", n_components=2, measure="skin", n_iterations=0, n_projections=4, n_quantiles=5)
    factors = [Matern52("load"), Categories("kind"), skin, PartMeasures("part", measures=["sizes"])]
    columns = [pd.Series([1.0, 2.0, 3.0, 4.0]), pd.Series(["a", "b", "a", "a"]), meshes, meshes]
    rows = [factor.fit(values) for factor, values in zip(factors, columns, strict=True)]
    found = plain_columns(factors, rows)
    np.testing.assert_array_equal(found[:, 0], [1, 2, 3, 4])
    assert found.shape == (4, 1 + 2 + rows[3][0].shape[1])  # sizes in place of the skin
    assert plain_columns(factors[:3], rows[:3]).shape[1] > 3

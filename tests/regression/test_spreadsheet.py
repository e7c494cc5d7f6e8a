"""Plain models on plain numbers, for comparison."""

import numpy as np

from swwl.regression.spreadsheet import MODELS, spreadsheet_errors


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

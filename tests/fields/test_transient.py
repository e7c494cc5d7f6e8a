"""Fields over time: strips that cool, of other lengths, meshes and times each."""

import numpy as np
import pandas as pd
import pytest

from swwl import FieldRegressor, InputError, Mesh, MeshSeries, TransientRegressor, load_model
from swwl.datasets import make_heating
from swwl.fields.scores import mesh_score
from swwl.fields.sizes import field_sizes, stretch
from swwl.fields.transient import common_times, time_weights
from swwl.mesh.series import MOTION

TIMES = np.linspace(0, 1, 9)


def history(rate, x, times):
    return np.exp(-rate * times)[:, None] * (1 + np.sin(2 * x))


def rod(length, rate, n=15, times=TIMES):
    """A strip of two rows of nodes, more dense at its left end."""
    x = length * np.linspace(0, 1, n) ** 1.2
    points = np.vstack([np.c_[x, np.zeros(n)], np.c_[x, np.full(n, 0.1)]])
    low = np.arange(n - 1)
    triangles = np.vstack([np.c_[low, low + 1, low + n + 1], np.c_[low, low + n + 1, low + n]])
    u = history(rate, points[:, 0], times)
    return MeshSeries(Mesh(points, triangles), times, {"u": u, "v": np.stack([u, 2 * u], axis=2)})


@pytest.fixture(scope="module")
def rods():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"length": rng.uniform(1, 2, 44), "rate": rng.uniform(1, 3, 44)})
    counts = rng.integers(12, 20, 44)
    table["mesh"] = [rod(a, b, n) for a, b, n in zip(table["length"], table["rate"], counts, strict=True)]
    return table


@pytest.fixture(scope="module")
def fitted(rods):
    return TransientRegressor(basis_size=20, n_modes=6).fit(rods[8:][["mesh", "rate"]], ["u", "v"])


def test_new_rods_at_their_times_and_between(fitted, rods):
    new = rods[:8]
    at = np.array([0.05, 0.3, 0.77])
    means, stds = fitted.predict(new, True, times=at)
    for mean, std, (_, row) in zip(means, stds, new.iterrows(), strict=True):
        truth = history(row["rate"], row["mesh"].mesh.points[:, 0], at)
        assert mean["u"].shape == std["u"].shape == truth.shape and mean["v"].shape == (*truth.shape, 2)
        assert np.abs(mean["u"] - truth).max() < 0.06
        np.testing.assert_allclose(mean["v"][..., 1] / 2, truth, atol=0.06)
    whole = fitted.predict(new)
    assert whole[0]["u"].shape[0] == len(TIMES)


def test_intervals_hold_and_bands_of_whole_histories_are_wider(fitted, rods):
    new = rods[:8]
    lower, upper = fitted.predict_interval(new)
    low, high = fitted.predict_interval(new, simultaneous=True)
    inside = []
    for k, series in enumerate(new["mesh"]):
        truth = series.fields["u"]
        inside.append(((lower[k]["u"] <= truth) & (truth <= upper[k]["u"])).mean())
        assert (high[k]["u"] - low[k]["u"]).mean() > (upper[k]["u"] - lower[k]["u"]).mean()
        assert lower[k]["u"].min() >= 0  # as all training fields keep it
    assert np.mean(inside) > 0.8


def test_a_field_at_one_time_is_that_of_a_field_regressor(fitted, rods):
    """The grid of times makes components: at its times nothing is interpolated."""
    new = rods[:2]
    meshes = [fitted.at_grid(series) for series in new["mesh"]]
    fields = fitted.fields_.predict(new.assign(mesh=meshes))
    assert isinstance(fitted.fields_, FieldRegressor)
    np.testing.assert_array_equal(fitted.predict(new)[1]["u"], np.maximum(fields[1]["u"].T, 0))


def test_samples_and_series(fitted, rods, tmp_path):
    drawn = fitted.sample(rods[:2], 3, 0, times=[0.2, 0.4])
    assert drawn[0]["v"].shape == (3, 2, rods["mesh"][0].mesh.n_nodes, 2)
    series = fitted.predict_series(rods[:1], times=[0.2, 0.4])[0]
    assert set(series.fields) >= {"u", "u_std", "u_lower95", "u_upper95"} and series.times.tolist() == [0.2, 0.4]
    flat = MeshSeries(
        Mesh(np.pad(series.mesh.points, ((0, 0), (0, 1))), series.mesh.cells), series.times, series.fields
    )
    flat.write(tmp_path / "s.pvd")
    np.testing.assert_allclose(MeshSeries.read(tmp_path / "s.pvd").fields["u_std"], series.fields["u_std"])


def test_a_file_says_the_same(fitted, rods, tmp_path):
    fitted.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl")
    for one, other in zip(fitted.predict(rods[:3]), again.predict(rods[:3]), strict=True):
        np.testing.assert_array_equal(one["u"], other["u"])
    assert again.limits_ == fitted.limits_ and again.domain(rods[:3]).equals(fitted.domain(rods[:3]))
    state = fitted.get_state()
    state.times = state.times[:-1]
    with pytest.raises(InputError, match="components, but times"):
        TransientRegressor.from_state({name: getattr(state, name) for name in state.__struct_fields__})


def test_cases_with_times_of_their_own(rods):
    rng = np.random.default_rng(1)
    rows = []
    for _, row in rods.iterrows():
        times = np.sort(np.r_[0, rng.uniform(0, 1, rng.integers(8, 12)), 1.0])
        rows.append(rod(row["length"], row["rate"], 15, times))
    table = rods.assign(mesh=rows)
    model = TransientRegressor(basis_size=20, n_modes=5).fit(table[8:][["mesh", "rate"]], "u")
    found = model.predict(table[:8], times=[0.25, 0.5])
    for one, (_, row) in zip(found, table[:8].iterrows(), strict=True):
        truth = history(row["rate"], row["mesh"].mesh.points[:, 0], np.array([0.25, 0.5]))
        assert np.abs(one["u"] - truth).max() < 0.15


def test_grids_of_times():
    long = np.linspace(0, 1, 101)
    assert len(common_times([long, long], 24)) == 24
    weights = time_weights(TIMES, np.array([0.1, 0.9]))
    np.testing.assert_allclose(weights @ TIMES**3, [0.001, 0.729], atol=1e-12)  # cubic splines of a cubic
    np.testing.assert_allclose(time_weights(TIMES, np.array([0.1]), smooth=False).sum(), 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.assign(mesh=[rod(1, 1, times=TIMES[:1])] * len(t)), "has 1 time, but at least 2"),
        (
            lambda t: t.assign(mesh=[rod(1, 1, times=TIMES + 3 * (k % 2)) for k in range(len(t))]),
            "Case 1 begins at time 3 and case 0 ends at 1, so that all share less than half",
        ),
        (
            lambda t: t.assign(
                mesh=[rod(1, 1, times=TIMES if k != 2 else 1 - 0.1 * TIMES[::-1]) for k in range(len(t))]
            ),
            "Case 2 begins at time 0.9 and case 0 ends at 1",
        ),
        (lambda t: t.drop(columns="mesh"), "no column of meshes"),
        (lambda t: t.assign(mesh=[m.mesh for m in t["mesh"]]), "holds a Mesh, but a series"),
    ],
)
def test_mistakes_in_training(rods, change, said):
    with pytest.raises(InputError, match=said):
        TransientRegressor().fit(change(rods[["mesh", "rate"]]), "u")


def test_mistakes(fitted, rods):
    with pytest.raises(InputError, match="'w' is not among those of the first case: u, v"):
        TransientRegressor().fit(rods, "w")
    with pytest.raises(InputError, match="n_times is 1"):
        TransientRegressor(n_times=1).fit(rods, "u")
    with pytest.raises(InputError, match="Time 2 is requested, but training cases have times from 0 to 1"):
        fitted.predict(rods[:1], times=[0.5, 2])
    with pytest.raises(InputError, match="not sorted"):
        fitted.predict(rods[:1], times=[0.5, 0.2])


@pytest.mark.slow
def test_plates_of_changing_topology_that_warm_up():
    """Pipes stay hot exactly, nothing is below zero or above one, and histories are near the truth."""
    table = make_heating(36, n_nodes=250, random_state=5)
    model = TransientRegressor(basis_size=80, n_modes=10).fit(table[:30], "temperature")
    found = model.predict(table[30:])
    for one, series in zip(found, table["mesh"][30:], strict=True):
        values = one["temperature"]
        assert (values[:, series.mesh.groups["pipes"].nodes] == 1).all()
        assert values.min() >= 0 and values.max() <= 1
        assert np.sqrt(np.mean((values - series.fields["temperature"]) ** 2)) < 0.15


def test_meshes_that_move():
    def beam(load):
        x = np.linspace(0, 1, 9)
        lines = np.column_stack([np.arange(8), np.arange(1, 9)])
        return MeshSeries.of([(t, Mesh(np.c_[x, load * t * x**2], {"line": lines})) for t in (0.0, 1.0, 2.0)])

    loads = np.linspace(0.5, 1.5, 24)
    table = pd.DataFrame({"load": loads, "mesh": [beam(load) for load in loads]})
    model = TransientRegressor().fit(table.drop(index=11), MOTION)
    moved = model.predict_series(table.loc[[11]], times=[1.5])[0].at(0).points
    np.testing.assert_allclose(
        moved,
        table["mesh"][11].mesh.points + np.c_[np.zeros(9), loads[11] * 1.5 * np.linspace(0, 1, 9) ** 2],
        atol=0.01,
    )


def test_the_largest_value_of_a_history_is_that_over_nodes_and_times(fitted, rods):
    """Not that of the norm of a node over all times: by scores, stretched fields and derived numbers alike."""
    mesh = rods["mesh"][0].mesh
    values = np.arange(6.0).reshape(-1, 3)[:, [0, 2, 1]]  # two nodes, three times
    line = Mesh([[0.0], [1.0]], {"line": [[0, 1]]})
    assert field_sizes(line, values, 3)[1] == 5 and field_sizes(line, values)[1] > 7
    assert stretch(values, 10.0, 2.0, 3).shape == (2, 3) and (values * stretch(values, 10.0, 2.0, 3)).max() == 10
    score = mesh_score(values, values + 1, times=3)
    assert (score.largest, score.largest_predicted, score.n) == (5, 6, 6)
    cases = fitted._cases(rods[:8][["mesh", "rate"]], False)
    truth = np.array([one.fields["u"].max() for one in rods["mesh"][:8]])
    found = cases.derived(["max", "mean"], field="u")
    assert list(found) == [f"{what}_{key}" for what in ("max", "mean") for key in ("mean", "std", "lower", "upper")]
    np.testing.assert_allclose(found["max_mean"], truth, rtol=0.05)
    ((name, own),) = [pair for pair in fitted.fields_.models_.items() if pair[0] == "u"]
    assert own.kind.single and own.numbers["max"].scores.shape[1] == 1 and mesh.n_nodes > 1
    lengths = np.array([np.linalg.norm(one.fields["v"], axis=2).max() for one in rods["mesh"][:8]])
    np.testing.assert_allclose(cases.derived("largest", field="v")["mean"], lengths, rtol=0.05)


def test_numbers_of_histories_of_cells_are_over_cells_and_times(rods, tmp_path):
    """As of fields of nodes: one number of a case, and not one at every time; served, too."""
    from swwl.jobs.predict import derived_numbers
    from swwl.serve.models.series import ServedSeries

    def with_cells(row):
        series = row["mesh"]
        middles = series.mesh.points[series.mesh.cells["triangle"]].mean(axis=1)[:, 0]
        return MeshSeries(series.mesh, TIMES, cell_fields={"w": history(row["rate"], middles, TIMES)})

    table = rods.assign(mesh=[with_cells(row) for _, row in rods.iterrows()])[["mesh", "rate"]]
    model = TransientRegressor(basis_size=20, n_modes=6).fit(table[8:], ["w"])
    own = model.fields_.models_["w"]
    assert own.kind.on_cells and own.kind.single and own.numbers["max"].scores.shape[1] == 1
    cases = model._cases(table[:8], False)
    true = np.array([one.cell_fields["w"].max() for one in table["mesh"][:8]])
    found = cases.derived(["max", "largest"], field="w")
    np.testing.assert_allclose(found["max_mean"], true, rtol=0.06)
    np.testing.assert_allclose(found["largest_mean"], true, rtol=0.06)
    np.testing.assert_array_equal(derived_numbers(cases)["w_max_mean"], found["max_mean"])
    served = ServedSeries("w", model, tmp_path / "w.swwl", tmp_path)
    assert served.targets == ["w_max", "w_mean"]
    np.testing.assert_array_equal(served._told(cases, 0.95)["mean"][:, 0], found["max_mean"])

"""Tables in memory: the columns of DESIGN and the data of a folder."""

import numpy as np
import pandas as pd
import pytest

from swwl import SWWL, Matern52, Mesh, RobustGPRegressor, as_graph, datasets, read_mesh
from swwl.errors import ColumnWarning

MAKERS = {
    "tensile2d": (datasets.make_tensile2d, 200, ["von_mises", "displacement"]),
    "airfoil": (datasets.make_airfoil, 500, ["pressure_coefficient"]),
    "blade": (datasets.make_blade, 300, ["pressure"]),
    "capacitor": (datasets.make_capacitor, 500, ["potential"]),
    "channel": (datasets.make_channel, 500, ["velocity", "pressure"]),
}
COLUMNS = {
    "tensile2d": "yield_stress hardening hardening_rate viscosity exponent pressure max_von_mises",
    "airfoil": "incidence velocity lift drag",
    "blade": "speed pressure massflow pressure_ratio efficiency",
    "capacitor": "voltage charge_left charge_right",
    "channel": "viscosity drag lift",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_a_table_in_memory_is_the_one_on_disk(name, tmp_path):
    make, n_nodes, fields = MAKERS[name]
    table = make(5, n_nodes=n_nodes, random_state=2, test_fraction=0.4, shape=True)
    datasets.write_dataset(name, 5, tmp_path, n_nodes=n_nodes, random_state=2, test_fraction=0.4)
    written = datasets.load_dataset(tmp_path, shape=True)
    pd.testing.assert_frame_equal(table.drop(columns="mesh"), written.drop(columns="mesh"), check_exact=True)
    for mesh, path in zip(table["mesh"], written["mesh"], strict=True):
        found = read_mesh(path)
        np.testing.assert_array_equal(mesh.points, found.points)
        np.testing.assert_array_equal(mesh.cells["triangle"], found.cells["triangle"])
        for field in fields:
            np.testing.assert_array_equal(mesh.fields[field], found.fields[field])
        assert mesh.groups.keys() == found.groups.keys()
        assert list(mesh.cells) == list(found.cells) and list(mesh.fields) == list(found.fields) == fields
    plain = make(5, n_nodes=n_nodes, random_state=2)
    assert plain.columns.tolist() == ["mesh", "split", *COLUMNS[name].split()]
    assert plain["split"].tolist() == ["train"] * 4 + ["test"]


@pytest.mark.slow
def test_processes_and_length_do_not_change_a_table():
    few, many = datasets.make_blade(3, n_nodes=300), datasets.make_blade(5, n_nodes=300, n_jobs=2)
    pd.testing.assert_frame_equal(few.drop(columns=["mesh", "split"]), many[:3].drop(columns=["mesh", "split"]))
    for one, other in zip(few["mesh"], many["mesh"], strict=False):
        np.testing.assert_array_equal(one.points, other.points)


def test_a_sample_is_a_graph():
    (sample,) = datasets.make_samples("airfoil", 1, n_nodes=500)
    graph = as_graph(sample, fields=["pressure_coefficient"], node_weights="area")
    assert isinstance(sample.mesh, Mesh) and sample.mesh.name == "airfoil 0"
    np.testing.assert_array_equal(graph.node_weights, as_graph(sample.mesh, node_weights="area").node_weights)
    np.testing.assert_array_equal(
        graph.features, np.column_stack([sample.points, sample.fields["pressure_coefficient"]])
    )


def test_progress_is_called():
    calls = []
    datasets.make_blade(3, n_nodes=300, progress=lambda *numbers: calls.append(numbers))
    assert calls == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1, found 0"),
        ({"n_nodes": 10}, "number of nodes must be from 200 to 100000 for blade, found 10"),
        ({"random_state": None}, "seed must be a whole number of at least 0, found None"),
        ({"test_fraction": 1.0}, "test_fraction must be at least 0 and below 1, found 1.0"),
        ({"n_jobs": 0}, "number of processes must be"),
    ],
)
def test_bad_arguments(changed, message):
    with pytest.raises(ValueError, match=message):
        datasets.make_blade(**({"n_samples": 2} | changed))


@pytest.mark.slow
def test_a_model_is_fitted_to_a_table_in_memory(tmp_path):
    """Meshes in a column, as they are: the same predictions as from the files of the same data."""
    inputs = ["mesh", "speed", "pressure"]
    table = datasets.make_blade(24, n_nodes=300)
    written = datasets.write_dataset("blade", 24, tmp_path, n_nodes=300)
    kernel = SWWL("mesh", n_projections=20, n_quantiles=50) * Matern52("speed") * Matern52("pressure")
    predictions = []
    for data in (table, written):
        train, test = data[data["split"] == "train"], data[data["split"] == "test"]
        model = RobustGPRegressor(kernel, calibrate=False).fit(train[inputs], train["efficiency"])
        predictions.append(model.predict(test[inputs], return_std=True))
    np.testing.assert_array_equal(*predictions)
    with pytest.warns(ColumnWarning, match="column massflow looks like a result of the same simulation"):
        everything = RobustGPRegressor(calibrate=False).fit(table.drop(columns="split"), "efficiency")
    assert np.isfinite(everything.predict(table.drop(columns="split"))).all()


@pytest.mark.slow
def test_relative_folders_after_a_change_of_folder(tmp_path, monkeypatch):
    """Processes are kept between calls, with the folder in which they were started."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        datasets.write_dataset("blade", 2, "d", n_nodes=200, n_jobs=2)
        assert len(list((tmp_path / name / "d" / "meshes").iterdir())) == 2

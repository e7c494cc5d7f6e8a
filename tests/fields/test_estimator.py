"""FieldRegressor: what it learns, what it refuses, what it keeps."""

import warnings
import weakref

import numpy as np
import pandas as pd
import pytest

from swwl import Elliptic, FieldRegressor, InputError, Matern52, Mesh, load_model
from swwl.errors import MeshWarning, PlaneMeshWarning
from swwl.fields import candidates
from swwl.fields.kernels import NodePositions, WallShapes
from swwl.fields.one_mesh import PreparedFields
from swwl.kernels import Components
from tests.helpers import plain_state
from tests.mesh.shapes import extruded


def plate(width, load, n, m, field="T"):
    """A rectangle of n x m nodes in triangles, with a smooth field and a vector field."""
    x, y = np.meshgrid(np.linspace(0, width, n), np.linspace(0, 1, m), indexing="ij")
    a = (np.arange(n - 1)[:, None] * m + np.arange(m - 1)).ravel()
    cells = np.concatenate([np.column_stack([a, a + m, a + m + 1]), np.column_stack([a, a + m + 1, a + 1])])
    x, y = x.ravel(), y.ravel()
    u = load * np.sin(2 * x / width + y) + width * y**2
    return Mesh(np.column_stack([x, y]), {"triangle": cells}, {field: u, "v": np.column_stack([u, load * x])})


def plates(n=26, same=False, seed=0):
    """A table of plates, of one topology or of several."""
    rng = np.random.default_rng(seed)
    widths, loads = rng.uniform(1, 2, n), rng.uniform(1, 3, n)
    sizes = [(7, 6) if same else tuple(rng.integers(6, 10, 2)) for _ in range(n)]
    meshes = [plate(w, f, *size) for w, f, size in zip(widths, loads, sizes, strict=True)]
    return pd.DataFrame({"mesh": meshes, "load": loads})


KERNEL = Components("mesh", n_components=2, measure="skin", n_iterations=0, n_projections=10, n_quantiles=20)


def smooth(**options):
    """A quick regressor on descriptors."""
    given = {"basis_size": 40, "n_modes": 4, "warp": "none"} | options
    return FieldRegressor(Elliptic(KERNEL, "load"), **given)


def quick(**options):
    """One with less to choose."""
    return smooth(calibrate=False, n_modes=2, descriptors={"box": 1.0, "lag0.1": 0.3}, **options)


@pytest.fixture(scope="module")
def fitted():
    table = plates()
    return smooth().fit(table[:20], ["T", "v"]), table


@pytest.mark.slow
def test_fields_on_meshes_of_any_topology(fitted):
    model, table = fitted
    assert not model.common_topology_
    found, std = model.predict(table[20:], return_std=True)
    for row, dev, mesh in zip(found, std, table["mesh"][20:], strict=True):
        assert row["T"].shape == (mesh.n_nodes,)
        assert row["v"].shape == dev["v"].shape == (mesh.n_nodes, 2)
        assert np.abs(row["T"] - mesh.fields["T"]).max() < 0.25
        assert np.abs(row["v"] - mesh.fields["v"]).max() < 0.35
        assert (dev["T"] > 0).all()
    assert list(model.choices_.columns)[:2] == ["field", "kernel"]
    assert (model.choices_.groupby("field")["chosen"].sum() == 1).all()
    assert (model.modes_["explained"] > 0.99).all()
    assert model.cross_validated()["rrmse"].max() < 0.05
    assert model.field_names_ == model.target_names_ == ["T", "v"]
    assert list(model.feature_names_in_) == ["mesh", "load"]


@pytest.mark.slow
def test_a_row_does_not_depend_on_its_neighbors(fitted):
    model, table = fitted
    alone, together = model.predict(table[21:22])[0], model.predict(table[20:24])[1]
    assert np.allclose(alone["T"], together["T"], rtol=0, atol=1e-9)
    first = model.sample(table[21:22], 3, random_state=4)[0]["T"]
    assert np.allclose(first, model.sample(table[20:24], 3, random_state=4)[1]["T"], rtol=0, atol=1e-9)
    assert not np.allclose(first, model.sample(table[21:22], 3, random_state=5)[0]["T"])


@pytest.mark.slow
def test_the_order_of_nodes_does_not_matter(fitted):
    model, table = fitted
    mesh = table["mesh"][21]
    order = np.random.default_rng(0).permutation(mesh.n_nodes)
    turned = Mesh(mesh.points[order], np.argsort(order)[mesh.cells["triangle"]])
    row = table[21:22].assign(mesh=[turned])
    assert np.allclose(model.predict(row)[0]["T"], model.predict(table[21:22])[0]["T"][order], atol=1e-4)


@pytest.mark.slow
def test_intervals_widen_with_their_level_and_hold_the_mean(fitted):
    model, table = fitted
    mean = model.predict(table[20:22])
    narrow, wide = model.predict_interval(table[20:22], level=0.5), model.predict_interval(table[20:22], level=0.999)
    for k in range(2):
        assert (wide[0][k]["T"] <= narrow[0][k]["T"]).all()
        assert (narrow[0][k]["T"] <= mean[k]["T"]).all()
        assert (mean[k]["T"] <= narrow[1][k]["T"]).all()
    with pytest.raises(InputError, match="level is 1.5"):
        model.predict_interval(table[20:22], level=1.5)


@pytest.mark.slow
def test_meshes_carry_what_is_predicted(fitted):
    model, table = fitted
    mesh = model.predict_meshes(table[20:21])[0]
    assert {"T", "T_std", "T_lower95", "T_upper95", "v_upper95"} <= set(mesh.fields)
    assert np.array_equal(mesh.fields["T"], model.predict(table[20:21])[0]["T"])
    assert "T_lower80" in model.predict_meshes(table[20:21], level=0.8)[0].fields


@pytest.mark.slow
def test_nothing_simulated_passes_for_predicted(fitted):
    model, table = fitted
    bare = table["mesh"][20]
    cells = {"T": np.ones(bare.n_cells), "part": np.arange(bare.n_cells)}
    mesh = Mesh(bare.points, bare.cells, {**bare.fields, "U": bare.points, "number": np.arange(bare.n_nodes)},
                cell_fields=cells, groups={"fix": [0]})  # fmt: skip
    (found,) = model.predict_meshes(table[20:21].assign(mesh=[mesh]))
    endings = ("", "_std", "_lower95", "_upper95")
    assert set(found.fields) == {"number", *(name + end for name in model.field_names_ for end in endings)}
    assert set(found.cell_fields) == {"part"} and list(found.groups) == ["fix"]
    np.testing.assert_array_equal(found.fields["T"], model.predict(table[20:21])[0]["T"])


@pytest.mark.slow
def test_samples_spread_as_predictions_say(fitted):
    model, table = fitted
    mean, std = model.predict(table[20:21], return_std=True)
    drawn = model.sample(table[20:21], 400, random_state=0)[0]
    assert drawn["v"].shape == (400, table["mesh"][20].n_nodes, 2)
    ratio = drawn["T"].std(axis=0) / std[0]["T"]
    assert 0.7 < np.median(ratio) < 1.3
    assert np.abs(drawn["T"].mean(axis=0) - mean[0]["T"]).max() < 0.5 * std[0]["T"].max()


@pytest.mark.slow
def test_derived_numbers(fitted):
    model, table = fitted
    top = model.derived(table[20:], "max", field="T")
    truth = np.array([mesh.fields["T"].max() for mesh in table["mesh"][20:]])
    assert (np.abs(top["mean"] - truth) < 0.25).all()
    assert (top["lower"] <= top["upper"]).all()
    assert list(model.derived(table[20:22], "mean", field="v", n_samples=5).columns)[:2] == ["mean_0", "mean_1"]
    both = model.derived(table[20:], ["max", "largest"], field="T")
    np.testing.assert_array_equal(both["max_upper"], top["upper"])
    assert list(both.columns)[4] == "largest_mean"
    wide = model.derived(table[20:], "max", 0.999, field="T")
    assert ((wide["lower"] <= top["lower"]) & (top["upper"] <= wide["upper"])).all()
    own = model.derived(table[20:], lambda mesh: mesh.fields["T"].max(), field="T")
    assert (np.abs(own["mean"] - truth) < 0.4).all()
    assert {"max", "integral", "force"} <= set(model.models_["T"].numbers)
    assert model.models_["v"].numbers["max"].scores.shape == (20, 2)
    with pytest.raises(InputError, match="one of max, min"):
        model.derived(table[20:], ["max", "median"], field="T")
    with pytest.raises(InputError, match="field is None, but one of T, v"):
        model.derived(table[20:], "max")


@pytest.mark.slow
def test_a_model_comes_back_from_its_file(fitted, tmp_path):
    model, table = fitted
    model.metadata_ = {"from": "a test"}
    model.save(tmp_path / "plate.swwl")
    loaded = load_model(tmp_path / "plate.swwl")
    for a, b in zip(model.predict_interval(table[20:]), loaded.predict_interval(table[20:]), strict=True):
        assert all(np.array_equal(x["v"], y["v"]) for x, y in zip(a, b, strict=True))
    pd.testing.assert_frame_equal(
        loaded.derived(table[20:], "max", field="T"), model.derived(table[20:], "max", field="T")
    )
    assert loaded.metadata_ == {"from": "a test"}
    pd.testing.assert_frame_equal(loaded.choices_, model.choices_)
    pd.testing.assert_frame_equal(loaded.cross_validated(), model.cross_validated())


@pytest.mark.slow
def test_scores_of_numbers_that_do_not_rise_are_refused(fitted):
    state = plain_state(fitted[0].get_state())
    state["fields"][0]["numbers"]["max"]["scores"] = state["fields"][0]["numbers"]["max"]["scores"][::-1]
    with pytest.raises(InputError, match="scores decreases somewhere"):
        FieldRegressor.from_state(state)


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["truncation", "widths", "centers"])
def test_states_that_do_not_fit_together_are_refused(fitted, spoil):
    model, _ = fitted
    state = plain_state(model.get_state())
    state["fields"][0][spoil] = state["fields"][0][spoil][:-1]
    with pytest.raises(InputError):
        FieldRegressor.from_state(state)


def test_shared_cells_are_noticed_and_used(tmp_path):
    table = plates(same=True)
    model = FieldRegressor(n_modes=6).fit(table[:20], "T")
    assert model.common_topology_
    for row, mesh in zip(model.predict(table[20:]), table["mesh"][20:], strict=True):
        assert np.abs(row["T"] - mesh.fields["T"]).max() < 0.1
    with pytest.raises(InputError, match="Mesh 0 has different cells from the training meshes.*descriptors='smooth'"):
        model.predict(plates(2, seed=1))
    model.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl").predict(table[20:])
    assert np.array_equal(again[0]["T"], model.predict(table[20:])[0]["T"])
    assert model.sample(table[20:21], 4, random_state=0)[0]["T"].shape == (4, 42)


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
@pytest.mark.slow
def test_files_and_their_memory(tmp_path):
    table = plates(14)
    paths = []
    for k, mesh in enumerate(table["mesh"]):
        mesh.write(tmp_path / f"{k}.vtu")
        paths.append(str(tmp_path / f"{k}.vtu"))
    files = table.assign(mesh=paths)
    memory = tmp_path / "memory"
    first = quick().fit(files[:12], "T", memory=memory)
    again = quick().fit(files[:12], "T", memory=memory)
    assert list(memory.glob("??/*blocks*"))
    assert np.array_equal(first.predict(files[12:])[0]["T"], again.predict(files[12:], memory=memory)[0]["T"])


@pytest.mark.slow
def test_progress_is_told():
    seen, fits = [], []
    quick().fit(plates(12), "T", progress=lambda *done: seen.append(done), gp_progress=lambda *done: fits.append(done))
    assert seen[-1][0] == seen[-1][1]
    assert fits


def test_a_constant_field_has_no_modes():
    table = plates(12)
    table["mesh"] = [mesh.with_fields({"T": np.full(mesh.n_nodes, 7.0)}) for mesh in table["mesh"]]
    with pytest.warns(MeshWarning, match="Field 'T' is 7 everywhere on all 10 meshes: there is nothing to learn"):
        model = smooth().fit(table[:10], "T")
    assert model.modes_["number"].tolist() == [0]
    assert np.allclose(model.predict(table[10:])[0]["T"], 7.0)
    assert np.allclose(model.sample(table[10:], 2)[0]["T"], 7.0)


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
def test_a_field_may_be_the_same_in_all_cases(tmp_path):
    """It varies in space, but not from mesh to mesh: what is left of it are roundings; another field is learned."""
    table = plates(26, same=True)
    x = np.linspace(0.0, 1.0, 42) / 3
    table["mesh"] = [mesh.with_fields({"T": mesh.fields["T"], "x": x.copy()}) for mesh in table["mesh"]]
    both, alone = (FieldRegressor(Matern52("load")).fit(table[:20], names) for names in (["T", "x"], ["T"]))
    assert both.modes_.loc[both.modes_["field"] == "x", "number"].tolist() == [0]
    for found, other in zip(both.predict(table[20:]), alone.predict(table[20:]), strict=True):
        np.testing.assert_array_equal(found["T"], other["T"])
        np.testing.assert_allclose(found["x"], x, atol=1e-12)
    lower, upper = both.predict_interval(table[20:22])
    assert (upper[1]["x"] - lower[1]["x"]).max() < 1e-5
    np.testing.assert_allclose(both.sample(table[20:21], 2, random_state=0)[0]["x"], [x, x], atol=1e-5)
    both.save(tmp_path / "m.swwl")
    np.testing.assert_array_equal(load_model(tmp_path / "m.swwl").predict(table[25:])[0]["x"], found["x"])


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning", "ignore::swwl.errors.GPWarning")
@pytest.mark.parametrize("amplitude", [False, True])
def test_a_field_may_differ_in_one_mesh(amplitude):
    table = plates(24, same=True)
    x = np.linspace(0.0, 1.0, 42) / 3
    own = [(2.0 * x if amplitude else x + np.sin(9 * x)) if row == 3 else x for row in range(24)]
    table["mesh"] = [mesh.with_fields({"x": u}) for mesh, u in zip(table["mesh"], own, strict=True)]
    model = FieldRegressor(Matern52("load")).fit(table[:20], "x")
    lower, upper = model.predict_interval(table[20:])
    for found, low, high in zip(model.predict(table[20:]), lower, upper, strict=True):
        assert np.abs(found["x"] - x).max() < 0.2 and np.isfinite(high["x"] - low["x"]).all()


def test_cells_that_are_not_finite_and_meshes_that_were_not_solved_are_named():
    table = plates(8)
    meshes = []
    for number, mesh in enumerate(table["mesh"]):
        field = mesh.fields["T"][mesh.cells["triangle"]].mean(axis=1)
        field[:3] = np.inf if number == 2 else field[:3]
        meshes.append(Mesh(mesh.points, dict(mesh.cells), cell_fields={"q": 0 * field if number == 5 else field}))
    table["mesh"] = meshes
    with pytest.warns(MeshWarning) as told:
        smooth(calibrate=False).fit(table, "q")
    texts = [str(one.message) for one in told if one.category is MeshWarning]
    assert texts == [
        "Field 'q' is not finite at 3 cells of mesh 2; they do not count.",
        "Field 'q' is 0 everywhere on mesh 5: was it solved there?",
    ]


@pytest.mark.slow
def test_a_missing_value_does_not_count():
    table = plates(16)
    u = table["mesh"][3].fields["T"].copy()
    u[5] = np.nan
    spoiled = table.copy()
    spoiled.at[3, "mesh"] = table["mesh"][3].with_fields({"T": u})
    with pytest.warns(MeshWarning, match="Field 'T' is not finite at 1 node of mesh 3; they do not count"):
        model = quick().fit(spoiled[:14], "T")
    whole = quick().fit(table[:14], "T")
    difference = model.predict(table[14:])[0]["T"] - whole.predict(table[14:])[0]["T"]
    assert np.abs(difference).max() < 0.05


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
def test_fields_of_cells_come_back_on_cells():
    table = plates(14)
    meshes = []
    for mesh in table["mesh"]:
        at = mesh.fields["T"][mesh.cells["triangle"]].mean(axis=1)
        meshes.append(Mesh(mesh.points, dict(mesh.cells), cell_fields={"q": at}))
    table["mesh"] = meshes
    model = quick().fit(table[:12], "q")
    found = model.predict_meshes(table[12:])[0]
    assert found.cell_fields["q"].shape == (found.n_cells,)
    assert np.abs(found.cell_fields["q"] - meshes[12].cell_fields["q"]).max() < 0.6


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
def test_scores_and_deviations_of_cell_fields_are_those_of_what_is_delivered(tmp_path):
    table = plates(16)
    rng = np.random.default_rng(0)
    meshes = []
    for mesh in table["mesh"]:
        field = mesh.fields["T"][mesh.cells["triangle"]].mean(axis=1)
        rough = 0.1 * rng.choice([-1.0, 1.0], len(field))  # no values at nodes have such means
        meshes.append(Mesh(mesh.points, dict(mesh.cells), cell_fields={"q": field + rough}))
    table["mesh"] = meshes
    model = smooth().fit(table[:14], "q")
    lost = model.models_["q"].lost
    assert 0.05 < lost[0] < 0.1
    _, (std, *_) = model.predict(table[14:], return_std=True)
    assert (std["q"] >= model.models_["q"].factor * lost[0]).all()
    inside = [((lower["q"] <= mesh.cell_fields["q"]) & (mesh.cell_fields["q"] <= upper["q"])).mean()
              for mesh, lower, upper in zip(meshes[14:], *model.predict_interval(table[14:]), strict=True)]  # fmt: skip
    assert np.mean(inside) > 0.8
    rmse = model.cross_validated()["rrmse"][0] * max(np.abs(mesh.cell_fields["q"]).max() for mesh in meshes)
    assert rmse > 0.9 * lost[0]
    model.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl").predict(table[14:], return_std=True)[1]
    np.testing.assert_array_equal(again[0]["q"], std["q"])


def rings(n=24, seed=0):
    """Ellipses of lines, with the pressure of a potential flow."""
    rng = np.random.default_rng(seed)
    rows = []
    for axis, turn in zip(rng.uniform(0.5, 1, n), rng.uniform(-0.3, 0.3, n), strict=True):
        k = int(rng.integers(40, 60))
        t = 2 * np.pi * np.arange(k) / k
        points = np.column_stack([np.cos(t), axis * np.sin(t)])
        slope = np.sqrt(np.sin(t) ** 2 + (axis * np.cos(t)) ** 2)
        cp = 1 - ((1 + axis) * np.sin(t - turn) / slope) ** 2
        lines = np.column_stack([np.arange(k), np.roll(np.arange(k), -1)])
        rows.append((Mesh(points, {"line": lines}, {"cp": cp}), turn))
    return pd.DataFrame(rows, columns=["mesh", "turn"])


@pytest.mark.slow
def test_bodies_in_the_plane_get_slit_maps():
    table = rings()
    kernel = Elliptic(WallShapes("mesh", n_components=2), "turn")
    model = FieldRegressor(kernel, n_modes=5, basis_size=20, calibrate=False).fit(table[:20], "cp")
    assert "walls" in set(model.choices_["descriptors"])
    for row, mesh in zip(model.predict(table[20:]), table["mesh"][20:], strict=True):
        assert np.abs(row["cp"] - mesh.fields["cp"]).max() < 0.4
    with pytest.raises(InputError):
        model.predict(plates(1).assign(turn=0.1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warp": "log"}, "warp is 'log'"),
        ({"weights": "mass"}, "weights is 'mass'"),
        ({"n_modes": 0}, "n_modes is 0"),
        ({"basis_size": 1.5}, "basis_size is 1.5"),
        ({"descriptors": "any"}, "descriptors is 'any'"),
        ({"descriptors": {"cox": 1.0}}, "descriptors names 'cox'"),
        ({"descriptors": "nodes"}, "descriptors is 'nodes', but mesh 1 has different cells from mesh 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    table = plates(6)
    table.at[1, "mesh"] = plate(1.0, 1.0, 4, 4)
    with pytest.raises(InputError, match=message):
        FieldRegressor(Matern52("load"), **options).fit(table, "T")


def test_tables_that_make_no_sense_are_refused():
    table = plates(6)
    with pytest.raises(InputError, match="Mesh 0 has no field 'p'"):
        smooth().fit(table, "p")
    with pytest.raises(InputError, match="at least 4 meshes"):
        smooth().fit(table[:3], "T")
    with pytest.raises(InputError, match="no column of meshes"):
        smooth().fit(table[["load"]], "T")
    with pytest.raises(InputError, match="distinct texts"):
        smooth().fit(table, ["T", "T"])
    table.at[4, "mesh"] = Mesh(table["mesh"][4].points, dict(table["mesh"][4].cells))
    with pytest.raises(InputError, match="Mesh 4 has no field 'T'"):
        smooth().fit(table, "T")


@pytest.mark.slow
def test_points_without_cells_need_a_kernel_on_other_columns():
    table = plates(12)
    table["mesh"] = [Mesh(mesh.points, {}, dict(mesh.fields)) for mesh in table["mesh"]]
    with pytest.raises(InputError, match="Mesh 0 has no cells; join its nodes by lines, or name a kernel"):
        FieldRegressor().fit(table, "T")
    model = FieldRegressor(Matern52("load"), n_modes=2, basis_size=20, warp="none").fit(table[:10], "T")
    found = model.predict(table[10:])[0]["T"]
    assert np.abs(found - table["mesh"][10].fields["T"]).max() < 1.5
    assert model.derived(table[10:], "mean")["mean"].between(0, 4).all()


def test_node_positions_refuse_other_numbers_of_nodes():
    table = plates(5, same=True)
    factor = NodePositions("mesh", n_components=2)
    rows = factor.fit(table["mesh"])
    assert np.allclose(rows, factor.represent(table["mesh"]))
    assert np.allclose(rows.std(axis=0), 1)
    with pytest.raises(InputError, match="mesh 0.*has 16 nodes in 2 dimensions, but fit saw 42 in 2"):
        factor.represent([plate(1, 1, 4, 4)])


def test_few_meshes_are_not_calibrated():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = smooth().fit(plates(6), "T")
    assert model.cross_validated().empty
    assert model.choices_.empty
    assert model.models_["T"].factor == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
@pytest.mark.parametrize("same", [False, True])
def test_meshes_one_cell_thick_are_learned_in_the_plane_and_written_back(same, tmp_path):
    """Node for node as on plane meshes, and alike on both sides."""
    table = plates(14, same=same)
    table["mesh"] = [Mesh(m.points, m.cells, m.fields, cell_fields={"q": np.arange(m.n_cells) / m.n_cells})
                     for m in table["mesh"]]  # fmt: skip
    thick = table.assign(mesh=[extruded(mesh) for mesh in table["mesh"]])
    options = {} if same else {"descriptors": {"box": 1.0}}
    flat = FieldRegressor(Elliptic(KERNEL, "load"), calibrate=False, n_modes=2, basis_size=30, **options)
    flat.fit(table[:12], ["T", "v", "q"])
    model = FieldRegressor(Elliptic(KERNEL, "load"), calibrate=False, n_modes=2, basis_size=30, **options)
    with pytest.warns(PlaneMeshWarning, match="12 meshes are one cell thick: they are learned as plane meshes"):
        model.fit(thick[:12], ["T", "v", "q"])
    assert model.plane_ and flat.plane_
    model.save(tmp_path / "model.swwl")
    for one in (model, load_model(tmp_path / "model.swwl")):
        rows = flat.predict(table[12:]), one.predict_meshes(thick[12:]), thick["mesh"][12:]
        for expected, mesh, given in zip(*rows, strict=True):
            n = len(expected["T"])
            assert mesh.dimension == 3 and mesh.n_cells == given.n_cells and set(mesh.groups) == set(given.groups)
            for name in ("T", "v"):
                np.testing.assert_allclose(mesh.fields[name][:n], expected[name], rtol=1e-6, atol=1e-9)
                np.testing.assert_array_equal(mesh.fields[name][:n], mesh.fields[name][n:])
            np.testing.assert_allclose(mesh.cell_fields["q"], expected["q"], rtol=1e-6, atol=1e-9)
    assert model.cases(thick[12:]).table["mesh"][12] is thick["mesh"][12]  # to compare predictions with
    assert model.sample(thick[12:13])[0]["T"].shape == (1, thick["mesh"][12].n_nodes)
    pairs = (model, thick), (flat, table)
    found, plain = (own.derived(rows[12:13], "integral", field="T")["mean"][0] for own, rows in pairs)
    assert found == pytest.approx(plain, rel=0.1)  # other samples of the same number
    prepared = PreparedFields(model, thick["mesh"][12]).cases(thick[12:13])
    np.testing.assert_array_equal(prepared.predict()[0][0]["T"], model.predict(thick[12:13])[0]["T"])
    np.testing.assert_allclose(model.predict(table[12:13])[0]["T"], flat.predict(table[12:13])[0]["T"], rtol=1e-6)


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
@pytest.mark.parametrize("same", [False, True])
def test_a_model_of_plane_meshes_takes_meshes_one_cell_thick(same, tmp_path):
    """From objects and from files, also both kinds in one table; fields are on the nodes of meshes as given."""
    table = plates(14, same=same)
    options = {} if same else {"descriptors": {"box": 1.0}}
    model = FieldRegressor(Elliptic(KERNEL, "load"), calibrate=False, n_modes=2, basis_size=30, **options)
    model.fit(table[:12], ["T", "v"]).save(tmp_path / "model.swwl")
    thick = table.assign(mesh=[extruded(mesh) for mesh in table["mesh"]])
    thick["mesh"][13].write(tmp_path / "thick.vtu")
    mixed = pd.DataFrame({"mesh": [table["mesh"][12], thick["mesh"][12], str(tmp_path / "thick.vtu")],
                          "load": table["load"].to_numpy()[[12, 12, 13]]})  # fmt: skip
    for one in (model, load_model(tmp_path / "model.swwl")):
        first, last = one.predict(table[12:])
        plane, *layers = one.predict_meshes(mixed)
        assert plane.dimension == 2
        for mesh, expected in zip(layers, (first, last), strict=True):
            n = len(expected["T"])
            assert mesh.dimension == 3 and mesh.n_nodes == 2 * n
            for name in ("T", "v"):
                both = np.concatenate([expected[name]] * 2)
                np.testing.assert_allclose(mesh.fields[name], both, rtol=1e-6, atol=1e-9)
    solid = Mesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], {"tetra": [[0, 1, 2, 3]]})
    with pytest.raises(InputError, match="neither plane nor one cell thick"):
        model.predict(pd.DataFrame({"mesh": [solid], "load": [1.0]}))


@pytest.mark.slow
def test_notebooks_show_a_table_of_fields(fitted):
    text = fitted[0]._repr_html_()
    assert "FieldRegressor, fitted to 20 meshes" in text and "<td" in text and ">T<" in text and ">v<" in text
    assert "sk-" in smooth()._repr_html_()


def test_only_the_best_candidate_is_kept_with_its_basis(monkeypatch):
    seen, alive = [], []
    error_of = candidates.fold_error

    def fold_error(data, coded, *others):
        seen.append(weakref.ref(coded))
        alive.append(sum(one() is not None for one in seen))
        return error_of(data, coded, *others)

    monkeypatch.setattr(candidates, "fold_error", fold_error)
    model = FieldRegressor(KERNEL, basis_size=30, n_modes=4, calibrate=False).fit(plates(14), "T")
    assert len(alive) == len(model.choices_) > 5 and max(alive) <= 3
    best = model.choices_["rrmse"].where(~model.choices_["amplitude"]).idxmin()
    assert model.choices_["chosen"].sum() == 1 and model.choices_["chosen"][best]

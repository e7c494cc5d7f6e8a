"""The experiments that draw: what they write, that it is true, and that it is not computed twice."""

import json
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from swwl import read_graph, read_mesh
from swwl_paper import figure_curves, figure_gp, figure_meshes, reproduce

needs_mmg = pytest.mark.skipif(find_spec("mmgpy") is None, reason="mmgpy (the extra [mmg]) is not installed")


def run(module, name, size, folder, monkeypatch):
    """Run an experiment at a size of the test's own."""
    monkeypatch.setattr(module, "SIZES", {"small": size})
    return reproduce(name, "small", folder, n_jobs=1)


def refuse(*args, **kwargs):
    raise AssertionError("it was computed again")


BLADES = figure_curves.CurvesSize(40, 2, 300)


def run_curves(folder, monkeypatch):
    """Run the curves at fewer points."""
    monkeypatch.setattr(figure_curves, "SPEEDS", figure_curves.SPEEDS[:2])
    monkeypatch.setattr(figure_curves, "PRESSURES", figure_curves.PRESSURES[::3])
    return run(figure_curves, "figure-curves", BLADES, folder, monkeypatch)


@pytest.fixture(scope="module")
def curves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curves")
    with pytest.MonkeyPatch.context() as monkeypatch:
        study = run_curves(folder, monkeypatch)
    return study, pd.read_csv(folder / "figure-curves.csv")


def test_sizes_are_those_of_the_paper():
    assert len(figure_curves.SPEEDS) == 4 and len(figure_curves.PRESSURES) == 20
    assert figure_curves.SIZES["full"][::2] == (1000, 29_773)
    assert {name: tuple(nodes) for name, nodes in figure_meshes.SIZES["full"].items()} == {
        "blade": (29_773, 1054),
        "tensile2d": (9426, 1177),
        "airfoil": (179_779, 6853),
    }


def test_curves_are_complete(curves):
    study, table = curves
    assert table.columns.tolist() == [
        "blade",
        "speed",
        "pressure",
        "output",
        "mean",
        "std",
        "lower95",
        "upper95",
        "truth",
        "inside_training_range",
    ]
    assert len(table) == 2 * 3 * 2 * 7
    assert sorted(table["blade"].unique()) == [40, 41]  # after those that were trained on
    assert table["pressure"].min() < 1.36 and table["pressure"].max() > 1.46
    assert (table["lower95"] < table["mean"]).all() and (table["mean"] < table["upper95"]).all()
    assert study.path(".png").stat().st_size > 10_000
    assert "coverage in / out" in study.path(".md").read_text(encoding="utf-8")
    assert json.loads(study.path(".json").read_text(encoding="utf-8"))["settings"]["n_train"] == 40


def test_truth_is_what_the_generator_says(curves):
    study, _ = curves
    blades = figure_curves.blades(study, BLADES)
    for _, row in blades[::10].iterrows():
        found = figure_curves.simulate(row, row["speed"], row["pressure"])
        np.testing.assert_array_equal(found, row[list(figure_curves.OUTPUTS)].astype(float))
    assert np.isnan(figure_curves.simulate(blades.iloc[0], 17188.0, 3.0)).all()  # no rotor reaches that


def test_curves_know_what_they_do_not_know(curves):
    _, table = curves
    inside = table["pressure"].between(1.36, 1.46)
    assert (table["inside_training_range"] <= inside).all()
    width = table["upper95"] - table["lower95"]
    for output in figure_curves.OUTPUTS:
        of_output = table["output"] == output
        assert width[of_output & ~inside].mean() > 1.02 * width[of_output & inside].mean()
    assert figure_curves.holds(table[table["truth"].notna()]).mean() > 0.8


def test_summary_by_hand():
    table = pd.DataFrame(
        [
            {"blade": blade, "output": output, "inside_training_range": inside, "lower95": 0.0, "upper95": 1.0 + high}
            | {"mean": 0.5, "truth": truth}
            for blade in (7, 8)
            for output in figure_curves.OUTPUTS
            for inside, high, truth in ((True, 0.0, 0.5), (False, 1.0, 0.5), (False, 1.0, 3.5), (False, 1.0, np.nan))
        ]
    )
    shown = figure_curves.summary(table, 8)
    assert shown["output"].iloc[[0, -1]].tolist() == ["massflow, 2 new blades", "efficiency, the one drawn"]
    assert set(shown["coverage in / out"]) == {"100.0 / 50.0 %"}
    assert set(shown["width in / out"]) == {"1.0000 / 2.0000"}
    assert set(shown["RMSE in / out"]) == {f"0.0000 / {np.sqrt(4.5):.4f}"}
    table.loc[table["blade"] == 7, "truth"] = np.nan
    assert figure_curves.drawn_blade(table) == 8


def test_curves_are_not_computed_twice(curves, monkeypatch):
    study, _ = curves
    before = study.path(".csv").read_bytes()
    study.path(".png").unlink()
    monkeypatch.setattr(figure_curves, "predict", refuse)
    run_curves(study.folder, monkeypatch)
    assert study.path(".csv").read_bytes() == before
    assert study.path(".png").exists()


def test_samples_of_prior_and_posterior(tmp_path, monkeypatch):
    size = figure_gp.PathSize(33, 300, 30)
    study = run(figure_gp, "figure-gp", size, tmp_path, monkeypatch)
    table = pd.read_csv(tmp_path / "figure-gp.csv")
    assert table.columns.tolist() == ["series", "position", "value"]
    lines = table.pivot(index="position", columns="series", values="value")
    n = figure_gp.N_SAMPLES
    assert lines.shape == (33, 5 + 2 * n)
    seen = lines["observed"].notna()
    assert seen.sum() == len(figure_gp.OBSERVED)
    np.testing.assert_array_equal(lines["observed"][seen], lines["simulated"][seen])
    spread = lines["simulated"].std()
    posterior = lines[[f"posterior {k + 1}" for k in range(n)]]
    np.testing.assert_allclose(posterior[seen], np.tile(lines["observed"][seen], (n, 1)).T, atol=0.05 * spread)
    prior = lines[[f"prior {k + 1}" for k in range(n)]]
    assert prior[seen].std(axis=1).min() > 5 * posterior[seen].std(axis=1).max()
    width = lines["upper95"] - lines["lower95"]
    assert width[seen].max() < width[~seen].mean()
    before = study.path(".png").read_bytes()
    monkeypatch.setattr(figure_gp, "sample_path", refuse)
    run(figure_gp, "figure-gp", size, tmp_path, monkeypatch)
    assert study.path(".png").read_bytes() == before


def published(folder):
    """Write the sets that a folder of published data may hold, two of them, tiny."""
    (folder / "meshes").mkdir(parents=True)
    (folder / "regression").mkdir()
    angle = np.linspace(0, 2 * np.pi, 9)[:-1]
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    np.savez(folder / "meshes/airfrans_surface_test200.npz", points=np.vstack([points, 2 * points]), n_nodes=[8, 8])
    edges = np.array([(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (0, 1)])
    np.savez(
        folder / "regression/polygraph_polycrystal70.npz",
        node_attributes=np.ones((6, 5)),
        n_nodes=[4, 2],
        edges=edges,
        n_edges=[6, 1],
    )


TINY = {
    "blade": figure_meshes.Nodes(600, 300),
    "tensile2d": figure_meshes.Nodes(400, 200),
    "airfoil": figure_meshes.Nodes(900, 500),
}


def test_meshes_without_mmg(tmp_path, monkeypatch):
    published(tmp_path / "data")
    monkeypatch.setenv("SWWL_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(figure_meshes, "_has_mmg", lambda: False)
    study = run(figure_meshes, "figure-meshes", TINY, tmp_path / "out", monkeypatch)
    table = pd.read_csv(study.path(".csv"))
    assert table["set"].tolist() == [*TINY, "AirfRANS surface", "polycrystal"]
    assert table["edges"].tolist()[-2:] == [8, 3]
    for name in TINY:
        graph = read_graph(study.work("meshes") / f"{name}-{TINY[name].full}-seed0.vtu")
        assert table[table["set"] == name][["nodes", "edges"]].to_numpy().tolist() == [[graph.n_nodes, graph.n_edges]]
    page = study.path(".md").read_text(encoding="utf-8")
    assert "swwl[mmg]" in page and "Left out, since no folder" in page and "NACA 0012, deformed, car" in page
    assert study.path(".png").stat().st_size > 10_000


@needs_mmg
def test_coarsened_meshes_are_made_once(tmp_path, monkeypatch):
    monkeypatch.delenv("SWWL_DATA", raising=False)
    sizes = {"airfoil": TINY["airfoil"]}
    study = run(figure_meshes, "figure-meshes", sizes, tmp_path, monkeypatch)
    table = pd.read_csv(study.path(".csv"))
    assert table["mesh"].tolist() == ["full", "coarsened"]
    assert abs(table["nodes"][1] - 500) <= 50 and table["nodes"][0] > 800
    monkeypatch.setattr(figure_meshes.datasets, "coarsen_mesh", refuse)
    monkeypatch.setattr(figure_meshes.datasets, "make_samples", refuse)
    run(figure_meshes, "figure-meshes", sizes, tmp_path, monkeypatch)


def test_large_airfoils_are_seen_at_their_nose(tmp_path, monkeypatch):
    monkeypatch.delenv("SWWL_DATA", raising=False)
    monkeypatch.setattr(figure_meshes, "_has_mmg", lambda: False)
    study = run(figure_meshes, "figure-meshes", {"airfoil": TINY["airfoil"]}, tmp_path, monkeypatch)
    path = study.work("meshes") / "airfoil-900-seed0.vtu"
    mesh = read_mesh(path)
    window, whole = figure_meshes._zoomed(mesh)
    assert window == ""
    monkeypatch.setattr(figure_meshes, "_MOST_TRIANGLES", 300)
    window, part = figure_meshes._zoomed(mesh)
    assert window == ", at its nose"
    assert part.n_nodes < whole.n_nodes < mesh.n_nodes

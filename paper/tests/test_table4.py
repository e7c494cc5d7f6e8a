"""The table of errors at a tiny size: its rows, that it can be interrupted, its models, and the published sets."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

import swwl
from swwl import Graph, Matern52, RobustGPRegressor, SWWLEmbedding, datasets, pairwise_distances
from swwl_paper import errortable, meshsets, models, published, reproduce, table4
from swwl_paper.meshsets import SetSize, Version
from swwl_paper.rows import RowFile
from swwl_paper.study import Skipped, Study

COLUMNS = {
    *("dataset", "meshes", "model", "target", "seed", "nodes", "n_train", "n_test", "rmse", "rmse_relative"),
    *("q2", "coverage95", "width95", "components", "calibration", "warnings", "seconds", "embedding_seconds"),
}
TINY = table4.ErrorPlan(
    {"tensile2d": SetSize(8, 4, 240, 205), "blade": SetSize(10, 5, 210, 205, cut=(8, 3, 203))},
    {"airfrans": (12, 6), "naca0012": (12, 6), "polycrystals": (12, 6)},
    seeds=2,
    split_seeds=2,
    extra_seeds=1,
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(table4.SIZES, "small", TINY)
    smaller = {"n_projections": 8, "n_quantiles": 20}
    monkeypatch.setattr(models, "EMBEDDINGS", {k: v | smaller for k, v in models.EMBEDDINGS.items()})


@pytest.fixture
def meshes_as_they_are(monkeypatch):
    """Coarsening that costs nothing."""
    monkeypatch.setattr(datasets, "coarsen_dataset", lambda table, *_, **__: table)


def run_on(dataset, folder, **options):
    return reproduce("table4", folder=folder, n_jobs=1, options={"dataset": [dataset], **options})


def numbers(folder):
    """Return the rows without times, which differ from run to run."""
    frame = pd.read_csv(folder / "table4.csv")
    return frame.drop(columns=["seconds", "embedding_seconds"])


def test_rows_tables_and_figure(tmp_path, meshes_as_they_are):
    kernels = ["scalars", "SWWL", "principal-area", "auto", "PCA", "WWL", "PK"]
    run_on("blade", tmp_path, kernel=kernels)
    frame = pd.read_csv(tmp_path / "table4.csv")
    assert set(frame) == COLUMNS
    assert not frame.drop(columns="components").isna().any(axis=None)
    assert set(frame["meshes"]) == {"full", "coarsened", "cut down"}
    runs = frame.groupby(["meshes", "model", "target"]).size()
    assert runs["full", "SWWL", "efficiency"] == 2
    assert runs["full", "SWWL", "massflow"] == runs["full", "principal-area", "efficiency"] == 1
    assert runs["full", "scalars", "efficiency"] == runs["full", "PCA", "efficiency"] == 1
    # One topology is what the full blades alone have; exact transport is for the cut-down set, marked as such.
    assert set(frame.loc[frame["model"] == "PCA", "meshes"]) == {"full"}
    assert set(frame.loc[frame["model"].isin(["WWL", "PK"]), "meshes"]) == {"cut down"}
    assert set(frame.loc[frame["meshes"] == "cut down", "n_train"]) == {8}

    text = (tmp_path / "table4.md").read_text(encoding="utf-8")
    for title in ("blade: efficiency", "blade: massflow", "blade: pressure ratio", "| WWL (exact) | cut down |"):
        assert title in text
    assert "lowest error of a kernel that needs no common topology" in text
    assert (tmp_path / "table4.png").read_bytes()[:4] == b"\x89PNG"


def test_intervals_are_widened_once_per_split(tmp_path, monkeypatch, data_folder):
    def pretend(*_, seed, widening=None):
        found = 1.0 + seed / 10 if widening is None else widening
        row = dict.fromkeys(("rmse", "rmse_relative", "q2", "coverage95", "width95"), 0.5)
        return row | {"components": 4.0, "calibration": found, "warnings": 0, "seconds": 0.0}

    monkeypatch.setattr(table4, "fit_and_score", pretend)
    run_on("naca0012", tmp_path, kernel=["SWWL"])
    assert set(pd.read_csv(tmp_path / "table4.csv")["calibration"]) == {1.0, 1.1}  # a split for each seed
    run_on("tensile2d", tmp_path / "one", kernel=["SWWL", "SWWL-sqrt"])
    frame = pd.read_csv(tmp_path / "one" / "table4.csv")
    assert set(frame["seed"]) == {0, 1} and set(frame["calibration"]) == {1.0}


def test_goes_on_where_it_stopped(tmp_path, monkeypatch):
    pytest.importorskip("mmgpy", reason="mmgpy (the extra [mmg]) is not installed")
    options = {"kernel": ["SWWL", "principal"]}  # eight rows
    run_on("tensile2d", tmp_path / "whole", **options)

    add = RowFile.add

    def cut_off(rows, *new):
        if len(rows.frame()) == 4:
            raise KeyboardInterrupt
        add(rows, *new)

    monkeypatch.setattr(RowFile, "add", cut_off)
    with pytest.raises(KeyboardInterrupt):
        run_on("tensile2d", tmp_path / "parts", **options)
    before = numbers(tmp_path / "parts")
    assert len(before) == 4
    monkeypatch.setattr(RowFile, "add", add)
    run_on("tensile2d", tmp_path / "parts", **options)
    after = numbers(tmp_path / "parts")
    pd.testing.assert_frame_equal(after[:4], before)
    pd.testing.assert_frame_equal(after, numbers(tmp_path / "whole"))
    assert len(after) == 8 and set(after["meshes"]) == {"full", "coarsened"}

    # All is done: nothing is read or fitted again.
    monkeypatch.setattr(meshsets, "read", lambda *_: pytest.fail("meshes were read again"))
    run_on("tensile2d", tmp_path / "parts", **options)


def test_published_sets(tmp_path, data_folder):
    names = ["airfrans", "naca0012", "polycrystals"]
    options = {"dataset": names, "kernel": ["scalars", "SWWL", "SWWL-area", "PCA", "WWL"]}
    reproduce("table4", folder=tmp_path, n_jobs=1, options=options)
    frame = pd.read_csv(tmp_path / "table4.csv")
    assert set(frame["dataset"]) == set(names)
    rows = frame.groupby(["dataset", "model"]).size()
    assert "scalars" not in rows["naca0012"] and "PCA" in rows["naca0012"] and "PCA" not in rows["airfrans"]
    assert "SWWL-area" not in rows["polycrystals"] and rows["polycrystals", "WWL"] == 2 * 2
    # Seeds draw other cases.
    splits = frame[(frame["dataset"] == "airfrans") & (frame["model"] == "scalars")]
    assert splits["rmse"].nunique() == 2


def test_without_published_sets(tmp_path, monkeypatch):
    monkeypatch.delenv("SWWL_DATA", raising=False)
    with pytest.raises(Skipped, match="none of the data sets"):
        reproduce("table4", folder=tmp_path, options={"dataset": ["airfrans"]})
    with pytest.raises(Skipped, match="SWWL_DATA names, which is not set"):
        published.load_airfrans()
    monkeypatch.setenv("SWWL_DATA", str(tmp_path))
    with pytest.raises(Skipped, match="does not hold it"):
        published.load_polycrystals()


def test_real_published_sets():
    folder = os.environ.get("SWWL_DATA")
    if not folder or not (Path(folder) / published.FILES["airfrans"]).exists():
        pytest.skip("SWWL_DATA names no folder of published meshes")
    table, graphs = published.load_airfrans()
    assert len(table) == len(graphs) == 200 and list(table) == ["velocity", "incidence", "lift", "mesh"]
    assert {120, 158} <= {graph.n_nodes for graph in graphs} and all(g.n_edges == g.n_nodes for g in graphs)
    table, graphs = published.load_naca0012()
    assert len(table) == len(graphs) == 1756 and graphs[0].same_topology(graphs[-1])
    table, graphs = published.load_polycrystals()
    assert len(table) == len(graphs) == 70 and all(graph.weighted for graph in graphs)
    assert sum(graph.n_edges for graph in graphs) == 169858 // 2


def test_without_mmg(tmp_path, monkeypatch):
    def missing(*_, **__):
        raise ImportError("Coarsening needs mmgpy")

    monkeypatch.setattr(datasets, "coarsen_dataset", missing)
    run_on("blade", tmp_path, kernel=["scalars"])
    assert set(pd.read_csv(tmp_path / "table4.csv")["meshes"]) == {"full"}


def test_coarsening_falls_back_to_a_looser_tolerance(tmp_path, monkeypatch):
    tried = []

    def fails_at_first(table, folder, nodes, *, tolerance, **_):
        tried.append(tolerance)
        if tolerance < 0.1:
            raise ValueError("Mesh 3: too coarse")
        return table

    monkeypatch.setattr(datasets, "coarsen_dataset", fails_at_first)
    study = Study("table4", "small", tmp_path)
    table = pd.DataFrame({"mesh": ["a", "b"]})
    assert meshsets.coarser(study, table, "blade", 100) is table
    assert meshsets.coarser(study, table, "blade", 100) is table
    assert tried == [0.02, 0.05, 0.1, 0.1]
    with pytest.raises(Skipped, match="too coarse"):
        meshsets.coarser(study, table, "blade", 50, tolerances=[0.01])


def test_a_larger_set_serves_a_smaller_wish(tmp_path):
    study = Study("table4", "small", tmp_path, n_jobs=1)
    large = meshsets.made(study, "blade", 4, 260)
    small = meshsets.made(study, "blade", 2, 260)
    assert len(large) == 4
    pd.testing.assert_frame_equal(small.drop(columns="split"), large.iloc[:2].drop(columns="split"))


def test_wrong_names_and_too_few_cases(tmp_path):
    with pytest.raises(ValueError, match="no dataset 'rotor'; choose from tensile2d"):
        reproduce("table4", folder=tmp_path, options={"dataset": ["rotor"]})
    with pytest.raises(Skipped, match="none of the kernels suits them"):
        run_on("tensile2d", tmp_path / "none", kernel=["PCA"])
    with pytest.raises(ValueError, match="no kernel 'FGW'"):
        reproduce("table4", folder=tmp_path, options={"kernel": ["FGW"]})
    version = Version("naca0012", "contours", 10, 5, (), ("drag",), load=lambda: (pd.DataFrame(), []))
    with pytest.raises(ValueError, match="has 12 cases, but 15 are needed"):
        version.cases(12, seed=0)


# Models


@pytest.fixture(scope="module")
def plates():
    """Twenty-eight plates of one topology with widths and heights, and what comes of them."""
    rng = np.random.default_rng(1)
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5)), axis=-1).reshape(-1, 2)
    corner = np.array([i for i in range(20) if i % 5 != 4])
    cells = np.column_stack([corner, corner + 1, corner + 6, corner + 5])
    sizes = rng.uniform(1, 2, (28, 2))
    graphs = [Graph.from_cells(grid * size, cells, node_weights="area") for size in sizes]
    table = pd.DataFrame({"load": rng.uniform(0, 1, 28)})
    table["y"] = sizes[:, 0] * sizes[:, 1] + 0.3 * table["load"]
    return table, graphs


def test_vectors_have_the_distances_of_the_embeddings(plates):
    _, graphs = plates
    options = {"node_weights": "uniform", "n_projections": 8, "n_quantiles": 20, "random_state": 3}
    rows = SWWLEmbedding(**options).fit(graphs[:20]).transform(graphs)
    seen = models.represent("step 1", graphs, 20, seed=3)
    np.testing.assert_allclose(pairwise_distances(seen), pairwise_distances(rows), atol=1e-6)
    blocks = SWWLEmbedding(**options, per_iteration=True).fit(graphs[:20]).transform(graphs)
    seen = models.represent("by iteration", graphs, 20, seed=3)
    for own, block in zip(np.split(seen, 4, axis=1), np.split(blocks, 4, axis=1), strict=True):
        np.testing.assert_allclose(pairwise_distances(own), pairwise_distances(block), atol=1e-6)


@pytest.mark.parametrize("model", ["SWWL", "ASWWL", "principal", "principal-area"])
def test_a_row_is_what_the_library_predicts(plates, model):
    """The detour over vectors in another process changes nothing but rounding."""
    table, graphs = plates
    seen = models.represent(models.MODELS[model].sees, graphs, 20, seed=0)
    row = models.fit_and_score(model, seen, table, ["load"], "y", 20, seed=0)
    kind = {"SWWL": swwl.SWWL, "ASWWL": swwl.ASWWL}.get(model, swwl.PrincipalSWWL)
    weights = "area" if model.endswith("area") else "uniform"
    kernel = kind("mesh", n_projections=8, n_quantiles=20, node_weights=weights) * Matern52("load")
    whole = table.assign(mesh=graphs)
    direct = RobustGPRegressor(kernel).fit(whole[:20], "y")
    error = direct.predict(whole[20:]) - table["y"][20:]
    assert row["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-3)


def test_pca_of_coordinates_is_pca(plates):
    table, graphs = plates
    rows = models.coordinates(graphs)
    np.testing.assert_allclose(rows, np.stack([g.features.ravel() for g in graphs]) - _mean(graphs), atol=1e-6)
    factor = models.Modes("mesh", n_components=2)
    found = factor.fit(list(models.isometric(rows))[:20])
    wanted = PCA(2).fit_transform(rows[:20].astype(float))
    np.testing.assert_allclose(np.abs(found), np.abs(wanted), atol=1e-5)
    assert factor.correlations() == ["gaussian"] and factor.range_names() == [
        "mesh (component 1)",
        "mesh (component 2)",
    ]

    # Two components draw the plates, and the model finds that out.
    seen = models.represent("coordinates", graphs, 20, seed=0)
    row = models.fit_and_score("PCA", seen, table, ["load"], "y", 20, seed=0)
    assert row["components"] == 2 and row["q2"] > 0.99


def _mean(graphs):
    return np.mean([graph.features.ravel() for graph in graphs], axis=0)


def test_pca_refuses_other_topologies(plates):
    _, graphs = plates
    other = Graph(graphs[0].features, [(0, 1)])
    with pytest.raises(ValueError, match="Graph 1 has a different topology"):
        models.coordinates([graphs[0], other])


def test_given_widening_scales_intervals(plates):
    table, graphs = plates
    seen = models.represent("step 1", graphs, 20, seed=0)
    plain, wide = (
        models.fit_and_score("SWWL", seen, table, ["load"], "y", 20, seed=0, widening=factor) for factor in (1.0, 2.0)
    )
    assert wide["width95"] == pytest.approx(2 * plain["width95"]) and wide["rmse"] == plain["rmse"]


def test_wwl_ignores_areas(plates):
    """Exact transport sees nodes of equal mass, as the other rows without areas do."""
    pytest.importorskip("ot", reason="POT is not installed")
    _, graphs = plates
    bare = [Graph(graph.features, graph.edges) for graph in graphs[:4]]
    seen = models.represent("WWL", graphs[:4], 3, seed=0)
    np.testing.assert_allclose(seen[0], swwl.classification.baselines.wwl_distances(bare), atol=1e-12)


# Sentences


def test_verdicts():
    rows = [
        {"dataset": "blade", "target": "y", "meshes": meshes, "model": model, "seed": 0, "nodes": 9, "n_train": 5}
        | {"n_test": 4, "rmse": rmse, "rmse_relative": rmse, "q2": 0.5, "coverage95": coverage, "width95": 1.0}
        | {"components": float("nan")}
        for meshes, model, rmse, coverage in [
            ("full", "SWWL", 0.2, 0.95),
            ("full", "principal", 0.1, 0.8),
            ("full", "PCA", 0.05, 1.0),
            ("coarsened", "SWWL", 0.4, 0.95),
            ("coarsened", "principal", 0.5, 0.95),
        ]
    ]
    ((title, table, notes),) = errortable.tables(pd.DataFrame(rows))
    assert title == "blade: y" and len(table) == 5
    assert "Full meshes: the lowest error of a kernel that needs no common topology is that of principal SWWL" in notes
    assert "SWWL(1)'s is 2.00 times as large" in notes  # the PCA needs one topology and does not compete
    assert "that of SWWL(1); principal SWWL's is 1.25 times as large" in notes
    assert "SWWL(1) has a lower error on full meshes than on coarsened ones (ratio 0.50)" in notes
    assert "in 3 of 5 rows, more in 1, fewer in 1: principal SWWL, full (80 %)" in notes

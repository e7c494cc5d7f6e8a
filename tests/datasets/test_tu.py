"""TU sets: every file on the disk or from the site, and what is wrong with a bad one."""

import functools
import http.server
import io
import sys
import threading
import zipfile

import numpy as np
import pytest

from swwl import Graph
from swwl.datasets import fetch_tu, load_tu
from swwl.datasets import tu as tu_module
from swwl.datasets.fetch import cache_folder, sha256

# graphs, mean nodes, mean edges, attributes, label values, classes, isolated nodes
COUNTS = {
    "BZR": (405, 35.75, 38.36, 3, 10, 2, 0),
    "COX2": (467, 41.22, 43.45, 3, 8, 2, 0),
    "ENZYMES": (600, 32.63, 62.14, 18, 3, 6, 106),
    "Cuneiform": (267, 21.27, 44.80, 3, 7, 30, 0),
    "PROTEINS": (1113, 39.06, 72.82, 1, 3, 2, 5),
}
# Two graphs: a path of three nodes, and a node pair beside an isolated node.
FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n2\n",
    "graph_labels": "-1\n1\n",
    "node_attributes": "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n4.5, 5\n5.5, 6\n",
    "node_labels": "7, 0\n7, 0\n9, 1\n7, 1\n9, 0\n7, 0\n",
    "edge_attributes": "10, 1\n20, 1\n30, 2\n30, 2\n50, 3\n50, 3\n",
}


def zipped(name="TOY", files=None):
    """The bytes of a TU zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for suffix, text in (FILES if files is None else files).items():
            archive.writestr(f"{name}/{name}_{suffix}.txt", text)
        archive.writestr(f"{name}/README.txt", "a set of toys")
    return buffer.getvalue()


def without(*suffixes, **changed):
    return {k: v for k, v in (FILES | changed).items() if k not in suffixes}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """No data but what a test puts there."""
    monkeypatch.delenv("SWWL_DATA", raising=False)
    monkeypatch.setenv("SWWL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def load_toy(home, files, **options):
    (home / "TOY.zip").write_bytes(zipped(files=files))
    return load_tu("TOY", data_home=home, **options)


@pytest.mark.parametrize("name", COUNTS)
def test_published_counts(name, swwl_data):
    graphs, y = load_tu(name, data_home=swwl_data, checksum="known")
    labeled, _ = load_tu(name, data_home=swwl_data, labels=True)
    n_graphs, nodes, edges, attributes, labels, classes, isolated = COUNTS[name]
    assert len(graphs) == len(y) == n_graphs and len(np.unique(y)) == classes
    assert round(np.mean([g.n_nodes for g in graphs]), 2) == nodes
    assert round(np.mean([g.n_edges for g in graphs]), 2) == edges
    assert {g.n_features for g in graphs} == {attributes}
    assert {g.n_features for g in labeled} == {attributes + labels}
    assert sum((np.diff(g.adjacency.indptr) == 0).sum() for g in graphs) == isolated
    columns = 2 if name == "Cuneiform" else 1
    assert all((g.features[:, attributes:].sum(1) == columns).all() for g in labeled)


def test_edge_attributes_of_cuneiform(swwl_data):
    graphs, _ = load_tu("Cuneiform", data_home=swwl_data, edge_weights=1)
    assert all(g.weighted and len(g.weights) == g.n_edges for g in graphs)
    with pytest.raises(ValueError, match="Cuneiform has 2 edge attributes; choose one: edge_weights=0 to 1"):
        load_tu("Cuneiform", data_home=swwl_data, edge_weights=True)


def test_graphs_by_hand(home):
    graphs, y = load_toy(home, FILES)
    assert y.tolist() == [-1, 1] and y.dtype == np.int64
    assert [g.edges.tolist() for g in graphs] == [[[0, 1], [1, 2]], [[0, 1]]]
    assert graphs[1].features.tolist() == [[3.5, 4], [4.5, 5], [5.5, 6]]
    assert graphs[1].name == "TOY 1" and not graphs[0].weighted


def test_labels_beside_attributes(home):
    graphs, _ = load_toy(home, FILES, labels=True, label_weight=2.0)
    assert graphs[0].features.tolist() == [[0.5, 1, 2, 0, 2, 0], [1.5, 2, 2, 0, 2, 0], [2.5, 3, 0, 2, 0, 2]]
    graphs, _ = load_toy(home, without("node_attributes"), labels=True)
    assert graphs[1].features.tolist() == [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0]]


def test_edge_weights(home):
    graphs, _ = load_toy(home, FILES, edge_weights=0)
    assert graphs[0].weights.tolist() == [15, 30]  # 10 one way and 20 the other
    graphs, _ = load_toy(home, FILES, edge_weights=1)
    assert [g.weights.tolist() for g in graphs] == [[1, 2], [3]]
    graphs, _ = load_toy(home, without(edge_attributes="1\n1\n2\n2\n3\n3\n"), edge_weights=True)
    assert [g.weights.tolist() for g in graphs] == [[1, 2], [3]]
    with pytest.raises(ValueError, match="edge_weights=2 was requested, but the edge attributes are 0 to 1"):
        load_toy(home, FILES, edge_weights=2)


def test_order_of_the_edges_does_not_matter(home):
    lines = FILES["A"].splitlines()[::-1]
    values = FILES["edge_attributes"].splitlines()[::-1]
    files = without(A="\n".join(lines), edge_attributes="\n".join(values))
    for one, other in zip(
        load_toy(home, FILES, edge_weights=1)[0], load_toy(home, files, edge_weights=1)[0], strict=True
    ):
        assert one.same_topology(other)


def test_a_set_without_edges(home):
    graphs, _ = load_toy(home, without(A=""))
    assert [g.n_edges for g in graphs] == [0, 0] and isinstance(graphs[0], Graph)


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (without("A"), {}, r"TOY\.zip: TOY_A\.txt is missing; the files in it are: README\.txt, TOY_edge_attr"),
        (without("graph_labels"), {}, r"TOY_graph_labels\.txt is missing"),
        (without("node_labels"), {"labels": True}, "labels=True was requested, but TOY has no node labels"),
        (without("node_attributes"), {}, "TOY has no continuous node attributes; use its labels with labels=True"),
        (without("node_attributes", "node_labels"), {}, "no continuous node attributes; nor labels"),
        (without("edge_attributes"), {"edge_weights": True}, "TOY has no edge attributes"),
        (without(graph_labels="1\n"), {}, r"TOY_graph_labels\.txt has 1 lines, but .*indicator.txt needs 2"),
        (without(node_attributes="1\n2\n"), {}, r"TOY_node_attributes\.txt has 2 lines, but .* needs 6"),
        (without(node_attributes="a\n" * 6), {}, r"TOY_node_attributes\.txt: could not convert string 'a'"),
        (without(A="1, 9\n"), {}, r"TOY_A\.txt names node 9, but the nodes are 1 to 6"),
        (without(A="1, 2, 3\n"), {}, r"TOY_A\.txt must have 2 numbers per line, but has 3"),
        (without(graph_indicator=""), {}, "must number graphs from 1 in order"),
        (without(A="1, 0\n"), {}, r"TOY_A\.txt names node 0, but"),
        (without(A="1, 2\n3, 4\n"), {}, r"TOY_A\.txt joins two graphs in line 2"),
        (without(graph_indicator="1\n1\n3\n3\n3\n3\n"), {}, "must number graphs from 1 in order"),
    ],
)
def test_bad_files(files, options, message, home):
    with pytest.raises(ValueError, match=message):
        load_toy(home, files, **options)


def test_corrupt_zip(home):
    good = zipped()
    for bad in (good[: len(good) // 2], b"<html>not found</html>", b"", good[:60] + b"\xff" * 40 + good[100:]):
        (home / "TOY.zip").write_bytes(bad)
        with pytest.raises(ValueError, match=r"TOY\.zip: .*(damaged or not a zip|could not convert)"):
            load_tu("TOY", data_home=home)


def test_wrong_checksum(home):
    (home / "TOY.zip").write_bytes(zipped())
    found = sha256(home / "TOY.zip")
    load_tu("TOY", data_home=home, checksum=found.upper())
    with pytest.raises(ValueError, match=f"TOY.zip: its SHA-256 is {found}, but the expected checksum is 00ff"):
        load_tu("TOY", data_home=home, checksum="00ff")
    with pytest.raises(ValueError, match="No checksum is known for 'TOY', only for BZR"):
        load_tu("TOY", data_home=home, checksum="known")
    (home / "BZR.zip").write_bytes(zipped("BZR"))
    with pytest.raises(ValueError, match=r"BZR\.zip: its SHA-256 is"):
        load_tu("BZR", data_home=home, checksum="known")


def test_where_sets_are_looked_for(home, tmp_path, monkeypatch):
    """SWWL_DATA before the cache, tu/NAME.zip before NAME.zip, a given folder instead of both."""
    places = [tmp_path / "data" / "tu", tmp_path / "data", tmp_path / "cache" / "tu", home]
    monkeypatch.setenv("SWWL_DATA", str(tmp_path / "data"))
    for k, place in enumerate(places):
        place.mkdir(parents=True, exist_ok=True)
        (place / "TOY.zip").write_bytes(zipped(files=without(graph_labels=f"{k}\n{k}\n")))
    assert load_tu("TOY", data_home=home)[1][0] == 3
    for k, place in enumerate(places[:3]):
        assert load_tu("TOY").y[0] == fetch_tu("TOY", download_if_missing=False).y[0] == k
        (place / "TOY.zip").unlink()
    with pytest.raises(
        FileNotFoundError,
        match=r"TOY\.zip is not in .*data nor in .*cache, and load_tu reads local files alone; fetch_tu",
    ):
        load_tu("TOY")
    with pytest.raises(FileNotFoundError, match=r"TOY\.zip is not in .*data nor in .*cache, and download_if_missing=F"):
        fetch_tu("TOY", download_if_missing=False)


class Site(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.endswith("CUT.zip"):  # promises more than it sends
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"PK")
        elif self.path.endswith("SHY.zip"):
            self.send_error(503)
        else:
            super().do_GET()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The TU site, on this machine."""
    folder = tmp_path / "site"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setattr(tu_module, "TU_SITE", f"http://127.0.0.1:{server.server_port}/")
        yield folder
        server.shutdown()
        thread.join()


def test_download_once(home, site, tmp_path):
    (site / "TOY.zip").write_bytes(zipped())
    first, _ = fetch_tu("TOY")
    kept = tmp_path / "cache" / "tu"
    assert sorted(path.name for path in kept.iterdir()) == ["TOY.zip", "TOY.zip.sha256"]
    assert (kept / "TOY.zip.sha256").read_text() == f"{sha256(site / 'TOY.zip')}  TOY.zip\n"
    (site / "TOY.zip").unlink()
    again, _ = fetch_tu("TOY")
    assert [g.n_nodes for g in first] == [g.n_nodes for g in again]
    (kept / "TOY.zip").write_bytes(zipped(files=without(graph_labels="5\n5\n")))
    with pytest.raises(ValueError, match=r"the one noted when it was downloaded \(TOY\.zip\.sha256\) is"):
        fetch_tu("TOY")


def test_load_tu_asks_no_site(home, site):
    (site / "TOY.zip").write_bytes(zipped())
    with pytest.raises(FileNotFoundError, match="load_tu reads local files alone; fetch_tu downloads it"):
        load_tu("TOY")
    assert len(fetch_tu("TOY").graphs) == len(load_tu("TOY").graphs) == 2


def test_the_cache_is_where_the_platform_keeps_caches(home, tmp_path, monkeypatch):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("SWWL_CACHE")
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    assert "swwl" in cache_folder().parts and (sys.platform != "linux" or cache_folder() == tmp_path / "swwl")


def test_download_to_a_given_folder(home, site):
    (site / "TOY.zip").write_bytes(zipped())
    fetch_tu("TOY", data_home=home)
    assert (home / "tu" / "TOY.zip").exists() and not cache_folder().exists()


def test_bad_downloads_are_not_kept(home, site, tmp_path):
    (site / "TOY.zip").write_bytes(zipped())
    (site / "HTML.zip").write_bytes(b"<html>")
    (site / "BZR.zip").write_bytes(zipped("BZR"))
    for name, options, error, message in [
        ("TOY", {"checksum": "12ab"}, ValueError, "but 12ab is expected; the file was not kept"),
        ("HTML", {}, ValueError, "damaged or not a zip"),
        ("BZR", {}, ValueError, "found 2 graphs, 6 nodes and 3 edges, but BZR has 405, 14479 and 15535"),
        ("CUT", {}, ConnectionError, "CUT.zip: the download was interrupted"),
        ("SHY", {}, ConnectionError, "the site refuses the download .*503"),
        ("NONE", {}, FileNotFoundError, "There is no TU set 'NONE'"),
        ("Enzyme", {}, FileNotFoundError, "There is no TU set 'Enzyme': .* Did you mean 'ENZYMES'?"),
    ]:
        with pytest.raises(error, match=message):
            fetch_tu(name, **options)
        assert not [path for path in (tmp_path / "cache").rglob("*") if path.suffix == ".zip" or ".part" in path.name]


def test_no_network(home, monkeypatch):
    monkeypatch.setattr(tu_module, "TU_SITE", "http://127.0.0.1:9/")  # nobody listens there
    with pytest.raises(ConnectionError, match=r"PROTEIN\.zip is not in .*cache, and .*check the network\. Did you"):
        fetch_tu("PROTEIN")


@pytest.mark.parametrize("name", ["../BZR", "", "a/b", "BZR.zip/", "..", None])
def test_names_that_are_none(name, home):
    with pytest.raises(ValueError, match="The name of a TU set is made of"):
        fetch_tu(name, data_home=home)


def test_suggested_names_are_names(home):
    """Every suggestion is a name of the site; a line break within one used to make two."""
    suggested = {*tu_module._KNOWN, *tu_module._OTHERS}
    assert "REDDIT-MULTI-12K" in suggested and not {"REDDIT-", "MULTI-12K"} & suggested
    assert all(name[-1].isalnum() for name in suggested)
    with pytest.raises(FileNotFoundError, match="Did you mean 'REDDIT-MULTI-12K'?"):
        load_tu("REDDIT-MULTI12K", data_home=home)

"""Whatever is sent: a 4xx with a reason on one line, never a 500, nothing left behind, and the server serves on."""

import base64
import io
import json
import os
import zipfile

import h5py
import numpy as np
import pytest

from swwl import Mesh
from swwl.serve.http.limits import Limits
from tests.helpers import plate
from tests.serve.conftest import client_of

MESH = "data/meshes/003.vtu"
GOOD = {"mesh": MESH, "inputs": {"load": 2.0}}
WRONG = [None, True, False, "", "two", [], [1], {}, {"a": 1}, "1", -1, 1e308, -1e308, 10**400, 1e18]
RAW = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"1",
    b'"text"',
    b"\xff\xfe\x00",
    b'{"inputs": NaN}',
    b'{"inputs": {"load": NaN}}',
    b'{"inputs": {"load": Infinity}}',
    b'{"inputs": {"load": -Infinity}}',
    b'{"inputs": {"load": 1e999}}',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"inputs": {"load": ' + b"9" * 6000 + b"}}",
    b"{'mesh': 1}",
    b"\0" * 100,
    b'{"mesh": "a", "mesh": {}}',
    b"{} {}",
    b'{"inputs": {"load": 0x10}}',
    '{"ключ": 1}'.encode(),
]
PATHS = [
    "../model.swwl",
    "../../../../etc/passwd",
    "/etc/passwd",
    "data/../../x.vtu",
    "data/meshes/../../../x",
    "~/x.vtu",
    ".",
    "..",
    "",
    " ",
    "data",
    "data/meshes",
    "data/meshes/999.vtu",
    "data\\meshes\\003.vtu",
    "file:///etc/passwd",
    "\0.vtu",
    "data/meshes/003.vtu\0.txt",
    "a" * 5000,
    "model.swwl",
    "data/table.csv",
    "link-out.vtu",
    "link-folder/secret.vtu",
    "loop.vtu",
    "upload:",
    "upload:0",
    "upload:../../x",
    "train:",
    "train:mesh:99",
    "train:mesh:-1",
    "test:mesh:0",
    "train:other:1",
    "http://example.com/a.vtu",
    "//server/share/a.vtu",
    "/dev/zero",
    "/proc/self/environ",
    "CON",
    "%2e%2e/x",
]


@pytest.fixture(scope="module")
def spoiled(plates, tmp_path_factory):
    """A client of a server whose folder has links that lead out of it, and which keeps its files where we can look."""
    outside = tmp_path_factory.mktemp("outside")
    Mesh(*plate(20)).write(outside / "secret.vtu")
    kept = tmp_path_factory.mktemp("kept")
    for name, target in (("link-out.vtu", outside / "secret.vtu"), ("link-folder", outside), ("loop.vtu", "loop.vtu")):
        if not (plates / name).is_symlink():
            os.symlink(target, plates / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(kept))
        with client_of(plates) as client:
            yield client
            assert [path for path in kept.rglob("*") if path.is_file()] == []
        assert list(kept.rglob("*")) == []
    for name in ("link-out.vtu", "link-folder", "loop.vtu"):
        (plates / name).unlink()


def refused(answer):
    """Check that an answer is a refusal with a reason."""
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])
    text = answer.json()["error"]
    assert text and "\n" not in text and "Traceback" not in text and "swwl-serve-" not in text
    return text


def serves_on(client):
    assert client.post("/api/predict", json=GOOD).status_code == 200


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("key", ["inputs", "mesh", "level", "load", "model", "sweep"])
def test_values_of_the_wrong_type_or_size(spoiled, key, value):
    fine = {"load": [-1], "model": [None, ""]}
    asked = json.loads(json.dumps(GOOD))
    if key == "load":
        asked["inputs"]["load"] = value
    else:
        asked[key] = value
    if key == "sweep":
        refused(spoiled.post("/api/curve", json=asked))
        refused(
            spoiled.post("/api/curve", json=GOOD | {"sweep": {"name": "load", "n": value}})
            if value is not None
            else spoiled.post("/api/curve", json={})
        )
        return
    answer = spoiled.post("/api/predict", json=asked)
    if value in fine.get(key, ()):
        assert answer.status_code == 200
    else:
        refused(answer)


@pytest.mark.parametrize("body", RAW, ids=range(len(RAW)))
@pytest.mark.parametrize(
    "path", ["/api/predict", "/api/curve", "/process", "/invocations", "/api/surface", "/api/field"]
)
def test_bodies_that_are_no_questions(spoiled, path, body):
    refused(spoiled.post(path, content=body, headers={"content-type": "application/json"}))


@pytest.mark.parametrize("name", PATHS, ids=range(len(PATHS)))
def test_no_path_outside_the_folder_is_read(spoiled, name):
    text = refused(spoiled.post("/api/predict", json=GOOD | {"mesh": name}))
    assert "root:" not in text and "secret" not in text.replace("link-folder/secret.vtu", "")
    table = f'mesh,load\n"{name}",2\n' if "\0" not in name else "mesh,load\n\0,2\n"
    refused(spoiled.post("/api/table", content=table.encode(), headers={"content-type": "text/csv"}))


def vtu(spoil=lambda content: content, n=60):
    points, cells = plate(n)
    file = io.BytesIO()
    from swwl.mesh.io.vtk.vtu import write_vtu

    write_vtu(file, Mesh(points, {"triangle": cells}))
    return spoil(file.getvalue())


def bomb():
    """A zip of some kilobytes that declares a gigabyte."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("points.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(entry, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 3)})
        for _ in range(24):
            entry.write(bytes(10**7))
    return file.getvalue()


def linked(tmp_path, make):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        make(file)
    return (tmp_path / "a.h5").read_bytes()


FILES = {
    "empty.vtu": b"",
    "noise.vtu": os.urandom(2000),
    "text.vtu": b"hello",
    "cut.vtu": vtu(lambda c: c[: len(c) // 2]),
    "entities.vtu": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><VTKFile>&b;</VTKFile>',
    "none": b"",
    "a.py": b"",
    "a.vtm": b"<VTKFile/>",
    "a.pvtu": b"<VTKFile/>",
    "a.xdmf": b"<Xdmf/>",
    "a.swwl": b"PK",
    "..vtu": b"",
    "a.vtu.exe": b"MZ",
    "bomb.npz": bomb(),
    "large.vtu": vtu(n=6000),
    "a.npz": b"PK\3\4",
    "a.stl": b"solid",
    "a.msh": b"$MeshFormat\n",
    "a.obj": b"v",
    "a.inp": b"*NODE, INPUT=/etc/passwd\n",
    "a.bdf": b"INCLUDE '/etc/passwd'\n",
    "a.cgns": b"\x89HDF\r\n\x1a\n",
    "a.med": b"",
    "lonely.vtu": b'<VTKFile type="UnstructuredGrid"><UnstructuredGrid><Piece NumberOfPoints="1" NumberOfCells="0"/>'
    b"</UnstructuredGrid></VTKFile>",
    "huge.vtu": vtu(lambda c: c.replace(b'NumberOfPoints="60"', b'NumberOfPoints="9999999999"')),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("path", ["/api/predict", "/api/mesh"])
def test_files_that_are_no_meshes(spoiled, path, name):
    refused(spoiled.post(path, data={"inputs": '{"load": 2}'}, files={"mesh": (name, FILES[name])}))


def test_hdf5_files_that_lead_elsewhere(spoiled, tmp_path):
    def loop(file):
        file.create_group("a")["b"] = file["/"]

    for make in (lambda file: file.__setitem__("a", h5py.ExternalLink("/etc/passwd", "/")), loop):
        refused(spoiled.post("/api/mesh", files={"mesh": ("a.cgns", linked(tmp_path, make))}))


FORMS = [
    b"",
    b"--x",
    b"--x\r\n",
    b"--x--",
    b"--y\r\n\r\n--y--",
    b'--x\r\nContent-Disposition: form-data; name="mesh"',
    b'--x\r\nContent-Disposition: form-data; name="mesh"; filename="a.vtu"\r\n\r\nhalf a fi',
    b'--x\r\nContent-Disposition: form-data; name="mesh"; filename="a.vtu"\r\n\r\n\r\n--x--',
    b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--",
    b"--x\r\n\r\n\r\n--x--",
    os.urandom(1000),
    b'--x\r\nContent-Disposition: form-data; name="inputs"\r\n\r\n{bad\r\n--x--',
    b'--x\r\nContent-Disposition: form-data; name="request"\r\n\r\n[]\r\n--x--',
    b"".join(b'--x\r\nContent-Disposition: form-data; name="f%d"; filename="a.vtu"\r\n\r\n\r\n' % k for k in range(50))
    + b"--x--",
    b"".join(b'--x\r\nContent-Disposition: form-data; name="f%d"\r\n\r\n\r\n' % k for k in range(99)) + b"--x--",
    b'--x\r\nContent-Disposition: form-data; name="big"\r\n\r\n' + b"a" * 1_500_000 + b"\r\n--x--",
    b"--x\r\n" + b"A: b\r\n" * 20_000 + b"\r\n\r\n--x--",
]


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # half a file is closed when it is let go
@pytest.mark.parametrize("body", FORMS, ids=range(len(FORMS)))
@pytest.mark.parametrize("path", ["/api/predict", "/api/table"])
def test_forms_that_are_cut_or_spoiled(spoiled, path, body):
    refused(spoiled.post(path, content=body, headers={"content-type": "multipart/form-data; boundary=x"}))


@pytest.mark.parametrize(
    "kind", ["multipart/form-data", "multipart/form-data; boundary=", "text/plain", "application/xml", "a" * 500]
)
def test_types_that_are_not_taken(spoiled, kind):
    refused(spoiled.post("/api/predict", content=b"x", headers={"content-type": kind}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "mesh\n",
        "load\n1\n",
        "mesh,load\n",
        f"mesh,load\n{MESH},two\n",
        f"mesh,load\n{MESH},\n",
        "a,a\n1,1\n",
        f"mesh,load,area_mean\n{MESH},2,1\n",
        "\0\0",
        '"',
        f"mesh,load\n{MESH},1,2,3,4\n",
        "mesh,load\n" + f"{MESH},2\n" * 600,
        f"mesh,load\n{MESH},nan\n",
        f"mesh,load\n{MESH},inf\n",
    ],
    ids=range(15),
)
def test_tables_that_are_spoiled(spoiled, text):
    refused(spoiled.post("/api/table", content=text.encode(), headers={"content-type": "text/csv"}))


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"inputs": 1},
        {"instances": []},
        {"instances": [1]},
        {"dataframe_split": {}},
        {"dataframe_records": [{}]},
        {"dataframe_split": {"columns": ["a", "a"], "data": []}},
        {"dataframe_split": {"columns": ["load"], "data": [[1, 2]]}},
        {"inputs": {"load": [1], "mesh": []}},
        {"instances": [{"load": 1}]},
        {"instances": [{"load": "x", "mesh": MESH}]},
        {"instances": [{"load": None, "mesh": MESH}]},
        {"instances": [{"load": 1, "mesh": 5}]},
        {"instances": [], "inputs": []},
    ],
    ids=range(14),
)
def test_invocations_that_are_spoiled(spoiled, form):
    refused(spoiled.post("/invocations", json=form))


def sample(tree):
    inner = {"format": "plaid-cgns-tree-json", "version": 1, "tree": tree}
    return {"sample": {"format": "plaid-sample-json", "version": 1, "trees": [{"time": 0.0, "tree": inner}]}}


def node(value=None, children=(), name="CGNSTree", label="CGNSTree_t"):
    return {"name": name, "label": label, "value": value, "children": list(children)}


def array(**more):
    data = base64.b64encode(bytes(8)).decode()
    return {"kind": "ndarray", "encoding": "base64", "dtype": "<f8", "shape": [1], "data": data} | more


def deep(n):
    found = node()
    for _ in range(n):
        found = node(children=[found])
    return found


SAMPLES = [
    {},
    {"sample": 1},
    {"sample": {}},
    {"sample": {"format": "plaid-sample-json", "version": 2}},
    sample(None),
    sample(1),
    {"sample": {"format": "plaid-sample-json", "version": 1, "trees": []}},
    sample({}),
    sample(node()),
    sample(deep(200)),
    sample(node(array(dtype="O"))),
    sample(node(array(dtype="V9999999"))),
    sample(node(array(shape=[10**12]))),
    sample(node(array(shape=[-1]))),
    sample(node(array(shape="x"))),
    sample(node(array(data="%%%"))),
    sample(node(array(data=5))),
    sample(node(array(encoding="pickle"))),
    sample(node(array(dtype="<U4", encoding="json", data=["a", ["b"]]))),
    sample(
        node(
            children=[
                node(array(), name="Base", label="CGNSBase_t", children=[node(array(), name="Z", label="Zone_t")])
            ]
        )
    ),
    sample(node(children=[1])),
    sample({"name": 1, "label": 2, "value": 3, "children": 4}),
    {"sample": sample(node()), "model": "x"},
]


@pytest.mark.parametrize("body", SAMPLES, ids=range(len(SAMPLES)))
def test_samples_that_are_spoiled(spoiled, body):
    refused(spoiled.post("/process", json=body))


@pytest.mark.parametrize(
    "headers",
    [{"host": "evil.example"}, {"host": ""}, {"host": "[::1"}, {"host": "127.0.0.1@evil.example"}],
    ids=str,
)
def test_other_names_than_ours(plates, headers):
    with client_of(plates, hosts=["127.0.0.1", "localhost"]) as client:
        refused(client.get("/api/models", headers=headers))
        assert client.get("/api/models", headers={"host": "localhost:8000"}).status_code == 200


def test_pages_of_other_sites_may_not_ask(spoiled):
    for origin in ("http://evil.example", "null", "https://127.0.0.1.evil.example", "[", "http://[::1"):
        refused(spoiled.post("/api/predict", json=GOOD, headers={"origin": origin}))
    assert spoiled.post("/api/predict", json=GOOD, headers={"origin": "http://127.0.0.1"}).status_code == 200


def test_a_token_is_needed_for_answers_but_not_for_the_page(plates):
    with client_of(plates, token="right") as client:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "right"}, {"authorization": "Bearer"}):
            assert client.get("/api/models", headers=headers).status_code == 401
            refused(client.post("/process", json={}, headers=headers))
        for query in ("", "?token=", "?token=wrong", "?token=righ", "?token=%FF", "?token=right%00"):
            assert client.get(f"/api/model{query}").status_code == 401
        assert client.get("/").status_code == client.get("/page/app.js").status_code == 200
        assert client.get("/api/models", headers={"authorization": "Bearer right"}).status_code == 200
        assert client.get("/api/models?token=right").status_code == 200


def test_addresses_that_do_not_exist(spoiled):
    for path in (
        "/api",
        "/api/nothing",
        "/page/",
        "/page/../app.py",
        "/page/%2e%2e%2fapp.py",
        "/page/app.py",
        "/.env",
    ):
        refused(spoiled.get(path))
    for method, path in (("PUT", "/api/predict"), ("DELETE", "/api/mesh"), ("GET", "/api/predict"), ("POST", "/")):
        refused(spoiled.request(method, path))


def test_requests_that_are_too_large_or_compressed(plates):
    with client_of(plates, Limits(body=1000)) as client:
        assert client.post("/api/predict", content=b" " * 1001).status_code == 413
        chunks = (b" " * 100 for _ in range(20))
        assert client.post("/api/predict", content=chunks).status_code == 413
        for length in ("-1", "x", "1e3", "9" * 30, str(10 * 10**9)):
            refused(client.post("/api/predict", content=b"", headers={"content-length": length}))
        refused(client.post("/api/predict", content=b"x", headers={"content-encoding": "gzip"}))
        serves_on(client)


def test_it_serves_on_after_all_that(spoiled):
    serves_on(spoiled)
    assert spoiled.get("/health").json()["status"] == "ok"

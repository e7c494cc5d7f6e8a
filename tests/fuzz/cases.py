"""Sound files, what may happen to them, and what must never come of it.

A case is a spoiled file and its reader. Whatever the file, the reader answers or raises `InputError`, within a time
limit, and takes no more memory than a multiple of the file's size.
"""

import hashlib
import importlib.util
import io
import itertools
import json
import random
import re
import signal
import tempfile
import threading
import time
import tracemalloc
import warnings
import zipfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

from swwl import SWWL, GraphSVC, Matern52, PrincipalSWWL, RobustGPRegressor, load_model
from swwl.errors import InputError
from swwl.kernels import Categories
from swwl.mesh.io.cad import surface
from swwl.mesh.io.formats import read_file
from swwl.mesh.io.vtk.vtu import read_vtu
from tests.helpers import SMALL, plate, plates
from tests.mesh.io import small_files
from tests.mesh.io.vtk.vtu_files import COMPRESSORS, Builder
from tests.solvers.gmsh_model import gmsh_model

SECONDS = 10.0
RATIO, ALWAYS = 20, 128 * 2**20  # bytes per byte of the file, and for any file: that of a small one may hold but zeros

NUMBERS = [b"-1", b"0", b"1", b"3", b"255", b"65536", b"2147483647", b"4294967296", b"9223372036854775807", b"1e308"]
NUMBERS += [b"nan", b"-0.0", b"1" * 400, b"", b"x"]
WORDS = [b"ascii", b"binary", b"appended", b"raw", b"base64", b"Float32", b"Float64", b"Int8", b"UInt64", b"String"]
WORDS += [b"vtkZLibDataCompressor", b"vtkLZMADataCompressor", b"vtkLZ4DataCompressor", b"PolyData", b"UnstructuredGrid"]
WORDS += [b"LittleEndian", b"BigEndian", b"UInt32", b"connectivity", b"offsets", b"types", b"Points", b"&amp;", b"&x;"]
WHOLE = [0, 1, 2, 7, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]


class Broken(Exception):
    """A file that a reader does not deal with as promised."""


@cache
def mesh_files():
    """Return sound VTU and VTP files by name: every form, every compressor, small and not so small."""
    compressors = [None, "zlib", "lzma"]
    try:
        from lz4.block import compress
    except ImportError:
        pass
    else:
        COMPRESSORS.setdefault("lz4", lambda data: compress(data, store_size=False))
        compressors.append("lz4")
    points, triangles = plate(40)
    points = np.column_stack([points, points[:, 0]])
    types, ends = np.full(len(triangles), 5, np.uint8), np.arange(3, 3 * len(triangles) + 1, 3)
    fields = {"T": points[:, 0].astype(np.float32), "V": points}
    files = {}
    for form, compressor in itertools.product(("ascii", "binary", "raw", "base64"), compressors):
        if form == "ascii" and compressor:
            continue
        for header, order in (("UInt32", "<"), ("UInt64", ">")):
            options = {"header": header, "order": order, "block": 256}
            build, name = Builder(form, compressor, **options), f"{form}-{compressor}-{header}"
            piece = build.grid(points, types, ends, triangles.ravel(), fields, {"E": types})
            files[f"{name}.vtu"] = build.file(piece)
            build = Builder(form, compressor, **options)
            piece = build.surface(points, {"Lines": [[0, 1, 2]], "Polys": triangles.tolist()}, fields)
            files[f"{name}.vtp"] = build.file(piece, "PolyData")
    return files


@cache
def solver_files():
    """Return sound files of solvers by name: results, decks, and each file of cases, named after its case."""
    found = {f"{form}.frd": small_files.frd(form) for form in range(4)}
    found |= {f"{form}.k": small_files.dyna(form) for form in ("fixed", "long", "comma")}
    found["bar.unv"] = small_files.unv()
    found["polyhedra.vtu"] = small_files.polyhedra()
    for case, files in cases().items():
        found |= {f"{case}@{name.replace('/', '@')}": content for name, content in files.items() if "0/" not in name}
    part = '<DataSet timestep="{}" name="a" file="inside.vtu"/>'
    found["a.pvd"] = f'<VTKFile type="Collection"><Collection>{part.format(1)}</Collection></VTKFile>'.encode()
    kind = "vtkMultiBlockDataSet"
    block = f'<Block name="b">{part.format(0)}</Block>'.replace("inside", "other")
    found["a.vtm"] = f'<VTKFile type="{kind}"><{kind}>{part.format(0)}{block}</{kind}></VTKFile>'.encode()
    found["a.vtu.series"] = b'{"file-series-version" : "1.0", "files" : [{"name" : "inside.vtu", "time" : 0.5}]}'
    return found


@cache
def cad_files():
    """Return sound CAD files by name, as gmsh writes them; none where it is not installed."""
    if importlib.util.find_spec("gmsh") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder, gmsh_model() as gmsh:
        kernel = gmsh.model.occ
        kernel.cut([(3, kernel.addBox(0, 0, 0, 40, 20, 5))], [(3, kernel.addCylinder(20, 10, -1, 0, 0, 10, 4))])
        kernel.synchronize()
        for ending in ("step", "brep", "iges"):
            gmsh.write(f"{folder}/part.{ending}")
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


@cache
def cases():
    """Return the files of sound OpenFOAM cases."""
    wide = small_files.foam("binary", 64, 32)
    return {"text": small_files.foam(), "binary": wide, "packed": small_files.foam(packed=True)}


@cache
def model_table():
    """Return what the models are fitted to."""
    return plates(20).assign(material=["steel", "copper"] * 10, kind=np.arange(20) % 3)


@cache
def model_files():
    """Return sound model files by name."""
    table, found = model_table(), {}
    kernels = {
        "principal.swwl": PrincipalSWWL("mesh", n_components=2, **SMALL) * Matern52("load") * Categories("material"),
        "swwl.swwl": SWWL("mesh", r=1, alpha=1, **SMALL),
        "numbers.swwl": Matern52("load"),
    }
    models = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these models need not be good
        for name, kernel in kernels.items():
            model = RobustGPRegressor(kernel, n_starts=1, calibrate=False, range_uncertainty=True)
            models[name] = model.fit(table, "weight")
    models["classifier.swwl"] = GraphSVC(SWWL("mesh", **SMALL)).fit(table, "kind")
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            model.save(f"{folder}/{name}")
            found[name] = Path(folder, name).read_bytes()
    return found


def spoiled(data, rng):
    """Return bytes with a few things changed: bits, numbers, words, pieces."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = rng.randrange(len(data) + 1) if data else 0
        kind = rng.randrange(8)
        if kind == 0 and place < len(data):
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            size = rng.choice((1, 2, 4, 8))
            data[place : place + size] = (rng.choice(WHOLE) % 256**size).to_bytes(size, rng.choice(("little", "big")))
        elif kind == 2:
            del data[place : place + rng.choice((1, 4, 30, 300))]
        elif kind == 3:
            start = rng.randrange(len(data) + 1)
            data[place:place] = data[start : start + rng.choice((1, 8, 100))] * rng.choice((1, 1, 1, 30))
        elif kind == 4:
            del data[place:]
        elif kind in (5, 6):
            found = list(itertools.islice(re.finditer(rb"-?\d+(\.\d+)?", bytes(data)), 3000))
            if found:
                match = rng.choice(found[: rng.choice((20, 3000))])
                data[match.start() : match.end()] = rng.choice(NUMBERS)
        else:
            found = list(itertools.islice(re.finditer(rb"[A-Za-z][A-Za-z0-9]{2,}", bytes(data)), 200))
            if found:
                match = rng.choice(found)
                data[match.start() : match.end()] = rng.choice([*WORDS, rng.choice(found)[0]])
    return bytes(data)


def crafted(data, rng):
    """Return a model file with some entries spoiled or values replaced, and a checksum that is right all the same."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist() if name != "sha256"}
    for _ in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.3:
            name = rng.choice(list(contents))
            contents[name] = spoiled(contents[name], rng)
        else:
            contents["manifest.json"] = _revalued(contents["manifest.json"], rng)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_STORED,) * 9 + (zipfile.ZIP_DEFLATED,))) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
        archive.writestr("sha256", hashlib.sha256(b"".join(contents.values())).hexdigest())
    return file.getvalue()


def _revalued(text, rng):
    """Return a manifest with one value replaced by another, or by one of its own from elsewhere."""
    try:
        manifest = json.loads(text)
    except ValueError:
        return text
    places = []

    def walk(value):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((value, key))
            if isinstance(item, (dict, list)):
                walk(item)

    if not isinstance(manifest, (dict, list)) or not manifest:
        return text
    walk(manifest)
    others = [None, True, -1, 0, 10**30, 1e308, float("nan"), "x", "sqrt", [], {}, [[1]], {"$array": 0}, {"$tuple": []}]
    (holder, key), (source, other) = rng.choice(places), rng.choice(places)
    if rng.random() < 0.1:
        del holder[key]
    else:
        holder[key] = json.loads(json.dumps(rng.choice([*others, source[other]])))
    return json.dumps(manifest).encode()


def read_mesh_file(path):
    """Read a mesh and make a graph of it."""
    read_vtu(path).graph()


def read_solver_file(path):
    """Read what a solver left, and make a graph of it; a file of a case among its other files."""
    if "@" in path.name:
        case, _, name = path.name.partition("@")
        with tempfile.TemporaryDirectory() as folder:
            content = {name.replace("@", "/"): path.read_bytes()}
            read_file(small_files.write_case(Path(folder), cases()[case] | content)).graph()
        return
    for name in ("inside.vtu", "other.vtu"):
        (path.parent / name).write_bytes(mesh_files()["ascii-None-UInt32.vtu"])
    read_file(path).graph()


def read_cad_file(path):
    """Mesh the surface of a CAD file, coarsely; a process that does not end is ended, which is a refusal."""
    with mock.patch.object(surface, "_MOST_SECONDS", SECONDS - 2):
        read_file(path, size=8.0).graph()


def read_model_file(path):
    """Load a model and predict."""
    load_model(path).predict(model_table()[:2])


def make_case(number, seed, only=""):
    """Return name, content and reader of a case; ``only`` "solvers" or "cad" leaves out the others."""
    rng = random.Random(f"{seed}-{number}")
    if only == "cad":
        name = rng.choice(list(cad_files()))
        return name, spoiled(cad_files()[name], rng), read_cad_file
    if only == "solvers" or rng.random() < 0.4:
        name = rng.choice(list(solver_files()))
        return name, spoiled(solver_files()[name], rng), read_solver_file
    if rng.random() < 0.5:
        name = rng.choice(list(mesh_files()))
        return name, spoiled(mesh_files()[name], rng), read_mesh_file
    name = rng.choice(list(model_files()))
    change = rng.choice((spoiled, crafted, crafted))
    return name, change(model_files()[name], rng), read_model_file


def check(name, content, reader, folder):
    """Read a spoiled file; return whether it was refused, the seconds and the bytes that it took, or raise `Broken`."""
    path = Path(folder, name)
    path.write_bytes(content)
    tracemalloc.reset_peak()
    before, start, refused = tracemalloc.get_traced_memory()[0], time.perf_counter(), False
    try:
        with warnings.catch_warnings(), _time_limit(SECONDS), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            reader(path)
    except InputError as error:
        refused = True
        if len(str(error).splitlines()) != 1:
            raise Broken(f"a message of several lines: {error}") from error
    except Exception as error:
        raise Broken(f"{type(error).__name__}: {error}") from error
    seconds, taken = time.perf_counter() - start, tracemalloc.get_traced_memory()[1] - before
    if taken > RATIO * len(content) + ALWAYS:
        raise Broken(f"{taken / 1e6:.0f} MB of memory for a file of {len(content)} bytes")
    return refused, seconds, taken


@contextmanager
def _time_limit(seconds):
    def stop(*_):
        raise TimeoutError(f"more than {seconds:g} s")

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    former = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)

"""Meshes, tables, files, a plain NumPy reference and checks of derivatives that the tests share."""

import hashlib
import json
import zipfile
from dataclasses import is_dataclass
from pathlib import Path

import h5py
import msgspec
import numpy as np
import pandas as pd
from scipy.spatial import Delaunay

from swwl import Graph

SMALL = {"n_iterations": 1, "n_projections": 8, "n_quantiles": 20}


def plate(n_nodes=200, seed=0, stretch=1.0):
    """Points and triangles of a jittered rectangle."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(n_nodes)))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)[:n_nodes]
    points = (grid + 0.4 * rng.random((n_nodes, 2))) * [stretch, 1.0] / side
    return points, Delaunay(points).simplices


def random_graph(rng, n_nodes=30, n_features=3, *, weighted=False, massive=False):
    """A graph with some isolated nodes; edge weights and node weights on request."""
    edges = rng.integers(0, max(1, int(0.9 * n_nodes)), (2 * n_nodes, 2))
    return Graph(
        rng.standard_normal((n_nodes, n_features)) + rng.standard_normal(n_features),
        edges,
        rng.uniform(0.2, 2, len(edges)) if weighted else None,
        rng.uniform(0.1, 3, n_nodes) if massive else None,
    )


def reference_wl(graph, n_iterations, step=1, normalization="count"):
    """The definition, dense and in double precision: (n, (H + 1) d)."""
    n = graph.n_nodes
    weights = np.zeros((n, n))
    neighbors = np.zeros((n, n))
    given = np.ones(graph.n_edges) if graph.weights is None else graph.weights
    for (u, v), w in zip(graph.edges, given, strict=True):
        weights[u, v] = weights[v, u] = w
        neighbors[u, v] = neighbors[v, u] = 1
    degree = (neighbors if normalization == "count" else weights).sum(1)
    average = np.array([weights[u] / degree[u] if degree[u] else np.eye(n)[u] for u in range(n)])
    current, kept = graph.features, [graph.features]
    for _ in range(n_iterations):
        for _ in range(step):
            current = 0.5 * (current + average @ current)
        kept.append(current)
    return np.hstack(kept)


def reference_quantiles(values, n_quantiles, rule, weights=None):
    """Quantiles of one projection by np.quantile; by the written definition where NumPy has none for weights."""
    if rule == "mean":
        order = np.argsort(values)
        mass = np.ones(len(values)) if weights is None else np.asarray(weights)
        ends = np.append(0, np.cumsum(mass[order] / mass.sum()))
        share = lambda a, b: np.maximum(np.minimum(ends[1:], b) - np.maximum(ends[:-1], a), 0)  # noqa: E731
        parts = [share(q / n_quantiles, (q + 1) / n_quantiles) for q in range(n_quantiles)]
        return np.array([part @ values[order] * n_quantiles for part in parts])
    if rule == "midpoint":
        levels = (np.arange(n_quantiles) + 0.5) / n_quantiles
        return np.quantile(values, levels, method="inverted_cdf", weights=weights)
    levels = np.linspace(0, 1, n_quantiles)
    if weights is None:
        return np.quantile(values, levels, method=rule)
    pairs = sorted((v, m) for v, m in zip(values, weights, strict=True) if m > 0)
    v, m = np.array(pairs).T
    if len(v) == 1:
        return np.repeat(v, n_quantiles)
    tau = np.array([m[: i + 1].sum() - (m[0] + m[i]) / 2 for i in range(len(m))]) / (m.sum() - (m[0] + m[-1]) / 2)
    if rule == "linear":
        return np.interp(levels, tau, v)
    return np.array([v[tau <= level + 1e-12][-1] for level in levels])


def reference_rows(graphs, embedding):
    """Embeddings of graphs, recomputed in plain NumPy and double precision from a fitted embedding."""
    e = embedding
    rows = []
    for graph in graphs:
        scaled = Graph(graph.features / e.scale_, graph.edges, graph.weights)
        nodes = reference_wl(scaled, e.n_iterations, e.step_, e.normalization)
        blocks = np.split(np.arange(nodes.shape[1]), e.n_iterations + 1 if e.per_iteration else 1)
        row = []
        for block in blocks:
            projected = nodes[:, block] @ e.directions_[block]
            weights = None if e.node_weights == "uniform" else graph.node_weights
            columns = [reference_quantiles(p, e.n_quantiles, e.quantiles, weights) for p in projected.T]
            row.append(np.column_stack(columns).ravel())
        rows.append(np.concatenate(row) * (e.n_projections * e.n_quantiles) ** (-1 / e.r))
    return np.array(rows)


def central_slope(function, steps=(1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)):
    """Derivative of ``function(h)`` at h = 0 by central differences, and an estimate of its error, entry by entry.

    A step that is too long bends or meets kinks, one that is too short rounds, and where that begins depends on the
    function and on the arithmetic of the machine: so the best of several steps is taken. What its length spoils shows
    in the distance to the next shorter step, which rounds more and so bounds rounding too. Lest the two agree by
    chance, their distance is not taken to be below what the two steps after them say of rounding, which
    grows as steps shrink. Twice that is the estimate.
    """
    slopes = np.array([(np.asarray(function(h), float) - np.asarray(function(-h), float)) / (2 * h) for h in steps])
    apart = (np.abs(np.diff(slopes, axis=0)).T * steps[1:]).T  # in units of rounding
    errors = (2 * np.maximum(apart[:-1], apart[1:]).T / steps[1:-1]).T
    best = errors.argmin(axis=0)[None]
    return np.take_along_axis(slopes[:-2], best, axis=0)[0], np.take_along_axis(errors, best, axis=0)[0]


def assert_slope(found, function, rtol=1e-6, atol=0.0, *, scale=None, most=1e-4, **steps):
    """Check that ``found`` is the derivative of ``function(h)`` at h = 0, as well as central differences can tell.

    It may be off by ``rtol`` of the derivative (or of ``scale``), ``atol`` and the estimated error of the differences,
    which must be below ``most`` times the largest derivative (or ``scale``): differences that tell less prove nothing.
    """
    found = np.asarray(found, float)
    wanted, error = (np.asarray(a) for a in central_slope(function, **steps))
    assert found.shape == wanted.shape
    largest = np.abs(wanted).max() if scale is None else scale
    unclear = error > most * largest + atol
    assert not unclear.any(), f"no step will do: differences of {wanted[unclear]} disagree by {error[unclear]}"
    allowed = rtol * (np.abs(wanted) if scale is None else scale) + atol + error
    wrong = ~(np.abs(found - wanted) <= allowed)
    assert not wrong.any(), f"{found[wrong]}, but differences say {wanted[wrong]} ± {error[wrong]}"


def read_tu(folder, name):
    """Graphs of a TU set with their continuous attributes."""
    with zipfile.ZipFile(folder / "tu" / f"{name}.zip") as archive:
        member = {Path(file).name: file for file in archive.namelist()}

        def table(suffix, dtype):
            with archive.open(member[f"{name}_{suffix}.txt"]) as file:
                return np.loadtxt(file, delimiter=",", dtype=dtype, ndmin=2)

        graph_of_node = table("graph_indicator", int).ravel()
        attributes, edges = table("node_attributes", float), table("A", int) - 1
    starts = np.searchsorted(graph_of_node, np.arange(1, graph_of_node[-1] + 2))
    graph_of_edge = graph_of_node[edges[:, 0]]
    return [
        Graph(attributes[a:b], edges[graph_of_edge == k + 1] - a)
        for k, (a, b) in enumerate(zip(starts[:-1], starts[1:], strict=True))
    ]


def write_cgns(path, points, triangles, fields, scalars=None, boundary=None, time=0.0):
    """Write a mesh as PLAID's CGNS library does: an HDF5 group per node, labels in attributes, one-based cells."""

    def node(parent, name, label, data=None):
        group = parent.create_group(name)
        group.attrs["label"] = np.bytes_(label)
        group.attrs["name"] = np.bytes_(name)
        group.attrs["type"] = np.bytes_("MT" if data is None else "C1" if isinstance(data, str) else "R8")
        if data is not None:
            group[" data"] = np.frombuffer(data.encode(), np.int8) if isinstance(data, str) else data
        return group

    def mesh(name, dimension, number, cells):
        base = node(file, name, "CGNSBase_t", np.array([dimension, 2], np.int32))
        zone = node(base, "Zone", "Zone_t", np.array([[len(points)], [len(cells)], [0]]))
        elements = node(zone, f"Elements_{number}", "Elements_t", np.array([number, 0], np.int32))
        node(elements, "ElementConnectivity", "DataArray_t", (cells + 1).astype(np.int32).ravel())
        grid = node(zone, "GridCoordinates", "GridCoordinates_t")
        for axis, values in zip("XYZ", points.T, strict=False):
            node(grid, f"Coordinate{axis}", "DataArray_t", values)
        for where, length in (("Vertex", len(points)), ("CellCenter", len(cells))):
            solution = node(zone, f"{where}Fields", "FlowSolution_t")
            node(solution, "GridLocation", "GridLocation_t", where)
            for key, values in fields.items():
                node(solution, key, "DataArray_t", np.resize(values, length))

    with h5py.File(path, "w") as file:
        base = node(file, "Global", "CGNSBase_t", np.array([1, 1], np.int32))
        own = node(base, "Time", "BaseIterativeData_t", np.array([1], np.int32))
        node(own, "TimeValues", "DataArray_t", np.array([time]))
        for key, value in ({"speed": 3.5} if scalars is None else scalars).items():
            node(base, key, "DataArray_t", value if isinstance(value, str) else np.atleast_1d(value))
        mesh("Base_2_2", 2, 5, triangles)
        if boundary is not None:
            mesh("Base_1_2", 1, 3, boundary)


def plates(n, seed=0):
    """A table of plates of random width and height with a load; stiffness and weight depend on all three."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(0.5, 2, (n, 2))
    load = rng.uniform(1, 3, n)
    meshes = [
        Graph.from_cells(points * size, cells) for size, (points, cells) in zip(sizes, [plate(60)] * n, strict=True)
    ]
    return pd.DataFrame(
        {
            "mesh": pd.Series(meshes, dtype=object),
            "load": load,
            "stiffness": load * sizes[:, 0] / sizes[:, 1],
            "weight": sizes.prod(axis=1) + 0.1 * load,
        }
    )


def shapes(number, seed=0):
    """Rings of two sizes with noise."""
    rng = np.random.default_rng(seed)
    classes = np.arange(number) % 2
    graphs = []
    for big in classes:
        n = int(rng.integers(5, 8))
        angles = 2 * np.pi * np.arange(n) / n
        ring = (1 + 2 * big) * np.column_stack([np.cos(angles), np.sin(angles), 0 * angles])
        graphs.append(Graph(ring + 0.1 * rng.standard_normal((n, 3)), [(i, (i + 1) % n) for i in range(n)]))
    return graphs, classes


def rewrite_model(source, target, change, *, checksum=True, compression=zipfile.ZIP_STORED):
    """Copy a model file; ``change(manifest, arrays)`` changes the manifest and the bytes of its arrays in place."""
    with zipfile.ZipFile(source) as old:
        manifest = json.loads(old.read("manifest.json"))
        arrays = [old.read(name) for name in old.namelist() if name.startswith("arrays/")]
        digest = old.read("sha256")
    change(manifest, arrays)
    text = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w", compression) as new:
        new.writestr("manifest.json", text)
        for number, content in enumerate(arrays):
            new.writestr(f"arrays/{number}.npy", content)
        new.writestr("sha256", hashlib.sha256(text + b"".join(arrays)).hexdigest() if checksum else digest)


def plain_state(value):
    """Return a state as a model file holds it: dicts in place of instances of its classes."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    elif is_dataclass(value):
        value = {**vars(value)}
    if isinstance(value, dict):
        return {name: plain_state(own) for name, own in value.items()}
    return [plain_state(own) for own in value] if isinstance(value, list) else value

"""Meshes of the data sets: generated ones in full and coarsened by MMG, and published ones where they are there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from numpy.typing import NDArray
from scipy import sparse

from swwl import datasets
from swwl.mesh import Graph, Mesh, read_graph, read_mesh, write_graph
from swwl.plots import draw_mesh
from swwl.plots.style import BLUE, GRAY, new_figure, style
from swwl_paper.study import Study


class Nodes(NamedTuple):
    """Wanted numbers of nodes of a generated set: in full and coarsened."""

    full: int
    coarse: int


# "full" has the paper's numbers.
SIZES = {
    "small": {"blade": Nodes(3000, 500), "tensile2d": Nodes(2500, 500), "airfoil": Nodes(6000, 1200)},
    "medium": {"blade": Nodes(10_000, 800), "tensile2d": Nodes(6000, 900), "airfoil": Nodes(40_000, 3000)},
    "full": {"blade": Nodes(29_773, 1054), "tensile2d": Nodes(9426, 1177), "airfoil": Nodes(179_779, 6853)},
}
# Parts of the airfoil's mesh worth seeing, (left, right, bottom, top): the first with few enough triangles is drawn.
_WINDOWS = {"": (-0.35, 1.35, -0.5, 0.5), ", at its nose": (-0.06, 0.28, -0.1, 0.1)}
_MOST_TRIANGLES = 60_000


class Picture(NamedTuple):
    """What is drawn: the set, which of its meshes, its file, and how many nodes and edges its graph has."""

    set: str
    mesh: str
    path: Path
    nodes: int
    edges: int


def run(study: Study) -> None:
    """Make the meshes that an earlier run did not, count them, and draw them."""
    coarsens = _has_mmg()
    generated = [p for name in study.pick(SIZES) for p in generate(study, name, coarsens)]
    notes = ["Blades, plates and airfoils are generated (see the page on data sets)."]
    if not coarsens:
        notes.append("Coarsened meshes are left out: they take pip install 'swwl[mmg]'.")
    folder = os.environ.get("SWWL_DATA")
    real, missing = [], []
    for name, (file, read) in PUBLISHED.items():
        source = Path(folder or "") / file
        if folder and source.exists():
            real.append(_published(study, name, source, read))
        else:
            missing.append(name)
    if missing:
        notes.append(f"Left out, since no folder that SWWL_DATA names holds them: {', '.join(missing)}.")
    pictures = generated + real
    rows = study.rows(["set", "mesh"])
    for p in pictures:
        if not rows.has(set=p.set, mesh=p.mesh):
            rows.add({"set": p.set, "mesh": p.mesh, "nodes": p.nodes, "edges": p.edges})
    study.show("Meshes of the data sets", rows.frame().astype(str), " ".join(notes))
    study.figure(draw(generated, real))


def generate(study: Study, name: str, coarsens: bool) -> list[Picture]:
    """Return the first mesh of a generated set in full and, if ``coarsens``, coarsened; made unless they are there."""
    wanted = study.pick(SIZES)[name]
    folder = study.work("meshes")
    full = folder / f"{name}-{wanted.full}-seed{study.seed}.vtu"
    if not full.exists():
        study.say(f"making a mesh of {name}")
        datasets.make_samples(name, 1, n_nodes=wanted.full, random_state=study.seed)[0].mesh.write(full)
    pictures = [_picture(name, "full", full)]
    if coarsens:
        coarse = folder / f"{name}-{wanted.full}-to-{wanted.coarse}-seed{study.seed}.vtu"
        if not coarse.exists():
            study.say(f"coarsening it from {wanted.full} to {wanted.coarse} nodes")
            datasets.coarsen_mesh(full, wanted.coarse).write(coarse)
        pictures.append(_picture(name, "coarsened", coarse))
    return pictures


def draw(generated: list[Picture], real: list[Picture]) -> Any:
    """Draw generated meshes above their coarsened versions, and published ones in the last row."""
    rows = [[p for p in generated if p.mesh == kind] for kind in ("full", "coarsened")]
    rows = [row for row in [*rows, real] if row]
    heights = [1.5 if row is real else 1.9 for row in rows]
    figure = new_figure(7.6, sum(heights) + 0.1)
    figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98))
    lines = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
    for line, row in zip(lines, rows, strict=True):
        for part, picture in zip(np.atleast_1d(line.subfigures(1, len(row))), row, strict=True):
            with style():
                _draw_one(part, part.add_subplot(), picture)
    return figure


def _draw_one(part: Any, axis: Any, picture: Picture) -> None:
    kind = ", coarsened" if picture.mesh == "coarsened" else ""
    counts = f"{picture.nodes:,} nodes, {picture.edges:,} edges".replace(",", "\u202f").replace("nodes\u202f", "nodes,")
    if picture.path.suffix == ".npz":
        _draw_graph(axis, read_graph(picture.path))
    elif picture.set == "airfoil":
        window, mesh = _zoomed(read_mesh(picture.path))
        draw_mesh(mesh, axis)
        kind += window
        left, right, bottom, top = _WINDOWS[window]
        axis.set(xlim=(left, right), ylim=(bottom, top))
    else:
        draw_mesh(picture.path, axis)
    _adjust(axis, picture)
    part.suptitle(f"{picture.set}{kind}\n{counts}", fontsize=8)


def _adjust(axis: Any, picture: Picture) -> None:
    """Draw lines the thinner, the more there are; edges of surfaces only where they can be told apart."""
    width = float(np.clip(20 / np.sqrt(picture.nodes), 0.15, 0.5))
    for line in axis.lines:
        line.set_linewidth(width)
    for surface in axis.collections:
        if isinstance(surface, PolyCollection) and picture.nodes < 5000:
            surface.set(edgecolor="white", linewidth=0.15)


def _zoomed(mesh: Mesh) -> tuple[str, Mesh]:
    """Return which part of an airfoil's mesh to draw, and no more than this part."""
    triangles = mesh.cells["triangle"]
    x, y = mesh.points.T
    for window in _WINDOWS:
        left, right, bottom, top = _WINDOWS[window]
        near = (x > left) & (x < right) & (y > bottom) & (y < top)
        shown = triangles[near[triangles].any(axis=1)]
        if len(shown) <= _MOST_TRIANGLES:
            break
    used, numbers = np.unique(shown, return_inverse=True)
    return window, Mesh(mesh.points[used], {"triangle": numbers.reshape(-1, 3)})


def _draw_graph(axis: Any, graph: Graph) -> None:
    """Draw nodes and edges of a graph in the plane; where features are not coordinates, at places that suit it."""
    places = graph.features if graph.n_features == 2 else spectral_places(graph)
    axis.add_collection(LineCollection(list(places[graph.edges]), colors=GRAY, linewidths=0.4, alpha=0.6))
    axis.scatter(*places.T, s=1.5 if graph.n_features == 2 else 5, color=BLUE, lw=0, zorder=2)
    axis.autoscale_view()
    axis.set_aspect("equal", adjustable="datalim")
    axis.axis("off")


def spectral_places(graph: Graph) -> NDArray[np.float64]:
    """Return places (n, 2) for the nodes: the slowest modes of a random walk on the graph, evened out.

    Examples
    --------
    >>> ring = Graph(np.zeros((6, 1)), [(k, (k + 1) % 6) for k in range(6)])
    >>> places = spectral_places(ring)
    >>> places.shape, bool((np.linalg.norm(places, axis=1) > 0.1).all())  # around a hole
    ((6, 2), True)
    """
    ones, n = np.ones(graph.n_edges), graph.n_nodes
    adjacency = sparse.coo_array((ones, (graph.edges[:, 0], graph.edges[:, 1])), shape=(n, n)).toarray()
    adjacency += adjacency.T
    root = np.sqrt(np.maximum(adjacency.sum(axis=1), 1))
    modes = np.linalg.eigh(np.eye(n) - adjacency / np.outer(root, root))[1][:, 1:3] / root[:, None]
    return modes / np.sqrt(np.linalg.norm(modes, axis=1, keepdims=True) + 1e-12)


def _first(archive: Any, key: str, lengths: str = "n_nodes") -> NDArray[Any]:
    """Return the part of a stacked array that belongs to the first graph."""
    return archive[key][: int(archive[lengths][0])]


def _ring(points: NDArray[np.float64]) -> Graph:
    n = len(points)
    return Graph(points, np.column_stack([np.arange(n), (np.arange(n) + 1) % n]))


def _airfrans(archive: Any) -> Graph:
    return _ring(_first(archive, "points"))


def _naca(archive: Any) -> Graph:
    return _ring(archive["contours"][0])


def _polycrystal(archive: Any) -> Graph:
    return Graph(_first(archive, "node_attributes"), _first(archive, "edges", "n_edges"))


def _car(archive: Any) -> Mesh:
    along, across, up = 2, 0, 1
    return Mesh(archive["points"][0][:, [along, across, up]], {"triangle": archive["triangles"][0]})


# Name of a published set -> its file in the folder that SWWL_DATA names, and what reads its first mesh or graph.
PUBLISHED: dict[str, tuple[str, Callable[[Any], Graph | Mesh]]] = {
    "AirfRANS surface": ("meshes/airfrans_surface_test200.npz", _airfrans),
    "NACA 0012, deformed": ("meshes/naca0012_contours_reconstructed.npz", _naca),
    "polycrystal": ("regression/polygraph_polycrystal70.npz", _polycrystal),
    "car": ("meshes/shapenet_car_plaid20.npz", _car),
}


def _published(study: Study, name: str, source: Path, read: Callable[[Any], Graph | Mesh]) -> Picture:
    """Take the first mesh or graph out of a published set, as a file of its own."""
    with np.load(source, allow_pickle=False) as archive:
        found = read(archive)
    stem = study.work("meshes") / source.stem
    path = stem.with_suffix(".npz" if isinstance(found, Graph) else ".vtu")
    if isinstance(found, Graph):
        write_graph(path, found)
    else:
        found.write(path)
    return _picture(name, "published", path)


def _picture(name: str, mesh: str, path: Path) -> Picture:
    graph = read_graph(path)
    return Picture(name, mesh, path, graph.n_nodes, graph.n_edges)


def _has_mmg() -> bool:
    from swwl.mesh.remesh.coarsen import require_mmgpy

    try:
        require_mmgpy()
    except ImportError:
        return False
    return True

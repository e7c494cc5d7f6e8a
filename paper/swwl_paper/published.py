"""Published simulations, from the folder that the environment variable SWWL_DATA names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from swwl.mesh.graph import Graph
from swwl.mesh.mesh import Mesh
from swwl_paper.meshsets import Loaded, Version
from swwl_paper.study import Skipped

FILES = {
    "airfrans": "meshes/airfrans_surface_test200.npz",
    "naca0012": "meshes/naca0012_contours_reconstructed.npz",
    "polycrystals": "regression/polygraph_polycrystal70.npz",
    "cars": "meshes/shapenet_car_plaid20.npz",
    "trusses": "regression/truss2d_8000.npz",
    "crystals": "regression/nomad2018_crystals.npz",
    "airfrans-board": "boards/airfrans_board.npz",
    "ahmed-board": "boards/ahmed_board.npz",
}
Item = TypeVar("Item")


def published(name: str, n_train: int, n_test: int, exact: bool) -> Version:
    """Return a published data set; training and test cases are drawn by each seed.

    Parameters
    ----------
    name : {"airfrans", "naca0012", "polycrystals"}
    n_train, n_test : int
    exact : bool
        Whether to run kernels of exact transport, too.
    """
    common: dict[str, Any] = {"shuffled": True, "exact": exact}
    if name == "airfrans":
        return Version(name, "surfaces", n_train, n_test, ("velocity", "incidence"), ("lift",), load_airfrans, **common)
    if name == "naca0012":
        return Version(
            name, "contours", n_train, n_test, (), ("drag", "lift"), load_naca0012, one_topology=True, **common
        )
    # Contact areas differ between grains by two orders of magnitude: neighbors are averaged with them as weights.
    options = {"scale": True, "normalization": "sum"}
    targets = ("stiffness", "strength")
    return Version(
        name, "grains", n_train, n_test, (), targets, load_polycrystals, areas=False, options=options, **common
    )


def load_airfrans() -> Loaded:
    """Read 200 airfoils of AirfRANS, their surfaces as rings of 120 to 158 nodes, with lift from surface pressure."""
    table, contours = airfrans(contour)
    return table.assign(mesh=pd.Series(contours, dtype=object)), airfrans(ring)[1]


def airfrans(drawn: Callable[[np.ndarray], Item]) -> tuple[pd.DataFrame, list[Item]]:
    """Return AirfRANS with what a function makes of each contour (n, 2)."""
    data = arrays("airfrans")
    points = np.split(data["points"].astype(float), np.cumsum(data["n_nodes"])[:-1])
    columns = {"velocity": data["u_inf"], "incidence": data["aoa_deg"], "lift": data["cl_pressure_derived"]}
    table = pd.DataFrame({key: values.astype(float) for key, values in columns.items()})
    return table, [drawn(nodes) for nodes in points]


def load_naca0012() -> Loaded:
    """Read 1756 deformed NACA 0012 airfoils as rings of 200 nodes, with drag and lift of SU2's Euler equations."""
    table, contours = naca0012(contour)
    return table.assign(mesh=pd.Series(contours, dtype=object)), naca0012(ring)[1]


def naca0012(drawn: Callable[[np.ndarray], Item]) -> tuple[pd.DataFrame, list[Item]]:
    """Return the deformed airfoils with what a function makes of each contour (200, 2)."""
    data = arrays("naca0012")
    table = pd.DataFrame({key: data[key].astype(float) for key in ("drag", "lift")})
    return table, [drawn(nodes) for nodes in data["contours"].astype(float)]


def load_polycrystals() -> Loaded:
    """Read 70 polycrystals of PolyGRAPH, grains joined by contacts, with simulated stiffness and strength."""
    data = arrays("polycrystals")
    nodes = np.split(data["node_attributes"], np.cumsum(data["n_nodes"])[:-1])
    ends = np.cumsum(data["n_edges"])[:-1]
    edges, weights = np.split(data["edges"], ends), np.split(data["edge_weight"], ends)
    graphs = []
    for features, pairs, areas in zip(nodes, edges, weights, strict=True):
        once = pairs[:, 0] < pairs[:, 1]  # stored both ways
        graphs.append(Graph(features, pairs[once], areas[once]))
    table = pd.DataFrame({key: data[key].astype(float) for key in ("stiffness", "strength")})
    return table.assign(mesh=pd.Series(_in_units(graphs), dtype=object)), graphs


def polycrystals() -> Loaded:
    """Return the polycrystals in units that need no further options."""
    table, _ = load_polycrystals()
    return table.drop(columns="mesh"), table["mesh"].tolist()


def _in_units(graphs: list[Graph]) -> list[Graph]:
    """Divide each attribute by its deviation over all grains, and contact areas by their mean."""
    scale = np.concatenate([graph.features for graph in graphs]).std(axis=0)
    areas = [graph.weights for graph in graphs if graph.weights is not None]
    mean = np.concatenate(areas).mean()
    return [Graph(g.features / scale, g.edges, w / mean) for g, w in zip(graphs, areas, strict=True)]


def cars() -> tuple[pd.DataFrame, list[Mesh]]:
    """Read 20 cars of ShapeNet, surfaces of 3586 nodes, with the drag of the pressure on them."""
    data = arrays("cars")
    meshes = [Mesh(points, cells) for points, cells in zip(data["points"], data["triangles"], strict=True)]
    return pd.DataFrame({"drag": data["pressure_force_derived"][:, 2]}), meshes


def trusses() -> Loaded:
    """Read 5000 plane trusses of one load case, 11 to 19 nodes, with the logarithm of the largest sag.

    Nodes have their coordinates and say whether they are pinned or on a roller, as far from others as a bay is long.
    """
    data = arrays("trusses")
    held = np.zeros((len(data["points"]), 2))
    first = np.cumsum(data["n_nodes"]) - data["n_nodes"]
    held[first + data["pinned_node"], 0] = held[first + data["roller_node"], 1] = 10.0
    kept = data["split"] == 0
    table = pd.DataFrame({"log_sag": np.log10(data["max_abs_dy_derived"].astype(float))})
    return table[kept].reset_index(drop=True), _graphs(np.hstack([data["points"], held]), data["edges"], data, kept)


def crystals() -> Loaded:
    """Read 2391 oxides of Al, Ga and In, 10 to 80 atoms, with the logarithms of one plus band gap and energy.

    Atoms have their coordinates in Å and their element, two elements some 4 Å apart; bonds join metal and oxygen.
    """
    data = arrays("crystals")
    elements = 3.0 * (data["atomic_number"][:, None] == [8, 13, 31, 49])
    kept = data["split"] == 0
    table = pd.DataFrame({key: np.log1p(data[key].astype(float)) for key in ("bandgap", "formation_energy")})
    atoms = np.hstack([data["points"], elements])
    return table[kept].reset_index(drop=True), _graphs(atoms, data["edges_derived"], data, kept)


def ring(points: np.ndarray) -> Graph:
    """Return a closed contour (n, 2) as a graph whose nodes carry the lengths around them.

    Examples
    --------
    >>> ring(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]))
    Graph(4 nodes, 4 edges, 2 features, node weights)
    """
    return contour(points).graph("area")


def contour(points: np.ndarray) -> Mesh:
    """Return a closed contour (n, 2) as a mesh of lines.

    Examples
    --------
    >>> contour(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]))
    Mesh(4 nodes in 2 dimensions; cells: 4 line)
    """
    numbers = np.arange(len(points))
    return Mesh(points, np.column_stack([numbers, np.roll(numbers, -1)]))


def _graphs(features: np.ndarray, edges: np.ndarray, data: dict[str, np.ndarray], kept: np.ndarray) -> list[Graph]:
    """Cut features and edges of all graphs, one after the other, into those that are kept."""
    nodes = np.split(features, np.cumsum(data["n_nodes"])[:-1])
    pairs = np.split(edges, np.cumsum(data["n_edges"])[:-1])
    return [Graph(nodes[i], pairs[i]) for i in np.flatnonzero(kept)]


def arrays(name: str) -> dict[str, np.ndarray]:
    """Return what the file of a published set holds."""
    folder = os.environ.get("SWWL_DATA")
    if not folder:
        raise Skipped(f"{name} is read from a folder that the environment variable SWWL_DATA names, which is not set")
    path = Path(folder) / FILES[name]
    if not path.exists():
        raise Skipped(f"{name} wants {FILES[name]} in the folder that SWWL_DATA names, which does not hold it")
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}

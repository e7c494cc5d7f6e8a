"""Published simulations, from the folder that the environment variable SWWL_DATA names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.mesh.graph import Graph
from swwl_paper.meshsets import Loaded, Version
from swwl_paper.study import Skipped

FILES = {
    "airfrans": "meshes/airfrans_surface_test200.npz",
    "naca0012": "meshes/naca0012_contours_reconstructed.npz",
    "polycrystals": "regression/polygraph_polycrystal70.npz",
}


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
    data = _arrays("airfrans")
    points = np.split(data["points"].astype(float), np.cumsum(data["n_nodes"])[:-1])
    columns = {"velocity": data["u_inf"], "incidence": data["aoa_deg"], "lift": data["cl_pressure_derived"]}
    table = pd.DataFrame({key: values.astype(float) for key, values in columns.items()})
    return table, [ring(nodes) for nodes in points]


def load_naca0012() -> Loaded:
    """Read 1756 deformed NACA 0012 airfoils as rings of 200 nodes, with drag and lift of SU2's Euler equations."""
    data = _arrays("naca0012")
    table = pd.DataFrame({key: data[key].astype(float) for key in ("drag", "lift")})
    return table, [ring(nodes) for nodes in data["contours"].astype(float)]


def load_polycrystals() -> Loaded:
    """Read 70 polycrystals of PolyGRAPH, grains joined by contacts, with simulated stiffness and strength."""
    data = _arrays("polycrystals")
    nodes = np.split(data["node_attributes"], np.cumsum(data["n_nodes"])[:-1])
    ends = np.cumsum(data["n_edges"])[:-1]
    edges, weights = np.split(data["edges"], ends), np.split(data["edge_weight"], ends)
    graphs = []
    for features, pairs, areas in zip(nodes, edges, weights, strict=True):
        once = pairs[:, 0] < pairs[:, 1]  # stored both ways
        graphs.append(Graph(features, pairs[once], areas[once]))
    return pd.DataFrame({key: data[key].astype(float) for key in ("stiffness", "strength")}), graphs


def ring(points: np.ndarray) -> Graph:
    """Return a closed contour (n, 2) as a graph whose nodes carry the lengths around them.

    Examples
    --------
    >>> ring(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]))
    Graph(4 nodes, 4 edges, 2 features, node weights)
    """
    numbers = np.arange(len(points))
    return Graph.from_cells(points, np.column_stack([numbers, np.roll(numbers, -1)]), node_weights="area")


def _arrays(name: str) -> dict[str, np.ndarray]:
    folder = os.environ.get("SWWL_DATA")
    if not folder:
        raise Skipped(f"{name} is read from a folder that the environment variable SWWL_DATA names, which is not set")
    path = Path(folder) / FILES[name]
    if not path.exists():
        raise Skipped(f"{name} wants {FILES[name]} in the folder that SWWL_DATA names, which does not hold it")
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}

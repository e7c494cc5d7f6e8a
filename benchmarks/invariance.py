"""The same part with another mesh: how far the default's prediction moves, in predicted standard deviations.

Plates, blades, solid arms and, where ``SWWL_DATA`` names a folder that holds them, Ahmed bodies. Seeds were fixed
before the first run. ``python -m benchmarks invariance``.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Line
from swwl import Mesh, RobustGPRegressor
from swwl.datasets.generated import make_blade, make_tensile2d
from swwl.errors import InputError, MissingPackageError
from swwl.mesh.remesh.coarsen import coarsen, outline_edges
from swwl.mesh.remesh.refine import subdivided
from swwl.mesh.remesh.thin import thinned

N_TRAIN, N_TEST, N_NODES, SEED = 150, 20, 600, 5201
BOARD = "boards/ahmed_board.npz"
SAME = 0.02  # of the predicted deviation, where the part is exactly the same
FALSE = 0.03  # of cases whose meshes are like the training meshes
MEDIAN, WORST = 0.2, 0.6  # where it is nearly the same, of cases that are not flagged


def run() -> Iterator[Line]:
    """Fit the default to every set; print how far its predictions move when meshes change."""
    for name, table, target in sets():
        model = RobustGPRegressor(random_state=SEED).fit(table[:N_TRAIN], target)
        test = table[N_TRAIN:].drop(columns=target)
        yield from lines(f"{name}, {target}", model, test)


def sets() -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield names, tables of training and test cases, and targets."""
    n = N_TRAIN + N_TEST
    plates = make_tensile2d(n, n_nodes=N_NODES, random_state=SEED, n_jobs=1)
    yield "plates", plates.drop(columns="split"), "max_von_mises"
    blades = make_blade(n, n_nodes=N_NODES, random_state=SEED, n_jobs=1)
    yield "blades", blades[["mesh", "speed", "pressure", "efficiency"]], "efficiency"
    yield "solid arms", arms(n), "stiffness"
    path = Path(os.environ.get("SWWL_DATA", "")) / BOARD
    if path.is_file():
        yield "Ahmed bodies", ahmed(path, n), "cd"


def arms(n: int) -> pd.DataFrame:
    """Return curved arms of hexahedra with round sections, and the bending stiffness of a beam like them."""
    rng = np.random.default_rng(SEED)
    bend, radius, taper = rng.uniform(0.2, 1.0, n), rng.uniform(0.08, 0.15, n), rng.uniform(0.4, 1.0, n)
    rows = []
    for k in range(n):
        across, along = rng.integers(4, 7), rng.integers(20, 30)
        u, v, w = (axis.ravel() for axis in np.meshgrid(
            np.linspace(-1, 1, across + 1), np.linspace(-1, 1, across + 1), np.linspace(0, 1, along + 1), indexing="ij"
        ))  # fmt: skip
        x, y = u * np.sqrt(1 - v**2 / 2), v * np.sqrt(1 - u**2 / 2)  # a square as a disk
        size, angle = radius[k] * (1 - w * (1 - taper[k])), bend[k] * w
        reach = 1 / bend[k] + size * x
        points = np.column_stack([reach * np.cos(angle), size * y, reach * np.sin(angle)])
        number = np.arange(len(points)).reshape(across + 1, across + 1, along + 1)
        corner = [number[a : a + across, b : b + across, c : c + along].ravel()
                  for c in (0, 1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]  # fmt: skip
        rows.append(Mesh(points, {"hexahedron": np.column_stack(corner)}))
    stiffness = radius**4 * taper**3 / (1 + bend**2 / 3)
    return pd.DataFrame({"mesh": rows, "stiffness": np.log(stiffness)})


def ahmed(path: Path, n: int) -> pd.DataFrame:
    """Return some Ahmed bodies of AhmedML with their drag."""
    with np.load(path, allow_pickle=False) as data:
        points = np.split(data["points"].astype(float), np.cumsum(data["n_nodes"])[:-1])
        triangles = np.split(data["triangles"], np.cumsum(data["n_triangles"])[:-1])
        rows = np.random.default_rng(SEED).permutation(len(points))[:n]
        return pd.DataFrame({"mesh": [Mesh(points[row], triangles[row]) for row in rows], "cd": data["cd"][rows]})


def lines(title: str, model: RobustGPRegressor, test: pd.DataFrame) -> Iterator[Line]:
    """Predict test cases with their own and with changed meshes."""
    before = model.predict_distribution(test, widen=False)
    found = model.domain(test)
    flagged = float((found["meshing"] != "").mean())
    yield Line(f"{title}, as in training: called too coarse or fine", flagged, FALSE, "x", f"{len(test)} cases")
    exact = {"subdivided": subdivided, "refined locally": refined, "nodes moved in place": shaken}
    for change, function in exact.items():
        table, changed = with_meshes(test, function)
        if not changed.any():
            yield Line(f"{title}, {change}: largest move", 0.0, unit="std", note="no mesh has nodes that may move")
            continue
        moves = np.abs(model.predict(table, widen=False) - before.mean)[changed] / before.std[changed]
        note = f"median {np.median(moves):.2g}, {len(moves)} cases"
        yield Line(f"{title}, {change}: largest move", float(moves.max()), SAME, "std", note)
    rough = {"coarsened by MMG": coarser, "a third of the nodes": third}
    for change, function in rough.items():
        yield from coarse_lines(f"{title}, {change}", model, test, function)


def coarse_lines(
    title: str, model: RobustGPRegressor, test: pd.DataFrame, function: Callable[[Mesh], Mesh | None]
) -> Iterator[Line]:
    """Predict test cases with meshes of nearly the same parts; how far those move that nothing is said of."""
    before = model.predict_distribution(test, widen=False)
    table, changed = with_meshes(test, function)
    if not changed.any():
        yield Line(f"{title}: largest move", 0.0, unit="std", note="not measured: no such mesh, or no mmgpy")
        return
    after, found = model.predict_with_domain(table)
    flagged = ~found["inside"].to_numpy(bool) | (found["widened"] != "").to_numpy()
    moves = np.abs(after.mean - before.mean) / before.std
    kept = moves[changed & ~flagged]
    coarse = (found["meshing"] != "").to_numpy() & changed
    note = f"{(changed & flagged).sum()} of {changed.sum()} flagged, {coarse.sum()} as too coarse; "
    note += f"all: {np.median(moves[changed]):.2g}"
    yield Line(f"{title}: median move", float(np.median(kept)) if len(kept) else 0.0, MEDIAN, "std", note)
    note = f"all: {moves[changed].max():.2g}"
    yield Line(f"{title}: largest move", float(kept.max(initial=0.0)), WORST, "std", note)


def with_meshes(table: pd.DataFrame, change: Callable[[Mesh], Mesh | None]) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with changed meshes, and which of them could be changed."""
    found = [change(mesh) for mesh in table["mesh"]]
    meshes = [old if new is None else new for old, new in zip(table["mesh"], found, strict=True)]
    return table.assign(mesh=meshes), np.array([new is not None for new in found])


def refined(mesh: Mesh) -> Mesh | None:
    """Split the triangles in a ball around a node, twice, and others beside them so that edges still meet."""
    if "triangle" not in mesh.cells:
        return None
    for _ in range(2):
        points, triangles = mesh.points, mesh.cells["triangle"]
        radius = 0.2 * np.linalg.norm(np.ptp(points, axis=0))
        center = points[np.lexsort(points.T)[0]]
        mesh = split(mesh, np.linalg.norm(points[triangles].mean(axis=1) - center, axis=1) < radius)
    return mesh


def split(mesh: Mesh, chosen: np.ndarray) -> Mesh:
    """Halve all edges of chosen triangles: these become four, and those that share an edge with them two or three.

    Parameters
    ----------
    mesh : Mesh
        Of triangles.
    chosen : ndarray of bool of shape (m,)
    """
    points, triangles = mesh.points, np.asarray(mesh.cells["triangle"], np.int64)
    sides = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1)  # edge k from corner k to corner k + 1
    edges, number = np.unique(np.sort(sides, axis=-1).reshape(-1, 2), axis=0, return_inverse=True)
    number = number.reshape(-1, 3)
    halved = np.zeros(len(edges), bool)
    halved[number[chosen]] = True
    middle = np.where(halved, len(points) + np.cumsum(halved) - 1, -1)[number]
    cells = []
    for corners, middles in zip(triangles.tolist(), middle.tolist(), strict=True):
        count = sum(node >= 0 for node in middles)
        # Turned so that a single halved edge is the first, and one that is not halved among two the last.
        turn = {1: lambda m: m[0] >= 0, 2: lambda m: m[2] < 0}.get(count, lambda m: True)
        while not turn(middles):
            corners, middles = corners[1:] + corners[:1], middles[1:] + middles[:1]
        (a, b, c), (ab, bc, ca) = corners, middles
        if count == 0:
            cells.append([a, b, c])
        elif count == 1:
            cells += [[a, ab, c], [ab, b, c]]
        elif count == 2:
            cells += [[ab, b, bc], [a, ab, bc], [a, bc, c]]
        else:
            cells += [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
    return Mesh(np.vstack([points, points[edges[halved]].mean(axis=1)]), {"triangle": np.array(cells)})


def shaken(mesh: Mesh) -> Mesh | None:
    """Move nodes by a quarter of the least height of the triangles around them, where these lie in one plane."""
    if "triangle" not in mesh.cells:
        return None
    points, triangles = mesh.points, np.asarray(mesh.cells["triangle"], np.int64)
    space = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    a, b, c = (space[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    doubled = np.linalg.norm(normals, axis=1, keepdims=True)
    unit = normals / doubled
    longest = np.max([np.linalg.norm(x - y, axis=1) for x, y in ((a, b), (b, c), (c, a))], axis=0)
    height, mean = np.full(len(points), np.inf), np.zeros((len(points), 3))
    for k in range(3):
        np.minimum.at(height, triangles[:, k], doubled[:, 0] / longest)
        np.add.at(mean, triangles[:, k], unit)
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    flat = np.isfinite(height)
    for k in range(3):
        np.logical_and.at(flat, triangles[:, k], (mean[triangles[:, k]] * unit).sum(axis=1) > 1 - 1e-9)
    flat[outline_edges(triangles).ravel()] = False
    if not flat.any():
        return None
    step = np.random.default_rng(SEED).normal(size=space.shape)
    step -= (step * mean).sum(axis=1, keepdims=True) * mean
    step *= 0.25 * np.where(flat, height, 0.0)[:, None] / np.linalg.norm(step, axis=1, keepdims=True)
    return Mesh((space + step)[:, : points.shape[1]], {"triangle": triangles})


def coarser(mesh: Mesh) -> Mesh | None:
    """Return a mesh of half as many nodes by MMG, or none where that is not installed or cannot keep the shape."""
    try:
        return coarsen(mesh, mesh.n_nodes // 2, sharp=15.0)  # edges of slants too: the same part
    except (MissingPackageError, InputError):
        return None


def third(mesh: Mesh) -> Mesh | None:
    """Return a mesh of a third of the nodes by the library itself."""
    return thinned(mesh, 1 / 3)

"""What reading costs: the way from mesh files to rows beside that from graphs in memory, and that of thin layers."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import meshio
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.measure import Line, best_times
from benchmarks.shapes import shell_mesh
from swwl import Mesh, RobustGPRegressor, SWWLEmbedding, read_mesh

N_FILES, N_NODES = 100, 30_000
N_LAYERS, N_ASIDE = 20, 61  # of channels with some 5 500 cells


def _as_paraview(mesh: Mesh, path: Path) -> None:
    """Write as meshio and ParaView do by default: base64 text, 64-bit node numbers, zlib in blocks of 32 KB."""
    cells = [(kind, block.astype("int64")) for kind, block in mesh.cells.items()]
    meshio.Mesh(mesh.points, cells).write(path, compression="zlib")


def run() -> Iterator[Line]:
    """Embed files and graphs with two threads each; then one file in one thread, step by step."""
    kinds: dict[str, tuple[Callable[[Mesh, Path], None], float]] = {
        "our own .vtu": (lambda mesh, path: mesh.write(path), 1.6),
        "zlib .vtu": (_as_paraview, 2.5),
    }
    meshes = [Mesh(*shell_mesh(N_NODES, seed)) for seed in range(N_FILES)]
    graphs = [mesh.graph() for mesh in meshes]
    embedding = SWWLEmbedding(n_jobs=2).fit(graphs[:1])
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        paths: dict[str, list[Path]] = {}
        for kind, (write, _) in kinds.items():
            paths[kind] = [Path(folder) / f"{kind.partition(' ')[0]}{k}.vtu" for k in range(N_FILES)]
            for mesh, path in zip(meshes, paths[kind], strict=True):
                write(mesh, path)
        memory, *files = best_times(
            lambda: embedding.transform(graphs),
            *(lambda kind=kind: embedding.transform(paths[kind]) for kind in kinds),
            repeats=3,
        )
        for (kind, (_, limit)), seconds in zip(kinds.items(), files, strict=True):
            note = f"{1e3 * seconds / N_FILES:.1f} ms a file, {paths[kind][0].stat().st_size / 1e6:.1f} MB"
            yield Line(f"from {kind} to rows / from graphs to rows, 2 threads", seconds / memory, limit, note=note)
        first = [names[0] for names in paths.values()]
        embed, graph, *reading = best_times(
            lambda: embedding.transform(graphs[:1]),
            meshes[0].graph,
            *(lambda path=path: read_mesh(path) for path in first),
            repeats=15,
        )
    yield Line("  from cells to the graph / embedding it, 1 thread", graph / embed, note=f"{1e3 * graph:.1f} ms")
    for kind, seconds in zip(kinds, reading, strict=True):
        yield Line(f"  reading {kind} / embedding it, 1 thread", seconds / embed, note=f"{1e3 * seconds:.1f} ms")
    yield from _layers()


def _layers() -> Iterator[Line]:
    """Predict channels one cell thick, of hexahedra and wedges, beside plane meshes of the same cells, by CPU time."""
    heights = np.random.default_rng(0).uniform(0.1, 0.5, N_LAYERS)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        tables = []
        for name, thick in (("plane", False), ("layer", True)):
            paths = [f"{folder}/{name}{k}.vtu" for k in range(N_LAYERS)]
            for path, height in zip(paths, heights, strict=True):
                _channel(height, thick).write(path)
            tables.append(pd.DataFrame({"mesh": paths}))
        models = [RobustGPRegressor(random_state=0, n_jobs=1).fit(table, heights**2) for table in tables]
        plane, layer, flat, solid = best_times(
            *(lambda m=m, t=t: m.predict_interval(t[:8]) for m, t in zip(models, tables, strict=True)),
            *(lambda t=t: [read_mesh(path) for path in t["mesh"][:8]] for t in tables),
            repeats=25,
            timer=process_time,
        )
    note = f"{1e3 * layer / 8:.1f} ms a file"
    yield Line("predicting meshes one cell thick / the plane meshes, CPU", layer / plane, 1.2, note=note)
    yield Line("  beyond reading them", (layer - solid) / (plane - flat), 1.2)


def _channel(height: float, thick: bool) -> Mesh:
    """Return a channel over a bump, of squares and triangles with a field and patches; or a layer of such cells."""
    x, y = np.meshgrid(np.linspace(0, 3, N_ASIDE + 1), np.linspace(0, 1, N_ASIDE + 1))
    points = np.column_stack([x.ravel(), (y * (1 - height * np.exp(-8 * (x - 1.5) ** 2))).ravel()])
    corner = (np.arange(N_ASIDE)[:, None] * (N_ASIDE + 1) + np.arange(N_ASIDE)).ravel()
    cells = corner[:, None] + [0, 1, N_ASIDE + 2, N_ASIDE + 1]
    quads, halved = np.split(cells, 2 * [len(cells) // 3])[::2]
    triangles = np.concatenate([halved[:, [0, 1, 2]], halved[:, [0, 2, 3]]])
    n, inlet = len(points), np.arange(N_ASIDE) * (N_ASIDE + 1)
    lines = np.column_stack([inlet, inlet + N_ASIDE + 1])
    if not thick:
        blocks = {"quad": quads, "triangle": triangles}
        return Mesh(points, blocks, {"p": points[:, 0]}, groups={"inlet": lines})
    both = np.concatenate([np.column_stack([points, np.full(n, z)]) for z in (0.0, 0.1)])
    solids = {"hexahedron": np.hstack([quads, quads + n]), "wedge": np.hstack([triangles, triangles + n])}
    patches = {"inlet": np.hstack([lines, lines[:, ::-1] + n]), "front": triangles, "back": triangles + n}
    return Mesh(both, solids, {"p": both[:, 0]}, groups=patches)

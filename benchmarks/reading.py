"""What reading costs: the way from mesh files to rows, beside that from graphs in memory to rows."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import meshio
from threadpoolctl import threadpool_limits

from benchmarks.measure import Line, best_times
from benchmarks.shapes import shell_mesh
from swwl import Mesh, SWWLEmbedding, read_mesh

N_FILES, N_NODES = 100, 30_000


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

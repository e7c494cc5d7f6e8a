"""``swwl coarsen``: a mesh, or all meshes of a data set, with fewer nodes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from swwl.cli.console import Mistake, Output


def coarsen(
    source: Annotated[Path, typer.Argument(help="Mesh file, or a table or folder whose meshes are to be coarsened.")],
    output: Annotated[Path, typer.Argument(help="Mesh file or folder to write.")],
    nodes: Annotated[int, typer.Option(help="Wanted number of nodes per mesh.")] = 1000,
    jobs: Annotated[int, typer.Option(help="Processes, for a table or folder.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Coarsen meshes with MMG, which the extra mmg installs.

    \b
    Example:
      swwl coarsen fine.vtu coarse.vtu --nodes 1000
      swwl coarsen d d-coarse --nodes 1000
    """
    from swwl.cli.data import check_output
    from swwl.io.meshes import read_mesh

    out = Output(quiet, as_json)
    try:
        coarsening = import_module("swwl.datasets.coarsen")
    except ImportError as error:
        raise Mistake(f"coarsening is not available in this installation ({error}).") from None
    if not source.exists():
        raise Mistake(f"{source}: no such file or folder.")
    if nodes < 4:
        raise Mistake(f"--nodes must be at least 4, but is {nodes}.")
    try:
        if source.is_dir() or source.suffix.lower() in (".csv", ".parquet", ".pq"):
            coarsening.coarsen_dataset(source, output, nodes, jobs=jobs)
            out.say(f"meshes of {source} with about {nodes} nodes each are in {output}")
            out.result({"output": output, "nodes": nodes})
            return
        check_output(output)
        try:
            mesh = read_mesh(source)
        except ValueError as error:
            raise Mistake(f"{source}: {error}") from None
        result = coarsening.coarsen(mesh, nodes)
    except ImportError as error:
        raise Mistake(f"coarsening needs mmgpy: pip install 'swwl[mmg]' ({error}).") from None
    _write(output, result)
    out.say(f"{source}: {len(mesh.points)} nodes; {output}: {len(result.points)} nodes")
    out.result({"output": output, "nodes_before": len(mesh.points), "nodes": len(result.points)})


def _write(path: Path, mesh: Any) -> None:
    """Write a mesh under another name first, so that no half of it is ever seen."""
    import meshio

    partial = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        mesh.write(partial)
        partial.replace(path)
    except (meshio.ReadError, meshio.WriteError, SystemExit) as error:  # meshio exits where it knows no format
        raise Mistake(f"{path}: cannot be written ({error}).") from None
    finally:
        partial.unlink(missing_ok=True)

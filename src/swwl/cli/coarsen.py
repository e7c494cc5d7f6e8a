"""``swwl coarsen``: a mesh, or all meshes of a data set, with fewer nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import AsJson, Force, Output, Quiet
from swwl.errors import MissingFileError


def coarsen(
    source: Annotated[Path, typer.Argument(help="Mesh file, data folder or PLAID folder.")],
    output: Annotated[Path, typer.Argument(help="Mesh file or folder to write.")],
    nodes: Annotated[int, typer.Option(help="Number of nodes per mesh.")] = 1000,
    tolerance: Annotated[float, typer.Option(help="Largest relative change of areas and volumes.")] = 0.02,
    jobs: Annotated[int, typer.Option(help="Processes, for a folder; -1 is one per core.")] = -1,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Coarsen meshes with MMG, which the extra mmg installs.

    \b
    Example:
      swwl coarsen fine.vtu coarse.vtu --nodes 1000
      swwl coarsen d d-coarse --nodes 1000
    """
    from swwl.datasets import coarsen_dataset
    from swwl.jobs.outputs import check_output
    from swwl.mesh import read_mesh
    from swwl.mesh.remesh.coarsen import coarsen as coarsen_mesh

    out = Output(quiet, as_json)
    if not source.exists():
        raise MissingFileError(f"{source}: no such file or folder.")
    if source.is_dir():
        progress = out.progress("meshes")
        table = coarsen_dataset(source, output, nodes, tolerance=tolerance, n_jobs=jobs, progress=progress, force=force)
        out.say(f"{len(table)} meshes of {source}, with about {nodes} nodes each, are in {output}")
        out.result({"output": output, "meshes": len(table), "nodes": nodes})
        return
    check_output(output, inputs=[source], force=force)
    mesh = read_mesh(source)
    result = coarsen_mesh(mesh, nodes, tolerance=tolerance)
    result.write(output)
    out.say(f"{source}: {mesh.n_nodes} nodes; {output}: {result.n_nodes} nodes")
    out.result({"output": output, "nodes_before": mesh.n_nodes, "nodes": result.n_nodes})

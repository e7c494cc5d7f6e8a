"""``swwl improve``: move a mesh to where a model predicts better, and write it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import AtTime, Force, LowerBounds, ModelFile, Output, Quiet, UpperBounds, given_time
from swwl.errors import InputError
from swwl.formatting import number


def improve(
    model: ModelFile,
    mesh: Annotated[str, typer.Option(help="Mesh file to start from.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Mesh to write: .vtu.")],
    goal: Annotated[
        str, typer.Option(help="maximize:TARGET or minimize:TARGET; a model of one target needs no name.")
    ] = "maximize",
    at: Annotated[
        list[str] | None, typer.Option(help="INPUT=VALUE to design for; repeat it for all inputs of the model.")
    ] = None,
    along: Annotated[
        str,
        typer.Option(help="lattice (free-form), motions (of the bodies of --group) or modes (of the training meshes)."),
    ] = "lattice",
    lattice: Annotated[
        str | None, typer.Option(help="Control points along every axis, such as 6,3 [4,3 or 4,3,3].")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Put the lattice around this group (body*); the motion fades out around it.")
    ] = None,
    box: Annotated[
        str | None,
        typer.Option(help="Put the lattice around this box: LOW:HIGH per coordinate, separated by commas."),
    ] = None,
    axes: Annotated[str | None, typer.Option(help="Coordinates along which nodes may move, such as xy.")] = None,
    freeze: Annotated[str | None, typer.Option(help="Groups whose nodes stay in place, such as 'hub|shroud'.")] = None,
    reach: Annotated[float | None, typer.Option(help="How far control points may move, as a share of the box.")] = None,
    at_least: LowerBounds = None,
    at_most: UpperBounds = None,
    volume: Annotated[str | None, typer.Option(help="keep, or LOW:HIGH relative to the start.")] = None,
    thickness: Annotated[
        float | None, typer.Option(help="Least share that must remain of every wall thickness, such as 0.9.")
    ] = None,
    criterion: Annotated[str, typer.Option(help="mean, or ei (expected improvement).")] = "mean",
    caution: Annotated[float, typer.Option(help="Safety margin, in standard deviations.")] = 0.0,
    time: AtTime = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Move a mesh to where the model predicts better.

    The mesh moves with the control points of a lattice, within the variation that the training meshes show; meshes need
    no common topology. No cell is inverted, and the result is inside the domain of the model if the start is. Simulate
    it before you believe it. The mesh that is written has a field, displacement. A mesh one cell
    thick, learned in the plane, moves in the plane: boxes, lattices and axes have two coordinates.

    \b
    Example:
      swwl improve m.swwl --mesh a.vtu --at speed=17188 --at pressure=1.41 --goal maximize:efficiency -o better.vtu
      swwl improve m.swwl --mesh a.vtu --goal minimize:drag --at-least lift=0.5 --volume keep --box=-0.5:1.5,-0.5:0.5
        --at incidence=2 --at velocity=60 -o better.vtu
      swwl improve m.swwl --mesh a.vtu --along motions --group "body*" --at reynolds=20 --goal minimize:drag -o b.vtu
    """
    from swwl.design.ascent import improve as ascend
    from swwl.jobs.design import read_bounds, read_conditions
    from swwl.jobs.improve import (
        MoveOptions,
        facts_of,
        is_improved,
        make_deformation,
        mesh_to_move,
        mesh_with_motion,
        read_volume,
    )
    from swwl.jobs.outputs import check_output
    from swwl.jobs.predict import case_meshes, graph_columns, load_regressor
    from swwl.mesh.io import as_mesh

    out = Output(quiet, as_json)
    fitted = load_regressor(model)
    if len(graph_columns(fitted)) != 1:
        raise InputError(f"{model}: has {len(graph_columns(fitted))} columns of meshes, but one is expected.")
    (file,) = case_meshes(fitted, [mesh], given_time(time)).values()
    check_output(output, endings=(".vtu",), inputs=[model, file], ours=is_improved, force=force)
    conditions = read_conditions(fitted, at or [])
    given = as_mesh(file)
    start = mesh_to_move(fitted, given)
    deformation = make_deformation(MoveOptions(along, lattice, group, freeze, box, axes, reach), start, fitted, model)
    found = ascend(
        fitted,
        start,
        deformation,
        conditions,
        goal=goal,
        criterion=criterion,
        caution=caution,
        constraints=read_bounds(at_least or [], at_most or []),
        volume=read_volume(volume),
        thickness=thickness,
    )
    mesh_with_motion(found, given).write(output)
    target = goal.partition(":")[2] or fitted.target_names_[0]
    out.table(
        target,
        ["", "predicted", "95 % between", "and"],
        [["start", found.start_mean, *found.start_interval], ["found", found.mean, *found.interval]],
    )
    for name, value in found.others.items():
        out.say(f"{name}: {number(value)}")
    verdict = {True: "inside", False: "OUTSIDE", None: "cannot tell"}[found.inside]
    out.say(f"domain: {verdict}{f' ({found.why})' if found.why else ''}")
    kept = "" if found.volume != found.volume else f"; volume {100 * (found.volume - 1):+.3f} %"
    out.say(f"nodes moved by up to {number(found.largest_move)}; at least {100 * found.least_cell:.0f} % of every cell"
            f" is left{kept}")  # fmt: skip
    out.say(f"written to {output}")
    out.result(facts_of(found, target) | {"output": output})

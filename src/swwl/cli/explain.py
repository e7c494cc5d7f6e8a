"""``swwl explain``: what changes a prediction of one case, in numbers and on its mesh."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import AtTime, Force, ModelFile, Output, Quiet, given_time
from swwl.errors import InputError
from swwl.formatting import Record, number

_PICTURES = (".png", ".svg", ".pdf")


def explain(
    model: ModelFile,
    values: Annotated[list[str] | None, typer.Argument(help="The inputs of the case as NAME=VALUE.")] = None,
    mesh: Annotated[list[str] | None, typer.Option(help="Mesh file of the case.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Mesh to write, with the derivatives on its nodes: .vtu.")
    ] = None,
    along: Annotated[
        list[str] | None,
        typer.Option(
            help="Deformations: modes (of the training meshes), an .npz file of displacements, or meshes of the same "
            "cells, NAME=TO.vtu or NAME=FROM.vtu,TO.vtu."
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Target to explain; all by default.")] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="Only these nodes may move: those of a named group (body*; swwl info lists them), whose bodies are "
            "also shifted, turned and scaled; or those in a box, LOW:HIGH for every coordinate, with commas."
        ),
    ] = None,
    length: Annotated[float, typer.Option(help="Smooth the density over this length, in units of the mesh.")] = 0.0,
    picture: Annotated[Path | None, typer.Option(help="Picture to draw: .png, .svg or .pdf.")] = None,
    time: AtTime = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the derivatives as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what changes the prediction of one case.

    Prints the derivative with respect to every number and along every deformation, with 95 % intervals. The mesh that
    it writes has TARGET_gradient, and TARGET_push: the effect of pushing the surface outward, per area. That field
    also covers motions that no training mesh has shown; trust the derivatives along deformations that the training
    meshes contain. --where with the name of a group adds a table: the effect of shifting, turning and scaling each of
    its bodies, while the mesh around it follows; meshes need no common topology for that.

    \b
    Example:
      swwl explain m.swwl --mesh d/meshes/00100.vtu speed=17188 pressure=1.41 --along modes -o sens.vtu
      swwl explain m.swwl --mesh a.vtu speed=17188 pressure=1.41 --along thicker=a.vtu,b.vtu --picture sens.png
      swwl explain m.swwl --mesh channel.vtu reynolds=20 --where "body*"
      swwl explain m.swwl --mesh airfoil.vtu incidence=2 velocity=60 --where=-0.1:1.1,-0.3:0.3 --picture push.png
    """
    from swwl.jobs.explain import draw_explained, explain_case, is_explained, mesh_with_fields, read_along, read_where
    from swwl.jobs.outputs import check_output, is_picture
    from swwl.jobs.predict import OUTSIDE, case_meshes, load_regressor, one_case, outside_inputs
    from swwl.regression.sensitivity import motions_of

    out = Output(quiet, as_json)
    fitted = load_regressor(model)
    meshes = case_meshes(fitted, mesh or [], given_time(time))
    frame = one_case(fitted, meshes, values or [])
    known: Record = {"inputs": [model, *meshes.values()], "force": force}
    if output is not None:
        check_output(output, endings=(".vtu",), ours=is_explained, **known)
    if picture is not None:
        check_output(picture, endings=_PICTURES, ours=is_picture, **known)
    if not length >= 0:
        raise InputError(f"--length is {length:g}, but a length of at least 0 is expected.")
    nodes = None if where is None else read_where(where)
    moves = read_along(along or [], fitted, model)
    found, table = explain_case(fitted, frame, moves, target, nodes)
    motions = motions_of(table[table["kind"] == "motion"], found[0].moves)
    if output is not None:
        mesh_with_fields(found, length).write(output)
    if picture is not None:
        draw_explained(found, table, picture, length)
    for own in found:
        lines = table[(table["target"] == own.target) & (table["kind"] != "motion")]
        std = own.std.value if own.std is not None else float("nan")
        out.table(
            f"{own.target}: {number(own.value)}, std {number(std)}",
            ["derivative in", "per unit", "95 % between", "and", "per std in training"],
            [
                [line.what, line.derivative, line.lower95, line.upper95]
                + [line.derivative * line.unit if line.kind == "number" else ""]
                for line in lines.itertuples()
            ],
        )
        if own.moves:
            out.table(
                f"{own.target}: motions of {where}",
                ["group", "body", "motion", "derivative", "95 % between", "and", "per"],
                [
                    [line.group, line.body or "all", line.motion]
                    + [line.derivative, line.lower95, line.upper95, line.per]
                    for line in motions[motions["target"] == own.target].itertuples()
                ],
            )
    outside = outside_inputs(fitted, frame)[0]
    if outside:
        out.say(f"outside the training range, where nothing has been tested: {outside}")
    for file in (output, picture):
        if file is not None:
            out.say(f"written to {file}")
    out.result(
        {"predictions": {own.target: {"mean": own.value, "std": own.std and own.std.value} for own in found}}
        | {"derivatives": table.to_dict("records"), "motions": motions.to_dict("records")}
        | {OUTSIDE: outside, "output": output, "picture": picture}
    )

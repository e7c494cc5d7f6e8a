"""``swwl info``: what a mesh, a table, a data folder or a model holds; ``swwl report``: a page about a model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import AsJson, AtTime, Force, ModelFile, Output, Quiet, given_time
from swwl.cli.show import show_curve_model, show_field_model, show_model
from swwl.errors import located
from swwl.formatting import Record, number

# So many eigenmodes are listed.
_MOST_MODES = 20


def info(
    file: Annotated[
        Path, typer.Argument(help="A mesh or a case folder, a table, a data folder, a PLAID folder or a model.")
    ],
    time: AtTime = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only: to check a file.")] = False,
) -> None:
    """Say what a mesh, a table, a folder or a model holds.

    \b
    Example:
      swwl info d/meshes/00000.vtu
      swwl info model.swwl
    """
    from swwl.jobs.describe import describe

    out = Output(quiet, as_json)
    facts = describe(file, given_time(time))
    kinds = {"folder": _show_folder, "table": _show_table, "plaid": _show_table, "model": _show_model}
    kinds |= {"classifier": _show_classifier, "field model": _show_fields, "curve model": _show_curves}
    kinds.get(facts["kind"], _show_mesh)(out, file, facts)
    out.result(facts)


def _show_mesh(out: Output, file: Path, facts: Record) -> None:
    out.say(f"{file}: {facts['kind']} of {facts['nodes']} nodes and {facts['edges']} edges")
    if facts["kind"] == "mesh":
        out.say("cells     " + ", ".join(f"{count} {kind}" for kind, count in facts["cells"].items()))
        if facts["odd_cells"]["words"]:
            out.say(f"left out  {facts['odd_cells']['words']}")
        if facts["layer"] is not None:
            size = facts["layer"]["thickness"]
            told = number(size) if facts["layer"]["kind"] == "plane" else f"{number(math.degrees(size))} degrees"
            out.say(f"layer     one cell thick ({told}): learned as a plane mesh where all meshes are so")
        for key, on in (("node_fields", ""), ("cell_fields", "on cells, ")):
            for name, field in facts[key].items():
                size = "" if field["components"] == 1 else f"{field['components']} components, "
                missing = f", {field['not_finite']} values not finite" if field.get("not_finite") else ""
                out.say(f"field     {name}: {on}{size}{number(field['least'])} to {number(field['largest'])}{missing}")
        for name, group in facts["groups"].items():
            nodes = "" if group["kind"] == "nodes" else f" with {group['nodes']} nodes"
            out.say(f"group     {name}: {group['size']} {group['kind']}{nodes}")
        if "times" in facts:
            from swwl.mesh.io.series import said_times

            out.say(f"times     {said_times(facts['times'])}")
        modes = facts.get("modes", [])
        for k, frequency in enumerate(modes[:_MOST_MODES], 1):
            out.say(f"mode {k:<4} {frequency:.6g} Hz")
        if modes:
            shown = "the fields are those of mode 1; " * ("times" not in facts)
            out.say(f"modes     {len(modes)} in all: {shown}name one to learn it, {file.name}@mode1 or --time mode1")
    names = "xyz" if facts["kind"] == "mesh" and facts["features"] <= 3 else None
    for k, (low, high) in enumerate(zip(facts["least"], facts["largest"], strict=True)):
        out.say(f"{names[k] if names else f'feature {k}':<10}{number(low)} to {number(high)}")
    if facts["isolated_nodes"]:
        what = "cell, which are left out" if facts["kind"] == "mesh" else "edge"
        out.say(f"nodes of no {what}: {facts['isolated_nodes']}")


def _show_table(out: Output, file: Path, facts: Record) -> None:
    columns = facts["columns"]
    kind = "PLAID data set" if facts["kind"] == "plaid" else "table"
    out.say(f"{file}: {kind} of {facts['rows']} rows and {len(columns)} columns")
    out.table(
        "",
        ["column", "holds", "least", "median", "largest", "missing"],
        [
            [c["name"], c["holds"], *(c.get(key) for key in ("least", "median", "largest")), c["missing"] or ""]
            for c in columns
        ],
    )


def _show_folder(out: Output, file: Path, facts: Record) -> None:
    about = facts["about"]
    if about:
        out.say(f"{file}: {about['n_samples']} simulations of {about['generator']}, seed {about['seed']}")
        out.say(f"model     {about['model']}")
        out.say(f"meshes    about {about['nodes']} nodes" + (", random topology" if about["random_topology"] else ""))
        out.say(f"inputs    mesh, {', '.join(about['scalars'])}")
        out.say(f"targets   {', '.join(about['targets'])}")
    if facts["cache_bytes"]:
        out.say(f"cache     {facts['cache_bytes'] / 1e6:.1f} MB of embeddings in .swwl-cache, which may be deleted")
    _show_table(out, file / "table.csv", facts)


def _show_model(out: Output, file: Path, facts: Record) -> None:
    out.say(f"{file}: model of {', '.join(facts['targets'])}, fitted to {facts['training_rows']} rows")
    if facts["table"]:
        out.say(f"table     {facts['table']} ({facts['split']})")
    out.say(f"inputs    {', '.join(facts['inputs'])}: columns that a table for swwl predict must have")
    out.say(f"kernel    {facts['kernel']}")
    show_model(out, facts)


def _show_curves(out: Output, file: Path, facts: Record) -> None:
    out.say(f"{file}: model of the curve {facts['curve']}, fitted to {facts['training_rows']} rows")
    if facts["table"]:
        out.say(f"table     {facts['table']} ({facts['split']})")
    out.say(f"inputs    {', '.join(map(str, facts['inputs']))}: columns that a table for swwl predict must have")
    out.say(f"kernel    {facts['kernel']}")
    show_curve_model(out, facts)


def _show_classifier(out: Output, file: Path, facts: Record) -> None:
    out.say(f"{file}: classifier of {', '.join(map(str, facts['classes']))}")
    out.say(f"inputs    {', '.join(facts['inputs'])}")
    out.say(f"kernel    {facts['kernel']}")


def _show_fields(out: Output, file: Path, facts: Record) -> None:
    rows = "" if facts["training_rows"] is None else f", fitted to {facts['training_rows']} rows"
    out.say(f"{file}: model of whole fields{rows}")
    for field in facts["fields"]:
        size = "" if field["components"] == 1 else f", {field['components']} components"
        out.say(f"field     {field['field']}: on {field['on']}{size}")
    if facts["table"]:
        out.say(f"table     {facts['table']} ({facts['split']})")
    out.say(f"inputs    {', '.join(map(str, facts['inputs']))}: columns that a table for swwl predict must have")
    show_field_model(out, facts)


def report(
    model: ModelFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write; by default MODEL.html beside the model.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page about a model, to read, print and send.

    It says what the data is, how good the model is, whether its intervals can be believed, which inputs matter, where
    it is unsure, which training cases look odd and how to predict with it. Of a model of fields it shows the truth, the
    prediction and the error on the best, the median and the worst mesh that was held out; of fields over time, the
    median and the worst case at a few times. It loads nothing from the network.

    \b
    Example:
      swwl report m.swwl -o report.html
    """
    from swwl.jobs.outputs import check_output, is_report
    from swwl.jobs.predict import load_any
    from swwl.report import write_report

    out = Output(quiet, as_json)
    fitted = load_any(model, series=True)
    target = output or model.with_suffix(".html")
    check_output(target, endings=(".html", ".htm"), inputs=[model], ours=is_report, force=force)
    with located(str(model)):
        write_report(target, fitted, model)
    out.say(f"report written to {target}")
    out.result({"report": target, "bytes": target.stat().st_size})

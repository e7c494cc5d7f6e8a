"""``swwl fit``: a table and its meshes -> a model file, with what was found and how good it is."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from swwl.cli.console import Force, Output
from swwl.cli.show import show_findings, show_model, show_plan
from swwl.errors import InputError, LooseNodesWarning


class Kernel(StrEnum):
    """The kernels of the command line."""

    principal = "principal"
    swwl = "swwl"
    aswwl = "aswwl"
    scalars = "scalars"


class Weights(StrEnum):
    """How the nodes of a mesh are weighted."""

    area = "area"
    uniform = "uniform"


def fit(
    table: Annotated[Path, typer.Argument(help="CSV, Excel or Parquet table; mesh paths in it are relative to it.")],
    target: Annotated[list[str], typer.Option(help="Column to predict; repeat it for several.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write, such as rotor.swwl.")],
    mesh: Annotated[
        list[str] | None, typer.Option(help="Column of mesh paths; repeat it for several. Detected if omitted.")
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(help="Input columns, separated by commas; '' for meshes only. By default all that can be."),
    ] = None,
    kernel: Annotated[Kernel, typer.Option(help="Kernel on meshes; scalars leaves the meshes out.")] = Kernel.principal,
    split: Annotated[
        str | None, typer.Option(help="Column whose rows 'train' are fitted; the others are held out and scored.")
    ] = None,
    test_fraction: Annotated[float | None, typer.Option(help="Hold out this share of rows, at random.")] = None,
    all_rows: Annotated[bool, typer.Option("--all-rows", help="Fit all rows, whatever a column 'split' says.")] = False,
    drop_incomplete: Annotated[
        bool, typer.Option("--drop-incomplete", help="Leave out rows in which a mesh, an input or a target is missing.")
    ] = False,
    projections: Annotated[int, typer.Option("--projections", "-P", help="Directions of projection, P.")] = 50,
    quantiles: Annotated[int, typer.Option("--quantiles", "-Q", help="Quantiles of each projection, Q.")] = 500,
    iterations: Annotated[int, typer.Option("--iterations", "-H", help="Weisfeiler-Lehman iterations, H.")] = 3,
    step: Annotated[str, typer.Option(help="Steps per iteration: a number, or sqrt for the root of the nodes.")] = "1",
    node_weights: Annotated[
        Weights | None, typer.Option(help="area: nodes count by the area around them, not one each.")
    ] = None,
    components: Annotated[str, typer.Option(help="Principal components with a range each: auto or a number.")] = "auto",
    field: Annotated[list[str] | None, typer.Option(help="Node field to use beside the coordinates.")] = None,
    calibrate: Annotated[bool, typer.Option(help="Widen intervals by what cross-validation asks for.")] = True,
    merge_nodes: Annotated[
        bool, typer.Option("--merge-nodes", help="Make nodes at exactly the same place one, as swwl check may advise.")
    ] = False,
    cache: Annotated[bool, typer.Option(help="Keep embeddings beside the table, in .swwl-cache.")] = True,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is one per core.")] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of directions, folds and --test-fraction.")] = 0,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Learn targets from meshes and numbers.

    Rows are fitted with a robust Gaussian process; a column named 'split' with train and test is used to hold rows out.
    What is odd about table and meshes is said first, as swwl check does.
    Embeddings of meshes are kept beside the table, so that another fit of the same meshes reads none of them.

    \b
    Example:
      swwl make blade -n 120 --nodes 1500 -o d
      swwl fit d/table.csv --mesh mesh --target efficiency --target massflow -o m.swwl
    """
    from swwl.jobs.check import check_plan
    from swwl.jobs.describe import model_facts
    from swwl.jobs.fit import fit_plan, mesh_facts
    from swwl.jobs.outputs import check_output, is_model
    from swwl.jobs.plan import make_kernel, plan_fit
    from swwl.jobs.table import CACHE_FOLDER, memory_beside

    out = Output(quiet, as_json)
    plan = plan_fit(
        table,
        list(dict.fromkeys(target)),
        list(dict.fromkeys(mesh or [])),
        named_inputs(inputs),
        kernel=kernel.value,
        split=split,
        test_fraction=test_fraction,
        all_rows=all_rows,
        seed=seed,
        drop_incomplete=drop_incomplete,
    )
    check_output(output, inputs=plan.files(), ours=is_model, force=force)
    options: dict[str, Any] = {
        "n_projections": projections,
        "n_quantiles": quantiles,
        "n_iterations": iterations,
        "step": "sqrt" if step == "sqrt" else _whole(step, "--step", "sqrt"),
        "node_weights": node_weights.value if node_weights else None,
        "fields": tuple(field or ()),
        "merge_nodes": merge_nodes,
        "random_state": seed,
        "n_jobs": jobs,
    }
    if kernel is Kernel.principal:
        options["n_components"] = "auto" if components == "auto" else _whole(components, "--components", "auto")
    show_plan(out, plan, kernel.value)
    memory = memory_beside(table, cache)
    checked = check_plan(plan, memory, n_jobs=jobs, merge_nodes=merge_nodes, progress=out.progress("checks"))
    show_findings(out, checked.findings)
    warnings.simplefilter("ignore", LooseNodesWarning)  # the findings name them
    model = fit_plan(
        plan,
        make_kernel(kernel.value, plan, **options),
        output,
        memory=memory,
        typical=checked.typical,
        calibrate=calibrate,
        seed=seed,
        progress=out.progress,
    )
    model.save(output)
    meshes, facts = mesh_facts(plan, memory), model_facts(model)
    nodes, found = meshes.pop("nodes"), meshes["meshes_from_cache"]
    if nodes:
        out.say(
            f"meshes    {meshes['meshes']} of {nodes['least']:.0f} to {nodes['largest']:.0f} nodes "
            f"(median {nodes['median']:.0f}); {meshes['meshes'] - found} embedded, {found} found in {CACHE_FOLDER}"
        )
    show_model(out, facts)
    out.say(f"\nmodel written to {output}")
    out.say(f"next:  swwl report {output}    swwl predict {output} NEW.csv -o predictions.csv")
    known = {"model": output, "table": table, "ignored": plan.ignored, "split": plan.split.words}
    known["findings"] = [finding.facts() for finding in checked.findings]
    out.result(facts | known | meshes)


def named_inputs(text: str | None) -> list[str] | None:
    """Return the columns that --inputs names; None where it is not given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _whole(text: str, option: str, word: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{option} must be a whole number or {word}, not {text!r}.") from None

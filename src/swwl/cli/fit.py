"""``swwl fit``: a table and its meshes -> a model file, with what was found and how good it is."""

from __future__ import annotations

import warnings
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from swwl.cli.console import Force, Output
from swwl.cli.show import show_field_model, show_findings, show_model, show_plan
from swwl.errors import InputError, LooseNodesWarning

if TYPE_CHECKING:
    from swwl.jobs.plan import Plan
    from swwl.regression.fit_many_rows import SolverChoice


class Kernel(StrEnum):
    """The kernels of the command line."""

    auto = "auto"
    principal = "principal"
    swwl = "swwl"
    aswwl = "aswwl"
    scalars = "scalars"


class Solver(StrEnum):
    """Who factorizes."""

    auto = "auto"
    exact = "exact"
    vecchia = "vecchia"


class Weights(StrEnum):
    """How the nodes of a mesh are weighted."""

    area = "area"
    uniform = "uniform"


def fit(
    table: Annotated[Path, typer.Argument(help="CSV, Excel or Parquet table; mesh paths in it are relative to it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write, such as rotor.swwl.")],
    target: Annotated[list[str] | None, typer.Option(help="Column to predict; repeat it for several.")] = None,
    target_field: Annotated[
        list[str] | None, typer.Option(help="Field of the meshes to predict whole; repeat it for several.")
    ] = None,
    mesh: Annotated[
        list[str] | None, typer.Option(help="Column of mesh paths; repeat it for several. Detected if omitted.")
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(help="Input columns, separated by commas; '' for meshes only. By default all that can be."),
    ] = None,
    kernel: Annotated[
        Kernel | None,
        typer.Option(help="Kernel on meshes: auto [default] mixes several by cross-validation; scalars has none."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Column whose rows 'train' are fitted; the others are held out and scored.")
    ] = None,
    test_fraction: Annotated[float | None, typer.Option(help="Hold out this share of rows, at random.")] = None,
    all_rows: Annotated[bool, typer.Option("--all-rows", help="Fit all rows, whatever a column 'split' says.")] = False,
    drop_incomplete: Annotated[
        bool, typer.Option("--drop-incomplete", help="Leave out rows in which a mesh, an input or a target is missing.")
    ] = False,
    projections: Annotated[int, typer.Option("--projections", "-P", help="Directions of projection, P.")] = 50,
    quantiles: Annotated[
        int | None, typer.Option("--quantiles", "-Q", help="Quantiles of each projection, Q [500; auto: 100].")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-H", help="Weisfeiler-Lehman iterations, H [3]. Not for auto.")
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(help="Steps per iteration: a number [1], or sqrt: root of the nodes. Not for auto."),
    ] = None,
    node_weights: Annotated[
        Weights | None, typer.Option(help="area: nodes count by the area around them, not one each. Not for auto.")
    ] = None,
    components: Annotated[
        str | None, typer.Option(help="Principal components with a range each: a number, or auto. For principal.")
    ] = None,
    modes: Annotated[
        int | None, typer.Option(min=1, help="At most so many modes of a field [30]. For --target-field.")
    ] = None,
    field: Annotated[list[str] | None, typer.Option(help="Node field to use beside the coordinates.")] = None,
    calibrate: Annotated[bool, typer.Option(help="Make intervals as wide as cross-validation asks for.")] = True,
    merge_nodes: Annotated[
        bool, typer.Option("--merge-nodes", help="Make nodes at exactly the same place one, as swwl check may advise.")
    ] = False,
    solver: Annotated[
        Solver, typer.Option(help="exact, or vecchia for many rows; auto takes it from 3000 rows on.")
    ] = Solver.auto,
    embeddings: Annotated[
        Path | None, typer.Option(help="Store that swwl embed made of the meshes, which are not read then.")
    ] = None,
    cache: Annotated[bool, typer.Option(help="Keep embeddings beside the table, in .swwl-cache.")] = True,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is one per core.")] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of directions, folds and --test-fraction.")] = 0,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Learn targets, or whole fields, from meshes and numbers.

    Rows are fitted with a robust Gaussian process; a column named 'split' with train and test is used to hold rows out.
    What is odd about table and meshes is said first, as swwl check does.
    Embeddings of meshes are kept beside the table, so that another fit of the same meshes reads none of them.
    Fields are those that the mesh files hold, of nodes or cells; with --target beside them, the columns are learned
    too, into a file of their own: MODEL-scalars.swwl.

    \b
    Example:
      swwl make blade -n 120 --nodes 1500 -o d
      swwl fit d/table.csv --mesh mesh --target efficiency --target massflow -o m.swwl
      swwl fit d/table.csv --mesh mesh --target-field pressure -o f.swwl
    """
    from swwl.embedding.stores.store import Store
    from swwl.jobs.check import check_plan
    from swwl.jobs.fit import check_fields, mesh_facts, some_rows, without_bad
    from swwl.jobs.outputs import check_output, is_model
    from swwl.jobs.plan import plan_fit
    from swwl.jobs.table import CACHE_FOLDER, memory_beside
    from swwl.regression.fit_many_rows import choose_solver

    out = Output(quiet, as_json)
    targets, fields = list(dict.fromkeys(target or [])), list(dict.fromkeys(target_field or []))
    if not targets and not fields:
        raise InputError(
            "Nothing to learn: --target names a column of the table, --target-field a field of its meshes."
        )
    if fields and (embeddings is not None or (solver is not Solver.auto and not targets)):
        raise InputError("--solver and --embeddings have no meaning for --target-field, whose models read the meshes.")
    kernel, options = embedding_options(kernel, projections, quantiles, iterations, step, node_weights, components)
    plan = plan_fit(
        table,
        targets,
        list(dict.fromkeys(mesh or [])),
        named_inputs(inputs),
        kernel=kernel.value,
        split=split,
        test_fraction=test_fraction,
        all_rows=all_rows,
        seed=seed,
        drop_incomplete=drop_incomplete,
    )
    if fields:
        if merge_nodes:
            raise InputError("--merge-nodes has no meaning for --target-field: fields are predicted at all nodes.")
        check_fields(plan, fields)
    beside = output.with_name(f"{output.stem}-scalars{output.suffix}") if fields else output
    for file in dict.fromkeys([*([output] if fields else []), *([beside] if targets else [])]):
        check_output(file, inputs=plan.files(), ours=is_model, force=force)
    options |= {"fields": tuple(field or ()), "merge_nodes": merge_nodes, "random_state": seed, "n_jobs": jobs}
    show_plan(out, plan, kernel.value, fields)
    memory = memory_beside(table, cache)
    choice = choose_solver(solver.value, len(plan.split.train))
    if targets:
        out.say(f"solver    {choice.name}: {choice.why}")
    if embeddings is not None:
        plan = without_bad(plan, Store(embeddings), drop_incomplete)
    few = some_rows(plan, seed) if choice.large else plan
    if embeddings is not None:
        few = replace(few, meshes=[])  # those that could be read are in the store, and are not read again
    checked = check_plan(few, memory, n_jobs=jobs, merge_nodes=merge_nodes, progress=out.progress("checks"))
    show_findings(out, checked.findings)
    warnings.simplefilter("ignore", LooseNodesWarning)  # the findings name them
    fitting = {"memory": memory, "typical": checked.typical, "calibrate": calibrate, "seed": seed}
    known = {"table": table, "ignored": plan.ignored, "split": plan.split.words}
    known["findings"] = [finding.facts() for finding in checked.findings]
    facts: dict[str, Any] = {}
    if fields:
        facts |= _fit_fields(out, plan, fields, kernel, options, output, fitting | {"n_modes": modes})
    if targets:
        found = _fit_targets(out, plan, kernel, options, beside, fitting, solver=choice, store=embeddings, keep=cache)
        facts |= {"scalars": found} if fields else found
    meshes = mesh_facts(plan, memory)
    nodes, found_there = meshes.pop("nodes"), meshes["meshes_from_cache"]
    if nodes:
        out.say(
            f"\nmeshes    {meshes['meshes']} of {nodes['least']:.0f} to {nodes['largest']:.0f} nodes "
            f"(median {nodes['median']:.0f}); {meshes['meshes'] - found_there} embedded, {found_there} found in "
            f"{CACHE_FOLDER}"
        )
    if targets:
        out.say(f"\nmodel written to {beside}")
        out.say(f"next:  swwl report {beside}    swwl predict {beside} NEW.csv -o predictions.csv")
    if fields:
        out.say(f"\nmodel of fields written to {output}")
        out.say(f"next:  swwl report {output}    swwl predict {output} NEW.csv -o predicted")
    out.result(facts | known | meshes)


def _fit_targets(
    out: Output,
    plan: Plan,
    kernel: Kernel,
    options: dict[str, Any],
    output: Path,
    fitting: dict[str, Any],
    *,
    solver: SolverChoice,
    store: Path | None,
    keep: bool,
) -> dict[str, Any]:
    """Fit and save a model of columns; show it and return its facts."""
    from swwl.jobs.describe import model_facts
    from swwl.jobs.fit import fit_plan, store_beside, tell_sizes
    from swwl.jobs.plan import make_kernel

    if store is not None and kernel is Kernel.auto:
        options = options | {"few_rows": False}  # stores hold what the other candidates need
    made = make_kernel(kernel.value, plan, **options)
    if store is None and solver.large and keep and plan.meshes:
        seed, n_jobs = options["random_state"], options["n_jobs"]
        store, _ = store_beside(plan, made, seed=seed, n_jobs=n_jobs, progress=out.progress("embeddings"))
    if store is not None:
        tell_sizes(fitting["memory"], store)
        fitting = fitting | {"embeddings": store}
    model = fit_plan(plan, made, output, solver=solver.name, progress=out.progress, **fitting)
    model.save(output)
    facts = model_facts(model)
    show_model(out, facts)
    return facts | {"model": output}


def _fit_fields(
    out: Output,
    plan: Plan,
    fields: list[str],
    kernel: Kernel,
    options: dict[str, Any],
    output: Path,
    fitting: dict[str, Any],
) -> dict[str, Any]:
    """Fit and save a model of fields; show it and return its facts."""
    from swwl.jobs.describe import field_model_facts
    from swwl.jobs.fit import fit_fields
    from swwl.jobs.plan import make_kernel

    given = None if kernel is Kernel.auto else make_kernel(kernel.value, plan, **options)
    model = fit_fields(plan, fields, output, kernel=given, n_jobs=options["n_jobs"], progress=out.progress, **fitting)
    model.save(output)
    facts = field_model_facts(model)
    show_field_model(out, facts)
    return facts | {"model": output}


def embedding_options(
    kernel: Kernel | None,
    projections: int,
    quantiles: int | None,
    iterations: int | None,
    step: str | None,
    node_weights: Weights | None,
    components: str | None = None,
) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel and its options, as the command line gives them."""
    return _choose_kernel(
        kernel,
        n_projections=projections,
        n_quantiles=quantiles,
        n_iterations=iterations,
        step=None if step is None else "sqrt" if step == "sqrt" else _whole(step, "--step", "sqrt"),
        node_weights=None if node_weights is None else node_weights.value,
        n_components=components if components in (None, "auto") else _whole(components, "--components", "auto"),
    )


def _choose_kernel(kernel: Kernel | None, **given: Any) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel, and the options that were given; refuse those that a kernel has no use for.

    Without a name it is auto, or principal where an option is given that auto has no use for.
    """
    options = {name: value for name, value in given.items() if value is not None}
    names = {"n_iterations": "--iterations", "step": "--step", "node_weights": "--node-weights"}
    names["n_components"] = "--components"
    if kernel is None:
        return (Kernel.principal if names.keys() & options else Kernel.auto), options
    if kernel is Kernel.auto:
        for name, option in names.items():
            if name in options:
                wanted = "principal" if name == "n_components" else "principal, swwl or aswwl"
                raise InputError(f"{option} has no meaning for --kernel auto; it goes with --kernel {wanted}.")
    elif kernel is not Kernel.principal:
        options.pop("n_components", None)
    return kernel, options


def named_inputs(text: str | None) -> list[str] | None:
    """Return the columns that --inputs names; None where it is not given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _whole(text: str, option: str, word: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{option} must be a whole number or {word}, not {text!r}.") from None

"""``swwl fit``: a table and its meshes -> a model file, with what was found and how good it is."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from swwl.cli.console import (
    AllRows,
    AsJson,
    DropIncomplete,
    Force,
    InputColumns,
    Iterations,
    KeepEmbeddings,
    MeshColumns,
    Output,
    Projections,
    Quantiles,
    Quiet,
    ResultColumns,
    TableFile,
    TargetColumns,
    TestFraction,
    Threads,
    given_time,
)
from swwl.cli.show import show_findings, show_fitted, show_plan
from swwl.errors import ColumnWarning, InputError, LawWarning, LeftOutWarning, OutlierWarning
from swwl.formatting import Record

if TYPE_CHECKING:
    from swwl.jobs.fit import FitJob
    from swwl.jobs.plan import KernelOptions


class Kernel(StrEnum):
    """The kernels of the command line."""

    auto = "auto"
    principal = "principal"
    swwl = "swwl"
    aswwl = "aswwl"
    scalars = "scalars"


class SolverName(StrEnum):
    """Who factorizes."""

    auto = "auto"
    exact = "exact"
    vecchia = "vecchia"


class ScaleName(StrEnum):
    """On which scale targets are fitted."""

    auto = "auto"
    identity = "identity"
    log = "log"
    warp = "warp"


class Together(StrEnum):
    """Whether targets of which more is known help others."""

    auto = "auto"
    yes = "yes"
    no = "no"


class Weights(StrEnum):
    """How the nodes of a mesh are weighted."""

    area = "area"
    uniform = "uniform"


def fit(
    table: TableFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write, such as rotor.swwl.")],
    target: TargetColumns = None,
    target_field: Annotated[
        list[str] | None, typer.Option(help="Field of the meshes to predict whole; repeat it for several.")
    ] = None,
    target_curve: Annotated[
        str | None,
        typer.Option(
            help="Curve to predict: a column of CSV files, or the prefix of wide columns, cp for cp_000 to cp_199."
        ),
    ] = None,
    mesh: MeshColumns = None,
    inputs: InputColumns = None,
    results: ResultColumns = None,
    kernel: Annotated[
        Kernel | None,
        typer.Option(help="Kernel on meshes: auto [default] mixes several by cross-validation; scalars has none."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Column whose rows 'train' are fitted; the others are held out and scored.")
    ] = None,
    test_fraction: TestFraction = None,
    all_rows: AllRows = False,
    drop_incomplete: DropIncomplete = False,
    projections: Projections = 50,
    quantiles: Quantiles = None,
    iterations: Iterations = None,
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
        int | None, typer.Option(min=1, help="Largest number of modes of a field [30]. For --target-field.")
    ] = None,
    field: Annotated[list[str] | None, typer.Option(help="Node field to use beside the coordinates.")] = None,
    calibrate: Annotated[bool, typer.Option(help="Calibrate the width of intervals by cross-validation.")] = True,
    log: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET", help="Fit the logarithm of this target, answer in its units; may be repeated."),
    ] = None,
    target_scale: Annotated[
        ScaleName | None,
        typer.Option(
            help="Scale of other targets: auto, for --kernel auto, changes it only if left-out rows gain by it."
        ),
    ] = None,
    scaled: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LAW",
            help="Learn a target, or the size of a field, relative to a known law, 'max_disp ~ force / young', if "
            "left-out rows are predicted no worse; repeat it for several targets.",
        ),
    ] = None,
    fidelity: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of levels, such as coarse and fine, or 1 and 2: many cheap rows help a few good ones, where "
            "left-out rows are predicted better; answers are those of the best level: the largest number, or the text "
            "with the fewest rows. For one target.",
        ),
    ] = None,
    targets_together: Annotated[
        Together,
        typer.Option(
            help="Whether targets help others that have empty cells; auto: where left-out rows are predicted better."
        ),
    ] = Together.auto,
    keep_outliers: Annotated[
        bool,
        typer.Option("--keep-outliers", help="Give full weight to rows that others do not explain. For --target."),
    ] = False,
    one_regime: Annotated[
        bool,
        typer.Option("--one-regime", help="Do not look for two regimes among the cases. For --target."),
    ] = False,
    merge_nodes: Annotated[
        bool, typer.Option("--merge-nodes", help="Merge nodes at exactly the same place, as swwl check may advise.")
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(help="Learn from this part of every mesh: a group of cells or faces, such as 'body*'."),
    ] = None,
    no_groups: Annotated[
        bool,
        typer.Option("--no-groups", help="Do not use named groups of meshes as inputs: for new meshes without them."),
    ] = False,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Of series in time: a number, first or last [last]; all learns fields over time."
        ),
    ] = None,
    solver: Annotated[
        SolverName, typer.Option(help="exact, or vecchia for many rows; auto takes it above 3000 rows.")
    ] = SolverName.auto,
    embeddings: Annotated[
        Path | None, typer.Option(help="Store that swwl embed made of the meshes, which are not read then.")
    ] = None,
    cache: KeepEmbeddings = True,
    jobs: Threads = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of directions, folds and --test-fraction.")] = 0,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn targets, whole fields or curves from meshes and numbers.

    Rows are fitted with a robust Gaussian process; a column named 'split' with train and test is used to hold rows out.
    The checks of swwl check come first.
    Embeddings of meshes are kept beside the table, so that another fit need not read the same meshes again.
    With several targets, cells may be empty: each is learned where it is known, helped by targets known for more rows.
    Fields are those in the mesh files, of nodes or cells; columns given by --target as well are learned into a separate
    file, MODEL-scalars.swwl.
    A curve is a series of values per case: a column of paths of CSV files, or one column per place.

    \b
    Example:
      swwl make blade -n 120 --nodes 1500 -o d
      swwl fit d/table.csv --mesh mesh --target efficiency --target massflow -o m.swwl
      swwl fit d/table.csv --mesh mesh --target-field pressure -o f.swwl
      swwl fit warming.csv --target-field temperature --time all -o t.swwl
      swwl fit d/table.csv --target-curve cp -o c.swwl
      swwl fit plates.csv --target max_disp --scaled "max_disp ~ force / young" -o p.swwl
      swwl fit runs.csv --target max_stress --fidelity level -o r.swwl
    """
    from swwl.jobs.fit import FitJob, FitRequest
    from swwl.jobs.plan import HoldOut
    from swwl.jobs.transient import written_series

    wanted = kernel_options(
        kernel,
        step,
        node_weights,
        components,
        n_projections=projections,
        n_quantiles=quantiles,
        n_iterations=iterations,
        fields=tuple(field or ()),
        merge_nodes=merge_nodes,
        group=group,
        groups=not no_groups,
        seed=seed,
        n_jobs=jobs,
    )
    over_time = time == "all"
    request = FitRequest(
        table,
        output,
        targets=list(dict.fromkeys(target or [])),
        fields=list(dict.fromkeys(target_field or [])),
        curve=target_curve,
        meshes=list(dict.fromkeys(mesh or [])),
        inputs=named_inputs(inputs),
        results=named_inputs(",".join(results or [])) or [],
        kernel=wanted,
        rows=HoldOut(
            split, test_fraction, all_rows, seed, drop_incomplete, None if over_time else given_time(time), fidelity
        ),
        n_modes=modes,
        calibrate=calibrate,
        solver=solver.value,
        embeddings=embeddings,
        target_scale=scales_by_target(target or [], log or [], target_scale),
        outliers="keep" if keep_outliers else "auto",
        one_regime=one_regime,
        scaled=scaled or (),
        together={"yes": True, "no": False}.get(targets_together.value, "auto"),
        cache=cache,
        force=force,
    )
    if over_time and not target_field:
        raise InputError("--time all learns fields over time: name them with --target-field.")
    _run(Output(quiet, as_json), FitJob(request, written_series if over_time else None))


def _run(out: Output, job: FitJob) -> None:
    """Do a job step by step, and say what comes of each."""
    from swwl.jobs.table import CACHE_FOLDER

    show_plan(out, job.plan, job.kernel, job.request.fields)
    if job.request.curve is not None:
        out.say(f"curve     {job.request.curve}: {_in_columns(job.plan.curves)}")
    if job.request.targets:
        out.say(f"solver    {job.solver.name}: {job.solver.why}")
    show_findings(out, job.check(out.progress("checks")))
    warnings.simplefilter("ignore", LeftOutWarning)  # the findings name them
    warnings.simplefilter("ignore", ColumnWarning)  # so do they
    warnings.simplefilter("ignore", LawWarning)  # told with the model
    warnings.simplefilter("ignore", OutlierWarning)  # their lines in the table are named below
    result: Record = {}
    written = []
    for path, facts in job.run(out.progress):
        show_fitted(out, facts)
        own = facts | {"model": path}
        result |= {"scalars": own} if result else own
        written.append((path, facts))
    about = job.facts()
    nodes, there = about.pop("nodes"), about["meshes_from_cache"]
    if nodes:
        read, n = about["nodes_known_of"], about["meshes"]
        some = "" if read == n else f"in all, the {read} that were read "
        told = f"{read - there} embedded, {there} found in {CACHE_FOLDER}"
        told += f", the other {n - read} have their embeddings" * (read < n)
        out.say(
            f"\nmeshes    {about['meshes']} {some}of {nodes['least']:.0f} to {nodes['largest']:.0f} nodes "
            f"(median {nodes['median']:.0f}); {told}"
        )
    for path, facts in reversed(written):
        of, predictions = (" of fields", "predicted") if "fields" in facts else ("", "predictions.csv")
        if "curve" in facts:
            of, predictions = " of curves", "predictions.csv" if facts["form"] == "wide" else "predicted"
        out.say(f"\nmodel{of} written to {path}")
        name = quote(str(path))
        out.say(f"next:  swwl report {name}    swwl predict {name} NEW.csv -o {predictions}")
    out.result(result | about)


def _in_columns(names: list[str]) -> str:
    """Say in which columns a curve stands."""
    return f"column {names[0]}" if len(names) == 1 else f"columns {names[0]} to {names[-1]}, {len(names)} of them"


def kernel_options(
    kernel: Kernel | None, step: str | None, node_weights: Weights | None, components: str | None = None, **others: Any
) -> KernelOptions:
    """Return the kernel and its options; texts become numbers."""
    from swwl.jobs.plan import KernelOptions

    return KernelOptions(
        None if kernel is None else kernel.value,
        step=None if step is None else _whole(step, "--step", "sqrt"),
        node_weights=None if node_weights is None else node_weights.value,
        n_components=None if components is None else _whole(components, "--components", "auto"),
        **others,
    )


def scales_by_target(targets: list[str], log: list[str], others: ScaleName | None) -> str | dict[str, str] | None:
    """Return the scale of every target, as far as it is given; one word where --log names none."""
    for name in log:
        if name not in targets:
            raise InputError(f"--log names {name!r}, but --target names {', '.join(targets) or 'nothing'}.")
    if not log:
        return None if others is None else others.value
    rest = {} if others is None else dict.fromkeys(targets, others.value)
    return rest | dict.fromkeys(log, "log")


def named_inputs(text: str | None) -> list[str] | None:
    """Return the columns that --inputs names; None where it is not given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _whole(text: str, option: str, word: str) -> int | str:
    try:
        return word if text == word else int(text)
    except ValueError:
        raise InputError(f"{option} must be a whole number or {word}, not {text!r}.") from None

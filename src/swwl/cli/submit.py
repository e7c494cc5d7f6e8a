"""``swwl submit``: models and a PLAID data folder -> a submission for its test split."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import AsJson, Force, Output, Quiet
from swwl.errors import InputError, LeftOutWarning


def submit(
    folder: Annotated[Path, typer.Argument(help="PLAID data folder.")],
    model: Annotated[list[Path], typer.Argument(help="Models that swwl fit wrote, of fields and of scalars.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Submission to write, such as submission.pkl.")],
    split: Annotated[str, typer.Option(help="Which split to predict.")] = "test",
    samples: Annotated[
        Path | None, typer.Option(help="New PLAID folder to write, with the same samples and the predictions in them.")
    ] = None,
    cache: Annotated[bool, typer.Option(help="Keep embeddings in the folder, in .swwl-cache.")] = True,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict the test split of a PLAID folder, for its benchmarks.

    The benchmarks expect a pickled list with one dict per sample, in the order of the split: fields as arrays, scalars
    as numbers.
    swwl fit takes such a folder instead of a table.

    \b
    Example:
      swwl fit Tensile2d --target-field U1 --target-field sig11 --target max_von_mises -o m.swwl
      swwl submit Tensile2d m.swwl m-scalars.swwl -o submission.pkl
    """
    from swwl.datasets.plaid import write_submission
    from swwl.jobs.outputs import check_output
    from swwl.jobs.predict import load_any
    from swwl.jobs.submit import cell_outputs, outputs_of, plaid_split, predict_split, write_samples

    out = Output(quiet, as_json)
    models = [load_any(path) for path in dict.fromkeys(model)]
    frame = plaid_split(folder, split, models)
    inputs = [*model, *map(Path, frame["mesh"])]
    check_output(output, endings=(".pkl",), inputs=inputs, force=force)
    if samples is not None and samples.exists() and (not samples.is_dir() or any(samples.iterdir())):
        raise InputError(f"{samples}: already exists; name a new folder.")
    warnings.simplefilter("ignore", LeftOutWarning)  # swwl check names them
    found = predict_split(models, frame, folder, keep=cache, progress=out.progress)
    write_submission(output, found)
    names = [name for one in models for name in outputs_of(one)]
    out.say(f"{len(found)} samples of {split!r} predicted, {', '.join(names)}; written to {output}")
    if samples is not None:
        write_samples(samples, split, frame, found, cell_outputs(models))
        out.say(f"samples with the predictions in them: {samples}")
    out.result({"samples": len(found), "split": split, "names": names, "output": output, "plaid": samples})

"""``swwl report``: one self-contained HTML page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import AsJson, Force, ModelFile, Output, Quiet
from swwl.errors import located


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

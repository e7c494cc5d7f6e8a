"""What several commands print: plans, models and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from swwl.cli.console import Output, show_error, show_note
from swwl.formatting import Record, number, percent

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from swwl.jobs.check import Finding
    from swwl.jobs.plan import FitPlan

# Ranges that matter less than this are not listed one by one.
_NEGLIGIBLE = 0.05
# Choices that are printed; the table has all.
_MOST_CHOICES = 20


def show_plan(out: Output, plan: FitPlan, kernel: str, fields: Sequence[str] = ()) -> None:
    """Print what will be learned from what."""
    out.say(f"table     {plan.path}: {len(plan.frame)} rows, {plan.split.words}")
    if plan.split.column is not None:
        out.say("          (--all-rows fits them all)")
    if fields:
        out.say(f"fields    {', '.join(fields)}")
    if plan.targets:
        out.say(f"targets   {', '.join(plan.targets)}")
    out.say(f"inputs    {', '.join([*plan.meshes, *plan.inputs, *plan.categories])}")
    for name, reason in plan.ignored.items():
        out.say(f"ignored   {name}: {reason}")
    out.say(f"kernel    {kernel}")
    if kernel == "auto" and not plan.meshes:
        out.say("          (no column of meshes was found: learned from the other inputs)")


def show_findings(out: Output, findings: Sequence[Finding]) -> None:
    """Print what is odd, one line each on standard error: errors in any case, notes unless it is to be quiet."""
    from swwl.jobs.check import told_together

    for finding in told_together(findings):
        if finding.severity == "error":
            show_error(finding.message)
        elif not out.quiet:
            show_note(finding.message)


def show_fitted(out: Output, facts: Record) -> None:
    """Print what a model found out of its facts: that of fields knows fields, the other targets."""
    show = show_field_model if "fields" in facts else show_curve_model if "curve" in facts else show_model
    show(out, facts)


def show_model(out: Output, facts: Record) -> None:
    """Print importance, choices and scores out of the facts of a model."""
    for name, scale in facts["scales"].items():
        if scale["kind"] != "identity":
            out.say(f"scale     {name}: fitted on its {scale['words']} ({scale['why']}); answers are in its own units")
    _show_inputs(out, facts)
    for name in dict.fromkeys(row["target"] for row in facts["candidates"]):
        rows = [[r["candidate"], percent(r["weight"]), r["rmse"]] for r in facts["candidates"] if r["target"] == name]
        out.table(f"kernels and weights: {name}", ["kernel", "weight", "RMSE alone, left out"], rows)
    for column in dict.fromkeys(row["column"] for row in facts["components"]):
        tried = [row for row in facts["components"] if row["column"] == column]
        chosen = next(row["n_components"] for row in tried if row["chosen"])
        ladder = ", ".join(f"{row['n_components']}: {row['log_posterior']:.1f}" for row in tried)
        out.say(f"\ncomponents of {column}: {chosen} chosen by log posterior ({ladder})")
    factors = ", ".join(f"{name} {value:.2f}" for name, value in facts["calibration"].items())
    out.say(f"\ncross-validation multiplied the width of intervals by: {factors}")
    show_scores(out, facts["scores"])
    if facts["regimes"]:
        out.say(f"regimes   {facts['regimes']}")
    _show_verdicts(out, facts)
    if not facts["scores"]:
        out.say(
            "\naccuracy is unknown: no rows were left out or held out. It takes at least 10 rows with calibration, "
            "or --test-fraction."
        )
    for line in facts["together"]:
        out.say(f"together  {line['words']}")
    for law in facts["laws"]:
        out.say(f"law       {law['words']}")
    if not facts["outliers"]:
        return
    from swwl.regression.outliers import outlier_words

    for line in outlier_words(facts["outliers"], "swwl fit --keep-outliers"):
        out.note(line)


def _show_inputs(out: Output, facts: Record) -> None:
    """Print how much inputs matter: shares of the variance where they are known, and ranges of one kernel."""
    for name in dict.fromkeys(row["target"] for row in facts["variance_shares"]):
        own = sorted((r for r in facts["variance_shares"] if r["target"] == name), key=lambda r: -r["share"])
        rows = [[r["input"], percent(r["share"]), f"± {percent(r['error'])}"] for r in own]
        out.table(f"share of the variance lost when an input is averaged out: {name}", ["input", "share", ""], rows)
    for name, importance in facts["importance"].items():
        if facts["candidates"] and facts["variance_shares"]:
            break  # shares of the variance say the same better
        of = f": {name}" if len(facts["importance"]) > 1 else ""
        order = sorted(importance.items(), key=lambda pair: -pair[1])
        shown = [(label, value) for label, value in order if value >= _NEGLIGIBLE]
        if facts["candidates"]:
            rows = [[label, f"{value:.2f}"] for label, value in shown]
            out.table(f"importance of inputs (1 is the average input){of}", ["input", "importance"], rows)
        else:
            ranges = facts["ranges"][name]
            rows = [[label, float(ranges[label]), f"{value:.2f}"] for label, value in shown]
            out.table(f"ranges and importance (1 is the average input){of}", ["input", "range", "importance"], rows)
        if len(order) > len(shown):
            out.say(f"{len(order) - len(shown)} more below {_NEGLIGIBLE}")


def _show_verdicts(out: Output, facts: Record) -> None:
    """Print what plain models give, and how good the model is."""
    for name, words in facts["verdicts"].items():
        plain = [f"{row['model']} {number(row['rmse'])}" for row in facts["spreadsheet"] if row["target"] == name]
        if plain:
            out.say(f"simple models on the same numbers: RMSE of {name}, left out: {', '.join(plain)}")
        out.say(f"verdict   {name}: {words}")


def show_scores(out: Output, rows: list[Record], title: str = "how good it is") -> None:
    """Print the table of scores, if there are any."""
    if not rows:
        return
    out.table(
        title,
        ["target", "test", "cases", "RMSE", "Q²", "inside 95 %", "mean width"],
        [
            [r["target"], r["test"], r["n"], r["rmse"], f"{r['q2']:.3f}", percent(r["coverage"]), number(r["width"])]
            for r in rows
        ],
    )


def show_field_model(out: Output, facts: Record) -> None:
    """Print what a model of fields chose, its modes and scores."""
    same = "all meshes share their cells: nodes are compared one by one" if facts["common_topology"] else "free"
    out.say(f"\ntopology  {same}")
    if "times" in facts:
        times = facts["times"]
        out.say(f"times     {len(times)} from {times[0]:g} to {times[-1]:g}, and all between")
    for modes in facts["modes"]:
        chosen: Record = next((row for row in facts["choices"] if row["field"] == modes["field"] and row["chosen"]), {})
        how = ", ".join(f"{name} {chosen[name]}" for name in ("kernel", "descriptors", "warp") if chosen.get(name))
        explained = f"{100 * modes['explained']:.2f} % of the variance"
        out.say(f"modes     {modes['field']}: {modes['number']} ({explained})" + (f"; {how}" if how else ""))
    for law in facts["laws"]:
        out.say(f"law       {law['words']}")
    for line in facts["kept"]:
        out.say(f"kept      {line}")
    show_field_scores(out, facts["scores"])
    _show_quality(out, facts["scores"], "field")


def _show_quality(out: Output, rows: list[Record], of: str) -> None:
    """Print one sentence for every field or curve: how good it is, by the strictest test, which is the last."""
    from swwl.evaluation.scores import quality_words

    for name, row in {row[of]: row for row in rows}.items():
        out.say(f"verdict   {name}: {quality_words(row['q2'])}; {percent(row['coverage'])} inside 95 % intervals")


def show_field_scores(out: Output, rows: list[Record], title: str = "how good it is") -> None:
    """Print the table of scores of fields, and which mesh is worst."""
    if not rows:
        return
    columns = ["field", "test", "meshes", "RRMSE", "Q²", "error of max", "in 95 %", "worst"]
    cells = []
    for r in rows:
        cells.append(
            [r["field"], r["test"], str(r["n"] or ""), f"{r['rrmse']:.4f}", f"{r['q2']:.4f}"]
            + [percent(r["max_error"]), percent(r["coverage"]), percent(r["worst_coverage"])]
        )
    out.table(title, columns, cells)
    out.say("RRMSE is relative to the largest value of each mesh, and so is the error of the largest value.")
    out.say("Intervals hold on average, not on every mesh: see the worst.")
    for r in rows:
        out.say(f"largest error, {r['field']}, {r['test']}: {r['worst']} ({r['worst_rrmse']:.4f})")


def show_curve_model(out: Output, facts: Record) -> None:
    """Print what a model of curves is made of, and its scores."""
    grid = f"{facts['points']} places from {number(facts['from'])} to {number(facts['to'])}"
    own = ", splines near points that are noisy" if facts["splines"] else ""
    out.say(f"\ncurve     {facts['curve']}: {grid}{own}; {facts['shapes']} principal curves")
    show_curve_scores(out, facts["scores"])
    _show_quality(out, facts["scores"], "curve")


def show_curve_scores(out: Output, rows: list[Record], title: str = "how good it is") -> None:
    """Print the table of scores of curves."""
    if not rows:
        return
    cells = [
        [r["curve"], r["test"], str(r["n"]), number(r["rmse"]), f"{r['q2']:.4f}", percent(r["coverage"])]
        + ["" if r["whole"] is None else percent(r["whole"])]
        for r in rows
    ]
    out.table(title, ["curve", "test", "cases", "RMSE", "Q²", "in 95 %", "whole in 90 %"], cells)


def show_choices(out: Output, chosen: pd.DataFrame, frame: pd.DataFrame, path: Path, title: str) -> None:
    """Print cases that were chosen, and why; as JSON, all of them."""
    from swwl.tables.places import where

    places = [where(frame, path, int(row)) for row in chosen["row"]]
    for place, why in list(zip(places, chosen["why"], strict=True))[:_MOST_CHOICES]:
        out.say(f"  {place}: {why}")
    if len(chosen) > _MOST_CHOICES:
        out.say(f"  and {len(chosen) - _MOST_CHOICES} more")
    outlook = chosen.attrs.get("outlook")
    if outlook is not None:
        out.say(outlook.told())
    out.say(title)
    out.result([{"place": place} | one for place, one in zip(places, chosen.to_dict("records"), strict=True)])

"""What commands print of plans, models and scores, and what they hand to scripts."""

from __future__ import annotations

from typing import Any

from swwl.cli.console import Output, number, percent
from swwl.evaluation import scores
from swwl.jobs.fit import Plan
from swwl.models.regression import RobustGPRegressor

# Ranges that matter less than this are not listed one by one.
_NEGLIGIBLE = 0.05


def show_plan(out: Output, plan: Plan, kernel: str) -> None:
    """Print what will be learned from what."""
    out.say(f"table     {plan.path}: {len(plan.frame)} rows, {plan.split}")
    if plan.ignored.get("split"):
        out.say("          (--all-rows fits them all)")
    out.say(f"targets   {', '.join(plan.targets)}")
    out.say(f"inputs    {', '.join([*plan.meshes, *plan.inputs])}")
    for name, reason in plan.ignored.items():
        out.say(f"ignored   {name}: {reason}")
    out.say(f"kernel    {kernel}")


def show_model(out: Output, model: RobustGPRegressor) -> None:
    """Print ranges, importance, choices and scores of a fitted model."""
    ranges, importance = scores.range_table(model), scores.importance_table(model)
    for name in ranges.columns:
        title = "ranges and importance (one on average)" + (f": {name}" if ranges.shape[1] > 1 else "")
        order = importance[name].sort_values(ascending=False)
        shown = order[order >= _NEGLIGIBLE]
        out.table(
            title,
            ["input", "range", "importance"],
            [[label, float(ranges[name][label]), f"{value:.2f}"] for label, value in shown.items()],
        )
        if len(order) > len(shown):
            out.say(f"{len(order) - len(shown)} more below {_NEGLIGIBLE}")
    for column, tried in model.selection_.groupby("column"):
        chosen = tried[tried["chosen"]]["n_components"].iloc[0]
        ladder = ", ".join(f"{row.n_components}: {row.log_posterior:.1f}" for row in tried.itertuples())
        out.say(f"\ncomponents of {column}: {chosen} chosen by log posterior ({ladder})")
    factors = ", ".join(f"{name} {value:.2f}" for name, value in model.calibration_.items())
    out.say(f"\nintervals widened by cross-validation: {factors}")
    show_scores(out, scores.score_rows(model))


def show_scores(out: Output, rows: list[dict[str, Any]], title: str = "how good it is") -> None:
    """Print the table of scores."""
    out.table(
        title,
        ["target", "test", "cases", "RMSE", "Q²", "inside 95 %", "mean width"],
        [
            [r["target"], r["test"], r["n"], r["rmse"], f"{r['q2']:.3f}", percent(r["coverage"]), number(r["width"])]
            for r in rows
        ],
    )


def model_facts(model: RobustGPRegressor) -> dict[str, Any]:
    """Return what a script wants to know of a model."""
    return {
        "kernel": repr(model.kernel_),
        "targets": model.target_names_,
        "inputs": list(model.feature_names_in_),
        "training_rows": len(scores.training_targets(model)),
        "ranges": scores.range_table(model).to_dict(),
        "importance": scores.importance_table(model).to_dict(),
        "components": model.selection_.to_dict("records"),
        "calibration": model.calibration_.to_dict(),
        "scores": scores.score_rows(model),
    }

"""The page about a model of fields: scores, pictures of the best, the median and the worst mesh, modes, choices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError, LooseNodesWarning
from swwl.evaluation.metadata import FOLDS, HELD_OUT, field_data_of, field_score_rows, held_out_scores
from swwl.fields.estimator import FieldRegressor
from swwl.fields.scores import MeshScore
from swwl.fields.values import cells_to_nodes
from swwl.formatting import number, percent, place
from swwl.mesh.io import read_mesh
from swwl.mesh.mesh import Mesh
from swwl.plots.fields import Panel, draw_panels, prediction_panels
from swwl.report.page import cards, commands, figure, figures, paragraph, table

Array = NDArray[np.float64]


def mode_shares(model: FieldRegressor, field: str) -> Array:
    """Return the part of the variance of training fields that each mode explains, (K,); the first explains most."""
    modes = model.models_[field].modes
    return np.asarray(modes.variances / modes.total if modes.total > 0 else modes.variances)


_MOST_ROWS = 8
_MODES = 4
_TESTS = {FOLDS: "by folds of the training meshes", HELD_OUT: "on held-out meshes"}


@dataclass
class FieldFacts:
    """All that the sections speak of.

    Attributes
    ----------
    model : FieldRegressor
    model_name : str
    data : dict
        The metadata of ``swwl fit``; may be empty.
    rows : list of dict
        Scores by field and test.
    held_out : dict of str to list of (case, MeshScore)
    drawn : dict of int to Mesh
        Predicted meshes of held-out cases, with the truth, that are still where the table says.
    verdicts : dict of int to str
        Whether these cases are like the training cases, in a few words.
    inputs : DataFrame
        Rows of those cases.
    """

    model: FieldRegressor
    model_name: str
    data: dict[str, Any]
    rows: list[dict[str, Any]]
    held_out: dict[str, list[tuple[int, MeshScore]]]
    drawn: dict[int, Mesh] = field(default_factory=dict)
    verdicts: dict[int, str] = field(default_factory=dict)
    inputs: pd.DataFrame = field(default_factory=pd.DataFrame)


def gather_fields(model: FieldRegressor, model_path: Path | None) -> FieldFacts:
    """Collect the facts of a fitted model of fields; predict the few held-out meshes that will be drawn."""
    name = "model.swwl" if model_path is None else model_path.name
    facts = FieldFacts(model, name, field_data_of(model), field_score_rows(model), held_out_scores(model))
    known = facts.data.get("held_out")
    if known is None or model_path is None:
        return facts
    folder = (model_path.resolve().parent / facts.data["table"]).parent
    files = [folder / mesh for mesh in known["meshes"].get(model.mesh_column_, [])]
    columns = {model.mesh_column_: files} | known["inputs"]
    table = pd.DataFrame({name: columns[name] for name in model.feature_names_in_ if name in columns})
    wanted = sorted({case for scores in facts.held_out.values() for case, _ in _three(scores)})
    for case in wanted:
        if case < len(files) and files[case].is_file():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", LooseNodesWarning)
                    found = model.cases(table.iloc[[case]])
                    (mesh,) = found.predict_meshes()
                    facts.verdicts[case] = str(found.domain["kind"].iloc[0])
                    facts.drawn[case] = _with_truth(mesh, read_mesh(files[case]), model)
            except (InputError, OSError):
                continue  # the file has changed since the fit: the report can do without it
    facts.inputs = table
    return facts


def _with_truth(mesh: Mesh, true: Mesh, model: FieldRegressor) -> Mesh:
    """Return a predicted mesh whose fields are all at nodes, with NAME_true of those that the file holds."""
    fields: dict[str, Array] = {}
    for name, one in model.models_.items():
        home, truth = (m.cell_fields if one.kind.on_cells else m.fields for m in (mesh, true))
        found = {key: home[key] for key in (name, f"{name}_std")}
        if name in truth and truth[name].shape == home[name].shape:
            found[f"{name}_true"] = truth[name].astype(float)
        for key, values in found.items():
            fields[key] = cells_to_nodes(mesh, values.reshape(len(values), -1)) if one.kind.on_cells else values
    return mesh.with_fields(fields)


def _three(scores: Sequence[tuple[int, MeshScore]]) -> list[tuple[int, MeshScore]]:
    """Return the best, the median and the worst case, each once."""
    order = sorted((pair for pair in scores if not np.isnan(pair[1].rrmse)), key=lambda pair: pair[1].rrmse)
    return [order[k] for k in dict.fromkeys((0, len(order) // 2, len(order) - 1))] if order else []


def field_sections(facts: FieldFacts) -> list[tuple[str, str, str]]:
    """Return (anchor, heading, HTML) of all sections; the first is the summary under the title."""
    return [
        ("summary", "", summary(facts)),
        ("data", "What the data is", data(facts)),
        ("accuracy", "How good the model is", accuracy(facts)),
        ("pictures", "The best, the median and the worst mesh", pictures(facts)),
        ("unsure", "Where it is unsure", unsure(facts)),
        ("modes", "What predictions are made of", modes(facts)),
        ("predict", "How to predict with it", predict(facts)),
        ("model", "What the model is", choices(facts)),
    ]


def summary(facts: FieldFacts) -> str:
    """Say in a sentence and a few numbers what the model is worth."""
    names = escape(", ".join(facts.model.field_names_))
    inputs = [str(name) for name in facts.model.feature_names_in_ if name != facts.model.mesh_column_]
    rows = facts.data.get("train", {}).get("rows")
    source = "meshes" + (f" and {len(inputs)} number{'s' * (len(inputs) > 1)}" if inputs else "")
    text = f"A model of whole fields: {names} at every node, from {source}"
    text += f", fitted to {len(rows)} cases." if rows else "."
    parts = [paragraph(text, "lead")]
    for name in facts.model.field_names_:
        best = [row for row in facts.rows if row["field"] == name][-1:]  # held-out meshes where there are any
        for row in best:
            how = _TESTS[row["test"]]
            parts.append(
                cards(
                    [
                        (f"{row['rrmse']:.4f}", f"relative error (RRMSE) of {name}, {how}"),
                        (f"{row['q2']:.4f}", f"Q² of {name}: 1 is perfect, 0 no better than the mean"),
                        (percent(row["coverage"]), f"of nodes inside 95 % intervals; {_least(row)}"),
                    ]
                )
            )
    return "".join(parts)


def _least(row: dict[str, Any]) -> str:
    return f"{percent(row['worst_coverage'])} on the worst mesh"


def data(facts: FieldFacts) -> str:
    """Describe the table and its meshes."""
    known = facts.data
    if not known:
        return paragraph("The model was fitted in Python; it does not know its table.")
    nodes = [count for count in known["train"]["nodes"] if count]
    text = f"The table <code>{escape(known['table'])}</code> has {known['n_rows']} rows; {escape(known['split'])}."
    if nodes:
        text += f" The training meshes have {min(nodes)} to {max(nodes)} nodes, {int(np.median(nodes))} in the middle."
    if facts.model.common_topology_:
        text += " They all share their cells, and so must new ones: nodes are compared one by one."
    parts = [paragraph(text)]
    if known["ranges"]:
        rows = [[name, number(least), number(largest)] for name, (least, largest) in known["ranges"].items()]
        parts.append(table(["input", "least", "largest"], rows, "Numbers, over the training cases"))
    if known["ignored"]:
        listed = "; ".join(f"{escape(name)} ({escape(reason)})" for name, reason in known["ignored"].items())
        parts.append(paragraph(f"Not used: {listed}."))
    return "\n".join(parts)


def accuracy(facts: FieldFacts) -> str:
    """Show scores by test, and the meshes with the largest errors."""
    if not facts.rows:
        return paragraph("The model was neither cross-validated nor tested on held-out meshes.")
    columns = ["field", "test", "meshes", "RRMSE", "Q²", "error of the maximum", "inside 95 %", "on the worst mesh"]
    rows = [
        [r["field"], r["test"], r["n"] or "", f"{r['rrmse']:.4f}", f"{r['q2']:.4f}", percent(r["max_error"])]
        + [percent(r["coverage"]), percent(r["worst_coverage"])]
        for r in facts.rows
    ]
    parts = [
        table(columns, rows, "Scores"),
        paragraph(
            "RRMSE is the error of a node, relative to the largest value of its mesh, as PLAID defines it. Intervals "
            "are made to hold 95 % of nodes on average over meshes; on a single mesh they may hold fewer, and the "
            "last column says how few."
        ),
    ]
    for name, scores in facts.held_out.items():
        worst = sorted(scores, key=lambda pair: -np.nan_to_num(pair[1].rrmse))[:_MOST_ROWS]
        listed = [[_label(facts, c), f"{s.rrmse:.4f}", number(s.rmse), percent(s.coverage)] for c, s in worst]
        caption = f"{name}: held-out meshes with the largest errors"
        parts.append(table(["mesh", "RRMSE", "RMSE", "inside 95 %"], listed, caption))
    return "\n".join(parts)


def _label(facts: FieldFacts, case: int) -> str:
    """Name a held-out case by its mesh and its place in the table."""
    known = facts.data["held_out"]
    rows: list[int] = known["rows"]
    meshes: list[str] = next(iter(known["meshes"].values()), [])
    if case >= len(rows) or case >= len(meshes):
        return f"case {case}"
    return f"{Path(meshes[case]).name} ({place(facts.data['table'], rows[case])})"


def pictures(facts: FieldFacts) -> str:
    """Draw truth, prediction, error and standard deviation on three held-out meshes of every field."""
    if not facts.drawn:
        return paragraph(
            "There are no pictures: no mesh was held out, or the files are no longer where the table says."
        )
    drawings = []
    for name, scores in facts.held_out.items():
        for word, (case, score) in zip(("best", "median", "worst"), _three(scores), strict=False):
            if case in facts.drawn:
                panels = prediction_panels(facts.drawn[case], name)
                caption = f"{name}, {word} of {len(scores)}: {_label(facts, case)}, RRMSE {score.rrmse:.4f}"
                caption += f"; compared with the training cases: {facts.verdicts[case]}"
                drawings.append(figure(draw_panels(panels), f"{name} on the {word} mesh", caption, "png"))
    return figures(drawings, "wide")


def unsure(facts: FieldFacts) -> str:
    """Draw standard deviations of held-out meshes with the same colors."""
    parts = []
    for name in facts.model.field_names_:
        found = {case: mesh.fields[f"{name}_std"] for case, mesh in facts.drawn.items()}
        order = sorted(found, key=lambda case: float(np.mean(found[case])))[:3]
        panels = [
            Panel(facts.drawn[case], np.linalg.norm(found[case].reshape(len(found[case]), -1), axis=1),
                  _label(facts, case), "unsure", name)
            for case in order
        ]  # fmt: skip
        if panels:
            caption = f"{name}: standard deviation, in the same colors on all meshes; dark is where it is least sure"
            parts.append(figure(draw_panels(panels), f"where {name} is unsure", caption, "png"))
    if not parts:
        return paragraph("There are no pictures: no mesh was held out, or the files are no longer there.")
    text = (
        "The standard deviation of a node has two parts: what the processes do not know about the sizes of the modes, "
    )
    text += "and what no mode can show. Both are as large as folds of the training meshes say."
    return paragraph(text) + figures(parts, "wide")


def modes(facts: FieldFacts) -> str:
    """Draw the leading modes on a mesh, and say what they explain."""
    parts = []
    for row in facts.model.modes_.to_dict("records"):
        share = f"{100 * row['explained']:.2f} % of the variance"
        text = f"<b>{escape(row['field'])}</b>: {row['number']} modes explain {share}."
        parts.append(paragraph(text))
    if facts.drawn:
        case = next(iter(facts.drawn))
        (found,) = facts.model.cases(facts.inputs.iloc[[case]]).modes(_MODES)
        drawings = []
        for name, shapes in found.items():
            one = facts.model.models_[name]
            shares = mode_shares(facts.model, name)
            panels = [_mode_panel(facts.drawn[case], shape, k, shares[k], one.kind.on_cells)
                      for k, shape in enumerate(shapes)]  # fmt: skip
            if panels:
                caption = f"{name}: what the leading modes add to the mean field, one standard deviation of each"
                drawings.append(figure(draw_panels(panels), f"modes of {name}", caption, "png"))
        parts.append(figures(drawings, "wide"))
    return "\n".join(parts)


def _mode_panel(mesh: Mesh, shape: Array, k: int, share: float, on_cells: bool) -> Panel:
    values = cells_to_nodes(mesh, shape.reshape(len(shape), -1)) if on_cells else shape
    values = values.reshape(mesh.n_nodes, -1)
    kind = "error" if values.shape[1] == 1 else "unsure"
    drawn = values[:, 0] if values.shape[1] == 1 else np.linalg.norm(values, axis=1)
    return Panel(mesh, drawn, f"mode {k + 1}: {100 * share:.1f} %", kind)


def predict(facts: FieldFacts) -> str:
    """Say how to use the model, with commands to copy."""
    needed = ", ".join(f"<code>{escape(str(name))}</code>" for name in facts.model.feature_names_in_)
    name = facts.model_name
    python = f"""import swwl

model = swwl.load_model("{name}")
fields = model.predict(new_table)  # a dict of arrays per row
meshes = model.predict_meshes(new_table)  # with mean, standard deviation and bounds
numbers = model.derived(new_table, "max", field="{facts.model.field_names_[0]}")"""
    return (
        paragraph(f"A new table needs the columns {needed}; paths of meshes are relative to it.")
        + commands(f"swwl predict {name} new.csv -o predicted")
        + paragraph("fills a folder with one .vtu file per row, which ParaView opens. Or in Python:")
        + commands(python)
        + paragraph("Outside the ranges of the training set nothing has been tested.")
    )


def choices(facts: FieldFacts) -> str:
    """Say what was chosen among what, for the record."""
    rows = [
        [r["field"], r["kernel"], r["descriptors"] or "", number(r["range"]), number(r["shrinkage"]), r["warp"]]
        + [number(r["rrmse"]), "chosen" if r["chosen"] else ""]
        for r in facts.model.choices_.to_dict("records")
    ]
    if not rows:
        return paragraph("There was nothing to choose.")
    columns = ["field", "kernel", "descriptors", "range", "shrinkage", "warp", "RRMSE of folds", ""]
    return table(columns, rows, "What was tried, by folds of the training meshes")

"""What stands on the page about a model of fields: scores, pictures of held-out meshes, modes and choices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError, LeftOutWarning
from swwl.evaluation.metadata import FOLDS, HELD_OUT, FieldTableData, field_data_of, field_score_rows, held_out_scores
from swwl.fields.estimator import FieldRegressor, kept_words
from swwl.fields.scores import MeshScore
from swwl.fields.values import cells_to_nodes
from swwl.formatting import Record, number, percent, place
from swwl.mesh.io import read_mesh
from swwl.mesh.io.formats import is_mesh
from swwl.mesh.mesh import Mesh
from swwl.plots.fields import Panel, draw_panels, prediction_panels
from swwl.report.page import Picture, picture
from swwl.report.sections import Section, extent

Array = NDArray[np.float64]


def mode_shares(model: FieldRegressor, field: str) -> Array:
    """Return the part of the variance of training fields that each mode explains, (K,); the first explains most."""
    modes = model.models_[field].modes
    return np.asarray(modes.variances / modes.total if modes.total > 0 else modes.variances)


_MOST_ROWS = 8
_MODES = 4
_TESTS = {FOLDS: "by cross-validation", HELD_OUT: "on held-out meshes"}


@dataclass
class FieldFacts:
    """All that the sections speak of.

    Attributes
    ----------
    model : FieldRegressor
    model_name : str
    data : FieldTableData or None
        What ``swwl fit`` wrote.
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
    data: FieldTableData | None
    rows: list[Record]
    held_out: dict[str, list[tuple[int, MeshScore]]]
    drawn: dict[int, Mesh] = field(default_factory=dict)
    verdicts: dict[int, str] = field(default_factory=dict)
    inputs: pd.DataFrame = field(default_factory=pd.DataFrame)


def gather_fields(model: FieldRegressor, model_path: Path | None) -> FieldFacts:
    """Collect the facts of a fitted model of fields; predict the few held-out meshes that will be drawn."""
    name = "model.swwl" if model_path is None else model_path.name
    facts = FieldFacts(model, name, field_data_of(model), field_score_rows(model), held_out_scores(model))
    if facts.data is None or facts.data.held_out is None or model_path is None:
        return facts
    known = facts.data.held_out
    folder = (model_path.resolve().parent / facts.data.table).parent
    files = [folder / mesh for mesh in known.meshes.get(model.mesh_column_, [])]
    columns: dict[str, Sequence[object]] = {model.mesh_column_: files, **known.inputs}
    table = pd.DataFrame({name: columns[name] for name in model.feature_names_in_ if name in columns})
    wanted = sorted({case for scores in facts.held_out.values() for case, _ in _three(scores)})
    for case in wanted:
        if case < len(files) and is_mesh(files[case]):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", LeftOutWarning)
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


def field_sections(facts: FieldFacts) -> Section:
    """Return all that the template "fields" speaks of."""
    model, known = facts.model, facts.data
    ranges = {} if known is None else known.ranges
    return {
        "fields": model.field_names_,
        "model_name": facts.model_name,
        "known": known,
        "nodes": extent([count for count in known.train.nodes if count]) if known else None,
        "common_topology": model.common_topology_,
        "ranges": [[name, number(least), number(largest)] for name, (least, largest) in ranges.items()],
        "columns": list(map(str, model.feature_names_in_)),
        "summary": {
            "n_inputs": len(model.feature_names_in_) - 1,
            "n_train": len(known.train.rows) if known else 0,
            "scores": _best_scores(facts),
        },
        "scores": _score_rows(facts),
        "worst": _worst(facts),
        "drawn": bool(facts.drawn),
        "pictures": _pictures(facts),
        "unsure": _unsure(facts),
        "modes": model.modes_.to_dict("records"),
        "mode_pictures": _mode_pictures(facts),
        "choices": _choices(facts),
        "laws": [one.words for one in model.laws_],
        "kept": kept_words(model),
    }


def _best_scores(facts: FieldFacts) -> list[tuple[Record, str]]:
    """Return the scores of every field by the strictest test: held-out meshes where there are any."""
    last = {row["field"]: row for row in facts.rows}
    return [(last[name], _TESTS[last[name]["test"]]) for name in facts.model.field_names_ if name in last]


def _score_rows(facts: FieldFacts) -> list[list[object]]:
    return [
        [r["field"], r["test"], r["n"] or "", f"{r['rrmse']:.4f}", f"{r['q2']:.4f}", percent(r["max_error"])]
        + [percent(r["coverage"]), percent(r["worst_coverage"])]
        for r in facts.rows
    ]


def _worst(facts: FieldFacts) -> list[tuple[str, list[list[str]]]]:
    """Return the held-out meshes with the largest errors, by field."""
    found = []
    for name, scores in facts.held_out.items():
        order = sorted(scores, key=lambda pair: -np.nan_to_num(pair[1].rrmse))[:_MOST_ROWS]
        rows = [[_label(facts, c), f"{s.rrmse:.4f}", number(s.rmse), percent(s.coverage)] for c, s in order]
        found.append((name, rows))
    return found


def _label(facts: FieldFacts, case: int) -> str:
    """Name a held-out case by its mesh and its place in the table."""
    known = None if facts.data is None else facts.data.held_out
    names = facts.data.names()[1] if facts.data else []
    if facts.data is None or known is None or case >= len(names):
        return f"case {case}"
    return f"{names[case]} ({place(facts.data.table, known.rows[case])})"


def _pictures(facts: FieldFacts) -> list[Picture]:
    """Draw truth, prediction, error and standard deviation on three held-out meshes of every field."""
    drawings = []
    for name, scores in facts.held_out.items():
        for word, (case, score) in zip(("best", "median", "worst"), _three(scores), strict=False):
            if case in facts.drawn:
                panels = prediction_panels(facts.drawn[case], name)
                caption = f"{name}, {word} of {len(scores)}: {_label(facts, case)}, RRMSE {score.rrmse:.4f}"
                caption += f"; compared with the training cases: {facts.verdicts[case]}"
                drawings.append(picture(draw_panels(panels), f"{name} on the {word} mesh", caption, "png"))
    return drawings


def _unsure(facts: FieldFacts) -> list[Picture]:
    """Draw standard deviations of held-out meshes with the same colors."""
    drawings = []
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
            drawings.append(picture(draw_panels(panels), f"where {name} is unsure", caption, "png"))
    return drawings


def _mode_pictures(facts: FieldFacts) -> list[Picture]:
    """Draw the leading modes on a held-out mesh."""
    if not facts.drawn:
        return []
    case = next(iter(facts.drawn))
    (found,) = facts.model.cases(facts.inputs.iloc[[case]]).modes(_MODES)
    drawings = []
    for name, shapes in found.items():
        on_cells, shares = facts.model.models_[name].kind.on_cells, mode_shares(facts.model, name)
        panels = [_mode_panel(facts.drawn[case], shape, k, shares[k], on_cells) for k, shape in enumerate(shapes)]
        if panels:
            caption = f"{name}: what the leading modes add to the mean field, one standard deviation of each"
            drawings.append(picture(draw_panels(panels), f"modes of {name}", caption, "png"))
    return drawings


def _mode_panel(mesh: Mesh, shape: Array, k: int, share: float, on_cells: bool) -> Panel:
    values = cells_to_nodes(mesh, shape.reshape(len(shape), -1)) if on_cells else shape
    values = values.reshape(mesh.n_nodes, -1)
    kind = "error" if values.shape[1] == 1 else "unsure"
    drawn = values[:, 0] if values.shape[1] == 1 else np.linalg.norm(values, axis=1)
    return Panel(mesh, drawn, f"mode {k + 1}: {100 * share:.1f} %", kind)


def _choices(facts: FieldFacts) -> list[list[str]]:
    """Return what was chosen among what, for the record."""
    return [
        [r["field"], r["kernel"], r["descriptors"] or "", number(r["range"]), number(r["shrinkage"]), r["warp"]]
        + ["amplitude times shape" if r["amplitude"] else "as it is", number(r["rrmse"])]
        + ["chosen" if r["chosen"] else ""]
        for r in facts.model.choices_.to_dict("records")
    ]

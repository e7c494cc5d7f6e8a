"""What a mesh, a table, a data folder or a model holds, as plain facts: ``kind`` says which it is."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd

from swwl.datasets.plaid import is_plaid, load_plaid
from swwl.errors import InputError, LeftOutWarning, MeshWarning, MissingFileError, located
from swwl.evaluation import scores
from swwl.evaluation.metadata import (
    TableData,
    curve_data_of,
    curve_score_rows,
    data_of,
    field_data_of,
    field_score_rows,
)
from swwl.fields.estimator import FieldRegressor, kept_words
from swwl.fields.transient import TransientRegressor
from swwl.formatting import Record, place
from swwl.jobs.table import CACHE_FOLDER, case_files, read_table, summary
from swwl.mesh import Graph
from swwl.mesh.arrays import AnyArray
from swwl.mesh.io import read
from swwl.mesh.io.foam.case import is_case, is_set_up, why_no_case
from swwl.mesh.io.formats import is_mesh, modes_of, times_of
from swwl.mesh.io.series import Time, at_time, split_time
from swwl.mesh.remesh.clean import odd_cells
from swwl.mesh.remesh.plane import thin_layer
from swwl.regression.curves.estimator import CurveRegressor
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.outliers import outlier_records
from swwl.storage.atomic import refuse_special
from swwl.storage.modelfile import is_model, load_model
from swwl.tables.columns import kind_of, mesh_columns
from swwl.tables.read import TABLES, mesh_file

_ABOUT = ("n_samples", "generator", "seed", "model", "nodes", "random_topology", "scalars", "targets")


def describe(file: Path, time: Time | None = None) -> Record:
    """Find out what a file or folder is, and describe it; a mesh that is a series, at a time."""
    file = file if time is None else at_time(file, time)
    if split_time(file)[1] is not None:
        return mesh_file_facts(file)
    if not file.exists():
        raise MissingFileError(f"{file}: no such file or folder.")
    with located(str(file)):
        refuse_special(file)
    if file.is_dir():
        if is_set_up(file) and not is_case(file):
            raise InputError(f"{file}: {why_no_case(file)}.")
        return mesh_file_facts(file) if is_case(file) else folder_facts(file)
    if file.suffix.lower() in TABLES:
        return table_facts(file)
    if file.suffix == ".swwl" or is_model(file):
        return model_file_facts(file)
    return mesh_file_facts(file)


def mesh_file_facts(path: Path) -> Record:
    """Return nodes, cells, extent and fields of a mesh, or of a graph without cells."""
    content = read(path)
    with located(str(path)), warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)  # the facts say so
        graph = content if isinstance(content, Graph) else content.graph()
    facts: Record = {
        "kind": "graph" if isinstance(content, Graph) else "mesh",
        "nodes": content.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "least": graph.features.min(axis=0),
        "largest": graph.features.max(axis=0),
        "isolated_nodes": content.n_nodes - int(np.count_nonzero(np.diff(graph.adjacency.indptr))),
    }
    times, modes = times_of(path), modes_of(path)
    if times:
        facts["times"] = times
    if modes:
        facts["modes"] = modes
    if not isinstance(content, Graph):
        facts["cells"] = {kind: len(cells) for kind, cells in content.cells.items()}
        odd = odd_cells(content)
        facts["odd_cells"] = odd._asdict() | {"words": odd.words}
        layer = thin_layer(content)
        facts["layer"] = None if layer is None else {"kind": layer.kind, "thickness": layer.thickness}
        facts["groups"] = {
            name: {"kind": group.kind, "size": group.size, "nodes": len(group.nodes)}
            for name, group in content.groups.items()
        }
        for key, fields in (("node_fields", content.fields), ("cell_fields", content.cell_fields)):
            facts[key] = {
                name: _finite_summary(values) | {"components": 1 if values.ndim == 1 else values.shape[1]}
                for name, values in fields.items()
            }
    return facts


def _finite_summary(values: AnyArray) -> Record:
    """Return least, median and largest value, and how many are not finite, where some are."""
    known = np.isfinite(values)
    missing = int(values.size - np.count_nonzero(known))
    if missing == values.size:
        return {"least": np.nan, "median": np.nan, "largest": np.nan, "not_finite": missing}
    return summary(values[known]) | ({"not_finite": missing} if missing else {})


def table_facts(path: Path) -> Record:
    """Return what the columns of a table hold."""
    frame = read_table(path)
    meshes = mesh_columns(frame)
    columns = [_column_facts(frame[name], path, name in meshes) for name in frame.columns]
    return {"kind": "table", "rows": len(frame), "columns": columns}


def _column_facts(values: pd.Series, path: Path, of_meshes: bool) -> Record:
    facts: Record = {"name": str(values.name), "missing": int(values.isna().sum())}
    if pd.api.types.is_numeric_dtype(values):
        known = values.dropna().to_numpy(dtype=float)
        return facts | {"holds": "numbers"} | (summary(known) if known.size else {})
    if kind_of(values) in ("mixed", "dates"):
        return facts | {"holds": "dates" if kind_of(values) == "dates" else "numbers and texts"}
    if of_meshes:
        there = sum(is_mesh(mesh_file(path, str(value))) for value in values.dropna())
        gone = len(values) - there
        return facts | {"holds": f"{there} meshes" + (f", {gone} not there" if gone else ""), "meshes": there}
    counts = values.astype(str).value_counts()
    if len(counts) > 4:
        return facts | {"holds": f"{len(counts)} texts", "texts": len(counts)}
    return facts | {"holds": ", ".join(f"{count} {name}" for name, count in counts.items()), "counts": counts.to_dict()}


def folder_facts(folder: Path) -> Record:
    """Return what made a data folder (``about``, None for one of the user's own) and what its table holds."""
    table = folder / "table.csv"
    if not table.exists():
        if (folder / "unfinished.jsonl").exists():
            raise InputError(f"{folder}: its data set is unfinished; run the same swwl make command again.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MeshWarning)  # reading the table warns
            cases = [] if is_plaid(folder) else case_files(folder)
        if cases:
            return table_facts(folder)
        return plaid_facts(folder)
    try:
        content = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        about = {key: content[key] for key in _ABOUT}
    except (OSError, ValueError, KeyError, TypeError):
        about = None
    kept = sum(file.stat().st_size for file in (folder / CACHE_FOLDER).glob("*/*.npz"))
    return table_facts(table) | {"kind": "folder", "about": about, "cache_bytes": kept}


def plaid_facts(folder: Path) -> Record:
    """Return what the columns of a PLAID folder hold."""
    try:
        frame = load_plaid(folder)
    except InputError as error:
        raise InputError(f"{folder}: has no table.csv, so it is not a data folder; {error}") from None
    meshes = {"name": "mesh", "missing": 0, "holds": f"{len(frame)} meshes", "meshes": len(frame)}
    columns = [_column_facts(frame[name], folder, False) for name in frame.columns if name != "mesh"]
    return {"kind": "plaid", "rows": len(frame), "columns": [meshes, *columns]}


def model_file_facts(path: Path) -> Record:
    """Return what a model predicts from what, and how well; of a classifier, what it tells apart."""
    model = load_model(path)
    if model.predicts == "classes":
        return {
            "kind": "classifier",
            "kernel": repr(model.kernel_),
            "inputs": list(model.feature_names_in_),
            "classes": model.classes_,
        }
    with located(str(path)):
        if model.predicts == "fields":
            data: TableData | None = field_data_of(model)
            facts = {"kind": "field model"} | field_model_facts(model)
        elif model.predicts == "series":
            data = field_data_of(model.fields_)
            facts = {"kind": "field model"} | series_model_facts(model)
        elif model.predicts == "curves":
            data, facts = curve_data_of(model), {"kind": "curve model"} | curve_model_facts(model)
        else:
            data, facts = data_of(model), {"kind": "model"} | model_facts(model)
    return facts | ({"table": None, "split": None} if data is None else {"table": data.table, "split": data.split})


def model_facts(model: RobustGPRegressor) -> Record:
    """Return what people and scripts want to know of a fitted model."""
    data = data_of(model)
    return {
        "kernel": repr(model.kernel_),
        "targets": model.target_names_,
        "inputs": list(model.feature_names_in_),
        "training_rows": len(model.train_targets_),
        "solver": model.solver_,
        "ranges": scores.range_table(model).to_dict(),
        "importance": scores.importance_table(model).to_dict(),
        "candidates": model.candidates_.to_dict("records"),
        "components": model.selection_.to_dict("records"),
        "scales": {name: own.facts() for name, own in model.target_scales_.items()},
        "together": [asdict(one) | {"words": one.words} for one in (model.chain_.told if model.chain_ else [])],
        "laws": [asdict(law) | {"words": law.words} for law in model.laws_],
        "calibration": model.calibration_.to_dict(),
        "scores": scores.score_rows(model),
        "variance_shares": [] if data is None else [msgspec.structs.asdict(row) for row in data.variance_shares],
        "spreadsheet": [] if data is None else [msgspec.structs.asdict(row) for row in data.spreadsheet],
        "verdicts": scores.verdicts(model),
        "outliers": outlier_facts(model),
        "regimes": scores.regime_words(model),
    }


def outlier_facts(model: RobustGPRegressor) -> list[Record]:
    """Return the training rows that hardly count, each with its place in the table."""
    data = data_of(model)
    return [
        {"place": f"row {one['row']}" if data is None else place(data.table, data.train.rows[one["position"]])} | one
        for one in outlier_records(model.outliers_)
    ]


def series_model_facts(model: TransientRegressor) -> Record:
    """Return what people and scripts want to know of a fitted model of fields over time."""
    return field_model_facts(model.fields_) | {
        "fields": [
            {"field": name, "components": own or 1, "on": "cells" if model.on_cells(name) else "nodes"}
            for name, own in model.components_.items()
        ],
        "times": model.times_.tolist(),
    }


def field_model_facts(model: FieldRegressor) -> Record:
    """Return what people and scripts want to know of a fitted model of fields."""
    kinds = {name: one.kind for name, one in model.models_.items()}
    data = field_data_of(model)
    return {
        "fields": [
            {"field": name, "components": kind.components, "on": "cells" if kind.on_cells else "nodes"}
            for name, kind in kinds.items()
        ],
        "inputs": list(model.feature_names_in_),
        "training_rows": None if data is None else len(data.train.rows),
        "common_topology": bool(model.common_topology_),
        "kernels": {name: repr(one.member.kernel) for name, one in model.models_.items()},
        "modes": model.modes_.to_dict("records"),
        "choices": model.choices_.to_dict("records"),
        "kept": kept_words(model),
        "laws": [asdict(law) | {"words": law.words} for law in model.laws_],
        "scores": field_score_rows(model),
    }


def curve_model_facts(model: CurveRegressor) -> Record:
    """Return what people and scripts want to know of a fitted model of curves."""
    grid = model.grid_
    return {
        "curve": model.curve_,
        "form": model.form_,
        "points": len(grid),
        "from": float(grid[0]),
        "to": float(grid[-1]),
        "shapes": len(model.basis_.shapes),
        "splines": model.basis_.smooth,
        "inputs": list(model.feature_names_in_),
        "training_rows": model.n_train_,
        "kernel": repr(model.kernel_),
        "candidates": model.regressor_.candidates_.to_dict("records"),
        "scores": curve_score_rows(model),
    }

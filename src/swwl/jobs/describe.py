"""What ``swwl info`` says of a mesh, a table, a data folder or a model."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.cli.console import Output, number
from swwl.cli.show import model_facts, show_model
from swwl.errors import InputError
from swwl.jobs.table import CACHE_FOLDER, mesh_columns, read_table, summary
from swwl.mesh import Mesh
from swwl.mesh.io import read
from swwl.models.modelfile import load_model

_TABLES = (".csv", ".parquet", ".pq")


def describe(out: Output, file: Path) -> None:
    """Find out what a file is, and describe it."""
    if file.is_dir():
        about_folder(out, file)
    elif file.suffix.lower() in _TABLES:
        about_table(out, file)
    elif file.suffix == ".swwl" or _is_model(file):
        about_model(out, file)
    else:
        about_mesh(out, file)


def _is_model(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "manifest.json" in archive.namelist()


def about_mesh(out: Output, path: Path) -> None:
    """Print nodes, cells, extent and fields of a mesh."""
    content = read(path)
    mesh, graph = (content, content.graph()) if isinstance(content, Mesh) else (None, content)
    facts: dict[str, Any] = {
        "kind": "graph" if mesh is None else "mesh",
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "least": graph.features.min(axis=0),
        "largest": graph.features.max(axis=0),
        "isolated_nodes": graph.n_nodes - len(np.unique(graph.edges)),
    }
    out.say(f"{path}: {facts['kind']} of {graph.n_nodes} nodes and {graph.n_edges} edges")
    if mesh is not None:
        cells = {kind: len(block) for kind, block in mesh.cells.items()}
        facts |= {"cells": cells, "node_fields": {}}
        out.say("cells     " + ", ".join(f"{count} {kind}" for kind, count in cells.items()))
        for name, values in mesh.fields.items():
            size = "" if np.ndim(values) == 1 else f"{np.shape(values)[1]} components, "
            finite = np.asarray(values, dtype=float)
            facts["node_fields"][name] = summary(finite)
            out.say(f"field     {name}: {size}{number(finite.min())} to {number(finite.max())}")
    names = "xyz" if mesh is not None and graph.n_features <= 3 else None
    for k, (low, high) in enumerate(zip(facts["least"], facts["largest"], strict=True)):
        out.say(f"{names[k] if names else f'feature {k}':<10}{number(low)} to {number(high)}")
    if facts["isolated_nodes"]:
        out.say(f"{facts['isolated_nodes']} nodes belong to no cell")
    out.result(facts)


def about_table(out: Output, path: Path) -> None:
    """Print what the columns of a table hold."""
    frame = read_table(path)
    columns = [_about_column(frame[name], path, name in mesh_columns(frame)) for name in frame.columns]
    out.say(f"{path}: table of {len(frame)} rows and {frame.shape[1]} columns")
    out.table(
        "",
        ["column", "holds", "least", "median", "largest", "missing"],
        [
            [c["name"], c["holds"], *(c.get(key) for key in ("least", "median", "largest")), c["missing"] or ""]
            for c in columns
        ],
    )
    out.result({"kind": "table", "rows": len(frame), "columns": columns})


def _about_column(values: pd.Series, path: Path, is_mesh: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": str(values.name), "missing": int(values.isna().sum())}
    if pd.api.types.is_numeric_dtype(values):
        known = values.dropna().to_numpy(dtype=float)
        return facts | {"holds": "numbers"} | (summary(known) if known.size else {})
    if is_mesh:
        there = sum((path.parent / str(value)).is_file() for value in values.dropna())
        gone = len(values) - there
        return facts | {"holds": f"{there} meshes" + (f", {gone} not there" if gone else ""), "meshes": there}
    counts = values.value_counts()
    if len(counts) > 4:
        return facts | {"holds": f"{len(counts)} texts", "texts": len(counts)}
    return facts | {"holds": ", ".join(f"{count} {name}" for name, count in counts.items()), "counts": counts.to_dict()}


def about_folder(out: Output, folder: Path) -> None:
    """Print what made a data folder and what its table holds."""
    table = folder / "table.csv"
    if not table.exists():
        unfinished = folder / "unfinished.jsonl"
        if unfinished.exists():
            raise InputError(f"{folder}: its data set is unfinished; the same swwl make command goes on with it.")
        raise InputError(f"{folder}: holds no table.csv, so it is no data folder.")
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        out.say(f"{folder}: {about['n_samples']} simulations of {about['generator']}, seed {about['seed']}")
        out.say(f"model     {about['model']}")
        out.say(f"meshes    about {about['nodes']} nodes" + (", random topology" if about["random_topology"] else ""))
        out.say(f"inputs    mesh, {', '.join(about['scalars'])}")
        out.say(f"targets   {', '.join(about['targets'])}")
    except (OSError, ValueError, KeyError, TypeError):
        pass  # a folder of the user's own
    kept = sum(file.stat().st_size for file in (folder / CACHE_FOLDER).glob("*/*.npz"))
    if kept:
        out.say(f"cache     {kept / 1e6:.1f} MB of embeddings in {folder / CACHE_FOLDER}, which may be deleted")
    about_table(out, table)


def about_model(out: Output, path: Path) -> None:
    """Print what a model predicts from what, and how well."""
    model = load_model(path)
    facts = model_facts(model)
    data = model.metadata_
    out.say(f"{path}: model of {', '.join(model.target_names_)}, fitted to {facts['training_rows']} rows")
    if data.get("table"):
        out.say(f"table     {data['table']} ({data['split']})")
    out.say(f"inputs    {', '.join(facts['inputs'])}: columns that a table for swwl predict must have")
    out.say(f"kernel    {facts['kernel']}")
    show_model(out, model)
    out.result({"kind": "model"} | facts | {"table": data.get("table")})

"""One self-contained HTML page about a fitted model: no network, no scripts, pictures inside.

``page.py`` and ``sections.py`` gather what there is to say of a model of numbers, ``fields.py`` of one of whole
fields, ``series.py`` of fields over time, ``curves.py`` of curves; the words stand in ``templates/``, and ``page.py``
fills them in.
"""

from __future__ import annotations

import os
from pathlib import Path

from swwl.fields.estimator import FieldRegressor
from swwl.fields.transient import TransientRegressor
from swwl.regression.curves.estimator import CurveRegressor
from swwl.regression.estimator import RobustGPRegressor
from swwl.report.curves import curve_sections
from swwl.report.fields import field_sections, gather_fields
from swwl.report.page import gather, render
from swwl.report.sections import sections
from swwl.report.series import series_sections
from swwl.storage.atomic import atomic_write

__all__ = ["make_report", "write_report"]


def make_report(
    model: RobustGPRegressor | FieldRegressor | CurveRegressor | TransientRegressor,
    model_path: str | os.PathLike[str] | None = None,
) -> str:
    """Return the page as text.

    Parameters
    ----------
    model : RobustGPRegressor, FieldRegressor, CurveRegressor or TransientRegressor
        Fitted. What ``swwl fit`` puts into ``metadata_`` (the table, mesh names, held-out predictions) is told where it
        is there.
    model_path : str or path, optional
        Where the model is saved: for the commands on the page, and to find the table, whose path is relative to it.
    """
    path = None if model_path is None else Path(model_path)
    names = model.field_names_ if model.predicts == "series" else model.target_names_
    title = f"Surrogate of {', '.join(names)}"
    if model.predicts == "series":
        return render("series", title, **series_sections(model, path))
    if model.predicts == "curves":
        return render("curves", title, **curve_sections(model, path))
    if model.predicts == "fields":
        return render("fields", title, **field_sections(gather_fields(model, path)))
    return render("numbers", title, **sections(gather(model, path)))


def write_report(
    path: str | os.PathLike[str],
    model: RobustGPRegressor | FieldRegressor | CurveRegressor | TransientRegressor,
    model_path: str | os.PathLike[str] | None = None,
) -> None:
    """Write the page to a file, under a temporary name until it is complete."""
    text = make_report(model, model_path)
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))

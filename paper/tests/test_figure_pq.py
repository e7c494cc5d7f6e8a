"""Errors over projections and quantiles at a tiny size."""

import numpy as np
import pandas as pd
import pytest

from swwl import Graph, SWWLEmbedding
from swwl_paper import figure_pq, reproduce
from swwl_paper.meshsets import SetSize
from swwl_paper.rows import RowFile


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(
        figure_pq.SIZES, "small", figure_pq.GridPlan(SetSize(8, 4, 210, 205), {"SWWL": 2, "principal": 1})
    )
    monkeypatch.setattr(figure_pq, "PROJECTIONS", (2, 5))
    monkeypatch.setattr(figure_pq, "QUANTILES", (10, 20))


@pytest.mark.parametrize("fewer", [1, 3, 7])
def test_first_projections_are_those_of_a_smaller_embedding(fewer):
    rng = np.random.default_rng(0)
    graphs = [Graph(rng.normal(size=(30, 2)), [(i, i + 1) for i in range(29)]) for _ in range(4)]
    wide = SWWLEmbedding(n_projections=7, n_quantiles=11, random_state=5).fit_transform(graphs)
    narrow = SWWLEmbedding(n_projections=fewer, n_quantiles=11, random_state=5).fit_transform(graphs)
    np.testing.assert_allclose(figure_pq.first_projections(wide, 7, fewer), narrow, atol=1e-6)


def test_rows_table_figure_and_going_on(tmp_path, monkeypatch):
    add = RowFile.add

    def cut_off(rows, *new):
        if len(rows.frame()) == 5:
            raise KeyboardInterrupt
        add(rows, *new)

    monkeypatch.setattr(RowFile, "add", cut_off)
    with pytest.raises(KeyboardInterrupt):
        reproduce("figure-pq", folder=tmp_path / "parts", n_jobs=1)
    monkeypatch.setattr(RowFile, "add", add)
    for name in ("parts", "whole"):
        reproduce("figure-pq", folder=tmp_path / name, n_jobs=1)
    parts, whole = (pd.read_csv(tmp_path / name / "figure-pq.csv") for name in ("parts", "whole"))
    pd.testing.assert_frame_equal(parts.drop(columns="seconds"), whole.drop(columns="seconds"))
    assert len(whole) == 2 * 2 * 3
    text = (tmp_path / "whole" / "figure-pq.md").read_text(encoding="utf-8")
    assert "| P | Q = 10 | Q = 20 |" in text and "From P = " in text
    assert (tmp_path / "whole" / "figure-pq.png").stat().st_size > 10_000


def test_from_where_on_little_is_gained():
    errors = pd.Series([0.3, 0.2, 0.25, 0.201, 0.2], index=[2, 5, 10, 20, 50])
    assert figure_pq.enough(errors) == 20
    assert figure_pq.enough(errors.iloc[3:]) == 20

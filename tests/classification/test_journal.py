"""Finished rows and matrices of a long comparison, kept from one run to the next."""

import math

import numpy as np
import pytest

from swwl.classification.nested_cv import Journal, MatrixCache
from swwl.errors import InputError


def test_rows_come_back_with_what_json_lacks(tmp_path):
    journal = Journal(tmp_path / "j.json")
    journal.claim("SWWL", "key")
    journal.add("SWWL", {"seed": 0, "fold": 3, "accuracy": math.nan, "C": 10.0})
    again = Journal(tmp_path / "j.json")
    again.claim("SWWL", "key")
    row = again.rows("SWWL")[0, 3]
    assert math.isnan(row["accuracy"]) and row["C"] == 10
    with pytest.raises(InputError, match="other graphs, folds, grids or settings"):
        again.claim("SWWL", "another key")


@pytest.mark.parametrize("content", ["{", "[]", '{"format": "another"}'])
def test_other_files_are_not_journals(content, tmp_path):
    (tmp_path / "j.json").write_text(content)
    with pytest.raises(InputError, match="not a journal of nested_cv"):
        Journal(tmp_path / "j.json")


def test_matrices_are_kept_by_their_key(tmp_path):
    matrix = np.random.default_rng(0).normal(size=(4, 4))
    cache = MatrixCache(tmp_path / "matrices")
    assert cache.get("a") is None
    cache.put("a", matrix)
    np.testing.assert_array_equal(MatrixCache(tmp_path / "matrices").get("a"), matrix)
    nowhere = MatrixCache(None)
    nowhere.put("a", matrix)
    assert nowhere.get("a") is None

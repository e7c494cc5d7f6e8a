"""Fixtures that all tests share; functions stand in helpers.py."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def swwl_data():
    """The folder of real data sets, or skip."""
    folder = os.environ.get("SWWL_DATA")
    if not folder:
        pytest.skip("SWWL_DATA names no folder of real data sets")
    return Path(folder)

"""Fixtures that all tests share; functions stand in helpers.py."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# As many cases as usual where all tests run, fewer where they are to be quick.
settings.register_profile("quick", max_examples=30)


def pytest_configure(config):
    if config.option.markexpr == "not slow":
        settings.load_profile("quick")


@pytest.fixture(scope="session")
def swwl_data():
    """The folder of real data sets, or skip."""
    folder = os.environ.get("SWWL_DATA")
    if not folder:
        pytest.skip("SWWL_DATA names no folder of real data sets")
    return Path(folder)

"""Fixtures that all tests share; functions stand in helpers.py."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# As many cases as usual where all tests run, fewer where they are to be quick; never a limit in time.
settings.register_profile("all", deadline=None)
settings.register_profile("quick", max_examples=30, deadline=None)


def pytest_configure(config):
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "all")


@pytest.fixture(scope="session")
def swwl_data():
    """The folder of real data sets, or skip."""
    folder = os.environ.get("SWWL_DATA")
    if not folder:
        pytest.skip("SWWL_DATA names no folder of real data sets")
    return Path(folder)

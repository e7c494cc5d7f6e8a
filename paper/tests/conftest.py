"""What the tests of several experiments need."""

from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / "tests" / "gp" / "data" / "rgasp_reference.json"


@pytest.fixture(scope="session")
def rgasp_reference():
    """R's answers, which the library's own tests keep, or skip."""
    if not REFERENCE.is_file():
        pytest.skip(f"{REFERENCE.name} stands in a clone of swwl alone")
    return REFERENCE

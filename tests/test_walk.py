"""The page about the way from a mesh to an interval is that of a real prediction."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import swwl
from swwl import SWWL, Mesh, RobustGPRegressor
from tests.helpers import plate

PAGE = Path(__file__).parents[1] / "docs" / "walk.md"


def stations():
    """Return (file, function) of every station, in the order of the page."""
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this installation")
    rows = re.findall(r"^\| \d+ \| `([\w.]+)` \| `([\w/]+\.py)` \|", PAGE.read_text(encoding="utf-8"), flags=re.M)
    return [(file, name) for name, file in rows]


@pytest.fixture
def model_and_table(tmp_path):
    points, cells = plate(50)
    rng = np.random.default_rng(0)
    widths = rng.uniform(1, 2, 12)
    paths = []
    for number, width in enumerate(widths):
        paths.append(tmp_path / f"{number}.vtu")
        Mesh(points * [width, 1], {"triangle": cells}).write(paths[-1])
    table = pd.DataFrame({"mesh": paths, "area": widths})
    model = RobustGPRegressor(SWWL("mesh", n_projections=5, n_quantiles=8, n_jobs=1))
    return model.fit(table, "area"), table[["mesh"]]


def test_a_prediction_passes_the_stations_in_their_order(model_and_table):
    model, table = model_and_table
    source = Path(swwl.__file__).parent
    passed = []

    def follow(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(source)):
            file = Path(frame.f_code.co_filename).relative_to(source).as_posix()
            name = frame.f_code.co_qualname.removesuffix(".__init__")
            if (file, name) not in passed:
                passed.append((file, name))

    sys.setprofile(follow)
    try:
        model.predict_interval(table)
    finally:
        sys.setprofile(None)
    page = stations()
    assert len(page) <= 12 and len(set(page)) == len(page)
    missing = [station for station in page if station not in passed]
    assert not missing
    assert [station for station in passed if station in page] == page

"""Every example runs, and gives the numbers that it speaks of."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_distances(capsys):
    distances = runpy.run_path(str(EXAMPLES / "distances.py"))["main"]()
    same_plate = [distances[0, 1], distances[2, 3], distances[4, 5]]
    assert max(same_plate) < 0.1 * distances[0, 2]
    assert "6 meshes" in capsys.readouterr().out

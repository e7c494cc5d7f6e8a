"""Every example runs, and gives the numbers that it speaks of."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_distances(capsys):
    distances = runpy.run_path(str(EXAMPLES / "distances.py"))["main"]()
    same_plate = [distances[0, 1], distances[2, 3], distances[4, 5]]
    assert max(same_plate) < 0.1 * distances[0, 2]
    assert "6 meshes" in capsys.readouterr().out


def test_design_loop(capsys):
    main = runpy.run_path(str(EXAMPLES / "design_loop.py"))["main"]
    main.__globals__.update(N_POOL=100, N_TEST=40, FIRST=30, NEXT=12)  # it is as good with more, and takes longer
    errors = main()
    assert errors["chosen"][1] < errors["chosen"][0] and errors["chosen"][1] < 0.9 * errors["at random"][1]
    assert "to simulate next" in capsys.readouterr().out

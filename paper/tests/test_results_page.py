"""The page of results holds what the experiments wrote, and says so when it does not."""

import importlib.util
import re
from pathlib import Path

import pytest

from swwl_paper import EXPERIMENTS

PAPER = Path(__file__).parent.parent
PAGE = """# Results

Words.

<!-- table4 -->
<!-- end -->

![Errors](results/table4.png)

<!-- rgasp -->
old
<!-- end -->
"""


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("results_page", PAPER / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def page(tmp_path):
    (tmp_path / "results").mkdir()
    path = tmp_path / "results.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_blocks_are_filled_and_words_kept(script, page, capsys):
    (page.parent / "results" / "table4.md").write_text("**Errors é**\n\n| a |\n|---|\n| \\1 |\n\n_swwl_\n", "utf-8")
    assert script.main(["--check"], page) == 1
    assert "run python paper/results.py" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == PAGE
    assert script.main([], page) == 0
    text = page.read_text(encoding="utf-8")
    assert "<!-- table4 -->\n\n**Errors é**\n\n| a |\n|---|\n| \\1 |\n\n_swwl_\n\n<!-- end -->" in text
    assert "<!-- rgasp -->\n\n_not run yet_\n\n<!-- end -->" in text and "old" not in text
    assert text.startswith("# Results\n\nWords.\n\n") and "![Errors](results/table4.png)" in text
    out = capsys.readouterr().out
    assert out == "results.md: 1 of 2 blocks filled\nnot there: rgasp.md\nnot there: results/table4.png\n"
    assert script.main(["--check"], page) == 0
    assert script.main([], page) == 0
    assert page.read_text(encoding="utf-8") == text


def test_an_experiment_run_again_makes_the_page_out_of_date(script, page):
    (page.parent / "results" / "rgasp.md").write_text("first", encoding="utf-8")
    script.main([], page)
    (page.parent / "results" / "rgasp.md").write_text("second", encoding="utf-8")
    assert script.main(["--check"], page) == 1
    script.main([], page)
    assert "second" in page.read_text(encoding="utf-8") and script.main(["--check"], page) == 0


def test_what_would_break_the_page_is_refused(script, page, capsys):
    with pytest.raises(ValueError, match="begins 1 blocks, but ends 0"):
        script.fill("<!-- table4 -->\n", page.parent)
    (page.parent / "results" / "rgasp.md").write_text("<!-- end -->", encoding="utf-8")
    with pytest.raises(ValueError, match=r"rgasp\.md: holds a comment"):
        script.main([], page)
    assert page.read_text(encoding="utf-8") == PAGE
    assert script.main(["--chekc"], page) == 2
    assert "not --chekc" in capsys.readouterr().err


def test_the_page_is_up_to_date_and_has_all_experiments(script):
    assert script.main(["--check"]) == 0
    text = (PAPER / "results.md").read_text(encoding="utf-8")
    bodies = {match["name"]: match["body"].strip() for match in script.BLOCK.finditer(text)}
    assert sorted(bodies) == sorted(EXPERIMENTS)
    images = re.findall(r"\(results/([a-z0-9-]+)\.png\)", text)
    assert sorted(images) == sorted(EXPERIMENTS)
    missing = script.missing_images(text, PAPER)
    run = [name for name, body in bodies.items() if body != script.MISSING]
    assert not {f"results/{name}.png" for name in run} & set(missing)

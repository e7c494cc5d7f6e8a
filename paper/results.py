"""Fill the marked blocks of ``results.md`` from the files in ``results/``.

Run ``python paper/results.py`` to rewrite the page in place, ``python paper/results.py --check`` to find out whether it
is up to date: exit code 1 says that it is not. A block begins with ``<!-- table4 -->`` and ends with ``<!-- end -->``;
what stands between them is replaced by what ``swwl reproduce table4`` wrote to ``table4.md``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
BLOCK = re.compile(r"<!-- (?P<name>[a-z0-9-]+) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)
MISSING = "_not run yet_"


def fill(page: str, folder: Path) -> str:
    """Return the page with the content of all blocks replaced.

    Parameters
    ----------
    page : str
        Text of the page.
    folder : Path
        Holds ``NAME.md`` for a block NAME, or does not yet.
    """
    if (begun := len(re.findall(r"<!-- (?!end)[a-z0-9-]+ -->", page))) != (ended := page.count("<!-- end -->")):
        raise ValueError(f"The page begins {begun} blocks, but ends {ended}.")

    def block(match: re.Match[str]) -> str:
        source = folder / f"{match['name']}.md"
        content = source.read_text(encoding="utf-8").strip() if source.exists() else MISSING
        if "<!--" in content:
            raise ValueError(f"{source}: holds a comment, which would end the block that it is put into.")
        return f"<!-- {match['name']} -->\n\n{content}\n\n<!-- end -->"

    return BLOCK.sub(block, page)


def missing_images(page: str, root: Path) -> list[str]:
    """Return the paths of images that the page shows but that are not there, relative to its folder."""
    return [path for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page) if not (root / path).exists()]


def main(arguments: Sequence[str], page: Path = HERE / "results.md") -> int:
    """Rewrite the page, or check it; return the exit code."""
    unknown = [argument for argument in arguments if argument != "--check"]
    if unknown:
        print(f"usage: python paper/results.py [--check], not {unknown[0]}", file=sys.stderr)
        return 2
    before = page.read_text(encoding="utf-8")
    after = fill(before, page.with_suffix(""))
    if "--check" in arguments:
        if after != before:
            print(f"{page.name} is out of date: run python paper/results.py", file=sys.stderr)
        return int(after != before)
    if after != before:
        page.write_text(after, encoding="utf-8")
    bodies = {match["name"]: match["body"].strip() for match in BLOCK.finditer(after)}
    unfilled = [name for name, body in bodies.items() if body == MISSING]
    print(f"{page.name}: {len(bodies) - len(unfilled)} of {len(bodies)} blocks filled")
    for path in [f"{name}.md" for name in unfilled] + missing_images(after, page.parent):
        print(f"not there: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Check a built site without a network: ``python docs/check_links.py docs/_build/html``.

Every link to another page or to a place on one exists, and no page loads anything from another host.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}


class Page(HTMLParser):
    """What a page links to, loads and can be linked to."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what a tag refers to."""
        given = dict(attrs)
        self.places.update(value for name in ("id", "name") if (value := given.get(name)))
        for name, value in attrs:
            if value and (tag, name) in LOADS and "canonical" not in (given.get("rel") or ""):
                self.loads.append(value)
            elif value and (tag, name) == ("a", "href"):
                self.links.append(value)


def problems(site: Path) -> list[str]:
    """Return one line for every broken link and everything that is loaded from elsewhere."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))
             if "_static" not in path.parts}  # fmt: skip
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for target in page.loads + page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    found.append(f"{name} loads {target}")
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.exists():
                found.append(f"{name} links to {target}, which does not exist")
            elif parts.fragment and file in pages and target in page.links:
                if unquote(parts.fragment) not in pages[file].places:
                    found.append(f"{name} links to {target}, where there is no such place")
    for path in [*site.rglob("*.css"), *site.rglob("*.js")]:
        text = path.read_text(encoding="utf-8", errors="replace")
        for start in ("url(http", "url('http", 'url("http', "@import 'http", '@import "http', "@import url(http"):
            if start in text:
                found.append(f"{path.relative_to(site)} loads from elsewhere ({start})")
    return found


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) if found else "all links resolve, and nothing is loaded from elsewhere")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

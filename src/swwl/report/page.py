"""HTML by hand: a page, tables, figures; everything is escaped and nothing is fetched."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import swwl

# By which a page of ours is known again.
GENERATOR = '<meta name="generator" content="swwl '

_STYLE = """
:root { color-scheme: light; --ink: #1d2733; --soft: #5b6673; --line: #dde3ea; --accent: #0072b2; --wash: #f4f7fa; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1.1rem 4rem; color: var(--ink); background: #fff;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0.5rem 0 0.3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 0.6rem; padding-top: 0.9rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 1.5rem 0 0.4rem; overflow-wrap: anywhere; }
p, ul { margin: 0.5rem 0; max-width: 46rem; overflow-wrap: anywhere; }
.lead { color: var(--soft); }
.cards { display: grid; gap: 0.8rem; margin: 0.8rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); }
.card { background: var(--wash); border-radius: 0.6rem; padding: 0.8rem 1rem; }
.card b { display: block; font-size: 1.55rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.card span { overflow-wrap: anywhere; color: var(--soft); font-size: 0.88rem; }
.scroll { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: 0.88rem; padding-bottom: 0.3rem; }
th, td { padding: 0.28rem 0.9rem 0.28rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 600; color: var(--soft); white-space: normal; vertical-align: bottom; }
.figures { display: grid; gap: 1.1rem; margin: 1rem 0; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); }
.meshes { grid-template-columns: repeat(auto-fit, minmax(min(9.5rem, 45%), 1fr)); }
.wide { grid-template-columns: 1fr; }
figure { margin: 0; }
figure img { width: 100%; height: auto; display: block; }
figcaption { overflow-wrap: anywhere; color: var(--soft); font-size: 0.88rem; margin-top: 0.25rem; }
pre { background: var(--wash); border-radius: 0.5rem; padding: 0.8rem 1rem;
  white-space: pre-wrap; overflow-wrap: anywhere;
  font: 0.88rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { font: 0.9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; font-size: 0.92rem; }
a { color: var(--accent); }
footer { margin-top: 3rem; color: var(--soft); font-size: 0.85rem; }
@media (max-width: 34rem) {
  table { font-size: 0.82rem; }
  th, td { padding-right: 0.5rem; }
  td { white-space: normal; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  .scroll { overflow: visible; } table { font-size: 8.5pt; } td { white-space: normal; }
  .cards { grid-template-columns: repeat(3, 1fr); }
  nav { display: none; }
  h2 { break-after: avoid; } h3 { break-after: avoid; }
  figure, table, .card, pre { break-inside: avoid; }
  .figures { grid-template-columns: 1fr 1fr; } .meshes { grid-template-columns: repeat(4, 1fr); }
}
"""


def page(title: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """Return a whole page; sections are (anchor, heading, HTML), the first without a heading."""
    links = "".join(f'<li><a href="#{anchor}">{escape(text)}</a></li>' for anchor, text, _ in sections if text)
    first, *others = sections
    body = "\n".join(
        f'<section id="{anchor}">\n<h2>{escape(text)}</h2>\n{content}\n</section>' for anchor, text, content in others
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
{GENERATOR}{escape(swwl.__version__)}">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{first[2]}
<nav aria-label="Contents"><ul>{links}</ul></nav>
</header>
<main>
{body}
</main>
<footer>Made by swwl {escape(swwl.__version__)}. This page is one file and loads nothing.</footer>
</body>
</html>
"""


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of text that is escaped already where it must be."""
    return f'<p class="{kind}">{text}</p>' if kind else f"<p>{text}</p>"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return a table that scrolls sideways where the screen is narrow; cells are escaped."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>\n" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def cards(pairs: Iterable[tuple[str, str]]) -> str:
    """Return large numbers with what they are."""
    inner = "".join(
        f'<div class="card"><b>{escape(value)}</b><span>{escape(text)}</span></div>' for value, text in pairs
    )
    return f'<div class="cards">{inner}</div>'


def figure(drawing: Any, alternative: str, caption: str = "", kind: str = "svg") -> str:
    """Return a matplotlib figure as a picture inside the page: "svg" for plots, "png" for meshes."""
    buffer = io.BytesIO()
    if kind == "svg":
        drawing.savefig(buffer, format="svg", metadata={"Date": None})
    else:
        drawing.savefig(buffer, format="png", dpi=150)
    mime = "image/svg+xml" if kind == "svg" else "image/png"
    source = f"data:{mime};base64,{base64.b64encode(buffer.getvalue()).decode()}"
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure><img src="{source}" alt="{escape(alternative, quote=True)}">{below}</figure>'


def figures(items: Iterable[str], kind: str = "") -> str:
    """Return figures side by side, one below the other on a phone."""
    return f'<div class="figures {kind}">' + "\n".join(items) + "</div>"


def commands(text: str) -> str:
    """Return commands to copy."""
    return f"<pre><code>{escape(text)}</code></pre>"

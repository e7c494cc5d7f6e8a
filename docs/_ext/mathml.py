"""Formulas as MathML, by the converter of docutils: browsers draw them without scripts, fonts or a network."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# Commands that the converter does not know, in those that it does.
KNOWN = {"dots": r"\ldots", "operatorname": r"\mathrm"}


def _mathml(self: Any, node: nodes.Element, display: bool) -> str:
    text = node.astext().strip()
    if display and ("\\\\" in text or "&" in text) and "\\begin" not in text:
        text = "\\begin{aligned}" + text + "\\end{aligned}"
    for name, known in KNOWN.items():
        text = re.sub(rf"\\{name}(?![a-zA-Z])", lambda _, known=known: known, text)
    try:
        drawn = latex2mathml.tex2mathml(text, as_block=display)
    except MathError as error:
        logger.warning("%s in %r", error, text, location=node)
        return f"<code>{html.escape(text)}</code>"
    # Browsers take bars for operators that stretch and stand apart, and a logarithm for a name that does not.
    bar = r'<mo stretchy="false" form="prefix" lspace="0" rspace="0">\1</mo>'
    drawn = re.sub(r"<mo[^>]*>([|‖∥∣])</mo>", bar, drawn)
    return drawn.replace("<mi>log</mi>", '<mspace width="0.17em"/><mi>log</mi><mspace width="0.17em"/>')


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula inside a line."""
    self.body.append(f'<span class="math">{_mathml(self, node, False)}</span>')
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    number = ""
    if node.get("number"):
        number = f'<span class="eqno">({node["number"]})</span>'
    identity = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    self.body.append(f'<div class="math"{identity}>')
    self.body.append(f"{_mathml(self, node, True)}{number}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; conf.py selects it by ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

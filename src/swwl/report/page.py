"""From what there is to say to HTML: templates of jinja2 that escape everything, pictures inside the page."""

from __future__ import annotations

import base64
import io
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

import swwl
from swwl.formatting import number, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By which a page of ours is known again.
GENERATOR = '<meta name="generator" content="swwl '


class Picture(NamedTuple):
    """A picture as a page holds it: a data URL, words for those who cannot see it, and what stands below it."""

    source: str
    alternative: str
    caption: str = ""


def render(template: str, title: str, **values: object) -> str:
    """Return a page made of a template of the folder ``templates``."""
    page = _environment().get_template(f"{template}.html.j2")
    return page.render(title=title, version=swwl.__version__, **values)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("swwl.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters |= {"number": number, "percent": percent}
    return found


def picture(drawing: Figure, alternative: str, caption: str = "", kind: str = "svg") -> Picture:
    """Return a matplotlib figure as a picture: "svg" for plots, "png" for meshes."""
    buffer = io.BytesIO()
    if kind == "svg":
        drawing.savefig(buffer, format="svg", metadata={"Date": None})
    else:
        drawing.savefig(buffer, format="png", dpi=150)
    mime = "image/svg+xml" if kind == "svg" else "image/png"
    return Picture(f"data:{mime};base64,{base64.b64encode(buffer.getvalue()).decode()}", alternative, caption)

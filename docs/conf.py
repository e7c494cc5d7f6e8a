"""The site: ``make docs`` builds it into docs/_build/html."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "agg")

import swwl  # noqa: E402

project = "swwl"
author = "The swwl developers"
release = version = swwl.__version__
copyright = f"The swwl developers, version {release}"  # noqa: A001

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "figures", "gallery/**.ipynb", "gallery/**.md5", "gallery/**.zip", "gallery/**.py"]
suppress_warnings = ["config.cache"]
nitpicky = False

# Pages in Markdown; formulas between dollars, as in LaTeX.
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 3

# Docstrings are numpydoc's; every public name has a page of its own.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "order.GalleryOrder",
    "doc_module": ("swwl",),
    "backreferences_dir": "reference/generated/backreferences",
    "inspect_global_variables": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "plot_gallery": os.environ.get("SWWL_GALLERY", "1") == "1",
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "nested_sections": False,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

toc_object_entries_show_parents = "hide"
html_theme = "pydata_sphinx_theme"
html_title = "swwl"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_logo = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "swwl"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "gallery/index": [], "method/index": []}


# Pages that stand elsewhere in the repository are pages of the site too; links between files become links of the site.
ROOT = HERE.parent
BORROWED = {
    "results/paper": "paper/results.md",
    "results/experiments": "paper/README.md",
    "develop/contributing": "CONTRIBUTING.md",
    "develop/changes": "CHANGELOG.md",
    "develop/fragments": "changes/README.md",
    "develop/security": "SECURITY.md",
    "develop/conduct": "CODE_OF_CONDUCT.md",
}
SOURCE = "https://github.com/swwl-developers/swwl/blob/main"


def _relink(docname: str, home: Path, text: str) -> str:
    """Turn links relative to a file of the repository into links relative to a page of the site."""
    pages = {ROOT / path: HERE / f"{page}.md" for page, path in BORROWED.items()}
    pages[ROOT / "README.md"] = HERE / "index.md"
    here = (HERE / docname).parent

    def changed(match: re.Match[str]) -> str:
        target, _, anchor = match[1].partition("#")
        if not target or "://" in target:
            return match[0]
        file = Path(os.path.normpath(home.parent / target))
        if file.is_relative_to(ROOT / "examples") and file.suffix == ".py":
            file = HERE / "gallery" / file.with_suffix(".rst").name
        page = pages.get(file, file)
        if not page.is_relative_to(HERE) and page.suffix != ".png":
            return f"]({SOURCE}/{file.relative_to(ROOT).as_posix()})"
        return f"]({Path(os.path.relpath(page, here)).as_posix()}{'#' + anchor if anchor else ''})"

    def present(match: re.Match[str]) -> str:
        return match[0] if (home.parent / match[1]).exists() else ""  # a picture of an experiment that was not run

    return re.sub(r"\]\(([^)\s]+)\)", changed, re.sub(r"!\[[^\]]*\]\((results/[^)\s]+)\)", present, text))


def _read(app: Any, docname: str, source: list[str]) -> None:
    if docname in BORROWED:
        home = ROOT / BORROWED[docname]
        source[0] = _relink(docname, home, home.read_text(encoding="utf-8"))
        app.env.note_dependency(str(home))
    elif (HERE / f"{docname}.md").exists():
        source[0] = _relink(docname, HERE / f"{docname}.md", source[0])


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out methods that scikit-learn adds to every estimator."""
    inherited = str(getattr(obj, "__module__", "")).startswith("sklearn")
    return True if inherited or name.endswith("_request") or name == "get_metadata_routing" else None


def setup(app: Any) -> None:
    """Connect what changes pages as they are read."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("source-read", _read)

"""How Sphinx makes the guide: `python -m tools.guide` has the sources, this has the settings."""

from __future__ import annotations

import runpy
from pathlib import Path

HERE = Path(__file__).parent
VERSION: str = runpy.run_path(str(HERE.parents[1] / "src/alama/__init__.py"))["__version__"]

project = "Alama"
release = version = VERSION
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["files"]

# Headings have the anchors that code hosts give them, and a link to none of them is an error.
myst_heading_anchors = 6
highlight_language = "none"
smartquotes = False

html_theme = "furo"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f4e8c",
        "color-brand-content": "#1f4e8c",
        "color-brand-visited": "#5b4a8c",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8fbdf2",
        "color-brand-content": "#8fbdf2",
        "color-brand-visited": "#b9a8e8",
    },
}
html_title = f"Alama {VERSION}"
html_favicon = str(HERE / "static" / "favicon.svg")
html_static_path = [str(HERE / "static")]
html_css_files = ["guide.css"]
html_search_scorer = str(HERE / "scorer.js")
templates_path = [str(HERE / "templates")]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "reference.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False

"""The site: Sphinx over the guides, the lessons, and reference pages that tools/build_site.py writes from the program itself."""

from __future__ import annotations

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.search.en import SearchEnglish

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import scanviz  # noqa: E402

project = "scanviz"
version = release = scanviz.__version__
copyright = "the developers of scanviz"  # the name that Sphinx reads
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_build", "_templates", "pictures/README.md"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = f"scanviz {version}"
html_copy_source = False
html_show_search_summary = False  # it is fetched, which pages that are opened as files may not do
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_static_path = ["_static"]
html_extra_path = ["_generated/site"]  # films and steppers: pages of their own
html_css_files = ["scanviz.css"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
# sections and parameters of docstrings are well formed, and there are docstrings: a warning, and so an error
numpydoc_validation_checks = {
    "GL01",
    "GL02",
    "GL06",
    "GL07",
    "GL10",
    "PR02",
    "PR03",
    "PR05",
    "PR09",
    "PR10",
    "RT03",
}
numpydoc_validation_exclude = {r"^scanviz\.testing\.random_loops$"}  # made by Hypothesis: it has no source
autodoc_typehints = "none"  # docstrings give types, shapes and units
autosummary_generate = False
suppress_warnings = ["myst.header"]  # a page of the command line begins below the top


def setup(app: object) -> None:
    """Tell Sphinx that what programs print is plain text, and that `until` is a word to search for."""
    SearchEnglish.stopwords = SearchEnglish.stopwords - {"until"}
    app.add_lexer("output", TextLexer)  # type: ignore[attr-defined]
    app.add_lexer("picture", TextLexer)  # type: ignore[attr-defined]

"""The font of scanviz's own PNGs: they look alike on every machine, even without installed fonts.

It is a part of DejaVu Sans Condensed, about as wide as :func:`scanviz.render.labels.text_width` takes text to be.
``tools/make_font.py`` cuts it; LICENSE beside it has its terms.
"""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

FAMILY = "scanviz Sans"
_FILES = ("scanviz-sans.ttf", "scanviz-sans-bold.ttf")


def files() -> tuple[Traversable, ...]:
    """Return the font's files: regular and bold."""
    return tuple(resources.files(__name__) / name for name in _FILES)

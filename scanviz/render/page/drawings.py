"""Pictures as parts of the page: read as XML, and written again with nothing in them but shapes and text.

Whatever drew a picture (Graphviz, or scanviz itself), and whatever names a script gave its variables, no script, link, style
sheet or foreign element can come into the page through it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import escape, quoteattr

_TAGS = """svg g path polygon polyline ellipse circle rect line text tspan title defs marker linearGradient stop"""
_ATTRIBUTES = """id class d points cx cy r rx ry x y x1 x2 y1 y2 dx dy width height viewBox transform fill fill-opacity stroke
    stroke-width stroke-dasharray stroke-opacity stroke-linejoin opacity text-anchor dominant-baseline font-family font-size
    font-weight font-style marker-end marker-start orient refX refY markerWidth markerHeight markerUnits offset stop-color
    role aria-label data-seen"""
TAGS = frozenset(_TAGS.split())
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
_OWN_LINKS = ("fill", "stroke", "marker-end", "marker-start")  # may be url(#id), of the picture itself


def inline_svg(markup: str, *, named: bool = True) -> str:
    """Return the ``<svg>`` element of a picture as it may stand in the page: its shapes keep their ids where they are ``named``.

    Names of the picture's own style classes are left out: its style sheet is not let in.

    Raises
    ------
    ValueError
        If it is no SVG picture.

    Examples
    --------
    >>> inline_svg('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script><a href="x"><text>h &lt; 3</text></a></svg>')
    '<svg><text>h &lt; 3</text></svg>'
    """
    try:
        root = ElementTree.fromstring(_without_declarations(markup))
    except ElementTree.ParseError as error:
        raise ValueError(f"the picture is no SVG: {error}") from None
    if _local(root.tag) != "svg":
        raise ValueError("the picture is no SVG")
    return "".join(_written(root, ATTRIBUTES if named else ATTRIBUTES - {"id"}))


def _without_declarations(markup: str) -> str:
    """Return the markup from its first element on: a document type could define entities."""
    start = markup.find("<svg")
    if start < 0 or "<!ENTITY" in markup:
        raise ValueError("the picture is no SVG")
    return markup[start:]


def _local(tag: object) -> str:
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _written(element: ElementTree.Element, kept: frozenset[str]) -> list[str]:
    tag = _local(element.tag)
    children = [text for child in element for text in [*_written(child, kept), escape(child.tail or "")]]
    if tag not in TAGS:
        # A link's shapes stay without the link; of what is no shape nothing does.
        return [part for part in children if part.strip()] if tag == "a" else []
    attributes = "".join(
        f" {name}={quoteattr(value)}"
        for name, value in map(_plain, element.attrib.items())
        if name in kept and value is not None and _harmless(name, value)
    )
    body = [escape(element.text or ""), *children]
    return [f"<{tag}{attributes}>", *body, f"</{tag}>"]


def _plain(attribute: tuple[str, str]) -> tuple[str, str | None]:
    """Return an attribute without what means nothing in the page; None for its value where nothing is left."""
    name, value = _local(attribute[0]), attribute[1]
    if name != "class":
        return name, value
    return name, " ".join(name for name in value.split() if not name.startswith("sv-")) or None


def _harmless(name: str, value: str) -> bool:
    """Return whether an attribute refers to nothing outside of the picture."""
    if "url(" not in value.lower():
        return True
    return name in _OWN_LINKS and value.startswith("url(#") and value.count("(") == 1

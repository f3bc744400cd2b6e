"""Colours and signs of a picture, in light and in dark.

Colour is never alone: kinds of loop variables are also written, kinds of nodes differ in shape, changes have a sign.  An SVG has
the light colours as attributes, which any reader and converter understands, and a style sheet that turns these dark where the
reader wants that.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Paint(NamedTuple):
    """Colours of something drawn.

    Attributes
    ----------
    fill, line : str
        Colours of the inside and the border, as ``#rrggbb``.
    """

    fill: str
    line: str


INK, DARK_INK = "#1f2328", "#e6edf3"
PAPER, DARK_PAPER = "#ffffff", "#0d1117"
FAINT, DARK_FAINT = "#57606a", "#9da7b3"

# Light fill and line, then the same in the dark.
_LOOP_KINDS = {
    "sequence": ("#dbeafe", "#1d4ed8", "#172554", "#93c5fd"),
    "sitsot": ("#dcfce7", "#15803d", "#052e16", "#86efac"),
    "mitsot": ("#ccfbf1", "#0f766e", "#042f2e", "#5eead4"),
    "mitmot": ("#f3e8ff", "#7e22ce", "#3b0764", "#d8b4fe"),
    "carry": ("#fef3c7", "#a16207", "#422006", "#fcd34d"),
    "nitsot": ("#fce7f3", "#be185d", "#500724", "#f9a8d4"),
    "non_sequence": ("#e5e7eb", "#4b5563", "#1f2937", "#cbd5e1"),
}
_NODE_KINDS = {
    "input": ("#ffffff", "#57606a", "#0d1117", "#9da7b3"),
    "shared": ("#fff7ed", "#9a3412", "#431407", "#fdba74"),
    "constant": ("#f6f8fa", "#8c959f", "#161b22", "#6e7681"),
    "operation": ("#ffffff", "#57606a", "#0d1117", "#9da7b3"),
    "output": ("#ffffff", "#1f2328", "#0d1117", "#e6edf3"),
    "loop": ("#f6f8fa", "#1f2328", "#161b22", "#e6edf3"),
    "port": ("#f6f8fa", "#57606a", "#161b22", "#9da7b3"),
    "inner_input": ("#f6f8fa", "#57606a", "#161b22", "#9da7b3"),
    "inner_output": ("#f6f8fa", "#57606a", "#161b22", "#9da7b3"),
    "until": ("#fee2e2", "#b91c1c", "#450a0a", "#fca5a5"),
    "cell": ("#f6f8fa", "#57606a", "#161b22", "#9da7b3"),
    "summary": ("#f6f8fa", "#57606a", "#161b22", "#9da7b3"),
}
_CLUSTER = ("#fbfcfd", "#8c959f", "#11161d", "#6e7681")
# Light and dark.
_EDGES = {
    "data": ("#57606a", "#9da7b3"),
    "enters": ("#57606a", "#9da7b3"),
    "leaves": ("#57606a", "#9da7b3"),
    "recurrence": ("#b45309", "#fbbf24"),
    "accumulates": ("#7e22ce", "#d8b4fe"),
    "connection": ("#1d4ed8", "#93c5fd"),
}
_CHANGES = {
    "added": ("#1a7f37", "#3fb950"),
    "removed": ("#cf222e", "#ff7b72"),
    "moved": ("#0969da", "#58a6ff"),
}
LOOP_KINDS = {kind: Paint(*row[:2]) for kind, row in _LOOP_KINDS.items()}
NODE_KINDS = {kind: Paint(*row[:2]) for kind, row in _NODE_KINDS.items()}
CLUSTER = Paint(*_CLUSTER[:2])
EDGES = {role: light for role, (light, _) in _EDGES.items()}
CHANGES = {change: light for change, (light, _) in _CHANGES.items()}
CHANGE_SIGNS = {"added": "+", "removed": "−", "moved": "~"}
# From cold to hot; the ink stays readable on each.
HEAT = ("#fff8f0", "#ffeeda", "#ffe2c0", "#ffd3a1", "#ffc282", "#ffae63", "#ff9a4a", "#fb8636")
_WARM = 3  # steps on it from which small text is as dark as large
_DARK_HEAT = ("#1f1710", "#2d1d10", "#3d2410", "#4e2b0f", "#60320d", "#73390b", "#874008", "#9a4705")

ROLE_TEXT = {
    "data": "value",
    "enters": "into the step",
    "leaves": "out of the step",
    "recurrence": "read again, steps later",
    "accumulates": "added to what is there",
    "connection": "reaches",
}
ROLE_SIGNS = {"recurrence": "- -", "accumulates": "+"}  # of roles that a legend explains
KIND_TEXT = {
    "input": "input",
    "shared": "shared variable",
    "constant": "constant",
    "operation": "operation",
    "output": "output",
    "loop": "loop, closed",
    "port": "loop variable",
    "inner_input": "the step reads",
    "inner_output": "the step gives",
    "until": "ends the loop",
    "cell": "row of a buffer",
    "summary": "several, not drawn",
}


def heat_level(share: float | None) -> int | None:
    """Return the heat level of a share of the time, or None if it is unknown.

    The scale is a square root: a tenth of the time is visibly warm.

    Examples
    --------
    >>> heat_level(None), heat_level(0.0), heat_level(0.1), heat_level(1.0)
    (None, 0, 2, 7)
    """
    if share is None:
        return None
    return min(len(HEAT) - 1, int(max(0.0, min(1.0, share)) ** 0.5 * len(HEAT)))


def small_ink(share: float | None) -> str:
    """Return the colour of small text on a node by its share of time: warm nodes need darker text.

    Examples
    --------
    >>> small_ink(0.01) == FAINT, small_ink(0.5) == INK
    (True, True)
    """
    return INK if (heat_level(share) or 0) >= _WARM else FAINT


def node_paint(kind: str, loop_kind: str, share: float | None, change: str) -> Paint:
    """Return the light colours of a node."""
    paint = LOOP_KINDS.get(loop_kind) or NODE_KINDS.get(kind, NODE_KINDS["operation"])
    level = heat_level(share)
    return Paint(paint.fill if level is None else HEAT[level], CHANGES.get(change, paint.line))


def edge_line(role: str, change: str, loop_kind: str = "") -> str:
    """Return the light colour of an edge: of its change, else of its state, else of its role."""
    paint = LOOP_KINDS.get(loop_kind)
    return CHANGES.get(change, paint.line if paint is not None else EDGES.get(role, EDGES["data"]))


def style_sheet() -> str:
    """Return the style sheet that turns a picture dark where its reader wants that."""
    return "@media (prefers-color-scheme:dark){" + "".join(dark_rules()) + "}"


def dark_rules(within: str = "") -> list[str]:
    """Return the rules that turn pictures dark by the colours that their shapes and texts have as attributes.

    Parameters
    ----------
    within : str
        Selector of the element around the pictures, with a space at its end.

    Examples
    --------
    >>> dark_rules(".dark ")[0]
    '.dark [fill="#ffffff"]{fill:#0d1117}'
    """
    return [
        f'{within}[{name}="{light}"]{{{name}:{dark}}}'
        for light, dark in dark_colours().items()
        for name in ("fill", "stroke")
    ]


def dark_colours() -> dict[str, str]:
    """Return the dark counterpart of every light colour.

    Examples
    --------
    >>> dark_colours()["#dcfce7"], dark_colours()["#15803d"]
    ('#052e16', '#86efac')
    """
    return dict(dark_pairs())


def dark_pairs() -> list[tuple[str, str]]:
    """Return every light colour of a picture with its dark counterpart."""
    paints = [*_NODE_KINDS.values(), *_LOOP_KINDS.values(), _CLUSTER]
    pairs = [pair for row in paints for pair in zip(row[:2], row[2:], strict=True)]
    pairs += [*_EDGES.values(), *_CHANGES.values(), *zip(HEAT, _DARK_HEAT, strict=True)]
    return [*pairs, (INK, DARK_INK), (PAPER, DARK_PAPER), (FAINT, DARK_FAINT)]


def darkened(markup: str) -> str:
    """Return a picture (SVG, or DOT text) in the colours of the dark, for slides and for formats without style sheets.

    Examples
    --------
    >>> darkened('<rect fill="#ffffff" stroke="#15803d"/>')
    '<rect fill="#0d1117" stroke="#86efac"/>'
    """
    dark = dark_colours()
    return re.sub("#[0-9a-f]{6}", lambda match: dark.get(match[0], match[0]), markup)

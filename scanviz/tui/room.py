"""What a terminal has room for: classes of the application, which its style sheet lays out by."""

from __future__ import annotations

from textual.dom import DOMNode
from textual.geometry import Size

ONE_LINE = 100  # columns below which the tree is one line above the tabs
TIGHT = 112  # columns below which the tabs stand closer
LOW = 30  # rows below which the first tab is packed closer
BESIDE = 180  # columns below which a list stands above what belongs to it, else beside it


def give_way(node: DOMNode, size: Size) -> None:
    """Mark what there is no room for; all at once, so that styles are applied once."""
    classes = {
        "one-line": size.width < ONE_LINE,
        "tight": size.width < TIGHT,
        "short": size.height < LOW,
        "stacked": size.width < BESIDE,
    }
    node.add_class(*(name for name, wanted in classes.items() if wanted))
    node.remove_class(*(name for name, wanted in classes.items() if not wanted))


__all__ = ["BESIDE", "LOW", "ONE_LINE", "TIGHT", "give_way"]

"""Giving the focus to a widget."""

from __future__ import annotations

from textual.widget import Widget


def focus_now(widget: Widget) -> None:
    """Give the focus to a widget at once, so that the next key is its own however soon it comes."""
    widget.screen.set_focus(widget)

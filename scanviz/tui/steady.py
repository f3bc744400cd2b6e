"""Containers that lay nothing out again when they have got their size.

Textual lays the whole screen out a second time, and draws it, when a container has another size than before, because its scroll
bars might need it.  What never scrolls needs no such thing: this took a third of the time of choosing a tab where the verdict
comes or goes.
"""

from __future__ import annotations

from textual.containers import Horizontal, Vertical
from textual.geometry import Size


class Steady:
    """What never scrolls: stands before a widget, and is none itself, or its style sheet would be taken for the widget's."""

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        updated: bool = super()._size_updated(size, virtual_size, container_size, layout=False)  # type: ignore[misc]  # the widget's
        return updated


class Beside(Steady, Horizontal):
    """What stands beside one another, and never scrolls."""


class Below(Steady, Vertical):
    """What stands below one another, and never scrolls."""


__all__ = ["Below", "Beside", "Steady"]

"""The screen of the tabs, below any that asks or helps."""

from __future__ import annotations

from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget


class MainScreen(Screen[None]):
    """A screen of which what gets or loses the focus is drawn, not everything as well."""

    ALLOW_IN_MAXIMIZED_VIEW = "#title, #pulse, Footer"
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)


__all__ = ["MainScreen"]

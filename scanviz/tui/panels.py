"""Panels: each can be put away and brought back on its own, and what keys go to can have the screen for itself.

What was chosen stays for the session, whatever tab is looked at; a key that goes to a panel brings it back.
"""

from __future__ import annotations

from textual.widget import Widget
from textual.widgets import Input

from scanviz.tui.left_panel import LeftPanel
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.verdict_bar import VerdictBar

AWAY, NO_FACTS = "away", "facts-away"


class Panels:
    """The panels of an application.

    Parameters
    ----------
    app : TabbedApp
        The application.
    """

    def __init__(self, app: TabbedApp) -> None:
        self._app = app

    @property
    def _left(self) -> LeftPanel:
        return self._app.main.query_one("#left", LeftPanel)

    @property
    def _verdict(self) -> VerdictBar:
        return self._app.main.query_one("#verdict", VerdictBar)

    def toggle(self, name: str) -> None:
        """Put a panel away, or bring it back: the verdict, the loops with their facts, or the facts alone."""
        widget, kind = {
            "verdict": (self._verdict, AWAY),
            "loops": (self._left, AWAY),
            "facts": (self._left, NO_FACTS),
        }[name]
        widget.toggle_class(kind)
        focused = self._app.focused
        if (
            kind == AWAY
            and widget.has_class(AWAY)
            and focused is not None
            and widget in focused.ancestors_with_self
        ):
            self._app.view.focus_inside()

    def bring_loops(self) -> None:
        """Show the loops, whatever hid them."""
        self.shrink()
        self._app.remove_class("wide")
        self._left.remove_class(AWAY)

    def bring_verdict(self) -> None:
        """Show the verdict, whatever hid it."""
        self.shrink()
        self._app.remove_class("wide")
        self._verdict.remove_class(AWAY)

    @property
    def enlarged(self) -> bool:
        """Whether something has the screen for itself."""
        return self._app.main.maximized is not None

    def enlarge(self) -> None:
        """Give the screen to what keys go to, or back to all."""
        main, focused = self._app.main, self._app.focused
        if self.enlarged:
            self.shrink()
        elif focused is not None and not isinstance(focused, Input):
            main.maximized = focused  # not maximize(), which passes over what holds others

    def shrink(self) -> None:
        """Show everything again."""
        if self.enlarged:
            self._app.main.minimize()

    def follow(self, focused: Widget) -> None:
        """Show everything again when keys go to what is not seen."""
        alone = self._app.main.maximized
        if alone is not None and alone not in focused.ancestors_with_self:
            self.shrink()


__all__ = ["Panels"]

"""Panels: each can be put away and brought back on its own, and what keys go to can have the screen for itself.

What was chosen stays for the session, whatever tab is looked at; a key that goes to a panel brings it back.
"""

from __future__ import annotations

from textual.dom import DOMNode
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Input

from scanviz.tui.left_panel import LeftPanel
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.verdict_bar import VerdictBar

# What a terminal has room for: classes of the application, which its style sheet lays out by.

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

"""Panels: each can be hidden, and the focused one can fill the screen.

The choice lasts for the session, in every tab; a key that focuses a panel shows it.
"""

from __future__ import annotations

from textual.dom import DOMNode
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Input

from scanviz.tui.tabbed_app import TabbedApp

# Sizes of the terminal at which the style sheet changes its layout, by classes of the application.

ONE_LINE = 100  # columns below which the tree is one line above the tabs
TIGHT = 112  # columns below which the tabs stand closer
LOW = 30  # rows below which the first tab is packed closer
BESIDE = 180  # columns below which a list stands above what belongs to it, else beside it


def give_way(node: DOMNode, size: Size) -> None:
    """Set the style classes for a terminal's size, in one update."""
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

    def toggle(self, name: str) -> None:
        """Hide or show the verdict, the loops with their facts, or the facts alone."""
        panel = self._app.verdict if name == "verdict" else self._app.left
        panel.toggle_class(NO_FACTS if name == "facts" else AWAY)
        focused = self._app.focused
        if panel.has_class(AWAY) and focused is not None and panel in focused.ancestors_with_self:
            self._app.view.focus_inside()

    def bring(self, panel: Widget) -> None:
        """Show a panel that may be hidden."""
        self.shrink()
        self._app.remove_class("wide")
        panel.remove_class(AWAY)

    @property
    def enlarged(self) -> bool:
        """True if one widget has the whole screen."""
        return self._app.main.maximized is not None

    def enlarge(self) -> None:
        """Give the screen to the focused widget, or back to all."""
        main, focused = self._app.main, self._app.focused
        if self.enlarged:
            self.shrink()
        elif focused is not None and not isinstance(focused, Input):
            main.maximized = focused  # not maximize(), which passes over containers

    def shrink(self) -> None:
        """Show all panels again."""
        if self.enlarged:
            self._app.main.minimize()

    def follow(self, focused: Widget) -> None:
        """Show all panels again when the focus leaves the enlarged widget."""
        alone = self._app.main.maximized
        if alone is not None and alone not in focused.ancestors_with_self:
            self.shrink()

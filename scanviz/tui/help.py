"""``?`` and the palette: keys of the focused widget, the tab and the application, and every action by name."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

from rich.table import Table
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.keys import format_key
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from scanviz.record.summary.glosses import GLOSSES
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.tree import RunTree
from scanviz.tui.views import VIEWS
from scanviz.tui.views.base import TabView
from scanviz.tui.views.tables import SortedTable

# Not in the palette: actions that move a cursor, and those of Textual or with a command of another name.
_NOT_NAMED = ("cursor_", "scroll_", "view(", "leave", "suspend_process", "quit", "help")
_SENTENCES = Path(__file__).with_name("keys.toml")


def commands(app: TabbedApp) -> Iterator[SystemCommand]:
    """Yield the palette's commands: every action of the application, the tree, the tabs and their tables."""
    for number, kind in enumerate(VIEWS):
        yield SystemCommand(f"Tab: {kind.TITLE}", kind.ABOUT, partial(app.action_view, number))
    yield SystemCommand("Help", "What the keys do here (?)", partial(_run, app, "help", lambda: app))
    for binding in _worth_naming(app.BINDINGS):
        yield _command(app, binding.description[:1].upper() + binding.description[1:], binding, lambda: app)
    for binding in _worth_naming(RunTree.BINDINGS):
        yield _command(app, f"Tree: {binding.description}", binding, partial(_tree, app))
    for number, kind in enumerate(VIEWS):
        for binding in _worth_naming(kind.BINDINGS):
            yield _command(app, f"{kind.TITLE}: {binding.description}", binding, partial(_view, app, number))
    for binding in _worth_naming(SortedTable.BINDINGS):
        yield _command(app, f"Table: {binding.description}", binding, lambda: app.view.table())


def _worth_naming(bindings: Iterable[BindingType]) -> Iterator[Binding]:
    for binding in bindings:
        if isinstance(binding, Binding) and binding.description and not binding.action.startswith(_NOT_NAMED):
            yield binding


def _command(
    app: TabbedApp, title: str, binding: Binding, node: Callable[[], DOMNode | None]
) -> SystemCommand:
    return SystemCommand(title, f"key {key_names(binding)}", partial(_run, app, binding.action, node))


def _run(app: TabbedApp, action: str, node: Callable[[], DOMNode | None]) -> None:
    """Do an action of a part of the application, once the palette is closed."""
    found = node()
    if found is None:
        app.notify("This tab has no table.")
    else:
        app.call_later(app.run_action, action, found)


def _tree(app: TabbedApp) -> DOMNode:
    app.action_tree()
    return app.run_tree


def _view(app: TabbedApp, number: int) -> DOMNode:
    app.action_view(number)
    return app.views[number]


@cache
def _sentences() -> dict[str, str]:
    return tomllib.loads(_SENTENCES.read_text("utf-8"))


def explanation(owner: type, binding: Binding) -> str:
    """Return the sentence that explains a key, else its short name.

    Examples
    --------
    >>> explanation(object, Binding("S", "reverse", "reverse"))
    'sort the other way round'
    """
    for kind in owner.__mro__:
        known = _sentences().get(f"{kind.__name__}.{binding.action}")
        if known is not None:
            return known
    return _sentences().get(binding.action, binding.description)


def is_explained(owner: type, binding: Binding) -> bool:
    """Return whether a key has a sentence; keys of tabs are explained by the tabs' titles."""
    return explanation(owner, binding) != binding.description or binding.action.startswith("view(")


class HelpScreen(ModalScreen[None]):
    """A page of keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "app.pop_screen", "close"),
    ]

    def __init__(self, focused: Widget | None, view: TabView) -> None:
        super().__init__()
        self._focused, self._view = focused, view

    def compose(self) -> ComposeResult:
        """Lay the page out."""
        with VerticalScroll(id="help") as page:
            page.border_title, page.border_subtitle = "what the keys do here", "↑ ↓ scroll · escape closes"
            yield Static(f"{self.about()}\n", markup=False, id="help-about")
            for title, widget in self.parts():
                table = _table(title, _keys(widget))
                if table.row_count:
                    yield Static(table)
            yield Static(_table("words", GLOSSES.items()), id="help-words")

    def about(self) -> str:
        """Return the description of the focused widget or the tab."""
        about = getattr(self._focused, "ABOUT", "") or self._view.ABOUT
        return f"{self._view.TITLE}\n\n{about}"

    def parts(self) -> list[tuple[str, object]]:
        """Return the parts with keys, and titles for their lists."""
        parts: list[tuple[str, object]] = []
        if self._focused is not None and self._focused is not self._view:
            parts.append(("here", self._focused))
        return [*parts, ("in this tab", self._view), ("everywhere", self.app)]


def _table(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for row in rows:
        table.add_row(*row)
    return table


def _keys(widget: object) -> Iterator[tuple[str, str]]:
    """Iterate over the keys of a widget, each with its sentence; those of tabs come together."""
    known = list(own_bindings(type(widget)))
    for owner, binding in known:
        if not binding.action.startswith("view("):
            yield key_names(binding), explanation(owner, binding)
    if any(binding.action.startswith("view(") for _, binding in known):
        yield f"1 … {len(VIEWS)}", ", ".join(view.TITLE for view in VIEWS)


def own_bindings(kind: type) -> Iterator[tuple[type, Binding]]:
    """Iterate over the bindings of a class and its bases, each key once; without Textual's own."""
    taken: set[str] = set()
    for owner in kind.__mro__:
        bindings: list[BindingType] = (
            vars(owner).get("BINDINGS", []) if owner.__module__.startswith("scanviz.") else []
        )
        for binding in bindings:
            keys = (
                [key for key in binding.key.split(",") if key not in taken]
                if isinstance(binding, Binding)
                else []
            )
            taken.update(keys)
            if keys and isinstance(binding, Binding):
                yield owner, replace(binding, key=",".join(keys))


def key_names(binding: Binding) -> str:
    """Return the keys of a binding as the footer shows them.

    Examples
    --------
    >>> key_names(Binding("left_square_bracket,h", "x")), key_names(Binding("f1", "x"))
    ('[, h', 'f1')
    """
    return ", ".join(map(format_key, binding.key.split(",")))

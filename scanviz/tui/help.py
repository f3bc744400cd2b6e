"""``?``: what the keys do in what has the focus, in this tab, and everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from rich.table import Table
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from scanviz.record.glosses import GLOSSES
from scanviz.tui.explanations import explanation
from scanviz.tui.views import VIEWS
from scanviz.tui.views.base import TabView


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
                table = _table(title, widget)
                if table.row_count:
                    yield Static(table)
            yield Static(_words(), id="help-words")

    def about(self) -> str:
        """Return what one is looking at."""
        about = getattr(self._focused, "ABOUT", "") or self._view.ABOUT
        return f"{self._view.TITLE}\n\n{about}"

    def parts(self) -> list[tuple[str, object]]:
        """Return what has keys, with the titles of their lists."""
        parts: list[tuple[str, object]] = []
        if self._focused is not None and self._focused is not self._view:
            parts.append(("here", self._focused))
        return [*parts, ("in this tab", self._view), ("everywhere", self.app)]


def _table(title: str, widget: object) -> Table:
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    known = list(own_bindings(type(widget)))
    for owner, binding in known:
        if not binding.action.startswith("view("):
            table.add_row(key_names(binding), explanation(owner, binding))
    if any(binding.action.startswith("view(") for _, binding in known):
        table.add_row(f"1 … {len(VIEWS)}", ", ".join(view.TITLE for view in VIEWS))
    return table


def own_bindings(kind: type) -> Iterator[tuple[type, Binding]]:
    """Iterate over the keys of a part of the application, and what it has not taken of what it is a kind of; none of Textual's."""
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


def _words() -> Table:
    """Return the words that the tabs use, with a line of meaning each."""
    table = Table(title="words", title_justify="left", box=None, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for word, meaning in GLOSSES.items():
        table.add_row(word, meaning)
    return table


def key_names(binding: Binding) -> str:
    """Return the keys of a binding as they stand on a keyboard.

    Examples
    --------
    >>> key_names(Binding("left_square_bracket,h", "x")), key_names(Binding("f1", "x"))
    ('[, h', 'F1')
    """
    return ", ".join(_shown(key) for key in binding.key.split(","))


def _shown(key: str) -> str:
    names = {
        "left_square_bracket": "[",
        "right_square_bracket": "]",
        "question_mark": "?",
        "slash": "/",
        "full_stop": ".",
        "comma": ",",
        "colon": ":",
        "plus": "+",
        "minus": "-",
        "equals_sign": "=",
    }
    return names.get(key, key.upper() if re.fullmatch(r"f\d+", key) else key)

"""The line of keys at the bottom.

Textual's own footer makes a widget of every key anew whenever the focus moves, which took half of the time of choosing a tab; this
is one line of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.text import Text
from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import Click, Resize
from textual.screen import Screen
from textual.widgets import Static

from scanviz.tui.help import own_bindings
from scanviz.tui.text.colours import CYAN

# Prefixes of actions whose keys are not listed: they move, or are Textual's own.
_UNLISTED = (
    *("cursor_", "scroll_", "page", "point(", "aside(", "edge(", "end(", "view(", "open", "close"),
    *("toggle_", "select_", "focus_", "previous_tab", "next_tab", "app.focus", "screen."),
)


def _worth_room(binding: Binding, node: DOMNode) -> bool:
    """Return whether the footer lists a key where room is left: scanviz's own keys, cursor keys excluded."""
    ours = binding.action in _own_actions(type(node))
    return ours and bool(binding.description) and not binding.action.startswith(_UNLISTED)


@lru_cache(maxsize=64)
def _own_actions(kind: type) -> frozenset[str]:
    return frozenset(binding.action for _, binding in own_bindings(kind))


class Footer(Static):
    """The keys of the focused widget; a click on a key runs it.

    Parameters
    ----------
    first : sequence of str
        Keys listed before others, so that a narrow screen has room for them.
    """

    def __init__(self, first: Sequence[str] = ()) -> None:
        super().__init__(markup=False)
        self._order = {key: place for place, key in enumerate(first)}
        self._places: list[tuple[int, int, Binding, DOMNode]] = []
        self._shown: list[tuple[str, str]] = []

    def on_mount(self) -> None:
        """Follow the focus."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def on_resize(self, event: Resize) -> None:
        """Show as many keys as fit."""
        self._shown = []
        self._changed(self.screen)

    def _changed(self, screen: Screen[object]) -> None:
        if screen is not self.screen or not self.size.width:
            return
        palette = self.app.COMMAND_PALETTE_BINDING
        known = [(binding, node) for node, binding, enabled, _ in screen.active_bindings.values() if enabled]
        active = [(binding, node) for binding, node in known if binding.show or binding.key == palette]
        active += [
            (binding, node) for binding, node in known if not binding.show and _worth_room(binding, node)
        ]
        active.sort(key=lambda found: self._order.get(found[0].key, len(self._order)))
        shown = [(self.app.get_key_display(binding), binding.description) for binding, _ in active]
        if shown != self._shown:
            self._shown = shown
            self._write(active)

    def _write(self, active: list[tuple[Binding, DOMNode]]) -> None:
        text, self._places = Text(no_wrap=True, overflow="ellipsis"), []
        for (key, about), (binding, node) in zip(self._shown, active, strict=True):
            if any(binding.action == other.action for _, _, other, _ in self._places):
                continue  # the same action by another key
            begins = text.cell_len
            if begins + len(key) + len(about) + 3 > self.size.width:
                continue
            text.append(f" {key} ", style=f"bold {CYAN}").append(f"{about} ")
            self._places.append((begins, text.cell_len, binding, node))
        self.update(text, layout=False)

    async def on_click(self, event: Click) -> None:
        """Run the action of the clicked key."""
        for begins, ends, binding, node in self._places:
            if begins <= event.x < ends:
                await self.app.run_action(binding.action, node)

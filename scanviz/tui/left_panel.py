"""The left: the tree, and below it, in the rows that the tree leaves, facts about what is looked at."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Resize
from textual.widgets import Tree

from scanviz.tui.facts import LEAST, facts
from scanviz.tui.state import ViewState
from scanviz.tui.tree import LoopTree
from scanviz.tui.views.base import TextBlock

OF_THE_TREE = 2 / 3  # of the rows at the most, where facts could fill more: as in the style sheet


class FactsBlock(TextBlock):
    """The facts, in all the rows that the tree leaves: another text of them changes no place of anything."""

    FILLS: ClassVar[bool] = True


class LeftPanel(Vertical):
    """The tree and the facts."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._state: ViewState | None = None

    def compose(self) -> ComposeResult:
        """Lay the panel out."""
        yield LoopTree(id="tree")
        yield FactsBlock(id="facts")

    def show(self, state: ViewState) -> None:
        """Show a state in both."""
        self._state = state
        self.query_one("#tree", LoopTree).show(state)
        self._tell_facts()

    def _tell_facts(self) -> None:
        inside = self.size
        if self._state is None or not inside.width:
            return
        tree, block = self.query_one("#tree", LoopTree), self.query_one("#facts", FactsBlock)
        room = inside.height - min(tree.last_line + 1, int(inside.height * OF_THE_TREE)) - 1  # less the rule
        text = facts(self._state, inside.width - 1, room) if room >= LEAST else None
        self.set_class(not text, "no-facts")
        if text:
            block.show(text)

    def on_resize(self, event: Resize) -> None:
        """Write for another size."""
        self.call_after_refresh(self._tell_facts)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[object]) -> None:
        """Give way to what was opened."""
        self._tell_facts()

    def on_tree_node_collapsed(self, event: Tree.NodeCollapsed[object]) -> None:
        """Take the rows of what was closed."""
        self._tell_facts()


__all__ = ["LeftPanel"]

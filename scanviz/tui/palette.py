"""The palette's commands: every action that a key has, of every tab, of the tree and of the whole application."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.dom import DOMNode

from scanviz.tui.help import key_names
from scanviz.tui.tree import LoopTree
from scanviz.tui.views import VIEWS
from scanviz.tui.views.tables import SortedTable

if TYPE_CHECKING:
    from scanviz.tui.app import ScanvizApp

# Not named: moving a cursor, which is what keys are for, and what is a command of Textual's or named otherwise.
_NOT_NAMED = ("cursor_", "scroll_", "view(", "leave", "suspend_process", "quit", "help")


def commands(app: ScanvizApp) -> Iterator[SystemCommand]:
    """Yield a command for each action."""
    for number, kind in enumerate(VIEWS):
        yield SystemCommand(f"Tab: {kind.TITLE}", kind.ABOUT, lambda number=number: app.action_view(number))
    yield SystemCommand("Help", "What the keys do here (?)", app.action_help)
    for binding in _worth_naming(app.BINDINGS):
        yield _command(
            binding.description.capitalize(), binding, lambda action=binding.action: _run(app, action, app)
        )
    for binding in _worth_naming(LoopTree.BINDINGS):
        yield _command(
            f"Tree: {binding.description}", binding, lambda action=binding.action: _in_tree(app, action)
        )
    for number, kind in enumerate(VIEWS):
        for binding in _worth_naming(kind.BINDINGS):
            yield _command(
                f"{kind.TITLE}: {binding.description}",
                binding,
                lambda number=number, action=binding.action: _in_view(app, number, action),
            )
    for binding in _worth_naming(SortedTable.BINDINGS):
        yield _command(
            f"Table: {binding.description}", binding, lambda action=binding.action: _in_table(app, action)
        )


def _worth_naming(bindings: Iterable[BindingType]) -> Iterator[Binding]:
    for binding in bindings:
        if not isinstance(binding, Binding) or not binding.description:
            continue
        if not binding.action.startswith(_NOT_NAMED):
            yield binding


def _command(title: str, binding: Binding, run: object) -> SystemCommand:
    return SystemCommand(title, f"key {key_names(binding)}", run)  # type: ignore[arg-type]  # lambdas with a default


def _run(app: ScanvizApp, action: str, of: DOMNode) -> None:
    """Do what a key does, once the palette is closed."""
    app.call_later(app.run_action, action, of)


def _in_view(app: ScanvizApp, number: int, action: str) -> None:
    app.action_view(number)
    _run(app, action, app.views[number])


def _in_tree(app: ScanvizApp, action: str) -> None:
    app.action_tree()
    _run(app, action, app.main.query_one("#tree"))


def _in_table(app: ScanvizApp, action: str) -> None:
    table = app.view.table()
    if table is None:
        app.notify("This tab has no table.")
    else:
        _run(app, action, table)

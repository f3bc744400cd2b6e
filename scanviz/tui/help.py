"""``?`` and the palette: what the keys do in what has the focus, in this tab and everywhere, and every action by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from rich.table import Table
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from scanviz.record.summary.glosses import GLOSSES
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.tree import LoopTree
from scanviz.tui.views import VIEWS
from scanviz.tui.views.base import TabView
from scanviz.tui.views.tables import SortedTable

# The palette's commands: every action that a key has, of every tab, of the tree and of the whole application.

# Not named: moving a cursor, which is what keys are for, and what is a command of Textual's or named otherwise.
_NOT_NAMED = ("cursor_", "scroll_", "view(", "leave", "suspend_process", "quit", "help")


def commands(app: TabbedApp) -> Iterator[SystemCommand]:
    """Yield a command for each action."""
    for number, kind in enumerate(VIEWS):
        yield SystemCommand(f"Tab: {kind.TITLE}", kind.ABOUT, lambda number=number: app.action_view(number))
    yield SystemCommand("Help", "What the keys do here (?)", lambda: _run(app, "help", app))
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


def _run(app: TabbedApp, action: str, of: DOMNode) -> None:
    """Do what a key does, once the palette is closed."""
    app.call_later(app.run_action, action, of)


def _in_view(app: TabbedApp, number: int, action: str) -> None:
    app.action_view(number)
    _run(app, action, app.views[number])


def _in_tree(app: TabbedApp, action: str) -> None:
    app.action_tree()
    _run(app, action, app.main.query_one("#tree"))


def _in_table(app: TabbedApp, action: str) -> None:
    table = app.view.table()
    if table is None:
        app.notify("This tab has no table.")
    else:
        _run(app, action, table)


# What each key does, in a sentence: the page of help reads this table, and a test holds it complete.

# By the action; where parts of the application mean different things by one, by the part's class and the action.
_SENTENCES = {
    "LoopTree.cursor_down": "the function or loop below",
    "LoopTree.cursor_up": "the function or loop above",
    "ConnectionTable.cursor_left": "the result to the left",
    "ConnectionTable.cursor_right": "the result to the right",
    "FilmPane.close": "back to the list of rewrites",
    "FilmPane.end(0)": "the graph as it was built",
    "FilmPane.end(1)": "the graph as it runs",
    "FilmPane.play": "play the frames one after the other, or stop",
    "GraphView.plumbing": "draw sizes and broadcasts too, or leave them out",
    "GraphView.own": "draw the chosen loop alone, or the whole function",
    "LearnApp.check": "check the exercise",
    "LearnApp.hint": "a hint; after the last one the solution",
    "LearnApp.lesson(-1)": "the lesson before",
    "LearnApp.lesson(1)": "the next lesson",
    "LearnApp.next_stop": "from the text to the program, the exercise, the steps, and to the text again",
    "LearnApp.picture": "draw the program's loop, or go back to the program",
    "LearnApp.quit": "leave",
    "LearnApp.reset": "give the program or the exercise back as the lesson has it",
    "LearnApp.run_program": "run the program as it is now",
    "LearnApp.steps": "go through the program step by step",
    "Player.app.stop('program')": "back to the program",
    "Player.other": "the next loop: from a loop to its gradient, and back",
    "RewritesView.own": "list what changed the chosen loop alone, or everything",
    "SortedTable.scroll_top": "the first row",
    "SortedTable.scroll_bottom": "the last row",
    "TabBar.previous_tab": "the tab to the left",
    "TabBar.next_tab": "the tab to the right",
    "VerdictBar.go": "go to the place that the sentence is about; escape comes back",
    "dismiss('leave')": "leave; the script runs on and saves its profile",
    "dismiss('stop')": "stop the script, as ctrl+c does; it saves its profile",
    "answer": "write a line to the script's standard input",
    "first_bad": "the first step with a NaN or an infinity, of this loop or of another; from any tab to its values",
    "app.first_bad": "the first step with a NaN or an infinity, of this loop or of another",
    "app.other": "from a loop to its back-propagation, and back",
    "app.pop_screen": "close this page",
    "app.slowest": "the slowest step that was kept",
    "ask": "go to a step by its number",
    "built": "draw the graph as it was built, or as it runs after all rewrites",
    "choose(-1)": "the sentence before",
    "choose(1)": "the next sentence",
    "close": "close it",
    "copy": "copy the command line that prints what this tab shows",
    "cursor_down": "the row below",
    "cursor_up": "the row above",
    "end(0)": "the first one",
    "end(1)": "the last one",
    "end_input": "end the script's standard input, as ctrl+d does on a terminal",
    "enter": "show the loop in the tab",
    "aside(8)": "to the right",
    "aside(-8)": "to the left",
    "chosen": "open or close the loop under the cursor; of anything else, go to the line that built it",
    "edge(0)": "the first line",
    "edge(1)": "the last line",
    "failure(-1)": "the error before: the line that begins or ends its report",
    "failure(1)": "the next error: the line that begins or ends its report; after the last, the first",
    "film": "go through the rewrites frame by frame, or back to the list",
    "fold(-1)": "close the innermost loops",
    "fold(1)": "open a level of loops",
    "loops": "open all loops, or close those of a large graph",
    "page(-1)": "as many lines up as are seen",
    "page(1)": "as many lines down as are seen",
    "point(-1)": "the line above",
    "point(1)": "the line below",
    "frame(-1)": "the frame before",
    "frame(1)": "the next frame",
    "found(-1)": "what was found before",
    "found(1)": "the next of what was found",
    "focus_next": "from the tree to the tab, and back",
    "help": "this page",
    "kept(-1)": "the step before of which a time was kept",
    "kept(1)": "the next step of which a time was kept",
    "enlarge": "give the screen to what keys go to alone (a table, a chart, the tree), or back to all",
    "panel('verdict')": "put the verdict away, or bring it back",
    "panel('loops')": "put the functions and loops away, or bring them back",
    "panel('facts')": "put the facts below the loops away, or bring them back",
    "leave": "show all panels again, all rows, go back to where enter led from, or to the tree: the first of these",
    "list": "back to the list",
    "measure": "run the script again without each rule in turn: what each is worth, and how sure that is",
    "open": "open it",
    "origins": "where the operations of the loop's step came from",
    "piece": "who reaches whom over any number of steps, then the mappings, then the variables",
    "play": "play the steps one after the other, or stop",
    "speed(1)": "play faster",
    "speed(-1)": "play slower",
    "compute": "compute what was not kept of this step, from the nearest checkpoint",
    "plumbing": "list sizes, fills, axes for broadcasting and checks of shapes too, or as one row",
    "quit": "leave; while a script runs, ask what is to become of it",
    "refusals": "why other rules changed nothing",
    "reverse": "sort the other way round",
    "rewrite(-1)": "the rewrite before",
    "rewrite(1)": "the next rewrite",
    "run": "the next run alone; after the last all of them",
    "scale": "equal heights for equal ratios, or for equal times",
    "scroll_down": "a line down",
    "scroll_end": "to the end",
    "scroll_home": "to the top",
    "scroll_left": "to the left",
    "scroll_right": "to the right",
    "scroll_up": "a line up",
    "search": "find text: a table shows the rows with it alone; elsewhere n and N go through what was found",
    "shown": "the chosen variable's numbers, its course over time, or its cells as heat",
    "sort(1)": "sort by the next column",
    "dismiss": "stay",
    "step_by_number": "go to the values of a step by its number; in Steps, go to it there",
    "step(-1)": "a step back",
    "step(1)": "a step on",
    "style": "changed lines, before beside after, the whole graph, or the costs",
    "suspend_process": "suspend the application; fg in the shell comes back",
    "tree": "go to the functions and loops",
    "values": "the values of this step",
    "verdict": "go to the verdict: what there is to know first, each with its place",
    "watch": "add an expression of the step's variables to watch",
    "whole": "show all steps",
    "wide": "give the tree's and the verdict's place to the tab, or back",
    "zoom(0.5)": "show fewer steps, around the cursor",
    "zoom(2.0)": "show more steps",
}


def explanation(owner: type, binding: Binding) -> str:
    """Return what a key of a part of the application does; its short name where nobody has written a sentence.

    Examples
    --------
    >>> explanation(object, Binding("S", "reverse", "reverse"))
    'sort the other way round'
    """
    for kind in owner.__mro__:
        known = _SENTENCES.get(f"{kind.__name__}.{binding.action}")
        if known is not None:
            return known
    return _SENTENCES.get(binding.action, binding.description)


def is_explained(owner: type, binding: Binding) -> bool:
    """Return whether there is a sentence for a key; those that choose a tab are told by its title."""
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

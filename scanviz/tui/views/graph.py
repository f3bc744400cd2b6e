"""Graph: the loop picture in characters, which scrolls, folds and is searched."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.widgets import Static

from scanviz.record.errors import ScanvizError
from scanviz.record.model import FunctionRecord
from scanviz.render.characters import drawing_lines
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.summary import summarised
from scanviz.tui.linked_selection import NO_SIGN, SIGN, linked_selection
from scanviz.tui.state import ViewState
from scanviz.tui.views.base import TabView
from scanviz.tui.views.steps import quoted

MOST_NODES = 400  # of a picture that is drawn whole
BAR = 2  # columns of the scroll bar


class GraphPane(ScrollableContainer, can_focus=True):
    """The picture, which scrolls both ways."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "down", show=False),
        Binding("k", "scroll_up", "up", show=False),
        Binding("h", "scroll_left", "left", show=False),
        Binding("l", "scroll_right", "right", show=False),
        Binding("g", "scroll_home", "top", show=False),
        Binding("G", "scroll_end", "end", show=False),
    ]


class GraphView(TabView):
    """The tab."""

    TITLE = "Graph"
    ABOUT = (
        "The graph as it runs, in characters: loops as boxes with their ports, the step inside, and "
        "what a step reads of the ones before. f folds loops, F opens them, o shows the chosen loop "
        "alone or the whole function, x the graph as it was built, p sizes and broadcasts too. ▶ marks what belongs to the "
        "loop variable "
        "that was chosen in Variables."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "fold(-1)", "fold"),
        Binding("F", "fold(1)", "open", show=False),
        Binding("o", "own", "this loop/all"),
        Binding("x", "built", "as built"),
        Binding("p", "plumbing", "plumbing"),
    ]

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self.depth: int | None = None
        self.own = True
        self.built = False
        self.plumbing = False
        self.lines: list[str] = []
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        with GraphPane(id="graph-pane"):
            yield Static(id="graph-text", markup=False)

    def redraw(self) -> None:
        """Draw the picture if it is another than before."""
        function = self.state.function_record
        loop = self.state.loop_record
        width = max(60, self.extent_of("#graph-pane", self.room).width - BAR)
        name = loop.name if loop is not None and self.own else None
        wanted = (
            id(function),
            name,
            self.depth,
            self.built,
            self.plumbing,
            width,
            self.state.variable,
            self.found and self.found_at,
        )
        if wanted == self._drawn:
            return
        self._drawn = wanted
        self.lines = self._lines(function, name, width)
        self.query_one("#graph-text", Static).update(self._text())

    def _lines(self, function: FunctionRecord | None, loop: str | None, width: int) -> list[str]:
        try:
            return self._drawing(function, loop, width)
        except ScanvizError as error:  # what a record holds of a graph is looked at only now
            return str(error).split("\n")

    def _drawing(self, function: FunctionRecord | None, loop: str | None, width: int) -> list[str]:
        graph = None if function is None else function.graph
        if self.built and function is not None and function.rewrites is not None:
            graph = function.rewrites.snapshot(0)
        if graph is None or function is None:
            return ["The profile holds no graph of this function."]
        diagram = diagram_of(
            graph,
            record=self.state.record,
            function=function.key,
            depth=self.depth,
            scan=loop,
            plumbing=self.plumbing,
        )
        lines = drawing_lines(summarised(diagram, MOST_NODES), width)
        return [line.replace("--plumbing draws", "p draws") for line in lines]

    def _text(self) -> Text:
        """Return the picture with the lines of the chosen loop variable and of what was found marked."""
        here = self.found[self.found_at] if self.found and self.found_at >= 0 else None
        chosen = linked_selection(self.state)
        margin = NO_SIGN if chosen.names else ""  # room for signs is taken only where there are any
        text = Text()
        for number, line in enumerate(self.lines):
            named = chosen.named_in(line)
            style = "reverse" if number == here else "bold" if named else ""
            text.append((SIGN if named else margin) + line + "\n", style=style)
        return text

    def on_resize(self) -> None:
        """Draw for the new width, which the pane has only later."""
        if self._shown is not None:
            self.call_after_refresh(self.redraw)

    def action_fold(self, by: int) -> None:
        """Close the innermost loops, or open a level."""
        deepest = 4 if self.depth is None else self.depth
        self.depth = max(0, deepest + by)
        if self.depth >= 4:
            self.depth = None
        self.redraw()

    def action_own(self) -> None:
        """Show the loop alone, or the whole function."""
        self.own = not self.own
        self.redraw()

    def action_built(self) -> None:
        """Show the graph before the rewrites, or as it runs."""
        self.built = not self.built
        self.redraw()

    def action_plumbing(self) -> None:
        """Draw sizes and broadcasts too, or no more."""
        self.plumbing = not self.plumbing
        self.redraw()

    def command(self) -> str:
        """Return the command line that draws the same."""
        loop = self.state.loop_record
        scan = f" --scan {quoted(self.state.title(loop))}" if loop is not None and self.own else ""
        depth = f" --depth {self.depth}" if self.depth is not None else ""
        return f"scanviz graph FILE{scan}{depth}{' --before' if self.built else ''}{' --plumbing' if self.plumbing else ''}"

    def rows(self) -> list[str]:
        """Return the lines of the picture."""
        return self.lines

    def go_to(self, row: int) -> None:
        """Show a line."""
        self.query_one("#graph-text", Static).update(self._text())
        self.query_one("#graph-pane", GraphPane).scroll_to(y=max(0, row - 3), animate=False)

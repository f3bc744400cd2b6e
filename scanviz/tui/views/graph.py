"""Graph: the loop picture in characters; loops open and close, and the node under the cursor is explained below."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from scanviz.record.errors import ScanvizError
from scanviz.record.model import FunctionRecord
from scanviz.render.characters import CharacterDrawing, DrawnLine
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.folding import close_loops, depths
from scanviz.render.diagram.model import Diagram
from scanviz.render.diagram.summary import loops_to_close, summarised
from scanviz.tui.model.linked_selection import NO_SIGN, SIGN, linked_selection
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.drawn import PicturePart, parts_of, styled, words
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.lines import LinesPane

MOST_NODES = 400  # of a picture that is drawn whole
BAR = 2  # columns of the scroll bar
WORDS = 160  # columns of words beside lines between nodes: what is not seen of them is scrolled to


class GraphPane(LinesPane):
    """The picture."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "chosen", "open/close"),
    ]

    def action_chosen(self) -> None:
        """Act like a click."""
        self.post_message(self.Clicked(self, by_mouse=False))


class GraphView(TabView):
    """The tab."""

    TITLE = "Graph"
    QUESTION = "what is computed, and what a step reads of earlier ones"
    ABOUT = (
        "The graph as it runs, in characters: loops as boxes with their ports, the step inside, and "
        "what a step reads of the ones before. A large graph begins with its loops closed to one line each, with the number of "
        "their operations and their time: o opens them all, f and F close and open a level, enter or a click "
        "opens the one under the cursor; on anything else enter goes to the line of the script that built it. What the cursor "
        "stands on is explained below. w shows the chosen loop "
        "alone or the whole function, x the graph as it was built, p sizes and broadcasts too. ▶ marks what belongs to the "
        "loop variable "
        "that was chosen in Variables."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "loops", "open/close loops"),
        Binding("f", "fold(-1)", "close a level", show=False),
        Binding("F", "fold(1)", "open a level", show=False),
        Binding("w", "flip('own')", "this loop/all"),
        Binding("x", "flip('built')", "as built"),
        Binding("p", "flip('plumbing')", "plumbing"),
    ]

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self.own = True
        self.built = False
        self.plumbing = False
        self.drawn: list[DrawnLine] = []
        self.closed: dict[object, frozenset[str]] = {}  # ids of closed loops, picture by picture
        self._whole: Diagram | None = None
        self._parts: dict[str, PicturePart] = {}
        self._drawn_as: object = None

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield GraphPane(id="graph-pane")
        yield TextBlock(id="graph-here")

    @property
    def pane(self) -> GraphPane:
        """The picture's widget."""
        return self.query_one("#graph-pane", GraphPane)

    @property
    def _picture(self) -> tuple[object, ...]:
        """Key of the picture; each keeps its own open loops."""
        loop = self.state.loop_record
        name = loop.name if loop is not None and self.own else None
        return id(self.state.function_record), name, self.built, self.plumbing

    def redraw(self) -> None:
        """Redraw the picture if it changed."""
        width = max(60, self.extent_of("#graph-pane", self.room).width - BAR)
        picture = self._picture
        wanted = (picture, self.closed.get(picture), width, self.state.variable)
        if wanted == self._drawn_as:
            return
        before = self._here()
        self._drawn_as = wanted
        self.drawn = self._lines(width)
        first = next((k for k, line in enumerate(self.drawn) if line.part), 0)
        place = next((k for k, line in enumerate(self.drawn) if before and line.part == before), first)
        self.pane.show(self._texts(), place)
        self.pane.bring(place)
        self._explain()

    def _here(self) -> str:
        """Return the id of the node under the cursor."""
        place = self.pane.cursor
        return self.drawn[place].part if place < len(self.drawn) else ""

    def _lines(self, width: int) -> list[DrawnLine]:
        self._whole, self._parts = None, {}
        try:
            return self._drawing(self.state.function_record, width)
        except ScanvizError as error:  # what a record holds of a graph is looked at only now
            return [DrawnLine(line) for line in str(error).split("\n")]

    def _drawing(self, function: FunctionRecord | None, width: int) -> list[DrawnLine]:
        graph = None if function is None else function.graph
        if self.built and function is not None and function.rewrites is not None:
            graph = function.rewrites.snapshot(0)
        if graph is None or function is None:
            return [DrawnLine("The profile holds no graph of this function.")]
        loop = self.state.loop_record
        self._whole = diagram_of(
            graph,
            record=self.state.record,
            function=function.key,
            scan=loop.name if loop is not None and self.own else None,
            plumbing=self.plumbing,
        )
        shown = summarised(close_loops(self._whole, self._closed_loops()), MOST_NODES)
        self._parts = parts_of(shown, self._whole)
        drawing = CharacterDrawing(shown, width, words=WORDS)
        return [
            DrawnLine(line.text.replace("--plumbing draws", "p draws"), line.part, line.rails)
            for line in drawing.lines()
        ]

    def _closed_loops(self) -> frozenset[str]:
        """Return ids of the closed loops."""
        known = self.closed.get(self._picture)
        return self._usually_closed() if known is None else known

    def _usually_closed(self) -> frozenset[str]:
        """Return ids of the loops that are closed by default in a large graph, as on the page; a single loop is open."""
        if self._whole is None:
            return frozenset()
        alone = {cluster.id for cluster in self._whole.clusters if cluster.parent is None and self.own}
        return frozenset(loops_to_close(self._whole)) - alone

    def _texts(self) -> list[Text]:
        """Return the lines, with the selected loop variable's marked."""
        chosen = linked_selection(self.state)
        margin = NO_SIGN if chosen.names else ""  # room for signs is taken only where there are any
        found = []
        for line in self.drawn:
            named = chosen.named_in(line.text)
            text = styled(line, self._parts.get(line.part))
            if named:
                text.stylize("bold")
            found.append(Text().append(SIGN if named else margin, "bold").append_text(text))
        return found

    def _explain(self) -> None:
        part = self._parts.get(self._here())
        width = max(40, self.room.width - BAR)
        self.query_one("#graph-here", TextBlock).show(words(part, width) if part is not None else Text(""))

    def on_lines_pane_pointed(self, event: LinesPane.Pointed) -> None:
        """Explain the node under the cursor."""
        event.stop()
        self._explain()

    def on_lines_pane_clicked(self, event: LinesPane.Clicked) -> None:
        """Open or close the loop under the cursor; for other rows show the user's line."""
        event.stop()
        part = self._parts.get(self._here())
        if part is None:
            return
        if part.loop:
            self._set_closed(self._closed_loops() ^ {part.id})
        elif part.source and not event.by_mouse:
            self.enter("Source", self.state.at_line(part.source))

    def _set_closed(self, loops: frozenset[str]) -> None:
        self.closed[self._picture] = loops
        self.redraw()

    def action_loops(self) -> None:
        """Open all loops; if none is closed, close the default ones of a large graph, else all."""
        if self._whole is None:
            return
        every = frozenset(cluster.id for cluster in self._whole.clusters)
        self._set_closed(frozenset() if self._closed_loops() else self._usually_closed() or every)

    def action_fold(self, by: int) -> None:
        """Close the innermost loops that are open, or open the outermost that are closed."""
        if self._whole is None:
            return
        deep, closed = depths(self._whole), self._closed_loops()
        if by < 0:
            level = max((deep[name] for name in deep if name not in closed), default=-1)
            self._set_closed(closed | {name for name in deep if deep[name] == level})
        else:
            level = min((deep[name] for name in closed), default=-1)
            self._set_closed(closed - {name for name in deep if deep[name] == level})

    def command(self) -> str:
        """Return the command line that prints the same picture, with loops closed to one depth."""
        scan = self.scan_option() if self.own else ""
        deep, closed = depths(self._whole) if self._whole is not None else {}, self._closed_loops()
        depth = f" --depth {min(deep[name] for name in closed)}" if closed else ""
        return f"scanviz graph FILE{scan}{depth}{' --before' if self.built else ''}{' --plumbing' if self.plumbing else ''}"

    def rows(self) -> list[str]:
        """Return the lines of the picture."""
        return [text.plain for text in self.pane.lines]

    def go_to(self, row: int) -> None:
        """Show a line."""
        self.pane.point_at(row)

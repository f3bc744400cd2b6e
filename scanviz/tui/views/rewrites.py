"""Rewrites: the list of applied rules, the difference that each made, and refusals."""

from __future__ import annotations

import shlex
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Size
from textual.widgets import DataTable

from scanviz.profiler.report.costs import run_cost_lines
from scanviz.profiler.report.rewrites import RewritesOptions as Options
from scanviz.profiler.report.rewrites import applications_of, refusals_of, step_lines, why_not_lines
from scanviz.profiler.report.text import ReportLine
from scanviz.profiler.report.why import why_lines
from scanviz.record.errors import ScanvizError
from scanviz.record.graphs.rewrites import RewriteRecord, RewritesRecord
from scanviz.record.plain_text import sanitize
from scanviz.tui.asking import focus_now
from scanviz.tui.model.linked_selection import SIGN, linked_selection
from scanviz.tui.model.source import Source
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import report_text
from scanviz.tui.views.base import TabView, TextBlock, quoted
from scanviz.tui.views.film import FilmView
from scanviz.tui.views.rewrite_cells import (
    COLUMNS,
    MEASURED,
    about_all,
    counts_of,
    measured_cell,
    names_chosen,
    rewrite_row,
    with_signs,
)
from scanviz.tui.views.tables import SortedTable

BAR = 3  # columns of the scroll bar and of a margin
STYLES = ("unified", "side-by-side", "tree", "costs")
WHOLE = STYLES.index("tree")
ABOVE = 3  # lines that are seen above the first one that changed


class RewritesView(TabView):
    """The tab."""

    TITLE = "Rewrites"
    QUESTION = "what was rewritten, and what it bought"
    ABOUT = (
        "What rules did to the function's graph, those that changed anything. [ and ] go from one to "
        "the next; v shows lines that changed, before and after side by side, the whole graph, or the costs before and after; x "
        "shows why others did not fire; w shows where the operations of the loop come from; o shows "
        "only those of the loop that is looked at. f shows the film: the picture frame by frame (left and right, space plays), "
        "in which everything keeps its row, and the curve of operations below it. Enter goes to the difference, escape comes "
        "back. ▶ marks what names the loop variable that was chosen in Variables; a runs the script again without each "
        "rule in turn; `faster` is what that, or scanviz rewrites --ablate --into FILE, has "
        "measured: how many times as long a call takes without the rule, or noise where that is not sure."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "style", "side by side"),
        Binding("x", "refusals", "why not"),
        Binding("w", "origins", "why"),
        Binding("o", "own", "this loop"),
        Binding("f", "film", "film"),
        Binding("a", "measure", "measure"),
    ]

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self.style_at = 0
        self.other = ""  # "why not" or "why" in place of the difference
        self.own = False
        self.film = False
        self._asked = False
        self._drawn: object = None
        self._marks: tuple[object, frozenset[int]] = (None, frozenset())

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="rewrites-about")
        with Horizontal(id="rewrites-body"):
            table = SortedTable(COLUMNS, id="rewrites-table")
            table.reversed = False
            yield table
            with DifferencePane(id="rewrites-pane"):
                yield TextBlock(id="rewrites-difference")
        yield FilmView(id="rewrites-film")

    @property
    def history(self) -> RewritesRecord | None:
        """The applied rules of the function."""
        function = self.state.function_record
        return function.rewrites if function is not None else None

    def listed(self) -> list[RewriteRecord]:
        """Return the applications that are shown."""
        history, loop = self.history, self.state.loop_record
        if history is None:
            return []
        if not self.own or loop is None:
            return list(history.applications)
        return applications_of(history, Options(scan=loop.name))

    def redraw(self) -> None:
        """Show the list and the selected rewrite."""
        table, history = self._list, self.history
        was_measured = history is not None and bool(history.effects)
        self.query_one("#rewrites-about", TextBlock).show(about_all(history) if history is not None else "")
        table.retitle((COLUMNS[0], MEASURED, *COLUMNS[1:]) if was_measured else COLUMNS)
        marked = self._marked()
        rows = []
        counts = counts_of(history) if history is not None else {}
        for rewrite in self.listed():
            number, *others = rewrite_row(rewrite, rewrite.index in marked, counts.get(rewrite.index, ""))
            faster = (
                [measured_cell(history.effect(rewrite.rule))] if history is not None and was_measured else []
            )
            rows.append((rewrite.index, (number, *faster, *others)))
        table.fill(rows)
        table.point_at(self.state.rewrite)
        if self.film:
            self._redraw_film(history)
            return
        pane = self.query_one("#rewrites-difference", TextBlock)
        width = max(30, self.extent_of("#rewrites-pane", self._first_extent()).width - BAR - len(SIGN))
        shown = (
            id(history),
            self.state.rewrite,
            self.style_at,
            self.other,
            width,
            self.state.loop,
            self.state.variable,
        )
        if shown != self._drawn:
            self._drawn = shown
            pane.show(self._text(width))
            self._scroll_to_change(pane)

    def _redraw_film(self, history: RewritesRecord | None) -> None:
        loop = self.state.loop_record
        if history is not None:
            width = self.room.width - BAR
            scan = loop.name if self.own and loop is not None else None
            self.query_one(FilmView).show_film(history, scan, self.state.rewrite, width)

    def _scroll_to_change(self, pane: TextBlock) -> None:
        """Show the beginning of the difference; of a whole graph the first line that changed."""
        place = 0
        if self.style_at == WHOLE and not self.other:
            lines = str(pane.content).split("\n")
            changed = (k for k, line in enumerate(lines) if line.lstrip("▶ ").startswith(("- ", "+ ")))
            place = max(0, next(changed, 0) - ABOVE)
        scroll = self.query_one("#rewrites-pane", VerticalScroll)
        self.call_after_refresh(scroll.scroll_to, y=place, animate=False)

    def _first_extent(self) -> Size:
        """Return the expected size of the difference before it is drawn."""
        room = self.room
        if self.app.has_class("stacked"):
            return room
        return Size(room.width - round(0.5 * room.width) - BAR + 1, room.height)  # as in app.tcss

    def _marked(self) -> frozenset[int]:
        """Return the applications whose lines name the loop variable chosen in Variables."""
        history, chosen = self.history, linked_selection(self.state)
        if history is None or not chosen.names:
            return frozenset()
        key = (id(history), chosen.names)
        if self._marks[0] != key:
            edited = zip(history.applications, history.edits(), strict=True)
            self._marks = (
                key,
                frozenset(rewrite.index for rewrite, edits in edited if names_chosen(rewrite, edits, chosen)),
            )
        return self._marks[1]

    def _text(self, width: int) -> Text:
        try:
            return self._lines_text(width)
        except ScanvizError as error:  # what a record holds of a graph is looked at only now
            return report_text([ReportLine(word) for word in str(error).split("\n")], width)

    def _lines_text(self, width: int) -> Text:
        history, loop = self.history, self.state.loop_record
        if history is None:
            return Text("no rewrites of this function were recorded")
        if self.other == "why not":
            scan = loop.name if self.own and loop else None
            rules = dict.fromkeys(refusal.rule for refusal in refusals_of(history, scan))
            lines = [
                line for rule in rules for line in why_not_lines(history, Options(why_not=rule, scan=scan))
            ]
            if lines:
                return report_text(lines, width)
            return Text("no rule was refused" + (" anywhere" if scan is None else f" in {sanitize(scan)}"))
        if self.other == "why":
            return (
                report_text(why_lines(history, loop.name), width)
                if loop is not None
                else Text("choose a loop")
            )
        if not history.applications:
            return Text(f"no rule changed this function (rules: {sanitize(history.selection)})")
        entry = history.applications[min(self.state.rewrite, len(history.applications) - 1)]
        options, function = Options(style=STYLES[self.style_at]), self.state.function_record
        lines = list(step_lines(history, entry, options, width))
        if options.style == "costs" and function is not None:
            lines += run_cost_lines(self.state.record, function)
        text = report_text(lines, width)
        return with_signs(text, linked_selection(self.state))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Give the focus to the difference, which scrolls; escape comes back."""
        event.stop()
        focus_now(self.query_one("#rewrites-pane"))

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Select the application under the cursor."""
        event.stop()
        table = self._list
        if table.has_focus and table.chosen is not None and table.chosen != self.state.rewrite:
            self.other = ""
            self.move(self.state.at_rewrite(table.chosen))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys of the list while the film is shown."""
        return not (self.film and action in ("style", "refusals", "origins", "measure"))

    def action_style(self) -> None:
        """Show the difference in the next way."""
        self.other = ""
        self.style_at = (self.style_at + 1) % len(STYLES)
        self.redraw()

    def action_refusals(self) -> None:
        """Show why rules did not fire, or the difference again."""
        self._toggle("why not")

    def action_origins(self) -> None:
        """Show the origins of the loop's operations, or the difference again."""
        self._toggle("why")

    def _toggle(self, other: str) -> None:
        self.other = "" if self.other == other else other
        self.redraw()

    def action_measure(self) -> None:
        """Measure the effect of each rule by running the script again; the key must be pressed twice."""
        record = self.state.record
        script = sanitize(shlex.join([record.script, *record.arguments])) if record.script else "the script"
        if not self._asked:
            self._asked = True
            self.notify(f"a once more runs {script} again, a minute or so", title="measure?", markup=False)
            return
        self._asked = False
        self.app.run_worker(self._measure, thread=True, group="measuring", exclusive=True)

    def _measure(self) -> None:
        source: Source = self.app.source  # type: ignore[attr-defined]  # the one application that there is
        call = self.app.call_from_thread
        call(self.app.notify, "runs the script again without each rule in turn …", title="measuring")
        failed = source.measure_rules()
        if failed:
            call(self.app.notify, failed, title="not measured", severity="warning", markup=False)
        else:
            call(self.move, self.state.with_record(source.record))

    def action_film(self) -> None:
        """Show the film of the rewrites, or the list and the difference again."""
        self.film = not self.film
        self.query_one(FilmView).stop()
        self.set_class(self.film, "filmed")
        self._drawn = None
        self.redraw()
        self.focus_inside()
        self.refresh_bindings()

    def on_film_view_moved(self, event: FilmView.Moved) -> None:
        """Select the rewrite that a frame shows."""
        event.stop()
        self.move(self.state.at_rewrite(event.after - 1))

    def on_film_view_closed(self, event: FilmView.Closed) -> None:
        """Show the list again."""
        event.stop()
        self.action_film()

    def focus_inside(self) -> None:
        """Give the focus to the film or to the list."""
        focus_now(self.query_one(FilmView).pane if self.film else self._list)

    def action_own(self) -> None:
        """List the rewrites of the selected loop, or all."""
        self.own = not self.own
        self._drawn = None
        self.redraw()

    def command(self) -> str:
        """Return the command line that shows the same."""
        loop, function = self.state.loop_record, self.state.function_record
        scan = f" --scan {quoted(loop.name)}" if self.own and loop is not None else ""
        ambiguous = loop is not None and self.state.title(loop) != loop.name
        if function is not None and (self.film or ambiguous):
            scan += f" --function {quoted(function.name)}"
        if self.film:
            return f"scanviz graph FILE --film{scan} -o film.html"
        if self.other == "why" and loop is not None:
            return f"scanviz rewrites FILE --why {quoted(loop.name)}"
        if self.other == "why not":
            return f"scanviz rewrites FILE --all{scan}"
        style = "" if self.style_at == 0 else f" --{STYLES[self.style_at]}"
        return f"scanviz rewrites FILE --step {self.state.rewrite}{style}"

    @property
    def _list(self) -> SortedTable:
        return self.query_one("#rewrites-table", SortedTable)

    def table(self) -> SortedTable | None:
        """Return the applications; None while the film is shown."""
        return None if self.film else self._list

    def rows(self) -> list[str]:
        """Return the applications, or the lines of the film's picture."""
        return [line.plain for line in self.query_one(FilmView).pane.lines] if self.film else super().rows()

    def go_to(self, row: int) -> None:
        """Select an application, or a line of the film's picture."""
        if self.film:
            self.query_one(FilmView).pane.point_at(row)
        else:
            self.move(self.state.at_rewrite(self._list.order[row]))


class DifferencePane(VerticalScroll, can_focus=True):
    """The difference, which scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "list", "list", show=False),
        Binding("j", "scroll_down", "down", show=False),
        Binding("k", "scroll_up", "up", show=False),
        Binding("g", "scroll_home", "top", show=False),
        Binding("G", "scroll_end", "end", show=False),
    ]

    def action_list(self) -> None:
        """Go back to the list."""
        focus_now(self.screen.query_one("#rewrites-table"))

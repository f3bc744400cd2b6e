"""The application: the tree, the tabs, and the keys that are the same everywhere."""

from __future__ import annotations

import gc
import os
import shlex
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus, Resize
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widgets import Input, Tab, Tabs

from scanviz.tui.around import Around
from scanviz.tui.footer import Footer
from scanviz.tui.harmless import Harmless
from scanviz.tui.help import HelpScreen, commands
from scanviz.tui.leave import LeaveScreen, leave_on_signals
from scanviz.tui.left_panel import LeftPanel
from scanviz.tui.model.place import Scrolled
from scanviz.tui.model.source import Source
from scanviz.tui.model.state import ViewState, start
from scanviz.tui.news import News
from scanviz.tui.panels import ONE_LINE, Panels, give_way
from scanviz.tui.search_input import SearchInput, focus_now
from scanviz.tui.searching import Searching, to_first_bad, to_other_loop, to_slowest_step
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.tree import LoopTree
from scanviz.tui.verdict_bar import VerdictBar, place_of
from scanviz.tui.view_tabs import ViewTabs
from scanviz.tui.views import VIEWS
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.steps import StepsView
from scanviz.tui.views.values import ValuesView

SOON = 0.3  # seconds after which nobody waits for the first tab any more
TIDYING = 10.0  # seconds between two searches for objects that nothing holds


class ScanvizApp(TabbedApp):
    """Walk through a profile.

    Parameters
    ----------
    source : Source
        Where the record comes from: a file, or a script that runs.
    """

    CSS_PATH = "app.tcss"
    TITLE = "scanviz"
    ENABLE_COMMAND_PALETTE = True
    ALLOW_IN_MAXIMIZED_VIEW = "#title, #pulse, Footer"
    BINDINGS: ClassVar[list[BindingType]] = [
        # These give the focus to something else: with priority, they do so before the next key is looked at.
        *(
            Binding(str(k), f"view({k - 1})", f"tab {k}", show=False, priority=True)
            for k in range(1, len(VIEWS) + 1)
        ),
        Binding("slash", "search", "filter", priority=True),
        Binding("i", "verdict", "verdict"),
        Binding("y", "copy", "copy command"),
        Binding("question_mark", "help", "help"),
        Binding("q", "quit", "quit"),
        Binding("colon", "step_by_number", "go to step", show=False, priority=True),
        Binding("t", "tree", "tree", show=False),
        Binding("n", "found(1)", "next found", show=False),
        Binding("N", "found(-1)", "found before", show=False),
        Binding("left_square_bracket", "rewrite(-1)", "rewrite before", show=False),
        Binding("right_square_bracket", "rewrite(1)", "next rewrite", show=False),
        Binding("comma", "step(-1)", "step back", show=False),
        Binding("full_stop", "step(1)", "step forward", show=False),
        Binding("f", "first_bad", "first NaN", show=False),
        Binding("tab", "focus_next", "other side", show=False),
        Binding("z", "wide", "whole width", show=False),
        Binding("Z", "enlarge", "enlarge", show=False),
        Binding("I", "panel('verdict')", "hide verdict", show=False),
        Binding("T", "panel('loops')", "hide loops", show=False),
        Binding("B", "panel('facts')", "hide facts", show=False),
        Binding("ctrl+z", "suspend_process", "suspend", show=False),
        Binding("escape", "leave", "back", show=False),
    ]

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        if "TEXTUAL_ANIMATIONS" not in os.environ:
            self.animation_level = (
                "none"  # an answer is worth more than how it moves, above all over a slow line
            )
        self._harmless = Harmless()
        self.stop_wanted = (
            False  # whether a script that runs is to be stopped after the application has ended
        )
        self.ends_on_signals = False  # whether SIGTERM and SIGHUP leave the terminal as it was
        self._came_from: list[tuple[int, ViewState]] = []  # tabs that led to others by enter
        self.around = Around(self)
        self.news = News(self, self.around)
        self.searching = Searching(self, self.around)
        self.panels = Panels(self)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what all lines go through on their way to the terminal."""
        return [*super().get_line_filters(), self._harmless]

    def compose(self) -> ComposeResult:
        """Lay the application out."""
        first = start(self.source.record)
        give_way(self, self.size)  # before there is anything whose styles would have to be applied again
        yield TextBlock(id="title")
        yield TextBlock(id="pulse")
        yield VerdictBar(id="verdict")
        with Horizontal(id="body"):
            yield LeftPanel(id="left")
            with Vertical(id="right"):
                self.views.extend(kind(first, id=kind.__name__) for kind in VIEWS)
                for view in self.views:
                    view.source = self.source
                yield ViewTabs(self.views, id="tabs")
        yield SearchInput(id="search")
        yield Footer()

    def on_mount(self) -> None:
        """Show the record, and listen to the script if one runs."""
        self.set_reactive(ScanvizApp.state, start(self.source.record))
        self.watch_state()
        if self.size.width < ONE_LINE:
            self.view.focus_inside()
        else:
            focus_now(self.loop_tree)
        if not self.source.live:
            self.verdict.look_for_advice(self.source.record)
        self.app_resume_signal.subscribe(self, lambda _: self.set_timer(0.05, self._draw_all))
        self.set_timer(SOON, self._prepare)
        self.set_interval(TIDYING, partial(gc.collect, 1))
        if self.source.live:
            self.news.start()
        if self.ends_on_signals:
            leave_on_signals(self)

    def _prepare(self) -> None:
        """Compute what other tabs would wait for, in a thread: keys of the first second are answered meanwhile."""
        state = self.state

        def prepared() -> None:
            for view in self.views:
                view.prepare(state)

        threading.Thread(target=prepared, name="scanviz: views", daemon=True).start()

    def on_resize(self, event: Resize) -> None:
        """Give way on a narrow terminal."""
        give_way(self, event.size)
        self.call_after_refresh(self.around.tell_title)

    def _draw_all(self) -> None:
        """Draw the whole screen after ctrl+z and fg: the terminal has forgotten it."""
        self.screen.refresh()

    # what is shown

    def watch_state(self) -> None:
        """Show a new state in what is seen; other tabs follow when they are chosen."""
        if not self.views:
            return
        self.around.show()
        self.view.show(self.state)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show which panel keys go to."""
        if self.has_tabs:
            self.call_next(self.around.tell_place)
            self.panels.follow(event.widget)

    def on_scrolled(self, event: Scrolled) -> None:
        """Say where one is now, once for all that moved."""
        if self.has_tabs:
            self.call_next(self.around.tell_place)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """Choose a tab by the mouse, or by keys of the line of tabs, which then keeps the focus."""
        number = list(event.tabs.query(Tab)).index(event.tab)
        if number == self.main.query_one("#tabs", ViewTabs).number:
            return
        by_keys = event.tabs.has_focus
        self._came_from.clear()
        self._choose(number)
        if by_keys:
            focus_now(event.tabs)

    def on_tab_view_moved(self, event: TabView.Moved) -> None:
        """Take the state that a view asks for."""
        self.state = event.state

    def on_tab_view_entered(self, event: TabView.Entered) -> None:
        """Go on to another tab with what was looked at; escape comes back."""
        self._came_from.append((self.views.index(self.view), self.state))
        self._go(next(k for k, view in enumerate(VIEWS) if event.title == view.TITLE), event.state)

    def _go(self, number: int, state: ViewState) -> None:
        """Show a state in a tab, with the cursor on what it looks at."""
        self.set_reactive(ScanvizApp.state, state)  # without its watcher: the tab that is chosen shows it
        self._choose(number)
        self.around.show()
        self.view.point()

    def on_loop_tree_chosen(self, event: LoopTree.Chosen) -> None:
        """Look at what was chosen in the tree."""
        kind, key = event.key
        if kind == "function" and (self.state.loop is not None or key != self.state.function):
            self.state = self.state.at_function(key)
        elif kind == "loop" and key != self.state.loop:
            self.state = self.state.at_loop(key)
        if event.entered:
            self.view.focus_inside()

    # keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys that have priority to a line that is being written, and to a screen above."""
        below = len(self.screen_stack) > 1 or isinstance(self.focused, Input)
        return not (action in ("view", "search", "step_by_number") and below)

    def action_view(self, number: int) -> None:
        """Choose a tab: escape then goes to the tree, as from a tab that nothing led to."""
        self._came_from.clear()
        self.searching.in_tree = False
        self._choose(number)

    def _choose(self, number: int) -> None:
        """Choose a tab and give it the focus, all before anything is drawn, so that it is drawn once."""
        self.panels.shrink()  # now: the next key may come before the focus has told
        self.verdict.set_class(
            number > 0, "inside"
        )  # alone: of a class of ours, all styles would be applied again
        tabs = self.main.query_one("#tabs", ViewTabs)
        tabs.number = number
        self.views[number].show(self.state)
        self.around.tell_title()  # before the tab is laid out, or the title would be drawn after it
        tabs.turn()
        self.views[number].focus_inside()
        self.call_after_refresh(
            self.around.tell_place
        )  # a table that was not seen knows only now what it shows

    def action_rewrite(self, by: int) -> None:
        """Go to the rewrite before or after."""
        self.state = self.state.at_rewrite(self.state.rewrite + by)

    def action_step(self, by: int) -> None:
        """Go a step back or forward."""
        self.state = self.state.at_step(self.state.step + by)

    def action_step_by_number(self) -> None:
        """Ask for a step, and go there: in Steps as it is seen, from any other tab to its values."""
        if not isinstance(self.view, StepsView | ValuesView):
            self.action_view(VIEWS.index(ValuesView))
        if isinstance(self.view, StepsView | ValuesView):
            self.view.action_ask()

    def action_other(self) -> None:
        """Go from a loop to its gradient, and back."""
        to_other_loop(self)

    def on_verdict_bar_followed(self, event: VerdictBar.Followed) -> None:
        """Go to the place that a sentence of the verdict is about; escape comes back."""
        title, state = place_of(event.sentence, self.state)
        self._came_from.append((0, self.state))
        self._go(next(k for k, view in enumerate(VIEWS) if title == view.TITLE), state)

    def action_verdict(self) -> None:
        """Go to the verdict, which stands above the first tab."""
        self.panels.bring_verdict()
        self.action_view(0)
        focus_now(self.verdict)

    def action_tree(self) -> None:
        """Give the focus to the tree."""
        self.panels.bring_loops()
        focus_now(self.loop_tree)

    def action_search(self) -> None:
        """Ask what to search for."""
        self.searching.ask()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search in the tab that is seen."""
        if event.input.id == "search":
            self.searching.answer(event.value)

    def action_found(self, by: int) -> None:
        """Go to the next place that was found, or the one before."""
        self.searching.go(by)

    def action_leave(self) -> None:
        """Show all panels again, all rows, go back to the tab that led here, or to the tree: the first of these."""
        if self.panels.enlarged:
            self.panels.shrink()
        elif self.view.filtered:
            self.view.search("")
            self.around.tell_title()
        elif self._came_from:
            self._go(*self._came_from.pop())
        else:
            self.action_tree()

    def action_wide(self) -> None:
        """Give the tree's place to the tab, or back."""
        self.toggle_class("wide")
        if self.has_class("wide"):
            self.view.focus_inside()

    def action_enlarge(self) -> None:
        """Give the screen to what keys go to, or back to all."""
        self.panels.enlarge()

    def action_panel(self, name: str) -> None:
        """Put a panel away, or bring it back."""
        self.panels.toggle(name)

    def action_copy(self) -> None:
        """Copy the command line that shows the same."""
        command = self.view.command().replace("FILE", shlex.quote(self.source.name), 1)  # names come after it
        self.copy_to_clipboard(command)
        self.notify(command, title="copied", markup=False)

    def action_help(self) -> None:
        """Say what the keys do here."""
        self.push_screen(HelpScreen(self.focused, self.view))

    async def action_quit(self) -> None:
        """Leave; while a script runs, ask what is to become of it."""
        if not self.source.live or not self.source.running:
            self.exit()
            return
        self.push_screen(LeaveScreen(), self._leave)

    def _leave(self, answer: str | None) -> None:
        self.stop_wanted = answer == "stop"
        if answer is not None:
            self.exit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield every action for the palette."""
        yield from super().get_system_commands(screen)
        yield from commands(self)

    def action_slowest(self) -> None:
        """Go to the slowest step."""
        to_slowest_step(self)

    def action_first_bad(self) -> None:
        """Go to the first step with a NaN or an infinity, and to its values; from there to what gave or made it."""
        if not isinstance(self.view, StepsView | ValuesView) and self.state.at_first_bad() is not None:
            self._came_from.append((self.views.index(self.view), self.state))
            self._choose(VIEWS.index(ValuesView))
        to_first_bad(self)

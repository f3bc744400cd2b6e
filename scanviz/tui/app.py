"""The application: the tree, the tabs, and the keys that are the same everywhere."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus, Resize
from textual.screen import Screen
from textual.widgets import Input, Tab, Tabs

from scanviz.tui.around import Around, News
from scanviz.tui.asking import LeaveScreen, SearchInput, focus_now
from scanviz.tui.footer import Footer
from scanviz.tui.help import HelpScreen, commands
from scanviz.tui.left_panel import LeftPanel
from scanviz.tui.model.place import Scrolled
from scanviz.tui.model.source import Source
from scanviz.tui.model.state import ViewState, start
from scanviz.tui.panels import ONE_LINE, Panels, give_way
from scanviz.tui.tabbed_app import TabbedApp, ViewTabs
from scanviz.tui.tree import RunTree
from scanviz.tui.verdict_bar import VerdictBar, place_of
from scanviz.tui.views import VIEWS
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.steps import StepsView
from scanviz.tui.views.values import ValuesView


class ScanvizApp(TabbedApp):
    """Walk through a profile.

    Parameters
    ----------
    source : Source
        Source of the record: a file, or a running script.
    """

    CSS_PATH = "app.tcss"
    TITLE = "scanviz"
    ENABLE_COMMAND_PALETTE = True
    ALLOW_IN_MAXIMIZED_VIEW = "#title, #pulse, Footer"
    BINDINGS: ClassVar[list[BindingType]] = [
        # These move the focus: with priority, they do so before the next key is handled.
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
            self.animation_level = "none"  # animations delay answers, above all over a slow line
        self.stop_wanted = False  # whether a running script is stopped when the application has ended
        self._came_from: list[tuple[int, ViewState]] = []  # tabs that led to others by enter
        self._searched_tree = False  # whether the last search was in the tree
        self.around = Around(self)
        self.news = News(self, self.around)
        self.panels = Panels(self)

    def compose(self) -> ComposeResult:
        """Lay the application out."""
        first = start(self.source.record)
        give_way(self, self.size)  # before there are widgets whose styles would be applied again
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
            focus_now(self.run_tree)
        if not self.source.live:
            self.verdict.look_for_advice(self.source.record)
        # after ctrl+z and fg the terminal has forgotten the screen
        self.app_resume_signal.subscribe(self, lambda _: self.set_timer(0.05, self.screen.refresh))
        if self.source.live:
            self.news.start()

    def on_resize(self, event: Resize) -> None:
        """Adapt to a narrow terminal."""
        give_way(self, event.size)
        self.call_after_refresh(self.around.show_title)

    # what is shown

    def watch_state(self) -> None:
        """Show a new state in the visible tab; others follow when they are chosen."""
        if not self.views:
            return
        self.around.show()
        self.view.show(self.state)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Mark the panel with the focus."""
        if self.has_tabs:
            self.call_next(self.around.show_place)
            self.panels.follow(event.widget)

    def on_scrolled(self, event: Scrolled) -> None:
        """Update the position, once for all scrolling of a frame."""
        if self.has_tabs:
            self.call_next(self.around.show_place)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """Choose a tab with the mouse, or with the keys of the tab bar, which then keeps the focus."""
        number = list(event.tabs.query(Tab)).index(event.tab)
        if number == self.main.query_one("#tabs", ViewTabs).number:
            return
        by_keys = event.tabs.has_focus
        self._came_from.clear()
        self._choose(number)
        if by_keys:
            focus_now(event.tabs)

    def on_tab_view_moved(self, event: TabView.Moved) -> None:
        """Apply the state that a view requests."""
        self.state = event.state

    def on_tab_view_entered(self, event: TabView.Entered) -> None:
        """Go to another tab with a state; escape comes back."""
        self._lead(self.views.index(self.view), event.title, event.state)

    def _lead(self, begin: int, title: str, state: ViewState) -> None:
        """Go from one tab to another; escape comes back."""
        self._came_from.append((begin, self.state))
        self._go([view.TITLE for view in VIEWS].index(title), state)

    def _go(self, number: int, state: ViewState) -> None:
        """Show a state in a tab, with the cursor on its operation, line or value."""
        self.set_reactive(ScanvizApp.state, state)  # without its watcher: the tab that is chosen shows it
        self._choose(number)
        self.around.show()
        self.view.point()

    def on_run_tree_chosen(self, event: RunTree.Chosen) -> None:
        """Look at the loop or function chosen in the tree."""
        kind, key = event.key
        if kind == "function" and (self.state.loop is not None or key != self.state.function):
            self.state = self.state.at_function(key)
        elif kind == "loop" and key != self.state.loop:
            self.state = self.state.at_loop(key)
        if event.entered:
            self.view.focus_inside()

    # keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys with priority to an open question and to a modal screen."""
        below = len(self.screen_stack) > 1 or isinstance(self.focused, Input)
        return not (action in ("view", "search", "step_by_number") and below)

    def action_view(self, number: int) -> None:
        """Choose a tab; escape then goes to the tree."""
        self._came_from.clear()
        self._searched_tree = False
        self._choose(number)

    def _choose(self, number: int) -> None:
        """Choose a tab and focus it before drawing, so that it is drawn once."""
        self.panels.shrink()  # now: the next key may come before the focus has moved
        self.verdict.set_class(
            number > 0, "inside"
        )  # not a class of the application: that restyles everything
        tabs = self.main.query_one("#tabs", ViewTabs)
        tabs.number = number
        self.views[number].show(self.state)
        self.around.show_title()  # before the tab is laid out: else the title is drawn after it
        tabs.turn()
        self.views[number].focus_inside()
        self.call_after_refresh(self.around.show_place)  # a table knows its place once it is visible

    def action_rewrite(self, by: int) -> None:
        """Go to the rewrite before or after."""
        self.state = self.state.at_rewrite(self.state.rewrite + by)

    def action_step(self, by: int) -> None:
        """Go a step back or forward."""
        self.state = self.state.at_step(self.state.step + by)

    def action_step_by_number(self) -> None:
        """Ask for a step and go there; from tabs without steps, in Values."""
        if not isinstance(self.view, StepsView | ValuesView):
            self.action_view(VIEWS.index(ValuesView))
        if isinstance(self.view, StepsView | ValuesView):
            self.view.action_ask()

    def action_other(self) -> None:
        """Go from a loop to its gradient, and back."""
        found = self.state.other_loop()
        if found is None:
            self.notify("This loop has no back-propagation here, and is none.")
        else:
            self.state = self.state.at_loop(found)

    def on_verdict_bar_followed(self, event: VerdictBar.Followed) -> None:
        """Go to the place of a sentence of the verdict; escape comes back."""
        self._lead(0, *place_of(event.sentence, self.state))

    def action_verdict(self) -> None:
        """Go to the verdict, above the first tab."""
        self.panels.bring(self.verdict)
        self.action_view(0)
        focus_now(self.verdict)

    def action_tree(self) -> None:
        """Focus the tree."""
        self.panels.bring(self.left)
        focus_now(self.run_tree)

    # searching: in the tree if it has the focus, else in the visible tab

    @property
    def _searched(self) -> RunTree | TabView:
        return self.run_tree if self._searched_tree else self.view

    def action_search(self) -> None:
        """Ask for a text to find."""
        self._searched_tree = self.focused is self.run_tree
        words = "name of a loop" if self._searched_tree else "text to find; nothing shows all again"
        back = self.action_tree if self._searched_tree else self.view.focus_inside
        self.main.query_one("#search", SearchInput).ask(words, back)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search for the text."""
        if event.input.id != "search":
            return
        self.main.query_one("#search", SearchInput).action_close()
        count = self._searched.search(event.value)
        self.around.show_title()
        if event.value:
            self.notify(f"{count} found: n and N go through them" if count else "nothing found")

    def action_found(self, by: int) -> None:
        """Go to the next match, or the one before."""
        self._searched.next_found(by)

    def action_leave(self) -> None:
        """Show all panels again, else all rows, else the tab that led here, else the tree."""
        if self.panels.enlarged:
            self.panels.shrink()
        elif self.view.filtered:
            self.view.search("")
            self.around.show_title()
        elif self._came_from:
            self._go(*self._came_from.pop())
        else:
            self.action_tree()

    def action_wide(self) -> None:
        """Hide the tree and the verdict, or show them again."""
        self.toggle_class("wide")
        if self.has_class("wide"):
            self.view.focus_inside()

    def action_enlarge(self) -> None:
        """Give the screen to the focused widget, or back to all."""
        self.panels.enlarge()

    def action_panel(self, name: str) -> None:
        """Hide or show a panel."""
        self.panels.toggle(name)

    def action_copy(self) -> None:
        """Copy the command line that prints the content of this tab."""
        command = self.view.command().replace("FILE", shlex.quote(self.source.name), 1)  # names come after it
        self.copy_to_clipboard(command)
        self.notify(command, title="copied", markup=False)

    def action_help(self) -> None:
        """Open the page of keys."""
        self.push_screen(HelpScreen(self.focused, self.view))

    async def action_quit(self) -> None:
        """Leave the application; confirm first while a script runs."""
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
        step = self.state.slowest_step()
        if step is None:
            self.notify("No steps of this loop were kept.")
        else:
            self.state = self.state.at_step(step)

    def action_first_bad(self) -> None:
        """Go to the values of the first step with a NaN or an infinity; pressed again, to the cause."""
        found = self.state.at_first_bad()
        if found is None:
            self.notify(
                "No value that was kept is NaN or infinite."
                if self.state.record.traces
                else "No values were kept: scanviz profile --values SCRIPT keeps them."
            )
            return
        if not isinstance(self.view, StepsView | ValuesView):
            self._came_from.append((self.views.index(self.view), self.state))
            self._choose(VIEWS.index(ValuesView))
        if (found.loop, found.step) == (self.state.loop, self.state.step):
            found = self.state.at_cause() or found
        self.state = found
        self.view.point()

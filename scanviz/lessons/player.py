"""The step player beside a lesson, which is the tab Values of ``scanviz tui``, and the help page."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.widgets import Static

from scanviz.record.model import ProfileRecord
from scanviz.tui.help import HelpScreen
from scanviz.tui.model.source import Source
from scanviz.tui.model.state import ViewState, start
from scanviz.tui.views.base import TabView
from scanviz.tui.views.values import ValuesView

KEYS = ("b", "escape", "space", "colon", "f")  # listed first, for learners
LEGEND = "r read · W written · B read and written · i initial"  # fits half of 110 columns


class ValuesBesideText(ValuesView):
    """The tab Values alone, with names and numbers first."""

    FIELDS = (0, 1, 8, 2, 9)

    @property
    def room(self) -> Size:
        """Size of the view; before its first layout, of the screen."""
        return self.size if self.size.width else self.screen.size


class Player(Vertical):
    """Walk through the loops of a recorded program, a step at a time."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "other", "next loop"),
        Binding("escape", "app.stop('program')", "program"),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.state = ViewState(ProfileRecord())

    def compose(self) -> ComposeResult:
        """Lay the pane out."""
        yield Static("", classes="head", id="loops", markup=False)
        yield Static(LEGEND, classes="head", markup=False)
        yield ValuesBesideText(self.state, id="values")

    @property
    def view(self) -> ValuesView:
        """The widget that shows a step."""
        return self.query_one(ValuesView)

    @property
    def recorded(self) -> bool:
        """True if there are loops to show."""
        return bool(self.state.record.loops)

    def open(self, record: ProfileRecord) -> None:
        """Show a record at the first step of its first forward loop."""
        forward = [loop.key for loop in record.loops if loop.gradient_of is None]
        state = start(record)
        self.view.source = Source(record, "lesson.scanviz")
        self.show(state.at_loop(forward[0]) if forward else state)

    def show(self, state: ViewState) -> None:
        """Show a step."""
        self.state = state
        loops = state.record.loops
        place = next((k for k, loop in enumerate(loops, 1) if loop.key == state.loop), 0)
        several = f" · b next loop ({place} of {len(loops)})" if len(loops) > 1 else ""
        self.query_one("#loops", Static).update(f"← → step · space plays{several} · F4 pane")
        self.view.show(state)

    def on_tab_view_moved(self, event: TabView.Moved) -> None:
        """Apply the move that a key of the view requests."""
        event.stop()
        self.show(event.state)

    def on_tab_view_entered(self, event: TabView.Entered) -> None:
        """Stay, since there is no other tab."""
        event.stop()

    def action_other(self) -> None:
        """Go to the next loop: from a loop to its gradient, and back."""
        keys = [loop.key for loop in self.state.record.loops]
        if self.state.loop in keys:
            self.show(self.state.at_loop(keys[(keys.index(self.state.loop) + 1) % len(keys)]).at_step(0))

    def first_bad(self) -> None:
        """Go to the first step with a NaN or an infinity."""
        found = self.state.at_first_bad()
        if found is None:
            self.app.notify("No value of these steps is NaN or infinite.")
        else:
            self.show(found)
            self.view.point()


ABOUT = """A lesson

Its text, the program that it is about, an exercise to complete, and the program step by step. F4 goes from one to the next.
What you write stays while you go from lesson to lesson."""


class LessonHelp(HelpScreen):
    """A page of keys.

    Parameters
    ----------
    player : Player
        The player, whose keys are listed as well.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f1", "app.pop_screen", "close")]

    def __init__(self, player: Player) -> None:
        super().__init__(None, player.view)
        self._player = player

    def about(self) -> str:
        """Return a description of the screen."""
        return ABOUT

    def parts(self) -> list[tuple[str, object]]:
        """Return the widgets with keys, by title."""
        return [("everywhere", self.app), ("in the steps", self._player), ("", self._player.view)]

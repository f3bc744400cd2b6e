"""The run in a few lines at the top: a bar that adds up to the whole, and the verdict, a sentence per row.

It stands there while the first tab does.  ``i`` goes to it, up and down choose a sentence, and enter, or a click, goes to the place
that the sentence is about.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.message import Message

from scanviz.profiler.advice.report import LONG_NS, to_try
from scanviz.profiler.report.units import duration
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import RunPart, parts_of
from scanviz.record.summary.totals import totals
from scanviz.record.summary.verdict import VerdictSentence, verdict
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import CYAN, GREEN, RED, YELLOW
from scanviz.tui.text.stacked_bar import Segment, fitting, legend, stacked
from scanviz.tui.views.base import TextBlock

SIGNS = {
    "time": ("●", CYAN),
    "why": ("?", CYAN),
    "rewriting": ("↻", GREEN),
    "unusual": ("!", RED),
    "try": ("→", YELLOW),
}
MARGIN = 3  # columns of a sign
PART = 4  # of a terminal's rows, one in so many at the most
SHORTER = {"operations outside of loops": "outside of loops"}


class VerdictBar(TextBlock, can_focus=True):
    """The verdict."""

    ABOUT: ClassVar[str] = (
        "The run in short: what its time was spent on (the bar adds up to 100 %), then a sentence each for the slowest line (●),"
        " why it is slow (?), what rewriting did (↻), what is unusual (!) and what to try (→)."
        " Enter goes to the place that a sentence is about."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "choose(-1)", "sentence before", show=False),
        Binding("down,j", "choose(1)", "next sentence", show=False),
        Binding("enter", "go", "go there"),
    ]

    class Followed(Message):
        """The user followed a sentence to its place."""

        def __init__(self, sentence: VerdictSentence) -> None:
            super().__init__()
            self.sentence = sentence

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.sentences: tuple[VerdictSentence, ...] = ()
        self.chosen = 0
        self._record: ProfileRecord | None = None
        self._segments: list[Segment] = []
        self._rows: list[int] = []  # the sentence of each line
        self._to_try: VerdictSentence | None = None

    def show_state(self, state: ViewState) -> None:
        """Show the verdict of a state's record."""
        if self._record is not state.record:
            self._record = state.record
            parts = parts_of(state.record)
            self._segments = segments(parts)
            self._record_sentences = verdict(state.record, parts)
            self._draw()

    def look_for_advice(self, record: ProfileRecord) -> None:
        """Look for advice in a thread, because it reads graphs."""
        if record.wall_ns >= LONG_NS:  # of shorter runs there is none
            self.run_worker(partial(self._look, record), thread=True, group="advice")

    def _look(self, record: ProfileRecord) -> None:
        found = to_try(record)
        if found is not None:
            self.app.call_from_thread(self.advise, found)

    def advise(self, sentence: VerdictSentence | None) -> None:
        """Show advice as the last sentence."""
        self._to_try = sentence
        self._draw()

    _record_sentences: tuple[VerdictSentence, ...] = ()

    def _draw(self) -> None:
        ends = (self._to_try,) if self._to_try is not None else ()
        self.sentences = (*self._record_sentences, *ends)
        self.chosen = min(self.chosen, max(0, len(self.sentences) - 1))
        width = max(20, self.screen.size.width - 2)
        text = Text(no_wrap=True, overflow="ellipsis")
        self._rows = []
        whole = sum(segment.value for segment in self._segments)
        if self.sentences and whole:
            text.append(f"{duration(whole)} ", "bold")
            room = max(10, min(40, width // 5))
            kept = fitting(self._segments, width - text.cell_len - room - 2)
            text.append_text(stacked(kept, room)).append("  ").append_text(legend(kept))
            self._rows.append(-1)
        rows = wrapped(
            [sentence.text for sentence in self.sentences],
            width - MARGIN,
            max(len(self.sentences), self.screen.size.height // PART - 1),
        )
        for number, (sentence, lines) in enumerate(zip(self.sentences, rows, strict=True)):
            sign, colour = SIGNS[sentence.topic]
            here = "reverse" if number == self.chosen and self.has_focus else ""
            for k, line in enumerate(lines):
                text.append("\n" if text else "")
                text.append(f"{sign if k == 0 else ' '}  ", f"bold {colour}").append(line, here)
                self._rows.append(number)
        self.set_class(not self._rows, "empty")
        self.show(text)

    def on_resize(self, event: Resize) -> None:
        """Redraw for another width."""
        self._draw()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Mark the chosen sentence while the bar has the focus."""
        super().watch_has_focus(has_focus)
        self._draw()

    def action_choose(self, by: int) -> None:
        """Choose the next sentence or the one before."""
        self.chosen = max(0, min(self.chosen + by, len(self.sentences) - 1))
        self._draw()

    def action_go(self) -> None:
        """Go to the place of the sentence."""
        if self.sentences:
            self.post_message(self.Followed(self.sentences[self.chosen]))

    def on_click(self, event: Click) -> None:
        """Follow the sentence that was clicked."""
        number = self._rows[event.y] if 0 <= event.y < len(self._rows) else -1
        if number >= 0:
            self.chosen = number
            self.action_go()


def place_of(sentence: VerdictSentence, state: ViewState) -> tuple[str, ViewState]:
    """Return the tab and the state that a sentence leads to."""
    if sentence.loop is not None:
        state = state.at_loop(sentence.loop)
    elif sentence.function is not None:
        state = state.at_function(sentence.function)
    if sentence.topic == "rewriting":
        return "Rewrites", state
    if sentence.topic == "unusual":
        if sentence.step is None:
            return "Steps", state.at_step(state.slowest_step() or 0)
        several = len({trace.run for trace in state.traces}) > 1
        return "Values", state.at_step(sentence.step).at_run(sentence.run if several else None)
    hottest = state.costliest(sentence.source)
    if sentence.source is None or (hottest is None and sentence.topic == "time"):
        return "Profile", state
    state = state.at_operation(hottest.index) if hottest is not None else state
    return "Source", state.at_line(str(sentence.source))


def segments(parts: Sequence[RunPart]) -> list[Segment]:
    """Return the parts of the run's time, largest first, unattributed time last."""
    return [Segment(SHORTER.get(total.title, total.title), total.total_ns) for total in totals(parts)]


def wrapped(texts: Sequence[str], width: int, most: int) -> list[list[str]]:
    """Wrap texts to at most ``most`` lines together, at least one each; earlier texts are shown whole first.

    Examples
    --------
    >>> wrapped(["one two three", "four five six"], 8, 3)
    [['one two', 'three'], ['four…']]
    """
    found = [textwrap.wrap(sanitize(text), max(8, width)) or [""] for text in texts]
    spare = most - len(found)
    cut: list[list[str]] = []
    for lines in found:
        room = 1 + max(0, min(spare, len(lines) - 1))
        spare -= room - 1
        kept = lines[:room]
        if room < len(lines):
            kept[-1] = textwrap.shorten(f"{kept[-1]} {lines[room]}", max(8, width), placeholder="…")
        cut.append(kept)
    return cut

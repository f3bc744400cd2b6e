"""Report lines of ``scanviz rewrites --verify``, ``--bisect`` and ``--ablate``, and their progress."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from scanviz.engine.measurement.ablation import Effect
from scanviz.engine.measurement.verification import Checked, Verification
from scanviz.profiler.report.text import HEADING, QUIET, TITLE, WARNING, ReportLine, table
from scanviz.profiler.report.units import duration, size
from scanviz.record.graphs.rewrites_snapshot import effect_record
from scanviz.record.plain_text import sanitize

if TYPE_CHECKING:
    from scanviz.engine.function import Function

DELAY, PERIOD = 1.0, 0.25  # seconds before the progress line is first drawn, and between drawings
WIDE = 100  # columns from which the whole table fits


def _wrapped(text: str, style: str = "") -> ReportLine:
    return ReportLine(f"  {text}", style, wraps=True)


def whole_line(function: Function, found: Verification) -> ReportLine:
    """Return whether the function as it runs agrees with its graph."""
    runs = f"as it runs, on the tier {function.backend}, it"
    if found.whole is None:
        return _wrapped(f"{runs} agrees with the graph as built")
    where = f"{found.whole.output}: {found.whole.what}"
    return _wrapped(f"{runs} differs from the graph as built in {where}", WARNING)


def verified_lines(found: Verification) -> Iterator[ReportLine]:
    """Return whether the graph gives the same values after each rewrite."""
    total, exact = len(found.checked), sum(checked.exact for checked in found.checked)
    if found.first_wrong is not None:
        yield _wrong(found.first_wrong)
        return
    if not total:
        yield _wrapped("there is no rewrite of the graph to look at")
        return
    all_of_them = "the one rewrite" if total == 1 else f"each of {total} rewrites"
    some = (
        "up to rounding" if not exact else f"to the last bit for {exact}, up to rounding for {total - exact}"
    )
    yield _wrapped(
        f"values agree before and after {all_of_them}: {'to the last bit' if exact == total else some}"
    )
    if found.skipped:
        yield _wrapped(f"gradients were not compared: {found.skipped}", QUIET)
        return
    versions = ", ".join(str(gradient.index) for gradient in found.gradients)
    noun = "rewrite" if len(found.gradients) == 1 else "rewrites"
    yield _wrapped(f"gradients agree with those of the graph as built, after {noun} {versions}")


def _wrong(wrong: Checked) -> ReportLine:
    assert wrong.difference is not None
    where = f"{wrong.difference.output}: {wrong.difference.what}"
    return _wrapped(f"rewrite {wrong.index}, {wrong.rule} ({wrong.message}), changed {where}", WARNING)


def bisected_lines(wrong: Checked | None) -> Iterator[ReportLine]:
    """Return the first rewrite that changed a value."""
    yield _wrapped("no rewrite changed a value") if wrong is None else _wrong(wrong)


def ablated_lines(effects: Iterator[Effect], width: int, found: list[Effect]) -> Iterator[ReportLine]:
    """Return the effects as a table, after ctrl+c those measured so far."""
    try:
        for effect in effects:
            found.append(effect)  # one by one, for ctrl+c
    except KeyboardInterrupt:
        yield from _table(found, width)
        raise
    yield from _table(found, width)


def _table(effects: list[Effect], width: int) -> Iterator[ReportLine]:
    if not effects:
        yield ReportLine("  there is no rewrite to leave out")
        return
    time_ns = statistics.median(effect.with_ns for effect in effects)
    yield ReportLine(f"  as it is: {duration(time_ns)} a call, peak memory {size(effects[0].with_bytes)}")
    rows = [["without", "a call", "with it", "ratio", "quartiles", "peak", "ratio", "range"]]
    for effect in sorted(effects, key=lambda one: -one.ratio):
        rows.append(
            [
                effect.rule,
                duration(effect.without_ns),
                duration(effect.with_ns),
                "noise" if effect.is_noise else f"{effect.ratio:.2f}",
                f"{effect.low:.2f}–{effect.high:.2f}",
                size(effect.without_bytes),
                "same" if effect.is_memory_noise else f"{effect.memory_ratio:.2f}",
                f"{effect.memory_low:.2f}–{effect.memory_high:.2f}",
            ]
        )
    if width < WIDE:
        rows = [[*row[:2], *row[3:]] for row in rows]
    for k, text in enumerate(table(rows, 1, width - 2)):
        yield ReportLine(f"  {text}", HEADING if k == 0 else "")
    yield _wrapped("ratio: without the rule over with it, so more than 1 is what the rule saves", QUIET)
    for effect in effects:
        if effect.instead:
            others = " and ".join(effect.instead)
            what = "the ratio compares two ways to do it, and does not tell what it is worth"
            yield _wrapped(f"without {effect.rule} its work is done by {others}: {what}", QUIET)
        harm = effect_record(effect).harm()
        if harm:
            yield _wrapped(f"{effect.rule}: {harm}", TITLE)
        if not effect.agrees:
            yield _wrapped(f"without {effect.rule} the results are not the same", WARNING)


class MeasuredProgress:
    """Progress and remaining time of a measurement, in one line of a terminal.

    The line is drawn between measurements, and by no thread of its own, so that it is in no measured time.
    """

    def __init__(self, stream: TextIO) -> None:
        terminal = stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
        self._next = time.monotonic() + DELAY if terminal else math.inf
        self._job, self._line = "", Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            BarColumn(16),
            TimeRemainingColumn(),
            console=Console(file=stream),
            auto_refresh=False,
            transient=True,
            expand=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )  # fmt: skip
        self._task = self._line.add_task("", total=1.0)

    def begin(self, job: str) -> None:
        """Begin a job."""
        self._job = job
        self._line.reset(self._task)

    def notify(self, done: float, what: str) -> None:
        """Draw the completed share of the job, at most a few times a second."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PERIOD
            self._line.start()
            text = f"{self._job}: {sanitize(what)}"
            self._line.update(self._task, completed=done, description=text, refresh=True)

    def erase(self) -> None:
        """Erase the line before other output; the next notification draws it again."""
        if self._line.live.is_started:
            self._line.stop()

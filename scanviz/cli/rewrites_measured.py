"""Verify, bisect and ablate rewrites by running a script's functions again on their inputs."""

from __future__ import annotations

import contextlib
import math
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from scanviz.cli.built import run_to_the_end
from scanviz.engine.measurement.ablation import Effect, ablate
from scanviz.engine.measurement.captured_calls import CapturedCall, CapturedCalls, Uncalled
from scanviz.engine.measurement.verification import CannotRunAgainError, Checked, Verification, bisect, verify
from scanviz.profiler.report.rewrites import RewritesOptions
from scanviz.profiler.report.text import (
    HEADING,
    QUIET,
    TITLE,
    WARNING,
    ReportLine,
    styled,
    table,
    wants_color,
    width_of,
)
from scanviz.profiler.report.units import duration, size
from scanviz.profiler.run.exits import EXIT
from scanviz.record.graphs.rewrites import EffectRecord, RewritesRecord
from scanviz.record.graphs.rewrites_snapshot import effect_record, rewrites_record
from scanviz.record.names import functions_called, is_meant
from scanviz.record.plain_text import sanitize, write_text
from scanviz.record.storage.file import load, save

if TYPE_CHECKING:
    from scanviz.engine.function import Function
    from scanviz.engine.rewrites.history import Record
    from scanviz.profiler.run.runner import Script


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


INTERRUPTED = 130  # exit code after ctrl+c


class MeasurementOptions(NamedTuple):
    """The measurements of ``scanviz rewrites``.

    Attributes
    ----------
    flags : frozenset of str
        ``"verify"``, ``"bisect"``, ``"ablate"``.
    view : RewritesOptions
        The function, loop and rule.
    seconds : int
        Time limit of ``"ablate"``.
    problem : callable
        Returns the problem of the names in ``view``, given the functions; empty if there is none.
    into : Path or None
        A profile for the results of ``"ablate"``.
    """

    flags: frozenset[str]
    view: RewritesOptions
    seconds: int
    problem: Callable[[list[Function]], str]
    into: Path | None = None


def run_and_measure(program: Script, wanted: MeasurementOptions) -> int:
    """Run a program, measure its functions at its end, and return the exit code.

    It is 1 if a rewrite changed a value.
    """
    captured, uncalled = CapturedCalls(), Uncalled()
    stream = sys.stderr  # the program may replace it

    @contextlib.contextmanager
    def observing() -> Iterator[None]:
        with captured.observing(), uncalled.observing():
            yield
            for thread in threading.enumerate():  # as python does before it ends
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()

    return run_to_the_end(
        program, observing(), lambda: _show_measured(captured, uncalled.functions, wanted, stream)
    )


def _show_measured(
    captured: CapturedCalls, uncalled: list[Function], wanted: MeasurementOptions, stream: TextIO
) -> int:
    """Measure, print the results, and return the exit code."""
    if EXIT.ended_by_program:  # by ctrl+c
        return INTERRUPTED
    with contextlib.suppress(Exception):  # the program may have closed it
        sys.stdout.flush()
    color, width = wants_color(stream), width_of(stream)
    right = True
    try:
        problem = wanted.problem([*(call.function for call in captured.calls), *captured.left_out, *uncalled])
        if problem:
            write_text(f"scanviz: {problem}\n", stream)
            return 2
        progress = MeasuredProgress(stream)
        try:
            for line in _lines(captured, uncalled, wanted, width, progress):
                progress.erase()
                write_text(styled(line, width, color) + "\n", stream, colours=color)
                stream.flush()
                right = right and line.style != WARNING
        finally:
            with contextlib.suppress(Exception):  # the terminal may be gone
                progress.erase()
    except KeyboardInterrupt:
        write_text("\nscanviz: interrupted; the results above are complete\n", stream)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads any more
        return 141
    return 0 if right else 1


def _lines(
    captured: CapturedCalls,
    uncalled: list[Function],
    wanted: MeasurementOptions,
    width: int,
    progress: MeasuredProgress,
) -> Iterator[ReportLine]:
    name = wanted.view.function
    calls = [call for call in captured.calls if is_meant(call.function.name, name)]
    for call in calls:
        yield from _of_function(call, wanted, wanted.seconds / len(calls), width, progress)
    left_out = [(function, ": its inputs were too large to be kept") for function in captured.left_out]
    left_out += [(function, " was never called: there are no inputs to run it on") for function in uncalled]
    for function, why in left_out:
        if is_meant(function.name, name):
            yield ReportLine(f"{function.name}{why}", TITLE)
    if not (calls or captured.left_out or uncalled):
        yield ReportLine("no function was built")


def _of_function(
    call: CapturedCall,
    wanted: MeasurementOptions,
    seconds: float,
    width: int,
    progress: MeasuredProgress,
) -> Iterator[ReportLine]:
    function, arrays, flags, view = call.function, call.arrays, wanted.flags, wanted.view
    which = "the inputs of its call" if call.calls == 1 else f"the inputs of one of its {call.calls} calls"
    yield ReportLine(f"{sanitize(function.name)}, on {which}", TITLE)
    try:
        if "verify" in flags:
            progress.begin(f"--verify {sanitize(function.name)}")
            meant = lambda record: _is_meant(record, view)  # noqa: E731
            found_wrong = verify(function, arrays, among=meant, notify=progress.notify)
            yield from verified_lines(found_wrong)
            yield whole_line(function, found_wrong)
        if "bisect" in flags:
            yield from bisected_lines(bisect(function, arrays))
        if "ablate" in flags:
            rules = {rewrite.rule for rewrite in function.rewrites if _is_meant(rewrite, view)}
            narrow = view.rule is not None or view.scan is not None
            yield ReportLine(
                f"  measuring, about {duration(seconds * 1e9)}; ctrl+c shows what there is by then", QUIET
            )
            progress.begin(f"--ablate {sanitize(function.name)}")
            among = rules if narrow else None
            found = ablate(function, arrays, seconds, among=among, notify=progress.notify)
            done: list[Effect] = []
            yield from ablated_lines(found, width, done)
            if wanted.into is not None:
                yield _put_into(
                    wanted.into, function, [effect_record(effect) for effect in done if effect.agrees]
                )
    except CannotRunAgainError as error:  # perhaps an error that the script expects
        yield ReportLine(f"  not looked at: {sanitize(str(error))}", QUIET, wraps=True)


def _is_meant(record: Record, view: RewritesOptions) -> bool:
    """Return whether a rewrite is by the requested rule and of the requested loop."""
    if view.rule not in (None, record.rule):
        return False
    if view.scan is None:
        return True
    change = record.change
    texts = (record.message, *change.moved_out, *change.moved_in, *map(str, change.loop_variables))
    return any(f"`{view.scan}`" in text for text in texts) or any(view.scan in path for path in record.paths)


def _put_into(path: Path, measured: Function, effects: list[EffectRecord]) -> ReportLine:
    """Save the measured effects of rules in a profile's function of the same name.

    Of several such functions, those with the same rewrites get them.  Effects of other rules stay.
    """
    record, done = load(path), _done(rewrites_record(measured.rewrites))
    histories = {function.key: function.rewrites for function in functions_called(record, measured.name)}
    named = {key: history for key, history in histories.items() if history is not None}
    alike = {key: history for key, history in named.items() if len(named) == 1 or _done(history) == done}
    if not alike:
        name = sanitize(measured.name)
        which = f"none of its {len(named)} functions {name} was rewritten like this one"
        why = which if named else f"it has no function {name} with rewrites"
        return ReportLine(f"  nothing was put into {path.name}: {why}", WARNING, wraps=True)
    rules = {effect.rule for effect in effects}
    for key, history in alike.items():
        others = [effect for effect in history.effects if effect.rule not in rules]
        alike[key] = replace(history, effects=(*others, *effects))
    functions = [
        replace(function, rewrites=alike.get(function.key, function.rewrites))
        for function in record.functions
    ]
    save(replace(record, functions=tuple(functions)), path)
    return ReportLine(f"  put into {path.name}", QUIET)


def _done(history: RewritesRecord) -> list[tuple[str, str]]:
    """Return the effects of rules on a function, apart from its memory."""
    return [(one.rule, one.message) for one in history.applications if one.phase != "memory"]

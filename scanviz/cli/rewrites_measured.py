"""Verify, bisect and ablate rewrites by running a script's functions again on their inputs."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from msgspec.structs import replace

from scanviz.cli.built import run_to_the_end
from scanviz.cli.measured_lines import (
    MeasuredProgress,
    ablated_lines,
    bisected_lines,
    verified_lines,
    whole_line,
)
from scanviz.engine.measurement.ablation import Effect, ablate
from scanviz.engine.measurement.captured_calls import CapturedCall, CapturedCalls, Uncalled
from scanviz.engine.measurement.verification import CannotRunAgainError, bisect, verify
from scanviz.profiler.report.rewrites import RewritesOptions
from scanviz.profiler.report.text import (
    QUIET,
    TITLE,
    WARNING,
    ReportLine,
    styled,
    wants_color,
    width_of,
)
from scanviz.profiler.report.units import duration
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
    def watching() -> Iterator[None]:
        with captured.watching(), uncalled.watching():
            yield
            for thread in threading.enumerate():  # as python does before it ends
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()

    return run_to_the_end(
        program, watching(), lambda: _show_measured(captured, uncalled.functions, wanted, stream)
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
    """Return what rules did to a function, apart from its memory."""
    return [(one.rule, one.message) for one in history.applications if one.phase != "memory"]

"""Run a program under the recorder and save its profile however it ends.

An exit handler saves the profile at the very end, after the program's own handlers and threads.  A program terminated by a signal
saves the profile first and then dies by that signal.
"""

from __future__ import annotations

import bisect  # noqa: F401  # for the record: after the program, a file of its own might be found by this name
import gc
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Literal, NamedTuple, TextIO

from msgspec.structs import replace

from scanviz.engine import observe
from scanviz.profiler.recording.limits import measured_limits
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.run.exits import (
    EXIT,
    answer,
    at_the_end,
    free_descriptors,
    note_interrupts,
    register_final_exit,
)
from scanviz.profiler.run.live import Progress, live_file
from scanviz.profiler.run.runner import CannotRunError, Script, run
from scanviz.profiler.values.tracing import Tracer, with_traces
from scanviz.record.model import ProfileRecord
from scanviz.record.names import did_you_mean, listed, not_one_loop
from scanviz.record.paths import seen_from
from scanviz.record.plain_text import sanitize, write_text
from scanviz.record.storage.archive import is_profile
from scanviz.record.storage.file import save
from scanviz.record.storage.writing import signals_wait
from scanviz.record.values import OutcomeRecord


class RunOptions(NamedTuple):
    """Options for recording a program and reporting its profile.

    Attributes
    ----------
    output : Path or None
        The file of the profile; None to save nothing.
    quiet : bool
        Whether to print nothing.
    top : int or None
        Rows of each table; None for the answer alone.
    scan : str or None
        Show only this loop.
    detail : str
        ``"steps"`` or ``"ops"``.
    show : callable, optional
        Prints instead of the report: ``show(record, stream)``.
    values : str or None
        Pattern of the loops whose values are kept; None for none.
    also : callable, optional
        Receives the record too, for example to write its page.
    force : bool
        Whether the profile may overwrite a file that is no profile.
    steps_a_stamp : int
        Number of very short steps that may share one time.
    children : bool
        Whether to record processes started by multiprocessing too.
    roofline : bool
        Whether to measure the machine's limits after the run.
    folder : str
        The user's working directory at the start: the program may change it.
    """

    output: Path | None
    quiet: bool
    top: int | None
    scan: str | None
    detail: str
    show: Callable[[ProfileRecord, TextIO], None] | None = None
    values: str | None = None
    also: Callable[[ProfileRecord], None] | None = None
    force: bool = False
    steps_a_stamp: int = 1
    children: bool = False
    roofline: bool = False
    folder: str = ""


def free_name(path: Path) -> Path:
    """Return a writable path: the given one if it is free or an earlier profile, else a numbered one.

    Examples
    --------
    >>> free_name(Path("nothing-here.scanviz"))
    PosixPath('nothing-here.scanviz')
    """
    candidate, count = path, 0
    while candidate.exists() and not is_profile(candidate):
        count += 1
        candidate = path.with_name(f"{path.stem}-{count}{path.suffix}")
    return candidate


def run_profiled(program: Script, options: RunOptions) -> None:
    """Run a program with every scanviz function recorded; save and report when python ends."""
    tracer = None if options.values is None else Tracer(options.values)
    recorder = Recorder(
        "ops" if options.detail == "ops" else "steps", steps_a_stamp=max(1, options.steps_a_stamp)
    )
    recorder.describe_script(program.title, program.arguments)
    ended = Ending(recorder, options, tracer)
    register_final_exit()
    at_the_end(ended.finish)
    ended.catch_termination()
    if options.children and options.output is not None:
        ended.children = _recorded_children(program, options, options.output)
    observe.attach(recorder)
    if tracer is not None:
        observe.attach(tracer)
    if ended.live is not None:
        ended.live.start()
    if not options.quiet:
        ended.progress.start()
    try:
        run(program)
        ended.outcome = OutcomeRecord("ok", 0)
    except CannotRunError:
        ended.forget()  # nothing ran: an earlier profile of that name stays
        raise
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        ended.outcome = OutcomeRecord(
            "ok" if code == 0 else "exit", code, error.code if isinstance(error.code, str) else ""
        )
        raise
    except KeyboardInterrupt:
        ended.outcome = OutcomeRecord("interrupted", 130, "KeyboardInterrupt")
        raise
    except BaseException as error:
        ended.outcome = OutcomeRecord("error", 1, f"{type(error).__name__}: {error}")
        raise
    finally:
        ended.progress.stop()


def saved_line(saved: Path, folder: str, full: bool) -> str:
    """Return the message about a saved profile: its name relative to a folder, and the commands that show more of it."""
    name = seen_from(folder, str(saved))
    quoted = shlex.quote(name)
    tables = "" if full else f"scanviz report {quoted} --full, "
    return f"Saved {name}. More: {tables}scanviz tui {quoted}"


def _recorded_children(program: Script, options: RunOptions, output: Path) -> Path:
    """Start recording child processes and return the folder of their profiles."""
    from scanviz.profiler.run.children import ChildOptions, free_folder, record_children

    folder, arguments = free_folder(output), tuple(program.arguments)
    detail: Literal["steps", "ops"] = "ops" if options.detail == "ops" else "steps"
    record_children(
        ChildOptions(str(folder), program.title, arguments, detail, max(1, options.steps_a_stamp))
    )
    return folder


@contextmanager
def _no_collections() -> Iterator[None]:
    """Disable garbage collection while the record is written: scanning the program's objects would find nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Ending:
    """Save the profile and print the report when the program ends."""

    def __init__(self, recorder: Recorder, options: RunOptions, tracer: Tracer | None = None) -> None:
        self.recorder, self.options, self.tracer = recorder, options, tracer
        self.outcome = OutcomeRecord("error", None, "the program did not end by itself")
        self.progress = Progress(recorder.progress)
        self.live = live_file(recorder)
        self.done = False
        self.saved: Path | None = None
        self.process = os.getpid()
        self.children: Path | None = None  # folder of child processes' profiles
        self.stream = sys.stderr  # the program may replace the stream

    def forget(self) -> None:
        """Keep no profile and print nothing."""
        self.done = True
        self._detach()

    def _detach(self) -> None:
        observe.detach(self.recorder)
        if self.tracer is not None:
            observe.detach(self.tracer)

    def _record(self) -> ProfileRecord:
        record = self.recorder.record()
        if self.tracer is not None:
            record = with_traces(record, self.tracer)
        if self.children is not None:
            from scanviz.profiler.run.children import with_children

            record = with_children(record, self.children)
        if self.options.roofline:
            record = replace(record, measures=record.measures | measured_limits())
        return record

    def finish(self) -> None:
        """Save the profile and print the report, once, in the original process.

        Signals wait until the profile is saved.  A later signal skips the report; an earlier one is deferred to the end.
        """
        while not self.done and os.getpid() == self.process:
            try:
                self._finish()
            except KeyboardInterrupt:
                EXIT.number = signal.SIGINT
                self._try(self._report_interrupted)
        if os.getpid() == self.process:
            note_interrupts()

    def _finish(self) -> None:
        record = None
        free_descriptors()  # where a signal ends the program, it still holds its files
        if self.children is not None:
            from scanviz.profiler.run.children import end_children

            end_children()
        with signals_wait(), _no_collections():
            self.done = True
            try:
                self.progress.stop()
                self._detach()
                if EXIT.began:  # else an earlier profile of that name stays
                    self.recorder.finish(self.outcome)
                    record = self._record()
                    self.saved = self._saved(record)
            except BaseException:
                EXIT.failed = EXIT.failed or self.outcome.status == "ok"
                raise
        if record is not None:
            self._show_all(record, self.saved)

    def _report_interrupted(self) -> None:
        if self.done:  # else the next attempt saves it
            outcome = f"the profile is saved as {self.saved}" if self.saved else "no profile is saved"
            write_text(f"\nscanviz: interrupted; {outcome}\n", self.stream)

    def _saved(self, record: ProfileRecord) -> Path | None:
        """Save the profile and return its path; a file created there meanwhile that is no profile is kept."""
        live, output = self.live, self.options.output
        if live is not None:
            self._try(lambda: live.stop(record))
        if output is None:
            return None
        places: list[Path] = []

        def keep() -> None:

            places.append(output if self.options.force else free_name(output))
            save(record, places[0])

        return places[0] if self._must(keep, f"the profile could not be saved as {output}") else None

    def _show_all(self, record: ProfileRecord, saved: Path | None) -> None:
        also, show = self.options.also, self.options.show
        if also is not None:
            self._must(lambda: also(record), "the page could not be written")
        if self.options.quiet:
            return
        self._try(self._flush)
        if show is not None:
            self._must(lambda: show(record, self.stream), "")
        else:
            self._try(lambda: self._print(record, saved))

    def _print(self, record: ProfileRecord, saved: Path | None) -> None:
        from scanviz.profiler.advice.report import to_try
        from scanviz.profiler.report.overview import print_report

        write_text("\n", self.stream)
        options, best = self.options, to_try(record)
        problem = "" if options.scan is None else not_one_loop(record, options.scan)
        scan = None if problem else options.scan
        more = (saved_line(saved, options.folder, options.top is not None),) if saved else ()
        print_report(record, self.stream, top=options.top, scan_name=scan, to_try=best, more=more)
        if problem:
            self._failed(problem)
        if self.tracer is not None and self.tracer.loop_names and not self.tracer.matched:
            asked, names = self.tracer.pattern, self.tracer.loop_names
            hint = did_you_mean(asked, names)
            self._failed(f"no loop is named {sanitize(asked)!r}: no values{hint}; loops: {listed(names)}")

    @staticmethod
    def _flush() -> None:
        sys.stdout.flush()

    def _must(self, action: Callable[[], None], problem: str) -> bool:
        """Run an action; report a failure and exclude exit code 0."""
        error = self._try(action)
        if error is None:
            return True
        self._failed(f"{problem}: {error}" if problem else str(error))
        return False

    def _failed(self, problem: str) -> None:
        """Report a failure and exclude exit code 0."""
        EXIT.failed = EXIT.failed or self.outcome.status == "ok"
        self._try(lambda: write_text(f"scanviz: {problem}\n", self.stream))  # stderr may be closed

    @staticmethod
    def _try(action: Callable[[], None]) -> Exception | None:
        """Run an action and return its error: the program's own exit takes precedence."""
        try:
            action()
        except Exception as error:
            return error
        return None

    def catch_termination(self) -> None:
        """Save the profile before SIGTERM or SIGHUP ends the process, unless the program handles the signal itself."""

        def terminated(number: int, frame: FrameType | None) -> None:
            self.outcome = OutcomeRecord("interrupted", 128 + number, "terminated")
            self.finish()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                answer(number, terminated)

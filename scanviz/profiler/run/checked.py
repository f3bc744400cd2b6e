"""Run a program under the checker and report the finding at its end."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TextIO

from scanviz.engine import observe
from scanviz.profiler.report.check import check_as_json, render_check
from scanviz.profiler.report.text import wants_color, width_of
from scanviz.profiler.run.exits import EXIT, register_final_exit
from scanviz.profiler.run.runner import CannotRunError, Script, run
from scanviz.profiler.values.checking import Checker, CheckOptions
from scanviz.record.plain_text import write_json, write_text
from scanviz.record.traces.finding import FindingRecord


def run_checked(program: Script, wanted: CheckOptions, as_json: bool) -> int:
    """Run a program and check every value; return 1 if there is a finding, else 0.

    Raises
    ------
    CannotRunError
        If the program does not exist.
    BaseException
        The program's own error or exit.
    """
    checker = Checker(wanted)
    ending = _Ending(checker, as_json)
    register_final_exit()
    atexit.register(ending.finish)
    observe.attach(checker)
    try:
        run(program)
    except CannotRunError:
        ending.done = True
        raise
    except SystemExit:
        if checker.finding is None:
            raise
    except BaseException:
        ending.fails = True
        raise
    ending.fails = checker.finding is not None
    return int(ending.fails)


class _Ending:
    """Report the finding when python ends, after the program's threads and its own handlers.

    Attributes
    ----------
    fails : bool
        Whether the process ends with an exit code of 1 by itself.
    """

    def __init__(self, checker: Checker, as_json: bool) -> None:
        self.checker, self.as_json = checker, as_json
        self.done = self.fails = False
        self.process = os.getpid()
        self.stream: TextIO = sys.stderr  # the program may replace the streams
        self.out: TextIO = sys.stdout
        checker.on_found = self._in_child

    def finish(self) -> None:
        """Print once, in the original process; a late finding of a thread still ends it with 1."""
        if self.done or os.getpid() != self.process:
            return
        self.done = True
        observe.detach(self.checker)
        self._print()
        if self.checker.finding is not None and not self.fails:
            EXIT.failed = True

    def _in_child(self, finding: FindingRecord) -> None:
        if os.getpid() != self.process:
            self._print()

    def _print(self) -> None:
        record = self.checker.record
        try:
            sys.stdout.flush()
            if self.as_json:
                write_json(check_as_json(record), self.out)
                self.out.flush()
            else:
                out = self.stream
                color = wants_color(out)
                write_text(render_check(record, width=width_of(out), color=color), out, colours=color)
                out.flush()
        except (OSError, ValueError):  # closed streams
            return

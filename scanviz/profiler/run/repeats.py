"""Profiling a program several times, each time in a fresh process, as one profile.

What differs from run to run (the layout of memory, hashing, the clock's frequency) stays the same within a process, so only further
processes show it.  Each is ``scanviz profile`` itself with the same arguments; the first run's record is kept whole and holds the
others' times as ``repeats``.

The first run has the terminal; what the others write to standard output is dropped, since it would stand there N times.  Standard
input is read once and given to each run; of a terminal only the first run can read.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from msgspec.structs import replace

from scanviz.child_process import scanviz_command
from scanviz.profiler.run.exits import Terminated
from scanviz.profiler.run.repeated_input import RepeatedInput
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.storage.file import load
from scanviz.record.traces.sample import FIRST

MOST = 100  # runs
INTERRUPTED = 130  # exit code after ctrl+c


class Repeated(NamedTuple):
    """What came of it.

    Attributes
    ----------
    record : ProfileRecord or None
        The first run with what was kept of the others; None if there is none.
    code : int
        Exit code of the last run: as of ``subprocess``, negative for a signal.
    runs : int
        Runs that were started.
    typed : bool
        Whether standard input was a terminal, of which only the first run could read.
    """

    record: ProfileRecord | None
    code: int
    runs: int
    typed: bool = False


def run_repeatedly(arguments: Sequence[str], count: int) -> Repeated:
    """Profile a program ``count`` times; the first run that fails is the last.

    Parameters
    ----------
    arguments : sequence of str
        Of ``scanviz profile``, without options for the output, the report and repeats.
    count : int
        How often.
    """
    records: list[ProfileRecord] = []
    code, started, given = 0, 0, RepeatedInput()
    with contextlib.closing(given), tempfile.TemporaryDirectory(prefix="scanviz-") as folder:
        for number in range(count):
            path = Path(folder) / f"{number}.scanviz"
            started += 1
            try:
                stdout = None if number == 0 else subprocess.DEVNULL
                code = run_once(["profile", "-q", "-o", str(path), *arguments], number, given, stdout)
            except KeyboardInterrupt:  # the runs that are done are kept, and of the first one what there is
                code = INTERRUPTED
            if path.exists() and (code == 0 or not records):
                records.append(load(path))
            if code != 0:
                break
    typed = given.kind == "terminal"
    if not records:
        return Repeated(None, code, started, typed)
    return Repeated(with_repeats(records[0], records[1:]), code, started, typed)


def with_repeats(first: ProfileRecord, others: Sequence[ProfileRecord]) -> ProfileRecord:
    """Return a record that holds further runs of its program.

    Examples
    --------
    >>> runs = [ProfileRecord(script="rnn.py", wall_ns=ns) for ns in (10, 12, 11)]
    >>> [run.wall_ns for run in with_repeats(runs[0], runs[1:]).repeats]
    [12, 11]
    """
    return replace(first, repeats=(*first.repeats, *map(times_alone, others)))


def times_alone(record: ProfileRecord) -> ProfileRecord:
    """Return what is kept of a further run."""
    functions = tuple(map(_function, record.functions))
    return replace(
        record, functions=functions, loops=tuple(map(_loop, record.loops)), traces=(), calls=(), repeats=()
    )


def _function(function: FunctionRecord) -> FunctionRecord:
    return replace(function, rewrites=None, program=b"")


def _loop(loop: LoopRecord) -> LoopRecord:
    """Return a loop with the first of its steps alone, which a comparison leaves out."""
    return replace(
        loop,
        var_mappings={},
        connection_pattern=(),
        inner_connection_pattern=(),
        series=loop.series[:FIRST],
        series_covers=loop.series_covers[:FIRST],
    )


def run_once(
    arguments: Sequence[str],
    number: int,
    given: RepeatedInput,
    stdout: int | None = None,
    stderr: IO[bytes] | None = None,
) -> int:
    """Run scanviz in a fresh process and return its exit code.

    Parameters
    ----------
    arguments : sequence of str
        Of ``scanviz``.
    number : int
        Which run this is, from 0.
    given : RepeatedInput
        What it reads.
    stdout, stderr : optional
        Where it writes, as of ``subprocess``; where this process does by default.
    """
    with given.of_run(number) as stdin:
        process = subprocess.Popen([*_this_command(), *arguments], stdin=stdin, stdout=stdout, stderr=stderr)
        return _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process and return its exit code."""
    try:
        return process.wait()
    except BaseException as error:  # ctrl+c reaches the program too: it gets the time to end by itself
        if isinstance(error, Terminated):  # this did not
            process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _this_command() -> list[str]:
    """Return how scanviz was started: the interpreter, its options and the module or script."""
    given, whole = sys.argv[1:], sys.orig_argv
    if given and len(whole) > len(given) + 1 and whole[-len(given) :] == given:
        return [sys.executable, *whole[1 : -len(given)]]
    return scanviz_command()

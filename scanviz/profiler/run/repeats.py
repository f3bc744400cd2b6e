"""Profile a program several times, each time in a fresh process, as one profile.

Memory layout, hashing and clock frequency stay the same within a process, so only further processes show their variation.  Each run
is ``scanviz profile`` with the same arguments.  The first run's record is kept whole and holds the times of the others as
``repeats``.

The first run has the terminal; standard output of the others is dropped, since it would appear N times.  Standard input is read
once and passed to each run; only the first run can read from a terminal.
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
    """The result of repeated runs.

    Attributes
    ----------
    record : ProfileRecord or None
        The first run with the times of the others; None without a run.
    code : int
        Exit code of the last run, as in ``subprocess`` negative for a signal.
    runs : int
        Number of started runs.
    typed : bool
        Whether standard input was a terminal, which only the first run could read.
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
        Arguments of ``scanviz profile``, without options for the output, the report and repeats.
    count : int
        Number of runs.
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
            except KeyboardInterrupt:  # finished runs are kept, and the first one even if partial
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
    """Return a further run without the data that only the first run keeps."""
    functions = tuple(map(_function, record.functions))
    return replace(
        record, functions=functions, loops=tuple(map(_loop, record.loops)), traces=(), calls=(), repeats=()
    )


def _function(function: FunctionRecord) -> FunctionRecord:
    return replace(function, rewrites=None, program=b"")


def _loop(loop: LoopRecord) -> LoopRecord:
    """Return a loop with only its first steps, which a comparison leaves out."""
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
        Arguments of ``scanviz``.
    number : int
        Number of the run, from 0.
    given : RepeatedInput
        Standard input of the run.
    stdout, stderr : optional
        Output streams, as in ``subprocess``; by default those of this process.
    """
    with given.of_run(number) as stdin:
        process = subprocess.Popen([*_this_command(), *arguments], stdin=stdin, stdout=stdout, stderr=stderr)
        return _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process and return its exit code."""
    try:
        return process.wait()
    except BaseException as error:  # ctrl+c reaches the program too: give it time to end by itself
        if isinstance(error, Terminated):  # this signal did not reach it
            process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _this_command() -> list[str]:
    """Return the command that started scanviz: the interpreter, its options and the module or script."""
    given, whole = sys.argv[1:], sys.orig_argv
    if given and len(whole) > len(given) + 1 and whole[-len(given) :] == given:
        return [sys.executable, *whole[1 : -len(given)]]
    return scanviz_command()

"""Profile a program several times, each time in a fresh process, as one profile; or two programs in alternating runs.

Memory layout, hashing and clock frequency stay the same within a process, so only further processes show their variation.  Each run
is ``scanviz profile`` with the same arguments.  The first run's record is kept whole and holds the times of the others as
``repeats``.

The first run has the terminal; standard output of the others is dropped, since it would appear N times.  Each run reads standard
input from its beginning: a file is rewound, and of a pipe all that was read during the first run is kept for the others.  Only the
first run can read from a terminal.

Two programs alternate, and so does their order (A B, B A, …): drift of the machine and after-effects of a run, warm caches or a hot
processor, affect both.  Their output is hidden; the error output of a failed program is reported.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, NamedTuple

from msgspec.structs import replace

from scanviz.child_process import scanviz_command
from scanviz.profiler.run.exits import Terminated
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.storage.file import load
from scanviz.record.traces.sample import FIRST

MOST = 100  # runs
INTERRUPTED = 130  # exit code after ctrl+c


Kind = Literal["file", "stream", "terminal", "other"]


def kind_of_input(descriptor: int = 0) -> Kind:
    """Classify a descriptor of standard input by how it can be repeated.

    Examples
    --------
    >>> read, write = os.pipe()
    >>> kind_of_input(read)
    'stream'
    >>> os.close(read), os.close(write)
    (None, None)
    >>> kind_of_input(read)  # closed: every run finds it so
    'other'
    """
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return "other"
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return "stream"
    return "terminal" if os.isatty(descriptor) else "other"


class RepeatedInput:
    """Standard input for one run after the other.

    Parameters
    ----------
    descriptor : int
        The input; it stays open.

    Examples
    --------
    >>> read, write = os.pipe()
    >>> os.write(write, b"1 2 3"), os.close(write)
    (5, None)
    >>> runs = RepeatedInput(read)
    >>> for number in range(2):
    ...     with runs.of_run(number) as given:
    ...         os.read(given, 100)
    b'1 2 3'
    b'1 2 3'
    >>> runs.close()
    """

    def __init__(self, descriptor: int = 0) -> None:
        self.kind = kind_of_input(descriptor)
        self._descriptor = descriptor
        self._start = os.lseek(descriptor, 0, os.SEEK_CUR) if self.kind == "file" else 0
        self._folder = tempfile.TemporaryDirectory(prefix="scanviz-", ignore_cleanup_errors=True)
        self._kept = Path(self._folder.name) / "input"  # of a stream

    @contextmanager
    def of_run(self, number: int) -> Iterator[int | None]:
        """Yield a run's standard input for ``subprocess.Popen``; None is that of this process."""
        if self.kind == "file":
            os.lseek(self._descriptor, self._start, os.SEEK_SET)
        if self.kind != "stream":
            yield subprocess.DEVNULL if self.kind == "terminal" and number else None
        elif number:
            with self._kept.open("rb") as kept:
                yield kept.fileno()
        else:
            read, write = os.pipe()
            self._kept.touch()
            threading.Thread(target=self._feed, args=(write,), daemon=True, name="scanviz input").start()
            try:
                yield read
            finally:
                os.close(read)

    def close(self) -> None:
        """Drop the copy."""
        self._folder.cleanup()

    def _feed(self, write: int) -> None:
        """Copy the input to the first run, as it reads, and to the file for the others."""
        with contextlib.suppress(OSError), open(write, "wb", 0) as end, self._kept.open("wb", 0) as kept:
            while chunk := os.read(self._descriptor, 2**16):
                kept.write(chunk)
                end.write(chunk)  # an error if the run has ended


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
    return replace(first, repeats=(*first.repeats, *map(times_only, others)))


def times_only(record: ProfileRecord) -> ProfileRecord:
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


SECONDS = 60.0  # default time limit of a comparison
LEAST_ROUNDS, MOST_ROUNDS = 3, 24
_TAIL = 2000  # last bytes of a failed program's error output


class ProgramFailedError(Exception):
    """One of two compared programs failed.

    Attributes
    ----------
    name : str
        ``"A"`` or ``"B"``.
    code : int
        The exit code, negative for a signal.
    written : str
        The end of its standard error.
    """

    def __init__(self, name: str, code: int, written: str) -> None:
        super().__init__(f"{name} ended with exit code {code}")
        self.name, self.code, self.written = name, code, written


class InterleavedRuns(NamedTuple):
    """Profiles of two programs: the first run of each, which contains the further runs, and the number of rounds."""

    a: ProfileRecord
    b: ProfileRecord
    rounds: int


def run_in_turns(
    a: Sequence[str],
    b: Sequence[str],
    *,
    seconds: float = SECONDS,
    rounds: int | None = None,
    notify: Callable[[int, float], None] = lambda rounds, seconds: None,
) -> InterleavedRuns:
    """Profile two programs in alternating runs.

    Parameters
    ----------
    a, b : sequence of str
        Arguments of ``scanviz profile``: options, the program and its arguments.
    seconds : float
        Time limit: no round begins that would probably exceed it, but at least three rounds run.
    rounds : int, optional
        Number of rounds, whatever time they take.
    notify : callable
        Called after each round with the rounds and seconds so far.

    Raises
    ------
    ProgramFailedError
        If a program fails or leaves no profile.
    """
    records: tuple[list[ProfileRecord], list[ProfileRecord]] = [], []
    given, begun, done = RepeatedInput(), time.monotonic(), 0
    with contextlib.closing(given), tempfile.TemporaryDirectory(prefix="scanviz-") as folder:
        while done < (MOST_ROUNDS if rounds is None else rounds):
            spent = time.monotonic() - begun
            if rounds is None and done >= LEAST_ROUNDS and spent + spent / done > seconds:
                break
            for side in (0, 1) if done % 2 == 0 else (1, 0):
                run = _Run("AB"[side], (a, b)[side], sum(map(len, records)))
                records[side].append(_profiled(run, Path(folder), given))
            done += 1
            notify(done, time.monotonic() - begun)
    first, second = (with_repeats(runs[0], runs[1:]) for runs in records)
    return InterleavedRuns(first, second, done)


class _Run(NamedTuple):
    name: str
    arguments: Sequence[str]
    number: int


def _profiled(run: _Run, folder: Path, given: RepeatedInput) -> ProfileRecord:
    path = folder / f"{run.number}.scanviz"
    with (folder / "errors").open("w+b") as errors:
        arguments = ["profile", "-q", "-o", str(path), *run.arguments]
        code = run_once(arguments, run.number, given, subprocess.DEVNULL, errors)
        if code != 0 or not path.exists():
            raise ProgramFailedError(run.name, code, _tail(errors))
    return load(path)


def _tail(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
    return file.read().decode(sys.getfilesystemencoding(), "replace").strip()

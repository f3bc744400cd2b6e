"""Profile two programs in alternating runs, each in a fresh process, so that drift of the machine affects both.

Rounds alternate their order (A B, B A, …), so that after-effects of a run, warm caches or a hot processor, affect both.  The number
of rounds follows from the time limit.  Output of the programs is hidden; the error output of a failed program is reported.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from scanviz.profiler.run.repeated_input import RepeatedInput
from scanviz.profiler.run.repeats import run_once, with_repeats
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.file import load

SECONDS = 60.0  # default time limit of a comparison
LEAST, MOST = 3, 24  # rounds
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
        while done < (MOST if rounds is None else rounds):
            spent = time.monotonic() - begun
            if rounds is None and done >= LEAST and spent + spent / done > seconds:
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

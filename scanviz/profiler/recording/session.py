"""Record from Python: ``with scanviz.profile() as p``."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Literal, TextIO

from scanviz.engine import observe
from scanviz.engine.display import Shown
from scanviz.engine.errors import ScanvizValueError
from scanviz.profiler.recording.recorder import DEFAULT_BYTES, Recorder
from scanviz.record.model import OutcomeRecord, ProfileRecord
from scanviz.record.storage.file import save


class Session(Shown):
    """A recording of all scanviz calls in its ``with`` block, of all threads.

    Attributes
    ----------
    recorder : Recorder
        The attached observer.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> sums, _ = scanviz.scan(lambda x_t, s: s + x_t, sequences=x, outputs_info=0.0, name="sums")
    >>> f = scanviz.function([x], sums)
    >>> with scanviz.profile() as p:
    ...     result = f([1.0, 2.0, 3.0])
    >>> [(loop.name, loop.steps) for loop in p.record.loops]
    [('sums', 3)]
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    @property
    def record(self) -> ProfileRecord:
        """The record so far."""
        return self.recorder.record()

    def __enter__(self) -> Session:
        self.recorder.restart()
        observe.attach(self.recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        observe.detach(self.recorder)
        self.recorder.finish(_outcome(error))

    def report(
        self, file: TextIO | None = None, top: int | None = None, scan: str | None = None, full: bool = False
    ) -> None:
        """Print the answer in at most twenty lines, or all tables.

        Parameters
        ----------
        file : text file, optional
            ``sys.stdout`` by default.
        top : int, optional
            Print all tables, with this number of rows each.
        scan : str, optional
            Show only this loop, in full.
        full : bool
            Whether to print all tables.
        """
        from scanviz.profiler.report.overview import USUAL_TOP, print_report

        out = file if file is not None else sys.stdout
        print_report(self.record, out, top=top or (USUAL_TOP if full else None), scan_name=scan)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a ``.scanviz`` file."""
        save(self.record, path)


def profile(
    detail: Literal["steps", "ops"] = "steps", max_bytes: int = DEFAULT_BYTES, steps_a_stamp: int = 1
) -> Session:
    """Return a context manager that records every call of scanviz functions in its block.

    Parameters
    ----------
    detail : {"steps", "ops"}
        ``"steps"`` times each step, and each operation in a sample of the steps; ``"ops"`` times each operation of
        every step, which costs more.
    max_bytes : int
        Approximate memory limit of the recording.
    steps_a_stamp : int
        Number of steps below 5 µs that may share one time.  A long loop of very short steps then runs nearer to its usual speed,
        and a step's time is the mean of its block.

    Returns
    -------
    Session
        ``record`` is the record so far, ``report()`` prints it, ``save(path)`` keeps it.

    Examples
    --------
    >>> import scanviz
    >>> with scanviz.profile() as p:
    ...     pass
    >>> p.record.outcome.status
    'ok'
    """
    if detail not in ("steps", "ops"):
        raise ScanvizValueError(
            "profile() has no such detail", expected="'steps' or 'ops'", found=repr(detail)
        )
    if steps_a_stamp < 1:
        raise ScanvizValueError(
            "profile() cannot time so many steps at once",
            expected="steps_a_stamp of 1 or more",
            found=repr(steps_a_stamp),
        )
    return Session(Recorder(detail, max_bytes, steps_a_stamp=steps_a_stamp))


def _outcome(error: BaseException | None) -> OutcomeRecord:
    if error is None:
        return OutcomeRecord("ok")
    status: Literal["interrupted", "error"] = (
        "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
    )
    return OutcomeRecord(status, None, f"{type(error).__name__}: {error}")

"""``with scanviz.profile() as p``: recording from Python."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Literal, TextIO

from scanviz.engine import observe
from scanviz.profiler.recorder import Recorder
from scanviz.record.file import save
from scanviz.record.model import OutcomeRecord, ProfileRecord


class Session:
    """A recording of everything that runs inside its ``with`` block, in every thread.

    Attributes
    ----------
    recorder : Recorder
        What watches.

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

    def __init__(self, detail: Literal["steps", "ops"] = "steps") -> None:
        self.recorder = Recorder(detail)

    @property
    def record(self) -> ProfileRecord:
        """The record so far."""
        return self.recorder.record()

    def __enter__(self) -> Session:
        observe.attach(self.recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        observe.detach(self.recorder)
        status = "ok" if error is None else "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
        self.recorder.finish(
            OutcomeRecord(status, None, "" if error is None else f"{type(error).__name__}: {error}")
        )

    def report(self, file: TextIO | None = None, top: int = 8, scan: str | None = None) -> None:
        """Print the report.

        Parameters
        ----------
        file : text file, optional
            ``sys.stdout`` by default.
        top : int
            Rows a table.
        scan : str, optional
            Show this loop alone.
        """
        from scanviz.profiler.report import print_report

        print_report(self.record, file if file is not None else sys.stdout, top=top, scan_name=scan)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a ``.scanviz`` file."""
        save(self.record, path)


def profile(detail: Literal["steps", "ops"] = "steps") -> Session:
    """Return a context manager that records every call of scanviz functions in its block.

    Parameters
    ----------
    detail : {"steps", "ops"}
        ``"steps"`` times each step, and each operation in about one step of sixteen; ``"ops"`` times each operation in
        every step, which costs more.

    Examples
    --------
    >>> import scanviz
    >>> with scanviz.profile() as p:
    ...     pass
    >>> p.record.outcome.status
    'ok'
    """
    return Session(detail)

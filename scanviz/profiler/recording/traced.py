"""``scanviz.trace(f, ...)``: one call with the values of its loops kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scanviz.engine import observe
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.values.tracing import DEFAULT_BUDGET, Tracer, with_traces
from scanviz.record.model import OutcomeRecord, ProfileRecord
from scanviz.record.names import loops_called, not_one_loop
from scanviz.record.storage.file import save
from scanviz.record.traces.model import TraceRecord

if TYPE_CHECKING:
    from scanviz.profiler.values.replay import Replayer


class Traced:
    """A call with the values of its loops.

    Attributes
    ----------
    result : object
        Result of the call.
    record : ProfileRecord
        The call as a profile; its times are not the usual ones.
    """

    def __init__(self, result: Any, record: ProfileRecord) -> None:
        self.result, self.record = result, record
        self._replayer: Replayer | None = None

    @property
    def traces(self) -> tuple[TraceRecord, ...]:
        """The values, one entry for each run of a loop."""
        return self.record.traces

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to a ``.scanviz`` file."""
        save(self.record, path)

    def at(self, step: int, scan: str | None = None, run: int = 0) -> TraceRecord:
        """Return the values at any step, kept or recomputed.

        Parameters
        ----------
        step : int
            Counted from 0.
        scan : str, optional
            The loop's name; optional if values of only one loop were kept.
        run : int
            The run of the loop.

        Raises
        ------
        ScanvizValueError
            If there is no such loop, run or step, or its inputs were not kept.

        Examples
        --------
        >>> import scanviz
        >>> from scanviz import tensor as T
        >>> doubled, _ = scanviz.scan(lambda x: 2 * x, outputs_info=1.0, n_steps=1000, name="doubled")
        >>> before, _, after = scanviz.trace(scanviz.function([], doubled)).at(500).variables
        >>> float(after.values[0, 0] / before.values[0, 0])
        2.0
        """
        keys = dict.fromkeys(window.loop for window in self.traces)
        if scan is not None:
            traced = [loop for loop in self.record.loops if loop.key in keys]
            problem = not_one_loop(self.record, scan, traced)
            if problem:
                raise ScanvizValueError(problem)
            keys = dict.fromkeys(loop.key for loop in loops_called(self.record, scan))
        if len(keys) != 1:
            raise ScanvizValueError(f"values of {len(keys)} loops were kept", fix=f"at({step}, scan=NAME)")
        return self._window(next(iter(keys)), run, step, step)

    def _window(self, loop: int, run: int, first: int, last: int) -> TraceRecord:
        if self._replayer is None:
            from scanviz.profiler.values.replay import Replayer

            self._replayer = Replayer(self.record)
        return self._replayer.window(loop, run, first, last)

    def report(self, step: int | None = None, scan: str | None = None) -> str:
        """Return tables of the values as text.

        Parameters
        ----------
        step : int, optional
            The step; by default that of the first NaN or infinity, else the last.
        scan : str, optional
            Show only this loop.
        """
        from scanviz.profiler.report.values import render_values

        return render_values(self.record, step=step, scan_name=scan, look=self._window)

    def __repr__(self) -> str:
        names = {loop.key: loop.name for loop in self.record.loops}
        shown = ", ".join(f"{names[window.loop]} run {window.run}" for window in self.traces)
        return f"<values of {shown or 'no loop'}>"


def trace(
    f: Callable[..., Any],
    *values: Any,
    scan: str = "*",
    budget: int = DEFAULT_BUDGET,
    every: int = 1,
    **named: Any,
) -> Traced:
    """Call a function and keep the values of its loop variables, step by step.

    Each scanviz function is computed twice: as usual for its result and times, and on the reference tier for its values.

    Parameters
    ----------
    f : callable
        A scanviz function, or a callable that calls some.
    *values
        Its arguments.
    scan : str
        A loop's name, or a pattern such as ``"rnn*"``; their gradients are included.
    budget : int
        Byte limit of the values, at most 32 MiB.
    every : int
        Keep every k-th step, and the first, the last, and those around the first NaN and infinity; k doubles when their room
        is full.
    **named
        Its arguments by name.

    Returns
    -------
    Traced
        ``result`` of the call, ``traces`` with the values, ``record`` with the whole profile, ``report()`` as text.

    Raises
    ------
    ScanvizValueError
        If there are loops, but none with such a name.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> sums, _ = scanviz.scan(lambda x_t, s: s + x_t, sequences=x, outputs_info=0.0, name="sums")
    >>> traced = scanviz.trace(scanviz.function([x], sums), [1.0, 2.0, 3.0])
    >>> [run] = traced.traces
    >>> run.steps
    (0, 1, 2)
    >>> {kept.name: kept.values[:, 0].tolist() for kept in run.variables if kept.role == "output"}
    {'s[t]': [1.0, 3.0, 6.0]}
    """
    if not callable(f):
        raise ScanvizTypeError("trace() takes a function", expected="a scanviz function", found=repr(f)[:60])
    tracer, recorder = Tracer(scan, budget, every), Recorder()
    recorder.restart()
    with observe.observed_by(tracer), observe.observed_by(recorder):
        result = f(*values, **named)
    recorder.finish(OutcomeRecord("ok"))
    if tracer.loop_names and not tracer.matched:
        raise ScanvizValueError(
            f"trace() found no loop named {scan!r}", expected="one of " + ", ".join(tracer.loop_names)
        )
    return Traced(result, with_traces(recorder.record(), tracer))

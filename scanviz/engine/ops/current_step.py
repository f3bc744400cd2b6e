"""Which loops are running in this thread, and at which step of each: for the operations that write it down.

Loops whose steps print announce themselves and each step; all others leave this alone, so that they pay nothing for it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from scanviz.engine.graph.context import holding


class RunningLoop:
    """A loop that runs now, and its step."""

    __slots__ = ("name", "step")

    def __init__(self, name: str) -> None:
        self.name, self.step = name, 0


_running: ContextVar[tuple[RunningLoop, ...]] = ContextVar("running_loops", default=())


def running_loop(name: str) -> AbstractContextManager[tuple[RunningLoop, ...]]:
    """Let the loop ``name`` be the innermost one that runs in the block."""
    return holding(_running, (*_running.get(), RunningLoop(name)))


def at_step(step: int) -> None:
    """Say at which step the innermost running loop is."""
    _running.get()[-1].step = step


def running_loops() -> tuple[RunningLoop, ...]:
    """Return the loops that run now and announced themselves, outermost first.

    Examples
    --------
    >>> with running_loop("rnn"):
    ...     at_step(3)
    ...     print([(loop.name, loop.step) for loop in running_loops()])
    [('rnn', 3)]
    """
    return _running.get()

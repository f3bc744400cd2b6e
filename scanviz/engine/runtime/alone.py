"""Runs of loops that take the way they take when nobody watches, and are only counted.

A call that is passed over is made as if nobody watched, so that it takes what it takes alone: code that differs under
observation, such as that of a whole function, is not given up for it.  Of most such calls no times are taken but before and
after them.  Loops leave how many steps they took, for a record has every run and every step.
"""

from __future__ import annotations

from threading import get_ident

from scanviz.engine.observe import Observer
from scanviz.engine.runtime.events import OwnTime, Watch

MOST_RUNS = 4096  # of a call that are told one by one
# by thread, who is told of the call that it makes alone; empty while there is none
ALONE: dict[int, Watch] = {}


class AloneWatch(Watch):
    """Who is told of a call that goes on as if nobody watched.

    Attributes
    ----------
    call : int
        Its number.
    around : Watch or None
        Who is told of the call that the thread made so when this one began.
    """

    __slots__ = ("around", "call")
    is_alone = True
    call: int
    around: Watch | None


def told_alone() -> Watch | None:
    """Return who is told of the call that this thread makes alone, None where it makes none."""
    return ALONE.get(get_ident()) if ALONE else None


def together(runs: list[tuple[int, int, int, int, int, int]]) -> list[tuple[int, int, int, int, int, int]]:
    """Return runs counted together, loop by loop: a call that was thought to be short may have very many.

    Examples
    --------
    >>> together([(7, 1, 3, 3, 0, -1), (8, 1, 1, 1, 0, -1), (7, 1, 5, 5, 0, -1)])
    [(7, 2, 8, 5, 0, -1), (8, 1, 1, 1, 0, -1)]
    """
    found: dict[int, tuple[int, int, int, int, int, int]] = {}
    for loop, count, steps, longest, failed, _ in runs:
        _, counts, all_steps, most, failures, _ = found.get(loop, (loop, 0, 0, 0, 0, -1))
        found[loop] = loop, counts + count, all_steps + steps, max(most, longest), failures + failed, -1
    return list(found.values())


def enter_alone(watch: Watch) -> Watch | None:
    """Let what this thread does be noted with ``watch``, and return with what it was noted before."""
    around = ALONE.get(watch.own.thread)
    ALONE[watch.own.thread] = watch
    return around


def leave_alone(watch: Watch, around: Watch | None) -> None:
    """Let it be noted as before."""
    if around is None:
        ALONE.pop(watch.own.thread, None)
    else:
        ALONE[watch.own.thread] = around


def begin_alone(function: int, watching: tuple[Observer, ...], call: int, own: OwnTime) -> AloneWatch:
    """Return what watches a call that goes on as if nobody watched; it is what such a call before it left, mostly.

    Whoever watches a call that this one is made in has been told that it began.
    """
    watch, own.spare_alone = own.spare_alone, None
    if watch is None or (watch.observers is not watching and watch.observers != watching):
        watch = AloneWatch(function, watching)
    watch.function = function
    watch.waiting = watch.call = call
    own.waiting = watch
    watch.around = ALONE.get(own.thread) if ALONE else None
    ALONE[own.thread] = watch
    return watch  # type: ignore[no-any-return]  # what is spare is typed above the file that keeps it


def end_alone(watch: AloneWatch) -> bool:
    """Return whether nothing was told of the call, so that it may be told as a whole; what there is but its end is told."""
    own = watch.own
    if watch.around is None:
        del ALONE[own.thread]
    else:
        ALONE[own.thread] = watch.around
    if watch.branches:
        watch.sides_taken()
    if watch.waiting is None:
        watch.tell_runs()
        return False
    watch.waiting = own.waiting = None
    own.spare_alone = watch
    return True


__all__ = [
    "ALONE",
    "MOST_RUNS",
    "AloneWatch",
    "begin_alone",
    "end_alone",
    "enter_alone",
    "leave_alone",
    "together",
    "told_alone",
]

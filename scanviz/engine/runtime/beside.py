"""Loops that another thread compiles while the first of a call is compiled and runs: a gradient has at least two.

LLVM and machine code run without Python's lock.  So where a processor is free, the thread that runs the call hands its first loop
to LLVM, and another one plans and writes the loops that come later, for the shapes that they will meet by what is known of the
arguments.  Whoever comes to such a loop takes the code, and waits for it where it is being made.  What nobody has begun, or was
made for other shapes, is made as if there were no other thread.

What a profile tells as making a loop's code is what the call waited for it; what was done beside is told in words.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet

from scanviz.engine.config import config
from scanviz.engine.locks import lock

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import LoopInstruction, Program
    from scanviz.engine.program.shapes import ConcreteShape
    from scanviz.engine.runtime.specialised import Specialised

    Met = tuple[list[ConcreteShape], list[tuple[int, ...]]]

Result = TypeVar("Result")

# a fork waits so long for a loop that is being made, at most, and who would make one for who forks or makes another
PATIENCE_S = 2.0
MAKING = lock()  # held while a loop is made beside


def threads_allowed() -> int:
    """Return how many threads one call may use: ``config.native.threads``, or as many processors as this process may run on."""
    return config.native.threads or len(os.sched_getaffinity(0))


class Compiles(Protocol):
    """The code of one loop by shapes, of a tier that may compile it before its first run.

    Attributes
    ----------
    beside : MadeBeside or None
        What another thread makes of it, until it is taken.
    others : callable or None
        Has another thread make the loops that come later in the call.
    """

    beside: MadeBeside | None
    others: Callable[[], None] | None

    def will_compile(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]], steps: int) -> bool:
        """Return whether its first run, for such shapes and of so many steps, will be one of machine code."""
        ...

    def machine_code(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]], steps: int) -> Specialised:
        """Return machine code for a run of so many steps; NotWrittenError where there can be none."""
        ...


class MadeBeside:
    """What another thread makes of one loop.

    Parameters
    ----------
    tier : Compiles
        Of the loop.
    """

    __slots__ = ("__weakref__", "_ended", "_error", "_found", "_left", "_met", "_tier", "_took_ns")

    def __init__(self, tier: Compiles) -> None:
        self._tier = tier
        self._left = [True]  # who takes this out makes the loop: one operation of Python
        self._ended = threading.Event()
        self._met: Met | None = None
        self._found: Specialised | None = None
        self._error: Exception | None = None
        self._took_ns = 0

    def make(self, met: Met, steps: int) -> None:
        """Make the code in this thread, unless somebody needed it before."""
        if not (self._left and self._tier.will_compile(*met, steps) and self._is_mine()):
            return
        self._met = met  # not before: whoever finds it waits for this thread
        begun = perf_counter_ns()
        try:
            self._found = self._tier.machine_code(*met, steps)
        except Exception as error:  # whoever needs the loop meets it
            self._error = error.with_traceback(None)
        finally:
            self._took_ns = perf_counter_ns() - begun
            self._ended.set()

    def taken(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]]) -> Specialised | None:
        """Return the code that another thread has made for shapes, or raise what it met; None where it is to be made here."""
        if self._is_mine() or self._met != (list(shapes), list(rows)):
            return None
        self._ended.wait()
        if self._error is not None:
            raise self._error
        made = self._found
        if made is not None:
            made.why += f"; made by another thread meanwhile, in {self._took_ns / 1e6:.1f} ms"
        return made

    def lose(self) -> None:
        """In a process that was forked: let nobody wait for a thread that is not there."""
        if not self._ended.is_set():
            self._ended = threading.Event()
            self._ended.set()

    def _is_mine(self) -> bool:
        try:
            return self._left.pop()
        except IndexError:
            return False


def taken(tier: Compiles, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]]) -> Specialised | None:
    """Return what another thread has made of a loop for shapes, once, or raise what it met; None where nobody has."""
    beside = tier.beside
    if beside is None:
        return None
    try:
        made = beside.taken(shapes, rows)
    except Exception:
        tier.beside = None
        raise
    tier.beside = None  # it stays after ctrl+c: the next call takes it
    return made


def begin(program: Program, inputs: Sequence[Any], later: Sequence[tuple[LoopInstruction, Compiles]]) -> None:
    """Have another thread make the loops of a call that come later.

    Parameters
    ----------
    program : Program
        Of the function.
    inputs : sequence of array
        What the call is given.
    later : sequence of (LoopInstruction, Compiles)
        The loops outside of others that come after one that is about to be compiled.
    """
    from scanviz.engine.program import loops_met  # functions of one loop need nothing of it

    made = []
    for loop, tier in later:
        tier.others, tier.beside = None, MadeBeside(tier)
        made.append((loop, tier.beside))
    _WAITED_FOR.update(beside for _, beside in made)
    # in the caller's context: NumPy tells of no floating-point errors there
    work = partial(copy_context().run, _make, program, loops_met.sizes_given(program, inputs), made)
    with suppress(RuntimeError):  # there is no thread to be had: who comes to a loop makes it
        threading.Thread(target=work, name="scanviz: later loops").start()


def _make(
    program: Program,
    given: tuple[list[ConcreteShape], dict[int, int]],
    later: Sequence[tuple[LoopInstruction, MadeBeside]],
) -> None:
    """Make loops, one after another, for the shapes that they will meet."""
    from scanviz.engine.program.loops_met import shapes_met, steps_taken
    from scanviz.engine.program.shapes import shapes_and_sizes

    with suppress(Exception):  # where shapes cannot be told the call says why
        found = _unless_kept_waiting(lambda: shapes_and_sizes(program, *given))
        shapes, sizes = found or ([], {})
        for loop, beside in later if found else ():
            met = shapes_met(loop, shapes)
            if met is not None:
                make = partial(beside.make, met, steps_taken(program, loop, sizes))
                _unless_kept_waiting(make)


def _unless_kept_waiting(do: Callable[[], Result]) -> Result | None:
    """Return the result of a function that is called while nobody forks or makes a loop; None where that is not to be had.

    Ctrl+c in the moment after a fork leaves the lock taken for ever: Python lets go on what should have given it back.
    """
    if not MAKING.acquire(timeout=PATIENCE_S):
        return None
    try:
        return do()
    finally:
        MAKING.release()


_WAITED_FOR: WeakSet[MadeBeside] = WeakSet()


def _wait() -> None:
    """Wait for the loop that is being made, before a fork: the copy would find half of it, and locks of Python's own."""
    MAKING.acquire(timeout=PATIENCE_S)


def _go_on() -> None:
    while MAKING._is_owned():  # since this fork, or one before after which ctrl+c was heard right here
        MAKING.release()


def _go_on_in_child() -> None:
    _go_on()
    for beside in list(_WAITED_FOR):
        beside.lose()


def hold_at_forks() -> None:
    """Wait before forks from now on: what is registered last waits first, and must do so before locks that the maker takes."""
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on_in_child)


__all__ = ["MAKING", "Compiles", "MadeBeside", "begin", "hold_at_forks", "taken", "threads_allowed"]

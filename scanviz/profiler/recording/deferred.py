"""What rules did to functions and what these run, kept as the engine has it while the clock runs, written when it has stopped.

A function that is gone is written down when the next one is compiled, so that the values of its shared variables are not kept for
the end.  Nothing here keeps a function alive.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from scanviz.engine.codec import MisfitError
from scanviz.engine.function import Function
from scanviz.engine.observe import CompiledFunction
from scanviz.engine.program.file import to_bytes
from scanviz.engine.program.instructions import Program, all_loops
from scanviz.engine.program.planned import Plans
from scanviz.record.model import FunctionRecord
from scanviz.record.paths import recorded_path
from scanviz.record.rewrites import RewritesRecord
from scanviz.record.rewrites_snapshot import RewritesSource, rewrites_source, with_planned

LARGEST_PROGRAM = 2**20  # bytes: of larger ones, which hold large constants, nothing is kept


class _Waiting(NamedTuple):
    source: RewritesSource
    function: weakref.ref[Function]
    program: Program


def program_content(program: Program) -> bytes:
    """Return a Program as the content of a file, nothing of one that is too large or has no form as data."""
    programs = [program, *(loop.body for loop, _ in all_loops(program))]
    if sum(constant.nbytes for one in programs for constant in one.constants.values()) > LARGEST_PROGRAM:
        return b""  # without having written it
    try:
        content = to_bytes(program, recorded_path)
    except MisfitError:
        return b""
    return content if len(content) <= LARGEST_PROGRAM else b""


class DeferredRewrites:
    """Rewrites and Programs of functions that wait to be written down, in the order in which the functions were compiled.

    Parameters
    ----------
    keep : callable
        ``keep(function, rewrites, program)`` takes what was written of a function, known by its key.
    """

    def __init__(self, keep: Callable[[int, RewritesRecord, bytes], None]) -> None:
        self._keep = keep
        self._waiting: dict[int, _Waiting] = {}
        self._writing = threading.RLock()  # a signal's handler may ask for the record while its thread writes

    def add(self, event: CompiledFunction) -> None:
        """Keep a function's rewrites for later."""
        if event.function is not None:
            source = rewrites_source(event.function, event.program)
            self._waiting[event.key] = _Waiting(source, weakref.ref(event.function), event.program)

    def write(self, *, all_of_them: bool, wait: bool) -> None:
        """Write down what waits, or only what is of functions that are gone.

        With ``wait``, all of it is written when this returns; else what another thread writes now is left to it.
        """
        if not self._writing.acquire(blocking=wait):
            return
        try:
            for key, each in list(self._waiting.items()):
                wanted = all_of_them or each.function() is None
                if wanted and self._waiting.pop(key, None) is not None:
                    self._keep(key, each.source.record(), program_content(each.program))
        finally:
            self._writing.release()


class PlansMet:
    """The plans that functions made for the shapes they met last: what memory rules did there is read of them for the record."""

    def __init__(self) -> None:
        self._functions: dict[int, weakref.ref[Function]] = {}
        self._plans: dict[int, tuple[Program, Plans]] = {}
        self._made: set[int] = set()  # functions that made code in a call which has not ended

    def add(self, event: CompiledFunction) -> None:
        """Know of a function, which may have been called before anybody watched."""
        if event.function is not None:
            self._functions[event.key] = weakref.ref(event.function)
            self._plans[event.key] = event.program, event.function.memory_plans()

    def code_made(self, key: int) -> None:
        """Note that a function made code: its plans are others than before."""
        self._made.add(key)

    def call_ended(self, key: int) -> None:
        """Take the plans of a function at the end of a call in which it made code."""
        if key in self._made:
            self._made.discard(key)
            function = self._functions[key]() if key in self._functions else None
            if function is not None:
                self._plans[key] = function.program, function.memory_plans()

    def completed(self, record: FunctionRecord) -> FunctionRecord:
        """Return the record of a function with what memory rules did for the shapes met, if its rewrites are recorded."""
        met = self._plans.get(record.key)
        if met is None or not met[1] or record.rewrites is None:
            return record
        return replace(record, rewrites=with_planned(record.rewrites, *met))


__all__ = ["DeferredRewrites", "PlansMet"]

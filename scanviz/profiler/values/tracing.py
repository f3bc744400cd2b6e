"""Keep the values of loop variables, step by step, under a byte budget.

The observer asks the engine for every value.  So each call is computed twice while others time it: as usual, and once more on
the reference tier for its values.  The first and the last run of each loop are kept, and the first with a NaN or an infinity.
The kept steps of a run are chosen in :mod:`scanviz.profiler.values.kept`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from msgspec.structs import replace

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.locks import lock
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.observe import Observer
from scanviz.engine.program.instructions import LoopInstruction, all_loops
from scanviz.profiler.values.held import FIRST_STRIDE, HeldCalls, keep_notable
from scanviz.profiler.values.kept import RunTrace
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord
from scanviz.record.names import given_name
from scanviz.record.program_snapshot import loop_records
from scanviz.record.traces.held_calls import HeldCallRecord
from scanviz.record.traces.layout import trace_heads
from scanviz.record.traces.model import TraceRecord

DEFAULT_BUDGET = 8 * 2**20
LARGEST_BUDGET = 32 * 2**20
RUNS = 4  # of a loop in memory at once: the first, one with an event, the last, and the present one


class _Chosen:
    """A loop whose values are kept."""

    def __init__(self, loop: LoopInstruction, record: LoopRecord) -> None:
        self.heads = trace_heads(loop, record)
        self.inputs = loop.body.inputs
        self.instructions = [instruction.outputs for instruction in loop.body.instructions]
        self.constants = len(loop.non_sequences)
        self.runs = 0
        self.kept: list[RunTrace] = []


class Tracer(Observer):
    """Keep the values of loops whose names match a pattern, and of their gradients.

    Parameters
    ----------
    pattern : str
        A loop's name, or a pattern with ``*``, ``?`` and ``[…]``.
    budget : int
        Byte limit of the values, at most 32 MiB.
    every : int
        Keep every k-th step; k doubles when their room is full.
    stride : int
        Initial number of steps between checkpoints, from which other steps are recomputed.

    Examples
    --------
    >>> Tracer("rnn*").records()
    ()
    """

    detail = "values"

    def __init__(
        self, pattern: str = "*", budget: int = DEFAULT_BUDGET, every: int = 1, stride: int = FIRST_STRIDE
    ) -> None:
        _check_number("the budget of traced values", budget, LARGEST_BUDGET)
        _check_number("the k of every k-th step", every, 2**31)
        self.pattern, self.every = pattern, every
        self._budget = budget
        self._lock = lock()  # not a Lock: a signal's handler may ask for the records at any moment
        self._loops: dict[int, _Chosen] = {}
        # by thread: loops going on, outer first
        self._open: dict[int, list[tuple[int, RunTrace | None]]] = {}
        self._before: dict[int, int] = {}  # by call: open loops of its thread at its start
        self._names: dict[str, None] = {}
        self._calls = HeldCalls(stride)
        self.spent_ns = 0  # on computing and keeping values

    @property
    def loop_names(self) -> list[str]:
        """Names of all loops so far, chosen or not."""
        return list(self._names)

    @property
    def matched(self) -> bool:
        """True if any loop matched."""
        return bool(self._loops)

    def compiled(self, event: CompiledFunction) -> None:
        """Choose loops of a function."""
        records = {record.key: record for record in loop_records(event.key, event.program)}
        loops = {loop.key: loop for loop, _ in all_loops(event.program)}
        with self._lock:
            self._calls.compiled(event)
            for record in records.values():
                self._names[record.name] = None
                if record.key not in self._loops and self._is_chosen(record, records):
                    self._loops[record.key] = _Chosen(loops[record.key], record)

    def _is_chosen(self, record: LoopRecord, others: dict[int, LoopRecord]) -> bool:
        seen: set[int] = set()
        found: LoopRecord | None = record
        while found is not None and found.key not in seen:
            names = (found.name, given_name(found.name))  # the user's name means all loops that have it
            if self.pattern in names or any(fnmatchcase(name, self.pattern) for name in names):
                return True
            seen.add(found.key)
            found = others.get(found.gradient_of) if found.gradient_of is not None else None
        return False

    def function_begin(self, function: int, call: int) -> None:
        """Open a call, perhaps inside a loop of another call."""
        with self._lock:
            self._before[call] = len(self._open.get(threading.get_ident(), ()))
            self._calls.begin(function, call)

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Close a call, and loops that an error left open."""
        with self._lock:
            self._calls.end(call)
            stack = self._open.get(threading.get_ident(), [])
            del stack[self._before.pop(call, 0) :]
            if not stack:
                self._open.pop(threading.get_ident(), None)
            self.spent_ns += elapsed_ns

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Open a run."""
        with self._lock:
            found = self._loops.get(loop)
            run = None
            if found is not None:
                run = RunTrace(found.runs, n_steps, found.heads, self._allowance(), self.every)
                found.runs += 1
            self._open.setdefault(threading.get_ident(), []).append((loop, run))
            self._calls.current.loop_begins(loop)

    def _allowance(self) -> int:
        """Return the bytes for one more run: its share, and at most half of the rest."""
        taken = sum(run.bytes for run in self._held())
        part = self._budget // (RUNS * max(1, len(self._loops)))
        return max(0, min(part, (self._budget - taken) // 2))

    def _held(self) -> Iterator[RunTrace]:
        for loop in self._loops.values():
            yield from loop.kept
        for stack in self._open.values():
            yield from (run for _, run in stack if run is not None)

    def _run_of(self, loop: int | None) -> RunTrace | None:
        """Return this thread's current run of a loop, None if it is not traced."""
        stack = self._open.get(threading.get_ident())
        return stack[-1][1] if stack and stack[-1][0] == loop else None

    def step_begins(
        self, function: int, loop: int, step: int, held: Callable[[int], tuple[Any, ...]]
    ) -> None:
        """Take checkpoints."""
        with self._lock:
            self._calls.current.step_begins(loop, step, held)

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Take the inputs of a step or a call."""
        with self._lock:
            if loop is None:
                self._calls.current.give(values)
            run = self._run_of(loop)
            if run is not None and loop is not None:
                found = self._loops[loop]
                run.begin_step(found.inputs, values, found.constants)
                if not found.instructions:
                    run.end_step()

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Take the results of an operation of a step."""
        with self._lock:
            if loop is None:
                self._calls.current.result(index, values)
                return
            run = self._run_of(loop)
            if run is not None:
                found = self._loops[loop]
                run.give(found.instructions[index], values)
                if index == len(found.instructions) - 1:
                    run.end_step()

    def loop_end(
        self,
        function: int,
        loop: int,
        steps: int,
        elapsed_ns: int,
        setup_ns: int,
        error: BaseException | None,
    ) -> None:
        """Close a run and keep it."""
        with self._lock:
            run = self._run_of(loop)
            stack = self._open.get(threading.get_ident())
            if stack and stack[-1][0] == loop:
                stack.pop()
            if run is None or not run.done:
                return
            run.finish()
            if run.has_event:
                self._calls.current.has_event = True
            keep_notable(self._loops[loop].kept, run)

    def records(self) -> tuple[TraceRecord, ...]:
        """Return the kept values by loop and run, also of runs in progress."""
        with self._lock:
            going_on = [(key, run) for stack in self._open.values() for key, run in stack if run and run.done]
            runs = [(key, run) for key, chosen in self._loops.items() for run in chosen.kept]
            order = list(self._loops)
            both = sorted([*runs, *going_on], key=lambda one: (order.index(one[0]), one[1].number))
            return tuple(run.record(key) for key, run in both)

    def calls(self) -> tuple[HeldCallRecord, ...]:
        """Return the held calls."""
        with self._lock:
            return self._calls.records()


def with_traces(record: ProfileRecord, tracer: Tracer) -> ProfileRecord:
    """Return a record with the values that a tracer kept."""
    known = {loop.key for loop in record.loops}
    return replace(
        record,
        detail="values",
        traces=tuple(trace for trace in tracer.records() if trace.loop in known),
        calls=tuple(call for call in tracer.calls() if all(runs.loop in known for runs in call.runs)),
        cost=replace(record.cost, values_ns=tracer.spent_ns),
    )


def _check_number(what: str, value: object, largest: int) -> None:
    if type(value) is not int or not 0 < value <= largest:
        raise ScanvizValueError(
            f"{what} must be a number", expected=f"an integer from 1 to {largest}", found=repr(value)[:60]
        )

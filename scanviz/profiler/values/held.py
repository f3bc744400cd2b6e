"""Hold the inputs of calls, and checkpoints of their loops, so that any step can be computed again.

The first call of each function, its last, and the first with a NaN or an infinity are kept, under a byte budget: the calls whose
runs :mod:`scanviz.profiler.values.tracing` keeps.  All arrays are copied.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.program.instructions import LoopInstruction, Program, all_loops
from scanviz.record.traces.held_calls import ArrayRecord, CheckpointRecord, HeldCallRecord, RunsRecord

BUDGET = 16 * 2**20  # bytes of all calls that are held
FIRST_STRIDE = 16  # initial number of steps between checkpoints
MOST_CHECKPOINTS = 32  # of a loop; beyond it, every second one is dropped
_PART = 4  # checkpoints may take this fraction of a call's bytes: one in four


class _Checkpoints:
    """The states of a loop at every k-th step; k doubles when there are too many."""

    def __init__(self, room: int, stride: int) -> None:
        self.room, self.stride = room, stride
        self.kept: dict[int, tuple[tuple[int, ...], tuple[Any, ...]]] = {}  # step → runs begun, states

    def take(self, step: int, begun: tuple[int, ...], states: tuple[Any, ...]) -> None:
        self.kept[step] = begun, states
        size = max(1, sum(array.nbytes for array in states))
        while self.kept and len(self.kept) > min(MOST_CHECKPOINTS, self.room // size):
            self.stride *= 2
            self.kept = {k: values for k, values in self.kept.items() if not k % self.stride}


class KnownProgram:
    """A function whose calls are held.

    Parameters
    ----------
    event : CompiledFunction
        The function.
    stride : int
        Initial number of steps between checkpoints.

    Attributes
    ----------
    outputs : list of tuple of int
        Output registers of each instruction.
    outer : set of int
        Keys of the outermost loops.
    read : set of int
        Results of loops that other instructions read.
    begun : dict of int to int
        Runs begun so far, by loop.
    kept : list of HeldCall
        Calls that have ended: the first, the first with an event, and the last.
    open : list of HeldCall
        Calls in progress.
    """

    def __init__(self, event: CompiledFunction, stride: int) -> None:
        program: Program = event.program
        loops = [loop for loop in program.instructions if isinstance(loop, LoopInstruction)]
        filled = {register for loop in loops for register in loop.outputs}
        self.key, self.stride, self.calls = event.key, stride, 0
        self.outputs = [instruction.outputs for instruction in program.instructions]
        self.input_names = tuple(program.registers[number].name or "" for number in program.inputs)
        self.outer = {loop.key for loop in loops}
        self.read = filled.intersection(
            register for reader in program.instructions for register in reader.inputs
        )
        self.begun = {loop.key: 0 for loop, _ in all_loops(program)}
        self.kept: list[HeldCall] = []
        self.open: list[HeldCall] = []

    def held(self) -> list[HeldCall]:
        """Return the held calls, in order."""
        return sorted([*self.kept, *self.open], key=lambda call: call.number)


class _HasEvent(Protocol):
    @property
    def has_event(self) -> bool: ...


_Kept = TypeVar("_Kept", bound=_HasEvent)


def keep_notable(kept: list[_Kept], new: _Kept) -> None:
    """Keep a run or call as the latest, beside the first one and the first with an event."""
    last_has_first_event = bool(kept) and kept[-1].has_event and not any(one.has_event for one in kept[:-1])
    if len(kept) > 1 and not last_has_first_event:
        kept.pop()
    kept.append(new)


_Call = TypeVar("_Call")


class OpenCalls(threading.local, Generic[_Call]):
    """The open calls of each thread, outer first, each with its number."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, _Call]] = []

    @property
    def current(self) -> _Call | None:
        """The innermost call of this thread."""
        return self.calls[-1][1] if self.calls else None

    def close(self, call: int) -> _Call | None:
        """Close the innermost call and return it, if it has this number."""
        return self.calls.pop()[1] if self.calls and self.calls[-1][0] == call else None


class HeldCalls:
    """The held calls of all functions.

    Parameters
    ----------
    stride : int
        Initial number of steps between checkpoints.

    Examples
    --------
    >>> HeldCalls().records()
    ()
    """

    def __init__(self, stride: int = FIRST_STRIDE) -> None:
        self._stride = stride
        self._functions: dict[int, KnownProgram] = {}
        self._thread = OpenCalls[HeldCall]()

    def compiled(self, event: CompiledFunction) -> None:
        """Note a function."""
        self._functions.setdefault(event.key, KnownProgram(event, self._stride))

    def begin(self, function: int, call: int) -> None:
        """Open a call; concurrent calls of one function are not held, nor calls without loops."""
        known = self._functions[function]
        taken = sum(inputs.bytes for other in self._functions.values() for inputs in other.held())
        opened = HeldCall(known, known.calls, max(0, BUDGET - taken) // 2)
        known.calls += 1
        known.open.append(opened)
        if len(known.open) > 1 or not known.begun:
            for held in known.open:
                held.drop()
        self._thread.calls.append((call, opened))

    def end(self, call: int) -> None:
        """Close a call."""
        found = self._thread.close(call)
        if found is not None:
            found.function.open.remove(found)
            keep_notable(found.function.kept, found)

    @property
    def current(self) -> HeldCall:
        """The current call of this thread."""
        return self._thread.calls[-1][1]

    def records(self) -> tuple[HeldCallRecord, ...]:
        """Return the held calls, also those in progress."""
        calls = [call for known in self._functions.values() for call in known.held()]
        return tuple(call.record() for call in calls if call.fits and call.given)


class HeldCall:
    """A call in progress, or one that has ended.

    Parameters
    ----------
    function : KnownProgram
        The called function.
    number : int
        The number of the call.
    room : int
        Bytes it may take.
    """

    def __init__(self, function: KnownProgram, number: int, room: int) -> None:
        self.function, self.number, self.room = function, number, room
        self.fits, self.given, self.has_event = True, False, False
        self.bytes = 0  # checkpoints count with all the room they may take
        self.inputs: tuple[Any, ...] = ()
        self._first = dict(function.begun)  # runs of each loop that began before
        self._counts = dict.fromkeys(function.begun, 0)
        self.results: dict[int, Any] = {}
        self.checkpoints: dict[int, _Checkpoints] = {}

    def drop(self) -> None:
        """Release all arrays."""
        self.fits, self.bytes = False, 0
        self.inputs, self.results, self.checkpoints = (), {}, {}

    def give(self, values: Sequence[Any]) -> None:
        """Copy the inputs of the Program."""
        whole = sum(np.asarray(value).nbytes for value in values) + self.room // _PART
        self.given, self.fits = True, self.fits and whole <= self.room
        if self.fits:
            self.inputs, self.bytes = tuple([np.array(value) for value in values]), whole

    def result(self, index: int, values: Sequence[Any]) -> None:
        """Copy results of a loop that other instructions read, if there is room."""
        for register, value in zip(self.function.outputs[index], values, strict=True):
            if self.fits and register in self.function.read and self.bytes + value.nbytes <= self.room:
                self.results[register] = np.array(value)
                self.bytes += value.nbytes

    def loop_begins(self, loop: int) -> None:
        """Count a run of a loop."""
        self._counts[loop] += 1
        self.function.begun[loop] += 1

    def step_begins(self, loop: int, step: int, held: Callable[[int], tuple[Any, ...]]) -> None:
        """Take a checkpoint of an outermost loop, at some of its steps."""
        if not self.fits or loop not in self.function.outer:
            return
        found = self.checkpoints.get(loop)
        if found is None:
            found = self.checkpoints[loop] = _Checkpoints(
                self.room // _PART // len(self.function.outer), self.function.stride
            )
        if step and not step % found.stride:
            found.take(
                step, tuple(self._first[key] + count for key, count in self._counts.items()), held(step)
            )

    def record(self) -> HeldCallRecord:
        """Return the call as a record."""
        arrays: list[ArrayRecord] = []

        def place(array: Any) -> int:
            arrays.append(ArrayRecord.of(array))
            return len(arrays) - 1

        return HeldCallRecord(
            function=self.function.key,
            call=self.number,
            inputs=tuple(map(place, self.inputs)),
            input_names=self.function.input_names,
            runs=tuple(RunsRecord(key, self._first[key], count) for key, count in self._counts.items()),
            checkpoints=tuple(
                CheckpointRecord(loop, step, counts, tuple(map(place, states)))
                for loop, taken in self.checkpoints.items()
                for step, (counts, states) in sorted(taken.kept.items())
            ),
            results={str(register): place(value) for register, value in self.results.items()},
            arrays=tuple(arrays),
        )

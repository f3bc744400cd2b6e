"""Compile a whole function, for calls in which everything around the loops takes longer than the loops.

A function is compiled as a loop of one step whose non-sequences are the inputs, for the shapes of one kind of call.  Inputs and
results are copied to and from memory with fixed addresses: for small arrays that is faster than asking for their addresses.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.call_arguments import CallArguments
from scanviz.engine.backends.native.emit.code import Kind, code_of
from scanviz.engine.backends.native.run.counts import LONGEST, runs_counted, table
from scanviz.engine.backends.native.run.gathered_arguments import argument_arrays
from scanviz.engine.backends.native.run.tier import EMITS
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observation.events import Run
from scanviz.engine.observation.probe import Probe
from scanviz.engine.program.instructions import (
    LoopInstruction,
    NonSequenceSlot,
    Program,
    StepOutputSlot,
    all_loops,
    dtype_of,
)
from scanviz.engine.program.plan import BufferLayout, buffer_layout, chains, plan_loop
from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.buffer_pool import lent_bytes
from scanviz.engine.runtime.calling import Pool

THREADS = 4  # the most concurrent calls whose memory is kept
MOST_SHAPES = 8  # per function: the shapes for which a thread counts runs in the function's memory
MOST_SCRATCH = 384 * 2**10  # the most bytes of inner rows, which are kept between calls
ENDED_WELL = 1 << 2  # one step, and nothing else


def as_loop(program: Program) -> LoopInstruction:
    """Return a program that holds a loop as the step of a loop of one step."""
    first = next(loop for loop, _ in all_loops(program))
    count, given = len(program.outputs), len(program.inputs)
    return LoopInstruction(
        op=first.op,
        inputs=(*range(given), given),
        outputs=tuple(range(given + 1, given + 1 + count)),
        provenance=first.provenance,
        node_id=first.node_id,
        name=program.name,
        n_steps=given,
        sequences=(),
        states=(),
        step_outputs=tuple(
            StepOutputSlot("", number, given + 1 + k, None) for k, number in enumerate(program.outputs)
        ),
        carries=(),
        non_sequences=tuple(NonSequenceSlot("", k, number) for k, number in enumerate(program.inputs)),
        body=program,
        until=None,
        allow_gc=False,
        mode=None,
        profile=False,
    )


class WorkingMemory:
    """Memory of one call at a time.

    Attributes
    ----------
    given, results : list of array
        The memory of the inputs and of the outputs.
    counts : array or None
        The counts of the loops in all calls.
    where, what : int
        The addresses of the code's arguments.
    """

    def __init__(
        self,
        program: Program,
        shapes: Sequence[tuple[int, ...]],
        memory: BufferLayout,
        arguments: CallArguments,
    ) -> None:
        self.given = [
            _empty(shape, dtype_of(program, number))
            for number, shape in zip(program.inputs, shapes, strict=True)
        ]
        rows = [
            _empty((1, *(row or ())), dtype_of(program, number))
            for number, row in zip(program.outputs, memory.outputs, strict=True)
        ]
        self.results = [row[0, ...] for row in rows]
        buffers = [_empty(shape, dtype) for shape, dtype in memory.buffers]
        self.counts = table(arguments.counted) if arguments.counted else None
        given: dict[str, list[Any]] = {"fixed": self.given, "output": rows, "buffer": buffers}
        arrays = argument_arrays(arguments, given | {"counts": [self.counts]})
        addresses, numbers = array("Q", map(address, arrays)), array("q", [1] * len(rows))
        self.where, self.what = addresses.buffer_info()[0], numbers.buffer_info()[0]
        self._held = arrays, addresses, numbers
        self._counted = arguments.counted
        self._last_read = None if self.counts is None else self.counts.copy()

    def read(self) -> list[Run]:
        """Return the counts since the last reading."""
        if self.counts is None or self._last_read is None:
            return []
        now = self.counts.copy()
        before, self._last_read = self._last_read, now
        since = now - before
        since[:, LONGEST] = now[:, LONGEST]
        return runs_counted(self._counted, since)


def _empty(shape: Sequence[int], dtype: str) -> Array:
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    return lent_bytes(max(size, 1))[:size].view(dtype).reshape(shape)


class WholeFunction:
    """Machine code of a whole function for the shapes of its inputs.

    Parameters
    ----------
    program : Program
        The program of the function.
    shapes : sequence of shape
        The shapes of its inputs.
    counts : bool
        Whether the code counts runs of its loops.

    Raises
    ------
    NotWrittenError
        If an operation has no native code, or its loops have many rows.
    """

    def __init__(self, program: Program, shapes: Sequence[tuple[int, ...]], counts: bool = False) -> None:
        loop = as_loop(program)
        plan = plan_loop(loop, tuple(map(tuple, shapes)), chains, EMITS, ())
        kind = Kind("plain", counts=counts, calls_out=False)
        machine, arguments = code_of(loop, plan, kind)
        if arguments.scratch > MOST_SCRATCH:
            raise NotWrittenError("its rows would keep memory between calls")
        self._machine, self._function = machine, machine.function
        memory = buffer_layout(plan)
        self.memory: Pool[WorkingMemory] = Pool(
            lambda: WorkingMemory(program, shapes, memory, arguments), THREADS
        )
        self._program, self._shapes = program, shapes
        self._counting: WholeFunction | None = None

    def run_noting(self, inputs: Sequence[Any], probe: Probe) -> list[Array] | None:
        """Return the outputs by code that counts the runs of the loops, in memory of the probe."""
        counting = self._counting
        if counting is None:
            with probe.own.aside():  # not the program's own time
                counting = self._counting = WholeFunction(self._program, self._shapes, counts=True)
        memory = probe.counters.get(counting)
        if memory is None:
            if len(probe.counters) >= MOST_SHAPES:
                probe.notify_counted()
                probe.counters.clear()
            memory = probe.counters[counting] = counting.memory.take()
        return counting(inputs, memory)

    def __call__(self, inputs: Sequence[Any], counting: WorkingMemory | None = None) -> list[Array] | None:
        """Return the outputs in new arrays; None if an operation failed, which a call by parts reports.

        ``counting`` is the memory in which code counts; failed calls are not counted.
        """
        memory = counting or self.memory.take()
        before = memory.counts.tobytes() if memory.counts is not None else b""
        for place, value in zip(memory.given, inputs, strict=True):
            place[...] = value
        found = self._function(0, 1, memory.where, memory.what)
        results = [result.copy() for result in memory.results] if found == ENDED_WELL else None
        if counting is None:
            self.memory.give_back(memory)
        if results is None and memory.counts is not None:
            memory.counts.reshape(-1)[:] = np.frombuffer(before, np.int64)
        return results

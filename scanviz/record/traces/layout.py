"""The values of a loop's step and their names: the heads of :class:`TracedVariableRecord`, without numbers.

Like :mod:`scanviz.record.program_snapshot` it reads the engine's objects once and gives plain data; registers link a head to
the engine's events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from scanviz.engine.program.instructions import LoopInstruction
from scanviz.engine.scan.variables import step_name
from scanviz.record.graphs.graph import cell_name
from scanviz.record.loops import LoopRecord
from scanviz.record.traces.model import TracedVariableRecord

_STATES = ("mitmot", "mitsot", "sitsot")


class TraceHead(NamedTuple):
    """A value of the step.

    Attributes
    ----------
    register : int
        Number of its register in the loop's body.
    record : TracedVariableRecord
        Its description, without numbers.
    """

    register: int
    record: TracedVariableRecord


def trace_heads(loop: LoopInstruction, record: LoopRecord) -> list[TraceHead]:
    """Return the values of a loop's step: inputs, results of operations, outputs.

    Parameters
    ----------
    loop : LoopInstruction
        The loop in its program.
    record : LoopRecord
        The same loop as data; its variables and operations are the ones that heads refer to.
    """
    return [*_inputs(loop, record), *_operations(loop, record), *_outputs(loop, record)]


def _inputs(loop: LoopInstruction, record: LoopRecord) -> Iterator[TraceHead]:
    places = _places(record)
    for sequence in loop.sequences:
        yield _input(loop, sequence.inner, sequence.name, next(places["sequence"]), sequence.tap)
    for state in loop.states:
        index = next(places["state"])
        for tap, register in state.reads:
            yield _input(loop, register, state.name, index, tap)
    for carry in loop.carries:
        yield _input(loop, carry.read, carry.name, next(places["carry"]), None)
    for constant in loop.non_sequences:
        yield _input(loop, constant.inner, constant.name, next(places["non_sequence"]), None)


def _input(loop: LoopInstruction, register: int, name: str, index: int | None, tap: int | None) -> TraceHead:
    written = name if tap is None else step_name(name, tap)
    called = loop.body.registers[register].name or written
    return TraceHead(
        register, TracedVariableRecord(called, "input", index, tap, None, None, _dtype(loop, register))
    )


def _operations(loop: LoopInstruction, record: LoopRecord) -> Iterator[TraceHead]:
    for index, instruction in enumerate(loop.body.instructions):
        known = record.operations[index] if index < len(record.operations) else None
        for place, register in enumerate(instruction.outputs):
            label = known.label if known is not None else f"operation {index}"
            name = loop.body.registers[register].name or (f"{label} [{place}]" if place else label)
            source = known.source if known is not None else None
            yield TraceHead(
                register,
                TracedVariableRecord(name, "operation", None, None, index, source, _dtype(loop, register)),
            )


def _outputs(loop: LoopInstruction, record: LoopRecord) -> Iterator[TraceHead]:
    places = _places(record)
    for state in loop.states:
        index = next(places["state"])
        reads = [(tap, loop.body.registers[register].name or "") for tap, register in state.reads]
        for tap, register in state.writes:
            yield _output(loop, register, cell_name(state.name, tap, reads), index, tap)
    for output in loop.step_outputs:
        yield _output(loop, output.inner, step_name(output.name, 0), next(places["nitsot"]), 0)
    for carry in loop.carries:
        yield _output(loop, carry.write, carry.name, next(places["carry"]), None)
    if loop.until is not None:
        yield _output(loop, loop.until, "until", None, None)


def _output(loop: LoopInstruction, register: int, name: str, index: int | None, tap: int | None) -> TraceHead:
    maker = next(
        (k for k, instruction in enumerate(loop.body.instructions) if register in instruction.outputs), None
    )
    return TraceHead(
        register, TracedVariableRecord(name, "output", index, tap, maker, None, _dtype(loop, register))
    )


def _places(record: LoopRecord) -> dict[str, Iterator[int | None]]:
    """Return the indices of loop variables by kind: slots of a kind keep the variables' order."""
    found: dict[str, list[int | None]] = defaultdict(list)
    for index, variable in enumerate(record.variables):
        found["state" if variable.kind in _STATES else variable.kind].append(index)
    return defaultdict(_unknown, {kind: iter([*places]) for kind, places in found.items()})


def _unknown() -> Iterator[int | None]:
    while True:
        yield None


def _dtype(loop: LoopInstruction, register: int) -> str:
    return loop.body.registers[register].type.dtype

"""Programs as records: loops with their variables, mappings and operations, copied once into plain data.

The only file of the profiler that reads the engine's objects.  Nothing of the engine is held afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from scanviz.engine.graph.nodes import describe
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.ops.index import STATE_HISTORY
from scanviz.engine.program.instructions import (
    Instruction,
    LoopInstruction,
    Program,
    instruction_kind,
    nested_loops,
)
from scanviz.engine.program.value_names import ValueNames, name_of
from scanviz.engine.scan.layout import Layout
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.settings import Member
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    inner_inputs,
    inner_outputs,
    kind_of,
    taps_of,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.record.model import (
    FunctionRecord,
    LoopRecord,
    LoopVariableRecord,
    OperationRecord,
    SourceRecord,
)
from scanviz.record.names import numbered
from scanviz.record.paths import recorded_path


def source_record(line: object) -> SourceRecord | None:
    """Return a source line as data; None for anything else."""
    if not isinstance(line, SourceLine):
        return None
    return SourceRecord(recorded_path(line.file), line.line, line.text())


def function_record(event: CompiledFunction) -> FunctionRecord:
    """Return a compiled function as data, still without loops and calls."""
    return FunctionRecord(
        key=event.key,
        name=_named(event.name, event.where),
        source=source_record(event.where),
        backend=event.backend,
        build_ns={stage: max(0, int(spent)) for stage, spent in event.build_ns.items()},
        operations=_operations(event.program),
        tier_reason=event.tier_reason,
    )


def loop_records(function: int, program: Program) -> list[LoopRecord]:
    """Return a record of each loop of a program, outer before inner, still without runs."""
    found, depths = [], dict[int | None, int]()
    everywhere = [loop for loop, _, _ in nested_loops(program)]
    for loop, parent, outer in nested_loops(program):
        around = None if parent is None else parent.key
        depths[loop.key] = depths.get(around, 0) + 1
        record = _loop_record(function, loop, around, outer, depths[loop.key])
        keys, alone = forward_loops(loop, outer, everywhere)
        first, *others = keys or (None,)
        found.append(replace(record, gradient_of=first, also_gradient_of=tuple(others), does_more=not alone))
    return found


def operation_records(
    program: Program, typical_ns: Sequence[float], mean_ns: Sequence[float | None], samples: int
) -> tuple[OperationRecord, ...]:
    """Return the operations of a program with their times."""
    return tuple(
        replace(operation, samples=samples, typical_ns=typical, mean_ns=mean)
        for operation, typical, mean in zip(_operations(program), typical_ns, mean_ns, strict=True)
    )


def value_name(program: Program, number: int) -> str:
    """Return the name of a value of a program: the user's name, a constant's number, or its operation."""
    return _Names(program).of(number)


def _named(name: str, line: object) -> str:
    """Return a name; one from a source line (``scan at file:line``) has the recorded file."""
    source = source_record(line)
    return name.replace(str(line), str(source)) if source is not None else name


def _operations(program: Program, depth: int = 0) -> tuple[OperationRecord, ...]:
    names = _Names(program)
    return tuple(
        _operation(program, index, label, depth) for index, label in enumerate(numbered(names.labels()))
    )


def _operation(program: Program, index: int, label: str, depth: int) -> OperationRecord:
    instruction = program.instructions[index]
    made = instruction.provenance
    return OperationRecord(
        index=index,
        label=label,
        kind=instruction_kind(instruction),
        output=str(program.registers[instruction.outputs[0]].type) if instruction.outputs else "",
        source=source_record(instruction.provenance.source),
        loop=instruction.key if isinstance(instruction, LoopInstruction) else None,
        moved_from="/".join(made.scans[depth:]) if isinstance(instruction, Instruction) else "",
        rule=made.rule or "",
    )


class _Names(ValueNames):
    """Names of values in a record: a loop without a name has the recorded file."""

    def loop(self, loop: LoopInstruction) -> str:
        """Return a loop's name in words."""
        named = _named(loop.name, loop.provenance.source)
        return named if named.startswith("scan ") else f"scan {named}"


def _loop_record(
    function: int, loop: LoopInstruction, parent: int | None, outer: Program, depth: int
) -> LoopRecord:
    scan = loop.op
    assert isinstance(scan, Scan)
    layout, slots = Layout(scan), _slots(loop)
    read_back, names = read_backwards(loop, outer), _Names(outer)
    return LoopRecord(
        key=loop.key,
        function=function,
        parent=parent,
        name=_named(loop.name, loop.provenance.source),
        source=source_record(loop.provenance.source),
        has_until=loop.until is not None,
        operations=_operations(loop.body, depth),
        variables=tuple(
            _variable(variable, slots[variable], names, read_back) for variable in scan.variables
        ),
        var_mappings={name: _as_tuples(entries) for name, entries in layout.var_mappings.items()},
        connection_pattern=tuple(map(tuple, layout.connection_pattern())),
        inner_connection_pattern=tuple(map(tuple, layout.inner_connection_pattern())),
    )


def _as_tuples(entries: dict[int, Any]) -> dict[str, tuple[int, ...]]:
    return {str(key): tuple(value) if isinstance(value, list) else (value,) for key, value in entries.items()}


def _variable(
    variable: LoopVariable, slot: object, around: _Names, read_back: set[int]
) -> LoopVariableRecord:
    reads, writes = taps_of(variable)
    inner = [*inner_inputs(variable), *inner_outputs(variable)]
    given, result = getattr(slot, "outer", None), getattr(slot, "result", None)
    return LoopVariableRecord(
        kind=kind_of(variable),
        name=variable.name,
        reads=reads,
        writes=writes,
        inner_inputs=tuple(map(describe, inner_inputs(variable))),
        inner_outputs=tuple(map(describe, inner_outputs(variable))),
        outer_input=None if given is None else around.of(given),
        outer_output=None if result is None else name_of(around.program, result) or variable.name,
        type=str(inner[0].type),
        keep_last=getattr(slot, "keep_last", None),
        read_backwards=bool(read_back & {result, getattr(slot, "history", None)}),
    )


def _slots(loop: LoopInstruction) -> dict[LoopVariable, object]:
    """Return the slot of each loop variable: slots of a kind keep the variables' order."""
    scan = loop.op
    assert isinstance(scan, Scan)
    kinds: tuple[tuple[type[LoopVariable], Sequence[object]], ...] = (
        (LoopSequence, loop.sequences),
        (State, loop.states),
        (StepOutput, loop.step_outputs),
        (Carry, loop.carries),
        (NonSequence, loop.non_sequences),
    )
    return {
        variable: slot
        for kind, slots in kinds
        for variable, slot in zip(
            (variable for variable in scan.variables if isinstance(variable, kind)), slots, strict=True
        )
    }


def _members(loop: LoopInstruction) -> tuple[Member, ...]:
    assert isinstance(loop.op, Scan)
    return loop.op.settings.members(loop.node_id)


def _forward_ids(loop: LoopInstruction) -> set[int]:
    return {one.gradient_of.node_id for one in _members(loop) if one.gradient_of is not None}


def _is_gradient_of(backward: LoopInstruction, forward: LoopInstruction) -> bool:
    wanted = _forward_ids(backward)
    return backward is not forward and any(one.node_id in wanted for one in _members(forward))


def forward_loops(
    loop: LoopInstruction, around: Program, everywhere: Sequence[LoopInstruction]
) -> tuple[tuple[int, ...], bool]:
    """Return the forward loops of a backward loop: in its own program, else in other loops' steps.

    The second result is whether they and the loop do nothing else: merged loops may do more work.

    Parameters
    ----------
    loop : LoopInstruction
        The backward loop.
    around : Program
        The program it is in.
    everywhere : sequence of LoopInstruction
        All loops of the function: the gradient of a loop in a step stands in another step.
    """
    beside = [one for one in around.instructions if isinstance(one, LoopInstruction)]
    found = [one for one in beside if _is_gradient_of(loop, one)]
    found = found or [one for one in everywhere if _is_gradient_of(loop, one)]
    wanted = _forward_ids(loop)
    alone = len(wanted) > 0 and all(one.gradient_of is not None for one in _members(loop))
    alone = alone and all(one.node_id in wanted for forward in found for one in _members(forward))
    return tuple(one.key for one in found), alone or not found


def read_backwards(forward: LoopInstruction, program: Program) -> set[int]:
    """Return the registers of a loop's results that loops of its gradient read."""
    maker = {number: instruction for instruction in program.instructions for number in instruction.outputs}
    found: set[int] = set()
    for instruction in program.instructions:
        if isinstance(instruction, LoopInstruction) and _is_gradient_of(instruction, forward):
            found.update(_root(slot.outer, maker) for slot in instruction.sequences)
    return found & set(forward.outputs)


def _root(number: int, maker: Mapping[int, object]) -> int:
    """Return the register whose memory or rows a view shows."""
    made = maker.get(number)
    while isinstance(made, Instruction):
        views = made.op.declaration.views
        place = 0 if made.op.declaration is STATE_HISTORY else views
        if place is None:
            break
        number = made.inputs[place]
        made = maker.get(number)
    return number

"""Programs as records: loops with their variables, mappings and operations, copied once into plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.graph.nodes import describe
from scanviz.engine.graph.provenance import SourceLine, short_path
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    all_loops,
)
from scanviz.engine.scan.layout import Layout
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import (
    LoopVariable,
    Sequence as LoopSequence,
    State,
    inner_inputs,
    inner_outputs,
    kind_of,
)
from scanviz.record.model import LoopRecord, LoopVariableRecord, OperationRecord, SourceRecord


def source_record(line: SourceLine | None) -> SourceRecord | None:
    """Return a source line as data, its file relative to the working folder."""
    return None if line is None else SourceRecord(short_path(line.file), line.line, line.text())


def operations(program: Program) -> list[OperationRecord]:
    """Return the instructions of a program, not those inside its loops."""
    return [_operation(program, index, each) for index, each in enumerate(program.instructions)]


def _operation(program: Program, index: int, instruction: AnyInstruction) -> OperationRecord:
    kinds = {Instruction: "operation", LoopInstruction: "loop", BranchInstruction: "branch"}
    output = str(program.registers[instruction.outputs[0]].type) if instruction.outputs else ""
    return OperationRecord(
        index=index,
        label=_label(program, instruction),
        kind=kinds[type(instruction)],
        output=output,
        source=source_record(instruction.provenance.source),
        loop=instruction.key if isinstance(instruction, LoopInstruction) else None,
    )


def _label(program: Program, instruction: AnyInstruction) -> str:
    if isinstance(instruction, LoopInstruction):
        return f"scan {instruction.name}"
    names = [program.registers[number].name or "·" for number in instruction.inputs]
    symbol = instruction.op.declaration.symbol
    if symbol and len(names) == 2:
        return f"{names[0]} {symbol} {names[1]}"
    return f"{instruction.op}({', '.join(names)})"


def loop_records(function: int, program: Program) -> list[LoopRecord]:
    """Return a record of each loop of a program, outer before inner, without times yet."""
    found = []
    for loop, parent in all_loops(program):
        outer = parent.body if parent is not None else program
        found.append(_loop_record(function, loop, parent, outer))
    return found


def _loop_record(
    function: int, loop: LoopInstruction, parent: LoopInstruction | None, outer: Program
) -> LoopRecord:
    scan = loop.op
    assert isinstance(scan, Scan)
    layout = Layout(scan)
    return LoopRecord(
        key=loop.key,
        function=function,
        parent=parent.key if parent is not None else None,
        name=loop.name,
        source=source_record(loop.provenance.source),
        has_until=loop.until is not None,
        operations=operations(loop.body),
        variables=[_variable(each, loop, outer) for each in scan.variables],
        var_mappings={name: _as_lists(entries) for name, entries in layout.var_mappings.items()},
        connection_pattern=layout.connection_pattern(),
        inner_connection_pattern=layout.inner_connection_pattern(),
    )


def _as_lists(entries: dict[int, Any]) -> dict[str, list[int]]:
    return {str(key): list(value) if isinstance(value, list) else [value] for key, value in entries.items()}


def _variable(variable: LoopVariable, loop: LoopInstruction, outer: Program) -> LoopVariableRecord:
    reads, writes = [], []
    if isinstance(variable, State):
        reads, writes = list(variable.reads), list(variable.writes)
    elif isinstance(variable, LoopSequence):
        reads = [variable.tap]
    inner = [*inner_inputs(variable), *inner_outputs(variable)]
    given, result = _outer_registers(variable, loop)
    return LoopVariableRecord(
        kind=kind_of(variable),
        name=variable.name,
        reads=reads,
        writes=writes,
        inner_inputs=[describe(each) for each in inner_inputs(variable)],
        inner_outputs=[describe(each) for each in inner_outputs(variable)],
        outer_input=None if given is None else outer.registers[given].name or f"v{given}",
        outer_output=None if result is None else outer.registers[result].name or f"v{result}",
        type=str(inner[0].type),
    )


def _outer_registers(variable: LoopVariable, loop: LoopInstruction) -> tuple[int | None, int | None]:
    """Return the registers around the loop that a loop variable reads and fills."""
    scan = loop.op
    assert isinstance(scan, Scan)
    groups: Sequence[tuple[str, Sequence[Any]]] = (
        ("sequence", loop.sequences),
        ("state", loop.states),
        ("nitsot", loop.step_outputs),
        ("carry", loop.carries),
        ("non_sequence", loop.non_sequences),
    )
    kind = "state" if isinstance(variable, State) else kind_of(variable)
    alike = [
        each
        for each in scan.variables
        if (isinstance(each, State) and kind == "state") or kind_of(each) == kind
    ]
    slot = dict(groups)[kind][alike.index(variable)]
    return getattr(slot, "outer", None), getattr(slot, "result", None)

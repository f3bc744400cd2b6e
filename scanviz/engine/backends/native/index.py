"""Native code of indices that are known when code is written: parts of arrays, and arrays with a part changed."""

from __future__ import annotations

from scanviz.engine.backends.native.elements import for_each, lanes_of
from scanviz.engine.backends.native.formulas import cast, primitive
from scanviz.engine.backends.native.instructions import (
    WRITE,
    Step,
    Writing,
    copy,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.ir import Value
from scanviz.engine.backends.native.shape import write_view
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import is_basic, numpy_index
from scanviz.engine.program.instructions import Instruction, Program


def _why_no_index(instruction: Instruction, program: Program) -> str | None:
    return None if is_basic(instruction.op.parameters) else "an index by an array has no native code"


def _why_no_part(instruction: Instruction, program: Program) -> str | None:
    basic = is_basic(instruction.op.parameters.pattern)
    return None if basic else "assignment at an index by an array has no native code"


def _write_assign(step: Step, instruction: Instruction) -> None:
    """Write a copy of an array, unless it takes over its memory, and its part."""
    source, value, *numbers = instruction.inputs
    old, target = source_of(step, source), target_of(step, instruction)
    pattern, increment = instruction.op.parameters
    given = [step.places.number(number) for number in numbers]
    new = source_of(step, value)
    if new.base == target.base:  # it may be a part of what is written
        held = step.places.temporary(new.shape, new.dtype)
        copy(step, new, held)
        new = held
    copy(step, old, target)
    part = target.seen(lambda array: array[(*numpy_index(pattern, given), ...)])
    assert part is not None  # an index without arrays

    def written(values: list[Value], lanes: int) -> list[Value]:
        first = cast(step.code, values[0], target.dtype)
        if not increment:
            return [first]
        return [primitive(step.code, "bit_or" if first.dtype == "bool" else "add", [values[1], first])]

    there = step.operand(part)
    reads = [step.operand(new.spread(part.shape)), *([there] if increment else [])]
    for_each(
        step.code, part.shape, reads, [there], written, lanes_of([new.dtype, part.dtype], step.vector_bytes)
    )
    finish(step, instruction, target)


WRITE.row(INDEX)(Writing(_why_no_index, write_view))
WRITE.row(ASSIGN)(Writing(_why_no_part, _write_assign))

"""Native code of powers of integers: a negative exponent is an error of the run, so all are looked at first.

Where one is negative the operation is called out, so that NumPy says so.  What may end a step in this way is no part of a chain.
"""

from __future__ import annotations

from scanviz.engine.backends.native.emit.elements import lanes_of
from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    elements_of,
    source_of,
    write_chain,
    write_elementwise,
)
from scanviz.engine.backends.native.emit.ir import Value
from scanviz.engine.graph.types import SIGNED
from scanviz.engine.ops.elementwise import power
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program, dtype_of, is_scalar


def may_fail(instruction: AnyInstruction, program: Program) -> bool:
    """Return whether an instruction is a power of integers of which an exponent may be negative."""
    if not isinstance(instruction, Instruction) or instruction.op.declaration is not power:
        return False
    exponent = instruction.inputs[1]
    known = program.constants.get(exponent)
    return dtype_of(program, exponent) in SIGNED and (known is None or bool((known < 0).any()))


def _lowest(step: Step, number: int) -> Value:
    """Return the lowest number of an array of integers that has some."""
    from scanviz.engine.backends.native.kernels.reductions import reduce  # seldom needed

    if is_scalar(step.body, number):
        return step.value(number)
    source = source_of(step, number)
    found = step.operand(step.places.temporary((), source.dtype))
    axes, lanes = range(len(source.shape)), lanes_of([source.dtype], step.vector_bytes)
    reduce(step.code, "min", step.operand(source), axes, found, lanes)
    return step.code.load(found.address, source.dtype)


def _write_power(step: Step, instruction: Instruction) -> None:
    (output,) = instruction.outputs
    if not may_fail(instruction, step.body) or 0 in (step.places.shape(output) or ()):
        write_elementwise(step, instruction)
        return

    def write() -> list[Value]:
        if not is_scalar(step.body, output):
            write_chain(step, [instruction], frozenset())
            return []
        return [elements_of(step.code, instruction, step.body, list(map(step.value, instruction.inputs)))]

    lowest = _lowest(step, instruction.inputs[1])
    holds = step.code.op(f"icmp sge {lowest.typed}, 0", "bool")
    step.where(holds, instruction, "a negative power of an integer", write)


WRITE.row(power)(_write_power)

"""Casts that lowering added, told from those that somebody wrote: who is shown an operation wants to see what it was given."""

from __future__ import annotations

from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.program.instructions import NO_NODE, AnyInstruction, Instruction, Program


def is_added_cast(instruction: AnyInstruction) -> bool:
    """Return whether an instruction is a cast that no node of a graph stands for."""
    plain = isinstance(instruction, Instruction) and instruction.node_id == NO_NODE
    return plain and instruction.op.declaration is CAST


def as_written(program: Program, instruction: AnyInstruction) -> tuple[int, ...]:
    """Return the registers that an instruction reads, as they are before casts that lowering added.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> k, x = T.ivector("k"), T.vector("x")
    >>> program = lower([k, x], [k * x], "f")
    >>> cast, product = program.instructions
    >>> product.inputs == (cast.outputs[0], 1), as_written(program, product)
    (True, (0, 1))
    """
    added = {cast.outputs[0]: cast.inputs[0] for cast in program.instructions if is_added_cast(cast)}
    return tuple(added.get(number, number) for number in instruction.inputs)

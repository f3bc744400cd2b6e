"""Which way the rows of arrays lie in memory: one after another from the first to the last, or from the last to the first.

What is here is known of a Program without any shape: loops lay rows one after another, and a view of rows turns them round or
leaves some out at an end.  What NumPy computes of an array whose axes were permuted lies as that does, but for products.  Of all
else nothing is said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.shape import ALLOC, DIMSHUFFLE
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    rank_of,
)


def rows_turned(program: Program) -> Mapping[int, bool]:
    """Return of registers whose rows lie one after another whether the last one is first in memory.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> x = T.matrix("x")
    >>> program = lower([x], [T.exp(x), T.exp(x)[::-1], T.exp(x)[::-1][1:], T.exp(x).T], "f")
    >>> found = rows_turned(program)
    >>> [found.get(number) for number in program.outputs]
    [False, True, True, None]
    >>> program = lower([x], [T.exp(x.T), T.dot(x.T, x)], "f")
    >>> [rows_turned(program).get(number) for number in program.outputs]
    [None, False]
    """
    found: dict[int, bool] = {}
    permuted: set[int] = set()  # registers whose axes may lie in another order
    for instruction in program.instructions:
        if isinstance(instruction, LoopInstruction):
            found |= dict.fromkeys(instruction.outputs, False)
            found |= {
                slot.result: True
                for slot in instruction.step_outputs
                if slot.backwards and slot.result is not None
            }
        elif isinstance(instruction, Instruction):
            if rank_of(program, instruction.outputs[0]) > 1 and _is_permuted(instruction, permuted):
                permuted.update(instruction.outputs)
                continue
            turned = _turned(instruction, found)
            if turned is not None:
                found[instruction.outputs[0]] = turned
    return found


def _is_permuted(instruction: Instruction, permuted: Collection[int]) -> bool:
    """Return whether the axes of a result may lie in another order than they have."""
    declaration = instruction.op.declaration
    if declaration is DIMSHUFFLE:
        kept = [axis for axis in instruction.op.parameters.order if axis is not None]
        if kept != sorted(kept):
            return True
    if declaration is ALLOC or declaration.family == "linalg":  # which begin a new array in C order
        return False
    return any(number in permuted for number in instruction.inputs)


def _turned(instruction: AnyInstruction, found: Mapping[int, bool]) -> bool | None:
    declaration = instruction.op.declaration
    if declaration is INDEX:
        first, *others = instruction.op.parameters.entries
        whole = all(entry.kind == "slice" and entry.numbers() == (None, None, None) for entry in others)
        if first.kind != "slice" or first.step not in (None, 1, -1) or not whole:
            return None
        turned = found.get(instruction.inputs[0])
        return None if turned is None else turned != (first.step == -1)
    if declaration.name == "sum_to_shape":  # most often of the shape that it is to have: the very array
        return found.get(instruction.inputs[0])
    return False if declaration.fresh else None

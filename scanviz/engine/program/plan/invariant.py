"""What stays the same from step to step, so that it is taken once before the loop: views of buffers, parts of non-sequences.

A buffer is one array for the whole run, so a slice of it at fixed places is one view for the whole run, whatever is written there.
What is computed of nothing but non-sequences and constants has one value for the whole run; of those only views, sizes and
numbers in another dtype are taken out here, which cost more to make than to keep.
"""

from __future__ import annotations

from scanviz.engine.graph.declaration import Op
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.shape import RESHAPE
from scanviz.engine.program.instructions import Instruction, LoopInstruction, is_scalar
from scanviz.engine.program.plan.draft import Draft
from scanviz.engine.program.plan.location import Buffer


def invariant_instructions(loop: LoopInstruction, draft: Draft) -> frozenset[int]:
    """Return the indices of the body's instructions that can be run once, before the first step."""
    fixed = {slot.inner for slot in loop.non_sequences} | set(loop.body.constants) | set(draft.sizes)
    whole = {number for number, place in draft.located.items() if isinstance(place, Buffer)}
    views: set[int] = set()  # arrays that are one view of a buffer in every step
    found: set[int] = set()
    for index, instruction in enumerate(loop.body.instructions):
        if not isinstance(instruction, Instruction) or not _is_taken(loop, instruction):
            continue
        (output,) = instruction.outputs
        source, *others = instruction.inputs
        if output in draft.located or not fixed.issuperset(others):
            continue
        if source in fixed:
            fixed.add(output)
        elif source in whole | views and _is_view(loop, instruction, source in whole):
            views.add(output)
        else:
            continue
        found.add(index)
    return frozenset(found)


def _is_taken(loop: LoopInstruction, instruction: Instruction) -> bool:
    """Return whether an instruction is taken out where what it reads stays the same: a look at it, or a number cast."""
    cast = instruction.op.declaration is CAST and is_scalar(loop.body, instruction.outputs[0])
    return cast or _is_look(instruction.op)


def _is_look(op: Op) -> bool:
    """Return whether an operation does nothing but look at an array, or pick from it."""
    facts = op.facts
    size = facts.size == "is" and not facts.raises
    return facts.always_view or size or op.declaration is INDEX or op.declaration is RESHAPE


def _is_view(loop: LoopInstruction, instruction: Instruction, whole: bool) -> bool:
    """Return whether a result is a view of its source for sure; ``whole``: that source is a buffer, not a part of one."""
    if is_scalar(loop.body, instruction.outputs[0]) or is_scalar(loop.body, instruction.inputs[0]):
        return False  # a number is a value, not a view
    return instruction.op.facts.always_view or (instruction.op.declaration is RESHAPE and whole)

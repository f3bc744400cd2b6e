"""Work that rewrites for NumPy took out of a loop: machine code does it inside, so it counts as what the steps cost.

``PushOutShortRows`` makes one call of NumPy for all rows of what would be a call in each step; ``batch_draws`` does so with
draws.  That is no part of the steps any more, but it is saved with them once the function is rewritten for machine code.  How much
it is follows from the shapes that a call met, by the estimate of :mod:`scanviz.engine.backends.estimate`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.backends.estimate import call_ns, work_ns
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program, dtype_of
from scanviz.engine.program.shapes import Partial, partial_shapes
from scanviz.engine.program.work import Work, work_by_shapes
from scanviz.engine.rewrites.profitability import SHORT_ROW

if TYPE_CHECKING:
    from scanviz.engine.program.plan import Plan

FRESH_BYTE_NS = 0.25  # of a byte of memory that is used for the first time: the system clears it


def left_ns(program: Program, inputs: Sequence[Partial | None], rules: Collection[str]) -> dict[str, float]:
    """Return by the name of each loop about how many nanoseconds a call takes for what rules moved out of it.

    Parameters
    ----------
    program : Program
        The function's, rewritten for NumPy.
    inputs : sequence of shape
        Of its inputs.
    rules : collection of str
        Rules that are left out for machine code.
    """
    moved = moved_by(program, rules)
    return left_by_shapes(program, partial_shapes(program, inputs), moved) if moved else {}


def leaving_ns(loop: LoopInstruction, plan: Plan) -> float:
    """Return how many nanoseconds a step more it takes that rules move operations of rows out of a loop, for memory never used.

    Parameters
    ----------
    loop : LoopInstruction
        As it is without these rules.
    plan : Plan
        Of its step.
    """
    program, found = loop.body, 0.0
    rows = {slot.inner for slot in loop.sequences}
    known = rows | {slot.inner for slot in loop.non_sequences} | set(program.constants)
    for instruction in program.instructions:
        if not isinstance(instruction, Instruction) or not known.issuperset(instruction.inputs):
            continue
        known.update(instruction.outputs)
        if rows.isdisjoint(instruction.inputs):
            continue
        rows.update(instruction.outputs)
        if _is_moved(program, instruction):
            made = [
                prod(plan.places[n].shape or ()) * np.dtype(dtype_of(program, n)).itemsize
                for n in instruction.outputs
            ]
            found += FRESH_BYTE_NS * sum(made) - call_ns(instruction)
    return found


def _is_moved(program: Program, instruction: Instruction) -> bool:
    """Return whether a rule moves an operation of rows, which nothing else holds in the loop: of short ones, or of matrices."""
    given = [program.registers[number].type.shape for number in instruction.inputs]
    if instruction.op.declaration.family == "linalg":
        return [len(shape) for shape in given] == [2, 2]
    made = program.registers[instruction.outputs[0]].type.shape
    size = None if None in made else prod(size or 0 for size in made)
    is_short = len(made) <= 1 if size is None else size <= SHORT_ROW
    return is_short and instruction.op.facts.weight != "free"


def moved_by(program: Program, rules: Collection[str]) -> dict[int, str]:
    """Return for what rules moved out of loops, by index of the instruction, the name of the loop."""
    moved = {
        index: instruction
        for index, instruction in enumerate(program.instructions)
        if isinstance(instruction, Instruction) and instruction.provenance.rule in rules
    }
    return _loops_of(program, moved) if moved else {}


def left_by_shapes(
    program: Program,
    shapes: Sequence[Partial],
    moved: Mapping[int, str],
    of_work: Callable[[Work], float] = work_ns,
) -> dict[str, float]:
    """Return the same for the shapes of all registers, and what was moved; ``of_work`` says what operations and bytes cost."""
    found = dict[str, float]()
    for index, name in moved.items():
        instruction = program.instructions[index]
        assert isinstance(instruction, Instruction)
        work = work_by_shapes(program, instruction, shapes)
        if work is not None:
            found[name] = found.get(name, 0.0) + call_ns(instruction) + of_work(work)
    return found


def _loops_of(program: Program, moved: Collection[int]) -> dict[int, str]:
    """Return for instructions by index the loop that they belong to: that which reads their rows, or else made what they read."""
    readers = _reached(program, moved, reversed(range(len(program.instructions))), backwards=True)
    makers = _reached(program, moved, range(len(program.instructions)), backwards=False)
    return makers | readers


def _reached(
    program: Program, moved: Collection[int], order: Iterable[int], *, backwards: bool
) -> dict[int, str]:
    """Return the loop from which each moved instruction is reached, against the way of the data or along it.

    What is between them only looks at rows otherwise, or was moved itself.
    """
    found: dict[int, str] = {}
    loops: dict[int, str] = {}  # of registers
    for index in order:
        instruction = program.instructions[index]
        if isinstance(instruction, LoopInstruction):
            ends = [slot.outer for slot in instruction.sequences] if backwards else instruction.outputs
            loops |= dict.fromkeys(ends, instruction.name)
        elif isinstance(instruction, Instruction):
            near, far = instruction.inputs, instruction.outputs
            if backwards:
                near, far = far, near
            name = next((loops[register] for register in near if register in loops), None)
            if name is None:
                continue
            if index in moved:
                found[index] = name
            if index in moved or instruction.op.declaration.views is not None:
                for register in far:
                    loops.setdefault(register, name)
    return found


__all__ = ["FRESH_BYTE_NS", "leaving_ns", "left_by_shapes", "left_ns", "moved_by"]

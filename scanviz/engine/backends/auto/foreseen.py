"""What a call will save in machine code, by estimate, before anything of it has run: from the shapes of its arguments alone.

A loop that is compiled before its first step has had its rows made for NumPy by then: rewrites for NumPy compute products of all
rows before the loop, in memory that is as long as all steps.  So before the first call it is asked what each loop would do; where
one surely pays for machine code, the function is rewritten for that first, and nothing of the call runs on NumPy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.auto.left import FRESH_BYTE_NS, left_by_shapes, moved_by
from scanviz.engine.backends.estimate import work_saved_ns
from scanviz.engine.program.instructions import LoopInstruction, Program, dtype_of
from scanviz.engine.program.loops_met import shapes_met, sizes_given, steps_taken
from scanviz.engine.program.shapes import shapes_and_sizes

if TYPE_CHECKING:
    from scanviz.engine.backends.auto.loop import AutoLoop
    from scanviz.engine.program.shapes import ConcreteShape


def loops_that_pay(
    program: Program,
    inputs: Sequence[Any],
    loops: Mapping[int, AutoLoop],
    rules: Collection[str],
    rows_stay: bool = False,
) -> list[str]:
    """Return the names of loops that pay for machine code in a first call.

    Parameters
    ----------
    program : Program
        The function's, rewritten for NumPy, or for machine code.
    inputs : sequence of array
        What its registers for inputs are given.
    loops : mapping
        What decides for its loops, by index of the instruction.
    rules : collection of str
        Rewrites for NumPy alone.
    rows_stay : bool
        Whether they were left out: what they would move out of a loop counts as it would there.  One loop that pays is enough.
    """
    shapes, sizes = shapes_and_sizes(program, *sizes_given(program, inputs))
    left = _left_ns(program, shapes, rules)
    found = []
    for index, tier in loops.items():
        loop = program.instructions[index]
        assert isinstance(loop, LoopInstruction)
        steps = steps_taken(program, loop, sizes)
        met = shapes_met(loop, shapes)
        if met is not None and steps and tier.pays_in(*met, steps, left.get(loop.name, 0.0), rows_stay):
            found.append(loop.name)
            if rows_stay:
                break  # the others are looked at while this one is compiled
    return found


def _left_ns(program: Program, shapes: Sequence[ConcreteShape], rules: Collection[str]) -> dict[str, float]:
    """Return by the name of each loop what machine code saves of what rules moved out of it, into memory that was never used."""
    moved = moved_by(program, rules)
    partial = [
        register.type.shape if shape is None else shape
        for register, shape in zip(program.registers, shapes, strict=True)
    ]
    found = left_by_shapes(program, partial, moved, work_saved_ns)
    for index, name in moved.items():
        for number in program.instructions[index].outputs:
            size = prod(shapes[number] or (0,)) * np.dtype(dtype_of(program, number)).itemsize
            found[name] = found.get(name, 0.0) + FRESH_BYTE_NS * size
    return found


__all__ = ["loops_that_pay"]

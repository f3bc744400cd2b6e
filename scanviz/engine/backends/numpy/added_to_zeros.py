"""NumPy source of a loop's result that is added to zeros outside of loops, as the gradient of a sequence is.

If the result covers all zeros, it replaces them, which is known only in a call; zeros that are never written take no memory.
A gradient of a linear recurrence by its sequence takes 1.35 times as long without it in native code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction
from scanviz.engine.program.lifetimes import last_uses


def added_to_zeros(emitter: Emitter, instruction: Instruction, zeros: str) -> list[str] | None:
    """Return the lines that add rows to new zeros, None unless the rows may replace them.

    ``zeros`` is the name of the array that the instruction changes in place.
    """
    program, parameters = emitter.program, instruction.op.parameters
    if instruction.op.declaration.name != "assign" or not parameters.increment:
        return None
    from scanviz.engine.backends.numpy.arrays import is_zeros  # few programs need it

    source, value, *numbers = instruction.inputs
    makers = {number: maker for maker in program.instructions for number in maker.outputs}
    maker = makers.get(source)
    if not isinstance(maker, Instruction) or not is_zeros(program, maker):
        return None
    if not all(_counts_up(entry) for entry in parameters.pattern.entries):
        return None
    rows = _loop_rows(makers, value)
    last, index = last_uses(program), [line is instruction for line in program.instructions].index(True)
    if rows is None or any(last[number] > index for number in rows):
        return None
    place = parameters.pattern.written([emitter.name(number) for number in numbers])
    added = emitter.bind(_added, "added_to_zeros")
    return [f"{zeros} = {added}({zeros}, {zeros}{place}, {emitter.name(value)})"]


def _added(zeros: Array, place: Array, value: Any) -> Array:
    """Add a value to a part of zeros; return the value itself if it covers them all."""
    whole = zeros.shape == place.shape == np.shape(value)
    if whole and value.dtype == zeros.dtype and value.flags.c_contiguous and value.flags.writeable:
        value += zeros.dtype.type(0)  # this makes -0.0 positive
        return value  # type: ignore[no-any-return]  # an array
    place += value
    return zeros


def _counts_up(entry: Any) -> bool:
    """Return whether a part of an index is a slice with step 1."""
    return entry.kind == "slice" and entry.step in (None, 1)


def _loop_rows(makers: Mapping[int, AnyInstruction], value: int) -> list[int] | None:
    """Return a view of a loop's output and what it views, None if a register is no such view."""
    reached = [value]
    while isinstance(maker := makers.get(reached[-1]), Instruction):
        viewed = maker.op.declaration.views
        if viewed is None:
            return None
        reached.append(maker.inputs[viewed])
    if not isinstance(maker, LoopInstruction):
        return None
    return reached if any(slot.result == reached[-1] for slot in maker.step_outputs) else None

"""What the loops of a program will meet in a call, from the shapes of its arguments alone: before anything of it has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scanviz.engine.program.instructions import LoopInstruction, Program
from scanviz.engine.program.shapes import ConcreteShape, step_inputs
from scanviz.engine.program.slots import passed


def sizes_given(program: Program, inputs: Sequence[Any]) -> tuple[list[ConcreteShape], dict[int, int]]:
    """Return the shapes of a call's arguments, and by register those that are whole numbers: sizes may follow from these."""
    pairs = list(zip(program.inputs, inputs, strict=True))
    numbers = {number: int(value) for number, value in pairs if value.ndim == 0 and value.dtype == np.int64}
    return [value.shape for value in inputs], numbers


def steps_taken(program: Program, loop: LoopInstruction, sizes: Mapping[int, int]) -> int:
    """Return how many steps a loop takes, 0 where that is not known."""
    constant = program.constants.get(loop.n_steps)
    return sizes.get(loop.n_steps, 0) if constant is None else int(constant)


def shapes_met(
    loop: LoopInstruction, shapes: Sequence[ConcreteShape]
) -> tuple[list[ConcreteShape], list[tuple[int, ...]]] | None:
    """Return the shapes of a step's inputs and of states' rows, None where some are not known."""
    known = [shape if shape is not None else () for shape in shapes]
    if any(shapes[entry.outer] is None for entry in passed(loop)):
        return None
    rows = [known[slot.outer] if slot.kind == "sitsot" else known[slot.outer][1:] for slot in loop.states]
    return list(step_inputs(loop, known)), rows  # type: ignore[arg-type]  # complete shapes give complete ones


__all__ = ["shapes_met", "sizes_given", "steps_taken"]

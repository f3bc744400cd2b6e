"""Concrete shapes of a program's registers from the shapes of its inputs, as far as values are not needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.dims import Dims
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import BranchInstruction, Instruction, LoopInstruction, Program

ConcreteShape = tuple[int, ...] | None


def propagate_shapes(program: Program, inputs: Sequence[ConcreteShape]) -> list[ConcreteShape]:
    """Return the shape of each register, None where it depends on values or is not known.

    Parameters
    ----------
    program : Program
        What is run.
    inputs : sequence
        The shapes of its inputs.
    """
    shapes: list[ConcreteShape] = [_static(each.type) for each in program.registers]
    for number, shape in zip(program.inputs, inputs, strict=True):
        shapes[number] = shape
    for number, value in program.constants.items():
        shapes[number] = value.shape
    for instruction in program.instructions:
        for number, shape in zip(instruction.outputs, _results(program, instruction, shapes), strict=True):
            if shape is not None:
                shapes[number] = shape
    return shapes


def _static(kind: object) -> ConcreteShape:
    if not isinstance(kind, TensorType):
        return (6,)  # a random state
    return tuple(size for size in kind.shape if size is not None) if None not in kind.shape else None


def _results(
    program: Program,
    instruction: Instruction | LoopInstruction | BranchInstruction,
    shapes: Sequence[ConcreteShape],
) -> Sequence[ConcreteShape]:
    rule = instruction.op.declaration.shapes
    if not isinstance(instruction, Instruction) or rule is None:
        return [None] * len(instruction.outputs)
    given = [shapes[number] for number in instruction.inputs]
    ranks = [program.registers[number].type for number in instruction.inputs]
    partial = [
        shape if shape is not None else (None,) * (kind.ndim if isinstance(kind, TensorType) else 1)
        for shape, kind in zip(given, ranks, strict=True)
    ]

    def value(position: int) -> int | None:
        known = program.constants.get(instruction.inputs[position])
        return int(known) if known is not None and np.ndim(known) == 0 else None

    try:
        found = rule(instruction.op, Dims(partial, value))
    except ScanvizError:
        return [None] * len(
            instruction.outputs
        )  # running it raises the error with everything that is known then
    return [shape if None not in shape else None for shape in found]

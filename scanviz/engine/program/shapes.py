"""Concrete shapes of a program's registers from the shapes of its inputs, as far as values are not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.dims import Dims
from scanviz.engine.graph.types import TensorType, common_shape
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.shape import BROADCAST_SIZE, DIMENSION
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction, Program

ConcreteShape = tuple[int, ...] | None
Partial = tuple[int | None, ...]  # a shape with unknown sizes
_SIZE_ARITHMETIC = frozenset(
    (e.add, e.subtract, e.multiply, e.floor_divide, e.maximum, e.minimum, BROADCAST_SIZE)
)


def propagate_shapes(program: Program, inputs: Sequence[ConcreteShape]) -> list[ConcreteShape]:
    """Return the shape of each register, None where it depends on values or is not known.

    Parameters
    ----------
    program : Program
        What is run.
    inputs : sequence
        The shapes of its inputs, None where unknown.
    """
    found = partial_shapes(program, inputs)
    return [_known(shape) for shape in found]


def _known(shape: Partial) -> ConcreteShape:
    sizes = tuple(
        size for size in shape if size is not None and size >= 0
    )  # a negative one is an error when run
    return sizes if len(sizes) == len(shape) else None


def partial_shapes(program: Program, inputs: Sequence[Partial | None]) -> list[Partial]:
    """Return the shape of each register with None for each size that is not known."""
    return _followed(program, inputs)[0]


def known_sizes(program: Program, inputs: Sequence[ConcreteShape]) -> dict[int, int]:
    """Return the registers that hold sizes which follow from the shapes of the inputs alone, with their values."""
    sizes = _followed(program, inputs)[1]
    return {number: size for number, size in sizes.items() if number not in program.constants}


def _followed(program: Program, inputs: Sequence[Partial | None]) -> tuple[list[Partial], dict[int, int]]:
    """Return the shape of each register, and the registers whose values are known sizes."""
    shapes = [_static(each.type) for each in program.registers]
    for number, shape in zip(program.inputs, inputs, strict=True):
        if shape is not None:
            shapes[number] = common_shape(shape, shapes[number])
    sizes: dict[int, int] = {}  # integers whose values follow from shapes and constants alone
    for number, value in program.constants.items():
        shapes[number] = value.shape
        if value.ndim == 0 and value.dtype == np.int64:
            sizes[number] = int(value)
    for instruction in program.instructions:
        _note_size(instruction, shapes, sizes)
        for number, shape in zip(instruction.outputs, _results(instruction, shapes, sizes), strict=True):
            if shape is not None:
                shapes[number] = common_shape(shape, shapes[number])
    return shapes, sizes


def _note_size(instruction: AnyInstruction, shapes: Sequence[Partial], sizes: dict[int, int]) -> None:
    """Remember the integer that an instruction gives, if it is one of those that sizes are made of."""
    op = instruction.op
    if op.declaration is DIMENSION:
        size = shapes[instruction.inputs[0]][op.parameters.axis]
        if size is not None:
            sizes[instruction.outputs[0]] = size
    elif op.declaration in _SIZE_ARITHMETIC and all(each in sizes for each in instruction.inputs):
        given = [np.int64(sizes[each]) for each in instruction.inputs]
        with np.errstate(all="ignore"):
            sizes[instruction.outputs[0]] = int(op.perform(given)[0])


def _static(kind: object) -> Partial:
    return kind.shape if isinstance(kind, TensorType) else (6,)  # a random state has six words


def _results(
    instruction: AnyInstruction, shapes: Sequence[Partial], sizes: Mapping[int, int]
) -> Sequence[Partial | None]:
    if isinstance(instruction, LoopInstruction):
        return _loop_results(instruction, shapes, sizes)
    rule = instruction.op.declaration.shapes
    if not isinstance(instruction, Instruction) or rule is None:
        return [None] * len(instruction.outputs)

    def value(position: int) -> int | None:
        return sizes.get(instruction.inputs[position])

    try:
        return list(rule(instruction.op, Dims([shapes[number] for number in instruction.inputs], value)))
    except ScanvizError:
        return [None] * len(
            instruction.outputs
        )  # running it raises the error with everything that is known then


def _loop_results(
    loop: LoopInstruction, shapes: Sequence[Partial], sizes: Mapping[int, int]
) -> Sequence[Partial | None]:
    """Return the shapes of a loop's results: rows as many as steps, each with the shape that the step gives."""
    given: list[Partial] = [shapes[slot.outer][1:] for slot in loop.sequences]
    rows = [shapes[slot.outer] if slot.kind == "sitsot" else shapes[slot.outer][1:] for slot in loop.states]
    for slot, row in zip(loop.states, rows, strict=True):
        given += [row] * len(slot.reads)
    given += [shapes[slot.outer] for slot in loop.carries]
    given += [shapes[slot.outer] for slot in loop.non_sequences]
    inner = partial_shapes(loop.body, given)
    steps = sizes.get(loop.n_steps) if loop.until is None else None

    def kept(last: int | None) -> int | None:
        return None if steps is None else steps if last is None else min(steps, last)

    found: dict[int | None, Partial] = {}
    for slot, row in zip(loop.states, rows, strict=True):
        found[slot.result] = shapes[slot.outer] if slot.kind == "mitmot" else (kept(slot.keep_last), *row)
        if slot.history is not None:
            found[slot.history] = (None if steps is None else steps + slot.offset, *row)
    for output in loop.step_outputs:
        found[output.result] = (kept(output.keep_last), *inner[output.inner])
    return [found.get(number) for number in loop.outputs]

"""Native code of products of arrays, and of sums along diagonals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace, must_fit
from scanviz.engine.backends.native.kernels.contractions import Axes, contract, contracted
from scanviz.engine.backends.native.kernels.reduce import reduced
from scanviz.engine.backends.native.kernels.stacks import for_each_matrix
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.linalg import BATCHED_DOT, DOT, MATMUL, TENSORDOT, TRACE
from scanviz.engine.program.instructions import Instruction, dtype_of, is_scalar


def _matrix_axes(a: Sequence[int], b: Sequence[int]) -> tuple[Axes, Axes]:
    """Return over which axes arrays of these shapes are summed: the last of one, the one before the last of the other."""
    return (len(a) - 1,), (max(0, len(b) - 2),)


def _write_product(step: Step, instruction: Instruction) -> None:
    a, b = (source_of(step, number) for number in instruction.inputs)
    (number,) = instruction.outputs
    if instruction.op.declaration is TENSORDOT:
        over: tuple[Axes, Axes] = instruction.op.parameters.first, instruction.op.parameters.second
    else:
        over = _matrix_axes(a.shape, b.shape)
    if is_scalar(step.body, number):
        step.give(number, contracted(step, a, b, dtype_of(step.body, number), over))
    elif instruction.op.declaration is MATMUL and len(b.shape) > 2:
        rows = min(2, len(a.shape))
        _write_products(step, (a, b, target_of(step, instruction)), (rows, 2, rows))
    else:
        contract(step, a, b, target_of(step, instruction), over)


def _write_products(
    step: Step, places: tuple[ArrayPlace, ArrayPlace, ArrayPlace], cores: tuple[int, int, int]
) -> None:
    """Write products of the matrices of two stacks."""

    def one(cut: Sequence[ArrayPlace]) -> Value:
        first, second, target = cut
        contract(step, first, second, target, _matrix_axes(first.shape, second.shape))
        return constant(True, BOOLEAN)

    for_each_matrix(step, places, cores, one)


def _write_batched_dot(step: Step, instruction: Instruction) -> None:
    a, b = (source_of(step, number) for number in instruction.inputs)
    target = target_of(step, instruction)
    must_fit(a.shape[0] == b.shape[0])
    first, second, third = (len(place.shape) - 1 for place in (a, b, target))
    _write_products(step, (a, b, target), (first, second, third))


def _write_trace(step: Step, instruction: Instruction) -> None:
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    offset, *axes = instruction.op.parameters
    diagonal = source.seen(lambda array: np.diagonal(array, offset, *axes))
    assert diagonal is not None
    reduced(step, "sum", diagonal, (len(diagonal.shape) - 1,), target)
    finish(step, instruction, target)


for _declaration in (DOT, MATMUL, TENSORDOT):
    WRITE.row(_declaration)(_write_product)
WRITE.row(BATCHED_DOT)(_write_batched_dot)
WRITE.row(TRACE)(_write_trace)

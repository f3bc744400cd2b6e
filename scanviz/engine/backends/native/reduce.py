"""Native code of reductions, and of what undoes broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.backends.native import along  # noqa: F401  # which has more rows of this family
from scanviz.engine.backends.native.elements import lanes_of
from scanviz.engine.backends.native.instructions import (
    WRITE,
    Step,
    Writing,
    always,
    copy,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.places import ArrayPlace, must_fit
from scanviz.engine.backends.native.reductions import REDUCTIONS, reduce, reduced_shape
from scanviz.engine.ops.reduce import SUM_TO_SHAPE, ReductionDeclaration
from scanviz.engine.program.instructions import Instruction, Program


def _write_reduction(step: Step, instruction: Instruction) -> None:
    name, parameters = instruction.op.declaration.name, instruction.op.parameters
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    declaration = instruction.op.declaration
    assert isinstance(declaration, ReductionDeclaration)
    must_fit(declaration.identity or 0 not in [source.shape[axis] for axis in parameters.axes])
    wanted = target._replace(
        shape=reduced_shape(source, parameters.axes), strides=_kept(target.strides, parameters)
    )
    reduced(step, name, source, parameters.axes, wanted)
    finish(step, instruction, target)


def _kept(strides: Sequence[int], parameters: object) -> tuple[int, ...]:
    axes, keepdims = parameters.axes, parameters.keepdims  # type: ignore[attr-defined]
    return tuple(step for axis, step in enumerate(strides) if not (keepdims and axis in axes))


def reduced(step: Step, name: str, source: ArrayPlace, axes: Sequence[int], target: ArrayPlace) -> None:
    """Write a reduction of an array along axes into one without them."""
    lanes = lanes_of([source.dtype, target.dtype], step.vector_bytes)
    reduce(step.code, name, step.operand(source), axes, step.operand(target), lanes)


def _why_no_reduction(instruction: Instruction, program: Program) -> str | None:
    if instruction.op.declaration.name not in REDUCTIONS:
        return f"`{instruction.op.name}` has no native code"
    return None


def _write_sum_to_shape(step: Step, instruction: Instruction) -> None:
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    missing = len(source.shape) - len(target.shape)
    axes = [
        axis
        for axis, size in enumerate(source.shape)
        if axis < missing or target.shape[axis - missing] != size
    ]
    must_fit(missing >= 0 and all(axis < missing or target.shape[axis - missing] == 1 for axis in axes))
    if axes:
        kept = [axis - missing for axis in range(len(source.shape)) if axis not in axes]
        shape = tuple(target.shape[axis] for axis in kept)
        strides = tuple(target.strides[axis] for axis in kept)
        reduced(step, "sum", source, axes, target._replace(shape=shape, strides=strides))
    elif step.places.view(instruction) is None:
        copy(step, source, target)
    finish(step, instruction, target)


WRITE.kind(ReductionDeclaration)(Writing(_why_no_reduction, _write_reduction))
WRITE.row(SUM_TO_SHAPE)(Writing(always, _write_sum_to_shape))

__all__ = ["reduced"]

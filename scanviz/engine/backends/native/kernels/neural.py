"""Native code of softmax: as in NumPy, the largest number is subtracted first."""

from __future__ import annotations

import numpy as np

from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    each_element,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace
from scanviz.engine.backends.native.kernels.formulas import cast, primitive
from scanviz.engine.backends.native.kernels.reduce import reduced
from scanviz.engine.backends.native.kernels.reductions import reduced_shape
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX
from scanviz.engine.program.instructions import Instruction


def _write_softmax(step: Step, instruction: Instruction) -> None:
    axes, code = instruction.op.parameters.axes, step.code
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    dtype, logarithm = target.dtype, instruction.op.declaration is LOG_SOFTMAX
    if source.dtype != dtype:
        floats = step.places.temporary(source.shape, dtype)
        each_element(step, [source], floats, lambda values, lanes: [cast(code, values[0], dtype)])
        source = floats
    few = step.places.temporary(reduced_shape(source, axes), dtype)
    many = _along(few, source, axes)

    def of_all(name: str, array: ArrayPlace, least: float) -> None:
        """Reduce an array along the axes, with a lower bound."""
        reduced(step, name, array, axes, few)
        each_element(step, [few], few, lambda values, lanes: [_at_least(step, values[0], least)])

    of_all("max", source, float(np.finfo(dtype).min))
    each_element(step, [source, many], target, lambda values, lanes: [primitive(code, "subtract", values)])
    powers = step.places.temporary(target.shape, dtype) if logarithm else target
    each_element(step, [target], powers, lambda values, lanes: [primitive(code, "exp", values)])
    of_all("sum", powers, 1.0)
    if logarithm:
        each_element(step, [few], few, lambda values, lanes: [primitive(code, "log", values)])
    last = "subtract" if logarithm else "divide"
    each_element(step, [target, many], target, lambda values, lanes: [primitive(code, last, values)])
    finish(step, instruction, target)


def _along(few: ArrayPlace, array: ArrayPlace, axes: tuple[int, ...]) -> ArrayPlace:
    """Broadcast a reduced array along the axes."""
    kept = iter(few.strides)
    strides = tuple(0 if axis in axes else next(kept) for axis in range(len(array.shape)))
    return few._replace(shape=array.shape, strides=strides)


def _at_least(step: Step, value: Value, least: float) -> Value:
    bound = constant(least, value.dtype, value.lanes)
    return step.code.select(primitive(step.code, "less", [value, bound]), bound, value)


for _declaration in (SOFTMAX, LOG_SOFTMAX):
    WRITE.row(_declaration)(_write_softmax)

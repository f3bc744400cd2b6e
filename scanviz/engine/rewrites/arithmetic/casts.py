"""Casts that change nothing, casts of casts, and casts of constants.

A cast of a cast is one cast where the first loses nothing: every value of its input has an exact one in the dtype between.  So
it is where all three dtypes are integers and the last is no wider than the one between: they wrap around alike.  Floats that
become integers in the end are left alone: numbers out of range are undefined there, and may differ with the way taken.
"""

from __future__ import annotations

import functools

import numpy as np

from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, tensor_type
from scanviz.engine.graph.types import BOOLEAN, INTEGERS
from scanviz.engine.ops.elementwise import CAST, cast
from scanviz.engine.ops.shape import ALLOC, DIMSHUFFLE
from scanviz.engine.rewrites.arithmetic.identities import Answer, rewritten
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Refusal, rule

LARGEST = 1 << 20  # bytes of a constant made here, unless it becomes no larger


@rule(name="simplify_casts", phase=GENERAL, on=(CAST,), tags=("general",))
def simplify_casts(node: Apply, level: Level) -> Answer:
    """Leave out casts that change nothing, and make one of two."""
    (given,), wanted = node.inputs, node.op.parameters.dtype
    if tensor_type(given).dtype == wanted:
        return rewritten(node, given, "a cast to the own dtype is left out")
    if isinstance(given, Constant):
        return _of_constant(node, given, wanted, level)
    source = given.owner
    if source is None:
        return None
    if source.op.declaration is CAST:
        return _of_cast(node, source.inputs[0], wanted, level)
    if source.op.declaration is ALLOC or source.op.declaration is DIMSHUFFLE:
        return _of_spread(node, source, wanted, level)
    return None


def _of_constant(node: Apply, given: Constant, wanted: str, level: Level) -> Answer:
    size = given.value.size * np.dtype(wanted).itemsize
    if size > max(LARGEST, given.value.nbytes):
        return Refusal("the constant is large, and would be larger after the cast", 1)
    with np.errstate(all="ignore"):
        value = given.value.astype(wanted)
    found = Constant(tensor_type(given).with_dtype(wanted), value, given.name)
    return rewritten(node, found, "a constant is cast when building")


def _of_cast(node: Apply, first: Variable, wanted: str, level: Level) -> Answer:
    start, between = tensor_type(first).dtype, tensor_type(node.inputs[0]).dtype
    if not one_cast(start, between, wanted):
        return Refusal(
            f"{start} cast to {between} and then to {wanted} may differ from {start} cast to {wanted}", 1
        )
    return rewritten(node, cast(first, wanted), "two casts are one")


def _of_spread(node: Apply, source: Apply, wanted: str, level: Level) -> Answer:
    """Cast a constant before it is spread over an array."""
    value, *sizes = source.inputs
    if not isinstance(value, Constant):
        return None
    return rewritten(
        node, build_one(source.op, cast(value, wanted), *sizes), "a constant is cast before it fills"
    )


@functools.cache
def one_cast(start: str, between: str, wanted: str) -> bool:
    """Return whether a cast through a dtype equals one direct cast, for every value.

    Examples
    --------
    >>> one_cast("float32", "float64", "float32"), one_cast("float64", "float32", "float64")
    (True, False)
    """
    if start == BOOLEAN:
        return True
    if all(text in INTEGERS for text in (start, between, wanted)):
        narrower = np.dtype(wanted).itemsize <= np.dtype(between).itemsize
        return narrower or exact(start, between)
    if not exact(start, between):
        return False
    if wanted == BOOLEAN or exact(start, wanted):
        return True
    if start.startswith("float"):
        return wanted.startswith("float")
    return between in INTEGERS and wanted in ("float32", "float64")


@functools.cache
def exact(start: str, end: str) -> bool:
    """Return whether every value of a dtype has an equal one in another.

    Examples
    --------
    >>> exact("int32", "float64"), exact("int64", "float64"), exact("uint8", "int8")
    (True, False, False)
    """
    if start in (end, BOOLEAN):
        return True
    if end == BOOLEAN:
        return False
    if start in INTEGERS:
        info = np.iinfo(start)
        if end in INTEGERS:
            return bool(np.iinfo(end).min <= info.min and info.max <= np.iinfo(end).max)
        digits = info.bits - (start[0] == "i")
        return bool(digits <= np.finfo(end).nmant + 1)
    return end not in INTEGERS and bool(np.finfo(start).nmant <= np.finfo(end).nmant)

"""Native code of ``searchsorted``, by NumPy's own steps.

Each binary search is bounded by the place found before, so an unsorted vector gives NumPy's places too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    copy,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.backends.native.kernels.formulas import cast, primitive
from scanviz.engine.graph.types import BOOLEAN, FLOATS
from scanviz.engine.ops.sort import SEARCHSORTED
from scanviz.engine.program.instructions import Instruction


def _write_searchsorted(step: Step, instruction: Instruction) -> None:
    code = step.code
    table, sought = (source_of(step, number) for number in instruction.inputs)
    target = target_of(step, instruction)
    dtype = np.result_type(table.dtype, sought.dtype).name
    in_order = step.places.temporary(sought.shape, sought.dtype)
    copy(step, sought, in_order)
    found = step.places.temporary(sought.shape, "int64")
    reads, keys, places = step.operand(table), step.operand(in_order), step.operand(found)
    size, stride = table.shape[0], table.strides[0]

    def element(number: Value) -> Value:
        return cast(code, code.load(code.at(reads.address, code.times(number, stride)), table.dtype), dtype)

    def key(number: Value) -> Value:
        at = code.times(number, np.dtype(sought.dtype).itemsize)
        return cast(code, code.load(code.at(keys.address, at), sought.dtype), dtype)

    def lies_before(value: Value, sought_one: Value) -> Value:
        if instruction.op.parameters.side == "left":
            return is_less(code, value, sought_one)
        return primitive(code, "bit_not", [is_less(code, sought_one, value)])

    if in_order.elements:
        ends = [constant(0, "int64"), constant(size, "int64")]
        with code.folded(0, in_order.elements, [*ends, key(ends[0])]) as (number, (low, high, before), given):
            wanted = key(number)
            grows = lies_before(before, wanted)
            further = code.op(f"icmp slt i64 {high.text}, {size}", BOOLEAN)
            beyond = code.select(further, code.add(high, 1), ends[1])
            start = code.select(grows, low, ends[0])
            stop = code.select(grows, ends[1], beyond)
            place, last = place_among(code, (start, stop), size, lambda k: lies_before(element(k), wanted))
            code.store(place, code.at(places.address, code.times(number, 8)))
            given += [place, last, wanted]
    copy(step, found, target)
    finish(step, instruction, target)


def place_among(
    code: Code, ends: tuple[Value, Value], size: int, lies_before: Callable[[Value], Value]
) -> tuple[Value, Value]:
    """Write a binary search between two places; return its two ends, equal at the end.

    ``lies_before(k)`` writes whether element ``k`` of the ``size`` elements is before the key.
    """
    with code.folded(0, size.bit_length(), ends) as (_, (first, last), halves):
        searching = code.op(f"icmp slt i64 {first.text}, {last.text}", BOOLEAN)
        middle = code.op(f"lshr i64 {code.add(first, last).text}, 1", "int64")
        before = lies_before(code.select(searching, middle, constant(0, "int64")))
        up = code.both(searching, before)
        halves.append(code.select(up, code.add(middle, 1), first))
        halves.append(code.select(before, last, code.select(searching, middle, last)))
    return halves[0], halves[1]


WRITE.row(SEARCHSORTED)(_write_searchsorted)


def is_less(code: Code, first: Value, second: Value) -> Value:
    """Return whether a number comes before another; NaN comes last."""
    less, lanes = primitive(code, "less", [first, second]), first.lanes
    if first.dtype not in FLOATS:
        return less
    last = code.op(f"fcmp uno {second.typed}, {second.text}", BOOLEAN, lanes)
    known = code.op(f"fcmp ord {first.typed}, {first.text}", BOOLEAN, lanes)
    both = code.op(f"and {last.typed}, {known.text}", BOOLEAN, lanes)
    return code.op(f"or {less.typed}, {both.text}", BOOLEAN, lanes)

"""Native code of searching in what is sorted.

Each place is found by halving, by numpy.searchsorted's own steps: the place of the element before bounds the next one, so that in
a vector that is not sorted the same places are found too.  Many are sought side by side where the vector is sorted
(:mod:`scanviz.engine.backends.native.search`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scanviz.engine.backends.native.formulas import cast, primitive
from scanviz.engine.backends.native.instructions import (
    WRITE,
    Step,
    Writing,
    copy,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.ir import Code, Value, constant
from scanviz.engine.backends.native.search import SearchSideBySide, is_less, pays_side_by_side
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.sort import SEARCHSORTED
from scanviz.engine.program.instructions import Instruction, Program, dtype_of


def _why_not(instruction: Instruction, program: Program) -> str | None:
    common = np.result_type(*(dtype_of(program, number) for number in instruction.inputs)).name
    return "`searchsorted` as float16 has no native code" if common == "float16" else None


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

    def one_after_another() -> None:
        ends = [constant(0, "int64"), constant(size, "int64")]
        with code.folded(0, in_order.elements, [*ends, key(ends[0])]) as (number, (low, high, before), given):
            wanted = key(number)
            grows = lies_before(before, wanted)
            further = code.op(f"icmp slt i64 {high.text}, {size}", BOOLEAN)
            beyond = code.select(further, code.add(high, 1), ends[1])
            start = code.select(grows, low, ends[0])
            stop = code.select(grows, ends[1], beyond)
            found_place, last = place_among(
                code, (start, stop), size, lambda k: lies_before(element(k), wanted)
            )
            code.store(found_place, code.at(places.address, code.times(number, 8)))
            given += [found_place, last, wanted]

    if pays_side_by_side(size, in_order.elements):
        search = SearchSideBySide(step, reads, keys, places, dtype, lies_before)
        search.write(one_after_another)
    elif in_order.elements:
        one_after_another()
    copy(step, found, target)
    finish(step, instruction, target)


def place_among(
    code: Code, ends: tuple[Value, Value], size: int, lies_before: Callable[[Value], Value]
) -> tuple[Value, Value]:
    """Write a search by halving between two places; return where it ends, twice: the first place of which nothing lies before.

    ``lies_before(k)`` writes whether element ``k`` is before what is sought; of ``size`` elements there are in all.
    """
    with code.folded(0, size.bit_length(), ends) as (_, (first, last), halves):
        searching = code.op(f"icmp slt i64 {first.text}, {last.text}", BOOLEAN)
        middle = code.op(f"lshr i64 {code.add(first, last).text}, 1", "int64")
        before = lies_before(code.select(searching, middle, constant(0, "int64")))
        up = code.op(f"and i1 {searching.text}, {before.text}", BOOLEAN)
        halves.append(code.select(up, code.add(middle, 1), first))
        halves.append(code.select(before, last, code.select(searching, middle, last)))
    return halves[0], halves[1]


WRITE.row(SEARCHSORTED)(Writing(_why_not, _write_searchsorted))

__all__ = ["place_among"]

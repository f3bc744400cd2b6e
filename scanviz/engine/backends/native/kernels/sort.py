"""Native code of searching in what is sorted.

Each place is found by halving, by numpy.searchsorted's own steps: the place of the element before bounds the next one, so that in
a vector that is not sorted the same places are found too.  Where the vector is found to
be sorted there is one right place for each number, and many are sought side by side: every search halves the same lengths, so no
lane waits for another, and what has to be looked at is gathered for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scanviz.engine.backends.native.emit.elements import UNROLLED, Operand, lanes_of, load, pieces
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
from scanviz.engine.backends.native.kernels.reductions import combined, narrowed
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


WRITE.row(SEARCHSORTED)(_write_searchsorted)


MANY = 8  # numbers sought pay for looking whether a vector is sorted
LONGER = 64  # times as long as they are many it may be


def pays_side_by_side(size: int, sought: int) -> bool:
    """Return whether so many numbers are sought in a vector that is not too long to be looked through first."""
    return sought >= MANY and 0 < size <= LONGER * sought


def is_less(code: Code, first: Value, second: Value) -> Value:
    """Return whether a number comes before another, lane by lane: NaN comes last."""
    less, lanes = primitive(code, "less", [first, second]), first.lanes
    if first.dtype not in FLOATS:
        return less
    last = code.op(f"fcmp uno {second.typed}, {second.text}", BOOLEAN, lanes)
    known = code.op(f"fcmp ord {first.typed}, {first.text}", BOOLEAN, lanes)
    both = code.op(f"and {last.typed}, {known.text}", BOOLEAN, lanes)
    return code.op(f"or {less.typed}, {both.text}", BOOLEAN, lanes)


class SearchSideBySide:
    """Writes a search.

    Parameters
    ----------
    step : Step
        The step that is written.
    table : Operand
        The vector.
    sought, places : Operand
        The numbers, one after another in memory, and where their places go, int64.
    dtype : str
        In which they are compared.
    lies_before : callable
        ``lies_before(element, number)``: whether the number's place is after the element.
    """

    def __init__(
        self,
        step: Step,
        table: Operand,
        sought: Operand,
        places: Operand,
        dtype: str,
        lies_before: Callable[[Value, Value], Value],
    ) -> None:
        self.code, self.table, self.sought, self.places = step.code, table, sought, places
        self.dtype, self.lies_before = dtype, lies_before
        self.lanes = lanes_of(["int64", dtype, table.place.dtype, sought.place.dtype], step.vector_bytes)

    def write(self, otherwise: Callable[[], None]) -> None:
        """Write the search, and that of ``otherwise`` for a vector that is not sorted."""
        code = self.code
        quick, slow, after = code.label(), code.label(), code.label()
        code.branch(self._is_sorted(), quick, slow)
        code.begin(slow)
        otherwise()
        code.jump(after)
        code.begin(quick)
        for first, count, lanes in pieces(self.sought.place.elements, self.lanes):
            for number in code.over(first, first + count * lanes, lanes):
                size = self.sought.place.strides[-1]
                wanted = cast(
                    code, load(code, self.sought, code.times(number, size), size, lanes), self.dtype
                )
                code.store(self._place_of(wanted), code.at(self.places.address, code.times(number, 8)))
        code.jump(after)
        code.begin(after)

    def _is_sorted(self) -> Value:
        """Return whether no element of the vector is less than the one before it."""
        code, place = self.code, self.table.place
        step, holds = place.strides[0], constant(True, BOOLEAN)

        def further(number: Value, so_far: Sequence[Value]) -> list[Value]:
            lanes, at = so_far[0].lanes, code.times(number, step)
            one, following = (
                cast(code, load(code, self.table, code.add(at, far), step, lanes), self.dtype)
                for far in (0, step)
            )
            good = primitive(code, "bit_not", [is_less(code, following, one)])
            return [code.op(f"and {so_far[0].typed}, {good.text}", BOOLEAN, lanes)]

        for first, count, lanes in pieces(place.shape[0] - 1, self.lanes):
            numbers = range(first, first + count * lanes, lanes)
            (good,) = code.turns(numbers, [constant(True, BOOLEAN, lanes)], further, UNROLLED)
            holds = combined(code, "all", holds, narrowed(code, "all", good, 1))
        return holds

    def _place_of(self, wanted: Value) -> Value:
        """Return the places of numbers side by side."""
        place, length = constant(0, "int64", wanted.lanes), self.table.place.shape[0]
        while length > 1:
            half = length // 2
            place = self._moved(place, half, half - 1, wanted)
            length -= half
        return self._moved(place, 1, 0, wanted)

    def _moved(self, place: Value, far: int, looked_at: int, wanted: Value) -> Value:
        """Return places, those further on before which an element lies that is so far behind them."""
        code, lanes, step = self.code, wanted.lanes, self.table.place.strides[0]
        begin = code.at(self.table.address, looked_at * step)
        offsets = code.op(f"mul {place.typed}, {constant(step, 'int64', lanes).text}", "int64", lanes)
        element = cast(code, code.gathered(begin, offsets, self.table.place.dtype), self.dtype)
        further = code.op(f"add {place.typed}, {constant(far, 'int64', lanes).text}", "int64", lanes)
        return code.select(self.lies_before(element, wanted), further, place)

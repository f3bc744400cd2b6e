"""Searching for many numbers side by side in a vector that is found to be sorted.

Every search halves the same lengths, so no lane waits for another and none branches: what has to be looked at in each turn is
gathered for all lanes at once.  In a sorted vector there is one right place for each number, which is that of
:func:`numpy.searchsorted`; in any other its own steps decide, one number after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanviz.engine.backends.native.elements import UNROLLED, Operand, lanes_of, load, pieces
from scanviz.engine.backends.native.formulas import cast, primitive
from scanviz.engine.backends.native.instructions import Step
from scanviz.engine.backends.native.ir import Code, Value, constant
from scanviz.engine.backends.native.reductions import combined, narrowed
from scanviz.engine.graph.types import BOOLEAN, FLOATS

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


__all__ = ["SearchSideBySide", "is_less", "pays_side_by_side"]

"""Native code that sorts the elements of a line where nobody asks for their places: NaN last.

Numbers become keys first, integers as wide that compare as the numbers do and from which these are found again: of a
floating-point number its bits, turned round where it is negative (as in M. Herf, *Radix Tricks*, 2001), so that -0 comes before 0.
Keys are sorted in registers, by the network of K. E. Batcher (*Sorting Networks and their Applications*, 1968) that compares lanes
with one another, and then merged a register at a time, two lines at a time and from both ends at once, so that one end need not
wait for the other.  Which line is next is a selection, not a branch: what comes next of a line in no order cannot be foretold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scanviz.engine.backends.native.elements import lanes_of, pieces
from scanviz.engine.backends.native.formulas import cast
from scanviz.engine.backends.native.instructions import Step
from scanviz.engine.backends.native.ir import Code, Value, constant
from scanviz.engine.backends.native.values import size_of, type_of
from scanviz.engine.graph.types import BOOLEAN, FLOATS, UNSIGNED
from scanviz.engine.named_tuple import NamedTuple

Load = Callable[[Value, int], Value]  # numbers from the k-th element on, so many
Store = Callable[[Value, Value], None]  # puts numbers where they belong: from the k-th element on


FEWEST_LANES = 4  # of fewer no more than two are compared at once, and that is no gain


def keys_for(dtype: str) -> str:
    """Return the dtype of the keys of numbers."""
    return "int64" if size_of(dtype) > 4 else "int32"


def sorts_values(step: Step, dtype: str) -> bool:
    """Return whether this is how numbers of a dtype are sorted best."""
    return lanes_of([keys_for(dtype)], step.vector_bytes) >= FEWEST_LANES


class _Ends(NamedTuple):
    """Where the next keys of two lines are, the keys that wait, and those that come to them."""

    one: Value
    other: Value
    waiting: Value
    coming: Value


class LineSort:
    """Sorts lines of one length.

    Parameters
    ----------
    step : Step
        The step that is written.
    size : int
        Elements of a line.
    dtype : str
        Of the elements.
    """

    def __init__(self, step: Step, size: int, dtype: str) -> None:
        self.code, self.size, self.dtype = step.code, size, dtype
        self.keys = keys_for(dtype)
        self.lanes = lanes_of([self.keys], step.vector_bytes)
        self.whole = -(-size // self.lanes) * self.lanes
        # a register more at each end: of a line that is used up the keys behind it are read, and not taken
        room = (self.whole + 2 * self.lanes,)
        self._rooms = [step.operand(step.places.temporary(room, self.keys)).address for _ in range(2)]

    def write(self, load: Load, store: Store) -> None:
        """Write the lines that sort a line."""
        code = self.code
        given, into = (code.at(room, self.lanes * size_of(self.keys)) for room in self._rooms)
        self._sort_registers(load, given)
        width = constant(self.lanes, "int64")
        levels = (self.whole // self.lanes - 1).bit_length()
        with code.folded(0, levels, [width, given, into]) as (_, (width, old, new), following):
            self._merge_all(old, new, width)
            following += [code.times(width, 2), new, old]
        found = following[1] if levels else given
        for first, count, lanes in pieces(self.size, self.lanes):
            with code.counted(first, first + count * lanes, lanes) as number:
                store(number, number_of(code, self._load(found, number, lanes), self.dtype))

    def _at(self, base: Value, number: Value) -> Value:
        return self.code.at(base, self.code.times(number, size_of(self.keys)))

    def _load(self, base: Value, number: Value, lanes: int) -> Value:
        return self.code.load(self._at(base, number), self.keys, lanes)

    def _put(self, keys: Value, base: Value, number: Value) -> None:
        self.code.store(keys, self._at(base, number))

    def _sort_registers(self, load: Load, target: Value) -> None:
        """Write the lines that make keys, and sort those of each register; the last one is filled up with the largest keys."""
        code, lanes = self.code, self.lanes
        whole = self.size // lanes * lanes
        if whole:
            with code.counted(0, whole, lanes) as number:
                self._put(_sorted(code, key_of(code, load(number, lanes), self.keys)), target, number)
        if self.size > whole:
            begin = constant(whole, "int64")
            self._put(constant(np.iinfo(self.keys).max, self.keys, lanes), target, begin)
            for first, count, width in pieces(self.size - whole, lanes):
                for k in range(count):
                    place = constant(whole + first + k * width, "int64")
                    self._put(key_of(code, load(place, width), self.keys), target, place)
            self._put(_sorted(code, self._load(target, begin, lanes)), target, begin)

    def _merge_all(self, old: Value, new: Value, width: Value) -> None:
        """Write the lines that merge all neighbours of so many keys each; the last may be shorter, or alone."""
        code, total = self.code, constant(self.whole, "int64")
        pair = code.times(width, 2)
        rest = code.op(f"urem i64 {total.text}, {pair.text}", "int64")
        end = code.op(f"sub i64 {total.text}, {rest.text}", "int64")
        pairs = code.op(f"udiv i64 {total.text}, {pair.text}", "int64")
        with code.counted(0, pairs) as number:
            start = code.op(f"mul i64 {number.text}, {pair.text}", "int64")
            self._merge_even(old, new, start, width)
        if self.whole & (self.whole - 1):  # else there is never a shorter one
            has_two = code.op(f"icmp sgt i64 {rest.text}, {width.text}", BOOLEAN)
            two, one, after = code.label(), code.label(), code.label()
            code.branch(has_two, two, one)
            code.begin(two)
            self._merge_uneven(old, new, end, width)
            code.jump(after)
            code.begin(one)
            with code.counted(end, total, self.lanes) as number:
                self._put(self._load(old, number, self.lanes), new, number)
            code.jump(after)
            code.begin(after)

    def _merge_even(self, old: Value, new: Value, start: Value, width: Value) -> None:
        """Write the lines that merge two neighbours of equally many keys: no end comes to where the other line is used up."""
        code, lanes = self.code, self.lanes
        middle = code.add(start, width)
        end = code.add(middle, width)
        last_one, last_other = code.add(middle, -lanes), code.add(end, -lanes)
        ends = [
            code.add(start, lanes), code.add(middle, lanes), self._load(old, start, lanes), self._load(old, middle, lanes),
            last_one, last_other, self._load(old, last_one, lanes), self._load(old, last_other, lanes),
        ]  # fmt: skip
        with code.folded(0, width, ends, lanes) as (number, carried, following):
            front, back = _Ends(*carried[:4]), _Ends(*carried[4:])
            low, high = _merged(code, front.waiting, front.coming)
            self._put(low, new, code.add(start, number))
            first, second = (self._load(old, place, 1) for place in (front.one, front.other))
            less = code.op(f"icmp slt {second.typed}, {first.text}", BOOLEAN)
            following += self._further(old, front._replace(waiting=high), less, lanes)
            low, high = _merged(code, back.waiting, back.coming)
            self._put(high, new, code.op(f"sub i64 {last_other.text}, {number.text}", "int64"))
            first, second = (self._load(old, code.add(place, -1), 1) for place in (back.one, back.other))
            less = code.op(f"icmp slt {first.typed}, {second.text}", BOOLEAN)
            following += self._further(old, back._replace(waiting=low), less, -lanes)

    def _merge_uneven(self, old: Value, new: Value, start: Value, width: Value) -> None:
        """Write the lines that merge the last two neighbours, the second of which is shorter: what is used up is looked for."""
        code, lanes = self.code, self.lanes
        middle, end = code.add(start, width), constant(self.whole, "int64")
        ends = [
            code.add(start, lanes), code.add(middle, lanes), self._load(old, start, lanes), self._load(old, middle, lanes),
        ]  # fmt: skip
        with code.folded(start, code.add(end, -lanes), ends, lanes) as (number, carried, following):
            front = _Ends(*carried)
            low, high = _merged(code, front.waiting, front.coming)
            self._put(low, new, number)
            first, second = (self._load(old, place, 1) for place in (front.one, front.other))
            less = code.op(f"icmp slt {second.typed}, {first.text}", BOOLEAN)
            alone = code.op(f"icmp sge i64 {front.one.text}, {middle.text}", BOOLEAN)
            wanted = code.op(f"or i1 {alone.text}, {less.text}", BOOLEAN)
            is_left = code.op(f"icmp slt i64 {front.other.text}, {end.text}", BOOLEAN)
            taken = code.op(f"and i1 {is_left.text}, {wanted.text}", BOOLEAN)
            following += self._further(old, front._replace(waiting=high), taken, lanes)
        self._put(following[2], new, code.add(end, -lanes))

    def _further(self, old: Value, ends: _Ends, is_other: Value, move: int) -> _Ends:
        """Return the ends after the next keys were taken from one of the lines, ``move`` lanes on."""
        code = self.code
        place = code.select(is_other, ends.other, ends.one)
        coming = self._load(old, place if move > 0 else code.add(place, move), self.lanes)
        step, none = constant(move, "int64"), constant(0, "int64")
        one, other = code.select(is_other, none, step), code.select(is_other, step, none)
        return _Ends(code.add(ends.one, one), code.add(ends.other, other), ends.waiting, coming)


def _exchanged(code: Code, keys: Value, partner: Callable[[int], int]) -> Value:
    """Return keys of which each lane and its partner are in order: the smaller one first."""
    picked = [partner(k) for k in range(keys.lanes)]
    other = code.picked(keys, keys, picked)
    small, large = (code.intrinsic(name, keys, other) for name in ("smin", "smax"))
    return code.picked(small, large, [k if k < picked[k] else keys.lanes + k for k in range(keys.lanes)])


def _sorted(code: Code, keys: Value) -> Value:
    """Return the keys of a register in order."""
    run = 2
    while run <= keys.lanes:
        keys = _exchanged(code, keys, lambda k, run=run: k ^ (run - 1))  # type: ignore[misc]
        apart = run // 4
        while apart:
            keys = _exchanged(code, keys, lambda k, apart=apart: k ^ apart)  # type: ignore[misc]
            apart //= 2
        run *= 2
    return keys


def _merged(code: Code, one: Value, other: Value) -> tuple[Value, Value]:
    """Return the smaller half of the keys of two registers in order, and the larger half.

    Keys that are compared lie in the same lane of two registers, so that half as many comparisons do.
    """
    lanes = one.lanes
    turned = code.picked(other, other, range(lanes - 1, -1, -1))
    places, apart = list(range(2 * lanes)), lanes // 2  # where the keys belong that the two registers hold
    low, high = (code.intrinsic(name, one, turned) for name in ("smin", "smax"))
    while apart:
        first = [k for k in places if not k & apart]
        wanted = [*first, *(k | apart for k in first)]
        sides = _placed(code, low, high, places, wanted)
        low, high = (code.intrinsic(name, *sides) for name in ("smin", "smax"))
        places, apart = wanted, apart // 2
    return _placed(code, low, high, places, list(range(2 * lanes)))


def _placed(
    code: Code, low: Value, high: Value, places: Sequence[int], wanted: Sequence[int]
) -> tuple[Value, Value]:
    """Return the keys of two registers in other lanes."""
    lanes = [places.index(k) for k in wanted]
    half = low.lanes
    return code.picked(low, high, lanes[:half]), code.picked(low, high, lanes[half:])


def key_of(code: Code, value: Value, keys: str) -> Value:
    """Return integers that compare as numbers do."""
    if value.dtype in FLOATS:
        return _turned(code, _bits(code, value, keys))
    made = cast(code, value, keys)
    return (
        _sign_changed(code, made)
        if value.dtype in UNSIGNED and size_of(value.dtype) == size_of(keys)
        else made
    )


def number_of(code: Code, key: Value, dtype: str) -> Value:
    """Return the numbers that keys were made of."""
    if dtype in FLOATS:
        return code.op(f"bitcast {_turned(code, key).typed} to {type_of(dtype, key.lanes)}", dtype, key.lanes)
    whole = dtype in UNSIGNED and size_of(dtype) == size_of(key.dtype)
    return cast(code, _sign_changed(code, key) if whole else key, dtype)


def _bits(code: Code, value: Value, keys: str) -> Value:
    """Return the bits of floating-point numbers; those of NaN without the sign."""
    bits = code.op(f"bitcast {value.typed} to {type_of(keys, value.lanes)}", keys, value.lanes)
    most = constant(np.iinfo(keys).max, keys, value.lanes)
    known = code.op(f"fcmp ord {value.typed}, {value.text}", BOOLEAN, value.lanes)
    return code.select(known, bits, code.op(f"and {bits.typed}, {most.text}", keys, value.lanes))


def _turned(code: Code, bits: Value) -> Value:
    """Return bits with all but the sign turned round where that is set; twice, they are what they were."""
    dtype, lanes, width = bits.dtype, bits.lanes, 8 * size_of(bits.dtype)
    sign = code.op(f"ashr {bits.typed}, {constant(width - 1, dtype, lanes).text}", dtype, lanes)
    turned = code.op(f"lshr {sign.typed}, {constant(1, dtype, lanes).text}", dtype, lanes)
    return code.op(f"xor {bits.typed}, {turned.text}", dtype, lanes)


def _sign_changed(code: Code, keys: Value) -> Value:
    least = constant(np.iinfo(keys.dtype).min, keys.dtype, keys.lanes)
    return code.op(f"xor {keys.typed}, {least.text}", keys.dtype, keys.lanes)


__all__ = ["LineSort", "sorts_values"]

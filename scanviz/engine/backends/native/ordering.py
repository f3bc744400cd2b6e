"""Native code that puts the elements of a line in order, equal ones in the order in which they are met, NaN last.

Numbers become keys first, int64 that compare as the numbers do: of a floating-point number its bits, turned round where it is
negative (as in M. Herf, *Radix Tricks*, 2001), the largest of all for NaN; both zeros have one key.  Blocks of :data:`BLOCK` keys
are put in order by counting how many keys go before each, in all lanes of a register at once, and then merged, two lines at a time,
from both ends at once and by selections instead of branches: what comes next of a line in no order cannot be foretold.
"""

from __future__ import annotations

from collections.abc import Callable

from scanviz.engine.backends.native.elements import lanes_of, pieces
from scanviz.engine.backends.native.formulas import cast, primitive
from scanviz.engine.backends.native.instructions import Step
from scanviz.engine.backends.native.ir import Code, Value, constant
from scanviz.engine.graph.types import BOOLEAN, FLOATS
from scanviz.engine.named_tuple import NamedTuple

BLOCK = 16  # keys that are put in order by counting
_WORD = 8  # bytes of a key, and of a place
_LAST = constant(2**63 - 1, "int64")


class _Ordered(NamedTuple):
    """Addresses of keys, and of the places where they were."""

    keys: Value
    places: Value


class _Merge(NamedTuple):
    """Two neighbours that are merged: what is read and written, where the first begins, and how many keys each has."""

    given: _Ordered
    into: _Ordered
    start: Value
    left: int
    right: int


class LineOrder:
    """Finds the order of lines of one length.

    Parameters
    ----------
    step : Step
        The step that is written.
    size : int
        Elements of a line.
    """

    def __init__(self, step: Step, size: int) -> None:
        self.code, self.size = step.code, size
        self.lanes = lanes_of(["int64"], step.vector_bytes)
        # one more than there are: of a line that is used up the key behind it is read, and not taken
        rooms = [step.places.temporary((size + 1,), "int64") for _ in range(5)]
        addresses = [step.operand(room).address for room in rooms]
        self._raw = addresses[0]
        self._ordered = _Ordered(*addresses[1:3]), _Ordered(*addresses[3:])

    def write(self, element: Callable[[Value], Value]) -> Callable[[Value], Value]:
        """Write the lines that order a line, of which ``element(k)`` is one; return what gives the place of the k-th in order."""
        code = self.code
        with code.counted(0, self.size) as number:
            code.store(key_of(code, element(number)), self._at(self._raw, number))
        whole, rest = divmod(self.size, BLOCK)
        if whole:
            with code.several(0, whole, BLOCK) as start:
                self._block(start, BLOCK)
        if rest:
            self._block(constant(whole * BLOCK, "int64"), rest)
        given, other = self._ordered
        width = BLOCK
        while width < self.size:
            self._merge(given, other, width)
            given, other, width = other, given, 2 * width
        return lambda number: code.load(self._at(given.places, number), "int64")

    def _at(self, base: Value, number: Value) -> Value:
        return self.code.at(base, self.code.times(number, _WORD))

    def _block(self, start: Value, size: int) -> None:
        """Write the lines that put some keys in order: each goes where as many are before it."""
        code, into = self.code, self._ordered[0]
        for first, count, width in pieces(size, self.lanes):
            with code.several(first, count, width) as number:
                own = code.load(self._at(self._raw, code.add(start, number)), "int64", width)
                place = _counting(code, number, width)
                with code.folded(0, size, [constant(0, "int64", width)]) as (other, (rank,), given):
                    key = code.splat(code.load(self._at(self._raw, code.add(start, other)), "int64"), width)
                    met = code.op(
                        f"icmp slt {place.type} {code.splat(other, width).text}, {place.text}", BOOLEAN, width
                    )
                    less = code.op(f"icmp slt {key.typed}, {own.text}", BOOLEAN, width)
                    equal = code.op(f"icmp eq {key.typed}, {own.text}", BOOLEAN, width)
                    earlier = code.op(f"and {equal.typed}, {met.text}", BOOLEAN, width)
                    before = code.op(f"or {less.typed}, {earlier.text}", BOOLEAN, width)
                    more = code.op(f"zext {before.typed} to {rank.type}", "int64", width)
                    given.append(code.op(f"add {rank.typed}, {more.text}", "int64", width))
                for k in range(width):
                    goal = code.add(start, code.lane(given[0], k))
                    code.store(code.lane(own, k), self._at(into.keys, goal))
                    code.store(code.add(start, code.add(number, k)), self._at(into.places, goal))

    def _merge(self, given: _Ordered, into: _Ordered, width: int) -> None:
        """Write the lines that merge neighbours of ``width`` keys each; the last may be shorter, or alone."""
        code = self.code
        pairs, rest = divmod(self.size, 2 * width)
        if pairs:
            with code.several(0, pairs, 2 * width) as start:
                self._merge_pair(_Merge(given, into, start, width, width))
        begin = pairs * 2 * width
        if rest > width:
            self._merge_pair(_Merge(given, into, constant(begin, "int64"), width, rest - width))
            return
        for first, count, lanes in pieces(rest, self.lanes):
            with code.several(begin + first, count, lanes) as number:
                for old, new in zip(given, into, strict=True):
                    code.store(code.load(self._at(old, number), "int64", lanes), self._at(new, number))

    def _merge_pair(self, pair: _Merge) -> None:
        """Write the lines that merge two neighbours, from the front and from the back at once: neither waits for the other.

        So long as no more are taken from either end than the shorter one has, none is used up, and none looks where it ends.
        """
        code, few = self.code, min(pair.left, pair.right)
        middle, last = code.add(pair.start, pair.left), code.add(pair.start, pair.left + pair.right - 1)
        ends = [pair.start, middle, code.add(middle, -1), last]
        with code.folded(0, few, ends) as (number, (one, other, last_one, last_other), further):
            first, second = (self._key(pair, k) for k in (one, other))
            less = code.op(f"icmp slt i64 {second.text}, {first.text}", BOOLEAN)
            self._put(pair, code.add(pair.start, number), less, (other, second), (one, first))
            taken = code.op(f"zext i1 {less.text} to i64", "int64")
            further += [code.add(one, code.op(f"xor i64 {taken.text}, 1", "int64")), code.add(other, taken)]
            first, second = (self._key(pair, k) for k in (last_one, last_other))
            more = code.op(f"icmp sgt i64 {first.text}, {second.text}", BOOLEAN)
            goal = code.op(f"sub i64 {last.text}, {number.text}", "int64")
            self._put(pair, goal, more, (last_one, first), (last_other, second))
            taken = code.op(f"sext i1 {more.text} to i64", "int64")  # -1 or 0
            left = code.op(f"xor i64 {taken.text}, -1", "int64")
            further += [code.add(last_one, taken), code.add(last_other, left)]
        if pair.left != pair.right:
            self._merge_middle(pair, further[0], further[1])

    def _merge_middle(self, pair: _Merge, one: Value, other: Value) -> None:
        """Write the lines that merge what is between both ends, from the front: what is used up is looked for."""
        code, few = self.code, min(pair.left, pair.right)
        middle, end = code.add(pair.start, pair.left), code.add(pair.start, pair.left + pair.right)
        start, stop = code.add(pair.start, few), code.add(end, -few)
        with code.folded(start, stop, [one, other]) as (number, (one, other), further):
            first, second = (self._key(pair, k) for k in (one, other))
            is_left = code.op(f"icmp slt i64 {other.text}, {end.text}", BOOLEAN)
            alone = code.op(f"icmp sge i64 {one.text}, {middle.text}", BOOLEAN)
            less = code.op(f"icmp slt i64 {second.text}, {first.text}", BOOLEAN)
            wanted = code.op(f"or i1 {alone.text}, {less.text}", BOOLEAN)
            taken = code.op(f"and i1 {is_left.text}, {wanted.text}", BOOLEAN)
            self._put(pair, number, taken, (other, second), (one, first))
            step = code.op(f"zext i1 {taken.text} to i64", "int64")
            further.append(code.add(one, code.op(f"xor i64 {step.text}, 1", "int64")))
            further.append(code.add(other, step))

    def _key(self, pair: _Merge, number: Value) -> Value:
        return self.code.load(self._at(pair.given.keys, number), "int64")

    def _put(
        self, pair: _Merge, goal: Value, holds: Value, this: tuple[Value, Value], that: tuple[Value, Value]
    ) -> None:
        """Put one of two keys, each after its number, and the place where it was, where it belongs."""
        code = self.code
        number, key = (code.select(holds, one, other) for one, other in zip(this, that, strict=True))
        code.store(key, self._at(pair.into.keys, goal))
        code.store(code.load(self._at(pair.given.places, number), "int64"), self._at(pair.into.places, goal))


def key_of(code: Code, number: Value) -> Value:
    """Return an int64 that is smaller where a number comes first, and equal where none does."""
    if number.dtype == "uint64":
        return code.op(f"xor i64 {number.text}, {-(2**63)}", "int64")
    if number.dtype not in FLOATS:
        return cast(code, number, "int64")
    # of -0 this is 0
    value = primitive(code, "add", [cast(code, number, "float64"), constant(0.0, "float64")])
    bits = code.op(f"bitcast {value.typed} to i64", "int64")
    sign = code.op(f"ashr i64 {bits.text}, 63", "int64")
    turned = code.op(f"lshr i64 {sign.text}, 1", "int64")
    key = code.op(f"xor i64 {bits.text}, {turned.text}", "int64")
    known = code.op(f"fcmp ord {value.typed}, {value.text}", BOOLEAN)
    return code.select(known, key, _LAST)


def _counting(code: Code, number: Value, lanes: int) -> Value:
    """Return a number and those that follow it, lane by lane."""
    if lanes == 1:
        return number
    steps = ", ".join(f"i64 {k}" for k in range(lanes))
    return code.op(f"add <{lanes} x i64> {code.splat(number, lanes).text}, <{steps}>", "int64", lanes)


__all__ = ["LineOrder", "key_of"]

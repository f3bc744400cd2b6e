"""LLVM IR as text: names, blocks, loops, loads and stores.

A value is its text (a name or a constant), its dtype and its number of *lanes*, 1 for a scalar.  Text is faster to produce than a
tree of objects: a loop takes a millisecond or two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache

from scanviz.engine.backends.native.emit.store_forwarding import KnownMemory
from scanviz.engine.backends.native.emit.values import Value, constant, is_integer, literal, size_of, type_of
from scanviz.engine.graph.types import BOOLEAN

PICKED = 32  # the longest value whose lanes are extracted: lanes of longer ones are loaded


@lru_cache(4096)
def _whole(number: int) -> Value:
    """Return a constant of int64, as most are."""
    return Value(str(int(number)), "int64")


@cache
def _suffix(dtype: str, lanes: int) -> str:
    """Return the type suffix of LLVM intrinsics."""
    letters = {"float64": "f64", "float32": "f32"}.get(dtype) or f"i{dtype.lstrip('uint')}"
    return letters if lanes == 1 else f"v{lanes}{letters}"


def _is_number(value: Value) -> bool:
    return not value.text.startswith("%")


class Code:
    """A function under construction: its lines, block by block.

    Attributes
    ----------
    lines : list of str
        The lines so far.
    declared : dict
        Name → declaration of the functions that are called.
    tables : list of str
        The constants in memory.
    marked : bool
        Whether comments are kept in the machine code.
    memory : KnownMemory
        Known contents of memory.
    """

    def __init__(self, marked: bool = False) -> None:
        self.marked = marked
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.tables: list[str] = []
        self.memory = KnownMemory()
        self.block = "entry"
        self._count = 0

    def name(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"%v{self._count}"

    def label(self) -> str:
        """Return a new block label."""
        self._count += 1
        return f"b{self._count}"

    def line(self, text: str) -> None:
        """Add a line."""
        if text.startswith(("store", "call")):  # what they change is unknown
            self.memory.forget()
        self.lines.append(f"  {text}")

    def comment(self, text: str) -> None:
        """Add a comment, sanitised; in marked code also a mark in the assembly."""
        shown = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
        self.lines.append(f"  ; {shown}")
        if self.marked:
            plain = "".join(char if char.isascii() and char not in "\\\"$%{}|'" else " " for char in shown)
            self.lines.append(f'  call void asm sideeffect "# {plain}", ""()')

    def begin(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label
        self.memory.forget()

    def take_back(self, lines: int, block: str) -> None:
        """Remove the lines after the first ``lines``, back to that block."""
        del self.lines[lines:]
        self.block = block
        self.memory.forget()

    @contextmanager
    def storing_nothing(self) -> Iterator[None]:
        """Context of blocks that store nothing relevant: memory known before them is known after them."""
        known = self.memory.values
        yield
        self.memory.values = known

    def jump(self, label: str) -> None:
        """Jump to a block."""
        self.line(f"br label %{label}")

    def branch(self, condition: Value, then: str, otherwise: str) -> None:
        """Jump to one of two blocks."""
        self.line(f"br i1 {condition.text}, label %{then}, label %{otherwise}")

    def op(self, text: str, dtype: str, lanes: int = 1) -> Value:
        """Add a line that makes a value."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return Value(name, dtype, lanes)

    def call(self, function: str, operands: Sequence[Value], dtype: str, lanes: int = 1) -> Value:
        """Add a call of a function, and declare it."""
        result = type_of(dtype, lanes)
        if function not in self.declared:
            self.declared[function] = f"declare {result} @{function}({', '.join(x.type for x in operands)})"
        return self.op(
            f"call {result} @{function}({', '.join(operand.typed for operand in operands)})", dtype, lanes
        )

    def intrinsic(self, name: str, *operands: Value) -> Value:
        """Add a call of an LLVM intrinsic, overloaded by its first operand's type."""
        first = operands[0]
        return self.call(
            f"llvm.{name}.{_suffix(first.dtype, first.lanes)}", operands, first.dtype, first.lanes
        )

    def splat(self, value: Value, lanes: int) -> Value:
        """Return a number in every lane."""
        if lanes == value.lanes:
            return value
        if not value.text.startswith("%"):
            return Value(f"splat ({value.typed})", value.dtype, lanes)
        kind = type_of(value.dtype, lanes)
        first = self.op(f"insertelement {kind} poison, {value.typed}, i64 0", value.dtype, lanes)
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.op(f"shufflevector {first.typed}, {kind} poison, {zeros}", value.dtype, lanes)

    def both(self, first: Value, second: Value) -> Value:
        """Return whether two conditions hold."""
        return second if first.text == "true" else self.op(f"and i1 {first.text}, {second.text}", BOOLEAN)

    def select(self, condition: Value, first: Value, second: Value) -> Value:
        """Return one of two values, lane by lane."""
        return self.op(f"select {condition.typed}, {first.typed}, {second.typed}", first.dtype, first.lanes)

    def add(self, first: Value, second: Value | int) -> Value:
        """Return a sum of int64; one of constants is a constant."""
        second = _whole(second) if isinstance(second, int) else second
        if second.text == "0":
            return first
        if first.text == "0":
            return second
        if _is_number(first) and _is_number(second):
            return _whole(int(first.text) + int(second.text))
        return self.op(f"add nsw i64 {first.text}, {second.text}", first.dtype)

    def times(self, first: Value, factor: int) -> Value:
        """Return a product of int64; one of constants is a constant."""
        if not factor or _is_number(first):
            return _whole(int(first.text) * factor if factor else 0)
        return first if factor == 1 else self.op(f"mul nsw i64 {first.text}, {factor}", first.dtype)

    def along(self, offset: Value, number: Value, step: int) -> Value:
        """Return ``offset`` plus ``number`` steps."""
        return self.add(offset, self.times(number, step))

    def at(self, base: Value, offset: Value | int) -> Value:
        """Return the address ``offset`` bytes after ``base``."""
        offset = _whole(offset) if isinstance(offset, int) else offset
        if offset.text == "0":
            return base
        address = self.op(f"getelementptr i8, ptr {base.text}, i64 {offset.text}", "address")
        self.memory.further(address, base, int(offset.text) if _is_number(offset) else None)
        return address

    def load(self, address: Value, dtype: str, lanes: int = 1, alignment: int | None = None) -> Value:
        """Load adjacent numbers; booleans are bytes in memory."""
        known = self.memory.found(address, dtype, lanes)
        if known is not None:
            value, lane = known
            if lanes == value.lanes:
                return value
            if value.lanes * size_of(dtype) <= PICKED:
                return (
                    self.lane(value, lane)
                    if lanes == 1
                    else self.picked(value, None, range(lane, lane + lanes))
                )
        align = alignment or size_of(dtype)
        if dtype != BOOLEAN:
            return self.op(f"load {type_of(dtype, lanes)}, ptr {address.text}, align {align}", dtype, lanes)
        byte = self.op(f"load {type_of('uint8', lanes)}, ptr {address.text}, align 1", "uint8", lanes)
        return self.op(f"icmp ne {byte.typed}, {constant(0, 'uint8', lanes).text}", BOOLEAN, lanes)

    def store(self, value: Value, address: Value, alignment: int | None = None) -> None:
        """Store adjacent numbers."""
        self.memory.stored(value, address)
        align = alignment or size_of(value.dtype)
        if value.dtype == BOOLEAN:
            value = self.op(f"zext {value.typed} to {type_of('uint8', value.lanes)}", "uint8", value.lanes)
        self.lines.append(f"  store {value.typed}, ptr {address.text}, align {align}")

    def picked(self, first: Value, second: Value | None, lanes: Sequence[int]) -> Value:
        """Shuffle: return some lanes of two values, numbered through both."""
        other = f"{first.type} poison" if second is None else second.typed
        numbers = ", ".join(f"i32 {k}" for k in lanes)
        text = f"shufflevector {first.typed}, {other}, <{len(lanes)} x i32> <{numbers}>"
        return self.op(text, first.dtype, len(lanes))

    def lane(self, value: Value, k: int) -> Value:
        """Return the number in one lane."""
        if value.lanes == 1:
            return value
        return self.op(f"extractelement {value.typed}, i64 {k}", value.dtype)

    def by_lane(self, function: Callable[..., Value], operands: Sequence[Value], dtype: str) -> Value:
        """Apply a function of scalars lane by lane."""
        lanes = operands[0].lanes
        if lanes == 1:
            return function(*operands)
        return self.side_by_side(lambda k: function(*(self.lane(x, k) for x in operands)), dtype, lanes)

    def side_by_side(self, one: Callable[[int], Value], dtype: str, lanes: int) -> Value:
        """Build a vector from a function of the lane number."""
        found = Value("poison", dtype, lanes)
        for k in range(lanes):
            found = self.op(f"insertelement {found.typed}, {one(k).typed}, i64 {k}", dtype, lanes)
        return found

    def halves(self, value: Value) -> tuple[Value, Value]:
        """Return the first half of the lanes, and the second."""
        half = value.lanes // 2
        if half == 1:
            return self.lane(value, 0), self.lane(value, 1)
        return self.picked(value, None, range(half)), self.picked(value, None, range(half, 2 * half))

    def either(self, first: Value, before: str, second: Value, otherwise: str) -> Value:
        """Return the phi of two values by the block that led here."""
        parts = f"[ {first.text}, %{before} ], [ {second.text}, %{otherwise} ]"
        return self.op(f"phi {first.type} {parts}", first.dtype, first.lanes)

    def phis(self, place: int, before: str, triples: Iterable[tuple[Value, Value, Value]]) -> None:
        """Insert phis at a loop's head: (value, initial value, value from the present block).

        ``place`` is the line after which the head's other lines begin, ``before`` the block that leads to it.
        """
        self.lines[place:place] = [
            f"  {made.text} = phi {made.type} [ {old.text}, %{before} ], [ {new.text}, %{self.block} ]"
            for made, old, new in triples
        ]

    @contextmanager
    def counted(self, start: Value | int, end: Value | int, step: int = 1) -> Iterator[Value]:
        """Write the body of a loop over ``range(start, end, step)``, which gives the number."""
        with self.folded(start, end, [], step) as (number, _, _):
            yield number

    def over(self, start: Value | int, end: Value | int, step: int = 1, most: int = 1) -> Iterator[Value]:
        """Iterate over ``range(start, end, step)``: known numbers if they are at most ``most``, else one value in a loop."""
        numbers = self._known_range(start, end, step, most)
        if numbers is not None:
            yield from map(_whole, numbers)
        else:
            with self.counted(start, end, step) as number:
                yield number

    def _known_range(self, start: Value | int, end: Value | int, step: int, most: int) -> range | None:
        """Return a range of at most ``most`` known numbers, else None."""
        first, last = (_whole(n) if isinstance(n, int) else n for n in (start, end))
        if not (_is_number(first) and _is_number(last)):
            return None
        numbers = range(int(first.text), int(last.text), step)
        return numbers if len(numbers) <= most else None

    @contextmanager
    def folded(
        self, start: Value | int, end: Value | int, initial: Sequence[Value], step: int = 1
    ) -> Iterator[tuple[Value, list[Value], list[Value]]]:
        """Write the body of a loop that carries values: the number, the carries, and the list that the body fills.

        After the body that list holds the values at the end.
        """
        first, last = (_whole(n) if isinstance(n, int) else n for n in (start, end))
        before, head, body, after = self.block, self.label(), self.label(), self.label()
        self.jump(head)
        self.begin(head)
        number = Value(self.name(), "int64")
        carried = [Value(self.name(), value.dtype, value.lanes) for value in initial]
        place = len(self.lines)  # the phis, whose names the body's results need
        go = self.op(f"icmp slt i64 {number.text}, {last.text}", BOOLEAN)
        self.branch(go, body, after)
        self.begin(body)
        given: list[Value] = []
        # a copy, so that LLVM does not move the freeze out of the loop
        yield self.hidden(self.op(f"mul i64 {number.text}, 1", "int64")), carried, given
        further = self.add(number, step)
        phis = [(number, first, further), *zip(carried, initial, given, strict=True)]
        self.phis(place, before, phis)
        self.jump(head)
        self.begin(after)
        given[:] = carried

    def hidden(self, number: Value) -> Value:
        """Hide the origin of an int64 from LLVM.

        Else it looks for cheaper ways to compute each address of a loop (loop strength reduction), which took a third of its
        time and gains nothing here.
        """
        return self.op(f"freeze i64 {number.text}", "int64")

    def turns(
        self,
        start: Value | int,
        end: Value | int,
        initial: Sequence[Value],
        turn: Callable[[Value, Sequence[Value]], Sequence[Value]],
        step: int = 1,
        most: int = 1,
    ) -> list[Value]:
        """Fold ``turn(number, carried)`` over a range and return the final carried values.

        Up to ``most`` known turns are unrolled, more become a loop.
        """
        numbers = self._known_range(start, end, step, most)
        if numbers is not None:
            found = list(initial)
            for number in numbers:
                found = list(turn(_whole(number), found))
            return found
        with self.folded(start, end, initial, step) as (value, carried, given):
            given += turn(value, carried)
        return given

    def table(self, content: bytes) -> Value:
        """Return the address of constant data, aligned to 64 bytes."""
        name = f"@table{len(self.tables)}"
        text = "".join(f"\\{byte:02X}" for byte in content)
        self.tables.append(f'{name} = private constant [{len(content)} x i8] c"{text}", align 64')
        return Value(name, "address")


__all__ = ["Code", "Value", "constant", "is_integer", "literal", "type_of"]

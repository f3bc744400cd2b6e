"""Keep small rows of states in registers from step to step.

Such a row is carried by the loop like a scalar state.  It is stored to memory as well, but the next step does not wait for the
store.

A tap's row in one step is the next tap's row in the step before.  So the rows carried are those read at a tap and written at the
tap after it: the last row of a state, and the sum so far in the loop of a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scanviz.engine.backends.native.emit.elements import lanes_of, pieces
from scanviz.engine.backends.native.emit.frame import ProgramFrame
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace
from scanviz.engine.program.instructions import LoopInstruction, dtype_of, is_scalar

REGISTERS = 4  # bytes of one row
ROWS = 4  # at most


class SmallRow(NamedTuple):
    """A row carried in registers.

    Attributes
    ----------
    read, written : ArrayPlace
        The row that a step reads, and the next one that it writes.
    pieces : tuple of tuple of int
        The offset in bytes, and the lanes, of each value that it is carried in.
    """

    read: ArrayPlace
    written: ArrayPlace
    pieces: tuple[tuple[int, int], ...]


def small_rows(steps: ProgramFrame, loop: LoopInstruction) -> list[SmallRow]:
    """Return the rows that the steps of a loop carry in registers."""
    found: list[SmallRow] = []
    for k, slot in enumerate(loop.states):
        number = slot.writes[0][1]
        if is_scalar(steps.body, number) and slot.kind != "mitmot":
            continue  # carried as a number
        written = {tap for tap, _ in slot.writes}
        for tap, _ in slot.reads:
            if tap + 1 in written and len(found) < ROWS:
                found += _small(steps, k, tap, number)
    return found


def _small(steps: ProgramFrame, k: int, tap: int, number: int) -> list[SmallRow]:
    places = [steps.places.row("state", k, other, number) for other in (tap, tap + 1)]
    known = [place for place in places if place is not None and steps.array_of(place.base) is not None]
    dtype = dtype_of(steps.body, number)
    if len(known) < len(places) or dtype == "float16":
        return []
    read, written = known
    lanes = lanes_of([dtype], steps.vector_bytes)
    parts = pieces(read.elements, lanes)
    if not 0 < sum(count for _, count, _ in parts) <= REGISTERS:
        return []
    size = read.strides[-1] if read.shape else 0
    of_each = tuple(
        ((first + n * width) * size, width) for first, count, width in parts for n in range(count)
    )
    return [SmallRow(read, written, of_each)]


def before_steps(steps: ProgramFrame, rows: Sequence[SmallRow], first: Value, last: Value) -> list[Value]:
    """Load the initial rows, if there is a first step."""
    if not rows:
        return []
    code = steps.code
    load, after, before = code.label(), code.label(), code.block
    code.branch(code.op(f"icmp slt i64 {first.text}, {last.text}", "bool"), load, after)
    code.begin(load)
    steps.step, known = first, dict(steps.rows)
    loaded = [
        code.load(address, row.read.dtype, lanes)
        for row in rows
        for address, lanes in _apart(steps, row.read, row)
    ]
    steps.rows.clear()
    steps.rows.update(known)
    code.jump(after)
    code.begin(after)
    return [code.either(value, load, constant(0, value.dtype, value.lanes), before) for value in loaded]


def know(steps: ProgramFrame, rows: Sequence[SmallRow], values: Sequence[Value]) -> None:
    """Enter the carried rows as known memory at the beginning of a step."""
    given = iter(values)
    for row in rows:
        for address, _ in _apart(steps, row.read, row):
            steps.code.memory.stored(next(given), address)


def after_step(steps: ProgramFrame, rows: Sequence[SmallRow]) -> list[Value]:
    """Return the rows that a step leaves for the next one."""
    return [
        steps.code.load(address, row.written.dtype, lanes)
        for row in rows
        for address, lanes in _apart(steps, row.written, row)
    ]


def _apart(steps: ProgramFrame, place: ArrayPlace, row: SmallRow) -> list[tuple[Value, int]]:
    address = steps.operand(place).address
    return [(steps.code.at(address, offset), lanes) for offset, lanes in row.pieces]

"""Strip-mined elementwise loops that keep only the last row.

A strip is a run of elements that fit into registers.  One strip goes through all steps, then the next, so states are not loaded and
stored in each step.  This pays for steps that read and write nothing else and do little work: functions such as ``exp`` need the
registers themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.emit.elements import Operand, collapsed, lanes_of, load, pieces, store
from scanviz.engine.backends.native.emit.instructions import elements_of, formula_of, why_not
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import CONSTANT, ArrayPlace
from scanviz.engine.backends.native.emit.steps import StepsWriter
from scanviz.engine.backends.native.kernels import formulas
from scanviz.engine.backends.native.kernels.elementary import FUNCTIONS
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import Instruction, dtype_of, is_scalar
from scanviz.engine.program.plan import StoreKind
from scanviz.engine.scalar.blocks import Block

MOST_REGISTERS = 8  # of one state in a strip
_SLOW = FUNCTIONS | {"divide", "sqrt", "quotient", "remainder"}


class StripMinedLoop(NamedTuple):
    """A strip-mined loop.

    Attributes
    ----------
    instructions : tuple of Instruction
        The instructions of the step, all of the states' shape.
    states, fixed : tuple of int
        Registers of the states' rows, and of arrays that do not change.
    following : tuple of int
        The register of each state's next row.
    places : tuple of ArrayPlace
        The contiguous memory of the states, then of the others.
    lanes : int
        The lanes of a register.
    """

    instructions: tuple[Instruction, ...]
    states: tuple[int, ...]
    fixed: tuple[int, ...]
    following: tuple[int, ...]
    places: tuple[ArrayPlace, ...]
    lanes: int

    @property
    def elements(self) -> int:
        """Number of elements of each state."""
        return self.places[0].shape[0]

    @property
    def registers(self) -> int:
        """Registers of a state per strip, so that a step fits into the registers of the processor."""
        size = max(np.dtype(place.dtype).itemsize for place in self.places)
        there = 24 if self.lanes * size == 64 else 12
        return max(1, min(MOST_REGISTERS, there // (len(self.places) + 1)))


def strip_mined_loop(steps: StepsWriter) -> StripMinedLoop | None:
    """Return how a loop is strip-mined, None if it cannot be."""
    loop, body = steps.loop, steps.body
    if loop.until is not None or loop.carries or any(slot.result is not None for slot in loop.step_outputs):
        return None
    if not loop.states or any(
        slot.kind != "sitsot" or slot.offset != 1 or len(slot.reads) != 1 for slot in loop.states
    ):
        return None
    if any(steps.plan.stores["state", k].kind is not StoreKind.SINGLE for k in range(len(loop.states))):
        return None
    states = tuple(slot.reads[0][1] for slot in loop.states)
    alive = _instructions(steps, steps.places.shape(states[0]))
    if alive is None:
        return None
    made = {instruction.outputs[0] for instruction in alive}
    read = dict.fromkeys(n for part in alive for n in part.inputs if n not in made and not is_scalar(body, n))
    fixed = tuple(number for number in read if number not in states)
    following = tuple(slot.writes[0][1] for slot in loop.states)
    places = [_in_one_run(steps, number, steps.places.shape(states[0])) for number in (*states, *fixed)]
    known = [place for place in places if place is not None]
    if len(known) < len(places) or not made.union(read, states).issuperset(following):
        return None
    blocks = [block for part in alive if (block := formula_of(part, body)) is not None]
    dtypes = {dtype_of(body, number) for number in (*made, *read, *states)}
    dtypes.update(dtype for block in blocks for dtype in block.dtypes)
    lanes = lanes_of(list(dtypes), steps.vector_bytes)
    return StripMinedLoop(tuple(alive), states, fixed, following, tuple(known), lanes)


def _instructions(steps: StepsWriter, shape: tuple[int, ...] | None) -> list[Instruction] | None:
    """Return the instructions of a step, None unless all are short elementwise work on one shape."""
    found = []
    for index, instruction in enumerate(steps.body.instructions):
        if index in steps.plan.idle or (
            isinstance(instruction, Instruction) and instruction.op.facts.size == "is"
        ):
            continue
        if not isinstance(instruction, Instruction) or not shape:
            return None
        kind = instruction.op.declaration
        if not isinstance(kind, ElementwiseDeclaration) and kind is not CAST:
            return None
        if why_not(instruction, steps.body) is not None:
            return None
        block = formula_of(instruction, steps.body)
        (output,) = instruction.outputs
        if is_scalar(steps.body, output) or steps.places.shape(output) != shape:
            return None
        if block is not None and not (formulas.takes_lanes(block) and _is_short(block)):
            return None
        found.append(instruction)
    return found or None


def _is_short(block: Block) -> bool:
    return all(line.op not in _SLOW and all(map(_is_short, line.blocks)) for line in block.lines)


def _in_one_run(steps: StepsWriter, number: int, shape: tuple[int, ...] | None) -> ArrayPlace | None:
    """Return the contiguous place of a state or a loop invariant, None if it is not contiguous."""
    place = steps.places.of(number)
    if place is None or shape is None or place.shift is not None or 0 in shape:
        return None
    same = (
        any(slot.inner == number for slot in steps.loop.non_sequences)
        or place.base[0] == CONSTANT + steps.within
    )
    if not same and place.base[0] != "state" + steps.within:
        return None
    sizes, (strides,) = collapsed(shape, [place.spread(shape).strides])
    if len(sizes) > 1 or (strides[0] != np.dtype(place.dtype).itemsize and sizes != [1]):
        return None
    return place._replace(shape=(sizes[0],), strides=(np.dtype(place.dtype).itemsize,))


# Writes all steps, by what writes those from one to another.
Blocks = Callable[[Callable[[Value, Value], None]], None]


def write_strip_mined(
    steps: StepsWriter, mined: StripMinedLoop, last: Value, blocks: Blocks | None = None
) -> Value:
    """Write a strip-mined loop; return the steps done.

    With ``blocks`` all strips take the steps of one block before those of the next.
    """
    code = steps.code
    steps.step = steps.first
    operands = [steps.operand(place) for place in mined.places]

    def write(first: Value, end: Value) -> None:
        _all_strips(steps, mined, operands, (first, end))

    if blocks is None:
        write(steps.first, last)
    else:
        blocks(write)
    done = code.call("llvm.smax.i64", [steps.first, last], "int64")
    steps.leave(done, [])
    return done


def _all_strips(
    steps: StepsWriter, mined: StripMinedLoop, operands: Sequence[Operand], between: tuple[Value, Value]
) -> None:
    """Write all strips through a range of steps."""
    code, most, lanes = steps.code, mined.registers, mined.lanes
    whole, rest = divmod(mined.elements, most * lanes)
    for number in code.over(0, whole * most * lanes, most * lanes):
        _strip(steps, mined, operands, number, [(k * lanes, lanes) for k in range(most)], between)
    # the remaining registers, in as few strips as possible: each strip waits for its own steps
    left = [(start + k * width, width) for start, count, width in pieces(rest, lanes) for k in range(count)]
    begin = constant(whole * most * lanes, "int64")
    for k in range(0, len(left), most):
        _strip(steps, mined, operands, begin, left[k : k + most], between)


def _strip(
    steps: StepsWriter,
    mined: StripMinedLoop,
    operands: Sequence[Operand],
    number: Value,
    registers: Sequence[tuple[int, int]],
    between: tuple[Value, Value],
) -> None:
    """Write one strip through steps; ``registers`` has the first element of each, counted from ``number``, and the lanes."""
    code = steps.code

    def place(which: int, element: int) -> tuple[Operand, Value, int]:
        size = mined.places[which].strides[0]
        return operands[which], code.times(code.add(number, element), size), size

    def values(which: int) -> list[Value]:
        return [load(code, *place(which, element), width) for element, width in registers]

    count = len(mined.states)
    initial = [value for which in range(count) for value in values(which)]
    fixed = [values(which) for which in range(count, len(operands))]
    values_before, rows_before = dict(steps.values), dict(steps.rows)
    with code.folded(*between, initial) as (step, carried, given):
        steps.step = step
        rows = [carried[k * len(registers) : (k + 1) * len(registers)] for k in range(count)]
        results = [
            _one(steps, mined, [row[k] for row in rows], [number[k] for number in fixed], width)
            for k, (_, width) in enumerate(registers)
        ]
        given += [result[k] for k in range(count) for result in results]
    steps.values, steps.rows = values_before, rows_before
    ends = iter(given)
    for k in range(count):
        for element, _ in registers:
            store(code, next(ends), *place(k, element))


def _one(
    steps: StepsWriter, mined: StripMinedLoop, rows: Sequence[Value], fixed: Sequence[Value], width: int
) -> list[Value]:
    """Return the next rows of the states for one register of each."""
    known = dict(zip((*mined.states, *mined.fixed), (*rows, *fixed), strict=True))
    for instruction in mined.instructions:
        inputs = [
            known[n] if n in known else steps.code.splat(steps.value(n), width) for n in instruction.inputs
        ]
        known[instruction.outputs[0]] = elements_of(steps.code, instruction, steps.body, inputs)
    return [known[number] for number in mined.following]

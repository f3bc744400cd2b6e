"""Native code of draws by the formulas of :mod:`scanviz.engine.ops.formulas.draws`.

If each element takes one random word, words are stored to memory first, some blocks at a time, and elements are made of them in
lanes.  A formula that draws its words itself, because it may reject some, is written for one element or block at a time.  The next
state is the old one with the number of blocks added to its counter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from scanviz.engine.backends.native.emit.elements import Operand, lanes_of, load, pieces, store
from scanviz.engine.backends.native.emit.instructions import Step, copy
from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace
from scanviz.engine.backends.native.kernels import formulas
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.backends.native.kernels.philox import BYTES, WORDS, advanced, block_at, write_blocks
from scanviz.engine.ops.formulas.draws import Draw
from scanviz.engine.ops.formulas.words import STATE
from scanviz.engine.program.instructions import Instruction, dtype_of, is_scalar
from scanviz.engine.program.plan.location import packed
from scanviz.engine.scalar.blocks import Block, typed
from scanviz.engine.scalar.expression import Expression, argument

CHUNK = 64  # blocks of random words in memory at once


class DrawWriter:
    """Writes a draw.

    Parameters
    ----------
    step : Step
        The step that is written.
    instruction : Instruction
        The draw.
    draw : Draw
        Its formula.
    fits : callable or None
        ``fits(*parameters)``: whether parameters are surely in range; None if the draw itself checks them.
    held : str, optional
        The dtype in which parameters are checked; that of the formula by default.
    """

    lanes: int | None = None  # the most elements at once; None for what the formula takes

    def __init__(
        self,
        step: Step,
        instruction: Instruction,
        draw: Draw,
        fits: Callable[..., Expression] | None,
        held: str | None = None,
    ) -> None:
        self.step, self.draw, self.fits, self.code = step, draw, fits, step.code
        self.drawn = instruction.outputs[1]
        self.alone = is_scalar(step.body, self.drawn)
        self.shape = step.places.shape(self.drawn) or ()
        self.count = math.prod(self.shape)
        parameters = instruction.inputs[1 + instruction.op.parameters.sizes :] if fits is not None else ()
        given = draw.block.dtypes[draw.given : draw.block.arguments]
        self.several = len(given) // draw.elements  # parameters of an element
        self.held = held or (given[0] if given else "float64")
        self.parameters = [self._held(number) for number in parameters]
        state = step.places.of(instruction.inputs[0])
        assert state is not None
        address = step.operand(state).address
        self.state = [self.code.load(self.code.at(address, 8 * k), "uint64") for k in range(len(STATE))]

    def _held(self, number: int) -> Value | Operand:
        """Return a parameter: a scalar, or a contiguous copy with one number per element."""
        step = self.step
        if is_scalar(step.body, number):
            return cast(self.code, step.value(number), self.held)
        place = step.places.of(number)
        assert place is not None
        memory = step.places.temporary(self.shape, self.held)
        copy(step, place, memory)
        return step.operand(memory)

    def checked(self) -> Value:
        """Write a test that all parameters are surely in range."""
        code = self.code
        dtypes = [self.held] * len(self.parameters)
        assert self.fits is not None
        fits = typed([self.fits(*map(argument, range(len(dtypes))))], dtypes)
        arrays = [x for x in self.parameters if isinstance(x, Operand)]
        if not arrays:
            return formulas.write(code, fits, [x for x in self.parameters if isinstance(x, Value)])[0]
        with code.folded(0, self.count, [constant(True, "bool")]) as (number, (so_far,), given):
            values = [self._parameter(x, number, 0, 1, 1) for x in self.parameters]
            (good,) = formulas.write(code, fits, values)
            given.append(code.both(so_far, good))
        return given[0]

    def _parameter(
        self, parameter: Value | Operand, number: Value, element: int, elements: int, lanes: int
    ) -> Value:
        """Return a parameter of one element of each group."""
        if isinstance(parameter, Value):
            return self.code.splat(parameter, lanes)
        size = np.dtype(self.held).itemsize
        offset = self.code.along(constant(element * size, "int64"), number, elements * size)
        return load(self.code, parameter, offset, elements * size, lanes)

    def write(self, target: ArrayPlace, blocks: int) -> list[Value]:
        """Write the draw and the next state; return the number drawn if it is a scalar."""
        code = self.code
        memory = self.step.operand(target).address
        for k, word in enumerate(advanced(code, self.state, blocks)):
            code.store(word, code.at(memory, 8 * k))
        if self.alone:
            first = constant(0, "int64")
            return self._elements(self._words_of_one() or self._numbered(first, 1), first, 1, 1)
        place = self.step.places.of(self.drawn)
        assert place is not None
        takes_lanes = formulas.takes_lanes(self.draw.block)
        lanes = lanes_of(self.draw.block.dtypes, self.step.vector_bytes) if takes_lanes else 1
        self._fill(place, self.lanes or lanes)
        return []

    def _fill(self, place: ArrayPlace, lanes: int) -> None:
        """Write all elements; if the widest pieces leave a remainder, draw more and copy those wanted.

        So the formula, which is long, is written once.
        """
        wanted = -(-self.count // self.draw.elements)
        width = min(lanes, 1 << max(0, wanted - 1).bit_length())
        count = -(-wanted // width) * width * self.draw.elements
        if count == self.count or any(isinstance(x, Operand) for x in self.parameters):
            self._fill_exactly(place, self.count, lanes)
            return
        drawn = self.step.places.temporary((count,), place.dtype)
        self._fill_exactly(drawn, count, width)
        copy(
            self.step, drawn._replace(shape=place.shape, strides=packed(place.shape, drawn.strides[0])), place
        )

    def _fill_exactly(self, place: ArrayPlace, count: int, lanes: int) -> None:
        code = self.code
        if self.draw.words is None:
            self._fill_part(place, constant(0, "int64"), count, lanes, self._numbered)
            return
        size = np.dtype(self.draw.words).itemsize
        of_block = BYTES // size
        most = CHUNK * of_block
        memory = self.step.places.temporary((WORDS * min(CHUNK, -(-count // of_block)),), "uint64")
        address = self.step.operand(memory).address

        def part(begin: Value, count: int) -> None:
            first = code.op(f"udiv i64 {begin.text}, {of_block}", "uint64")
            write_blocks(code, self.state, first, -(-count // of_block), address)
            self._fill_part(place, begin, count, lanes, partial(self._words_at, address))

        whole = count // most
        for begin in code.over(0, whole * most, most):
            part(begin, most)
        if count % most:
            part(constant(whole * most, "int64"), count % most)

    def _fill_part(
        self,
        place: ArrayPlace,
        begin: Value,
        count: int,
        lanes: int,
        made_of: Callable[[Value, int], list[Value]],
    ) -> None:
        """Write ``count`` elements from ``begin`` on; ``made_of(number, lanes)`` gives the words of groups."""
        code, elements = self.code, self.draw.elements
        into, size = self.step.operand(place), np.dtype(place.dtype).itemsize
        groups = begin if elements == 1 else code.op(f"udiv i64 {begin.text}, {elements}", "int64")

        def put(number: Value, lanes: int, several: int) -> None:
            there = code.add(groups, number)
            values = self._elements(made_of(number, lanes), there, lanes, several)
            begins, apart = size, elements * size  # of the elements of one lane
            if len(values) == 2 and lanes > 1:
                values, begins, apart = _interleaved(code, *values), lanes * size, size
            for k, value in enumerate(values):
                behind = code.along(constant(k * begins, "int64"), there, elements * size)
                store(code, value, into, behind, apart)

        whole = count // elements
        for first, several, width in pieces(whole, lanes):
            for number in code.over(first, first + several * width, width):
                put(number, width, elements)
        if count % elements:
            put(constant(whole, "int64"), 1, count % elements)

    def _numbered(self, number: Value, lanes: int) -> list[Value]:
        """Return the state and the number of a block or element."""
        assert lanes == 1
        return [*self.state, cast(self.code, number, "uint64")]

    def _words_of_one(self) -> list[Value]:
        """Return the words of the first group; none if the formula draws its words itself."""
        code = self.code
        if self.draw.words is None:
            return []
        none = constant(0, "uint64")
        words = block_at(code, self.state, none, none)
        if self.draw.words == "uint32":
            upper = code.op(f"lshr i64 {words[0].text}, 32", "uint64")
            words = [cast(code, half, "uint32") for half in (words[0], upper)]
        return words[: self.draw.elements]

    def _words_at(self, memory: Value, number: Value, lanes: int) -> list[Value]:
        """Load the words of groups of elements: the first of each, then the second of each."""
        code, elements, dtype = self.code, self.draw.elements, self.draw.words
        assert dtype is not None
        size = np.dtype(dtype).itemsize
        address = code.at(memory, code.times(number, elements * size))
        parts = [code.load(code.at(address, k * lanes * size), dtype, lanes) for k in range(elements)]
        return parts if lanes == 1 or elements == 1 else _apart(code, *parts)

    def _elements(self, made_of: list[Value], number: Value, lanes: int, count: int) -> list[Value]:
        """Return the first ``count`` elements of groups, one group per lane."""
        code, draw = self.code, self.draw
        given = list(made_of)
        for element in range(draw.elements):
            of = min(element, count - 1)  # unused lanes must not read beyond the end
            for parameter in self.parameters:
                value = self._parameter(parameter, number, of, draw.elements, lanes)
                given.append(cast(code, value, draw.block.dtypes[len(given)]))
        found = formulas.write(code, _needed(draw.block, count), given)
        return [
            self.given_out(value, code.along(constant(element, "int64"), number, draw.elements))
            for element, value in enumerate(found)
        ]

    def given_out(self, value: Value, number: Value) -> Value:
        """Return the result of an element's value; ``number`` is that of the first lane in the draw."""
        return cast(self.code, value, dtype_of(self.step.body, self.drawn))


def _apart(code: Code, first: Value, second: Value) -> list[Value]:
    """Separate the even and odd lanes of two adjacent values."""
    return [code.picked(first, second, range(k, 2 * first.lanes, 2)) for k in (0, 1)]


def _interleaved(code: Code, first: Value, second: Value) -> list[Value]:
    """Interleave the lanes of two values."""
    lanes = first.lanes
    turns = [k // 2 + lanes * (k % 2) for k in range(2 * lanes)]
    return [code.picked(first, second, turns[:lanes]), code.picked(first, second, turns[lanes:])]


def _needed(block: Block, count: int) -> Block:
    """Return a block for its first ``count`` results, without unneeded lines."""
    wanted = set(block.results[:count])
    lines = []
    for line in reversed(block.lines):
        if wanted.intersection(line.outputs):
            wanted.update(line.inputs)
            lines.append(line)
    return block._replace(lines=tuple(reversed(lines)), results=block.results[:count])

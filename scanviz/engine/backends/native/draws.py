"""What writes a draw: the formulas of :mod:`scanviz.engine.ops.draw_formulas`, several blocks of Philox at once.

The state that a draw leaves is the one that it reads with so many blocks added to its counter.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scanviz.engine.backends.native import formulas
from scanviz.engine.backends.native.elements import Operand, lanes_of, load, pieces, store
from scanviz.engine.backends.native.formulas import cast
from scanviz.engine.backends.native.instructions import Step, copy
from scanviz.engine.backends.native.ir import Value, constant
from scanviz.engine.backends.native.places import ArrayPlace
from scanviz.engine.ops.draw_formulas import Draw
from scanviz.engine.program.instructions import Instruction, dtype_of, is_scalar
from scanviz.engine.program.plan.location import packed
from scanviz.engine.scalar.blocks import Block, typed
from scanviz.engine.scalar.expression import Expression, argument


class DrawWriter:
    """What is the same for all elements of a draw.

    Parameters
    ----------
    step : Step
        The step that is written.
    instruction : Instruction
        The draw.
    draw : Draw
        Its formula.
    fits : callable or None
        ``fits(*parameters)``: whether parameters are surely in range; None where what draws looks at them.
    held : str, optional
        The dtype in which parameters are looked at; that of the formula by default.
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
        given = draw.block.dtypes[7 : draw.block.arguments]
        self.several = len(given) // draw.elements  # parameters of an element
        self.held = held or (given[0] if given else "float64")
        self.parameters = [self._held(number) for number in parameters]
        state = step.places.of(instruction.inputs[0])
        assert state is not None
        self.state = step.operand(state).address
        self.words = [self.code.load(self.code.at(self.state, 4 * k), "uint32") for k in range(6)]
        self.key = self.code.load(self.state, "uint64", alignment=4)
        counter = self.code.name()
        self.code.line(f"{counter} = load i128, ptr {self.code.at(self.state, 8).text}, align 4")
        self.counter = counter

    def _held(self, number: int) -> Value | Operand:
        """Return a parameter: one number, or one of each element one after another."""
        step = self.step
        if is_scalar(step.body, number):
            return cast(self.code, step.value(number), self.held)
        place = step.places.of(number)
        assert place is not None
        memory = step.places.temporary(self.shape, self.held)
        copy(step, place, memory)
        return step.operand(memory)

    def checked(self) -> Value:
        """Return whether all parameters are surely in range."""
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
            given.append(code.op(f"and i1 {so_far.text}, {good.text}", "bool"))
        return given[0]

    def _parameter(
        self, parameter: Value | Operand, number: Value, element: int, elements: int, lanes: int
    ) -> Value:
        """Return a parameter of an element of some blocks."""
        if isinstance(parameter, Value):
            return self.code.splat(parameter, lanes)
        size = np.dtype(self.held).itemsize
        offset = self.code.along(constant(element * size, "int64"), number, elements * size)
        return load(self.code, parameter, offset, elements * size, lanes)

    def write(self, target: ArrayPlace, blocks: int) -> list[Value]:
        """Write the draw and the state after it; return the number drawn, where it is one."""
        code = self.code
        after = code.name()
        code.line(f"{after} = add i128 {self.counter}, {blocks}")
        memory = self.step.operand(target).address
        code.store(self.key, memory, alignment=4)
        code.line(f"store i128 {after}, ptr {code.at(memory, 8).text}, align 4")
        if self.alone:
            return self._elements(constant(0, "int64"), 1, 1)
        place = self.step.places.of(self.drawn)
        assert place is not None
        takes_lanes = formulas.takes_lanes(self.draw.block)
        lanes = lanes_of(self.draw.block.dtypes, self.step.vector_bytes) if takes_lanes else 1
        self._fill(place, self.lanes or lanes)
        return []

    def _fill(self, place: ArrayPlace, lanes: int) -> None:
        """Write all elements; where some would be left over by the widest pieces, more are drawn, and those wanted are copied.

        So the formula, which is long, is written once.  With parameters of each element there are none of more elements.
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
        code, elements = self.code, self.draw.elements
        into, size = self.step.operand(place), np.dtype(place.dtype).itemsize

        def put(number: Value, lanes: int, several: int) -> None:
            for k, value in enumerate(self._elements(number, lanes, several)):
                offset = code.along(constant(k * size, "int64"), number, elements * size)
                store(code, value, into, offset, elements * size)

        whole = count // elements
        for first, several, width in pieces(whole, lanes):
            with code.counted(first, first + several * width, width) as number:
                put(number, width, elements)
        if count % elements:
            put(constant(whole, "int64"), 1, count % elements)

    def _elements(self, number: Value, lanes: int, count: int) -> list[Value]:
        """Return the first so many elements of some blocks, one block a lane."""
        code, draw = self.code, self.draw
        block = _needed(draw.block, count)
        numbers = cast(code, code.splat(number, lanes), "uint64")
        if lanes > 1:
            places = Value(f"<{', '.join(f'i64 {k}' for k in range(lanes))}>", "uint64", lanes)
            numbers = code.op(f"add {numbers.typed}, {places.text}", "uint64", lanes)
        given = [code.splat(word, lanes) for word in self.words] + [numbers]
        for element in range(draw.elements):
            of = min(element, count - 1)  # what is not wanted reads nothing beyond the end
            for parameter in self.parameters:
                value = self._parameter(parameter, number, of, draw.elements, lanes)
                given.append(cast(code, value, draw.block.dtypes[len(given)]))
        found = formulas.write(code, block, given)
        return [
            self.given_out(value, code.along(constant(element, "int64"), number, draw.elements))
            for element, value in enumerate(found)
        ]

    def given_out(self, value: Value, number: Value) -> Value:
        """Return what is given out of an element's value, which has a number in the draw; of the first lane's."""
        return cast(self.code, value, dtype_of(self.step.body, self.drawn))


def _needed(block: Block, count: int) -> Block:
    """Return a block for its first results, without lines that they do not need."""
    wanted = set(block.results[:count])
    lines = []
    for line in reversed(block.lines):
        if wanted.intersection(line.outputs):
            wanted.update(line.inputs)
            lines.append(line)
    return block._replace(lines=tuple(reversed(lines)), results=block.results[:count])


__all__ = ["DrawWriter"]

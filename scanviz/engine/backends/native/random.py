"""Native code of random draws: the formulas of :mod:`scanviz.engine.ops.draw_formulas`, several blocks of Philox at once.

The state that a draw leaves is the one that it reads with so many blocks added to its counter.  Parameters are looked at
first: where one may be out of range the draw is called out, so that NumPy's draw says what is wrong, or finds that nothing is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scanviz.engine.backends.native import formulas
from scanviz.engine.backends.native.elements import Operand, lanes_of, load, pieces, store
from scanviz.engine.backends.native.errors import NotWrittenError
from scanviz.engine.backends.native.formulas import cast
from scanviz.engine.backends.native.instructions import WRITE, Step, Writing, always, copy
from scanviz.engine.backends.native.ir import Value, constant
from scanviz.engine.backends.native.places import ArrayPlace
from scanviz.engine.graph.types import SIGNED
from scanviz.engine.named_tuple import NamedTuple
from scanviz.engine.ops import random
from scanviz.engine.ops.draw_formulas import Draw, draw_block
from scanviz.engine.ops.random import words_of_element
from scanviz.engine.program.instructions import Instruction, Program, dtype_of, is_scalar
from scanviz.engine.scalar.blocks import Block, typed
from scanviz.engine.scalar.expression import Expression, argument, primitive

Check = Callable[..., Expression]
COUNTED = 1e9  # of larger expectations and numbers of trials NumPy's draw says whether they may be


def _finite(value: Expression) -> Expression:
    return primitive("absolute", value) < math.inf


def _spread(loc: Expression, scale: Expression) -> Expression:
    return _finite(loc) & (scale >= 0) & _finite(scale)


class Sampler(NamedTuple):
    """What is known of a distribution beside its formula.

    Attributes
    ----------
    fits : callable
        ``fits(*parameters)``: whether parameters are surely in range.
    held : str or None
        The dtype in which parameters are looked at, None for that of the formula.
    """

    fits: Check
    held: str | None = None


SAMPLERS = {
    random.UNIFORM: Sampler(lambda low, high: (high - low >= 0) & _finite(high - low) & _finite(low)),
    random.NORMAL: Sampler(_spread),
    random.LOGNORMAL: Sampler(_spread),
    random.LAPLACE: Sampler(_spread),
    random.GUMBEL: Sampler(_spread),
    random.EXPONENTIAL: Sampler(lambda scale: (scale >= 0) & _finite(scale)),
    random.GAMMA: Sampler(lambda shape, scale: (shape > 0) & _finite(shape) & (scale >= 0) & _finite(scale)),
    random.BETA: Sampler(lambda a, b: (a > 0) & _finite(a) & (b > 0) & _finite(b)),
    random.BERNOULLI: Sampler(lambda p: (p >= 0) & (p <= 1)),
    random.INTEGERS_BETWEEN: Sampler(lambda low, high: low < high, "int64"),
    random.POISSON: Sampler(lambda lam: (lam >= 0) & (lam <= COUNTED)),
    random.BINOMIAL: Sampler(lambda n, p: (n >= 0) & (n <= COUNTED) & (p >= 0) & (p <= 1)),
}
_WIDE = frozenset({"int64", "uint64"})  # dtypes whose limits no parameter that passes reaches


def _why_not(instruction: Instruction, program: Program) -> str | None:
    op = instruction.op
    drawn = op.parameters.dtype
    given = [dtype_of(program, number) for number in instruction.inputs[1 + op.parameters.sizes :]]
    whole = op.declaration in (random.INTEGERS_BETWEEN, random.POISSON, random.BINOMIAL)
    if "float16" in (*given, drawn) or (whole and drawn not in _WIDE):
        return f"`{op.name}` as {drawn} has no native code"
    if op.declaration is random.INTEGERS_BETWEEN and not set(given).issubset(SIGNED):
        return f"`{op.name}` between unsigned numbers has no native code"
    return None


def _write_draw(step: Step, instruction: Instruction) -> None:
    op = instruction.op
    draw = draw_block(op.declaration.name.removeprefix("draw_"), op.parameters.dtype)
    sampler, after = SAMPLERS[op.declaration], instruction.outputs[0]
    if draw is None:
        raise NotWrittenError(f"`{op.name}` has no formula")
    writer = _DrawWriter(step, instruction, draw, sampler)
    target = step.places.of(after)
    assert target is not None

    def write() -> list[Value]:
        blocks = -(-writer.count * (words_of_element(op) or 4) // 4)
        return writer.write(target, blocks)

    step.where(writer.checked(), instruction, "a parameter may be out of range", write)


class _DrawWriter:
    """What is the same for all elements of a draw."""

    def __init__(self, step: Step, instruction: Instruction, draw: Draw, sampler: Sampler) -> None:
        self.step, self.draw, self.sampler, self.code = step, draw, sampler, step.code
        self.drawn = instruction.outputs[1]
        self.alone = is_scalar(step.body, self.drawn)
        self.shape = step.places.shape(self.drawn) or ()
        self.count = math.prod(self.shape)
        parameters = instruction.inputs[1 + instruction.op.parameters.sizes :]
        given = draw.block.dtypes[7 : draw.block.arguments]
        self.several = len(given) // draw.elements  # parameters of an element
        self.held = sampler.held or (given[0] if given else "float64")
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
        fits = typed([self.sampler.fits(*map(argument, range(len(dtypes))))], dtypes)
        arrays = [each for each in self.parameters if isinstance(each, Operand)]
        if not arrays:
            return formulas.write(code, fits, [each for each in self.parameters if isinstance(each, Value)])[
                0
            ]
        with code.folded(0, self.count, [constant(True, "bool")]) as (number, (so_far,), given):
            values = [self._parameter(each, number, 0, 1, 1) for each in self.parameters]
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
        into, size, elements = self.step.operand(place), np.dtype(place.dtype).itemsize, self.draw.elements

        def put(number: Value, lanes: int, count: int) -> None:
            for k, value in enumerate(self._elements(number, lanes, count)):
                offset = code.along(constant(k * size, "int64"), number, elements * size)
                store(code, value, into, offset, elements * size)

        whole = self.count // elements
        lanes = lanes_of(self.draw.block.dtypes, self.step.vector_bytes)
        for first, several, width in pieces(whole, lanes if formulas.takes_lanes(self.draw.block) else 1):
            with code.counted(first, first + several * width, width) as number:
                put(number, width, elements)
        if self.count % elements:
            put(constant(whole, "int64"), 1, self.count % elements)
        return []

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
        dtype = dtype_of(self.step.body, self.drawn)
        return [cast(code, each, dtype) for each in found]


def _needed(block: Block, count: int) -> Block:
    """Return a block for its first results, without lines that they do not need."""
    wanted = set(block.results[:count])
    lines = []
    for line in reversed(block.lines):
        if wanted.intersection(line.outputs):
            wanted.update(line.inputs)
            lines.append(line)
    return block._replace(lines=tuple(reversed(lines)), results=block.results[:count])


def _write_words(step: Step, instruction: Instruction) -> None:
    source, target = (step.places.of(number) for number in (*instruction.inputs, *instruction.outputs))
    assert source is not None and target is not None
    copy(step, source, target)


for _declaration in SAMPLERS:
    WRITE.row(_declaration)(Writing(_why_not, _write_draw))
for _declaration in (random.STATE_WORDS, random.WORDS_STATE):
    WRITE.row(_declaration)(Writing(always, _write_words))

__all__ = ["SAMPLERS"]

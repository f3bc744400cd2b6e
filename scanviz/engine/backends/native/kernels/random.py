"""Native code of random draws: their parameter checks, and draws of categories.

If a parameter may be out of range, the draw is called out: NumPy's draw raises the error, or succeeds.
"""

from __future__ import annotations

import numpy as np

from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.instructions import WRITE, Step, copy, source_of
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import must_fit
from scanviz.engine.backends.native.kernels.draws import DrawWriter
from scanviz.engine.backends.native.kernels.formulas import cast, primitive
from scanviz.engine.backends.native.kernels.reduce import write_cumulative
from scanviz.engine.backends.native.kernels.sort import place_among
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops import random
from scanviz.engine.ops.draws.parameters import PROBABILITY_TOLERANCE
from scanviz.engine.ops.formulas.draw_checks import SAMPLERS, check_of
from scanviz.engine.ops.formulas.draws import draw_block
from scanviz.engine.ops.random import blocks_of
from scanviz.engine.program.instructions import Instruction, dtype_of


def _write_draw(step: Step, instruction: Instruction) -> None:
    op = instruction.op
    draw = draw_block(op.declaration.name.removeprefix("draw_"), op.parameters.dtype)
    if draw is None:
        raise NotWrittenError(f"`{op.name}` has no formula")
    fits, held = check_of(op)
    _write(step, instruction, DrawWriter(step, instruction, draw, fits, held))


def _write_category(step: Step, instruction: Instruction) -> None:
    _write(step, instruction, CategoryWriter(step, instruction))


def _write(step: Step, instruction: Instruction, writer: DrawWriter) -> None:
    target = step.places.of(instruction.outputs[0])
    assert target is not None

    def write() -> list[Value]:
        return writer.write(target, blocks_of(instruction.op, writer.count))

    step.where(writer.checked(), instruction, "a parameter may be out of range", write)


def _write_words(step: Step, instruction: Instruction) -> None:
    source, target = (step.places.of(number) for number in (*instruction.inputs, *instruction.outputs))
    assert source is not None and target is not None
    copy(step, source, target)


for _declaration in SAMPLERS:
    WRITE.row(_declaration)(_write_draw)
WRITE.row(random.CATEGORICAL)(_write_category)
for _declaration in (random.STATE_WORDS, random.WORDS_STATE):
    WRITE.row(_declaration)(_write_words)


_SURELY = 0.9 * PROBABILITY_TOLERANCE  # NumPy adds in another order


class CategoryWriter(DrawWriter):
    """Writes a draw of categories.

    Parameters
    ----------
    step : Step
        The step that is written.
    instruction : Instruction
        The draw.

    Raises
    ------
    RunError
        If there is no category, the dtype is too small, or the shapes do not fit: the run will fail.
    """

    lanes = 1

    def __init__(self, step: Step, instruction: Instruction) -> None:
        draw = draw_block("unit")
        assert draw is not None
        super().__init__(step, instruction, draw, None)
        given = source_of(step, instruction.inputs[-1])
        must_fit(
            bool(given.shape) and 0 < given.shape[-1] <= np.iinfo(dtype_of(step.body, self.drawn)).max + 1
        )
        self.categories = given.shape[-1]
        shape = (*self.shape, self.categories) if len(given.shape) > 1 else given.shape
        self.apart = len(given.shape) > 1  # each element has its own probabilities
        self.sums = step.places.temporary(shape, "float64")
        copy(step, given, self.sums)

    def checked(self) -> Value:
        """Write a test for probabilities that add up to 1; leaves their running sums in memory."""
        code, sums = self.code, self.step.operand(self.sums)
        none, most = constant(0, "float64"), constant(np.inf, "float64")

        with code.folded(0, self.sums.elements, [constant(True, BOOLEAN)]) as (number, (so_far,), given):
            value = code.load(code.at(sums.address, code.times(number, 8)), "float64")
            good = code.both(
                primitive(code, "less_equal", [none, value]), primitive(code, "less", [value, most])
            )
            given.append(code.both(so_far, good))
        (good,) = given
        write_cumulative(self.step, "add", self.sums, len(self.sums.shape) - 1, self.sums)
        with code.folded(0, self.sums.elements // self.categories, [good]) as (row, (so_far,), given):
            apart = primitive(code, "subtract", [self._total(row), constant(1, "float64")])
            close = primitive(
                code, "less", [primitive(code, "absolute", [apart]), constant(_SURELY, "float64")]
            )
            given.append(code.both(so_far, close))
        return given[0]

    def _sum(self, row: Value, k: Value) -> Value:
        address = self.step.operand(self.sums).address
        offset = self.code.along(self.code.times(row, 8 * self.categories), k, 8)
        return self.code.load(self.code.at(address, offset), "float64")

    def _total(self, row: Value) -> Value:
        return self._sum(row, constant(self.categories - 1, "int64"))

    def given_out(self, value: Value, number: Value) -> Value:
        """Return the category of a uniform number, by binary search in the running sums."""
        code = self.code
        row = number if self.apart else constant(0, "int64")
        sought = primitive(code, "multiply", [value, self._total(row)])
        place, _ = place_among(
            code,
            (constant(0, "int64"), constant(self.categories, "int64")),
            self.categories,
            lambda k: primitive(code, "less_equal", [self._sum(row, k), sought]),
        )
        return cast(code, place, dtype_of(self.step.body, self.drawn))

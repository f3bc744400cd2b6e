"""Native code of draws of categories: running sums of the probabilities, and the place of a uniform number among them."""

from __future__ import annotations

import numpy as np

from scanviz.engine.backends.native.along import write_cumulative
from scanviz.engine.backends.native.draws import DrawWriter
from scanviz.engine.backends.native.formulas import cast, primitive
from scanviz.engine.backends.native.instructions import Step, copy, source_of
from scanviz.engine.backends.native.ir import Value, constant
from scanviz.engine.backends.native.places import must_fit
from scanviz.engine.backends.native.sort import place_among
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.distribution_parameters import PROBABILITY_TOLERANCE
from scanviz.engine.ops.draw_formulas import draw_block
from scanviz.engine.program.instructions import Instruction, dtype_of

_SURELY = 0.9 * PROBABILITY_TOLERANCE  # NumPy adds in another order


class CategoryWriter(DrawWriter):
    """What is the same for all elements of a draw of categories.

    Parameters
    ----------
    step : Step
        The step that is written.
    instruction : Instruction
        The draw.

    Raises
    ------
    RunError
        If there is no category, the dtype does not hold their number, or the shapes do not fit: an error of the run.
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
        self.apart = len(given.shape) > 1  # each element has probabilities of its own
        self.sums = step.places.temporary(shape, "float64")
        copy(step, given, self.sums)

    def checked(self) -> Value:
        """Return whether all are surely probabilities that add up to 1; their running sums are in memory then."""
        code, sums = self.code, self.step.operand(self.sums)
        none, most = constant(0, "float64"), constant(np.inf, "float64")

        def added(number: Value, so_far: Value) -> Value:
            value = code.load(code.at(sums.address, code.times(number, 8)), "float64")
            right = code.op(f"and i1 {primitive(code, 'less_equal', [none, value]).text}, "
                            f"{primitive(code, 'less', [value, most]).text}", BOOLEAN)  # fmt: skip
            return code.op(f"and i1 {so_far.text}, {right.text}", BOOLEAN)

        with code.folded(0, self.sums.elements, [constant(True, BOOLEAN)]) as (number, (so_far,), given):
            given.append(added(number, so_far))
        (good,) = given
        write_cumulative(self.step, "add", self.sums, len(self.sums.shape) - 1, self.sums)
        with code.folded(0, self.sums.elements // self.categories, [good]) as (row, (so_far,), given):
            apart = primitive(code, "subtract", [self._total(row), constant(1, "float64")])
            close = primitive(
                code, "less", [primitive(code, "absolute", [apart]), constant(_SURELY, "float64")]
            )
            given.append(code.op(f"and i1 {so_far.text}, {close.text}", BOOLEAN))
        return given[0]

    def _sum(self, row: Value, k: Value) -> Value:
        address = self.step.operand(self.sums).address
        offset = self.code.along(self.code.times(row, 8 * self.categories), k, 8)
        return self.code.load(self.code.at(address, offset), "float64")

    def _total(self, row: Value) -> Value:
        return self._sum(row, constant(self.categories - 1, "int64"))

    def given_out(self, value: Value, number: Value) -> Value:
        """Return the category that a uniform number picks: how many running sums are at most its part of the total."""
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


__all__ = ["CategoryWriter"]

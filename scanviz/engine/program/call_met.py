"""What a function's program was given in the calls that were looked at closely: shapes, and the numbers that sizes follow from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field

from scanviz.engine.cost import same_work
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import Program
from scanviz.engine.program.plan import Emits
from scanviz.engine.program.shapes import ConcreteShape

if TYPE_CHECKING:
    from scanviz.engine.cost import Work

Given = tuple[list[ConcreteShape], dict[int, Array]]  # shapes of inputs, and those that are one whole number
MOST_OTHERS = (
    4  # calls of other shapes that are known: enough to see which operations do another amount in some
)


class CallMet(Struct):
    """The shapes that a program met last in a call whose memory was weighed; holds no array.

    Attributes
    ----------
    program : Program
        A function's.
    emits : Emits
        What its tier can do with memory.
    shapes : list of tuple of int
        Of its inputs; None before any call.
    values : dict
        Inputs that are one whole number, by register.
    others : list of tuple
        The same of some calls before that were given others, since :meth:`begin`.
    is_before : bool
        Whether the last of these calls was before that.
    """

    program: Program
    emits: Emits
    shapes: list[ConcreteShape] | None = None
    values: dict[int, Array] = field(default_factory=dict)
    others: list[Given] = field(default_factory=list)
    is_before: bool = False

    def begin(self) -> None:
        """Compare calls that follow with none before: their times are not told together."""
        self.others, self.is_before = [], True

    def met(self, inputs: Sequence[Any]) -> None:
        """Note what a call was given."""
        before = None if self.shapes is None or self.is_before else (self.shapes, self.values)
        self.is_before = False
        self.shapes = [tuple(np.shape(value)) for value in inputs]
        whole = (
            (number, value)
            for number, value in zip(self.program.inputs, inputs, strict=True)
            if np.shape(value) == () and getattr(value, "dtype", np.dtype(object)).kind in "iu"
        )
        self.values = {number: np.array(int(value)) for number, value in whole}
        if before is None or before == (self.shapes, self.values) or before in self.others:
            return
        if len(self.others) < MOST_OTHERS:
            self.others.append(before)

    def work(self) -> list[Work | None]:
        """Return what each instruction outside of loops does in each such call, None where that is not known or not the same.

        Times of instructions are of all calls together: by what one of these moved they would say nothing.
        """
        if self.shapes is None:
            return [None] * len(self.program.instructions)
        return same_work(*(self._work_in(*given) for given in ((self.shapes, self.values), *self.others)))

    def _work_in(self, shapes: list[ConcreteShape], values: dict[int, Array]) -> list[Work | None]:
        """Return what each instruction does in a call."""
        from scanviz.engine.program.forecast import planned_call  # nothing that runs needs them
        from scanviz.engine.program.work import work_of

        return work_of(*planned_call(self.program, shapes, values, self.emits))

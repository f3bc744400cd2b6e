"""What a function's program was given in the calls that were looked at closely: shapes, and the numbers that sizes follow from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import Program
from scanviz.engine.program.plan import Emits
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.slotted import dataclass, field

if TYPE_CHECKING:
    from scanviz.engine.program.work import Work


@dataclass(slots=True)
class CallMet:
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
    """

    program: Program
    emits: Emits
    shapes: list[ConcreteShape] | None = None
    values: dict[int, Array] = field(default_factory=dict)

    def met(self, inputs: Sequence[Any]) -> None:
        """Note what a call was given."""
        self.shapes = [tuple(np.shape(value)) for value in inputs]
        whole = (
            (number, value)
            for number, value in zip(self.program.inputs, inputs, strict=True)
            if np.shape(value) == () and getattr(value, "dtype", np.dtype(object)).kind in "iu"
        )
        self.values = {number: np.array(int(value)) for number, value in whole}

    def work(self) -> list[Work | None]:
        """Return what each instruction outside of loops does in such a call, None where that is not known."""
        from scanviz.engine.program.forecast import planned_call  # nothing that runs needs them
        from scanviz.engine.program.work import work_of

        if self.shapes is None:
            return [None] * len(self.program.instructions)
        return work_of(*planned_call(self.program, self.shapes, self.values, self.emits))

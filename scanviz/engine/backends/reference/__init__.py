"""The reference tier: NumPy, instruction by instruction, every value visible; the oracle of all other tiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Availability
from scanviz.engine.backends.other_tier import OtherTierRunner
from scanviz.engine.graph.declaration import Op
from scanviz.engine.program.instructions import Program
from scanviz.engine.program.verify import verify_program
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.interpreter import Interpreter


def perform(op: Op, values: Sequence[Any]) -> list[Any]:
    """Return an operation's results by its NumPy meaning, as arrays."""
    return [np.asarray(result) for result in op.perform([np.asarray(value) for value in values])]


class ReferenceBackend:
    """The reference tier."""

    name = "reference"

    def availability(self) -> Availability:
        """Return that it is available: it needs only NumPy."""
        return Availability(True, "NumPy, one call an operation", version=np.__version__)

    def compile(self, program: Program) -> Interpreter:
        """Return an interpreter of a program."""
        verify_program(program)
        return Interpreter(program, perform, ArrayModule(), self.name, OtherTierRunner)

"""What a tier that calls an array library brings."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from scanviz.engine.backends.source.emitter import Constant, Emitter, as_numpy
from scanviz.engine.program.instructions import Instruction, Program
from scanviz.engine.program.plan import Emits
from scanviz.engine.runtime.rows import ArrayModule, RunInstruction
from scanviz.engine.runtime.stamps import Clock

Statements = Callable[[Emitter, Instruction, "str | None"], list[str]]


class Library(NamedTuple):
    """An array library and how it is called.

    Attributes
    ----------
    name : str
        Of the tier.
    statements : callable
        ``statements(emitter, instruction, out)`` gives the lines of an instruction; ``out`` names the array that its
        result goes to.
    emits : Emits
        Which instructions take an ``out``, and over which inputs.
    module : ArrayModule
        Where arrays come from.
    compute : callable
        Runs one instruction alone.
    constant : callable
        Gives a constant in the form that the source uses.
    clock : callable
        Gives nanoseconds, when all is done that was asked before.
    """

    name: str
    statements: Statements
    emits: Emits
    module: ArrayModule
    compute: RunInstruction
    constant: Constant = as_numpy
    clock: Clock = time.perf_counter_ns

    def emitter(self, program: Program) -> Emitter:
        """Return the names for the source of a program."""
        emitter = Emitter(program, self.constant)
        emitter.namespace["clock"] = self.clock
        return emitter


__all__ = ["Library", "Statements"]

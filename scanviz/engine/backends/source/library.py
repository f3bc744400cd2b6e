"""What a tier that calls an array library brings."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.program.instructions import Instruction, Program
from scanviz.engine.runtime.specialised import SpecialisedLoop, Tier

Statements = Callable[[Emitter, Instruction, "str | None"], list[str]]


class Library(NamedTuple):
    """An array library and how it is called.

    Attributes
    ----------
    tier : Tier
        Its name, arrays, and what it can do with memory: which instructions take an ``out``, and over which inputs.
    statements : callable
        ``statements(emitter, instruction, out)`` gives the lines of an instruction; ``out`` names the array that its
        result goes to.
    loops : callable
        ``loops(loop, runners, tier, write)`` makes what runs a loop.
    long_statements : callable or None
        ``long_statements(emitter, instruction, over)`` gives the lines of an instruction outside of loops whose result may be long,
        None where they are those of any other; ``over`` names the array that it changes, where it makes none.
    """

    tier: Tier
    statements: Statements
    loops: Callable[..., SpecialisedLoop] = SpecialisedLoop
    long_statements: Callable[[Emitter, Instruction, str | None], list[str] | None] | None = None

    def emitter(self, program: Program) -> Emitter:
        """Return the names for the source of a program."""
        emitter = Emitter(program, self.tier.module.constant)
        emitter.namespace["clock"] = self.tier.module.clock
        return emitter

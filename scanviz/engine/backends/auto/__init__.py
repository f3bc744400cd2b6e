"""The tier that functions have by default: NumPy, and machine code for the loops in which that pays.

:mod:`scanviz.engine.backends.tier_policy` says when.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scanviz.engine.backends.auto.loop import AutoLoop
from scanviz.engine.backends.numpy import LIBRARY, NumpyBackend
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.backends.tier_policy import TierPolicy
from scanviz.engine.backends.whole_function import WholeFunctionExecutable
from scanviz.engine.program.verify import verify_program

if TYPE_CHECKING:
    from scanviz.engine.backends.base import Availability, Executable, Support
    from scanviz.engine.program.instructions import Instruction, Program


class AutoExecutable(WholeFunctionExecutable):
    """A program on NumPy, whose loops are compiled where that pays."""

    def __init__(self, program: Program) -> None:
        policy = TierPolicy()
        super().__init__(program, LIBRARY._replace(loops=partial(AutoLoop, policy=policy)), policy)

    def compile_alike(self, program: Program) -> Executable:
        """Return the code of another Program of the same function for where this one has come to: compiled, or on NumPy alone."""
        tiers = {made.tier.name for made in all_made(self.flat.runners).values()}
        if not self.runs_whole and "native" not in tiers:
            return NumpyBackend().compile(program)
        made = AutoBackend().compile(program)
        made.compile_all(whole=self.runs_whole)
        return made


class AutoBackend:
    """NumPy, and machine code where it pays."""

    name = "auto"

    def availability(self) -> Availability:
        """Return that it works: it needs NumPy alone."""
        return NumpyBackend().availability()

    def supports(self, instruction: Instruction, program: Program) -> Support:
        """Return that it runs everything."""
        from scanviz.engine.backends.base import RUNS  # where somebody asks

        return RUNS

    def compile(self, program: Program) -> AutoExecutable:
        """Return generated code for a program; loops get theirs when their shapes are met."""
        verify_program(program)
        return AutoExecutable(program)


__all__ = ["AutoBackend", "AutoExecutable"]

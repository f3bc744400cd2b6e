"""The tier that functions have by default: NumPy, and machine code for the loops in which that pays.

A loop pays for being compiled once its steps have cost enough on NumPy: :mod:`scanviz.engine.backends.auto.loop` says when.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from scanviz.engine.backends.auto.counted import Counted
from scanviz.engine.backends.auto.loop import LONG_STEP_NS, THIS_RUN, AutoLoop
from scanviz.engine.backends.numpy import LIBRARY, NumpyBackend
from scanviz.engine.backends.registry import availability
from scanviz.engine.backends.short_calls import ShortCallsExecutable
from scanviz.engine.building import building
from scanviz.engine.config import config
from scanviz.engine.program.instructions import nested_loops
from scanviz.engine.program.verify import verify_program

if TYPE_CHECKING:
    from scanviz.engine.backends.base import Availability, Executable, Support
    from scanviz.engine.program.instructions import Instruction, Program

MOST_CALL_NS = 400.0  # of a call of NumPy on arrays that are short; some that it writes in Python take longer
MOST_FLOP_NS = 0.25  # of an operation on an element, of a product too


def most_ns(operations: int, steps: Sequence[int], is_nested: bool, inputs: Sequence[Any]) -> float:
    """Return about how many nanoseconds loops take on NumPy at most, for arguments of such sizes: a guess from above.

    It knows no shapes within, so it asks nothing of what a look needs: functions whose first call is short pay nothing for it.

    Parameters
    ----------
    operations : int
        Of all their steps.
    steps : sequence of int
        How many they take, as far as it is known.
    is_nested : bool
        Whether loops inside of others take their steps as often.
    inputs : sequence of array
        What a call is given.
    """
    size, longest, most = 0, 1, max(steps, default=0)
    for value in inputs:
        if value.ndim:
            most = max(most, *value.shape)
            size, longest = size + value.size, max(longest, value.shape[-1])
        elif value.dtype.kind in "iu":
            most = max(most, int(value))
    if is_nested:
        return most * LONG_STEP_NS
    return most * operations * MOST_CALL_NS + size * (operations + longest) * MOST_FLOP_NS


class AutoExecutable(ShortCallsExecutable):
    """A program on NumPy, whose loops are compiled where that pays.

    Attributes
    ----------
    counted : Counted
        What its loops have cost, for whoever can make a Program that suits machine code better.
    """

    def __init__(self, program: Program) -> None:
        self.counted = Counted()
        super().__init__(program, LIBRARY._replace(loops=partial(AutoLoop, counted=self.counted)))
        self.counted.left_work, self.counted.foresee = self._left_work, self._foresee

    def _left_work(self, rules: Collection[str]) -> dict[str, float]:
        """Return what rules moved out of each loop, for the shapes of the call that was looked at last."""
        from scanviz.engine.backends.auto.left import left_ns  # few programs are called twice

        met = self.latest_program()
        return {} if met is None else left_ns(*met, rules)

    def _foresee(self, inputs: Sequence[Any]) -> None:
        """Look what the first call will do, which has not begun: where a loop pays, the other Program is due before it."""
        self.counted.let(due=self.counted.due)
        if THIS_RUN * self._most_ns(inputs) < config.native.pays_after * 1e9:
            return
        with building("function"):  # for whoever watches: it is no time of a call, nor of the script
            found = self.loops_that_pay(inputs)
            if found and availability("native").works:
                self.counted.foreseen.update(found)
                self.counted.let(due=True)

    def loops_that_pay(self, inputs: Sequence[Any], rows_stay: bool = False) -> list[str]:
        """Return the names of loops that pay for machine code in a first call with such arrays, which has not begun.

        Parameters
        ----------
        inputs : sequence of array
            What the registers for inputs are given.
        rows_stay : bool
            Whether the Program was rewritten for machine code: rewrites for NumPy would move operations of rows out of its loops.
        """
        from scanviz.engine.backends.auto.foreseen import loops_that_pay  # of no use for few steps

        tiers = {index: getattr(run, "tier", None) for index, run in self.flat.runners.items()}
        loops = {index: tier for index, tier in tiers.items() if isinstance(tier, AutoLoop)}
        return loops_that_pay(self.program, inputs, loops, self.counted.rules, rows_stay)

    def _most_ns(self, inputs: Sequence[Any]) -> float:
        """Return about how many nanoseconds the loops take on NumPy at most, for arguments of such sizes: a guess from above."""
        loops = [(loop, program.constants) for loop, _, program in nested_loops(self.program)]
        operations = sum(len(loop.body.instructions) for loop, _ in loops)
        steps = [int(constants[loop.n_steps]) for loop, constants in loops if loop.n_steps in constants]
        return most_ns(operations, steps, len(loops) > len(self.flat.runners), inputs)

    def spent_ns(self) -> float:
        """Return about what its loops have taken so far."""
        return self.counted.spent_ns()

    def steps_taken(self, name: str) -> float:
        """Return how many steps a run of a loop with a stop condition took on the average; infinity where there was none."""
        taken = list(self.counted.taken.get(name, ()))
        return sum(taken) / len(taken) if taken else inf

    def parts_pay(self, stays: bool = True) -> None:
        """Compile all loops from now on: here if calls stay, else in the Program for machine code, where there is one."""
        if stays or not self.counted.is_open:
            self.counted.all_pay()
        else:
            self.counted.let(due=True)

    def compile_alike(self, program: Program, is_machine_code: bool = False) -> Executable:
        """Return the code of another Program for where this one has come to: all loops compiled at once, or NumPy alone.

        Parameters
        ----------
        program : Program
            Of the same function, rewritten otherwise.
        is_machine_code : bool
            Whether the function has gone over to a Program for machine code.
        """
        if not (is_machine_code or self.counted.compiled or self.runs_whole):
            return NumpyBackend().compile(program)
        made = AutoBackend().compile(program)
        made.parts_pay()
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


__all__ = ["AutoBackend", "AutoExecutable", "most_ns"]

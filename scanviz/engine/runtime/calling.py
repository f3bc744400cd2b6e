"""The calling convention of a loop's code: (arena, first step, last step) → (steps done, outcome, instruction).

Whatever takes the steps of a loop, generated Python, an interpreter, later native code or a kernel, is called so by
:mod:`scanviz.engine.runtime.driver`.  It takes the steps ``first`` to ``last - 1``, reads and writes the arena alone, and returns

- ``(last, DONE, -1)`` where it took them all,
- ``(n, STOPPED, -1)`` where the stop condition held in step ``n - 1``,
- ``(n, FAILED, instruction)`` where that instruction of the body failed in step ``n``, -1 where it was none of them.  The
  error and the values that the instruction read are in the arena.

It may be called again for the steps that follow: what goes from step to step is in the arena when it returns.  So a loop runs in
chunks of steps wherever rows must grow, observers are to be notified, or ctrl+c is to be heard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from scanviz.engine.program.shapes import ConcreteShape

if TYPE_CHECKING:
    from scanviz.engine.observation.observer_overhead import ObserverOverhead
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.observation.stamps import Clock, Stamps
    from scanviz.engine.observation.step_sampler import Variant
    from scanviz.engine.program.plan import Plan, RunMemory
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.outcome import Outcome
    from scanviz.engine.runtime.pool import Pool
    from scanviz.engine.runtime.rows import StateRows


class CompiledLoop(Protocol):
    """The code of a loop, in one variant."""

    def __call__(self, arena: LoopArena, first: int, last: int, /) -> Outcome:
        """Take the steps ``first`` to ``last - 1``; return steps done, ``DONE``, ``STOPPED`` or ``FAILED``, and the instruction."""
        ...


class LoopCode(Protocol):
    """What a tier made of a loop for the shapes that it met."""

    @property
    def plan(self) -> Plan | None:
        """Where registers live; None for a tier that gives every register a new array."""
        ...

    @property
    def memory(self) -> RunMemory | None:
        """What a run needs of the plan, which may not be made yet."""
        ...

    @property
    def tier_name(self) -> str:
        """The tier whose code it is."""
        ...

    @property
    def buffers(self) -> Pool[list[Any]]:
        """Sets of the plan's buffers, left by earlier runs."""
        ...

    @property
    def keeps_buffers(self) -> bool:
        """Whether they are so small that they are kept whatever the loop's ``allow_gc`` is."""
        ...

    @property
    def samples(self) -> bool:
        """Whether there is a variant with one stamp a step, so that operations are timed in a sample of the steps."""
        ...

    @property
    def cheap_stamps(self) -> bool:
        """Whether the code takes the times of steps itself, each in some ten nanoseconds."""
        ...

    @property
    def plain_times(self) -> bool:
        """Whether steps that have times run the very code that runs while nobody watches: there is nothing to compare them with."""
        ...

    @property
    def at_once(self) -> int:
        """The fewest steps that it takes many at once, which share a time then; 0 where each is taken on its own."""
        ...

    @property
    def steps_at_once(self) -> int | None:
        """How many steps one call may take at most: code that hears no ctrl+c is called for few."""
        ...

    def variant(self, name: Variant) -> CompiledLoop:
        """Return the code of a variant, made when it is first needed."""
        ...

    @property
    def clock(self) -> Clock:
        """Gives nanoseconds, when all is done that was asked before."""
        ...

    def stamps(self, name: Variant, first: int, last: int, own: ObserverOverhead | None) -> Stamps:
        """Return what takes the times of a chunk that a variant runs, less what watching takes in its steps where that is given."""
        ...


class LoopTier(Protocol):
    """What a tier makes of one loop."""

    def code_for(
        self, shapes: Sequence[Any], states: Sequence[StateRows], probe: Probe | None, steps: int
    ) -> LoopCode:
        """Return the code for the shapes of a step's inputs and the rows of the states, to take so many steps at most."""
        ...

    def took(self, code: Any, steps: int) -> None:
        """Hear how many steps a run of a loop with a stop condition took."""
        ...

    def take_plan(self, plan: Plan) -> None:
        """Take the plan that was made with that of the loop around this one."""
        ...

    def compute(self, program: Any, instruction: Any, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of one instruction of the step, outside of any run."""
        ...


__all__ = [
    "CompiledLoop",
    "ConcreteShape",
    "LoopCode",
    "LoopTier",
]

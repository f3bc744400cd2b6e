"""About how long a loop inside runs at a time: between two steps of the outermost loop alone ctrl+c is heard.

So a loop inside whose runs may take long is no part of the code around it: it is called out, and takes chunks of steps of its own.
What calling out costs is nothing beside such a run, so the estimate may be too high by much; it is of steps that wait for one
another.
"""

from __future__ import annotations

from scanviz.engine.backends.estimate import machine_ns
from scanviz.engine.program.instructions import BranchInstruction, LoopInstruction, Program, programs_in
from scanviz.engine.program.plan import Plan
from scanviz.engine.program.plan.arena import inner_steps
from scanviz.engine.program.work import work_of

WAITING_NS = 20.0  # of an operation, until the next has its result
LONG_NS = 5e7  # a run that is heard in time
LONG_UNTIL_NS = 1e9  # the same, of most steps of one that a condition ends: few are usual


def run_ns(program: Program, plan: Plan, steps: int) -> float:
    """Return about how many nanoseconds so many steps take in machine code, those of loops inside too.

    Examples
    --------
    >>> import numpy as np
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.matrix("x")
    >>> h, _ = scanviz.scan(lambda x_t, h: T.tanh(h + x_t), x, T.zeros((64,)))
    >>> f = scanviz.function([x], h, mode="numpy")
    >>> _ = f(np.ones((5, 64)))
    >>> [loop] = [held for held in f.program.instructions if hasattr(held, "body")]
    >>> 30_000 < run_ns(loop.body, f.memory_plans()[loop.key], 1_000) < 200_000
    True
    """
    found = 0.0
    for index, (instruction, work) in enumerate(
        zip(program.instructions, work_of(program, plan), strict=True)
    ):
        if index in plan.idle or instruction.op.facts.size == "is":
            continue
        found += WAITING_NS + (0.0 if work is None else machine_ns(work))
        if index not in plan.inner:
            continue
        if isinstance(instruction, LoopInstruction):
            inside = inner_steps(program, plan, instruction) or 0
            found += run_ns(instruction.body, plan.inner[index][0], inside)
        elif isinstance(instruction, BranchInstruction):
            sides = zip(programs_in(instruction), plan.inner[index], strict=True)
            found += max(run_ns(side, of_side, 1) for side, of_side in sides)
    return found * max(steps, 0)


def is_long(loop: LoopInstruction, plan: Plan, steps: int) -> bool:
    """Return whether one run of a loop inside may take so long that ctrl+c has to be heard while it runs."""
    return run_ns(loop.body, plan, steps) > (LONG_NS if loop.until is None else LONG_UNTIL_NS)


__all__ = ["is_long", "run_ns"]

"""A loop that begins on NumPy and goes on in machine code from the call in which its steps have cost enough.

It is decided from estimates and counts, never from a clock, so a program takes the same way each time it is run and gives the
same bits.  Work is counted for each set of shapes: the steps of all calls so far and of the one that begins, by what a step costs
on NumPy by estimate.  Where it comes to ``config.native.pays_after`` seconds, the loop is compiled before that call and stays so.
Loading LLVM and compiling a loop take less than that, so no program takes twice as long as it had to, and short ones pay nothing.

A loop with a stop condition counts the steps that it took, for nobody knows how many it will take.

Integers, truth values and draws are the same either way; floating-point numbers of a call after the change may differ from those
of a call before it in their last bits.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import Any

from scanviz.engine.backends.auto.estimate import step_ns
from scanviz.engine.backends.registry import availability
from scanviz.engine.config import config
from scanviz.engine.program.plan import Plan
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.rows import StateRows
from scanviz.engine.runtime.specialised import Specialised, SpecialisedLoop, Tier, Write

USUAL_STEP = 20  # operations of a step whose code costs no more than LLVM does


class Begun(Specialised):
    """NumPy's code for one set of shapes, and how much its steps have cost.

    Attributes
    ----------
    left_ns : float
        What its steps may still cost until machine code pays.
    step_ns : float
        What a step costs by estimate.
    """

    __slots__ = ("left_ns", "step_ns")

    def __init__(self, plan: Plan, tier: Tier, write: Write, left_ns: float, step_ns: float) -> None:
        why = "generated for the shapes met"
        if left_ns < inf:
            why += f"; machine code pays after about {max(1, round(left_ns / step_ns)):,} steps"
        super().__init__(plan, tier, write, why)
        self.left_ns, self.step_ns = left_ns, step_ns

    def take(self, steps: int) -> bool:
        """Count steps, and return whether machine code pays now."""
        self.left_ns -= steps * self.step_ns
        return self.left_ns <= 0

    def stay(self, why: str) -> None:
        """Note that there can be no machine code, and why."""
        self.left_ns, self.why = inf, why


class AutoLoop(SpecialisedLoop):
    """The code of one loop by shapes: NumPy's, and machine code once that pays."""

    def code_for(
        self, shapes: Sequence[Any], states: Sequence[StateRows], watch: Watch | None, steps: int
    ) -> Specialised:
        """Return the code for shapes: machine code from the call on in which it pays."""
        found = super().code_for(shapes, states, watch, steps)
        if not isinstance(found, Begun) or not found.take(0 if self.loop.until is not None else steps):
            return found
        return self._compiled(found, shapes, states, watch, steps)

    def took(self, code: Any, steps: int) -> None:
        """Count the steps of a loop with a stop condition."""
        if isinstance(code, Begun):
            code.take(steps)

    def _made(self, plan: Plan) -> Specialised:
        body = self.loop.body
        shapes_change = any(plan.places[number].shape is None for number in body.inputs)
        if shapes_change or self.loop.mode == "numpy":  # which the user has chosen
            return super()._made(plan)
        pays_after = config.native.pays_after * 1e9 * max(1.0, len(body.instructions) / USUAL_STEP)
        return Begun(plan, self.tier, self._write, pays_after, max(1.0, step_ns(body, plan)))

    def _compiled(
        self,
        begun: Begun,
        shapes: Sequence[Any],
        states: Sequence[StateRows],
        watch: Watch | None,
        steps: int,
    ) -> Specialised:
        """Return machine code in place of NumPy's; where there can be none, NumPy's stays, and says why."""
        with self._lock:  # others wait, and find it done
            if begun not in self.cache.values():  # another thread has compiled it, or it is kept no longer
                return super().code_for(shapes, states, watch, steps)
            started = time.perf_counter_ns()
            made = self._machine_code(shapes, [state.row_shape for state in states])
            if isinstance(made, str):
                begun.stay(f"no native code: {made}")
                made = begun
            self.put_in_place(begun, made)
        if watch is not None:
            watch.specialised(self.loop.key, time.perf_counter_ns() - started, made.tier.name, made.why)
        return made

    def _machine_code(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]]) -> Specialised | str:
        """Return machine code, or why there is none."""
        available = availability("native")
        if not available.works:
            return available.why
        # much code, which few programs need
        from scanviz.engine.backends.native.errors import NotWrittenError
        from scanviz.engine.backends.native.tier import NativeLoop

        try:
            return NativeLoop(self.loop, self.runners, self.tier, self._write).native_for(shapes, rows)
        except NotWrittenError as refused:
            return str(refused)
        except (ImportError, OSError) as error:  # LLVM is installed and cannot be loaded
            return str(error)


__all__ = ["AutoLoop", "Begun"]

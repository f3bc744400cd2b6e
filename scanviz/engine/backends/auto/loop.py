"""A loop that begins on NumPy and goes on in machine code from the call in which its steps have cost enough.

It is decided from estimates and counts, never from a clock, so a program takes the same way each time it is run and gives the
same bits.  Work is counted for each set of shapes: the steps of all calls so far and of the one that begins, by what machine code
saves of a step on NumPy by estimate: large products of matrices take about as long there.  Where it comes to
``config.native.pays_after`` seconds, the loop is compiled before that call and stays so.
Loading LLVM and compiling a loop take a tenth of that.  Nobody knows how many calls will follow: so no program takes much more
than 1.1 times as long as it would on NumPy, whenever it ends, and one that goes on has lost a quarter of a second.  The run that
begins is another matter: its steps are counted beforehand, so what machine code saves in it counts ``THIS_RUN`` times.
Loops of one function count together, for LLVM is loaded once: a loop's share of its own work, and as much of each other loop's.
Once one is compiled another needs a quarter.

A loop with a stop condition counts the steps that it took, for nobody knows how many it will take.  It may be handed over while it
runs, at steps at which its rows grow.

Rewrites for NumPy may have moved work out of a loop that machine code does better inside.  Where they have, loops also count for
a Program of the same function that is rewritten for machine code (:class:`Counted`): the function makes it once a call like the
last would compile a loop, so the loop is compiled there, once.  The first call is looked at before anything of it runs
(:mod:`scanviz.engine.backends.auto.foreseen`).  A loop that is compiled before its first step in a later call is compiled as it is,
and again in the other Program when it has done much more.

Integers, truth values and draws are the same either way; floating-point numbers of a call after the change may differ from those
of a call before it in their last bits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, prod
from operator import index as whole_number
from typing import TYPE_CHECKING, Any

from scanviz.engine import observe
from scanviz.engine.backends import accumulated
from scanviz.engine.backends.auto.counted import FURTHER, Begun, Counted
from scanviz.engine.backends.estimate import most_ns, saved_ns
from scanviz.engine.backends.registry import availability
from scanviz.engine.config import config
from scanviz.engine.errors import BackendError, ScanvizError
from scanviz.engine.program.effects import has_effects
from scanviz.engine.runtime.specialised import (
    RUNS_LEFT,
    Allowance,
    Entry,
    Specialised,
    SpecialisedLoop,
    Tier,
    Write,
    WriteEntry,
)

if TYPE_CHECKING:
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.program.instructions import LoopInstruction
    from scanviz.engine.program.plan import Plan
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.beside import MadeBeside
    from scanviz.engine.runtime.outcome import FailedRun
    from scanviz.engine.runtime.rows import StateRows

AGAIN = 1.4  # times as much work as pays for machine code pays for making it twice
THIS_RUN = (
    RUNS_LEFT - 1
)  # times as much counts what a run saves whose steps are counted beforehand: it surely does, others only may
LONG_STEP_NS = 1e6  # of steps that may be so long, what they cost is asked in a first run, else in the second of the same shapes
# of what pays is done until it is asked again whether the loops of a function pay together
ASKED_AGAIN = 0.02
ENTERING_NS = 8_000.0  # what entering machine code of a loop takes more than entering NumPy's
OUTSIDE_NS = 20.0  # at most, mostly, of what is done outside for an element of the rows that a step gets
USUAL_STEP = 20  # operations of a step whose code costs no more than what pays after the usual time
LOADING = 40  # operations that are compiled while LLVM is loaded
LAST_RUNS = 1000  # of a loop with a stop condition say how many steps it takes on the average
REWRITING = 20  # and while the function is rewritten once more, in a later call than the first


class AutoLoop(SpecialisedLoop):
    """The code of one loop by shapes: NumPy's, and machine code once that pays.

    Parameters
    ----------
    loop, runners, tier, write
        Of the loop, as for every tier.
    counted : Counted
        What the loops of the Program have cost.
    """

    may_compile = True

    def __init__(
        self,
        loop: LoopInstruction,
        runners: Mapping[int, Any],
        tier: Tier,
        write: Write,
        counted: Counted | None = None,
    ) -> None:
        super().__init__(loop, runners, tier, write)
        self.counted = counted or Counted()
        self.counted.loops += 1
        self._may_end = loop.until is not None
        self._n_steps = loop.inputs.index(loop.n_steps)
        self._taken = self.counted.taken.setdefault(loop.name, deque(maxlen=LAST_RUNS))
        # of a loop that was compiled in its first call: what its steps may cost until that pays again, and what one does
        self._again_ns, self._step_ns = inf, 0.0
        self.beside: MadeBeside | None = None
        self.others: Callable[[], None] | None = None
        # the plan of a run that has not begun, and what machine code saves of a step
        self._saved: tuple[Plan | None, float] = (None, 0.0)

    def code_for(
        self, shapes: Sequence[Any], states: Sequence[StateRows], watch: Probe | None, steps: int
    ) -> Specialised:
        """Return the code for shapes: machine code from the call on in which it pays."""
        latest, met = self._latest  # where rows count for the key it is never that
        if latest == shapes and type(met) is Begun:
            # of a loop with a stop condition the steps are counted when they were taken
            counts = met.allowance.steps > 0 if self._may_end else self._only_counts(met.allowance, steps)
            if counts:
                return met
        found = SpecialisedLoop.code_for(self, shapes, states, watch, steps)
        if type(found) is Begun:
            return self._reckoned_with(found, shapes, states, watch, steps)
        if self._step_ns and self.counted.is_open:
            self._count_again(0 if self._may_end else steps)
        return found

    def _reckoned_with(
        self,
        found: Begun,
        shapes: Sequence[Any],
        states: Sequence[StateRows],
        watch: Probe | None,
        steps: int,
    ) -> Specialised:
        """Return the code for shapes, of which NumPy's is there: what the run costs is counted, and it may be compiled."""
        if self._only_counts(found.allowance, steps):
            return found
        if self._may_end:  # of the steps that may be taken none surely is
            if self._is_due(found, 0.0):
                return self._compiled(found, shapes, states, watch, steps)
            self._allow(found)
            return found
        if found.unknown_steps is not None:
            if not found.was_met:
                found.was_met, found.short_steps = True, self._short_steps(found)
                found.unknown_steps = steps
                return found
            if found.is_early(steps):
                self._allow(found)
                return found
            self._estimate(found)
        cost = steps * found.step_ns
        left = found.left_ns - cost
        if left - THIS_RUN * cost > found.quiet_ns and not self.counted.pays:
            found.left_ns = left
            self._allow(found)
            return found
        if not found.is_known and steps:
            self._add_what_left(found, steps)
            cost = steps * found.step_ns
        found.left_ns -= cost
        if self._is_due(found, cost):
            return self._compiled(found, shapes, states, watch, steps)
        self._count(found, found.left_ns - THIS_RUN * cost)
        self._allow(found)
        return found

    def _short_steps(self, begun: Begun) -> float:
        """Return for how many steps machine code surely does not pay: what one costs is asked after them.  0 where nobody knows."""
        if self.runners or self.counted.pays:
            return 0.0
        return (begun.left_ns - begun.least_ns) / most_ns(self.loop.body, begun.plan)

    def _only_counts(self, allowance: Allowance, steps: int) -> bool:
        """Return whether a run of at most so many steps is only to be counted, and count it where its end is known."""
        if self._may_end:
            return allowance.steps > 0
        if allowance.steps <= RUNS_LEFT * steps:
            return False
        allowance.steps -= steps
        return True

    def _allow(self, begun: Begun) -> None:
        """Let runs be only counted from now on as long as nothing can be due."""
        if not self.counted.pays:
            begun.allow()

    def _add_what_left(self, found: Begun, steps: int) -> None:
        """Count what left the loop, not in its first run: functions that are called once pay nothing for that."""
        if found.was_met:
            found.add(self.counted.left_of(self.loop.name), steps)
        found.was_met = True

    def made_entry(self, code: Specialised, write: WriteEntry) -> Entry | None:
        """Return what runs code without an arena; it counts steps, and leaves to the arena a run in which something may be due."""
        if type(code) is Begun:
            if not self.counted.pays:
                return code.made_entry(write)
            entry = write(code.plan, None)
            return None if entry is None else partial(self._entered_unless_due, code, entry)
        entry = code.made_entry(write)
        if entry is None or not self._step_ns or not self.counted.is_open:
            return entry
        return partial(self._entered_again, entry)

    def _entered_unless_due(
        self, begun: Begun, entry: Entry, values: Sequence[Any], buffers: list[Any]
    ) -> list[Any] | FailedRun | None:
        """Run a loop where machine code pays as soon as its steps take longer than entering that."""
        cost = whole_number(values[self._n_steps]) * begun.step_ns
        left = begun.left_ns - cost
        if not begun.is_known or self._is_due(begun, cost, left):
            return None  # it is looked at and counted, and maybe compiled, where it is opened
        self._count(begun, left - THIS_RUN * cost)
        found = entry(values, buffers)
        if found is not None:
            begun.left_ns = left
        return found

    def _entered_again(
        self, entry: Entry, values: Sequence[Any], buffers: list[Any]
    ) -> list[Any] | FailedRun | None:
        """Run machine code that is not for the Program to be made."""
        found = entry(values, buffers)
        if found is not None:
            self._count_again(whole_number(values[self._n_steps]))
        return found

    def going_on(self, arena: LoopArena, step: int) -> Any:
        """Return what runs a loop with a stop condition from a step on: machine code where the steps so far say that it pays.

        All that the steps have left lies in rows, so any code can go on from there.
        """
        code = arena.code
        if not isinstance(code, Begun) or code.left_ns > step * code.step_ns:
            return code
        return self._compiled(code, arena.shapes, arena.states, arena.watch, arena.steps)

    def _is_due(self, begun: Begun, cost_ns: float, left_ns: float | None = None) -> bool:
        """Return whether code is to be compiled before a run of a cost, after which so much is left.

        It is where that run pays alone.  Else, where there is a Program to be made, loops wait for the next call, which makes it.
        """
        left = begun.left_ns if left_ns is None else left_ns
        if left == inf:
            return False
        left -= (THIS_RUN - 1) * cost_ns
        if THIS_RUN * cost_ns >= begun.alone_ns:
            return True
        if left > begun.least_ns and not self.counted.pays:
            return False
        if not self._pays(begun, cost_ns, left):
            if begun.is_known:
                begun.quiet_ns = min(begun.quiet_ns, left - ASKED_AGAIN * begun.pays_after_ns)
            return False
        if self.counted.is_open and not self.counted.pays:
            self.counted.let(due=True)
            return False
        return True

    def _pays(self, begun: Begun, cost_ns: float, left_ns: float) -> bool:
        """Return whether machine code pays for all the work so far of the loops of the function.

        Where it pays for whole calls, it does so for a loop alone if its steps take longer than entering their code.
        """
        if self._pay_together(begun, left_ns):
            return True
        return self.counted.pays and (self._may_end or cost_ns >= ENTERING_NS)

    def _pay_together(self, begun: Begun, left_ns: float) -> bool:
        return self.counted.have_done(self.loop.name, begun.share(left_ns))

    def took(self, code: Any, steps: int) -> None:
        """Count the steps of a loop with a stop condition."""
        if type(code) is Begun:
            self._taken.append(steps)
            allowance = code.allowance
            if allowance.steps > 2 * steps:
                allowance.steps -= steps
                return
            cost = steps * code.step_ns
            code.left_ns -= cost
            self._count(code, code.left_ns - cost)
            self._allow(code)
        elif self._step_ns and self.counted.is_open:
            self._count_again(steps)

    def _count(self, code: Begun, left_ns: float) -> None:
        """Let the Program that suits machine code better be due where it pays in one more call like this, which leaves so much."""
        if left_ns <= code.least_ns and self.counted.is_open and self._pay_together(code, left_ns):
            self.counted.let(due=True)

    def _count_again(self, steps: int) -> None:
        """Count steps of machine code that is not for that Program."""
        self._again_ns -= steps * self._step_ns
        if self._again_ns <= 0:
            self.counted.let(due=True)

    def _for_shapes(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]], steps: int) -> Specialised:
        """Return NumPy's code, or machine code where that pays in the first call: then no other is written."""
        made = super()._for_shapes(shapes, rows, steps)
        if isinstance(made, Begun) and self._may_be_due(made, steps):
            self._estimate(made)
            cost = 0.0 if self._may_end else steps * made.step_ns
            made.left_ns -= cost
            if self._is_due(made, cost):
                return self._in_place_of(made, shapes, rows, steps)
            made.left_ns += cost
        return made

    def pays_in(
        self,
        shapes: Sequence[Any],
        rows: Sequence[tuple[int, ...]],
        steps: int,
        left_ns: float,
        rows_stay: bool = False,
        part: float = 1.0,
    ) -> bool:
        """Return whether a run of so many steps pays for machine code alone, before it has begun; its plan is kept for it.

        Parameters
        ----------
        shapes, rows
            Of a step's inputs, and of the rows of states.
        steps : int
            How many there will be.
        left_ns : float
            What is done outside for the run that machine code does inside.
        rows_stay : bool
            Whether the Program was rewritten for machine code: rewrites for NumPy would move operations of rows out of it.
        part : float
            Of what pays alone so much is enough.
        """
        pays_after = part * self._pays_after_ns()
        if self._may_end or self.loop.mode == "numpy" or THIS_RUN * steps * LONG_STEP_NS < pays_after:
            return False
        body, plan = self.loop.body, self.plan_for(shapes, rows)
        self.take_plan(plan)
        self._saved = plan, self._saved_ns(plan)
        if rows_stay:
            from scanviz.engine.backends.auto.left import leaving_ns  # of no use for few steps

            left_ns += steps * leaving_ns(self.loop, plan)
        if THIS_RUN * (steps * self._saved[1] + left_ns) < pays_after:
            return False
        made = [number for instruction in body.instructions for number in instruction.outputs]
        # there is no machine code of others
        return all(plan.places[number].shape is not None for number in made) and not has_effects(body)

    def _made(self, plan: Plan) -> Specialised:
        body = self.loop.body
        shapes_change = any(plan.places[number].shape is None for number in body.inputs)
        if shapes_change or self.loop.mode == "numpy":  # which the user has chosen
            return super()._made(plan)
        counted, alone = self.counted, self._pays_after_ns()
        pays_after = alone + counted.is_open * alone * REWRITING / (LOADING + USUAL_STEP)
        left_ns = pays_after if counted.is_open else min(alone, counted.left_ns.pop(self.loop.name, alone))
        least = 1.0 if counted.loops == 1 else min(FURTHER, 1 / counted.loops)
        made = Begun(plan, self.tier, self._write, left_ns, pays_after, pays_after * (1 - least))
        made.alone_ns = alone
        counted.note(self.loop.name, made)
        return made

    def _may_be_due(self, begun: Begun, steps: int) -> bool:
        """Return whether machine code may pay in a first run of so many steps; or whether somebody is to be told when it pays."""
        may = self._may_end or THIS_RUN * steps * LONG_STEP_NS >= begun.alone_ns
        return may or begun.left_ns <= 0 or bool(observe.observers())  # it has done enough in another Program

    def _estimate(self, begun: Begun) -> None:
        """Find out what a step costs: that takes as long as writing a part of its code."""
        known, step_ns = self._saved
        begun.costs(step_ns if known is begun.plan else self._saved_ns(begun.plan))
        if self.counted.is_open:
            rows = [begun.plan.places[slot.inner].shape or () for slot in self.loop.sequences]
            begun.look_after(OUTSIDE_NS * sum(map(prod, rows)))

    def _saved_ns(self, plan: Plan) -> float:
        """Return what machine code saves of a step, little where NumPy takes many steps at once."""
        at_once = accumulated.saved_ns(self.loop, plan)
        return max(1.0, saved_ns(self.loop.body, plan) if at_once is None else at_once)

    def _pays_after_ns(self) -> float:
        """Return how much steps cost until machine code pays: the more code, the more."""
        size = (LOADING + len(self.loop.body.instructions)) / (LOADING + USUAL_STEP)
        return config.native.pays_after * 1e9 * max(1.0, size)

    def _compiled(
        self,
        begun: Begun,
        shapes: Sequence[Any],
        states: Sequence[StateRows],
        watch: Probe | None,
        steps: int,
    ) -> Specialised:
        """Return machine code in place of NumPy's; where there can be none, NumPy's stays, and says why."""
        with self._lock:  # others wait, and find it done
            if begun not in self.cache.values():  # another thread has compiled it, or it is kept no longer
                return super().code_for(shapes, states, watch, steps)
            started = time.perf_counter_ns()
            self.opened = states
            try:
                made = self._in_place_of(begun, shapes, [state.row_shape for state in states], steps)
            finally:
                self.opened = ()
            self.put_in_place(begun, made)
        if watch is not None:
            watch.specialised(self.loop.key, time.perf_counter_ns() - started, made.tier.name, made.why)
        return made

    def _in_place_of(
        self, begun: Begun, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]], steps: int
    ) -> Specialised:
        """Return machine code, or NumPy's that says why there is none."""
        made = self._machine_code(shapes, rows, steps)
        if isinstance(made, str):
            begun.stay(f"no native code: {made}")
            self.counted.refused.add(self.loop.name)
            return begun
        self._again_ns, self._step_ns = AGAIN * begun.pays_after_ns, begun.step_ns
        self.counted.compiled.add(self.loop.name)
        return made

    def will_compile(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]], steps: int) -> bool:
        """Return whether machine code will pay in the first run: that was foreseen, or a run of so many steps pays alone.

        Where another loop was foreseen to pay, and is compiled by then, this one needs a part of that.
        """
        foreseen = self.counted.left_ns.get(self.loop.name) == 0.0 and self.loop.mode != "numpy"
        part = FURTHER if self.counted.foreseen else 1.0
        return foreseen or self.pays_in(shapes, rows, steps, 0.0, part=part)

    def machine_code(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]], steps: int) -> Specialised:
        """Return machine code, made in this thread."""
        from scanviz.engine.backends.native.tier import NativeLoop

        native = NativeLoop(self.loop, self.runners, self.tier, self._write)
        return native.machine_code(shapes, rows, steps)

    def _machine_code(
        self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]], steps: int
    ) -> Specialised | str:
        """Return machine code, or why there is none."""
        available = availability("native")
        if not available.works:
            return available.why
        # much code, which few programs need
        from scanviz.engine.backends.native.emit.errors import NotWrittenError
        from scanviz.engine.backends.native.tier import NativeLoop
        from scanviz.engine.runtime.beside import taken

        native = NativeLoop(self.loop, self.runners, self.tier, self._write)
        native.others, native.opened = self.others, self.opened
        try:
            return taken(self, shapes, rows) or native.machine_code(shapes, rows, steps)
        except NotWrittenError as refused:
            return str(refused)
        except (BackendError, OSError, MemoryError) as error:  # LLVM cannot be loaded, or code has no room
            return error.what if isinstance(error, ScanvizError) else f"{type(error).__name__}: {error}"
        finally:  # the code holds it as long as the function lives, and these hold the call's rows and arguments
            native.others, native.opened = None, ()


__all__ = ["LONG_STEP_NS", "THIS_RUN", "AutoLoop"]

"""The default tier: loops begin on NumPy and change to machine code when that pays, as :class:`TierPolicy` decides.

The number of steps is known when a run begins, so a long loop is compiled before its first step.  A loop with a stop condition
counts the steps that it took; it may change in the middle of a run, when its rows grow.  Inner loops count for themselves, but the
outer loop is compiled first if the number of their steps is known.

Integers, booleans and draws are the same on both tiers; floating-point numbers may differ in their last bits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from operator import index as whole_number
from typing import TYPE_CHECKING, Any

from scanviz.engine.backends.base import RUNS, Availability, Executable, Support
from scanviz.engine.backends.numpy import LIBRARY, NumpyBackend
from scanviz.engine.backends.registry import availability
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.backends.tier_policy import TierPolicy, why_numpy
from scanviz.engine.backends.whole_function import WholeFunctionExecutable
from scanviz.engine.errors import BackendError, ScanvizError
from scanviz.engine.observe import WAITED
from scanviz.engine.program.verify import verify_program
from scanviz.engine.program.work import step_ns
from scanviz.engine.runtime.specialised import Specialised, SpecialisedLoop, Tier, Write

if TYPE_CHECKING:
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program
    from scanviz.engine.program.plan import Plan
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.calling import Entry, FailedRun, LoopCode, WriteEntry
    from scanviz.engine.runtime.row_storage import StateRows


class NumpyCode(Specialised):
    """NumPy's code for one set of shapes, whose steps are counted.

    Attributes
    ----------
    step_ns : float
        The estimated time of a step on NumPy, without inner loops.
    whole_step_ns : float
        The same with the steps of inner loops, where their number is known.
    is_counted : bool
        Whether there may be machine code in its place.
    """

    __slots__ = ("is_counted", "step_ns", "whole_step_ns")

    def __init__(self, loop: LoopInstruction, plan: Plan, tier: Tier, write: Write) -> None:
        super().__init__(plan, tier, write, why_numpy())
        self.is_counted = True
        self.step_ns = step_ns(loop.body, plan, loops=False)
        self.whole_step_ns = step_ns(loop.body, plan) if plan.inner else self.step_ns


class AutoRunner(SpecialisedLoop):
    """Runs one loop on NumPy, and in machine code once that pays.

    Parameters
    ----------
    loop, runners, tier, write
        As :class:`SpecialisedLoop` takes them.
    policy : TierPolicy
        The policy of the function.
    """

    def __init__(
        self,
        loop: LoopInstruction,
        runners: Mapping[int, Any],
        tier: Tier,
        write: Write,
        policy: TierPolicy,
    ) -> None:
        super().__init__(loop, runners, tier, write)
        self.policy, self._may_end = policy, loop.until is not None

    def code_for(
        self, shapes: Sequence[Any], states: Sequence[StateRows], probe: Probe | None, steps: int
    ) -> Specialised:
        """Return the code for shapes: machine code as soon as it pays."""
        found = super().code_for(shapes, states, probe, steps)
        if type(found) is not NumpyCode or not found.is_counted:
            return found
        if self._pays(found, steps):
            return self._compiled(found, shapes, states, probe, steps)
        if not self._may_end:
            self.policy.add(steps * found.step_ns)
        return found

    def _pays(self, code: NumpyCode, steps: int) -> bool:
        """Return whether machine code pays before a run of ``steps`` steps; a loop with a stop condition counts one step."""
        return self.policy.pays((1 if self._may_end else steps) * code.whole_step_ns)

    def hand_over(self, arena: LoopArena, step: int) -> LoopCode:
        """Return machine code for the remaining steps if that pays, else the code that runs."""
        code: LoopCode = arena.code
        if type(code) is not NumpyCode or not code.is_counted or not self.policy.pays(step * code.step_ns):
            return code
        self.policy.add(step * code.step_ns)
        return self._compiled(code, arena.shapes, arena.states, arena.probe, arena.steps)

    def took(self, code: LoopCode, steps: int) -> None:
        """Count the steps of a loop with a stop condition."""
        if type(code) is NumpyCode and code.is_counted:
            self.policy.add(steps * code.step_ns)

    def made_entry(self, code: Specialised, write: WriteEntry) -> Entry | None:
        """Return the entry of NumPy code: it counts steps, and returns None once machine code pays."""
        entry = code.made_entry(write)
        if entry is None or type(code) is not NumpyCode:
            return entry
        return partial(self._entered_unless_it_pays, code, entry)

    def _entered_unless_it_pays(
        self, code: NumpyCode, entry: Entry, values: Sequence[Any], buffers: list[Any]
    ) -> list[Any] | FailedRun | None:
        steps = whole_number(values[self.inputs.n_steps])
        if code.is_counted and self._pays(code, steps):
            return None
        found = entry(values, buffers)
        if found is not None and code.is_counted:
            self.policy.add(steps * code.step_ns)
        return found

    def _for_shapes(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]], steps: int) -> Specialised:
        """Return NumPy's code, or machine code if that pays before the first step."""
        if self.loop.mode == "numpy":  # the user's choice
            return super()._for_shapes(shapes, rows, steps)
        made = NumpyCode(self.loop, self.plan_met(shapes, rows), self.tier, self._write)
        return self._in_place_of(made, shapes, rows) if self._pays(made, steps) else made

    def _compiled(
        self,
        code: NumpyCode,
        shapes: Sequence[Any],
        states: Sequence[StateRows],
        probe: Probe | None,
        steps: int,
    ) -> Specialised:
        """Replace NumPy's code by machine code; where there is none, keep NumPy's with the reason."""
        begun, made = time.perf_counter_ns(), None
        with self._lock:  # other threads wait until it is done
            key = next((key for key, kept in self.cache.items() if kept is code), None)
            if code.is_counted and key is not None:
                made = self.cache[key] = self._in_place_of(
                    code, shapes, [state.row_shape for state in states]
                )
                self._latest = (None, None)
            took = time.perf_counter_ns() - begun
        found = super().code_for(shapes, states, probe, steps) if made is None else made
        if probe is not None:
            why = WAITED if made is None else made.why
            probe.specialised(self.loop.key, took, found.tier.name, why)
        return found

    def _in_place_of(
        self, code: NumpyCode, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]]
    ) -> Specialised:
        """Return machine code, or NumPy's code with the reason why there is none."""
        made = self._machine_code(shapes, rows)
        if not isinstance(made, str):
            return made
        code.is_counted, code.why = False, f"no native code: {made}"
        return code

    def _machine_code(self, shapes: Sequence[Any], rows: Sequence[tuple[int, ...]]) -> Specialised | str:
        """Return machine code, or why there is none."""
        available = availability("native")
        if not available.works:
            return available.why
        # slow to import, and seldom needed
        from scanviz.engine.backends.native.emit import NotWrittenError
        from scanviz.engine.backends.native.run.tier import machine_code

        try:
            return machine_code(self.loop, self.runners, self.tier, shapes, rows)
        except NotWrittenError as refused:
            return str(refused)
        except (BackendError, OSError, MemoryError) as error:  # no LLVM, or no memory for code
            return error.what if isinstance(error, ScanvizError) else f"{type(error).__name__}: {error}"


class AutoExecutable(WholeFunctionExecutable):
    """A program on NumPy, whose loops are compiled where that pays."""

    def __init__(self, program: Program) -> None:
        policy = TierPolicy()
        super().__init__(program, LIBRARY._replace(loops=partial(AutoRunner, policy=policy)), policy)

    def compile_alike(self, program: Program) -> Executable:
        """Compile another Program of the same function for the tiers that this one has reached."""
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
        """Return that it is available: it needs only NumPy."""
        return NumpyBackend().availability()

    def supports(self, instruction: Instruction, program: Program) -> Support:
        """Return that it runs everything."""
        return RUNS

    def compile(self, program: Program) -> AutoExecutable:
        """Return generated code for a program; each loop gets its code when its shapes are known."""
        verify_program(program)
        return AutoExecutable(program)

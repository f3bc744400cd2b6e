"""Functions that are called often and do little: from some call on, machine code of the whole function.

Around a loop of fifty short steps a call has the checks of arguments, some operations on small arrays, and entering the loops: by
parts that takes longer than the steps.  Once calls with arrays of the same shapes have cost ``config.native.pays_after`` seconds,
by estimate, the function becomes one piece of machine code for these shapes (:mod:`scanviz.engine.backends.native.whole`).  As
with loops it is decided by counts, never by a clock.  Who observes is shown the parts, each on its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from math import inf, prod
from operator import index as whole_number
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.engine.backends.registry import availability
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.config import config
from scanviz.engine.errors import BackendError
from scanviz.engine.locks import lock
from scanviz.engine.observation.levels import RUNS
from scanviz.engine.program.effects import has_branches, has_effects
from scanviz.engine.program.instructions import LoopInstruction, Program, all_loops, dtype_of
from scanviz.engine.program.plan import Emits, Plan, plan, single
from scanviz.engine.runtime.floating import as_before, ignore_errors

if TYPE_CHECKING:
    from scanviz.engine.backends.native.whole import WholeFunction
    from scanviz.engine.backends.source.library import Library
    from scanviz.engine.observation.probe import Probe

COUNTED = 31  # of so many calls one is looked at, and stands for all of them, until there is machine code: counting takes time, too
SELDOM = 127  # and of so many where many more are to come; no round number, for shapes may take turns
FIRST_LOOK = 100  # calls with the same shapes before anything is estimated: a function that is called less pays nothing
MANY = 8  # times what one call stands for are many calls
LATER = 0.25  # of the calls so far are to come until it is asked again whether it is too early to estimate
LOOKED = 0.25  # of what pays has been done before: an estimate takes a millisecond
CALL_NS = 4_000.0  # of the checks of arguments, and of entering a loop
USUAL_FUNCTION = 40  # operations, those of steps included, whose code costs no more than LLVM does
SHORT_NS = 2.5e6  # a call that takes no longer on NumPy by estimate is short
# A longer one is, too, where being called is most of it and machine code of the loops takes little of that: what numbers cost
# beside what is around the loops, and all that one call may cost on NumPy, for no ctrl+c is heard in it
MOST_WORK, LONGEST_NS = 75, 1e8
# of what pays for a short call does so for a longer one: its loops are machine code long before, so it is faster than NumPy by then
OF_LONG = 1 / 3
MOST_BYTES = 384 * 2**10  # of inputs and outputs: these are copied
KEPT = 8  # sets of shapes
Key = tuple[Any, ...]  # the shapes of the inputs, then the numbers of steps among them


class _Met:
    """Calls with arrays of some shapes: how many there were and are left until something is done, and what they are run by then."""

    __slots__ = ("done", "estimated", "left", "whole")

    def __init__(self, left: float) -> None:
        self.left = self.done = left
        self.estimated = False
        self.whole: WholeFunction | None = None


class ShortCalls:
    """Counts the calls of a function by the shapes of its arguments, and has the machine code of the whole function.

    Parameters
    ----------
    program : Program
        The function's.
    emits : Emits
        What the tier that runs it by parts can do with memory.
    parts_pay : callable
        Is called when machine code pays, and told whether there is code of whole calls, or none is made now: then loops of this
        Program are machine code too, where a call is run by parts.  Else another Program may suit machine code better.
    spent_ns : callable
        Gives about what the steps of loops have taken in all calls.
    steps_taken : callable
        Gives how many steps a run of a loop with a stop condition took on the average, by its name; infinity where nobody knows.

    Attributes
    ----------
    passed : int
        How many calls that follow the last one that was looked at are not.
    """

    def __init__(
        self,
        program: Program,
        emits: Emits,
        parts_pay: Callable[[bool], None],
        spent_ns: Callable[[], float],
        steps_taken: Callable[[str], float],
    ) -> None:
        self.program, self._emits, self._parts_pay = program, emits, parts_pay
        self._spent_ns, self._steps_taken = spent_ns, steps_taken
        self._met: OrderedDict[tuple[tuple[int, ...], ...], _Met] = OrderedDict()
        self._lock = lock()
        self.passed, self._compiles = 0, False
        self._latest: Key | None = None
        self.branches = has_branches(program)
        steps = {loop.n_steps for loop in program.instructions if isinstance(loop, LoopInstruction)}
        self._steps = [k for k, number in enumerate(program.inputs) if number in steps]

    @property
    def is_compiled(self) -> bool:
        """Whether there is machine code for some shapes."""
        return any(met.whole is not None for met in list(self._met.values()))

    @property
    def is_settled(self) -> bool:
        """Whether nothing will be decided any more for the shapes met."""
        return all(met.left == inf for met in list(self._met.values()))

    def run(self, whole: WholeFunction, inputs: Sequence[Any], watch: Probe | None) -> list[Any] | None:
        """Return the outputs of the whole function; None where an operation failed.  ``watch`` is given the runs of its loops."""
        if self._steps:
            inputs = [array for k, array in enumerate(inputs) if k not in self._steps]
        return whole(inputs) if watch is None else whole.run_noting(inputs, watch)

    def whole_for(self, inputs: Sequence[Any], watch: Probe | None) -> WholeFunction | None:
        """Count a call, and return what runs all of it; None where it is to be run by parts."""
        key: Key = tuple([array.shape for array in inputs])
        if self._steps:
            steps = [whole_number(inputs[k]) for k in self._steps]
            if min(steps) < 0:  # the loop tells that
                self.passed = 0
                return None
            key += tuple(steps)
        met = self._met.get(key)
        if met is None:
            met = self._first(key)
        if met.whole is not None:
            return met.whole
        if not self._compiles:
            self.passed = (COUNTED if met.left < MANY * SELDOM else SELDOM) - 1
        met.left -= 1 + self.passed
        return None if met.left >= 0 else self._further(met, key, watch)

    def _first(self, key: Key) -> _Met:
        after = config.native.pays_after
        self._latest = key
        with self._lock:
            met = self._met[key] = _Met(inf if after == inf else FIRST_LOOK if after else 0)
            if len(self._met) > KEPT:
                self._met.popitem(last=False)
        return met

    def _further(self, met: _Met, key: Key, watch: Probe | None) -> WholeFunction | None:
        """Look what a call costs; later, compile it."""
        begun = perf_counter_ns()
        with self._lock:
            if not met.estimated and not self._have_done_little(met):
                met.estimated, met.left = True, self._calls_left(key, met.done)
            if watch is not None:  # it is run by parts, and looking is no time of the program
                watch.own.ns += perf_counter_ns() - begun
            if met.left >= 0:
                return None
            if not availability("native").works:  # asked last: it is a lot of code
                met.left = inf
                return None
            if watch is None and met.whole is None:
                met.left, met.whole = inf, self._compiled(key)
                if met.whole is not None:
                    self._compiles, self.passed = True, 0
            self._parts_pay(met.whole is not None or watch is not None)
        return met.whole

    def _have_done_little(self, met: _Met) -> bool:
        """Return whether it is too early to look what a call costs; then that is asked again later."""
        done = self._spent_ns() + met.done * CALL_NS
        if done >= LOOKED * config.native.pays_after * 1e9:
            return False
        more = max(FIRST_LOOK, int(LATER * met.done))
        met.left += more
        met.done += more
        return True

    def latest_program(self) -> tuple[Program, list[tuple[int, ...]]] | None:
        """Return the Program for the shapes that were new last, and those of its inputs; numbers of steps are constants of it."""
        return None if self._latest is None else self._for_key(self._latest)

    def _for_key(self, key: Key) -> tuple[Program, list[tuple[int, ...]]]:
        """Return the Program with numbers of steps for inputs of it, and the shapes of its other inputs."""
        program, steps = self.program, self._steps
        if not steps:
            return program, list(key)
        numbers = program.inputs
        known = {
            numbers[k]: np.array(value, dtype_of(program, numbers[k]))
            for k, value in zip(steps, key[len(numbers) :], strict=True)
        }
        left = [k for k in range(len(numbers)) if k not in steps]
        inputs = tuple([numbers[k] for k in left])
        return replace(program, inputs=inputs, constants={**program.constants, **known}), [
            key[k] for k in left
        ]

    def _calls_left(self, key: Key, done: float) -> float:
        """Return how many more calls than were done it takes until machine code pays; infinity where it never does."""
        program, shapes = self._for_key(key)
        made = plan(program, shapes, single, self._emits)
        cost = call_cost(program, made, self._steps_taken)
        numbers = (*program.inputs, *program.outputs)
        known = [made.places[number].shape for number in numbers]
        held = sum(
            np.dtype(dtype_of(program, number)).itemsize * prod(shape)
            for number, shape in zip(numbers, known, strict=True)
            if shape is not None
        )
        if None in known or held > MOST_BYTES or not cost.is_short:
            return inf
        size = len(program.instructions) + sum(len(loop.body.instructions) for loop, _ in all_loops(program))
        share = 1.0 if cost.ns <= SHORT_NS else OF_LONG
        pays_ns = share * config.native.pays_after * 1e9 * max(1.0, size / USUAL_FUNCTION)
        return pays_ns / cost.saved_ns - done - 1

    def _compiled(self, key: Key) -> WholeFunction | None:
        # much code, which few programs need
        from scanviz.engine.backends.native.emit.errors import NotWrittenError
        from scanviz.engine.backends.native.whole import WholeFunction

        try:
            return WholeFunction(*self._for_key(key))
        except (NotWrittenError, BackendError, OSError, MemoryError):
            return None  # LLVM cannot be loaded, or code has no room


class CallCost(NamedTuple):
    """About how many nanoseconds a call takes on NumPy.

    Attributes
    ----------
    ns : float
        All of it; infinity where the steps of a loop are not known from shapes.
    beside_ns : float
        What is around the loops, without what operations do to elements: checks, entering loops, calls of NumPy.
    work_ns : float
        What operations do to elements, in loops too.
    """

    ns: float
    beside_ns: float
    work_ns: float

    @property
    def is_short(self) -> bool:
        """Whether what is around the loops counts, where these are machine code."""
        return self.ns <= SHORT_NS or (self.ns <= LONGEST_NS and self.work_ns <= MOST_WORK * self.beside_ns)

    @property
    def saved_ns(self) -> float:
        """What one piece of machine code saves at most: of longer calls, whose loops are machine code before, what is around."""
        return self.ns if self.ns <= SHORT_NS else self.beside_ns


def call_cost(program: Program, made: Plan, steps_taken: Callable[[str], float]) -> CallCost:
    """Return about what a call takes on NumPy; ``steps_taken`` says how many steps loops take that stop of themselves."""
    # most are called seldom
    from scanviz.engine.backends import accumulated
    from scanviz.engine.backends.estimate import UNKNOWN_NS, called_ns, step_ns
    from scanviz.engine.program.plan.arena import inner_steps

    around, called = step_ns(program, made, loops=False), called_ns(program, made, loops=False)
    found, beside, work = CALL_NS + around, CALL_NS + called, around - called
    for index, instruction in enumerate(program.instructions):
        if isinstance(instruction, LoopInstruction):
            steps = inner_steps(program, made, instruction)
            if steps is None or index not in made.inner:
                return CallCost(inf, inf, inf)
            step, inner = instruction.body, made.inner[index][0]
            taken = steps if instruction.until is None else min(steps, steps_taken(instruction.name))
            at_once = accumulated.run_ns(instruction, inner) if taken >= accumulated.FEWEST else None
            found += taken * (at_once or step_ns(step, inner)) - UNKNOWN_NS
            beside += CALL_NS - UNKNOWN_NS
            work += taken * (at_once or step_ns(step, inner) - called_ns(step, inner))
    return CallCost(found, beside, work)


class ShortCallsExecutable(SourceExecutable):
    """A program on NumPy and its loops; as a whole machine code for calls that are short and many."""

    def __init__(self, program: Program, library: Library) -> None:
        super().__init__(program, library)
        loops = any(isinstance(part, LoopInstruction) for part in program.instructions)
        counts = loops and not has_effects(program)
        hooks = self.parts_pay, self.spent_ns, self.steps_taken
        self._short = ShortCalls(program, self.emits, *hooks) if counts else None
        self._is_new = counts
        # how many of the next calls are not looked at: `passed` of the above, here for it is asked in every call
        self._passed = 0 if counts else inf

    @property
    def runs_whole(self) -> bool:
        """Whether calls with arrays of some shapes are one piece of machine code."""
        return self._short is not None and self._short.is_compiled

    @property
    def is_settled(self) -> bool:
        """Whether further calls with arrays of the shapes met will change nothing: each is compiled whole, or never will be."""
        return self._short is None or self._short.is_settled

    def latest_program(self) -> tuple[Program, list[tuple[int, ...]]] | None:
        """Return the Program for the shapes that were new last, and those of its inputs; None where calls are not counted."""
        return None if self._short is None else self._short.latest_program()

    def parts_pay(self, stays: bool = True) -> None:
        """Hear that machine code pays for the loops too, and whether whole calls stay with this Program."""

    def spent_ns(self) -> float:
        """Return about what its loops have taken so far; infinity where that is not known."""
        return inf

    def steps_taken(self, name: str) -> float:
        """Return how many steps a run of a loop with a stop condition took on the average; infinity where that is not known."""
        return inf

    def run(self, inputs: Sequence[Any], watch: Probe | None) -> list[Any]:
        """Return the outputs for inputs."""
        passed = self._passed
        if not passed:
            return self._looked_at(inputs, watch)
        self._passed = passed - 1
        if watch is not None and watch.level is not RUNS:
            return SourceExecutable.run(self, inputs, watch)
        # as there: this is the way of most calls, and asking it takes a part of a short one
        before = ignore_errors()
        try:
            given = inputs if self._takes_all else self._taken(self.program, inputs)
            results: list[Any] = self._plain(given, watch, None, None)
            return results if self._gives_arrays else self._given(self.program, inputs, results)
        except Exception as error:
            raise self.flat.in_words(error) from error.__cause__
        finally:
            as_before(before)

    def _looked_at(self, inputs: Sequence[Any], watch: Probe | None) -> list[Any]:
        """Return the outputs in a call that is counted, and stands for those that follow it."""
        short = self._short
        assert short is not None  # else all calls are passed
        is_noting = watch is not None and watch.level is RUNS
        whole = short.whole_for(inputs, None if is_noting else watch)
        self._passed = short.passed
        # sides of branches are counted by parts
        if whole is not None and (watch is None or (is_noting and not short.branches)):
            results = short.run(whole, inputs, watch)
            if results is not None:
                return results
        if self._is_new:
            return self._first(inputs, partial(SourceExecutable.run, self, inputs, watch))
        return SourceExecutable.run(self, inputs, watch)

    def _first(self, inputs: Sequence[Any], run: Callable[[], list[Any]]) -> list[Any]:
        """Return the outputs in the first call, in which loops may be compiled one beside another."""
        self._is_new = False
        tiers = [(runner.loop, runner.tier) for runner in self.flat.runners.values() if _may_compile(runner)]
        if len(tiers) < 2:
            return run()
        for place, (_, tier) in enumerate(tiers):
            tier.others = partial(self._compile_beside, inputs, tiers[place + 1 :])
        try:
            return run()
        finally:
            for _, tier in tiers:
                tier.others = None

    def _compile_beside(self, inputs: Sequence[Any], later: Sequence[tuple[LoopInstruction, Any]]) -> None:
        """Have another thread compile loops that come later, where a processor may be free for it."""
        from scanviz.engine.runtime.beside import begin, threads_allowed  # few functions compile two loops

        if threads_allowed() > 1:
            begin(self.program, inputs, later)


def _may_compile(runner: Any) -> bool:
    return getattr(getattr(runner, "tier", None), "may_compile", False)

"""Compile short functions as a whole, once they are called often.

In a call with short loops the checks of arguments, operations on small arrays and entering the loops take longer than the steps.
So calls with arguments of the same shapes are compiled as a whole (:mod:`scanviz.engine.backends.native.run.whole_function`)
before the call that would bring their estimated time outside of machine code over ``config.native.pays_after``.  Observers are
shown the parts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from math import inf, prod
from operator import index as whole_number
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from scanviz.engine.backends.registry import availability
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.backends.tier_policy import TierPolicy, pays_after_ns
from scanviz.engine.cost import MACHINE_RATES
from scanviz.engine.errors import BackendError
from scanviz.engine.locks import lock
from scanviz.engine.observation.levels import RUNS
from scanviz.engine.program.instructions import LoopInstruction, Program, dtype_of, has_branches, has_effects
from scanviz.engine.program.plan import Emits, plan, single
from scanviz.engine.program.work import step_ns

if TYPE_CHECKING:
    from scanviz.engine.backends.native.run.whole_function import WholeFunction
    from scanviz.engine.backends.source.emitter import Library
    from scanviz.engine.observation.probe import Probe

CALL_NS = 8_000.0  # the checks of arguments, and operations between loops
ENTERING_NS = 10_000.0  # entering and leaving the machine code of one loop
SHORT_NS = 2e6  # the longest call, by a high estimate: it hears no ctrl+c and uses one thread
MOST_BYTES = 384 * 2**10  # of inputs and outputs, which are copied
KEPT = 32  # the most sets of shapes
Key = tuple[Any, ...]  # the shapes of the inputs, then the numbers of steps among them


class _Met:
    """Calls with arguments of the same shapes.

    Attributes
    ----------
    spent_ns, last_ns : float
        The estimated time outside of machine code of all calls, and of the last one.
    is_decided : bool
        Whether compiling has been tried or ruled out.
    whole : WholeFunction or None
        The machine code.
    """

    def __init__(self, spent_ns: float) -> None:
        self.spent_ns, self.last_ns, self.is_decided = spent_ns, 0.0, False
        self.whole: WholeFunction | None = None

    def pays(self) -> bool:
        """Return whether machine code pays before the next call."""
        return self.spent_ns + self.last_ns >= pays_after_ns()

    def took(self, numpy_ns: float) -> None:
        """Count a call by parts, with its loops' NumPy time."""
        self.last_ns = CALL_NS + numpy_ns
        self.spent_ns += self.last_ns


class WholeCalls:
    """The calls of a function by shapes of arguments, and their machine code.

    Parameters
    ----------
    program : Program
        The program of the function.
    emits : Emits
        The memory abilities of the tier that runs it by parts.
    policy : TierPolicy
        Counts the time of its loops on NumPy.

    Attributes
    ----------
    begins_at_ns : float
        The time that calls of new shapes start with.
    """

    def __init__(self, program: Program, emits: Emits, policy: TierPolicy) -> None:
        self.program, self._emits, self._policy = program, emits, policy
        self._met: OrderedDict[Key, _Met] = OrderedDict()
        self._lock = lock()
        self.begins_at_ns = 0.0
        self.branches = has_branches(program)
        steps = {loop.n_steps for loop in program.instructions if isinstance(loop, LoopInstruction)}
        self._steps = [k for k, number in enumerate(program.inputs) if number in steps]

    @property
    def is_compiled(self) -> bool:
        """True if there is machine code for some shapes."""
        return any(met.whole is not None for met in list(self._met.values()))

    def run(self, whole: WholeFunction, inputs: Sequence[Any], probe: Probe | None) -> list[Any] | None:
        """Run the whole function; None if an operation failed.  ``probe`` counts the runs of its loops."""
        if self._steps:
            inputs = [array for k, array in enumerate(inputs) if k not in self._steps]
        return whole(inputs) if probe is None else whole.run_noting(inputs, probe)

    def met(self, inputs: Sequence[Any], may_compile: bool) -> _Met | None:
        """Return the calls with arguments like these; None if a number of steps is negative.

        They are compiled if that pays; with ``may_compile`` False only their loops are.
        """
        key: Key = tuple([array.shape for array in inputs])
        if self._steps:
            steps = [whole_number(inputs[k]) for k in self._steps]
            if min(steps) < 0:
                return None
            key += tuple(steps)
        met = self._met.get(key)
        if met is None:
            met = self._new(key)
        if not met.is_decided and met.pays():
            self._decide(met, key, may_compile)
        return met

    def _new(self, key: Key) -> _Met:
        with self._lock:
            met = self._met[key] = _Met(self.begins_at_ns)
            if len(self._met) > KEPT:
                self._met.popitem(last=False)
        return met

    def _decide(self, met: _Met, key: Key, may_compile: bool) -> None:
        """Compile short calls of some shapes as a whole, and the loops of others."""
        with self._lock:  # other threads wait until it is done
            if may_compile and not met.is_decided:
                if availability("native").works and self._is_short(key):
                    met.whole = self._compiled(key)
                met.is_decided = True
            self._policy.compiles_all = True

    def _for_key(self, key: Key) -> tuple[Program, list[tuple[int, ...]]]:
        """Return the Program with constant numbers of steps, and the shapes of its other inputs."""
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

    def _is_short(self, key: Key) -> bool:
        """Return whether calls take little time and copy little."""
        program, shapes = self._for_key(key)
        made = plan(program, shapes, single, self._emits)
        numbers = (*program.inputs, *program.outputs)
        known = [made.places[number].shape for number in numbers]
        held = sum(
            np.dtype(dtype_of(program, number)).itemsize * prod(shape)
            for number, shape in zip(numbers, known, strict=True)
            if shape is not None
        )
        if None in known or held > MOST_BYTES:
            return False
        return step_ns(program, made, MACHINE_RATES) <= SHORT_NS

    def _compiled(self, key: Key) -> WholeFunction | None:
        # slow to import, and seldom needed
        from scanviz.engine.backends.native.emit import NotWrittenError
        from scanviz.engine.backends.native.run.whole_function import WholeFunction

        try:
            return WholeFunction(*self._for_key(key))
        except (NotWrittenError, BackendError, OSError, MemoryError):
            return None  # LLVM cannot be loaded, or there is no memory for code


class WholeFunctionExecutable(SourceExecutable):
    """A program that runs by parts; short, frequent calls run as whole machine code.

    Attributes
    ----------
    policy : TierPolicy
        Counts the time of its loops on NumPy.
    """

    def __init__(self, program: Program, library: Library, policy: TierPolicy) -> None:
        super().__init__(program, library)
        self.policy = policy
        loops = sum(isinstance(part, LoopInstruction) for part in program.instructions)
        self._entering_ns = ENTERING_NS * loops
        may_be_whole = loops and not has_effects(program)
        self._whole = WholeCalls(program, self.emits, policy) if may_be_whole else None

    @property
    def runs_whole(self) -> bool:
        """True if calls of some shapes run as whole machine code."""
        return self._whole is not None and self._whole.is_compiled

    def compile_all(self, whole: bool) -> None:
        """Compile all loops from the first call on, with ``whole`` also whole calls."""
        self.policy.compiles_all = True
        if whole and self._whole is not None:
            self._whole.begins_at_ns = inf

    def run(self, inputs: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Return the outputs for inputs."""
        whole = self._whole
        if whole is None:
            return SourceExecutable.run(self, inputs, probe)
        in_parts = probe is not None and probe.level is not RUNS
        met = whole.met(inputs, may_compile=not in_parts)
        # the parts count the sides of branches
        if met is not None and met.whole is not None and (probe is None or not (in_parts or whole.branches)):
            results = whole.run(met.whole, inputs, probe)
            if results is not None:
                return results
        return self._by_parts(met, inputs, probe)

    def _by_parts(self, met: _Met | None, inputs: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Run a call by parts, and count it until calls of its shapes are decided."""
        if met is None or met.is_decided:
            return SourceExecutable.run(self, inputs, probe)
        thread = self.policy.thread
        before = thread.numpy_ns
        results = SourceExecutable.run(self, inputs, probe)
        met.took(thread.numpy_ns - before + self._entering_ns * self.policy.compiles_all)
        return results

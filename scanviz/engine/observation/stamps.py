"""Stamps of an observed loop: one per step, per operation, or per block of steps."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence
from itertools import islice, pairwise, tee
from operator import length_hint
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from scanviz.engine.observation.events import StepSeries

if TYPE_CHECKING:
    from scanviz.engine.observation.observer_overhead import ObserverOverhead
    from scanviz.engine.program.instructions import LoopInstruction

Clock = Callable[[], int]


class Stamps(Protocol):
    """The stamps of one chunk of steps.

    Attributes
    ----------
    record : object
        The argument through which the variant's code takes times.
    """

    @property
    def record(self) -> Any:
        """The argument of the code; its type depends on the tier and the variant."""

    def end(self) -> None:
        """Note that the last step is done."""
        ...

    def series(self, loop: LoopInstruction, first: int) -> StepSeries:
        """Return the times of the whole steps; the first of them is step ``first``."""
        ...


class StepStamps:
    """One time per step, taken by the iteration over the steps itself: no call in the step, no cost but the clock's.

    The iteration takes a stamp before each step and after the last one, so no step contains the time of leaving the code, which is
    large in runs of one step.  The generated code iterates over ``record``.  The span of a chunk runs from before its code is
    entered until after it is left, as a block's does, so the two are comparable.
    """

    __slots__ = ("_begun", "_clock", "_count", "_counted", "_ended", "_taken", "record")

    def __init__(
        self, first: int, last: int, clock: Clock = perf_counter_ns, own: ObserverOverhead | None = None
    ) -> None:
        clock = clock if own is None else own.clock(clock)
        self._counted, self._count, self._clock = iter(range(first, last)), last - first, clock
        stamps, self._taken = tee(iter(clock, None))
        self.record = (self._counted, stamps)
        self._ended: list[int] = []
        self._begun = clock()

    def end(self) -> None:
        """Take the time of the end of the last step."""
        self._ended = [self._clock()]

    def series(self, loop: LoopInstruction, first: int) -> StepSeries:
        """Return the times of the whole steps."""
        begun = self._count - length_hint(self._counted)
        times = np.fromiter(islice(self._taken, begun + len(self._ended)), np.int64)
        # a chunk ended by a stop condition has no stamp after its last step: the one read here is later
        if self._ended:
            times[-1] = min(int(times[-1]), self._ended[0])
        ended = self._ended[0] if self._ended else int(times[-1]) if len(times) else self._begun
        entry = int(times[0]) - self._begun if len(times) else 0
        return StepSeries(
            loop.key, first, times[1:] - times[:-1], span_ns=ended - self._begun, entry_ns=entry
        )


class OperationStamps:
    """One time per operation, appended by the generated code, and the time that the thread was off the CPU."""

    __slots__ = ("_begun", "_clock", "_cpu", "_off_cpu", "_times", "record")

    def __init__(self, clock: Clock = perf_counter_ns, own: ObserverOverhead | None = None) -> None:
        self._clock, self._off_cpu, self._cpu = clock, 0, thread_time_ns()
        self._begun = perf_counter_ns()
        self._times = array("q")  # read as an array without a copy
        self.record = self._times.append if own is None else own.without(self._times.append)
        self.record(clock())

    def end(self) -> None:
        """Take the time off the CPU; the end of the last step has a stamp already."""
        if self._clock is perf_counter_ns:
            elapsed = perf_counter_ns() - self._begun
            self._off_cpu = max(0, elapsed - (thread_time_ns() - self._cpu))

    def series(self, loop: LoopInstruction, first: int) -> StepSeries:
        """Return the times of the whole steps and of their operations."""
        times, a_step = np.frombuffer(self._times, np.int64), stamps_a_step(loop)
        steps = (len(times) - 1) // a_step
        table = times[1 : 1 + steps * a_step].reshape(steps, a_step)
        ends = np.concatenate([times[:1], table[:, -1]])
        between = table[:, 1:] - table[:, :-1]
        operations, copies = between[:, :-1].T.copy(), between[:, -1].copy()
        return StepSeries(loop.key, first, ends[1:] - ends[:-1], operations, copies, off_cpu_ns=self._off_cpu)


CLOCKS_NS = 5_000  # tolerated difference between wall clock and CPU clock

if sys.platform == "linux":
    import resource

    def _given_up() -> int | None:
        """Return the voluntary context switches of the calling thread so far."""
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

else:

    def _given_up() -> int | None:
        return None


class Preemption:
    """Time that the calling thread loses between readings, because the system descheduled it with work to do.

    The thread lost the wall time in which it was off the CPU, provided that it never yielded the CPU voluntarily, as it does to
    wait for another thread or for a file.  Only Linux counts voluntary context switches per thread; elsewhere none is known.

    Parameters
    ----------
    cpu : callable
        Returns the CPU time of the thread so far, in nanoseconds.
    given_up : callable
        Returns the voluntary context switches so far, or None if the system does not count them.

    Examples
    --------
    >>> used = iter([0, 40_000, 70_000])
    >>> lost = Preemption(lambda: next(used), lambda: 3)
    >>> lost.read()
    >>> lost.read()
    >>> lost.lost_ns([40_100, 8_030_000])
    [0, 8000000]
    """

    __slots__ = ("_before", "_cpu", "_given_up", "_used")

    def __init__(
        self, cpu: Callable[[], int] = thread_time_ns, given_up: Callable[[], int | None] = _given_up
    ) -> None:
        self._cpu, self._given_up, self._before = cpu, given_up, given_up()
        self._used = [cpu()]

    def read(self) -> None:
        """Take the CPU time of the thread so far."""
        self._used.append(self._cpu())

    def lost_ns(self, elapsed_ns: Sequence[int]) -> list[int]:
        """Return the nanoseconds lost in each of these wall times, which end at the readings."""
        lost = [
            elapsed - (after - before)
            for elapsed, (before, after) in zip(elapsed_ns, pairwise(self._used), strict=True)
        ]
        lost = [one if one >= CLOCKS_NS else 0 for one in lost]
        if any(lost) and (self._before is None or self._given_up() != self._before):
            return [0] * len(lost)
        return lost


class BlockStamps:
    """One time per block of steps, taken between two calls of the variant without stamps.

    Parameters
    ----------
    first : int
        The first step.
    clock : callable
        Returns nanoseconds.
    control : bool
        Whether the block serves as a control: its time belongs to no step.
    lost : Preemption, optional
        Measures the time that the thread was descheduled, which the times then exclude.
    """

    __slots__ = ("_began", "_begun", "_blocks", "_clock", "_control", "_ended", "_lost", "done")
    record = None

    def __init__(
        self,
        first: int,
        clock: Clock = perf_counter_ns,
        control: bool = False,
        lost: Preemption | None = None,
    ) -> None:
        self._clock, self._control, self._lost, self.done = clock, control, lost, first
        self._blocks: list[tuple[int, int]] = []  # nanoseconds and steps
        self._began = self._begun = self._ended = clock()

    def block(self, done: int) -> None:
        """Take the time at which ``done`` steps are done."""
        self._ended = now = self._clock()
        self._blocks.append((now - self._begun, done - self.done))
        self.done = done
        if self._lost is not None:
            self._lost.read()
            now = self._clock()
        self._begun = now

    def end(self) -> None:
        """Do nothing: the last block ended with the last step."""

    def series(self, loop: LoopInstruction, first: int) -> StepSeries:
        """Return the times of the whole blocks and the number of steps."""
        times = np.array([time for time, _ in self._blocks], np.int64)
        lost = np.zeros_like(times) if self._lost is None else np.array(self._lost.lost_ns(times.tolist()))
        return StepSeries(
            loop.key,
            first,
            times - lost,
            covers=np.array([steps for _, steps in self._blocks], np.int64),
            steps=self.done - first,
            span_ns=self._ended - self._began,
            entry_ns=0,
            control=self._control,
            off_cpu_ns=int(lost.sum()),
        )


def stamps_a_step(loop: LoopInstruction) -> int:
    """Return the number of stamps of a step with timed operations: before the first, after each, after storing rows."""
    return len(loop.body.instructions) + 2

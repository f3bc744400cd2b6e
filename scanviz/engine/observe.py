"""Notify observers of the engine's events.

A backend compiles a plain variant without hooks.  Only when an :class:`Observer` is attached does it run the instrumented variant
of the same code, which calls the methods below.  Observers never change results.  ``compiled`` reports static facts (the function,
its program, its loops) once; frequent events carry only integer keys and arrays.

A run of a loop emits ``loop_begin``, then ``loop_steps`` once per chunk of steps, then ``loop_end``.  A chunk is a
:class:`~scanviz.engine.observation.events.StepSeries`: times of single steps or of blocks of steps, sometimes of each operation.
Unobserved runs are counted, not timed: ``loop_counted`` reports many at once.

Events of one thread are strictly nested: between the begin and the end of a call or run, every event of the thread belongs to it.
Every begin event has a matching end event.  The end event carries the error, also if another observer raised it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.locks import lock

if TYPE_CHECKING:
    from scanviz.engine.observation.events import CompiledFunction, Run, StepSeries

Detail = Literal["steps", "ops", "values"]
WAITED = "waited for another thread's compilation"  # why a compilation event compiled nothing
Building = Literal["scan", "gradient", "function"]


class Observer:
    """Base class of observers: every method does nothing, so a subclass overrides only the events it needs.

    ``detail`` sets the probe level.  ``"steps"`` times each step, and each operation in a sample of the steps.  ``"ops"`` times
    each operation in every step.  ``"values"`` runs the reference tier and reports every value.  ``steps_a_stamp`` is the number
    of very short steps that may share one time.  ``samples`` allows sampling: after enough observed calls, the engine reports most
    short calls by ``calls_counted`` and most short runs by ``loop_counted``, and runs blocks of steps unobserved.  ``weighs`` asks
    for the memory that a sample of the calls holds.  ``lists_built`` asks for ``compiled`` when a function is built instead of
    before its first call.  ``checks_results`` asks for ``computed`` after each call.
    """

    detail: Detail = "steps"
    steps_a_stamp: int = 1
    samples: bool = False
    weighs: bool = False
    lists_built: bool = False
    checks_results: bool = False

    def compiled(self, event: CompiledFunction) -> None:
        """A function was built."""

    def function_begin(self, function: int, call: int) -> None:
        """A call of function number ``function`` begins; ``call`` numbers the begin events of the process."""

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """The call ended after ``elapsed_ns``, by ``error`` if it is not None."""

    def computed(self, function: int, results: Sequence[Any], again: Callable[[Observer], None]) -> None:
        """The call that has just run gave ``results``; ``again(observer)`` repeats it for an observer of values."""

    def operations(self, function: int, elapsed_ns: Sequence[int], around_ns: int) -> None:
        """The call that has just run took so long in each instruction of the function's program, in order.

        ``around_ns`` of the call lie before the first instruction and after the last.  Only a sample of short calls is timed like
        this (:mod:`scanviz.engine.observation.sampling`); detail ``"ops"`` times all.
        """

    def function_returned(self, function: int, checks_ns: int, copies_ns: int, observing_ns: int) -> None:
        """The call that ended last in this thread returned to its caller.

        In addition to the time in ``function_end``, the engine checked arguments and read shared variables for ``checks_ns``, and
        copied results and updated shared variables for ``copies_ns``.  ``observing_ns`` is observer overhead: notifying the begin
        and end of this call and the return of the previous one.  A call that failed emits no return event.
        """

    def calls_counted(
        self,
        function: int,
        thread: int,
        elapsed_ns: Sequence[int],
        checks_ns: int,
        copies_ns: int,
        observing_ns: int,
        runs: Sequence[Run],
    ) -> None:
        """Unobserved calls of one thread returned, each after its ``elapsed_ns`` and without an error (only with ``samples``).

        The other times are those of ``function_returned``, summed over the calls.  ``runs`` holds the runs of loops in them,
        including those so far of a call still running.  The engine reports calls by the hundred, before an event of the same
        thread that begins or ends a call or a build, and on request from any thread: :func:`notify_counted`.
        """

    def build_begin(self, kind: Building, where: SourceLine | None) -> None:
        """Building a loop (``"scan"``), a gradient or a function begins, at the user's line ``where``.

        Nested builds, such as the loops of a gradient, emit no events of their own.
        """

    def build_end(self, kind: Building, where: SourceLine | None, elapsed_ns: int) -> None:
        """The build ended after ``elapsed_ns``, with or without an error."""

    def build_observed(self, own_ns: int) -> None:
        """Observer overhead of the build that ended last in this thread, excluded from all times of the program.

        It includes the cost of reporting the overhead of the previous build.
        """

    def step_begins(
        self, function: int, loop: int, step: int, held: Callable[[int], tuple[Any, ...]]
    ) -> None:
        """A step of a loop is about to begin (detail ``"values"``).

        ``held(step)`` copies the rows of each state that later steps may read, then the carries.  Together with the loop's inputs
        they are enough to resume at that step.
        """

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """A step of a loop begins, or the function's program if ``loop`` is None (detail ``"values"``).

        The values are the program's inputs, in order.  They belong to the engine: a later step may overwrite rows of a state.
        Other details emit no such event.
        """

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Instruction ``index`` of the program (of the loop's body if ``loop``) gave ``values`` (detail ``"values"``).

        The values belong to the engine: copy those you keep.  Other details emit no such event.
        """

    def specialised(self, function: int, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """A loop was compiled for new shapes, in ``elapsed_ns``; ``why`` gives the reason for this tier."""

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """A loop starts a run of at most ``n_steps`` steps, with ``buffer_bytes`` for states, results and temporaries."""

    def loop_steps(self, series: StepSeries) -> None:
        """A chunk of steps ended; chunks of an inner loop arrive before the chunk of the outer loop."""

    def loop_rows(self, function: int, loop: int, row_bytes: tuple[int, ...]) -> None:
        """A run of a loop ended; ``row_bytes`` has the bytes of each state, then of each step output, in order."""

    def side_taken(self, function: int, taken: Any) -> None:
        """A call took one side of a branch: how often and how long (:class:`~scanviz.engine.observation.events.SideTaken`)."""

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        """A measure of a run of a loop, or of instruction ``index`` of its step (of the function if ``loop`` is None).

        ``name`` is a measure declared in ``scanviz/record/measures.py``.
        """

    def loop_end(
        self,
        function: int,
        loop: int,
        steps: int,
        elapsed_ns: int,
        setup_ns: int,
        error: BaseException | None,
    ) -> None:
        """The run ended after ``steps`` steps, by ``error`` if it is not None.

        ``setup_ns`` of ``elapsed_ns`` lie before the first step and after the last.  Neither contains observer overhead.
        """

    def loop_observed(self, function: int, loop: int, own_ns: int) -> None:
        """Observer overhead of the run that ended last, excluded from all times of the program."""

    def loop_counted(self, function: int, runs: Sequence[Run], control: bool) -> None:
        """Unobserved runs: counted, not timed step by step.

        ``control`` is True if they ran inside steps of a control block.
        """


_lock = lock()
_attached: tuple[Observer, ...] = ()
# Changes whenever an observer is attached or detached.  A list, so that a call reads it without calling a function.
GENERATION = [0]


# Hooks called with a detached observer; each drops the observer's per-thread state.
ON_DETACH: list[Callable[[Observer], None]] = []

# Hooks that report the counted calls of all threads.
REPORT_COUNTED: list[Callable[[], None]] = []

# Factory of the observer of function(profile=True), filled by the profiler's layer; empty without a profiler.
PROFILER: list[Callable[[], Observer]] = []


def observers() -> tuple[Observer, ...]:
    """Return the attached observers, in the order of attaching."""
    return _attached


def attach(observer: Observer) -> None:
    """Notify ``observer`` of events in every thread from now on.

    A function that was compiled earlier emits ``compiled`` to the new observer just before its next call.
    """
    global _attached
    with _lock:
        if observer not in _attached:
            _attached = (*_attached, observer)
            GENERATION[0] += 1


def detach(observer: Observer) -> None:
    """Stop notifying ``observer``; ignore an observer that is not attached."""
    global _attached
    with _lock:
        _attached = tuple([one for one in _attached if one is not observer])
        GENERATION[0] += 1
    for forget in ON_DETACH:
        forget(observer)


def notify_counted() -> None:
    """Report all calls counted so far to their observers.  The caller must hold no lock that an observer takes."""
    for report in REPORT_COUNTED:
        report()


@contextmanager
def observed_by(observer: Observer) -> Iterator[Observer]:
    """Attach ``observer`` while the block runs."""
    attach(observer)
    try:
        yield observer
    finally:
        detach(observer)

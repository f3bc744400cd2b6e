"""What the engine tells whoever is watching.

A backend compiles a plain variant with no hook in it; only when an :class:`Observer` is attached does it run the
instrumented variant of the same code, which calls the methods below.  Observers never change results.  Static
facts (the function, its program, its loops) are told once by ``compiled``; what happens often carries only integer
keys and arrays.

Loops are told in chunks of steps: ``loop_begin``, then ``loop_steps`` once a chunk, then ``loop_end``.  A chunk is a
:class:`~scanviz.engine.observation.events.StepSeries`: its times are of single steps or of blocks of steps, and some
also of each operation.  Runs that are not looked at are told some at once by ``loop_counted``.

What one thread is told is strictly nested: between the begin and the end of a call or of a run of a loop, all that is told
in that thread belongs to it or to something inside it.  Whoever was told of a begin is told of its end, with the error that
ended it as an argument, also where the error is another observer's.
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
Building = Literal["scan", "gradient", "function"]


class Observer:
    """Base of observers: every method does nothing, so that a watcher overrides what it needs.

    ``detail`` says how closely to look: ``"steps"`` times each step, and each operation in a sample of the steps;
    ``"ops"`` times each operation in every step; ``"values"`` runs the reference tier and tells every value.
    ``steps_a_stamp`` allows a tier to time so many steps at once where steps are very short.  ``samples`` allows the engine, once
    enough was looked at closely, to tell most of many short calls by ``calls_counted`` alone, some hundreds at once, most of many
    short runs of a loop by ``loop_counted``, and to run blocks of steps as if nobody observed.  With ``weighs`` the memory that
    some of the calls hold is counted and notified.  With ``lists_built`` functions are notified when they are built; else before
    their first call.
    """

    detail: Detail = "steps"
    steps_a_stamp: int = 1
    samples: bool = False
    weighs: bool = False
    lists_built: bool = False

    def compiled(self, event: CompiledFunction) -> None:
        """A function was built."""

    def function_begin(self, function: int, call: int) -> None:
        """A call of function number ``function`` begins; ``call`` numbers the calls of the process whose begin is told."""

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """The call ended after ``elapsed_ns``, by ``error`` if it is not None."""

    def operations(self, function: int, elapsed_ns: Sequence[int], around_ns: int) -> None:
        """Each instruction of the function's program took so long in the call that has just run, in order.

        ``around_ns`` of the call lie before the first of them and after the last.  Short calls are timed so now and then alone
        (:mod:`scanviz.engine.observation.call_sampler`), and with detail ``"ops"`` all.
        """

    def function_returned(self, function: int, checks_ns: int, copies_ns: int, watching_ns: int) -> None:
        """The call whose end was told last in this thread returned to its caller.

        Beside the time that ``function_end`` told, its arguments were checked and shared variables read for ``checks_ns``, results
        were copied and shared variables updated for ``copies_ns``, and watchers were told of its begin and end for ``watching_ns``,
        with what telling them the return before it took.
        A call that an error ended does not return.
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
        """Calls of one thread began, each ended after its ``elapsed_ns`` without an error, and returned (only with ``samples``).

        The other times are those of ``function_returned``, of all together; ``runs`` has the runs of loops in them, and of a call
        that goes on those so far.  They are told when there are some hundreds, before calls and building begin or end in their
        thread, and, in any thread, when somebody asks for them: :func:`notify_counted`.
        """

    def build_begin(self, kind: Building, where: SourceLine | None) -> None:
        """A loop (``"scan"``), a gradient or a function is built from here on, by the user's line ``where``.

        What is built for it, such as the loops of a gradient, is part of it and not told on its own.
        """

    def build_end(self, kind: Building, where: SourceLine | None, elapsed_ns: int) -> None:
        """It was built in ``elapsed_ns``, or an error ended the building."""

    def build_observed(self, own_ns: int) -> None:
        """What watching the building took that ended last in this thread; it is in no time of the program.

        With it comes what notifying that of the building before it took.
        """

    def step_begins(
        self, function: int, loop: int, step: int, held: Callable[[int], tuple[Any, ...]]
    ) -> None:
        """A step of a loop is about to begin (detail ``"values"``).

        ``held(step)`` copies what the loop holds then: of each state the rows that earlier steps may have written and later ones
        may read, then its carries.  With the loop's inputs that is enough to go on from there.
        """

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """A step of a loop begins, or the function's program if ``loop`` is None (detail ``"values"``).

        The values are those of the program's inputs, in order; they belong to the engine, and rows of a state may be written
        over in a later step.  With other details nothing is told.
        """

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Instruction ``index`` of the program (of the loop's body if ``loop``) gave ``values`` (detail ``"values"``).

        The values belong to the engine: copy what is kept.  With other details nothing is told.
        """

    def specialised(self, function: int, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Code for a loop was made for newly met shapes, in ``elapsed_ns``; ``why`` says why this tier was taken."""

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """A loop starts a run of at most ``n_steps`` steps, with ``buffer_bytes`` for states, results and temporaries."""

    def loop_steps(self, series: StepSeries) -> None:
        """A chunk of steps was run; nested loops' chunks arrive before the chunk of the loop around them."""

    def loop_rows(self, function: int, loop: int, row_bytes: tuple[int, ...]) -> None:
        """A run of a loop holds so many bytes of rows at its end: of each state, then of each step output, in order."""

    def side_taken(self, function: int, taken: Any) -> None:
        """A call took a side of a branch so often: a :class:`scanviz.engine.observation.sides.SideTaken`."""

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        """A number of a run of a loop, or of instruction ``index`` of its step (of the function where ``loop`` is None).

        ``name`` says which; whoever records it knows the names (``scanviz/record/measures.py``).
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

        ``setup_ns`` of ``elapsed_ns`` lie before the first step and after the last.  What watching took is in neither.
        """

    def loop_observed(self, function: int, loop: int, own_ns: int) -> None:
        """What watching the run of a loop that ended last took; it is in no time of the program."""

    def loop_counted(self, function: int, runs: Sequence[Run], control: bool) -> None:
        """Whole runs of loops were noted, of which nothing else is told: of calls or steps that were not looked at.

        ``control`` says whether these are steps of a control block.
        """


_lock = lock()
_attached: tuple[Observer, ...] = ()
# a number that is another one as soon as others are attached: a call reads it, and calls nothing for it
GENERATION = [0]


# Called with an observer that has been detached: by whoever keeps something of one, thread by thread.
LEFT: list[Callable[[Observer], None]] = []

# Called to tell observers of calls that were counted: by whoever keeps them, of all threads.
COUNTED: list[Callable[[], None]] = []

# Filled from above: makes the observer behind function(profile=True); empty while there is no profiler.
PROFILER: list[Callable[[], Observer]] = []


def observers() -> tuple[Observer, ...]:
    """Return the observers attached now, in the order of attaching."""
    return _attached


def attach(observer: Observer) -> None:
    """Start telling ``observer`` what happens, in every thread.

    An observer that joins late still hears ``compiled`` for a function, just before the function's next call.
    """
    global _attached
    with _lock:
        if observer not in _attached:
            _attached = (*_attached, observer)
            GENERATION[0] += 1


def detach(observer: Observer) -> None:
    """Stop telling ``observer``; unknown observers are ignored."""
    global _attached
    with _lock:
        _attached = tuple([one for one in _attached if one is not observer])
        GENERATION[0] += 1
    for forget in LEFT:
        forget(observer)


def notify_counted() -> None:
    """Have observers told of all calls that were counted so far; whoever asks holds no lock that an observer takes."""
    for tell in COUNTED:
        tell()


@contextmanager
def observed_by(observer: Observer) -> Iterator[Observer]:
    """Attach ``observer`` while the block runs."""
    attach(observer)
    try:
        yield observer
    finally:
        detach(observer)

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

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, NoReturn, TypeVar

if TYPE_CHECKING:
    from scanviz.engine.observation.observer_overhead import ObserverOverhead
    from scanviz.engine.observation.sampling import Variant
    from scanviz.engine.observation.stamps import Clock, Stamps
    from scanviz.engine.program.plan import Plan, RunMemory
    from scanviz.engine.runtime.arena import LoopArena


T = TypeVar("T")


class Pool(Generic[T]):
    """Things of one kind, each in the hands of one user at a time, whatever thread they are in.

    Parameters
    ----------
    make : callable
        Makes one where none is left.
    most : int
        How many are kept; those given back beyond them are let go.

    Attributes
    ----------
    give_back : callable
        Keeps what a run is done with for a later one.

    Examples
    --------
    >>> pool = Pool(list, 1)
    >>> first, second = pool.take(), pool.take()
    >>> pool.give_back(first)
    >>> pool.take() is first, pool.take() is first
    (True, False)
    """

    __slots__ = ("_kept", "_make", "give_back")

    def __init__(self, make: Callable[[], T], most: int) -> None:
        self._make = make
        self._kept: deque[T] = deque(maxlen=most)  # its methods are atomic: no lock is needed
        self.give_back: Callable[[T], None] = self._kept.append

    def take(self) -> T:
        """Return what was given back last, or a new one."""
        try:
            return self._kept.pop()
        except IndexError:
            return self._make()

    def __len__(self) -> int:
        """Return how many are left by users and in nobody's hands."""
        return len(self._kept)


DONE: Final = 0
STOPPED: Final = 1
FAILED: Final = 2
Outcome = tuple[int, int, int]
# ``run(arena, first, last)``, the code of a loop in one variant
RunSteps = Callable[["LoopArena", int, int], Outcome]
# ``entry(values, buffers)`` runs a loop for the values of its instruction's inputs, and returns its results; None where their
# shapes are not those of the plan, where there is no step, or something about them is wrong
Entry = Callable[[Sequence[Any], list[Any]], "list[Any] | FailedRun | None"]
WriteEntry = Callable[["Plan"], "Entry | None"]


class FailedRun(NamedTuple):
    """How a run ended that an error ended.

    Attributes
    ----------
    step : int
        The step that failed.
    error : BaseException
        What to raise, in the user's words.
    cause : BaseException or None
        What that came of.
    """

    step: int
    error: BaseException
    cause: BaseException | None

    def reraise(self) -> NoReturn:
        """Raise what ended the run."""
        raise self.error from self.cause


class LoopCode:
    """What a tier made of a loop for the shapes that it met.

    Attributes
    ----------
    plan : Plan or None
        Where registers live; None for a tier that gives every register a new array.
    memory : RunMemory or None
        What a run needs of the plan.
    tier_name : str
        The tier whose code it is.
    buffers : Pool
        Sets of the plan's buffers, left by earlier runs.
    keeps_buffers : bool
        Whether they are so small that they are kept whatever the loop's ``allow_gc`` is.
    clock : callable
        Gives nanoseconds, when all is done that was asked before.
    samples : bool
        Whether there is a variant with one stamp a step, so that operations are timed in a sample of the steps.
    steps_at_once : int or None
        How many steps one call may take at most: code that hears no ctrl+c is called for few.
    """

    __slots__ = ()
    plan: Plan | None
    memory: RunMemory | None
    tier_name: str
    buffers: Pool[list[Any]]
    keeps_buffers: bool
    clock: Clock
    samples = True
    steps_at_once: int | None = None

    @property
    def plain_times(self) -> bool:
        """Whether steps that have times run the very code that runs while nobody watches: there is nothing to compare them with."""
        return False

    def variant(self, name: Variant) -> RunSteps:
        """Return the code of a variant, made when it is first needed."""
        raise NotImplementedError

    def stamps(self, name: Variant, first: int, last: int, own: ObserverOverhead | None) -> Stamps:
        """Return what takes the times of a chunk that a variant runs, less what watching takes in its steps where that is given."""
        raise NotImplementedError


def run_plain(arena: LoopArena, code: LoopCode) -> int:
    """Run all steps by the variant without stamps; return the steps done."""
    arena.check_rows()
    done, plain = 0, code.variant("plain")
    while done < arena.steps:
        last = arena.chunk_end(done, arena.steps)
        if arena.code is not code:  # the loop was handed over
            code = arena.code
            plain = code.variant("plain")
        done = take_steps(arena, plain, done, last)
    return done


def take_steps(arena: LoopArena, code: RunSteps, first: int, last: int) -> int:
    """Run steps ``first`` to ``last`` and return where it stopped; a stop condition that held ends the loop.

    Raises
    ------
    ScanvizError
        If an instruction failed: in the user's words.
    """
    done, outcome, instruction = code(arena, first, last)
    if outcome:
        if outcome == FAILED:
            arena.failed_step = done
            error = arena.in_words(done, instruction)
            raise error from (None if arena.error is None else arena.error.__cause__)
        arena.steps = done
    return done

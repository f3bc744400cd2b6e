"""The calling convention of a loop's code: (arena, first step, last step) → (steps done, outcome, instruction).

:mod:`scanviz.engine.runtime.driver` calls generated Python, an interpreter, machine code and kernels in the same way.  The code
takes the steps ``first`` to ``last - 1``, reads and writes only the arena, and returns

- ``(last, DONE, -1)`` if it took all steps,
- ``(n, STOPPED, -1)`` if the stop condition held in step ``n - 1``,
- ``(n, FAILED, instruction)`` if this instruction of the body failed in step ``n``; -1 if none of them did.  The arena holds the
  error and the values that the instruction read.

The arena also holds the state between two calls.  So a loop runs in chunks of steps: when its rows must grow, to notify observers,
and to handle ctrl+c.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, NoReturn, TypeVar

if TYPE_CHECKING:
    from scanviz.engine.observation.observer_overhead import ObserverOverhead
    from scanviz.engine.observation.sampling import Variant
    from scanviz.engine.observation.stamps import Clock, Stamps
    from scanviz.engine.program.plan import BufferLayout, Plan
    from scanviz.engine.runtime.arena import LoopArena


T = TypeVar("T")


class Pool(Generic[T]):
    """Reusable objects, each used by one run at a time, in any thread.

    Parameters
    ----------
    make : callable
        Makes an object if none is unused.
    most : int
        Number of unused objects that are kept.

    Attributes
    ----------
    give_back : callable
        Keeps an object for a later run.

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
        """Return the object that was given back last, or a new one."""
        try:
            return self._kept.pop()
        except IndexError:
            return self._make()

    def __len__(self) -> int:
        """Return the number of unused objects."""
        return len(self._kept)


DONE: Final = 0
STOPPED: Final = 1
FAILED: Final = 2
Outcome = tuple[int, int, int]
# ``run(arena, first, last)``, the code of a loop in one variant
RunSteps = Callable[["LoopArena", int, int], Outcome]
# ``entry(values, buffers)`` runs a loop for the values of its instruction's inputs and returns its results; None if the shapes are
# not those of the plan, if there is no step, or if the values are wrong
Entry = Callable[[Sequence[Any], list[Any]], "list[Any] | FailedRun | None"]
WriteEntry = Callable[["Plan"], "Entry | None"]


class FailedRun(NamedTuple):
    """A run that an error ended.

    Attributes
    ----------
    step : int
        The step that failed.
    error : BaseException
        The error to raise, in the user's words.
    cause : BaseException or None
        Its cause.
    """

    step: int
    error: BaseException
    cause: BaseException | None

    def reraise(self) -> NoReturn:
        """Raise the error."""
        raise self.error from self.cause


class LoopCode:
    """A loop as compiled by a tier for one set of shapes.

    Attributes
    ----------
    plan : Plan or None
        The locations of registers; None for a tier that gives every register a new array.
    memory : BufferLayout or None
        The part of the plan that a run needs.
    tier_name : str
        The tier.
    buffers : Pool
        Sets of the plan's buffers, left by earlier runs.
    keeps_buffers : bool
        Whether the buffers are small enough to keep, whatever the loop's ``allow_gc`` is.
    clock : callable
        Returns nanoseconds once all earlier work is done.
    samples : bool
        Whether there is a variant with one stamp per step, so that operations are timed in a sample of the steps.
    steps_at_once : int or None
        Largest number of steps per call, for code that ctrl+c does not interrupt.
    takes_whole_runs : bool
        Whether an observed run is not cut into parts: the code takes all its steps at once.
    """

    __slots__ = ()
    plan: Plan | None
    memory: BufferLayout | None
    tier_name: str
    buffers: Pool[list[Any]]
    keeps_buffers: bool
    clock: Clock
    samples = True
    takes_whole_runs = False
    steps_at_once: int | None = None

    @property
    def plain_times(self) -> bool:
        """True if timed steps run the unobserved code."""
        return False

    def variant(self, name: Variant) -> RunSteps:
        """Return the code of a variant, made at first use."""
        raise NotImplementedError

    def stamps(self, name: Variant, first: int, last: int, own: ObserverOverhead | None) -> Stamps:
        """Return the stamps for a chunk of steps of a variant; its times exclude the observer overhead of ``own`` if given."""
        raise NotImplementedError


def run_plain(arena: LoopArena, code: LoopCode) -> int:
    """Run all steps by the variant without stamps; return the steps done."""
    arena.check_rows()
    done, plain = 0, code.variant("plain")
    while done < arena.steps:
        last = arena.chunk_end(done, arena.steps)
        if arena.code is not code:  # rows have grown
            code = arena.code
            plain = code.variant("plain")
        done = take_steps(arena, plain, done, last)
    return done


def take_steps(arena: LoopArena, code: RunSteps, first: int, last: int) -> int:
    """Run steps ``first`` to ``last`` and return the number of steps done; a true stop condition ends the loop.

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

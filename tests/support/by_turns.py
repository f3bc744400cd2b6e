"""Run works by turns: each in a thread of its own, one at a time, up to places given by a schedule.

Where threads change places whenever the system likes (:mod:`tests.support.at_once`), a race of two lines may need minutes to
show itself, and shows itself once.  Here :func:`sys.settrace` stops each thread before each line (or each bytecode) of this
package and of the code that it generates, and a :class:`Turns` says where the baton goes on to the next thread: after so many
events, at some of the places of the code, or both.  The same schedule gives the same order of events, so that what it breaks
can be seen again and made smaller (systematic concurrency testing: Burckhardt et al., "A randomized scheduler with
probabilistic guarantees of finding bugs", 2010).

A thread that waits for a lock of another one makes no event: after :data:`STALLED` seconds without one the baton goes on to the
next thread, and the one that waited joins in again at its next event.  So nothing hangs; but a thread that computes for as long
outside of Python's code is taken to wait as well, and the order of events is the same but for those.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

from tests.support.at_once import at_once
from tests.support.own_locks import HERE
from tests.support.touched import Place, Touched, is_ours, place_of

STALLED = 0.05  # seconds without an event after which a thread is taken to wait for another one
MOST = 3_000  # changes of the thread that runs; then each runs to its end


@dataclass(frozen=True, slots=True)
class Turns:
    """Where threads change places.

    Attributes
    ----------
    lengths : tuple of int
        How many events of a thread its turn has: the first turn, the second, …, again from the first.
    finely : bool
        Whether an event is a bytecode; else it is a line.
    places : frozenset of Place, optional
        Lines whose events count, the others do not; by default all of the package and of the code that it generates.
    """

    lengths: tuple[int, ...]
    finely: bool = False
    places: frozenset[Place] | None = None


class _Baton:
    """The baton: the thread that holds it runs, the others wait for it at an event or for a lock."""

    def __init__(self, count: int, turns: Turns, touched: Touched | None) -> None:
        self.turns, self.touched, self.changed = turns, touched, threading.Condition()
        self.count, self.holder = count, 0  # -1: free, as all unfinished threads wait for locks
        self.waiting: set[int] = set()
        self.all_there = False
        self.events, self.turn, self.left = 0, 0, turns.lengths[0]

    def event(self, mine: int, frame: FrameType) -> None:
        """Go on in this thread, or in another one first."""
        self.events += 1
        if self.touched is not None:
            self.touched.note(mine, frame)
        if self.holder == mine:
            if self.turns.places is not None and place_of(frame) not in self.turns.places:
                return
            if self.left > 0 or self.turn >= MOST:
                self.left -= 1
                return
        self.stand_aside(mine)
        self.left -= 1

    def stand_aside(self, mine: int) -> bool:
        """Let others run before this thread goes on; return whether one of them did anything."""
        with self.changed:
            before = self.events
            self.waiting.add(mine)
            if self.holder == mine:
                self._pass_on()
            self._wait(mine)
            return self.events > before

    def _pass_on(self) -> None:
        """Give the baton to the next thread that waits for it.  ``changed`` is held."""
        self.turn += 1
        self.left = self.turns.lengths[self.turn % len(self.turns.lengths)]
        others = ((self.holder + k) % self.count for k in range(1, self.count + 1))
        self.holder = next((other for other in others if other in self.waiting), -1)
        self.changed.notify_all()

    def _wait(self, mine: int) -> None:
        """Wait for the baton; take it from a thread that makes no events.  ``changed`` is held."""
        while self.holder not in (mine, -1):
            before = self.events, self.turn
            if not self.changed.wait(STALLED) and before == (self.events, self.turn):
                self._pass_on()
        self.holder = mine
        self.waiting.discard(mine)

    def begin(self, mine: int) -> None:
        """Wait for the first turn, which the first thread has when all are there."""
        with self.changed:
            self.waiting.add(mine)
            self.all_there = self.all_there or len(self.waiting) == self.count
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.all_there)
            self._wait(mine)

    def end(self, mine: int) -> None:
        """Leave the baton to the others."""
        with self.changed:
            if self.holder == mine:
                self._pass_on()


def _traced(baton: _Baton, mine: int) -> Callable[[FrameType, str, Any], Any]:
    """Return what Python calls in a thread: for new frames, and for events of those that are ours."""
    finely = baton.turns.finely
    wanted = "opcode" if finely else "line"

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == wanted:
            baton.event(mine, frame)
        return local

    def called(frame: FrameType, event: str, _: Any) -> Any:
        if not is_ours(frame.f_code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = finely, not finely
        return local

    return called


def by_turns(
    works: Sequence[Callable[[], Any]], turns: Turns, touched: Touched | None = None, patience: float = 120.0
) -> list[Any]:
    """Do all works, each in a thread of its own, by turns, and return what they gave, in order.

    Parameters
    ----------
    works : sequence of callable
        Called without arguments.
    turns : Turns
        Where the thread that runs changes.
    touched : Touched, optional
        Records the attributes that the threads touch.
    patience : float
        Seconds after which they are taken to wait for one another.

    Raises
    ------
    BaseException
        The first exception of the works, in their order.
    TimeoutError
        If some have not ended.

    Examples
    --------
    >>> by_turns([lambda: 1, lambda: 2], Turns((3, 1)))
    [1, 2]
    """
    baton = _Baton(len(works), turns, touched)

    def taking_turns(k: int) -> Any:
        baton.begin(k)
        HERE.stand_aside = partial(baton.stand_aside, k)
        sys.settrace(_traced(baton, k))
        try:
            return works[k]()
        finally:
            sys.settrace(None)
            HERE.stand_aside = None
            baton.end(k)

    return at_once([partial(taking_turns, k) for k in range(len(works))], patience)

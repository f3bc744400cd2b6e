"""Probe levels: how much of a call is observed.  Unobserved loops import this module too, so it imports little."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scanviz.engine.observe import Observer


class ProbeLevel(IntEnum):
    """Level of observation of a call; an unobserved call has no probe and no level."""

    RUNS = 1  # steps and time of each run of a loop
    STEPS = 2  # and times of steps, of operations in a sample of them
    OPERATIONS = 3  # and times of operations in every step
    VALUES = 4  # every value, on the reference tier


RUNS, VALUES = ProbeLevel.RUNS, ProbeLevel.VALUES
_LEVELS = {"steps": ProbeLevel.STEPS, "ops": ProbeLevel.OPERATIONS, "values": ProbeLevel.VALUES}


class ObserverNeeds(NamedTuple):
    """The combined request of several observers: the highest level of any, and the freedoms that all of them allow.

    Attributes
    ----------
    level : ProbeLevel
        The highest level requested.
    steps_a_stamp : int
        Number of very short steps that may share one time.
    samples : bool
        Whether most of many short calls and runs may stay at :attr:`ProbeLevel.RUNS`.
    control : bool
        Whether blocks of steps may stay at that level.
    weighs : bool
        Whether to measure memory.
    """

    level: ProbeLevel
    steps_a_stamp: int
    samples: bool
    control: bool
    weighs: bool


def needs_of(observers: tuple[Observer, ...]) -> ObserverNeeds:
    """Return the combined request of observers."""
    level = max((_LEVELS[observer.detail] for observer in observers), default=ProbeLevel.STEPS)
    samples = all(observer.samples for observer in observers)
    return ObserverNeeds(
        level,
        min((observer.steps_a_stamp for observer in observers), default=1),
        samples and level is ProbeLevel.STEPS,
        samples and level is not ProbeLevel.VALUES,
        any(observer.weighs for observer in observers),
    )


__all__ = ["RUNS", "VALUES", "ObserverNeeds", "ProbeLevel", "needs_of"]

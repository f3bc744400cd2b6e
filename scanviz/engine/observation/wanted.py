"""What the observers of a call want together."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.engine.observation.levels import ProbeLevel
from scanviz.engine.observe import Observer

_LEVELS = {"steps": ProbeLevel.STEPS, "ops": ProbeLevel.OPERATIONS, "values": ProbeLevel.VALUES}


class Wanted(NamedTuple):
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


def wanted_by(observers: tuple[Observer, ...]) -> Wanted:
    """Return the combined request of observers."""
    level = max((_LEVELS[observer.detail] for observer in observers), default=ProbeLevel.STEPS)
    samples = all(observer.samples for observer in observers)
    return Wanted(
        level,
        min((observer.steps_a_stamp for observer in observers), default=1),
        samples and level is ProbeLevel.STEPS,
        samples and level is not ProbeLevel.VALUES,
        any(observer.weighs for observer in observers),
    )

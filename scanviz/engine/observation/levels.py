"""How closely a call is looked at; it stands alone since whatever runs a loop asks for it, also where nobody observes."""

from __future__ import annotations

from enum import IntEnum


class ProbeLevel(IntEnum):
    """How closely what runs now is looked at; a call that nobody observes has no probe, and so no level."""

    RUNS = 1  # steps and time of each run of a loop
    STEPS = 2  # and times of steps, of operations in a sample of them
    OPERATIONS = 3  # and times of operations in every step
    VALUES = 4  # every value, on the reference tier


RUNS, VALUES = ProbeLevel.RUNS, ProbeLevel.VALUES

__all__ = ["RUNS", "VALUES", "ProbeLevel"]

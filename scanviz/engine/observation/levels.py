"""Probe levels: how much of a call is observed.  The module has no imports of its own since unobserved loops read it too."""

from __future__ import annotations

from enum import IntEnum


class ProbeLevel(IntEnum):
    """How much of a call is observed; an unobserved call has no probe, and no level."""

    RUNS = 1  # steps and time of each run of a loop
    STEPS = 2  # and times of steps, of operations in a sample of them
    OPERATIONS = 3  # and times of operations in every step
    VALUES = 4  # every value, on the reference tier


RUNS, VALUES = ProbeLevel.RUNS, ProbeLevel.VALUES

__all__ = ["RUNS", "VALUES", "ProbeLevel"]

"""Declared numbers of loops that are not the same in two runs: sizes and counts, which have no noise to allow for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from scanviz.profiler.compare.figures import Key, keys_of
from scanviz.record.measures import Measure, measures
from scanviz.record.model import LoopRecord, ProfileRecord


class ChangedNumber(NamedTuple):
    """A number of a loop that is in both runs; None where a run has not measured it."""

    loop: LoopRecord
    measure: Measure
    a: float | None
    b: float | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        return {
            "loop": self.loop.name,
            "name": self.measure.name,
            "unit": self.measure.unit,
            "a": self.a,
            "b": self.b,
        }


def changed_numbers(a: ProfileRecord, b: ProfileRecord, same: Mapping[Key, Key]) -> list[ChangedNumber]:
    """Return the numbers that are not the same in two runs, in the order of loops and declarations.

    Parameters
    ----------
    a, b : ProfileRecord
        The runs.
    same : mapping
        For each figure of B its key in A.

    Examples
    --------
    >>> changed_numbers(ProfileRecord(), ProfileRecord(), {})
    []
    """
    old, new = ({keys_of(run)[1][loop.key]: loop for loop in run.loops} for run in (a, b))
    pairs = [(old[same[key]], loop) for key, loop in new.items() if same.get(key) in old]
    found = [
        ChangedNumber(after, measure, measure.value(before), measure.value(after))
        for before, after in pairs
        for measure in measures("loop", "compare")
    ]
    return [changed_number for changed_number in found if changed_number.a != changed_number.b]


__all__ = ["ChangedNumber", "changed_numbers"]

"""What recording loops inside others cost: it is part of the cost of those around, which take longer for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from scanviz.profiler.recording.loop_aggregate import LoopAggregate

if TYPE_CHECKING:
    from scanviz.record.model import LoopRecord


def with_nested_costs(
    records: Mapping[int, LoopRecord], loops: Mapping[int, LoopAggregate]
) -> list[LoopRecord]:
    """Return loops with what recording the loops inside them cost.

    Parameters
    ----------
    records, loops : mapping
        By key, what is told of each loop, and what is known of it.
    """
    inner_cost, inner_watching = dict.fromkeys(records, 0.0), dict.fromkeys(records, 0)
    for key, record in records.items():
        around = record.parent
        while around is not None:  # a loop is known only where those around it are
            inner_cost[around] += record.cost_ns
            inner_watching[around] += loops[key].recorder_ns
            around = records[around].parent
    return [
        replace(
            record,
            inner_cost_ns=inner_cost[key],
            inner_watching_ns=inner_watching[key],
        )
        if loops[key].has_loops
        else record
        for key, record in records.items()
    ]


__all__ = ["with_nested_costs"]

"""Merge several profiles: of a program's processes, or of programs that belong together.

Functions and loops stand beside one another, each function with its origin, the profile that it comes from.  Times, counts and
costs of the runs add up, their wall times too, as if they had run one after the other: so every part of the whole stays a part.
Nothing is averaged over profiles: ``scanviz compare`` compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

from msgspec.structs import astuple, replace

from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.measures import aggregated, declared
from scanviz.record.model import (
    CostRecord,
    FunctionRecord,
    LoopRecord,
    MergedRecord,
    OperationRecord,
    OutcomeRecord,
    ProfileRecord,
    ThreadTimesRecord,
)
from scanviz.record.names import TakenNames, given_name, numbered
from scanviz.record.traces.held_calls import HeldCallRecord

T = TypeVar("T")


def merged(profiles: Sequence[tuple[str, ProfileRecord]]) -> ProfileRecord:
    """Return profiles as one, with the origin of each function.

    Of profiles with repeats the k-th repeats are merged, as many as all have.

    Parameters
    ----------
    profiles : sequence of (str, ProfileRecord)
        Each with the name of its origin; one that is merged already keeps the origins that it has.

    Examples
    --------
    >>> profiles = [(name, ProfileRecord(wall_ns=10, functions=(FunctionRecord(1, "f", None, "numpy"),))) for name in ("a", "b")]
    >>> both = merged(profiles)
    >>> both.wall_ns, [(function.key, function.name, function.origin) for function in both.functions]
    (20, [(1, 'f#1', 'a'), (2, 'f#2', 'b')])
    """
    keys, taken = count(1), TakenNames()
    renamed = [_origins(name, record, taken) for name, record in profiles]
    records = [
        _Renumbered(record, keys).record(names)
        for (_, record), (names, _) in zip(profiles, renamed, strict=True)
    ]
    together: dict[str, Any] = {
        name: tuple(item for record in records for item in getattr(record, name))
        for name in ("functions", "loops", "traces", "calls", "building")
    }
    joined: dict[str, Any] = {
        name: _joined(getattr(record, name) for record in records)
        for name in ("scanviz", "python", "numpy", "machine", "script")
    }
    titles = numbered([given_name(function.name) for function in together["functions"]])
    functions = zip(together["functions"], titles, strict=True)
    together["functions"] = tuple(replace(function, name=title) for function, title in functions)
    ended = (record.outcome for record in records if record.outcome.status != "ok")
    return ProfileRecord(
        **joined,
        **together,
        started=min((record.started for record in records if record.started), default=""),
        arguments=_common([record.arguments for record in records], ()),
        detail=_common([record.detail for record in records], "steps"),
        wall_ns=sum(record.wall_ns for record in records),
        outcome=next(ended, OutcomeRecord("ok", 0)),
        cost=_cost([record.cost for record in records]),
        left_out=sum(record.left_out for record in records),
        repeats=_repeats(profiles),
        measures=_measures(records),
        threads=ThreadTimesRecord(
            *map(sum, zip(*(astuple(record.threads) for record in records), strict=True))
        ),
        origins=tuple(origin for _, origins in renamed for origin in origins),
        first_nan=next((record.first_nan for record in records if record.first_nan is not None), None),
    )


class _Renumbered:
    """The functions and loops of a record with keys that are unique among all profiles."""

    def __init__(self, record: ProfileRecord, keys: count[int]) -> None:
        self.whole = record
        self.functions = {function.key: next(keys) for function in record.functions}
        self.loops = {loop.key: next(keys) for loop in record.loops}

    def record(self, origins: Mapping[str, str]) -> ProfileRecord:
        """Return the record under its new keys, and with the new names of its origins."""
        old, nan = self.whole, self.whole.first_nan
        return replace(
            old,
            functions=tuple(
                replace(self._function(one), origin=origins[one.origin]) for one in old.functions
            ),
            loops=tuple(map(self._loop, old.loops)),
            traces=tuple(replace(trace, loop=self.loops[trace.loop]) for trace in old.traces),
            calls=tuple(map(self._call, old.calls)),
            first_nan=None if nan is None else replace(nan, function=self.functions.get(nan.function, 0)),
        )

    def _function(self, function: FunctionRecord) -> FunctionRecord:
        return replace(
            function,
            key=self.functions[function.key],
            operations=tuple(map(self._operation, function.operations)),
            rewrites=None if function.rewrites is None else self._rewrites(function.rewrites),
        )

    def _loop(self, loop: LoopRecord) -> LoopRecord:
        return replace(
            loop,
            key=self.loops[loop.key],
            function=self.functions[loop.function],
            parent=None if loop.parent is None else self.loops[loop.parent],
            gradient_of=None if loop.gradient_of is None else self.loops.get(loop.gradient_of),
            also_gradient_of=tuple(self.loops[key] for key in loop.also_gradient_of if key in self.loops),
            operations=tuple(map(self._operation, loop.operations)),
        )

    def _call(self, call: HeldCallRecord) -> HeldCallRecord:
        return replace(
            call,
            function=self.functions[call.function],
            runs=tuple(replace(runs, loop=self.loops[runs.loop]) for runs in call.runs),
            checkpoints=tuple(replace(kept, loop=self.loops[kept.loop]) for kept in call.checkpoints),
        )

    def _rewrites(self, rewrites: RewritesRecord) -> RewritesRecord:
        graphs = rewrites.graphs
        if graphs is None:
            return rewrites
        nodes = tuple(
            node
            if node.loop is None or node.loop.key is None
            else replace(node, loop=replace(node.loop, key=self.loops.get(node.loop.key)))
            for node in graphs.nodes
        )
        return replace(rewrites, graphs=replace(graphs, nodes=nodes))

    def _operation(self, operation: OperationRecord) -> OperationRecord:
        loop = operation.loop
        return operation if loop is None else replace(operation, loop=self.loops.get(loop))


def _origins(
    name: str, record: ProfileRecord, taken: TakenNames
) -> tuple[dict[str, str], list[MergedRecord]]:
    """Return the distinct names of a profile's origins, and the origins."""
    own = MergedRecord(name, record.script, record.arguments, record.started, record.wall_ns, record.outcome)
    before = record.origins or (own,)
    after = [replace(origin, name=taken.claim(origin.name)) for origin in before]
    names = {old.name: new.name for old, new in zip(before, after, strict=True)}
    return {**names, **({} if record.origins else {"": after[0].name})}, after


def _joined(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(word for word in words if word))


def _common(values: Sequence[T], otherwise: T) -> T:
    """Return the common value of all, or another one if they differ."""
    return values[0] if values and all(value == values[0] for value in values) else otherwise


def _cost(costs: Sequence[CostRecord]) -> CostRecord:
    """Return the sum of costs; prices of stamps and chunks are averages."""
    stamps, chunks = sum(cost.stamps for cost in costs), sum(cost.chunks for cost in costs)
    return CostRecord(
        stamps,
        sum(cost.stamps * cost.stamp_ns for cost in costs) / stamps if stamps else 0.0,
        chunks,
        sum(cost.chunks * cost.chunk_ns for cost in costs) / chunks if chunks else 0.0,
        sum(cost.recorder_ns for cost in costs),
        sum(cost.values_ns for cost in costs),
    )


def _measures(records: Sequence[ProfileRecord]) -> dict[str, float]:
    """Return the aggregated numbers of the runs, for numbers that all runs have."""
    known: dict[str, float] = {}
    for record in records:
        for name, value in record.measures.items():
            if all(name in other.measures for other in records):
                aggregated(known, declared("run", name), value)
    return known


def _repeats(profiles: Sequence[tuple[str, ProfileRecord]]) -> tuple[ProfileRecord, ...]:
    shared = min((len(record.repeats) for _, record in profiles), default=0)
    return tuple(merged([(name, record.repeats[k]) for name, record in profiles]) for k in range(shared))

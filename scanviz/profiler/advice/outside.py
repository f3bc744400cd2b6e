"""Advice about work outside of loops: what every call of a function computes again, and the script's own Python."""

from __future__ import annotations

from collections.abc import Iterator

from scanviz.profiler.advice.closures import closure
from scanviz.profiler.advice.figures import call_ns, outside_ns, script_ns
from scanviz.profiler.advice.item import Advice, is_worth
from scanviz.profiler.report.units import amount, counted, duration, share
from scanviz.record.graph import GraphSnapshot
from scanviz.record.model import FunctionRecord, OperationRecord, ProfileRecord

_MANY = 100  # calls, of which what is between two of them is a figure that says something
_SCRIPT_NS, _MOSTLY = 200e6, 0.5  # what takes less is over before it is read about


def same_at_every_call(record: ProfileRecord) -> Iterator[Advice]:
    """Give advice on work of shared variables alone that every call does again, though no call changes them."""
    updated = {name for function in record.functions for name in _updated(function.graph)}
    for function in record.functions:
        graph = function.graph
        if graph is None or function.calls < 2:
            continue
        found = _fixed(function, graph, updated)
        a_call = sum(outside_ns(function, operation) for operation in found)
        gain = a_call * (function.calls - 1)
        if not found or not is_worth(record, gain):
            continue
        slowest = max(found, key=lambda operation: operation.typical_ns)
        others = f" and {counted(len(found) - 1, 'other operation')}" if len(found) > 1 else ""
        yield Advice(
            "same_at_every_call",
            f"`{function.name}` computes the same value again at every call",
            f"`{slowest.label}`{others} depend on shared variables alone, which no function of the run"
            " updates. Compute that once, in a function of its own, and keep the result in a shared variable; again only"
            " where the script sets one of them. Estimate: its time in all calls but one.",
            f"{duration(a_call)} of a usual call of {duration(call_ns(function))} ({share(a_call, call_ns(function))}),"
            f" {counted(function.calls, 'call')}; {duration(gain)} of the {duration(record.wall_ns)} of the run",
            slowest.source or function.source,
            function.name,
            "",
            gain,
        )


def _updated(graph: GraphSnapshot | None) -> set[str]:
    """Return the names of outputs: new values of shared variables have those of the variables."""
    return set(graph.output_names) if graph is not None else set()


def _fixed(function: FunctionRecord, graph: GraphSnapshot, updated: set[str]) -> list[OperationRecord]:
    """Return the operations outside of loops that depend on shared variables alone that nothing updates."""
    given = [
        k
        for k, variable in enumerate(graph.variables)
        if variable.role == "shared" and variable.name and variable.name not in updated
    ]
    indices = {node.operation for node in closure(graph, given)}
    return [
        operation
        for operation in function.operations
        if operation.index in indices and outside_ns(function, operation) > 0
    ]


def script(record: ProfileRecord) -> Iterator[Advice]:
    """Give advice on runs that are mostly the script's own Python."""
    own = script_ns(record)
    called = sum(function.total_ns for function in record.functions)
    if own < max(_SCRIPT_NS, _MOSTLY * record.wall_ns) or not called or record.left_out:
        return
    calls = sum(function.calls for function in record.functions)
    between = (
        f" Between two calls it takes {duration(own / calls)}: work over arrays that is done there belongs into a function, or"
        " into one call for many."
        if calls >= _MANY
        else " Most of it may be imports and reading data."
    )
    yield Advice(
        "script",
        "most of the run is the script's own Python",
        f"Look there first, with a profiler for Python: this record sees when functions of scanviz run, not what is done between"
        f" them.{between} Faster loops can't save more than the rest.",
        f"{duration(own)} of {duration(record.wall_ns)} ({share(own, record.wall_ns)}); functions took {duration(called)} in"
        f" {amount(calls)} calls",
        None,
        "",
        "",
        None,
        None,
        own,
    )


RULES = (same_at_every_call, script)

__all__ = ["RULES", "same_at_every_call", "script"]

"""Advice about a run as a whole: building, calls, tiers, and the script around them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator

from scanviz.profiler.advice.figures import building_ns, call_ns, code_ns, operation_ns, script_ns, whole_ns
from scanviz.profiler.advice.item import Advice, advise, is_worth
from scanviz.profiler.advice.moving import closure
from scanviz.profiler.report.units import amount, counted, duration, share, size
from scanviz.record.graphs.graph import GraphSnapshot
from scanviz.record.model import FunctionRecord, OperationRecord, ProfileRecord
from scanviz.record.statistics import median_of

# Advice about work outside of loops: what every call of a function computes again, and the script's own Python.

_MANY_STEPS = 100  # of a call, from which on waits in steps are reported
_MANY = 100  # calls, from which on the time between two calls is reported
_SCRIPT_NS, _MOSTLY = 200e6, 0.5  # shorter scripts get no advice


def same_at_every_call(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on work of unchanged shared variables that every call repeats."""
    updated = {name for function in record.functions for name in _updated(function.graph)}
    for function in record.functions:
        graph = function.graph
        if graph is None or function.calls < 2:
            continue
        found = _fixed(function, graph, updated)
        a_call = min(call_ns(function), sum(map(operation_ns, found)))
        gain = a_call * (function.calls - 1)
        if not found or not is_worth(record, gain):
            continue
        slowest = max(found, key=lambda operation: operation.typical_ns)
        others = f" and {counted(len(found) - 1, 'other operation')}" if len(found) > 1 else ""
        yield advise(
            function,
            "same_at_every_call",
            f"`{function.name}` computes the same value again at every call",
            f"`{slowest.label}`{others} depend on shared variables alone, which no function of the run"
            " updates. Compute that once, in a function of its own, and keep the result in a shared variable; again only"
            " where the script sets one of them. Estimate: its time in all calls but one.",
            f"{duration(a_call)} of a usual call of {duration(call_ns(function))} ({share(a_call, call_ns(function))}),"
            f" {counted(function.calls, 'call')}; {duration(gain)} of the {duration(whole_ns(record))} of the run",
            gain,
            source=slowest.source,
        )


def _updated(graph: GraphSnapshot | None) -> set[str]:
    """Return the names of outputs; an update has the name of its shared variable."""
    return set(graph.output_names) if graph is not None else set()


def _fixed(function: FunctionRecord, graph: GraphSnapshot, updated: set[str]) -> list[OperationRecord]:
    """Return the operations outside of loops that depend only on shared variables without updates."""
    given = [
        key
        for key, leaf in graph.leaves.items()
        if leaf.role == "shared" and graph.variables[key].name not in ("", *updated)
    ]
    indices = {node.operation for node in closure(graph, given)}
    return [
        operation
        for operation in function.operations
        if operation.index in indices and operation_ns(operation) > 0
    ]


def script(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on runs that are mostly the script's own Python."""
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
        f"{duration(own)} of {duration(whole_ns(record))} ({share(own, whole_ns(record))}); functions took {duration(called)} in"
        f" {amount(calls)} calls",
        most_ns=own,
    )


_SAME_LINE = 3  # functions built by one line
_MANY_CALLS = 200
_MUCH = 0.3
_BUILD_NS = 100e6  # faster builds get no advice
_WEIGHTY = 0.05
_PRINTED_NAME = re.compile(r"(?<=^scan)\{.*", re.DOTALL)  # an unnamed loop is named after its line


def rebuilding(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on functions that one line builds again and again."""
    alike: dict[Hashable, list[FunctionRecord]] = {}
    for function in record.functions:
        if function.source is not None and function.graph is not None:
            key = (function.source.file, function.source.line, _shape_of(function.graph))
            alike.setdefault(key, []).append(function)
    for functions in alike.values():
        built = [building_ns(record, function) + code_ns(record, function) for function in functions]
        gain = float(median_of(built)) * (len(built) - 1)  # one build is needed
        if len(functions) < _SAME_LINE or not is_worth(record, gain):
            continue
        calls = sum(function.calls for function in functions)
        yield advise(
            functions[0],
            "rebuilding",
            f"one line built the same function {amount(len(functions))} times",
            "Build the function once, outside of the loop of the script, and give what differs as an argument or a shared variable:"
            " the functions have the same operations and differ in values at most. Estimate: the median of them, for all but one.",
            f"{duration(sum(built))} to build and compile {counted(len(functions), 'function')}, which had"
            f" {counted(calls, 'call')} together",
            gain,
        )


def _shape_of(graph: GraphSnapshot) -> Hashable:
    """Return a key that graphs share if they differ only in names and values of constants."""
    number = {key: k for k, key in enumerate(graph.variables)}
    nodes = tuple(
        (
            _PRINTED_NAME.sub("", node.op),
            *(number[key] for key in (*node.inputs, *node.outputs)),
            node.loop is None,
        )
        for node in graph.nodes
    )
    loops = tuple((loop.until is None, _shape_of(graph.step(loop))) for loop in graph.loops)
    wanted = tuple(map(number.__getitem__, graph.outputs))
    return nodes, loops, wanted, tuple((one.type, graph.role(key)) for key, one in graph.variables.items())


def costly_building(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on functions whose rewriting took longer than all their calls."""
    for function in record.functions:
        rewriting = building_ns(record, function, "rewrite")
        if (
            rewriting < max(_BUILD_NS, 4 * call_ns(function) * function.calls)
            or not is_worth(record, rewriting)
            or not function.calls
        ):
            continue
        yield advise(
            function,
            "costly_building",
            f"building `{function.name}` took longer than its calls",
            'With Mode(rewrites="none") it is built without rewriting: better as long as it is called this rarely, and calls get'
            f" less than {rewriting / max(function.total_ns, 1):.0f} times slower. A function that stays in use pays for itself"
            " in more calls. No more than the rewriting can be saved.",
            f"{duration(building_ns(record, function))} to build, {duration(rewriting)} of it rewriting;"
            f" {counted(function.calls, 'call')} in {duration(function.total_ns)}",
            most_ns=rewriting,
        )


def small_calls(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on functions whose many calls are mostly overhead."""
    for function in record.functions:
        a_call = call_ns(function)
        inside = sum(map(operation_ns, function.operations))
        gain = (a_call - inside) * function.calls
        timed = [operation for operation in function.operations if operation.samples]
        if function.calls < _MANY_CALLS or not timed or a_call - inside < _MUCH * a_call:
            continue
        if not is_worth(record, gain):
            continue
        yield advise(
            function,
            "small_calls",
            f"`{function.name}` is called {amount(function.calls)} times for little work",
            "Bring the loop that calls it into a scan, or give each call more to do (a batch). No more can be saved than what is"
            " outside of its operations: checking arguments, and what the script's recording adds to it.",
            f"{duration(a_call)} a usual call, {duration(inside)} of it in operations",
            most_ns=gain,
        )


def reference_tier(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on functions that ran on the reference tier."""
    for function in record.functions:
        if function.backend != "reference" or function.total_ns < _WEIGHTY * record.wall_ns:
            continue
        yield advise(
            function,
            "reference_tier",
            f"`{function.name}` runs on the reference tier",
            'It runs one operation after another, made to be right and plain. Mode("numpy"), or leaving the mode out, takes'
            " generated code. The record has no figure for how much faster that is.",
            f"{counted(function.calls, 'call')} in {duration(function.total_ns)}"
            f" ({share(function.total_ns, whole_ns(record))} of the run)",
        )


def no_rewrites(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on functions that were built without rewrites."""
    for function in record.functions:
        selection = function.rewrites.selection if function.rewrites is not None else ""
        if selection != "none" or function.total_ns < _WEIGHTY * record.wall_ns:
            continue
        yield advise(
            function,
            "no_rewrites",
            f"`{function.name}` runs as it was written, without rewrites",
            'Leave out rewrites="none", unless that is what you look at. The record has no figure for the gain; profile it'
            " both ways and compare.",
            f"{counted(function.calls, 'call')} in {duration(function.total_ns)}"
            f" ({share(function.total_ns, whole_ns(record))} of the run)",
        )


_MOVED_BYTES = 10**6  # of fewer bytes the copy takes less than a few kernel launches


def moved_to_gpu(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on host arrays that every call moves to the GPU."""
    for function in record.functions:
        moved = function.measures.get("to_device_bytes", 0.0)
        if function.calls < 2 or moved < _MOVED_BYTES:
            continue
        yield advise(
            function,
            "moved_to_gpu",
            f"each call of `{function.name}` moves {size(moved)} to the GPU",
            "Its inputs are host arrays. Pass CuPy arrays (cupy.asarray once, outside of the loop of the script), or keep what"
            " does not change between calls in scanviz.shared(): a shared variable stays on the GPU. With a CuPy array among the"
            " inputs, results stay on the GPU too. The record has no figure for the gain.",
            f"{size(moved)} to the GPU and {size(function.measures.get('to_host_bytes', 0.0))} back in the last observed of"
            f" {counted(function.calls, 'call')}",
        )


def waits_for_gpu(record: ProfileRecord) -> Iterator[Advice]:
    """Advise on loops whose steps wait for the GPU."""
    for function in record.functions:
        waits = function.measures.get("device_waits", 0.0)
        steps = sum(loop.steps for loop in record.loops if loop.function == function.key)
        a_call = steps / function.calls if function.calls else 0.0
        if a_call < _MANY_STEPS or waits < a_call:
            continue
        yield advise(
            function,
            "waits_for_gpu",
            f"the steps of `{function.name}` wait for the GPU",
            "The host waits for a condition of `until` or `ifelse`, an index or a size that the GPU computes, an array of indices"
            " that changes from step to step, or a linear solver, and launches nothing meanwhile. Test a condition once in many"
            " steps, and give indices as arrays that stay the same. The record has no figure for the gain.",
            f"{amount(int(waits))} waits in a call of {amount(round(a_call))} steps",
        )


RULES = (
    same_at_every_call,
    script,
    rebuilding,
    costly_building,
    small_calls,
    reference_tier,
    no_rewrites,
    moved_to_gpu,
    waits_for_gpu,
)

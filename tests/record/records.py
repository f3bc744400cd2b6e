"""Hypothesis strategies for records, taken from the classes' own types."""

import functools
import itertools
import types
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np
from hypothesis import strategies as st
from msgspec import Struct, structs

from scanviz.record.graphs.graph import LoopVariableRecord, NodeRecord, ResultRecord, ScanRecord
from scanviz.record.graphs.versions import VersionsRecord, WantedRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.model import SCHEMA, FunctionRecord, MergedRecord, ProfileRecord
from scanviz.record.storage.codec import field_types
from scanviz.record.traces.held_calls import ArrayRecord, CheckpointRecord, HeldCallRecord, RunsRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord

COUNTS = st.integers(0, 2**62)
TEXTS = st.text(max_size=12) | st.text(st.characters(), max_size=6)  # the second with lone surrogates too
NAMES = st.lists(TEXTS, max_size=2).map(tuple)
PLAIN = {
    int: COUNTS,
    float: st.floats(0, 1e18),
    str: TEXTS,
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
}


@functools.cache  # strategies are looked through once each, which takes longer than to draw
def values(hint: Any) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.none() | values(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXTS, values(arguments[1]), max_size=3)
    if origin is np.ndarray:
        return series()
    if hint is VersionsRecord:
        return versions()
    if isinstance(hint, type) and issubclass(hint, Struct):
        return records(hint)
    return PLAIN[hint]


def records(kind: Any, /, **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    others = _fields_but(kind, frozenset(given))
    if not given:
        return others.map(lambda fields: kind(**fields))
    return st.tuples(others, st.fixed_dictionaries(given)).map(lambda both: kind(**both[0], **both[1]))


@functools.cache
def _fields_but(kind: Any, given: frozenset[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {name: values(hint) for name, hint in field_types(kind).items() if name not in given}
    )


class _Level(NamedTuple):
    """The nodes of a graph and of the steps of its loops, and the keys of its own leaves and values."""

    nodes: list[NodeRecord]
    leaves: list[str]
    keys: list[str]


@st.composite
def levels(draw: st.DrawFn, numbers: Iterator[int], depth: int = 0) -> _Level:
    """Draw a graph whose keys are right, with loops in it."""
    found, level = _Level([], [], []), next(numbers)

    def add(results: int, **given: Any) -> list[str]:
        keys = [f"v{len(found.keys) + k}" for k in range(results)]
        made = tuple(draw(records(ResultRecord, key=st.just(key))) for key in keys)
        given |= {"level": level, "results": made, "place": len(found.nodes)}
        found.nodes.append(draw(records(NodeRecord, **{name: st.just(each) for name, each in given.items()})))
        found.keys.extend(keys)
        return keys

    for k in range(draw(st.integers(1, 3))):
        role = draw(st.sampled_from(["parameter"] if depth else ["input", "shared", "constant"]))
        found.leaves.extend(add(1, role=role, key=f"v{k}", inputs=(), loop=None, operation=None))
    for place in range(draw(st.integers(0, 3))):
        known, loop = st.sampled_from(list(found.keys)), None
        if depth < 2 and draw(st.booleans()):
            step = draw(levels(numbers, depth + 1))
            inner = st.sampled_from(step.keys)
            given = {
                "inner_inputs": st.lists(st.sampled_from(step.leaves), max_size=2).map(tuple),
                "inner_outputs": st.lists(inner, max_size=2).map(tuple),
                "outer_input": st.none() | known,
                "outer_output": st.none() | known,
                "kind": st.sampled_from(["sequence", "carry", "nitsot", "non_sequence"]),
            }
            variables = st.lists(records(LoopVariableRecord, **given), max_size=2).map(tuple)
            parts = {"variables": variables, "until": st.none() | inner, "step": st.just(step.nodes[0].level)}
            loop = draw(records(ScanRecord, **parts))
            found.nodes.extend(step.nodes)
        inputs = tuple(draw(st.lists(known, max_size=3)))
        add(draw(st.integers(1, 2)), role="computed", key=f"n{place}", inputs=inputs, loop=loop)
    return found


@st.composite
def versions(draw: st.DrawFn) -> VersionsRecord:
    """Draw versions of a graph: some rewrites add nodes that the next ones remove."""
    graph, first = draw(levels(itertools.count())), draw(st.integers(0, 1))
    last = first + draw(st.integers(0, 2))
    outputs = tuple(draw(st.lists(st.sampled_from(graph.keys), max_size=3)))
    nodes = [structs.replace(node, versions=(first,)) for node in graph.nodes]
    passing = [
        structs.replace(node, key=f"{node.key} once", versions=(first, last))
        for node in nodes
        if node.level == 0 and node.role == "input" and last > first and draw(st.booleans())
    ]
    return VersionsRecord(
        draw(TEXTS),
        first,
        last,
        (WantedRecord(first, outputs),),
        tuple(draw(TEXTS) for _ in outputs),
        (*nodes, *passing),
        {node.source: draw(TEXTS) for node in nodes},
    )


@st.composite
def series(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    places = draw(st.sets(st.tuples(st.integers(0, 10), st.integers(0, 2000)), max_size=12))
    rows = [(run, step, draw(COUNTS), draw(st.integers(0, 3))) for run, step in sorted(places)]
    return np.array(rows, np.int64).reshape(-1, 4)


@st.composite
def loop_records(draw: st.DrawFn, key: int, function: int, around: list[int | None]) -> LoopRecord:
    """Draw a loop, some of whose steps were timed in blocks."""
    given = {"key": st.just(key), "function": st.just(function), "parent": st.sampled_from(around)}
    loop = draw(records(LoopRecord, **given, series_covers=st.just(())))
    if not len(loop.series) or draw(st.booleans()):
        return loop
    rows = loop.series[:, :2].tolist()
    room = [b[1] - a[1] if a[0] == b[0] else 9 for a, b in zip(rows, [*rows[1:], [-1, 0]], strict=True)]
    return structs.replace(loop, series_covers=tuple(draw(st.integers(1, most)) for most in room))


@st.composite
def traces(draw: st.DrawFn, loop: LoopRecord) -> TraceRecord:
    """Draw values of a run of a loop."""
    steps = tuple(sorted(draw(st.sets(st.integers(0, 2000), max_size=4))))
    reasons = tuple(draw(st.sampled_from(["first", "last", "every", "event"])) for _ in steps)
    variables = tuple(draw(traced_variables(loop, len(steps))) for _ in range(draw(st.integers(0, 2))))
    total = steps[-1] + 1 + draw(st.integers(0, 9)) if steps else draw(COUNTS)
    return TraceRecord(loop.key, draw(COUNTS), total, steps, reasons, variables, draw(COUNTS))


@st.composite
def traced_variables(draw: st.DrawFn, loop: LoopRecord, steps: int) -> TracedVariableRecord:
    place = {"variable": loop.variables, "operation": loop.operations}
    given = {
        name: st.none() | st.integers(0, len(found) - 1 if found else 5) for name, found in place.items()
    }
    width = draw(st.integers(0, 3))
    numbers = st.floats(width=64) | st.just(np.nan)
    values = np.array(draw(st.lists(numbers, min_size=steps * width, max_size=steps * width)), np.float64)
    rows = [
        [draw(numbers) for _ in range(3)] + [draw(st.integers(0, 9)) for _ in range(2)] for _ in range(steps)
    ]
    given["values"] = st.just(values.reshape(steps, width))
    given["statistics"] = st.just(np.array(rows, np.float64).reshape(steps, 5))
    return draw(records(TracedVariableRecord, tap=st.none() | st.integers(-9, 9), **given))


@st.composite
def held_calls(draw: st.DrawFn, function: int, loops: list[int]) -> HeldCallRecord:
    """Draw the arguments of a call of a function with these loops."""
    dtypes = st.sampled_from(["float64", "int8", "bool", "uint32"])
    shapes = st.lists(st.integers(0, 2), max_size=2).map(tuple)
    arrays = [ArrayRecord.of(np.ones(draw(shapes), draw(dtypes))) for _ in range(draw(st.integers(1, 3)))]
    places = st.lists(st.integers(0, len(arrays) - 1), max_size=2).map(tuple)
    runs = tuple(RunsRecord(key, draw(COUNTS), draw(COUNTS)) for key in loops)
    begun = st.tuples(*(COUNTS for _ in runs))
    kinds = {"loop": st.sampled_from(loops), "begun": begun, "states": places} if loops else None
    points = draw(st.lists(records(CheckpointRecord, **kinds), max_size=2)) if kinds else []
    results = {str(k): draw(st.integers(0, len(arrays) - 1)) for k in range(draw(st.integers(0, 2)))}
    return HeldCallRecord(
        function, draw(COUNTS), draw(places), draw(NAMES), runs, tuple(points), results, tuple(arrays)
    )


@st.composite
def profiles(draw: st.DrawFn) -> ProfileRecord:
    """Draw a record that makes sense as a whole."""
    keys = draw(st.lists(st.integers(0, 99), unique=True, max_size=3))
    merged_from = st.lists(records(MergedRecord), max_size=3, unique_by=lambda each: each.name)
    origins = draw(merged_from)
    origin = st.sampled_from([each.name for each in origins] or [""])
    functions = tuple(draw(records(FunctionRecord, key=st.just(key), origin=origin)) for key in keys)
    loops: list[LoopRecord] = []
    for key in draw(st.lists(st.integers(0, 99), unique=True, max_size=4 if keys else 0)):
        function = draw(st.sampled_from(keys))
        around = [None, *(loop.key for loop in loops if loop.function == function)]
        loops.append(draw(loop_records(key, function, around)))
    run = st.sampled_from(loops).flatmap(traces) if loops else st.nothing()
    traced = draw(st.lists(run, max_size=2 if loops else 0, unique_by=lambda each: (each.loop, each.run)))
    chosen = draw(st.lists(st.sampled_from(keys), max_size=2)) if keys else []
    calls = [draw(held_calls(key, [loop.key for loop in loops if loop.function == key])) for key in chosen]
    given = {
        "schema": SCHEMA,
        "calls": tuple(calls),
        "functions": functions,
        "loops": tuple(loops),
        "traces": tuple(traced),
        "repeats": (),
        "origins": tuple(origins),
    }
    return draw(records(ProfileRecord, **{name: st.just(value) for name, value in given.items()}))

"""``f.rewrites`` as data: the engine's history copied into :mod:`scanviz.record.rewrites`."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Collection, Sequence
from dataclasses import fields, is_dataclass
from typing import cast

from scanviz.engine.function import Function
from scanviz.engine.graph.provenance import short_path
from scanviz.engine.rewrites.cost import Cost, Polynomial
from scanviz.engine.rewrites.history import Record, RewriteHistory, places
from scanviz.record.graph_lines import GraphLines
from scanviz.record.paths import recorded_path
from scanviz.record.rewrites import (
    EditRecord,
    GraphCostRecord,
    RefusalRecord,
    RewriteRecord,
    RewritesRecord,
)

LONGEST_TERM = 240  # characters of a polynomial
MOST_NODES = 5_000  # of a graph of which more than the list is kept
MOST_LINES = 3_000  # changed lines between which single lines are compared


def rewrites_record(history: RewriteHistory, output_names: Sequence[str] = ()) -> RewritesRecord:
    """Return what rules did to a function as data.

    Parameters
    ----------
    history : RewriteHistory
        ``f.rewrites``.
    output_names : sequence of str
        Names of the function's outputs and updates, empty for those without.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> f = scanviz.function([x], T.exp(x) + T.exp(x))
    >>> record = rewrites_record(f.rewrites)
    >>> record.lines, record.graph(1)
    (('v1 = exp(x)', 'v2 = exp(x)', 'v3 = add(v1, v2)', 'return v3'), ('v1 = exp(x)', 'v3 = add(v1, v1)', 'return v3'))
    """
    with history.held():
        return _record(history, GraphLines(output_names))


def _record(history: RewriteHistory, writer: GraphLines) -> RewritesRecord:
    graphs = [writer.lines(each) for each in history.all_graphs()]
    costs = [_cost(each) for each in history.costs()]
    records = [
        _application(record, _edits(before, after), cost)
        for record, (before, after), cost in zip(
            history.of_graph, itertools.pairwise(graphs), costs[1:], strict=True
        )
    ]
    records += [_application(each, (), None) for each in history[len(records) :]]
    refusals = tuple(
        RefusalRecord(each.rule, "/".join(each.path), each.node, each.source, each.why, each.near)
        for each in history.refusals()
    )
    record = RewritesRecord(
        str(history.selection), tuple(graphs[0]), costs[0], tuple(records), refusals, writer.origins()
    )
    return with_recorded_paths(record, writer.files())


def _application(record: Record, edits: Sequence[EditRecord], cost: GraphCostRecord | None) -> RewriteRecord:
    change = record.change
    return RewriteRecord(
        record.index,
        record.phase,
        record.rule,
        record.where,
        record.says,
        record.count,
        tuple("/".join(path) for path in record.paths if path),
        len(change.removed),
        len(change.added),
        tuple(str(each) for each in change.loop_variables),
        record.time_ns,
        cost,
        tuple(edits),
    )


def _edits(before: Sequence[str], after: Sequence[str]) -> list[EditRecord]:
    """Return what turns one list of lines into another, the last edit first."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) + len(new) > MOST_LINES:
        return [EditRecord(start, start + len(old), tuple(new))]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    found = [
        EditRecord(start + a, start + b, tuple(new[c:d]))
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]
    return found[::-1]


def _cost(cost: Cost) -> GraphCostRecord:
    return GraphCostRecord(
        _written(cost.operations),
        _written(cost.flops),
        _written(cost.bytes_moved),
        _written(cost.buffer_bytes),
        {"/".join(path): count for path, count in cost.operations_per_step.items()},
    )


def _written(value: Polynomial) -> str:
    text = str(value)
    if len(text) <= LONGEST_TERM:
        return text
    cut = text.rfind(" + ", 0, LONGEST_TERM)
    return f"{text[:cut]} + …"


def rewrites_of(function: Function) -> RewritesRecord:
    """Return what rules did to a compiled function as data; of a very large one only the list."""
    history = function.rewrites
    if len(places(history.before)) > MOST_NODES:
        listed = [
            RewriteRecord(
                each.index, each.phase, each.rule, each.where, each.says, each.count, time_ns=each.time_ns
            )
            for each in history
        ]
        return RewritesRecord(str(history.selection), applications=tuple(listed))
    return rewrites_record(history, [*[""] * len(function.outputs), *function.updated_names])


def with_recorded_paths(record: RewritesRecord, files: Collection[str]) -> RewritesRecord:
    """Return a record in whose texts files are called as records call them, never by a path of the machine."""
    names = {name: recorded_path(file) for file in files for name in (file, short_path(file))}
    changing = sorted(
        ((old, new) for old, new in names.items() if old != new), key=lambda each: -len(each[0])
    )
    return cast(RewritesRecord, _renamed(record, changing)) if changing else record


def _renamed(value: object, names: Sequence[tuple[str, str]]) -> object:
    """Return a value with names replaced in all of its texts."""
    if isinstance(value, str):
        for old, new in names:
            value = value.replace(old, new)
        return value
    if isinstance(value, tuple):
        return tuple(_renamed(each, names) for each in value)
    if isinstance(value, dict):
        return {_renamed(key, names): each for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        fresh = {each.name: _renamed(getattr(value, each.name), names) for each in fields(value)}
        return type(value)(**fresh)
    return value


def size_of(record: RewritesRecord) -> int:
    """Return about how many bytes a record takes in memory."""
    lines = sum(map(len, record.lines)) + sum(
        len(line) for each in record.applications for edit in each.edits for line in edit.lines
    )
    return (
        2_000
        + 2 * lines
        + 400 * len(record.applications)
        + 300 * (len(record.refusals) + len(record.origins))
    )

"""``f.rewrites`` as data: the engine's history copied into :mod:`scanviz.record.rewrites`."""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import cast

from scanviz.engine.function import Function
from scanviz.engine.graph.provenance import short_path
from scanviz.engine.rewrites.cost import Cost
from scanviz.engine.rewrites.history import Record, RewriteHistory, places
from scanviz.engine.rewrites.polynomial import Polynomial
from scanviz.engine.rewrites.sweep import Refused
from scanviz.record.graph_lines import GraphLines
from scanviz.record.moments import Moments
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
MOST_WORK = 500_000  # nodes times applications of which it is kept: about ten seconds of work
MOST_REFUSALS = 40  # of one rule that are kept


def rewrites_record(
    history: RewriteHistory, output_names: Sequence[str] = (), title: str = ""
) -> RewritesRecord:
    """Return what rules did to a function as data.

    Parameters
    ----------
    history : RewriteHistory
        ``f.rewrites``.
    output_names : sequence of str
        Names of the function's outputs and updates, empty for those without.
    title : str
        The function's name.

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
        return _record(history, Moments(GraphLines(output_names), title))


def _record(history: RewriteHistory, moments: Moments) -> RewritesRecord:
    writer = moments.names
    graphs, rows = [], []
    for outputs in history.all_graphs():
        graphs.append(writer.lines(outputs))
        rows.append(moments.rows(outputs))
    costs = history.costs()
    records = [
        _application(record, (_edits(*lines), _edits(*row)), _cost(now, earlier), _difference(earlier, now))
        for record, lines, row, (earlier, now) in zip(
            history.of_graph,
            itertools.pairwise(graphs),
            itertools.pairwise(rows),
            itertools.pairwise(costs),
            strict=True,
        )
    ]
    records += [_application(each, ((), ()), None, None) for each in history[len(records) :]]
    refusals = tuple(
        RefusalRecord(each.rule, "/".join(each.path), each.node, each.source, each.why, each.near)
        for each in _nearest(history.refusals())
    )
    record = RewritesRecord(
        str(history.selection),
        tuple(graphs[0]),
        _cost(costs[0]),
        tuple(records),
        refusals,
        writer.origins(),
        tuple(rows[0]),
        {name: each.text() for name, each in moments.sources.items()},
    )
    return with_recorded_paths(record, writer.files())


def _nearest(refusals: Sequence[Refused]) -> Iterator[Refused]:
    """Iterate over refusals, of each rule no more than the nearest few."""
    counts: Counter[str] = Counter()
    for each in refusals:
        counts[each.rule] += 1
        if counts[each.rule] <= MOST_REFUSALS:
            yield each


def _application(
    record: Record,
    edits: tuple[Sequence[EditRecord], Sequence[EditRecord]],
    cost: GraphCostRecord | None,
    difference: GraphCostRecord | None,
) -> RewriteRecord:
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
        change.moved_out,
        change.moved_in,
        tuple(str(each) for each in change.loop_variables),
        record.time_ns,
        cost,
        difference,
        *map(tuple, edits),
    )


def _edits(before: Sequence[str], after: Sequence[str]) -> list[EditRecord]:
    """Return what turns one list of lines into another, the last edit first.

    Lines that are in both once hold the two together, as many as stand in one order (the longest increasing subsequence, as in
    Hunt and McIlroy's diff, 1976); a line has its own name, so nearly all do.
    """
    anchors = [(-1, -1), *_anchors(before, after), (len(before), len(after))]
    found: list[EditRecord] = []
    for (a, c), (b, d) in itertools.pairwise(anchors):
        old, new = before[a + 1 : b], after[c + 1 : d]
        if list(old) != list(new):
            found.append(EditRecord(a + 1, b, tuple(new)))
    return found[::-1]


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of lines that are once in both and stand in one order, as many as there can be."""
    places = {line: k for k, line in enumerate(after)}
    counts, others = Counter(before), Counter(after)
    pairs = [(k, places[line]) for k, line in enumerate(before) if counts[line] == 1 == others[line]]
    tails: list[int] = []  # the smallest last place of a sequence of each length, and its pair
    last: list[int] = []
    earlier: list[int] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect.bisect_left(tails, place)
        earlier.append(last[length - 1] if length else -1)
        if length == len(tails):
            tails.append(place)
            last.append(index)
        else:
            tails[length], last[length] = place, index
    found: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = earlier[index]
    return found[::-1]


def _cost(cost: Cost, before: Cost | None = None) -> GraphCostRecord:
    """Return a cost as data; of the operations a step only what is not as it was before."""
    steps = cost.operations_per_step
    earlier = {} if before is None else before.operations_per_step
    return GraphCostRecord(
        _written(cost.operations),
        _written(cost.flops),
        _written(cost.bytes_moved),
        _written(cost.buffer_bytes),
        {"/".join(path): count for path, count in steps.items() if earlier.get(path) != count},
        tuple("/".join(path) for path in earlier if path not in steps),
    )


def _difference(before: Cost, after: Cost) -> GraphCostRecord:
    """Return what a graph costs more than another; operations a step are in the costs themselves."""
    return GraphCostRecord(
        _written(after.operations - before.operations),
        _written(after.flops - before.flops),
        _written(after.bytes_moved - before.bytes_moved),
        _written(after.buffer_bytes - before.buffer_bytes),
    )


def _written(value: Polynomial) -> str:
    return value.text(LONGEST_TERM)


def rewrites_of(function: Function, moments: Moments | None = None) -> RewritesRecord:
    """Return what rules did to a compiled function as data; of a very large one only the list.

    Parameters
    ----------
    function : Function
        What was compiled.
    moments : Moments, optional
        What is to write it, from :func:`moments_of`, for those who need its names afterwards.
    """
    history = function.rewrites
    nodes = len(places(history.before))
    if nodes > MOST_NODES or nodes * len(history.of_graph) > MOST_WORK:
        listed = [
            RewriteRecord(
                each.index, each.phase, each.rule, each.where, each.says, each.count, time_ns=each.time_ns
            )
            for each in history
        ]
        return RewritesRecord(str(history.selection), applications=tuple(listed))
    with history.held():
        return _record(history, moments if moments is not None else moments_of(function))


def moments_of(function: Function) -> Moments:
    """Return what writes the graphs of a function."""
    return Moments(GraphLines([*[""] * len(function.outputs), *function.updated_names]), function.name)


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
    lines = sum(map(len, (*record.lines, *record.rows))) + sum(
        len(line)
        for each in record.applications
        for edit in (*each.edits, *each.row_edits)
        for line in edit.lines
    )
    return (
        2_000
        + 2 * lines
        + 400 * len(record.applications)
        + 300 * (len(record.refusals) + len(record.origins))
    )

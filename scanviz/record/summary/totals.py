"""Totals over the parts of a run: by kind, by line of source, and of loops that rewrites removed.

Rows by kind, and rows by line, add up to the run time without profiler overhead.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.summary.run_breakdown import CONTAINERS, SLOW_CALLS, PartKind, RunPart
from scanviz.record.values import SourceRecord

LOOPS, OUTSIDE, COMPILATION = "loops", "operations outside of loops", "compilation"
CALL_OVERHEAD, YOUR_CODE = "call overhead", "your own code"
PROFILER_OVERHEAD, UNATTRIBUTED = "profiler overhead", "unattributed"
_ROWS: tuple[tuple[str, tuple[PartKind, ...]], ...] = (
    (LOOPS, ("steps", "rows", "round", "slow", "around")),
    (OUTSIDE, ("operation",)),
    (SLOW_CALLS, ()),
    (CALL_OVERHEAD, ("checks", "copies", "entry")),
    (COMPILATION, ("building", "code")),
    (YOUR_CODE, ("script",)),
    (UNATTRIBUTED, CONTAINERS),
)
_TITLE_OF: dict[PartKind, str] = {kind: title for title, kinds in _ROWS for kind in kinds}
_TITLE_OF["recording"] = PROFILER_OVERHEAD


class PartTotal(Struct, frozen=True):
    """Time of all parts of one kind.

    Attributes
    ----------
    title : str
        Title of the parts.
    total_ns : int
        Their own times.
    """

    title: str
    total_ns: int


class LineTotal(Struct, frozen=True):
    """Time of one line of the script, in loops and outside.

    Attributes
    ----------
    source : SourceRecord or None
        The line; None for all that has none.
    total_ns : int
        All of it.
    loops_ns : int
        In loops.
    outside_ns : int
        In operations outside of loops.
    gradient_ns : int
        In operations that a gradient made of it, in loops and outside.
    """

    source: SourceRecord | None
    total_ns: int = 0
    loops_ns: int = 0
    outside_ns: int = 0
    gradient_ns: int = 0


class RemovedScan(Struct, frozen=True):
    """A loop of the script that rewrites removed.

    Attributes
    ----------
    function : int
        Key of the function.
    name : str
        Its name.
    source : str
        The line of its ``scan`` call, ``file:line``; empty where it is not known.
    rule : str
        The rewrite after which it was gone; empty if it never was in the graph.
    message : str
        Effect of that rewrite.
    total_ns : int
        Operations of its step that run elsewhere now.
    """

    function: int
    name: str
    source: str = ""
    rule: str = ""
    message: str = ""
    total_ns: int = 0

    def words(self) -> str:
        """Return the fate of the loop in words.

        Examples
        --------
        >>> RemovedScan(1, "encoder", "rnn.py:12", "PushOutSeqScan", "1 dot of all rows at once; the loop is empty").words()
        'encoder: gone, 1 dot of all rows at once (PushOutSeqScan, rnn.py:12)'
        """
        did = self.message.split(";")[0] or "its step runs without a loop"
        place = ", ".join(text for text in (self.rule, self.source) if text)
        return f"{self.name}: gone, {did}" + (f" ({place})" if place else "")


def totals(parts: Sequence[RunPart]) -> list[PartTotal]:
    """Return the parts of the run time, the longest first; unattributed time is always last.

    Profiler overhead is not part of it.

    Examples
    --------
    >>> whole = RunPart("run", "rnn.py", 100, own_ns=3)
    >>> [(row.title, row.total_ns) for row in totals([whole, RunPart("script", "own", 97, 97, 0)])]
    [('your own code', 97), ('unattributed', 3)]
    """
    found = dict.fromkeys((title for title, _ in _ROWS), 0)
    for part in parts:
        if part.kind != "recording":
            found[title(part)] += part.own_ns
    rest = PartTotal(UNATTRIBUTED, found.pop(UNATTRIBUTED))
    rows = [PartTotal(title, total) for title, total in found.items() if total]
    return [*sorted(rows, key=lambda row: -row.total_ns), rest]


def title(part: RunPart) -> str:
    """Return the row of a part."""
    if part.kind == "operation" and part.loop is not None:
        return LOOPS
    return SLOW_CALLS if part.kind == "slow" and part.loop is None else _TITLE_OF[part.kind]


def lines(parts: Sequence[RunPart]) -> list[LineTotal]:
    """Return the run time by line, the longest first; time without a line is last."""
    found: dict[tuple[str, int] | None, list[int]] = {}
    sources: dict[tuple[str, int] | None, SourceRecord | None] = {None: None}
    for part in parts:
        if part.kind == "recording":
            continue
        source = part.source if part.kind not in CONTAINERS else None
        place = (source.file, source.line) if source is not None else None
        sources.setdefault(place, source)
        row = found.setdefault(place, [0, 0, 0, 0])
        row[0] += part.own_ns
        row[1] += part.own_ns * (part.loop is not None and part.kind != "code")
        row[2] += part.own_ns * (part.kind == "operation" and part.loop is None)
        row[3] += part.own_ns * (part.kind == "operation" and part.rule == "gradient")
    rest = found.pop(None, [0, 0, 0, 0])
    rows = [LineTotal(sources[place], *row) for place, row in found.items() if row[0]]
    return [*sorted(rows, key=lambda row: -row.total_ns), LineTotal(None, *rest)]


def gone_loops(record: ProfileRecord, parts: Sequence[RunPart]) -> list[RemovedScan]:
    """Return the loops that rewrites removed, merged or moved out, the most expensive first."""
    found: list[RemovedScan] = []
    for function in record.functions:
        times: dict[str, int] = {}
        rules: dict[str, str] = {}
        for part in parts:
            if part.function == function.key and part.moved_from:
                name = part.moved_from.split("/")[-1]
                times[name] = times.get(name, 0) + part.own_ns
                rules.setdefault(name, part.rule)
        there = {loop.name for loop in record.loops if loop.function == function.key}
        gone = _gone(function)
        for name in times:
            if name not in there and name not in gone:
                gone[name] = RemovedScan(
                    function.key, name, rule=rules[name] if rules[name] != "gradient" else ""
                )
        sources = _sources(function)
        found += [
            RemovedScan(
                function.key, name, sources.get(name, ""), loop.rule, loop.message, times.get(name, 0)
            )
            for name, loop in gone.items()
            if name not in there
        ]
    return sorted(found, key=lambda loop: -loop.total_ns)


def _gone(function: FunctionRecord) -> dict[str, RemovedScan]:
    """Return the names of the loops that a rewrite removed."""
    found: dict[str, RemovedScan] = {}
    if function.rewrites is not None:
        for application in function.rewrites.applications:
            for path in application.cost.gone if application.cost is not None else ():
                name = _last_name(path, function)
                found[name] = RemovedScan(function.key, name, "", application.rule, application.message)
    return found


def _last_name(path: str, function: FunctionRecord) -> str:
    """Return the name of a loop from its path; a name may contain a ``/``."""
    names = function.rewrites.loops() if function.rewrites is not None else ()
    return max((name for name in names if path == name or path.endswith(f"/{name}")), key=len, default=path)


def _sources(function: FunctionRecord) -> dict[str, str]:
    """Return the lines of all loops of all versions, by name."""
    graphs = function.rewrites.graphs if function.rewrites is not None else None
    nodes = graphs.nodes if graphs is not None else ()
    return {node.loop.name: node.source for node in reversed(nodes) if node.loop is not None}

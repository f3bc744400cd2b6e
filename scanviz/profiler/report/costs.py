"""What a graph costs before and after a rewrite, in the sizes that the user named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scanviz.profiler.report.text import QUIET, TITLE, ReportLine
from scanviz.profiler.report.units import amount, quantity
from scanviz.record.loops import OperationRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.rewrites import GraphCostRecord, RewriteRecord, RewritesRecord

_MEASURES = (
    ("operations, those of a step as often as there are steps", "operations"),
    ("floating-point operations", "flops"),
    ("bytes read and written", "bytes_moved"),
    ("bytes of rows that loops keep", "buffer_bytes"),
)


def cost_lines(rewrites: RewritesRecord, entry: RewriteRecord) -> Iterator[ReportLine]:
    """Return what the graph cost before and after an application, and how many operations a step of each loop has.

    Examples
    --------
    >>> fewer = RewriteRecord(0, "loops", "r", "f.py:1", "…", cost=GraphCostRecord("2·n", per_step={"rnn": 2}))
    >>> record = RewritesRecord(cost=GraphCostRecord("3·n", per_step={"rnn": 3}), applications=(fewer,))
    >>> for line in list(cost_lines(record, fewer))[:6]:
    ...     print(line.text)
      operations of a step
        rnn: 3 → 2
      operations, those of a step as often as there are steps
        before  3·n
        after   2·n
      floating-point operations
    """
    before, after = cost_at(rewrites, entry.index), cost_at(rewrites, entry.index + 1)
    if before is None or after is None:
        yield ReportLine("  costs were not worked out", QUIET)
        return
    old, new = rewrites.steps(entry.index), rewrites.steps(entry.index + 1)
    loops = list(dict.fromkeys((*old, *new)))
    if loops:
        yield ReportLine("  operations of a step", TITLE)
    for loop in loops:
        counts = [str(counts[loop]) if loop in counts else "no loop" for counts in (old, new)]
        yield ReportLine(f"    {sanitize(loop)}: {' → '.join(dict.fromkeys(counts))}", wraps=True)
    for what, attribute in _MEASURES:
        pair = [sanitize(getattr(cost, attribute)) for cost in (before, after)]
        yield ReportLine(f"  {what}", TITLE)
        if pair[0] == pair[1]:
            yield ReportLine(f"    before and after  {pair[0]}", wraps=True)
        else:
            yield ReportLine(f"    before  {pair[0]}", wraps=True)
            yield ReportLine(f"    after   {pair[1]}", wraps=True)


def run_cost_lines(record: ProfileRecord, function: FunctionRecord) -> Iterator[ReportLine]:
    """Return what a step of each loop of a function does as it runs, and what is outside of loops: with the shapes it met last.

    Examples
    --------
    >>> from scanviz.record.loops import LoopRecord
    >>> work = OperationRecord(0, "dot(w, h)", "dot", "float64[8]", None, measures={"flops": 128.0, "bytes": 1152.0})
    >>> record = ProfileRecord(loops=(LoopRecord(0, 0, None, "rnn", None, operations=(work,)),))
    >>> for line in run_cost_lines(record, FunctionRecord(0, "f", None, "numpy")):
    ...     print(line.text)
      as it runs, with the shapes of the last call
        rnn, a step: 128 floating-point operations, 1.12 KiB read and written
    """
    rows = [
        (f"{sanitize(loop.name)}, a step", loop.operations)
        for loop in record.loops
        if loop.function == function.key
    ]
    rows.append(("outside of loops, a call", function.operations))
    told = [f"    {name}: {_work(operations)}" for name, operations in rows if _is_known(operations)]
    if told:
        yield ReportLine("  as it runs, with the shapes of the last call", TITLE)
        yield from (ReportLine(text, wraps=True) for text in told)


def _is_known(operations: Sequence[OperationRecord]) -> bool:
    return any("bytes" in operation.measures for operation in operations)


def _work(operations: Sequence[OperationRecord]) -> str:
    flops, moved = (
        sum(operation.measures.get(name, 0.0) for operation in operations) for name in ("flops", "bytes")
    )
    return f"{amount(round(flops))} floating-point operations, {quantity(moved, 'bytes')} read and written"


def cost_at(rewrites: RewritesRecord, after: int) -> GraphCostRecord | None:
    """Return what the graph costs after so many applications."""
    known = [
        application.cost for application in rewrites.applications[:after] if application.cost is not None
    ]
    return known[-1] if known else rewrites.cost


__all__ = ["cost_at", "cost_lines", "run_cost_lines"]

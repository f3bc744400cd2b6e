"""Costs of a graph before and after a rewrite, in the sizes that the user named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scanviz.profiler.report.text import QUIET, TITLE, ReportLine, wrapped
from scanviz.profiler.report.units import amount, quantity, size
from scanviz.record.costs import CostNumbersRecord, GraphCostRecord, StepNumbersRecord
from scanviz.record.graphs.rewrites import RewriteRecord, RewritesRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord

_MEASURES = (
    ("operations, those of a step as often as there are steps", "operations"),
    ("floating-point operations", "flops"),
    ("bytes read and written", "bytes_moved"),
    ("bytes of rows that loops keep", "buffer_bytes"),
)


def cost_lines(rewrites: RewritesRecord, entry: RewriteRecord) -> Iterator[ReportLine]:
    """Return the costs before and after an application, and the number of operations per step of each loop.

    Examples
    --------
    >>> fewer = RewriteRecord(0, "loops", "r", "f.py:1", "…", cost=GraphCostRecord("2·n", per_step={"rnn": 2}))
    >>> record = RewritesRecord(cost=GraphCostRecord("3·n", per_step={"rnn": 3}), applications=(fewer,))
    >>> for line in list(cost_lines(record, fewer))[:6]:
    ...     print(line.text)
      operations of a step
        loop `rnn`: 3 → 2 operations a step
      operations, those of a step as often as there are steps
        before  3·n
        after   2·n
      floating-point operations
    """
    before, after = cost_at(rewrites, entry.index), cost_at(rewrites, entry.index + 1)
    if before is None or after is None:
        yield ReportLine("  costs were not worked out", QUIET)
        return
    steps = list(step_costs(rewrites, entry.index, entry.index + 1, changed=False))
    if steps:
        yield ReportLine("  operations of a step", TITLE)
        yield from (wrapped(f"    {text}") for text in steps)
    numbers = [rewrites.numbers(k) for k in (entry.index, entry.index + 1)]
    for what, attribute in _MEASURES:
        pair = [getattr(cost, attribute) for cost in (before, after)]
        known = [getattr(number, attribute, None) for number in numbers]
        found = [
            f"{text} = {amount(number)}" if number is not None and text != str(number) else text
            for text, number in zip(pair, known, strict=True)
        ]
        yield ReportLine(f"  {what}", TITLE)
        if found[0] == found[1]:
            yield wrapped(f"    before and after  {found[0]}")
        else:
            yield wrapped(f"    before  {found[0]}")
            yield wrapped(f"    after   {found[1]}")
    yield from size_lines(rewrites, "  ")


def size_lines(rewrites: RewritesRecord, indent: str) -> Iterator[ReportLine]:
    """Return the sizes for which numbers were computed."""
    if rewrites.sizes:
        text = ", ".join(f"{name} = {amount(size)}" for name, size in rewrites.sizes.items())
        yield wrapped(f"{indent}with the sizes of the last call: {text}", QUIET)


def step_costs(rewrites: RewritesRecord, before: int, after: int, *, changed: bool = True) -> Iterator[str]:
    """Return the cost per step of each loop at two points of the rewriting, in words.

    Parameters
    ----------
    rewrites : RewritesRecord
        The rewrites.
    before, after : int
        Numbers of applications.
    changed : bool
        Whether loops whose steps cost the same are left out.

    Examples
    --------
    >>> from scanviz.record.costs import CostNumbersRecord, StepNumbersRecord
    >>> first = CostNumbersRecord(per_step={"rnn": StepNumbersRecord(3, 960, 4096)})
    >>> last = CostNumbersRecord(per_step={"rnn": StepNumbersRecord(2, 320, 4096)})
    >>> fewer = RewriteRecord(0, "loops", "r", "f.py:1", "…", cost=GraphCostRecord("2·n", per_step={"rnn": 2}, numbers=last))
    >>> record = RewritesRecord(cost=GraphCostRecord("3·n", per_step={"rnn": 3}, numbers=first), applications=(fewer,))
    >>> list(step_costs(record, 0, 1))
    ['loop `rnn`: 3 → 2 operations a step, 960 → 320 floating-point operations']
    """
    counts = rewrites.steps(before), rewrites.steps(after)
    numbers = [rewrites.numbers(k) for k in (before, after)]
    steps = [known.per_step if known is not None else {} for known in numbers]
    for loop in dict.fromkeys((*counts[0], *counts[1])):
        old, new = (count.get(loop) for count in counts)
        name = f"loop `{loop}`"
        if old is None:
            yield f"{name}: {new} operations a step, new"
        elif new is None:
            yield f"{name} ({old} operations a step) is gone"
        else:
            text = _step_change((old, new), [step.get(loop) for step in steps], changed)
            if text:
                yield f"{name}: {text}"


def _step_change(counts: tuple[int, int], steps: Sequence[StepNumbersRecord | None], changed: bool) -> str:
    """Return the cost per step before and after, with unchanged numbers left out on request."""
    text = list(_changes(*counts, "operations", amount, changed))
    if steps[0] is not None and steps[1] is not None:
        for kind, words, shown in _OF_STEP:
            old, new = (getattr(step, kind) for step in steps)
            text += _changes(old, new, words, shown, changed)
    return ", ".join([f"{text[0]} a step", *text[1:]]) if text else ""


def call_cost(before: CostNumbersRecord | None, after: CostNumbersRecord | None) -> str:
    """Return the cost of a call before and after, as far as it changed and is known.

    Examples
    --------
    >>> from scanviz.record.costs import CostNumbersRecord
    >>> call_cost(CostNumbersRecord(665, 1687233, 4096, 2048), CostNumbersRecord(312, 1687233, 1024, 2048))
    '665 → 312 operations, 4.00 KiB → 1.00 KiB read and written'
    """
    if before is None or after is None:
        return ""
    return ", ".join(
        text
        for kind, words, shown in _OF_CALL
        for text in _changes(getattr(before, kind), getattr(after, kind), words, shown)
    )


def _changes(
    old: int | None, new: int | None, words: str, shown: Callable[[int], str], changed: bool = True
) -> Iterator[str]:
    """Format a number before and after if both are known and differ as printed."""
    if old is not None and new is not None:
        texts = list(dict.fromkeys((shown(old), shown(new))))
        if len(texts) == 2 or not changed:
            yield f"{' → '.join(texts)} {words}"


_FLOPS = "floating-point operations"
_OF_STEP = (("flops", _FLOPS, amount), ("bytes_moved", "read and written", size))
_OF_CALL = (("operations", "operations", amount), *_OF_STEP, ("buffer_bytes", "rows kept", size))


def run_cost_lines(record: ProfileRecord, function: FunctionRecord) -> Iterator[ReportLine]:
    """Return the work per step of each loop and outside of loops, with the shapes of the last call.

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
        (f"{loop.name}, a step", loop.operations) for loop in record.loops if loop.function == function.key
    ]
    rows.append(("outside of loops, a call", function.operations))
    message = [f"    {name}: {_work(operations)}" for name, operations in rows if _is_known(operations)]
    if message:
        yield ReportLine("  as it runs, with the shapes of the last call", TITLE)
        yield from (wrapped(text) for text in message)


def _is_known(operations: Sequence[OperationRecord]) -> bool:
    return any("bytes" in operation.measures for operation in operations)


def _work(operations: Sequence[OperationRecord]) -> str:
    flops, moved = (
        sum(operation.measures.get(name, 0.0) for operation in operations) for name in ("flops", "bytes")
    )
    return f"{amount(round(flops))} floating-point operations, {quantity(moved, 'bytes')} read and written"


def cost_at(rewrites: RewritesRecord, after: int) -> GraphCostRecord | None:
    """Return the cost of the graph after ``after`` applications."""
    known = [
        application.cost for application in rewrites.applications[:after] if application.cost is not None
    ]
    return known[-1] if known else rewrites.cost

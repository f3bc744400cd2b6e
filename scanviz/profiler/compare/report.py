"""Render a comparison as text: the main figure, the changes by lost time, and the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scanviz.profiler.compare.comparison import CHANGES, Compared, Comparison
from scanviz.profiler.compare.figures import Kind
from scanviz.profiler.compare.intervals import ConfidenceInterval
from scanviz.profiler.report.text import (
    HEADING,
    HOT,
    NARROWEST,
    QUIET,
    TITLE,
    WARNING,
    ReportLine,
    rendered,
    table,
    table_lines,
    wrapped,
)
from scanviz.profiler.report.units import counted, duration, quantity
from scanviz.record.model import ProfileRecord

# The main figure: the change of the loop, or function, that changed most.


def headline(comparison: Comparison) -> str:
    """Return the main figure as a sentence; empty if nothing was measured in both runs.

    Examples
    --------
    >>> from scanviz.profiler.compare.comparison import compare
    >>> from scanviz.record.model import DurationRecord, FunctionRecord, ProfileRecord
    >>> def run(ns):
    ...     times = DurationRecord(9, 9 * ns, ns, ns, ns, ns, ns)
    ...     return ProfileRecord(functions=(FunctionRecord(1, "f", None, "numpy", calls=9, first_ns=ns, call_times=times),))
    >>> headline(compare(run(4_100_000), run(2_300_000)))
    'your function f is 1.8 times faster: 4.10 → 2.30 ms a call'
    """
    larger = [row for row in comparison.rows if row.figure.kind != "operation" and row.interval is not None]
    changed = [row for row in larger if row.verdict in ("slower", "faster")]
    unlike = {difference.what: difference for difference in comparison.unlike}
    functions = [row for row in changed if row.figure.kind == "function"]
    loops = [
        row
        for row in changed
        if row.figure.kind == "loop" and f"steps a run of loop {row.figure.name}" not in unlike
    ]
    alike = [row for row in loops if f"tier of loop {row.figure.name}" not in unlike]
    if changed:
        row = max(alike or functions or loops or changed, key=lambda row: abs(row.lost_ns))
        text = f"your {row.figure.kind} {_name(row)} is {_factor_of(row)} {row.verdict}: {_per(row)}"
        tier = unlike.get(f"tier of {row.figure.kind} {row.figure.name}")
        return text if tier is None else f"{text}, but by other code (A {tier.a}, B {tier.b})"
    if not larger:
        return ""
    row = max(larger, key=lambda row: (row.figure.kind == "loop", (row.b_ns or 0) * row.figure.count))
    what = f"{row.figure.kind} {_name(row)}"
    if any(change.verdict == "no verdict" for change in larger):
        return f"no verdict: {what} {_per(row)}"
    return f"no difference was found: {what} {_per(row)}; {_visible(row)}"


def _name(row: Compared) -> str:
    name = row.figure.name
    return name if len(name) <= 44 else name[:43] + "…"


def _factor_of(row: Compared) -> str:
    assert row.interval is not None
    factor = max(row.interval.ratio, 1 / row.interval.ratio)
    if factor < 1.095:
        return f"{100 * (factor - 1):.0f} %"
    return f"{factor:.1f} times" if factor < 100 else f"{factor:,.0f} times"


def _per(row: Compared) -> str:
    """Return the times of a call, or of a run of a loop."""
    steps = row.figure.a_run
    unit = "a call" if row.figure.kind == "function" else "a run"
    before, after = ((ns or 0.0) * steps for ns in (row.a_ns, row.b_ns))
    old, new = duration(before), duration(after)
    if old.split()[-1] == new.split()[-1]:
        old = old.split()[0]
    return f"{old} → {new} {unit}"


def _visible(row: Compared) -> str:
    """Return the smallest change that the interval would have shown, in words."""
    assert row.interval is not None
    reach = max(row.interval.high / row.interval.ratio, row.interval.ratio / row.interval.low)
    if reach > _HOPELESS:
        return "too noisy to tell"
    return (
        f"one of {math.ceil(100 * (reach - 1))} % would have been"
        if reach < 2
        else f"one of {reach:.1f} times would have been"
    )


BUSY = 0.10  # share of call time off the processor from which it is reported
USUAL_TOP = 12
_WORTH = 0.01  # share of the functions' time below which new and gone operations are only counted
FEW = 8  # rounds, below which only large differences show
_HOPELESS = 10  # an interval this many times wider than its ratio is useless
_STYLES = {"slower": HOT, "faster": "32", "new": TITLE, "gone": TITLE}
_PER = {"function": "a call", "loop": "a step", "operation": "each"}


def render_comparison(
    comparison: Comparison,
    *,
    width: int = 80,
    top: int = USUAL_TOP,
    color: bool = False,
    fail_over: float | None = None,
) -> str:
    """Return a comparison as text.

    Parameters
    ----------
    comparison : Comparison
        The comparison to show.
    width : int
        Columns; less than 40 counts as 40.
    top : int
        Changes that are shown, and rows of the table of what is the same.
    color : bool
        Whether to add terminal colours.
    fail_over : float, optional
        The share that was asked for with ``--fail-over``.

    Examples
    --------
    >>> from scanviz.profiler.compare.comparison import compare
    >>> run = ProfileRecord(script="rnn.py")
    >>> print(render_comparison(compare(run, run)), end="")
    rnn.py
    A: 1 run, 0 · B: 1 run, 0
    nothing to compare: no scanviz function was called
    """
    lines = [*_header(comparison), *_changes(comparison, top), *_undecided(comparison, max(40, width), top)]
    lines.extend(_same(comparison, max(40, width), top))
    lines.extend(_numbers(comparison, max(40, width), top))
    if fail_over is not None:
        lines.extend(_failures(comparison, fail_over))
    return rendered(lines, max(NARROWEST, width), color)


def render_refusal(comparison: Comparison, *, width: int = 80, color: bool = False) -> str:
    """Return the reasons not to compare two runs, and how to remove them.

    Examples
    --------
    >>> from scanviz.profiler.compare.comparison import compare
    >>> runs = [ProfileRecord(script=name) for name in ("a.py", "b.py")]
    >>> print(render_refusal(compare(*runs)), end="")
    scanviz: these runs are not alike, so their times say nothing about the code
      script: A a.py, B b.py
        profile one program, in either version
    --anyway compares them all the same
    """
    heading = "scanviz: these runs are not alike, so their times say nothing about the code"
    lines = [
        wrapped(heading, HEADING),
        *_unlike(comparison),
        wrapped("--anyway compares them all the same"),
    ]
    return rendered(lines, max(NARROWEST, width), color)


def _unlike(comparison: Comparison) -> Iterator[ReportLine]:
    for what, a, b, fix in comparison.unlike[:12]:
        yield wrapped(f"  {what}: A {a}, B {b}", WARNING)
        yield wrapped(f"    {fix}", QUIET)
    if len(comparison.unlike) > 12:
        yield ReportLine(f"  and {counted(len(comparison.unlike) - 12, 'more difference')}", WARNING)


def _header(comparison: Comparison) -> Iterator[ReportLine]:
    a, b, runs = comparison.a, comparison.b, min(comparison.runs)
    names = dict.fromkeys(" ".join([run.script, *run.arguments]).strip() or "profile" for run in (a, b))
    yield wrapped(" → ".join(names), HEADING)
    yield wrapped(f"A: {_run(a)} · B: {_run(b)}{', in turns' if comparison.rounds else ''}")
    net = headline(comparison)
    if net:
        yield wrapped(net, HEADING)
    if comparison.unlike:
        yield wrapped("not alike: these times compare more than the code", WARNING)
        yield from _unlike(comparison)
    for warning in comparison.warnings:
        yield wrapped(warning, WARNING)
    if not comparison.rows:
        yield wrapped("nothing to compare: no scanviz function was called", WARNING)
        return
    yield from _busy(comparison)
    floor = f"below {100 * comparison.floor:.0f} % counts as noise"
    if comparison.rounds and runs < FEW:
        more = f"{FEW} or more tell smaller changes (--seconds, --rounds)"
        yield wrapped(f"{counted(runs, 'round')}: {more}", QUIET)
    if runs > 1:
        yield wrapped(f"all intervals hold in 95 of 100 comparisons; {floor}", QUIET)
    else:
        yield wrapped(f"with one run on a side {floor}; runs may differ by more:", QUIET)
        yield wrapped("scanviz profile --repeat 5 shows by how much", QUIET)


def _busy(comparison: Comparison) -> Iterator[ReportLine]:
    """Yield how busy the machine was, if it mattered."""
    a, b = (share or 0.0 for share in comparison.off_processor)
    if comparison.unequally_busy:
        busy = f"calls of A and B were off the CPU {100 * a:.0f} % and {100 * b:.0f} % of their time"
        what = f"the machine was not as busy for both: {busy}; scanviz compare --run runs both in turns"
        yield wrapped(what, WARNING)
    elif max(a, b) > BUSY:
        busy = f"calls were off the CPU A {100 * a:.0f} %, B {100 * b:.0f} % of their time"
        yield wrapped(f"the machine was busy: {busy}", WARNING)


def _run(record: ProfileRecord) -> str:
    walls = [repeat.wall_ns for repeat in (record, *record.repeats)]
    a_run = " each" if len(walls) > 1 else ""
    started = f", {record.started[:16].replace('T', ' ')}" if record.started else ""
    return f"{counted(len(walls), 'run')}, {duration(sum(walls) / len(walls))}{a_run}{started}"


def _changes(comparison: Comparison, top: int) -> Iterator[ReportLine]:
    """Yield slower, faster, new and gone items, but not the parts of new and gone loops."""
    shown = [row for row in comparison.rows if row.verdict in CHANGES and not row.of_new]
    functions = (row for row in comparison.rows if not row.figure.owner)
    least = _WORTH * sum(abs(row.b_ns or 0) * row.figure.count for row in functions)
    changed = [row for row in shown if row.interval is not None or abs(row.lost_ns) >= least]
    if comparison.rows and not shown and not headline(comparison):
        some = any(row.verdict == "no verdict" for row in comparison.rows)
        nothing = "no difference that is more than noise" if some else "the same within noise everywhere"
        yield from (ReportLine(""), ReportLine(nothing, TITLE))
    for row in changed[:top]:
        yield ReportLine("")
        yield from _change(row)
    if len(changed) > top:
        more = f"{counted(len(changed) - top, 'more change')} (--top {len(changed)} shows them)"
        yield from (ReportLine(""), ReportLine(more, QUIET))
    if len(shown) > len(changed):
        small = f"{counted(len(shown) - len(changed), 'more part')} of the program new or gone"
        yield from (ReportLine(""), wrapped(f"{small}, each below 1 % of the time (--json has them)", QUIET))


def _change(row: Compared) -> Iterator[ReportLine]:
    figure, indent = row.figure, " " * 8
    yield ReportLine(f"{row.verdict:<7} {figure.kind} {_named(row)}", _STYLES[row.verdict])
    if row.was:
        yield ReportLine(f"{indent}in A: {row.was}", QUIET)
    yield wrapped(f"{indent}{_times(row)}")
    if figure.source is not None:
        yield ReportLine(f"{indent}{figure.source}: {figure.source.text}".rstrip(": "), QUIET)


def _named(row: Compared) -> str:
    inside = f" in {' > '.join(row.figure.path)}" if row.figure.path else ""
    return _name(row) + inside


def _times(row: Compared) -> str:
    per = _PER[row.figure.kind]
    lost = f"{duration(abs(row.lost_ns))} {'lost' if row.lost_ns >= 0 else 'saved'} in all"
    if row.interval is None:
        ns = row.b_ns if row.a_ns is None else row.a_ns
        return f"{'not timed' if ns is None else f'{duration(ns)} {per}'}, {lost}"
    of = " of CPU time" if row.interval.of == "cpu time" else ""
    return f"{duration(row.a_ns or 0)} → {duration(row.b_ns or 0)} {per}{of}, {_ratio(row.interval)}, {lost}"


def _ratio(found: ConfidenceInterval) -> str:
    ratio, low, high = (
        f"{value:.2f}" if value < 10 else f"{value:.0f}" if value < 1000 else "1000+" for value in found[:3]
    )
    hopeless = found.high > _HOPELESS * found.ratio
    return f"×{ratio} ({'too noisy to tell' if hopeless else f'{low} to {high}'})"


def _undecided(comparison: Comparison, width: int, top: int) -> Iterator[ReportLine]:
    """Yield a table of rows without a verdict, where runs of the same program differ too much."""
    rows = [row for row in comparison.rows if row.verdict == "no verdict"]
    if rows:
        yield from (ReportLine(""), wrapped(f"no verdict: {_counts(rows)}", WARNING))
        if not comparison.unequally_busy:
            why = "runs of one program differ too much, the machine was too busy"
            yield wrapped(f"  {why}: more rounds, or a quieter hour", QUIET)
        yield from _table(rows, width, top)


def _same(comparison: Comparison, width: int, top: int) -> Iterator[ReportLine]:
    """Yield a table of unchanged functions and loops, and the number of unchanged operations."""
    same = [row for row in comparison.rows if row.verdict == "same"]
    unmeasured = sum(row.verdict == "not measured" for row in comparison.rows)
    if same:
        yield from (ReportLine(""), wrapped(f"same within noise: {_counts(same)}", TITLE))
    yield from _table(same, width, top)
    if unmeasured:
        yield ReportLine(f"not measured in both: {unmeasured}", QUIET)


def _counts(rows: list[Compared]) -> str:
    kinds: tuple[Kind, ...] = ("function", "loop", "operation")
    return ", ".join(counted(sum(row.figure.kind == kind for row in rows), kind) for kind in kinds)


def _table(rows: list[Compared], width: int, top: int) -> Iterator[ReportLine]:
    """Yield the times of functions and loops in some rows."""
    larger = [row for row in rows if row.figure.kind != "operation" and row.interval is not None]
    larger.sort(key=lambda row: -(row.b_ns or 0) * row.figure.count)
    cells = [
        [
            f"  {row.figure.kind} {_named(row)}",
            duration(row.a_ns or 0),
            duration(row.b_ns or 0),
            _ratio(row.interval),
        ]
        for row in larger[:top]
        if row.interval is not None
    ]
    yield from map(ReportLine, table(cells, 1, width))
    if len(larger) > top:
        yield ReportLine(f"  and {len(larger) - top} more (--top {len(larger)} shows them)", QUIET)


def _numbers(comparison: Comparison, width: int, top: int) -> Iterator[ReportLine]:
    """Yield a table of sizes and counts that differ."""
    rows = [["  sizes and counts that differ", "A", "B"]]
    for number in comparison.numbers[:top]:
        values = ["–" if one is None else quantity(one, number.measure.unit) for one in (number.a, number.b)]
        rows.append([f"  loop {number.loop.name}: {number.measure.title}", *values])
    if len(rows) > 1:
        yield from (ReportLine(""), *table_lines(rows, 1, width, style=TITLE))
    if len(comparison.numbers) > top:
        yield ReportLine(f"  and {len(comparison.numbers) - top} more (--json has them)", QUIET)


def _failures(comparison: Comparison, fail_over: float) -> Iterator[ReportLine]:
    failed = comparison.slower_than(fail_over)
    asked = f"{100 * fail_over:.6g} %, noise allowed for"
    yield ReportLine("")
    if not failed:
        yield wrapped(f"passes: nothing is slower by more than {asked}")
        return
    names = ", ".join(f"{row.figure.kind} {_named(row)}" for row in failed[:4])
    more = f" and {len(failed) - 4} more" if len(failed) > 4 else ""
    yield wrapped(f"fails: slower by more than {asked}: {names}{more}", HOT)

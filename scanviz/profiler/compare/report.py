"""A comparison as text: the net figure, what changed, time lost first, then what stayed the same within noise."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scanviz.profiler.compare.comparison import CHANGES, Compared, Comparison
from scanviz.profiler.compare.figures import Kind
from scanviz.profiler.report.text import HEADING, HOT, QUIET, TITLE, WARNING, ReportLine, styled, table
from scanviz.profiler.report.units import counted, duration, quantity
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize

# The net figure of a comparison: by how much the loop that changed most, or the function, is faster or slower.


def headline(comparison: Comparison) -> str:
    """Return the net figure as a sentence; empty where nothing was measured in both.

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
    unlike = {difference.what for difference in comparison.unlike}
    loops = [
        row
        for row in changed
        if row.figure.kind == "loop" and f"steps a run of loop {row.figure.name}" not in unlike
    ]
    if changed:
        row = max(loops or changed, key=lambda row: abs(row.lost_ns))
        return f"your {row.figure.kind} {_name(row)} is {_factor_of(row)} {row.verdict}: {_per(row)}"
    if not larger:
        return ""
    row = max(larger, key=lambda row: (row.figure.kind == "loop", (row.b_ns or 0) * row.figure.count))
    what = f"{row.figure.kind} {_name(row)}"
    if any(change.verdict == "no verdict" for change in larger):
        return f"no verdict: {what} {_per(row)}"
    return f"no difference was found: {what} {_per(row)}; one of {_visible(row)} would have been"


def _name(row: Compared) -> str:
    name = sanitize(row.figure.name)
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
    """Return the change that the interval would have told from none."""
    assert row.interval is not None
    reach = max(row.interval.high / row.interval.ratio, row.interval.ratio / row.interval.low)
    return f"{math.ceil(100 * (reach - 1))} %" if reach < 2 else f"{reach:.1f} times"


NARROWEST = 40
BUSY = 0.10  # of the time of calls: that much off the processor is worth a word
USUAL_TOP = 12
_WORTH = 0.01  # of the functions' time: an operation that is new or gone with less is only counted
FEW = 8  # rounds: with less, only a large difference stands out
_HOPELESS = 10  # an interval that reaches so many times its ratio says nothing
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
        What to show.
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
    return "".join(styled(line, max(NARROWEST, width), color) + "\n" for line in lines)


def render_refusal(comparison: Comparison, *, width: int = 80, color: bool = False) -> str:
    """Return why two runs are not compared, and how to make them alike.

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
    lines = [
        ReportLine(
            "scanviz: these runs are not alike, so their times say nothing about the code", HEADING, True
        )
    ]
    lines.extend(_unlike(comparison))
    lines.append(ReportLine("--anyway compares them all the same", "", True))
    return "".join(styled(line, max(NARROWEST, width), color) + "\n" for line in lines)


def _unlike(comparison: Comparison) -> Iterator[ReportLine]:
    for difference in comparison.unlike[:12]:
        what, a, b, fix = map(sanitize, difference)
        yield ReportLine(f"  {what}: A {a}, B {b}", WARNING, wraps=True)
        yield ReportLine(f"    {fix}", QUIET, wraps=True)
    if len(comparison.unlike) > 12:
        yield ReportLine(f"  and {counted(len(comparison.unlike) - 12, 'more difference')}", WARNING)


def _header(comparison: Comparison) -> Iterator[ReportLine]:
    a, b = comparison.a, comparison.b
    names = dict.fromkeys(
        sanitize(" ".join([run.script, *run.arguments]).strip() or "profile") for run in (a, b)
    )
    yield ReportLine(" → ".join(names), HEADING, wraps=True)
    yield ReportLine(f"A: {_run(a)} · B: {_run(b)}{', in turns' if comparison.rounds else ''}", wraps=True)
    net = headline(comparison)
    if net:
        yield ReportLine(net, HEADING, wraps=True)
    if comparison.unlike:
        yield ReportLine("not alike: these times compare more than the code", WARNING, wraps=True)
        yield from _unlike(comparison)
    for warning in comparison.warnings:
        yield ReportLine(sanitize(warning), WARNING, wraps=True)
    if not comparison.rows:
        yield ReportLine("nothing to compare: no scanviz function was called", WARNING)
        return
    yield from _busy(comparison)
    floor = f"below {100 * comparison.floor:.0f} % counts as noise"
    if comparison.rounds and min(comparison.runs) < FEW:
        told = f"{counted(min(comparison.runs), 'round')}: {FEW} or more tell smaller changes (--seconds, --rounds)"
        yield ReportLine(told, QUIET, wraps=True)
    if min(comparison.runs) > 1:
        yield ReportLine(f"intervals hold, all at once, in 95 of 100 comparisons; {floor}", QUIET, wraps=True)
        return
    yield ReportLine(f"with one run on a side {floor}; runs may differ by more:", QUIET, wraps=True)
    yield ReportLine("scanviz profile --repeat 5 shows by how much", QUIET, wraps=True)


def _busy(comparison: Comparison) -> Iterator[ReportLine]:
    """Yield how busy the machine was, where that is worth a word or leaves no verdict."""
    off = comparison.off_processor
    if comparison.unequally_busy:
        shares = " and ".join(f"{100 * share:.0f} %" for share in off if share is not None)
        told = (
            f"the machine was not as busy for both: calls of A and B were off the CPU {shares} of their time"
        )
        yield ReportLine(f"{told}; scanviz compare --run runs both in turns", WARNING, wraps=True)
    elif max(share or 0.0 for share in off) > BUSY:
        shares = ", ".join(
            f"{name} {100 * (share or 0):.0f} %" for name, share in zip("AB", off, strict=True)
        )
        yield ReportLine(
            f"the machine was busy: calls were off the CPU {shares} of their time", WARNING, wraps=True
        )


def _run(record: ProfileRecord) -> str:
    walls = [repeat.wall_ns for repeat in (record, *record.repeats)]
    parts = [
        counted(len(walls), "run"),
        duration(sum(walls) / len(walls)) + (" each" if len(walls) > 1 else ""),
    ]
    return ", ".join([*parts, *([sanitize(record.started[:16].replace("T", " "))] if record.started else [])])


def _changes(comparison: Comparison, top: int) -> Iterator[ReportLine]:
    """Yield what is slower, faster, new or gone; what is inside of something new or gone goes without saying."""
    told = [row for row in comparison.rows if row.verdict in CHANGES and not row.of_new]
    least = _WORTH * sum(
        abs(row.b_ns or 0) * row.figure.count for row in comparison.rows if not row.figure.owner
    )
    changed = [
        compared for compared in told if compared.interval is not None or abs(compared.lost_ns) >= least
    ]
    small = len(told) - len(changed)
    if comparison.rows and not told and not headline(comparison):
        some = any(row.verdict == "no verdict" for row in comparison.rows)
        yield ReportLine("")
        yield ReportLine(
            "no difference that is more than noise" if some else "the same within noise everywhere", TITLE
        )
    for compared in changed[:top]:
        yield ReportLine("")
        yield from _change(compared)
    if len(changed) > top:
        yield ReportLine("")
        yield ReportLine(
            f"{counted(len(changed) - top, 'more change')} (--top {len(changed)} shows them)", QUIET
        )
    if small:
        yield ReportLine("")
        what = f"{counted(small, 'more part')} of the program new or gone, each below 1 % of the time (--json has them)"
        yield ReportLine(what, QUIET, wraps=True)


def _change(row: Compared) -> Iterator[ReportLine]:
    figure = row.figure
    yield ReportLine(f"{row.verdict:<7} {figure.kind} {_named(row)}", _STYLES[row.verdict], wraps=False)
    if row.was:
        yield ReportLine(f"        in A: {sanitize(row.was)}", QUIET)
    yield ReportLine(f"        {_times(row)}", wraps=True)
    if figure.source is not None:
        yield ReportLine(
            f"        {sanitize(str(figure.source))}: {sanitize(figure.source.text)}".rstrip(": "), QUIET
        )


def _named(row: Compared) -> str:
    inside = f" in {sanitize(' > '.join(row.figure.path))}" if row.figure.path else ""
    name = sanitize(row.figure.name)
    return f"{name if len(name) <= 44 else name[:43] + '…'}{inside}"


def _times(row: Compared) -> str:
    per = _PER[row.figure.kind]
    if row.interval is None:
        ns = row.b_ns if row.a_ns is None else row.a_ns
        return f"{'not timed' if ns is None else duration(ns) + ' ' + per}, {_lost(row.lost_ns)}"
    times = f"{duration(row.a_ns or 0)} → {duration(row.b_ns or 0)} {per}"
    of = " of CPU time" if row.interval.of == "cpu time" else ""
    return f"{times}{of}, {_ratio(row)}, {_lost(row.lost_ns)}"


def _ratio(row: Compared) -> str:
    assert row.interval is not None
    low, high = (_factor(number) for number in (row.interval.low, row.interval.high))
    if row.interval.high > _HOPELESS * row.interval.ratio:
        return f"×{_factor(row.interval.ratio)} (too noisy to tell)"
    return f"×{_factor(row.interval.ratio)} ({low} to {high})"


def _factor(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}" if value < 1000 else "1000+"


def _lost(ns: float) -> str:
    return f"{duration(abs(ns))} {'lost' if ns >= 0 else 'saved'} in all"


def _undecided(comparison: Comparison, width: int, top: int) -> Iterator[ReportLine]:
    """Yield a table of what got no verdict, for runs of the same program differ too much."""
    rows = [row for row in comparison.rows if row.verdict == "no verdict"]
    if not rows:
        return
    yield ReportLine("")
    yield ReportLine(f"no verdict: {_counts(rows)}", WARNING, wraps=True)
    if not comparison.unequally_busy:
        told = "runs of one program differ too much, the machine was too busy: more rounds, or a quieter hour"
        yield ReportLine(f"  {told}", QUIET, wraps=True)
    yield from _table(rows, width, top)


def _same(comparison: Comparison, width: int, top: int) -> Iterator[ReportLine]:
    """Yield a table of functions and loops that are the same, and how many operations are."""
    same = [row for row in comparison.rows if row.verdict == "same"]
    unmeasured = sum(row.verdict == "not measured" for row in comparison.rows)
    if same:
        yield ReportLine("")
        yield ReportLine(f"same within noise: {_counts(same)}", TITLE, wraps=True)
    yield from _table(same, width, top)
    if unmeasured:
        yield ReportLine(f"not measured in both: {unmeasured}", QUIET)


def _counts(rows: list[Compared]) -> str:
    kinds: tuple[Kind, ...] = ("function", "loop", "operation")
    return ", ".join(counted(sum(row.figure.kind == kind for row in rows), kind) for kind in kinds)


def _table(rows: list[Compared], width: int, top: int) -> Iterator[ReportLine]:
    """Yield the functions and loops among some rows, with their times."""
    larger = [row for row in rows if row.figure.kind != "operation"]
    larger.sort(key=lambda row: -(row.b_ns or 0) * row.figure.count)
    cells = [
        [
            f"  {row.figure.kind} {_named(row)}",
            duration(row.a_ns or 0),
            duration(row.b_ns or 0),
            _ratio(row),
        ]
        for row in larger[:top]
    ]
    yield from (ReportLine(text) for text in table(cells, 1, width))
    if len(larger) > top:
        yield ReportLine(f"  and {len(larger) - top} more (--top {len(larger)} shows them)", QUIET)


def _numbers(comparison: Comparison, width: int, top: int) -> Iterator[ReportLine]:
    """Yield a table of sizes and counts that differ."""
    rows = [["  sizes and counts that differ", "A", "B"]]
    for number in comparison.numbers[:top]:
        values = ["–" if one is None else quantity(one, number.measure.unit) for one in (number.a, number.b)]
        rows.append([f"  loop {sanitize(number.loop.name)}: {number.measure.title}", *values])
    if len(rows) > 1:
        heading, *others = table(rows, 1, width)
        yield from (ReportLine(""), ReportLine(heading, TITLE), *map(ReportLine, others))
    if len(comparison.numbers) > top:
        yield ReportLine(f"  and {len(comparison.numbers) - top} more (--json has them)", QUIET)


def _failures(comparison: Comparison, fail_over: float) -> Iterator[ReportLine]:
    failed = comparison.slower_than(fail_over)
    asked = f"{100 * fail_over:.6g} %"
    yield ReportLine("")
    if not failed:
        yield ReportLine(f"passes: nothing is slower by more than {asked}, noise allowed for", wraps=True)
        return
    names = ", ".join(f"{compared.figure.kind} {_named(compared)}" for compared in failed[:4])
    more = f" and {len(failed) - 4} more" if len(failed) > 4 else ""
    yield ReportLine(f"fails: slower by more than {asked}, noise allowed for: {names}{more}", HOT, wraps=True)

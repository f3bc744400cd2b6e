"""The rewrites of functions as text: the list, one change line by line, and why a rule did not fire.

It reads records and nothing else; text from scripts is made harmless first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scanviz.profiler.report.costs import call_cost, cost_lines, run_cost_lines, size_lines, step_costs
from scanviz.profiler.report.diff import marked, side_by_side
from scanviz.profiler.report.text import HEADING, QUIET, TITLE, WARNING, ReportLine, styled, wrapped
from scanviz.profiler.report.units import duration
from scanviz.profiler.report.why import why_lines
from scanviz.record.graphs.rewrites import RefusalRecord, RewriteRecord, RewritesRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.names import functions_called
from scanviz.record.plain_text import sanitize

LONGEST = 100  # characters of a cost in the list; --step shows it whole
FEW = 3  # rewrites of one rule or loop that are shown line by line without being asked for by number
MORE = "--step N shows one rewrite line by line; --why NAME tells where something comes from; more: --help"


class RewritesOptions(NamedTuple):
    """Options of the view of rewrites.

    Attributes
    ----------
    function, scan, rule : str or None
        Only these.
    step : int or None
        The change to show line by line.
    style : str
        ``"unified"``, ``"side-by-side"``, ``"tree"`` or ``"costs"``; empty for the default.
    everything : bool
        Whether rules that refused are listed too.
    why : str or None
        A name, or a line of the script.
    why_not : str or None
        A rule.
    """

    function: str | None = None
    scan: str | None = None
    rule: str | None = None
    step: int | None = None
    style: str = ""
    everything: bool = False
    why: str | None = None
    why_not: str | None = None


def render_rewrites(
    record: ProfileRecord, view: RewritesOptions | None = None, *, width: int = 100, color: bool = False
) -> str:
    """Return the rewrites of the functions of a run, as text.

    Parameters
    ----------
    record : ProfileRecord
        The profile to show.
    view : RewritesOptions
        The selection.
    width : int
        Columns.
    color : bool
        Whether to add terminal colours.

    Examples
    --------
    >>> print(render_rewrites(ProfileRecord()), end="")
    no function's rewrites were recorded
    """
    asked = view if view is not None else RewritesOptions()
    lines: list[ReportLine] = []
    functions = [function for function in chosen(record, asked) if function.rewrites is not None]
    if asked.step is not None:  # functions with this rewrite; all, if there is none
        functions = [function for function in functions if _has_step(function, asked.step)] or functions
    for function in functions:
        if function.rewrites is not None:
            lines += [
                *([ReportLine("")] if lines else []),
                *_function_lines(function, function.rewrites, asked, width),
                *(run_cost_lines(record, function) if asked.style == "costs" else ()),
            ]
    if lines and (asked.step, asked.rule, asked.scan, asked.why, asked.why_not) == (None,) * 5:
        lines += [ReportLine(""), wrapped(MORE, QUIET)]
    if not lines:
        what = (
            f"no function named {sanitize(asked.function)!r}" if asked.function else "no function's rewrites"
        )
        lines = [ReportLine(f"{what} {'were' if not asked.function else 'was'} recorded", WARNING)]
    return "\n".join(styled(line, width, color) for line in lines) + "\n"


def _has_step(function: FunctionRecord, step: int) -> bool:
    return function.rewrites is not None and any(
        application.index == step for application in function.rewrites.applications
    )


def chosen(record: ProfileRecord, view: RewritesOptions) -> list[FunctionRecord]:
    """Return the selected functions, slowest first."""
    found = list(record.functions) if view.function is None else functions_called(record, view.function)
    return sorted(found, key=lambda function: -function.total_ns)


def _function_lines(
    function: FunctionRecord, rewrites: RewritesRecord, view: RewritesOptions, width: int
) -> Iterator[ReportLine]:
    count = len(rewrites.applications)
    yield ReportLine(f"{function.name}: {_summary(function, rewrites)}", TITLE)
    if view.why is not None:
        yield from why_lines(rewrites, view.why)
    elif view.why_not is not None:
        yield from why_not_lines(rewrites, view)
    elif view.step is not None:
        found = [application for application in rewrites.applications if application.index == view.step]
        if not found:
            yield ReportLine(f"  there is no rewrite {view.step}: {_numbers(count)}", WARNING)
        for rewrite in found:
            yield from step_lines(rewrites, rewrite, view, width)
    else:
        yield from _list_or_steps(rewrites, view, width)


def _summary(function: FunctionRecord, rewrites: RewritesRecord) -> str:
    """Return a one-line summary of the rewrites of a function."""
    count, rules = (
        len(rewrites.applications),
        len({application.rule for application in rewrites.applications}),
    )
    text = f"{_some(count, 'rewrite')} by {_some(rules, 'rule')}" if count else "no rewrites"
    chosen_rules = "" if rewrites.selection == "all" else f", of {rewrites.selection}"
    spent = (
        f", {duration(sum(application.time_ns for application in rewrites.applications))}" if count else ""
    )
    called = "" if function.calls or function.errors or function.running else ", never called"
    return text + chosen_rules + spent + called


def _list_or_steps(rewrites: RewritesRecord, view: RewritesOptions, width: int) -> Iterator[ReportLine]:
    """Return the list of rewrites, or each one line by line where few are selected."""
    narrow = applications_of(rewrites, view) if view.rule or view.scan else []
    if not narrow or not (len(narrow) <= FEW or view.style):
        yield from _list(rewrites, view)
        return
    for k, rewrite in enumerate(narrow):
        yield from [ReportLine("")] if k else []
        yield from step_lines(rewrites, rewrite, view, width)
    if view.everything:
        yield from _refused(rewrites)


def _numbers(count: int) -> str:
    return f"there are 0 to {count - 1}" if count else "there are none"


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def applications_of(rewrites: RewritesRecord, view: RewritesOptions) -> list[RewriteRecord]:
    """Return the selected applications."""
    found = [application for application in rewrites.applications if view.rule in (None, application.rule)]
    return found if view.scan is None else [rewrite for rewrite in found if _concerns(rewrite, view.scan)]


def _concerns(entry: RewriteRecord, scan: str) -> bool:
    """Return whether an application concerns a loop: by its message, its match or a change of its step."""
    message = (entry.message, *entry.loop_variables, *entry.moved_out, *entry.moved_in)
    paths = [*entry.loops, *((*entry.cost.per_step, *entry.cost.gone) if entry.cost is not None else ())]
    return any(f"`{scan}`" in text for text in message) or any(_is_in(scan, path) for path in paths)


def _is_in(scan: str, path: str) -> bool:
    """Return whether a path contains a loop; names of loops may contain a ``/``."""
    return f"/{scan}/" in f"/{path}/"


def _list(rewrites: RewritesRecord, view: RewritesOptions) -> Iterator[ReportLine]:
    listed = applications_of(rewrites, view)
    phase = ""
    for rewrite in listed:
        if rewrite.phase != phase:
            phase = rewrite.phase
            yield ReportLine(f"  {phase}", QUIET)
        yield ReportLine(
            f"  {rewrite.index:>3}  {rewrite.rule}{_nodes(rewrite)}  {duration(rewrite.time_ns)}", HEADING
        )
        yield wrapped(f"       {rewrite.message}")
        effect = rewrites.effect(rewrite.rule)
        if effect is not None:
            yield wrapped(f"       {effect.words()}", QUIET)
        for text in _cost_change(rewrites, rewrite, LONGEST):
            yield wrapped(f"       {text}", QUIET)
        for text in rewrite.loop_variables[:4]:
            yield wrapped(f"       {text}", QUIET)
    if not listed and rewrites.applications:
        yield ReportLine("  nothing of that was done", WARNING)
    if view.rule is None and view.scan is None:
        yield from _in_all(rewrites)
    if view.everything:
        yield from _refused(rewrites)


def _in_all(rewrites: RewritesRecord) -> Iterator[ReportLine]:
    """Return the change of cost by all applications together."""
    for text in step_costs(rewrites, 0, len(rewrites.applications)):
        yield wrapped(f"  in all: {text}", HEADING)
    in_numbers = call_cost(rewrites.numbers(0), rewrites.numbers(len(rewrites.applications)))
    if in_numbers:
        yield wrapped(f"  in all: a call: {in_numbers}", HEADING)
        yield from size_lines(rewrites, "          ")


def _nodes(entry: RewriteRecord) -> str:
    """Return the counts of removed, added and moved operations."""
    parts = [f"-{entry.removed} +{entry.added} operations"] if entry.removed or entry.added else []
    parts += [f"{len(entry.moved_out)} moved out"] if entry.moved_out else []
    parts += [f"{len(entry.moved_in)} moved in"] if entry.moved_in else []
    return f"  {', '.join(parts)}" if parts else ""


def _moved(entry: RewriteRecord) -> Iterator[str]:
    """Return the operations moved out of loops or into them."""
    if entry.moved_out:
        yield f"moved out: {', '.join(entry.moved_out)}"
    if entry.moved_in:
        yield f"moved in: {', '.join(entry.moved_in)}"


def _cost_change(rewrites: RewritesRecord, entry: RewriteRecord, longest: int | None = None) -> Iterator[str]:
    """Return the change of cost by an application, in numbers where known, and in named sizes.

    With limited room, named sizes appear only where numbers are unknown, and long sums are cut after their first terms.
    """
    if entry.cost is None or entry.difference is None:
        return
    yield from step_costs(rewrites, entry.index, entry.index + 1)
    before, after = (rewrites.numbers(k) for k in (entry.index, entry.index + 1))
    in_numbers = call_cost(before, after)
    if in_numbers:
        yield f"a call: {in_numbers}"
    kinds = (
        ("operations", "operations"),
        ("floating-point operations", "flops"),
        ("bytes of rows kept", "buffer_bytes"),
    )
    for what, kind in kinds:
        difference = getattr(entry.difference, kind)
        if difference != "0" and (longest is None or getattr(after, kind, None) is None):
            sign = "" if difference.startswith("-") else "+"
            yield f"{what}: {sign}{shortened(difference, longest)}"


def shortened(text: str, longest: int | None) -> str:
    """Return the first terms of a sum that fit the width; at least one.

    Examples
    --------
    >>> shortened("n·maximum(m - 1, 0) - n + 3", 20), shortened("n - 1", 20)
    ('n·maximum(m - 1, 0) …', 'n - 1')
    """
    if longest is None or len(text) <= longest:
        return text
    depth, end = 0, 0
    for k, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if depth == 0 and text[k : k + 3] in (" + ", " - "):
            if end and k > longest:
                break
            end = k
    return f"{text[:end]} …" if end else text


def _refused(rewrites: RewritesRecord) -> Iterator[ReportLine]:
    counts: dict[str, int] = {}
    for refusal in rewrites.refusals:
        counts[refusal.rule] = counts.get(refusal.rule, 0) + 1
    if counts:
        yield ReportLine("  refused", QUIET)
    for rule, count in sorted(counts.items()):
        where = "place" if count == 1 else "places"
        yield wrapped(f"       {rule}: at {count} {where}  (--why-not {rule})")


def refusals_of(rewrites: RewritesRecord, scan: str | None) -> list[RefusalRecord]:
    """Return refusals at a loop or in its step, or all."""
    return [
        refusal
        for refusal in rewrites.refusals
        if scan is None or _is_in(scan, refusal.loop) or f"`{scan}`" in refusal.node
    ]


def why_not_lines(rewrites: RewritesRecord, view: RewritesOptions) -> Iterator[ReportLine]:
    """Return where and why a rule did not fire."""
    found = [refusal for refusal in refusals_of(rewrites, view.scan) if refusal.rule == view.why_not]
    times = sum(application.rule == view.why_not for application in rewrites.applications)
    if times:
        often = "once" if times == 1 else f"{times} times"
        yield ReportLine(f"  {view.why_not} was applied {often}; where it was not:", QUIET)
    elif found:
        yield ReportLine(f"  {view.why_not} was not applied:", QUIET)
    for refusal in found:
        place = f" ({refusal.source})" if refusal.source else ""
        inside = f" in the step of `{refusal.loop}`" if refusal.loop else ""
        yield wrapped(f"  {refusal.node}{inside}{place}", HEADING)
        yield wrapped(f"       {refusal.why}")
    if not found:
        yield ReportLine(
            f"  {view.why_not} was nowhere refused: there was nothing that it is meant for", QUIET
        )


def step_lines(
    rewrites: RewritesRecord, entry: RewriteRecord, view: RewritesOptions, width: int
) -> Iterator[ReportLine]:
    """Return one application: its message, its change of cost, and the graph before and after."""
    spent = duration(entry.time_ns)
    heading = f"  {entry.index}  {entry.rule}{_nodes(entry)}  {spent}  ({entry.phase}, {entry.where})"
    yield wrapped(heading, HEADING)
    yield wrapped(f"     {entry.message}")
    effect = rewrites.effect(entry.rule)
    if effect is not None:
        yield wrapped(f"     {effect.words()}", QUIET)
    for text in (*_cost_change(rewrites, entry), *map(sanitize, (*_moved(entry), *entry.loop_variables))):
        yield wrapped(f"     {text}", QUIET)
    yield ReportLine("")
    if view.style == "costs":
        yield from cost_lines(rewrites, entry)
        return
    before, after = ([sanitize(line) for line in rewrites.lines(k)] for k in (entry.index, entry.index + 1))
    if not rewrites.has_versions:
        yield wrapped("  only the list was kept of this function: its graphs were too large", QUIET)
    elif before == after:
        yield ReportLine("  the graph stays; the program changes", QUIET)
    elif view.style == "side-by-side":
        yield from side_by_side(before, after, width)
    else:
        yield from marked(before, after, whole=view.style == "tree")

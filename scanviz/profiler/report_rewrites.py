"""What rules did to functions, as text: the list, one change line by line, why a line is there and why a rule did not fire.

It reads records and nothing else; text from scripts is made harmless first.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scanviz.profiler.report_text import HEADING, HOT, QUIET, TITLE, WARNING, Line, clipped, columns, styled
from scanviz.profiler.units import duration
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.plain_text import plain
from scanviz.record.rewrites import OriginRecord, RewriteRecord, RewritesRecord

ADDED, GONE = "32", HOT
CONTEXT = 2  # unchanged lines around a change
DEEPEST = 40  # links of a chain that are followed


class RewritesView(NamedTuple):
    """What is asked for.

    Attributes
    ----------
    function, scan, rule : str or None
        Only these.
    step : int or None
        The change to show line by line.
    style : str
        ``"unified"``, ``"side-by-side"`` or ``"tree"``.
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
    style: str = "unified"
    everything: bool = False
    why: str | None = None
    why_not: str | None = None


def render_rewrites(
    record: ProfileRecord, view: RewritesView | None = None, *, width: int = 100, color: bool = False
) -> str:
    """Return what rules did to the functions of a run, as text.

    Parameters
    ----------
    record : ProfileRecord
        What to show.
    view : RewritesView
        What of it.
    width : int
        Columns.
    color : bool
        Whether to add terminal colours.

    Examples
    --------
    >>> print(render_rewrites(ProfileRecord()), end="")
    no function's rewrites were recorded
    """
    asked = view if view is not None else RewritesView()
    lines: list[Line] = []
    functions = [each for each in chosen(record, asked) if each.rewrites is not None]
    if asked.step is not None:  # functions that were rewritten so often; all, to say so, where none was
        functions = [each for each in functions if _has_step(each, asked.step)] or functions
    for function in functions:
        if function.rewrites is not None:
            lines += [
                *([Line("")] if lines else []),
                *_function_lines(function, function.rewrites, asked, width),
            ]
    if not lines:
        what = f"no function named {plain(asked.function)!r}" if asked.function else "no function's rewrites"
        lines = [Line(f"{what} {'were' if not asked.function else 'was'} recorded", WARNING)]
    return "\n".join(styled(each, width, color) for each in lines) + "\n"


def _has_step(function: FunctionRecord, step: int) -> bool:
    return function.rewrites is not None and any(
        each.index == step for each in function.rewrites.applications
    )


def chosen(record: ProfileRecord, view: RewritesView) -> list[FunctionRecord]:
    """Return the functions that are asked for, those that took most time first."""
    found = [each for each in record.functions if view.function in (None, each.name)]
    return sorted(found, key=lambda each: -each.total_ns)


def _function_lines(
    function: FunctionRecord, rewrites: RewritesRecord, view: RewritesView, width: int
) -> Iterator[Line]:
    spent = duration(sum(each.time_ns for each in rewrites.applications))
    count = len(rewrites.applications)
    chosen_rules = "" if rewrites.selection == "all" else f", of {plain(rewrites.selection)}"
    rules = len({each.rule for each in rewrites.applications})
    told = f"{_some(count, 'rewrite')} by {_some(rules, 'rule')}{chosen_rules}"
    yield Line(f"{plain(function.name)}: {told}, {spent}", TITLE)
    if view.why is not None:
        yield from _why(rewrites, view.why)
    elif view.why_not is not None:
        yield from _why_not(rewrites, view)
    elif view.step is not None:
        yield from _step(rewrites, view, width)
    else:
        yield from _list(rewrites, view)


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def applications_of(rewrites: RewritesRecord, view: RewritesView) -> list[RewriteRecord]:
    """Return the applications that a view asks for."""
    found = [each for each in rewrites.applications if view.rule in (None, each.rule)]
    if view.scan is None:
        return found
    return [
        each
        for each in found
        if f"`{view.scan}`" in each.says or any(view.scan in loop.split("/") for loop in each.loops)
    ]


def _list(rewrites: RewritesRecord, view: RewritesView) -> Iterator[Line]:
    listed = applications_of(rewrites, view)
    phase = ""
    for each in listed:
        if each.phase != phase:
            phase = each.phase
            yield Line(f"  {phase}", QUIET)
        nodes = f"  -{each.removed} +{each.added} operations" if each.removed or each.added else ""
        yield Line(f"  {each.index:>3}  {each.rule}{nodes}  {duration(each.time_ns)}", HEADING)
        yield Line(f"       {plain(each.says)}", wraps=True)
        for text in _bought(rewrites, each):
            yield Line(f"       {text}", QUIET, wraps=True)
        for text in each.loop_variables[:4]:
            yield Line(f"       {plain(text)}", QUIET, wraps=True)
    if not listed:
        yield Line("  nothing of that was done", WARNING)
    if view.rule is None and view.scan is None:
        for text in _steps(rewrites.steps(0), rewrites.steps(len(rewrites.applications))):
            yield Line(f"  in all: {text}", HEADING, wraps=True)
    if view.everything:
        yield from _refused(rewrites)


def _bought(rewrites: RewritesRecord, each: RewriteRecord) -> Iterator[str]:
    """Return what an application changed in the cost, in words."""
    if each.cost is None or each.difference is None:
        return
    if each.cost.per_step or each.cost.gone:
        yield from _steps(rewrites.steps(each.index), rewrites.steps(each.index + 1))
    pairs = (
        ("operations", each.difference.operations),
        ("floating-point operations", each.difference.flops),
        ("bytes of rows kept", each.difference.buffer_bytes),
    )
    for what, difference in pairs:
        if difference != "0":
            sign = "" if difference.startswith("-") else "+"
            yield f"{what}: {sign}{plain(difference)}"


def _steps(before: dict[str, int], after: dict[str, int]) -> Iterator[str]:
    """Return how many operations a step of each loop has, where that changed."""
    for loop in dict.fromkeys((*before, *after)):
        old, new = before.get(loop), after.get(loop)
        if old == new:
            continue
        if old is None:
            yield f"loop `{plain(loop)}`: {new} operations a step, new"
        elif new is None:
            yield f"loop `{plain(loop)}` ({old} operations a step) is gone"
        else:
            yield f"loop `{plain(loop)}`: {old} → {new} operations a step"


def _refused(rewrites: RewritesRecord) -> Iterator[Line]:
    counts: dict[str, int] = {}
    for each in rewrites.refusals:
        counts[each.rule] = counts.get(each.rule, 0) + 1
    yield Line("  refused", QUIET)
    for rule, count in sorted(counts.items()):
        yield Line(f"       {rule}: at {count} {'place' if count == 1 else 'places'}  (--why-not {rule})")


def _why_not(rewrites: RewritesRecord, view: RewritesView) -> Iterator[Line]:
    found = [each for each in rewrites.refusals if each.rule == view.why_not]
    if view.scan is not None:
        found = [each for each in found if view.scan in each.loop.split("/") or f"`{view.scan}`" in each.node]
    if any(each.rule == view.why_not for each in rewrites.applications):
        times = sum(each.rule == view.why_not for each in rewrites.applications)
        yield Line(f"  {view.why_not} was applied {times} times; where it was not:", QUIET)
    for each in found:
        place = f" ({plain(each.source)})" if each.source else ""
        inside = f" in the step of `{plain(each.loop)}`" if each.loop else ""
        yield Line(f"  {plain(each.node)}{inside}{place}", HEADING, wraps=True)
        yield Line(f"       {plain(each.why)}", wraps=True)
    if not found:
        yield Line(f"  {view.why_not} was nowhere refused: there was nothing that it is meant for", QUIET)


def _why(rewrites: RewritesRecord, asked: str) -> Iterator[Line]:
    known = {each.name: each for each in rewrites.origins}
    found = [
        each for each in rewrites.origins if asked in (each.name, _line_number(each.source), each.source)
    ]
    last = _names_in(rewrites.graph(len(rewrites.applications)))
    found = [each for each in found if each.name in last] or found
    if not found:
        close = difflib.get_close_matches(asked, known, 3)
        hint = f"; there is {', '.join(map(plain, close))}" if close else ""
        yield Line(
            f"  nothing is called {plain(asked)!r}, and nothing was made on such a line{hint}", WARNING
        )
    for each in found:
        yield from _chain(each, known, "  ", {each.name})


def _names_in(lines: Sequence[str]) -> set[str]:
    return {name.strip() for line in lines if " = " in line for name in line.split(" = ")[0].split(",")}


def _line_number(source: str) -> str:
    return source.rpartition(":")[2]


def _chain(
    origin: OriginRecord, known: dict[str, OriginRecord], indent: str, seen: set[str]
) -> Iterator[Line]:
    """Return a node, the rule that made it and what it was made from, down to the user's line."""
    made = f"made by {origin.rule}" if origin.rule else "written"
    at = f" at {plain(origin.source)}" if origin.source and not origin.rule else ""
    yield Line(f"{indent}{plain(origin.name)} = {plain(origin.op)}(…)  {made}{at}", wraps=True)
    parents = [known[name] for name in origin.parents if name in known and name not in seen]
    if not parents and origin.rule and origin.source:
        yield Line(f"{indent}  for the line {plain(origin.source)}", QUIET)
    for each in parents if len(seen) < DEEPEST else ():
        seen.add(each.name)
        yield from _chain(each, known, indent + "  ", seen)


def _step(rewrites: RewritesRecord, view: RewritesView, width: int) -> Iterator[Line]:
    found = [each for each in rewrites.applications if each.index == view.step]
    if not found:
        yield Line(
            f"  there is no rewrite {view.step}: there are 0 to {len(rewrites.applications) - 1}", WARNING
        )
        return
    (each,) = found
    yield Line(f"  {each.index}  {each.rule}  ({each.phase}, {each.where})", HEADING)
    yield Line(f"     {plain(each.says)}", wraps=True)
    for text in (*_bought(rewrites, each), *map(plain, each.loop_variables)):
        yield Line(f"     {text}", QUIET, wraps=True)
    yield Line("")
    before, after = ([plain(line) for line in rewrites.graph(k)] for k in (each.index, each.index + 1))
    if before == after:
        yield Line("  the graph stays; the program changes", QUIET)
    elif view.style == "side-by-side":
        yield from _side_by_side(before, after, width)
    else:
        yield from _marked(before, after, whole=view.style == "tree")


def _marked(before: Sequence[str], after: Sequence[str], whole: bool) -> Iterator[Line]:
    """Return both moments as one list of lines with + and -, unchanged ones left out but for a few around."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            lines = list(before[a:b])
            if not whole and len(lines) > 2 * CONTEXT + 1:
                head = lines[:CONTEXT] if a else []
                tail = lines[-CONTEXT:] if b < len(before) else []
                yield from (Line(f"    {each}", QUIET) for each in head)
                yield Line(f"    … {len(lines) - len(head) - len(tail)} lines stay", QUIET)
                yield from (Line(f"    {each}", QUIET) for each in tail)
            else:
                yield from (Line(f"    {each}", QUIET) for each in lines)
            continue
        yield from (Line(f"  - {each}", GONE) for each in before[a:b])
        yield from (Line(f"  + {each}", ADDED) for each in after[c:d])


def _side_by_side(before: Sequence[str], after: Sequence[str], width: int) -> Iterator[Line]:
    half = max(20, (width - 7) // 2)

    def row(left: str, mark: str, right: str, style: str) -> Line:
        cut = clipped(left, half)
        space = " " * (half - columns(cut))
        return Line(f"  {cut}{space} {mark} {clipped(right, half)}", style)

    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            shown = list(zip(before[a:b], after[c:d], strict=True))
            if len(shown) > 2 * CONTEXT + 1:
                skipped = len(shown) - 2 * CONTEXT
                shown = [*shown[:CONTEXT], (f"… {skipped} lines stay", ""), *shown[-CONTEXT:]]
            yield from (row(left, " ", right, QUIET) for left, right in shown)
            continue
        old, new = list(before[a:b]), list(after[c:d])
        for k in range(max(len(old), len(new))):
            left, right = old[k] if k < len(old) else "", new[k] if k < len(new) else ""
            mark = "│" if left and right else "<" if left else ">"
            yield row(left, mark, right, WARNING if left and right else GONE if left else ADDED)

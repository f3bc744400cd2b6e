"""What rules did to functions, as text: the list, one change line by line, why a line is there and why a rule did not fire.

It reads records and nothing else; text from scripts is made harmless first.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scanviz.profiler.report_diff import marked, side_by_side
from scanviz.profiler.report_text import HEADING, QUIET, TITLE, WARNING, Line, styled
from scanviz.profiler.units import duration
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.plain_text import plain
from scanviz.record.rewrites import OriginRecord, RewriteRecord, RewritesRecord

DEEPEST = 40  # links of a chain that are followed
FEW = 3  # rewrites of one rule or loop that are shown line by line without being asked for by number
MORE = "--step N shows one rewrite line by line; --why NAME tells where something comes from; more: --help"


class RewritesView(NamedTuple):
    """What is asked for.

    Attributes
    ----------
    function, scan, rule : str or None
        Only these.
    step : int or None
        The change to show line by line.
    style : str
        ``"unified"``, ``"side-by-side"`` or ``"tree"``; empty where nothing was said.
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
    if lines and (asked.step, asked.rule, asked.scan, asked.why, asked.why_not) == (None,) * 5:
        lines += [Line(""), Line(MORE, QUIET, wraps=True)]
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
        found = [each for each in rewrites.applications if each.index == view.step]
        if not found:
            yield Line(f"  there is no rewrite {view.step}: {_numbers(count)}", WARNING)
        for each in found:
            yield from _step(rewrites, each, view, width)
    else:
        yield from _list_or_steps(rewrites, view, width)


def _list_or_steps(rewrites: RewritesRecord, view: RewritesView, width: int) -> Iterator[Line]:
    """Return the list; where one rule or loop leaves few of it, or a style is asked for, these line by line."""
    narrow = applications_of(rewrites, view) if view.rule or view.scan else []
    if not narrow or not (len(narrow) <= FEW or view.style):
        yield from _list(rewrites, view)
        return
    for k, each in enumerate(narrow):
        yield from [Line("")] if k else []
        yield from _step(rewrites, each, view, width)
    if view.everything:
        yield from _refused(rewrites)


def _numbers(count: int) -> str:
    return f"there are 0 to {count - 1}" if count else "there are none"


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
        if f"`{view.scan}`" in each.says or any(_is_in(view.scan, loop) for loop in each.loops)
    ]


def _is_in(scan: str, path: str) -> bool:
    """Return whether a loop is one of those on a path; names of loops hold a ``/`` where they name a file."""
    return f"/{scan}/" in f"/{path}/"


def _list(rewrites: RewritesRecord, view: RewritesView) -> Iterator[Line]:
    listed = applications_of(rewrites, view)
    phase = ""
    for each in listed:
        if each.phase != phase:
            phase = each.phase
            yield Line(f"  {phase}", QUIET)
        yield Line(f"  {each.index:>3}  {each.rule}{_nodes(each)}  {duration(each.time_ns)}", HEADING)
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


def _nodes(each: RewriteRecord) -> str:
    """Return how many operations are gone, new or elsewhere."""
    parts = [f"-{each.removed} +{each.added} operations"] if each.removed or each.added else []
    parts += [f"{len(each.moved_out)} moved out"] if each.moved_out else []
    parts += [f"{len(each.moved_in)} moved in"] if each.moved_in else []
    return f"  {', '.join(parts)}" if parts else ""


def _moved(each: RewriteRecord) -> Iterator[str]:
    """Return which operations left loops or went into them."""
    if each.moved_out:
        yield f"moved out: {', '.join(each.moved_out)}"
    if each.moved_in:
        yield f"moved in: {', '.join(each.moved_in)}"


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
        found = [each for each in found if _is_in(view.scan, each.loop) or f"`{view.scan}`" in each.node]
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


def _step(rewrites: RewritesRecord, each: RewriteRecord, view: RewritesView, width: int) -> Iterator[Line]:
    spent = duration(each.time_ns)
    yield Line(f"  {each.index}  {each.rule}{_nodes(each)}  {spent}  ({each.phase}, {each.where})", HEADING)
    yield Line(f"     {plain(each.says)}", wraps=True)
    for text in (*_bought(rewrites, each), *map(plain, (*_moved(each), *each.loop_variables))):
        yield Line(f"     {text}", QUIET, wraps=True)
    yield Line("")
    before, after = ([plain(line) for line in rewrites.graph(k)] for k in (each.index, each.index + 1))
    if not rewrites.lines:
        yield Line("  only the list was kept of this function: its graphs were too large", QUIET, wraps=True)
    elif before == after:
        yield Line("  the graph stays; the program changes", QUIET)
    elif view.style == "side-by-side":
        yield from side_by_side(before, after, width)
    else:
        yield from marked(before, after, whole=view.style == "tree")

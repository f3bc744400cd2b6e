"""Where something in a function's graph comes from: the chain of rewrites behind it, down to the user's line.

What is asked for may be called by the name of its line, or as it was called before a rule made it anew (``h`` for ``h~2``), by the
name of a loop or of one of its results, or by a line of the script.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from scanviz.profiler.report_text import HEADING, QUIET, WARNING, Line
from scanviz.record.plain_text import plain
from scanviz.record.rewrites import OriginRecord, RewritesRecord

DEEPEST = 40  # links of a chain that are followed
_AGAIN = re.compile(r"~\d+$")  # what is added to a name that is taken


def why_lines(rewrites: RewritesRecord, asked: str) -> Iterator[Line]:
    """Return where what is asked for comes from, as lines."""
    known = {each.name: each for each in rewrites.origins}
    last = rewrites.lines(len(rewrites.applications))
    found = _meant(rewrites, known, last, asked)
    if not rewrites.has_versions:
        yield Line("  only the list was kept of this function: its graphs were too large", QUIET, wraps=True)
    elif not found:
        yield Line(f"  {_nothing(rewrites, known, last, asked)}", WARNING, wraps=True)
    told: set[str] = set()
    for each in found:
        yield from _chain(each, known, "  ", told)


def _meant(
    rewrites: RewritesRecord, known: Mapping[str, OriginRecord], last: Sequence[str], asked: str
) -> list[OriginRecord]:
    """Return the operations that are asked for: those of the last graph, else those that there were."""
    loops = {
        name: names[0] for lines in (last, rewrites.lines(0)) for names in _loops(lines) for name in names
    }
    found = [
        each
        for each in rewrites.origins
        if asked in (each.name, _AGAIN.sub("", each.name)) or _is_loop(each, asked) or _is_at(each, asked)
    ]
    if not found and loops.get(asked, "") in known:
        found = [known[loops[asked]]]
    running = {name for line in last for name in _given(line)}
    return [each for each in found if each.name in running] or found


def _is_loop(origin: OriginRecord, asked: str) -> bool:
    return origin.op == f"scan{{{asked}}}"


def _is_at(origin: OriginRecord, asked: str) -> bool:
    """Return whether a line of the script is meant: a number, or with as much of the path as is wanted."""
    path, _, number = origin.source.rpartition(":")
    name, _, wanted = asked.rpartition(":")
    return bool(number) and wanted == number and (not name or f"/{path}".endswith(f"/{name}"))


def _given(line: str) -> list[str]:
    """Return what a line gives values to."""
    return [each.strip() for each in line.split(" = ")[0].split(", ")] if " = " in line else []


def _loops(lines: Sequence[str]) -> Iterator[list[str]]:
    """Iterate over the names of results of each loop."""
    for line in lines:
        if " = loop " in line and line.endswith(" steps:"):
            yield _given(line)


def _nothing(
    rewrites: RewritesRecord, known: Mapping[str, OriginRecord], last: Sequence[str], asked: str
) -> str:
    """Return why nothing is told, and what else may be meant."""
    whole = re.compile(rf"(?<![\w.]){re.escape(asked)}(~\d+)?(?![\w\[(])")
    if asked and any(whole.search(line) for line in (*last, *rewrites.lines(0))):
        return f"no operation makes {plain(asked)!r}: it is given to the function, or by a loop to its step"
    numbers = sorted({int(each) for each in map(_number, rewrites.origins) if each})
    if asked.isdigit() and numbers:
        nearest = sorted(sorted(numbers, key=lambda each: abs(each - int(asked)))[:3])
        return f"nothing was made on line {asked}; nearest: {', '.join(map(str, nearest))}"
    close = difflib.get_close_matches(asked, known, 3)
    hint = f"; there is {', '.join(map(plain, close))}" if close else ""
    return f"nothing is called {plain(asked)!r}, and nothing was made on such a line{hint}"


def _number(origin: OriginRecord) -> str:
    number = origin.source.rpartition(":")[2]
    return number if number.isdigit() else ""


def _chain(
    origin: OriginRecord, known: Mapping[str, OriginRecord], indent: str, told: set[str]
) -> Iterator[Line]:
    """Return a node, the rule that made it and what it was made from, down to the user's line, but for what was told before."""
    told.add(origin.name)
    made = f"made by {plain(origin.rule)}" if origin.rule else "written"
    at = f" at {plain(origin.source)}" if origin.source and not origin.rule else ""
    style = HEADING if indent == "  " else ""
    yield Line(f"{indent}{plain(origin.name)} = {plain(origin.op)}(…)  {made}{at}", style, wraps=True)
    parents = [known[name] for name in origin.parents if name in known and name != origin.name]
    if not parents and origin.rule and origin.source:
        yield Line(f"{indent}  for the line {plain(origin.source)}", QUIET)
    for each in parents if len(indent) < 2 * DEEPEST else ():
        if each.name not in told:
            yield from _chain(each, known, indent + "  ", told)

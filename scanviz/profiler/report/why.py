"""The origin of a node: the chain of rewrites behind it, down to the user's line.

The node is selected by its name, its name before a rule rebuilt it (``h`` for ``h~2``), the name of a loop or of its result, or
a line of the script.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from scanviz.profiler.report.text import HEADING, QUIET, WARNING, ReportLine, wrapped
from scanviz.record.graphs.rewrites import OriginRecord, RewritesRecord
from scanviz.record.graphs.versions import VersionsRecord
from scanviz.record.plain_text import sanitize

DEEPEST = 40  # links of a chain that are followed
TYPED = "grad_"  # what may be written for ∂
_AGAIN = re.compile(r"~\d+$")  # suffix of a name that is taken


def why_lines(rewrites: RewritesRecord, asked: str) -> Iterator[ReportLine]:
    """Return the origins of the selected nodes, as lines."""
    if rewrites.graphs is None or not rewrites.has_versions:
        yield wrapped("  only the list was kept of this function: its graphs were too large", QUIET)
        return
    origins = rewrites.origins
    found = _meant(rewrites.graphs, origins, asked)
    if not found and asked.startswith(TYPED):  # a name that no keyboard has
        found = _meant(rewrites.graphs, origins, f"∂{asked.removeprefix(TYPED)}")
    if not found:
        yield wrapped(f"  {_nothing(rewrites.graphs, origins, asked)}", WARNING)
    known, text = {origin.name: origin for origin in origins}, set[str]()
    for origin in found:
        yield from _chain(origin, known, "  ", text)


def _meant(graphs: VersionsRecord, origins: Sequence[OriginRecord], asked: str) -> list[OriginRecord]:
    """Return the selected operations: of the last graph, else of earlier ones."""
    found = [
        origin
        for origin in origins
        if asked in (origin.name, _as_before(origin.name)) or _is_loop(origin, asked) or _is_at(origin, asked)
    ]
    last, first = ([graphs.nodes[k] for k in graphs.live(number)] for number in (graphs.last, graphs.first))
    if not found:
        loops = [node for node in (*last, *first) if node.loop is not None]
        names = {node.results[0].key for node in loops if asked in [result.key for result in node.results]}
        found = [origin for origin in origins if origin.name in names][:1]
    running = {result.key for node in last for result in node.results}
    return [origin for origin in found if origin.name in running] or found


def _as_before(name: str) -> str:
    """Return the name of a node before a rule rebuilt it."""
    return _AGAIN.sub("", name)


def _is_loop(origin: OriginRecord, asked: str) -> bool:
    return origin.op == f"scan{{{asked}}}"


def _is_at(origin: OriginRecord, asked: str) -> bool:
    """Return whether a selection names a line of the script: by number, or by path and number."""
    path, _, number = origin.source.rpartition(":")
    name, _, wanted = asked.rpartition(":")
    return bool(number) and wanted == number and (not name or f"/{path}".endswith(f"/{name}"))


def _nothing(graphs: VersionsRecord, origins: Sequence[OriginRecord], asked: str) -> str:
    """Return why nothing was selected, with near names."""
    leaves = {node.key for node in graphs.nodes if node.role != "computed"}
    if asked in leaves or asked in map(_as_before, leaves):
        return (
            f"no operation makes {sanitize(asked)!r}: it is given to the function, or by a loop to its step"
        )
    numbers = sorted({int(text) for text in map(_number, origins) if text})
    if asked.isdecimal() and numbers:
        nearest = sorted(sorted(numbers, key=lambda number: abs(number - int(asked)))[:3])
        return f"nothing was made on line {asked}; nearest: {', '.join(map(str, nearest))}"
    close = difflib.get_close_matches(asked, [origin.name for origin in origins], 3)
    hint = f"; there is {', '.join(map(sanitize, close))}" if close else ""
    return f"nothing is called {sanitize(asked)!r}, and nothing was made on such a line{hint}"


def _number(origin: OriginRecord) -> str:
    number = origin.source.rpartition(":")[2]
    return number if number.isdecimal() else ""


def _chain(
    origin: OriginRecord, known: Mapping[str, OriginRecord], indent: str, shown: set[str]
) -> Iterator[ReportLine]:
    """Return a node, its rule and its origins down to the user's line, without nodes shown before."""
    shown.add(origin.name)
    made = f"made by {origin.rule}" if origin.rule else "written"
    at = f" at {origin.source}" if origin.source and not origin.rule else ""
    style = HEADING if indent == "  " else ""
    yield wrapped(f"{indent}{origin.name} = {origin.op}  {made}{at}", style)
    parents = [known[name] for name in origin.parents if name in known and name != origin.name]
    if not parents and origin.rule and origin.source:
        yield ReportLine(f"{indent}  for the line {origin.source}", QUIET)
    for parent in parents if len(indent) < 2 * DEEPEST else ():
        if parent.name not in shown:
            yield from _chain(parent, known, indent + "  ", shown)

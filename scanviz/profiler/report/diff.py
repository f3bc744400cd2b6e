"""Diffs of two versions of a graph: one list with marks, or two columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from scanviz.profiler.report.text import HOT, QUIET, WARNING, ReportLine, clipped, columns

ADDED, GONE = "32", HOT
CONTEXT = 2  # unchanged lines around a change


def marked(before: Sequence[str], after: Sequence[str], whole: bool) -> Iterator[ReportLine]:
    """Return a unified diff: lines with + and -, and a few unchanged ones around them."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            lines = list(before[a:b])
            if not whole and len(lines) > 2 * CONTEXT + 1:
                head = lines[:CONTEXT] if a else []
                tail = lines[-CONTEXT:] if b < len(before) else []
                yield from (ReportLine(f"    {text}", QUIET) for text in head)
                yield ReportLine(f"    … {len(lines) - len(head) - len(tail)} lines stay", QUIET)
                yield from (ReportLine(f"    {text}", QUIET) for text in tail)
            else:
                yield from (ReportLine(f"    {line}", QUIET) for line in lines)
            continue
        yield from (ReportLine(f"  - {text}", GONE) for text in before[a:b])
        yield from (ReportLine(f"  + {text}", ADDED) for text in after[c:d])


def side_by_side(before: Sequence[str], after: Sequence[str], width: int) -> Iterator[ReportLine]:
    """Return two versions in two columns, clipped to a width."""
    half = max(20, (width - 7) // 2)

    def row(left: str, mark: str, right: str, style: str) -> ReportLine:
        cut = clipped(left, half)
        space = " " * (half - columns(cut))
        return ReportLine(f"  {cut}{space} {mark} {clipped(right, half)}", style)

    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            shown = list(zip(before[a:b], after[c:d], strict=True))
            if len(shown) > 2 * CONTEXT + 1:
                skipped = len(shown) - 2 * CONTEXT
                shown = [*shown[:CONTEXT], (f"… {skipped} lines stay", ""), *shown[-CONTEXT:]]
            yield from (row(left, " ", right, QUIET) for left, right in shown)
            continue
        for old, new in _paired(before[a:b], after[c:d]):
            left, right = _where_they_differ(old, new, half)
            mark = "│" if left and right else "<" if left else ">"
            yield row(left, mark, right, WARNING if left and right else GONE if left else ADDED)


def _where_they_differ(left: str, right: str, width: int) -> tuple[str, str]:
    """Return two lines, cut in front where a cut behind would hide their difference."""
    if not (left and right) or clipped(left, width) != clipped(right, width):
        return left, right
    longest, shortest = max(len(left), len(right)), min(len(left), len(right))
    same = next((k for k in range(shortest) if left[k] != right[k]), shortest)
    head = len(left) - len(left.lstrip()) + len(_given(left.lstrip()))
    end = longest - (width - head - 3)  # from where on the rest has room
    start = end if end <= same else same - width // 4
    return (
        (f"{left[:head]} … {left[start:]}", f"{right[:head]} … {right[start:]}")
        if start > head
        else (left, right)
    )


def _paired(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pair lines before and after by the name that they define."""
    given, places, taken = [_given(text) for text in new], [], 0
    for line in old:
        name = _given(line)
        place = given.index(name, taken) if name and name in given[taken:] else None
        places.append(place)
        taken = taken if place is None else place + 1
    shown = 0
    for line, place in zip(old, places, strict=True):
        if place is None:
            yield line, ""
            continue
        yield from (("", text) for text in new[shown:place])
        yield line, new[place]
        shown = place + 1
    yield from (("", text) for text in new[shown:])


def _given(line: str) -> str:
    """Return the name that a line defines; empty if it defines none."""
    if line.startswith("return "):
        return "return"
    for sign in (" := ", " = "):
        if sign in line:
            return line.partition(sign)[0]
    return ""

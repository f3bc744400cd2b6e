"""Forward loops beside their backward loops: one row for each forward loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.profiler.report.text import QUIET, TITLE, ReportLine, table_lines, wrapped
from scanviz.profiler.report.text import columns as columns_of
from scanviz.profiler.report.units import amount, duration, size
from scanviz.record.model import LoopRecord, ProfileRecord
from scanviz.record.names import loop_titles


def pairs(record: ProfileRecord) -> list[tuple[list[LoopRecord], list[LoopRecord]]]:
    """Return pairs of forward loops and their backward loops that ran, in the order of the record.

    A loop that is the gradient of several stands beside them all, so that no time is in two pairs.
    """
    ran = {loop.key: loop for loop in record.loops if loop.runs}
    group: dict[int, int] = {}  # of each forward loop the first one that it shares a backward loop with
    for loop in ran.values():
        known = [key for key in loop.forward_keys if key in ran]
        joined = {group.get(key, key) for key in known}
        if known:
            group.update(dict.fromkeys(known, min(joined)))
            group.update({key: min(joined) for key, first in group.items() if first in joined})
    found: dict[int, tuple[list[LoopRecord], list[LoopRecord]]] = {}
    for loop in ran.values():
        if loop.key in group:
            found.setdefault(group[loop.key], ([], []))[0].append(loop)
    for loop in ran.values():
        first = next((key for key in loop.forward_keys if key in group), None)
        if first is not None:
            found[group[first]][1].append(loop)
    return list(found.values())


def gradient_lines(record: ProfileRecord, width: int, top: int) -> list[ReportLine]:
    """Return a table of forward loops and their gradients; empty without gradients.

    Time and steps of a loop cover all its runs, without compilation, which is no cost of a gradient.  Those of a gradient cover all
    its backward loops.  "keeps" are the bytes of rows that the forward loop stores for the gradient, "kept" their loop variables.
    Without a ratio, one of the two loops was merged with a third one.
    """
    found = pairs(record)
    if not found:
        return []
    titles, code_ns = loop_titles(record), _code_ns(record)
    rows = [["  forward and backward", "steps", "forward", "backward", "ratio", "keeps", "kept"]]
    for forward, backward in sorted(found, key=lambda pair: -_time(pair[0], code_ns))[:top]:
        there, back = _time(forward, code_ns), _time(backward, code_ns)
        kept = [variable.name for loop in forward for variable in loop.variables if variable.read_backwards]
        ratio = f"{back / there:.1f}×" if there and not any(loop.does_more for loop in backward) else "–"
        names = " + ".join(titles[loop.key] for loop in forward)
        steps = amount(sum(loop.steps for loop in forward))
        keeps = size(sum(loop.kept_bytes for loop in forward))
        rows.append([f"  {names}", steps, duration(there), duration(back), ratio, keeps, _listed(kept)])
    fits = sum(max(columns_of(row[k]) for row in rows) + 2 for k in range(7)) - 2 <= width
    lines = [ReportLine(""), *table_lines([row[: 7 if fits else 6] for row in rows], 1, width, style=TITLE)]
    if len(found) > top:
        lines.append(ReportLine(f"  {len(found) - top} more pairs", QUIET))
    if any(code_ns[loop.key] for sides in found for loops in sides for loop in loops):
        lines.append(wrapped("  without compilation, which the times above include", QUIET))
    return lines


def _code_ns(record: ProfileRecord) -> dict[int, int]:
    """Return the compile time in the time of each loop, loops inside included."""
    found: dict[int, int] = {}
    inside: dict[int | None, int] = {}
    for loop in reversed(record.loops):  # those inside come after it
        found[loop.key] = min(loop.code_ns + inside.get(loop.key, 0), loop.total_ns)
        inside[loop.parent] = inside.get(loop.parent, 0) + found[loop.key]
    return found


def _time(loops: Sequence[LoopRecord], code_ns: Mapping[int, int]) -> int:
    return sum(loop.total_ns - code_ns[loop.key] for loop in loops)


def _listed(names: list[str]) -> str:
    shown = names[:3]
    return ", ".join(text if len(text) <= 16 else f"{text[:15]}…" for text in shown) + (
        f" +{len(names) - 3}" if len(names) > 3 else ""
    )

"""The report's table of loops and their gradients, side by side."""

from __future__ import annotations

from scanviz.profiler.report_text import QUIET, TITLE, Line, table
from scanviz.profiler.units import amount, duration, size
from scanviz.record.model import LoopRecord, ProfileRecord
from scanviz.record.names import loop_titles
from scanviz.record.plain_text import plain

_WIDE = 78


def pairs(record: ProfileRecord) -> list[tuple[LoopRecord, list[LoopRecord]]]:
    """Return the loops that ran and whose gradients ran, with these; in the order of the record."""
    backward: dict[int, list[LoopRecord]] = {}
    for each in record.loops:
        if each.gradient_of is not None and each.runs:
            backward.setdefault(each.gradient_of, []).append(each)
    return [(each, backward[each.key]) for each in record.loops if each.runs and each.key in backward]


def gradient_lines(record: ProfileRecord, width: int, top: int) -> list[Line]:
    """Return a table with one line a loop that has a gradient; nothing where there is none.

    Time and steps of a loop are those of all its runs; the gradient's of all its backward loops.  "keeps" are the rows that the
    forward loop stores for it, and "kept" the loop variables they belong to.
    """
    found = pairs(record)
    if not found:
        return []
    titles = loop_titles(record)
    rows = [["  forward and backward", "steps", "forward", "backward", "ratio", "keeps", "kept"]]
    for loop, backward in sorted(found, key=lambda pair: -pair[0].total_ns)[:top]:
        there, back = loop.total_ns, sum(each.total_ns for each in backward)
        kept = [plain(each.name) for each in loop.variables if each.read_backwards]
        ratio = f"{back / there:.1f}×" if there else "–"
        cells = [f"  {plain(titles[loop.key])}", amount(loop.steps), duration(there), duration(back), ratio]
        rows.append([*cells, size(loop.kept_bytes), _listed(kept)])
    count = 7 if width >= _WIDE else 6
    heading, *others = table([each[:count] for each in rows], 1, width)
    lines = [Line(""), Line(heading, TITLE), *map(Line, others)]
    if len(found) > top:
        lines.append(Line(f"  {len(found) - top} more pairs", QUIET))
    return lines


def _listed(names: list[str]) -> str:
    shown = names[:3]
    return ", ".join(each if len(each) <= 16 else f"{each[:15]}…" for each in shown) + (
        f" +{len(names) - 3}" if len(names) > 3 else ""
    )


__all__ = ["gradient_lines", "pairs"]

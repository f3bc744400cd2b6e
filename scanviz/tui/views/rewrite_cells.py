"""Cells of the list of rewrites, and the summary of all together."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from scanviz.profiler.report.units import counted, duration
from scanviz.record.graphs.lines import LineEdit
from scanviz.record.graphs.rewrites import EffectRecord, RewriteRecord, RewritesRecord
from scanviz.record.plain_text import sanitize
from scanviz.tui.model.linked_selection import NO_SIGN, SIGN, LinkedSelection
from scanviz.tui.views.tables import Cell, Column, Row, place_cell, text_cell

COLUMNS = (
    Column("no.", number=True),
    Column("rule"),
    Column("a step"),
    Column("what it did", flexible=True),
    Column("operations"),
    Column("time", number=True),
)
MEASURED = Column("faster", number=True)  # by scanviz rewrites --ablate --into
LONGEST, LONGEST_LOOP = 24, 16  # columns of a rule's name in the list, and of a loop's
WILD = 2.0  # ratio of the quartiles above which both are shown as noise: it is not around 1


def names_chosen(entry: RewriteRecord, edits: Sequence[LineEdit], chosen: LinkedSelection) -> bool:
    """Return whether a rewrite changed lines that name the selected loop variable."""
    texts = (entry.message, *entry.loop_variables, *(line for edit in edits for line in edit.lines))
    return any(chosen.named_in(text) for text in texts)


def with_signs(text: Text, chosen: LinkedSelection) -> Text:
    """Return a text with ▶ before the lines that name the chosen loop variable."""
    if not chosen.names:
        return text
    lines = [
        Text.assemble((SIGN, "bold") if chosen.named_in(line.plain) else NO_SIGN, line)
        for line in text.split("\n", allow_blank=True)
    ]
    return Text("\n").join(lines)


def measured_cell(effect: EffectRecord | None) -> Cell:
    """Return the measured speedup of a rule; noise is marked, and the cell is empty if it was not measured."""
    if effect is None:
        return Cell("", 0.0)
    if effect.low <= 1 <= effect.high:
        if effect.instead:
            return Cell(f"noise: {', '.join(effect.instead)} instead", 1.0, "dim")
        if effect.high > WILD * effect.low:
            return Cell(f"noise {effect.low:.2g} to {effect.high:.2g}×", 1.0, "dim")
        return Cell(f"noise ±{100 * (effect.high - effect.low) / 2:.0f} %", 1.0, "dim")
    return Cell(f"{effect.ratio:.2f}×", effect.ratio)


def counts_of(history: RewritesRecord) -> dict[int, str]:
    """Return the change in operations per step by rewrite, if any."""
    now, found = dict(history.steps(0)), dict[int, str]()
    for rewrite in history.applications:
        cost = rewrite.cost
        if cost is None:
            continue
        changes = [
            f"{_called(loop)} {now.get(loop, 0)} → {count}"
            for loop, count in cost.per_step.items()
            if now.get(loop) != count
        ]
        changes += [f"{_called(loop)} {now[loop]} → gone" for loop in cost.gone if loop in now]
        now.update(cost.per_step)
        for loop in cost.gone:
            now.pop(loop, None)
        found[rewrite.index] = ", ".join(changes)
    return found


def _called(loop: str) -> str:
    """Return the name of a loop, cut at its beginning: names from source lines end with the line."""
    return place_cell(sanitize(loop).rpartition("/")[2], LONGEST_LOOP).text


def about_all(history: RewritesRecord) -> Text:
    """Return the effect of all rewrites on the loops' steps."""
    before, after = history.steps(0), history.steps(len(history.applications))
    changes = [
        f"{sanitize(loop)} {count} → {after.get(loop, 'gone')}"
        for loop, count in before.items()
        if after.get(loop) != count
    ]
    changes += [f"{sanitize(loop)} {count}, new" for loop, count in after.items() if loop not in before]
    text = Text("operations a step: " if changes else "", style="bold", no_wrap=True, overflow="ellipsis")
    text.append(" · ".join(changes), style="not bold")
    if not history.applications:
        return text.append(f"{' · ' if changes else ''}no rewrites", "dim")
    spent = duration(sum(rewrite.time_ns for rewrite in history.applications))
    return text.append(
        f"{' · ' if changes else ''}{counted(len(history.applications), 'rewrite')} in {spent}", "dim"
    )


def _short(rule: str) -> str:
    name = sanitize(rule)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def rewrite_row(entry: RewriteRecord, marked: bool, a_step: str) -> Row:
    """Return the row of a rewrite without its measured speedup."""
    changed = f"-{entry.removed} +{entry.added}" if entry.removed or entry.added else ""
    return (
        Cell(str(entry.index), entry.index),
        Cell((SIGN if marked else "") + _short(entry.rule), entry.rule.casefold(), "bold" if marked else ""),
        text_cell(a_step),
        text_cell(sanitize(entry.message)),
        text_cell(changed),
        Cell(duration(entry.time_ns), entry.time_ns),
    )

"""The page of a stepper: buttons and keys go through the steps of a loop, then back through those of its gradient.

Cells have the names and the order of the picture of the same steps.  All texts of the record stand in JSON, and the page's script
writes them as text, never as markup.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from string import Template
from typing import Any, NamedTuple

from scanviz.record.errors import ScanvizValueError
from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord, PlacedScan
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.glosses import gloss
from scanviz.record.traces.model import TraceRecord
from scanviz.render.buffers import rows_before
from scanviz.render.colours import darkened
from scanviz.render.diagram.build import unknown_loop
from scanviz.render.diagram.cell_values import traces_of_run
from scanviz.render.diagram.cells import (
    Drawn,
    Side,
    add_buffer,
    add_sequence,
    at_time,
    rows_of_sequences,
)
from scanviz.render.diagram.model import Cluster, Diagram
from scanviz.render.diagram.taps import taps
from scanviz.render.labels import short
from scanviz.render.marks import MARK
from scanviz.render.page.build import embedded
from scanviz.render.row_values import RowValue, row_spans, rows_held

MOST_STEPS = 200  # of a loop
# pixels, on a phone: around the buffers, of one and its words, of a frame
_HEAD, _BUFFER, _HIGHEST = 220, 132, 760


class _Part(NamedTuple):
    """One loop of the page: as a graph and as a record, with the values of a run."""

    placed: PlacedScan
    loop: LoopRecord
    traces: list[TraceRecord]


def stepper_page(
    record: ProfileRecord, graph: GraphSnapshot, scan: str | None = None, *, dark: bool = False
) -> str:
    """Return the page of a loop and its back-propagation.

    Parameters
    ----------
    record : ProfileRecord
        A run with kept values.
    graph : GraphSnapshot
        The graph of the loop's function.
    scan : str, optional
        The loop's name; by default the first loop that is no back-propagation.
    dark : bool
        Whether in the colours of the dark, whatever its reader prefers.

    Raises
    ------
    ScanvizValueError
        If there is no such loop, its values were not kept, or it has too many steps.
    """
    parts = _parts(record, graph, scan)
    title = f"{sanitize(parts[0].loop.name)}, step by step"
    data = [_loop(part, parts[0], graph) for part in parts]
    most = max(len(loop["buffers"]) for loop in data)
    given = {"title": title, "loops": data, "height": min(_HIGHEST, _HEAD + _BUFFER * most)}
    page = Template(
        (resources.files("scanviz.render.stepper") / "stepper.html").read_text("utf-8")
    ).substitute(
        mark=MARK,
        title=html.escape(title),
        data=embedded(given),
    )
    return darkened(page) if dark else page


def height_of(page: str) -> int:
    """Return the height of a frame, in pixels, that shows each step of a page.

    Examples
    --------
    >>> height_of('<script>const given = {"title":"y","height":352}</script>')
    352
    """
    found = re.search(r'"height":(\d+)', page)
    assert found is not None
    return int(found[1])


def _parts(record: ProfileRecord, graph: GraphSnapshot, scan: str | None) -> list[_Part]:
    """Return the loop and its back-propagation."""
    placed = {one.loop.key: one for one in graph.all_loops()}
    known = [loop for loop in record.loops if loop.key in placed]
    wanted = [
        loop
        for loop in known
        if (loop.gradient_of is None if scan is None else placed[loop.key].loop.name == scan)
    ]
    if not wanted:
        raise unknown_loop(scan or "", [one.loop.name for one in placed.values()])
    loop = wanted[0]
    traces = traces_of_run(record.traces, loop.key)
    if not traces:
        raise ScanvizValueError(
            f"no values of {sanitize(loop.name)} were kept",
            fix="record them: scanviz profile --values SCRIPT",
        )
    if traces[0].total_steps > MOST_STEPS:
        raise ScanvizValueError(
            f"{sanitize(loop.name)} has {traces[0].total_steps:,} steps",
            expected=f"at most {MOST_STEPS}",
            fix="fewer steps show the same: a loop's steps are alike",
        )
    back = [one for one in known if one.gradient_of == loop.key]
    parts = [_Part(placed[loop.key], loop, traces)]
    for one in back[:1]:
        kept = traces_of_run(record.traces, one.key, traces[0].run)
        if kept and kept[0].total_steps == traces[0].total_steps:
            parts.append(_Part(placed[one.key], one, kept))
    return parts


def _loop(part: _Part, forward: _Part, graph: GraphSnapshot) -> dict[str, Any]:
    """Return what the page knows of a loop."""
    placed, loop, traces = part
    steps = traces[0].total_steps
    of = sanitize(forward.loop.name) if part is not forward else ""
    side = Side(
        "",
        placed.loop,
        placed.step,
        Cluster("", loop.name, gradient_of=placed.loop.gradient_of or ""),
        Diagram(""),
        steps,
        0,
        0,
        rows_of_sequences(graph),
        of=of,
        states=frozenset(variable.name for variable in forward.placed.loop.variables),
    )
    drawn = _cells(side)
    return {
        "name": sanitize(loop.name),
        "of": of,
        "steps": [side.time(step) for step in range(steps)],
        "weights": list(_weights(loop, traces)),
        "buffers": [
            _buffer(side, drawn, index, loop, traces)
            for index in dict.fromkeys(index for index, _ in drawn.cells)
        ],
    }


def _cells(side: Side) -> Drawn:
    """Return the rows of all buffers, as the picture of the same steps has them."""
    drawn = Drawn()
    for index, variable in enumerate(side.loop.variables):
        if variable.kind == "sequence":
            add_sequence(side, drawn, index, variable)
        elif variable.kind not in ("non_sequence", "carry"):
            add_buffer(side, drawn, index, variable)
    return drawn


def _buffer(
    side: Side, drawn: Drawn, index: int, loop: LoopRecord, traces: Sequence[TraceRecord]
) -> dict[str, Any]:
    """Return a buffer: its cells in their order, what steps read and write of it, and the spans of known values."""
    variable = side.loop.variables[index]
    names = {node.id: node.label for node in drawn.nodes}
    place = {row: k for k, (of, row) in enumerate(key for key in drawn.cells if key[0] == index)}
    reads, writes = ((0,), ()) if variable.kind == "sequence" else taps(variable)
    before = rows_before(loop.variables[index])
    seeds = (
        rows_held(traces, loop.variables[index], index, -1) if side.of and variable.kind == "mitmot" else {}
    )
    return {
        "name": sanitize(variable.name),
        "kind": gloss(variable.kind),
        "cells": [short(names[drawn.cells[index, row]], 40) for row in place],
        "once": variable.kind in ("sequence", "nitsot"),  # rows do not change
        "reads": [[place[step + tap] for tap in reads] for step in range(side.steps)],
        "writes": [[place[step + tap] for tap in writes] for step in range(side.steps)],
        "expressions": [list(_expressions(loop.variables[index], side, step)) for step in range(side.steps)],
        "adds": variable.kind == "mitmot",
        "spans": [
            [place[span.row - before], span.first, span.end, span.value.text]
            for span in row_spans(traces, loop.variables[index], index)
            if span.row - before in place
        ],
        "cost": [
            [place[row - before], seed.text]
            for row, seed in seeds.items()
            if row - before in place and not seed.is_zero
        ],
    }


def _weights(loop: LoopRecord, traces: Sequence[TraceRecord]) -> Iterator[str]:
    """Iterate over the values that all steps read."""
    for traced in traces[0].variables if traces[0].steps else ():
        index = traced.variable
        if traced.role == "input" and index is not None and loop.variables[index].kind == "non_sequence":
            yield f"{short(loop.variables[index].name, 24)} = {RowValue(traced, 0).text}"


def _expressions(variable: LoopVariableRecord, side: Side, step: int) -> Iterator[str]:
    """Iterate over the expressions of the rows that a step writes, with the numbers of rows."""
    for text in variable.inner_outputs:
        found = at_time(text, side.named_time(step), side.rows) if "[t" in text else text
        yield "" if text.isidentifier() else short(found, 70)  # a name in the step adds nothing

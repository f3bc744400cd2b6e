"""Values in a picture of a loop's steps: of the rows of its buffers, of its weights, and of what the cost gives to gradients."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from scanviz.record.loops import LoopRecord
from scanviz.record.traces.model import TraceRecord
from scanviz.render.buffers import rows_before
from scanviz.render.diagram.cells import Drawn, Side
from scanviz.render.diagram.model import Node
from scanviz.render.row_values import RowValue, rows_held

_STATES = ("mitmot", "mitsot", "sitsot")


def traces_of_run(
    traces: Sequence[TraceRecord], loop: int | None, run: int | None = None
) -> list[TraceRecord]:
    """Return the kept values of one run of a loop: of the given run if it was kept, else of the first one."""
    kept = [trace for trace in traces if trace.loop == loop]
    wanted = run if any(trace.run == run for trace in kept) else min((trace.run for trace in kept), default=0)
    return [trace for trace in kept if trace.run == wanted]


def with_cell_values(drawn: Drawn, side: Side, loop: LoopRecord, traces: Sequence[TraceRecord]) -> list[Node]:
    """Return a loop's nodes with the values of a run.

    The last drawn steps of a back-propagation belong to the first steps of the run.
    """
    total = max((trace.total_steps for trace in traces), default=side.steps)
    ahead = max(0, total - side.steps) if side.of else 0  # steps of the walk that are not drawn
    texts: dict[str, tuple[RowValue, RowValue | None]] = {}
    for index, variable in enumerate(loop.variables):
        last, first = (rows_held(traces, variable, index, step) for step in (total - 1, -1))
        for (of, row), name in drawn.cells.items():
            held = row + ahead + rows_before(variable)
            if of == index and held in last:
                gradient = side.of and variable.name.startswith("∂") and variable.kind in _STATES
                texts[name] = last[held], first.get(held) if gradient else None
    weights = {
        traced.variable: RowValue(traced, 0)
        for trace in traces
        for traced in trace.variables
        if traced.role == "input" and traced.tap is None and trace.steps
    }
    found = []
    for node in drawn.nodes:
        value, seed = texts.get(node.id, (None, None))
        if node.loop_kind == "non_sequence" and node.variable in weights:
            weight = weights[node.variable]
            value = weight if weight.is_number else None
        entering = f"from the cost: {seed.text}" if seed is not None and not seed.is_zero else ""
        found.append(replace(node, value=value.text, note=entering) if value is not None else node)
    return found

"""The chain of blame of a NaN or an infinity among values that were kept: from where it was seen to what it was made of.

Each link is a step of a loop: the one that was given it, the loop that handed it over, the operation that made it, and the rows of
the function's inputs that this operation worked on.  It goes from a loop to the one that it reads (the forward loop of a gradient),
out of a loop into the one around it, into a loop inside the step, and through work that was moved out of a loop.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from scanviz.record.graphs.graph import GraphSnapshot, NodeRecord, PlacedScan
from scanviz.record.graphs.step_graph import VIEWS, above, loop_graph, maker_of, node_of, operands
from scanviz.record.model import ProfileRecord
from scanviz.record.traces.first_bad import FirstBad, first_bad_of
from scanviz.record.traces.held_calls import Array, HeldCallRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.record.values import SourceRecord

LONGEST = 12  # links
MOST_ROWS = 4  # of inputs


class BlameLink(Struct, frozen=True):
    """A link of the chain.

    Attributes
    ----------
    words : str
        What happened there.
    loop, run, step : int or None
        The step of a loop that it is about; None for what is no step.
    source : SourceRecord or None
        The user's line.
    operation : int or None
        The loop's operation that made it.
    """

    words: str
    loop: int | None = None
    run: int | None = None
    step: int | None = None
    source: SourceRecord | None = None
    operation: int | None = None


def chain_of_blame(record: ProfileRecord, loop: int | None) -> tuple[BlameLink, ...]:
    """Return the chain that begins with the first NaN or infinity of a loop; nothing where none was kept.

    Examples
    --------
    >>> chain_of_blame(ProfileRecord(), 1)
    ()
    """
    return tuple(_Chain(record).links(loop))


class _Chain:
    """A chain that is being followed."""

    def __init__(self, record: ProfileRecord) -> None:
        self.record = record
        self.loops = {loop.key: loop for loop in record.loops}
        self._graphs: dict[int, PlacedScan | None] = {}

    def links(self, loop: int | None) -> Iterator[BlameLink]:
        seen: set[int] = set()
        found = self._first(loop)
        while found is not None and found[0].loop not in seen and len(seen) < LONGEST:
            trace, bad = found
            seen.add(trace.loop)
            constant = self._bad_constant(trace, bad)
            yield self._link(trace, bad)
            if bad.given or constant is not None:
                last, found = self._giver(trace, bad if constant is None else constant)
            elif (inner := self._inner(trace, bad)) is not None:
                last, found = (), self._first(inner)
            else:
                last, found = tuple(self._rows(trace, bad)), None
            yield from last

    def _bad_constant(self, trace: TraceRecord, bad: FirstBad) -> FirstBad | None:
        """Return what an operation read that is the same in every step and had it before; None where there is none."""
        place = trace.steps.index(bad.step)
        for operand in self._operands(trace, bad.variable) if not bad.given else ():
            if operand.role == "input" and operand.tap is None and operand.statistics[place, 3:].any():
                return FirstBad(bad.step, operand, True)
        return None

    def _operands(self, trace: TraceRecord, variable: TracedVariableRecord) -> list[TracedVariableRecord]:
        return operands(self._graph(trace.loop), trace, variable)

    def _first(self, loop: int | None) -> tuple[TraceRecord, FirstBad] | None:
        return first_bad_of(trace for trace in self.record.traces if trace.loop == loop)

    def _graph(self, key: int) -> PlacedScan | None:
        if key not in self._graphs:
            self._graphs[key] = loop_graph(self.record, self.loops[key]) if key in self.loops else None
        return self._graphs[key]

    def _inner(self, trace: TraceRecord, bad: FirstBad) -> int | None:
        """Return the loop inside the step that made it; None where an operation did."""
        place = bad.variable.operation
        operations = self.loops[trace.loop].operations
        return operations[place].loop if place is not None and place < len(operations) else None

    def _link(self, trace: TraceRecord, bad: FirstBad) -> BlameLink:
        loop, name = self.loops[trace.loop], bad.variable.name
        back = self._back(trace, bad.step)
        at = f"step {bad.step} of {loop.name}{back}"
        if bad.given:
            words = f"{at} was given it in {name}"
        elif self._inner(trace, bad) is not None:
            words = f"{at} has it of the loop in its step: {name}"
        else:
            place = trace.steps.index(bad.step)
            given = ", ".join(_shortly(operand, place) for operand in self._operands(trace, bad.variable))
            constant = self._bad_constant(trace, bad)
            made = "made it" if constant is None else f"met it in {constant.variable.name}"
            words = f"{at} {made}: {name}{f' of {given}' if given else ''}"
        return BlameLink(words, trace.loop, trace.run, bad.step, bad.variable.source, bad.variable.operation)

    def _back(self, trace: TraceRecord, step: int) -> str:
        forward = self.loops.get(self.loops[trace.loop].gradient_of or -1)
        if forward is None:
            return ""
        of = [other for other in self.record.traces if other.loop == forward.key and other.run == trace.run]
        steps = of[0].total_steps if of else trace.total_steps
        return (
            f" (back over step {steps - 1 - step} of {forward.name})"
            if step < steps
            else f" (back over {forward.name})"
        )

    # where a step was given it from

    def _giver(
        self, trace: TraceRecord, bad: FirstBad
    ) -> tuple[tuple[BlameLink, ...], tuple[TraceRecord, FirstBad] | None]:
        """Return links for who gave a step what was wrong, and where it was wrong before."""
        graph, index = self._graph(trace.loop), bad.variable.variable
        if graph is None or index is None:
            return (), None
        variable = graph.loop.variables[index]
        written = [bad.step + (bad.variable.tap or 0) - tap for tap in variable.writes]
        before = max((step for step in written if 0 <= step < bad.step), default=None)
        if before is not None and variable.kind not in ("sequence", "nitsot"):
            words = f"step {before} wrote {variable.name}, and was not kept: --recompute shows it"
            return (BlameLink(words, trace.loop, trace.run, before),), None
        parent = self.loops[trace.loop].parent
        return self._outside(graph.around, variable.outer_input, parent, trace, bad)

    def _outside(
        self, around: GraphSnapshot, key: str | None, parent: int | None, trace: TraceRecord, bad: FirstBad
    ) -> tuple[tuple[BlameLink, ...], tuple[TraceRecord, FirstBad] | None]:
        """Return who made a value around a loop: an input, another loop, the step of the loop around, or an operation."""
        node = maker_of(around, key)
        while node is not None and node.loop is None and node.op.startswith(VIEWS) and node.inputs:
            key = node.inputs[0]
            node = maker_of(around, key)
        if node is not None and node.loop is not None:
            other = node.loop.key
            found = self._first(other)
            if found is None and other in self.loops:
                words = f"loop {self.loops[other].name} gave it, and no step of it that was kept has it"
                return (BlameLink(words, other, None, None),), None
            return (), found
        if parent is not None:
            return (), self._first(parent)
        if node is not None:
            return self._before_loop(around, node, trace, bad)
        if key is None:
            return (), None
        asked = _Asked(key, None, bad.variable.variable)
        return tuple(self._input_rows(around, [asked], trace, bad.step, whole=True)), None

    def _before_loop(
        self, around: GraphSnapshot, node: NodeRecord, trace: TraceRecord, bad: FirstBad
    ) -> tuple[tuple[BlameLink, ...], tuple[TraceRecord, FirstBad] | None]:
        """Return the work outside of loops that gave a row, and the loop or the rows of inputs that it was done on."""
        function = next(own for own in self.record.functions if own.key == self.loops[trace.loop].function)
        operations = function.operations
        known = node.operation is not None and node.operation < len(operations)
        name = operations[node.operation].label if known else node.op  # type: ignore[index]  # it is known
        moved = bad.variable.tap is not None  # else it is the same in every step
        when = "before the loop, for all its steps" if moved else "before the loop"
        link = BlameLink(f"{name} was computed {when}", source=_source(around, node))
        made_of = above(around, node.inputs)
        read = [node.loop.key for node in made_of.nodes if node.loop is not None]
        found = next((first for key in read if (first := self._first(key)) is not None), None)
        if found is not None:
            return (link,), found
        rows = [
            _Asked(
                key,
                None
                if turn is None or not moved
                else bad.step
                if turn > 0
                else trace.total_steps - 1 - bad.step,
            )
            for key, turn in made_of.inputs.items()
        ]
        return (link, *self._input_rows(around, rows, trace, bad.step)), None

    # rows of the function's inputs

    def _rows(self, trace: TraceRecord, bad: FirstBad) -> Iterator[BlameLink]:
        """Yield the rows of the function's inputs that an operation of a step worked on, or the step that wrote its state."""
        graph = self._graph(trace.loop)
        node = node_of(graph.step, bad.variable.operation) if graph is not None else None
        if graph is None or node is None or self.loops[trace.loop].parent is not None:
            return
        reached = set(above(graph.step, node.inputs).inputs)
        rows = list(self._sequence_rows(graph, trace, bad.step, reached))
        yield from rows
        taps = [
            tap
            for variable in graph.loop.variables
            for tap, key in zip(variable.reads, variable.inner_inputs, strict=False)
            if variable.writes and key in reached
        ]
        before = bad.step + max((tap for tap in taps if tap < 0), default=0)
        if not rows and 0 <= before < bad.step:
            name = self.loops[trace.loop].name
            yield BlameLink(
                f"step {before} of {name} wrote what it was made of", trace.loop, trace.run, before
            )
            yield from self._sequence_rows(graph, trace, before, None)

    def _sequence_rows(
        self, graph: PlacedScan, trace: TraceRecord, step: int, reached: set[str] | None
    ) -> Iterator[BlameLink]:
        """Yield the rows that sequences of a step come from: of those whose values are among ``reached``, or of all."""
        for index, variable in enumerate(graph.loop.variables):
            if variable.kind == "sequence" and (reached is None or reached & set(variable.inner_inputs)):
                known = (
                    [] if variable.outer_input is None else above(graph.around, [variable.outer_input]).inputs
                )
                asked = [_Asked(key, None, index) for key in known]
                yield from self._input_rows(graph.around, asked, trace, step)

    def _input_rows(
        self,
        graph: GraphSnapshot,
        rows: Iterable[_Asked],
        trace: TraceRecord,
        step: int,
        whole: bool = False,
    ) -> Iterator[BlameLink]:
        """Yield which rows of the function's inputs a step reads."""
        call = next((call for call in self.record.calls if call.has_run(trace.loop, trace.run)), None)
        for asked in list(rows)[:MOST_ROWS]:
            name, role = graph.variables[asked.key].name, graph.role(asked.key)
            if not name or role not in ("input", "shared"):
                continue
            place, bad = _place(call, name, trace, step, asked)
            if place:
                yield BlameLink(f"it {'was so in' if bad else 'worked on'} {place}, as the caller gave it")
            elif whole:
                yield BlameLink(f"it came in {name}, as the caller gave it")


class _Asked(NamedTuple):
    """An input of the function of which a row is looked for.

    Attributes
    ----------
    key : str
        The input in the function's graph.
    row : int or None
        The row that the graph says, where the input has one for each step.
    variable : int or None
        The loop variable that shows rows of it, if nothing was computed of it before.
    """

    key: str
    row: int | None
    variable: int | None = None


def _place(
    call: HeldCallRecord | None, name: str, trace: TraceRecord, step: int, asked: _Asked
) -> tuple[str, bool]:
    """Return which row of an input a step worked on, and whether it has a NaN or an infinity; empty where that is not known.

    It is the nearest of the rows that have the values which the step read, else the one that the graph says, else the first that
    is bad.
    """
    if call is None or name not in call.input_names or step not in trace.steps:
        return "", False
    array = call.arrays[call.inputs[call.input_names.index(name)]].array()
    if array.ndim == 0 or not array.size:
        bad = bool(array.size) and not np.isfinite(array).all()
        return (name if bad else ""), bad
    rows, place = array.reshape(len(array), -1).astype(np.float64), trace.steps.index(step)
    wrong = [finite < rows.shape[1] for finite in np.isfinite(rows).sum(axis=1).tolist()]
    equal = [
        row
        for variable in trace.variables
        if variable.role == "input" and variable.variable == asked.variable is not None
        for row in _equal_rows(rows, variable, place)
    ]
    if equal:
        row = min(equal, key=lambda row: min(abs(row - step), abs(len(array) - 1 - row - step)))
    elif asked.row is not None and len(array) == trace.total_steps:
        row = asked.row
    elif any(wrong):
        row = wrong.index(True)
    else:
        return "", False
    return f"{name}[{row}]", wrong[row]


def _equal_rows(rows: Array, variable: TracedVariableRecord, place: int) -> list[int]:
    """Return the rows that begin with the numbers which a variable had."""
    values = variable.values[place][: rows.shape[1]]
    if not values.size or math.prod(variable.shape) != rows.shape[1]:
        return []
    part = rows[:, : values.size]
    found: list[int] = np.flatnonzero(
        ((part == values) | (np.isnan(values) & np.isnan(part))).all(axis=1)
    ).tolist()
    return found


def _source(graph: GraphSnapshot, node: NodeRecord) -> SourceRecord | None:
    file, _, line = node.source.rpartition(":")
    return SourceRecord(file, int(line), graph.text(node)) if file and line.isdecimal() else None


def _shortly(variable: TracedVariableRecord, place: int) -> str:
    """Return a value in a few words: itself if it is one key, else between what it lies."""
    low, high = variable.statistics[place, :2].tolist()
    told = f"{low:.4g}" if math.prod(variable.shape) == 1 else f"{low:.4g} … {high:.4g}"
    return f"{variable.name} = {told}"

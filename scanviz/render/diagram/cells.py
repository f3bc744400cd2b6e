"""Cells for the rows of a loop's buffers: their places and names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord, ScanRecord, cell_name
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node
from scanviz.render.diagram.taps import taps

Cells = dict[tuple[int, int], str]  # (loop variable, row) → id of its cell


class Side(Struct, frozen=True):
    """A loop to draw, and its place in the picture.

    Attributes
    ----------
    prefix : str
        Begins all ids.
    loop : ScanRecord
        The loop.
    graph : GraphSnapshot
        The graph of its step.
    box : Cluster
        Its box in the whole picture.
    inner : Diagram
        The content of that box.
    steps : int
        Number of steps.
    before : int
        Number of columns before time 0.
    first_row : int
        First row that is drawn.
    rows : mapping of str to SequenceRows
        Rows of sequences in their arrays.
    of : str
        Name of the loop that it is the back-propagation of.
    states : frozenset of str
        Names of that loop's variables.
    reads : dict of int to int
        Loop variable → the loop variable of the forward loop that it has rows of.
    """

    prefix: str
    loop: ScanRecord
    graph: GraphSnapshot
    box: Cluster
    inner: Diagram
    steps: int
    before: int
    first_row: int
    rows: Mapping[str, SequenceRows]
    of: str = ""
    states: frozenset[str] = frozenset()
    reads: dict[int, int] = field(default_factory=dict)

    def time(self, step: int) -> int:
        """Return the forward step that a step belongs to."""
        return self.steps - 1 - step if self.of else step

    @property
    def backwards(self) -> bool:
        """True for a back-propagation, drawn below its loop or alone."""
        return bool(self.of or self.box.gradient_of)

    def named_time(self, step: int) -> int:
        """Return the forward step in the names of a step's rows."""
        return self.steps - 1 - step if self.backwards else step

    @property
    def band(self) -> int:
        """0 for a loop, 1 for its back-propagation."""
        return 1 if self.of else 0

    def path(self, step: int) -> str:
        """Return the id of the box of a step."""
        return f"{self.prefix}step {step}"

    def step_column(self, step: int) -> int:
        """Return the column of a step."""
        return 2 * (self.before + self.time(step)) + 1

    def cell_column(self, kind: str, row: int) -> int:
        """Return the column of a state's row: right of the step that completes it, left of it in back-propagation.

        Step t writes row t of most states; row t of a mitmot is complete when step t begins, which is the first that adds nothing.
        """
        place = row - (kind == "mitmot")
        time = self.steps - 2 - place if self.of else place
        return max(0, 2 * (self.before + time) + 2)


class Drawn(Struct):
    """The parts of one loop drawn so far."""

    cells: Cells = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # labels of values that no step reads
    next_row: int = 0


def read_by_step(side: Side) -> set[int]:
    """Return which loop variables a step reads."""
    read = {edge.source for edge in side.inner.edges if edge.role == "data"}
    return {node.variable for node in side.inner.nodes if node.id in read and node.variable is not None}


def shown_already(side: Side, index: int, forward: Drawn | None) -> bool:
    """Return whether all rows of a sequence are cells of the forward loop."""
    if forward is None or index not in side.reads:
        return False
    tap = next(iter(side.loop.variables[index].reads), 0)
    return all((side.reads[index], side.time(step) + tap) in forward.cells for step in range(side.steps))


def add_sequence(side: Side, drawn: Drawn, index: int, variable: LoopVariableRecord) -> None:
    """Draw a row for each step: above the step, or in it for back-propagation."""
    steps = range(side.steps)
    for step in steps[::-1] if side.of else steps:  # in the order of the forward loop
        label = at_time(inner_label(side, variable), side.named_time(step), side.rows)
        cluster = side.path(step) if side.of else None
        _cell(side, drawn, index, variable, step, label, side.step_column(step), cluster)
    drawn.next_row += 1


def inner_label(side: Side, variable: LoopVariableRecord) -> str:
    """Return the label of a loop variable's value in the step."""
    return next((side.graph.variables[key].label for key in variable.inner_inputs), variable.name)


def non_sequence(side: Side, index: int, variable: LoopVariableRecord, row: int) -> Node:
    """Return the node of a non-sequence, to be copied into each step."""
    return Node(
        f"once/{index}",
        "input",
        variable.name,
        type=_type(side, variable),
        loop_kind=variable.kind,
        variable=index,
        loop=side.loop.key,
        row=row,
        band=side.band,
    )


def add_buffer(side: Side, drawn: Drawn, index: int, variable: LoopVariableRecord) -> None:
    """Draw all cells that steps read or write: initial rows first, then a row a step; all rows of a mitmot."""
    reads, writes = taps(variable)
    around = [*reads, *writes] or [0]
    first, last = min(*around, 0), max(*writes, *reads, 0) + side.steps - 1
    if variable.kind in ("sitsot", "mitsot", "carry", "nitsot"):
        last = side.steps - 1
    rows = range(first, last + 1)
    for row in rows[::-1] if side.of else rows:  # in the order of the forward loop
        result = variable.kind == "nitsot"
        column = side.step_column(row) if result else side.cell_column(variable.kind, row)
        _cell(side, drawn, index, variable, row, _cell_label(side, variable, row), column, None)
    drawn.next_row += 1


def _cell_label(side: Side, variable: LoopVariableRecord, row: int) -> str:
    """Return the label of a row; a gradient's row is named after the forward row."""
    name, time = variable.name, side.named_time(row)
    if variable.kind == "nitsot" and side.backwards:
        label = at_time(cell_name(name, 0, ()), time, side.rows)
        return f"{label} from step {time}" if _has_several_taps(side, name) else label
    if variable.kind == "mitmot" and side.backwards and name.removeprefix("∂") in (side.states or {name[1:]}):
        return f"{name}[{time}]"
    if variable.kind == "carry" or (variable.kind == "sitsot" and side.backwards):
        return f"{name} before" if row < 0 else f"{name} after {time}"
    return f"{name}[{row}]"


def _has_several_taps(side: Side, name: str) -> bool:
    """Return whether a loop accumulates gradients of rows that several taps read."""
    return (
        sum(v.kind == "nitsot" and _without_tap(v.name) == _without_tap(name) for v in side.loop.variables)
        > 1
    )


def _without_tap(name: str) -> str:
    return name.partition("[t")[0]


def _cell(
    side: Side,
    drawn: Drawn,
    index: int,
    variable: LoopVariableRecord,
    row: int,
    label: str,
    column: int,
    cluster: str | None,
) -> None:
    found = drawn.cells[index, row] = f"{side.prefix}cell/{index}/{row}"
    drawn.nodes.append(
        Node(
            found,
            "cell",
            label,
            cluster,
            type=_type(side, variable),
            loop_kind=variable.kind,
            variable=index,
            loop=side.loop.key,
            column=column,
            row=drawn.next_row,
            band=side.band,
        )
    )


def _type(side: Side, variable: LoopVariableRecord) -> str:
    keys = (*variable.inner_inputs, *variable.inner_outputs)
    return next((side.graph.variables[key].type for key in keys), "")


_AT_STEP = re.compile(r"\[t([+-]\d+)?\]")
_CUT = re.compile(r"index\[(-?\d*):(-?\d*)(?::(-?1))?\]$")


class SequenceRows(Struct, frozen=True):
    """The rows of an array that a sequence reads: row ``first + direction * t + tap`` at step t."""

    first: int
    direction: int

    def row(self, time: int, tap: int) -> int:
        """Return the row that a step reads at a tap."""
        return self.first + self.direction * time + tap


def rows_of_sequences(graph: GraphSnapshot) -> dict[str, SequenceRows]:
    """Return the rows of each sequence by name, for loops that are no back-propagation."""
    found: dict[str, SequenceRows] = {}
    for loop, _, around in graph.all_loops():
        for variable in loop.variables if loop.gradient_of is None else ():
            if variable.kind == "sequence" and variable.outer_input is not None:
                first, direction = _first_row(around, variable.outer_input)
                if first is not None:
                    tap = next(iter(variable.reads), 0)
                    found.setdefault(variable.name, SequenceRows(first - tap, direction))
    return found


def _first_row(graph: GraphSnapshot, variable: str) -> tuple[int | None, int]:
    """Return the first row of an array slice, and its direction; None if unknown."""
    made = {output: node for node in graph.nodes for output in node.outputs}
    first: int | None = 0
    direction = 1
    while first is not None and (node := made.get(variable)) is not None and node.op.startswith("index["):
        cut = _CUT.match(node.op)
        stride = int(cut[3] or 1) if cut is not None else 1
        first = _through(first, cut[1], cut[2], stride) if cut is not None else None
        direction *= stride
        variable = node.inputs[0]
    return first, direction


def _through(row: int, start: str, stop: str, stride: int) -> int | None:
    """Return the array row of a row of ``array[start:stop:stride]``; None if that depends on its length."""
    if row >= 0:
        begin = int(start) if start else (0 if stride == 1 else -1)
        found = begin + stride * row
        return found if (begin < 0) == (found < 0) else None
    if stride == -1:
        return None if stop else -1 - row
    return row if not stop else row + int(stop) if int(stop) < 0 else None


def at_time(label: str, time: int, rows: Mapping[str, SequenceRows] | None = None) -> str:
    """Return a row's expression at step t with the number of one step in place of t.

    Parameters
    ----------
    label : str
        The expression.
    time : int
        The step.
    rows : mapping of str to SequenceRows, optional
        Rows of sequences in their arrays; rows of states have the numbers of their steps.

    Examples
    --------
    >>> at_time("1 - h[t-1] * h[t]", 3), at_time("x", 3)
    ('1 - h[2] * h[3]', 'x at 3')
    >>> at_time("x[t-1] * h[t-1]", 3, {"x": SequenceRows(1, 1)})
    'x[3] * h[2]'
    """
    found = label
    for name, sequence in (rows or {}).items():

        def row(match: re.Match[str], name: str = name, of: SequenceRows = sequence) -> str:
            return f"{name}[{of.row(time, int(match[1] or 0))}]"

        found = re.sub(rf"(?<![\w.\]]){re.escape(name)}{_AT_STEP.pattern}", row, found)
    found = _AT_STEP.sub(lambda match: f"[{time + int(match[1] or 0)}]", found)
    return found if found != label else f"{label} at {time}"

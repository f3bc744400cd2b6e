"""One loop step by step: copies of its step beside one another, and the cells that they read and write.

Steps stand in odd columns, the rows of states between them in even ones: what a step reads of the step before stands on its one
side, what it writes on the other, so that a state flows through the steps.  What all steps read (weights) is drawn in each.  A row
that a step only adds to (of a mitmot) gets an arrow from what is added, and no operation for the sum.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from scanviz.record.graph import LoopSnapshot, LoopVariableSnapshot
from scanviz.render.diagram.model import Cluster, Diagram, Edge, EdgeRole, Node, Port
from scanviz.render.diagram.taps import at_step, taps

Cells = dict[tuple[int, int], str]  # (loop variable, row) → id of its cell
_AT_STEP = re.compile(r"\[t([+-]\d+)?\]")


@dataclass(frozen=True, slots=True)
class Side:
    """A loop to be drawn, and where.

    Attributes
    ----------
    prefix : str
        Begins all ids.
    loop : LoopSnapshot
        The loop.
    box : Cluster
        Its box in the whole picture.
    inner : Diagram
        What stands in that box.
    steps : int
        How many steps.
    before : int
        How many times before time 0 have a column.
    first_row : int
        Row of what is drawn first.
    outer_names : dict of int to str
        What loop variables are called around the loop.
    of : str
        Name of the loop that it is the back-propagation of.
    states : frozenset of str
        Names of that loop's variables.
    reads : dict of int to int
        Loop variable → the loop variable of the forward loop that it has rows of.
    """

    prefix: str
    loop: LoopSnapshot
    box: Cluster
    inner: Diagram
    steps: int
    before: int
    first_row: int
    outer_names: dict[int, str]
    of: str = ""
    states: frozenset[str] = frozenset()
    reads: dict[int, int] = field(default_factory=dict)

    def time(self, step: int) -> int:
        """Return the forward step that a step belongs to."""
        return self.steps - 1 - step if self.of else step

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


@dataclass(slots=True)
class Drawn:
    """What was drawn of one loop, so far."""

    cells: Cells = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # what no step reads
    next_row: int = 0


def draw(side: Side, forward: Drawn | None) -> Drawn:
    """Draw a loop step by step, its rows below those that are taken."""
    drawn = Drawn(next_row=side.first_row)
    read = _read(side)
    once: dict[int, Node] = {}
    for index, variable in enumerate(side.loop.variables):
        if variable.kind in ("sequence", "non_sequence") and index not in read:
            drawn.unread.append(_inner_label(side, variable))
        elif variable.kind == "sequence" and not _shown_already(side, index, forward):
            _sequence(side, drawn, index, variable)
        elif variable.kind == "non_sequence":
            once[index] = _non_sequence(side, index, variable, drawn.next_row)
    drawn.next_row += bool(once)
    rows = _operation_rows(side, drawn.next_row)
    drawn.next_row += len(rows)
    for index, variable in enumerate(side.loop.variables):
        if variable.kind not in ("sequence", "non_sequence"):
            _buffer(side, drawn, index, variable)
    for step in range(side.steps):
        _Step(side, drawn, step, rows, once, forward).draw()
    return drawn


def _read(side: Side) -> set[int]:
    """Return which loop variables a step reads."""
    read = {edge.source for edge in side.inner.edges if edge.role == "data"}
    return {node.variable for node in side.inner.nodes if node.id in read and node.variable is not None}


def _shown_already(side: Side, index: int, forward: Drawn | None) -> bool:
    """Return whether all rows that a sequence gives are cells of the forward loop."""
    if forward is None or index not in side.reads:
        return False
    tap = next(iter(side.loop.variables[index].reads), 0)
    return all((side.reads[index], side.time(step) + tap) in forward.cells for step in range(side.steps))


def _sequence(side: Side, drawn: Drawn, index: int, variable: LoopVariableSnapshot) -> None:
    """Draw a row for each step: above it, or in it where it belongs to back-propagation."""
    for step in range(side.steps):
        outer = side.outer_names.get(index)
        label = f"{outer}[{step}]" if outer else at_time(_inner_label(side, variable), side.time(step))
        cluster = side.path(step) if side.of else None
        _cell(side, drawn, index, variable, step, label, side.step_column(step), cluster)
    drawn.next_row += 1


def _inner_label(side: Side, variable: LoopVariableSnapshot) -> str:
    return next((side.loop.step.variables[number].label for number in variable.inner_inputs), variable.name)


def at_time(label: str, time: int) -> str:
    """Return an expression of rows at step t as it is for one step.

    Examples
    --------
    >>> at_time("1 - h[t-1] * h[t]", 3), at_time("x", 3)
    ('1 - h[2] * h[3]', 'x at 3')
    """
    found = _AT_STEP.sub(lambda match: f"[{time + int(match[1] or 0)}]", label)
    return found if found != label else f"{label} at {time}"


def _non_sequence(side: Side, index: int, variable: LoopVariableSnapshot, row: int) -> Node:
    """Return what stands for a non-sequence in each step."""
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


def _buffer(side: Side, drawn: Drawn, index: int, variable: LoopVariableSnapshot) -> None:
    """Draw all cells that steps read or write: initial rows first, then a row a step; of a mitmot, all rows that there are."""
    reads, writes = taps(variable)
    around = [*reads, *writes] or [0]
    first, last = min(*around, 0), max(*writes, *reads, 0) + side.steps - 1
    if variable.kind in ("sitsot", "mitsot", "carry", "nitsot"):
        last = side.steps - 1
    for row in range(first, last + 1):
        result = variable.kind == "nitsot"
        column = side.step_column(row) if result else side.cell_column(variable.kind, row)
        _cell(side, drawn, index, variable, row, _cell_label(side, variable, row), column, None)
    drawn.next_row += 1


def _cell_label(side: Side, variable: LoopVariableSnapshot, row: int) -> str:
    """Return what a row is called: of a gradient, by what it is the gradient of."""
    name, time = variable.name, side.time(row)
    if variable.kind == "nitsot" and side.of:
        return at_time(at_step(name, 0), time)
    if variable.kind == "mitmot" and name.removeprefix("∂") in side.states:
        return f"{name}[{time}]"
    if variable.kind == "carry" or (variable.kind == "sitsot" and side.of):
        return f"{name} before" if row < 0 else f"{name} after {time}"
    return f"{name}[{row}]"


def _cell(
    side: Side,
    drawn: Drawn,
    index: int,
    variable: LoopVariableSnapshot,
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


def _type(side: Side, variable: LoopVariableSnapshot) -> str:
    numbers = (*variable.inner_inputs, *variable.inner_outputs)
    return next((side.loop.step.variables[number].type for number in numbers), "")


def _operation_rows(side: Side, first: int) -> dict[str, int]:
    """Return the row of each node of a step: what reads only cells above what reads its result."""
    inner = [node for node in side.inner.nodes if _is_drawn(node, side)]
    home = {port.id: node.id for node in inner for port in node.ports}
    before: dict[str, list[str]] = {}
    for edge in side.inner.edges:
        if edge.role == "data":
            target = home.get(edge.target, edge.target)
            before.setdefault(target, []).append(home.get(edge.source, edge.source))
    level: dict[str, int] = {}
    for node in inner:  # in order of computation
        level[node.id] = 1 + max((level.get(k, 0) for k in before.get(node.id, ())), default=0)
    inner.sort(key=lambda node: level[node.id])
    return {node.id: first + place for place, node in enumerate(inner)}


def _is_drawn(node: Node, side: Side) -> bool:
    """Return whether a node of a step is drawn in it: results that an operation gives are cells alone."""
    if node.kind != "inner_output":
        return node.kind not in ("port", "inner_input")
    kinds = {each.id: each.kind for each in side.inner.nodes}
    return any(kinds.get(e.source) == "inner_input" for e in side.inner.edges if e.target == node.id)


class _Step:
    """One copy of a loop's step."""

    def __init__(
        self,
        side: Side,
        drawn: Drawn,
        step: int,
        rows: dict[str, int],
        once: dict[int, Node],
        forward: Drawn | None,
    ) -> None:
        self.side, self.drawn, self.step, self.rows, self.once = side, drawn, step, rows, once
        self.forward = forward
        self.used = {edge.source for edge in side.inner.edges if edge.role == "data"}
        self.path = side.path(step)
        self.weights: dict[int, str] = {}  # non-sequence → id of what stands for it in this step
        self.reads: dict[str, tuple[str, str]] = {}  # id of a step's input → its cell, and at which tap
        self.writes: dict[str, tuple[str, int, str]] = {}  # id of a step's result → its cell, tap, kind
        self.sums: dict[
            str, tuple[str, str]
        ] = {}  # id of a sum into a cell → what is added, the result that it is
        self.find_cells()

    def draw(self) -> None:
        """Draw it."""
        side, step = self.side, self.step
        label = f"step {step}" if not side.of else f"∂ step {side.time(step)}"
        self.drawn.clusters.append(Cluster(self.path, label, None, side.loop.key))
        for node in side.inner.nodes:
            if node.id in self.rows and node.id not in self.sums:
                self.drawn.nodes.append(self.copy(node))
        for edge in side.inner.edges:
            self.edge(edge)

    def find_cells(self) -> None:
        """Find the cells of this step's inputs and results, which stand in the picture in the order of their taps."""
        counts: dict[tuple[str, int], int] = {}
        for node in self.side.inner.nodes:
            if node.kind not in ("inner_input", "inner_output") or node.variable is None:
                continue
            variable = self.side.loop.variables[node.variable]
            place = counts[node.kind, node.variable] = counts.get((node.kind, node.variable), -1) + 1
            reads, writes = taps(variable)
            if node.kind == "inner_input" and node.id in self.used:
                self.reads[node.id] = self.cell_read(node.variable, variable, reads, place)
            elif node.kind == "inner_output" and place < len(writes):
                cell = self.drawn.cells[node.variable, self.step + writes[place]]
                self.writes[node.id] = cell, writes[place], variable.kind
        self.find_sums()

    def find_sums(self) -> None:
        """Find the operations that add something to the cell that they write, and are read by nothing else."""
        data = [edge for edge in self.side.inner.edges if edge.role == "data"]
        into: dict[str, list[str]] = {}
        readers: dict[str, list[str]] = {}
        for edge in data:
            into.setdefault(edge.target, []).append(edge.source)
            readers.setdefault(edge.source, []).append(edge.target)
        kinds = {node.id: node.kind for node in self.side.inner.nodes}
        adds = {node.id for node in self.side.inner.nodes if node.label.rpartition(" = ")[2] == "add"}
        for result, (cell, _, kind) in self.writes.items():
            [source, *_] = into.get(result) or [""]
            terms = into.get(source, [])
            if kind != "mitmot" or source not in adds or len(terms) != 2 or readers[source] != [result]:
                continue
            for own, other in (terms, terms[::-1]):
                alone = self.reads.get(own, ("", ""))[0] == cell and readers[own] == [source]
                if alone and kinds.get(other) != "inner_input":
                    self.sums[source] = other, result
                    break

    def cell_read(
        self, index: int, variable: LoopVariableSnapshot, reads: tuple[int, ...], place: int
    ) -> tuple[str, str]:
        """Return the cell that a step's input is, and how its tap is said."""
        tap = reads[place] if place < len(reads) else 0
        if variable.kind == "non_sequence":
            return self.weight(index), ""
        if variable.kind == "sequence":
            if (index, self.step) in self.drawn.cells:
                return self.drawn.cells[index, self.step], ""
            assert self.forward is not None
            time = self.side.time(self.step) + tap
            return self.forward.cells[self.side.reads[index], time], at_step("", tap)[1:-1]
        said = "" if variable.kind in ("sitsot", "carry") else f"tap {tap}"
        return self.drawn.cells[index, self.step + tap], said

    def weight(self, index: int) -> str:
        """Return the id of what stands for a non-sequence in this step."""
        if index not in self.weights:
            node = self.once[index]
            self.weights[index] = f"{self.path}/{node.id}"
            column = self.side.step_column(self.step)
            self.drawn.nodes.append(replace(node, id=self.weights[index], cluster=self.path, column=column))
        return self.weights[index]

    def copy(self, node: Node) -> Node:
        """Return this step's copy of a node, without times: those are of all steps."""
        return replace(
            node,
            id=f"{self.path}/{node.id}",
            cluster=self.path,
            ports=tuple(Port(f"{self.path}/{p.id}", p.side, p.label, p.kind, p.variable) for p in node.ports),
            time_ns=None,
            share=None,
            column=self.side.step_column(self.step),
            row=self.rows[node.id],
            band=self.side.band,
        )

    def edge(self, edge: Edge) -> None:
        """Draw this step's copy of an edge: what comes from or goes to another step ends at cells."""
        if edge.role != "data" or edge.source in self.sums:
            return
        source, label = f"{self.path}/{edge.source}", edge.label
        role: EdgeRole = "data"
        if edge.source in self.reads:
            source, label = self.reads[edge.source]
            role = "enters"
        if edge.target in self.sums:
            added, result = self.sums[edge.target]
            if edge.source == added:
                cell = self.writes[result][0]
                self.drawn.edges.append(Edge(source, cell, "accumulates", "+=", edge.type))
            return
        if edge.target in self.writes and edge.target not in self.rows:
            self.write(edge.target, source, edge.type)
            return
        target = f"{self.path}/{edge.target}"
        self.drawn.edges.append(Edge(source, target, role, label, edge.type, place=edge.place))
        if edge.target in self.writes:
            self.write(edge.target, target, edge.type)

    def write(self, result: str, source: str, kind: str) -> None:
        """Draw how a result goes into its cell."""
        cell, tap, of = self.writes[result]
        label = f"tap {tap}" if of == "mitmot" else ""
        self.drawn.edges.append(Edge(source, cell, "leaves", label, kind))


__all__ = ["Cells", "Drawn", "Side", "at_time", "draw"]

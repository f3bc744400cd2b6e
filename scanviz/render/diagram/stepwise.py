"""One loop step by step: copies of its step beside one another, and the cells that they read and write."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from scanviz.record.graph import LoopSnapshot, LoopVariableSnapshot
from scanviz.render.diagram.model import Cluster, Diagram, Edge, EdgeRole, Node, Port
from scanviz.render.diagram.taps import at_step, taps

Cells = dict[tuple[int, int], str]  # (loop variable, time) → id of its cell


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
    first_column : int
        Column of time 0.
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
    first_column: int
    first_row: int
    outer_names: dict[int, str]
    of: str = ""
    states: frozenset[str] = frozenset()
    reads: dict[int, int] = field(default_factory=dict)

    def time(self, step: int) -> int:
        """Return the forward step that a step belongs to."""
        return self.steps - 1 - step if self.of else step

    def column(self, step: int) -> int:
        """Return the column of a step, or of the cell of that time."""
        return self.first_column + self.time(step)


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
    once: dict[int, str] = {}
    for index, variable in enumerate(side.loop.variables):
        if variable.kind in ("sequence", "non_sequence") and index not in read:
            drawn.unread.append(_inner_label(side, variable))
        elif variable.kind == "sequence" and not _shown_already(side, index, forward):
            _sequence(side, drawn, index, variable)
        elif variable.kind == "non_sequence":
            once[index] = _non_sequence(side, drawn, index, variable, len(once))
    rows = _operation_rows(side, drawn.next_row)
    drawn.next_row += len(rows)
    for index, variable in enumerate(side.loop.variables):
        if variable.kind not in ("sequence", "non_sequence"):
            _buffer(side, drawn, index, variable)
    for step in range(side.steps):
        _Step(side, drawn, step, rows, once, forward).draw()
    drawn.next_row = max(drawn.next_row, side.first_row + len(once))
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
    for step in range(side.steps):
        outer = side.outer_names.get(index)
        label = f"{outer}[{step}]" if outer else f"{_inner_label(side, variable)} of step {side.time(step)}"
        _cell(side, drawn, index, variable, step, label)
    drawn.next_row += 1


def _inner_label(side: Side, variable: LoopVariableSnapshot) -> str:
    return next((side.loop.step.variables[number].label for number in variable.inner_inputs), variable.name)


def _non_sequence(side: Side, drawn: Drawn, index: int, variable: LoopVariableSnapshot, row: int) -> str:
    found = f"{side.prefix}once/{index}"
    drawn.nodes.append(
        Node(
            found,
            "input",
            variable.name,
            type=_type(side, variable),
            loop_kind=variable.kind,
            variable=index,
            loop=side.loop.key,
            column=0,
            row=side.first_row + row,
        )
    )
    return found


def _buffer(side: Side, drawn: Drawn, index: int, variable: LoopVariableSnapshot) -> None:
    """Draw all cells that steps read or write: initial rows first, then a row a step; of a mitmot, all rows that there are."""
    reads, writes = taps(variable)
    around = [*reads, *writes] or [0]
    first, last = min(*around, 0), max(*writes, *reads, 0) + side.steps - 1
    if variable.kind in ("sitsot", "mitsot", "carry", "nitsot"):
        last = side.steps - 1
    for time in range(first, last + 1):
        label = f"{variable.name}[{time}]"
        if variable.kind == "carry":
            label = f"{variable.name} before" if time < 0 else f"{variable.name} after step {time}"
        elif variable.kind == "nitsot" and side.of:
            label = f"{at_step(variable.name, 0)} of step {side.time(time)}"
        elif variable.kind == "mitmot" and variable.name.removeprefix("∂") in side.states:
            label += f" for {variable.name.removeprefix('∂')}[{side.time(time)}]"
        _cell(side, drawn, index, variable, time, label)
    drawn.next_row += 1


def _cell(
    side: Side, drawn: Drawn, index: int, variable: LoopVariableSnapshot, time: int, label: str
) -> None:
    found = drawn.cells[index, time] = f"{side.prefix}cell/{index}/{time}"
    drawn.nodes.append(
        Node(
            found,
            "cell",
            label,
            type=_type(side, variable),
            loop_kind=variable.kind,
            variable=index,
            loop=side.loop.key,
            column=max(0, side.column(time)),
            row=drawn.next_row,
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
        once: dict[int, str],
        forward: Drawn | None,
    ) -> None:
        self.side, self.drawn, self.step, self.rows, self.once = side, drawn, step, rows, once
        self.forward = forward
        self.used = {edge.source for edge in side.inner.edges if edge.role == "data"}
        self.path = f"{side.prefix}step {step}"
        self.reads: dict[str, tuple[str, str]] = {}  # id of a step's input → its cell, and at which tap
        self.writes: dict[str, tuple[str, int, str]] = {}  # id of a step's result → its cell, tap, kind
        self.find_cells()

    def draw(self) -> None:
        """Draw it."""
        side, step = self.side, self.step
        label = f"step {step}" if not side.of else f"{side.box.label}: step {step}, of step {side.time(step)}"
        self.drawn.clusters.append(
            Cluster(self.path, label, None, side.loop.key, side.box.gradient_of if side.of else "")
        )
        for node in side.inner.nodes:
            if node.id in self.rows:
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

    def cell_read(
        self, index: int, variable: LoopVariableSnapshot, reads: tuple[int, ...], place: int
    ) -> tuple[str, str]:
        """Return the cell that a step's input is, and how its tap is said."""
        tap = reads[place] if place < len(reads) else 0
        if variable.kind == "non_sequence":
            return self.once[index], ""
        if variable.kind == "sequence":
            if (index, self.step) in self.drawn.cells:
                return self.drawn.cells[index, self.step], ""
            assert self.forward is not None
            time = self.side.time(self.step) + tap
            return self.forward.cells[self.side.reads[index], time], at_step("", tap)[1:-1]
        said = "" if variable.kind in ("sitsot", "carry") else f"tap {tap}"
        return self.drawn.cells[index, self.step + tap], said

    def copy(self, node: Node) -> Node:
        """Return this step's copy of a node, without times: those are of all steps."""
        return replace(
            node,
            id=f"{self.path}/{node.id}",
            cluster=self.path,
            ports=tuple(Port(f"{self.path}/{p.id}", p.side, p.label, p.kind, p.variable) for p in node.ports),
            time_ns=None,
            share=None,
            column=self.side.column(self.step),
            row=self.rows[node.id],
        )

    def edge(self, edge: Edge) -> None:
        """Draw this step's copy of an edge: what comes from or goes to another step ends at cells."""
        if edge.role != "data":
            return
        source, label = f"{self.path}/{edge.source}", edge.label
        role: EdgeRole = "data"
        if edge.source in self.reads:
            source, label = self.reads[edge.source]
            role = "enters"
        if edge.target in self.writes and edge.target not in self.rows:
            self.write(edge.target, source, edge.type)
            return
        target = f"{self.path}/{edge.target}"
        self.drawn.edges.append(Edge(source, target, role, label, edge.type, place=edge.place))
        if edge.target in self.writes:
            self.write(edge.target, target, edge.type)

    def write(self, result: str, source: str, kind: str) -> None:
        """Draw how a result goes into its cell; of several writes to a cell, the how-manieth it is."""
        cell, tap, of = self.writes[result]
        label = ""
        if of == "mitmot":
            earlier = sum(e.target == cell and e.role in ("leaves", "recurrence") for e in self.drawn.edges)
            label = f"write {earlier + 1}, tap {tap}"
        read_too = any(text == cell for text, _ in self.reads.values())
        role: EdgeRole = "recurrence" if read_too else "leaves"
        self.drawn.edges.append(Edge(source, cell, role, label, kind))


__all__ = ["Cells", "Drawn", "Side", "draw"]

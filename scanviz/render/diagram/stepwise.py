"""One loop step by step: copies of its step beside one another, and the cells that they read and write.

Steps stand in odd columns, the rows of states between them in even ones.  A step's states stand at one side and its new states at
the other, so that a state flows through the steps.  Weights, which all steps read, are drawn in each.  A mitmot's row that a step
only adds to gets an arrow from the added value, and no operation for the sum.
"""

from __future__ import annotations

from msgspec.structs import replace

from scanviz.record.graphs.graph import LoopVariableRecord, cell_name
from scanviz.render.diagram.cells import (
    Drawn,
    Side,
    add_buffer,
    add_sequence,
    inner_label,
    non_sequence,
    read_by_step,
    shown_already,
)
from scanviz.render.diagram.model import Cluster, Edge, EdgeRole, Node, Port
from scanviz.render.diagram.taps import taps


def draw(side: Side, forward: Drawn | None) -> Drawn:
    """Draw a loop step by step, with its state rows below the step rows in use."""
    drawn = Drawn(next_row=side.first_row)
    read = read_by_step(side)
    once: dict[int, Node] = {}
    for index, variable in enumerate(side.loop.variables):
        if variable.kind in ("sequence", "non_sequence") and index not in read:
            drawn.unread.append(inner_label(side, variable))
        elif variable.kind == "sequence" and not shown_already(side, index, forward):
            add_sequence(side, drawn, index, variable)
        elif variable.kind == "non_sequence":
            once[index] = non_sequence(side, index, variable, drawn.next_row)
    drawn.next_row += bool(once)
    rows = _operation_rows(side, drawn.next_row)
    drawn.next_row += len(rows)
    for index, variable in enumerate(side.loop.variables):
        if variable.kind not in ("sequence", "non_sequence"):
            add_buffer(side, drawn, index, variable)
    for step in range(side.steps):
        _Step(side, drawn, step, rows, once, forward).draw()
    return drawn


def _operation_rows(side: Side, first: int) -> dict[str, int]:
    """Return the row of each node of a step: sources above their readers."""
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
    """Return whether a step draws a node: an operation's result is drawn as a cell only."""
    if node.kind != "inner_output":
        return node.kind not in ("port", "inner_input")
    kinds = {node.id: node.kind for node in side.inner.nodes}
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
        self.weights: dict[int, str] = {}  # non-sequence → id of its node in this step
        self.reads: dict[str, tuple[str, str]] = {}  # id of a step's input → its cell, and at which tap
        self.writes: dict[str, tuple[str, int, str]] = {}  # id of a step's result → its cell, tap, kind
        self.sums: dict[str, tuple[str, str]] = {}  # id of a sum into a cell → the added value and the result
        self.find_cells()

    def draw(self) -> None:
        """Draw the step."""
        side, step = self.side, self.step
        label = f"step {step}" if not side.of else f"∂ step {side.time(step)}"
        self.drawn.clusters.append(Cluster(self.path, label, None, side.loop.key))
        for node in side.inner.nodes:
            if node.id in self.rows and node.id not in self.sums:
                self.drawn.nodes.append(self.copy(node))
        for edge in side.inner.edges:
            self.edge(edge)

    def find_cells(self) -> None:
        """Find the cells of this step's inputs and results, in the order of their taps."""
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
        """Find the operations that only accumulate into a cell."""
        data = [edge for edge in self.side.inner.edges if edge.role == "data"]
        into: dict[str, list[str]] = {}
        readers: dict[str, list[str]] = {}
        for edge in data:
            into.setdefault(edge.target, []).append(edge.source)
            readers.setdefault(edge.source, []).append(edge.target)
        kinds = {node.id: node.kind for node in self.side.inner.nodes}
        adds = {node.id for node in self.side.inner.nodes if node.op == "add"}
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
        self, index: int, variable: LoopVariableRecord, reads: tuple[int, ...], place: int
    ) -> tuple[str, str]:
        """Return the cell of a step's input, and its tap in words."""
        tap = reads[place] if place < len(reads) else 0
        if variable.kind == "non_sequence":
            return self.weight(index), ""
        if variable.kind == "sequence":
            if (index, self.step) in self.drawn.cells:
                return self.drawn.cells[index, self.step], ""
            assert self.forward is not None
            time = self.side.time(self.step) + tap
            return self.forward.cells[self.side.reads[index], time], cell_name("", tap, ())[1:-1]
        words = "" if variable.kind in ("sitsot", "carry") else f"tap {tap}"
        return self.drawn.cells[index, self.step + tap], words

    def weight(self, index: int) -> str:
        """Return the id of a non-sequence's node in this step."""
        if index not in self.weights:
            node = self.once[index]
            self.weights[index] = f"{self.path}/{node.id}"
            column = self.side.step_column(self.step)
            self.drawn.nodes.append(replace(node, id=self.weights[index], cluster=self.path, column=column))
        return self.weights[index]

    def copy(self, node: Node) -> Node:
        """Return this step's copy of a node, without times, which belong to all steps."""
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
        """Draw this step's copy of an edge; edges from or to other steps end at cells."""
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
        """Draw the edge from a result to its cell."""
        cell, tap, of = self.writes[result]
        label = f"tap {tap}" if of == "mitmot" else ""
        self.drawn.edges.append(Edge(source, cell, "leaves", label, kind))

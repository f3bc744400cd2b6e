"""Draws graphs with every loop open: a level for the function's graph and one for each loop's step, joined by ports.

Ids are made of the loops that something stands in and of the key that a graph's nodes and variables keep through rewrites; where
there is none, of its place.  A key alone is no id: the step of a gradient may hold the same operation as the step of its loop.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord, NodeRecord, ScanRecord, cell_name
from scanviz.record.graphs.plumbing import plumbing, shown_variable
from scanviz.record.names import TakenNames
from scanviz.render.diagram.formulas import SHORT, constant_text, operand_name, operation_label
from scanviz.render.diagram.heat import HeatMap
from scanviz.render.diagram.model import Cluster, Edge, EdgeRole, Node, NodeKind
from scanviz.render.diagram.taps import lags, steps_text, taps, with_taps

_LEAVES: dict[str, NodeKind] = {"shared": "shared", "constant": "constant"}


class PictureBuilder:
    """Collects a picture's parts, and gives them unique ids.

    Parameters
    ----------
    heat : HeatMap
        Times.
    folded : bool
        Whether plumbing is left out.
    """

    def __init__(self, heat: HeatMap, folded: bool = False) -> None:
        self.heat, self.folded = heat, folded
        self.left_out = 0  # operations that are plumbing
        self.nodes: list[Node] = []
        self.clusters: list[Cluster] = []
        self.edges: list[Edge] = []
        self.ids = TakenNames()  # names come from scripts


class PictureLevel:
    """Draws one graph: the function's, or a loop's step."""

    def __init__(
        self,
        picture: PictureBuilder,
        graph: GraphSnapshot,
        cluster: str | None,
        path: str,
        loop: ScanRecord | None,
    ) -> None:
        self.picture, self.graph, self.cluster, self.path, self.loop = picture, graph, cluster, path, loop
        self.source_of: dict[str, str] = {}  # key of a variable → id of its node
        self.result: dict[str, str] = {}  # … → which result it is, of an operation that has several
        self.plumbing = plumbing(graph) if picture.folded else {}
        self.shown = shown_variable(self.plumbing, graph)
        picture.left_out += len(self.plumbing)
        self.makers = {key: node for node in graph.nodes for key in node.outputs}
        self.names: dict[str, str] = {}  # names of plumbing, by the key of the variable drawn in its place
        for result, drawn in self.shown.items():
            if drawn is not None and graph.variables[result].name:
                self.names.setdefault(drawn, graph.variables[result].name)

    def draw(self) -> None:
        """Draw the graph, and the function's outputs."""
        for key, leaf in self.graph.leaves.items():
            if self.loop is None and leaf.role in ("input", "parameter"):
                self.leaf(key)
        for place, node in enumerate(self.graph.nodes):
            if place in self.plumbing:
                continue
            if node.loop is None:
                self.operation(node, place)
            else:
                self.open_loop(node, node.loop, place)
        if self.loop is None:
            self.outputs()

    def outputs(self) -> None:
        """Draw the function's outputs."""
        for place, (key, name) in enumerate(zip(self.graph.outputs, self.graph.output_names, strict=False)):
            variable = self.graph.variables[key]
            label = name or variable.name or f"output {place}"
            found = self.node(Node(f"output/{place}", "output", label, type=variable.type, key=variable.key))
            self.edge(self.given_by(key), found, type=variable.type)

    def node(self, node: Node) -> str:
        """Add a node and return its id."""
        found = self.picture.ids.claim(node.id)
        self.picture.nodes.append(_with(node, found, self.cluster, self.loop))
        return found

    def edge(
        self,
        source: str | None,
        target: str,
        role: EdgeRole = "data",
        label: str = "",
        type: str = "",
        place: int | None = None,
    ) -> None:
        """Add an edge, unless it comes from omitted plumbing."""
        if source is not None:
            self.picture.edges.append(Edge(source, target, role, label, type, place=place))

    def given_by(self, key: str) -> str | None:
        """Return the id of a variable's node, None for plumbing; a leaf is drawn on first use."""
        shown = self.shown.get(key, key)
        return None if shown is None else self.leaf(shown)

    def leaf(self, key: str) -> str:
        """Return the id of a drawn variable's node."""
        known = self.source_of.get(key)
        if known is None:
            variable = self.graph.variables[key]
            kind = _LEAVES.get(self.graph.role(key), "input")
            wanted = self.path + variable.key
            label = variable.label or variable.name or variable.type
            label = constant_text(label) if kind == "constant" else label
            known = self.source_of[key] = self.node(
                Node(wanted, kind, label, type=variable.type, key=variable.key)
            )
        return known

    def written_out(self, key: str) -> str | None:
        """Return a small unnamed constant as text, None for other variables."""
        variable = self.graph.variables[key]
        is_written = self.graph.role(key) == "constant" and not variable.name
        label = constant_text(variable.label) if is_written else ""
        return label if 0 < len(label) <= SHORT and label != variable.type else None

    def called(self, key: str, place: int) -> str:
        """Return the text of a variable as the input of an operation at a place among its inputs."""
        variable, maker = self.graph.variables[key], self.makers.get(key)
        if maker is None:
            label = "" if variable.type in variable.label else variable.label
            return operand_name(variable.name or label, "", place)
        axis = re.fullmatch(r"dimension\{axis=(\d+)\}", maker.op)
        if axis is not None and not variable.name:
            return f"{self.called(maker.inputs[0], 0)}.shape[{axis[1]}]"
        return operand_name(variable.name or self.names.get(key, ""), maker.op, place)

    def operation(self, node: NodeRecord, place: int) -> None:
        """Draw an operation, with small constants in its label."""
        written = tuple(self.written_out(key) for key in node.inputs)
        operands = [
            self.called(key, k) for k, key in enumerate(node.inputs) if any(written) and written[k] is None
        ]
        found_names = [result.name for result in node.results] + [self.names.get(k, "") for k in node.outputs]
        name = next(filter(None, found_names), "")
        time, share = self.picture.heat.operation(self.loop, node.operation)
        sources = [
            (source, self.shown.get(key) or key, k)
            for k, key in enumerate(node.inputs)
            if written[k] is None and (source := self.given_by(key)) is not None
        ]
        drawn = Node(
            self.path + (node.key or f"n{place}"),
            "operation",
            operation_label(node.op, written, operands, name),
            type=node.results[0].type if node.results else "",
            source=node.source,
            text=self.graph.text(node),
            time_ns=time,
            share=share,
            key=node.key,
            op=node.op,
            constants=written,
        )
        found = self.node(drawn)
        for source, key, k in sources:
            kind, label = self.graph.variables[key].type, self.result.get(key, "")
            self.edge(source, found, label=label, type=kind, place=k)
        self.source_of.update(dict.fromkeys(node.outputs, found))
        if len(node.outputs) > 1:
            self.result.update((output, f"result {k}") for k, output in enumerate(node.outputs))

    def open_loop(self, node: NodeRecord, loop: ScanRecord, place: int) -> None:
        """Draw a loop: its box, ports and step."""
        for key in node.inputs[1:]:
            self.given_by(key)  # its inputs stand before it
        steps = self.written_out(node.inputs[0]) if node.inputs else None
        counted = self.given_by(node.inputs[0]) if node.inputs and steps is None else None
        box = self.picture.ids.claim(f"{self.path}loop:{node.key or f'n{place}'}")
        time, share = self.picture.heat.loop(loop.key)
        self.picture.clusters.append(
            Cluster(box, loop.name, self.cluster, loop.key, loop.gradient_of or "", time, share)
        )
        _Frame(
            self, PictureLevel(self.picture, self.graph.step(loop), box, f"{box}/", loop), node, loop, box
        ).draw(steps, counted)


class _Frame:
    """Draws the border of a loop: ports, the step's inputs and results, recurrence."""

    def __init__(
        self, outer: PictureLevel, inner: PictureLevel, node: NodeRecord, loop: ScanRecord, box: str
    ) -> None:
        self.outer, self.inner, self.apply, self.loop, self.box = outer, inner, node, loop, box
        self.inputs: dict[tuple[int, int], str] = {}

    def draw(self, steps: str | None, counted: str | None) -> None:
        """Draw the loop from top to bottom."""
        if self.apply.inputs:
            label = "n_steps" if steps is None else f"n_steps = {steps}"
            port = self.inner.node(Node(f"{self.box}|steps", "port", label, loop_kind="n_steps", side="in"))
            if counted is not None:
                kind = self.outer.graph.variables[self.apply.inputs[0]].type
                self.outer.edge(counted, port, type=kind, place=0)
        place = 0
        for index, variable in enumerate(self.loop.variables):
            place += variable.outer_input is not None
            self.entrance(index, variable, place)
        self.inner.draw()
        for index, variable in enumerate(self.loop.variables):
            self.exit(index, variable)
        if self.loop.until is not None:
            kind = self.inner.graph.variables[self.loop.until].type
            found = self.inner.node(Node(f"{self.box}|until", "until", "until", type=kind))
            self.inner.edge(self.inner.given_by(self.loop.until), found, type=kind)

    def name(self, index: int, variable: LoopVariableRecord) -> str:
        """Return a loop variable's name for use in ids."""
        first = next(iter(variable.inner_inputs), "")
        return first or (variable.name if self.apply.key else str(index))

    def entrance(self, index: int, variable: LoopVariableRecord, place: int) -> None:
        """Draw the ports and inputs of a loop variable."""
        name, port = self.name(index, variable), None
        if variable.outer_input is not None:
            kind = self.outer.graph.variables[variable.outer_input].type
            label = with_taps(variable)
            port = self.inner.node(
                Node(f"{self.box}|in|{name}", "port", label, None, kind, variable.kind, index, side="in")
            )
            self.outer.edge(self.outer.given_by(variable.outer_input), port, type=kind, place=place)
        for j, key in enumerate(variable.inner_inputs):
            inside = self.inner.graph.variables[key]
            wanted = f"{self.box}/{inside.key}"
            label = inside.label or inside.name or variable.name
            found = self.inner.node(
                Node(
                    wanted,
                    "inner_input",
                    label,
                    None,
                    inside.type,
                    variable.kind,
                    index,
                    key=inside.key,
                )
            )
            self.inputs[index, j] = found
            self.inner.source_of.setdefault(key, found)
            if port is not None:
                self.inner.edge(port, found, "enters", type=inside.type)

    def exit(self, index: int, variable: LoopVariableRecord) -> None:
        """Draw the results of a loop variable, and the recurrence to later steps."""
        name, port = self.name(index, variable), None
        writes = taps(variable)[1]
        labels = (self.inner.graph.variables[key].label for key in variable.inner_inputs)
        reads = list(zip(variable.reads, labels, strict=False))
        results = []
        for j, key in enumerate(variable.inner_outputs):
            inside = self.inner.graph.variables[key]
            label = cell_name(variable.name, writes[j] if j < len(writes) else 0, reads)
            wanted = f"{self.box}|gives|{name}|{writes[j] if j < len(writes) else j}"
            found = self.inner.node(
                Node(wanted, "inner_output", label, None, inside.type, variable.kind, index)
            )
            self.inner.edge(self.inner.given_by(key), found, type=inside.type)
            results.append(found)
        if variable.outer_output is not None:
            outside = self.outer.graph.variables[variable.outer_output]
            rows = variable.keep_last
            kept = f" (last {'row' if rows == 1 else f'{rows} rows'})" if rows is not None else ""
            port = self.inner.node(
                Node(
                    f"{self.box}|out|{name}",
                    "port",
                    variable.name + kept,
                    None,
                    outside.type,
                    variable.kind,
                    index,
                    side="out",
                )
            )
            self.outer.source_of[variable.outer_output] = port
            for found, key in zip(results, variable.inner_outputs, strict=True):
                self.inner.edge(found, port, "leaves", type=self.inner.graph.variables[key].type)
        for lag in lags(variable):
            kind = self.inner.graph.variables[variable.inner_outputs[lag.write]].type
            self.inner.edge(
                results[lag.write],
                self.inputs[index, lag.read],
                "recurrence",
                steps_text(lag.steps),
                kind,
            )


def _with(node: Node, name: str, cluster: str | None, loop: ScanRecord | None) -> Node:
    return replace(node, id=name, cluster=cluster, loop=loop.key if loop is not None else node.loop)

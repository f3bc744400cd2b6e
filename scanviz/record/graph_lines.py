"""Graphs of one function's history as lines: one operation a line, by names that stay.

A node is known by its birth id, which it keeps when it is only rebuilt.  It is called by the user's name for its value, or by a
number given when it is first met; so the same node has the same name at every moment, and in every process.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import (
    LoopVariable,
    State,
    StepOutput,
    inner_inputs,
    inner_outputs,
    kind_of,
    step_name,
)
from scanviz.record.rewrites import OriginRecord

INDENT = "    "
Which = (
    int | tuple[str, int]
)  # of the results of a node: its place, or its loop variable's name and which of that name


class GraphLines:
    """Names of a function's nodes, and its graphs as lines.

    Parameters
    ----------
    output_names : sequence of str
        What the function calls its outputs; empty for those without a name.
    """

    def __init__(self, output_names: Sequence[str] = ()) -> None:
        self._names: dict[tuple[int, int, Which], str] = {}
        self._twins: dict[Apply, int] = {}  # of one birth in one graph: a loop, and it with more results
        self._results: dict[Apply, list[Which]] = {}
        self._leaves: dict[Variable, str] = {}
        self._constants: dict[Constant, str] = {}
        self._steps: dict[tuple[int, str], tuple[Scan, list[Apply], list[str]]] = {}  # of loops as ops
        self._taken: set[str] = set()
        self._numbers: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._written: dict[tuple[Apply, str], list[str]] = {}  # most nodes are in many moments
        self._nodes: dict[int, Apply] = {}
        self._births: dict[str, int] = {}  # what a node is known by → its birth id
        self._loops: dict[tuple[int, int], str] = {}
        self.renamed = 0  # how often a node that had been written got another name
        self.output_names = list(output_names)

    def lines(self, outputs: Sequence[Variable]) -> list[str]:
        """Return a graph as lines."""
        found = self._graph(outputs, ())
        named = [
            f"{label} = {self.name(each)}" if label else self.name(each)
            for each, label in zip(outputs, [*self.output_names, *[""] * len(outputs)], strict=False)
        ]
        return [*found, f"return {', '.join(named)}"]

    def name(self, variable: Variable) -> str:
        """Return what a variable is called."""
        if isinstance(variable, Constant) and not variable.name:
            shown = self._constants.get(variable)
            if shown is None:
                shown = self._constants[variable] = describe(variable)
            return shown
        node = variable.owner
        if node is None:
            known = self._leaves.get(variable)
            if known is None:
                known = self._leaves[variable] = self._free(variable.name or f"input{len(self._leaves) + 1}")
            return known
        key = (node.birth, self._twins.get(node, 0), self._which(node, variable.index))
        known = self._names.get(key)
        if known is None:
            which = f".{variable.index}" if len(node.outputs) > 1 else ""
            known = self._names[key] = self._free(variable.name or f"v{self.number(node)}{which}")
        return known

    def _which(self, node: Apply, index: int) -> Which:
        """Return which result of its node a variable is: of a loop by loop variable, whose places change as others come and go."""
        if not isinstance(node.op, Scan):
            return index
        known = self._results.get(node)
        if known is None:
            view, counts = ScanView(node), Counter[str]()
            given = {view.outer_output(each): each.name for each in node.op.variables}
            known = self._results[node] = []
            for each in node.outputs:
                name = given[each]
                known.append((name, counts[name]))
                counts[name] += 1
        return known[index]

    def _free(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}~{count}"
        self._taken.add(name)
        return name

    def key(self, node: Apply) -> str:
        """Return what a node is known by: its first result, or for a loop, whose results come and go, its own name."""
        known = self._key(node)
        self._births[known] = node.birth
        return known

    def _key(self, node: Apply) -> str:
        if not isinstance(node.op, Scan):
            return self.name(node.outputs[0])
        place = (node.birth, self._twins.get(node, 0))
        known = self._loops.get(place)
        if known is None:
            known = self._loops[place] = self._free(f"loop{self.number(node)}")
        return known

    def birth(self, key: str) -> int | None:
        """Return the birth id of the node that is known by a key; None where there is none.

        A graph may hold several nodes of one birth id, such as a loop and the same loop with more results.
        """
        return self._births.get(key)

    def number(self, node: Apply) -> int:
        """Return the number of a node, which it was given when it was first met."""
        self._nodes.setdefault(node.birth, node)
        return self._numbers.setdefault(node.birth, len(self._numbers) + 1)

    def _graph(self, outputs: Sequence[Variable], inputs: Sequence[Variable], indent: str = "") -> list[str]:
        nodes = toposort(outputs, inputs)
        seen: set[tuple[int, int]] = set()
        for node in nodes:
            self.number(node)
            while (node.birth, self._twins.get(node, 0)) in seen:
                self._twins[node] = self._twins.get(node, 0) + 1
                self._written.clear()  # lines that hold its name
                self._steps.clear()
                self.renamed += 1
            seen.add((node.birth, self._twins.get(node, 0)))
        found: list[str] = []
        for node in self._ordered(nodes):
            key = (node, indent)
            written = self._written.get(key)
            if written is None:
                written = self._written[key] = self._node(node, indent)
            found += written
        return found

    def _node(self, node: Apply, indent: str) -> list[str]:
        if isinstance(node.op, Scan):
            return self._loop(ScanView(node), indent)
        results = ", ".join(self.name(each) for each in node.outputs)
        given = ", ".join(self.name(each) for each in node.inputs)
        return [f"{indent}{results} = {node.op}({given})"]

    def _ordered(self, nodes: Sequence[Apply]) -> list[Apply]:
        """Return nodes in an order of computation that hardly changes from one moment to the next.

        A node has the place that it had when it was first met: its number, or that of the first node that reads it where it
        came later than its reader.  Else a reader would have to wait for it, and all others would pass them.
        """
        together: dict[int, list[Apply]] = {}
        earliest: dict[Apply | None, int] = {}  # place of those that read a node
        for node in reversed(nodes):  # those that read a node come before it here
            own = self._places.get(node.birth, self._numbers[node.birth])
            place = min(own, earliest.get(node, own))
            self._places.setdefault(node.birth, place)
            together.setdefault(place, []).append(node)
            for each in node.inputs:
                if earliest.get(each.owner, place) >= place:
                    earliest[each.owner] = place
        found: list[Apply] = []
        for one in sorted(together):  # what a node reads is at its place or before
            found += together[one] if len(together[one]) == 1 else self._at_one_place(together[one][::-1])
        return found

    def _at_one_place(self, nodes: Sequence[Apply]) -> list[Apply]:
        """Return nodes in an order of computation, of those that can be computed always the one that was met first."""
        index = {node: k for k, node in enumerate(nodes)}
        readers: list[list[int]] = [[] for _ in nodes]
        waiting = [0] * len(nodes)
        for k, node in enumerate(nodes):
            for other in {index[each.owner] for each in node.inputs if each.owner in index}:
                readers[other].append(k)
                waiting[k] += 1
        heap = [(self._numbers[node.birth], k) for k, node in enumerate(nodes) if not waiting[k]]
        heapq.heapify(heap)
        found: list[Apply] = []
        while heap:
            _, done = heapq.heappop(heap)
            found.append(nodes[done])
            for k in readers[done]:
                waiting[k] -= 1
                if not waiting[k]:
                    heapq.heappush(heap, (self._numbers[nodes[k].birth], k))
        return found

    def _loop(self, view: ScanView, indent: str) -> list[str]:
        op = view.op
        results = ", ".join(self.name(each) for each in view.node.outputs)
        found = [f"{indent}{results} = loop {op.scan_name}, {self.name(view.n_steps)} steps:"]
        inside = indent + INDENT
        found += [f"{inside}{self._variable(each, view)}" for each in op.variables]
        found += self._step(op, inside)
        for each in op.variables:
            for label, value in zip(_written(each), inner_outputs(each), strict=True):
                found.append(f"{inside}{label} := {self.name(value)}")
        if op.until is not None:
            found.append(f"{inside}until {self.name(op.until.condition)}")
        return found

    def _step(self, op: Scan, indent: str) -> list[str]:
        """Return the lines of a step, which a loop that is only rebuilt over other inputs has too."""
        known = self._steps.get((id(op), indent))
        if known is None:
            lines = self._graph(op.inner_outputs, op.inner_inputs, indent)
            nodes = toposort(op.inner_outputs, op.inner_inputs)
            self._steps[id(op), indent] = (
                op,
                nodes,
                lines,
            )  # the op stays alive as long as its id stands for it
            return lines
        _, nodes, lines = known
        return lines

    def _variable(self, variable: LoopVariable, view: ScanView) -> str:
        """Return the line of a loop variable: its kind, what it reads from around the loop, what it gives."""
        rows = ", ".join(self.name(each) for each in inner_inputs(variable))
        outer, result = view.outer_input(variable), view.outer_output(variable)
        keep = getattr(variable, "keep", None)
        kept = f" (last {keep.last})" if keep is not None and keep.last is not None else ""
        source = f" {rows} ← {self.name(outer)}" if outer is not None else ""
        gives = f" gives {self.name(result)}{kept}" if result is not None else ""
        return f"{kind_of(variable)}{source}{gives}"

    def origins(self) -> tuple[OriginRecord, ...]:
        """Return where every node came from that was met, in order of first appearance."""
        return tuple(self._origin(node) for node in self._nodes.values())

    def files(self) -> set[str]:
        """Return the files that the nodes' lines are in."""
        sources = (node.provenance.source for node in self._nodes.values())
        return {each.file for each in sources if each is not None}

    def _origin(self, node: Apply) -> OriginRecord:
        made = node.provenance
        parents = [
            self.name(self._nodes[birth].outputs[0])
            for birth in made.parents
            if birth in self._nodes and birth != node.birth and self._nodes[birth].outputs
        ]
        name = self.name(node.outputs[0]) if node.outputs else str(node.op)
        return OriginRecord(
            name, str(node.op), str(made.source or ""), made.rule or "", tuple(dict.fromkeys(parents))
        )


def _written(variable: LoopVariable) -> list[str]:
    """Return what the step's results are called that a loop variable takes."""
    if isinstance(variable, State):
        return [step_name(variable.name, tap) for tap in variable.writes]
    return [variable.name if isinstance(variable, StepOutput) else f"{variable.name}[t]"] * len(
        inner_outputs(variable)
    )

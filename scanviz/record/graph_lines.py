"""Graphs of one function's history as lines: one operation a line, by names that stay.

A node is known by its birth id, which it keeps when it is only rebuilt.  It is called by the user's name for its value, or by a
number given when it is first met; so the same node has the same name at every moment, and in every process.
"""

from __future__ import annotations

import heapq
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


class GraphLines:
    """Names of a function's nodes, and its graphs as lines.

    Parameters
    ----------
    output_names : sequence of str
        What the function calls its outputs; empty for those without a name.
    """

    def __init__(self, output_names: Sequence[str] = ()) -> None:
        self._names: dict[tuple[int, int, int], str] = {}
        self._twins: dict[
            Apply, int
        ] = {}  # nodes of one graph that have one birth: a loop, and it with more results
        self._leaves: dict[Variable, str] = {}
        self._taken: set[str] = set()
        self._numbers: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._written: dict[tuple[Apply, str], list[str]] = {}  # loops: most are in many moments
        self._nodes: dict[int, Apply] = {}
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
            return describe(variable)
        node = variable.owner
        if node is None:
            known = self._leaves.get(variable)
            if known is None:
                known = self._leaves[variable] = self._free(variable.name or f"input{len(self._leaves) + 1}")
            return known
        key = (node.birth, self._twins.get(node, 0), variable.index)
        known = self._names.get(key)
        if known is None:
            which = f".{variable.index}" if len(node.outputs) > 1 else ""
            known = self._names[key] = self._free(variable.name or f"v{self.number(node)}{which}")
        return known

    def _free(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}~{count}"
        self._taken.add(name)
        return name

    def known(self, birth: int) -> str | None:
        """Return what the first result of a node is called that was met before; None for one that was not."""
        node = self._nodes.get(birth)
        return self.name(node.outputs[0]) if node is not None else None

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
            seen.add((node.birth, self._twins.get(node, 0)))
        found: list[str] = []
        for node in self._ordered(nodes):
            if isinstance(node.op, Scan):
                key = (node, indent)
                if key not in self._written:
                    self._written[key] = self._loop(ScanView(node), indent)
                found += self._written[key]
            else:
                results = ", ".join(self.name(each) for each in node.outputs)
                given = ", ".join(self.name(each) for each in node.inputs)
                found.append(f"{indent}{results} = {node.op}({given})")
        return found

    def _ordered(self, nodes: Sequence[Apply]) -> list[Apply]:
        """Return nodes in an order of computation that hardly changes from one moment to the next.

        A node has the place that it had when it was first met: its number, or that of the first node that reads it where it
        came later than its reader.  Else a reader would have to wait for it, and all others would pass them.
        """
        inside = set(nodes)
        waiting = {node: len({each.owner for each in node.inputs if each.owner in inside}) for node in nodes}
        readers: dict[Apply, list[Apply]] = {}
        for node in nodes:
            for owner in dict.fromkeys(each.owner for each in node.inputs):
                if owner is not None and owner in inside:
                    readers.setdefault(owner, []).append(node)
        place: dict[Apply, int] = {}
        for node in reversed(nodes):
            own = self._places.get(node.birth, self._numbers[node.birth])
            place[node] = min((own, *(place[each] for each in readers.get(node, ()))))
            self._places.setdefault(node.birth, place[node])
        heap = [
            (place[node], self._numbers[node.birth], k, node)
            for k, node in enumerate(nodes)
            if not waiting[node]
        ]
        heapq.heapify(heap)
        found: list[Apply] = []
        count = len(nodes)
        while heap:
            *_, node = heapq.heappop(heap)
            found.append(node)
            for reader in readers.get(node, []):
                waiting[reader] -= 1
                if not waiting[reader]:
                    count += 1
                    heapq.heappush(heap, (place[reader], self._numbers[reader.birth], count, reader))
        return found

    def _loop(self, view: ScanView, indent: str) -> list[str]:
        op = view.op
        results = ", ".join(self.name(each) for each in view.node.outputs)
        found = [f"{indent}{results} = loop {op.scan_name}, {self.name(view.n_steps)} steps:"]
        inside = indent + INDENT
        found += [f"{inside}{self._variable(each, view)}" for each in op.variables]
        found += self._graph(op.inner_outputs, op.inner_inputs, inside)
        for each in op.variables:
            for label, value in zip(_written(each), inner_outputs(each), strict=True):
                found.append(f"{inside}{label} := {self.name(value)}")
        if op.until is not None:
            found.append(f"{inside}until {self.name(op.until.condition)}")
        return found

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
